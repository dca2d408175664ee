/* Tables in every rank: the rows of one process, to the bit. */
#include "tests/test.h"

#include <pthread.h>
#include <string.h>

#include "base/rng.h"
#include "base/thread.h"
#include "embed/exact.h"
#include "kernel/kernel.h"
#include "tests/reduce/thread_exchange.h"
#include "train/replicated.h"

#define TABLES  3
#define INPUTS  5
#define D_MAX   6
#define STEPS   4
#define THREADS 2
#define RANKS   5
#define SLOTS   8

/* C1 and its twin are used by two inputs each, of the same ids. */
static const size_t table_of[INPUTS] = { 0, 0, 1, 2, 2 };
static const size_t ids_of[INPUTS] = { 0, 1, 2, 0, 1 };

struct scene {
	size_t rows, n_max;                /* occurrences of an input in a slot      */
	size_t n_slots;
	enum row_optimizer_kind kind;
	enum table_kind tables;
	int    twins_differ;
	uint64_t bad_step;                 /* that is not finite; 0: none            */
};

struct pushed {
	size_t   n;
	uint64_t *id;
	float    *x, *scale;
	const float **grad;
};

static size_t
dim_of(size_t table)
{
	return (const size_t[TABLES]){ D_MAX, 3, 1 }[table];
}

/* Those of an exact table are spread over its segments. */
static uint64_t
id_of(const struct scene *s, uint64_t row)
{
	return s->tables == TABLE_EXACT ? row * (EXACT_ROWS / s->rows) : row;
}

static struct pushed
make_push(const struct scene *s, uint64_t step, size_t slot, size_t input)
{
	const uint64_t key = rng_key(rng_key(step, slot), ids_of[input]);
	const uint64_t own = rng_key(key, 100 + input);
	const int mirrored = s->twins_differ && step % 2 == 0 && table_of[input] == 2;
	const size_t D = dim_of(table_of[input]);
	struct pushed p = { .n = rng_below(key, 0, s->n_max + 1) };

	p.n = rng_below(key, 1, 4) == 0 ? 0 : p.n;
	p.id = calloc(p.n + 1, sizeof(*p.id));
	p.x = calloc(p.n * D + 1, sizeof(*p.x));
	p.scale = calloc(p.n + 1, sizeof(*p.scale));
	p.grad = calloc(p.n + 1, sizeof(*p.grad));
	rng_normal_fill(p.x, p.n * D, own, 0, 1);
	for (size_t i = 0; i < p.n; i++) {
		p.id[i] = rng_below(key, 2 + i, s->rows);
		if (mirrored)
			p.id[i] = s->rows - 1 - p.id[i];
		p.id[i] = id_of(s, p.id[i]);
		p.scale[i] = (float)rng_uniform(own, i);
		p.grad[i] = p.x + i * D;
	}
	return p;
}

static void
free_push(struct pushed *p)
{
	free(p->id);
	free(p->x);
	free(p->scale);
	free(p->grad);
}

static void
table_options(const struct scene *s, struct lookup_table table[TABLES])
{
	static const char *const name[] = { "C1", "C2", "C1.linear" };

	for (size_t t = 0; t < TABLES; t++) {
		table[t] = (struct lookup_table){ .kind = s->tables, .dim = dim_of(t),
			.rows = s->tables == TABLE_EXACT ? EXACT_ROWS : s->rows,
			.init_stddev = 0.1, .seed = 7, .twins = t % 2,
			.optimizer = { .kind = s->kind, .learning_rate = 0.05,
			.initial_accumulator = 0.1, .epsilon = 1e-7, .beta1 = 0.9, .beta2 = 0.999,
			.l2 = 0.01, .ftrl_beta = 1, .ftrl_power = -0.5, .scheduled = 1 } };
		snprintf(table[t].name, sizeof(table[t].name), "%s", name[t]);
	}
}

struct member {
	const struct scene *scene;
	struct lookup *lookup;
	struct barrier *barrier;
	size_t worker, n_workers, slot_begin, slot_end;
	enum rs_status status;
};

