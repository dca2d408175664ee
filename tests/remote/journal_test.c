/* The journal of a shard as files: what is written can be read, whatever became of the end. */
#include "tests/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "remote/body.h"
#include "remote/journal.h"
#include "tests/open_files.h"

enum { JOB = 77, SHARD = 3, STEPS = 6, INIT_BYTES = sizeof(struct body_init) + 9 };

static char directory[4096];
static struct journal_options options = { .directory = directory, .job = JOB, .shard = SHARD };

/* What a replay was shown, as text: "P2 C2 R2 ". */
static struct { char text[4096]; size_t n; } seen;

static enum rs_status
note(void *context, const struct journal_record *r, const uint8_t *body)
{
	static const char letter[] = "?HPCREX";

	assert_null(context);
	assert_true((uintptr_t)body % 8 == 0);
	if (r->type == JOURNAL_PUSH) {
		assert_int_equal(r->bytes, 3 + r->step);
		for (size_t i = 0; i < r->bytes; i++)
			assert_int_equal(body[i], r->step);
		assert_int_equal(r->slot, 1);
		assert_int_equal(r->chunk, 2);
		assert_int_equal(r->flags, FRAME_MORE);
	}
	seen.n += (size_t)snprintf(seen.text + seen.n, sizeof(seen.text) - seen.n, "%c%" PRIu64 " ",
		letter[r->type], r->step);
	return RS_OK;
}

static const struct journal_visitor visitor = { .visit = note };

static void
begin_in(const char *parent, const char *name)
{
	snprintf(directory, sizeof(directory), "%s/%s", parent, name);
}

static void
begin(struct journal *j, uint64_t step)
{
	char init[INIT_BYTES] = { 0 };

	journal_begin(j, step, 1, init, sizeof(init));
}

static void
push(struct journal *j, uint64_t step)
{
	const struct journal_record r = { .type = JOURNAL_PUSH, .flags = FRAME_MORE, .slot = 1,
		.chunk = 2, .step = step };
	uint8_t body[64];

	memset(body, (int)step, sizeof(body));
	journal_append(j, &r, (const struct frame_part[]){ { body, 3 }, { body, 0 },
		{ body, (size_t)step } }, 3);
}

static void
mark(struct journal *j, enum journal_type type, uint64_t step)
{
	const struct journal_record r = { .type = (uint16_t)type, .step = step };

	journal_append(j, &r, NULL, 0);
}

/* Rows after step 1, of which the rest goes on. */
static void
write_steps(struct journal *j)
{
	begin(j, 0);
	for (uint64_t step = 1; step <= STEPS; step++) {
		push(j, step);
		mark(j, JOURNAL_COMMIT, step);
		if (step == 1)
			mark(j, JOURNAL_ROWS, 1);
		if (step == 1)
			journal_end(j, 1);
	}
}

static struct journal *
opened(void)
{
	struct journal *j;

	assert_int_equal(journal_open(&options, &j), RS_OK);
	assert_true(journal_is_on(j));
	return j;
}

static struct journal_range
range(void)
{
	struct journal_range r;

	assert_int_equal(journal_read_range(&options, &r), RS_OK);
	return r;
}

/* What leads to a step. */
static const char *
replayed(uint64_t step, struct journal_place *end)
{
	const struct journal_range r = range();

	seen.n = 0;
	assert_int_equal(journal_read_replay(&options, &r, step, &visitor, end), RS_OK);
	return seen.text;
}

static void
steps_are_found_and_replayed_up_to_any(void **state)
{
	struct journal_place end;
	struct journal_range r;
	struct journal *j;

	begin_in(*state, "steps");
	j = opened();
	write_steps(j);
	assert_true(journal_lowest(j) == 1);
	journal_close(j);
	r = range();
	assert_int_equal(r.n_starts, 1);
	assert_true(r.start[0].step == 1 && r.start[0].segment == 1);
	assert_true(r.applied == STEPS);
	assert_string_equal(replayed(1, &end), "H0 P1 C1 R1 ");
	assert_string_equal(replayed(3, &end), "H0 P1 C1 R1 P2 C2 P3 C3 ");
	assert_true(end.segment == 1);
	assert_int_equal(journal_read_replay(&options, &r, 0, &visitor, &end), RS_EDATA);
	assert_int_equal(journal_read_replay(&options, &r, STEPS + 1, &visitor, &end), RS_EDATA);
}

/* --- files that suffered ------------------------------------------------------------- */

static struct { char *data; size_t n; } whole;

static void
read_whole(uint64_t segment)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%016" PRIx64 ".log", directory, segment);
	assert_int_equal(file_read(path, 1 << 20, &whole.data, &whole.n), RS_OK);
}

static void
write_whole(uint64_t segment, size_t n)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/%016" PRIx64 ".log", directory, segment);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, whole.data, n), (ssize_t)n);
	close(fd);
}

