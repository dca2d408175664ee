/* The window thread: slots are joined into windows, windows dealt into batches. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "data/loader_private.h"
#include "data/sampler.h"

static enum rs_status
deltas_add(struct loader_deltas *d, const struct loader_delta *one)
{
	if (d->n == d->capacity) {
		const size_t capacity = d->capacity == 0 ? 8 : 2 * d->capacity;
		struct loader_delta *grown = realloc(d->item, capacity * sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE,
				"out of memory for the counts of %zu row groups", capacity);
		d->item = grown;
		d->capacity = capacity;
	}
	d->item[d->n++] = *one;
	return RS_OK;
}

static enum rs_status
window_picks(struct loader *l, size_t n)
{
	uint32_t *grown;

	if (n <= l->pick_capacity)
		return RS_OK;
	grown = realloc(l->pick, n * sizeof *grown);
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for the order of %zu rows", n);
	l->pick = grown;
	l->pick_capacity = n;
	return RS_OK;
}

/* ---- joining --------------------------------------------------------- */

/* Room for as many rows as the window seems to get by its first slot, as growing it later copies
 * it; those that do not come take no memory. */
static enum rs_status
window_expect(const struct loader *l, struct loader_window *w, const struct loader_slot *slot)
{
	const double rows = 1.25 * (double)slot->batch.B *
		((double)l->window_bytes / (double)slot->group.size + 1);

	return batch_rows_reserve(&w->packed,
		rows < (double)l->index.rows ? (size_t)rows : (size_t)l->index.rows);
}

static enum rs_status
slot_add_rows(const struct loader_slot *slot, struct batch_rows *to)
{
	return slot->has_view ? batch_rows_add_view(to, &slot->view, slot->batch.B)
		: batch_rows_append(to, &slot->packed);
}

/* A window of one slot takes its rows over instead of copying them. */
static enum rs_status
window_take_rows(struct loader *l, struct loader_window *w, struct loader_slot *slot)
{
	if (slot->has_view && w->rows.B == 0 && slot->last_of_window) {
		RS_TRY(slot_add_rows(slot, &slot->packed));
		slot->has_view = 0;
	}
	if (w->rows.B == 0 && slot->last_of_window) {
		const struct batch rows = w->rows;

		const struct batch_rows packed = w->packed;

		w->rows = slot->batch;
		slot->batch = rows;
		w->packed = slot->packed;
		slot->packed = packed;
		return RS_OK;
	}
	if (w->rows.B + slot->batch.B > UINT32_MAX)
		return rs_fail(RS_ERESOURCE, "a shuffle window of more than %u rows", UINT32_MAX);
	RS_TRY(window_picks(l, slot->batch.B));
	for (size_t i = 0; i < slot->batch.B; i++)
		l->pick[i] = (uint32_t)i;
	if (w->packed.B == 0)
		RS_TRY(window_expect(l, w, slot));
	RS_TRY(slot_add_rows(slot, &w->packed));
	return batch_add_lists(&w->rows, &slot->batch, l->pick, slot->batch.B);
}

static enum rs_status
window_join(struct loader *l, struct loader_window *w, struct loader_slot *slot)
{
	const struct loader_delta part = {
		.file = slot->group.file, .first_row = w->rows.B, .tally = slot->tally,
		.has_size = slot->mark == LOADER_FILE_END, .size = slot->file_size,
		.hash = slot->file_hash,
	};

	parser_warnings_show(&slot->warnings, &l->n_warned);
	if (slot->status != RS_OK)
		return rs_failure_put(&slot->failure);
	w->epoch = slot->epoch;
	w->number = slot->window;
	w->identity = slot->identity;
	w->last_of_epoch = slot->last_of_epoch;
	w->end = slot->mark == LOADER_END;
	w->complete = slot->last_of_window;
	if (slot->mark == LOADER_ROWS)
		RS_TRY(window_take_rows(l, w, slot));
	return slot->mark == LOADER_ROWS || part.has_size ? deltas_add(&w->part, &part) : RS_OK;
}

static void
window_fail(struct loader_window *w, enum rs_status status)
{
	if (status == RS_OK)
		return;
	w->status = status;
	w->complete = 1;
	rs_failure_take(&w->failure);
}

/* Returns 0 when the next slot is not parsed yet or there is no window to fill. */
static int
window_join_next(struct loader *l)
{
	struct loader_slot *slot = &l->slot[l->joined % l->n_slots];
	struct loader_window *w = l->joining;
	int ready;

	if (w->complete)
		return 0;
	(void)pthread_mutex_lock(&l->lock);
	ready = l->joined < l->fed && slot->done;
	(void)pthread_mutex_unlock(&l->lock);
	if (!ready)
		return 0;
	window_fail(w, window_join(l, w, slot));
	(void)pthread_mutex_lock(&l->lock);
	l->joined++;
	(void)pthread_cond_signal(&l->slot_free);
	(void)pthread_mutex_unlock(&l->lock);
	return 1;
}

