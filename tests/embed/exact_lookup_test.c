/*
 * A lookup of an exact table against one of a hashed table in which every id has its own
 * bucket: the same ids give the same rows, to the bit.
 */
#include <string.h>

#include "base/rng.h"
#include "embed/exact.h"
#include "embed/lookup.h"
#include "kernel/kernel.h"
#include "tests/test.h"

#define N_IDS   3000u
#define N       150u          /* occurrences in a slot                              */
#define N_SLOTS 4u
#define DIM     5u

static const enum row_optimizer_kind kinds[] = {
	ROW_SGD, ROW_ADAGRAD, ROW_ROWWISE_ADAGRAD, ROW_ADAM, ROW_FTRL
};

/* Spread over all segments, as fingerprints are, and in the order of i. */
static uint64_t
spread(uint64_t i)
{
	return i * (UINT64_MAX / N_IDS);
}

static struct lookup *
make(enum table_kind kind, enum row_optimizer_kind optimizer, size_t n_threads)
{
	const struct lookup_table table = {
		.name = "C1", .kind = kind, .rows = kind == TABLE_EXACT ? EXACT_ROWS : N_IDS,
		.dim = DIM, .optimizer = { .kind = optimizer, .learning_rate = 0.1,
			.initial_accumulator = 0.1, .epsilon = 1e-7, .beta1 = 0.9, .beta2 = 0.999,
			.l2 = 1e-3, .ftrl_beta = 1, .ftrl_power = 0.5 },
	};
	const struct lookup_local_options options = {
		.kernel = &kernel_ref, .table = &table, .n_tables = 1, .n_slots = N_SLOTS,
		.n_inputs = 1, .n_threads = n_threads, .for_training = 1,
	};
	struct lookup *l;

	assert_int_equal(lookup_local_open(&options, &l), RS_OK);
	return l;
}

struct side {
	struct lookup *lookup;
	int is_exact;
	size_t n_workers;
	uint64_t id[N_SLOTS][N];
	const float *row[N_SLOTS][N];
	const float *grad[N_SLOTS][N];
};

static void
pull(struct side *s, size_t slot, int training)
{
	const struct lookup_pull p = { .slot = slot, .ids = s->id[slot], .n = N,
		.row = s->row[slot], .training = training };

	assert_int_equal(s->lookup->ops->pull(s->lookup, &p), RS_OK);
}

static void
step(struct side *s, uint64_t number, float grad[N_SLOTS][N][DIM])
{
	for (size_t slot = 0; slot < N_SLOTS; slot++) {
		for (size_t i = 0; i < N; i++) {
			const uint64_t id = rng_below(number, slot * N + i, 60) *
				rng_below(number, 7000 + slot * N + i, N_IDS / 60);

			s->id[slot][i] = s->is_exact ? spread(id) : id;
			s->grad[slot][i] = grad[slot][i];
		}
		pull(s, slot, 1);
	}
}

static void
commit(struct side *s, uint64_t number)
{
	for (size_t slot = 0; slot < N_SLOTS; slot++) {
		const struct lookup_push p = { .slot = slot, .ids = s->id[slot], .n = N,
			.grad = s->grad[slot] };

		assert_int_equal(s->lookup->ops->push(s->lookup, &p), RS_OK);
	}
	for (size_t i = 0; i < s->n_workers; i++) {
		const struct lookup_commit c = { .step = number, .finite = 1, .rate_factor = 1,
			.decay = number % 10 == 0 ? 0.9 : 0, .worker = i,
			.n_workers = s->n_workers };

		assert_int_equal(s->lookup->ops->commit(s->lookup, &c), RS_OK);
	}
}

static void
compare(struct side *a, struct side *b)
{
	for (size_t slot = 0; slot < N_SLOTS; slot++)
		for (size_t i = 0; i < N; i++)
			assert_memory_equal(a->row[slot][i], b->row[slot][i], DIM * sizeof(float));
}

static void
train(struct side *exact, struct side *hashed, uint64_t begin, uint64_t end)
{
	static float grad[N_SLOTS][N][DIM];

	for (uint64_t number = begin; number < end; number++) {
		rng_normal_fill(&grad[0][0][0], N_SLOTS * N * DIM, number, 0, 0.1f);
		step(exact, number, grad);
		step(hashed, number, grad);
		compare(exact, hashed);
		commit(exact, number);
		commit(hashed, number);
	}
}

