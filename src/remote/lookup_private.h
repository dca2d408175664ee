/*
 * The inside of the remote lookup, private to remote/lookup*.c.
 *
 * A fetch goes: occurrences of tables with the same uses are one group; the ids of a group
 * are cut at the bounds of table parts (and finer, when there are many threads) into
 * segments, which are sorted and made unique on their own; the keys of a part, segment
 * after segment, are one section of a PULL, its rows one array [n,dim] of the answer.  A
 * commit sums each segment over each node of the rank's frontier into one entry a part and
 * node, which is one section of a PUSH.
 */
#ifndef REMOTE_LOOKUP_PRIVATE_H
#define REMOTE_LOOKUP_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "embed/merge.h"
#include "embed/pushes.h"
#include "remote/body.h"
#include "remote/lookup.h"
#include "remote/lookup_residual.h"

#define LOOKUP_LINE           64
#define LOOKUP_CUTS_MAX       16        /* segments of a part                         */
#define LOOKUP_MESSAGE_BYTES  ((size_t)32 << 20)
#define LOOKUP_KEY_BYTES      10        /* of a key, at most                          */

/* Unique ids of a group in [begin,end), a range within one part. */
struct segment {
	size_t   group;
	uint64_t begin, end;
	uint64_t *id;               /* [n] sorted                                     */
	size_t   n, capacity;
	size_t   first;             /* of them, among those of the part               */
};

struct group {
	size_t leader;              /* the first of its tables                        */
	size_t N;                   /* occurrences                                    */
	size_t n_cuts;              /* segments of each part                          */
	size_t first_segment, n_segments;
	size_t first_place;
};

/* What the fetch knows of a table part; by its number in parts. */
struct part_rows {
	size_t n;                   /* unique ids                                     */
	size_t first_segment;       /* n_cuts of them                                 */
	const float *row;           /* [n,dim] in a message, or copied                */
	const uint8_t *touched;     /* bits from touched_bit on                       */
	size_t  touched_bit;
	float   *copy;              /* [copy_capacity] floats                         */
	size_t   copy_capacity;
	uint8_t *bits;              /* [bits_capacity] bytes                          */
	size_t   bits_capacity;
};

struct lookup_use_state {
	size_t table, n;
	const uint64_t *ids;
	size_t first_place;
	size_t next;                /* use of the same table; SIZE_MAX: none          */
};

/* Rows [from, from + n) of a part's rows, in one message. */
struct pull_piece { size_t part, from, n; };

struct pull_message {
	struct client_call call;
	struct buffer head, keys;
	size_t first_piece, n_pieces;
	size_t floats, n_keys;      /* of the answer                                  */
};

/* The sums of a part over a node. */
struct push_entry {
	size_t part, node;
	size_t first_row;           /* in sums [.., dim] and keys                     */
	size_t first_float;
	size_t first_byte;          /* of what is packed, capacity counted            */
	size_t n;                   /* rows that were summed                          */
	size_t first_item, n_items;
	atomic_size_t n_left;       /* segments not summed yet                        */
};

struct push_item { size_t entry, segment, n; };

struct push_message {
	struct client_call call;
	struct buffer head, keys;
	size_t first_byte;          /* of the values                                  */
	size_t n_sections;
	size_t part, n;             /* of the last section, whose keys begin at       */
	size_t first_key;
};

/* What one thread needs. */
struct lookup_thread {
	_Alignas(LOOKUP_LINE) struct merge_scratch scratch;
	struct pushes_order order;
	uint64_t *key, *key2;       /* [key_capacity]                                 */
	uint64_t *id;               /* [id_capacity] by index, where keys drop bits of them */
	size_t id_capacity;
	size_t key_capacity;
	float *error;               /* [error_capacity] floats                        */
	size_t error_capacity;
};

/* Memory of a step that grows and is not kept. */
struct step_memory { void *data; size_t bytes; };

struct remote_lookup {
	struct lookup base;
	struct remote_lookup_options o;
	struct lookup_table *table;     /* [n_tables]                                 */
	size_t n_tables, n_threads, n_shards;
	struct parts parts;
	size_t *part_order;             /* [parts.n] by shard, twins behind each other */
	size_t *shard_first;            /* [n_shards + 1] in part_order               */
	struct tree_node node[2 * TREE_MAX_DEPTH];  /* this rank's frontier           */
	size_t n_nodes;
	uint8_t flags;                  /* of pushes: how they are packed             */
	size_t message_bytes;           /* a message is sent when it has so many      */
	uint64_t name;                  /* of the tables, for offers                  */
	uint64_t clock;                 /* the step that comes next, skipped ones too */
	struct lookup_thread *thread;   /* [n_threads]                                */
	pthread_mutex_t lock;           /* of who plans                               */
	int fetch_planned, commit_planned;
	atomic_int failed;              /* a thread failed in the fetch or commit     */
	_Alignas(LOOKUP_LINE) atomic_size_t next_item;
	_Alignas(LOOKUP_LINE) atomic_size_t n_done;

