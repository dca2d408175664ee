/* Marked rows of a hashed table. */
#include "embed/table_walk.h"

#include <stdlib.h>

#include "base/memory.h"

#define AHEAD 512u              /* rows that the disk may be busy with             */
#define BITS  TABLE_TOUCHED_BITS

static uint64_t
word_at(const uint64_t *a, const uint64_t *b, uint64_t i)
{
	return a[i / BITS] | (b != NULL ? b[i / BITS] : 0);
}

/* The first marked row from i on; n_rows: there is none. */
static uint64_t
next_marked(const struct table_walk *w, uint64_t i)
{
	while (i < w->t->n_rows) {
		const uint64_t rest = word_at(w->a, w->b, i) >> (i % BITS);

		if (rest != 0)
			return i + (uint64_t)__builtin_ctzll(rest);
		i = (i / BITS + 1) * BITS;
	}
	return w->t->n_rows;
}

uint64_t
table_walk_count(const struct table *t, const uint64_t *a, const uint64_t *b)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < t->n_rows; i += BITS)
		n += (uint64_t)__builtin_popcountll(word_at(a, b, i));
	return n;
}

/* The row that n marked rows come before; n_rows: there is none. */
static uint64_t
marked_after(const struct table_walk *w, uint64_t n)
{
	uint64_t i = 0;

	for (; i < w->t->n_rows; i += BITS) {
		const uint64_t here = (uint64_t)__builtin_popcountll(word_at(w->a, w->b, i));

		if (here > n)
			break;
		n -= here;
	}
	for (i = next_marked(w, i); n > 0 && i < w->t->n_rows; n--)
		i = next_marked(w, i + 1);
	return i;
}

/* Asks the disk for the first rows, from w->next on. */
static enum rs_status
begin(struct table_walk *w)
{
	const struct table *const t = w->t;

	w->ahead = w->next;
	RS_TRY(memory_alloc(t->stride, sizeof(*w->scratch), &w->scratch));
	for (unsigned n = 0; n < AHEAD && table_is_spilled(t) && w->ahead < t->n_rows; n++) {
		spill_expect(t->spill, w->ahead);
		w->ahead = next_marked(w, w->ahead + 1);
	}
	return RS_OK;
}

enum rs_status
table_walk_init(struct table_walk *w, const struct table *t, const uint64_t *a, const uint64_t *b)
{
	*w = (struct table_walk){ .t = t, .a = a, .b = b, .left = UINT64_MAX };
	w->next = next_marked(w, 0);
	return begin(w);
}

enum rs_status
table_walk_init_part(struct table_walk *w, const struct table *t, const uint64_t *a, uint64_t first,
	uint64_t n)
{
	*w = (struct table_walk){ .t = t, .a = a, .left = n };
	w->next = marked_after(w, first);
	return begin(w);
}

void
table_walk_free(struct table_walk *w)
{
	free(w->scratch);
	w->scratch = NULL;
}

enum rs_status
table_walk_next(struct table_walk *w, uint64_t *i, const float **row)
{
	const struct table *t = w->t;

	*row = NULL;
	if (w->next >= t->n_rows || w->left == 0)
		return RS_OK;
	w->left--;
	*i = w->next;
	w->next = next_marked(w, w->next + 1);
	if (table_is_spilled(t) && w->ahead < t->n_rows) {
		spill_expect(t->spill, w->ahead);
		w->ahead = next_marked(w, w->ahead + 1);
	}
	return table_read(t, *i, w->scratch, row);
}
