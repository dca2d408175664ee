/*
 * Shards in threads of the test, over ipc, and a small model whose ranks are threads, too:
 * tables with twins, two inputs of one table, slots without rows, steps with little in them.
 */
#ifndef TESTS_REMOTE_LOOKUP_BED_H
#define TESTS_REMOTE_LOOKUP_BED_H

#include "tests/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/tree.h"
#include "comm/client.h"
#include "comm/wire.h"
#include "embed/exact.h"
#include "kernel/kernel.h"
#include "remote/lookup.h"
#include "remote/shard.h"

#define BED_JOB      77
#define BED_EPOCH    1
#define BED_SHARDS   3
#define BED_TABLES   5
#define BED_INPUTS   7
#define BED_SLOTS    8
#define BED_N        40             /* occurrences of an input in a slot, at most     */
#define BED_DIM      16
#define BED_ONLY_C3  1000           /* steps from this one on have rows of C3 only     */

/* Vectors first, first-order weights behind them, as a graph numbers them. */
static const struct { const char *name; size_t rows, dim, twins; } bed_table[BED_TABLES] = {
	{ "C1", 300, 5, 0 }, { "C2", 3, 4, 1 }, { "C3", 1000, BED_DIM, 2 },
	{ "C1.linear", 300, 1, 0 }, { "C3.linear", 1000, 1, 2 },
};
/* Column: inputs of the same one have the same ids.  C1 has two, its twin others. */
static const struct { size_t table, column; } bed_input[BED_INPUTS] = {
	{ 0, 0 }, { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 0 }, { 4, 3 }, { 3, 0 },
};
#define BED_COLUMNS 4

/* Of all tables; exact: ids are spread over all segments, in the order of the hashed ones. */
static enum table_kind bed_kind;

/* Of exact tables: who comes and goes. */
static struct lookup_tenancy bed_rules;

static inline int
bed_exact(void **state)
{
	(void)state;
	bed_kind = TABLE_EXACT;
	return 0;
}

static inline int
bed_hashed(void **state)
{
	(void)state;
	bed_kind = TABLE_HASHED;
	return 0;
}

#define BED_TEST_EXACT(f) { #f " (exact)", f, bed_exact, bed_hashed, NULL }

static inline uint64_t
bed_id(size_t table, uint64_t i)
{
	return bed_kind == TABLE_EXACT ? i * (EXACT_ROWS / bed_table[table].rows) : i;
}

static inline struct row_optimizer_settings
bed_optimizer(enum row_optimizer_kind kind)
{
	return (struct row_optimizer_settings){
		.kind = kind, .learning_rate = 0.05, .initial_accumulator = 0.1, .epsilon = 1e-7,
		.beta1 = 0.9, .beta2 = 0.999, .l1 = 0.001, .l2 = 0.01, .ftrl_beta = 1,
		.ftrl_l1 = 0.001, .ftrl_l2 = 0.01, .ftrl_power = -0.5, .scheduled = 1,
	};
}

static inline void
bed_tables(struct lookup_table table[BED_TABLES], enum row_optimizer_kind kind)
{
	for (size_t t = 0; t < BED_TABLES; t++) {
		table[t] = (struct lookup_table){
			.kind = bed_kind, .expected = bed_table[t].rows,
			.rows = bed_kind == TABLE_EXACT ? EXACT_ROWS : bed_table[t].rows,
			.dim = bed_table[t].dim,
			.twins = bed_table[t].twins, .init_stddev = 0.1, .seed = 7,
			.optimizer = bed_optimizer(kind),
			.tenancy = bed_kind == TABLE_EXACT ? bed_rules
							   : (struct lookup_tenancy){ 0 },
		};
		snprintf(table[t].name, sizeof(table[t].name), "%s", bed_table[t].name);
	}
}

static inline struct lookup_local_options
bed_options(const struct lookup_table *table, size_t n_threads)
{
	return (struct lookup_local_options){
		.kernel = &kernel_ref, .table = table, .n_tables = BED_TABLES,
		.n_slots = BED_SLOTS, .n_inputs = BED_INPUTS, .n_threads = n_threads,
		.for_training = 1,
	};
}

