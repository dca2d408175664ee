/*
 * The inside of a parameter server shard, private to remote/shard*.c.
 *
 * One thread serves: it owns the wire and all of struct shard; the helpers of the crew work
 * only inside shard_crew_run().  Blocks of a pool are for rows on their way: those of an
 * answer go back to it from a thread of the wire's library, perhaps after the shard is gone.
 * Whoever handles a message leaves it to the caller, or moves it with shard_keep().
 */
#ifndef REMOTE_SHARD_PRIVATE_H
#define REMOTE_SHARD_PRIVATE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/schema.h"
#include "embed/lookup.h"
#include "embed/rows_pieces.h"
#include "remote/body.h"
#include "remote/collect.h"
#include "remote/shard.h"

#define SHARD_NONE       SIZE_MAX
#define SHARD_RANKS_MAX  4096
#define SHARD_SLOTS_MAX  65536
#define SHARD_PARKED_MAX 64             /* requests of a rank that wait           */
#define SHARD_SECTIONS_MAX 65536        /* of one message                         */

/* --- shard_crew.c: helpers --- */

typedef void shard_work(void *argument, size_t worker, size_t n_workers);

struct shard_crew {
	pthread_mutex_t lock;
	pthread_cond_t  go, done;
	pthread_t *thread;              /* [n_threads - 1]                                */
	size_t   n_threads, n_started, n_joined, n_workers, n_left;
	uint64_t round;
	int      is_over;
	shard_work *work;
	void    *argument;
};

enum rs_status shard_crew_open(struct shard_crew *c, size_t n_threads);
void shard_crew_close(struct shard_crew *c);
/* Calls work in up to n_workers threads, one of them this; returns when all are done. */
void shard_crew_run(struct shard_crew *c, size_t n_workers, shard_work *work, void *argument);

/* --- shard_pool.c: blocks --- */

struct shard_pool;
struct shard_block {
	struct shard_pool *pool;
	size_t capacity;
	_Alignas(64) uint8_t data[];
};

enum rs_status shard_pool_open(struct shard_pool **out);
/* Blocks that are out keep the pool alive. */
void shard_pool_close(struct shard_pool *p);
enum rs_status shard_pool_take(struct shard_pool *p, size_t bytes, struct shard_block **out);
void shard_pool_put(struct shard_block *b);
/* The release of a wire_part: hint is the block. */
void shard_pool_release(void *data, void *hint);

/* --- shard_reader.c: a body, whatever parts it comes in --- */

struct shard_reader {
	const struct frame_part *part;
	size_t n_parts, i, at;
	size_t left;                    /* bytes not read yet                             */
};

void shard_reader_init(struct shard_reader *r, const struct wire_message *m);
/* The next n bytes; RS_EPROTOCOL when there are less. */
enum rs_status shard_reader_copy(struct shard_reader *r, void *out, size_t n);
/* The same in place when they lie in one part, else NULL and nothing is read. */
const uint8_t *shard_reader_span(struct shard_reader *r, size_t n);
/* The next n bytes in one piece, copied to scratch if need be. */
enum rs_status shard_reader_block(struct shard_reader *r, size_t n, struct buffer *scratch,
	const uint8_t **out);

/* --- the tables and the ranks --- */

/* One table of the model; local: its number among those here, or SHARD_NONE. */
struct shard_table {
	size_t   local, dim, n_slot;
	enum table_kind kind;
	size_t   entry_bytes, item_bytes;       /* exact; items of its filter             */
	int      has_rules;             /* lookup_has_rules()                             */
	uint64_t begin, end;
	char     name[72];              /* for messages                                   */
};

/* A message of a push, decoded. */
struct shard_section {
	size_t table, slot, n;          /* table: local                                   */
	const uint64_t *ids;            /* [n]                                            */
	const float   **grad;           /* [n]                                            */
	const uint32_t *count;          /* [n] occurrences; NULL: a hashed table          */
};

struct shard_chunk {
	struct shard_section *section;
	size_t n_sections, n_keys;
	struct shard_block *block;      /* of all arrays                                  */
	struct wire_message message;    /* of gradients that stayed where they were       */
};

enum shard_push_state {
	SHARD_PUSH_NONE, SHARD_PUSH_STAGED, SHARD_PUSH_REFUSED, SHARD_PUSH_APPLIED
};

/* What a rank pushes for a step. */
struct shard_push {
	uint64_t step;
	enum shard_push_state state;
	struct shard_chunk **chunk;     /* [capacity] by frame.chunk                      */
	size_t   capacity, n_had;
	size_t   n_chunks;              /* 0: the last one is not there yet               */
	uint64_t n_keys;
	double   rate_factor, decay;
	uint32_t finite;
	uint64_t commit_step;           /* of the model                                   */
	uint32_t newest;                /* minutes, of struct lookup_commit               */
};

