/* Cores in the order in which threads get them, and threads on one. */
#include "tests/test.h"

#include <sched.h>

#include "base/cores.h"
#include "tree_files.h"

static void
one_of_every_physical_core_comes_first(void **state)
{
	static const char *const file[] = {
		"cpu1/topology/thread_siblings_list", "1,5\n",
		"cpu2/topology/thread_siblings_list", "2-3\n",
		"cpu3/topology/thread_siblings_list", "2-3\n",
		"cpu5/topology/thread_siblings_list", "1,5\n",
		"cpu7/topology/thread_siblings_list", "6-7\n",
		"cpu8/topology/thread_siblings_list", "what\n", NULL,
	};
	static const int wanted[] = { 1, 2, 4, 7, 8, 3, 5 };
	struct cores c = { .n = 7, .number = { 1, 2, 3, 4, 5, 7, 8 } };

	make_tree(*state, file);
	cores_order(*state, &c);
	assert_int_equal(c.n, 7);
	assert_memory_equal(c.number, wanted, sizeof(wanted));
}

static void
a_topology_that_is_not_there_changes_nothing(void **state)
{
	static const int wanted[] = { 0, 3, 9 };
	struct cores c = { .n = 3, .number = { 0, 3, 9 } };

	(void)state;
	cores_order("/nowhere", &c);
	assert_memory_equal(c.number, wanted, sizeof(wanted));
}

static void
cores_are_those_of_the_mask_and_a_thread_keeps_to_one(void **state)
{
	struct cores c, now;
	cpu_set_t all;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	cores_find(&c);
	assert_int_equal(c.n, CPU_COUNT(&all));
	for (size_t i = 0; i < c.n; i++)
		assert_true(CPU_ISSET(c.number[i], &all));
	assert_int_equal(cores_keep(pthread_self(), c.number[c.n - 1]), RS_OK);
	cores_find(&now);
	assert_int_equal(now.n, 1);
	assert_int_equal(now.number[0], c.number[c.n - 1]);
	assert_int_equal(cores_spread(pthread_self(), &c), RS_OK);
	cores_find(&now);
	assert_int_equal(now.n, c.n);
	assert_memory_equal(now.number, c.number, c.n * sizeof(*c.number));
	assert_int_equal(cores_keep(pthread_self(), CORES_MAX - 1), RS_ERESOURCE);
	assert_non_null(strstr(rs_failure()->text, "cannot be put on core 1023"));
	assert_int_equal(cores_spread(pthread_self(), &(struct cores){ .n = 0 }), RS_ERESOURCE);
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test_setup_teardown(one_of_every_physical_core_comes_first,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test(a_topology_that_is_not_there_changes_nothing),
		cmocka_unit_test(cores_are_those_of_the_mask_and_a_thread_keeps_to_one),
	};

	return cmocka_run_group_tests(test, NULL, NULL);
}
