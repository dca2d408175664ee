/* Ranges of a file read as a file of these bytes, whatever kind the file is. */
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
#include "base/memory.h"
#include "base/rng.h"
#include "data/range.h"
#include "data/source.h"

#define TEXT_SIZE ((size_t)1 << 20)
#define CHUNK     ((size_t)128 << 10)  /* of the reader of files                      */

static char directory[] = "/tmp/source_view_test.XXXXXX";
static char *text;                     /* [text_n] lines                              */
static size_t text_n;

static const char *
path_of(const char *name)
{
	static char path[4][4096];
	static int turn;

	turn = (turn + 1) % 4;
	(void)snprintf(path[turn], sizeof path[turn], "%s/%s", directory, name);
	return path[turn];
}

static void
write_file(const char *name, const void *bytes, size_t n)
{
	assert_int_equal(file_replace(path_of(name), bytes, n), RS_OK);
}

/* Members of 300001 bytes. */
static void
write_gzip(const char *name)
{
	for (size_t at = 0; at < text_n; at += 300001) {
		const size_t n = text_n - at < 300001 ? text_n - at : 300001;
		gzFile file = gzopen(path_of(name), at == 0 ? "wb" : "ab");

		assert_int_equal(gzwrite(file, text + at, (unsigned)n), n);
		assert_int_equal(gzclose(file), Z_OK);
	}
}

static int
setup(void **state)
{
	(void)state;
	if (mkdtemp(directory) == NULL || (text = malloc(TEXT_SIZE + 64)) == NULL)
		return -1;
	for (uint64_t i = 0; text_n < TEXT_SIZE; i++)
		text_n += (size_t)snprintf(text + text_n, 64, "%u\t%llx%s\n", (unsigned)(i % 3),
			(unsigned long long)rng_below(1, i, 1 << 20), i % 2 == 0 ? "\r" : "");
	write_file("plain", text, text_n);
	write_gzip("gz");
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(text);
	return file_remove_tree(directory) == RS_OK ? 0 : -1;
}

/* The bytes of the ranges, and their name. */
static char *
bytes_of(const struct range_list *list, size_t *n)
{
	char *bytes = malloc(text_n + 1);

	*n = 0;
	for (size_t i = 0; i < list->n; i++) {
		const size_t end = list->item[i].end == RANGE_END ? text_n
			: (size_t)list->item[i].end;

		memcpy(bytes + *n, text + list->item[i].begin, end - (size_t)list->item[i].begin);
		*n += end - (size_t)list->item[i].begin;
	}
	return bytes;
}

static struct source *
open_ranges(const char *file, const struct range_list *list)
{
	struct source *s;
	struct buffer name;

	buffer_init(&name, 1 << 20);
	assert_int_equal(range_print(path_of(file), list, &name), RS_OK);
	assert_int_equal(source_open(name.data, &s), RS_OK);
	assert_string_equal(source_name(s), name.data);
	buffer_free(&name);
	return s;
}

static void
assert_reads(struct source *s, const char *bytes, size_t n, size_t step)
{
	char *into = malloc(n + step);
	size_t at = 0, got;

	do {
		assert_int_equal(source_read(s, into + at, step, &got), RS_OK);
		at += got;
		assert_true(at <= n);
	} while (got > 0);
	assert_int_equal(at, n);
	assert_memory_equal(into, bytes, n);
	free(into);
}

static void
assert_ranges_of(const char *file, const struct range_list *list)
{
	static const size_t step[] = { 1013, CHUNK, TEXT_SIZE * 2 };
	size_t n;
	char *bytes = bytes_of(list, &n);

	for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
		struct source *s = open_ranges(file, list);

		assert_reads(s, bytes, n, step[i]);
		source_close(s);
	}
	free(bytes);
}

static void
add(struct range_list *list, uint64_t begin, uint64_t end)
{
	assert_int_equal(range_list_add(list, begin, end), RS_OK);
}

