/* Dense gradients of the threads of one process, summed by whoever arrives last; those of
 * other processes come in through an exchange. */
#include "reduce/reducer.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/tree.h"
#include "reduce/courier.h"
#include "reduce/gpu_sums.h"

#define LINE 64

/* Everything of a sum but the gradient, as an exchange carries it.  The hash goes in
 * pieces of 16 bits with their squares: n numbers are equal just when n times the sum of
 * their squares is the square of their sum, and all this is exact in double for
 * n <= 1024 ranks; so a step needs no message more, and all ranks see a difference. */
enum {
	HEAD_LOSS, HEAD_WEIGHT, HEAD_LABEL, HEAD_PREDICTION, HEAD_ROWS, HEAD_BAD,
	HEAD_VOTES,
	HEAD_HASH = HEAD_VOTES + SLOT_VOTES,
	HEAD_SQUARE = HEAD_HASH + 4,
	N_HEADS = HEAD_SQUARE + 4
};
#define RANKS_MAX 1024

_Static_assert(N_HEADS <= EXCHANGE_HEADS_MAX, "heads");

/* The sum of a node of this rank's frontier. */
struct part {
	struct tree_node node;
	_Atomic(struct slot_sum *) sum;    /* that of its first slot in every bucket */
	double head[N_HEADS];
};

/*
 * Buffers are numbered; the free ones form a stack linked through next[], its
 * head is (changes << 32 | number + 1), so that a head seen twice is the same
 * stack.  A stack hands out what was used last: one thread working depth first
 * keeps to a few buffers.  Every bucket climbs by itself: node[b,m] holds the child of
 * node m that came first.  A right child is added to the left one, and its buffer is free
 * when that was done with all its buckets.  Sums but the gradient go with the last bucket,
 * which finish exchanges; those before it the courier does.  Without an exchange the
 * frontier is the root alone, and there is one bucket.  On a GPU each slot is a part by itself:
 * nothing climbs, and no buffer is free before the exchange is over.
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
	struct gpu_sums there;             /* buffers on a GPU, a mark a bucket each, or none */
	struct reducer_bucket *bucket;     /* [n_buckets]                            */
	size_t n_buckets;
	_Atomic(struct slot_sum *) *node;  /* [n_buckets, n_slots] by number of the inner node */
	atomic_uint *merged;               /* [n_buffers] buckets added to another   */
	struct slot_sum *total;            /* of the step just summed                */
	struct exchange *exchange;
	struct part *part;                 /* [n_parts] with an exchange             */
	struct exchange_part *sent;        /* [n_parts] the same as it is told       */
	size_t *part_of;                   /* [n_slots]                              */
	size_t n_parts;
	struct courier *courier;           /* NULL: one bucket                       */
	atomic_uint *missing;              /* [n_buckets] parts that are not yet summed */
	atomic_int bad;                    /* in buckets before the last of this step */
	struct rs_failure failure;         /* of the exchange in this step           */
	double exchange_s, wait_s;         /* sums took, and workers waited for them */
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

/* NULL: it is on the host. */
static struct gpu_mark *
mark_of(const struct shm *r, const struct slot_sum *sum, size_t b)
{
	return r->there.gpu == NULL ? NULL
		: r->there.mark[(size_t)(sum - r->sum) * r->n_buckets + b];
}

/* left += right in a bucket. */
static void
sum_add(struct shm *r, struct slot_sum *left, const struct slot_sum *right, size_t b)
{
	const struct reducer_bucket *at = &r->bucket[b];
	int bad = 0;

	r->kernel->sum_into(
		at->end - at->begin, left->grad + at->begin, right->grad + at->begin, &bad);
	if (b + 1 < r->n_buckets) {
		if (bad)
			atomic_store(&r->bad, 1);
		return;
	}
	left->loss += right->loss;
	left->weight += right->weight;
	left->label += right->label;
	left->prediction += right->prediction;
	left->rows += right->rows;
	left->votes |= right->votes;
	left->bad |= right->bad | bad;
}

