/*
 * Models of every kind on the host or on a GPU, and batches for them.
 */
#ifndef TESTS_TRAIN_GPU_CASE_H
#define TESTS_TRAIN_GPU_CASE_H

#include "data/batch.h"
#include "train/model.h"
#include "train/workers.h"

struct gpu_case {
	const char *name, *model, *more;   /* [model] and what else of the spec           */
	int has_candidates;                /* its loss compares a row with many items     */
};

/* Ends with a row without a name. */
extern const struct gpu_case gpu_case_table[];
/* Those whose layers multiply two bytes; on the host after kernel_force(). */
extern const struct gpu_case gpu_case_brain_table[];

/* gpu.tables of the models that follow; "auto" at first. */
extern const char *gpu_case_tables;
/* gpu NULL: on the host, by the reference. */
struct model *gpu_case_model(const struct gpu_case *c, struct gpu_memory *gpu, size_t n_threads);
/* The i-th of a run; B rows. */
void gpu_case_batch(const struct gpu_case *c, const struct model *m, size_t B, uint64_t i,
	struct batch *out);

enum { GPU_CASE_STEPS = 3, GPU_CASE_B = 96, GPU_CASE_VALUES = 16 * GPU_CASE_B };

/* A few steps, the loss of each, and logits or vectors of items after the last. */
struct gpu_run {
	struct model *m;               /* the caller frees it                             */
	double loss[GPU_CASE_STEPS];
	float  value[GPU_CASE_VALUES];
};

void gpu_case_run(const struct gpu_case *c, struct gpu_memory *gpu, size_t n_threads,
	struct gpu_run *out);
/* A step and predictions; 0: a kernel or copy failed, as all workers say. */
int gpu_case_train(const struct gpu_case *c, struct gpu_memory *gpu, size_t n_threads);
/* The largest difference of weights, of 1 + what the host has. */
double gpu_case_distance(const struct gpu_run *host, const struct gpu_run *there);
/* Losses, weights and values differ by at most so much of that. */
void gpu_case_compare(const char *name, const struct gpu_run *host, const struct gpu_run *there,
	double tolerance);

#endif
