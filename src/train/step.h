/*
 * One training step, shared by the workers of a process.
 *
 * step_run() is called by every worker with the same batch and returns in all of
 * them with the same result.  Batch -> slots -> rows -> forward -> loss ->
 * backward -> row gradients pushed, dense gradients summed over the tree -> dense
 * optimizer (each worker a range), rows committed.  No allocation, no lock and no
 * system call in the steady state.
 */
#ifndef TRAIN_STEP_H
#define TRAIN_STEP_H

#include "data/batch.h"
#include "reduce/reducer.h"
#include "train/model.h"

struct step_result {
	double loss, weight, label, prediction, rows;   /* sums over the global batch */
	int    skipped;                /* 1: not finite, nothing was applied          */
	const char *culprit;           /* node that went non-finite, or NULL          */
};

struct stepper;

enum rs_status stepper_create(struct model *m, size_t n_workers, struct stepper **out);
void stepper_free(struct stepper *s);
/* rate: dense learning rate of this step; rate_factor: for scheduled tables. */
enum rs_status step_run(struct stepper *s, size_t worker, const struct batch *batch,
	double rate, double rate_factor, struct step_result *out);
void stepper_barrier(struct stepper *s, size_t worker);

/* What a batch is wanted for: its logits [B], or the vectors [B,dim] of a tower.
 * unseen[0] += ids that training never touched, unseen[1] += ids; may be NULL. */
struct step_prediction {
	enum graph_output output;
	const struct batch *batch;
	float    *value;
	uint64_t *unseen;
};

/* Without training; workers share the rows in chunks of a fixed size, so the numbers
 * do not depend on how many there are. */
enum rs_status step_predict(struct stepper *s, size_t worker, const struct step_prediction *p);

#endif
