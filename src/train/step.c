/* One training step: the way of the data, once through. */
#include "train/step.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "train/contrast.h"
#include "train/dense.h"
#include "train/slot.h"

#define LINE          64
#define PREDICT_CHUNK 512      /* rows                                            */

/* One exec, whose activations stay in the cache.  `left` is begin << 32 | end of the
 * worker's slots that nobody has taken: it takes from the front, others, when they
 * have none of their own, from the back. */
struct worker {
	_Alignas(LINE) struct slot_view view;
	size_t  slot_begin, slot_end, B_max;
	struct exec *exec;
	_Alignas(LINE) atomic_uint_fast64_t left;
};

/* Row gradients are borrowed until commit, so every slot has a block of them. */
struct slot {
	struct row_grads *rows;        /* made by the first worker that runs the slot */
	size_t  B_max;
	const char *culprit;           /* operator that went non-finite               */
};

struct stepper {
	struct model *model;
	size_t n_workers, n_slots;
	struct reducer *reducer;
	struct dense dense;
	struct contrast *contrast;     /* a loss over many items; NULL: one of rows   */
	struct worker *worker;         /* [n_workers]                                 */
	struct slot *slot;             /* [n_slots]                                   */
	atomic_int failed;             /* 1 while one writes failure, then 2          */
	struct rs_failure failure;
};

static size_t slot_take(struct stepper *s, size_t worker);
static void slots_give(struct worker *w);
static enum rs_status compare_items(struct stepper *s, size_t worker, const struct batch *batch,
	enum rs_status status);
static enum rs_status slot_reserve(struct stepper *s, struct slot *slot, size_t B_max);
static enum rs_status worker_prepare(
	struct stepper *s, struct worker *w, const struct batch *batch);
static void fail_note(struct stepper *s, enum rs_status status);
static enum rs_status fail_check(struct stepper *s);
static float loss_scale(const struct batch *batch);
static void sum_rows(struct slot_sum *sum, const struct feed *feed, const float *logit, int is_mse);
static void find_culprit(struct stepper *s, size_t worker, const struct batch *batch,
	struct step_result *out);
static enum rs_status apply(struct stepper *s, size_t worker, const struct slot_sum *total,
	double rate, double rate_factor);

/* Rows of one slot through the graph and back. */
static enum rs_status
slot_run(struct stepper *s, struct worker *w, size_t slot, const struct batch *batch,
	struct slot_sum *sum)
{
	struct model *m = s->model;
	struct slot_view *v = &w->view;
	struct exec *e = w->exec;
	const size_t begin = model_slot_begin(batch->B, s->n_slots, slot);
	const size_t end = model_slot_begin(batch->B, s->n_slots, slot + 1);
	const float *logit;

	if (begin == end) {
		memset(sum->grad, 0, m->P * sizeof(float));
		return RS_OK;
	}
	slot_view_set(v, batch, begin, end);
	RS_TRY(slot_reserve(s, &s->slot[slot], w->B_max));
	exec_set_rows(e, s->slot[slot].rows);
	RS_TRY(slot_view_pull(v, slot, 1));                                  /* rows          */
	logit = exec_forward(e, m->param, &v->feed, 1);                      /* graph forward */
	if (logit == NULL)
		return rs_failure()->status;
	exec_loss(e, &v->feed, &sum->loss, NULL);                            /* loss          */
	sum_rows(sum, &v->feed, logit, spec_settings(m->spec)->model.loss == LOSS_MSE);
	exec_backward(e, m->param, &v->feed, (float)(end - begin) / (float)batch->B, sum->grad);
	sum->bad |= !isfinite(sum->loss) || slot_view_bad_gradient(v, e);
	return slot_view_push(v, slot, e);                                   /* row gradients */
}

