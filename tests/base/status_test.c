/* Failures, exit codes, and outside text made printable. */
#include "tests/test.h"

#include <pthread.h>
#include <string.h>

#include "base/status.h"

static void
exit_codes_are_those_of_the_table(void **state)
{
	(void)state;
#define ROW(name, code, text) \
	assert_int_equal(rs_exit_code(RS_##name), code); \
	if (RS_##name != RS_ESIGNAL) \
		assert_int_equal(rs_status_of_exit(code), RS_##name); \
	assert_string_equal(rs_status_name(RS_##name), #name); \
	assert_string_equal(rs_status_text(RS_##name), text);
	RS_STATUS_TABLE(ROW)
#undef ROW
	assert_int_equal(rs_exit_code(RS_N_STATUS), 70);
	assert_int_equal(rs_status_of_exit(143), RS_ESIGNAL);
	assert_int_equal(rs_status_of_exit(127), RS_EPEER);
	assert_int_equal(rs_exit_code((enum rs_status)-1), 70);
}

static void
exit_codes_are_distinct(void **state)
{
	(void)state;
	for (int a = 0; a < RS_N_STATUS; a++)
		for (int b = 0; b < a; b++)
			assert_int_not_equal(rs_exit_code((enum rs_status)a),
				rs_exit_code((enum rs_status)b));
}

static void
failure_keeps_place_text_and_hint(void **state)
{
	(void)state;
	assert_int_equal(rs_fail_at(RS_EDATA, "a.tsv", 12, 3, "expected %d fields, got %d", 40, 39),
		RS_EDATA);
	assert_int_equal(rs_hint("is it '%s'?", "csv"), RS_EDATA);
	assert_string_equal(rs_failure()->where, "a.tsv:12:3");
	assert_string_equal(rs_failure()->text, "expected 40 fields, got 39");
	assert_string_equal(rs_failure()->hint, "is it 'csv'?");
}

static void
a_new_failure_replaces_all_of_the_old(void **state)
{
	(void)state;
	rs_fail_at(RS_EDATA, "a", 1, 1, "one");
	rs_hint("hint");
	assert_int_equal(rs_fail(RS_EIO, "two"), RS_EIO);
	assert_string_equal(rs_failure()->where, "");
	assert_string_equal(rs_failure()->hint, "");
	/* The former text may be an argument. */
	rs_fail(RS_EIO, "%s and three", rs_failure()->text);
	assert_string_equal(rs_failure()->text, "two and three");
}

static void
line_and_column_of_zero_are_left_out(void **state)
{
	(void)state;
	rs_fail_at(RS_EDATA, "a", 5, 0, "x");
	assert_string_equal(rs_failure()->where, "a:5");
	rs_fail_at(RS_EDATA, "a", 0, 0, "x");
	assert_string_equal(rs_failure()->where, "a");
}

static void
text_that_is_too_long_is_cut(void **state)
{
	char text[3000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	rs_fail_at(RS_EDATA, text, 1, 1, "%s", text);
	rs_hint("%s", text);
	assert_int_equal(strlen(rs_failure()->text), sizeof(rs_failure()->text) - 1);
	assert_int_equal(strlen(rs_failure()->where), sizeof(rs_failure()->where) - 1);
	assert_int_equal(strlen(rs_failure()->hint), sizeof(rs_failure()->hint) - 1);
}

static void *
fail_elsewhere(void *out)
{
	rs_fail(RS_EPEER, "in the worker");
	rs_failure_take(out);
	return rs_failure()->status == RS_OK ? out : NULL;
}

static void
failures_belong_to_their_thread_and_can_be_carried(void **state)
{
	struct rs_failure carried;
	pthread_t         thread;
	void             *result;

	(void)state;
	rs_fail(RS_EIO, "in the main thread");
	assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &carried), 0);
	pthread_join(thread, &result);
	assert_non_null(result);
	assert_string_equal(rs_failure()->text, "in the main thread");
	assert_int_equal(rs_failure_put(&carried), RS_EPEER);
	assert_string_equal(rs_failure()->text, "in the worker");
}

static void
outside_text_is_made_printable(void **state)
{
	static const struct {
		const char *text;
		size_t      n;
		const char *escaped;
	} row[] = {
		{ "plain", 5, "plain" }, { "", 0, "" }, { "a\tb\n", 4, "a\\x09b\\x0A" },
		{ "a\0b", 3, "a\\x00b" }, { "\x1b[31m", 5, "\\x1B[31m" }, { "日本", 6, "日本" },
		{ "\xff\xfe", 2, "\\xFF\\xFE" }, { "\xe6\x97", 2, "\\xE6\\x97" },
		{ "\xc0\x80", 2, "\\xC0\\x80" }, { "\xc2\x9b", 2, "\\xC2\\x9B" },
		{ "\xed\xa0\x80", 3, "\\xED\\xA0\\x80" }, { "\x7f", 1, "\\x7F" },
	};
	char out[72];

	(void)state;
	for (size_t i = 0; i < N_ROWS(row); i++)
		assert_string_equal(rs_escape(out, row[i].text, row[i].n), row[i].escaped);
}

static void
outside_text_is_cut_to_60_characters(void **state)
{
	char text[500], out[72];

	(void)state;
	for (int c = 1; c < 256; c++) {
		memset(text, c, sizeof(text));
		rs_escape(out, text, sizeof(text));
		assert_true(strlen(out) <= 63);
		assert_string_equal(out + strlen(out) - 3, "...");
	}
	memset(text, 'a', 60);
	rs_escape(out, text, 60);
	assert_int_equal(strlen(out), 60);
	assert_null(strstr(out, "..."));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_codes_are_those_of_the_table),
		cmocka_unit_test(exit_codes_are_distinct),
		cmocka_unit_test(failure_keeps_place_text_and_hint),
		cmocka_unit_test(a_new_failure_replaces_all_of_the_old),
		cmocka_unit_test(line_and_column_of_zero_are_left_out),
		cmocka_unit_test(text_that_is_too_long_is_cut),
		cmocka_unit_test(failures_belong_to_their_thread_and_can_be_carried),
		cmocka_unit_test(outside_text_is_made_printable),
		cmocka_unit_test(outside_text_is_cut_to_60_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
