/* The rows of this process: merging, updates, order, threads. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/rng.h"
#include "embed/lookup.h"
#include "embed/row_optimizer.h"
#include "kernel/kernel.h"

#define ROWS   130
#define SLOTS  8
#define INPUTS 3                   /* 0 and 1 use table 0, 2 uses table 1         */
#define N      60                  /* occurrences of an input in a slot           */
#define D_MAX  8

static const size_t table_of[INPUTS] = { 0, 0, 1 };

/* The pushes of one step. */
struct step {
	size_t   n_slots;
	size_t   n[SLOTS][INPUTS];
	uint64_t id[SLOTS][INPUTS][N];
	float    value[SLOTS][INPUTS][N][D_MAX];
	float    scale[SLOTS][INPUTS][N];
	const float *grad[SLOTS][INPUTS][N];
	int      scaled;
};

static struct row_optimizer_settings
optimizer_of(enum row_optimizer_kind kind)
{
	return (struct row_optimizer_settings){
		.kind = kind, .learning_rate = 0.05, .initial_accumulator = 0.1, .epsilon = 1e-7,
		.beta1 = 0.9, .beta2 = 0.999, .l2 = 0.01, .ftrl_beta = 1, .ftrl_l1 = 0.001,
		.ftrl_l2 = 0.01, .ftrl_power = -0.5, .scheduled = 1,
	};
}

/* With rows [begin,end) of the first table. */
static struct lookup *
open_part(enum row_optimizer_kind kind, size_t D, size_t n_slots, size_t n_threads,
	const uint64_t range[2])
{
	struct lookup_table table[2] = {
		{ .name = "C1", .rows = ROWS, .dim = D, .init_stddev = 0.1, .seed = 7,
		  .begin = range[0], .end = range[1] },
		{ .name = "C2", .rows = ROWS / 2, .dim = 1, .init_stddev = 0.1, .seed = 7 },
	};
	struct lookup *l;

	table[0].optimizer = table[1].optimizer = optimizer_of(kind);
	const struct lookup_local_options o = {
		.kernel = &kernel_ref, .table = table, .n_tables = 2, .n_slots = n_slots,
		.n_inputs = INPUTS, .n_threads = n_threads, .for_training = 1,
	};
	assert_int_equal(lookup_local_open(&o, &l), RS_OK);
	return l;
}

static struct lookup *
open_lookup(enum row_optimizer_kind kind, size_t D, size_t n_slots, size_t n_threads)
{
	return open_part(kind, D, n_slots, n_threads, (const uint64_t[2]){ 0, 0 });
}

static void
fill_step(struct step *s, size_t n_slots, uint64_t key, int scaled)
{
	uint64_t c = 0;

	s->n_slots = n_slots;
	s->scaled = scaled;
	for (size_t slot = 0; slot < n_slots; slot++)
		for (size_t i = 0; i < INPUTS; i++) {
			s->n[slot][i] = N - 3 * slot;
			for (size_t j = 0; j < s->n[slot][i]; j++) {
				const uint64_t rows = table_of[i] == 0 ? ROWS : ROWS / 2;
				const uint64_t id = rng_below(key, c++, rows);

				s->id[slot][i][j] = j % 2 ? id % 9 : id;   /* duplicates */
				s->scale[slot][i][j] = (float)rng_uniform(key, c++);
				s->grad[slot][i][j] = s->value[slot][i][j];
				for (size_t d = 0; d < D_MAX; d++)
					s->value[slot][i][j][d] = (float)rng_normal(key, c++);
			}
		}
}

static void
push_step(struct lookup *l, const struct step *s)
{
	for (size_t slot = 0; slot < s->n_slots; slot++)
		for (size_t i = 0; i < INPUTS; i++) {
			const struct lookup_push p = {
				.slot = slot,
				.table = table_of[i],
				.input = i,
				.ids = s->id[slot][i],
				.n = s->n[slot][i],
				.grad = s->grad[slot][i],
				.scale = s->scaled && i == 1 ? s->scale[slot][i] : NULL,
			};

			assert_int_equal(l->ops->push(l, &p), RS_OK);
		}
}