static void
push_slot(struct member *m, uint64_t step, size_t slot, struct pushed pushed[INPUTS])
{
	for (size_t i = 0; i < INPUTS; i++) {
		pushed[i] = make_push(m->scene, step, slot, i);
		if (pushed[i].n > 0)
			m->lookup->ops->push(m->lookup, &(struct lookup_push){ .slot = slot,
				.table = table_of[i], .input = i, .ids = pushed[i].id,
				.n = pushed[i].n, .grad = pushed[i].grad,
				.scale = i == 1 ? pushed[i].scale : NULL });
	}
}

static void *
member_run(void *argument)
{
	struct member *m = argument;
	struct pushed pushed[SLOTS][INPUTS];

	for (uint64_t step = 1; step <= STEPS; step++) {
		for (size_t s = m->slot_begin + m->worker; s < m->slot_end; s += m->n_workers)
			push_slot(m, step, s, pushed[s]);
		barrier_wait(m->barrier);
		m->status = m->lookup->ops->commit(m->lookup, &(struct lookup_commit){
			.step = step, .finite = step != m->scene->bad_step,
			.rate_factor = 1.0 / (double)step, .worker = m->worker,
			.n_workers = m->n_workers });
		barrier_wait(m->barrier);
		for (size_t s = m->slot_begin + m->worker; s < m->slot_end; s += m->n_workers)
			for (size_t i = 0; i < INPUTS; i++)
				free_push(&pushed[s][i]);
		if (m->status != RS_OK)
			return NULL;
	}
	return NULL;
}

static struct lookup *
train_plain(const struct scene *s)
{
	struct lookup_table table[TABLES];
	struct barrier barrier;
	struct member m = { .scene = s, .barrier = &barrier, .n_workers = 1,
		.slot_end = s->n_slots };

	table_options(s, table);
	barrier_init(&barrier, 1, 1);
	assert_int_equal(lookup_local_open(&(struct lookup_local_options){ .kernel = &kernel_ref,
		.table = table, .n_tables = TABLES, .n_slots = s->n_slots, .n_inputs = INPUTS,
		.n_threads = 1, .for_training = 1 }, &m.lookup), RS_OK);
	member_run(&m);
	assert_int_equal(m.status, RS_OK);
	return m.lookup;
}

/* Ranks with so many threads each; the lookups of the ranks. */
static void
train_ranks(const struct scene *s, size_t n_ranks, size_t n_threads, struct lookup **out)
{
	struct lookup_table table[TABLES];
	struct thread_ranks ranks;
	struct barrier barrier[RANKS];
	struct member m[RANKS * THREADS];
	pthread_t thread[RANKS * THREADS];

	table_options(s, table);
	thread_ranks_init(&ranks, n_ranks, &kernel_ref);
	for (size_t r = 0; r < n_ranks; r++) {
		barrier_init(&barrier[r], (unsigned)n_threads, 1);
		assert_int_equal(replicated_open(&(struct lookup_local_options){
			.kernel = &kernel_ref, .table = table, .n_tables = TABLES,
			.n_slots = s->n_slots, .n_inputs = INPUTS, .n_threads = n_threads,
			.for_training = 1 }, &ranks.rank[r].base, &out[r]), RS_OK);
		for (size_t w = 0; w < n_threads; w++)
			m[r * n_threads + w] = (struct member){ .scene = s, .lookup = out[r],
				.barrier = &barrier[r], .worker = w, .n_workers = n_threads,
				.slot_begin = tree_rank_begin(s->n_slots, n_ranks, r),
				.slot_end = tree_rank_begin(s->n_slots, n_ranks, r + 1) };
	}
	for (size_t i = 0; i < n_ranks * n_threads; i++)
		assert_int_equal(thread_start(&thread[i], "rank", member_run, &m[i]), RS_OK);
	for (size_t i = 0; i < n_ranks * n_threads; i++)
		thread_join(thread[i]);
	for (size_t i = 0; i < n_ranks * n_threads; i++)
		assert_int_equal(m[i].status, RS_OK);
	thread_ranks_free(&ranks);
}

static void
assert_same_rows(const struct scene *s, struct lookup *a, struct lookup *b)
{
	for (size_t t = 0; t < TABLES; t++)
		for (uint64_t row = 0; row < s->rows; row++) {
			const uint64_t id = id_of(s, row);
			const float *x, *y;
			struct lookup_pull p = { .table = t, .ids = &id, .n = 1, .row = &x };

			assert_int_equal(a->ops->pull(a, &p), RS_OK);
			p.row = &y;
			assert_int_equal(b->ops->pull(b, &p), RS_OK);
			assert_memory_equal(x, y, dim_of(t) * sizeof(*x));
			assert_int_equal(a->ops->touched(a, t, id), b->ops->touched(b, t, id));
		}
}

