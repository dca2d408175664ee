/*
 * The exact area under the ROC curve of rows sorted by score.
 *
 * U = sum over groups of equal scores of pos * (neg below + neg / 2), AUC =
 * U / (P N), weights counted, in double; NaN when one of the classes is empty.
 * A label between 0 and 1 is that share of a positive row.
 */
#ifndef TRAIN_AUC_H
#define TRAIN_AUC_H

#include <stddef.h>
#include <stdint.h>

struct auc_row {
	uint32_t key;              /* bits of the score, in order of the score        */
	float    label, weight;
};

/* Order-preserving bits of a finite float; -0 and 0 are one score. */
uint32_t auc_key(float score);
float auc_score(uint32_t key);
/* Stable; the result is in the returned one of the two arrays, both [n]. */
struct auc_row *auc_sort(struct auc_row *row, struct auc_row *scratch, size_t n);
double auc_of_sorted(const struct auc_row *row, size_t n);

#endif
