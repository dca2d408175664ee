/* A loader resumed at any batch goes on as if it had never stopped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/rng.h"
#include "tests/data/loader_bed.h"

/* ---- resuming ------------------------------------------------------------ */

static void
assert_resumes_anywhere(struct bed *bed)
{
	static struct trace whole, rest;

	bed_run(bed, &whole);
	assert_true(whole.n > 4);
	for (uint64_t i = 0; i < 12; i++) {
		const size_t at = i == 0 ? whole.n - 1 : (size_t)rng_below(21, i, whole.n);

		bed_open(bed);
		assert_int_equal(loader_resume(bed->loader, &whole.position[at]), RS_OK);
		bed_take(bed->loader, &rest, MAX_BATCHES);
		bed_assert_same(&whole, at + 1, &rest);
	}
}

static void
resuming_goes_on_with_the_same_batches(void **state)
{
	struct bed bed;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "");
	assert_resumes_anywhere(&bed);
	bed.options.shuffle = 0;
	assert_resumes_anywhere(&bed);
	bed.options.batch_size = ROWS / 3;
	assert_resumes_anywhere(&bed);
	bed_free(&bed);
}

static void
resuming_is_exact_with_rows_left_out(void **state)
{
	static struct trace whole, head, rest;
	struct bed bed;

	(void)state;
	bed_write_rows("bad", 0, ROWS, 7, 5);
	bed_make(&bed, "bad", "on_bad_row = skip");
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		bed.options.shuffle = shuffle;
		assert_resumes_anywhere(&bed);
		bed_run(&bed, &whole);
		for (size_t at = 1; at < whole.n; at += 5) {
			bed_open(&bed);
			bed_take(bed.loader, &head, at);
			bed_open(&bed);
			assert_int_equal(loader_resume(bed.loader, &head.position[at - 1]), RS_OK);
			bed_take(bed.loader, &rest, MAX_BATCHES);
			/* what both parts counted is what one run counts */
			assert_int_equal(head.tally.read + rest.tally.read, whole.tally.read);
			assert_int_equal(head.tally.skipped + rest.tally.skipped,
				whole.tally.skipped);
			assert_int_equal(head.tally.zero_weight + rest.tally.zero_weight,
				whole.tally.zero_weight);
		}
	}
	bed_free(&bed);
}

/* A run that a signal stops at once saves the position of a loader that gave nothing. */
static void
position_before_the_first_batch_can_be_resumed(void **state)
{
	static struct trace    whole, rest;
	struct loader_position start;
	struct bed             bed;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "");
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		bed.options.shuffle = shuffle;
		bed_run(&bed, &whole);
		bed_open(&bed);
		loader_position(bed.loader, &start);
		bed_open(&bed);
		assert_int_equal(loader_resume(bed.loader, &start), RS_OK);
		bed_take(bed.loader, &rest, MAX_BATCHES);
		bed_assert_same(&whole, 0, &rest);
	}
	bed_free(&bed);
}

static void
command_is_resumed_by_skipping_what_was_read(void **state)
{
	static struct trace whole;
	char command[4200];
	struct bed bed;

	(void)state;
	bed_write_rows("from", 0, ROWS, 0, 0);
	(void)snprintf(command, sizeof command, "run cat %s", bed_path("from"));
	bed_make(&bed, command, "header = no");
	bed.options.epochs = 1;
	assert_resumes_anywhere(&bed);
	bed_run(&bed, &whole);
	bed_write_rows("from", 1, ROWS, 0, 0);
	bed_open(&bed);
	assert_int_equal(loader_resume(bed.loader, &whole.position[3]), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "changed"));
	bed_free(&bed);
}

static void
changed_file_is_refused_by_name(void **state)
{
	static struct trace whole;
	struct bed bed;

	(void)state;
	bed_write_rows("one", 0, ROWS, 0, 0);
	bed_make(&bed, "one", "");
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		bed_write_rows("one", 0, ROWS, 0, 0);
		bed.options.shuffle = shuffle;
		bed_run(&bed, &whole);
		bed_write_rows("one", 0, ROWS, 0, 9);
		bed_open(&bed);
		assert_int_equal(loader_resume(bed.loader, &whole.position[6]), RS_EDATA);
		assert_non_null(strstr(rs_failure()->text, "/one'"));
		/* between two epochs the whole file counts */
		bed_open(&bed);
		assert_int_equal(loader_resume(bed.loader, &whole.position[whole.n / 2 - 1]),
			RS_EDATA);
	}
	bed_free(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resuming_goes_on_with_the_same_batches),
		cmocka_unit_test(resuming_is_exact_with_rows_left_out),
		cmocka_unit_test(position_before_the_first_batch_can_be_resumed),
		cmocka_unit_test(command_is_resumed_by_skipping_what_was_read),
		cmocka_unit_test(changed_file_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
