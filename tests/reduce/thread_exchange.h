/*
 * An exchange among threads of one process, for tests: each rank a thread, everything
 * said through pointers.  thread_ranks_init() makes R of them, which live in it.
 */
#ifndef TESTS_REDUCE_THREAD_EXCHANGE_H
#define TESTS_REDUCE_THREAD_EXCHANGE_H

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "reduce/exchange.h"

#define THREAD_RANKS_MAX 16

struct thread_ranks;
struct thread_rank {
	struct exchange base;
	struct thread_ranks *all;
	const struct exchange_sum *sum;
	char *bytes;
};

struct thread_ranks {
	struct thread_rank rank[THREAD_RANKS_MAX];
	size_t n;
	pthread_barrier_t barrier;
};

static inline enum rs_status
thread_exchange_sum(struct exchange *e, const struct exchange_sum *s)
{
	struct thread_rank *self = (struct thread_rank *)e;
	struct exchange_part part[THREAD_RANKS_MAX * 2 * TREE_MAX_DEPTH];
	size_t n = 0;

	self->sum = s;
	pthread_barrier_wait(&self->all->barrier);
	for (size_t r = 0; r < self->all->n; r++)
		for (size_t i = 0; i < self->all->rank[r].sum->n_parts; i++)
			part[n++] = self->all->rank[r].sum->part[i];
	exchange_combine(e->kernel, s->n_slots, part, n, s->n_heads, s->head, 0, s->n_floats,
		s->x);
	pthread_barrier_wait(&self->all->barrier);
	return RS_OK;
}

static inline enum rs_status
thread_exchange_gather(struct exchange *e, void *block, const size_t *begin)
{
	struct thread_rank *self = (struct thread_rank *)e;

	self->bytes = block;
	pthread_barrier_wait(&self->all->barrier);
	for (size_t r = 0; r < self->all->n; r++)
		if (r != e->rank)
			memcpy(self->bytes + begin[r], self->all->rank[r].bytes + begin[r],
				begin[r + 1] - begin[r]);
	pthread_barrier_wait(&self->all->barrier);
	return RS_OK;
}

static inline enum rs_status
thread_exchange_broadcast(struct exchange *e, void *bytes, size_t n)
{
	struct thread_rank *self = (struct thread_rank *)e;

	self->bytes = bytes;
	pthread_barrier_wait(&self->all->barrier);
	if (e->rank != 0)
		memcpy(bytes, self->all->rank[0].bytes, n);
	pthread_barrier_wait(&self->all->barrier);
	return RS_OK;
}

static inline void
thread_exchange_close(struct exchange *e)
{
	(void)e;
}

static const struct exchange_ops thread_exchange_ops = {
	.name = "threads", .sum = thread_exchange_sum, .gather = thread_exchange_gather,
	.broadcast = thread_exchange_broadcast, .close = thread_exchange_close,
};

static inline void
thread_ranks_init(struct thread_ranks *all, size_t n, const struct kernel_set *kernel)
{
	assert(n <= THREAD_RANKS_MAX);
	memset(all, 0, sizeof(*all));
	all->n = n;
	pthread_barrier_init(&all->barrier, NULL, (unsigned)n);
	for (size_t r = 0; r < n; r++)
		all->rank[r] = (struct thread_rank){ .base = { .ops = &thread_exchange_ops,
			.rank = r, .n_ranks = n, .kernel = kernel, .timeout = 10 }, .all = all };
}

static inline void
thread_ranks_free(struct thread_ranks *all)
{
	pthread_barrier_destroy(&all->barrier);
}

#endif
