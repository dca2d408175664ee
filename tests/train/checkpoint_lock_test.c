/* The writer's lock: one at a time, told by pid, given back at the end. */
#include "tests/test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
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

static int
is_there(const char *directory, const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", directory, name);
	return access(path, F_OK) == 0;
}

static void
what_was_made_for_nothing_is_removed(void **state)
{
	struct checkpoint_lock lock;
	char path[96];

	snprintf(path, sizeof path, "%s/a/b/", (const char *)*state);
	assert_int_equal(checkpoint_lock(path, 0, &lock), RS_OK);
	assert_true(is_there(*state, "a/b/LOCK"));
	checkpoint_unlock(&lock);
	assert_false(is_there(*state, "a"));
	assert_true(is_there(*state, ""));
	/* What was there stays, and what others put beside it. */
	snprintf(path, sizeof path, "%s/a", (const char *)*state);
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(checkpoint_lock(path, 0, &lock), RS_OK);
	checkpoint_unlock(&lock);
	assert_true(is_there(*state, "a") && !is_there(*state, "a/LOCK"));
	snprintf(path, sizeof path, "%s/a/b", (const char *)*state);
	assert_int_equal(checkpoint_lock(path, 0, &lock), RS_OK);
	snprintf(path, sizeof path, "%s/a/b/notes", (const char *)*state);
	assert_int_equal(file_replace(path, "", 0), RS_OK);
	checkpoint_unlock(&lock);
	assert_true(is_there(*state, "a/b/notes"));
	snprintf(path, sizeof path, "%s/a/LOCK", (const char *)*state);
	assert_int_equal(file_replace(path, "", 0), RS_OK);
	snprintf(path, sizeof path, "%s/a", (const char *)*state);
	assert_int_equal(checkpoint_lock(path, 0, &lock), RS_OK);
	checkpoint_unlock(&lock);
	assert_true(is_there(*state, "a/LOCK"));
}

static void
a_version_keeps_its_lock(void **state)
{
	struct checkpoint_lock lock;
	char path[96];

	assert_int_equal(checkpoint_lock(*state, 0, &lock), RS_OK);
	snprintf(path, sizeof path, "%s/v000001", (const char *)*state);
	assert_int_equal(mkdir(path, 0777), 0);
	snprintf(path, sizeof path, "%s/v000001/MANIFEST", (const char *)*state);
	assert_int_equal(file_replace(path, "", 0), RS_OK);
	checkpoint_unlock(&lock);
	assert_true(is_there(*state, "LOCK"));
}

struct waiter { const char *directory; struct checkpoint_lock lock; enum rs_status status; };

static void *
wait_for_it(void *argument)
{
	struct waiter *w = argument;

	w->status = checkpoint_lock(w->directory, 60, &w->lock);
	return NULL;
}

/* Who waited has the lock that others see, not the file that was removed. */
static void
who_waited_for_a_lock_that_went_has_the_next(void **state)
{
	struct checkpoint_lock first, third;
	struct waiter second;
	pthread_t thread;
	char path[96];

	snprintf(path, sizeof path, "%s/a", (const char *)*state);
	second.directory = path;
	assert_int_equal(checkpoint_lock(path, 0, &first), RS_OK);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &second), 0);
	usleep(100000);
	checkpoint_unlock(&first);
	pthread_join(thread, NULL);
	assert_int_equal(second.status, RS_OK);
	assert_int_equal(checkpoint_lock(path, 0, &third), RS_EBUSY);
	checkpoint_unlock(&second.lock);
	assert_false(is_there(*state, "a"));
}

/* --- a LOCK that is never the same --------------------------------------------------------- */

static const char *replaced;            /* NULL: none                                  */
static unsigned n_left;                 /* times that it is replaced                   */

static void
replace(const char *path)
{
	char other[120];

	snprintf(other, sizeof other, "%s.other", path);
	const int fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(rename(other, path), 0);
}

/* Stands before that of the C library: who has locked the file finds that it lost its name. */
int
flock(int fd, int operation)
{
	int (*call)(int, int);
	void *const symbol = dlsym(RTLD_NEXT, "flock");

	assert_non_null(symbol);
	memcpy(&call, &symbol, sizeof call);
	const int failed = call(fd, operation);
	if (failed == 0 && replaced != NULL && n_left > 0) {
		n_left--;
		replace(replaced);
	}
	return failed;
}

static void
a_lock_that_is_another_file_each_time_is_given_up(void **state)
{
	struct checkpoint_lock lock;
	char path[96];

	snprintf(path, sizeof path, "%s/LOCK", (const char *)*state);
	replaced = path;
	n_left = 3;
	assert_int_equal(checkpoint_lock(*state, 0, &lock), RS_OK);
	checkpoint_unlock(&lock);
	n_left = 10000;
	const enum rs_status status = checkpoint_lock(*state, 0, &lock);
	replaced = NULL;
	assert_int_equal(status, RS_EIO);
	assert_int_equal(lock.fd, -1);
	assert_true(n_left > 9000);
	assert_non_null(strstr(rs_failure()->text, "another file had its name"));
	assert_non_null(strstr(rs_failure()->hint, "inode numbers"));
	assert_int_equal(checkpoint_lock(*state, 0, &lock), RS_OK);
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
		TEST(what_was_made_for_nothing_is_removed),
		TEST(a_version_keeps_its_lock),
		TEST(who_waited_for_a_lock_that_went_has_the_next),
		TEST(a_lock_that_is_another_file_each_time_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