enum rs_status
step_run(struct stepper *s, size_t worker, const struct batch *batch, double rate,
	double rate_factor, struct step_result *out)
{
	struct reducer *r = s->reducer;
	struct worker *w = &s->worker[worker];
	const struct slot_sum *total;
	enum rs_status status = worker_prepare(s, w, batch);

	w->view.feed.loss_scale = loss_scale(batch);
	w->view.feed.step = s->model->step + 1;
	if (s->contrast != NULL)
		status = compare_items(s, worker, batch, status);            /* forward, loss */
	for (size_t slot; (slot = slot_take(s, worker)) < s->n_slots;) {
		struct slot_sum *sum = r->ops->acquire(r, worker);

		if (status == RS_OK)
			status = s->contrast != NULL ? contrast_backward(s->contrast, slot, sum) :
						       slot_run(s, w, slot, batch, sum);
		fail_note(s, status);              /* the others wait: contribute anyway */
		RS_TRY(r->ops->contribute(r, worker, slot, sum));
	}
	RS_TRY(r->ops->finish(r, worker, &total));                           /* dense gradients */
	slots_give(w);
	RS_TRY(fail_check(s));

	*out = (struct step_result){ .loss = total->loss,
		.weight = total->weight,
		.label = total->label,
		.prediction = total->prediction,
		.rows = total->rows,
		.skipped = total->bad };
	if (total->bad)
		find_culprit(s, worker, batch, out);
	status = apply(s, worker, total, rate, rate_factor);                 /* optimizers */
	fail_note(s, status);
	RS_TRY(r->ops->barrier(r, worker));
	return fail_check(s);
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
	fail_note(s, status);
	RS_TRY(s->reducer->ops->barrier(s->reducer, worker));
	slots_give(&s->worker[worker]);
	return status != RS_OK ? status : fail_check(s);
}

/* The rounds before that of the gradients. */
static enum rs_status
compare_items(struct stepper *s, size_t worker, const struct batch *batch, enum rs_status status)
{
	if (worker == 0 && status == RS_OK)
		status = contrast_begin(s->contrast, batch, s->model->step + 1);
	fail_note(s, status);
	RS_TRY(s->reducer->ops->barrier(s->reducer, worker));
	if (status == RS_OK)
		status = fail_check(s);
	status = round_run(s, worker, status, contrast_forward);
	return round_run(s, worker, status, contrast_compare);
}

/* A slot for the worker, n_slots when none is left.  Who runs a slot changes no bit;
 * so a worker whose core is wanted elsewhere does not hold up the others. */