static void
assert_like_one_process(const struct scene *s, size_t n_ranks, size_t n_threads)
{
	struct lookup *plain = train_plain(s), *l[RANKS];

	train_ranks(s, n_ranks, n_threads, l);
	for (size_t r = 0; r < n_ranks; r++) {
		assert_same_rows(s, plain, l[r]);
		l[r]->ops->close(l[r]);
	}
	plain->ops->close(plain);
}

static void
any_number_of_ranks_has_the_rows_of_one_process(void **state)
{
	(void)state;
	for (size_t ranks = 1; ranks <= RANKS; ranks++)
		for (size_t slots = ranks; slots <= SLOTS; slots++) {
			const struct scene s = { .rows = 50, .n_max = 30, .n_slots = slots,
				.kind = ROW_ADAGRAD };

			assert_like_one_process(&s, ranks, 1 + slots % 2);
		}
}

static void
every_row_optimizer_is_fed_the_same(void **state)
{
	(void)state;
	for (enum row_optimizer_kind kind = ROW_SGD; kind <= ROW_FTRL; kind++)
		assert_like_one_process(&(struct scene){ .rows = 40, .n_max = 20, .n_slots = 7,
			.kind = kind }, 3, 2);
}

static void
many_rows_are_merged_in_pieces(void **state)
{
	(void)state;
	assert_like_one_process(&(struct scene){ .rows = 3001, .n_max = 6000, .n_slots = 4,
		.kind = ROW_ADAGRAD }, 2, 2);
}

static void
twins_that_are_pushed_other_ids_keep_theirs(void **state)
{
	(void)state;
	assert_like_one_process(&(struct scene){ .rows = 30, .n_max = 12, .n_slots = 5,
		.kind = ROW_ADAM, .twins_differ = 1 }, 3, 1);
}

static void
exact_tables_get_the_rows_of_one_process(void **state)
{
	(void)state;
	assert_like_one_process(&(struct scene){ .rows = 3001, .n_max = 6000, .n_slots = 4,
		.kind = ROW_ADAGRAD, .tables = TABLE_EXACT }, 2, 2);
	assert_like_one_process(&(struct scene){ .rows = 30, .n_max = 12, .n_slots = 5,
		.kind = ROW_ADAM, .twins_differ = 1, .tables = TABLE_EXACT }, 3, 1);
}

static void
a_step_without_gradients_or_not_finite_changes_nothing_else(void **state)
{
	(void)state;
	assert_like_one_process(&(struct scene){ .rows = 30, .n_max = 0, .n_slots = 5,
		.kind = ROW_ADAM }, 3, 1);
	assert_like_one_process(&(struct scene){ .rows = 30, .n_max = 9, .n_slots = 5,
		.kind = ROW_ADAM, .bad_step = 2 }, 3, 2);
}

/* An exchange whose other rank gives what this one does, with bytes changed. */
struct liar { struct exchange base; uint64_t seed, n_calls; };

static enum rs_status
liar_gather(struct exchange *e, void *block, const size_t *begin)
{
	struct liar *self = (struct liar *)e;
	const size_t n = begin[1] - begin[0], m = begin[2] - begin[1];
	char *other = (char *)block + begin[1];
	const uint64_t key = rng_key(self->seed, self->n_calls++);

	memset(other, 0, m);
	memcpy(other, block, n < m ? n : m);
	if (self->n_calls == 1 && self->seed % 4 == 0)
		*(uint64_t *)(void *)other += 8 * rng_below(key, 0, 9) - 32;
	for (uint64_t i = 0; self->n_calls == 2 && m > 0 && i < self->seed % 5; i++)
		other[rng_below(key, 2 * i, i % 2 == 0 ? m : (m < 48 ? m : 48))] ^=
			(char)(1 << rng_below(key, 2 * i + 1, 8));
	return RS_OK;
}

static const struct exchange_ops liar_ops = { .name = "liar", .gather = liar_gather };