	/* Of the last fetch. */
	struct lookup_use_state *use;   /* [n_inputs]                                 */
	struct group *group;            /* [n_groups]                                 */
	size_t n_groups;
	size_t *group_of;               /* [n_tables] SIZE_MAX: not in it             */
	size_t *first_use;              /* [n_tables] SIZE_MAX: none                  */
	struct segment *segment;        /* [segment_capacity] lists of ids are kept   */
	size_t n_segments, segment_capacity;
	uint32_t *place;                /* segment of the group << index_bits | index */
	size_t place_capacity;
	unsigned index_bits;
	struct part_rows *part;         /* [parts.n]                                  */
	const float **row;              /* [..] where the rows of a table's segment begin */
	size_t row_capacity;
	size_t *first_row;              /* [n_tables] in row                          */
	struct pull_piece *piece;
	size_t n_pieces, piece_capacity;
	struct pull_message **pull;     /* [pull_capacity] kept                       */
	size_t n_pulls, pull_capacity;

	/* Of the commit. */
	struct pushes pushes;
	struct push_entry *entry;       /* [n_entries] in the order of the wire       */
	size_t n_entries, entry_capacity;
	struct push_item *item;
	size_t n_items, item_capacity;
	struct step_memory sums, keys, counted, packed;   /* counted: occurrences of keys */
	struct push_message **push;     /* [push_capacity] kept; under way: n_pushes  */
	size_t n_pushes, push_capacity;
	struct client_call **wait;      /* [wait_capacity]                            */
	size_t wait_capacity;
	struct lookup_residual *residual;       /* [parts.n, n_nodes] or NULL                 */

	struct remote_lookup_counts counts;
	struct rs_failure late;         /* of reset_state, which cannot tell          */
	int warned;
};

static inline struct remote_lookup *
lookup_of(struct lookup *l)
{
	return (struct remote_lookup *)l;
}

static inline size_t
lookup_part_dim(const struct remote_lookup *l, size_t part)
{
	return l->table[l->parts.part[part].table].dim;
}

/* Rows that are sent as one section, so that a message has at most 1.5 message_bytes. */
static inline size_t
lookup_piece_rows(const struct remote_lookup *l, size_t dim)
{
	const size_t row = dim * sizeof(float) + LOOKUP_KEY_BYTES;
	const size_t n = l->message_bytes / 2 / row;

	return n > 0 ? n : 1;
}

/* lookup.c: grows array [n] of items of `size` bytes; new ones are zeros. */
enum rs_status remote_lookup_grow(void *array, size_t *capacity, size_t n, size_t size);
enum rs_status remote_lookup_reserve(struct step_memory *m, size_t bytes);

/* lookup_ids.c: plan by one thread, sort by all, then number by one */
enum rs_status lookup_ids_plan(struct remote_lookup *l, const struct lookup_fetch *f);
enum rs_status lookup_ids_sort(struct remote_lookup *l, size_t worker);
/* How many ids every part has, and where those of its segments begin. */
void lookup_ids_number(struct remote_lookup *l);
void lookup_ids_free(struct remote_lookup *l);

/* lookup_pull.c */
enum rs_status lookup_pull_fetch(struct lookup *base, const struct lookup_fetch *f);
enum rs_status lookup_pull_rows(struct lookup *base, const struct lookup_pull *p);
int lookup_pull_touched(const struct lookup *base, size_t table, uint64_t id);
void lookup_pull_free(struct remote_lookup *l);

/* lookup_wire.c: what is under way */
/* Waits for n_pulls pulls and for all pushes. */
enum rs_status lookup_wire_wait(struct remote_lookup *l, size_t n_pulls);
/* One call to every shard with the same body, and the answers' type. */
enum rs_status lookup_wire_all(struct remote_lookup *l, const struct frame *f,
	const struct frame_part *part, size_t n_parts, uint16_t want);
enum rs_status lookup_wire_init(struct remote_lookup *l);
enum rs_status lookup_wire_want(const struct client_call *call, uint16_t type);

/* lookup_push.c */
enum rs_status lookup_push_put(struct lookup *base, const struct lookup_push *p);
enum rs_status lookup_push_commit(struct lookup *base, const struct lookup_commit *c);
void lookup_push_free(struct remote_lookup *l);

/* lookup_rest.c: between steps; of lookups that compress */
enum rs_status lookup_rest_save(struct lookup *base, struct file_writer *w);
enum rs_status lookup_rest_load(struct lookup *base, const char *path);

/* lookup_files.c */
enum rs_status lookup_files_save(struct lookup *base, size_t table, struct file_writer *w);
enum rs_status lookup_files_load(
	struct lookup *base, size_t table, const char *const *path, size_t n_paths);
void lookup_files_reset_state(struct lookup *base, size_t table);

/* lookup_changes.c: versions that are what changed, and tables most of whose rows never did */
int lookup_changes_known(struct lookup *base, size_t table);
enum rs_status lookup_changes_save(struct lookup *base, size_t table,
	const struct lookup_step *step, struct file_writer *w);
void lookup_changes_forget_all(struct lookup *base);
/* Of a hashed table: how many entries a file of rows by id has, and that file. */
enum rs_status lookup_changes_count(struct remote_lookup *l, size_t table, uint64_t *n);
enum rs_status lookup_changes_save_rows(struct remote_lookup *l, size_t table,
	struct file_writer *w);
/* Nothing of the table counts as changed. */
enum rs_status lookup_changes_forget(struct remote_lookup *l, size_t table);

/* lookup_waiting.c: what exact tables have besides rows */
enum rs_status lookup_waiting_save(struct lookup *base, size_t table, struct file_writer *w);
enum rs_status lookup_waiting_load(
	struct lookup *base, size_t table, const char *const *path, size_t n_paths);
enum rs_status lookup_waiting_tenants(
	struct lookup *base, size_t table, struct lookup_tenants *out);

#endif