struct call { struct lookup *lookup; struct lookup_commit commit; enum rs_status status; };

static void *
commit_run(void *argument)
{
	struct call *c = argument;

	c->status = c->lookup->ops->commit(c->lookup, &c->commit);
	return NULL;
}

static void
commit_step(struct lookup *l, size_t n_threads, int finite)
{
	struct call call[4];
	pthread_t thread[4];

	for (size_t i = 0; i < n_threads; i++) {
		call[i] = (struct call){ .lookup = l, .commit = { .step = 1, .finite = finite,
			.rate_factor = 0.5, .worker = i, .n_workers = n_threads } };
		assert_int_equal(pthread_create(&thread[i], NULL, commit_run, &call[i]), 0);
	}
	for (size_t i = 0; i < n_threads; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(call[i].status, RS_OK);
	}
}

static const float *
row_of(struct lookup *l, size_t table, uint64_t id)
{
	const float *row;
	const struct lookup_pull p = { .table = table, .ids = &id, .n = 1, .row = &row };

	assert_int_equal(l->ops->pull(l, &p), RS_OK);
	return row;
}

static size_t
rows_of(size_t table)
{
	return table == 0 ? ROWS : ROWS / 2;
}

/* --- a naive double-precision implementation --- */

struct naive { double w[D_MAX], s[2 * D_MAX + 1]; int touched; };

static void
naive_update(
	struct naive *r, const double *gradient, size_t D, const struct row_optimizer_settings *o)
{
	const double rate = o->learning_rate * 0.5;
	double g[D_MAX], squares = 0;

	for (size_t d = 0; d < D; d++) {
		g[d] = gradient[d] + o->l2 * r->w[d];
		squares += g[d] * g[d];
	}
	r->touched = 1;
	if (o->kind == ROW_ROWWISE_ADAGRAD)
		r->s[0] += squares / (double)D;
	if (o->kind == ROW_ADAM)
		r->s[2 * D] += 1;
	for (size_t d = 0; d < D; d++) {
		double *n = &r->s[d], *z = &r->s[D + d];

		if (o->kind == ROW_SGD) {
			r->w[d] -= rate * g[d];
		} else if (o->kind == ROW_ADAGRAD) {
			*n += g[d] * g[d];
			r->w[d] -= rate * g[d] / (sqrt(*n) + o->epsilon);
		} else if (o->kind == ROW_ROWWISE_ADAGRAD) {
			r->w[d] -= rate * g[d] / (sqrt(r->s[0]) + o->epsilon);
		} else if (o->kind == ROW_ADAM) {
			*n = o->beta1 * *n + (1 - o->beta1) * g[d];
			*z = o->beta2 * *z + (1 - o->beta2) * g[d] * g[d];
			r->w[d] -= rate * (*n / (1 - pow(o->beta1, r->s[2 * D])))
			    / (sqrt(*z / (1 - pow(o->beta2, r->s[2 * D]))) + o->epsilon);
		} else {
			const double before = sqrt(*n), after = sqrt(*n + g[d] * g[d]);

			*n += g[d] * g[d];
			*z += g[d] - (after - before) / rate * r->w[d];
			r->w[d] = fabs(*z) <= o->ftrl_l1 ? 0 : -(*z - copysign(o->ftrl_l1, *z))
			    / ((o->ftrl_beta + after) / rate + o->ftrl_l2);
		}
	}
}

