/* Directories that a full table of open files hides: they are not taken for empty ones. */
#include <string.h>

#include "cmd/cache_files.h"
#include "cmd/export.h"
#include "cmd/gc.h"
#include "tests/open_files.h"
#include "tests/test.h"

static const char *const ours[] = { "*.bin", NULL };

static enum rs_status
take_none(void *context, const struct cache_file *file)
{
	(void)context;
	(void)file;
	return RS_OK;
}

static void
what_cannot_be_listed_is_not_replaced(void **state)
{
	char path[300];

	snprintf(path, sizeof path, "%s/letter", (const char *)*state);
	assert_int_equal(export_refuse_others(*state, ours), RS_OK);
	assert_int_equal(file_replace(path, "x", 1), RS_OK);
	assert_int_equal(export_refuse_others(*state, ours), RS_ECREATE);
	const struct rlimit former = open_files_leave(0);
	const enum rs_status status = export_refuse_others(*state, ours);
	open_files_restore(former);
	assert_int_equal(status, RS_ERESOURCE);
	assert_non_null(strstr(rs_failure()->text, "Too many open files"));
	snprintf(path, sizeof path, "%s/none", (const char *)*state);
	assert_int_equal(export_refuse_others(path, ours), RS_OK);
}

static void
what_cannot_be_listed_has_no_size(void **state)
{
	struct gc_files files = { 0 };
	const struct rlimit former = open_files_leave(0);
	const enum rs_status size = gc_files_add(&files, *state, 0);
	const enum rs_status caches = cache_files_each(*state, take_none, NULL);

	open_files_restore(former);
	assert_int_equal(size, RS_ERESOURCE);
	assert_int_equal(caches, RS_ERESOURCE);
	assert_int_equal(gc_files_add(&files, *state, 0), RS_OK);
	assert_int_equal(cache_files_each(*state, take_none, NULL), RS_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tmpdir_make, tmpdir_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_cannot_be_listed_is_not_replaced),
		TEST(what_cannot_be_listed_has_no_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
