/* Accept, reject, publish, roll back: each whole or not at all, and repaired after a kill. */
#include "train/publish.h"

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/thread.h"
#include "publish_case.h"
#include "train/checkpoint_private.h"
#include "train/manifest.h"

static void
a_version_is_accepted_published_and_told(void **state)
{
	struct publish_case *const c = *state;
	struct stat a, b;
	char path[200], line[400];

	publish_case_final(c, 7);
	publish_case_accept(c, 7, 1);
	publish_case_in_line(c);
	snprintf(line, sizeof line, "7 %s %s/7\n", c->model, c->serve);
	assert_string_equal(publish_case_text(c, "log"), line);
	snprintf(path, sizeof path, "%s/v000007/table-a.0-of-1.bin", c->model);
	assert_int_equal(stat(path, &a), 0);
	snprintf(path, sizeof path, "%s/7/table-a.0-of-1.bin", c->serve);
	assert_int_equal(stat(path, &b), 0);
	assert_true(a.st_ino == b.st_ino);
	assert_int_equal(c->warnings, 0);
	publish_case_repair(c, 1);
	assert_string_equal(publish_case_text(c, "log"), line);
}

static void
without_settings_only_current_moves(void **state)
{
	struct publish_case *const c = *state;
	char nothing[] = "";

	c->s.publish = c->s.command = nothing;
	publish_case_final(c, 1);
	publish_case_accept(c, 1, 1);
	publish_case_repair(c, 1);
	assert_false(publish_case_exists(c, "model/PENDING"));
	assert_false(publish_case_exists(c, "serve"));
	assert_int_equal(c->warnings, 0);
}

static void
old_copies_go_but_not_the_current_one(void **state)
{
	struct publish_case *const c = *state;

	c->s.publish_keep = 2;
	for (uint64_t n = 1; n <= 4; n++) {
		publish_case_final(c, n);
		publish_case_accept(c, n, 1);
	}
	assert_false(publish_case_exists(c, "serve/1"));
	assert_false(publish_case_exists(c, "serve/2"));
	assert_true(publish_case_exists(c, "serve/3"));
	publish_case_in_line(c);
	c->s.publish_keep = 0;
	for (uint64_t n = 5; n <= 9; n++) {
		publish_case_final(c, n);
		publish_case_accept(c, n, 1);
	}
	assert_true(publish_case_exists(c, "serve/3"));
	assert_true(publish_case_exists(c, "serve/5"));
	publish_case_in_line(c);
}

/* A directory that is no copy of a version is not ours. */
static void
what_others_keep_in_the_directory_stays(void **state)
{
	struct publish_case *const c = *state;
	char path[160];

	snprintf(path, sizeof path, "%s/99/notes", c->serve);
	assert_int_equal(file_make_directories(path), RS_OK);
	publish_case_final(c, 1);
	publish_case_accept(c, 1, 1);
	assert_true(publish_case_exists(c, "serve/99/notes"));
	publish_case_in_line(c);
}

static void
a_copy_of_another_model_with_the_number_is_replaced(void **state)
{
	struct publish_case *const c = *state;

	publish_case_version(c, 1, CHECKPOINT_FINAL, "former model");
	publish_case_accept(c, 1, 1);
	publish_case_final(c, 2);
	publish_case_accept(c, 2, 1);
	assert_int_equal(file_remove_tree(c->model), RS_OK);
	publish_case_final(c, 1);
	publish_case_accept(c, 1, 1);
	publish_case_in_line(c);
	assert_false(publish_case_exists(c, "serve/2"));
}

static void
where_names_cannot_be_exchanged_the_copy_is_replaced_too(void **state)
{
	publish_case_no_exchange = 1;
	a_copy_of_another_model_with_the_number_is_replaced(state);
	publish_case_no_exchange = 0;
}

static void
a_damaged_copy_is_made_again(void **state)
{
	struct publish_case *const c = *state;
	char path[200];

	publish_case_final(c, 1);
	publish_case_accept(c, 1, 1);
	snprintf(path, sizeof path, "%s/1/table-a.0-of-1.bin", c->serve);
	assert_int_equal(unlink(path), 0);
	publish_case_repair(c, 1);
	publish_case_in_line(c);
}

/* --- failures ----------------------------------------------------------------------- */

