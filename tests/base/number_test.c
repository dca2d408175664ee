/* Numbers in text: what is taken, what is refused, rounding, round trips. */
#include "tests/test.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/number.h"
#include "base/rng.h"

static int
read_double(const char *text, double *out)
{
	return number_double(text, strlen(text), out);
}

static void
plain_numbers_are_read(void **state)
{
	static const struct {
		const char *text;
		double      value;
	} row[] = {
		{ "0", 0 }, { "1", 1 }, { "-1", -1 }, { "+2", 2 }, { "007", 7 }, { "1.5", 1.5 },
		{ ".5", .5 }, { "5.", 5 }, { "1e3", 1000 }, { "1E+3", 1000 }, { "25e-2", .25 },
		{ "-0.125", -.125 }, { "123456789012345678", 123456789012345678.0 },
		{ "0.000000000000000000000000000001", 1e-30 },
		{ "100000000000000000000000000000000000000000e-41", 1 },
		{ "0e999999999999", 0 }, { "1e-400", 0 },
	};
	double value;
	float  narrow;

	(void)state;
	for (size_t i = 0; i < N_ROWS(row); i++) {
		assert_true(read_double(row[i].text, &value));
		assert_true(value == row[i].value);
		assert_true(number_float(row[i].text, strlen(row[i].text), &narrow));
		assert_true(narrow == (float)row[i].value);
	}
	assert_true(read_double("-0", &value) && value == 0 && signbit(value));
}

static void
text_that_is_no_number_is_refused(void **state)
{
	static const char *const text[] = {
		"", " ", "+", "-", ".", "e5", "1e", "1e+", "1 ", " 1", "1,5", "0,2", "1.2.3", "--1",
		"+-1", "nan", "NaN", "inf", "-inf", "Infinity", "0x10", "0x1p3", "1f", "1_000",
		"1e5.5", "$3", "1e400", "-1e400", "1\n", "１",
	};
	double value;
	float  narrow;

	(void)state;
	for (size_t i = 0; i < N_ROWS(text); i++) {
		assert_false(read_double(text[i], &value));
		assert_false(number_float(text[i], strlen(text[i]), &narrow));
	}
	assert_false(number_double("1\0", 2, &value));
	assert_false(number_float("1e39", 4, &narrow));
}

static void
exactly_n_bytes_are_read(void **state)
{
	double  value;
	int64_t whole;

	(void)state;
	assert_true(number_double("12345", 2, &value) && value == 12);
	assert_true(number_double("1e5", 1, &value) && value == 1);
	assert_true(number_i64("-12345", 3, &whole) && whole == -12);
}

static void
a_number_of_a_thousand_digits_is_rounded_right(void **state)
{
	char   text[1100] = "0.";
	double value;

	(void)state;
	/* 0.5 + a little: 0.5 followed by 1000 zeros and a 1. */
	memset(text + 2, '0', 1002);
	text[2] = '5';
	text[1004] = '1';
	assert_true(number_double(text, 1005, &value) && value == .5);
	/* Halfway between 2^53 and the next double, decided by the last digit. */
	assert_true(read_double("9007199254740993", &value) && value == 9007199254740992.0);
	assert_true(read_double("9007199254740993.00000000000000000001", &value));
	assert_true(value == 9007199254740994.0);
}

/* 16777217 lies between two floats; by way of a double it must not be rounded twice. */
static void
floats_are_rounded_once(void **state)
{
	float value;

	(void)state;
	assert_true(number_float("16777217", 8, &value) && value == 16777216.0f);
	assert_true(number_float("16777219", 8, &value) && value == 16777220.0f);
	assert_true(number_float("16777217.000000001", 18, &value) && value == 16777218.0f);
	assert_true(number_float("1.00000005960464477539062500001", 31, &value));
	assert_true(value == 1.00000011920928955078125f);
}

static void
reading_agrees_with_the_c_library(void **state)
{
	char   text[64];
	double value;
	float  narrow;

	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		const int n_digits = (int)rng_below(1, i, 19);
		const int exponent = (int)rng_below(2, i, 80) - 40;

		snprintf(text, sizeof(text), "%.*fe%d", n_digits, 100 * rng_uniform(3, i),
			exponent);
		assert_true(read_double(text, &value) && value == strtod(text, NULL));
		if (fabs(value) < FLT_MAX) {
			assert_true(number_float(text, strlen(text), &narrow));
			assert_true(narrow == strtof(text, NULL));
		}
	}
}

static void
whole_numbers_have_their_exact_limits(void **state)
{
	int64_t  i64;
	uint64_t u64;

	(void)state;
	assert_true(number_i64("9223372036854775807", 19, &i64) && i64 == INT64_MAX);
	assert_true(number_i64("-9223372036854775808", 20, &i64) && i64 == INT64_MIN);
	assert_false(number_i64("9223372036854775808", 19, &i64));
	assert_false(number_i64("-9223372036854775809", 20, &i64));
	assert_true(number_u64("18446744073709551615", 20, &u64) && u64 == UINT64_MAX);
	assert_false(number_u64("18446744073709551616", 20, &u64));
	assert_false(number_u64("99999999999999999999", 20, &u64));
	assert_true(number_u64("00000000000000000000000000007", 29, &u64) && u64 == 7);
}

