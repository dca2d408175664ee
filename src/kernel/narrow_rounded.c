/* Operands rounded, kept in two bytes, and multiplied as floats by the set's own product. */
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/memory.h"
#include "kernel/kernel.h"
#include "kernel/narrow.h"

struct rounded {
	struct narrow base;
	float *weight;              /* [n,H] rounded                                  */
};

static void
rounded_close(struct narrow *w)
{
	struct rounded *r = (struct rounded *)w;

	if (r == NULL)
		return;
	free(r->weight);
	free(r);
}

static enum rs_status
rounded_open(const struct narrow_set *set, const struct narrow_shape *shape, struct narrow **out)
{
	struct rounded *r;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*r), &r));
	r->base = (struct narrow){ .set = set, .shape = *shape, .element = sizeof(uint16_t),
		.bytes = shape->n * shape->H * sizeof(*r->weight) };
	status = memory_alloc(shape->n * shape->H, sizeof(*r->weight), &r->weight);
	if (status != RS_OK)
		rounded_close(&r->base);
	else
		*out = &r->base;
	return status;
}

static void
rounded_pack(struct narrow *w, const float *weight)
{
	struct rounded *r = (struct rounded *)w;

	for (size_t i = 0; i < w->shape.n * w->shape.H; i++)
		r->weight[i] = half_brain_value(half_brain_of(weight[i]));
}

static enum rs_status
rounded_lane_open(struct narrow *w, size_t B_max, struct narrow_lane **out)
{
	struct narrow_lane *l;

	RS_TRY(memory_alloc(1, sizeof(*l), &l));
	l->narrow = w;
	l->B_max = B_max;
	l->scratch_bytes = B_max * (w->shape.n + w->shape.H) * sizeof(float);
	*out = l;
	return RS_OK;
}

static void
rounded_lane_close(struct narrow_lane *l)
{
	free(l);
}

static void
widen(size_t n, const uint16_t *x, float *y)
{
	for (size_t i = 0; i < n; i++)
		y[i] = half_brain_value(x[i]);
}

static void
rounded_forward(struct narrow_lane *l, const struct narrow_forward *f)
{
	const struct narrow_shape *s = &l->narrow->shape;
	const struct rounded *r = (const struct rounded *)l->narrow;
	float *x = f->scratch;

	if (f->x != NULL)
		kernel_round(f->B * s->n, f->x, f->kept);
	widen(f->B * s->n, f->kept, x);
	s->kernel->gemm(&(struct gemm_args){ .m = f->B, .n = s->H, .k = s->n, .alpha = 1, .a = x,
		.lda = s->n, .b = r->weight, .ldb = s->H, .c = f->y, .ldc = s->H });
	if (s->has_bias || s->act != KERNEL_ACT_NONE)
		s->kernel->bias_act_forward(f->B, s->H, f->y, f->bias, s->act);
}

static void
rounded_backward(struct narrow_lane *l, const struct narrow_backward *b)
{
	const struct narrow_shape *s = &l->narrow->shape;
	const struct rounded *r = (const struct rounded *)l->narrow;
	float *x = b->scratch, *dz = x + b->B * s->n;

	if (b->dz != NULL)
		kernel_round(b->B * s->H, b->dz, b->rounded);
	widen(b->B * s->n, b->kept, x);
	widen(b->B * s->H, b->rounded, dz);
	s->kernel->gemm(&(struct gemm_args){ .transpose_a = 1, .m = s->n, .n = s->H, .k = b->B,
		.alpha = 1, .a = x, .lda = s->n, .b = dz, .ldb = s->H, .c = b->dw, .ldc = s->H });
	s->kernel->gemm(&(struct gemm_args){ .transpose_b = 1, .m = b->B, .n = s->n, .k = s->H,
		.alpha = 1, .beta = b->beta, .a = dz, .lda = s->H, .b = r->weight, .ldb = s->H,
		.c = b->dx, .ldc = s->n });
}

const struct narrow_set narrow_rounded = {
	.name = "bf16 by rounding",
	.open = rounded_open, .close = rounded_close, .pack = rounded_pack,
	.lane_open = rounded_lane_open, .lane_close = rounded_lane_close,
	.forward = rounded_forward, .backward = rounded_backward,
};
