/*
 * One training step, shared by the workers of a process.
 *
 * step_run() is called by every worker with the same batch and returns in all of
 * them with the same result.  Batch -> slots -> rows -> forward -> loss ->
 * backward -> row gradients pushed, dense gradients summed over the tree -> dense
 * optimizer (each worker a range), rows committed.  No allocation, no lock and no
 * system call in the steady state.
 *
 * With several ranks (model.place) a process runs the slots of its rank, and every rank
 * gets the same result.  A failure of one rank is RS_EPEER in the others, at once or when
 * the exchange is told to stop; no rank then has applied the step.
 */
#ifndef TRAIN_STEP_H
#define TRAIN_STEP_H

#include "data/batch.h"
#include "reduce/reducer.h"
#include "train/model.h"

struct step_result {
	double loss, weight, label, prediction, rows;   /* sums over the global batch */
	int    skipped;                /* 1: not finite, nothing was applied          */
	unsigned votes;                /* bits that any rank has set, see stepper_vote() */
	size_t n_later;                /* rows whose time is too far ahead of the others for the
	                                * clock by which rows expire (embed/expiry.h)  */
	const char *culprit;           /* node that went non-finite, or NULL          */
};

#define STEP_PREDICT_CHUNK 512         /* rows of a slot without training, and the least for
                                        * which a worker has room */
#define STEP_FETCH_CHUNKS 16           /* so many, whose rows come in together        */
#define STEP_VOTES (SLOT_VOTES - 1)    /* bits that callers may use                   */

struct stepper;

enum rs_status stepper_create(struct model *m, size_t n_workers, struct stepper **out);
void stepper_free(struct stepper *s);
/* RS_ERESOURCE: what sets of so many workers [n_sets] take of GPUs, and besides tables that are not
 * there yet, of so many bytes on each, does not fit; without a GPU nothing is taken. */
enum rs_status step_check_gpu(const struct model *m, const size_t *n_workers, size_t n_sets,
	size_t tables);
/* The GPU (a place of struct gpu_memory) of a worker, and that of the workers of a slot of this
 * process; slots beside each other are of one, or the next. */
size_t step_place(const struct model *m, size_t n_workers, size_t worker);
size_t step_slot_place(const struct model *m, size_t n_workers, size_t slot);
/* What lookups that fetch are made for: pieces, rows of a fetch, and those that one GPU looks
 * at. */
struct step_rows { size_t pieces, all, one; };
struct step_rows step_fetch_rows(const struct model *m, size_t n_workers);
/* rate: dense learning rate of this step; rate_factor: for scheduled tables. */
enum rs_status step_run(struct stepper *s, size_t worker, const struct batch *batch,
	double rate, double rate_factor, struct step_result *out);
/* What this process votes in the steps to come; between steps only. */
void stepper_vote(struct stepper *s, unsigned votes);
/* Before step_run() of any worker: the weights are not those of the step before. */
void stepper_weights_changed(struct stepper *s);
void stepper_barrier(struct stepper *s, size_t worker);

/* What a batch is wanted for: its logits [B], or the vectors [B,dim] of a tower.
 * unseen[0] += ids that training never touched, unseen[1] += ids, of the rows that this
 * rank ran; may be NULL. */
struct step_prediction {
	enum graph_output output;
	const struct batch *batch;
	float    *value;
	uint64_t *unseen;
};

/* Without training; ranks and workers share the rows in chunks of a fixed size, so the numbers
 * do not depend on how many there are. */
enum rs_status step_predict(struct stepper *s, size_t worker, const struct step_prediction *p);

#endif
