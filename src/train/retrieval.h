/*
 * The whole catalogue ranked for each group of the evaluation rows (two_tower).
 *
 * The vector of a group is that of its first row.  Relevant are the P items of
 * its rows with a label above 0, each once; one that the catalogue has not, or
 * that is masked, is never found.  Masked are the items of the group's training
 * rows.  Items are ranked by user vector . item vector, equal ones by their number
 * in the catalogue; hr@K, recall@K, ndcg@K and mrr@K are as in train/ranking.h.
 * Groups without a relevant item are left out.  Rows and masks are read once and
 * kept for every further run.  Main thread only.
 */
#ifndef TRAIN_RETRIEVAL_H
#define TRAIN_RETRIEVAL_H

#include "base/status.h"
#include "data/batch.h"
#include "spec/figure.h"
#include "train/metric.h"
#include "train/model.h"
#include "train/workers.h"

struct retrieval;

enum rs_status retrieval_create(const struct schema *schema, struct retrieval **out);
void retrieval_free(struct retrieval *r);
/* Rows of the evaluation; not after the first retrieval_run(). */
enum rs_status retrieval_add(struct retrieval *r, const struct batch *batch);
/* 1 when the rows are there: after the first retrieval_run(). */
int retrieval_is_ready(const struct retrieval *r);
/* Fills the figures of ranks in *out, and its groups.  seen: the files with the
 * rows whose items are masked, NULL none; read in the first run. */
enum rs_status retrieval_run(struct retrieval *r, struct workers *w, const struct model *m,
	const struct text_list *seen, struct metric_result *out);

/* The figures of ranks of the last run for each group, value [n_groups, list.n]; groups that
 * were left out are NaN.  value NULL: nothing was ranked.  Borrowed until the next run. */
struct retrieval_groups {
	size_t n_groups;
	struct figure_list list;
	const double *value;
};
void retrieval_groups(const struct retrieval *r, struct retrieval_groups *out);

/* Vectors [n,D] of the catalogue; finite: every number is.  free() them. */
enum rs_status retrieval_items(struct workers *w, const struct model *m, float **out, int *finite);

#endif
