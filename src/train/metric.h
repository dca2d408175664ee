/*
 * Metrics over a whole evaluation, never averages of batches.
 *
 * metric_add() keeps (score, label, weight) of every row (12 bytes each), so AUC
 * is exact: U = sum over groups of equal scores of pos * (neg below + neg / 2),
 * AUC = U / (P N), weights counted, in double.  One class: auc is NaN and the
 * counts say why.  A label between 0 and 1 is that share of a positive row.
 * Logloss is computed from logits (softplus form, finite).  Sums run row by row
 * in the order of metric_add(), so the size of its pieces does not matter.
 */
#ifndef TRAIN_METRIC_H
#define TRAIN_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct metric;

struct metric_result {
	uint64_t rows;
	double weight, positives;          /* sums of weight, of weight * label       */
	double auc, logloss, mse;          /* NaN when not defined                    */
	double mean_label, mean_prediction, calibration;   /* prediction / label      */
	double best_constant, best_constant_loss;
};

enum rs_status metric_create(struct metric **out);
void metric_free(struct metric *m);
void metric_reset(struct metric *m);
/* real: the model predicts the label itself (loss mse): no logloss, no auc. */
void metric_set_real(struct metric *m, int real);
enum rs_status metric_add(struct metric *m, size_t n, const float *logit, const float *label,
	const float *weight);
enum rs_status metric_result(struct metric *m, struct metric_result *out);

/* Exact AUC of n rows; sorts copies.  weight NULL: 1. */
double metric_auc(size_t n, const float *score, const float *label, const float *weight);

#endif
