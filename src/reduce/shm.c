/* Dense gradients of the threads of one process, summed by whoever arrives last. */
#include "reduce/reducer.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "base/tree.h"

#define LINE 64

/*
 * Buffers are numbered; the free ones form a stack linked through next[], its
 * head is (changes << 32 | number + 1), so that a head seen twice is the same
 * stack.  A stack hands out what was used last: one thread working depth first
 * keeps to a few buffers.  node[m] holds the child that came first.
 */
struct shm {
	struct reducer base;
	const struct kernel_set *kernel;
	size_t n_slots, P, grad_bytes;
	struct slot_sum *sum;              /* [n_buffers]                            */
	atomic_uint *next;                 /* [n_buffers] number + 1, 0 the end      */
	size_t n_buffers;
	char  *block;
	size_t block_bytes;
	_Atomic(struct slot_sum *) *node;  /* [n_slots] by number of the inner node  */
	struct slot_sum *total;            /* of the step just summed                */
	_Alignas(LINE) atomic_uint_fast64_t head;
	_Alignas(LINE) struct barrier barrier;
};

static struct shm *
shm_of(struct reducer *r)
{
	return (struct shm *)r;
}

static void
buffer_put(struct shm *r, struct slot_sum *sum)
{
	const uint64_t number = (uint64_t)(sum - r->sum) + 1;
	uint_fast64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t next;

	do {
		atomic_store_explicit(&r->next[number - 1], (unsigned)head, memory_order_relaxed);
		next = ((head >> 32) + 1) << 32 | number;
	} while (!atomic_compare_exchange_weak_explicit(&r->head, &head, next,
	    memory_order_acq_rel, memory_order_relaxed));
}

static struct slot_sum *
buffer_take(struct shm *r)
{
	uint_fast64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
	uint64_t next;

	do {
		const unsigned number = (unsigned)head;

		assert(number != 0);       /* one buffer a slot and one total: never empty */
		next = ((head >> 32) + 1) << 32
		    | atomic_load_explicit(&r->next[number - 1], memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(&r->head, &head, next,
	    memory_order_acq_rel, memory_order_acquire));
	return &r->sum[(unsigned)head - 1];
}

static struct slot_sum *
shm_acquire(struct reducer *base, size_t worker)
{
	struct slot_sum *sum = buffer_take(shm_of(base));
	float *grad = sum->grad;

	(void)worker;
	*sum = (struct slot_sum){ .grad = grad };
	return sum;
}

/* left += right */
static void
sum_add(const struct shm *r, struct slot_sum *left, const struct slot_sum *right)
{
	int bad = left->bad | right->bad;

	left->loss += right->loss;
	left->weight += right->weight;
	left->label += right->label;
	left->prediction += right->prediction;
	left->rows += right->rows;
	r->kernel->sum_into(r->P, left->grad, right->grad, &bad);
	left->bad = bad;
}

static void
root_set(struct shm *r, struct slot_sum *sum)
{
	int bad = sum->bad;

	r->kernel->finite(r->P, sum->grad, &bad);
	sum->bad = bad;
	if (r->total != NULL)
		buffer_put(r, r->total);
	r->total = sum;
}

static enum rs_status
shm_contribute(struct reducer *base, size_t worker, size_t slot, struct slot_sum *sum)
{
	struct shm *r = shm_of(base);
	size_t path[TREE_MAX_DEPTH];
	size_t depth = tree_path(r->n_slots, slot, path);

	(void)worker;
	while (depth-- > 0) {
		const size_t middle = path[depth];
		struct slot_sum *other = atomic_exchange_explicit(&r->node[middle], sum,
		    memory_order_acq_rel);
		struct slot_sum *left = slot < middle ? sum : other;

		if (other == NULL)
			return RS_OK;      /* the other child's worker goes on from here */
		atomic_store_explicit(&r->node[middle], NULL, memory_order_relaxed);
		sum_add(r, left, left == sum ? other : sum);
		buffer_put(r, left == sum ? other : sum);
		sum = left;
	}
	root_set(r, sum);
	return RS_OK;
}

static enum rs_status
shm_barrier(struct reducer *base, size_t worker)
{
	(void)worker;
	barrier_wait(&shm_of(base)->barrier);
	return RS_OK;
}

static enum rs_status
shm_finish(struct reducer *base, size_t worker, const struct slot_sum **total)
{
	RS_TRY(shm_barrier(base, worker));
	*total = shm_of(base)->total;
	return RS_OK;
}

static void
shm_close(struct reducer *base)
{
	struct shm *r = shm_of(base);

	if (r->block != NULL)
		large_free(r->block, r->block_bytes);
	free(r->node);
	free(r->next);
	free(r->sum);
	free(r);
}

static const struct reducer_ops shm_ops = {
	.name = "shm", .acquire = shm_acquire, .contribute = shm_contribute,
	.finish = shm_finish, .barrier = shm_barrier, .close = shm_close,
};

static enum rs_status
shm_allocate(struct shm *r)
{
	RS_TRY(size_mul(r->P, sizeof(float), &r->grad_bytes));
	r->grad_bytes = (r->grad_bytes + LINE - 1) / LINE * LINE;
	RS_TRY(size_mul(r->grad_bytes, r->n_buffers, &r->block_bytes));
	if (r->block_bytes == 0)
		r->block_bytes = LINE;
	RS_TRY(memory_alloc(r->n_buffers, sizeof(*r->sum), &r->sum));
	RS_TRY(memory_alloc(r->n_buffers, sizeof(*r->next), &r->next));
	RS_TRY(memory_alloc(r->n_slots, sizeof(*r->node), &r->node));
	return large_alloc(r->block_bytes, &r->block);
}

enum rs_status
reducer_shm_open(const struct kernel_set *kernel, size_t n_workers, size_t n_slots,
	size_t n_params, size_t n_cores, struct reducer **out)
{
	struct shm *r;
	enum rs_status status;

	assert(n_workers > 0 && n_slots > 0);
	RS_TRY(memory_alloc(1, sizeof(*r), &r));
	r->base.ops = &shm_ops;
	r->kernel = kernel;
	r->n_slots = n_slots;
	r->P = n_params;
	r->n_buffers = n_slots + 1;        /* the total of the last step stays readable */
	status = shm_allocate(r);
	if (status != RS_OK) {
		shm_close(&r->base);
		return status;
	}
	for (size_t i = r->n_buffers; i-- > 0;) {
		r->sum[i].grad = (float *)(r->block + i * r->grad_bytes);
		buffer_put(r, &r->sum[i]);
	}
	barrier_init(&r->barrier, (unsigned)n_workers, n_cores);
	*out = &r->base;
	return RS_OK;
}
