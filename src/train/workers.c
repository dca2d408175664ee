/* Worker threads: wait at the barrier, run one command together, wait again. */
#include "train/workers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cores.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "train/ranks.h"

enum order { ORDER_STEP, ORDER_PREDICT, ORDER_RUN, ORDER_EXIT };

struct worker {
	struct workers    *all;
	size_t             index;
	pthread_t          thread;
	enum rs_status     status;
	struct rs_failure  failure;
	struct step_result result;
	uint64_t           unseen[2];
};

struct workers {
	struct stepper *stepper;
	struct worker  *worker;        /* [n]                                         */
	size_t n, n_started;

	/* Where new threads wait until all were made. */
	pthread_mutex_t lock;
	pthread_cond_t  changed;
	enum { GATE_CLOSED, GATE_OPEN, GATE_ABANDONED } gate;

	/* The order; written by the main thread before the barrier. */
	enum order          order;
	const struct batch *batch;
	double              rate, rate_factor;
	enum graph_output   output;
	float              *value;     /* of predictions                              */
	enum rs_status    (*work)(void *context, size_t worker);
	void               *context;
};

static void
obey(struct worker *w)
{
	struct workers *const all = w->all;

	if (all->order == ORDER_STEP) {
		w->status =
			step_run(all->stepper, w->index, all->batch, all->rate, all->rate_factor,
				&w->result);
	} else if (all->order == ORDER_RUN) {
		w->status = all->work(all->context, w->index);
	} else {
		const struct step_prediction p = {
			.output = all->output, .batch = all->batch, .value = all->value,
			.unseen = w->unseen,
		};

		w->unseen[0] = w->unseen[1] = 0;
		w->status = step_predict(all->stepper, w->index, &p);
	}
	if (w->status != RS_OK)
		rs_failure_take(&w->failure);
}

static int
pass_gate(struct workers *all)
{
	pthread_mutex_lock(&all->lock);
	while (all->gate == GATE_CLOSED)
		pthread_cond_wait(&all->changed, &all->lock);
	const int open = all->gate == GATE_OPEN;
	pthread_mutex_unlock(&all->lock);
	return open;
}

static void
set_gate(struct workers *all, int open)
{
	pthread_mutex_lock(&all->lock);
	all->gate = open ? GATE_OPEN : GATE_ABANDONED;
	pthread_cond_broadcast(&all->changed);
	pthread_mutex_unlock(&all->lock);
}

static void *
worker_main(void *argument)
{
	struct worker *const w = argument;
	struct workers *const all = w->all;

	if (!pass_gate(all))
		return NULL;
	for (;;) {
		stepper_barrier(all->stepper, w->index);
		if (all->order == ORDER_EXIT)
			return NULL;
		obey(w);
		stepper_barrier(all->stepper, w->index);
	}
}

/* Why n threads are not put on cores, or NULL. */
static const char *
why_not_pinned(const struct model *m, size_t n, const struct cores *cores)
{
	const char *bound;

	(void)thread_auto_count(&bound);
	if (strcmp(bound, "cgroup") == 0)
		return "a quota of the control group says how much of them it may use, not which";
	if (cores->n < n)
		return "there are more threads than cores";
	if (ranks_several(m->place) && cores->n > n)
		return "other workers may be on the same cores; give each a mask of its own";
	return NULL;
}

/* The first is whoever calls, which starts other threads and commands: it stays free. */
static enum rs_status
pin_threads(struct workers *all, const struct model *m)
{
	struct cores cores;

	if (!m->pins_threads || all->n < 2)
		return RS_OK;
	cores_find(&cores);
	const char *const why = why_not_pinned(m, all->n, &cores);
	if (why != NULL) {
		log_warn("train.pin_threads: threads are not put on cores: %s", why);
		return RS_OK;
	}
	for (size_t i = 1; i < all->n; i++)
		RS_TRY(cores_keep(all->worker[i].thread, cores.number[i]));
	return RS_OK;
}

static enum rs_status
start_threads(struct workers *all, const struct model *m)
{
	for (size_t i = 0; i < all->n; i++) {
		all->worker[i].all = all;
		all->worker[i].index = i;
	}
	for (all->n_started = 1; all->n_started < all->n; all->n_started++) {
		struct worker *const w = &all->worker[all->n_started];
		RS_TRY(thread_start(&w->thread, "worker", worker_main, w));
	}
	RS_TRY(pin_threads(all, m));
	set_gate(all, 1);
	return RS_OK;
}

enum rs_status
workers_create(struct model *m, size_t n, struct workers **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	struct workers *const all = *out;

	all->n = n;
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->changed, NULL);
	enum rs_status status = memory_alloc(n, sizeof *all->worker, &all->worker);
	if (status == RS_OK)
		status = stepper_create(m, n, &all->stepper);
	if (status == RS_OK)
		status = start_threads(all, m);
	if (status != RS_OK) {
		workers_free(all);
		*out = NULL;
	}
	return status;
}

void
workers_free(struct workers *w)
{
	if (w == NULL)
		return;
	if (w->gate == GATE_OPEN && w->n > 1) {
		w->order = ORDER_EXIT;
		stepper_barrier(w->stepper, 0);
	} else if (w->n_started > 1) {
		set_gate(w, 0);
	}
	for (size_t i = 1; i < w->n_started; i++)
		thread_join(w->worker[i].thread);
	stepper_free(w->stepper);
	free(w->worker);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static enum rs_status
command_all(struct workers *w, enum order order)
{
	w->order = order;
	if (w->n > 1)
		stepper_barrier(w->stepper, 0);
	obey(&w->worker[0]);
	if (w->n > 1)
		stepper_barrier(w->stepper, 0);
	for (size_t i = 0; i < w->n; i++)
		if (w->worker[i].status != RS_OK)
			return rs_failure_put(&w->worker[i].failure);
	return RS_OK;
}

enum rs_status
workers_step(struct workers *w, const struct batch *batch, double rate, double rate_factor,
	struct step_result *out)
{
	w->batch = batch;
	w->rate = rate;
	w->rate_factor = rate_factor;
	stepper_weights_changed(w->stepper);
	RS_TRY(command_all(w, ORDER_STEP));
	*out = w->worker[0].result;
	return RS_OK;
}

void
workers_vote(struct workers *w, unsigned votes)
{
	stepper_vote(w->stepper, votes);
}

static enum rs_status
predict_all(struct workers *w, enum graph_output output, const struct batch *batch, float *value)
{
	w->output = output;
	w->batch = batch;
	w->value = value;
	return command_all(w, ORDER_PREDICT);
}

enum rs_status
workers_predict(struct workers *w, const struct batch *batch, float *logit, uint64_t unseen[2])
{
	RS_TRY(predict_all(w, GRAPH_LOGIT, batch, logit));
	for (size_t i = 0; unseen != NULL && i < w->n; i++) {
		unseen[0] += w->worker[i].unseen[0];
		unseen[1] += w->worker[i].unseen[1];
	}
	return RS_OK;
}

enum rs_status
workers_vectors(struct workers *w, int tower, const struct batch *batch, float *out)
{
	return predict_all(w, tower == TOWER_USER ? GRAPH_USER : GRAPH_ITEM, batch, out);
}

enum rs_status
workers_run(struct workers *w, enum rs_status (*work)(void *context, size_t worker),
	void *context)
{
	w->work = work;
	w->context = context;
	return command_all(w, ORDER_RUN);
}

size_t
workers_count(const struct workers *w)
{
	return w->n;
}
