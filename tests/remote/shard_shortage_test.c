/* A shard that cannot look at its journal, for too many open files or no memory, does not go on
 * as one that has none. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "remote/shard_private.h"
#include "shard_bed.h"
#include "tests/allocations.h"
#include "tests/open_files.h"

/* --- a directory that cannot be opened ---------------------------------------------------- */

static char hidden[4200];               /* the path; "": none                            */
static atomic_int hidden_at;            /* the which time it is opened                    */

DIR *opendir(const char *path);
DIR *
opendir(const char *path)
{
	DIR *(*call)(const char *);
	void *const symbol = dlsym(RTLD_NEXT, "opendir");

	if (symbol == NULL)
		abort();
	memcpy(&call, &symbol, sizeof call);
	if (hidden[0] == '\0' || strcmp(path, hidden) != 0
	    || atomic_fetch_sub(&hidden_at, 1) != 1)
		return call(path);
	errno = EMFILE;
	return NULL;
}

/* --- one's own ------------------------------------------------------------------------------ */

static void
report_nothing(void *context, const struct shard_counts *counts)
{
	(void)context;
	(void)counts;
}

/* A segment that is good for step 0. */
static void
write_journal(const struct journal_options *o)
{
	static const uint64_t init[8];
	struct journal_range range;
	struct journal *j;

	assert_int_equal(journal_open(o, &j), RS_OK);
	journal_begin(j, 0, 1, init, sizeof(init));
	journal_end(j, 0);
	journal_close(j);
	assert_int_equal(journal_read_range(o, &range), RS_OK);
	assert_int_equal(range.n_starts, 1);
}

static struct shard_options
options_of(const struct journal_options *journal)
{
	return (struct shard_options){ .kernel = &kernel_ref, .n_threads = 1, .job = BED_JOB,
		.journal = journal, .report = report_nothing };
}

static void
too_many_open_files_end_it_and_cost_no_journal(void **state)
{
	char path[4200];
	const struct journal_options journal = { .directory = path, .job = BED_JOB };
	const struct shard_options options = options_of(&journal);
	struct journal_range range;
	struct shard *s;

	snprintf(path, sizeof(path), "%s/journal0", (const char *)*state);
	write_journal(&journal);
	const struct rlimit former = open_files_leave(0);
	const enum rs_status status = shard_open(&options, &s);
	open_files_restore(former);
	assert_int_equal(status, RS_ERESOURCE);
	assert_non_null(strstr(rs_failure()->text, "journal0"));
	assert_int_equal(journal_read_range(&journal, &range), RS_OK);
	assert_int_equal(range.n_starts, 1);
	assert_int_equal(shard_open(&options, &s), RS_OK);
	shard_close(s);
}

static void
without_memory_it_ends_or_has_its_journal(void **state)
{
	char path[4200];
	const struct journal_options journal = { .directory = path, .job = BED_JOB };
	const struct shard_options options = options_of(&journal);
	struct journal_range range;
	struct shard *s;

	if (!ALLOCATIONS_CAN_COUNT)
		SKIP_BECAUSE("allocations cannot be counted in this build");
	snprintf(path, sizeof(path), "%s/journal0", (const char *)*state);
	write_journal(&journal);
	const size_t before = allocations_count();
	assert_int_equal(journal_read_range(&journal, &range), RS_OK);
	assert_true(allocations_count() > before);
	assert_int_equal(shard_open(&options, &s), RS_OK);
	const size_t n = allocations_count() - before;
	shard_close(s);
	for (size_t failed = 1; failed <= n; failed++) {
		allocations_fail_at(failed);
		const enum rs_status status = shard_open(&options, &s);
		allocations_fail_at(0);
		if (status != RS_OK) {
			assert_int_equal(status, RS_ERESOURCE);
			continue;
		}
		assert_true(shard_journal_is_on(s));
		assert_int_equal(s->found.n_starts, 1);
		shard_close(s);
	}
	assert_int_equal(journal_read_range(&journal, &range), RS_OK);
	assert_int_equal(range.n_starts, 1);
}

/* Anything else still costs the journal alone. */
static void
a_path_that_is_no_directory_costs_the_journal(void **state)
{
	char path[4200];
	const struct journal_options journal = { .directory = path, .job = BED_JOB };
	const struct shard_options options = options_of(&journal);
	struct shard *s;

	snprintf(path, sizeof(path), "%s/journal0", (const char *)*state);
	assert_int_equal(file_replace(path, "x", 1), RS_OK);
	assert_int_equal(shard_open(&options, &s), RS_OK);
	shard_close(s);
}

/* --- the copy that a peer keeps ----------------------------------------------------------- */

static struct bed b;

/* Shard 0 has no files, and its peer has those of it; 0: it cannot look at what came. */
static void
fetch(const char *directory, int can_look)
{
	char copy[4300];
	struct timespec end;

	memset(&b, 0, sizeof(b));
	bed_counter(&b);
	b.with_journals = b.with_copies = 1;
	snprintf(copy, sizeof(copy), "%s/journal1.copy0", directory);
	write_journal(&(struct journal_options){ .directory = copy, .job = BED_JOB });
	snprintf(hidden, sizeof(hidden), "%s/journal0", directory);
	atomic_store(&hidden_at, can_look ? 0 : 3);     /* twice when it is opened         */
	bed_open(&b, directory, 2, 1, 1);
	if (can_look)
		return;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += (time_t)BED_SECONDS;
	assert_int_equal(pthread_timedjoin_np(b.shard[0].thread, NULL, &end), 0);
}

static void
what_a_peer_keeps_is_there(void **state)
{
	struct body_offer offer;

	fetch(*state, 1);
	const struct frame f = bed_frame(&b, FRAME_OFFER, 0, 0);
	assert_int_equal(bed_ask(&b, 0, &f, NULL, FRAME_OFFER_R, &offer, sizeof(offer)),
		sizeof(offer));
	assert_true(offer.lowest <= offer.applied);
	bed_close(&b);
}

static void
a_copy_that_cannot_be_looked_at_ends_it(void **state)
{
	fetch(*state, 0);
	assert_int_equal(b.shard[0].status, RS_ERESOURCE);
	assert_int_equal(thread_start(&b.shard[0].thread, "shard", bed_serve, &b.shard[0]), RS_OK);
	bed_stop_round(&b);
	bed_start_round(&b);
	bed_close(&b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tmpdir_make, tmpdir_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(too_many_open_files_end_it_and_cost_no_journal),
		TEST(without_memory_it_ends_or_has_its_journal),
		TEST(a_path_that_is_no_directory_costs_the_journal),
		TEST(what_a_peer_keeps_is_there),
		TEST(a_copy_that_cannot_be_looked_at_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
