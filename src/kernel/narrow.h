/*
 * The products of a layer by another code than the gemm of its set of kernels: with operands of
 * two bytes, what train.precision = bf16 means, or with floats, for train.products.
 *
 * r() rounds to bfloat16, to the nearest, ties to even; W [n,H], x [B,n], dz [B,H]:
 *	y  = act(r(x) r(W) + b)         [B,H]   act and b as of bias_act_forward, or neither
 *	dW = r(x)^T r(dz)               [n,H]
 *	dx = r(dz) r(W)^T + beta dx     [B,n]
 * A product of two such numbers has at most 16 bits and is exact in a float; sums are of
 * floats, results are floats.  All else of a step is as without this.  With floats r(x) = x.
 *
 * A struct narrow is the rounded or packed weight of a layer, for all threads; a struct
 * narrow_lane what one thread multiplies with.  Memory is taken when they are opened.
 */
#ifndef KERNEL_NARROW_H
#define KERNEL_NARROW_H

#include <stddef.h>

#include "base/status.h"
#include "kernel/kernel_table.h"

struct narrow_shape {
	size_t B, n, H;             /* B: rows in most products                       */
	int    has_bias, act;       /* none relu tanh sigmoid                         */
	const struct kernel_set *kernel;
};

struct narrow {
	const struct narrow_set *set;
	struct narrow_shape shape;
	size_t bytes;               /* that the weight takes here                     */
	size_t element;             /* bytes of a rounded number; 0: nothing is rounded, x and
	                               dz are multiplied where they are               */
};

/* What multiplies floats takes shape.B rows and no other number, so that a product depends on
 * nothing but its operands; other rows are for the kernel. */
static inline int
narrow_takes(const struct narrow *w, size_t B)
{
	return w->element > 0 || B == w->shape.B;
}

struct narrow_lane {
	struct narrow *narrow;
	size_t B_max, scratch_bytes;
};

/* Buffers have room for B_max rows; those from B on are overwritten or hold anything after. */
struct narrow_forward {
	size_t B;
	const float *x;             /* [B,n]; NULL: kept is there already; never with
	                               element 0, nor is dz below                     */
	const float *bias;          /* [H] or NULL                                    */
	void  *kept;                /* [B_max,n] elements: r(x), written for backward */
	float *y;                   /* [B_max,H]                                      */
	void  *scratch;             /* scratch_bytes, aligned to 64                   */
};

struct narrow_backward {
	size_t B;
	const float *x;             /* [B,n] with element 0, else not read            */
	const void  *kept;          /* [B_max,n] of the same rows forward             */
	const float *dz;            /* [B,H]; NULL: rounded is there already          */
	void  *rounded;             /* [B_max,H] elements: r(dz), written             */
	float *dw;                  /* [n,H] written                                  */
	float *dx, beta;            /* [B_max,n]; beta is 0 or 1                      */
	void  *scratch;
};

struct narrow_set {
	const char *name;           /* "bf16 by oneDNN with AMX"                      */
	enum rs_status (*open)(const struct narrow_set *set, const struct narrow_shape *shape,
		struct narrow **out);
	void (*close)(struct narrow *w);
	/* r(W): once when it has changed, by one thread, while no lane is at work.  With element 0
	 * the weight may be read where it is until the next time. */
	void (*pack)(struct narrow *w, const float *weight);
	enum rs_status (*lane_open)(struct narrow *w, size_t B_max, struct narrow_lane **out);
	void (*lane_close)(struct narrow_lane *l);
	/* A product that the library fails to make is NaN, which no step applies. */
	void (*forward)(struct narrow_lane *l, const struct narrow_forward *f);
	void (*backward)(struct narrow_lane *l, const struct narrow_backward *b);
};

/* The best that this processor has; RS_ESPEC with the reason where it has none.  A forced set
 * of kernels (kernel_force()) rounds and multiplies with its own product: the same numbers
 * wherever it runs, in more time than fp32 takes. */
enum rs_status narrow_select(const struct narrow_set **out);
/* What multiplies floats for train.products = onednn; NULL under a forced set of kernels, whose
 * products are its own.  RS_ESPEC with the reason where oneDNN is not. */
enum rs_status narrow_select_plain(const struct narrow_set **out);
/* By the product of shape.kernel; any processor, the specification with that of ref. */
extern const struct narrow_set narrow_rounded;

#endif
