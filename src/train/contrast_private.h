/* Inside of the losses over many items; for contrast.c and contrast_loss.c only. */
#ifndef TRAIN_CONTRAST_PRIVATE_H
#define TRAIN_CONTRAST_PRIVATE_H

#include "base/tree.h"
#include "reduce/exchange.h"
#include "train/contrast.h"
#include "train/slot.h"

#define CONTRAST_NONE UINT32_MAX

/* Memory that grows to the largest batch seen. */
struct contrast_array {
	float *x;
	size_t bytes;
};

struct contrast_slot {
	struct slot_view view[N_TOWERS];
	struct exec *exec;             /* both towers: forward user, item, back item, user */
	size_t  B_max;
	double  loss, weight, label, prediction;
	double  dlog_temperature;
};

struct contrast_worker {
	struct contrast_array block;   /* [rows, n_compared] similarities, or [2, n]  */
	struct contrast_array users;   /* [rows, d] users times the factor of their row */
	struct contrast_array factor;  /* [rows]                                      */
	struct contrast_array scratch; /* of products; NULL: OpenBLAS makes them      */
	struct contrast_array down;    /* [rows] gradient of an own item not in block */
};

struct contrast {
	struct model *model;
	size_t n_slots, n_workers, d;
	size_t slot_begin, slot_end;   /* of this process                             */
	struct exchange *exchange;     /* NULL: all slots are of this process         */
	size_t *gather_begin;          /* [n_ranks + 1] bytes                         */
	struct tree_node node[2 * TREE_MAX_DEPTH];   /* what its slots sum up to      */
	size_t n_nodes;
	struct contrast_slot *slot;    /* [n_slots]                                   */
	struct contrast_worker *worker;   /* [n_workers]                              */
	const struct graph_param *temperature;   /* NULL: fixed                       */

	/* The step at hand. */
	const struct batch *batch, *items;   /* items: the rows that give candidates  */
	size_t   M;                    /* items                                       */
	size_t   n_compared;           /* the first of them, with which all rows are  */
	uint32_t *place;               /* [M] row of v of each; what was drawn comes first */
	size_t   place_capacity;
	uint64_t step;
	float    loss_scale, inverse_temperature;
	struct contrast_array u, v;    /* [B,d], [M,d] vectors                        */
	struct contrast_array du, dv;  /* [B,d], [slots here,M,d] gradients           */
	struct contrast_array staged;  /* with an exchange: [M,d] v in order of items */
	struct contrast_array dv_sum;  /* with an exchange: [M,d] of all slots        */
	struct contrast_array log_q;   /* [n_compared] minus it, added to similarities */
	int      corrects;             /* log_q is used                               */
	int      is_placed;            /* place is used                               */
	uint32_t *same;                /* [B] softmax: next row with this row's item, a ring */
	uint32_t *chain;               /* [n_chains] hash of items to rows            */
	size_t   same_capacity, n_chains;
};

/* Part of slot in the gradients of items, [M,d]. */
static inline float *
contrast_dv(const struct contrast *c, size_t slot)
{
	return c->dv.x + (slot - c->slot_begin) * c->M * c->d;
}

/* The row of v for item j. */
static inline size_t
contrast_place(const struct contrast *c, size_t j)
{
	return c->is_placed ? c->place[j] : j;
}

/* How many of the items of a batch every row is compared with; 0: none is. */
size_t contrast_compared(enum loss_kind loss, const struct batch *batch);

enum rs_status contrast_array_reserve(struct contrast_array *a, size_t rows, size_t columns);
void contrast_array_free(struct contrast_array *a);

/* The loss of rows [begin,end): into the slot's sums, du and contrast_dv(slot). */
enum rs_status contrast_loss(
	struct contrast *c, struct contrast_worker *w, size_t slot, size_t begin, size_t end);

#endif
