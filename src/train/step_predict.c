/* Predictions: chunks of rows, shared by ranks and workers. */
#include <string.h>

#include "train/ranks.h"
#include "train/step_private.h"

static size_t
n_chunks(const struct batch *batch)
{
	return (batch->B + STEP_PREDICT_CHUNK - 1) / STEP_PREDICT_CHUNK;
}

static enum rs_status
predict_chunk(struct stepper *s, struct step_worker *w, const struct step_prediction *p,
	size_t begin)
{
	const size_t B = p->batch->B, width = graph_output_width(s->model->graph, p->output);
	const size_t end = begin + STEP_PREDICT_CHUNK < B ? begin + STEP_PREDICT_CHUNK : B;
	const float *value;

	slot_view_set(&w->view, p->batch, begin, end);
	exec_set_rows(w->exec, NULL);
	RS_TRY(slot_view_pull(&w->view, 0, 0));
	value = exec_forward(w->exec, s->model->param, &w->view.feed, 0);
	if (value == NULL)
		return rs_failure()->status;
	RS_TRY(exec_wait(w->exec));
	memcpy(p->value + begin * width, value, (end - begin) * width * sizeof(*value));
	if (p->unseen != NULL)
		slot_view_count_unseen(&w->view, p->unseen);
	return RS_OK;
}

static void
worker_set_output(struct step_worker *w, enum graph_output output)
{
	slot_view_set_output(&w->view, output);
	exec_set_output(w->exec, output);
}

/* The worker's share of the chunks [begin,end). */
static enum rs_status
predict_chunks(struct stepper *s, size_t worker, const struct step_prediction *p, size_t begin,
	size_t end)
{
	for (size_t i = begin + worker; i < end; i += s->n_workers)
		RS_TRY(predict_chunk(s, &s->worker[worker], p, i * STEP_PREDICT_CHUNK));
	if (worker == 0)
		ranks_progress(s->model->place);
	return RS_OK;
}

/* The same when rows are elsewhere: some chunks' together. */
static enum rs_status
predict_fetched(struct stepper *s, size_t worker, const struct step_prediction *p, size_t begin,
	size_t end)
{
	for (size_t i = begin, next; i < end; i = next) {
		next = i + STEP_FETCH_CHUNKS < end ? i + STEP_FETCH_CHUNKS : end;
		RS_TRY(step_fetch_chunks(s, worker, p, i, next));
		step_fail_note(s, predict_chunks(s, worker, p, i, next));
	}
	return RS_OK;
}

/* Values of all rows from the ranks that made them. */
static enum rs_status
gather_values(struct stepper *s, const struct step_prediction *p)
{
	const size_t n_ranks = s->exchange->n_ranks, B = p->batch->B;
	const size_t n = n_chunks(p->batch);
	const size_t bytes = graph_output_width(s->model->graph, p->output) * sizeof(float);
	size_t begin[RANKS_MAX + 1];

	for (size_t r = 0; r <= n_ranks; r++) {
		const size_t row = tree_rank_begin(n, n_ranks, r) * STEP_PREDICT_CHUNK;

		begin[r] = bytes * (row < B ? row : B);
	}
	return B > 0 ? s->exchange->ops->gather(s->exchange, p->value, begin) : RS_OK;
}

enum rs_status
step_predict(struct stepper *s, size_t worker, const struct step_prediction *p)
{
	struct step_worker *w = &s->worker[worker];
	enum rs_status status;
	size_t begin, end;

	ranks_share(s->model->place, n_chunks(p->batch), &begin, &end);
	worker_set_output(w, p->output);
	exec_forget_params(w->exec);
	status = slot_view_reserve(&w->view, p->batch, STEP_PREDICT_CHUNK);
	step_fail_note(s, status);
	if (s->use != NULL)
		status = predict_fetched(s, worker, p, begin, end);
	else if (status == RS_OK)
		status = predict_chunks(s, worker, p, begin, end);
	worker_set_output(w, GRAPH_LOGIT);
	step_fail_note(s, status);
	if (s->exchange != NULL) {
		RS_TRY(step_settle(s, worker));
		if (worker == 0)
			step_fail_note(s, gather_values(s, p));
	}
	RS_TRY(s->reducer->ops->barrier(s->reducer, worker));
	return step_fail_check(s);
}