/* --- shards --- */

struct bed_shard {
	struct wire_context *context;
	struct wire *wire;
	struct wire *poke;          /* wakes it up at the end                         */
	struct shard_options options;
	pthread_t thread;
	enum rs_status status;
};

struct bed {
	char *directory;
	struct bed_shard shard[BED_SHARDS];
	size_t n_shards;
	atomic_int stop;
};

static inline void *
bed_serve(void *argument)
{
	struct bed_shard *s = argument;

	struct shard *shard;

	s->status = shard_open(&s->options, &shard);
	if (s->status != RS_OK)
		return NULL;
	s->status = shard_serve(shard, &(struct shard_round){ .epoch = BED_EPOCH });
	shard_close(shard);
	return NULL;
}

static inline void
bed_open(struct bed *b, size_t n_shards)
{
	const struct wire_options none = { .self = NULL };
	void *directory = NULL;

	memset(b, 0, sizeof(*b));
	assert_int_equal(tmpdir_make(&directory), 0);
	b->directory = directory;
	b->n_shards = n_shards;
	for (size_t i = 0; i < n_shards; i++) {
		struct bed_shard *s = &b->shard[i];
		char endpoint[200];

		snprintf(endpoint, sizeof(endpoint), "ipc://%s/ps%zu", b->directory, i);
		assert_int_equal(wire_context_open(&none, &s->context), RS_OK);
		assert_int_equal(wire_bind(s->context, endpoint, &s->wire), RS_OK);
		assert_int_equal(wire_connect(s->context, endpoint, NULL, &s->poke), RS_OK);
		s->options = (struct shard_options){
			.wire = s->wire, .kernel = &kernel_ref, .index = i, .n_threads = 1 + i,
			.job = BED_JOB, .stop = &b->stop,
		};
		assert_int_equal(pthread_create(&s->thread, NULL, bed_serve, s), 0);
	}
}

static inline void
bed_close(struct bed *b)
{
	void *directory = b->directory;

	const struct frame wake = { .type = FRAME_BYE, .job = BED_JOB, .epoch = BED_EPOCH };

	atomic_store(&b->stop, 1);
	for (size_t i = 0; i < b->n_shards; i++) {
		(void)wire_send(b->shard[i].poke, NULL, &wake, NULL, 0);
		pthread_join(b->shard[i].thread, NULL);
		assert_int_equal(b->shard[i].status, RS_OK);
		wire_close(b->shard[i].poke);
		wire_close(b->shard[i].wire);
		wire_context_close(b->shard[i].context);
	}
	assert_int_equal(tmpdir_remove(&directory), 0);
}

/* --- ranks --- */

struct bed_rank {
	struct wire_context *context;
	struct client *client;
	struct lookup *lookup;
};

struct bed_run {
	size_t n_ranks, n_threads;
	enum row_optimizer_kind kind;
	enum consistency consistency;
	uint64_t staleness;
	enum compression compress;
	size_t message_bytes;
	int heedless;               /* gradients do not depend on rows                */
};

static inline enum rs_status
bed_rank_open(struct bed *b, const struct bed_run *run, size_t rank, struct bed_rank *out)
{
	struct client_server server[BED_SHARDS];
	char name[BED_SHARDS][32];
	struct lookup_table table[BED_TABLES];

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < b->n_shards; i++) {
		snprintf(name[i], sizeof(name[i]), "ps %zu", i);
		server[i] = (struct client_server){ .name = name[i],
			.endpoint = wire_endpoint(b->shard[i].wire) };
	}
	const struct client_options options = {
		.server = server, .n_servers = b->n_shards, .job = BED_JOB, .epoch = BED_EPOCH,
		.source = (uint32_t)(10 + rank), .request_timeout = 20,
	};
	struct client_options with_context = options;

	RS_TRY(wire_context_open(&(struct wire_options){ 0 }, &out->context));
	with_context.context = out->context;
	RS_TRY(client_open(&with_context, &out->client));
	bed_tables(table, run->kind);
	return remote_lookup_open(&(struct remote_lookup_options){
		.base = bed_options(table, run->n_threads), .client = out->client, .rank = rank,
		.n_ranks = run->n_ranks, .consistency = run->consistency,
		.staleness = run->staleness, .compress = run->compress, .min_shard_bytes = 1024,
		.message_bytes = run->message_bytes,
	}, &out->lookup);
}

