/* One training step: the way of the data, once through. */
#include "train/step.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/thread.h"
#include "embed/expiry.h"
#include "train/ranks.h"
#include "train/step_private.h"

#define STEP_FAILED (1U << STEP_VOTES)     /* vote: a rank could not do its slots       */
#define HASH_STEPS   32        /* ranks compare their dense parameters every so often */
#define HASH_COLUMNS 2         /* of ids, which tell one batch from another       */

static enum rs_status sum_all(struct stepper *s, size_t worker, const struct batch *batch,
	const struct slot_sum **total);
static size_t slot_take(struct stepper *s, size_t worker);
static void slots_give(struct step_worker *w);
static enum rs_status compare_items(struct stepper *s, size_t worker, const struct batch *batch,
	enum rs_status status);
static enum rs_status slot_reserve(
	struct stepper *s, const struct step_worker *w, struct step_slot *slot);
static enum rs_status worker_prepare(
	struct stepper *s, struct step_worker *w, const struct batch *batch);
static float loss_scale(const struct batch *batch);
static void sum_rows(struct slot_sum *sum, const struct feed *feed, const float *logit, int is_mse);
static enum rs_status apply(struct stepper *s, size_t worker, const struct slot_sum *total,
	double rate, double rate_factor);

static struct buckets_watch
watch_of(struct stepper *s, size_t worker, size_t slot, struct slot_sum *sum)
{
	return (struct buckets_watch){ .buckets = &s->buckets, .reducer = s->reducer,
		.worker = worker, .slot = slot, .sum = sum };
}

/* Rows of one slot through the graph and back. */
static enum rs_status
slot_run(struct stepper *s, struct step_worker *w, size_t slot, const struct batch *batch,
	struct slot_sum *sum)
{
	struct model *m = s->model;
	struct slot_view *v = &w->view;
	struct exec *e = w->exec;
	struct buckets_watch watch = watch_of(s, (size_t)(w - s->worker), slot, sum);
	const size_t begin = model_slot_begin(batch->B, s->n_slots, slot);
	const size_t end = model_slot_begin(batch->B, s->n_slots, slot + 1);
	const float *logit;

	if (begin == end)
		return exec_fill_gradient(e, sum->grad, m->P, 0);
	slot_view_set(v, batch, begin, end);
	RS_TRY(slot_reserve(s, w, &s->slot[slot]));
	exec_set_rows(e, s->slot[slot].rows);
	RS_TRY(slot_view_pull(v, slot, 1));                                  /* rows          */
	logit = exec_forward(e, m->param, &v->feed, 1);                      /* graph forward */
	if (logit == NULL)
		return rs_failure()->status;
	exec_loss(e, &v->feed, &sum->loss);                                  /* loss          */
	buckets_tell(e, s->buckets.n > 1 ? &watch : NULL);
	exec_backward(e, m->param, &v->feed, (float)(end - begin) / (float)batch->B, sum->grad);
	buckets_tell(e, NULL);
	RS_TRY(exec_wait(e));
	sum_rows(sum, &v->feed, logit, spec_settings(m->spec)->model.loss == LOSS_MSE);
	sum->bad |= !isfinite(sum->loss) || slot_view_bad_gradient(v, e);
	return slot_view_push(v, slot, e);                                   /* row gradients */
}

/* The same for a loss over many items, whose rounds before this made all but gradients. */
static enum rs_status
compared_slot(struct stepper *s, size_t worker, size_t slot, struct slot_sum *sum)
{
	struct buckets_watch watch = watch_of(s, worker, slot, sum);

	return contrast_backward(s->contrast, slot, sum, s->buckets.n > 1 ? &watch : NULL);
}

