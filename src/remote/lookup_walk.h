/*
 * Walking through the rows of a table on its shards, several calls under way, private to
 * remote/lookup*.c.
 *
 * A walk has a ring of snaps, each with room for `most` rows: the caller fills one that is
 * free (lookup_walk_free_snap()), sends it, and takes answers in the order sent.
 */
#ifndef REMOTE_LOOKUP_WALK_H
#define REMOTE_LOOKUP_WALK_H

#include "remote/lookup_private.h"

#define LOOKUP_WALK_AHEAD 8                 /* calls under way                         */

/* Rows of one part, asked for or set in one call. */
struct lookup_snap {
	struct client_call call;
	uint64_t begin;
	size_t n, part;
	uint64_t end, n_segment;    /* exact: see struct lookup_entries                */
	struct body_rows head;
	float *weights, *slots;     /* [most, dim], [most, n_slot]: what is set        */
	uint8_t *touched;           /* [most]                                          */
	char *entry;                /* exact: [most, entry_bytes], and none of those   */
};

struct lookup_walk {
	struct remote_lookup *l;
	const struct lookup_table *t;
	size_t table, dim, n_slot, most;
	size_t entry_bytes;         /* exact                                           */
	struct lookup_snap snap[LOOKUP_WALK_AHEAD];
	size_t first, n_busy;       /* a ring: the oldest call, and how many           */
};

enum rs_status lookup_walk_open(struct remote_lookup *l, size_t table, struct lookup_walk **out);
/* Calls under way are dropped. */
void lookup_walk_close(struct lookup_walk *w);
enum rs_status lookup_walk_send(struct lookup_walk *w, struct lookup_snap *s, uint16_t type);
/* The oldest call's answer; its place in the ring is then free. */
enum rs_status lookup_walk_take(struct lookup_walk *w, struct lookup_snap **out);
/* The same of one that sets rows. */
enum rs_status lookup_walk_take_put(struct lookup_walk *w);
/* The failure to be told of an answer that is not the rows asked for. */
enum rs_status lookup_walk_refuse(const struct lookup_walk *w, const struct lookup_snap *s);
/* Copies n bytes at `from` of a body that came in parts; 0: there are not so many. */
int lookup_walk_copy(const struct wire_message *m, size_t from, size_t n, void *to);
/* Of n rows whose slots are `stride` floats apart: as at the start. */
void lookup_walk_init_slots(const struct lookup_walk *w, float *slots, size_t n, size_t stride);

/* NULL: all are under way. */
static inline struct lookup_snap *
lookup_walk_free_snap(struct lookup_walk *w)
{
	return w->n_busy == LOOKUP_WALK_AHEAD ? NULL :
		&w->snap[(w->first + w->n_busy) % LOOKUP_WALK_AHEAD];
}

/* lookup_entries.c: exact tables */
/* How many rows all shards have; their answers say that all steps pushed are applied there, and
 * rows that are over went. */
enum rs_status lookup_entries_count(struct remote_lookup *l, size_t table, uint64_t *n);
enum rs_status lookup_entries_save(struct remote_lookup *l, size_t table, struct file_writer *f);
enum rs_status lookup_entries_load(struct remote_lookup *l, size_t table,
	const char *const *path, size_t n_paths, int *anew);
enum rs_status lookup_entries_reset_state(struct remote_lookup *l, size_t table);

#endif