struct shard_rank {
	struct shard_push *push;        /* [window] by step % window                      */
	uint64_t complete;              /* last step up to which all pushes are complete  */
	uint64_t latest;                /* highest step of which a push came              */
	size_t   n_parked;
	int      has_init;              /* it said which tables there are, the same as all */
	char     name[64];              /* of its key, by which it is known since          */
};

struct shard_parked {
	struct wire_message message;
	struct shard_parked *next;
};

/* What takes the last step back. */
struct shard_undo {
	struct shard_block *block;      /* of the rows as they were                       */
	size_t   n;
	uint64_t step;                  /* that it takes back; 0: none                    */
};

/* The copy of the journal that a peer keeps. */
struct shard_copy {
	struct wire *link;              /* NULL: no peer in this round                    */
	size_t   peer;
	enum { SHARD_COPY_OFF, SHARD_COPY_WAITS, SHARD_COPY_ASKED, SHARD_COPY_BEGINS,
		SHARD_COPY_GOES } state;
	int      is_live;               /* pushes wait for it                             */
	int      is_full;               /* the link takes nothing now                     */
	uint64_t id, request, first;    /* id: 0: none was begun; first: segment there    */
	struct journal_place sent, acked;
	size_t   n_under_way;
	double   heard;
	int      fd;                    /* of the file at hand; -1: none                  */
	uint64_t fd_segment;
};

/* The copy that this shard keeps for another one. */
struct shard_keeper {
	uint64_t id;                    /* 0: none                                        */
	size_t   shard;
	struct journal_place at;        /* where it ends                                  */
	int      is_open, fd;
};

/* What changed of a table, on its way to worker 0, or rows by id. */
struct shard_changes {
	int      is_there;
	size_t   table;                 /* local                                          */
	uint64_t size;                  /* of the file                                    */
	struct rows_pieces pieces;      /* rows by id: pieces are made as they are read   */
	/* In memory: all of it, or the piece that was read last; where that begins. */
	struct file_writer file;
	struct file_map map;
	uint64_t begins;
};

#define SHARD_FETCH_REQUEST UINT64_MAX  /* frame.request                              */

/* A journal on its way from the peer. */
struct shard_fetch {
	enum { SHARD_FETCH_OFF, SHARD_FETCH_LIST, SHARD_FETCH_FILES } state;
	struct body_copy_file *file;    /* [n_files]                                      */
	size_t   n_files, asked, have;  /* files that were asked for, that are here       */
	uint64_t asked_bytes, have_bytes;
	size_t   n_under_way;
	double   heard;
	int      fd;
	struct shard_parked *offers;    /* who waits for it                               */
};

struct shard {
	const struct shard_options *o;
	uint32_t epoch;
	struct shard_crew crew;
	struct shard_pool *pool;
	struct collect *collect;
	struct shard_counts counts;
	int kept;                       /* the message at hand was moved                  */
	int has_init;                   /* INIT_TABLE came in this round                  */

	/* Since INIT_TABLE, and from round to round. */
	struct lookup *lookup;          /* NULL before                                    */
	int is_settled;                 /* it has the rows of step `applied`, all of them */
	int is_pristine;                /* rows that were not trained are as at the start */
	struct buffer init;             /* its body                                       */
	struct body_init head;
	size_t init_rank;               /* whose it was                                   */
	struct shard_table *table;      /* [head.n_tables]                                */
	size_t *local_table;            /* [n_local] number in the model                  */
	size_t n_local;
	int has_rules;                  /* one of them                                    */
	uint32_t *frontier_rank;        /* [n_slots] rank of the node that begins there   */
	struct shard_rank *rank;        /* [head.n_ranks]                                 */
	uint64_t window;                /* steps of a rank that are remembered            */
	uint64_t applied;               /* last step applied                              */
	struct rs_failure broken;       /* ranks disagree: the answer to all from now on  */
	struct rs_failure ending;       /* this shard cannot go on                        */
	struct shard_parked *parked;    /* in order of arrival                            */

	struct journal *journal;        /* NULL: none                                     */
	struct journal_range found;     /* in its files when the process began            */
	int is_replaying;
	double told_to_wait;            /* when, during a replay                          */
	struct wire_message asked;      /* from whom, and frame, of the message at hand   */
	int is_capturing;               /* rows are being written                         */
	uint64_t capture_from;          /* step that is to be applied before              */
	size_t   capture_table;         /* local                                          */
	uint64_t capture_row, growth_seen, rows_got;
	int wants_segment;
	struct buffer acks;             /* struct shard_ack                               */
	int acks_synced;                /* those are on the disk                          */
	struct shard_undo undo;
	struct shard_copy copy;
	struct shard_keeper keeper;
	struct shard_fetch fetch;
	struct shard_changes changes;
};

