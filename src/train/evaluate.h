/*
 * Scores files with the workers of a model and collects the metrics.
 *
 * An evaluation may run again and again, for instance after every epoch, also with
 * another model of the same spec; what depends on the files alone is kept.
 * Rows are scored only when a figure needs their scores.  With several ranks all call, each
 * scores a share, and all get the figures; ids never trained are not counted then.
 */
#ifndef TRAIN_EVALUATE_H
#define TRAIN_EVALUATE_H

#include "base/status.h"
#include "data/loader.h"
#include "data/parser.h"
#include "train/metric.h"
#include "train/retrieval.h"
#include "train/workers.h"

struct evaluate_counts {
	struct parser_tally tally;
	uint64_t unseen[2];            /* ids never trained, ids; 0 ids: not counted  */
};

/* What figures of ranks are of: train/ranking.h or train/retrieval.h. */
enum evaluate_candidates { EVALUATE_AS_SPEC, EVALUATE_ROWS, EVALUATE_CATALOGUE };

/* 0 and NULL: what the model's spec says.  All are borrowed. */
struct evaluate_options {
	const struct text_list *files;         /* data.valid                          */
	const struct figure_list *figures;     /* eval.metrics and the monitor        */
	enum evaluate_candidates candidates;
	const struct text_list *seen;          /* masked, catalogue: data.train       */
	int mask_nothing;
	int keep;                              /* scores, for evaluate_scores()       */
	int may_be_empty;                      /* no rows are no failure              */
	enum loader_cache cache;               /* 0: used, not made                   */
};

struct evaluation;

enum rs_status evaluate_open(const struct evaluate_options *options, struct evaluation **out);
void evaluate_close(struct evaluation *e);
/* One pass over the files in order; none when all figures are of the catalogue and
 * its rows are known.  counts may be NULL. */
enum rs_status evaluate_run(struct evaluation *e, struct workers *w, const struct model *m,
	struct metric_result *out, struct evaluate_counts *counts);
/* Of the last run: rows and the figures that are not of the catalogue. */
const struct metric *evaluate_metric(const struct evaluation *e);

/* Of the last run, when they were to be kept: rows in the order of the files, and the groups
 * of what was ranked in the catalogue.  Borrowed until the next run. */
struct evaluate_scores {
	struct figure_list figures;            /* that the run gave                   */
	struct metric_rows rows;
	struct retrieval_groups catalogue;     /* n_groups 0: nothing was             */
};
void evaluate_scores(const struct evaluation *e, struct evaluate_scores *out);

/* Reads labels until both classes were seen: *n_negative and *n_positive rows.
 * No row at all is RS_EDATA. */
enum rs_status evaluate_classes(const struct schema *schema, const struct text_list *files,
	enum loader_cache cache, uint64_t *n_negative, uint64_t *n_positive);

#endif
