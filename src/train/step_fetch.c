/* Rows that are elsewhere come in before anyone pulls. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "embed/stacked.h"
#include "train/step_private.h"

enum rs_status
step_fetch_open(struct stepper *s)
{
	const struct graph *g = s->model->graph;
	const size_t room = step_fetch_rows(s->model, s->n_workers).pieces + 1;
	const size_t n = graph_n_inputs(g);

	if (s->model->lookup->ops->fetch == NULL)
		return RS_OK;
	RS_TRY(memory_alloc(n + 1, sizeof(*s->use), &s->use));
	RS_TRY(memory_alloc((n + 1) * room, sizeof(*s->piece), &s->piece));
	RS_TRY(memory_alloc(room, sizeof(*s->piece_row), &s->piece_row));
	RS_TRY(memory_alloc(room, sizeof(*s->piece_place), &s->piece_place));
	for (size_t i = 0; i < n; i++) {
		s->use[i].table = graph_input(g, i)->table;
		s->use[i].piece = s->piece + i * room;
	}
	return RS_OK;
}

void
step_fetch_close(struct stepper *s)
{
	free(s->use);
	free(s->piece);
	free(s->piece_row);
	free(s->piece_place);
}

static void
use_nothing(struct stepper *s, size_t n_pieces)
{
	s->n_pieces = n_pieces;
	for (size_t i = 0; i < graph_n_inputs(s->model->graph); i++) {
		s->use[i].n = 0;
		memset(s->use[i].piece, 0, (n_pieces + 1) * sizeof(*s->use[i].piece));
	}
}

/* What worker 0 has put into s->use; step as in struct lookup_fetch. */
static enum rs_status
fetch(struct stepper *s, size_t worker, uint64_t step, int training)
{
	struct lookup *l = s->model->lookup;
	const struct lookup_fetch f = {
		.use = s->use, .n_uses = graph_n_inputs(s->model->graph),
		.n_pieces = s->n_pieces, .place = s->piece_place, .step = step,
		.training = training, .worker = worker, .n_workers = s->n_workers,
	};

	step_fail_note(s, l->ops->fetch(l, &f));
	return step_settle(s, worker);
}

/* Pieces are the slots of this process. */
static void
use_slots(struct stepper *s, enum graph_output output, const struct batch *batch)
{
	for (size_t k = 0; k <= s->n_pieces; k++)
		s->piece_row[k] = model_slot_begin(batch->B, s->n_slots, s->slot_begin + k);
	for (size_t k = 0; k < s->n_pieces; k++)
		s->piece_place[k] = step_slot_place(s->model, s->n_workers, s->slot_begin + k);
	slot_uses(s->model, output, batch, s->piece_row, s->n_pieces, s->use);
}

/* Each is that of the worker which makes it, see step_predict.c. */
static void
use_chunks(struct stepper *s, const struct step_prediction *p, size_t begin)
{
	const size_t B = p->batch->B;

	for (size_t k = 0; k <= s->n_pieces; k++) {
		const size_t row = (begin + k) * STEP_PREDICT_CHUNK;

		s->piece_row[k] = row < B ? row : B;
		s->piece_place[k] = s->worker[k % s->n_workers].place;
	}
	slot_uses(s->model, p->output, p->batch, s->piece_row, s->n_pieces, s->use);
}

/* Worker 0 has said what is used. */
static enum rs_status
settle_uses(struct stepper *s, size_t worker)
{
	if (worker == 0)
		step_fail_note(s, stacked_use(s->model->stacked, s->use,
			graph_n_inputs(s->model->graph)));
	return s->reducer->ops->barrier(s->reducer, worker);
}

enum rs_status
step_fetch_batch(struct stepper *s, size_t worker, const struct batch *batch)
{
	if (worker == 0)
		use_nothing(s, s->slot_end - s->slot_begin);
	if (worker == 0 && s->contrast == NULL)
		use_slots(s, GRAPH_LOGIT, batch);
	if (worker == 0 && s->contrast != NULL) {
		use_slots(s, GRAPH_USER, batch);
		use_slots(s, GRAPH_ITEM, contrast_items(s->model, batch));
	}
	RS_TRY(settle_uses(s, worker));
	return fetch(s, worker, s->worker[worker].view.feed.step, 1);
}

enum rs_status
step_fetch_chunks(struct stepper *s, size_t worker, const struct step_prediction *p,
	size_t begin, size_t end)
{
	RS_TRY(step_settle(s, worker));         /* nobody has rows of the last fetch */
	if (worker == 0) {
		use_nothing(s, end - begin);
		use_chunks(s, p, begin);
	}
	RS_TRY(settle_uses(s, worker));
	return fetch(s, worker, 0, 0);
}
