/* The private directory of a job: ours alone, locked, and gone afterwards. */
#include "tests/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "place/private_directory.h"

static int
exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static char *
under(const char *directory, const char *name)
{
	char *path;

	assert_int_equal(file_join(directory, name, &path), RS_OK);
	return path;
}

static void
directory_is_ours_alone_and_gone_afterwards(void **state)
{
	struct private_directory d, e;
	struct stat st;
	char *const base = under(*state, "recsys-train");

	assert_int_equal(private_directory_open(*state, 0x1234, &d), RS_OK);
	assert_string_equal(strrchr(d.path, '/'), "/0000000000001234");
	assert_int_equal(strncmp(d.path, base, strlen(base)), 0);
	assert_int_equal(stat(d.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(stat(base, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	/* Another job beside it takes nothing away. */
	assert_int_equal(private_directory_open(*state, 0x5678, &e), RS_OK);
	assert_true(exists(d.path));
	private_directory_close(&e);
	assert_true(exists(d.path));
	assert_false(exists(e.path));
	private_directory_close(&d);
	assert_false(exists(base));
	free(base);
}

static void
what_is_open_to_others_is_refused(void **state)
{
	struct private_directory d;
	char *const base = under(*state, "recsys-train");

	assert_int_equal(mkdir(base, 0700), 0);
	assert_int_equal(chmod(base, 0755), 0);
	assert_int_equal(private_directory_open(*state, 1, &d), RS_EDENIED);
	assert_non_null(strstr(rs_failure()->text, "open to others"));
	assert_int_equal(rmdir(base), 0);
	/* Nor is a link followed. */
	assert_int_equal(symlink(*state, base), 0);
	assert_int_equal(private_directory_open(*state, 1, &d), RS_EDENIED);
	assert_int_equal(unlink(base), 0);
	free(base);
}

static void
directories_of_dead_jobs_are_removed(void **state)
{
	struct private_directory d;
	char *dead;
	int status;

	assert_int_equal(private_directory_open(*state, 7, &d), RS_OK);
	const pid_t pid = fork_within(60);
	if (pid == 0) {
		if (private_directory_open(*state, 8, &d) != RS_OK)
			_exit(1);
		_exit(mkdir(under(d.path, "more"), 0700) != 0);        /* as kill -9 would    */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	dead = under(d.base, "0000000000000008");
	assert_true(exists(dead));
	struct private_directory e;
	assert_int_equal(private_directory_open(*state, 9, &e), RS_OK);
	assert_false(exists(dead));
	assert_true(exists(d.path));
	private_directory_close(&e);
	private_directory_close(&d);
	free(dead);
}

static void
who_stands_still_in_the_parent_is_waited_for_and_then_told(void **state)
{
	struct private_directory d, e;
	const double patience = private_directory_patience;

	assert_int_equal(private_directory_open(*state, 1, &d), RS_OK);
	char *const path = under(d.base, "lock");
	const int fd = open(path, O_RDWR);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	private_directory_patience = 0.1;
	assert_int_equal(private_directory_open(*state, 2, &e), RS_EBUSY);
	assert_non_null(strstr(rs_failure()->text, path));
	assert_non_null(strstr(rs_failure()->text, "for 0.1 s"));
	private_directory_patience = patience;
	close(fd);
	assert_int_equal(private_directory_open(*state, 2, &e), RS_OK);
	private_directory_close(&e);
	private_directory_close(&d);
	free(path);
}

/* Opens that of the job, leaves a file in it, and dies. */
static void
die_in(const char *runtime, uint64_t job)
{
	struct private_directory d;
	const pid_t pid = fork_within(60);
	int status;

	if (pid == 0)
		_exit(private_directory_open(runtime, job, &d) != RS_OK ||
			mkdir(under(d.path, "kept"), 0700) != 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
who_died_not_long_ago_finds_its_directory_again(void **state)
{
	struct private_directory d, e;
	char *kept;

	die_in(*state, 8);
	assert_int_equal(private_directory_reopen(*state, 8, 60, &d), RS_OK);
	kept = under(d.path, "kept");
	assert_true(exists(kept));
	/* It is locked, and another opener sweeps it not. */
	assert_int_equal(private_directory_reopen(*state, 8, 60, &e), RS_ECREATE);
	assert_int_equal(private_directory_open(*state, 9, &e), RS_OK);
	assert_true(exists(kept));
	private_directory_close(&e);
	private_directory_close(&d);
	assert_false(exists(d.path));
	free(kept);
}

static void
what_is_old_is_not_taken_over(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct private_directory d;
	char *kept;

	die_in(*state, 8);
	assert_int_equal(private_directory_reopen(*state, 8, 60, &d), RS_OK);
	close(d.lock);
	assert_int_equal(utimensat(AT_FDCWD, d.path, old, 0), 0);
	assert_int_equal(private_directory_reopen(*state, 8, 60, &d), RS_OK);
	kept = under(d.path, "kept");
	assert_false(exists(kept));
	private_directory_close(&d);
	free(kept);
}

static void
a_path_too_long_for_a_socket_is_not_used(void **state)
{
	struct private_directory d;
	char longer[120], *path;

	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	path = under(*state, longer);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(private_directory_open(path, 3, &d), RS_OK);
	assert_int_equal(strncmp(d.path, "/tmp/recsys-train-", 18), 0);
	assert_true(strlen(d.path) + 1 + PRIVATE_DIRECTORY_NAME_MAX
		<= PRIVATE_DIRECTORY_SOCKET_MAX);
	private_directory_close(&d);
	assert_false(exists(d.path));
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define WITH_DIRECTORY(f) cmocka_unit_test_setup_teardown(f, tmpdir_make, tmpdir_remove)
		WITH_DIRECTORY(directory_is_ours_alone_and_gone_afterwards),
		WITH_DIRECTORY(what_is_open_to_others_is_refused),
		WITH_DIRECTORY(directories_of_dead_jobs_are_removed),
		WITH_DIRECTORY(who_stands_still_in_the_parent_is_waited_for_and_then_told),
		WITH_DIRECTORY(who_died_not_long_ago_finds_its_directory_again),
		WITH_DIRECTORY(what_is_old_is_not_taken_over),
		WITH_DIRECTORY(a_path_too_long_for_a_socket_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