enum rs_status
step_run(struct stepper *s, size_t worker, const struct batch *batch, double rate,
	double rate_factor, struct step_result *out)
{
	struct reducer *r = s->reducer;
	struct step_worker *w = &s->worker[worker];
	const struct slot_sum *total;
	enum rs_status status = worker_prepare(s, w, batch);

	w->view.feed.loss_scale = loss_scale(batch);
	w->view.feed.step = s->model->step + 1;
	step_fail_note(s, status);
	if (s->use != NULL)
		RS_TRY(step_fetch_batch(s, worker, batch));                  /* rows          */
	if (s->contrast != NULL)
		status = compare_items(s, worker, batch, status);            /* forward, loss */
	if (s->contrast != NULL && s->exchange != NULL)
		RS_TRY(step_settle(s, worker));
	for (size_t slot; (slot = slot_take(s, worker)) < s->n_slots;) {
		struct slot_sum *sum = r->ops->acquire(r, worker);

		sum->step = w->view.feed.step;
		if (status == RS_OK)
			status = s->contrast != NULL ? compared_slot(s, worker, slot, sum) :
						       slot_run(s, w, slot, batch, sum);
		step_fail_note(s, status);         /* the others wait: contribute anyway */
		sum->votes = s->votes | (status != RS_OK ? STEP_FAILED : 0);
		sum->bad |= status != RS_OK;
		RS_TRY(r->ops->contribute(r, worker, slot, sum));
	}
	RS_TRY(sum_all(s, worker, batch, &total));                           /* dense gradients */

	*out = (struct step_result){ .loss = total->loss,
		.weight = total->weight,
		.label = total->label,
		.prediction = total->prediction,
		.rows = total->rows,
		.skipped = total->bad,
		.votes = total->votes,
		.n_later = w->n_later };
	if (total->bad)
		step_culprit(s, worker, batch, out);
	status = apply(s, worker, total, rate, rate_factor);                 /* optimizers */
	step_fail_note(s, status);
	RS_TRY(r->ops->barrier(r, worker));
	if (worker == 0)
		ranks_progress(s->model->place);
	return step_fail_check(s);
}

enum rs_status
step_settle(struct stepper *s, size_t worker)
{
	RS_TRY(s->reducer->ops->barrier(s->reducer, worker));
	if (worker == 0)
		s->given_up = atomic_load_explicit(&s->failed, memory_order_acquire) != 0;
	RS_TRY(s->reducer->ops->barrier(s->reducer, worker));
	return s->given_up ? rs_failure_put(&s->failure) : RS_OK;
}

/* Ranks must have the same rows in every step, and now and then the same parameters. */
static void
set_hash(struct stepper *s, const struct batch *batch)
{
	struct reducer *r = s->reducer;
	const struct model *m = s->model;

	r->step = m->step + 1;
	r->hash_of = NULL;
	if (m->step % HASH_STEPS == 0) {
		r->dense_hash = hash_fingerprint64((const char *)m->param,
			m->P * sizeof(float));
		return;
	}
	r->hash_of = "training rows";
	r->hash_failure = RS_EDATA;
	r->dense_hash = hash_fingerprint64((const char *)batch->label,
		batch->B * sizeof(*batch->label));
	for (size_t f = 0; f < batch->F && f < HASH_COLUMNS; f++)
		r->dense_hash = hash_cat(r->dense_hash,
			hash_fingerprint64((const char *)batch->column[f].ids,
				batch->column[f].N * sizeof(*batch->column[f].ids)));
}

/* The sum over all slots, or what went wrong anywhere. */
static enum rs_status
sum_all(struct stepper *s, size_t worker, const struct batch *batch,
	const struct slot_sum **total)
{
	struct reducer *r = s->reducer;
	const uint64_t step = s->worker[worker].view.feed.step;

	if (worker == 0 && s->exchange != NULL)
		set_hash(s, batch);
	const enum rs_status status = r->ops->finish(r, worker, total);
	slots_give(&s->worker[worker]);
	if (s->exchange != NULL || s->use != NULL)
		RS_TRY(step_settle(s, worker));
	else
		RS_TRY(step_fail_check(s));
	RS_TRY(status);
	if ((*total)->votes & STEP_FAILED)
		return rs_fail(RS_EPEER, "a worker could not do its part of step %" PRIu64, step);
	return RS_OK;
}

/* One round of a loss over many items: every slot once, then all wait.  After a failure
 * nothing is run any more, but everyone still comes to every barrier. */
