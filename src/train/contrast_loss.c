/*
 * The losses of a slot's rows against the items of a step.
 *
 * With u the vector of a row's user, v_j those of the items, s_j = u.v_j / T, + the
 * row's own item, and w the row's weight, each gives l, weighted like any loss:
 *
 *	softmax   -log (e^s_+ / (e^s_+ + sum_j e^(s_j - log q_j)))   Yi et al. 2019 eq. (4)
 *	bpr       mean over drawn j of -log sigmoid(s_+ - s_j)       Rendle et al. 2009
 *	ccl       1 - u.v_+ + weight mean_j max(0, u.v_j - margin)   Mao et al. 2021 eq. (1)
 *
 * The sum of a softmax has no row with the row's own item, which is no negative.  q_j is
 * how often item j is to be expected among the candidates, so that the sum tends to
 * that over all items, each once; the own item is there for certain, its log q is 0.
 */
#include <math.h>
#include <string.h>

#include "train/contrast_private.h"

/* Similarities of so many are at work together. */
#define BLOCK_FLOATS ((size_t)1 << 20)
#define BLOCK_ROWS_MIN 64
#define BLOCK_ROWS_MAX 512

/* n rows in blocks of about the same size: a product of few rows costs more for each. */
static size_t
block_rows(size_t n, size_t M)
{
	size_t most = BLOCK_FLOATS / (M > 0 ? M : 1);

	if (most < BLOCK_ROWS_MIN)
		most = BLOCK_ROWS_MIN;
	if (most > BLOCK_ROWS_MAX)
		most = BLOCK_ROWS_MAX;
	const size_t blocks = (n + most - 1) / most;
	return blocks > 1 ? (n + blocks - 1) / blocks : most;
}

/* S = U V' / T, dU = S V, dV += S' U for R users and M items. */
static struct gemm_args
product_s(size_t R, size_t M, size_t d)
{
	return (struct gemm_args){
		.transpose_b = 1, .m = R, .n = M, .k = d, .lda = d, .ldb = d, .ldc = M, .alpha = 1,
	};
}

static struct gemm_args
product_du(size_t R, size_t M, size_t d)
{
	return (struct gemm_args){
		.m = R, .n = d, .k = M, .lda = M, .ldb = d, .ldc = d, .alpha = 1,
	};
}

static struct gemm_args
product_dv(size_t R, size_t M, size_t d)
{
	return (struct gemm_args){
		.transpose_a = 1, .m = M, .n = d, .k = R, .lda = M, .ldb = d, .ldc = d, .alpha = 1,
	};
}

size_t
contrast_compared(enum loss_kind loss, const struct batch *batch)
{
	const struct batch_candidates *c = batch->candidates;
	size_t n = 0;

	if (loss == LOSS_SOFTMAX)
		return batch->B;
	if (c == NULL || (loss != LOSS_FULL_SOFTMAX && loss != LOSS_SAMPLED_SOFTMAX))
		return 0;
	if (loss == LOSS_FULL_SOFTMAX)
		return c->items->B;
	for (size_t j = 0; j < c->items->B; j++)
		n += c->drawn[j] != 0;
	return n;
}

size_t
contrast_gemms(const struct model *m, const struct batch *batch, size_t rows,
	struct gemm_args out[CONTRAST_GEMMS])
{
	const size_t d = model_vector_dim(m);
	const size_t M = contrast_compared(spec_settings(m->spec)->model.loss, batch);

	if (M == 0)
		return 0;
	out[0] = product_s(rows, M, d);
	out[1] = product_du(rows, M, d);
	out[2] = product_dv(rows, M, d);
	return CONTRAST_GEMMS;
}

static size_t
own_item(const struct contrast *c, size_t b)
{
	return c->items == c->batch ? b : contrast_place(c, c->batch->candidates->positive[b]);
}

/* The row's share of the loss. */
static double
row_weight(const struct contrast *c, size_t b)
{
	return (double)c->batch->weight[b] * c->batch->label[b];
}

static void
add_to_sums(struct contrast_slot *s, const struct contrast *c, size_t b, double loss,
	double prediction)
{
	const double w = row_weight(c, b);

	s->loss += w > 0 ? w * loss : 0;
	s->weight += w;
	s->label += w * c->batch->label[b];
	s->prediction += w > 0 ? w * prediction : 0;
}

