/* Memory and initial values of a table. */
#include "embed/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/rng.h"

static size_t
bit_words(const struct table *t)
{
	return (size_t)(t->n_rows + TABLE_TOUCHED_BITS - 1) / TABLE_TOUCHED_BITS;
}

static enum rs_status
open_exact(struct table *t, int for_training)
{
	float *zero;

	RS_TRY(memory_alloc(t->D, sizeof(*zero), &zero));
	t->zero = zero;
	RS_TRY(exact_open(&t->exact, t->begin, t->begin + t->n_rows, t->stride * sizeof(float)));
	return tenancy_open(&t->tenancy, &t->settings, &t->exact, for_training);
}

static void
start_spilled(const void *context, uint64_t i, float *row)
{
	const struct table *t = context;

	table_start_row(t, t->begin + i, row);
}

static enum rs_status
open_spilled(struct table *t)
{
	const struct spill_settings settings = {
		.directory = t->settings.spill, .name = t->settings.name, .n_rows = t->n_rows,
		.row_bytes = t->stride * sizeof(float), .resident_bytes = t->settings.resident,
		.start = start_spilled, .context = t,
	};

	t->block_bytes = 0;
	return spill_open(&settings, &t->spill);
}

enum rs_status
table_open(struct table *t, const struct lookup_table *settings, const struct kernel_set *kernel,
	int for_training)
{
	size_t floats;

	memset(t, 0, sizeof(*t));
	t->settings = *settings;
	t->optimizer = row_optimizer_get(settings->optimizer.kind);
	t->update = row_optimizer_kernel(t->optimizer, kernel);
	t->for_training = for_training;
	t->D = settings->dim;
	t->n_slot = for_training ? row_optimizer_slots(t->optimizer, t->D) : 0;
	t->slot_at = row_slot_at(settings->storage, t->D);
	t->stride = t->slot_at + t->n_slot;
	t->begin = settings->begin;
	t->n_rows = (settings->end > 0 ? settings->end : settings->rows) - settings->begin;
	t->start = (struct row_start){
		.key = rng_key(rng_key(settings->seed, RNG_INIT_ROW),
			hash_fingerprint64(settings->name, strlen(settings->name))),
		.stddev = settings->init_stddev,
		.accumulator = settings->optimizer.initial_accumulator,
	};
	t->row_key = row_table_key(settings->seed, settings->name);
	if (table_is_exact(t))
		return open_exact(t, for_training);
	RS_TRY(size_mul((size_t)t->n_rows, t->stride, &floats));
	RS_TRY(size_mul(floats, sizeof(float), &t->block_bytes));
	RS_TRY(memory_alloc(bit_words(t), sizeof(*t->touched), &t->touched));
	return settings->resident > 0 && settings->resident < t->block_bytes ? open_spilled(t) :
		drawn_init(&t->drawn, t->n_rows, t->D);
}

enum rs_status
table_keep_changes(struct table *t)
{
	t->keeps_changes = t->changed_all = 1;
	t->exact.keeps_gone = table_is_exact(t);
	if (table_is_exact(t))
		return RS_OK;
	return memory_alloc(bit_words(t), sizeof(*t->changed), &t->changed);
}

void
table_forget_changes(struct table *t)
{
	if (!t->keeps_changes)
		return;
	t->changed_all = 0;
	t->decays = (struct row_decays){ .n = 0 };
	if (table_is_exact(t))
		exact_forget_changes(&t->exact);
	else
		memset(t->changed, 0, bit_words(t) * sizeof(*t->changed));
}

int
table_knows_changes(const struct table *t)
{
	int lost = !t->keeps_changes || t->changed_all;

	for (unsigned i = 0; i < EXACT_SEGMENTS && table_is_exact(t); i++)
		lost |= t->exact.gone[i].lost;
	return !lost;
}

void
table_close(struct table *t)
{
	free(t->touched);
	free(t->changed);
	free(t->kept);
	drawn_free(&t->drawn);
	spill_close(t->spill);
	free((float *)(uintptr_t)t->zero);
	tenancy_close(&t->tenancy);
	exact_close(&t->exact);
	memset(t, 0, sizeof(*t));
}

void
table_init_weights(const struct table *t, uint64_t id, float *w)
{
	row_start_weights(&t->start, ROW_FP32, id, t->D, w);
	row_round(t->settings.storage, w, t->D);
}

void
table_get_weights(const struct table *t, const float *row, float *w)
{
	row_convert(t->settings.storage, row, ROW_FP32, w, t->D);
}