static enum rs_status
round_run(struct stepper *s, size_t worker, enum rs_status status,
	enum rs_status (*run)(struct contrast *c, size_t worker, size_t slot))
{
	for (size_t slot; (slot = slot_take(s, worker)) < s->n_slots;)
		if (status == RS_OK)
			status = run(s->contrast, worker, slot);
	step_fail_note(s, status);
	RS_TRY(s->reducer->ops->barrier(s->reducer, worker));
	slots_give(&s->worker[worker]);
	return status != RS_OK ? status : step_fail_check(s);
}

/* What worker 0 does for all. */
static enum rs_status
run_alone(struct stepper *s, size_t worker, enum rs_status status,
	enum rs_status (*run)(struct contrast *c))
{
	if (worker == 0 && status == RS_OK)
		status = run(s->contrast);
	step_fail_note(s, status);
	RS_TRY(s->reducer->ops->barrier(s->reducer, worker));
	return status != RS_OK ? status : step_fail_check(s);
}

/* The rounds before that of the gradients. */
static enum rs_status
compare_items(struct stepper *s, size_t worker, const struct batch *batch, enum rs_status status)
{
	if (worker == 0 && status == RS_OK)
		status = contrast_begin(s->contrast, batch, s->model->step + 1);
	step_fail_note(s, status);
	RS_TRY(s->reducer->ops->barrier(s->reducer, worker));
	if (status == RS_OK)
		status = step_fail_check(s);
	status = round_run(s, worker, status, contrast_forward);
	if (s->exchange == NULL)
		return round_run(s, worker, status, contrast_compare);
	status = run_alone(s, worker, status, contrast_gather);
	status = round_run(s, worker, status, contrast_compare);
	status = round_run(s, worker, status, contrast_sum);
	return run_alone(s, worker, status, contrast_exchange);
}

/* A slot for the worker, n_slots when none is left.  Who runs a slot changes no bit;
 * so a worker whose core is wanted elsewhere does not hold up the others.  Rows on a GPU are
 * on that of the slot. */
static size_t
slot_take(struct stepper *s, size_t worker)
{
	for (size_t k = 0; k < s->n_workers; k++) {
		struct step_worker *w = &s->worker[(worker + k) % s->n_workers];
		uint_fast64_t left = atomic_load_explicit(&w->left, memory_order_acquire);

		if (w->place != s->worker[worker].place && graph_rows_are_there(s->model->graph))
			continue;
		while (left >> 32 < (left & UINT32_MAX)) {
			const uint_fast64_t rest = k == 0 ? left + ((uint64_t)1 << 32) : left - 1;

			if (atomic_compare_exchange_weak_explicit(&w->left, &left, rest,
			    memory_order_acq_rel, memory_order_acquire))
				return (size_t)(k == 0 ? left >> 32 : rest & UINT32_MAX);
		}
	}
	return s->n_slots;
}

/* The slots of the next round; between two barriers in which nobody takes any. */
static void
slots_give(struct step_worker *w)
{
	atomic_store_explicit(&w->left, (uint64_t)w->slot_begin << 32 | w->slot_end,
	    memory_order_release);
}

/* Of the step: by its number in the life of the model, so wherever it is done. */
static double
decay_of(const struct model *m, uint64_t step)
{
	const struct embedding_settings *e = &spec_settings(m->spec)->embedding;

	return e->decay_every > 0 && step % (uint64_t)e->decay_every == 0 ? e->decay : 0;
}

/* The optimizers: dense by ranges, rows through the lookup; nothing when the
 * step is bad. */
