/* A loader that finds no memory. */
#include "tests/allocations.h"
#include "tests/data/loader_bed.h"
#include "tests/test.h"

static void
an_opening_that_finds_no_memory_leaves_none(void **state)
{
	struct bed bed;

	(void)state;
	if (!ALLOCATIONS_CAN_COUNT)
		SKIP_BECAUSE("allocations cannot be counted in this build");
	bed_write_three();
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		size_t failed = 0;

		bed_make(&bed, "a.tsv, b.tsv, c.tsv", "");
		bed.options.shuffle = shuffle;
		bed.options.n_threads = 2;
		/* What is kept for ever is made by the first. */
		bed_open(&bed);
		loader_close(bed.loader);
		for (;; failed++) {
			const size_t before = allocations_live();

			allocations_fail_at(failed + 1);
			const enum rs_status status = loader_open(&bed.options, &bed.loader);
			allocations_fail_at(0);
			if (status == RS_OK)
				break;
			bed.loader = NULL;
			if (status != RS_ERESOURCE)
				fail_msg("without allocation %zu: %s", failed + 1,
					rs_failure()->text);
			if (allocations_live() != before)
				fail_msg("without allocation %zu %zu blocks are left", failed + 1,
					allocations_live() - before);
		}
		assert_true(failed > 50);
		bed_free(&bed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_opening_that_finds_no_memory_leaves_none),
	};

	return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
