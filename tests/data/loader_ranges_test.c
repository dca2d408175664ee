/* A loader over ranges of files gives what one over files of these bytes gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/rng.h"
#include "tests/data/loader_bed.h"

#define SIZE ((size_t)ROWS * ROW_MAX)

static const char header[] = "label\tid\trow\tlist\tweight\n";
static const char by_name[] = "header = yes\n";
static char big[SIZE + 64], part[SIZE];    /* a file, and what the ranges have of it     */
static size_t big_n, part_n;
static char range[256];                    /* "0-26,500-900"                             */

/* Offset of the begin of line i behind the header. */
static size_t
line_begin(size_t i)
{
	const char *at = big;

	for (size_t k = 0; k <= i; k++)
		at = strchr(at, '\n') + 1;
	return (size_t)(at - big);
}

static void
take_part(size_t begin, size_t end)
{
	memcpy(part + part_n, big + begin, end - begin);
	part_n += end - begin;
	(void)snprintf(range + strlen(range), sizeof range - strlen(range), "%s%zu-%zu",
		range[0] == '\0' ? "" : ",", begin, end);
}

/* The header, and rows of two places. */
static void
make_files(void)
{
	memcpy(big, header, sizeof header - 1);
	big_n = sizeof header - 1;
	big_n += bed_make_rows(big + big_n, 0, ROWS, 0, 0);
	big[big_n] = '\0';
	part_n = 0;
	range[0] = '\0';
	take_part(0, sizeof header - 1);
	take_part(line_begin(100), line_begin(420));
	take_part(line_begin(500), line_begin(800));
	bed_write_text("big", big, big_n);
	bed_write_text("part", part, part_n);
	gzFile file = gzopen(bed_path("big.gz"), "wb");
	assert_int_equal(gzwrite(file, big, 9000), 9000);
	assert_int_equal(gzclose(file), Z_OK);
	file = gzopen(bed_path("big.gz"), "ab");
	assert_int_equal(gzwrite(file, big + 9000, (unsigned)big_n - 9000), big_n - 9000);
	assert_int_equal(gzclose(file), Z_OK);
}

static void
make_bed(struct bed *bed, const char *file)
{
	char name[512];

	(void)snprintf(name, sizeof name, "\"%s@%s\"", file, range);
	bed_make(bed, name, by_name);
}

static void
ranges_give_the_rows_of_a_file_of_their_bytes(void **state)
{
	static const char *const name[] = { "big", "big.gz" };
	static struct trace want, have;
	struct loader_file file;
	struct bed bed;

	(void)state;
	make_files();
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		bed_make(&bed, "part", by_name);
		bed.options.shuffle = shuffle;
		bed_run(&bed, &want);
		file = *loader_file(bed.loader, 0);
		assert_int_equal(file.tally.read, 620);
		bed_free(&bed);
		for (size_t i = 0; i < 2; i++) {
			make_bed(&bed, name[i]);
			bed.options.shuffle = shuffle;
			bed_run(&bed, &have);
			bed_assert_same(&want, 0, &have);
			assert_int_equal(loader_file(bed.loader, 0)->size, part_n);
			assert_int_equal(loader_file(bed.loader, 0)->content_hash,
				file.content_hash);
			assert_int_equal(loader_file(bed.loader, 0)->tally.read, 620);
			assert_non_null(strstr(loader_file(bed.loader, 0)->path, range));
			bed_free(&bed);
		}
	}
}

static void
resuming_inside_of_ranges_goes_on_with_the_same_batches(void **state)
{
	static const char *const name[] = { "big", "big.gz" };
	static struct trace whole, rest;
	struct bed bed;

	(void)state;
	make_files();
	for (size_t i = 0; i < 4; i++) {
		make_bed(&bed, name[i % 2]);
		bed.options.shuffle = i >= 2;
		bed_run(&bed, &whole);
		assert_int_equal(whole.status, RS_OK);
		for (size_t at = 0; at < whole.n; at += 3) {
			bed_open(&bed);
			assert_int_equal(loader_resume(bed.loader, &whole.position[at]), RS_OK);
			bed_take(bed.loader, &rest, MAX_BATCHES);
			bed_assert_same(&whole, at + 1, &rest);
		}
		bed_free(&bed);
	}
}