static void
ranges_read_as_a_file_of_these_bytes(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 20; i++) {
		struct range_list list = { .n = 0 };
		uint64_t at = i % 2 == 0 ? 0 : 1 + rng_below(2, i, 5000);

		for (uint64_t k = 0; k < 1 + i % 5 && at + 2 < text_n; k++) {
			const uint64_t end = at + 1 + rng_below(3, 10 * i + k, text_n - at);

			add(&list, at, i % 7 == 6 ? RANGE_END : end);
			if (i % 7 == 6)
				break;
			at = end + 1 + rng_below(4, 10 * i + k, 20000);
		}
		assert_ranges_of("plain", &list);
		assert_ranges_of("gz", &list);
		range_list_free(&list);
	}
}

static void
borders_of_chunks_are_borders_like_others(void **state)
{
	(void)state;
	for (size_t d = 0; d < 3; d++)
		for (size_t e = 0; e < 3; e++) {
			struct range_list list = { .n = 0 };

			add(&list, 0, CHUNK - 1 + d);
			add(&list, 2 * CHUNK - 1 + e, 3 * CHUNK - 1 + d);
			add(&list, 3 * CHUNK + 1 + d, text_n);
			assert_ranges_of("plain", &list);
			assert_ranges_of("gz", &list);
			range_list_free(&list);
		}
}

/* With the access points that were collected while the ranges were read. */
static void
assert_seeks(const char *file, size_t span)
{
	struct range_list list = { .n = 0 };
	struct source_index *index;
	struct source *s;
	size_t n;

	add(&list, 0, 97);
	add(&list, 200000, 450000);
	add(&list, 450001, 450003);
	add(&list, 800000, text_n - 5);
	char *bytes = bytes_of(&list, &n);
	s = open_ranges(file, &list);
	assert_int_equal(source_collect(s, span, 100, &index), RS_OK);
	assert_reads(s, bytes, n, 1 << 16);
	source_close(s);
	s = open_ranges(file, &list);
	for (uint64_t i = 0; i < 100; i++) {
		static const size_t border[] = { 0, 97, 250097, 250099 };
		const size_t at = i < 4 ? border[i] : i == 4 ? n
			: (size_t)rng_below(5, i, n + 1);
		char piece[3000];
		size_t have = 0, got;

		assert_int_equal(source_seek(s, index, at), RS_OK);
		do {
			assert_int_equal(source_read(s, piece + have, sizeof piece - have, &got),
				RS_OK);
			have += got;
		} while (got > 0);
		assert_int_equal(have, n - at < sizeof piece ? n - at : sizeof piece);
		assert_memory_equal(piece, bytes + at, have);
	}
	source_close(s);
	source_index_free(index);
	range_list_free(&list);
	free(bytes);
}

static void
seeking_is_by_the_bytes_of_the_ranges(void **state)
{
	(void)state;
	assert_seeks("plain", 1000);
	assert_seeks("gz", 1);
	assert_seeks("gz", 100000);
	assert_seeks("gz", TEXT_SIZE * 2);
}

static enum rs_status
read_name(const char *file, const char *ranges, int lines)
{
	static char into[TEXT_SIZE * 2];
	char name[4096];
	struct source *s;
	enum rs_status status;
	size_t got = 1;

	(void)snprintf(name, sizeof name, "%s@%s", path_of(file), ranges);
	assert_int_equal(source_open(name, &s), RS_OK);
	if (lines)
		source_expect_lines(s);
	do
		status = source_read(s, into, sizeof into, &got);
	while (status == RS_OK && got > 0);
	source_close(s);
	return status;
}

static void
a_file_that_is_shorter_is_named(void **state)
{
	static const char *const name[] = { "plain", "gz" };
	static const char *const ranges[] = { "0-9999999", "5-9,9999990-9999999", "9999999-" };

	(void)state;
	for (size_t f = 0; f < 2; f++)
		for (size_t r = 0; r < 3; r++) {
			assert_int_equal(read_name(name[f], ranges[r], 0), RS_EDATA);
			assert_non_null(strstr(rs_failure()->text, name[f]));
			assert_non_null(strstr(rs_failure()->text, "wanted byte 99999"));
		}
}