static inline void
bed_rank_close(struct bed_rank *r)
{
	if (r->lookup != NULL)
		r->lookup->ops->close(r->lookup);
	client_close(r->client);
	wire_context_close(r->context);
}

/* --- steps --- */

/* A step that some rank works at; ids as a batch has them, column by column. */
struct bed_step {
	uint64_t number;
	int finite, training, heedless;
	size_t begin[BED_COLUMNS][BED_SLOTS + 1];
	uint64_t id[BED_COLUMNS][BED_SLOTS * BED_N];
	const float *row[BED_INPUTS][BED_SLOTS * BED_N];
	float value[BED_INPUTS][BED_SLOTS * BED_N][BED_DIM];
	const float *grad[BED_INPUTS][BED_SLOTS * BED_N];
	float scale[BED_INPUTS][BED_SLOTS * BED_N];
};

/* Occurrences of a column in a slot: step 3 has one row, 5 no slot 3, 6 no C2. */
static inline size_t
bed_count(uint64_t step, size_t column, size_t slot)
{
	if (step == 3)
		return slot == 0;
	if (step >= BED_ONLY_C3 && column != 3)
		return 0;
	if ((step == 5 && slot == 3) || (step == 6 && column == 2))
		return 0;
	return BED_N - 3 * slot - column;
}

static inline void
bed_fill(struct bed_step *s, uint64_t number)
{
	s->number = number;
	s->finite = number != 4;            /* a step that is dropped */
	s->training = 1;
	for (size_t c = 0; c < BED_COLUMNS; c++) {
		size_t n = 0;

		for (size_t slot = 0; slot < BED_SLOTS; slot++) {
			s->begin[c][slot] = n;
			n += bed_count(number, c, slot);
		}
		s->begin[c][BED_SLOTS] = n;
		for (size_t i = 0; i < BED_INPUTS; i++)
			for (size_t j = 0; j < n && bed_input[i].column == c; j++) {
				const uint64_t rows = bed_table[bed_input[i].table].rows;
				const uint64_t key = rng_key(number, c);
				const uint64_t below = j % 2 && rows > 9 ? 9 : rows;

				s->id[c][j] = bed_id(bed_input[i].table, rng_below(key, j, below));
				s->scale[i][j] = (float)rng_uniform(key, 10000 + j);
				s->grad[i][j] = s->value[i][j];
			}
	}
}

struct bed_call {
	struct lookup *lookup;
	struct lookup_fetch fetch;
	struct lookup_commit commit;
	int is_commit;
	enum rs_status status;
	struct rs_failure failure;
};

static inline void *
bed_call_run(void *argument)
{
	struct bed_call *c = argument;

	c->status = c->is_commit ? c->lookup->ops->commit(c->lookup, &c->commit)
				 : c->lookup->ops->fetch(c->lookup, &c->fetch);
	if (c->status != RS_OK)
		rs_failure_take(&c->failure);
	return NULL;
}

/* The same call of every thread; the first failure is that of the calling thread then. */
static inline enum rs_status
bed_call_all(const struct bed_call *call, size_t n_threads)
{
	struct bed_call each[4];
	pthread_t thread[4];

	for (size_t i = 0; i < n_threads; i++) {
		each[i] = *call;
		each[i].fetch.worker = each[i].commit.worker = i;
		each[i].fetch.n_workers = each[i].commit.n_workers = n_threads;
		assert_int_equal(pthread_create(&thread[i], NULL, bed_call_run, &each[i]), 0);
	}
	for (size_t i = 0; i < n_threads; i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < n_threads; i++)
		if (each[i].status != RS_OK)
			return rs_failure_put(&each[i].failure);
	return RS_OK;
}

