/*
 * What each field of a row adds to the logit.
 *
 * The logit is a sum of parts (program_part).  With 0 in place of a field's vectors, weights
 * and numbers, and nothing else changed:
 *
 *     linear    first_order with the field - without it: its own w x, exact
 *     pairs     half of what fm2 loses, so that a product of two fields is shared by both, and
 *               all that bag_pairs loses: exact, these add up to the part
 *     bias      first_order without any field
 *
 * All other parts are one, the deep part, which has no such sum:
 *
 *     deep      the deep part - the deep part when the field is blank: a missing value; an
 *               empty sequence, or one of missing items where several are one history
 *
 * logit = bias + sum of linear + sum of pairs + the deep part.  A cross is a field of its own:
 * a field that is blank is still in it.  Worked out in double by the program of the model
 * (export/program.h), a run of about 2 F rows for every row of F fields.
 */
#ifndef EXPORT_EXPLAIN_H
#define EXPORT_EXPLAIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/batch.h"
#include "train/model.h"

struct explained_field { double linear, pairs, deep; };

struct explained {
	double logit, bias, deep;
	int    has_linear, has_pairs, has_deep;    /* the model has such a part       */
	struct explained_field field[];            /* [schema.n_fields]               */
};

struct explain;

/* The model is borrowed; it was loaded for scoring. */
enum rs_status explain_open(const struct model *m, struct explain **out);
void explain_close(struct explain *e);
/* Row b; borrowed until the next call. */
enum rs_status explain_row(struct explain *e, const struct batch *batch, size_t b,
	const struct explained **out);

#endif
