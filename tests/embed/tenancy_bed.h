/*
 * Exact tables whose rows come and go, through a lookup of one table, step by step with any
 * number of threads, and with one more that reads.
 */
#ifndef TESTS_EMBED_TENANCY_BED_H
#define TESTS_EMBED_TENANCY_BED_H

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/thread.h"
#include "embed/exact.h"
#include "embed/lookup.h"
#include "embed/stage.h"
#include "kernel/kernel.h"
#include "tests/test.h"

#define DIM      3u
#define N_SLOTS  2u
#define N_MAX    4000u         /* ids of a slot                                      */
#define RATE     0.5

/* A lookup of one table, and the step at hand. */
struct bed {
	struct lookup *lookup;
	size_t   n_threads;
	uint64_t step;
	int64_t  newest;
	size_t   n[N_SLOTS];
	uint64_t id[N_SLOTS][N_MAX];
	float    value[N_SLOTS][N_MAX][DIM];
	const float *row[N_SLOTS][N_MAX], *grad[N_SLOTS][N_MAX];
	struct barrier barrier;
	struct bed *untrained;     /* of the same rows: one more thread reads in every step, too */
	size_t   n_read;           /* trained rows that it has seen                  */
};

static inline void
open_bed(struct bed *b, const struct lookup_tenancy *tenancy, size_t n_threads)
{
	const struct lookup_table table = {
		.name = "C1", .kind = TABLE_EXACT, .rows = EXACT_ROWS, .dim = DIM,
		.init_stddev = 0.1, .seed = 5, .tenancy = *tenancy,
		.optimizer = { .kind = ROW_SGD, .learning_rate = RATE },
	};
	const struct lookup_local_options options = {
		.kernel = &kernel_ref, .table = &table, .n_tables = 1, .n_slots = N_SLOTS,
		.n_inputs = 1, .n_threads = n_threads, .for_training = 1,
	};

	memset(b, 0, sizeof(*b));
	b->n_threads = n_threads;
	assert_int_equal(lookup_local_open(&options, &b->lookup), RS_OK);
}

static inline void
close_bed(struct bed *b)
{
	b->lookup->ops->close(b->lookup);
}

static inline void
add(struct bed *b, size_t slot, uint64_t id, float grad)
{
	const size_t i = b->n[slot]++;

	assert_true(i < N_MAX);
	b->id[slot][i] = id;
	for (size_t d = 0; d < DIM; d++)
		b->value[slot][i][d] = grad;
	b->grad[slot][i] = b->value[slot][i];
}

static inline void
pull_slot(struct bed *b, size_t slot, int training)
{
	const struct lookup_pull p = { .slot = slot, .ids = b->id[slot], .n = b->n[slot],
		.row = b->row[slot], .training = training };

	assert_int_equal(b->lookup->ops->pull(b->lookup, &p), RS_OK);
}

struct worker { struct bed *bed; size_t number; };

/* One thread of a step, as train/step.c does it. */
static inline void *
work(void *argument)
{
	const struct worker *w = argument;
	struct bed *b = w->bed;
	const struct lookup_commit c = { .step = b->step, .finite = 1, .newest = b->newest,
		.rate_factor = 1, .worker = w->number, .n_workers = b->n_threads };

	for (size_t slot = w->number; slot < N_SLOTS; slot += b->n_threads) {
		const struct lookup_push p = { .slot = slot, .ids = b->id[slot], .n = b->n[slot],
			.grad = b->grad[slot] };

		pull_slot(b, slot, 1);
		assert_int_equal(b->lookup->ops->push(b->lookup, &p), RS_OK);
	}
	barrier_wait(&b->barrier);
	assert_int_equal(b->lookup->ops->commit(b->lookup, &c), RS_OK);
	barrier_wait(&b->barrier);
	return NULL;
}

/* A row is torn when its numbers, which had the same gradients, did not move alike. */
static inline void
look(struct bed *b, const float *row, const float *begun)
{
	const float moved = row[0] - begun[0];

	if (row[0] == 0 && row[1] == 0)
		return;                /* there is none                                  */
	for (size_t d = 1; d < DIM; d++)
		assert_true(fabsf(row[d] - begun[d] - moved) < 1e-4f * (1 + fabsf(moved)));
	b->n_read += moved != 0;
}

