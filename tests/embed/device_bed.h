/*
 * Tables of two fields on the host and on a GPU, which is emulated, steps of both, and files.
 */
#ifndef TESTS_EMBED_DEVICE_BED_H
#define TESTS_EMBED_DEVICE_BED_H

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/rng.h"
#include "embed/lookup_device.h"
#include "home.h"
#include "kernel/kernel.h"
#include "tests/kernel/emulated_gpu.h"
#include "tests/test.h"

enum { SLOTS = 4, N = 150, D_MAX = 64, THREADS = 3, STEPS = 6 };

/* Vectors and first-order weights of two fields, the first of which two inputs share. */
enum { A, A_LINEAR, B, B_LINEAR, TABLES };
static const size_t table_of[] = { A, A, A_LINEAR, A_LINEAR, B, B_LINEAR };
enum { INPUTS = N_ROWS(table_of) };
static const uint64_t rows_of[TABLES] = { 260, 260, 70, 70 };

static const enum row_optimizer_kind kinds[] = {
	ROW_SGD, ROW_ADAGRAD, ROW_ROWWISE_ADAGRAD, ROW_ADAM, ROW_FTRL
};

/* What is pushed in a step, gradients where the lookup wants them. */
struct pushed {
	uint64_t id[SLOTS][INPUTS][N];
	float    scale[SLOTS][INPUTS][N];
	float    value[SLOTS][INPUTS][N][D_MAX];
	const float *grad[SLOTS][INPUTS][N];
};
static struct pushed pushed;

/* Both sides of a test; gradients are in memory of the GPU that a queue brings there. */
struct bed {
	struct gpu_memory gpu;
	struct gpu_plan plan;
	struct gpu_queue *queue;
	char  *queue_block;
	float *value;
	struct lookup_table table[TABLES];
	struct lookup *host, *there;
};

static inline void
assert_clean(void)
{
	const char *where;

	if (emulate_violations(&where) > 0)
		fail_msg("%s", where);
	assert_int_equal(emulated_gpu_in_use(), 0);
}

static inline struct lookup_local_options
options_of(const struct bed *b, size_t n_threads)
{
	return (struct lookup_local_options){
		.kernel = &kernel_ref, .table = b->table, .n_tables = TABLES, .n_slots = SLOTS,
		.n_inputs = INPUTS, .n_threads = n_threads, .for_training = 1, .keeps_changes = 1,
	};
}

static inline struct lookup *
open_there(struct bed *b, size_t n_threads, size_t n)
{
	const struct lookup_device_options o = { .local = options_of(b, n_threads),
		.gpu = &b->gpu, .n = n };
	size_t bytes, before = atomic_load(&b->gpu.used);
	struct lookup *l;

	assert_int_equal(lookup_device_bytes(&o, &bytes), RS_OK);
	assert_int_equal(lookup_device_open(&o, &l), RS_OK);
	assert_int_equal(atomic_load(&b->gpu.used) - before, bytes);
	return l;
}

static inline void
bed_open(struct bed *b, enum row_optimizer_kind kind, size_t D)
{
	static const char *const name[TABLES] = { "a", "a.linear", "b", "b.linear" };
	const struct row_optimizer_settings optimizer = {
		.kind = kind, .learning_rate = 0.05, .initial_accumulator = 0.1, .epsilon = 1e-7,
		.beta1 = 0.9, .beta2 = 0.999, .l1 = 1e-4, .l2 = 0.01, .ftrl_beta = 1,
		.ftrl_l1 = 0.001, .ftrl_l2 = 0.01, .ftrl_power = -0.5, .scheduled = 1,
	};
	struct lookup_local_options local;

	*b = (struct bed){ .gpu = { .gpu = &gpu_emulated },
		.plan = { .bytes = 4096, .rows = 1, .columns = 1 } };
	for (size_t t = 0; t < TABLES; t++) {
		b->table[t] = (struct lookup_table){ .rows = rows_of[t], .init_stddev = 0.1,
			.dim = t == A || t == B ? D : 1, .optimizer = optimizer, .seed = 7 };
		snprintf(b->table[t].name, sizeof(b->table[t].name), "%s", name[t]);
	}
	local = options_of(b, THREADS);
	assert_int_equal(lookup_local_open(&local, &b->host), RS_OK);
	b->there = open_there(b, THREADS, SLOTS * INPUTS * N);
	assert_int_equal(gpu_memory_open(&b->gpu, 0, &b->plan, &b->queue, &b->queue_block), RS_OK);
	assert_int_equal(gpu_memory_alloc(&b->gpu, 0, sizeof(pushed.value), &b->value), RS_OK);
}