static void
naive_step(struct naive (*row)[ROWS], const struct step *s, size_t D,
	const struct row_optimizer_settings *o)
{
	static double sum[2][ROWS][D_MAX];
	static int present[2][ROWS];

	memset(sum, 0, sizeof(sum));
	memset(present, 0, sizeof(present));
	for (size_t slot = 0; slot < s->n_slots; slot++)
		for (size_t i = 0; i < INPUTS; i++)
			for (size_t j = 0; j < s->n[slot][i]; j++) {
				const size_t t = table_of[i];
				const double scale = s->scaled && i == 1 ? s->scale[slot][i][j] : 1;

				present[t][s->id[slot][i][j]] = 1;
				for (size_t d = 0; d < D; d++)
					sum[t][s->id[slot][i][j]][d] += scale *
						s->value[slot][i][j][d];
			}
	for (size_t t = 0; t < 2; t++)
		for (size_t id = 0; id < rows_of(t); id++)
			if (present[t][id])
				naive_update(&row[t][id], sum[t][id], t == 0 ? D : 1, o);
}

static void
naive_init(struct naive (*row)[ROWS], struct lookup *l, size_t D,
	const struct row_optimizer_settings *o)
{
	memset(row, 0, 2 * sizeof(*row));
	for (size_t t = 0; t < 2; t++)
		for (size_t id = 0; id < rows_of(t); id++)
			for (size_t d = 0; d < (t == 0 ? D : 1); d++) {
				row[t][id].w[d] = row_of(l, t, id)[d];
				if (o->kind == ROW_ADAGRAD || o->kind == ROW_FTRL ||
					o->kind == ROW_ROWWISE_ADAGRAD)
					row[t][id].s[d] = o->initial_accumulator;
			}
}

static void
check_against_naive(enum row_optimizer_kind kind, size_t D, size_t n_slots, int scaled)
{
	static struct naive row[2][ROWS];
	static struct step s;
	const struct row_optimizer_settings o = optimizer_of(kind);
	struct lookup *l = open_lookup(kind, D, n_slots, 1);

	naive_init(row, l, D, &o);
	for (uint64_t step = 0; step < 3; step++) {
		fill_step(&s, n_slots, 100 + step, scaled);
		push_step(l, &s);
		commit_step(l, 1, 1);
		naive_step(row, &s, D, &o);
	}
	for (size_t t = 0; t < 2; t++)
		for (size_t id = 0; id < rows_of(t); id++) {
			assert_int_equal(l->ops->touched(l, t, id), row[t][id].touched);
			for (size_t d = 0; d < (t == 0 ? D : 1); d++)
				assert_true(fabs(row_of(l, t, id)[d] - row[t][id].w[d]) < 2e-5);
		}
	l->ops->close(l);
}

static void
every_optimizer_agrees_with_the_naive_one(void **state)
{
	(void)state;
	for (int kind = ROW_SGD; kind <= ROW_FTRL; kind++) {
		check_against_naive((enum row_optimizer_kind)kind, 8, 4, 0);
		check_against_naive((enum row_optimizer_kind)kind, 3, 1, 1);
		check_against_naive((enum row_optimizer_kind)kind, 1, 7, 1);
	}
}

static void
threads_give_the_same_bits(void **state)
{
	static struct step s;

	(void)state;
	for (int kind = ROW_SGD; kind <= ROW_FTRL; kind++) {
		struct lookup *one = open_lookup((enum row_optimizer_kind)kind, 5, 8, 1);

		for (size_t n = 2; n <= 4; n++) {
			struct lookup *many = open_lookup((enum row_optimizer_kind)kind, 5, 8, n);

			for (uint64_t step = 0; step < 3; step++) {
				fill_step(&s, 8, 500 + step, 1);
				if (n == 2) {
					push_step(one, &s);
					commit_step(one, 1, 1);
				}
				push_step(many, &s);
				commit_step(many, n, 1);
			}
			for (size_t t = 0; t < 2; t++)
				for (size_t id = 0; id < rows_of(t); id++)
					assert_memory_equal(row_of(one, t, id), row_of(many, t, id),
					    (t == 0 ? 5 : 1) * sizeof(float));
			many->ops->close(many);
		}
		one->ops->close(one);
	}
}

