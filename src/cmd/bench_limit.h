/*
 * What the machine can do at most, measured with nothing else in the loop.
 *
 * The GEMM limit is the time of the model's own products of one batch (forward,
 * dX, dW and those of a loss over the batch, slot by slot) on one thread, by the library
 * that trains, with operands of two bytes, rounded ahead, where it trains so; random rows
 * are read and written at random in a table of the model's row size; bandwidth is a sum
 * over a large block.
 */
#ifndef CMD_BENCH_LIMIT_H
#define CMD_BENCH_LIMIT_H

#include <stddef.h>

#include "base/status.h"
#include "cmd/bench_data.h"
#include "train/model.h"

/* Of a layer whose products are not the kernel's: what it multiplies with. */
struct bench_lane {
	struct narrow_lane *lane;      /* NULL: the product is the kernel's            */
	void   *kept, *rounded;        /* its operands, rounded                        */
};

struct bench_gemm {
	const struct kernel_set *kernel;
	struct gemm_args *product;     /* [n] of one slot                             */
	struct bench_lane *lane;       /* [n] at the first product of its layer        */
	void   *scratch;
	float  *zeros;                 /* bias of these layers                        */
	size_t  n, n_slots;
	float  *block;                 /* [floats] operands and results               */
	size_t  floats;
	double  flop;                  /* of one batch                                */
	int     has_plain;             /* some lane multiplies floats                 */
};

/* Histories and candidates are as long as in the batches on average. */
enum rs_status bench_gemm_open(
	struct bench_gemm *g, const struct model *m, const struct bench_batches *batches);
void bench_gemm_close(struct bench_gemm *g);
/* Seconds of the products of one batch. */
double bench_gemm_run(const struct bench_gemm *g);
/* All of them by the kernel. */
double bench_gemm_run_kernel(const struct bench_gemm *g);

/* Rows a second of `floats` floats each, and bytes a second read in order. */
enum rs_status bench_memory(size_t floats, double *rows_per_s, double *bytes_per_s);

#endif
