/*
 * Scores files with the workers of a model and collects the metrics.
 */
#ifndef TRAIN_EVALUATE_H
#define TRAIN_EVALUATE_H

#include "base/status.h"
#include "data/parser.h"
#include "train/metric.h"
#include "train/workers.h"

struct evaluate_counts {
	struct parser_tally tally;
	uint64_t unseen[2];            /* ids never trained, ids                      */
};

/* One pass over files in order.  counts may be NULL. */
enum rs_status evaluate_files(struct workers *w, const struct model *m,
	const struct text_list *files, struct metric_result *out, struct evaluate_counts *counts);

/* Reads labels until both classes were seen: *n_negative and *n_positive rows.
 * No row at all is RS_EDATA. */
enum rs_status evaluate_classes(const struct schema *schema, const struct text_list *files,
	uint64_t *n_negative, uint64_t *n_positive);

#endif