/* Steps whose COMMIT, and for the first whose END, are within the first n bytes. */
static uint64_t
steps_within(size_t n)
{
	uint64_t steps = 0;
	size_t at = JOURNAL_RECORD_BYTES + (sizeof(struct journal_head) + INIT_BYTES + 7) / 8 * 8;

	for (uint64_t step = 1; step <= STEPS; step++) {
		at += 2 * JOURNAL_RECORD_BYTES + (3 + step + 7) / 8 * 8;
		at += step == 1 ? 2 * JOURNAL_RECORD_BYTES : 0;
		if (at <= n)
			steps = step;
	}
	assert_true(at == whole.n);
	return steps;
}

static void
a_torn_tail_costs_only_what_was_torn(void **state)
{
	struct journal *j;

	begin_in(*state, "torn");
	j = opened();
	write_steps(j);
	journal_close(j);
	read_whole(1);
	for (size_t n = 0; n <= whole.n; n++) {
		const uint64_t steps = steps_within(n);
		struct journal_range r;

		write_whole(1, n);
		r = range();
		assert_int_equal(r.n_starts, steps > 0);
		if (steps > 0) {
			struct journal_place end;

			assert_true(r.applied == steps);
			(void)replayed(steps, &end);
			assert_true(end.offset <= n);
		}
	}
	free(whole.data);
}

static void
damage_anywhere_is_noticed(void **state)
{
	struct journal *j;

	begin_in(*state, "damage");
	j = opened();
	write_steps(j);
	journal_close(j);
	read_whole(1);
	for (size_t i = 0; i < whole.n; i++) {
		const char was = whole.data[i];
		struct journal_range r;

		whole.data[i] = (char)(was ^ 0x10);
		write_whole(1, whole.n);
		whole.data[i] = was;
		r = range();
		/* Zeros that only fill up may be anything. */
		if (r.n_starts > 0 && r.applied == STEPS)
			assert_int_equal(was, 0);
		else
			assert_true(r.n_starts == 0 || r.applied == steps_within(i));
	}
	free(whole.data);
}

