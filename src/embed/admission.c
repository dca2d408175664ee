/* Questions and answers of the admission filters. */
#include "embed/admission.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "embed/admission_private.h"

#define CELL_BYTE_MAX 255
#define KEPT_PERCENT  95

struct filter {
	enum rs_status (*ask)(struct admission *a, struct admission_part *p,
		const struct admission_question *q, int *admitted);
	/* NULL: nothing to do. */
	enum rs_status (*end_step)(struct admission *a, struct admission_part *p, uint32_t now,
		struct evict_scratch *scratch);
};

static enum rs_status
ask_all(struct admission *a, struct admission_part *p, const struct admission_question *q,
	int *admitted)
{
	(void)a;
	(void)p;
	(void)q;
	*admitted = 1;
	return RS_OK;
}

static enum rs_status
ask_counter(struct admission *a, struct admission_part *p, const struct admission_question *q,
	int *admitted)
{
	const struct admission_settings *s = &a->settings;
	struct waiting_entry *e = waiting_find(&p->waiting, q->id);
	const int begins = e == NULL || expiry_is_over(&s->expiry, e->last, q->before);
	const uint64_t count = (begins ? 0 : (uint64_t)e->count) + q->n;
	const struct waiting_entry entry = {
		.id = q->id, .count = (uint32_t)count, .last = q->now,
	};

	*admitted = count >= s->count;
	if (*admitted && e != NULL)
		waiting_remove(&p->waiting, e);
	if (*admitted)
		return RS_OK;
	if (e == NULL)
		return waiting_put(&p->waiting, &entry);
	*e = entry;
	return RS_OK;
}

/* From behind: a removal moves what follows. */
static void
drop_over(const struct expiry *expiry, struct waiting *w, uint32_t now)
{
	for (size_t i = w->places; expiry->limit > 0 && i-- > 0;)
		if (w->entry[i].count > 0 && expiry_is_over(expiry, w->entry[i].last, now))
			waiting_remove(w, &w->entry[i]);
}

/* The counters seen longest ago go.  Those that are over go first, or it would matter whether
 * they were saved. */
static enum rs_status
limit_counters(struct admission *a, struct admission_part *p, uint32_t now,
	struct evict_scratch *scratch)
{
	struct waiting *w = &p->waiting;
	const size_t kept = a->counters_most * KEPT_PERCENT / 100;
	struct evict_key until;

	if (w->n > a->counters_most)
		drop_over(&a->settings.expiry, w, now);
	if (w->n <= a->counters_most)
		return RS_OK;
	RS_TRY(evict_begin(scratch, EVICT_LRU, w->n));
	for (size_t i = 0; i < w->places; i++)
		if (w->entry[i].count > 0)
			evict_add(scratch, w->entry[i].id, w->entry[i].last, w->entry[i].count);
	until = evict_find(scratch, w->n - kept);
	for (size_t i = w->places; i-- > 0;) {
		struct waiting_entry *e = &w->entry[i];

		if (e->count > 0 && evict_goes(&until, EVICT_LRU, e->id, e->last, e->count))
			waiting_remove(w, e);
	}
	return RS_OK;
}

static enum rs_status
ask_sketch(struct admission *a, struct admission_part *p, const struct admission_question *q,
	int *admitted)
{
	const uint32_t most = a->settings.count;
	uint32_t least = most, value;
	size_t place[ADMISSION_ROWS];

	for (size_t r = 0; r < ADMISSION_ROWS; r++) {
		place[r] = r * a->row_cells + (size_t)rng_below(q->id, r, a->row_cells);
		value = admission_cell(a, p, place[r]);
		least = value < least ? value : least;
	}
	value = q->n < most - least ? least + q->n : most;
	for (size_t r = 0; r < ADMISSION_ROWS; r++)
		if (admission_cell(a, p, place[r]) < value)
			admission_set_cell(a, p, place[r], value);
	p->counted += value - least;
	*admitted = value == most;
	return RS_OK;
}

static enum rs_status
age_sketch(struct admission *a, struct admission_part *p, uint32_t now,
	struct evict_scratch *scratch)
{
	(void)now;
	(void)scratch;
	if (p->counted <= a->halve_above)
		return RS_OK;
	for (size_t i = 0; i < ADMISSION_ROWS * a->row_cells; i++)
		admission_set_cell(a, p, i, admission_cell(a, p, i) / 2);
	p->counted /= 2;
	return RS_OK;
}

/* x^n by squaring: the same bits wherever it runs, which pow() does not promise. */
static double
power(double x, uint32_t n)
{
	double y = 1;

	for (; n > 0; n >>= 1, x *= x)
		if (n & 1)
			y *= x;
	return y;
}

static enum rs_status
ask_chance(struct admission *a, struct admission_part *p, const struct admission_question *q,
	int *admitted)
{
	const double chance = 1 - power(1 - a->settings.probability, q->n);

	(void)p;
	*admitted = rng_uniform(rng_key(a->key, q->id), q->step) < chance;
	return RS_OK;
}

