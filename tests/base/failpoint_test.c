/* Places where tests hold the program: what arms them, and when they act. */
#include "tests/test.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/thread.h"

static int
disarm(void **state)
{
	(void)state;
	return failpoint_arm(NULL) == RS_OK ? 0 : -1;
}

/* How a child ended that armed text and reached "a" n times and "b" once. */
static int
child_status(const char *text, int n)
{
	int status = -1;
	const pid_t pid = fork_within(60);

	if (pid == 0) {
		if (failpoint_arm(text) != RS_OK)
			_exit(99);
		for (int i = 0; i < n; i++)
			failpoint("a");
		failpoint("b");
		_exit(7);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
nothing_is_armed_without_a_text(void **state)
{
	(void)state;
	assert_int_equal(failpoint_arm(NULL), RS_OK);
	assert_int_equal(failpoint_armed, 0);
	assert_int_equal(failpoint_arm(""), RS_OK);
	assert_int_equal(failpoint_armed, 0);
	failpoint("a");
}

static void
a_place_kills_or_ends_at_the_named_time(void **state)
{
	(void)state;
	int status = child_status("a=kill", 1);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(WEXITSTATUS(child_status("a=exit:3", 1)), 3);
	assert_int_equal(WEXITSTATUS(child_status("c=kill,b=exit:4", 1)), 4);
	assert_int_equal(WEXITSTATUS(child_status("a@3=kill", 2)), 7);
	status = child_status("a@3=kill", 3);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WEXITSTATUS(child_status("ab=kill,=kill", 2)), 99);
}

static void
sleeping_takes_its_time(void **state)
{
	const double start = clock_seconds();

	(void)state;
	assert_int_equal(failpoint_arm("a=sleep:0.05"), RS_OK);
	failpoint("b");
	failpoint("a");
	assert_true(clock_seconds() - start >= 0.05);
}

static void *
reach(void *name)
{
	failpoint_reach(name);
	return NULL;
}

static void
a_place_waits_for_a_file_and_says_that_it_does(void **state)
{
	char *file, *said, text[512], name[] = "a";
	pthread_t thread;

	assert_int_equal(file_join(*state, "go", &file), RS_OK);
	assert_int_equal(file_join(*state, "go.reached", &said), RS_OK);
	snprintf(text, sizeof text, "a=wait:%s", file);
	assert_int_equal(failpoint_arm(text), RS_OK);
	assert_int_equal(pthread_create(&thread, NULL, reach, name), 0);
	WAIT_UNTIL(access(said, F_OK) == 0, 60);
	assert_int_equal(pthread_tryjoin_np(thread, NULL), EBUSY);
	assert_int_equal(file_replace(file, "", 0), RS_OK);
	assert_int_equal(pthread_join(thread, NULL), 0);
	free(said);
	free(file);
}

static void
what_is_no_failpoint_is_refused(void **state)
{
	static const char *const wrong[] = {
		"a", "=kill", "a=", "a=die", "a=wait:", "a=exit:", "a=exit:256", "a=sleep:-1",
		"a=sleep:1e9", "a@0=kill", "a@x=kill", "a=kill,b",
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(wrong); i++) {
		assert_int_equal(failpoint_arm(wrong[i]), RS_EUSAGE);
		assert_int_equal(failpoint_armed, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(nothing_is_armed_without_a_text, disarm),
		cmocka_unit_test_teardown(a_place_kills_or_ends_at_the_named_time, disarm),
		cmocka_unit_test_teardown(sleeping_takes_its_time, disarm),
		cmocka_unit_test_setup_teardown(a_place_waits_for_a_file_and_says_that_it_does,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test_teardown(what_is_no_failpoint_is_refused, disarm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
