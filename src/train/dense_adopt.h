/*
 * Dense parameters of a version whose spec had other fields.
 *
 * Rows and columns are matched by what they stand for (graph_axes): those of fields that both
 * have keep weights and optimizer state, wherever they are now; those of fields that are new
 * are 0 with the state of a start, so that the model computes what it did where the new
 * fields say nothing; those of fields that are gone are left out.  Parameters of new fields
 * alone stay at their initial values.
 */
#ifndef TRAIN_DENSE_ADOPT_H
#define TRAIN_DENSE_ADOPT_H

#include "base/status.h"
#include "train/model.h"

struct dense_adopted {
	size_t whole, changed, fresh;  /* parameters                                  */
	int    had_state;              /* the version has optimizer state             */
};

/* former: a model of the version's spec, of which only the shape is used.  RS_ESPEC names the
 * first parameter that is lacking or has another shape for another reason.  Otherwise as
 * dense_file_load(). */
enum rs_status dense_adopt(struct model *m, const struct model *former, const char *path,
	int with_state, struct dense_adopted *out);
/* Is there no such field in the former spec? */
int dense_adopt_is_new(const struct model *former, const char *field);

#endif
