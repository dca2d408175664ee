/* Tables whose weights take two bytes: steps, threads, duplicates, files. */
#include <math.h>

#include "embed/row.h"
#include "embed/stage.h"
#include "tests/embed/rows_bed.h"

static const enum row_storage narrow[] = { ROW_BF16, ROW_FP16 };

static void
read_row(struct lookup *l, uint64_t id, int training, float *out)
{
	const float *row;
	const struct lookup_pull p = { .ids = &id, .n = 1, .row = &row, .training = training };

	assert_int_equal(l->ops->pull(l, &p), RS_OK);
	memcpy(out, row, DIM * sizeof(*out));
}

/* What is in the file behind all steps, saved and loaded once on the way if workers > 1. */
static struct text
train_all(const struct lookup_table *t, size_t workers, const char *path)
{
	const uint64_t half = STEPS / 2 + workers;
	struct lookup *l = make(t, workers, 1);
	struct text out;

	train(l, 1, half, workers);
	if (workers > 1) {
		free(save(l, path, 0).bytes);
		l->ops->close(l);
		l = make(t, workers, 1);
		assert_int_equal(l->ops->load(l, 0, &path, 1), RS_OK);
	}
	train(l, half + 1, STEPS, workers);
	out = save(l, path, 0);
	l->ops->close(l);
	return out;
}

static void
trained_on_any_number_of_threads_and_resumed_it_is_the_same(void **state)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/table", (const char *)*state);
	for (size_t k = 0; k < N_ROWS(kinds); k++)
		for (size_t s = 0; s < N_ROWS(narrow) * 2; s++) {
			const struct lookup_table t = table_of(s & 1 ? TABLE_EXACT : TABLE_HASHED,
				narrow[s / 2], kinds[k]);

			for (size_t workers = 2; workers <= 3; workers++)
				assert_equal_and_free(train_all(&t, 1, path),
					train_all(&t, workers, path));
		}
}

/* Exact and hashed have the same rounding: it depends on the id alone. */
static void
kinds_of_tables_round_alike(void **state)
{
	(void)state;
	for (size_t s = 0; s < N_ROWS(narrow); s++) {
		const struct lookup_table a = table_of(TABLE_EXACT, narrow[s], ROW_ADAM);
		const struct lookup_table b = table_of(TABLE_HASHED, narrow[s], ROW_ADAM);
		struct lookup *x = make(&a, 1, 1), *y = make(&b, 1, 1);

		train(x, 1, STEPS, 1);
		train(y, 1, STEPS, 1);
		for (uint64_t id = 0; id < ROWS; id++) {
			float v[DIM], w[DIM], copy[DIM];

			read_row(x, id, 1, v);
			read_row(y, id, 1, w);
			assert_memory_equal(v, w, sizeof(v));
			memcpy(copy, w, sizeof(copy));
			row_round(narrow[s], copy, DIM);
			assert_memory_equal(copy, w, sizeof(copy));
		}
		x->ops->close(x);
		y->ops->close(y);
	}
}

static void
push_same(struct lookup *l, uint64_t number, size_t n, float gradient)
{
	static const uint64_t id[1000] = { 0 };
	static float g[DIM];
	static const float *grad[1000];

	for (size_t d = 0; d < DIM; d++)
		g[d] = gradient;
	for (size_t i = 0; i < n; i++)
		grad[i] = g;
	const struct lookup_push push = { .ids = id, .n = n, .grad = grad };
	const struct lookup_commit c = { .step = number, .finite = 1, .rate_factor = 1,
		.n_workers = 1 };

	assert_int_equal(l->ops->push(l, &push), RS_OK);
	assert_int_equal(l->ops->commit(l, &c), RS_OK);
}

