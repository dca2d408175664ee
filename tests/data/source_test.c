/* Byte sources: every kind gives the same bytes, and says what is wrong where. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/rng.h"
#include "data/source.h"

#define TEXT_SIZE ((size_t)3 << 20)

static char directory[] = "/tmp/source_test.XXXXXX";
static char *text;             /* [TEXT_SIZE] lines that compress about four times */

static int
setup(void **state)
{
	size_t n = 0;

	(void)state;
	if (mkdtemp(directory) == NULL || (text = malloc(TEXT_SIZE + 64)) == NULL)
		return -1;
	for (uint64_t i = 0; n < TEXT_SIZE; i++)
		n += (size_t)snprintf(text + n, 64, "%u\t%llx\titem%u\n", (unsigned)(i % 3),
			(unsigned long long)rng_below(1, i, 1 << 20),
			(unsigned)rng_below(2, i, 500));
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(text);
	return file_remove_tree(directory) == RS_OK ? 0 : -1;
}

static const char *
path_of(const char *name)
{
	static char path[2][4096];
	static int turn;

	turn = !turn;
	(void)snprintf(path[turn], sizeof path[turn], "%s/%s", directory, name);
	return path[turn];
}

static void
write_file(const char *name, const void *bytes, size_t n)
{
	assert_int_equal(file_replace(path_of(name), bytes, n), RS_OK);
}

/* Appends one gzip member. */
static size_t
add_member(unsigned char *out, size_t at, size_t room, const char *from, size_t n)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)from, .avail_in = (uInt)n,
		.next_out = out + at, .avail_out = (uInt)room };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	(void)deflateEnd(&z);
	return at + (size_t)z.total_out;
}

/* Members of 1 MiB, nothing, 1 byte, the rest. */
static size_t
write_members(const char *name, const char *tail, size_t n_tail)
{
	unsigned char *out = malloc(TEXT_SIZE);
	size_t n = 0;

	n = add_member(out, n, TEXT_SIZE - n, text, 1 << 20);
	n = add_member(out, n, TEXT_SIZE - n, text, 0);
	n = add_member(out, n, TEXT_SIZE - n, text + (1 << 20), 1);
	n = add_member(out, n, TEXT_SIZE - n, text + (1 << 20) + 1, TEXT_SIZE - (1 << 20) - 1);
	memcpy(out + n, tail, n_tail);
	n += n_tail;
	write_file(name, out, n);
	free(out);
	return n;
}

/* Reads to the end in pieces of about `step` bytes. */
static enum rs_status
read_all(struct source *s, char *into, size_t room, size_t step, size_t *n)
{
	size_t got;

	*n = 0;
	do {
		RS_TRY(source_read(s, into + *n, step < room - *n ? step : room - *n, &got));
		*n += got;
	} while (got > 0);
	return RS_OK;
}

static void
assert_reads_text(struct source *s, size_t step)
{
	char *into = malloc(TEXT_SIZE + 1);
	size_t n;

	assert_int_equal(read_all(s, into, TEXT_SIZE + 1, step, &n), RS_OK);
	assert_int_equal(n, TEXT_SIZE);
	assert_memory_equal(into, text, TEXT_SIZE);
	free(into);
	source_close(s);
}

static enum rs_status
read_status(const char *name)
{
	char *into = malloc(2 * TEXT_SIZE);
	struct source *s;
	enum rs_status status;
	size_t n;

	assert_int_equal(source_open(path_of(name), &s), RS_OK);
	status = read_all(s, into, 2 * TEXT_SIZE, 1 << 16, &n);
	source_close(s);
	free(into);
	return status;
}

static void
plain_file_is_read_whole(void **state)
{
	struct source *s;

	(void)state;
	write_file("plain", text, TEXT_SIZE);
	assert_int_equal(source_open(path_of("plain"), &s), RS_OK);
	assert_true(source_is_seekable(s));
	assert_reads_text(s, 70001);
}

static void
every_gzip_member_is_read_whatever_the_name(void **state)
{
	struct source *s;

	(void)state;
	(void)write_members("members.tsv", "", 0);
	for (size_t step = 1001; step < TEXT_SIZE * 4; step *= 37) {
		assert_int_equal(source_open(path_of("members.tsv"), &s), RS_OK);
		assert_reads_text(s, step);
	}
}

