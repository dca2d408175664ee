/*
 * What a run starts from: a fresh model, a trained one (warm start), the last
 * saved state of an unfinished run, or a later one that lived on in a process.
 * Of several ranks, rank 0 starts and sends the others what they need; all fail
 * as it does.
 */
#ifndef TRAIN_START_H
#define TRAIN_START_H

#include "base/status.h"
#include "spec/spec.h"
#include "train/checkpoint.h"
#include "train/live.h"
#include "train/model.h"
#include "train/train.h"

struct start {
	struct model *model;
	struct checkpoint_progress progress;
	uint64_t version;          /* the one that was loaded, 0 none                 */
	uint64_t origin;           /* or, of a state that lived on, the one that has what is in
	                            * versions only: in the directory when the options resume,
	                            * else where the run came from                    */
	const struct live_state *live; /* goes on from this, in options.live; or NULL */
	int      resumed;          /* progress.position is where to go on             */
	int      finished;         /* resume: the newest version is final; no model,  */
	int      evaluates;        /* or, of a run that continues or was not judged,
	                            * this is it                                      */
};

/* Takes the spec, also on failure. */
enum rs_status start_model(struct spec *spec, const struct train_options *options,
	const struct model_options *model_options, struct start *out);

#endif
