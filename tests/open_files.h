/*
 * A test that the table of open files is full: open_files_leave() leaves room for so many more
 * than are open below the lowest free number, open_files_restore() takes that back.
 */
#ifndef TESTS_OPEN_FILES_H
#define TESTS_OPEN_FILES_H

#include <sys/resource.h>

#include "tests/test.h"

static inline struct rlimit
open_files_leave(rlim_t n)
{
	const int next = dup(STDIN_FILENO);
	struct rlimit former, few;

	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &former), 0);
	few = former;
	few.rlim_cur = (rlim_t)next + n;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	return former;
}

static inline void
open_files_restore(struct rlimit former)
{
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &former), 0);
}

#endif
