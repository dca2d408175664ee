/* Candidates and negatives of batches. */
#include "data/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "data/sampler_table.h"

struct sampler {
	const struct schema *schema;
	const struct items_settings *items;
	enum loss_kind loss;
	const struct catalogue *catalogue;
	struct sampler_table all, within;  /* within.n == 0: no such field             */
	float   *log_q;                    /* [n] sampled_softmax                      */
	uint64_t key, fallbacks;
	uint32_t *seen, *place;            /* [n] of item i: round, row of candidates  */
	uint32_t round;
	uint32_t *own;                     /* [own_capacity] items of the batch's rows */
	size_t own_capacity;
	struct batch_place *rest, *item;   /* [place_capacity] of sampler_expand()     */
	size_t place_capacity;
};

static int
expands(const struct settings *s)
{
	return s->items.negatives > 0 &&
		(s->model.loss == LOSS_LOGLOSS || s->model.loss == LOSS_MSE);
}

int
sampler_needed(const struct settings *s)
{
	const enum loss_kind loss = s->model.loss;

	return expands(s) || loss == LOSS_FULL_SOFTMAX ||
		(s->items.negatives > 0 && (loss == LOSS_SAMPLED_SOFTMAX || loss == LOSS_BPR ||
			loss == LOSS_CCL));
}

/* --- making ---------------------------------------------------------------- */

/* log of 1 - (1 - q)^S, the probability that S draws have the item at all. */
static float
log_drawn(double q, double S)
{
	return (float)log(q < 1 ? -expm1(S * log1p(-q)) : 1.0);
}

static enum rs_status
make_log_q(struct sampler *s, const double *weight)
{
	const size_t n = s->catalogue->n;
	double sum = 0;

	if (s->loss != LOSS_SAMPLED_SOFTMAX)
		return RS_OK;
	RS_TRY(memory_alloc(n, sizeof *s->log_q, &s->log_q));
	for (size_t i = 0; i < n; i++)
		sum += weight != NULL ? weight[i] : 1;
	for (size_t i = 0; i < n; i++)
		s->log_q[i] = log_drawn((weight != NULL ? weight[i] : 1) / sum,
			(double)s->items->negatives);
	return RS_OK;
}

/* The column of items.within; NULL when there is none. */
static const uint64_t *
within_ids(const struct sampler *s)
{
	for (size_t i = 0; i < s->schema->n_fields; i++)
		if (!s->schema->field[i].is_dense &&
		    strcmp(s->schema->field[i].name, s->items->within) == 0)
			return s->catalogue->items.column[s->schema->field[i].index].ids;
	return NULL;
}

static enum rs_status
make_tables(struct sampler *s, const double *weight)
{
	const uint64_t *const group = *s->items->within != '\0' ? within_ids(s) : NULL;

	RS_TRY(make_log_q(s, weight));
	RS_TRY(sampler_table_make(&s->all, s->catalogue->n, NULL, weight));
	return group == NULL ? RS_OK :
			       sampler_table_make(&s->within, s->catalogue->n, group, weight);
}

static enum rs_status
make(struct sampler *s)
{
	const size_t n = s->catalogue->n;
	double *weight = NULL;
	enum rs_status status;

	if (n < 2)
		return rs_fail(RS_EDATA,
			"the training rows have %zu item, at least 2 are needed to compare", n);
	RS_TRY(memory_alloc(n, sizeof *s->seen, &s->seen));
	RS_TRY(memory_alloc(n, sizeof *s->place, &s->place));
	if (s->items->sample == SAMPLE_POPULARITY)
		RS_TRY(memory_alloc(n, sizeof *weight, &weight));
	for (size_t i = 0; weight != NULL && i < n; i++)
		weight[i] = pow((double)s->catalogue->rows[i], s->items->alpha);
	status = make_tables(s, weight);
	free(weight);
	return status;
}

enum rs_status
sampler_create(
	const struct schema *schema, const struct catalogue *catalogue, struct sampler **out)
{
	const struct settings *const settings = schema->settings;
	struct sampler *s;
	enum rs_status status;

	*out = NULL;
	RS_TRY(memory_alloc(1, sizeof *s, &s));
	s->schema = schema;
	s->items = &settings->items;
	s->loss = settings->model.loss;
	s->catalogue = catalogue;
	s->key = rng_key((uint64_t)settings->train.seed, RNG_NEGATIVE);
	status = make(s);
	if (status != RS_OK) {
		sampler_free(s);
		return status;
	}
	*out = s;
	return RS_OK;
}

