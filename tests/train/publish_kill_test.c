/* Publishing that is killed before each of its changes, and what the next run makes of it. */
#include "train/publish.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "publish_case.h"

static void
accept_in_child(void *context)
{
	struct publish_case *const c = context;
	int incomplete;

	if (publish_accept(c->model, 3, &c->s, &incomplete) != RS_OK || incomplete)
		_exit(1);
}

static void
roll_back_in_child(void *context)
{
	struct publish_case *const c = context;
	uint64_t now;

	if (publish_case_roll_back(c, 1, &now) != RS_OK)
		_exit(1);
}

static void
repair_in_child(void *context)
{
	struct publish_case *const c = context;
	int incomplete;

	if (publish_repair(c->model, &c->s, &incomplete) != RS_OK || incomplete)
		_exit(1);
}

static void
begin_killed(struct publish_case *c)
{
	char *const command = c->s.command;
	char none[] = "";

	publish_case_clear(c);
	c->s.command = none;
	for (uint64_t n = 1; n <= 2; n++) {
		publish_case_final(c, n);
		publish_case_accept(c, n, 1);
	}
	publish_case_final(c, 3);
	c->s.command = command;
}

/* The command ran for the version if it became current by now. */
static void
assert_told(struct publish_case *c, uint64_t changed_to)
{
	char line[16];

	if (checkpoint_current(c->model) != changed_to)
		return;
	snprintf(line, sizeof line, "%" PRIu64 " ", changed_to);
	assert_non_null(strstr(publish_case_text(c, "log"), line));
}

static void
a_kill_at_any_point_of_accepting_is_repaired(void **state)
{
	struct publish_case *const c = *state;
	unsigned n = 0, before = 0;
	int killed;

	c->s.publish_keep = 1;
	do {
		begin_killed(c);
		killed = publish_case_killed(accept_in_child, c, ++n);
		before += checkpoint_current(c->model) == 2;
		publish_case_repair(c, 1);
		publish_case_in_line(c);
		assert_told(c, 3);
		assert_int_equal(c->warnings, 0);
	} while (killed);
	assert_true(before > 2 && before < n);
	assert_true(n > 15);
}

static void
a_command_that_is_due_is_not_lost_by_a_kill_of_the_next(void **state)
{
	struct publish_case *const c = *state;
	char *const good = c->s.command;
	char fails[] = "false";
	unsigned n = 0;
	int killed;

	do {
		begin_killed(c);
		c->s.command = fails;
		publish_case_accept(c, 2, 0);
		c->s.command = good;
		killed = publish_case_killed(accept_in_child, c, ++n);
		publish_case_repair(c, 1);
		publish_case_in_line(c);
		assert_told(c, 2);
		assert_told(c, 3);
	} while (killed && checkpoint_current(c->model) == 2);
	assert_true(n > 2);
}

static void
a_kill_of_the_repair_is_repaired_as_well(void **state)
{
	struct publish_case *const c = *state;
	unsigned n = 0;
	int killed;

	do {
		begin_killed(c);
		assert_int_equal(file_remove_tree(c->serve), RS_OK);
		killed = publish_case_killed(repair_in_child, c, ++n);
		publish_case_repair(c, 1);
		publish_case_in_line(c);
		assert_told(c, 2);
	} while (killed);
	assert_true(n > 10);
}

static void
a_kill_at_any_point_of_a_rollback_is_repaired(void **state)
{
	struct publish_case *const c = *state;
	unsigned n = 0, before = 0;
	int killed;

	do {
		begin_killed(c);
		killed = publish_case_killed(roll_back_in_child, c, ++n);
		const int back = checkpoint_current(c->model) == 1;
		before += !back;
		publish_case_repair(c, 1);
		publish_case_in_line(c);
		assert_told(c, 1);
		assert_int_equal(publish_case_count(checkpoint_list, c), back ? 1 : 3);
		assert_int_equal(publish_case_count(publish_rejected, c), back ? 2 : 0);
	} while (killed);
	assert_true(before > 2 && before < n);
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, publish_case_set_up, publish_case_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_kill_at_any_point_of_accepting_is_repaired),
		TEST(a_command_that_is_due_is_not_lost_by_a_kill_of_the_next),
		TEST(a_kill_of_the_repair_is_repaired_as_well),
		TEST(a_kill_at_any_point_of_a_rollback_is_repaired),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
