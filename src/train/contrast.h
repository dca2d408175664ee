/*
 * The losses of two_tower that compare a row's user with many items: those of the
 * whole batch (softmax), drawn ones (sampled_softmax, bpr, ccl) or all (full_softmax).
 *
 * One worker begins a step; then come three rounds, each over every slot, by any
 * worker, with a barrier between: forward gives the vectors of the slot's users and of
 * its share of the items; compare the loss of its rows against all items; backward
 * takes the gradients through both towers to the rows.  What a slot adds to the
 * gradients of items is summed over the tree of slots, so bits depend on no worker.
 *
 * A process that has only the slots of its rank does two things more: after forward the
 * vectors of items are gathered from all ranks; after compare the gradients of items are
 * summed, by contrast_sum over the slots at hand, then among the ranks.  The latter and
 * the former are done by one worker for all.
 */
#ifndef TRAIN_CONTRAST_H
#define TRAIN_CONTRAST_H

#include "data/batch.h"
#include "reduce/reducer.h"
#include "train/model.h"

struct contrast;

/* 1 when the loss of the spec is one of these. */
int contrast_needed(const struct settings *settings);
enum rs_status contrast_create(
	struct model *m, size_t n_slots, size_t n_workers, struct contrast **out);
void contrast_free(struct contrast *c);

/* The most rows of a slot that a tower runs on, in batches of the spec; 1 at least. */
size_t contrast_rows(const struct model *m, size_t n_slots);

/* step counts from 1, for dropout. */
enum rs_status contrast_begin(struct contrast *c, const struct batch *batch, uint64_t step);
enum rs_status contrast_forward(struct contrast *c, size_t worker, size_t slot);
enum rs_status contrast_gather(struct contrast *c);
enum rs_status contrast_compare(struct contrast *c, size_t worker, size_t slot);
enum rs_status contrast_sum(struct contrast *c, size_t worker, size_t slot);
enum rs_status contrast_exchange(struct contrast *c);
/* watch: told what of the slot is final, before is contrast's; or NULL. */
struct buckets_watch;
enum rs_status contrast_backward(struct contrast *c, size_t slot, struct slot_sum *sum,
	struct buckets_watch *watch);

/* The rows that give the candidates of a batch. */
const struct batch *contrast_items(const struct model *m, const struct batch *batch);
/* The matrix products, pointers NULL, of comparing `rows` rows of a batch with its items,
 * none for losses that do without; those of the towers are the graph's.  How many. */
enum { CONTRAST_GEMMS = 3 };
size_t contrast_gemms(const struct model *m, const struct batch *batch, size_t rows,
	struct gemm_args out[CONTRAST_GEMMS]);

#endif