/* A bucket of it was added to another. */
static void
buffer_leave(struct shm *r, struct slot_sum *sum)
{
	atomic_uint *merged = &r->merged[sum - r->sum];

	if (r->n_buckets > 1) {
		if (atomic_fetch_add_explicit(merged, 1, memory_order_acq_rel) + 1 < r->n_buckets)
			return;
		atomic_store_explicit(merged, 0, memory_order_relaxed);
	}
	buffer_put(r, sum);
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

/* Whether the inner node of this number is the node or below it. */
static int
node_has(const struct tree_node *node, size_t number)
{
	return node->begin < number && number < node->end;
}

/* A node of the frontier is summed in a bucket. */
static void
part_set(struct shm *r, struct part *part, struct slot_sum *sum, size_t b)
{
	atomic_store_explicit(&part->sum, sum, memory_order_relaxed);
	if (b + 1 < r->n_buckets
	    && atomic_fetch_sub_explicit(&r->missing[b], 1, memory_order_acq_rel) == 1)
		courier_post(r->courier, b);
}

static void
climb(struct shm *r, size_t slot, struct slot_sum *sum, size_t b)
{
	_Atomic(struct slot_sum *) *const node = r->node + b * r->n_slots;
	size_t path[TREE_MAX_DEPTH];
	struct part *part = r->part != NULL ? &r->part[r->part_of[slot]] : NULL;
	size_t depth = tree_path(r->n_slots, slot, path);

	while (depth-- > 0 && (part == NULL || node_has(&part->node, path[depth]))) {
		const size_t middle = path[depth];
		struct slot_sum *other = atomic_exchange_explicit(&node[middle], sum,
		    memory_order_acq_rel);
		struct slot_sum *left = slot < middle ? sum : other;

		if (other == NULL)
			return;            /* the other child's worker goes on from here */
		atomic_store_explicit(&node[middle], NULL, memory_order_relaxed);
		sum_add(r, left, left == sum ? other : sum, b);
		buffer_leave(r, left == sum ? other : sum);
		sum = left;
	}
	if (part != NULL)
		part_set(r, part, sum, b);
	else
		root_set(r, sum);
}

static void
shm_advance(struct reducer *base, size_t worker, size_t slot, struct slot_sum *sum, size_t n)
{
	struct shm *r = shm_of(base);

	(void)worker;
	while (sum->n_given < n && sum->n_given + 1 < r->n_buckets) {
		const size_t b = sum->n_given++;

		if (r->there.gpu != NULL)
			r->there.gpu->gpu->order->set(mark_of(r, sum, b));
		climb(r, slot, sum, b);
	}
}

static enum rs_status
shm_contribute(struct reducer *base, size_t worker, size_t slot, struct slot_sum *sum)
{
	struct shm *r = shm_of(base);

	(void)worker;
	for (size_t b = sum->n_given; b < r->n_buckets; b++)
		climb(r, slot, sum, b);
	return RS_OK;
}

static enum rs_status
shm_barrier(struct reducer *base, size_t worker)
{
	(void)worker;
	barrier_wait(&shm_of(base)->barrier);
	return RS_OK;
}

static void
heads_of(const struct slot_sum *sum, double head[N_HEADS])
{
	memset(head, 0, N_HEADS * sizeof(*head));
	head[HEAD_LOSS] = sum->loss;
	head[HEAD_WEIGHT] = sum->weight;
	head[HEAD_LABEL] = sum->label;
	head[HEAD_PREDICTION] = sum->prediction;
	head[HEAD_ROWS] = sum->rows;
	head[HEAD_BAD] = sum->bad != 0;
	assert(sum->votes >> SLOT_VOTES == 0);
	for (unsigned i = 0; i < SLOT_VOTES; i++)
		head[HEAD_VOTES + i] = sum->votes >> i & 1;
}

/* Once a rank. */
static void
heads_add_hash(uint64_t hash, double head[N_HEADS])
{
	for (unsigned i = 0; i < 4; i++) {
		const double piece = (double)(hash >> 16 * i & 0xffff);

		head[HEAD_HASH + i] = piece;
		head[HEAD_SQUARE + i] = piece * piece;
	}
}

static void
heads_take(const double head[N_HEADS], struct slot_sum *sum)
{
	sum->loss = head[HEAD_LOSS];
	sum->weight = head[HEAD_WEIGHT];
	sum->label = head[HEAD_LABEL];
	sum->prediction = head[HEAD_PREDICTION];
	sum->rows = head[HEAD_ROWS];
	sum->bad = head[HEAD_BAD] > 0;
	sum->votes = 0;
	for (unsigned i = 0; i < SLOT_VOTES; i++)
		sum->votes |= (unsigned)(head[HEAD_VOTES + i] > 0) << i;
}

static int
heads_agree(const double head[N_HEADS], size_t n_ranks)
{
	for (unsigned i = 0; i < 4; i++)
		if ((double)n_ranks * head[HEAD_SQUARE + i]
		    != head[HEAD_HASH + i] * head[HEAD_HASH + i])
			return 0;
	return 1;
}

/* Which rank it is that differs.  All ranks come here together. */
static enum rs_status
fail_diverged(struct shm *r)
{
	struct exchange *e = r->exchange;
	uint64_t hash[RANKS_MAX];
	size_t begin[RANKS_MAX + 1], rank = 1;

	for (size_t i = 0; i <= e->n_ranks; i++)
		begin[i] = i * sizeof(*hash);
	hash[e->rank] = r->base.dense_hash;
	RS_TRY(e->ops->gather(e, hash, begin));
	while (rank < e->n_ranks - 1 && hash[rank] == hash[0])
		rank++;
	return rs_fail(r->base.hash_of != NULL ? r->base.hash_failure : RS_EDIVERGED,
		"%s of worker %zu differ from worker 0's at step %llu",
		r->base.hash_of != NULL ? r->base.hash_of : "dense parameters", rank,
		(unsigned long long)r->base.step);
}

/* A bucket among the ranks, into the total; head NULL: without the other sums. */
static enum rs_status
exchange_bucket(struct shm *r, size_t b, double *head, uint64_t step)
{
	const struct reducer_bucket *at = &r->bucket[b];
	const double since = clock_seconds();
	const struct exchange_sum sum = {
		.n_slots = r->n_slots, .n_heads = head != NULL ? N_HEADS : 0,
		.n_floats = at->end - at->begin, .part = r->sent, .n_parts = r->n_parts,
		.head = head, .x = r->total->grad + at->begin, .step = step,
		.in_background = head == NULL,
	};

	for (size_t i = 0; i < r->n_parts; i++)
		r->sent[i] = (struct exchange_part){ r->part[i].node, r->part[i].head,
			r->part[i].sum->grad + at->begin, mark_of(r, r->part[i].sum, b) };
	const enum rs_status status = r->exchange->ops->sum(r->exchange, &sum);
	r->exchange_s += clock_seconds() - since;
	return status;
}

/* The courier's work. */
static enum rs_status
carry_bucket(void *context, size_t b)
{
	struct shm *r = context;

	atomic_store_explicit(&r->missing[b], (unsigned)r->n_parts, memory_order_relaxed);
	return exchange_bucket(r, b, NULL, r->part[0].sum->step);
}

/* The last bucket and everything else, when those before it are done. */
static enum rs_status
exchange_parts(struct shm *r)
{
	const double since = clock_seconds();
	double head[N_HEADS];
	int bad;

	if (r->courier != NULL)
		RS_TRY(courier_settle(r->courier));
	for (size_t i = 0; i < r->n_parts; i++)
		heads_of(r->part[i].sum, r->part[i].head);
	if (atomic_exchange(&r->bad, 0))
		r->part[0].head[HEAD_BAD] = 1;
	heads_add_hash(r->base.dense_hash, r->part[0].head);
	RS_TRY(exchange_bucket(r, r->n_buckets - 1, head, r->base.step));
	r->wait_s += clock_seconds() - since;
	for (size_t i = 0; i < r->n_parts; i++)
		buffer_put(r, r->part[i].sum);
	heads_take(head, r->total);
	bad = r->total->bad;
	r->kernel->finite(r->P, r->total->grad, &bad);
	r->total->bad = bad;
	return heads_agree(head, r->exchange->n_ranks) ? RS_OK : fail_diverged(r);
}

static enum rs_status
shm_finish(struct reducer *base, size_t worker, const struct slot_sum **total)
{
	struct shm *r = shm_of(base);

	barrier_wait(&r->barrier);
	if (r->exchange != NULL) {
		if (worker == 0 && exchange_parts(r) != RS_OK)
			rs_failure_take(&r->failure);
		barrier_wait(&r->barrier);
		if (r->failure.status != RS_OK)
			return rs_failure_put(&r->failure);
	}
	*total = r->total;
	return RS_OK;
}

static void
shm_close(struct reducer *base)
{
	struct shm *r = shm_of(base);

	if (r->courier != NULL)
		courier_close(r->courier);
	if (r->exchange != NULL)
		log_debug("dense sums took %.3f s, of which the workers waited for %.3f s; "
			"buckets: %zu", r->exchange_s, r->wait_s, r->n_buckets);
	gpu_sums_close(&r->there);
	if (r->block != NULL)
		large_free(r->block, r->block_bytes);
	free(r->missing);
	free(r->merged);
	free(r->bucket);
	free(r->part_of);
	free(r->sent);
	free(r->part);
	free(r->node);
	free(r->next);
	free(r->sum);
	free(r);
}

static const struct reducer_ops shm_ops = {
	.name = "shm", .acquire = shm_acquire, .advance = shm_advance,
	.contribute = shm_contribute, .finish = shm_finish, .barrier = shm_barrier,
	.close = shm_close,
};

/* The first is the total, which is on the host. */
static enum rs_status
allocate_there(struct shm *r, struct gpu_memory *gpu)
{
	const size_t n = r->n_buffers - 1;

	RS_TRY(gpu_sums_open(gpu, gpu_sums_bytes(n, r->P), r->n_buffers * r->n_buckets,
		&r->there));
	for (size_t i = 0; i < n; i++)
		r->sum[i + 1].grad = (float *)(void *)(r->there.block + i * r->grad_bytes);
	return RS_OK;
}

static enum rs_status
shm_allocate(struct shm *r, struct gpu_memory *gpu)
{
	const size_t n_here = gpu != NULL ? 1 : r->n_buffers;
	size_t bytes;

	RS_TRY(size_mul(r->P, sizeof(float), &bytes));
	RS_TRY(size_mul(bytes + GPU_ALIGNMENT, r->n_buffers, &bytes));
	r->grad_bytes = gpu_sums_bytes(1, r->P);
	r->block_bytes = n_here * r->grad_bytes;
	if (r->block_bytes == 0)
		r->block_bytes = LINE;
	RS_TRY(memory_alloc(r->n_buffers, sizeof(*r->sum), &r->sum));
	RS_TRY(memory_alloc(r->n_buffers, sizeof(*r->next), &r->next));
	RS_TRY(memory_alloc(r->n_buffers, sizeof(*r->merged), &r->merged));
	RS_TRY(memory_alloc(r->n_buckets * r->n_slots, sizeof(*r->node), &r->node));
	RS_TRY(large_alloc(r->block_bytes, &r->block));
	for (size_t i = 0; i < n_here; i++)
		r->sum[i].grad = (float *)(void *)(r->block + i * r->grad_bytes);
	return gpu != NULL ? allocate_there(r, gpu) : RS_OK;
}

/* Nodes of the frontier, or slots. */
static size_t
list_parts(const struct shm *r, struct part *part)
{
	const size_t R = r->exchange->n_ranks, rank = r->exchange->rank;
	const size_t begin = tree_rank_begin(r->n_slots, R, rank);
	const size_t end = tree_rank_begin(r->n_slots, R, rank + 1);
	struct tree_node node[2 * TREE_MAX_DEPTH];
	const int is_there = r->there.gpu != NULL;
	const size_t n = is_there ? end - begin : tree_frontier(r->n_slots, begin, end, node);

	for (size_t i = 0; i < n; i++)
		part[i].node = is_there ? (struct tree_node){ begin + i, begin + i + 1 } : node[i];
	return n;
}

static enum rs_status
open_parts(struct shm *r)
{
	const size_t R = r->exchange->n_ranks;

	if (R > RANKS_MAX)
		return rs_fail(RS_EUSAGE, "%zu workers are too many: at most %d", R, RANKS_MAX);
	assert(r->exchange->rank < R && R <= r->n_slots);
	RS_TRY(memory_alloc(r->n_slots, sizeof(*r->part), &r->part));
	RS_TRY(memory_alloc(r->n_slots, sizeof(*r->sent), &r->sent));
	RS_TRY(memory_alloc(r->n_slots, sizeof(*r->part_of), &r->part_of));
	r->n_parts = list_parts(r, r->part);
	for (size_t i = 0; i < r->n_parts; i++) {
		const struct tree_node *const node = &r->part[i].node;

		for (size_t slot = node->begin; slot < node->end; slot++)
			r->part_of[slot] = i;
	}
	return RS_OK;
}

static enum rs_status
open_buckets(struct shm *r, const struct reducer_options *o)
{
	const struct reducer_bucket all = { 0, o->n_params };
	const int several = o->exchange != NULL && o->n_buckets > 1;

	r->n_buckets = several ? o->n_buckets : 1;
	RS_TRY(memory_alloc(r->n_buckets, sizeof(*r->bucket), &r->bucket));
	memcpy(r->bucket, several ? o->bucket : &all, r->n_buckets * sizeof(*r->bucket));
	return RS_OK;
}

static enum rs_status
open_courier(struct shm *r)
{
	if (r->n_buckets == 1)
		return RS_OK;
	RS_TRY(memory_alloc(r->n_buckets, sizeof(*r->missing), &r->missing));
	for (size_t b = 0; b < r->n_buckets; b++)
		atomic_init(&r->missing[b], (unsigned)r->n_parts);
	return courier_open(r->n_buckets - 1, carry_bucket, r, &r->courier);
}

/* One buffer a slot, and the total of the last step stays readable. */
static enum rs_status
open_buffers(struct shm *r, struct gpu_memory *gpu)
{
	const struct exchange *e = r->exchange;

	r->n_buffers = 1 + (e == NULL ? r->n_slots :
		tree_rank_begin(r->n_slots, e->n_ranks, e->rank + 1)
		- tree_rank_begin(r->n_slots, e->n_ranks, e->rank));
	RS_TRY(shm_allocate(r, gpu));
	for (size_t i = r->n_buffers; i-- > 0;)
		buffer_put(r, &r->sum[i]);
	if (e == NULL)
		return RS_OK;
	r->total = buffer_take(r);
	RS_TRY(open_parts(r));
	return open_courier(r);
}

enum rs_status
reducer_shm_open(const struct reducer_options *o, struct reducer **out)
{
	struct shm *r;
	enum rs_status status;

	assert(o->n_workers > 0 && o->n_slots > 0);
	assert(o->gpu == NULL || (o->exchange != NULL && o->exchange->gpu == o->gpu));
	RS_TRY(memory_alloc(1, sizeof(*r), &r));
	r->base.ops = &shm_ops;
	r->kernel = o->kernel;
	r->n_slots = o->n_slots;
	r->P = o->n_params;
	r->exchange = o->exchange;
	/* Ranks may be of one host: who waits must not take a core from another. */
	barrier_init(&r->barrier, (unsigned)o->n_workers,
		o->exchange == NULL ? o->n_cores : o->n_cores / o->exchange->n_ranks);
	status = open_buckets(r, o);
	if (status == RS_OK)
		status = open_buffers(r, o->gpu);
	if (status != RS_OK) {
		shm_close(&r->base);
		return status;
	}
	*out = &r->base;
	return RS_OK;
}
