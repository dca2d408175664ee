/* The ring of live states. */
#include "train/live.h"

#include <stdlib.h>
#include <string.h>

#define SPEC_LIMIT ((size_t)64 << 20)

enum rs_status
live_open(size_t depth, struct live **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	(*out)->depth = depth < LIVE_DEPTH_MAX ? depth : LIVE_DEPTH_MAX;
	buffer_init(&(*out)->spec, SPEC_LIMIT);
	return RS_OK;
}

void
live_let_go(struct live *l)
{
	for (size_t t = 0; t < l->n_tables; t++)
		file_writer_close(&l->table[t]);
	free(l->table);
	l->table = NULL;
	l->n_tables = 0;
	catalogue_free(l->catalogue);
	l->catalogue = NULL;
	frequency_free(l->frequency);
	l->frequency = NULL;
}

void
live_forget(struct live *l)
{
	for (size_t i = 0; i < l->depth; i++)
		l->state[i].is_used = 0;
	l->is_whole = 0;
	live_let_go(l);
}

static void
free_state(struct live_state *s)
{
	free(s->dense);
	free(s->mark);
	free(s->tally);
	*s = (struct live_state){ .is_used = 0 };
}

void
live_close(struct live *l)
{
	if (l == NULL)
		return;
	live_forget(l);
	for (size_t i = 0; i < l->depth; i++)
		free_state(&l->state[i]);
	buffer_free(&l->spec);
	free(l);
}

struct live_state *
live_find(struct live *l, uint64_t clock)
{
	for (size_t i = 0; i < l->depth; i++)
		if (l->state[i].is_used && l->state[i].head.clock == clock)
			return &l->state[i];
	return NULL;
}

struct live_state *
live_newest(struct live *l)
{
	struct live_state *newest = NULL;

	for (size_t i = 0; i < l->depth; i++) {
		struct live_state *const s = &l->state[i];

		if (s->is_used && (newest == NULL || s->head.clock > newest->head.clock))
			newest = s;
	}
	return newest;
}

void
live_drop_after(struct live *l, uint64_t clock)
{
	for (size_t i = 0; i < l->depth; i++)
		if (l->state[i].head.clock > clock)
			l->state[i].is_used = 0;
}

/* One that is free, or the oldest. */
static struct live_state *
pick_place(struct live *l)
{
	struct live_state *oldest = &l->state[0];

	for (size_t i = 0; i < l->depth; i++) {
		struct live_state *const s = &l->state[i];

		if (!s->is_used)
			return s;
		if (s->head.clock < oldest->head.clock)
			oldest = s;
	}
	return oldest;
}

static enum rs_status
resize(struct live_state *s, const struct live_head *head)
{
	if (s->dense != NULL && s->head.P == head->P && s->head.n_marks == head->n_marks
	    && s->head.n_files == head->n_files)
		return RS_OK;
	free_state(s);
	RS_TRY(memory_alloc(3 * head->P + 1, sizeof *s->dense, &s->dense));
	RS_TRY(memory_alloc(head->n_marks + 1, sizeof *s->mark, &s->mark));
	return memory_alloc(head->n_files + 1, sizeof *s->tally, &s->tally);
}

enum rs_status
live_put(struct live *l, const struct live_head *head, struct live_state **out)
{
	struct live_state *s = live_find(l, head->clock);

	if (s == NULL)
		s = pick_place(l);
	s->is_used = 0;
	const enum rs_status status = resize(s, head);
	if (status != RS_OK) {
		free_state(s);
		return status;
	}
	s->head = *head;
	s->is_used = 1;
	*out = s;
	return RS_OK;
}
