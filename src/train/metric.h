/*
 * Metrics over a whole evaluation, never averages of batches.
 *
 * metric_add() keeps (score, label, weight) of every row (12 bytes each, 16 with
 * its group), so AUC is exact (train/auc.h) and so are the figures of groups
 * (train/ranking.h).  One class: auc is NaN and the counts say why.  Logloss is
 * computed from logits (softplus form, finite).  Sums run row by row in the order
 * of metric_add(), so the size of its pieces does not matter.  metric_result()
 * may be called again but ends the adding until metric_reset().
 */
#ifndef TRAIN_METRIC_H
#define TRAIN_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/batch.h"
#include "spec/figure.h"
#include "train/auc.h"

struct metric;

struct metric_result {
	uint64_t rows;
	int    not_finite;                 /* a score is no number, what hangs on it NaN  */
	double weight, positives;          /* sums of weight, of weight * label       */
	double auc, logloss, mse;          /* NaN when not defined                    */
	double mean_label, mean_prediction, calibration;   /* prediction / label      */
	double best_constant, best_constant_loss;
	/* What was asked for by name; NaN when not defined. */
	struct figure_list figures;
	double value[FIGURE_MAX];
	uint64_t groups, groups_left_out;  /* of the figures of groups; 0: none wanted */
};

enum rs_status metric_create(struct metric **out);
void metric_free(struct metric *m);
void metric_reset(struct metric *m);
/* real: the model predicts the label itself (loss mse): no logloss, no auc. */
void metric_set_real(struct metric *m, int real);
/* From now on rows stay in the order of metric_add(), for metric_rows(). */
void metric_keep_order(struct metric *m);
/* The figures by name; before the first row.  NULL: none. */
void metric_set_figures(struct metric *m, const struct figure_list *figures);
enum rs_status metric_add(struct metric *m, size_t n, const float *logit, const float *label,
	const float *weight);
/* The same with batch.group; logit NULL: the rows count but have no score. */
enum rs_status metric_add_batch(struct metric *m, const struct batch *batch, const float *logit);
enum rs_status metric_result(struct metric *m, struct metric_result *out);
/* Rows in the order of their score, cut into bins of about equal numbers; equal
 * scores stay together, so there may be fewer than n_wanted.  After metric_result(). */
struct metric_bin {
	uint64_t rows;
	double weight, mean_label, mean_prediction;
};
#define METRIC_BINS 10
size_t metric_bins(const struct metric *m, size_t n_wanted, struct metric_bin *bin);

/* What was added, with metric_keep_order() also after metric_result().  Borrowed until the
 * next metric_add(). */
struct metric_rows {
	size_t n, n_groups;
	const struct auc_row *row;         /* [n]                                     */
	const uint32_t *group;             /* [n] below n_groups; NULL: not kept      */
	int real, finite;          /* finite: every row has a score, which is a number */
};
void metric_rows(const struct metric *m, struct metric_rows *out);
/* What a row's score predicts. */
double metric_prediction(const struct auc_row *row, int real);
double metric_logloss(const struct auc_row *row);

/* A figure by name, NaN when it is not among them. */
double metric_named(const struct metric_result *result, const char *name);

/* Exact AUC of n rows; sorts copies.  weight NULL: 1. */
double metric_auc(size_t n, const float *score, const float *label, const float *weight);

#endif