/* A large table is updated in ranges by several threads at once, and so is its twin. */
static void
large_tables_are_shared_by_threads(void **state)
{
	enum { ROWS_LARGE = 5000, N_LARGE = 20000 };
	static uint64_t id[N_LARGE];
	static const float *grad[2][N_LARGE];
	static const float one[2][4] = { { 1, 2, 3, 4 }, { 5 } };
	struct lookup_table table[2] = { { .name = "T", .rows = ROWS_LARGE, .dim = 4 },
		{ .name = "L", .rows = ROWS_LARGE, .dim = 1 } };
	struct lookup *l;

	(void)state;
	table[0].optimizer = optimizer_of(ROW_SGD);
	table[0].optimizer.l2 = 0;
	table[0].optimizer.learning_rate = 2;    /* times the rate factor: 1 */
	table[1].optimizer = table[0].optimizer;
	const struct lookup_local_options o = { .kernel = &kernel_ref,
		.table = table,
		.n_tables = 2,
		.n_slots = 2,
		.n_inputs = 2,
		.n_threads = 4,
		.for_training = 1 };
	assert_int_equal(lookup_local_open(&o, &l), RS_OK);
	for (size_t j = 0; j < N_LARGE; j++) {
		id[j] = j * 7 % ROWS_LARGE;
		for (size_t t = 0; t < 2; t++)
			grad[t][j] = one[t];
	}
	for (size_t k = 0; k < 4; k++) {
		const size_t slot = k / 2, t = k % 2;
		const struct lookup_push p = { .slot = slot, .table = t, .input = t,
			.ids = id + slot * N_LARGE / 2, .n = N_LARGE / 2, .grad = grad[t] };

		assert_int_equal(l->ops->push(l, &p), RS_OK);
	}
	commit_step(l, 4, 1);
	for (uint64_t r = 0; r < ROWS_LARGE; r++)
		for (size_t t = 0; t < 2; t++)
			for (size_t d = 0; d < table[t].dim; d++)
				assert_true(row_of(l, t, r)[d] == -4.0f * one[t][d]);
	l->ops->close(l);
}

static void
a_step_that_is_not_finite_changes_nothing(void **state)
{
	static struct step s;
	struct lookup *l = open_lookup(ROW_ADAGRAD, 4, 4, 2);
	float before[ROWS][4];

	(void)state;
	for (uint64_t id = 0; id < ROWS; id++)
		memcpy(before[id], row_of(l, 0, id), sizeof(before[id]));
	fill_step(&s, 4, 9, 0);
	push_step(l, &s);
	commit_step(l, 2, 0);
	commit_step(l, 2, 1);            /* and nothing of it is left for the next step */
	for (uint64_t id = 0; id < ROWS; id++) {
		assert_memory_equal(before[id], row_of(l, 0, id), sizeof(before[id]));
		assert_false(l->ops->touched(l, 0, id));
	}
	l->ops->close(l);
}

static void
L033_a_thousand_duplicates_are_one_update(void **state)
{
	static uint64_t id[1000];
	static const float *grad[1000];
	static const float value[2] = { 1e-3f, 100 };
	struct lookup_table table = { .name = "T", .rows = 3, .dim = 1, .init_stddev = 0 };

	(void)state;
	table.optimizer = optimizer_of(ROW_SGD);
	table.optimizer.l2 = 0;
	table.optimizer.learning_rate = 2;
	for (size_t v = 0; v < 2; v++) {
		const struct lookup_local_options o = { .kernel = &kernel_ref,
			.table = &table,
			.n_tables = 1,
			.n_slots = 1,
			.n_inputs = 1,
			.n_threads = 1,
			.for_training = 1 };
		struct lookup *l;

		assert_int_equal(lookup_local_open(&o, &l), RS_OK);
		for (size_t j = 0; j < 1000; j++) {
			id[j] = 2;
			grad[j] = &value[v];
		}
		const struct lookup_push p = { .ids = id, .n = 1000, .grad = grad };
		assert_int_equal(l->ops->push(l, &p), RS_OK);
		commit_step(l, 1, 1);
		assert_true(fabs(row_of(l, 0, 2)[0] / (-1000.0 * value[v]) - 1) < 1e-6);
		assert_true(row_of(l, 0, 1)[0] == 0);
		l->ops->close(l);
	}
}