static void
a_failing_command_is_told_and_run_again(void **state)
{
	struct publish_case *const c = *state;
	char fails[] = "exit 3", killed[] = "kill -9 $$";
	char *const good = c->s.command;

	publish_case_final(c, 1);
	c->s.command = fails;
	publish_case_accept(c, 1, 0);
	assert_int_equal(publish_case_linked(c), 1);
	assert_non_null(strstr(c->warning, "ended with status 3"));
	c->s.command = killed;
	publish_case_repair(c, 0);
	assert_non_null(strstr(c->warning, "ended by signal 9"));
	assert_int_equal(c->warnings, 2);
	c->s.command = good;
	publish_case_repair(c, 1);
	publish_case_in_line(c);
	assert_int_equal(strncmp(publish_case_text(c, "log"), "1 ", 2), 0);
	publish_case_repair(c, 1);
	assert_ptr_equal(strchr(strchr(publish_case_text(c, "log"), '\n') + 1, '\n'), NULL);
}

/* A zombie that whoever adopted it has not looked at does not. */
static int
is_running(int pid)
{
	char path[64], status[64] = "";

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *const f = fopen(path, "r");
	if (f == NULL)
		return 0;
	const int got = fscanf(f, "%*d %*s %63s", status);
	fclose(f);
	return got == 1 && strcmp(status, "Z") != 0;
}

static void
a_command_that_takes_too_long_is_ended_with_all_it_started(void **state)
{
	struct publish_case *const c = *state;
	char slow[200];
	int pid = 0;

	snprintf(slow, sizeof slow, "trap '' TERM; sleep 600 & echo $! >%s; wait; sleep 600",
		c->log);
	c->s.command = slow;
	c->s.command_timeout = 0.5;
	publish_case_final(c, 1);
	const double before = clock_seconds();
	publish_case_accept(c, 1, 0);
	assert_true(clock_seconds() - before < 60);
	assert_non_null(strstr(c->warning, "longer than 0.5 s"));
	assert_int_equal(sscanf(publish_case_text(c, "log"), "%d", &pid), 1);
	for (int i = 0; is_running(pid) && i < 6000; i++)
		usleep(10000);
	assert_false(is_running(pid));
}

static void
a_directory_that_cannot_be_written_is_a_warning(void **state)
{
	struct publish_case *const c = *state;
	char aside[160];

	publish_case_final(c, 1);
	publish_case_accept(c, 1, 1);
	snprintf(aside, sizeof aside, "%s.aside", c->serve);
	assert_int_equal(rename(c->serve, aside), 0);
	assert_int_equal(file_replace(c->serve, "x", 1), RS_OK);
	publish_case_final(c, 2);
	publish_case_accept(c, 2, 0);
	assert_int_equal(c->warnings, 1);
	assert_non_null(strstr(c->warning, c->serve));
	assert_true(publish_case_exists(c, "model/PENDING"));
	publish_case_repair(c, 0);
	assert_int_equal(c->warnings, 2);
	assert_null(strstr(publish_case_text(c, "log"), "2 "));
	assert_int_equal(unlink(c->serve), 0);
	assert_int_equal(rename(aside, c->serve), 0);
	assert_int_equal(publish_case_linked(c), 1);
	publish_case_repair(c, 1);
	publish_case_in_line(c);
	assert_non_null(strstr(publish_case_text(c, "log"), "2 "));
}

static void
a_link_that_cannot_be_replaced_keeps_the_old_copy(void **state)
{
	struct publish_case *const c = *state;
	char path[160];

	snprintf(path, sizeof path, "%s/current/mine", c->serve);
	assert_int_equal(file_make_directories(path), RS_OK);
	publish_case_final(c, 1);
	publish_case_accept(c, 1, 0);
	assert_non_null(strstr(c->warning, "current"));
	assert_true(publish_case_exists(c, "serve/current/mine"));
}