/* --- shard_hold.c: what stays from round to round --- */

/* OFFER. */
enum rs_status shard_hold_offer(struct shard *s, struct wire_message *m);
/* The body of an INIT_TABLE that says keep: RS_EUNMET, or where the rows of first_step - 1
 * are. */
enum shard_hold { SHARD_HOLD_MEMORY, SHARD_HOLD_UNDO, SHARD_HOLD_JOURNAL };
enum rs_status shard_hold_check(const struct shard *s, const uint8_t *init, size_t n,
	enum shard_hold *where);

/* --- shard_undo.c --- */

/* Before a step; what was kept of the one before is forgotten. */
void shard_undo_take(struct shard *s, struct shard_chunk *const *chunk, size_t n,
	const struct lookup_commit *commit);
int shard_undo_is_possible(const struct shard *s);
/* The rows are those of the step before. */
enum rs_status shard_undo_apply(struct shard *s);
void shard_undo_forget(struct shard *s);

/* --- shard_replay.c --- */

/* Tables that were just opened get the rows of this step. */
enum rs_status shard_replay(struct shard *s, uint64_t step);

/* --- shard_journal.c --- */

/* What there is of it is not lost for a shortage, RS_ERESOURCE; anything else costs the journal,
 * which is said. */
enum rs_status shard_journal_open(struct shard *s);
void shard_journal_close(struct shard *s);
int shard_journal_is_on(const struct shard *s);
/* A new segment, now. */
void shard_journal_begin(struct shard *s);
/* The rows are no longer those of a step. */
void shard_journal_reset(struct shard *s);
/* A round begins with the rows as they are. */
void shard_journal_cut(struct shard *s);
/* A push that was staged; the step that was applied. */
void shard_journal_push(struct shard *s, const struct frame *f, const struct frame_part *part,
	size_t n_parts);
void shard_journal_commit(struct shard *s);
/* So many rows were read for a version. */
void shard_journal_got(struct shard *s, size_t n);
/* After some messages; 1: there is more to do. */
int shard_journal_turn(struct shard *s);
/* Whether answers to pushes wait; keeps one for later; answers those kept. */
int shard_journal_defers(const struct shard *s);
enum rs_status shard_journal_defer(struct shard *s, const struct wire_message *m);
void shard_journal_answer(struct shard *s);

/* --- shard_copy.c: to the peer --- */

void shard_copy_begin(struct shard *s, const struct shard_round *round);
void shard_copy_end(struct shard *s);
void shard_copy_turn(struct shard *s);
/* The journal begins anew, or ends at this place from now on. */
void shard_copy_reset(struct shard *s);
void shard_copy_cut(struct shard *s, const struct journal_place *end);
int shard_copy_is_live(const struct shard *s);
/* Records why the peer refuses. */
enum rs_status shard_copy_failure(const struct wire_message *m);
/* Nobody has to wait for the copy to get there. */
int shard_copy_has(const struct shard *s, const struct journal_place *place);

/* --- shard_keeper.c: of another shard --- */

enum rs_status shard_keeper_take(struct shard *s, struct wire_message *m);
enum rs_status shard_keeper_give(struct shard *s, struct wire_message *m);
void shard_keeper_free(struct shard *s);

/* --- shard_fetch.c: from the peer --- */

void shard_fetch_begin(struct shard *s);
void shard_fetch_end(struct shard *s);
void shard_fetch_turn(struct shard *s);
int shard_fetch_is_busy(const struct shard *s);
/* An answer of the peer; 0: it is none to this. */
int shard_fetch_take(struct shard *s, const struct wire_message *m);
/* Keeps an OFFER until the copy is here; 0: there is none on its way. */
int shard_fetch_park(struct shard *s, struct wire_message *m);

/* --- shard_section.c --- */

/* Whether it has the keys of the one before. */
static inline int
shard_section_is_twin(const struct body_section *section)
{
	return section->n > 0 && section->key_bytes == 0;
}

/* Its table is here and its keys are rows of it; before: NULL for the first. */
enum rs_status shard_section_check(const struct shard *s, const struct body_section *section,
	const struct body_section *before, const uint8_t *keys);
/* Its counts are those of n rows, or none; its table was checked. */
enum rs_status shard_section_check_counts(const struct shard *s,
	const struct body_section *section, const uint8_t *counts);
