/*
 * A figure of an evaluation as a sum over what was drawn: rows, or groups of rows.
 *
 * unit[i] says by how much row (group) i moved the figure, so sum unit = 0 and the variance
 * of the figure is sum unit^2; of the difference of two figures of the same rows it is
 * sum (a - b)^2, in which what both models find hard cancels.  For AUC that is DeLong's
 * variance and covariance.  Rows are taken as drawn one by one, independently, each with its
 * weight; figures of groups as means over groups drawn so.
 */
#ifndef TRAIN_TRIAL_INFLUENCE_H
#define TRAIN_TRIAL_INFLUENCE_H

#include <stddef.h>

#include "base/status.h"
#include "train/evaluate.h"

struct trial_influence {
	double value, variance;            /* NaN: not defined; not to be had         */
	size_t n;
	double *unit;                      /* [n]; NULL: not to be had                */
};

/* Of a run that kept its scores. */
enum rs_status trial_influence(const struct metric_result *result,
	const struct evaluate_scores *scores, const struct figure *f, struct trial_influence *out);
void trial_influence_free(struct trial_influence *i);
/* Variance of the difference; NaN when they are not of the same units. */
double trial_influence_difference(const struct trial_influence *a, const struct trial_influence *b);

/* The figure, NaN when the evaluation did not give it. */
double trial_influence_value(const struct metric_result *result, const struct figure *f);

#endif