static enum rs_status
apply(struct stepper *s, size_t worker, const struct slot_sum *total, double rate,
	double rate_factor)
{
	struct model *m = s->model;
	const struct lookup_commit commit = {
		.step = s->worker[worker].view.feed.step,
		.finite = !total->bad,
		.newest = s->worker[worker].newest,
		.rate_factor = rate_factor,
		.decay = decay_of(m, s->worker[worker].view.feed.step),
		.worker = worker,
		.n_workers = s->n_workers,
	};

	if (!total->bad) {
		if (dense_clips(&s->dense)) {
			dense_measure(&s->dense, worker, total->grad);
			RS_TRY(s->reducer->ops->barrier(s->reducer, worker));
		}
		dense_apply(&s->dense, worker, total->grad, rate, s->worker[worker].view.feed.step);
	}
	RS_TRY(m->lookup->ops->commit(m->lookup, &commit));
	if (worker != 0)
		return RS_OK;
	if (total->bad) {
		m->skipped_steps++;
		return RS_OK;
	}
	graph_update_statistics(m->graph, total->grad, m->param);
	m->step++;
	return RS_OK;
}

static float
loss_scale(const struct batch *batch)
{
	double weight = 0;

	for (size_t b = 0; b < batch->B; b++)
		weight += batch->weight[b];
	return weight > 0 ? (float)(1 / weight) : 0;
}

static void
sum_rows(struct slot_sum *sum, const struct feed *feed, const float *logit, int is_mse)
{
	for (size_t b = 0; b < feed->B; b++) {
		const double w = feed->weight[b];
		const double p = is_mse ? logit[b] : 1 / (1 + exp(-(double)logit[b]));

		sum->weight += w;
		sum->label += w * feed->label[b];
		sum->prediction += w * p;
	}
	sum->rows = (double)feed->B;
}

void
step_fail_note(struct stepper *s, enum rs_status status)
{
	int none = 0;

	if (status == RS_OK || !atomic_compare_exchange_strong(&s->failed, &none, 1))
		return;
	rs_failure_take(&s->failure);
	atomic_store(&s->failed, 2);
}

enum rs_status
step_fail_check(struct stepper *s)
{
	return atomic_load_explicit(&s->failed, memory_order_acquire) == 2
	    ? rs_failure_put(&s->failure) : RS_OK;
}

static enum rs_status
slot_reserve(struct stepper *s, const struct step_worker *w, struct step_slot *slot)
{
	if (slot->B_max == w->B_max)
		return RS_OK;
	row_grads_destroy(slot->rows);
	slot->rows = NULL;
	slot->B_max = 0;
	RS_TRY(row_grads_create(s->model->graph, w->place, w->B_max, &slot->rows));
	slot->B_max = w->B_max;
	return RS_OK;
}

static enum rs_status
worker_reserve(struct stepper *s, struct step_worker *w, size_t B_max)
{
	if (B_max <= w->B_max)
		return RS_OK;
	exec_destroy(w->exec);
	w->exec = NULL;
	w->B_max = 0;
	RS_TRY(exec_create(s->model->graph, w->place, B_max, &w->exec));
	w->B_max = B_max;
	return RS_OK;
}

/* Grows what a batch larger than any before needs. */
static enum rs_status
worker_prepare(struct stepper *s, struct step_worker *w, const struct batch *batch)
{
	const size_t rows = (batch->B + s->n_slots - 1) / s->n_slots;
	const struct embedding_settings *const e = &spec_settings(s->model->spec)->embedding;

	w->newest = batch_newest(batch, expiry_ahead(e->expire_after), &w->n_later);
	RS_TRY(worker_reserve(s, w, rows));
	RS_TRY(exec_reserve_training(w->exec, GRAPH_LOGIT, rows));
	exec_forget_params(w->exec);
	return slot_view_reserve(&w->view, batch, rows);
}

void
stepper_vote(struct stepper *s, unsigned votes)
{
	assert(votes >> STEP_VOTES == 0);
	s->votes = votes;
}

void
stepper_weights_changed(struct stepper *s)
{
	graph_weights_changed(s->model->graph);
}

void
stepper_barrier(struct stepper *s, size_t worker)
{
	(void)s->reducer->ops->barrier(s->reducer, worker);
}