static void
zero_padding_is_tolerated(void **state)
{
	struct source *s;
	char zeros[600] = "";

	(void)state;
	(void)write_members("padded", zeros, sizeof zeros);
	assert_int_equal(source_open(path_of("padded"), &s), RS_OK);
	assert_reads_text(s, 1 << 16);
}

static void
other_trailing_bytes_are_refused(void **state)
{
	(void)state;
	(void)write_members("trailing", "more", 4);
	assert_int_equal(read_status("trailing"), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "not gzip after the gzip data"));
	(void)write_members("trailing", "\0\0x", 3);
	assert_int_equal(read_status("trailing"), RS_EDATA);
}

static void
truncation_is_found_wherever_it_is(void **state)
{
	const size_t n = write_members("whole", "", 0);
	char *bytes, *where;
	size_t size;

	(void)state;
	assert_int_equal(file_read(path_of("whole"), n, &bytes, &size), RS_OK);
	for (size_t i = 0; i < 24; i++) {
		/* the last cuts are inside the trailer */
		const size_t cut = i < 12 ? n - 1 - i : 3 + (size_t)rng_below(5, i, n - 3);

		write_file("cut", bytes, cut);
		if (read_status("cut") == RS_OK)
			fail_msg("cut at %zu of %zu was not noticed", cut, n);
		assert_int_equal(rs_failure()->status, RS_EDATA);
		where = strstr(rs_failure()->text, "ends early at byte ");
		assert_non_null(where);
		assert_int_equal(strtoull(where + 19, NULL, 10), cut);
	}
	free(bytes);
}

static void
broken_checksum_is_found(void **state)
{
	const size_t n = write_members("whole", "", 0);
	char *bytes;
	size_t size;

	(void)state;
	assert_int_equal(file_read(path_of("whole"), n, &bytes, &size), RS_OK);
	bytes[n - 6] ^= 1;
	write_file("crc", bytes, n);
	free(bytes);
	assert_int_equal(read_status("crc"), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "incorrect data check"));
	assert_non_null(strstr(rs_failure()->text, "/crc'"));
}

static void
assert_random_seeks(const char *name, const struct source_index *index)
{
	char piece[5000];
	struct source *s;
	size_t got;

	assert_int_equal(source_open(path_of(name), &s), RS_OK);
	for (uint64_t i = 0; i < 60; i++) {
		const size_t at = (size_t)rng_below(7, i, TEXT_SIZE + 1);
		const size_t want = TEXT_SIZE - at < sizeof piece ? TEXT_SIZE - at : sizeof piece;
		size_t n = 0;

		assert_int_equal(source_seek(s, index, at), RS_OK);
		do {
			assert_int_equal(source_read(s, piece + n, sizeof piece - n, &got), RS_OK);
			n += got;
		} while (got > 0);
		assert_int_equal(n, want);
		assert_memory_equal(piece, text + at, want);
	}
	source_close(s);
}

static void
seeking_gives_the_same_bytes(void **state)
{
	(void)state;
	write_file("plain", text, TEXT_SIZE);
	assert_random_seeks("plain", NULL);
}

static void
access_points_give_the_same_bytes(void **state)
{
	const size_t spans[] = { 1, 100000, 700000, TEXT_SIZE };

	(void)state;
	(void)write_members("members", "", 0);
	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
		struct source_index *index;
		struct source *s;

		assert_int_equal(source_open(path_of("members"), &s), RS_OK);
		assert_int_equal(source_collect(s, spans[i], 1024, &index), RS_OK);
		assert_reads_text(s, 1 << 18);
		assert_random_seeks("members", index);
		source_index_free(index);
	}
}

static void
thousands_of_members_keep_a_bounded_index(void **state)
{
	unsigned char *out = malloc(TEXT_SIZE);
	struct source_index *index;
	struct source *s;
	size_t n = 0;

	(void)state;
	for (size_t at = 0; at < TEXT_SIZE; at += 1024)
		n = add_member(out, n, TEXT_SIZE - n, text + at, 1024);
	write_file("many", out, n);
	free(out);
	assert_int_equal(source_open(path_of("many"), &s), RS_OK);
	assert_int_equal(source_collect(s, 1, 100, &index), RS_OK);
	assert_reads_text(s, 1 << 18);
	assert_random_seeks("many", index);
	source_index_free(index);
}