static void
append(const char *name, const char *text)
{
	FILE *f = fopen(bed_path(name), "a");

	assert_true(f != NULL && fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* Logs go on growing while their older rows are trained. */
static void
a_file_may_grow_behind_its_ranges(void **state)
{
	static struct trace want, have;
	struct bed bed;

	(void)state;
	make_files();
	make_bed(&bed, "big");
	bed_run(&bed, &want);
	bed_open(&bed);
	append("big", "1\tid1\t1\tt1\t1\n");
	bed_take(bed.loader, &have, MAX_BATCHES);
	bed_assert_same(&want, 0, &have);
	bed_open(&bed);
	assert_int_equal(loader_resume(bed.loader, &want.position[5]), RS_OK);
	bed_free(&bed);
}

static void
rows_of_ranges_that_change_are_noticed(void **state)
{
	static struct trace t;
	struct bed bed;
	FILE *f;

	(void)state;
	make_files();
	make_bed(&bed, "big");
	bed_open(&bed);
	f = fopen(bed_path("big"), "r+");
	assert_true(f != NULL && fseek(f, (long)line_begin(700), SEEK_SET) == 0);
	assert_true(fputc(big[line_begin(700)] == '0' ? '1' : '0', f) != EOF);
	assert_int_equal(fclose(f), 0);
	bed_take(bed.loader, &t, MAX_BATCHES);
	assert_int_equal(t.status, RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "changed while it was being read"));

	bed_write_text("big", big, line_begin(600));
	loader_close(bed.loader);
	bed.loader = NULL;
	assert_int_equal(loader_open(&bed.options, &bed.loader), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, range));
	assert_non_null(strstr(rs_failure()->text, "wanted byte"));
	bed.loader = NULL;
	bed_free(&bed);
}

static void
ranges_share_a_header_and_nothing_else(void **state)
{
	char train[512];
	static struct trace t;
	struct bed bed;

	(void)state;
	make_files();
	(void)snprintf(train, sizeof train, "\"big@0-%zu,%zu-%zu\",\"big@0-%zu,%zu-%zu\"",
		line_begin(0), line_begin(3), line_begin(50), line_begin(0), line_begin(50),
		line_begin(90));
	bed_make(&bed, train, by_name);
	bed_run(&bed, &t);
	assert_int_equal(t.status, RS_OK);
	assert_int_equal(t.tally.read, 2 * 87);
	assert_int_equal(loader_file(bed.loader, 1)->tally.read, 40);
	bed_free(&bed);
	/* the same without a header line: the first range is a row */
	bed_write_text("rows", big + sizeof header - 1, big_n - (sizeof header - 1));
	(void)snprintf(train, sizeof train, "\"rows@0-%zu,%zu-%zu\",\"rows@0-%zu,%zu-%zu\"",
		line_begin(1) - line_begin(0), line_begin(3) - line_begin(0),
		line_begin(50) - line_begin(0), line_begin(1) - line_begin(0),
		line_begin(50) - line_begin(0), line_begin(90) - line_begin(0));
	bed_make(&bed, train, "header = no\n");
	assert_int_equal(loader_open(&bed.options, &bed.loader), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "not the header"));
	bed.loader = NULL;
	bed_free(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_give_the_rows_of_a_file_of_their_bytes),
		cmocka_unit_test(resuming_inside_of_ranges_goes_on_with_the_same_batches),
		cmocka_unit_test(a_file_may_grow_behind_its_ranges),
		cmocka_unit_test(rows_of_ranges_that_change_are_noticed),
		cmocka_unit_test(ranges_share_a_header_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
