/*
 * A table of a lookup that is trained step by step on any number of threads, what its files are,
 * and whether two of them are the same.
 */
#ifndef TESTS_EMBED_ROWS_BED_H
#define TESTS_EMBED_ROWS_BED_H

#include <pthread.h>
#include <string.h>

#include "base/rng.h"
#include "base/thread.h"
#include "embed/exact.h"
#include "embed/lookup.h"
#include "kernel/kernel.h"
#include "tests/test.h"

#define ROWS    3000u
#define N       300u          /* occurrences in a slot                              */
#define N_SLOTS 4u
#define DIM     5u            /* odd: of two bytes, a weight is left over           */
#define STEPS   20u
#define THREADS 4u            /* at most                                            */

static const enum row_optimizer_kind kinds[] = {
	ROW_SGD, ROW_ADAGRAD, ROW_ROWWISE_ADAGRAD, ROW_ADAM, ROW_FTRL
};

static inline struct lookup_table
table_of(enum table_kind kind, enum row_storage storage, enum row_optimizer_kind optimizer)
{
	return (struct lookup_table){
		.name = "C1", .kind = kind, .rows = kind == TABLE_EXACT ? EXACT_ROWS : ROWS,
		.dim = DIM, .storage = storage, .init_stddev = 0.1, .seed = 5,
		.optimizer = { .kind = optimizer, .learning_rate = 0.1,
			.initial_accumulator = 0.1, .epsilon = 1e-7, .beta1 = 0.9, .beta2 = 0.999,
			.l2 = 1e-3, .ftrl_beta = 1, .ftrl_power = 0.5 },
	};
}

static inline struct lookup *
make(const struct lookup_table *table, size_t n_threads, int for_training)
{
	const struct lookup_local_options options = {
		.kernel = &kernel_ref, .table = table, .n_tables = 1, .n_slots = N_SLOTS,
		.n_inputs = 1, .n_threads = n_threads, .for_training = for_training,
		.keeps_changes = for_training,
	};
	struct lookup *l;

	assert_int_equal(lookup_local_open(&options, &l), RS_OK);
	return l;
}

struct worker {
	struct lookup *l;
	struct lookup_commit commit;
	struct rs_failure failure;
};

static inline void *
commit_run(void *argument)
{
	struct worker *w = argument;

	if (w->l->ops->commit(w->l, &w->commit) != RS_OK)
		rs_failure_take(&w->failure);
	return NULL;
}

/* On so many threads at once. */
static inline enum rs_status
commit(struct lookup *l, const struct lookup_commit *c)
{
	struct worker worker[THREADS];
	pthread_t thread[THREADS];
	enum rs_status status = RS_OK;

	if (c->n_workers == 1)
		return l->ops->commit(l, c);
	for (size_t i = 0; i < c->n_workers; i++) {
		worker[i] = (struct worker){ .l = l, .commit = *c };
		worker[i].commit.worker = i;
		assert_int_equal(thread_start(&thread[i], "commit", commit_run, &worker[i]),
			RS_OK);
	}
	for (size_t i = 0; i < c->n_workers; i++) {
		thread_join(thread[i]);
		if (worker[i].failure.status != RS_OK)
			status = rs_failure_put(&worker[i].failure);
	}
	return status;
}

/* A step whose gradients follow from the rows that were pulled. */
static inline enum rs_status
step(struct lookup *l, uint64_t number, size_t n_workers)
{
	static uint64_t id[N_SLOTS][N];
	static float grad[N_SLOTS][N][DIM];
	static const float *row[N_SLOTS][N], *pointer[N_SLOTS][N];
	const struct lookup_commit c = { .step = number, .finite = 1, .rate_factor = 1,
		.decay = number % 10 == 0 ? 0.9 : 0, .n_workers = n_workers };

	for (size_t slot = 0; slot < N_SLOTS; slot++) {
		for (size_t i = 0; i < N; i++) {
			id[slot][i] = rng_below(number, slot * N + i, i % 2 ? 70 : ROWS - 400);
			pointer[slot][i] = grad[slot][i];
		}
		const struct lookup_pull p = { .slot = slot, .ids = id[slot], .n = N,
			.row = row[slot], .training = 1 };
		RS_TRY(l->ops->pull(l, &p));
	}
	rng_normal_fill(&grad[0][0][0], N_SLOTS * N * DIM, number, 0, 0.1f);
	for (size_t slot = 0; slot < N_SLOTS; slot++) {
		for (size_t i = 0; i < N; i++)
			for (size_t d = 0; d < DIM; d++)
				grad[slot][i][d] += row[slot][i][d] / 8;
		const struct lookup_push p = { .slot = slot, .ids = id[slot], .n = N,
			.grad = pointer[slot] };
		RS_TRY(l->ops->push(l, &p));
	}
	return commit(l, &c);
}

static inline void
train(struct lookup *l, uint64_t from, uint64_t to, size_t n_workers)
{
	for (uint64_t i = from; i <= to; i++)
		assert_int_equal(step(l, i, n_workers), RS_OK);
}

struct text { char *bytes; size_t n; };

/* Ends a file, and reads it. */
static inline struct text
finish(struct file_writer *w, const char *path)
{
	struct text t;

	assert_int_equal(file_writer_commit(w), RS_OK);
	file_writer_close(w);
	assert_int_equal(file_read(path, 1 << 24, &t.bytes, &t.n), RS_OK);
	return t;
}

/* The file of the table; delta: of what changed since the last of these. */
static inline struct text
save(struct lookup *l, const char *path, int delta)
{
	const struct lookup_step from = { 2, 1 };
	struct file_writer w;

	assert_int_equal(file_writer_open(&w, path), RS_OK);
	if (delta)
		assert_true(l->ops->knows_changes(l, 0));
	assert_int_equal(delta ? l->ops->save_delta(l, 0, &from, &w) : l->ops->save(l, 0, &w),
		RS_OK);
	l->ops->forget_changes(l);
	return finish(&w, path);
}

static inline void
assert_equal_and_free(struct text a, struct text b)
{
	assert_int_equal(a.n, b.n);
	assert_memory_equal(a.bytes, b.bytes, a.n);
	free(a.bytes);
	free(b.bytes);
}

#endif