void
sampler_free(struct sampler *s)
{
	if (s == NULL)
		return;
	sampler_table_free(&s->all);
	sampler_table_free(&s->within);
	free(s->log_q);
	free(s->seen);
	free(s->place);
	free(s->own);
	free(s->rest);
	free(s->item);
	free(s);
}

uint64_t
sampler_fallbacks(const struct sampler *s)
{
	return s->fallbacks;
}

/* --- drawing --------------------------------------------------------------- */

static enum rs_status
grow(void *block, size_t *capacity, size_t n, size_t size)
{
	void *old, *grown;
	size_t bytes;

	if (n <= *capacity)
		return RS_OK;
	RS_TRY(size_mul(n, size, &bytes));
	memcpy(&old, block, sizeof old);
	grown = realloc(old, bytes);
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for drawn items: %zu bytes", bytes);
	memcpy(block, &grown, sizeof grown);
	*capacity = n;
	return RS_OK;
}

/* Numbers of the items of the batch's rows. */
static enum rs_status
find_own(struct sampler *s, const struct batch *batch)
{
	RS_TRY(grow(&s->own, &s->own_capacity, batch->B, sizeof *s->own));
	for (size_t b = 0; b < batch->B; b++) {
		s->own[b] = catalogue_find(s->catalogue, batch->item[b]);
		if (s->own[b] == CATALOGUE_NONE)
			return rs_fail(RS_EDATA,
				"a row of the training data has an item that was not there "
				"when the items were read: the files changed");
	}
	return RS_OK;
}

static uint64_t
row_key(const struct sampler *s, const struct batch *batch, size_t b)
{
	return rng_key(rng_key(s->key, batch->epoch), batch->first_row + b);
}

static uint32_t
draw_for_row(struct sampler *s, uint32_t own, uint64_t key, uint64_t draw)
{
	const struct sampler_range *const range = s->within.n > 0 ? &s->within.range[own] : NULL;

	if (range == NULL)
		return sampler_table_draw_other(&s->all, own, key, draw);
	if (range->end - range->begin > 1)
		return sampler_table_draw_other(&s->within, own, key, draw);
	s->fallbacks++;
	return sampler_table_draw_other(&s->all, own, key, draw);
}

/* --- candidates ------------------------------------------------------------ */

static enum rs_status
candidates_make(const struct sampler *s, struct batch *batch)
{
	struct batch_candidates *c;
	enum rs_status status;

	if (batch->candidates != NULL)
		return RS_OK;
	RS_TRY(memory_alloc(1, sizeof *c, &c));
	status = batch_init(&c->own, s->schema);
	if (status != RS_OK) {
		free(c);
		return status;
	}
	c->items = &c->own;
	batch->candidates = c;
	return RS_OK;
}

static enum rs_status
candidates_reserve(const struct sampler *s, struct batch_candidates *c, size_t M)
{
	size_t capacity = c->capacity;

	RS_TRY(grow(&c->number, &capacity, M, sizeof *c->number));
	if (s->loss == LOSS_SAMPLED_SOFTMAX) {
		capacity = c->capacity;
		RS_TRY(grow(&c->drawn, &capacity, M, sizeof *c->drawn));
		capacity = c->capacity;
		RS_TRY(grow(&c->log_q, &capacity, M, sizeof *c->log_q));
	}
	c->capacity = capacity;
	return RS_OK;
}

/* The item's row among the candidates, a new one when it has none yet. */
static uint32_t
candidate(struct sampler *s, struct batch_candidates *c, uint32_t item)
{
	if (s->seen[item] == s->round)
		return s->place[item];
	s->seen[item] = s->round;
	s->place[item] = (uint32_t)c->M;
	c->number[c->M] = item;
	if (c->drawn != NULL) {
		c->drawn[c->M] = 0;
		c->log_q[c->M] = s->log_q[item];
	}
	return (uint32_t)c->M++;
}

static void
next_round(struct sampler *s)
{
	if (++s->round == 0) {
		memset(s->seen, 0, s->catalogue->n * sizeof *s->seen);
		s->round = 1;
	}
}

static void
draw_for_batch(struct sampler *s, const struct batch *batch)
{
	struct batch_candidates *const c = batch->candidates;
	const uint64_t key = row_key(s, batch, 0);

	for (uint64_t i = 0; i < (uint64_t)s->items->negatives; i++) {
		const uint32_t item = sampler_table_draw(&s->all, 0, key, i);

		c->drawn[candidate(s, c, item)] = 1;
	}
}

