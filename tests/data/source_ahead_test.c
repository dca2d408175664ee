/* Gzip that a thread inflates ahead: the same bytes and failures, and an end at any time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/rng.h"
#include "base/thread.h"
#include "data/source.h"

#define TEXT_SIZE ((size_t)3 << 20)
#define FIRST     ((size_t)1 << 20)    /* of two members                              */

static char directory[] = "/tmp/source_ahead_test.XXXXXX", path[4096];
static char *text, *into, *had;        /* [TEXT_SIZE] lines; what was read        */
static unsigned char *packed;
static size_t n_packed;

static void
add_member(const char *from, size_t n)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)from, .avail_in = (uInt)n,
		.next_out = packed + n_packed, .avail_out = (uInt)(TEXT_SIZE - n_packed) };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	n_packed += z.total_out;
	deflateEnd(&z);
}

static int
setup(void **state)
{
	(void)state;
	if (mkdtemp(directory) == NULL || (text = malloc(TEXT_SIZE + 64)) == NULL ||
	    (into = malloc(TEXT_SIZE)) == NULL || (had = malloc(TEXT_SIZE)) == NULL ||
	    (packed = malloc(TEXT_SIZE)) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/rows.gz", directory);
	for (size_t n = 0, i = 0; n < TEXT_SIZE; i++)
		n += (size_t)snprintf(text + n, 64, "%u\t%llx\n", (unsigned)(i % 3),
			(unsigned long long)rng_below(1, i, 1 << 20));
	text[TEXT_SIZE - 1] = '\n';
	add_member(text, FIRST);
	add_member(text + FIRST, TEXT_SIZE - FIRST);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(text);
	free(into);
	free(had);
	free(packed);
	return file_remove_tree(directory) == RS_OK ? 0 : -1;
}

/* In pieces of `step` bytes, up to the end or a failure; *n: bytes before it. */
static enum rs_status
read_all(struct source *s, size_t step, size_t *n)
{
	size_t got = 1;
	enum rs_status status = RS_OK;

	for (*n = 0; status == RS_OK && got > 0; *n += got) {
		const size_t room = TEXT_SIZE - *n < step ? TEXT_SIZE - *n : step;
		char spare;

		status = room > 0 ? source_read(s, into + *n, room, &got)
			: source_read(s, &spare, 1, &got);
	}
	return status;
}

static struct source *
open_ahead(const char *name)
{
	struct source *s;

	assert_int_equal(source_open(name, &s), RS_OK);
	source_read_ahead(s);
	return s;
}

static void
bytes_are_the_same_in_any_pieces(void **state)
{
	static const size_t step[] = { 1 << 10, 65537, FIRST, TEXT_SIZE };
	char view[sizeof path + 64];
	struct source *s;
	size_t n;

	(void)state;
	for (int is_packed = 0; is_packed < 2; is_packed++) {
		assert_int_equal(is_packed ? file_replace(path, packed, n_packed)
			: file_replace(path, text, TEXT_SIZE), RS_OK);
		for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
			s = open_ahead(path);
			assert_int_equal(read_all(s, step[i], &n), RS_OK);
			assert_int_equal(source_is_gzip(s), is_packed);
			assert_int_equal(n, TEXT_SIZE);
			assert_memory_equal(into, text, TEXT_SIZE);
			assert_int_equal(read_all(s, step[i], &n), RS_OK);
			assert_int_equal(n, 0);
			source_close(s);
		}
		snprintf(view, sizeof view, "%s@10-20,2000000-", path);
		s = open_ahead(view);
		assert_int_equal(read_all(s, 4096, &n), RS_OK);
		assert_int_equal(n, 10 + TEXT_SIZE - 2000000);
		assert_memory_equal(into, text + 10, 10);
		assert_memory_equal(into + 10, text + 2000000, n - 10);
		source_close(s);
	}
}

/* Bytes that are left after `cut` or changed at `bad`. */
static void
compare_failure(size_t cut, size_t bad)
{
	char message[sizeof rs_failure()->text];
	struct source *s;
	size_t n[2];

	packed[bad] ^= 0xff;
	assert_int_equal(file_replace(path, packed, cut), RS_OK);
	packed[bad] ^= 0xff;
	assert_int_equal(source_open(path, &s), RS_OK);
	assert_int_equal(read_all(s, 1, &n[0]), RS_EDATA);
	memcpy(had, into, n[0]);
	snprintf(message, sizeof message, "%s", rs_failure()->text);
	source_close(s);
	s = open_ahead(path);
	assert_int_equal(read_all(s, 70000, &n[1]), RS_EDATA);
	assert_string_equal(rs_failure()->text, message);
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(into, had, n[1]);
	assert_int_equal(read_all(s, 70000, &n[1]), RS_EDATA);
	assert_string_equal(rs_failure()->text, message);
	assert_int_equal(n[1], 0);
	source_close(s);
}

static void
a_failure_is_behind_the_bytes_before_it(void **state)
{
	(void)state;
	compare_failure(n_packed / 2, n_packed - 1);   /* cut off */
	compare_failure(n_packed, n_packed - 8);       /* the CRC at the end */
	compare_failure(n_packed, n_packed / 3);
}

static void
one_that_reads_no_further_is_closed(void **state)
{
	struct source *s;
	size_t got;

	(void)state;
	assert_int_equal(file_replace(path, packed, n_packed), RS_OK);
	s = open_ahead(path);
	source_close(s);
	s = open_ahead(path);
	assert_int_equal(source_read(s, into, 1, &got), RS_OK);
	assert_int_equal(got, 1);
	source_close(s);
}

static void
one_whose_thread_waits_for_a_pipe_is_closed(void **state)
{
	char pipe[sizeof path + 8];
	struct source *s;
	size_t got;

	(void)state;
	snprintf(pipe, sizeof pipe, "%s/pipe", directory);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	const int fd = open(pipe, O_RDWR);
	/* more than one block of text, and less than the pipe takes */
	assert_int_equal(fcntl(fd, F_SETPIPE_SZ, 1 << 19), 1 << 19);
	assert_int_equal(write(fd, packed, n_packed / 3), n_packed / 3);
	s = open_ahead(pipe);
	assert_int_equal(source_read(s, into, 1000, &got), RS_OK);
	assert_int_equal(got, 1000);
	assert_memory_equal(into, text, 1000);
	const double start = clock_seconds();
	source_close(s);
	assert_true(clock_seconds() - start < 5);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_behind_the_bytes_before_it),
		cmocka_unit_test(bytes_are_the_same_in_any_pieces),
		cmocka_unit_test(one_that_reads_no_further_is_closed),
		cmocka_unit_test(one_whose_thread_waits_for_a_pipe_is_closed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