/* The ids [n] of one that was checked and is no twin. */
void shard_section_keys(const struct shard *s, const struct body_section *section,
	const uint8_t *keys, uint64_t *ids);

/* --- who answers --- */

enum rs_status shard_init_take(struct shard *s, struct wire_message *m);
/* That tables may take. */
uint64_t shard_memory_bytes(const struct shard *s);
void shard_init_free(struct shard *s);
/* Takes: looks at it wholly, then answers or parks; answer: it was looked at. */
enum rs_status shard_pull_take(struct shard *s, struct wire_message *m);
enum rs_status shard_pull_answer(struct shard *s, const struct wire_message *m);
enum rs_status shard_push_take(struct shard *s, struct wire_message *m);
void shard_push_free(struct shard *s);
/* Says how far the shard is. */
void shard_push_answer(struct shard *s, const struct wire_message *m);
/* From the journal: stages; applies the next step. */
enum rs_status shard_push_replay(struct shard *s, struct wire_message *m);
enum rs_status shard_push_commit(struct shard *s, uint64_t step);
/* shard_chunk.c: a message of a push, looked at and decoded; it may keep the message. */
enum rs_status shard_chunk_read(struct shard *s, struct wire_message *m, struct body_push *head,
	struct shard_chunk **out);
void shard_chunk_free(struct shard_chunk *c);
/* 1: no value of it is NaN, Inf or beyond what a gradient can be. */
int shard_chunk_is_finite(const struct shard *s, const struct shard_chunk *c);
/* shard_apply.c: one step of the lookup with these, whose sections go by slot, table and
 * place in the list. */
enum rs_status shard_apply(struct shard *s, struct shard_chunk *const *chunk, size_t n,
	const struct lookup_commit *commit);
enum rs_status shard_rows_get(struct shard *s, struct wire_message *m);
enum rs_status shard_rows_answer(struct shard *s, const struct wire_message *m);
enum rs_status shard_rows_put(struct shard *s, struct wire_message *m);
/* body [n] as of SNAP_PUT. */
enum rs_status shard_rows_replay(struct shard *s, const uint8_t *body, size_t n);
/* Rows, or who waits for them, are set before a round's first step, and by the rank that keeps
 * the versions; what was is forgotten. */
enum rs_status shard_rows_may_put(const struct shard *s, const struct wire_message *m);
void shard_rows_change(struct shard *s);
/* shard_waiting.c: what exact tables have besides rows. */
enum rs_status shard_waiting_get(struct shard *s, struct wire_message *m);
enum rs_status shard_waiting_answer(struct shard *s, const struct wire_message *m);
enum rs_status shard_waiting_put(struct shard *s, struct wire_message *m);
enum rs_status shard_waiting_replay(struct shard *s, const uint8_t *body, size_t n);
/* shard_changes.c: for versions that are what changed. */
enum rs_status shard_changes_take(struct shard *s, struct wire_message *m);
enum rs_status shard_changes_answer(struct shard *s, const struct wire_message *m);
void shard_changes_free(struct shard *s);
/* All of a segment to the journal. */
enum rs_status shard_waiting_write(struct shard *s, const struct shard_table *t, unsigned segment);

/* --- shard_park.c: who has to wait --- */

/* Answers it, or keeps it until it is ready; who asks again is told to wait. */
enum rs_status shard_park_take(struct shard *s, struct wire_message *m);
/* Answers all that are ready now, or with what broke the shard. */
void shard_park_answer(struct shard *s);
void shard_park_free(struct shard *s);

/* The last step that all ranks have pushed. */
uint64_t shard_park_pushed(const struct shard *s);

/* --- shard.c --- */

/* Answers a message, or keeps it. */
void shard_handle(struct shard *s, struct wire_message *m);
void shard_keep(struct shard *s, struct wire_message *m, struct wire_message *to);
/* An answer; a peer that does not take it asks again. */
void shard_answer(struct shard *s, const struct wire_message *to, uint16_t type,
	const struct wire_part *part, size_t n_parts);
/* "I have it, wait." */
void shard_answer_wait(struct shard *s, const struct wire_message *to);
/* The failure last recorded, as an answer. */
void shard_answer_failure(struct shard *s, const struct wire_message *to);
/* There are tables, the sender is the rank that it says, and nothing is broken. */
enum rs_status shard_check_rank(const struct shard *s, const struct wire_message *m);
/* RS_EPROTOCOL: table is none of the model's or has no rows here. */
enum rs_status shard_find_table(const struct shard *s, uint32_t table,
	const struct shard_table **out);

#endif