static enum rs_status
worker_init(struct stepper *s, size_t i)
{
	struct step_worker *w = &s->worker[i];

	w->slot_begin = s->slot_begin + (s->slot_end - s->slot_begin) * i / s->n_workers;
	w->slot_end = s->slot_begin + (s->slot_end - s->slot_begin) * (i + 1) / s->n_workers;
	w->place = step_place(s->model, s->n_workers, i);
	slots_give(w);
	RS_TRY(slot_view_init(&w->view, s->model));
	/* The first batch says how much: the log may have less than train.batch_size.  What a GPU
	 * takes is planned before, for the most. */
	if (s->model->gpu == NULL)
		return worker_reserve(s, w, STEP_PREDICT_CHUNK);
	RS_TRY(worker_reserve(s, w, step_worker_rows(s->model)));
	return exec_reserve_training(w->exec, GRAPH_LOGIT, step_slot_rows(s->model));
}

static enum rs_status
open_exchange(struct stepper *s)
{
	const struct train_place *place = s->model->place;

	ranks_share(place, s->n_slots, &s->slot_begin, &s->slot_end);
	if (!ranks_several(place))
		return RS_OK;
	if (place->n_ranks > s->n_slots || place->n_ranks > RANKS_MAX)
		return rs_fail(RS_ESPEC, "%zu workers for %zu slots of a batch: at most one a slot",
			place->n_ranks, s->n_slots);
	s->exchange = place->exchange;
	return memory_alloc(place->n_ranks, sizeof(*s->culprit), &s->culprit);
}

static enum rs_status
open_reducer(struct stepper *s)
{
	struct model *const m = s->model;
	struct gpu_memory *const gpu = step_sums_gpu(m);
	const char *why;

	graph_set_gradient_there(m->graph, gpu != NULL);
	return reducer_shm_open(&(struct reducer_options){ .kernel = m->kernel,
	    .n_workers = s->n_workers, .n_cores = thread_auto_count(&why),
	    .n_slots = s->n_slots, .n_params = m->P, .exchange = s->exchange, .gpu = gpu,
	    .bucket = s->buckets.bucket, .n_buckets = s->buckets.n }, &s->reducer);
}

static enum rs_status
stepper_init(struct stepper *s)
{
	RS_TRY(open_exchange(s));
	RS_TRY(memory_alloc(s->n_workers, sizeof(*s->worker), &s->worker));
	RS_TRY(memory_alloc(s->n_slots, sizeof(*s->slot), &s->slot));
	RS_TRY(buckets_make(s->model, s->exchange != NULL ? s->model->place->bucket_bytes : 0,
		&s->buckets));
	RS_TRY(step_check_gpu(s->model, &s->n_workers, 1, 0));
	RS_TRY(open_reducer(s));
	RS_TRY(step_fetch_open(s));
	RS_TRY(dense_init(&s->dense, s->model, s->n_workers));
	if (contrast_needed(spec_settings(s->model->spec)))
		RS_TRY(contrast_create(s->model, s->n_slots, s->n_workers, &s->contrast));
	for (size_t i = 0; i < s->n_workers; i++)
		RS_TRY(worker_init(s, i));
	return RS_OK;
}

enum rs_status
stepper_create(struct model *m, size_t n_workers, struct stepper **out)
{
	struct stepper *s;
	enum rs_status status;

	assert(n_workers > 0);
	RS_TRY(memory_alloc(1, sizeof(*s), &s));
	s->model = m;
	s->n_workers = n_workers;
	s->n_slots = model_slots(spec_settings(m->spec));
	status = stepper_init(s);
	if (status != RS_OK) {
		stepper_free(s);
		return status;
	}
	*out = s;
	return RS_OK;
}

void
stepper_free(struct stepper *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; s->worker != NULL && i < s->n_workers; i++) {
		exec_destroy(s->worker[i].exec);
		slot_view_free(&s->worker[i].view);
	}
	for (size_t i = 0; s->slot != NULL && i < s->n_slots; i++)
		row_grads_destroy(s->slot[i].rows);
	step_fetch_close(s);
	free(s->culprit);
	dense_free(&s->dense);
	contrast_free(s->contrast);
	if (s->reducer != NULL)
		s->reducer->ops->close(s->reducer);
	buckets_free(&s->buckets);
	free(s->slot);
	free(s->worker);
	free(s);
}
