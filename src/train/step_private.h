/* Inside of a stepper; for step.c, step_culprit.c, step_fetch.c, step_gpu.c and step_predict.c
 * only. */
#ifndef TRAIN_STEP_PRIVATE_H
#define TRAIN_STEP_PRIVATE_H

#include <stdatomic.h>

#include "train/buckets.h"
#include "train/contrast.h"
#include "train/dense.h"
#include "train/slot.h"
#include "train/step.h"

#define STEP_LINE          64
#define STEP_CULPRIT_MAX   128      /* bytes of a name                            */

/* One exec, whose activations stay in the cache.  `left` is begin << 32 | end of the
 * worker's slots that nobody has taken: it takes from the front, others, when they
 * have none of their own, from the back. */
struct step_worker {
	_Alignas(STEP_LINE) struct slot_view view;
	size_t  place;                 /* of its GPU                                  */
	size_t  slot_begin, slot_end, B_max;
	struct exec *exec;
	int64_t newest;                /* time of the global batch                    */
	size_t  n_later;               /* rows of it that are not counted in that     */
	_Alignas(STEP_LINE) atomic_uint_fast64_t left;
};

/* Row gradients are borrowed until commit, so every slot has a block of them. */
struct step_slot {
	struct row_grads *rows;        /* made by the first worker that runs the slot */
	size_t  B_max;
	const char *culprit;           /* operator that went non-finite               */
};

struct stepper {
	struct model *model;
	size_t n_workers, n_slots;
	size_t slot_begin, slot_end;   /* of this process                             */
	struct exchange *exchange;     /* NULL: all slots are of this process         */
	struct lookup_use *use;        /* [n_inputs] NULL: rows are at hand           */
	size_t *piece;                 /* [n_inputs, pieces + 1] of these          */
	size_t *piece_row, *piece_place;       /* [pieces + 1]                        */
	size_t n_pieces;               /* of the next fetch                           */
	unsigned votes;
	int    given_up;               /* worker 0's view of failed, see step_settle() */
	char  (*culprit)[STEP_CULPRIT_MAX];   /* [n_ranks] with an exchange            */
	struct buckets buckets;        /* one without an exchange                     */
	struct reducer *reducer;
	struct dense dense;
	struct contrast *contrast;     /* a loss over many items; NULL: one of rows   */
	struct step_worker *worker;    /* [n_workers]                                 */
	struct step_slot *slot;        /* [n_slots]                                   */
	atomic_int failed;             /* 1 while one writes failure, then 2          */
	struct rs_failure failure;
};

/* The most rows of a slot in batches of the spec, and those that a worker has room for at first. */
size_t step_slot_rows(const struct model *m);
size_t step_worker_rows(const struct model *m);
/* Where gradients of slots stay until they are summed among the ranks; NULL: on the host. */
struct gpu_memory *step_sums_gpu(const struct model *m);
/* The failure of the first worker that has one is everyone's. */
void step_fail_note(struct stepper *s, enum rs_status status);
enum rs_status step_fail_check(struct stepper *s);
/* Whether anything failed until here; all workers come, the answer is the same for all. */
enum rs_status step_settle(struct stepper *s, size_t worker);
/* Rows that are elsewhere come in before anyone pulls: s->use of it, NULL when they are at
 * hand. */
enum rs_status step_fetch_open(struct stepper *s);
void step_fetch_close(struct stepper *s);
/* All workers come; those of the slots of a batch, and of chunks [begin,end) of a prediction. */
enum rs_status step_fetch_batch(struct stepper *s, size_t worker, const struct batch *batch);
enum rs_status step_fetch_chunks(struct stepper *s, size_t worker,
	const struct step_prediction *p, size_t begin, size_t end);
/* Which operator made a step not finite; all workers come. */
void step_culprit(struct stepper *s, size_t worker, const struct batch *batch,
	struct step_result *out);

#endif
