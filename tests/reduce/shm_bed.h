/*
 * Ranks as processes with an exchange in shared memory, for tests: rank_start() forks one
 * that runs a function, the board is what it tells the test; values of which everybody
 * knows the sum along the tree.
 */
#ifndef TESTS_REDUCE_SHM_BED_H
#define TESTS_REDUCE_SHM_BED_H

#include "tests/test.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/thread.h"
#include "kernel/kernel.h"
#include "reduce/exchange.h"

#define RANKS_MAX 5
#define SLOTS_MAX 13

/* What ranks and the test share besides the exchange. */
struct board {
	enum rs_status status[RANKS_MAX];
	char   text[RANKS_MAX][256];
	double seconds[RANKS_MAX];
	atomic_int stop;
	atomic_uint n_done;
};

struct bed {
	int    fd;
	size_t bytes, n_ranks;
	uint32_t epoch;
	double timeout;
	struct board *board;
};

static inline void
bed_open(struct bed *b, size_t n_ranks, size_t bytes)
{
	*b = (struct bed){ .fd = memfd_create("exchange", MFD_CLOEXEC), .bytes = bytes,
		.n_ranks = n_ranks, .epoch = 1, .timeout = 20 };
	assert_true(b->fd >= 0);
	assert_int_equal(ftruncate(b->fd, (off_t)bytes), 0);
	b->board = mmap(NULL, sizeof(*b->board), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(b->board != MAP_FAILED);
}

static inline void
bed_close(struct bed *b)
{
	munmap(b->board, sizeof(*b->board));
	close(b->fd);
}

static inline struct exchange *
rank_open(const struct bed *b, size_t rank)
{
	const struct exchange base = { .rank = rank, .n_ranks = b->n_ranks,
		.kernel = &kernel_ref, .stop = &b->board->stop, .timeout = b->timeout };
	struct exchange *e;

	return exchange_shm_open(&base, b->fd, b->bytes, b->epoch, &e) == RS_OK ? e : NULL;
}

/* What a rank does; 0: it is as it should be. */
typedef int work_function(const struct bed *b, struct exchange *e);

static inline pid_t
rank_start(const struct bed *b, size_t rank, work_function *work)
{
	const pid_t pid = fork_within(60);

	if (pid == 0) {
		struct exchange *e = rank_open(b, rank);
		const int result = e != NULL ? work(b, e) : 99;

		if (e != NULL)
			e->ops->close(e);
		_exit(result);
	}
	assert_true(pid > 0);
	return pid;
}

static inline int
rank_end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void
run_ranks(const struct bed *b, work_function *work)
{
	pid_t pid[RANKS_MAX];

	for (size_t r = 0; r < b->n_ranks; r++)
		pid[r] = rank_start(b, r, work);
	for (size_t r = 0; r < b->n_ranks; r++)
		assert_int_equal(rank_end(pid[r]), 0);
}

/* Notes how a call ended. */
static inline int
note(const struct bed *b, const struct exchange *e, enum rs_status status, double since)
{
	b->board->status[e->rank] = status;
	b->board->seconds[e->rank] = clock_seconds() - since;
	if (status != RS_OK)
		snprintf(b->board->text[e->rank], sizeof(b->board->text[0]), "%.255s",
			rs_failure()->text);
	return 0;
}

static inline float
value(uint64_t step, size_t slot, size_t i)
{
	return (float)(rng_normal(step * 64 + slot, i) * 1e3);
}

static inline void
tree_sum(uint64_t step, size_t begin, size_t end, size_t n, float *out)
{
	const size_t middle = begin + (end - begin + 1) / 2;
	float *right;

	if (end - begin == 1) {
		for (size_t i = 0; i < n; i++)
			out[i] = value(step, begin, i);
		return;
	}
	right = malloc((n + 1) * sizeof(*right));
	tree_sum(step, begin, middle, n, out);
	tree_sum(step, middle, end, n, right);
	for (size_t i = 0; i < n; i++)
		out[i] += right[i];
	free(right);
}

/* This rank's nodes of a step through the exchange, into x and head. */
static inline enum rs_status
sum_step(struct exchange *e, uint64_t step, size_t n_slots, size_t n, float *x, double head[2])
{
	struct tree_node node[2 * TREE_MAX_DEPTH];
	struct exchange_part part[SLOTS_MAX];
	double own[SLOTS_MAX][2];
	const size_t m = tree_frontier(n_slots, tree_rank_begin(n_slots, e->n_ranks, e->rank),
		tree_rank_begin(n_slots, e->n_ranks, e->rank + 1), node);
	enum rs_status status;

	for (size_t i = 0; i < m; i++) {
		float *floats = malloc((n + 1) * sizeof(*floats));

		tree_sum(step, node[i].begin, node[i].end, n, floats);
		own[i][0] = (double)step;
		own[i][1] = (double)(node[i].end - node[i].begin);
		part[i] = (struct exchange_part){ node[i], own[i], floats, NULL };
	}
	status = e->ops->sum(e, &(struct exchange_sum){ .n_slots = n_slots, .n_heads = 2,
		.n_floats = n, .part = part, .n_parts = m, .head = head, .x = x, .step = step });
	for (size_t i = 0; i < m; i++)
		free((void *)(uintptr_t)part[i].x);
	return status;
}

#endif
