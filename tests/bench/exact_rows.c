/*
 * An exact table at size: N ids come (dim 4, sgd), a fifth of them goes, and comes back.
 *
 *	tests/bench/exact_rows [N]       default 400,000; the battery: 50000000
 *
 * Every row carries values derived from its id and all are looked at after every part; the
 * memory is compared with what is planned, the rate of lookups with that of rows at random,
 * measured in between by what `bench` measures it with, in a quarter of a gigabyte; and with
 * that of reading the place where each search begins, which is the limit of any search that
 * reads one row at random in memory of this size.
 */
#include <string.h>

#include "base/rng.h"
#include "base/thread.h"
#include "cmd/bench_limit.h"
#include "embed/exact.h"
#include "tests/test.h"

#define DIM      4u
#define AHEAD    16u          /* of reading at random                               */
#define CAP      2.5e9        /* bytes, of the battery                              */
#define N_BATTERY 50000000u
#define PASSES   9

static uint64_t n_ids = 400000;

/* All different: a mixing of numbers that are. */
static uint64_t
id_of(uint64_t i)
{
	const uint64_t id = rng_u64(11, i);

	return id < EXACT_MISSING ? id : id - 2;
}

static float
value_of(uint64_t id, unsigned k)
{
	return (float)((id >> (8 * k)) & 0xffffff);
}

static void
put(struct exact *e, uint64_t begin, uint64_t end, uint32_t when)
{
	struct exact_entry *entry;
	int is_new;

	for (uint64_t i = begin; i < end; i++) {
		assert_int_equal(exact_insert(e, id_of(i), &entry, &is_new), RS_OK);
		assert_true(is_new);
		entry->last = when;
		for (unsigned k = 0; k < DIM; k++)
			exact_row(entry)[k] = value_of(entry->id, k);
	}
}

/* Rows [begin,end) are there and their own, or are not. */
static void
look(const struct exact *e, uint64_t begin, uint64_t end, int there)
{
	for (uint64_t i = begin; i < end; i++) {
		const struct exact_entry *const entry = exact_find(e, id_of(i));

		if ((entry != NULL) != there)
			fail_msg("row %llu is %s", (unsigned long long)i, there ? "lost" : "there");
		for (unsigned k = 0; there && k < DIM; k++)
			if (exact_row(entry)[k] != value_of(entry->id, k))
				fail_msg("row %llu has values of another", (unsigned long long)i);
	}
}

static int
is_old(void *context, const struct exact_entry *entry)
{
	return entry->last < *(const uint32_t *)context;
}

static uint64_t
resident(const char *key)
{
	char line[256];
	unsigned long long kib = 0;
	FILE *f = fopen("/proc/self/status", "r");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			sscanf(line + strlen(key), ": %llu", &kib);
	fclose(f);
	return kib * 1024;
}

/* Lookups a second, as pull does them. */
static double
lookup_rate(const struct exact *e, const uint64_t *id, size_t n)
{
	const double begin = clock_seconds();
	struct exact_entry *found[EXACT_MANY];
	volatile float sink;
	float sum = 0;

	for (size_t i = 0; i < n; i += EXACT_MANY) {
		const size_t m = n - i < EXACT_MANY ? n - i : EXACT_MANY;

		exact_find_many(e, id + i, m, found);
		for (size_t j = 0; j < m; j++)
			sum += exact_row(found[j])[0];
	}
	sink = sum;
	(void)sink;
	return (double)n / (clock_seconds() - begin);
}

static const struct exact_entry *
home_of(const struct exact *e, uint64_t id)
{
	const struct exact_segment *s = &e->segment[exact_segment_of(id)];

	return exact_at(e, s, exact_home(e, s, id));
}

/* Homes a second, without a search. */
static double
home_rate(const struct exact *e, const uint64_t *id, size_t n)
{
	const double begin = clock_seconds();
	volatile uint64_t sink;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			__builtin_prefetch(home_of(e, id[i + AHEAD]), 0, 2);
		sum += home_of(e, id[i])->id;
	}
	sink = sum;
	(void)sink;
	return (double)n / (clock_seconds() - begin);
}

static double
larger(double a, double b)
{
	return a > b ? a : b;
}

/* The best of passes that take turns, about as long as those of random rows: on a machine that
 * others use a longer one is interrupted more. */
static void
rates(const struct exact *e)
{
	const size_t n = 1 << 20, piece = n / 4;
	uint64_t *const id = calloc(n, sizeof(*id));
	double rows, bytes, found = 0, limit = 0, homes = 0;

	assert_non_null(id);
	for (size_t i = 0; i < n; i++)
		id[i] = id_of(rng_below(3, i, n_ids));
	for (int pass = 0; pass < PASSES; pass++) {
		assert_int_equal(bench_memory(DIM, &rows, &bytes), RS_OK);
		limit = larger(limit, rows);
		for (size_t i = 0; i < n; i += piece)
			found = larger(found, lookup_rate(e, id + i, piece));
		assert_int_equal(bench_memory(DIM, &rows, &bytes), RS_OK);
		limit = larger(limit, rows);
		for (size_t i = 0; i < n; i += piece)
			homes = larger(homes, home_rate(e, id + i, piece));
	}
	print_message("lookups %.1f M/s, random rows %.1f M/s: %.2f; homes %.1f M/s: %.2f\n",
		found * 1e-6, limit * 1e-6, found / limit, homes * 1e-6, homes / limit);
	free(id);
}

static void
rows_come_go_and_come_back_at_size(void **state)
{
	const uint64_t fifth = n_ids / 5, before = resident("VmRSS");
	const uint64_t planned = exact_bytes_most(DIM * sizeof(float), n_ids);
	uint32_t now = 2;
	uint64_t gone = 0;
	struct exact e;

	(void)state;
	assert_int_equal(exact_open(&e, 0, EXACT_ROWS, DIM * sizeof(float)), RS_OK);
	put(&e, 0, fifth, 1);
	put(&e, fifth, n_ids, 2);
	look(&e, 0, n_ids, 1);
	print_message("%llu rows: %.3f GB, planned at most %.3f GB, resident %.3f GB more\n",
		(unsigned long long)n_ids, (double)exact_bytes(&e) * 1e-9, (double)planned * 1e-9,
		(double)(resident("VmRSS") - before) * 1e-9);
	for (unsigned s = 0; s < EXACT_SEGMENTS; s++)
		gone += exact_sweep(&e, s, is_old, &now);
	assert_int_equal(gone, fifth);
	look(&e, 0, fifth, 0);
	look(&e, fifth, n_ids, 1);
	put(&e, 0, fifth, 3);
	look(&e, 0, n_ids, 1);
	assert_int_equal(exact_count(&e), n_ids);
	assert_true(exact_bytes(&e) <= planned);
	print_message("after all: %.3f GB, resident at most %.3f GB\n",
		(double)exact_bytes(&e) * 1e-9, (double)resident("VmHWM") * 1e-9);
	if (n_ids == N_BATTERY)
		assert_true((double)(resident("VmHWM") - before) <= CAP);
	rates(&e);
	exact_close(&e);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_go_and_come_back_at_size),
	};

	if (argc > 1)
		n_ids = strtoull(argv[1], NULL, 10);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
