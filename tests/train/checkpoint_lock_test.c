/* The writer's lock: one at a time, told by pid, given back at the end. */
#include "tests/test.h"

#include <string.h>
#include <sys/wait.h>

#include "base/thread.h"
#include "train/checkpoint.h"

static int
set_up(void **state)
{
	static char directory[64];

	snprintf(directory, sizeof directory, "/tmp/lock.XXXXXX");
	assert_non_null(mkdtemp(directory));
	*state = directory;
	return 0;
}

static int
tear_down(void **state)
{
	file_remove_tree(*state);
	return 0;
}

static void
a_second_writer_is_refused_and_told_the_pid(void **state)
{
	struct checkpoint_lock first, second;
	char pid[40];

	assert_int_equal(checkpoint_lock(*state, 0, &first), RS_OK);
	assert_int_equal(checkpoint_lock(*state, 0, &second), RS_EBUSY);
	snprintf(pid, sizeof pid, "locked by process %ld", (long)getpid());
	assert_non_null(strstr(rs_failure()->text, pid));
	checkpoint_unlock(&first);
	assert_int_equal(checkpoint_lock(*state, 0, &second), RS_OK);
	checkpoint_unlock(&second);
}

static void
waiting_ends_when_the_time_is_over(void **state)
{
	struct checkpoint_lock first, second;
	const double start = clock_seconds();

	assert_int_equal(checkpoint_lock(*state, 0, &first), RS_OK);
	assert_int_equal(checkpoint_lock(*state, 0.12, &second), RS_EBUSY);
	assert_true(clock_seconds() - start >= 0.12);
	checkpoint_unlock(&first);
}

static void
the_lock_of_a_dead_process_is_free(void **state)
{
	struct checkpoint_lock lock;
	const pid_t child = fork_within(60);
	int status;

	if (child == 0)
		_exit(checkpoint_lock(*state, 0, &lock) == RS_OK ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(checkpoint_lock(*state, 0, &lock), RS_OK);
	checkpoint_unlock(&lock);
}

static void
the_directory_is_made(void **state)
{
	struct checkpoint_lock lock;
	char path[96];

	snprintf(path, sizeof path, "%s/a/b", (const char *)*state);
	assert_int_equal(checkpoint_lock(path, 0, &lock), RS_OK);
	checkpoint_unlock(&lock);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_second_writer_is_refused_and_told_the_pid),
		TEST(waiting_ends_when_the_time_is_over),
		TEST(the_lock_of_a_dead_process_is_free),
		TEST(the_directory_is_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
