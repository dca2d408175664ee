/* Sums of the workers' gradients over their GPUs. */
#include "reduce/nccl_exchange.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* A queue of the GPU for a piece at a time. */
struct lane {
	struct nccl_exchange *e;
	struct gpu_plan plan;
	struct gpu_queue *queue;           /* NULL: not open                           */
	float *there, *up, *down;          /* [NCCL_PIECE] on the GPU, here, here      */
	int   *bad;                        /* on the GPU                               */
	size_t from, n;                    /* floats of the sum that are under way     */
};

struct nccl_exchange {
	struct exchange base;
	struct exchange *inner;            /* NULL: not ours yet                       */
	struct gpu_memory *gpu;
	struct nccl *nccl;
	struct lane lane[NCCL_LANES];
	size_t first, n_busy;              /* a ring                                   */
	size_t next;                       /* float of the sum at which a piece begins */
	int    has_failed;
	double head[2 * TREE_MAX_DEPTH * EXCHANGE_HEADS_MAX];
};

static struct nccl_exchange *
exchange_of(struct exchange *e)
{
	return (struct nccl_exchange *)e;
}

/* --- a sum --------------------------------------------------------------------------------- */

static int
lane_is_over(void *context)
{
	const struct lane *l = context;

	return l->e->gpu->gpu->link->is_over(l->queue);
}

static struct nccl_queue
queue_of(struct lane *l)
{
	return (struct nccl_queue){ .stream = l->e->gpu->gpu->link->stream(l->queue),
		.is_over = lane_is_over, .context = l };
}

/* Of this rank, from left to right; a NaN where a value is not one that could be summed. */
static void
sum_parts(const struct kernel_set *kernel, const struct exchange_sum *s, const struct lane *l,
	float *to, int *bad)
{
	kernel->copy_rows(1, l->n, s->part[0].x + l->from, l->n, to, l->n);
	for (size_t i = 1; i < s->n_parts; i++)
		kernel->sum_into(l->n, to, s->part[i].x + l->from, bad);
	kernel->finite(l->n, to, bad);
	kernel->spoil(to, bad);
}

static void
sum_on_host(const struct nccl_exchange *e, const struct exchange_sum *s, struct lane *l)
{
	int bad = 0;

	sum_parts(e->base.kernel, s, l, l->up, &bad);
	e->gpu->gpu->upload(l->there, l->up, l->n * sizeof(*l->up));
}

/* As soon as all of it is there. */
static void
sum_there(const struct nccl_exchange *e, const struct exchange_sum *s, struct lane *l)
{
	const struct gpu *const gpu = e->gpu->gpu;

	for (size_t i = 0; i < s->n_parts; i++)
		gpu->order->follow(s->part[i].made);
	gpu->kernel->fill(1, (float *)(void *)l->bad, 0);
	sum_parts(gpu->kernel, s, l, l->there, l->bad);
}

/* Of a GPU that failed, what it says itself, as nothing in the queue waits for others any more;
 * else all that is in the queue was done. */
static enum rs_status
ask_gpu(const struct nccl_exchange *e, const struct lane *l, enum rs_status status)
{
	if (status != RS_OK && status != RS_EDEVICE)
		return status;
	e->gpu->gpu->use(l->queue);
	RS_TRY(e->gpu->gpu->wait());
	return status;
}

static enum rs_status
start_piece(struct nccl_exchange *e, const struct exchange_sum *s)
{
	const struct gpu *const gpu = e->gpu->gpu;
	struct lane *const l = &e->lane[(e->first + e->n_busy) % NCCL_LANES];
	const struct nccl_queue q = queue_of(l);
	const size_t left = s->n_floats - e->next;

	l->from = e->next;
	l->n = left < NCCL_PIECE ? left : NCCL_PIECE;
	e->next += l->n;
	e->n_busy++;
	gpu->use(l->queue);
	if (s->part[0].made != NULL)
		sum_there(e, s, l);
	else
		sum_on_host(e, s, l);
	/* The others are to wait rather than to get what could not be made. */
	const enum rs_status status = lane_is_over(l) < 0 ? RS_EDEVICE
		: nccl_sum(e->nccl, &q, l->there, &(struct reducer_bucket){ 0, l->n }, 1);
	if (status != RS_OK)
		return ask_gpu(e, l, status);
	gpu->download(l->down, l->there, l->n * sizeof(*l->down));
	return RS_OK;
}