static void
window_clear(struct loader_window *w)
{
	batch_clear(&w->rows);
	batch_rows_clear(&w->packed);
	w->part.n = 0;
	w->row = 0;
	w->complete = w->started = w->last_of_epoch = w->end = 0;
	w->status = RS_OK;
}

static void
window_swap(struct loader *l)
{
	struct loader_window *w = l->dealing;

	l->dealing = l->joining;
	l->joining = w;
}

/* ---- dealing --------------------------------------------------------- */

/* 0: the ring is full. */
static int
output_acquire(struct loader *l)
{
	const uint64_t n = atomic_load_explicit(&l->published, memory_order_relaxed);
	struct loader_output *o = &l->output[n % l->n_outputs];

	if (l->filling != NULL)
		return 1;
	if (n - atomic_load_explicit(&l->released, memory_order_acquire) == l->n_outputs)
		return 0;
	batch_clear(&o->batch);
	o->delta.n = 0;
	o->end = 0;
	o->status = RS_OK;
	l->filling = o;
	return 1;
}

static void
output_publish(struct loader *l)
{
	l->filling = NULL;
	(void)pthread_mutex_lock(&l->lock);
	atomic_fetch_add_explicit(&l->published, 1, memory_order_release);
	(void)pthread_cond_signal(&l->published_more);
	(void)pthread_mutex_unlock(&l->lock);
}

static enum rs_status
output_publish_batch(struct loader *l, const struct loader_window *w, int last)
{
	struct loader_output *o = l->filling;
	const size_t rows = o->batch.B;

	o->batch.first_row = l->epoch_rows;
	o->batch.epoch = w->epoch;
	o->batch.last = last;
	if (l->options.sampler != NULL)
		RS_TRY(sampler_fill(l->options.sampler, &o->batch, &l->spare));
	l->epoch_rows += rows;
	o->position = (struct loader_position){ .epoch = w->epoch, .window = w->number,
		.row = w->row, .rows = l->epoch_rows, .identity = w->identity };
	if (last) {
		o->position = (struct loader_position){ .epoch = w->epoch + 1,
			.identity = w->identity };
		l->epoch_rows = l->epoch_skipped = 0;
	}
	output_publish(l);
	return RS_OK;
}

static enum rs_status
window_order(struct loader *l, const struct loader_window *w)
{
	const uint64_t seed = rng_key(l->options.seed, RNG_SHUFFLE_ROW);

	return rng_permutation_set(
		&l->order, rng_key(rng_key(seed, w->epoch), w->number), w->rows.B);
}

/* The bad and weightless rows of a window count when its first row is due. */
static enum rs_status
window_start(struct loader *l, struct loader_window *w)
{
	const struct data_settings *data = &l->options.schema->settings->data;
	const int counted = l->start.rows > 0 && w->epoch == l->start.epoch &&
		w->number == l->start.window;

	w->started = 1;
	if (l->indexed)
		RS_TRY(window_order(l, w));
	for (size_t i = 0; i < w->part.n; i++) {
		struct loader_delta d = w->part.item[i];

		if (counted)
			d.tally = (struct parser_tally){ .read = 0 };
		d.tally.read = d.tally.skipped + d.tally.zero_weight;
		l->epoch_skipped += d.tally.skipped;
		if (l->epoch_skipped > 0 && data->max_bad_rows >= 0 &&
		    l->epoch_skipped > (uint64_t)data->max_bad_rows) {
			(void)rs_fail(RS_EDATA,
				"'%s': %ju bad rows so far, data.max_bad_rows is %jd",
				l->input[d.file].file.path, (uintmax_t)l->epoch_skipped,
				(intmax_t)data->max_bad_rows);
			return rs_hint("look at the warnings above, or raise data.max_bad_rows");
		}
		RS_TRY(deltas_add(&l->filling->delta, &d));
	}
	if (w->epoch == l->start.epoch && w->number == l->start.window && w->row == 0) {
		w->row = (size_t)l->start.row;
		if (w->row > w->rows.B)
			return rs_fail(RS_EDATA,
				"the input has fewer rows than when this run was interrupted");
	}
	return RS_OK;
}