/* Adagrad tells merged duplicates (one step with the sum) from two steps; L2 is
 * counted once with them. */
static void
duplicates_are_merged_before_the_optimizer_and_l2_counts_once(void **state)
{
	static const float g = 1;
	static const uint64_t id[2] = { 5, 5 };
	const float *grad[2] = { &g, &g };
	struct lookup_table table = {
		.name = "T", .rows = 9, .dim = 1, .init_stddev = 0.5, .seed = 3
	};
	struct lookup *l;

	(void)state;
	table.optimizer = optimizer_of(ROW_ADAGRAD);
	const struct lookup_local_options o = { .kernel = &kernel_ref,
		.table = &table,
		.n_tables = 1,
		.n_slots = 2,
		.n_inputs = 1,
		.n_threads = 1,
		.for_training = 1 };
	assert_int_equal(lookup_local_open(&o, &l), RS_OK);
	const double w = row_of(l, 0, 5)[0], sum = 4 + 0.01 * w;
	for (size_t slot = 0; slot < 2; slot++) {
		const struct lookup_push p = { .slot = slot, .ids = id, .n = 2, .grad = grad };

		assert_int_equal(l->ops->push(l, &p), RS_OK);
	}
	commit_step(l, 1, 1);
	assert_true(fabs(row_of(l, 0, 5)[0] - (w - 0.025 * sum / (sqrt(0.1 + sum * sum) + 1e-7))) <
		1e-6);
	l->ops->close(l);
}

static void
rows_are_a_pure_function_of_seed_name_and_key(void **state)
{
	struct lookup *a = open_lookup(ROW_SGD, 4, 1, 1), *b = open_lookup(ROW_ADAM, 4, 8, 3);

	(void)state;
	for (uint64_t id = 0; id < ROWS; id++)
		assert_memory_equal(row_of(a, 0, id), row_of(b, 0, id), 4 * sizeof(float));
	assert_true(row_of(a, 0, 1)[0] != row_of(a, 0, 2)[0]);
	assert_true(row_of(a, 0, 1)[0] != row_of(a, 1, 1)[0]);
	a->ops->close(a);
	b->ops->close(b);
}

static void
an_id_beyond_the_table_is_an_error(void **state)
{
	struct lookup *l = open_lookup(ROW_SGD, 4, 1, 1);
	const uint64_t id[2] = { ROWS - 1, ROWS };
	const float *row[2];
	struct lookup_pull p = { .ids = id, .n = 2, .row = row };

	(void)state;
	assert_int_equal(l->ops->pull(l, &p), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "got id 130"));
	p.n = 1;
	assert_int_equal(l->ops->pull(l, &p), RS_OK);
	l->ops->close(l);
}

static void
parts_of_a_table_train_as_the_whole_does(void **state)
{
	const uint64_t range[2][2] = { { 0, 71 }, { 71, ROWS } };
	static struct step s;

	(void)state;
	for (enum row_optimizer_kind kind = ROW_SGD; kind <= ROW_FTRL; kind++) {
		struct lookup *whole = open_lookup(kind, 8, SLOTS, 2), *part[2];

		for (size_t k = 0; k < 2; k++)
			part[k] = open_part(kind, 8, SLOTS, 3, range[k]);
		for (uint64_t step = 0; step < 3; step++) {
			fill_step(&s, SLOTS, step, 1);
			push_step(whole, &s);
			commit_step(whole, 2, 1);
			for (size_t k = 0; k < 2; k++) {
				push_step(part[k], &s);
				commit_step(part[k], 1 + k * 2, 1);
			}
		}
		for (uint64_t id = 0; id < ROWS; id++) {
			struct lookup *here = part[id >= 71], *other = part[id < 71];
			const float *row;
			const struct lookup_pull p = { .ids = &id, .n = 1, .row = &row };
			const size_t floats = 8 + lookup_local_slots(whole, 0);

			assert_memory_equal(row_of(whole, 0, id), row_of(here, 0, id), 4 * floats);
			assert_int_equal(whole->ops->touched(whole, 0, id),
				here->ops->touched(here, 0, id));
			assert_int_equal(other->ops->touched(other, 0, id), 0);
			assert_int_equal(other->ops->pull(other, &p), RS_EDATA);
		}
		for (size_t k = 0; k < 2; k++)
			part[k]->ops->close(part[k]);
		whole->ops->close(whole);
	}
}

