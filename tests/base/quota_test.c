/* Quotas of made-up cgroup trees, version 1 and 2. */
#include "tests/test.h"

#include <string.h>

#include "base/quota.h"
#include "tree_files.h"

static size_t
quota_of(const char *root, const char *const *file)
{
	char  *proc, *mount;
	size_t n;

	make_tree(root, file);
	assert_int_equal(file_join(root, "self", &proc), RS_OK);
	assert_int_equal(file_join(root, "fs", &mount), RS_OK);
	n = quota_count(proc, mount);
	free(proc);
	free(mount);
	return n;
}

static void
no_quota_is_no_bound(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const max[] = { "self", "0::/a\n", "fs/a/cpu.max", "max 100000\n",
		NULL };

	assert_true(quota_of(*state, none) == SIZE_MAX);
	assert_true(quota_of(*state, max) == SIZE_MAX);
}

static void
version_2_quota_is_rounded_up(void **state)
{
	static const char *const file[] = {
		"self", "0::/a/b\n", "fs/a/b/cpu.max", "250000 100000\n", NULL,
	};

	assert_int_equal(quota_of(*state, file), 3);
}

static void
quota_of_a_group_above_binds(void **state)
{
	static const char *const file[] = {
		"self", "0::/a/b/c\n", "fs/a/b/c/cpu.max", "800000 100000\n",
		"fs/a/cpu.max", "150000 100000\n", NULL,
	};

	assert_int_equal(quota_of(*state, file), 2);
}

static void
container_sees_its_quota_at_the_root(void **state)
{
	static const char *const file[] = {
		"self", "0::/../../somewhere\n", "fs/cpu.max", "400000 100000\n", NULL,
	};

	assert_int_equal(quota_of(*state, file), 4);
}

static void
version_1_quota_is_read(void **state)
{
	static const char *const file[] = {
		"self",
		"9:memory:/m\n4:cpu,cpuacct:/job\n1:name=systemd:/\n",
		"fs/cpu/job/cpu.cfs_quota_us",
		"50000\n",
		"fs/cpu/job/cpu.cfs_period_us",
		"100000\n",
		NULL,
	};
	static const char *const none[] = { "fs/cpu/job/cpu.cfs_quota_us", "-1\n", NULL };

	assert_int_equal(quota_of(*state, file), 1);
	assert_true(quota_of(*state, none) == SIZE_MAX);
}

static void
nonsense_is_no_bound(void **state)
{
	static const char *const file[] = {
		"self", "0:x\n::\n\n0::/a", "fs/a/cpu.max", "-5 0\n", "fs/cpu.max", "", NULL,
	};

	assert_true(quota_of(*state, file) == SIZE_MAX);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, tmpdir_make, tmpdir_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIRECTORY(no_quota_is_no_bound),
		IN_DIRECTORY(version_2_quota_is_rounded_up),
		IN_DIRECTORY(quota_of_a_group_above_binds),
		IN_DIRECTORY(container_sees_its_quota_at_the_root),
		IN_DIRECTORY(version_1_quota_is_read),
		IN_DIRECTORY(nonsense_is_no_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