static void
text_that_is_no_whole_number_is_refused(void **state)
{
	static const char *const text[] = { "", "-", "+", "1.0", "1e3", "16x", " 1", "1 ", "-+1",
		"--1", "0x1" };
	int64_t                  i64;
	uint64_t                 u64;

	(void)state;
	for (size_t i = 0; i < N_ROWS(text); i++) {
		assert_false(number_i64(text[i], strlen(text[i]), &i64));
		assert_false(number_u64(text[i], strlen(text[i]), &u64));
	}
	assert_false(number_u64("-1", 2, &u64));
}

static void
short_values_print_short(void **state)
{
	static const struct {
		double      value;
		const char *text;
	} row[] = {
		{ 0, "0" }, { 1, "1" }, { -2.5, "-2.5" }, { .1, "0.1" }, { .3, "0.3" },
		{ 100000, "100000" },
		{ 1e-5, "1e-05" }, { 1e30, "1e+30" }, { .02, "0.02" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < N_ROWS(row); i++) {
		assert_string_equal(number_print_double(text, row[i].value), row[i].text);
		assert_string_equal(number_print_float(text, (float)row[i].value), row[i].text);
	}
	assert_string_equal(number_print_double(text, 0.1 + 0.2), "0.30000000000000004");
	assert_string_equal(number_print_float(text, 16777216.0f), "16777216");
	assert_string_equal(number_print_double(text, NAN), "nan");
	assert_string_equal(number_print_float(text, -INFINITY), "-inf");
}

/* The quick way writes what the C library writes, and not a digit more. */
static void
floats_print_as_the_shortest_form_of_the_c_library(void **state)
{
	char text[32], want[32];

	(void)state;
	for (uint64_t i = 0; i < 50000; i++) {
		const float value = (float)((rng_uniform(4, i) - .5) *
			pow(10, (double)rng_below(5, i, 36) - 16));

		for (int n_digits = 6; n_digits <= 9; n_digits++) {
			snprintf(want, sizeof(want), "%.*g", n_digits, (double)value);
			if (strtof(want, NULL) == value)
				break;
		}
		assert_string_equal(number_print_float(text, value), want);
	}
}

static void
every_printed_float_reads_back(void **state)
{
	char text[32];

	(void)state;
	for (uint64_t i = 0; i < 50000; i++) {
		const uint32_t bits = (uint32_t)rng_u64(7, i);
		float          value, back;

		memcpy(&value, &bits, sizeof(value));
		if (!isfinite(value))
			continue;
		number_print_float(text, value);
		assert_true(number_float(text, strlen(text), &back));
		assert_memory_equal(&back, &value, sizeof(value));
	}
}

static void
every_printed_double_reads_back(void **state)
{
	char text[32];

	(void)state;
	for (uint64_t i = 0; i < 50000; i++) {
		const uint64_t bits = i < 100 ? i : rng_u64(8, i);
		double         value, back;

		memcpy(&value, &bits, sizeof(value));
		if (!isfinite(value))
			continue;
		number_print_double(text, value);
		assert_true(read_double(text, &back));
		assert_memory_equal(&back, &value, sizeof(value));
	}
}

/* Makes de_DE.UTF-8 in the directory when the system has none. */
static int
use_comma_locale(const char *directory)
{
	int   status;
	pid_t child;

	if (setlocale(LC_ALL, "de_DE.UTF-8") != NULL)
		return 1;
	child = fork_within(60);
	if (child == 0) {
		if (chdir(directory) == 0 && freopen("/dev/null", "w", stdout) != NULL &&
		    freopen("/dev/null", "w", stderr) != NULL)
			execlp("localedef", "localedef", "-i", "de_DE", "-f", "UTF-8",
				"./de_DE.UTF-8",
				(char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 0;
	setenv("LOCPATH", directory, 1);
	return setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
}

static void
b033_a_comma_locale_changes_nothing(void **state)
{
	char   text[32];
	double value;
	float  narrow;

	if (!use_comma_locale(*state))
		SKIP_BECAUSE("no de_DE.UTF-8 locale here and localedef cannot make one");
	snprintf(text, sizeof(text), "%.1f", 1.5);
	assert_string_equal(text, "1,5");
	assert_string_equal(number_print_double(text, 1.5), "1.5");
	assert_string_equal(number_print_float(text, 0.1f), "0.1");
	assert_string_equal(number_print_double(text, 0.1 + 0.2), "0.30000000000000004");
	assert_true(read_double("1.5", &value) && value == 1.5);
	assert_true(read_double("1.2345678901234567890123", &value));
	assert_true(value == 1.2345678901234567890123);
	assert_true(number_float("0.12345678901234567890", 22, &narrow));
	assert_true(narrow == 0.12345678901234567890f);
	assert_false(read_double("1,5", &value));
	setlocale(LC_ALL, "C");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_numbers_are_read),
		cmocka_unit_test(text_that_is_no_number_is_refused),
		cmocka_unit_test(exactly_n_bytes_are_read),
		cmocka_unit_test(a_number_of_a_thousand_digits_is_rounded_right),
		cmocka_unit_test(floats_are_rounded_once),
		cmocka_unit_test(reading_agrees_with_the_c_library),
		cmocka_unit_test(whole_numbers_have_their_exact_limits),
		cmocka_unit_test(text_that_is_no_whole_number_is_refused),
		cmocka_unit_test(short_values_print_short),
		cmocka_unit_test(floats_print_as_the_shortest_form_of_the_c_library),
		cmocka_unit_test(every_printed_float_reads_back),
		cmocka_unit_test(every_printed_double_reads_back),
		cmocka_unit_test_setup_teardown(b033_a_comma_locale_changes_nothing, tmpdir_make,
			tmpdir_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
