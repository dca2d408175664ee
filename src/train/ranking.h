/*
 * Figures of rows ranked within their groups.  Of a group with P relevant rows
 * (label > 0), ranks from 1 in descending order of the score:
 *   hr@K      1 when a relevant row has a rank <= K, else 0
 *   recall@K  relevant rows with a rank <= K, over P
 *   ndcg@K    sum of 1/log2(rank+1) of those, over the same of ranks 1 .. min(K,P)
 *   mrr@K     1/rank of the first relevant row, 0 when that is > K
 * Each is the mean over the groups; without @K all ranks count.  Rows of equal
 * scores count as the mean over all their orders.  gauc = sum w auc / sum w over
 * the groups, w the weight of a group's rows (Zhou 2018).  Groups whose rows are
 * of one class say nothing and are left out of all.
 */
#ifndef TRAIN_RANKING_H
#define TRAIN_RANKING_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "spec/figure.h"
#include "train/auc.h"

struct ranking_rows {
	size_t n, n_groups;
	const struct auc_row *row;     /* [n]                                         */
	const uint32_t *group;         /* [n] below n_groups                          */
};

/* Fills value[i] for the figures of groups in the list, NaN when every group was
 * left out; n_left_out says how many were. */
enum rs_status ranking_figures(const struct ranking_rows *rows, const struct figure_list *list,
	double *value, uint64_t *n_left_out);

/* The same group by group: value [n_groups, list->n], weight [n_groups], both NaN and 0 for
 * groups that were left out; free() both. */
enum rs_status ranking_groups(const struct ranking_rows *rows, const struct figure_list *list,
	double **value, double **weight);

/* 1/log2(2) + ... + 1/log2(n+1) for n = 0 .. n_max; free() it. */
enum rs_status ranking_gains(size_t n_max, double **out);

#endif