static void
rows_are_those_of_a_hashed_table_without_collisions(void **state)
{
	static struct side exact, hashed;

	(void)state;
	for (size_t k = 0; k < N_ROWS(kinds); k++)
		for (size_t n_workers = 1; n_workers <= 3; n_workers++) {
			exact = (struct side){ .is_exact = 1, .n_workers = n_workers,
				.lookup = make(TABLE_EXACT, kinds[k], n_workers) };
			hashed = (struct side){ .n_workers = 1,
				.lookup = make(TABLE_HASHED, kinds[k], 1) };
			train(&exact, &hashed, 1, 40);
			exact.lookup->ops->close(exact.lookup);
			hashed.lookup->ops->close(hashed.lookup);
		}
}

static void
reading_never_inserts_and_gives_zeros(void **state)
{
	static struct side s;
	static const float zero[DIM];
	const uint64_t before = 77;
	uint64_t bytes;

	(void)state;
	s = (struct side){ .is_exact = 1, .n_workers = 1, .lookup = make(TABLE_EXACT, ROW_SGD, 1) };
	for (size_t i = 0; i < N; i++)
		s.id[0][i] = spread(i * 3 + before);
	bytes = s.lookup->ops->bytes(s.lookup);
	pull(&s, 0, 0);
	for (size_t i = 0; i < N; i++) {
		assert_memory_equal(s.row[0][i], zero, sizeof(zero));
		assert_false(s.lookup->ops->touched(s.lookup, 0, s.id[0][i]));
	}
	assert_int_equal(s.lookup->ops->bytes(s.lookup), bytes);
	s.id[0][0] = EXACT_EMPTY;
	const struct lookup_pull p = { .ids = s.id[0], .n = 1, .row = s.row[0] };
	assert_int_equal(s.lookup->ops->pull(s.lookup, &p), RS_EDATA);
	s.lookup->ops->close(s.lookup);
}

static void
save(struct lookup *l, const char *path)
{
	struct file_writer w;

	assert_int_equal(file_writer_open(&w, path), RS_OK);
	assert_int_equal(l->ops->save(l, 0, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
}

static void
saved_and_loaded_it_goes_on_as_if_it_had_not_stopped(void **state)
{
	static struct side exact, hashed;
	char path[256];
	const char *paths[] = { path };

	snprintf(path, sizeof(path), "%s/rows", (const char *)*state);
	for (size_t k = 0; k < N_ROWS(kinds); k++) {
		exact = (struct side){ .is_exact = 1, .n_workers = 1,
			.lookup = make(TABLE_EXACT, kinds[k], 1) };
		hashed = (struct side){ .n_workers = 1,
			.lookup = make(TABLE_HASHED, kinds[k], 1) };
		train(&exact, &hashed, 1, 20);
		save(exact.lookup, path);
		train(&exact, &hashed, 20, 23);
		exact.lookup->ops->close(exact.lookup);
		hashed.lookup->ops->close(hashed.lookup);
		exact.lookup = make(TABLE_EXACT, kinds[k], 1);
		hashed.lookup = make(TABLE_HASHED, kinds[k], 1);
		train(&exact, &hashed, 100, 110);
		assert_int_equal(exact.lookup->ops->load(exact.lookup, 0, paths, 1), RS_OK);
		hashed.lookup->ops->close(hashed.lookup);
		hashed.lookup = make(TABLE_HASHED, kinds[k], 1);
		exact.n_workers = 1;
		struct side again = { .is_exact = 1, .n_workers = 1,
			.lookup = make(TABLE_EXACT, kinds[k], 1) };
		train(&again, &hashed, 1, 20);
		train(&exact, &hashed, 20, 40);
		again.lookup->ops->close(again.lookup);
		exact.lookup->ops->close(exact.lookup);
		hashed.lookup->ops->close(hashed.lookup);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_those_of_a_hashed_table_without_collisions),
		cmocka_unit_test(reading_never_inserts_and_gives_zeros),
		cmocka_unit_test_setup_teardown(
			saved_and_loaded_it_goes_on_as_if_it_had_not_stopped, tmpdir_make,
			tmpdir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
