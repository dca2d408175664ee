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
#include "tests/reduce/nccl_double.h"
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
	uint64_t id[INPUTS][SLOTS * N];        /* slots behind each other             */
	float    scale[SLOTS][INPUTS][N];
	float    value[SLOTS][INPUTS][N][D_MAX];
	const float *grad[SLOTS][INPUTS][N];
};
static struct pushed pushed;

/* Occurrences of an input in a slot of a step; in the fifth two slots have none. */
static inline size_t
n_of(uint64_t key, size_t slot)
{
	return key == 5 && slot < 2 ? 0 : N - key % 3 - slot;
}

static inline size_t
begin_of(uint64_t key, size_t slot)
{
	return slot == 0 ? 0 : begin_of(key, slot - 1) + n_of(key, slot - 1);
}

/* Both sides of a test; on each GPU gradients are in memory that a queue brings there. */
enum { GPUS_MAX = 3 };
struct bed {
	struct gpu_memory gpu;
	struct gpu_plan plan[GPUS_MAX];
	struct gpu_queue *queue[GPUS_MAX];
	float *value[GPUS_MAX];
	struct lookup_table table[TABLES];
	struct lookup *host, *there;
};

/* How many GPUs beds have from now on. */
static size_t n_gpus = 1;

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
	const size_t of_each[TABLES] = { n, n, n, n };
	struct lookup_device_options o = { .local = options_of(b, n_threads),
		.gpu = &b->gpu, .n = of_each, .n_there = of_each, .n_pieces = SLOTS };
	size_t bytes, before[GPUS_MAX];
	struct lookup *l;

	for (size_t i = 0; i < n_gpus; i++)
		before[i] = atomic_load(&b->gpu.used_of[i]);
	if (n_gpus > 1)
		assert_int_equal(b->gpu.mesh->open(&b->gpu, &o.mesh), RS_OK);
	assert_int_equal(lookup_device_bytes(&o, &bytes), RS_OK);
	assert_int_equal(lookup_device_open(&o, &l), RS_OK);
	for (size_t i = 0; i < n_gpus; i++)
		assert_int_equal(atomic_load(&b->gpu.used_of[i]) - before[i], bytes);
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

	nccl_double_reset(&(struct nccl_double_plan){ 0 });
	*b = (struct bed){ .gpu = { .gpu = &gpu_emulated, .n_devices = n_gpus,
		.device = { 2, 0, 3 }, .mesh = &nccl_double_mesh } };
	for (size_t t = 0; t < TABLES; t++) {
		b->table[t] = (struct lookup_table){ .rows = rows_of[t], .init_stddev = 0.1,
			.dim = t == A || t == B ? D : 1, .optimizer = optimizer, .seed = 7 };
		snprintf(b->table[t].name, sizeof(b->table[t].name), "%s", name[t]);
	}
	local = options_of(b, THREADS);
	assert_int_equal(lookup_local_open(&local, &b->host), RS_OK);
	b->there = open_there(b, THREADS, SLOTS * 2 * N);
	for (size_t i = 0; i < n_gpus; i++) {
		char *block;

		b->plan[i] = (struct gpu_plan){ .bytes = 4096, .rows = 1, .columns = 1 };
		assert_int_equal(gpu_memory_open(&b->gpu, i, &b->plan[i], &b->queue[i], &block),
			RS_OK);
		assert_int_equal(gpu_memory_alloc(&b->gpu, i, sizeof(pushed.value),
			&b->value[i]), RS_OK);
	}
}

static inline void
bed_close(struct bed *b)
{
	b->host->ops->close(b->host);
	b->there->ops->close(b->there);
	for (size_t i = 0; i < n_gpus; i++) {
		gpu_memory_free(&b->gpu, i, b->value[i], sizeof(pushed.value));
		gpu_memory_close(&b->gpu, &b->plan[i], b->queue[i]);
	}
	assert_int_equal(atomic_load(&b->gpu.used), 0);
	assert_clean();
}

/* A third of the ids are of one row, the last, which stands for "missing"; first-order weights
 * have the ids of the vectors but in every third step. */
static inline void
draw(uint64_t key)
{
	uint64_t c = 0;

	for (size_t i = 0; i < INPUTS; i++)
		for (size_t j = 0; j < SLOTS * N; j++) {
			const uint64_t rows = rows_of[table_of[i]];
			const int twin = key % 3 > 0 && table_of[i] % 2 == 1;

			pushed.id[i][j] = twin ? pushed.id[i == 5 ? 4 : i - 2][j]
			    : j % 3 == 0 ? rows - 1 : rng_below(key, c++, rows);
			pushed.scale[j / N][i][j % N] = (float)rng_uniform(key, c++) + 0.1f;
			for (size_t d = 0; d < D_MAX; d++)
				pushed.value[j / N][i][j % N][d] =
					0.1f * (float)rng_normal(key, c++);
		}
}

