/* Messages: what is printed at which level, and that lines stay whole. */
#include "tests/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/status.h"

/* stderr goes to a file of the test's directory until captured() reads it. */
struct capture {
	int   saved;
	char *path, *text;
};

static void
capture_begin(struct capture *c, const char *directory)
{
	int fd;

	assert_int_equal(file_join(directory, "stderr", &c->path), RS_OK);
	c->saved = dup(STDERR_FILENO);
	fd = open(c->path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0600);
	assert_true(c->saved >= 0 && fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	close(fd);
}

static void
capture_end(struct capture *c)
{
	size_t n;

	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	log_set_level(LOG_WARN);
	assert_int_equal(file_read(c->path, 1 << 24, &c->text, &n), RS_OK);
	free(c->path);
}

static void
warnings_are_printed_and_info_is_not(void **state)
{
	struct capture c;

	capture_begin(&c, *state);
	log_error("one");
	log_warn("two %d", 2);
	log_info("three");
	log_debug("four");
	capture_end(&c);
	assert_string_equal(c.text, "recsys-train: error: one\nrecsys-train: warning: two 2\n");
	free(c.text);
}

static void
verbosity_and_quiet_are_levels(void **state)
{
	struct capture c;

	capture_begin(&c, *state);
	log_set_level(LOG_DEBUG);
	log_info("info");
	log_debug("debug");
	log_set_level(LOG_ERROR);
	log_warn("hidden");
	log_error("error");
	capture_end(&c);
	assert_string_equal(c.text,
		"recsys-train: info\nrecsys-train: debug: debug\nrecsys-train: error: error\n");
	free(c.text);
}

static void
what_is_passed_over_is_told_even_when_quiet(void **state)
{
	struct capture c;

	(void)rs_fail_at(RS_EDATA, "m/v2/dense.bin", 0, 0, "damaged");
	capture_begin(&c, *state);
	log_set_level(LOG_ERROR);
	log_passed(rs_failure(), "falling back to v%d", 1);
	capture_end(&c);
	assert_string_equal(c.text,
		"recsys-train: warning: m/v2/dense.bin: damaged; falling back to v1\n");
	free(c.text);
}

static void
failure_is_printed_with_place_and_hint(void **state)
{
	struct rs_failure none;
	struct capture    c;

	rs_failure_take(&none);
	capture_begin(&c, *state);
	log_failure();
	rs_fail_at(RS_EDATA, "x.tsv", 3, 0, "expected 40 fields, got 39");
	rs_hint("one line");
	log_failure();
	rs_fail(RS_EIO, "disk full");
	log_failure();
	capture_end(&c);
	assert_string_equal(c.text, "recsys-train: x.tsv:3: error: expected 40 fields, got 39\n"
		"recsys-train: hint: one line\nrecsys-train: error: disk full\n");
	free(c.text);
}

static void
a_message_is_one_line_whatever_it_says(void **state)
{
	struct capture c;
	char           text[9000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	capture_begin(&c, *state);
	log_warn("a\nb\r\nc");
	log_warn("%s", text);
	capture_end(&c);
	assert_memory_equal(c.text, "recsys-train: warning: a b  c\n", 30);
	assert_ptr_equal(strchr(c.text + 30, '\n'), c.text + strlen(c.text) - 1);
	free(c.text);
}

static void
count_warning(void *context, const char *text)
{
	assert_string_equal(text, "seen");
	++*(int *)context;
}

static void
sink_sees_warnings_even_when_quiet(void **state)
{
	int                   n = 0;
	const struct log_sink sink = { .warning = count_warning, .context = &n };
	struct capture        c;

	capture_begin(&c, *state);
	log_set_sink(&sink);
	log_set_level(LOG_ERROR);
	log_warn("seen");
	log_set_sink(NULL);
	log_warn("unseen");
	capture_end(&c);
	assert_int_equal(n, 1);
	assert_string_equal(c.text, "");
	free(c.text);
}

static void
log_file_gets_a_copy_as_text_or_json(void **state)
{
	struct capture c;
	char          *path, *text;
	size_t         n;
	int            fd;

	assert_int_equal(file_join(*state, "log", &path), RS_OK);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	capture_begin(&c, *state);
	log_set_file(fd, 0);
	log_warn("as text");
	log_set_file(fd, 1);
	log_warn("as \"json\"");
	log_set_file(-1, 0);
	log_warn("not there");
	capture_end(&c);
	close(fd);
	assert_int_equal(file_read(path, 4096, &text, &n), RS_OK);
	assert_memory_equal(text, "recsys-train: warning: as text\n", 31);
	assert_non_null(strstr(text, "\"level\":\"warning\",\"text\":\"as \\\"json\\\"\"}\n"));
	assert_null(strstr(text, "not there"));
	free(text);
	free(path);
	free(c.text);
}

static void
failure_in_json_has_file_line_and_column(void **state)
{
	struct capture c;
	char          *path, *text;
	size_t         n;
	int            fd;

	assert_int_equal(file_join(*state, "places", &path), RS_OK);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	capture_begin(&c, *state);
	log_set_file(fd, 1);
	rs_fail_at(RS_EDATA, "rows:1.tsv", 7, 12, "bad");
	log_failure();
	rs_fail_at(RS_EDATA, "rows.tsv", 0, 0, "worse");
	log_failure();
	rs_fail(RS_EDATA, "nowhere");
	log_failure();
	log_set_file(-1, 0);
	capture_end(&c);
	close(fd);
	assert_int_equal(file_read(path, 4096, &text, &n), RS_OK);
	assert_non_null(strstr(text,
		"\"text\":\"bad\",\"file\":\"rows:1.tsv\",\"line\":7,\"column\":12}\n"));
	assert_non_null(strstr(text, "\"text\":\"worse\",\"file\":\"rows.tsv\"}\n"));
	assert_non_null(strstr(text, "\"text\":\"nowhere\"}\n"));
	free(text);
	free(path);
	free(c.text);
}

enum { LINES = 300, WRITERS = 4 };

static void *
write_many(void *letter)
{
	char text[121];

	memset(text, *(char *)letter, 120);
	text[120] = '\0';
	for (int i = 0; i < LINES; i++)
		log_warn("%s", text);
	return NULL;
}

static void
lines_of_several_threads_never_mix(void **state)
{
	static char    letter[WRITERS] = { 'a', 'b', 'c', 'd' };
	pthread_t      thread[WRITERS];
	struct capture c;
	size_t         n = 0;

	capture_begin(&c, *state);
	for (size_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, write_many, &letter[i]), 0);
	for (size_t i = 0; i < WRITERS; i++)
		pthread_join(thread[i], NULL);
	capture_end(&c);
	for (char *line = c.text, *end; *line != '\0'; line = end + 1, n++) {
		end = strchr(line, '\n');
		assert_non_null(end);
		assert_int_equal(end - line, 143);
		for (char *at = line + 23; at < end; at++)
			assert_int_equal(*at, line[23]);
	}
	assert_int_equal(n, LINES * WRITERS);
	free(c.text);
}

static void
a_summary_goes_to_the_log_file_and_not_to_stderr(void **state)
{
	struct capture c;
	char  *path, *text;
	size_t n;

	assert_int_equal(file_join(*state, "log", &path), RS_OK);
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	assert_true(fd >= 0);
	capture_begin(&c, *state);
	log_set_level(LOG_ERROR);
	log_set_file(fd, 0);
	log_summary(LOG_INFO, "one\ntwo %d", 2);
	log_set_file(-1, 0);
	log_summary(LOG_ERROR, "nowhere");
	capture_end(&c);
	assert_string_equal(c.text, "");
	assert_int_equal(file_read(path, 1 << 20, &text, &n), RS_OK);
	assert_string_equal(text, "recsys-train: one two 2\n");
	close(fd);
	free(text);
	free(path);
	free(c.text);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, tmpdir_make, tmpdir_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIRECTORY(warnings_are_printed_and_info_is_not),
		IN_DIRECTORY(verbosity_and_quiet_are_levels),
		IN_DIRECTORY(what_is_passed_over_is_told_even_when_quiet),
		IN_DIRECTORY(failure_is_printed_with_place_and_hint),
		IN_DIRECTORY(a_message_is_one_line_whatever_it_says),
		IN_DIRECTORY(sink_sees_warnings_even_when_quiet),
		IN_DIRECTORY(log_file_gets_a_copy_as_text_or_json),
		IN_DIRECTORY(a_summary_goes_to_the_log_file_and_not_to_stderr),
		IN_DIRECTORY(failure_in_json_has_file_line_and_column),
		IN_DIRECTORY(lines_of_several_threads_never_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