void
table_set_weights(const struct table *t, float *row, const float *w)
{
	row_convert(ROW_FP32, w, t->settings.storage, row, t->D);
}

void
table_set_slots(const struct table *t, float *row, const float *slots)
{
	if (t->n_slot == 0)
		return;
	if (slots != NULL)
		memcpy(row + t->slot_at, slots, t->n_slot * sizeof(*row));
	else
		row_optimizer_init(t->optimizer, &t->settings.optimizer, t->D, row + t->slot_at);
}

void
table_update(const struct table *t, uint64_t id, float *row, const float *sum,
	const struct table_step *step, float *scratch)
{
	if (!table_is_narrow(t)) {
		t->update(row, row + t->slot_at, sum, &step->args);
		return;
	}
	table_get_weights(t, row, scratch);
	t->update(scratch, row + t->slot_at, sum, &step->args);
	row_put(t->settings.storage, scratch, t->D, row_key(t->row_key, step->number, id), row);
}

static void
start_slots(const struct table *t, float *row)
{
	const struct row_optimizer_settings o = { .initial_accumulator = t->start.accumulator };

	if (t->n_slot > 0)
		row_optimizer_init(t->optimizer, &o, t->D, row + t->slot_at);
}

void
table_start_row(const struct table *t, uint64_t id, float *row)
{
	row_start_weights(&t->start, t->settings.storage, id, t->D, row);
	start_slots(t, row);
}

/* Rows [begin,end), as they begin. */
static void
draw_rows(const struct table *t, uint64_t begin, uint64_t end)
{
	const struct rng_rows rows = {
		.name = t->begin + begin, .n = (size_t)(end - begin), .D = t->D,
		.stride = t->stride,
	};

	for (uint64_t i = begin; table_is_narrow(t) && i < end; i++)
		row_start_weights(&t->start, t->settings.storage, t->begin + i, t->D,
			table_place(t, i));
	if (!table_is_narrow(t))
		row_start_floats(&t->start, rows, table_place(t, begin));
	for (uint64_t i = begin; i < end; i++)
		start_slots(t, table_place(t, i));
}

void
table_draw(const struct table *t, uint64_t i)
{
	if (!drawn_claim(&t->drawn, i))
		return;
	draw_rows(t, drawn_begin(&t->drawn, i), drawn_end(&t->drawn, i));
	drawn_done(&t->drawn, i);
}

void
table_restart(struct table *t, const struct row_start *start)
{
	t->start = *start;
	memset(t->touched, 0, bit_words(t) * sizeof(*t->touched));
	free(t->kept);
	t->kept = NULL;
	drawn_clear(&t->drawn);
	if (table_is_spilled(t))
		spill_clear(t->spill);
}

void
table_take_all(struct table *t, uint64_t begin, uint64_t end)
{
	drawn_skip(&t->drawn, begin, end);
}

enum rs_status
table_take(struct table *t, uint64_t i, float **row)
{
	struct spill_row got;

	if (!table_is_spilled(t)) {
		table_take_all(t, i, i + 1);
		*row = table_row(t, i);
		return RS_OK;
	}
	RS_TRY(spill_take(t->spill, i, SPILL_OVER, &got));
	*row = got.row;
	return RS_OK;
}

void
table_leave(struct table *t, uint64_t id)
{
	if (table_is_spilled(t))
		spill_give(t->spill, id - t->begin, 1);
}

enum rs_status
table_read(const struct table *t, uint64_t i, float *scratch, const float **row)
{
	*row = scratch;
	if (table_is_spilled(t))
		return spill_copy(t->spill, i, scratch);
	if (drawn_has(&t->drawn, i))
		*row = table_place(t, i);
	else
		table_start_row(t, t->begin + i, scratch);
	return RS_OK;
}

enum rs_status
table_keep(struct table *t, uint64_t i)
{
	if (t->kept == NULL)
		RS_TRY(memory_alloc(bit_words(t), sizeof(*t->kept), &t->kept));
	t->kept[i / TABLE_TOUCHED_BITS] |= (uint64_t)1 << (i % TABLE_TOUCHED_BITS);
	return RS_OK;
}

enum rs_status
table_put(struct table *t, uint64_t i, const float *row, int is_touched, float *scratch)
{
	const size_t bytes = t->stride * sizeof(*scratch);
	float *to;

	memset(scratch, 0, bytes);
	if (!is_touched)
		table_start_row(t, t->begin + i, scratch);
	const int begins = !is_touched && memcmp(row, scratch, bytes) == 0;
	table_set_touched(t, i, is_touched);
	if (t->kept != NULL)
		t->kept[i / TABLE_TOUCHED_BITS] &= ~((uint64_t)1 << (i % TABLE_TOUCHED_BITS));
	if (begins && (table_is_spilled(t) || !drawn_has(&t->drawn, i)))
		return RS_OK;
	RS_TRY(table_take(t, i, &to));
	memcpy(to, row, bytes);
	table_leave(t, t->begin + i);
	return is_touched || begins ? RS_OK : table_keep(t, i);
}