static size_t
window_part_of(const struct loader_window *w, size_t row)
{
	size_t low = 0, high = w->part.n;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (w->part.item[middle].first_row <= row)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Adds the picked rows to the counts of their files. */
static enum rs_status
window_count(struct loader *l, const struct loader_window *w, size_t n)
{
	struct loader_deltas *d = &l->filling->delta;

	if (l->n_inputs == 1)
		return deltas_add(d, &(struct loader_delta){ .file = 0, .tally.read = n });
	for (size_t i = 0; i < n; i++) {
		const size_t file = w->part.item[window_part_of(w, l->pick[i])].file;
		size_t k = d->n;

		while (k > 0 && d->item[k - 1].file != file)
			k--;
		if (k == 0) {
			RS_TRY(deltas_add(d, &(struct loader_delta){ .file = file }));
			k = d->n;
		}
		d->item[k - 1].tally.read++;
	}
	return RS_OK;
}

/* Rows of the window in the order of the files. */
static enum rs_status
window_deal_next_rows(struct loader *l, struct loader_window *w, struct batch *batch, size_t n)
{
	for (size_t i = 0; i < n; i++)
		l->pick[i] = (uint32_t)(w->row + i);
	return batch_gather(batch, &w->rows, l->pick, n);
}

static enum rs_status
window_deal_shuffled(struct loader *l, struct loader_window *w, struct batch *batch, size_t n)
{
	rng_permutation_run(&l->order, w->row, n, l->pick);
	RS_TRY(batch_reserve(batch, batch->B + n));
	batch_rows_gather(&w->packed, l->pick, n, batch);
	return batch_add_lists(batch, &w->rows, l->pick, n);
}

/* As many rows as the batch takes. */
static enum rs_status
window_deal_rows(struct loader *l, struct loader_window *w)
{
	struct batch *batch = &l->filling->batch;
	const size_t left = w->rows.B - w->row, room = l->options.batch_size - batch->B;
	const size_t n = left < room ? left : room;

	RS_TRY(window_picks(l, n));
	RS_TRY(l->indexed ? window_deal_shuffled(l, w, batch, n)
		: window_deal_next_rows(l, w, batch, n));
	w->row += n;
	return window_count(l, w, n);
}

static enum rs_status
window_end_epoch(struct loader *l, struct loader_window *w)
{
	if (l->filling->batch.B > 0 || (l->epoch_rows == 0 && l->options.may_be_empty))
		return output_publish_batch(l, w, 1);
	/* a resumed epoch may have had its rows before */
	if (l->epoch_rows == 0 && l->options.purpose != PARSE_PREDICT)
		return loader_no_rows(l->input[0].file.path, l->n_inputs, l->epoch_skipped > 0);
	return RS_OK;
}

/* One step of dealing the window; a full batch is kept until a row after it is
 * known, because the last one of an epoch is marked. */
static enum rs_status
window_deal(struct loader *l, struct loader_window *w)
{
	if (!w->started)
		RS_TRY(window_start(l, w));
	if (w->row < w->rows.B) {
		if (l->filling->batch.B < l->options.batch_size)
			return window_deal_rows(l, w);
		return output_publish_batch(l, w, 0);
	}
	if (w->last_of_epoch)
		RS_TRY(window_end_epoch(l, w));
	window_clear(w);
	return RS_OK;
}

/* Publishes the end or the failure; a full batch before it is still good. */
static int
window_finish(struct loader *l, struct loader_window *w)
{
	struct loader_output *o;

	if (l->filling->batch.B == l->options.batch_size) {
		window_fail(w, output_publish_batch(l, w, 0));
		if (!output_acquire(l))
			return 0;
	}
	o = l->filling;
	o->end = 1;
	o->status = w->status;
	o->failure = w->failure;
	output_publish(l);
	return 1;
}

/* 0: nothing can be dealt now; *finished: nothing will be. */
static int
window_deal_next(struct loader *l, int *finished)
{
	struct loader_window *w = l->dealing;

	if (!w->complete) {
		if (!l->joining->complete)
			return 0;
		window_swap(l);
		w = l->dealing;
	}
	if (!output_acquire(l))
		return 0;
	if (w->status != RS_OK || w->end)
		return *finished = window_finish(l, w);
	window_fail(w, window_deal(l, w));
	return 1;
}

/* Under the lock: did something happen since the last look? */
static int
window_has_work(struct loader *l)
{
	const struct loader_slot *slot = &l->slot[l->joined % l->n_slots];
	const uint64_t in_ring = atomic_load(&l->published) - atomic_load(&l->released);

	return atomic_load(&l->stop) ||
		(!l->joining->complete && l->joined < l->fed && slot->done) ||
		(l->dealing->complete && in_ring < l->n_outputs);
}

/* Sleeps until a slot is parsed or the consumer has emptied half the ring. */
static void
window_wait(struct loader *l)
{
	(void)pthread_mutex_lock(&l->lock);
	if (!window_has_work(l))
		(void)pthread_cond_wait(&l->work, &l->lock);
	(void)pthread_mutex_unlock(&l->lock);
}

void *
loader_window_run(void *argument)
{
	struct loader *l = argument;
	int finished = 0;

	/* in turns, so that parsers have room while a window is dealt */
	while (!finished && !atomic_load(&l->stop)) {
		const int dealt = window_deal_next(l, &finished);

		if (!finished && !window_join_next(l) && !dealt)
			window_wait(l);
	}
	return NULL;
}

void
loader_window_free(struct loader *l)
{
	for (size_t i = 0; i < 2; i++) {
		batch_free(&l->window[i].rows);
		batch_rows_free(&l->window[i].packed);
		free(l->window[i].part.item);
	}
	batch_free(&l->spare);
	free(l->pick);
	rng_permutation_free(&l->order);
}