/* The own item and rows of the same one do not count in a row of S. */
static float
take_own(const struct contrast *c, size_t b, float *s)
{
	const uint32_t own = (uint32_t)own_item(c, b);
	float similarity;

	if (own >= c->n_compared) {
		c->model->kernel->pick_forward(1, c->d, c->u.x + b * c->d, c->v.x, &own,
			c->inverse_temperature, &similarity);
		return similarity;
	}
	similarity = s[own];
	s[own] = -INFINITY;
	for (uint32_t k = c->items == c->batch ? c->same[b] : own; k != own; k = c->same[k])
		s[k] = -INFINITY;
	return similarity;
}

/* One row of S becomes e^(s_j - max), the gradient but for the factor that is returned;
 * that of the own item is minus the sum of the others, in its column or in *down. */
static double
softmax_of_row(struct contrast *c, struct contrast_slot *slot, size_t b, float *s, float *down)
{
	const size_t own = own_item(c, b);
	const float similarity = take_own(c, b, s);
	float max = similarity, sum;
	double own_power, total;

	c->model->kernel->softmax_row(c->n_compared, s, c->corrects ? c->log_q.x : NULL, &max,
		&sum);
	own_power = exp((double)similarity - max);
	total = own_power + sum;
	*down = own < c->n_compared ? 0 : -sum;
	if (own < c->n_compared)
		s[own] = -sum;
	add_to_sums(slot, c, b, log(total) + max - similarity, own_power / total);
	return row_weight(c, b) * c->loss_scale / total;
}

/* The gradients of the own items that have no column. */
static void
add_own(struct contrast *c, const struct contrast_worker *w, size_t slot, size_t begin, size_t end)
{
	for (size_t b = begin; b < end; b++) {
		const uint32_t own = (uint32_t)own_item(c, b);
		const float down = w->down.x[b - begin] * w->factor.x[b - begin];

		if (own >= c->n_compared)
			c->model->kernel->pick_backward(1, c->d, c->u.x + b * c->d, c->v.x, &own,
				1, &down, c->du.x + b * c->d, contrast_dv(c, slot));
	}
}

static void
softmax_block(struct contrast *c, struct contrast_worker *w, size_t slot, size_t begin, size_t end,
	int is_first)
{
	const size_t d = c->d, R = end - begin, M = c->n_compared;
	const struct kernel_set *kernel = c->model->kernel;
	struct gemm_args s = product_s(R, M, d), du = product_du(R, M, d);
	struct gemm_args dv = product_dv(R, M, d);

	s.a = c->u.x + begin * d;
	s.alpha = c->inverse_temperature;
	s.b = du.b = c->v.x;
	s.c = w->block.x;
	du.a = dv.a = w->block.x;
	du.c = c->du.x + begin * d;
	dv.b = w->users.x;
	dv.c = contrast_dv(c, slot);
	dv.beta = is_first ? 0 : 1;
	s.scratch = du.scratch = dv.scratch = w->scratch.x;
	memcpy(w->users.x, s.a, R * d * sizeof(*s.a));
	kernel->gemm(&s);
	for (size_t r = 0; r < R; r++)
		w->factor.x[r] = (float)softmax_of_row(c, &c->slot[slot], begin + r,
			w->block.x + r * M, &w->down.x[r]) * c->inverse_temperature;
	kernel->gemm(&du);
	for (size_t r = 0; r < R; r++) {
		kernel->scale(d, du.c + r * d, w->factor.x[r]);
		kernel->scale(d, w->users.x + r * d, w->factor.x[r]);
	}
	kernel->gemm(&dv);
	add_own(c, w, slot, begin, end);
}

static enum rs_status
softmax_loss(struct contrast *c, struct contrast_worker *w, size_t slot, size_t begin, size_t end)
{
	const size_t rows = block_rows(end - begin, c->n_compared);

	RS_TRY(contrast_array_reserve(&w->block, rows, c->n_compared));
	RS_TRY(contrast_array_reserve(&w->down, rows, 1));
	RS_TRY(contrast_array_reserve(&w->users, rows, c->d));
	RS_TRY(contrast_array_reserve(&w->factor, rows, 1));
	if (!model_by_library(spec_settings(c->model->spec)))
		RS_TRY(contrast_array_reserve(&w->scratch, KERNEL_GEMM_SCRATCH, 1));
	memset(contrast_dv(c, slot) + c->n_compared * c->d, 0,
		(c->M - c->n_compared) * c->d * sizeof(float));
	for (size_t b = begin; b < end; b += rows)
		softmax_block(c, w, slot, b, b + rows < end ? b + rows : end, b == begin);
	return RS_OK;
}

/* Similarities of a row to its own item and to those drawn for it; the derivatives of
 * the loss by them. */
struct pairs {
	size_t n;
	float  own, down;
	float *drawn, *ddrawn;         /* [n]                                         */
};

