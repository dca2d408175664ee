/*
 * The trial of a candidate: figures of the same rows before and after it was trained.
 *
 * In one process a run of a period has the old weights first and the new ones last, so
 * trial_before() scores what neither or only the candidate trains on with the old weights,
 * and trial_after() the rows of the gate with the new ones; scores are kept, so differences
 * have a paired range.
 *
 *     progressive   the rows of the period, scored before they are trained: the honest curve
 *     valid         data.valid, old and new
 *     holdout       rows held out of the last accepted period, old and new; the period's own
 *                   when none were, they are gone or say nothing (no positives)
 *
 * figures.txt of a version has a line a period with the progressive figures and the new ones
 * of the gate's rows, variances and numbers of rows (train/trial_history.h): what "last" and
 * "best(N)" mean where rows cannot be scored again.
 */
#ifndef TRAIN_TRIAL_H
#define TRAIN_TRIAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "train/evaluate.h"
#include "train/gate.h"

#define TRIAL_FILE "figures.txt"

struct trial_options {
	int64_t period;                    /* its begin                               */
	const struct text_list *rows;      /* of the period, names for the loader; borrowed */
	const struct text_list *held;      /* of the last accepted one; n 0: none     */
	enum gate_rows gate;               /* GATE_AUTO resolved by trial_open()      */
	const char *history;               /* text of figures.txt of the version gone on from;
	                                    * NULL: none                              */
	/* What will be required, besides incremental.require: figures that are to be known. */
	const struct gate_condition *condition;    /* [n_conditions]                  */
	size_t n_conditions;
};

struct trial;

/* RS_ESPEC: a figure that models of these settings never have. */
enum rs_status trial_check_figure(const char *metric, const struct settings *settings);
/* settings and conditions are looked at here only.  Evaluated are the figures of the
 * conditions, of incremental.require and of the spec, and whatever rows tell. */
enum rs_status trial_open(const struct trial_options *options, const struct settings *settings,
	struct trial **out);
void trial_free(struct trial *t);
/* has_old 0: there is no former model, nothing is scored and the gate has only constants;
 * what wants last or best passes. */
enum rs_status trial_before(struct trial *t, struct workers *w, const struct model *m,
	int has_old);
/* The former model is not the one that is trained on but another, so of the gate's rows there
 * are only those of data.valid, given here.  m NULL: it cannot be scored, and what is
 * required of last is refused unless the history knows it. */
enum rs_status trial_before_other(struct trial *t, struct workers *w, const struct model *m,
	const struct text_list *valid);
enum rs_status trial_after(struct trial *t, struct workers *w, const struct model *m);

/* The progressive figures; rows 0: not scored. */
const struct metric_result *trial_progressive(const struct trial *t);
/* figures.txt with the line of this period. */
enum rs_status trial_print(const struct trial *t, struct buffer *out);
/* RS_EUNMET says which condition failed, by how much, on how many rows; *verdict, which the
 * caller frees, tells in one line what was compared also when all hold. */
enum rs_status trial_judge(const struct trial *t, const struct gate_condition *condition,
	size_t n, char **verdict);

#endif
