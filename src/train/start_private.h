/* Inside of a start; for start.c and start_*.c only. */
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

/* Before a model is made that goes on from a version: the spec takes over what its first pass
 * over the data found.  RS_ESPEC names the field that the version lacks, unless new ones are
 * allowed, or that has another table than it had. */
enum rs_status start_adopt(struct spec *spec, const struct train_options *train,
	uint64_t version);

/* NULL: there is none of that name. */
const struct field_settings *start_find_field(const struct settings *s, const char *name);
/* Of a run that is resumed: a warning for each key that is not what it was and that is not
 * free to be another (struct option_row). */
enum rs_status start_tell_changed(const struct settings *saved, const struct settings *now);

#endif
