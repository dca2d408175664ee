/* Rows that are dealt to ranks by file: each once, in the same batches every time. */
#include <signal.h>
#include <string.h>

#include "place_run.h"

/* One file for three ranks has most rows, one few, one none. */
enum { N_MOST = 500, N_FEW = 70, N_EPOCHS = 2 };

#define DEALT(file, more, policy) "[model]\ntype = din\n[data]\ntrain = %s/" file "\n" \
	"format = csv\nlabel = y\n" \
	"[field i]\ncolumn = i\nbuckets = 50\n[field c]\ncolumn = c\nbuckets = 10\n" \
	"[field x]\ncolumn = x\ntype = numeric\n" more \
	"[field p]\ncolumn = p\ntype = sequence\nshare = i\nmulti_separator = |\n" \
	"[field q]\ncolumn = q\ntype = sequence\nshare = c\nmulti_separator = |\n" \
	"[dnn]\nhidden = 6\ndropout = 0.2\n[embedding]\ndim = 4\n" \
	"[train]\nbatch_size = 64\nslots = 5\nepochs = 2\nearly_stop = 0\n" \
	"[cluster]\npolicy = " policy "\n"
#define SPEC(file, more) DEALT(file, more, "file")
#define PARTS SPEC("part-*.csv", "")

static void
run(struct job *job, size_t n, const char *directory)
{
	struct place_hub *hub = place_hub_open(n, HUB_SHARED);

	place_run_jobs(job, n, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < n; r++)
		if (job[r].status != RS_OK)
			fail_msg("%s, rank %zu: %s", directory, r, job[r].failure.text);
}

/* Every rank knows what all have read. */
static void
assert_counts(const struct train_summary *s)
{
	static const uint64_t rows[] = { N_MOST, N_FEW, 0 };

	assert_int_equal(s->rows_read, N_EPOCHS * (N_MOST + N_FEW));
	assert_int_equal(s->rows_trained, s->rows_read);
	assert_int_equal(s->n_files, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(s->file[i].tally.read, rows[i]);
		assert_true(s->file[i].size > 0);
		assert_true(strstr(s->file[i].path, (const char *[]){ "part-a.csv", "part-b.csv",
			"part-c.csv" }[i]) != NULL);
	}
}

static void
L007_ranks_with_few_rows_and_none_stall_nobody(void **state)
{
	char directory[2][300];
	struct job job[HUB_RANKS];

	(void)state;
	for (size_t n = 2; n <= 3; n++) {
		for (size_t i = 0; i < 2; i++) {
			snprintf(directory[i], 300, "%s/dealt-%zu-%zu", place_run_top, n, i);
			place_run_begin(job, n, PARTS, directory[i]);
			job[n - 1].threads = i == 1 ? 2 : 1;
			run(job, n, directory[i]);
			for (size_t r = 0; r < n; r++)
				assert_counts(&job[r].summary);
			/* as many as the rank with most rows has, each of its share of 64 */
			assert_int_equal(job[0].summary.step, N_EPOCHS * (n == 2 ? 20 : 42));
			place_run_free(job, n);
		}
		place_run_assert_same(directory[0], directory[1], 1);
	}
}

/* n ranks go on with the run; all end alike. */
static void
resume(const char *directory, const char *spec, size_t n, enum rs_status wanted)
{
	struct place_hub *hub = place_hub_open(n, HUB_SHARED);
	struct job job[HUB_RANKS];

	place_run_begin(job, n, spec, directory);
	for (size_t r = 0; r < n; r++)
		job[r].resume = 1;
	place_run_jobs(job, n, hub);
	place_hub_close(hub);
	if (job[0].status != wanted)
		fail_msg("%zu ranks: %s", n, job[0].failure.text);
	if (wanted == RS_ESPEC)
		assert_non_null(strstr(job[0].failure.text, n == 2 ?
			"of 3 workers, now there are 2" :
			"is of 3 workers with cluster.policy = file"));
	if (wanted == RS_OK)
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(job[0].summary.file[i].tally.read,
				((const uint64_t[]){ N_MOST, N_FEW, 0 })[i]);
	place_run_free(job, n);
}

/* Rank 1 is at the end of its epoch then, rank 2 never had a row. */
static void
stop_after(const char *directory, size_t n_steps)
{
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);
	struct job job[HUB_RANKS];

	place_run_begin(job, 3, PARTS, directory);
	for (size_t r = 0; r < 3; r++)
		job[r].resume = n_steps > 1;
	job[1].signal = SIGTERM;
	place_run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		if (job[r].status != RS_ESIGNAL)
			fail_msg("rank %zu: %s", r, job[r].failure.text);
		assert_int_equal(job[r].summary.step, n_steps);
	}
	place_run_free(job, 3);
}

