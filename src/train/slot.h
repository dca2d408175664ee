/*
 * One worker's view of some rows of a batch, ready for the graph.
 *
 * slot_view_set() points at rows [begin,end) without copying; slot_view_pull()
 * fills the row pointers; slot_view_push() hands the gradients of the exec's
 * last backward to the lookup.  Memory is planned by slot_view_reserve() and
 * grows only for a larger batch.  A view belongs to one thread.  It looks at the
 * columns that its output of the graph depends on; a batch need not have others.
 */
#ifndef TRAIN_SLOT_H
#define TRAIN_SLOT_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/batch.h"
#include "embed/stage.h"
#include "train/model.h"

/* An input of the graph that the output depends on. */
struct slot_input { size_t input, column, table; };

struct slot_view {
	const struct model *model;
	size_t n_inputs;
	enum graph_output output;      /* at first the logit                          */
	struct slot_input *used;       /* [n_used]                                    */
	size_t n_used;
	size_t begin, rows;            /* of the batch                                */
	struct feed feed;
	const uint64_t **ids;          /* [n_inputs] -> [n]                           */
	size_t *n;                     /* [n_inputs]                                  */
	const float ***row;            /* [n_inputs] -> [n]                           */
	const uint32_t **offset;       /* [n_inputs]                                  */
	const float **id_weight;       /* [n_inputs]                                  */
	int    *counts;                /* [n_inputs] first input of its column        */
	const float **pointer;         /* [n_pointers] of the rows at hand            */
	size_t n_pointers;
	struct stage stage;            /* of rows that nobody trains                  */
};

enum rs_status slot_view_init(struct slot_view *v, const struct model *m);
void slot_view_free(struct slot_view *v);
/* Before reserve. */
void slot_view_set_output(struct slot_view *v, enum graph_output output);
/* Room for any `rows` consecutive rows of the batch. */
enum rs_status slot_view_reserve(struct slot_view *v, const struct batch *batch, size_t rows);
void slot_view_set(struct slot_view *v, const struct batch *batch, size_t begin, size_t end);
enum rs_status slot_view_pull(struct slot_view *v, size_t slot, int training);
enum rs_status slot_view_push(struct slot_view *v, size_t slot, const struct exec *e);
/* The ids that an output of the graph looks at in pieces of a batch, which begin at row[0..n]:
 * use[i] of every such input i, and its piece[0..n]; the others stay as they are. */
void slot_uses(const struct model *m, enum graph_output output, const struct batch *batch,
	const size_t *row, size_t n, struct lookup_use *use);
/* 1 when a gradient of a row is NaN, Inf or beyond 2^100. */
int slot_view_bad_gradient(const struct slot_view *v, const struct exec *e);
/* unseen[0] += ids training never touched, unseen[1] += ids; each column once. */
void slot_view_count_unseen(const struct slot_view *v, uint64_t unseen[2]);

#endif