static enum rs_status
draw_for_rows(struct sampler *s, const struct batch *batch)
{
	struct batch_candidates *const c = batch->candidates;
	size_t n;

	c->n = (size_t)s->items->negatives;
	RS_TRY(size_mul(batch->B, c->n, &n));
	RS_TRY(grow(&c->negative, &c->negative_capacity, n, sizeof *c->negative));
	for (size_t b = 0; b < batch->B; b++) {
		const uint64_t key = row_key(s, batch, b);

		for (size_t i = 0; i < c->n; i++)
			c->negative[b * c->n + i] =
				candidate(s, c, draw_for_row(s, s->own[b], key, i));
	}
	return RS_OK;
}

size_t
sampler_most(const struct settings *settings, size_t n_items, size_t B)
{
	const enum loss_kind loss = settings->model.loss;
	size_t draws = (size_t)settings->items.negatives;

	if (loss == LOSS_FULL_SOFTMAX)
		return n_items;
	if (loss != LOSS_SAMPLED_SOFTMAX)
		draws = draws > 0 && B > n_items / draws ? n_items : B * draws;
	return draws < n_items && B < n_items - draws ? B + draws : n_items;
}

static enum rs_status
gather_drawn(struct sampler *s, struct batch *batch)
{
	struct batch_candidates *const c = batch->candidates;

	RS_TRY(candidates_reserve(s, c,
		sampler_most(s->schema->settings, s->catalogue->n, batch->B)));
	next_round(s);
	c->M = 0;
	for (size_t b = 0; b < batch->B; b++)
		c->positive[b] = candidate(s, c, s->own[b]);
	if (s->loss == LOSS_SAMPLED_SOFTMAX)
		draw_for_batch(s, batch);
	else
		RS_TRY(draw_for_rows(s, batch));
	batch_clear(&c->own);
	return batch_gather(&c->own, &s->catalogue->items, c->number, c->M);
}

static enum rs_status
take_catalogue(struct sampler *s, struct batch *batch)
{
	struct batch_candidates *const c = batch->candidates;

	memcpy(c->positive, s->own, batch->B * sizeof *c->positive);
	if (c->M == s->catalogue->n)
		return RS_OK;
	RS_TRY(candidates_reserve(s, c, s->catalogue->n));
	c->M = s->catalogue->n;
	c->items = &s->catalogue->items;
	for (size_t i = 0; i < c->M; i++)
		c->number[i] = (uint32_t)i;
	return RS_OK;
}

enum rs_status
sampler_candidates(struct sampler *s, struct batch *batch)
{
	RS_TRY(candidates_make(s, batch));
	RS_TRY(find_own(s, batch));
	RS_TRY(grow(&batch->candidates->positive, &batch->candidates->positive_capacity, batch->B,
		sizeof *batch->candidates->positive));
	return s->loss == LOSS_FULL_SOFTMAX ? take_catalogue(s, batch) : gather_drawn(s, batch);
}

/* --- rows of drawn items --------------------------------------------------- */

static enum rs_status
places_reserve(struct sampler *s, size_t n)
{
	size_t capacity = s->place_capacity;

	RS_TRY(grow(&s->rest, &capacity, n, sizeof *s->rest));
	capacity = s->place_capacity;
	RS_TRY(grow(&s->item, &capacity, n, sizeof *s->item));
	s->place_capacity = capacity;
	return RS_OK;
}

enum rs_status
sampler_expand(struct sampler *s, const struct batch *rows, struct batch *out)
{
	const size_t n = (size_t)s->items->negatives, first = out->B;
	size_t most, at = 0;

	RS_TRY(size_mul(rows->B, n + 1, &most));
	RS_TRY(places_reserve(s, most));
	RS_TRY(find_own(s, rows));
	for (size_t b = 0; b < rows->B; b++) {
		const struct batch_place own = { rows, (uint32_t)b };
		const uint64_t key = row_key(s, rows, b);

		s->rest[at] = s->item[at] = own;
		at++;
		for (size_t i = 0; rows->label[b] > 0 && i < n; i++, at++) {
			s->rest[at] = own;
			s->item[at] = (struct batch_place){ &s->catalogue->items,
				draw_for_row(s, s->own[b], key, i) };
		}
	}
	RS_TRY(batch_join(out, s->schema, s->rest, s->item, at));
	for (size_t i = 0; i < at; i++)
		if (s->item[i].batch != rows)
			out->label[first + i] = 0;
	out->drawn = at - rows->B;
	out->epoch = rows->epoch;
	out->first_row = rows->first_row;
	out->last = rows->last;
	return RS_OK;
}

enum rs_status
sampler_fill(struct sampler *s, struct batch *batch, struct batch *spare)
{
	struct batch rows;

	if (!expands(s->schema->settings))
		return sampler_candidates(s, batch);
	batch_clear(spare);
	RS_TRY(sampler_expand(s, batch, spare));
	rows = *batch;
	*batch = *spare;
	*spare = rows;
	return RS_OK;
}