static void
rows_taken_from_parts_make_the_whole(void **state)
{
	const uint64_t range[2][2] = { { 0, 71 }, { 71, ROWS } };
	static struct step s;
	static float weights[ROWS * 8], slots[ROWS * 17];
	static uint8_t touched[ROWS];
	struct lookup *whole = open_lookup(ROW_ADAM, 8, SLOTS, 1), *part;
	struct lookup *copy = open_lookup(ROW_ADAM, 8, SLOTS, 1);

	(void)state;
	assert_int_equal(lookup_local_slots(whole, 0), 17);
	fill_step(&s, SLOTS, 3, 0);
	push_step(whole, &s);
	commit_step(whole, 1, 1);
	for (size_t k = 0; k < 2; k++) {
		struct lookup_rows r = { .begin = range[k][0], .n = range[k][1] - range[k][0],
			.weights = weights, .slots = slots, .touched = touched };

		part = open_part(ROW_ADAM, 8, SLOTS, 1, range[k]);
		push_step(part, &s);
		commit_step(part, 1, 1);
		assert_int_equal(lookup_local_get(part, &r), RS_OK);
		assert_int_equal(lookup_local_put(copy, &r), RS_OK);
		r.n++;
		assert_int_equal(lookup_local_get(part, &r), RS_EDATA);
		assert_int_equal(lookup_local_put(part, &r), RS_EDATA);
		r.n = 1;
		r.begin = range[k][0] - 1;
		assert_int_equal(lookup_local_get(part, &r), RS_EDATA);
		part->ops->close(part);
	}
	for (uint64_t id = 0; id < ROWS; id++) {
		assert_memory_equal(row_of(whole, 0, id), row_of(copy, 0, id), 25 * 4);
		assert_int_equal(whole->ops->touched(whole, 0, id),
			copy->ops->touched(copy, 0, id));
	}

	/* Without slots they start anew, and a row may become untouched again. */
	const struct lookup_rows r = { .begin = s.id[0][0][0], .n = 1, .weights = weights,
		.touched = (uint8_t[]){ 0 } };

	assert_int_equal(lookup_local_put(copy, &r), RS_OK);
	assert_int_equal(copy->ops->touched(copy, 0, r.begin), 0);
	assert_true(row_of(copy, 0, r.begin)[24] == 0);
	assert_memory_equal(row_of(copy, 0, r.begin), weights, 32);
	whole->ops->close(whole);
	copy->ops->close(copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_optimizer_agrees_with_the_naive_one),
		cmocka_unit_test(threads_give_the_same_bits),
		cmocka_unit_test(large_tables_are_shared_by_threads),
		cmocka_unit_test(a_step_that_is_not_finite_changes_nothing),
		cmocka_unit_test(L033_a_thousand_duplicates_are_one_update),
		cmocka_unit_test(duplicates_are_merged_before_the_optimizer_and_l2_counts_once),
		cmocka_unit_test(rows_are_a_pure_function_of_seed_name_and_key),
		cmocka_unit_test(an_id_beyond_the_table_is_an_error),
		cmocka_unit_test(parts_of_a_table_train_as_the_whole_does),
		cmocka_unit_test(rows_taken_from_parts_make_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