static void
ranges_inside_of_a_line_are_noticed(void **state)
{
	(void)state;
	write_file("lines", "head\r\na\r\nbb\r\nccc", 17);
	assert_int_equal(read_name("lines", "0-6,9-13", 1), RS_OK);
	assert_int_equal(read_name("lines", "13-17", 1), RS_OK);
	assert_int_equal(read_name("lines", "13-", 1), RS_OK);
	assert_int_equal(read_name("lines", "7-9", 1), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "begins at byte 7"));
	assert_int_equal(read_name("lines", "0-6,10-13", 1), RS_EDATA);
	assert_int_equal(read_name("lines", "0-5,9-13", 1), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "ends at byte 5"));
	assert_int_equal(read_name("lines", "0-6,9-12", 1), RS_EDATA);
	assert_int_equal(read_name("lines", "9-12", 0), RS_OK);
	assert_int_equal(read_name("lines", "13-16", 1), RS_EDATA);
}

/* Expands up to two names; what failed is in rs_failure(). */
static enum rs_status
expand(const char *first, const char *second, int may_miss)
{
	char a[4096], b[4096], *item[2] = { a, b }, **path = NULL;
	struct text_list patterns = { .item = item, .n = second == NULL ? 1 : 2 };
	enum rs_status status;
	size_t n = 0;

	(void)snprintf(a, sizeof a, "%s", path_of(first));
	(void)snprintf(b, sizeof b, "%s", second == NULL ? "" : path_of(second));
	status = may_miss ? source_expand_names(&patterns, &path, &n)
		: source_expand(&patterns, &path, &n);
	if (status == RS_OK)
		assert_int_equal(n, patterns.n);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(path[i], item[i]);
		free(path[i]);
	}
	free(path);
	return status;
}

static void
ranges_of_a_file_are_named_once(void **state)
{
	static const struct {
		const char *first, *second;
		int good;
	} row[] = {
		{ "plain@0-97", NULL, 1 },
		{ "plain@0-97", "plain@97-200", 1 },
		{ "plain@0-97,200-300", "plain@0-97,300-400", 1 },  /* a header         */
		{ "plain@0-97,200-300", "gz@0-97,200-300", 1 },
		{ "plain@0-97", "plain@0-97", 0 },
		{ "plain@0-97,200-300", "plain@0-97", 0 },
		{ "plain@0-97,200-300", "plain@0-98,300-400", 0 },
		{ "plain@0-97,200-300", "plain@0-97,250-400", 0 },
		{ "plain@0-97,200-300", "plain@0-97,200-300", 0 },
		{ "plain@5-97,200-300", "plain@5-97,300-400", 0 },
		{ "plain@0-97", "plain", 0 },
		{ "plain", "plain@5000-6000", 0 },
		{ "plain@90-", "plain@100-110", 0 },
		{ "plain@0-90", "plain@90-", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const enum rs_status status = expand(row[i].first, row[i].second, 0);

		if ((status == RS_OK) != row[i].good)
			fail_msg("'%s' and '%s'", row[i].first, row[i].second);
		assert_true(row[i].good || rs_failure()->status == RS_EDATA);
	}
}

static void
a_name_of_no_file_is_no_input(void **state)
{
	(void)state;
	assert_int_equal(expand("absent@0-5", NULL, 0), RS_ENOINPUT);
	assert_int_equal(expand("absent@0-5", NULL, 1), RS_OK);
	assert_int_equal(expand("plain@5-2", NULL, 0), RS_ENOINPUT);
	assert_non_null(strstr(rs_failure()->hint, "plain@BEGIN-END"));
	assert_int_equal(expand("plain@0-5,5-9", NULL, 0), RS_ENOINPUT);
	assert_int_equal(expand("plain@home", NULL, 0), RS_ENOINPUT);
	assert_string_equal(rs_failure()->hint, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_read_as_a_file_of_these_bytes),
		cmocka_unit_test(borders_of_chunks_are_borders_like_others),
		cmocka_unit_test(seeking_is_by_the_bytes_of_the_ranges),
		cmocka_unit_test(a_file_that_is_shorter_is_named),
		cmocka_unit_test(ranges_inside_of_a_line_are_noticed),
		cmocka_unit_test(ranges_of_a_file_are_named_once),
		cmocka_unit_test(a_name_of_no_file_is_no_input),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