/* As on a full disk, nothing of some size can be written for a while. */
static void
cut_files(struct publish_case *c, const char *far)
{
	const struct rlimit small = { .rlim_cur = 64, .rlim_max = RLIM_INFINITY };
	struct rlimit all;
	char path[200];

	publish_case_final(c, 3);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	publish_case_accept(c, 3, 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_non_null(strstr(c->warning, "cannot write"));
	snprintf(path, sizeof path, "test \"$(ls -A %s | tr '\\n' ' ')\" = '1 current '", far);
	assert_int_equal(system(path), 0);
	publish_case_repair(c, 1);
	snprintf(path, sizeof path, "test $(readlink %s/current) = 3", far);
	assert_int_equal(system(path), 0);
}

/* Another file system: no hard links. */
static void
without_hard_links_files_are_copied_and_compared(void **state)
{
	struct publish_case *const c = *state;
	char far[] = "/dev/shm/publish.XXXXXX", path[200];
	struct stat a, b;

	if (mkdtemp(far) == NULL) {
		print_message("SKIP: no directory in /dev/shm\n");
		skip();
	}
	if (stat(far, &a) != 0 || stat(c->root, &b) != 0 || a.st_dev == b.st_dev) {
		file_remove_tree(far);
		print_message("SKIP: /dev/shm is the file system of %s\n", c->root);
		skip();
	}
	c->s.publish = far;
	publish_case_final(c, 1);
	publish_case_accept(c, 1, 1);
	snprintf(path, sizeof path, "%s/current", far);
	struct manifest m;
	assert_int_equal(manifest_read(&m, path), RS_OK);
	assert_int_equal(manifest_verify(&m, path), RS_OK);
	manifest_free(&m);
	cut_files(c, far);
	publish_case_version(c, 2, CHECKPOINT_FINAL, "good");
	snprintf(path, sizeof path, "%s/v000002/table-a.0-of-1.bin", c->model);
	assert_int_equal(file_replace(path, "evil", 4), RS_OK);
	publish_case_accept(c, 2, 0);
	assert_non_null(strstr(c->warning, "not what MANIFEST says"));
	snprintf(path, sizeof path, "%s/2", far);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(file_remove_tree(far), RS_OK);
}

/* --- rejected ----------------------------------------------------------------------- */

static void
a_rejected_candidate_is_kept_and_its_number_is_not_given_again(void **state)
{
	struct publish_case *const c = *state;
	uint64_t next;

	publish_case_final(c, 1);
	publish_case_accept(c, 1, 1);
	publish_case_final(c, 2);
	assert_int_equal(publish_reject(c->model, 2, "auc 0.6 < 0.7"), RS_OK);
	assert_string_equal(publish_case_text(c, "model/v000002.rejected/REJECTED"),
		"gate: auc 0.6 < 0.7\n");
	assert_true(publish_case_exists(c, "model/v000002.rejected/table-a.0-of-1.bin"));
	assert_int_equal(publish_case_count(publish_rejected, c), 1);
	assert_int_equal(publish_case_count(publish_remembered, c), 1);
	assert_int_equal(publish_case_count(checkpoint_list, c), 1);
	assert_int_equal(checkpoint_next_version(c->model, &next), RS_OK);
	assert_int_equal(next, 3);
	publish_case_final(c, 3);
	publish_case_accept(c, 3, 1);
	assert_int_equal(publish_case_count(publish_remembered, c), 0);
	assert_int_equal(publish_case_count(publish_rejected, c), 1);
}

static void
a_gate_that_always_refuses_does_not_fill_the_disk(void **state)
{
	struct publish_case *const c = *state;
	char path[160];

	publish_case_final(c, 1);
	publish_case_accept(c, 1, 1);
	for (uint64_t n = 2; n <= 6; n++) {
		publish_case_final(c, n);
		snprintf(path, sizeof path, "%s/v%06" PRIu64 "/ledger.txt", c->model, n);
		assert_int_equal(file_replace(path, "x", 1), RS_OK);
		assert_int_equal(publish_reject(c->model, n, "why"), RS_OK);
	}
	assert_int_equal(publish_case_count(publish_remembered, c), 5);
	assert_false(publish_case_exists(c, "model/v000003.rejected/table-a.0-of-1.bin"));
	assert_true(publish_case_exists(c, "model/v000003.rejected/ledger.txt"));
	assert_true(publish_case_exists(c, "model/v000004.rejected/table-a.0-of-1.bin"));
	publish_case_final(c, 7);
	publish_case_accept(c, 7, 1);
	publish_case_final(c, 8);
	assert_int_equal(publish_reject(c->model, 8, "why"), RS_OK);
	assert_false(publish_case_exists(c, "model/v000003.rejected"));
	assert_int_equal(publish_case_count(publish_rejected, c), 3);
}

/* --- rollback ----------------------------------------------------------------------- */

static void
a_rollback_takes_the_published_copy_with_it(void **state)
{
	struct publish_case *const c = *state;
	uint64_t now;

	for (uint64_t n = 1; n <= 3; n++) {
		publish_case_final(c, n);
		publish_case_accept(c, n, 1);
	}
	assert_int_equal(publish_case_roll_back(c, 0, &now), RS_OK);
	assert_int_equal(now, 2);
	assert_int_equal(checkpoint_current(c->model), 2);
	publish_case_in_line(c);
	assert_false(publish_case_exists(c, "serve/3"));
	assert_string_equal(publish_case_text(c, "model/v000003.rejected/REJECTED"),
		"rollback: back to v000002\n");
	assert_int_equal(publish_case_count(publish_remembered, c), 0);
	assert_non_null(strstr(publish_case_text(c, "log"), "\n3 "));
	assert_non_null(strstr(strstr(publish_case_text(c, "log"), "\n3 "), "\n2 "));
	uint64_t next;
	assert_int_equal(checkpoint_next_version(c->model, &next), RS_OK);
	assert_int_equal(next, 4);
	assert_int_equal(publish_case_roll_back(c, 2, &now), RS_OK);
	assert_int_equal(now, 2);
}

static void
what_the_gate_refused_since_is_forgotten(void **state)
{
	struct publish_case *const c = *state;
	uint64_t now;

	for (uint64_t n = 1; n <= 2; n++) {
		publish_case_final(c, n);
		publish_case_accept(c, n, 1);
	}
	publish_case_final(c, 3);
	assert_int_equal(publish_reject(c->model, 3, "why"), RS_OK);
	assert_int_equal(publish_case_count(publish_remembered, c), 1);
	assert_int_equal(publish_case_roll_back(c, 1, &now), RS_OK);
	assert_int_equal(publish_case_count(publish_remembered, c), 0);
	assert_string_equal(publish_case_text(c, "model/v000003.rejected/REJECTED"),
		"rollback: back to v000001; gate: why\n");
	publish_case_in_line(c);
}

static void
a_rollback_refuses_what_is_absent_damaged_or_unfinished(void **state)
{
	struct publish_case *const c = *state;
	char path[200];
	uint64_t now;

	assert_int_equal(publish_case_roll_back(c, 0, &now), RS_ENOINPUT);
	publish_case_final(c, 1);
	publish_case_version(c, 2, CHECKPOINT_TRAINING, "weights of 2");
	publish_case_final(c, 3);
	publish_case_final(c, 4);
	publish_case_accept(c, 4, 1);
	assert_int_equal(publish_case_roll_back(c, 9, &now), RS_ENOINPUT);
	assert_int_equal(publish_case_roll_back(c, 2, &now), RS_EUSAGE);
	snprintf(path, sizeof path, "%s/v000003/table-a.0-of-1.bin", c->model);
	assert_int_equal(file_replace(path, "weights of 0", 12), RS_OK);
	assert_int_equal(publish_case_roll_back(c, 3, &now), RS_EDATA);
	assert_int_equal(checkpoint_current(c->model), 4);
	publish_case_in_line(c);
	assert_int_equal(c->warnings, 0);
	assert_int_equal(publish_case_roll_back(c, 0, &now), RS_OK);
	assert_int_equal(now, 1);
	assert_int_equal(c->warnings, 2);
	publish_case_in_line(c);
	assert_int_equal(publish_case_roll_back(c, 0, &now), RS_ENOINPUT);
	assert_int_equal(publish_case_roll_back(c, 4, &now), RS_ENOINPUT);
	assert_non_null(strstr(rs_failure()->hint, "v000004.rejected"));
}

int
main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, publish_case_set_up, publish_case_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_version_is_accepted_published_and_told),
		TEST(without_settings_only_current_moves),
		TEST(old_copies_go_but_not_the_current_one),
		TEST(what_others_keep_in_the_directory_stays),
		TEST(a_copy_of_another_model_with_the_number_is_replaced),
		TEST(where_names_cannot_be_exchanged_the_copy_is_replaced_too),
		TEST(a_damaged_copy_is_made_again),
		TEST(a_failing_command_is_told_and_run_again),
		TEST(a_command_that_takes_too_long_is_ended_with_all_it_started),
		TEST(a_directory_that_cannot_be_written_is_a_warning),
		TEST(a_link_that_cannot_be_replaced_keeps_the_old_copy),
		TEST(without_hard_links_files_are_copied_and_compared),
		TEST(a_rejected_candidate_is_kept_and_its_number_is_not_given_again),
		TEST(a_gate_that_always_refuses_does_not_fill_the_disk),
		TEST(a_rollback_takes_the_published_copy_with_it),
		TEST(what_the_gate_refused_since_is_forgotten),
		TEST(a_rollback_refuses_what_is_absent_damaged_or_unfinished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