static const struct filter filter[] = {
	[ADMISSION_ALL] = { .ask = ask_all },
	[ADMISSION_COUNT] = { .ask = ask_counter, .end_step = limit_counters },
	[ADMISSION_SKETCH] = { .ask = ask_sketch, .end_step = age_sketch },
	[ADMISSION_PROBABILITY] = { .ask = ask_chance },
};

static size_t
cell_bytes(const struct admission_settings *s)
{
	return s->count > CELL_BYTE_MAX ? sizeof(uint16_t) : sizeof(uint8_t);
}

static size_t
row_cells(const struct admission_settings *s)
{
	const size_t n = (size_t)(s->cells / ADMISSION_PARTS / ADMISSION_ROWS);

	return n > 0 ? n : 1;
}

uint64_t
admission_sketch_bytes(const struct admission_settings *s, size_t n_parts)
{
	return s->kind == ADMISSION_SKETCH ? n_parts * ADMISSION_ROWS * cell_bytes(s) *
		(uint64_t)row_cells(s) : 0;
}

static enum rs_status
open_sketch(struct admission *a)
{
	const struct admission_settings *s = &a->settings;
	const size_t n_parts = s->part_end - s->part_begin;

	a->cell_bytes = cell_bytes(s);
	a->row_cells = row_cells(s);
	/* 2e = 5.4366 */
	a->halve_above = (uint64_t)((unsigned __int128)a->row_cells * s->count * 10000 / 54366);
	RS_TRY(size_mul(a->row_cells, ADMISSION_ROWS * a->cell_bytes, &a->part_cell_bytes));
	RS_TRY(size_mul(a->part_cell_bytes, n_parts, &a->cells_bytes));
	RS_TRY(large_alloc(a->cells_bytes, &a->cells));
	for (size_t i = 0; i < n_parts; i++)
		a->part[s->part_begin + i].cell = a->cells + i * a->part_cell_bytes;
	return RS_OK;
}

enum rs_status
admission_open(const struct admission_settings *settings, struct admission **out)
{
	enum rs_status status;
	struct admission *a;

	RS_TRY(memory_alloc(1, sizeof(*a), &a));
	a->settings = *settings;
	snprintf(a->name, sizeof(a->name), "%s", settings->name);
	a->settings.name = a->name;
	a->settings.part_end = settings->part_end > 0 ? settings->part_end : ADMISSION_PARTS;
	a->key = rng_key(rng_key(settings->seed, RNG_ADMIT), settings->key);
	a->counters_most = (size_t)(settings->cells / ADMISSION_PARTS);
	status = memory_alloc(ADMISSION_PARTS, sizeof(*a->part), &a->part);
	if (status == RS_OK && settings->kind == ADMISSION_SKETCH)
		status = open_sketch(a);
	if (status != RS_OK) {
		admission_close(a);
		return status;
	}
	*out = a;
	return RS_OK;
}

void
admission_close(struct admission *a)
{
	for (size_t i = 0; a->part != NULL && i < ADMISSION_PARTS; i++)
		waiting_free(&a->part[i].waiting);
	large_free(a->cells, a->cells_bytes);
	free(a->part);
	free(a);
}

const char *
admission_name(const struct admission *a)
{
	return a->name;
}

uint64_t
admission_bytes(const struct admission *a)
{
	uint64_t bytes = sizeof(*a) + ADMISSION_PARTS * sizeof(*a->part) + a->cells_bytes;

	for (size_t i = 0; i < ADMISSION_PARTS; i++)
		bytes += waiting_bytes(&a->part[i].waiting);
	return bytes;
}

uint64_t
admission_waiting(const struct admission *a)
{
	uint64_t n = 0;

	for (size_t i = 0; i < ADMISSION_PARTS; i++)
		n += a->part[i].waiting.n;
	return n;
}

enum rs_status
admission_ask(struct admission *a, const struct admission_question *q, int *admitted)
{
	const size_t part = admission_part(q->id);

	assert(q->n > 0 && part >= a->settings.part_begin && part < a->settings.part_end);
	return filter[a->settings.kind].ask(a, &a->part[part], q, admitted);
}

enum rs_status
admission_end_step(struct admission *a, size_t part, uint32_t now, struct evict_scratch *scratch)
{
	const struct filter *f = &filter[a->settings.kind];

	return f->end_step != NULL ? f->end_step(a, &a->part[part], now, scratch) : RS_OK;
}

void
admission_restamp(struct admission *a, uint32_t now)
{
	for (size_t part = 0; part < ADMISSION_PARTS; part++) {
		const struct waiting *w = &a->part[part].waiting;

		for (size_t i = 0; i < w->places; i++)
			w->entry[i].last = now;
	}
}

int
admission_has_state(const struct admission *a)
{
	return filter[a->settings.kind].end_step != NULL;
}