/* Each is too small for the weight, their sum is not; and so is a single one, on average. */
static void
L033_duplicates_are_summed_before_they_are_rounded(void **state)
{
	(void)state;
	for (size_t s = 0; s < N_ROWS(narrow) * 2; s++) {
		struct lookup_table t = table_of(s & 1 ? TABLE_EXACT : TABLE_HASHED,
			narrow[s / 2], ROW_SGD);
		const double unit = narrow[s / 2] == ROW_BF16 ? 0x1p-8 : 0x1p-11;
		struct lookup *l;
		float w[DIM];

		t.init_stddev = 0;
		t.optimizer.learning_rate = 1;
		t.optimizer.l2 = 0;
		l = make(&t, 1, 1);
		push_same(l, 1, 1000, 1e-3f);
		read_row(l, 0, 1, w);
		for (size_t d = 0; d < DIM; d++)
			assert_true(fabs((double)w[d] + 1) <= unit);
		push_same(l, 2, 1000, 100);
		read_row(l, 0, 1, w);
		for (size_t d = 0; d < DIM; d++)
			assert_true(narrow[s / 2] == ROW_FP16 ? w[d] == -65504 :
				fabs((double)w[d] + 1e5) <= 1e5 * 0x1p-7);
		l->ops->close(l);

		l = make(&t, 1, 1);
		for (uint64_t i = 1; i <= 1000; i++)
			push_same(l, i, 1, 1e-3f);
		read_row(l, 0, 1, w);
		double mean = 0;
		for (size_t d = 0; d < DIM; d++)
			mean -= (double)w[d] / DIM;
		assert_true(fabs(mean - 1) < 40 * unit);
		l->ops->close(l);
	}
}

static void
D2_5_a_huge_gradient_leaves_finite_weights(void **state)
{
	(void)state;
	for (size_t s = 0; s < N_ROWS(narrow); s++)
		for (size_t k = 0; k < N_ROWS(kinds); k++) {
			const struct lookup_table t = table_of(TABLE_HASHED, narrow[s], kinds[k]);
			struct lookup *l = make(&t, 1, 1);
			float w[DIM];

			for (uint64_t i = 1; i <= 5; i++) {
				push_same(l, i, 3, i & 1 ? 1e6f : -1e6f);
				read_row(l, 0, 1, w);
				for (size_t d = 0; d < DIM; d++)
					assert_true(isfinite(w[d]));
			}
			l->ops->close(l);
		}
}

/* From fp32 to two bytes to the nearest, and back as it was. */
static void
a_file_of_another_storage_is_converted(void **state)
{
	char path[256];
	const char *const paths[] = { path };

	snprintf(path, sizeof(path), "%s/table", (const char *)*state);
	for (size_t s = 0; s < N_ROWS(narrow) * 2; s++) {
		const enum table_kind kind = s & 1 ? TABLE_EXACT : TABLE_HASHED;
		const struct lookup_table wide_table = table_of(kind, ROW_FP32, ROW_ADAGRAD);
		const struct lookup_table narrow_table = table_of(kind, narrow[s / 2], ROW_ADAGRAD);
		struct lookup *wide = make(&wide_table, 1, 1), *other = make(&narrow_table, 1, 1);
		struct lookup *back = make(&wide_table, 1, 1), *reader = make(&narrow_table, 1, 0);
		struct text before, after;

		train(wide, 1, STEPS, 1);
		before = save(wide, path, 0);
		assert_int_equal(other->ops->load(other, 0, paths, 1), RS_OK);
		after = save(other, path, 0);
		assert_true(after.n < before.n);
		free(before.bytes);
		free(after.bytes);
		assert_int_equal(back->ops->load(back, 0, paths, 1), RS_OK);
		assert_int_equal(reader->ops->load(reader, 0, paths, 1), RS_OK);
		for (uint64_t id = 0; id < ROWS; id++) {
			float x[DIM], y[DIM], z[DIM], r[DIM];

			read_row(wide, id, 0, x);
			read_row(other, id, 0, y);
			read_row(back, id, 0, z);
			read_row(reader, id, 0, r);
			row_round(narrow[s / 2], x, DIM);
			assert_memory_equal(x, y, sizeof(x));
			assert_memory_equal(x, z, sizeof(x));
			assert_memory_equal(x, r, sizeof(x));
			assert_int_equal(wide->ops->touched(wide, 0, id),
				back->ops->touched(back, 0, id));
		}
		wide->ops->close(wide);
		other->ops->close(other);
		back->ops->close(back);
		reader->ops->close(reader);
	}
}

/* Reads every row of a hashed table. */
static void
read_all(struct lookup *l)
{
	for (uint64_t id = 0; id < ROWS; id++) {
		const float *row;

		assert_int_equal(l->ops->pull(l, &(struct lookup_pull){ .ids = &id, .n = 1,
			.row = &row }), RS_OK);
	}
}

/* The file of what a lookup is three steps behind a load, whose rows were all read at first or
 * not. */
