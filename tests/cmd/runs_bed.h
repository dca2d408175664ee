/*
 * A directory with a run database made by hand, and what `recsys-train runs` says of it.
 * One a program: what the program printed last is in bed_output.
 */
#ifndef TESTS_CMD_RUNS_BED_H
#define TESTS_CMD_RUNS_BED_H

#include "tests/test.h"

#include <string.h>
#include <sys/wait.h>

#include "store/store.h"

static char bed_directory[64], bed_database[128], bed_output[1 << 16];

/* Makes both; *s is open and for the caller to fill and to close. */
static inline int
bed_open(struct store **s)
{
	snprintf(bed_directory, sizeof bed_directory, "/tmp/runs_test.XXXXXX");
	if (mkdtemp(bed_directory) == NULL)
		return -1;
	snprintf(bed_database, sizeof bed_database, "%s/runs.db", bed_directory);
	assert_int_equal(store_open(bed_database, 0, 1000, s), RS_OK);
	return 0;
}

static inline int
bed_close(void **state)
{
	(void)state;
	return file_remove_tree(bed_directory) == RS_OK ? 0 : -1;
}

/* Runs `recsys-train runs ARGUMENTS` in the directory; its exit code, stdout and, after it,
 * stderr in bed_output. */
static inline int
runs(const char *arguments)
{
	char command[1024];
	const char *program = getenv("RECSYS_TRAIN");

	assert_non_null(program);
	snprintf(command, sizeof command, "cd %s && unset RECSYS_TRAIN_DB RECSYS_TRAIN_SPEC; "
		"%s runs %s 2>err; code=$?; cat err; exit $code", bed_directory, program,
		arguments);
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	const size_t n = fread(bed_output, 1, sizeof bed_output - 1, pipe);
	bed_output[n] = '\0';
	const int status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void
assert_has(const char *text)
{
	if (strstr(bed_output, text) == NULL)
		fail_msg("'%s' is not in:\n%s", text, bed_output);
}

static inline void
assert_lacks(const char *text)
{
	if (strstr(bed_output, text) != NULL)
		fail_msg("'%s' is in:\n%s", text, bed_output);
}

#endif