static inline enum rs_status
bed_fetch(struct lookup *l, const struct bed_step *s, size_t begin, size_t end, size_t n_threads)
{
	struct lookup_use use[BED_INPUTS];

	if (l->ops->fetch == NULL)
		return RS_OK;
	for (size_t i = 0; i < BED_INPUTS; i++) {
		const size_t c = bed_input[i].column;

		use[i] = (struct lookup_use){ .table = bed_input[i].table,
			.ids = s->id[c] + s->begin[c][begin],
			.n = s->begin[c][end] - s->begin[c][begin] };
	}
	return bed_call_all(&(struct bed_call){ .lookup = l, .fetch = {
		.use = use, .n_uses = BED_INPUTS, .step = s->training ? s->number : 0,
		.training = s->training } }, n_threads);
}

static inline enum rs_status
bed_pull(struct lookup *l, struct bed_step *s, size_t slot, size_t i)
{
	const size_t c = bed_input[i].column, first = s->begin[c][slot];

	return l->ops->pull(l, &(struct lookup_pull){ .slot = slot, .table = bed_input[i].table,
		.input = i, .ids = s->id[c] + first, .n = s->begin[c][slot + 1] - first,
		.row = s->row[i] + first, .training = s->training });
}

/* A gradient that depends on the row that was pulled, unless it is heedless. */
static inline enum rs_status
bed_push(struct lookup *l, struct bed_step *s, size_t slot, size_t i)
{
	const size_t c = bed_input[i].column, first = s->begin[c][slot];
	const size_t n = s->begin[c][slot + 1] - first, dim = bed_table[bed_input[i].table].dim;
	const uint64_t key = rng_key(rng_key(s->number, i), 99);

	for (size_t j = first; j < first + n; j++)
		for (size_t d = 0; d < dim; d++)
			s->value[i][j][d] = (s->heedless ? 0 : 0.5f) * s->row[i][j][d] +
				(float)rng_normal(key, j * BED_DIM + d);
	return l->ops->push(l, &(struct lookup_push){ .slot = slot, .table = bed_input[i].table,
		.input = i, .ids = s->id[c] + first, .n = n, .grad = s->grad[i] + first,
		.scale = i == 1 ? s->scale[i] + first : NULL });
}

/* Slots [begin,end) of a step; R == 1 and all slots: what one process does. */
static inline enum rs_status
bed_step_run(struct lookup *l, struct bed_step *s, size_t begin, size_t end, size_t n_threads)
{
	RS_TRY(bed_fetch(l, s, begin, end, n_threads));
	for (size_t slot = begin; slot < end; slot++)
		for (size_t i = 0; i < BED_INPUTS; i++) {
			RS_TRY(bed_pull(l, s, slot, i));
			RS_TRY(bed_push(l, s, slot, i));
		}
	return bed_call_all(&(struct bed_call){ .lookup = l, .is_commit = 1, .commit = {
		.step = s->number, .finite = s->finite,
		.rate_factor = 1.0 / (double)s->number } }, n_threads);
}

/* Steps [first,last] of one rank. */
struct bed_worker {
	struct bed *bed;
	const struct bed_run *run;
	size_t rank;
	uint64_t first, last;
	struct bed_rank r;
	enum rs_status status;
	struct rs_failure failure;
	pthread_t thread;
	struct bed_step step;
};

static inline void *
bed_worker_run(void *argument)
{
	struct bed_worker *w = argument;
	const size_t R = w->run->n_ranks;

	w->status = w->r.lookup != NULL ? RS_OK : bed_rank_open(w->bed, w->run, w->rank, &w->r);
	for (uint64_t i = w->first; i <= w->last && w->status == RS_OK; i++) {
		bed_fill(&w->step, i);
		w->step.heedless = w->run->heedless;
		w->status = bed_step_run(w->r.lookup, &w->step,
			tree_rank_begin(BED_SLOTS, R, w->rank),
			tree_rank_begin(BED_SLOTS, R, w->rank + 1), w->run->n_threads);
	}
	if (w->status != RS_OK)
		rs_failure_take(&w->failure);
	return NULL;
}

