/* Opening versions where there is no memory, and no file can be opened. */
#include "train/checkpoint.h"

#include <string.h>

#include "base/file_unnamed.h"
#include "base/log.h"
#include "comm/keys.h"
#include "data/cache.h"
#include "remote/journal_private.h"
#include "tests/allocations.h"
#include "tests/open_files.h"
#include "tests/test.h"
#include "train/publish.h"

static const char spec_text[] =
	"[model]\ntype = deepfm\n"
	"[data]\ntrain = t.tsv\nformat = tsv\nlabel = 1\n"
	"[field a]\ncolumn = 2\nbuckets = 20\n"
	"[embedding]\ndim = 3\n"
	"[dnn]\nhidden = 5\n";

static size_t n_warnings;

static void
count_warning(void *context, const char *text)
{
	(void)context;
	(void)text;
	n_warnings++;
}

/* Three finished versions, of which the second is current. */
static void
save_three(const char *directory)
{
	const struct model_options options = { .n_threads = 1, .for_training = 1 };
	const struct checkpoint_progress progress = { .state = CHECKPOINT_FINAL };
	struct spec *spec;
	struct model *m;

	assert_int_equal(spec_load_text(spec_text, "test.ini", &spec), RS_OK);
	assert_int_equal(model_create(spec, &options, &m), RS_OK);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(checkpoint_save(directory, m, &progress, i == 2, NULL, NULL),
			RS_OK);
	model_free(m);
}

/* The current version, or no memory is told; neither the one before it nor the newest. */
static void
without_memory_no_other_version_is_taken(void **state)
{
	const struct log_sink sink = { count_warning, NULL };
	uint64_t version;

	if (!ALLOCATIONS_CAN_COUNT)
		SKIP_BECAUSE("allocations cannot be counted in this build");
	save_three(*state);
	const size_t before = allocations_count();
	assert_int_equal(checkpoint_peek(*state, 0, NULL, &version), RS_OK);
	const size_t n = allocations_count() - before;
	assert_true(n > 10);
	log_set_sink(&sink);
	for (size_t failed = 1; failed <= n; failed++) {
		allocations_fail_at(failed);
		const enum rs_status status = checkpoint_peek(*state, 0, NULL, &version);
		allocations_fail_at(0);
		if (status == RS_OK)
			assert_int_equal(version, 2);
		else if (status != RS_ERESOURCE)
			fail_msg("without allocation %zu: %s", failed, rs_failure()->text);
	}
	log_set_sink(NULL);
	assert_int_equal(n_warnings, 0);
}

/* As without memory: a table of open files that is full is no damage, and nothing is missing for
 * it: gc removes caches that are none, a run begins anew where there is no version. */
static void
a_full_table_of_files_is_no_missing_file(void **state)
{
	enum { MAPPED, READ, CURRENT, LISTED, PEEKED, PRUNED, CACHED, JOURNALED, LOCKED, JUDGED,
		SHRUNK, KEY, WRITTEN, UNNAMED, MEASURED, REMOVED, N };
	enum rs_status status[N];
	struct checkpoint_lock lock;
	enum cache_state is_cached;
	enum publish_word by;
	struct key_pair pair;
	struct file_writer writer;
	struct file_map m;
	char path[300], *text, *source;
	uint64_t version, *list, bytes;
	int fd;
	size_t n;

	save_three(*state);
	assert_int_equal(publish_reject(*state, 3, "worse"), RS_OK);
	snprintf(path, sizeof path, "%s/CURRENT", (const char *)*state);
	const struct rlimit former = open_files_leave(0);
	status[MAPPED] = file_map_open(&m, path);
	status[READ] = file_read(path, 99, &text, &n);
	status[CURRENT] = checkpoint_read_current(*state, &version);
	status[LISTED] = checkpoint_list(*state, &list, &n);
	status[PEEKED] = checkpoint_peek(*state, 0, NULL, &version);
	status[PRUNED] = checkpoint_prune(*state, 1, NULL, 0);
	status[CACHED] = cache_examine(path, &source, &is_cached);
	status[JOURNALED] = journal_file_list(*state, &list, &n);
	status[LOCKED] = checkpoint_lock(*state, 0, &lock);
	status[JUDGED] = publish_rejected_by(*state, 3, &by);
	status[SHRUNK] = publish_shrink(*state, 3);
	status[KEY] = key_pair_read(path, &pair);
	status[WRITTEN] = file_writer_open(&writer, path);
	status[UNNAMED] = file_unnamed_create(*state, &fd);
	status[MEASURED] = file_directory_bytes(*state, &bytes);
	status[REMOVED] = file_remove_tree(*state);
	open_files_restore(former);
	for (size_t i = 0; i < N; i++)
		if (status[i] != RS_ERESOURCE)
			fail_msg("status %d of call %zu", status[i], i);
	assert_int_equal(checkpoint_read_current(*state, &version), RS_OK);
	assert_int_equal(version, 2);
	assert_int_equal(checkpoint_list(*state, &list, &n), RS_OK);
	assert_int_equal(n, 2);
	free(list);
	assert_int_equal(publish_rejected_by(*state, 3, &by), RS_OK);
	assert_int_equal(by, PUBLISH_BY_GATE);
}

/* Of what the gate refused, no period is trained again because its reason could not be read. */
static void
without_memory_no_refusal_is_forgotten(void **state)
{
	uint64_t *list;
	size_t n;

	if (!ALLOCATIONS_CAN_COUNT)
		SKIP_BECAUSE("allocations cannot be counted in this build");
	save_three(*state);
	assert_int_equal(publish_reject(*state, 3, "worse"), RS_OK);
	const size_t before = allocations_count();
	assert_int_equal(publish_remembered(*state, &list, &n), RS_OK);
	const size_t n_allocations = allocations_count() - before;
	assert_true(n_allocations > 5);
	free(list);
	for (size_t failed = 1; failed <= n_allocations; failed++) {
		allocations_fail_at(failed);
		const enum rs_status status = publish_remembered(*state, &list, &n);
		allocations_fail_at(0);
		if (status == RS_OK ? n != 1 : status != RS_ERESOURCE)
			fail_msg("without allocation %zu: status %d, %zu are remembered", failed,
				status, n);
		free(list);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tmpdir_make, tmpdir_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_memory_no_other_version_is_taken),
		TEST(a_full_table_of_files_is_no_missing_file),
		TEST(without_memory_no_refusal_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
