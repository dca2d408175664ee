/* Inside of a trial; for trial.c and trial_judge.c only. */
#ifndef TRAIN_TRIAL_PRIVATE_H
#define TRAIN_TRIAL_PRIVATE_H

#include "train/trial.h"

/* An evaluation of the gate's rows that kept its scores. */
struct trial_run {
	struct evaluation *evaluation;     /* NULL: not scored                        */
	struct metric_result result;
	struct evaluate_scores scores;
};

struct trial {
	struct trial_options options;
	char    *history;                  /* "" none                                 */
	struct figure_list figures;        /* that evaluations give                   */
	/* The period's rows, scored before they are trained. */
	struct metric_result progressive;
	int      progressive_finite;       /* every score was                         */
	struct gate_figure period_figure[FIGURE_MAX];      /* [figures.n]             */
	struct trial_run old, new;         /* on the gate's rows, unless progressive  */
	int      has_old;
	int      paired;                   /* old and new scored the same rows        */
};

#endif