/* Runs steps in all ranks at once; their lookups stay open. */
static inline void
bed_train(struct bed *b, const struct bed_run *run, struct bed_worker *w, uint64_t first,
	uint64_t last)
{
	for (size_t r = 0; r < run->n_ranks; r++) {
		w[r].bed = b;
		w[r].run = run;
		w[r].rank = r;
		w[r].first = first;
		w[r].last = last;
		assert_int_equal(pthread_create(&w[r].thread, NULL, bed_worker_run, &w[r]), 0);
	}
	for (size_t r = 0; r < run->n_ranks; r++) {
		pthread_join(w[r].thread, NULL);
		if (w[r].status != RS_OK)
			fail_msg("rank %zu: %s", r, w[r].failure.text);
	}
}

static inline void
bed_workers_close(struct bed_worker *w, size_t n)
{
	for (size_t r = 0; r < n; r++)
		bed_rank_close(&w[r].r);
}

#define BED_FLOATS ((size_t)BED_INPUTS * BED_SLOTS * BED_N * BED_DIM)

/* All rows that a step pulls, one after the other. */
static inline void
bed_pull_step(struct lookup *l, struct bed_step *s, float *out, size_t *n)
{
	*n = 0;
	assert_int_equal(bed_fetch(l, s, 0, BED_SLOTS, 1), RS_OK);
	for (size_t slot = 0; slot < BED_SLOTS; slot++)
		for (size_t i = 0; i < BED_INPUTS; i++) {
			const size_t c = bed_input[i].column;
			const size_t dim = bed_table[bed_input[i].table].dim;

			assert_int_equal(bed_pull(l, s, slot, i), RS_OK);
			for (size_t j = s->begin[c][slot]; j < s->begin[c][slot + 1]; j++) {
				memcpy(out + *n, s->row[i][j], dim * sizeof(*out));
				*n += dim;
			}
		}
}

/* --- files --- */

static inline void
bed_save(struct lookup *l, const char *directory, const char *name, size_t table, char *path,
	size_t capacity)
{
	struct file_writer w;

	snprintf(path, capacity, "%s/%s-%zu", directory, name, table);
	assert_int_equal(file_writer_open(&w, path), RS_OK);
	if (l->ops->save(l, table, &w) != RS_OK)
		fail_msg("%s", rs_failure()->text);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
}

static inline void
bed_assert_same_file(const char *a, const char *b)
{
	struct file_map x, y;

	assert_int_equal(file_map_open(&x, a), RS_OK);
	assert_int_equal(file_map_open(&y, b), RS_OK);
	assert_int_equal(x.size, y.size);
	for (size_t i = 0; i < x.size; i++)
		if (x.data[i] != y.data[i])
			fail_msg("'%s' and '%s' differ from byte %zu of %zu on", a, b, i, x.size);
	file_map_close(&x);
	file_map_close(&y);
}

static inline void
bed_save_memory(struct lookup *l, size_t table, struct file_writer *w)
{
	assert_int_equal(file_writer_open_memory(w), RS_OK);
	if (l->ops->save(l, table, w) != RS_OK)
		fail_msg("%s", rs_failure()->text);
	assert_int_equal(file_writer_commit(w), RS_OK);
}

/* Every table of one has the bytes of the other's. */
static inline void
bed_assert_equal(struct lookup *a, struct lookup *b)
{
	for (size_t t = 0; t < BED_TABLES; t++) {
		struct file_writer x, y;

		bed_save_memory(a, t, &x);
		bed_save_memory(b, t, &y);
		bed_assert_same_file(x.path, y.path);
		file_writer_close(&x);
		file_writer_close(&y);
	}
}

static inline struct lookup *
bed_local(enum row_optimizer_kind kind)
{
	struct lookup_table table[BED_TABLES];
	struct lookup *l;

	bed_tables(table, kind);
	const struct lookup_local_options o = bed_options(table, 1);

	assert_int_equal(lookup_local_open(&o, &l), RS_OK);
	return l;
}

/* Steps [first,last] in one process. */
static inline void
bed_train_local(struct lookup *l, uint64_t first, uint64_t last)
{
	static struct bed_step s;

	for (uint64_t i = first; i <= last; i++) {
		bed_fill(&s, i);
		assert_int_equal(bed_step_run(l, &s, 0, BED_SLOTS, 1), RS_OK);
	}
}

#endif