static enum rs_status
land_piece(struct nccl_exchange *e, const struct exchange_sum *s)
{
	struct lane *const l = &e->lane[e->first];
	const struct nccl_queue q = queue_of(l);

	RS_TRY(ask_gpu(e, l, nccl_wait(e->nccl, &q, s->step)));
	memcpy(s->x + l->from, l->down, l->n * sizeof(*s->x));
	e->first = (e->first + 1) % NCCL_LANES;
	e->n_busy--;
	return RS_OK;
}

static enum rs_status
start_pieces(struct nccl_exchange *e, const struct exchange_sum *s)
{
	while (e->n_busy < NCCL_LANES && e->next < s->n_floats)
		RS_TRY(start_piece(e, s));
	return RS_OK;
}

static enum rs_status
sum_heads(struct nccl_exchange *e, const struct exchange_sum *s)
{
	struct exchange_part joined[2 * TREE_MAX_DEPTH];
	struct exchange_sum heads = *s;

	if (s->n_heads == 0)
		return RS_OK;
	heads.n_floats = 0;
	heads.n_parts = exchange_join_heads(s, joined, e->head);
	heads.part = joined;
	return e->inner->ops->sum(e->inner, &heads);
}

static enum rs_status
sum_all(struct nccl_exchange *e, const struct exchange_sum *s)
{
	e->next = 0;
	RS_TRY(start_pieces(e, s));
	RS_TRY(sum_heads(e, s));
	while (e->n_busy > 0) {
		RS_TRY(land_piece(e, s));
		RS_TRY(start_pieces(e, s));
	}
	return RS_OK;
}

/* --- the exchange -------------------------------------------------------------------------- */

static enum rs_status
nccl_exchange_sum(struct exchange *base, const struct exchange_sum *s)
{
	struct nccl_exchange *e = exchange_of(base);

	assert(s->n_parts > 0);
	if (e->has_failed)
		return rs_fail(RS_EPEER, "NCCL: worker %zu of %zu: its group was given up",
			base->rank, base->n_ranks);
	const enum rs_status status = sum_all(e, s);
	if (status != RS_OK) {
		e->has_failed = 1;
		nccl_give_up(e->nccl);
	}
	e->gpu->gpu->use(NULL);
	return status;
}

static enum rs_status
nccl_exchange_gather(struct exchange *base, void *block, const size_t *begin)
{
	struct nccl_exchange *e = exchange_of(base);

	return e->inner->ops->gather(e->inner, block, begin);
}

static enum rs_status
nccl_exchange_broadcast(struct exchange *base, void *bytes, size_t n)
{
	struct nccl_exchange *e = exchange_of(base);

	return e->inner->ops->broadcast(e->inner, bytes, n);
}

/* The GPU first: nothing in its queues may wait for other ranks. */
static void
nccl_exchange_close(struct exchange *base)
{
	struct nccl_exchange *e = exchange_of(base);

	nccl_close(e->nccl);
	for (size_t i = 0; i < NCCL_LANES; i++) {
		struct lane *l = &e->lane[i];

		if (l->queue != NULL)
			gpu_memory_close(e->gpu, &l->plan, l->queue);
		if (l->up != NULL)
			e->gpu->gpu->host_free(l->up);
	}
	if (e->inner != NULL)
		e->inner->ops->close(e->inner);
	free(e);
}

static const struct exchange_ops nccl_exchange_ops = {
	.name = "nccl", .sum = nccl_exchange_sum, .gather = nccl_exchange_gather,
	.broadcast = nccl_exchange_broadcast, .close = nccl_exchange_close,
};

/* --- opening ------------------------------------------------------------------------------- */

static enum rs_status
open_lane(struct nccl_exchange *e, struct lane *l)
{
	char *block;

	l->e = e;
	l->plan.bytes = NCCL_LANE_BYTES;
	RS_TRY(gpu_memory_open(e->gpu, 0, &l->plan, &l->queue, &block));
	l->there = (float *)(void *)block;
	l->bad = (int *)(void *)(block + NCCL_PIECE * sizeof(float));
	RS_TRY(e->gpu->gpu->host_alloc(2 * NCCL_PIECE * sizeof(float), &l->up));
	l->down = l->up + NCCL_PIECE;
	return RS_OK;
}

/* What a rank says of itself. */
struct report {
	unsigned char gpu[GPU_IDENTITY];
	char why_not[NCCL_WHY];            /* "": it can                               */
};

