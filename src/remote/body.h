/*
 * Bodies of the messages between workers and shards, little-endian.
 *
 * Row data come in sections, one a table part (and, in a push, a node of the slot tree).
 * Sections may come in any order of tables: twins, which are not neighbours by number, follow
 * each other.  Keys of a section are strictly increasing row ids, written as differences (the
 * first from the part's begin) in base 128, least digit first; a section with n > 0 and
 * key_bytes 0 has the keys of the section before it, as the first-order twin of a table does.
 * Sections of a push of an exact table have counts behind their keys: how often the row of
 * each key occurred, from 1, also in base 128.
 *
 *	PULL    struct body_section[]; keys                       flags: TRAINING
 *	PULL_R  touched, one bit a key of all sections together; floats [n,dim] by section
 *	PUSH    struct body_push, struct body_section[]; keys, counts; values by section:
 *	        fp32 [n,dim]; or with FRAME_FP16 half [n,dim]; or with FRAME_INT8 scale
 *	        [n] (upper half of a float), int8 [n,dim].  Tables of dim 1 are always fp32
 *	PUSH_R  struct body_clock
 *	SNAP_GET, SNAP_PUT, SNAP_R  struct body_rows; weights [n,dim] float, slots [n,n_slot]
 *	        float, touched [n] bytes; of an exact table entries [n] (embed/rows_file.h)
 *	WAITING_GET, WAITING_PUT, WAITING_R  struct body_waiting; items [n] of the filter of an
 *	        exact table (embed/admission.h)
 *	CHANGES, CHANGES_R  struct body_changes; of READ bytes [n]
 *
 * frame.slot is the sender's rank, frame.step the step; frame.chunk counts the messages of
 * a push, of which all but the last have FRAME_MORE.  Decoding trusts nothing.
 */
#ifndef REMOTE_BODY_H
#define REMOTE_BODY_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "comm/frame.h"
#include "embed/lookup.h"

struct body_section {
	uint32_t table, n;          /* table: number among all of the model           */
	uint32_t key_bytes;
	uint32_t slot;              /* push: first slot of the node summed            */
	uint32_t count_bytes;       /* push, exact table; else 0                      */
};

struct body_push {
	double   rate_factor;
	uint32_t finite : 1;        /* 0: the step is dropped, no sections follow     */
	uint32_t newest : 31;       /* of struct lookup_commit, in minutes            */
	uint32_t n_sections;
	double   decay;             /* of struct lookup_commit                        */
	uint64_t step;              /* the same; frame.step counts from where tables began */
};

struct body_clock { uint64_t step; };   /* last step that the shard applied          */

struct body_rows {
	uint32_t table, n;
	uint64_t begin;             /* row id of the whole table                      */
	uint32_t dim, n_slot;
	/* Exact tables, else 0: see struct lookup_entries, which this is. */
	uint64_t end, n_segment, n_table;
};

/* See struct lookup_waiting, which this is; PUT: first, n, counted and the clock, and in a
 * journal what came and went. */
struct body_waiting {
	uint32_t table, segment, unit, clock;
	uint32_t n, has_tally;
	uint64_t first, total, counted;
	uint64_t admitted, waiting, refused, evicted, expired;
};

/* What changed of a part of a table since it was forgotten, or rows of a hashed one of which most
 * were never touched: a file of rows by id (embed/rows_file.h), read in pieces.
 * One worker at a time asks, what changed worker 0. */
enum body_changes_what {
	BODY_CHANGES_MAKE,          /* the file as things are now: known, size        */
	BODY_CHANGES_READ,          /* n bytes from offset; known 0: there is no file */
	BODY_CHANGES_FORGET,        /* nothing counts as changed any more; the file goes */
	BODY_CHANGES_COUNT,         /* entries, as size, of a file of all of a hashed table */
	BODY_CHANGES_WHOLE,         /* that file, as things are now: size             */
	BODY_CHANGES_DROP           /* the file goes                                  */
};

struct body_changes {
	uint32_t table, what;
	uint64_t offset, size;
	uint32_t n, known;          /* known 0: it is not known what changed          */
};

/* COPY, COPY_GET and COPY_R, between shards; frame.slot is the shard whose journal it is.
 * COPY is answered by COPY_R with how far the copy `id` goes, segment 0 if there is none;
 * LIST by struct body_copy_file[n], READ by n bytes.  A copy takes what continues it and
 * refuses the rest. */
