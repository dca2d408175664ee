/* Files without a name are on disk, can be read, and leave nothing behind. */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/file_unnamed.h"
#include "tests/test.h"

static int
count_names(const char *directory)
{
	DIR *d = opendir(directory);
	int n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL; )
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

static void
what_is_written_is_read_and_has_no_name(void **state)
{
	const char *const directory = *state;
	struct stat here, there;
	struct file_writer w;
	struct file_map m;

	assert_int_equal(file_unnamed_writer(&w, directory), RS_OK);
	assert_int_equal(fstat(w.fd, &there), 0);
	assert_int_equal(stat(directory, &here), 0);
	assert_true(here.st_dev == there.st_dev);
	assert_int_equal(file_writer_write(&w, "rows", 4), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	assert_int_equal(w.n_crc, 1);
	assert_int_equal(count_names(directory), 0);
	assert_int_equal(file_map_open(&m, w.path), RS_OK);
	assert_int_equal(m.size, 4);
	assert_memory_equal(m.data, "rows", 4);
	file_map_close(&m);
	file_writer_close(&w);
	assert_int_equal(count_names(directory), 0);
}

static void
directory_that_is_not_there_is_named(void **state)
{
	struct file_writer w;

	(void)state;
	assert_int_equal(file_unnamed_writer(&w, "/nowhere/at/all"), RS_ECREATE);
	assert_non_null(strstr(rs_failure()->text, "'/nowhere/at/all'"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_written_is_read_and_has_no_name,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test(directory_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