static enum rs_status
commit_with_liar(uint64_t seed)
{
	const struct scene s = { .rows = 20, .n_max = 5, .n_slots = 2, .kind = ROW_SGD };
	struct liar liar = { .base = { .ops = &liar_ops, .n_ranks = 2 }, .seed = seed };
	struct lookup_table table[TABLES];
	struct pushed pushed[INPUTS];
	struct member m = { .scene = &s };
	enum rs_status status;

	table_options(&s, table);
	assert_int_equal(replicated_open(&(struct lookup_local_options){ .kernel = &kernel_ref,
		.table = table, .n_tables = TABLES, .n_slots = 2, .n_inputs = INPUTS,
		.n_threads = 1, .for_training = 1 }, &liar.base, &m.lookup), RS_OK);
	push_slot(&m, 1 + seed % 3, 0, pushed);
	status = m.lookup->ops->commit(m.lookup, &(struct lookup_commit){ .step = 1, .finite = 1,
		.rate_factor = 1, .n_workers = 1 });
	for (size_t i = 0; i < INPUTS; i++)
		free_push(&pushed[i]);
	m.lookup->ops->close(m.lookup);
	return status;
}

static void
malformed_gradients_are_refused_or_do_no_harm(void **state)
{
	size_t n_refused = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 3000; seed++) {
		const enum rs_status status = commit_with_liar(seed);

		assert_true(status == RS_OK || status == RS_EPROTOCOL);
		assert_true(seed % 20 != 5 || status == RS_OK);
		n_refused += status != RS_OK;
	}
	assert_true(n_refused > 500);
}

struct one_push { struct lookup *lookup; size_t slot; };

static void *
push_one(void *argument)
{
	const struct one_push *one = argument;
	const uint64_t id = 3;
	const float gradient = 1, *grad = &gradient;

	one->lookup->ops->push(one->lookup, &(struct lookup_push){ .slot = one->slot,
		.ids = &id, .n = 1, .grad = &grad });
	one->lookup->ops->commit(one->lookup, &(struct lookup_commit){ .step = 1, .finite = 1,
		.rate_factor = 1, .n_workers = 1 });
	return NULL;
}

static void
L008_both_gradients_of_a_key_that_two_ranks_push_count(void **state)
{
	struct lookup_table table = { .name = "C1", .rows = 5, .dim = 1,
		.optimizer = { .kind = ROW_SGD, .learning_rate = 1 } };
	struct thread_ranks ranks;
	struct lookup *l[2];
	struct one_push one[2];
	pthread_t thread[2];

	(void)state;
	thread_ranks_init(&ranks, 2, &kernel_ref);
	for (size_t r = 0; r < 2; r++)
		assert_int_equal(replicated_open(&(struct lookup_local_options){
			.kernel = &kernel_ref, .table = &table, .n_tables = 1, .n_slots = 2,
			.n_inputs = 1, .n_threads = 1, .for_training = 1 }, &ranks.rank[r].base,
			&l[r]), RS_OK);
	for (size_t r = 0; r < 2; r++) {
		one[r] = (struct one_push){ l[r], r };
		assert_int_equal(thread_start(&thread[r], "rank", push_one, &one[r]), RS_OK);
	}
	for (size_t r = 0; r < 2; r++)
		thread_join(thread[r]);
	for (size_t r = 0; r < 2; r++) {
		const uint64_t id = 3;
		const float *row;

		assert_int_equal(l[r]->ops->pull(l[r], &(struct lookup_pull){ .ids = &id, .n = 1,
			.row = &row }), RS_OK);
		assert_true(*row == -2);
		l[r]->ops->close(l[r]);
	}
	thread_ranks_free(&ranks);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_ranks_has_the_rows_of_one_process),
		cmocka_unit_test(every_row_optimizer_is_fed_the_same),
		cmocka_unit_test(many_rows_are_merged_in_pieces),
		cmocka_unit_test(twins_that_are_pushed_other_ids_keep_theirs),
		cmocka_unit_test(malformed_gradients_are_refused_or_do_no_harm),
		cmocka_unit_test(L008_both_gradients_of_a_key_that_two_ranks_push_count),
		cmocka_unit_test(exact_tables_get_the_rows_of_one_process),
		cmocka_unit_test(a_step_without_gradients_or_not_finite_changes_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