static void
command_output_is_read_and_its_failure_noticed(void **state)
{
	char command[8192], small[64];
	struct source *s;
	size_t n;

	(void)state;
	write_file("plain", text, TEXT_SIZE);
	(void)snprintf(command, sizeof command, "gzip -c '%s' | cat", path_of("plain"));
	assert_int_equal(source_open_command(command, &s), RS_OK);
	assert_false(source_is_seekable(s));
	assert_reads_text(s, 1 << 16);

	assert_int_equal(source_open_command("echo 1; exit 3", &s), RS_OK);
	assert_int_equal(read_all(s, small, sizeof small, 64, &n), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "exit status 3"));
	source_close(s);

	assert_int_equal(source_open_command("kill -9 $$", &s), RS_OK);
	assert_int_equal(read_all(s, small, sizeof small, 64, &n), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "signal 9"));
	source_close(s);
}

static void
closing_stops_the_command_and_its_children(void **state)
{
	struct source *s;
	char line[32] = "";
	size_t n = 0, got;
	pid_t child;

	(void)state;
	assert_int_equal(source_open_command("sleep 100 & echo $!; wait", &s), RS_OK);
	while (strchr(line, '\n') == NULL) {
		assert_int_equal(source_read(s, line + n, sizeof line - 1 - n, &got), RS_OK);
		n += got;
	}
	child = (pid_t)strtol(line, NULL, 10);
	assert_int_equal(kill(child, 0), 0);
	source_close(s);
	/* whoever adopted it may take a moment to reap it */
	for (int i = 0; i < 200 && kill(child, 0) == 0; i++) {
		char path[64], state_line[64] = "";
		FILE *f;

		(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
		if ((f = fopen(path, "r")) == NULL)
			return;
		(void)fgets(state_line, sizeof state_line, f);
		(void)fclose(f);
		if (strstr(state_line, ") Z") != NULL)
			return;
		(void)usleep(10000);
	}
	assert_int_equal(kill(child, 0), -1);
}

static void
silent_pipe_gives_up_when_told_to_stop(void **state)
{
	atomic_int stop = 1;
	struct source *s;
	char byte;
	size_t got;

	(void)state;
	assert_int_equal(source_open_command("sleep 100", &s), RS_OK);
	source_set_stop(s, &stop);
	assert_int_equal(source_read(s, &byte, 1, &got), RS_ESIGNAL);
	source_close(s);
}

static void
set_stop(void *stop)
{
	atomic_store((atomic_int *)stop, 1);
}

static void
command_that_goes_on_after_its_last_row_can_be_stopped(void **state)
{
	atomic_int stop = 0;
	struct source *s;
	char bytes[16];
	size_t got = 1;
	enum rs_status status = RS_OK;

	(void)state;
	assert_int_equal(source_open_command("echo 1; exec sleep 100 >/dev/null", &s), RS_OK);
	source_set_stop(s, &stop);
	source_set_idle(s, set_stop, &stop);
	while (status == RS_OK && got > 0)
		status = source_read(s, bytes, sizeof bytes, &got);
	assert_int_equal(status, RS_ESIGNAL);
	source_close(s);
}

static void
directories_and_missing_files_are_no_input(void **state)
{
	struct source *s;

	(void)state;
	assert_int_equal(source_open(directory, &s), RS_ENOINPUT);
	assert_non_null(strstr(rs_failure()->text, "is a directory"));
	assert_int_equal(source_open(path_of("absent"), &s), RS_ENOINPUT);
	assert_non_null(strstr(rs_failure()->text, "absent"));
}

static enum rs_status
expand(const char *first, const char *second, char ***path, size_t *n)
{
	char *item[2] = { (char *)(uintptr_t)first, (char *)(uintptr_t)second };
	const struct text_list patterns = { .item = item, .n = second == NULL ? 1 : 2 };

	*n = 0;
	return source_expand(&patterns, path, n);
}

static void
free_paths(char **path, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(path[i]);
	free(path);
}

static void
globs_sort_by_byte_and_literal_names_win(void **state)
{
	char **path;
	size_t n;

	(void)state;
	write_file("day_b.tsv", "1\n", 2);
	write_file("day_B.tsv", "1\n", 2);
	write_file("day_10.tsv", "1\n", 2);
	write_file("odd[1].tsv", "1\n", 2);
	assert_int_equal(expand(path_of("day_*.tsv"), "-", &path, &n), RS_OK);
	assert_int_equal(n, 4);
	assert_non_null(strstr(path[0], "day_10"));
	assert_non_null(strstr(path[1], "day_B"));
	assert_non_null(strstr(path[2], "day_b"));
	assert_string_equal(path[3], "-");
	free_paths(path, n);
	assert_int_equal(expand(path_of("odd[1].tsv"), NULL, &path, &n), RS_OK);
	assert_int_equal(n, 1);
	free_paths(path, n);
}

static void
one_file_under_two_names_is_refused(void **state)
{
	char **path;
	size_t n;

	(void)state;
	write_file("twin.tsv", "1\n", 2);
	(void)unlink(path_of("link.tsv"));
	assert_int_equal(symlink("twin.tsv", path_of("link.tsv")), 0);
	assert_int_equal(expand(path_of("twin.tsv"), path_of("link.tsv"), &path, &n), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "same file"));
	assert_int_equal(expand("-", "-", &path, &n), RS_EDATA);
}

