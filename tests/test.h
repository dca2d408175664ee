/*
 * What every test program includes: cmocka with the headers it wants before it,
 * a fresh directory, a skip that says why, a wait that ends and says for what it was, a
 * child that does not live for ever, and comparisons that NaN does not pass.
 */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/thread.h"

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* The reason is the last line before "SKIPPED"; run-tests prints it. */
#define SKIP_BECAUSE(...) do { \
	print_message(__VA_ARGS__); \
	print_message("\n"); \
	skip(); \
} while (0)

/* Looks every millisecond whether the condition holds; fails after so many seconds. */
#define WAIT_UNTIL(condition, seconds) do { \
	const double wait_end = clock_seconds() + (seconds); \
	while (!(condition)) { \
		if (clock_seconds() > wait_end) \
			fail_msg("not so within %g s: %s", (double)(seconds), #condition); \
		usleep(1000); \
	} \
} while (0)

/* That of the library takes NaN for equal to any number. */
#undef assert_float_equal
#define assert_float_equal(a, b, epsilon) \
	check_float_equal((float)(a), (float)(b), (float)(epsilon), __FILE__, __LINE__)

static inline void
check_float_equal(float a, float b, float epsilon, const char *file, int line)
{
	if (isnan(a) || isnan(b)) {
		print_error("%g and %g are not equal\n", (double)a, (double)b);
		_fail(file, line);
	}
	_assert_float_equal(a, b, epsilon, file, line);
}

/* As fmax(), but NaN is larger than any number: of differences, which must be small. */
static inline double
larger_or_nan(double a, double b)
{
	return a >= b || isnan(a) ? a : b;
}

/* A child that SIGALRM ends after so many seconds: who waits for it need not have a limit. */
static inline pid_t
fork_within(unsigned seconds)
{
	const pid_t pid = fork();

	if (pid == 0)
		alarm(seconds);
	return pid;
}

/* Setup and teardown of a test that needs a directory: *state is its path. */
static inline int
tmpdir_make(void **state)
{
	const char *parent = getenv("TMPDIR");
	char       *path;

	if (asprintf(&path, "%s/recsys-test-XXXXXX", parent != NULL ? parent : "/tmp") < 0)
		return -1;
	*state = mkdtemp(path);
	return *state == NULL ? -1 : 0;
}

static inline int
tmpdir_remove(void **state)
{
	const enum rs_status status = file_remove_tree(*state);

	free(*state);
	return status == RS_OK ? 0 : -1;
}

#endif