static size_t
slot_take(struct stepper *s, size_t worker)
{
	for (size_t k = 0; k < s->n_workers; k++) {
		struct worker *w = &s->worker[(worker + k) % s->n_workers];
		uint_fast64_t left = atomic_load_explicit(&w->left, memory_order_acquire);

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
slots_give(struct worker *w)
{
	atomic_store_explicit(&w->left, (uint64_t)w->slot_begin << 32 | w->slot_end,
	    memory_order_release);
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
		.rate_factor = rate_factor,
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

/* The failure of the first worker that has one is everyone's. */
static void
fail_note(struct stepper *s, enum rs_status status)
{
	int none = 0;

	if (status == RS_OK || !atomic_compare_exchange_strong(&s->failed, &none, 1))
		return;
	rs_failure_take(&s->failure);
	atomic_store(&s->failed, 2);
}

static enum rs_status
fail_check(struct stepper *s)
{
	return atomic_load_explicit(&s->failed, memory_order_acquire) == 2
	    ? rs_failure_put(&s->failure) : RS_OK;
}

/* The first operator of a slot that is not finite; nothing was applied, so the
 * forward pass gives again what it gave. */
static const char *
slot_culprit(struct stepper *s, struct worker *w, size_t slot, const struct batch *batch)
{
	const size_t begin = model_slot_begin(batch->B, s->n_slots, slot);
	const size_t end = model_slot_begin(batch->B, s->n_slots, slot + 1);

	if (begin == end)
		return NULL;
	slot_view_set(&w->view, batch, begin, end);
	exec_set_rows(w->exec, NULL);
	if (slot_view_pull(&w->view, slot, 0) != RS_OK
	    || exec_forward(w->exec, s->model->param, &w->view.feed, 1) == NULL)
		return NULL;
	return exec_culprit(w->exec);
}

/* Every worker looks through its slots; the lowest slot's answer is the answer. */
static void
find_culprit(struct stepper *s, size_t worker, const struct batch *batch, struct step_result *out)
{
	struct worker *w = &s->worker[worker];

	for (size_t slot = w->slot_begin; slot < w->slot_end; slot++)
		s->slot[slot].culprit = slot_culprit(s, w, slot, batch);
	(void)s->reducer->ops->barrier(s->reducer, worker);
	for (size_t slot = s->n_slots; slot-- > 0;)
		if (s->slot[slot].culprit != NULL)
			out->culprit = s->slot[slot].culprit;
}

static enum rs_status
slot_reserve(struct stepper *s, struct slot *slot, size_t B_max)
{
	if (slot->B_max == B_max)
		return RS_OK;
	row_grads_destroy(slot->rows);
	slot->rows = NULL;
	slot->B_max = 0;
	RS_TRY(row_grads_create(s->model->graph, B_max, &slot->rows));
	slot->B_max = B_max;
	return RS_OK;
}

static enum rs_status
worker_reserve(struct stepper *s, struct worker *w, size_t B_max)
{
	if (B_max <= w->B_max)
		return RS_OK;
	exec_destroy(w->exec);
	w->exec = NULL;
	w->B_max = 0;
	RS_TRY(exec_create(s->model->graph, B_max, &w->exec));
	w->B_max = B_max;
	return RS_OK;
}

/* Grows what a batch larger than any before needs. */
static enum rs_status
worker_prepare(struct stepper *s, struct worker *w, const struct batch *batch)
{
	const size_t rows = (batch->B + s->n_slots - 1) / s->n_slots;

	RS_TRY(worker_reserve(s, w, rows));
	return slot_view_reserve(&w->view, batch, rows);
}

static enum rs_status
predict_chunk(struct stepper *s, struct worker *w, const struct step_prediction *p, size_t begin)
{
	const size_t B = p->batch->B, width = graph_output_width(s->model->graph, p->output);
	const size_t end = begin + PREDICT_CHUNK < B ? begin + PREDICT_CHUNK : B;
	const float *value;

	slot_view_set(&w->view, p->batch, begin, end);
	exec_set_rows(w->exec, NULL);
	RS_TRY(slot_view_pull(&w->view, 0, 0));
	value = exec_forward(w->exec, s->model->param, &w->view.feed, 0);
	if (value == NULL)
		return rs_failure()->status;
	memcpy(p->value + begin * width, value, (end - begin) * width * sizeof(*value));
	if (p->unseen != NULL)
		slot_view_count_unseen(&w->view, p->unseen);
	return RS_OK;
}

static void
worker_set_output(struct worker *w, enum graph_output output)
{
	w->view.output = output;
	exec_set_output(w->exec, output);
}

enum rs_status
step_predict(struct stepper *s, size_t worker, const struct step_prediction *p)
{
	struct worker *w = &s->worker[worker];
	enum rs_status status;

	worker_set_output(w, p->output);
	status = slot_view_reserve(&w->view, p->batch, PREDICT_CHUNK);
	for (size_t begin = worker * PREDICT_CHUNK; begin < p->batch->B && status == RS_OK;
	    begin += s->n_workers * PREDICT_CHUNK)
		status = predict_chunk(s, w, p, begin);
	worker_set_output(w, GRAPH_LOGIT);
	fail_note(s, status);
	RS_TRY(s->reducer->ops->barrier(s->reducer, worker));
	return fail_check(s);
}

void
stepper_barrier(struct stepper *s, size_t worker)
{
	(void)s->reducer->ops->barrier(s->reducer, worker);
}

static enum rs_status
worker_init(struct stepper *s, size_t i)
{
	const size_t batch_size = (size_t)spec_settings(s->model->spec)->train.batch_size;
	const size_t rows = (batch_size + s->n_slots - 1) / s->n_slots;
	struct worker *w = &s->worker[i];

	w->slot_begin = s->n_slots * i / s->n_workers;
	w->slot_end = s->n_slots * (i + 1) / s->n_workers;
	slots_give(w);
	RS_TRY(slot_view_init(&w->view, s->model));
	return worker_reserve(s, w, rows > PREDICT_CHUNK ? rows : PREDICT_CHUNK);
}

static enum rs_status
stepper_init(struct stepper *s)
{
	const char *why;

	RS_TRY(memory_alloc(s->n_workers, sizeof(*s->worker), &s->worker));
	RS_TRY(memory_alloc(s->n_slots, sizeof(*s->slot), &s->slot));
	RS_TRY(reducer_shm_open(&(struct reducer_options){ .kernel = s->model->kernel,
	    .n_workers = s->n_workers, .n_cores = thread_auto_count(&why),
	    .n_slots = s->n_slots, .n_params = s->model->P }, &s->reducer));
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
	dense_free(&s->dense);
	contrast_free(s->contrast);
	if (s->reducer != NULL)
		s->reducer->ops->close(s->reducer);
	free(s->slot);
	free(s->worker);
	free(s);
}
