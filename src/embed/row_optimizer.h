/*
 * The optimizers of embedding rows: one table row each, in the order of enum
 * row_optimizer_kind.  State lies beside the weights of a row, slot[0..n):
 *
 *	sgd               -                       rowwise_adagrad  s (1)
 *	adagrad           s[D]                    adam             m[D] v[D] t (1, steps of the row)
 *	ftrl              n[D] z[D]
 *
 * The kernel (kernel/kernel_table.h) gets the merged gradient of a row once a
 * step and adds L1 and L2 itself, so both are applied once a row and step.
 */
#ifndef EMBED_ROW_OPTIMIZER_H
#define EMBED_ROW_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel_table.h"
#include "data/schema.h"

typedef void rows_kernel(const struct rows_args *a);
typedef void row_kernel(float *w, float *slot, const float *g, const struct row_args *a);

struct row_optimizer {
	const char *name;
	size_t per_column;          /* slot floats = per_column * D + per_row         */
	size_t per_row;
	size_t n_accumulators;      /* leading blocks that start at initial_accumulator */
	int    decays;              /* these are what lookup_commit.decay is for      */
	size_t kernel;              /* offset of the kernel in struct kernel_set      */
	size_t rows_kernel;         /* of that for many rows                          */
};

const struct row_optimizer *row_optimizer_get(enum row_optimizer_kind kind);
/* NULL when there is none of that name. */
const struct row_optimizer *row_optimizer_find(const char *name);

size_t row_optimizer_slots(const struct row_optimizer *o, size_t D);
void row_optimizer_init(const struct row_optimizer *o, const struct row_optimizer_settings *s,
	size_t D, float *slot);
/* What lookup_commit.decay does to a row: sums times the factor, no sum below the least. */
struct row_decay { float factor, least; };
#define ROW_DECAYS 4u          /* that a delta can have; behind more, tables are whole */
/* Several, in the order they came: decay i is of factor[i] and the least. */
struct row_decays {
	uint32_t n;
	float    least, factor[ROW_DECAYS];
};
void row_optimizer_decay(const struct row_optimizer *o, const struct row_decay *decay, size_t D,
	float *slot);
row_kernel *row_optimizer_kernel(const struct row_optimizer *o, const struct kernel_set *kernel);
rows_kernel *row_optimizer_rows_kernel(const struct row_optimizer *o,
	const struct kernel_set *kernel);
/* rate_factor: what the schedule makes of the base rate in this step. */
struct row_args row_optimizer_args(
	const struct row_optimizer_settings *s, size_t D, double rate_factor);

#endif