static struct text
go_on(const struct lookup_table *t, const char *from, int reads, const char *path)
{
	struct lookup *l = make(t, 2, 1);

	if (reads && t->kind == TABLE_HASHED)
		read_all(l);
	if (from != NULL)
		assert_int_equal(l->ops->load(l, 0, &from, 1), RS_OK);
	train(l, STEPS + 1, STEPS + 3, 2);
	const struct text out = save(l, path, 0);
	l->ops->close(l);
	return out;
}

/* Rows that nobody has drawn when a file brings them, with slots or without, or brings some of
 * them. */
static void
a_table_that_rows_come_to_is_as_one_that_had_others(void **state)
{
	char path[256], other[256];

	snprintf(path, sizeof(path), "%s/table", (const char *)*state);
	snprintf(other, sizeof(other), "%s/other", (const char *)*state);
	for (size_t k = 0; k < 12 * N_ROWS(kinds); k++) {
		const enum row_storage storage[] = { ROW_FP32, ROW_BF16 };
		const struct lookup_table t = table_of(k & 1 ? TABLE_EXACT : TABLE_HASHED,
			storage[k / 2 % 2], kinds[k / 12]);
		struct lookup_table from = t;

		from.resident = k / 4 % 3 == 1 && !(k & 1) ? 16 << 10 : 0;
		from.spill = *state;
		from.optimizer.kind = k / 4 % 3 == 2 ? ROW_SGD : t.optimizer.kind;
		struct lookup *l = make(&from, 1, 1);

		train(l, 1, STEPS, 1);
		free(save(l, path, 0).bytes);
		l->ops->close(l);
		assert_equal_and_free(go_on(&t, path, 0, other), go_on(&t, path, 1, other));
		assert_equal_and_free(go_on(&t, NULL, 0, other), go_on(&t, NULL, 1, other));
	}
}

static void
weights_take_half_the_memory(void **state)
{
	(void)state;
	for (size_t s = 0; s < N_ROWS(narrow); s++) {
		struct lookup_table t = table_of(TABLE_HASHED, ROW_FP32, ROW_SGD);
		struct lookup *wide, *other;
		uint64_t before, after;

		t.rows = 100000;
		t.dim = 16;
		wide = make(&t, 1, 0);
		t.storage = narrow[s];
		other = make(&t, 1, 0);
		before = wide->ops->bytes(wide);
		after = other->ops->bytes(other);
		assert_int_equal(before - after, t.rows * t.dim * 2);
		wide->ops->close(wide);
		other->ops->close(other);
	}
}

/* A pull in a stage of its own leaves that of the lookup, of the same slot, as it is. */
static void
pullers_with_a_stage_do_not_meet(void **state)
{
	const struct lookup_table t = table_of(TABLE_HASHED, ROW_BF16, ROW_SGD);
	struct lookup *l = make(&t, 1, 0);
	const uint64_t id[] = { 1, 2 };
	const float *row[2];
	struct stage stage;
	float copy[DIM];

	(void)state;
	assert_int_equal(stage_init(&stage, 1, 1), RS_OK);
	assert_int_equal(l->ops->pull(l, &(struct lookup_pull){ .ids = &id[0], .n = 1,
		.row = &row[0] }), RS_OK);
	memcpy(copy, row[0], sizeof(copy));
	assert_int_equal(l->ops->pull(l, &(struct lookup_pull){ .ids = &id[1], .n = 1,
		.row = &row[1], .stage = &stage, .slot = 3 }), RS_OK);
	assert_memory_equal(copy, row[0], sizeof(copy));
	assert_memory_not_equal(row[0], row[1], sizeof(copy));
	stage_free(&stage);
	l->ops->close(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			trained_on_any_number_of_threads_and_resumed_it_is_the_same, tmpdir_make,
			tmpdir_remove),
		cmocka_unit_test(kinds_of_tables_round_alike),
		cmocka_unit_test(L033_duplicates_are_summed_before_they_are_rounded),
		cmocka_unit_test(D2_5_a_huge_gradient_leaves_finite_weights),
		cmocka_unit_test_setup_teardown(a_file_of_another_storage_is_converted, tmpdir_make,
			tmpdir_remove),
		cmocka_unit_test_setup_teardown(
			a_table_that_rows_come_to_is_as_one_that_had_others, tmpdir_make,
			tmpdir_remove),
		cmocka_unit_test(weights_take_half_the_memory),
		cmocka_unit_test(pullers_with_a_stage_do_not_meet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