static inline void
bed_close(struct bed *b)
{
	b->host->ops->close(b->host);
	b->there->ops->close(b->there);
	gpu_memory_free(&b->gpu, 0, b->value, sizeof(pushed.value));
	gpu_memory_close(&b->gpu, &b->plan, b->queue);
	assert_int_equal(atomic_load(&b->gpu.used), 0);
	assert_clean();
}

/* A third of the ids are of one row, the last, which stands for "missing"; first-order weights
 * have the ids of the vectors but in every third step. */
static inline void
draw(uint64_t key)
{
	uint64_t c = 0;

	for (size_t slot = 0; slot < SLOTS; slot++)
		for (size_t i = 0; i < INPUTS; i++)
			for (size_t j = 0; j < N; j++) {
				const uint64_t rows = rows_of[table_of[i]];
				const int twin = key % 3 > 0 && table_of[i] % 2 == 1;
				const size_t from = i == 5 ? 4 : i - 2;

				pushed.id[slot][i][j] = twin ? pushed.id[slot][from][j]
				    : j % 3 == 0 ? rows - 1 : rng_below(key, c++, rows);
				pushed.scale[slot][i][j] = (float)rng_uniform(key, c++) + 0.1f;
				for (size_t d = 0; d < D_MAX; d++)
					pushed.value[slot][i][j][d] =
						0.1f * (float)rng_normal(key, c++);
			}
}

struct call { struct lookup *l; struct lookup_commit commit; enum rs_status status; };

static inline void *
commit_run(void *argument)
{
	struct call *c = argument;

	c->status = c->l->ops->commit(c->l, &c->commit);
	return NULL;
}

static inline enum rs_status
commit(struct lookup *l, struct lookup_commit commit, size_t n_threads)
{
	struct call call[THREADS];
	pthread_t thread[THREADS];
	enum rs_status status = RS_OK;

	commit.n_workers = n_threads;
	for (size_t i = 0; i < n_threads; i++) {
		call[i] = (struct call){ .l = l, .commit = commit };
		call[i].commit.worker = i;
		assert_int_equal(pthread_create(&thread[i], NULL, commit_run, &call[i]), 0);
	}
	for (size_t i = 0; i < n_threads; i++) {
		pthread_join(thread[i], NULL);
		status = call[i].status != RS_OK ? call[i].status : status;
	}
	return status;
}

/* Pulls, and pushes gradients at `value`; every second step has factors, the first such those of
 * one input alone. */
static inline void
pull_and_push(struct lookup *l, uint64_t key, const float *value)
{
	static const float *row[N];
	const size_t n = N - key % 3;

	for (size_t slot = 0; slot < SLOTS; slot++)
		for (size_t i = 0; i < INPUTS; i++) {
			const struct lookup_pull pull = { .slot = slot, .table = table_of[i],
				.input = i, .ids = pushed.id[slot][i], .n = n, .row = row,
				.training = 1 };
			const struct lookup_push push = { .slot = slot, .table = table_of[i],
				.input = i, .ids = pushed.id[slot][i], .n = n,
				.grad = pushed.grad[slot][i],
				.scale = key % 2 == 0 && (key == 2 ? i == 0 : i != 1)
					? pushed.scale[slot][i] : NULL };

			for (size_t j = 0; j < N; j++)
				pushed.grad[slot][i][j] = value
					+ ((slot * INPUTS + i) * N + j) * D_MAX;
			assert_int_equal(l->ops->pull(l, &pull), RS_OK);
			assert_int_equal(l->ops->push(l, &push), RS_OK);
		}
}