static void
bpr_of_row(const struct contrast *c, struct contrast_slot *slot, size_t b, struct pairs *p)
{
	double loss = 0, right = 0;

	p->down = 0;
	for (size_t k = 0; k < p->n; k++) {
		const double ahead = (double)p->own - p->drawn[k];
		const double small = exp(-fabs(ahead));
		const double wrong = (ahead > 0 ? small : 1) / (1 + small);   /* sigmoid(-ahead) */

		loss += log1p(small) + (ahead > 0 ? 0 : -ahead);
		right += 1 - wrong;
		p->ddrawn[k] = (float)(wrong / (double)p->n);
		p->down -= p->ddrawn[k];
	}
	add_to_sums(slot, c, b, loss / (double)p->n, right / (double)p->n);
}

static void
ccl_of_row(const struct contrast *c, struct contrast_slot *slot, size_t b, struct pairs *p)
{
	const struct two_tower_settings *t = &spec_settings(c->model->spec)->two_tower;
	const double weight = t->negative_weight / (double)p->n;
	double loss = 1 - (double)p->own;

	p->down = -1;
	for (size_t k = 0; k < p->n; k++) {
		const double over = p->drawn[k] - t->margin;

		loss += over > 0 || over != over ? weight * over : 0;
		p->ddrawn[k] = over > 0 ? (float)weight : 0;
	}
	add_to_sums(slot, c, b, loss, p->own);
}

/* bpr and ccl: a row and the items drawn for it. */
static void
pairs_of_row(struct contrast *c, struct pairs *p, size_t slot, size_t b)
{
	const struct kernel_set *kernel = c->model->kernel;
	const int is_bpr = spec_settings(c->model->spec)->model.loss == LOSS_BPR;
	const float scale = is_bpr ? c->inverse_temperature : 1;
	const float factor = (float)(row_weight(c, b) * c->loss_scale);
	const uint32_t own = (uint32_t)own_item(c, b);
	const uint32_t *drawn = c->batch->candidates->negative + b * p->n;
	const float *u = c->u.x + b * c->d, *v = c->v.x;
	float *du = c->du.x + b * c->d, *dv = contrast_dv(c, slot);

	kernel->pick_forward(1, c->d, u, v, &own, scale, &p->own);
	kernel->pick_forward(p->n, c->d, u, v, drawn, scale, p->drawn);
	(is_bpr ? bpr_of_row : ccl_of_row)(c, &c->slot[slot], b, p);
	p->down *= factor;
	kernel->scale(p->n, p->ddrawn, factor);
	memset(du, 0, c->d * sizeof(*du));
	kernel->pick_backward(1, c->d, u, v, &own, scale, &p->down, du, dv);
	kernel->pick_backward(p->n, c->d, u, v, drawn, scale, p->ddrawn, du, dv);
}

static enum rs_status
pairs_loss(struct contrast *c, struct contrast_worker *w, size_t slot, size_t begin, size_t end)
{
	struct pairs p = { .n = c->batch->candidates->n };

	memset(contrast_dv(c, slot), 0, c->M * c->d * sizeof(float));
	RS_TRY(contrast_array_reserve(&w->block, 2, p.n));
	p.drawn = w->block.x;
	p.ddrawn = w->block.x + p.n;
	for (size_t b = begin; b < end; b++)
		pairs_of_row(c, &p, slot, b);
	return RS_OK;
}

/* dl / d log T = -sum_j dl/ds_j s_j = -u.du */
static double
temperature_gradient(const struct contrast *c, size_t begin, size_t end)
{
	double sum = 0;

	for (size_t i = begin * c->d; i < end * c->d; i++)
		sum -= (double)c->u.x[i] * c->du.x[i];
	return sum;
}

enum rs_status
contrast_loss(struct contrast *c, struct contrast_worker *w, size_t slot, size_t begin, size_t end)
{
	const enum loss_kind loss = spec_settings(c->model->spec)->model.loss;
	const int is_pairs = loss == LOSS_BPR || loss == LOSS_CCL;

	if (begin == end || (!is_pairs && c->n_compared == 0)) {
		memset(contrast_dv(c, slot), 0, c->M * c->d * sizeof(float));
		memset(c->du.x + begin * c->d, 0, (end - begin) * c->d * sizeof(float));
		return RS_OK;
	}
	if (is_pairs)
		RS_TRY(pairs_loss(c, w, slot, begin, end));
	else
		RS_TRY(softmax_loss(c, w, slot, begin, end));
	if (c->temperature != NULL)
		c->slot[slot].dlog_temperature = temperature_gradient(c, begin, end);
	return RS_OK;
}
