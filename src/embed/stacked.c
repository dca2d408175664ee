/* Several rows an occurrence, of a lookup that knows one. */
#include "embed/stacked.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/hash_stack.h"
#include "data/id_hash.h"
#include "embed/stage.h"

/* What an id and a pointer take, in floats. */
#define ID_FLOATS      (sizeof(uint64_t) / sizeof(float))
#define POINTER_FLOATS (sizeof(void *) / sizeof(float))

/* What a table is to this file. */
struct stacked_table {
	size_t rounds, D;
	struct id_divisor rows;        /* without that of "missing"                       */
	float  factor;                 /* of the sum of a value                           */
};

/* The ids of an input of the step that was fetched. */
struct stacked_ids {
	const uint64_t *from;          /* [n] of batches                                  */
	size_t n;
	size_t rounds;                 /* 0: it passed unchanged                          */
	const uint64_t *to;            /* [n,rounds] own, or those of an input before     */
	uint64_t *own;
	size_t capacity;
};

/* Of the occurrences of one input of a slot. */
struct stacked_place {
	uint64_t *ids;                 /* [n,rounds]                                      */
	const float **pointer;         /* [n,rounds] of rows, then of gradients           */
	float *scale;                  /* [n,rounds] of gradients                         */
	float *sum;                    /* [n,D]                                           */
};

struct stacked {
	struct stacked_table *table;   /* [n_tables]                                      */
	struct stacked_ids *ids;       /* [n_inputs]                                      */
	size_t n_inputs;
	struct stage stage;            /* of slots in training                            */
};

static int
has_rounds(const struct lookup_table *t)
{
	return t->rounds > 1;
}

static enum rs_status
fill(struct stacked *s, const struct lookup_table *table, size_t n_tables, size_t n_slots)
{
	RS_TRY(memory_alloc(n_tables + 1, sizeof(*s->table), &s->table));
	RS_TRY(memory_alloc(s->n_inputs + 1, sizeof(*s->ids), &s->ids));
	for (size_t i = 0; i < n_tables; i++)
		s->table[i] = (struct stacked_table){
			.rounds = has_rounds(&table[i]) ? table[i].rounds : 1, .D = table[i].dim,
			.rows = id_divisor_make(has_rounds(&table[i]) ? table[i].rows - 1 : 1),
			.factor = table[i].scales_rounds
				? (float)(1 / sqrt((double)table[i].rounds)) : 1,
		};
	return stage_init(&s->stage, n_slots, s->n_inputs);
}

enum rs_status
stacked_open(const struct lookup_table *table, size_t n_tables, size_t n_slots, size_t n_inputs,
	struct stacked **out)
{
	size_t n = 0;

	*out = NULL;
	for (size_t i = 0; i < n_tables; i++)
		n += (size_t)has_rounds(&table[i]);
	if (n == 0)
		return RS_OK;
	RS_TRY(memory_alloc(1, sizeof(**out), out));
	(*out)->n_inputs = n_inputs;
	const enum rs_status status = fill(*out, table, n_tables, n_slots);
	if (status != RS_OK) {
		stacked_close(*out);
		*out = NULL;
	}
	return status;
}

void
stacked_close(struct stacked *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; s->ids != NULL && i < s->n_inputs; i++)
		free(s->ids[i].own);
	stage_free(&s->stage);
	free(s->ids);
	free(s->table);
	free(s);
}

static int
passes(const struct stacked *s, size_t table)
{
	return s == NULL || s->table[table].rounds == 1;
}

static int
is_missing(uint64_t id)
{
	return id == SCHEMA_EXACT_BUCKETS;
}

static inline uint64_t
row_of(const struct stacked_table *t, uint64_t id, size_t round)
{
	return is_missing(id) ? t->rows.d : id_remainder(hash_stack_hash(id, round), &t->rows);
}

uint64_t
stacked_row(const struct lookup_table *t, uint64_t id, size_t round)
{
	const struct stacked_table of = { .rows = id_divisor_make(t->rows - 1) };

	return row_of(&of, id, round);
}

/* The ids of all rounds, side by side; those of "missing" are all the same. */
static void
put_rounds(const struct stacked_table *t, const uint64_t *ids, size_t n, uint64_t *out)
{
	for (size_t j = 0; j < n; j++)
		for (size_t r = 0; r < t->rounds; r++)
			*out++ = row_of(t, ids[j], r);
}

/* --- a step that is fetched ---------------------------------------- */

/* Tables with the same occurrences go on having the same: vectors and first-order weights. */
static const struct stacked_ids *
find_same(const struct stacked *s, size_t i, const struct lookup_use *use,
	const struct stacked_table *t)
{
	for (size_t k = 0; k < i; k++)
		if (s->ids[k].rounds == t->rounds && s->ids[k].from == use[i].ids
		    && s->ids[k].n == use[i].n && s->table[use[k].table].rows.d == t->rows.d)
			return &s->ids[k];
	return NULL;
}

static enum rs_status
reserve(struct stacked_ids *a, size_t n)
{
	if (n <= a->capacity)
		return RS_OK;
	free(a->own);
	a->own = NULL;
	a->capacity = 0;
	RS_TRY(memory_alloc(n + n / 4, sizeof(*a->own), &a->own));
	a->capacity = n + n / 4;
	return RS_OK;
}