static inline void
bring_values(struct bed *b)
{
	b->gpu.gpu->use(b->queue);
	b->gpu.gpu->upload(b->value, pushed.value, sizeof(pushed.value));
	assert_int_equal(b->gpu.gpu->wait(), RS_OK);
}

static inline struct lookup_commit
commit_of(uint64_t key)
{
	return (struct lookup_commit){ .step = key, .finite = 1, .rate_factor = 1.0 / (double)key,
		.decay = key == 4 ? 0.5 : 0 };
}

static inline void
step_there(struct bed *b, struct lookup *l, uint64_t key, size_t n_threads)
{
	draw(key);
	bring_values(b);
	pull_and_push(l, key, b->value);
	assert_int_equal(commit(l, commit_of(key), n_threads), RS_OK);
}

static inline void
step_host(struct bed *b, uint64_t key)
{
	draw(key);
	pull_and_push(b->host, key, &pushed.value[0][0][0][0]);
	assert_int_equal(commit(b->host, commit_of(key), 1), RS_OK);
}

/* --- files ------------------------------------------------------------------------------- */

struct text { char *bytes; size_t n; };

static inline const char *
path_of(void **state, const char *name)
{
	static char path[4][300];
	static size_t next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", (const char *)*state, name);
	return p;
}

static inline struct text
save(struct lookup *l, size_t table, const struct lookup_step *from, const char *path)
{
	struct file_writer w;
	struct text t;

	assert_int_equal(file_writer_open(&w, path), RS_OK);
	if (from != NULL)
		assert_true(l->ops->knows_changes(l, table));
	assert_int_equal(from != NULL ? l->ops->save_delta(l, table, from, &w)
		: l->ops->save(l, table, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
	assert_int_equal(file_read(path, 1 << 24, &t.bytes, &t.n), RS_OK);
	return t;
}

static inline void
assert_same_files(void **state, struct lookup *a, struct lookup *b)
{
	for (size_t t = 0; t < TABLES; t++) {
		const struct text x = save(a, t, NULL, path_of(state, "x"));
		const struct text y = save(b, t, NULL, path_of(state, "y"));

		assert_int_equal(x.n, y.n);
		assert_memory_equal(x.bytes, y.bytes, x.n);
		free(x.bytes);
		free(y.bytes);
	}
}

static inline void
assert_close(const char *what, const char *name, const float *there, const float *host, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(fabsf(there[i] - host[i]) <= 1e-5f * (1 + fabsf(host[i]))))
			fail_msg("%s: number %zu of %s is %.9g, on the host %.9g", what, i, name,
				there[i], host[i]);
}

/* Row by row, through a file, so that what is compared was saved. */
static inline void
assert_near(void **state, struct bed *b, const char *what)
{
	static float weights[2][260 * D_MAX], slots[2][260 * (2 * D_MAX + 1)];
	static uint8_t touched[2][260];
	const struct lookup_local_options o = options_of(b, 1);
	struct lookup *read;

	assert_int_equal(lookup_local_open(&o, &read), RS_OK);
	for (size_t t = 0; t < TABLES; t++) {
		const char *path = path_of(state, "near");
		const size_t n = rows_of[t];

		free(save(b->there, t, NULL, path).bytes);
		assert_int_equal(read->ops->load(read, t, &path, 1), RS_OK);
		for (size_t side = 0; side < 2; side++)
			assert_int_equal(lookup_local_get(side == 0 ? b->host : read,
				&(struct lookup_rows){ .table = t, .n = n,
				.weights = weights[side], .slots = slots[side],
				.touched = touched[side] }), RS_OK);
		assert_memory_equal(touched[0], touched[1], n);
		assert_close(what, b->table[t].name, weights[1], weights[0],
			n * b->table[t].dim);
		assert_close(what, b->table[t].name, slots[1], slots[0],
			n * lookup_local_slots(read, t));
	}
	read->ops->close(read);
}

#endif