/* Reads while others pull and push, with a place of its own for copies. */
static inline void *
read_along(void *argument)
{
	struct bed *b = argument;
	static const float *row[N_MAX], *begun[N_MAX];
	struct stage stage[2];
	struct lookup_pull p = { .ids = b->id[0], .n = b->n[0], .row = row, .stage = &stage[0] };

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(stage_init(&stage[i], 1, 1), RS_OK);
	assert_int_equal(b->lookup->ops->pull(b->lookup, &p), RS_OK);
	p.row = begun;
	p.stage = &stage[1];
	p.training = 1;
	assert_int_equal(b->untrained->lookup->ops->pull(b->untrained->lookup, &p), RS_OK);
	for (size_t i = 0; i < p.n; i++)
		look(b, row[i], begun[i]);
	for (size_t i = 0; i < 2; i++)
		stage_free(&stage[i]);
	barrier_wait(&b->barrier);
	barrier_wait(&b->barrier);
	return NULL;
}

static inline void
train(struct bed *b)
{
	struct worker worker[4];
	pthread_t thread[4], reader;

	b->step++;
	barrier_init(&b->barrier, (unsigned)b->n_threads + (b->untrained != NULL), 1);
	if (b->untrained != NULL)
		assert_int_equal(thread_start(&reader, "read", read_along, b), RS_OK);
	for (size_t i = 0; i < b->n_threads; i++)
		worker[i] = (struct worker){ b, i };
	for (size_t i = 1; i < b->n_threads; i++)
		assert_int_equal(thread_start(&thread[i], "work", work, &worker[i]), RS_OK);
	work(&worker[0]);
	for (size_t i = 1; i < b->n_threads; i++)
		thread_join(thread[i]);
	if (b->untrained != NULL)
		thread_join(reader);
	memset(b->n, 0, sizeof(b->n));
}

/* One step of one id. */
static inline void
train_one(struct bed *b, uint64_t id)
{
	add(b, 0, id, 1);
	train(b);
}

static inline int
has(const struct bed *b, uint64_t id)
{
	return b->lookup->ops->touched(b->lookup, 0, id);
}

/* What those who read get, in the first place. */
static inline float
read_one(struct bed *b, uint64_t id, int training)
{
	float value;

	add(b, 0, id, 0);
	pull_slot(b, 0, training);
	value = b->row[0][0][0];
	memset(b->n, 0, sizeof(b->n));
	return value;
}

static inline struct lookup_tenants
count(const struct bed *b)
{
	struct lookup_tenants n;

	b->lookup->ops->tenants(b->lookup, 0, &n);
	return n;
}

static inline uint64_t
bytes_of(const struct bed *b)
{
	return b->lookup->ops->bytes(b->lookup);
}

/* Number i of the ids of one segment, spread over it. */
static inline uint64_t
id_of(unsigned segment, uint64_t i)
{
	return exact_segment_begin(segment) | hash_mix(i) >> EXACT_SEGMENT_BITS;
}

static inline void
save(struct bed *b, const char *directory, const char *name, char path[2][256])
{
	enum rs_status (*const write[])(struct lookup *, size_t, struct file_writer *) = {
		b->lookup->ops->save, b->lookup->ops->save_tenancy,
	};

	for (size_t i = 0; i < 2; i++) {
		struct file_writer w;

		snprintf(path[i], 256, "%s/%s%zu", directory, name, i);
		assert_int_equal(file_writer_open(&w, path[i]), RS_OK);
		assert_int_equal(write[i](b->lookup, 0, &w), RS_OK);
		assert_int_equal(file_writer_commit(&w), RS_OK);
		file_writer_close(&w);
	}
}

static inline void
load(struct bed *b, char path[2][256])
{
	const char *rows = path[0], *tenancy = path[1];

	assert_int_equal(b->lookup->ops->load(b->lookup, 0, &rows, 1), RS_OK);
	assert_int_equal(b->lookup->ops->load_tenancy(b->lookup, 0, &tenancy, 1), RS_OK);
}

#endif
