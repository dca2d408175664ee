/* Files that are complete or absent: success, failure, disk full, kill. */
#include "tests/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"

static char *
in(void **state, const char *name)
{
	char *path;

	assert_int_equal(file_join(*state, name, &path), RS_OK);
	return path;
}

static size_t
n_entries(const char *directory)
{
	DIR   *d = opendir(directory);
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 2;
}

static void
assert_file(const char *path, const char *want)
{
	char  *text;
	size_t n;

	assert_int_equal(file_read(path, 1 << 20, &text, &n), RS_OK);
	assert_int_equal(n, strlen(want));
	assert_string_equal(text, want);
	free(text);
}

static void
committed_file_is_there_with_its_checksums(void **state)
{
	enum { N = (5 << 19) + 7 };
	char              *path = in(state, "a"), *bytes = malloc(N);
	struct file_writer w;
	struct file_map    m;

	for (size_t i = 0; i < N; i++)
		bytes[i] = (char)hash_mix(i);
	assert_int_equal(file_writer_open(&w, path), RS_OK);
	for (size_t at = 0, part = 1; at < N; at += part, part = part * 3 + 1) {
		part = part < N - at ? part : N - at;
		assert_int_equal(file_writer_write(&w, bytes + at, part), RS_OK);
	}
	assert_int_equal(file_writer_commit(&w), RS_OK);
	assert_int_equal(w.size, N);
	assert_int_equal(w.n_crc, 3);
	for (size_t i = 0; i < w.n_crc; i++) {
		const size_t n = i < 2 ? FILE_CRC_BLOCK : N - 2 * FILE_CRC_BLOCK;

		assert_int_equal(w.crc[i], hash_crc32c(0, bytes + i * FILE_CRC_BLOCK, n));
	}
	file_writer_close(&w);
	assert_int_equal(file_map_open(&m, path), RS_OK);
	assert_int_equal(m.size, N);
	assert_memory_equal(m.data, bytes, N);
	file_map_close(&m);
	assert_int_equal(n_entries(*state), 1);
	free(bytes);
	free(path);
}

static void
abandoned_file_leaves_the_old_one_and_nothing_else(void **state)
{
	char              *path = in(state, "a");
	struct file_writer w;

	assert_int_equal(file_replace(path, "old", 3), RS_OK);
	assert_int_equal(file_writer_open(&w, path), RS_OK);
	assert_int_equal(file_writer_write(&w, "new", 3), RS_OK);
	assert_int_equal(n_entries(*state), 2);
	file_writer_close(&w);
	assert_int_equal(n_entries(*state), 1);
	assert_file(path, "old");
	free(path);
}

static void
file_that_cannot_be_created_is_named(void **state)
{
	char              *path = in(state, "missing/a");
	struct file_writer w;

	assert_int_equal(file_writer_open(&w, path), RS_ECREATE);
	assert_non_null(strstr(rs_failure()->text, "missing/a"));
	assert_int_equal(rs_exit_code(RS_ECREATE), 73);
	file_writer_close(&w);
	free(path);
	/* A directory cannot be replaced by a file. */
	path = in(state, "d");
	assert_int_equal(file_make_directories(path), RS_OK);
	assert_int_equal(file_replace(path, "x", 1), RS_ECREATE);
	assert_int_equal(n_entries(*state), 1);
	free(path);
}

/* The child may write 100,000 bytes a file, as on a full disk. */
static void
b032_full_disk_is_exit_74_and_the_old_file_stays(void **state)
{
	char *path = in(state, "model");
	int   status;
	pid_t child;

	assert_int_equal(file_replace(path, "old", 3), RS_OK);
	child = fork_within(60);
	if (child == 0) {
		const struct rlimit small = { 100000, 100000 };
		char               *bytes = calloc(1, 300000);

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &small);
		_exit(rs_exit_code(file_replace(path, bytes, 300000)));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 74);
	assert_file(path, "old");
	assert_int_equal(n_entries(*state), 1);
	free(path);
}

