/* Inside of a start; for start.c and start_live.c only. */
#ifndef TRAIN_START_PRIVATE_H
#define TRAIN_START_PRIVATE_H

#include "train/start.h"

/* A model of the spec that another rank resolved, with this rank's data files.  Takes own. */
enum rs_status start_by_text(struct spec *own, const char *text,
	const struct model_options *options, struct start *out);
/* Goes on from a state that lived on, if there is one: out->live.  Takes the spec then, and on
 * failure. */
enum rs_status start_live(struct spec **spec, const struct train_options *options,
	const struct model_options *model_options, struct start *out);

#endif