static void
a_run_stopped_at_any_step_goes_on_with_as_many_ranks(void **state)
{
	char directory[300], whole[300];

	(void)state;
	snprintf(directory, sizeof directory, "%s/stopped", place_run_top);
	snprintf(whole, sizeof whole, "%s/dealt-3-0", place_run_top);
	for (size_t step = 1; step <= 45; step++)
		stop_after(directory, step);
	resume(directory, PARTS, 2, RS_ESPEC);
	resume(directory, DEALT("part-*.csv", "", "record"), 3, RS_ESPEC);
	resume(directory, PARTS, 3, RS_OK);
	place_run_assert_same(whole, directory, 0);
}

static void
what_cannot_be_dealt_is_refused(void **state)
{
	static const struct { const char *spec; size_t n; const char *says; } row[] = {
		{ PARTS, 4, "3 training files for 4 workers" },
		{ SPEC("part-a.csv", ""), 2, "1 training file for 2 workers" },
		{ SPEC("part-*.csv", "transform = standardize\n"), 2, "a pass over all rows" },
	};
	char directory[300];
	struct job job[HUB_RANKS];

	(void)state;
	snprintf(directory, sizeof directory, "%s/refused", place_run_top);
	for (size_t i = 0; i < N_ROWS(row); i++) {
		struct place_hub *hub = place_hub_open(row[i].n, HUB_SHARED);

		place_run_begin(job, row[i].n, row[i].spec, directory);
		place_run_jobs(job, row[i].n, hub);
		place_hub_close(hub);
		assert_int_equal(job[0].status, RS_ESPEC);
		if (strstr(job[0].failure.text, row[i].says) == NULL)
			fail_msg("row %zu: %s", i, job[0].failure.text);
		place_run_free(job, row[i].n);
	}
}

static void
a_rank_that_finds_other_files_is_named(void **state)
{
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);
	char directory[300], other[300];
	struct job job[HUB_RANKS];

	(void)state;
	snprintf(directory, sizeof directory, "%s/other", place_run_top);
	snprintf(other, sizeof other, "%s/part-*.csv,%s/train.csv", place_run_top, place_run_top);
	place_run_begin(job, 3, PARTS, directory);
	job[2].train = other;
	place_run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, RS_EDATA);
		assert_non_null(strstr(job[r].failure.text, "worker 2 has another list"));
	}
	place_run_free(job, 3);
}

static void
a_file_of_bad_rows_only_counts_them_once_an_epoch(void **state)
{
	struct place_hub *hub = place_hub_open(2, HUB_SHARED);
	char directory[300], path[300];
	struct job job[HUB_RANKS];

	(void)state;
	snprintf(directory, sizeof directory, "%s/bad", place_run_top);
	place_run_rows("bad-a.csv", N_FEW, 14);
	snprintf(path, sizeof path, "%s/bad-b.csv", place_run_top);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs("y,u,i,c,x,p,q\n7,u1,i1,c1,0.5,i1,c1\n", f);
	assert_int_equal(fclose(f), 0);
	place_run_begin(job, 2, SPEC("bad-*.csv", "") "[data]\non_bad_row = skip\n", directory);
	place_run_jobs(job, 2, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 2; r++) {
		const struct train_summary *const s = &job[r].summary;

		assert_int_equal(job[r].status, RS_EPARTIAL);
		assert_int_equal(s->rows_read, N_EPOCHS * (N_FEW + 1));
		assert_int_equal(s->rows_skipped, N_EPOCHS);
		assert_int_equal(s->rows_trained, N_EPOCHS * N_FEW);
		assert_int_equal(s->file[0].tally.read, N_FEW);
		assert_int_equal(s->file[1].tally.read, 1);
		assert_int_equal(s->file[1].tally.skipped, 1);
	}
	place_run_free(job, 2);
}

static int
set_up(void **state)
{
	if (place_run_set_up(state) != 0)
		return -1;
	place_run_rows("part-a.csv", N_MOST, 11);
	place_run_rows("part-b.csv", N_FEW, 12);
	place_run_rows("part-c.csv", 0, 13);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L007_ranks_with_few_rows_and_none_stall_nobody),
		cmocka_unit_test(a_run_stopped_at_any_step_goes_on_with_as_many_ranks),
		cmocka_unit_test(a_rank_that_finds_other_files_is_named),
		cmocka_unit_test(a_file_of_bad_rows_only_counts_them_once_an_epoch),
		cmocka_unit_test(what_cannot_be_dealt_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, place_run_tear_down);
}