static void
journals_of_others_are_left_alone(void **state)
{
	struct journal_options other = options;
	struct journal_range r;
	struct journal *j;
	char path[4200];
	int fd;

	begin_in(*state, "others");
	j = opened();
	write_steps(j);
	journal_close(j);
	other.job++;
	assert_int_equal(journal_read_range(&other, &r), RS_OK);
	assert_int_equal(r.n_starts, 0);
	other = options;
	other.shard++;
	assert_int_equal(journal_read_range(&other, &r), RS_OK);
	assert_int_equal(r.n_starts, 0);
	snprintf(path, sizeof(path), "%s/notes.txt", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/%016x.log", directory, 2);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_true(range().applied == STEPS);
	other.directory = "/nonexistent/journal";
	assert_int_equal(journal_read_range(&other, &r), RS_OK);
	assert_int_equal(r.n_starts, 0);
}

/* --- several segments ---------------------------------------------------------------- */

static size_t
n_files(void)
{
	DIR *d = opendir(directory);
	const struct dirent *e;
	size_t n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

/* Step 7 was staged when segment 2 began, which has rows after step 8. */
static void
write_more(struct journal *j)
{
	write_steps(j);
	push(j, 7);
	begin(j, 7);
	mark(j, JOURNAL_COMMIT, 7);
	push(j, 8);
	mark(j, JOURNAL_COMMIT, 8);
	mark(j, JOURNAL_ROWS, 8);
	push(j, 9);
	journal_end(j, 8);
	mark(j, JOURNAL_COMMIT, 9);
}

static void
a_segment_is_good_by_itself_and_after_the_one_before(void **state)
{
	struct journal_place end;
	struct journal *j;

	begin_in(*state, "two");
	j = opened();
	write_more(j);
	assert_true(journal_lowest(j) == 1);
	assert_int_equal(range().n_starts, 2);
	assert_string_equal(replayed(7, &end),
		"H0 P1 C1 R1 P2 C2 P3 C3 P4 C4 P5 C5 P6 C6 P7 C7 ");
	assert_true(end.segment == 2);
	assert_string_equal(replayed(9, &end), "H7 P8 C8 R8 P9 C9 ");
	assert_int_equal(n_files(), 2);
	journal_forget(j, 7);
	assert_int_equal(n_files(), 2);
	journal_forget(j, 8);
	assert_int_equal(n_files(), 1);
	assert_true(journal_lowest(j) == 8);
	assert_string_equal(replayed(9, &end), "H7 P8 C8 R8 P9 C9 ");
	journal_reset(j);
	assert_int_equal(n_files(), 0);
	assert_true(journal_is_on(j) && !journal_has_segment(j));
	assert_true(journal_lowest(j) == UINT64_MAX);
	journal_close(j);
}

/* Segment k has all rows as of step k, as when shards come back again and again. */
static void
the_lowest_step_is_that_of_the_first_of_many_segments(void **state)
{
	const uint64_t n = 2 * JOURNAL_STARTS_MAX;
	struct journal_place end;
	struct journal *j;

	begin_in(*state, "many");
	j = opened();
	for (uint64_t k = 1; k <= n; k++) {
		begin(j, k - 1);
		push(j, k);
		mark(j, JOURNAL_COMMIT, k);
		mark(j, JOURNAL_ROWS, k);
		journal_end(j, k);
		assert_true(journal_lowest(j) == 1 && journal_has_two(j) == (k > 1));
		assert_true(range().start[0].step == 1 && range().applied == k);
		assert_true(range().start[range().n_starts - 1].step == k);
	}
	assert_string_equal(replayed(2, &end), "H0 P1 C1 R1 P2 C2 ");
	(void)replayed(n, &end);
	const struct journal_range r = range();
	journal_resume(j, &r, n, &end);
	assert_true(journal_lowest(j) == 1);
	journal_forget(j, n - 1);
	assert_true(journal_lowest(j) == 1);
	journal_forget(j, n);
	assert_true(journal_lowest(j) == n);
	assert_int_equal(n_files(), 1);
	journal_close(j);
}

static void
writing_goes_on_where_a_replay_ended(void **state)
{
	struct journal_range r;
	struct journal_place end;
	struct journal *j;

	begin_in(*state, "resume");
	j = opened();
	write_more(j);
	journal_close(j);
	j = opened();
	r = range();
	(void)replayed(5, &end);
	journal_resume(j, &r, 5, &end);
	assert_true(journal_lowest(j) == 1);
	begin(j, 5);
	push(j, 6);
	mark(j, JOURNAL_COMMIT, 6);
	journal_close(j);
	assert_int_equal(range().n_starts, 1);
	assert_true(range().applied == 6);
	assert_string_equal(replayed(6, &end), "H0 P1 C1 R1 P2 C2 P3 C3 P4 C4 P5 C5 X5 P6 C6 ");
}

/* What comes after a hole is good only where it has all rows. */
static void
damage_in_the_middle_leaves_what_follows(void **state)
{
	struct journal *j;

	begin_in(*state, "middle");
	j = opened();
	write_more(j);
	journal_close(j);
	read_whole(1);
	whole.data[whole.n / 2] ^= 1;
	write_whole(1, whole.n);
	free(whole.data);
	assert_int_equal(range().n_starts, 1);
	assert_true(range().start[0].step == 8 && range().applied == 9);
}

/* --- when it cannot be written ------------------------------------------------------- */

static void
a_full_disk_turns_it_off_and_leaves_nothing(void **state)
{
	const struct rlimit small = { 500, RLIM_INFINITY };
	struct rlimit before;
	struct journal *j;

	begin_in(*state, "full");
	j = opened();
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	write_steps(j);
	write_more(j);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_false(journal_is_on(j));
	assert_int_equal(n_files(), 0);
	/* What follows does no harm. */
	write_steps(j);
	journal_sync(j);
	journal_reset(j);
	journal_close(j);
	assert_int_equal(n_files(), 0);
}

static void
a_directory_that_cannot_be_made_is_an_error(void **state)
{
	struct journal *j;

	begin_in(*state, "file");
	assert_int_equal(file_replace(directory, "x", 1), RS_OK);
	assert_int_not_equal(journal_open(&options, &j), RS_OK);
}

static void
what_is_synchronised_is_on_the_disk_and_private(void **state)
{
	struct journal *j;
	struct stat st;

	begin_in(*state, "sync");
	options.durable = 1;
	j = opened();
	write_steps(j);
	journal_sync(j);
	assert_true(journal_is_on(j));
	assert_int_equal(stat(directory, &st), 0);
	assert_int_equal(st.st_mode & 077, 0);
	journal_close(j);
	options.durable = 0;
	assert_true(range().applied == STEPS);
}

/* Else the shard would begin with what is there without the segment. */
static void
a_full_table_of_files_is_no_gap(void **state)
{
	struct journal_range r, again;
	struct journal_place end;
	struct journal *j;

	begin_in(*state, "full");
	j = opened();
	write_steps(j);
	journal_close(j);
	r = range();
	const struct rlimit former = open_files_leave(0);
	const enum rs_status listed = journal_read_range(&options, &again);
	const enum rs_status replayed = journal_read_replay(&options, &r, STEPS, &visitor, &end);
	open_files_restore(former);
	assert_int_equal(listed, RS_ERESOURCE);
	assert_int_equal(replayed, RS_ERESOURCE);
	assert_int_equal(journal_read_replay(&options, &r, STEPS, &visitor, &end), RS_OK);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_found_and_replayed_up_to_any),
		cmocka_unit_test(a_torn_tail_costs_only_what_was_torn),
		cmocka_unit_test(damage_anywhere_is_noticed),
		cmocka_unit_test(journals_of_others_are_left_alone),
		cmocka_unit_test(a_segment_is_good_by_itself_and_after_the_one_before),
		cmocka_unit_test(the_lowest_step_is_that_of_the_first_of_many_segments),
		cmocka_unit_test(writing_goes_on_where_a_replay_ended),
		cmocka_unit_test(damage_in_the_middle_leaves_what_follows),
		cmocka_unit_test(a_full_disk_turns_it_off_and_leaves_nothing),
		cmocka_unit_test(a_directory_that_cannot_be_made_is_an_error),
		cmocka_unit_test(what_is_synchronised_is_on_the_disk_and_private),
		cmocka_unit_test(a_full_table_of_files_is_no_gap),
	};

	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