static enum rs_status
use_input(struct stacked *s, struct lookup_use *use, size_t i)
{
	struct stacked_ids *const a = &s->ids[i];
	const struct stacked_table *const t = &s->table[use[i].table];
	const struct stacked_ids *const same = find_same(s, i, use, t);

	a->from = use[i].ids;
	a->n = use[i].n;
	a->rounds = t->rounds;
	if (same == NULL) {
		RS_TRY(reserve(a, a->n * t->rounds));
		put_rounds(t, a->from, a->n, a->own);
	}
	a->to = same != NULL ? same->to : a->own;
	return RS_OK;
}

enum rs_status
stacked_use(struct stacked *s, struct lookup_use *use, size_t n)
{
	if (s == NULL)
		return RS_OK;
	for (size_t i = 0; i < n; i++)
		s->ids[i].rounds = 0;
	for (size_t i = 0; i < n; i++)
		if (use[i].n > 0 && !passes(s, use[i].table))
			RS_TRY(use_input(s, use, i));
	for (size_t i = 0; i < n; i++)
		if (s->ids[i].rounds > 0) {
			use[i].ids = s->ids[i].to;
			use[i].n = s->ids[i].n * s->ids[i].rounds;
		}
	return RS_OK;
}

/* --- rows and gradients ---------------------------------------- */

size_t
stacked_bytes(const struct lookup_table *t)
{
	if (!has_rounds(t))
		return 0;
	return t->rounds * (sizeof(uint64_t) + sizeof(float *) + sizeof(float))
		+ t->dim * sizeof(float);
}

/* Room for n occurrences; what was put there stays until there are more than ever. */
static enum rs_status
take_place(struct stage *stage, size_t slot, size_t input, const struct stacked_table *t, size_t n,
	struct stacked_place *out)
{
	const size_t N = n * t->rounds;
	float *room;

	RS_TRY(stage_take(stage, slot, input, N * (ID_FLOATS + POINTER_FLOATS + 1) + n * t->D,
		&room));
	out->ids = (uint64_t *)(void *)room;
	out->pointer = (const float **)(void *)(room + N * ID_FLOATS);
	out->scale = room + N * (ID_FLOATS + POINTER_FLOATS);
	out->sum = out->scale + N;
	return RS_OK;
}

/* Where the ids of a pull are: in what was fetched, or worked out here. */
static const uint64_t *
ids_of(const struct stacked *s, const struct lookup *l, const struct lookup_pull *p,
	const struct stacked_place *at)
{
	const struct stacked_table *const t = &s->table[p->table];
	const struct stacked_ids *const a = &s->ids[p->input];

	if (l->ops->fetch != NULL && a->rounds > 0 && p->ids >= a->from
	    && p->ids + p->n <= a->from + a->n)
		return a->to + (size_t)(p->ids - a->from) * a->rounds;
	put_rounds(t, p->ids, p->n, at->ids);
	return at->ids;
}

/* y [D] = factor * (the sum of the rows). */
static void
sum_rows(const struct stacked_table *t, const float *const *row, float *y)
{
	memcpy(y, row[0], t->D * sizeof(*y));
	for (size_t r = 1; r < t->rounds; r++)
		for (size_t d = 0; d < t->D; d++)
			y[d] += row[r][d];
	for (size_t d = 0; t->factor != 1 && d < t->D; d++)
		y[d] *= t->factor;
}

enum rs_status
stacked_pull(struct stacked *s, struct lookup *l, const struct lookup_pull *p)
{
	struct stacked_place at;

	if (passes(s, p->table) || p->n == 0)
		return l->ops->pull(l, p);
	const struct stacked_table *const t = &s->table[p->table];
	RS_TRY(p->stage != NULL
		? take_place(p->stage, 0, s->n_inputs + p->input, t, p->n, &at)
		: take_place(&s->stage, p->slot, p->input, t, p->n, &at));
	struct lookup_pull inner = *p;
	inner.ids = ids_of(s, l, p, &at);
	inner.n = p->n * t->rounds;
	inner.row = at.pointer;
	RS_TRY(l->ops->pull(l, &inner));
	for (size_t j = 0; j < p->n; j++) {
		float *const y = at.sum + j * t->D;

		if (is_missing(p->ids[j]))
			memcpy(y, at.pointer[j * t->rounds], t->D * sizeof(*y));
		else
			sum_rows(t, at.pointer + j * t->rounds, y);
		p->row[j] = y;
	}
	return RS_OK;
}

enum rs_status
stacked_push(struct stacked *s, struct lookup *l, const struct lookup_push *p)
{
	struct stacked_place at;

	if (passes(s, p->table) || p->n == 0)
		return l->ops->push(l, p);
	const struct stacked_table *const t = &s->table[p->table];
	RS_TRY(take_place(&s->stage, p->slot, p->input, t, p->n, &at));
	put_rounds(t, p->ids, p->n, at.ids);
	for (size_t j = 0, i = 0; j < p->n; j++) {
		const float scale = p->scale != NULL ? p->scale[j] : 1;

		for (size_t r = 0; r < t->rounds; r++, i++) {
			at.pointer[i] = p->grad[j];
			at.scale[i] = !is_missing(p->ids[j]) ? scale * t->factor
				: r == 0 ? scale : 0;
		}
	}
	struct lookup_push inner = *p;
	inner.ids = at.ids;
	inner.n = p->n * t->rounds;
	inner.grad = at.pointer;
	inner.scale = at.scale;
	return l->ops->push(l, &inner);
}

int
stacked_touched(const struct stacked *s, const struct lookup *l, size_t table, uint64_t id)
{
	size_t n = 0;

	if (passes(s, table))
		return l->ops->touched(l, table, id);
	const struct stacked_table *const t = &s->table[table];
	while (n < t->rounds && l->ops->touched(l, table, row_of(t, id, n)))
		n++;
	return n == t->rounds;
}
