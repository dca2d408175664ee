/*
 * The worker threads of a model: made once, told by the main thread what to do.
 *
 * The main thread is worker 0; the others wait at the stepper's barrier.  Calls
 * come from the main thread only, return when every worker is done, and pass on
 * the first failure of any worker.  No allocation and no lock between calls.
 */
#ifndef TRAIN_WORKERS_H
#define TRAIN_WORKERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "train/step.h"

struct workers;

/* The model is borrowed and must have been made for n threads. */
enum rs_status workers_create(struct model *m, size_t n, struct workers **out);
void workers_free(struct workers *w);

enum rs_status workers_step(struct workers *w, const struct batch *batch, double rate,
	double rate_factor, struct step_result *out);
/* What this process votes in the steps to come, see train/step.h. */
void workers_vote(struct workers *w, unsigned votes);
/* logit [B]; unseen as in step_predict(), may be NULL. */
enum rs_status workers_predict(struct workers *w, const struct batch *batch, float *logit,
	uint64_t unseen[2]);
/* Vectors of a tower, out [B, model_vector_dim()].  tower: TOWER_USER or TOWER_ITEM; the
 * batch needs only the columns of its fields. */
enum rs_status workers_vectors(
	struct workers *w, int tower, const struct batch *batch, float *out);
/* work(context, i) on every worker i at once. */
enum rs_status workers_run(struct workers *w,
	enum rs_status (*work)(void *context, size_t worker), void *context);
size_t workers_count(const struct workers *w);

#endif