enum body_copy_what {
	BODY_COPY_ASK,              /* COPY: nothing changes                          */
	BODY_COPY_BEGIN,            /* a new copy, of nothing; older ones go          */
	BODY_COPY_WRITE,            /* n bytes follow, for the segment at offset      */
	BODY_COPY_CUT,              /* the rest from there on is void                 */
	BODY_COPY_DROP,             /* segments before it are void                    */
	BODY_COPY_LIST,             /* COPY_GET: which files are there                */
	BODY_COPY_READ              /* n bytes of the segment from offset             */
};

struct body_copy { uint64_t id, segment, offset; uint32_t what, n; };
struct body_copy_file { uint64_t segment, bytes; };

/* INIT_TABLE: body_init, body_table[n_tables], body_part[n_parts]: all tables and all
 * parts of the model, so that every shard checks the same thing. */
struct body_init {
	uint32_t n_tables, n_parts, n_slots, n_ranks, n_shards, consistency;
	uint64_t staleness;
	uint64_t first_step;        /* the step that comes next, from 1               */
	uint32_t keep;              /* 1: go on from what the shard holds, brought back to
	                             * first_step - 1; RS_EUNMET: it cannot.  0: anew  */
	uint32_t origin;            /* round in which these tables began: others have others */
	uint32_t keeps_changes;     /* 1: shards are asked what changed               */
	uint32_t reserved;          /* 0                                              */
};

/* OFFER (no body, before INIT_TABLE; frame.slot is the rank) is answered by OFFER_R: the
 * shard can be brought to the state after any step in [lowest, applied] of the tables whose
 * INIT_TABLE has this body_init_hash(); lowest > applied: to none.  One without rows of the
 * model may keep any step, whatever it offers.  Steps are those of frame.step. */
struct body_offer { uint64_t tables, lowest, applied; };

/* Of all of INIT_TABLE but first_step and keep; n >= sizeof(struct body_init). */
uint64_t body_init_hash(const void *bytes, size_t n);

struct body_table {
	char     name[128];
	uint64_t rows, seed;
	double   init_stddev;
	uint32_t dim, optimizer;    /* enum row_optimizer_kind                        */
	double   learning_rate, l1, l2, initial_accumulator, beta1, beta2, epsilon;
	double   ftrl_beta, ftrl_l1, ftrl_l2, ftrl_power;
	uint32_t scheduled, kind;   /* enum table_kind                                */
	uint64_t expected;          /* rows, of an exact table; else 0                */
	uint32_t storage, evict;    /* enum row_storage, enum evict_kind              */
	/* Of struct lookup_tenancy; a hashed table: zeros. */
	uint32_t admit, admit_count;
	double   admit_probability;
	uint64_t admit_cells, key, expire_after, expire_steps, segment_rows;
};

struct body_part { uint32_t table, shard; uint64_t begin, end; };

/* A table as it is told to the shards, and back; RS_EPROTOCOL: no such table can be. */
void body_table_put(const struct lookup_table *table, struct body_table *out);
enum rs_status body_table_get(const struct body_table *b, struct lookup_table *out);

void body_waiting_put(const struct lookup_waiting *w, uint32_t table, struct body_waiting *out);
/* The table and items stay as they are. */
void body_waiting_get(const struct body_waiting *b, struct lookup_waiting *out);

/* How many sections a PULL of n_bytes begins with: as many as fill it with their keys. */
enum rs_status body_count_sections(const void *bytes, size_t n_bytes, size_t *out);

/* Appends n strictly increasing keys, all >= base. */
enum rs_status body_put_keys(struct buffer *out, const uint64_t *key, size_t n, uint64_t base);
/* Reads n keys in [base,end) from exactly `bytes` bytes, minus base; RS_EPROTOCOL else.
 * out NULL: only looks at them. */
enum rs_status body_get_keys(const uint8_t *data, size_t bytes, size_t n, uint64_t base,
	uint64_t end, uint64_t *out);

/* Appends n counts, none 0; reads n of them from exactly `bytes` bytes, RS_EPROTOCOL else.
 * out NULL: only looks at them. */
enum rs_status body_put_counts(struct buffer *out, const uint32_t *count, size_t n);
enum rs_status body_get_counts(const uint8_t *data, size_t bytes, size_t n, uint32_t *out);

/* Values of n rows of a gradient, packed as the flags say (enum frame_flag; 0: fp32). */
size_t body_value_bytes(uint8_t flags, size_t n, size_t dim);
void body_unpack(uint8_t flags, const void *values, size_t n, size_t dim, float *out);
/* error [n,dim]: what rounding left out of x is written there (x plus it was wanted by the
 * caller); NULL: not wanted. */
void body_pack(uint8_t flags, const float *x, size_t n, size_t dim, void *values, float *error);

#endif