/* A fetch or a commit by one of several threads. */
struct call {
	struct lookup *l;
	const struct lookup_fetch *fetch;      /* NULL: a commit                      */
	struct lookup_commit commit;
	size_t worker, n_workers;
	enum rs_status status;
};

static inline void *
call_run(void *argument)
{
	struct call *c = argument;
	struct lookup_commit commit = c->commit;

	commit.worker = c->worker;
	commit.n_workers = c->n_workers;
	if (c->fetch != NULL) {
		struct lookup_fetch f = *c->fetch;

		f.worker = c->worker;
		f.n_workers = c->n_workers;
		c->status = c->l->ops->fetch(c->l, &f);
	} else {
		c->status = c->l->ops->commit(c->l, &commit);
	}
	return NULL;
}

static inline enum rs_status
call_all(struct call what, size_t n_threads)
{
	struct call call[THREADS];
	pthread_t thread[THREADS];
	enum rs_status status = RS_OK;

	for (size_t i = 0; i < n_threads; i++) {
		call[i] = what;
		call[i].worker = i;
		call[i].n_workers = n_threads;
		assert_int_equal(pthread_create(&thread[i], NULL, call_run, &call[i]), 0);
	}
	for (size_t i = 0; i < n_threads; i++) {
		pthread_join(thread[i], NULL);
		status = call[i].status != RS_OK ? call[i].status : status;
	}
	return status;
}

static inline enum rs_status
commit(struct lookup *l, struct lookup_commit commit, size_t n_threads)
{
	return call_all((struct call){ .l = l, .commit = commit }, n_threads);
}

/* Slots are on as many of the GPUs as there are threads, beside each other. */
static inline size_t
place_of(size_t slot, size_t n_threads)
{
	return slot * (n_gpus < n_threads ? n_gpus : n_threads) / SLOTS;
}

/* What a step of that key pulls; where rows are at hand nothing is fetched. */
static inline enum rs_status
fetch(struct lookup *l, uint64_t key, size_t n_threads)
{
	static size_t piece[SLOTS + 1], place[SLOTS];
	static struct lookup_use use[INPUTS];
	const struct lookup_fetch f = { .use = use, .n_uses = INPUTS, .n_pieces = SLOTS,
		.place = place, .step = key, .training = 1 };

	for (size_t slot = 0; slot <= SLOTS; slot++)
		piece[slot] = begin_of(key, slot);
	for (size_t slot = 0; slot < SLOTS; slot++)
		place[slot] = place_of(slot, n_threads);
	for (size_t i = 0; i < INPUTS; i++)
		use[i] = (struct lookup_use){ .table = table_of[i], .ids = pushed.id[i],
			.n = piece[SLOTS], .piece = piece };
	return l->ops->fetch == NULL ? RS_OK
		: call_all((struct call){ .l = l, .fetch = &f }, n_threads);
}

/* Pulls, and pushes gradients at value[GPU of the slot]; every second step has factors, the first
 * such those of one input alone. */
static inline void
pull_and_push(struct lookup *l, uint64_t key, float *const *value, size_t n_threads)
{
	static const float *row[N];

	for (size_t slot = 0; slot < SLOTS; slot++)
		for (size_t i = 0; i < INPUTS; i++) {
			const uint64_t *const ids = pushed.id[i] + begin_of(key, slot);
			const struct lookup_pull pull = { .slot = slot, .table = table_of[i],
				.input = i, .ids = ids, .n = n_of(key, slot), .row = row,
				.training = 1 };
			const struct lookup_push push = { .slot = slot, .table = table_of[i],
				.input = i, .ids = ids, .n = pull.n,
				.grad = pushed.grad[slot][i],
				.scale = key % 2 == 0 && (key == 2 ? i == 0 : i != 1)
					? pushed.scale[slot][i] : NULL };

			for (size_t j = 0; j < N; j++)
				pushed.grad[slot][i][j] = value[place_of(slot, n_threads)]
					+ ((slot * INPUTS + i) * N + j) * D_MAX;
			assert_int_equal(l->ops->pull(l, &pull), RS_OK);
			assert_int_equal(l->ops->push(l, &push), RS_OK);
		}
}

static inline void
bring_values(struct bed *b)
{
	for (size_t i = 0; i < n_gpus; i++) {
		b->gpu.gpu->use(b->queue[i]);
		b->gpu.gpu->upload(b->value[i], pushed.value, sizeof(pushed.value));
		assert_int_equal(b->gpu.gpu->wait(), RS_OK);
	}
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
	assert_int_equal(fetch(l, key, n_threads), RS_OK);
	pull_and_push(l, key, b->value, n_threads);
	assert_int_equal(commit(l, commit_of(key), n_threads), RS_OK);
}

static inline void
step_host(struct bed *b, uint64_t key)
{
	float *const value[GPUS_MAX] = { &pushed.value[0][0][0][0], &pushed.value[0][0][0][0],
		&pushed.value[0][0][0][0] };

	draw(key);
	pull_and_push(b->host, key, value, 1);
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