static void
pattern_without_a_match_is_no_input(void **state)
{
	char **path;
	size_t n;

	(void)state;
	assert_int_equal(expand(path_of("nothing*"), NULL, &path, &n), RS_ENOINPUT);
	assert_non_null(strstr(rs_failure()->text, "no file matches"));
	assert_int_equal(expand(path_of("nothing"), NULL, &path, &n), RS_ENOINPUT);
	assert_non_null(strstr(rs_failure()->text, "no such file"));
}

/* A file of another host has a name here, and is like no other. */
static void
names_of_absent_files_may_be_listed(void **state)
{
	char absent[2][300];
	char *item[] = { absent[0], NULL, absent[1] };
	const struct text_list patterns = { item, 3 };
	char **path;
	size_t n;

	(void)state;
	write_file("here_1.tsv", "1\n", 2);
	snprintf(absent[0], sizeof absent[0], "%s", path_of("elsewhere_1.tsv"));
	snprintf(absent[1], sizeof absent[1], "%s", path_of("elsewhere_2.tsv"));
	item[1] = (char *)(uintptr_t)path_of("here_*.tsv");
	assert_int_equal(source_expand_names(&patterns, &path, &n), RS_OK);
	assert_int_equal(n, 3);
	assert_string_equal(path[0], absent[0]);
	assert_non_null(strstr(path[1], "here_1.tsv"));
	assert_string_equal(path[2], absent[1]);
	free_paths(path, n);
	item[2] = absent[0];
	item[1] = (char *)(uintptr_t)path_of("nothing*");
	assert_int_equal(source_expand_names(&patterns, &path, &n), RS_ENOINPUT);
	assert_int_equal(source_expand(&patterns, &path, &n), RS_ENOINPUT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_file_is_read_whole),
		cmocka_unit_test(every_gzip_member_is_read_whatever_the_name),
		cmocka_unit_test(zero_padding_is_tolerated),
		cmocka_unit_test(other_trailing_bytes_are_refused),
		cmocka_unit_test(truncation_is_found_wherever_it_is),
		cmocka_unit_test(broken_checksum_is_found),
		cmocka_unit_test(seeking_gives_the_same_bytes),
		cmocka_unit_test(access_points_give_the_same_bytes),
		cmocka_unit_test(thousands_of_members_keep_a_bounded_index),
		cmocka_unit_test(command_output_is_read_and_its_failure_noticed),
		cmocka_unit_test(closing_stops_the_command_and_its_children),
		cmocka_unit_test(silent_pipe_gives_up_when_told_to_stop),
		cmocka_unit_test(command_that_goes_on_after_its_last_row_can_be_stopped),
		cmocka_unit_test(directories_and_missing_files_are_no_input),
		cmocka_unit_test(globs_sort_by_byte_and_literal_names_win),
		cmocka_unit_test(one_file_under_two_names_is_refused),
		cmocka_unit_test(pattern_without_a_match_is_no_input),
		cmocka_unit_test(names_of_absent_files_may_be_listed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