static enum rs_status
open_lanes(struct nccl_exchange *e, struct report *own)
{
	for (size_t i = 0; i < NCCL_LANES; i++)
		RS_TRY(open_lane(e, &e->lane[i]));
	return e->gpu->gpu->link->identity(e->lane[0].plan.device, own->gpu);
}

static void
note_failure(enum rs_status status, struct report *own)
{
	if (status != RS_OK)
		snprintf(own->why_not, sizeof(own->why_not), "%.200s", rs_failure()->text);
}

/* The first that cannot, or that has the GPU of another. */
static void
judge(const struct report *all, size_t n_ranks, char *why)
{
	why[0] = '\0';
	for (size_t r = 0; r < n_ranks; r++)
		if (all[r].why_not[0] != '\0') {
			snprintf(why, NCCL_WHY, "worker %zu: %.200s", r, all[r].why_not);
			return;
		}
	for (size_t r = 1; r < n_ranks; r++)
		for (size_t q = 0; q < r; q++)
			if (memcmp(all[q].gpu, all[r].gpu, GPU_IDENTITY) == 0) {
				snprintf(why, NCCL_WHY, "workers %zu and %zu have one GPU "
					"together", q, r);
				return;
			}
}

/* All ranks hear of all; why "": they can. */
static enum rs_status
agree(const struct nccl_exchange *e, struct exchange *inner, const struct report *own, char *why)
{
	const size_t R = e->base.n_ranks;
	struct report *all;
	size_t *begin;

	RS_TRY(memory_alloc(R, sizeof(*all), &all));
	enum rs_status status = memory_alloc(R + 1, sizeof(*begin), &begin);
	if (status == RS_OK) {
		for (size_t r = 0; r <= R; r++)
			begin[r] = r * sizeof(*all);
		all[e->base.rank] = *own;
		status = inner->ops->gather(inner, all, begin);
		free(begin);
	}
	if (status == RS_OK)
		judge(all, R, why);
	free(all);
	return status;
}

/* Rank 0's id, or why it has none; half of the time, so that the others hear of a rank that
 * waited in vain. */
static enum rs_status
open_group(struct nccl_exchange *e, const struct nccl_exchange_options *o, struct report *own)
{
	struct nccl_options group = {
		.calls = o->calls, .rank = e->base.rank, .n_ranks = e->base.n_ranks,
		.timeout = e->base.timeout, .start_timeout = e->base.timeout / 2,
		.stop = e->base.stop,
	};
	struct { struct nccl_id id; char why[NCCL_WHY]; } told = { .why = "" };

	if (e->base.rank == 0 && nccl_make_id(o->calls, &told.id) != RS_OK)
		snprintf(told.why, sizeof(told.why), "%.200s", rs_failure()->text);
	RS_TRY(o->inner->ops->broadcast(o->inner, &told, sizeof(told)));
	snprintf(own->why_not, sizeof(own->why_not), "%s", told.why);
	if (told.why[0] != '\0')
		return RS_OK;
	group.id = told.id;
	e->gpu->gpu->use(e->lane[0].queue);
	note_failure(nccl_open(&group, &e->nccl), own);
	e->gpu->gpu->use(NULL);
	return RS_OK;
}

static enum rs_status
open_all(struct nccl_exchange *e, const struct nccl_exchange_options *o, char *why)
{
	struct report own = { .why_not = "" };

	if (o->why_not != NULL)
		snprintf(own.why_not, sizeof(own.why_not), "%s", o->why_not);
	else
		note_failure(open_lanes(e, &own), &own);
	RS_TRY(agree(e, o->inner, &own, why));
	if (why[0] != '\0')
		return RS_OK;
	RS_TRY(open_group(e, o, &own));
	return agree(e, o->inner, &own, why);
}

enum rs_status
nccl_exchange_open(const struct exchange *base, const struct nccl_exchange_options *options,
	struct exchange **out, char *why)
{
	struct nccl_exchange *e;

	*out = NULL;
	RS_TRY(memory_alloc(1, sizeof(*e), &e));
	e->base = *base;
	e->base.ops = &nccl_exchange_ops;
	e->gpu = options->gpu;
	const enum rs_status status = open_all(e, options, why);
	if (status != RS_OK || why[0] != '\0') {
		if (e->nccl != NULL)
			nccl_give_up(e->nccl);
		nccl_exchange_close(&e->base);
		return status;
	}
	e->inner = options->inner;
	e->base.gpu = gpu_memory_places(e->gpu) == 1 ? e->gpu : NULL;
	*out = &e->base;
	return RS_OK;
}