static void
b032_killed_writer_leaves_the_old_file(void **state)
{
	char *path = in(state, "model");
	int   status, ready[2];
	char  byte;
	pid_t child;

	assert_int_equal(file_replace(path, "old", 3), RS_OK);
	assert_int_equal(pipe(ready), 0);
	child = fork_within(60);
	if (child == 0) {
		struct file_writer w;

		if (file_writer_open(&w, path) == RS_OK &&
		    file_writer_write(&w, "half of it", 10) == RS_OK && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_file(path, "old");
	/* A new save goes through beside the leftover. */
	assert_int_equal(file_replace(path, "new", 3), RS_OK);
	assert_file(path, "new");
	close(ready[0]);
	close(ready[1]);
	free(path);
}

static void
reading_reports_what_is_wrong(void **state)
{
	char           *path = in(state, "a"), *text;
	struct file_map m;
	size_t          n;

	assert_int_equal(file_read(path, 100, &text, &n), RS_ENOINPUT);
	assert_int_equal(file_map_open(&m, path), RS_ENOINPUT);
	assert_int_equal(file_read(*state, 100, &text, &n), RS_ENOINPUT);
	assert_int_equal(file_map_open(&m, *state), RS_ENOINPUT);
	assert_int_equal(file_replace(path, "0123456789", 10), RS_OK);
	assert_int_equal(file_read(path, 9, &text, &n), RS_EDATA);
	assert_null(text);
	assert_int_equal(file_read(path, 10, &text, &n), RS_OK);
	assert_int_equal(n, 10);
	free(text);
	free(path);
}

static void
empty_files_are_files(void **state)
{
	char           *path = in(state, "a");
	struct file_map m;

	assert_int_equal(file_replace(path, "", 0), RS_OK);
	assert_file(path, "");
	assert_int_equal(file_map_open(&m, path), RS_OK);
	assert_int_equal(m.size, 0);
	assert_non_null(m.data);
	file_map_close(&m);
	free(path);
}

static void
directories_are_made_and_trees_removed(void **state)
{
	char       *tree = in(state, "x"), *deep = in(state, "x//y/z/");
	char       *file = in(state, "x/y/z/f");
	char       *kept = in(state, "kept"), *link = in(state, "x/y/link");
	struct stat st;

	assert_int_equal(file_make_directories(deep), RS_OK);
	assert_int_equal(file_make_directories(deep), RS_OK);
	assert_int_equal(file_replace(file, "1", 1), RS_OK);
	assert_int_equal(file_make_directories(file), RS_ECREATE);
	/* A link is removed, what it points to is not. */
	assert_int_equal(file_replace(kept, "kept", 4), RS_OK);
	assert_int_equal(symlink(*state, link), 0);
	assert_int_equal(file_remove_tree(tree), RS_OK);
	assert_int_equal(lstat(tree, &st), -1);
	assert_file(kept, "kept");
	assert_int_equal(file_remove_tree(tree), RS_OK);
	free(tree);
	free(deep);
	free(file);
	free(kept);
	free(link);
}

static void
names_are_joined(void **state)
{
	static const struct {
		const char *directory, *name, *joined;
	} row[] = {
		{ "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "a", "/b", "/b" }, { "", "b", "b" },
		{ "/", "b", "/b" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(row); i++) {
		char *path;

		assert_int_equal(file_join(row[i].directory, row[i].name, &path), RS_OK);
		assert_string_equal(path, row[i].joined);
		free(path);
	}
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, tmpdir_make, tmpdir_remove)

static void
what_is_no_file_is_not_replaced(void **state)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/pipe", (const char *)*state);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(file_replace(path, "x", 1), RS_ECREATE);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
}

static void
refuse_link(const char *directory, const char *to)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/link", directory);
	assert_int_equal(symlink(to, path), 0);
	assert_int_equal(file_replace(path, "x", 1), RS_ECREATE);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(unlink(path), 0);
}

/* As /dev/stdout is one, which may lead to a file. */
static void
links_to_what_is_no_file_are_not_replaced(void **state)
{
	char path[300], opened[40];
	int fd;

	snprintf(path, sizeof(path), "%s/file", (const char *)*state);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", fd);
	refuse_link(*state, "/dev/null");
	refuse_link(*state, opened);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIRECTORY(committed_file_is_there_with_its_checksums),
		IN_DIRECTORY(abandoned_file_leaves_the_old_one_and_nothing_else),
		IN_DIRECTORY(file_that_cannot_be_created_is_named),
		IN_DIRECTORY(b032_full_disk_is_exit_74_and_the_old_file_stays),
		IN_DIRECTORY(b032_killed_writer_leaves_the_old_file),
		IN_DIRECTORY(reading_reports_what_is_wrong),
		IN_DIRECTORY(empty_files_are_files),
		IN_DIRECTORY(directories_are_made_and_trees_removed),
		cmocka_unit_test(names_are_joined),
		IN_DIRECTORY(what_is_no_file_is_not_replaced),
		IN_DIRECTORY(links_to_what_is_no_file_are_not_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
