/* Dense optimizer: pieces, L2, clipping, one kernel call a piece. */
#include "train/dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

typedef void dense_kernel(size_t n, float *w, const float *g, float *m, float *v,
	const struct optimizer_args *a);

static const size_t kernel_offset[] = {
	[DENSE_SGD] = offsetof(struct kernel_set, dense_sgd),
	[DENSE_MOMENTUM] = offsetof(struct kernel_set, dense_momentum),
	[DENSE_ADAGRAD] = offsetof(struct kernel_set, dense_adagrad),
	[DENSE_ADAM] = offsetof(struct kernel_set, dense_adam),
	[DENSE_ADAMW] = offsetof(struct kernel_set, dense_adamw),
};

static size_t
count_pieces(const struct graph_param *p)
{
	return p->is_statistic ? 0 : (p->rows * p->columns + DENSE_PIECE - 1) / DENSE_PIECE;
}

static void
cut_param(struct dense *d, const struct graph_param *p)
{
	const size_t n = p->rows * p->columns, pieces = count_pieces(p);

	for (size_t i = 0; i < pieces; i++) {
		const size_t begin = i * DENSE_PIECE;

		d->piece[d->n_pieces++] = (struct dense_piece){
			.offset = p->offset + begin,
			.n = n - begin < DENSE_PIECE ? n - begin : DENSE_PIECE,
			.l2 = p->l2, .decay = p->decay,
		};
	}
}

enum rs_status
dense_init(struct dense *d, struct model *m, size_t n_workers)
{
	const size_t n_params = graph_n_params(m->graph);
	size_t n = 0;

	memset(d, 0, sizeof(*d));
	d->model = m;
	d->n_workers = n_workers;
	for (size_t i = 0; i < n_params; i++)
		n += count_pieces(graph_param(m->graph, i));
	RS_TRY(memory_alloc(n + 1, sizeof(*d->piece), &d->piece));
	RS_TRY(memory_alloc(n + 1, sizeof(*d->square), &d->square));
	RS_TRY(memory_alloc(n_workers * DENSE_PIECE, sizeof(*d->scratch), &d->scratch));
	for (size_t i = 0; i < n_params; i++)
		cut_param(d, graph_param(m->graph, i));
	return RS_OK;
}

void
dense_free(struct dense *d)
{
	free(d->piece);
	free(d->square);
	free(d->scratch);
	memset(d, 0, sizeof(*d));
}

int
dense_clips(const struct dense *d)
{
	return spec_settings(d->model->spec)->train.clip_norm > 0;
}

/* The piece's gradient with L2, times scale: grad itself when both change nothing. */
static const float *
piece_gradient(const struct dense *d, const struct dense_piece *p, size_t worker, const float *grad,
	float scale)
{
	const float *w = d->model->param + p->offset, *g = grad + p->offset;
	float *scratch = d->scratch + worker * DENSE_PIECE;

	if (p->l2 == 0 && scale == 1)
		return g;
	for (size_t i = 0; i < p->n; i++)
		scratch[i] = (g[i] + p->l2 * w[i]) * scale;
	return scratch;
}

static size_t
first_piece(const struct dense *d, size_t worker)
{
	return d->n_pieces * worker / d->n_workers;
}

void
dense_measure(struct dense *d, size_t worker, const float *grad)
{
	for (size_t i = first_piece(d, worker); i < first_piece(d, worker + 1); i++) {
		const float *g = piece_gradient(d, &d->piece[i], worker, grad, 1);
		double square = 0;

		for (size_t k = 0; k < d->piece[i].n; k++)
			square += (double)g[k] * g[k];
		d->square[i] = square;
	}
}

static float
clip_scale(const struct dense *d)
{
	const double limit = spec_settings(d->model->spec)->train.clip_norm;
	double norm = 0;

	if (limit <= 0)
		return 1;
	for (size_t i = 0; i < d->n_pieces; i++)
		norm += d->square[i];
	norm = sqrt(norm);
	return norm > limit ? (float)(limit / norm) : 1;
}

void
dense_apply(struct dense *d, size_t worker, const float *grad, double rate, unsigned long long step)
{
	const struct train_settings *t = &spec_settings(d->model->spec)->train;
	struct model *m = d->model;
	struct optimizer_args a = {
		.rate = (float)rate, .momentum = (float)t->momentum, .beta1 = (float)t->beta1,
		.beta2 = (float)t->beta2, .epsilon = (float)t->epsilon,
		.correction1 = (float)(1 - pow(t->beta1, (double)step)),
		.correction2 = (float)(1 - pow(t->beta2, (double)step)),
	};
	const float scale = clip_scale(d);
	dense_kernel *update;

	memcpy(&update, (const char *)m->kernel + kernel_offset[t->optimizer], sizeof(update));
	for (size_t i = first_piece(d, worker); i < first_piece(d, worker + 1); i++) {
		const struct dense_piece *p = &d->piece[i];

		a.weight_decay = p->decay ? (float)t->weight_decay : 0;
		update(p->n, m->param + p->offset, piece_gradient(d, p, worker, grad, scale),
		    m->slot_m + p->offset, m->slot_v + p->offset, &a);
	}
}