static enum rs_status
reach_hashed(struct table *t, uint64_t i, float **row)
{
	struct spill_row got = { .row = NULL };

	if (table_is_spilled(t))
		RS_TRY(spill_take(t->spill, i, 0, &got));
	*row = table_is_spilled(t) ? got.row : table_row(t, i);
	table_touch(t, i);
	return RS_OK;
}

enum rs_status
table_reach(struct table *t, const struct tenancy_step *step, uint64_t id, uint32_t n, float **row)
{
	struct tenancy_answer answer;

	if (!table_is_exact(t))
		return reach_hashed(t, id - t->begin, row);
	*row = NULL;
	RS_TRY(tenancy_reach(&t->tenancy, step, id, n, &answer));
	if (answer.entry == NULL)
		return RS_OK;
	if (answer.is_new)
		table_start_row(t, id, exact_row(answer.entry));
	if (answer.trains)
		*row = exact_row(answer.entry);
	return RS_OK;
}

static enum rs_status
change_hashed(struct table *t, uint64_t i,
	void (*change)(const struct table *t, const struct row_decay *x, float *slot),
	const struct row_decay *x)
{
	struct spill_row got;

	if (!table_is_spilled(t)) {
		change(t, x, table_row(t, i) + t->slot_at);
		return RS_OK;
	}
	RS_TRY(spill_take(t->spill, i, 0, &got));
	change(t, x, got.row + t->slot_at);
	spill_give(t->spill, i, 1);
	return RS_OK;
}

/* Every row that training has touched: change() gets its slots. */
static enum rs_status
change_slots(struct table *t,
	void (*change)(const struct table *t, const struct row_decay *x, float *slot),
	const struct row_decay *x)
{
	struct exact_entry *entry;

	if (t->n_slot == 0)
		return RS_OK;
	if (table_is_exact(t))
		for (uint64_t id = t->begin; (entry = exact_next(&t->exact, &id)) != NULL; )
			change(t, x, exact_row(entry) + t->slot_at);
	else
		for (uint64_t i = 0; i < t->n_rows; i++)
			if (t->touched[i / TABLE_TOUCHED_BITS] == 0)
				i |= TABLE_TOUCHED_BITS - 1;
			else if (table_is_touched(t, i))
				RS_TRY(change_hashed(t, i, change, x));
	return RS_OK;
}

static void
decay_slots(const struct table *t, const struct row_decay *decay, float *slot)
{
	row_optimizer_decay(t->optimizer, decay, t->D, slot);
}

static enum rs_status
decay_all(struct table *t, struct row_decay decay)
{
	return t->optimizer->decays ? change_slots(t, decay_slots, &decay) : RS_OK;
}

enum rs_status
table_replay_decays(struct table *t, const struct row_decays *decays)
{
	for (uint32_t i = 0; i < decays->n; i++)
		RS_TRY(decay_all(t, (struct row_decay){ decays->factor[i], decays->least }));
	return RS_OK;
}

enum rs_status
table_decay(struct table *t, double factor)
{
	struct row_decays *d = &t->decays;

	d->least = (float)t->settings.optimizer.initial_accumulator;
	if (d->n < ROW_DECAYS)
		d->factor[d->n++] = (float)factor;
	else
		t->changed_all = 1;
	return decay_all(t, (struct row_decay){ (float)factor, d->least });
}

static void
reset_slots(const struct table *t, const struct row_decay *unused, float *slot)
{
	(void)unused;
	row_optimizer_init(t->optimizer, &t->settings.optimizer, t->D, slot);
}

enum rs_status
table_reset_state(struct table *t)
{
	t->changed_all = 1;
	return change_slots(t, reset_slots, NULL);
}

uint64_t
table_bytes(const struct table *t)
{
	if (table_is_exact(t))
		return exact_bytes(&t->exact) + tenancy_bytes(&t->tenancy);
	return t->block_bytes + (t->spill != NULL ? spill_bytes(t->spill)
		: drawn_bytes(t->n_rows, t->D))
	    + ((t->changed != NULL) + (t->kept != NULL) + 1u) * bit_words(t) * sizeof(*t->touched);
}
