/* Model versions: what is saved is loaded, damage falls back, pruning keeps what it must. */
#include "train/checkpoint.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/log.h"
#include "tests/embed/touch.h"

static const char spec_text[] =
	"[model]\ntype = deepfm\n"
	"[data]\ntrain = t.tsv\nformat = tsv\nlabel = 1\n"
	"[field a]\ncolumn = 2\nbuckets = 20\n"
	"[field b]\ncolumn = 3\nbuckets = 30\n"
	"[embedding]\ndim = 3\n"
	"[dnn]\nhidden = 5\n";

struct fixture {
	char directory[64];
	struct model *m;
	struct checkpoint_progress progress;
	int warnings;
};

static const struct model_options model_options = { .n_threads = 1, .for_training = 1 };

static void
count_warning(void *context, const char *text)
{
	(void)text;
	((struct fixture *)context)->warnings++;
}

static int
set_up(void **state)
{
	struct fixture *const f = calloc(1, sizeof *f);
	const struct log_sink sink = { count_warning, f };
	struct spec *spec;

	snprintf(f->directory, sizeof f->directory, "/tmp/checkpoint.XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	assert_int_equal(spec_load_text(spec_text, "test.ini", &spec), RS_OK);
	assert_int_equal(model_create(spec, &model_options, &f->m), RS_OK);
	for (size_t i = 0; i < f->m->P; i++) {
		f->m->param[i] = (float)i / 7;
		f->m->slot_m[i] = (float)i;
		f->m->slot_v[i] = -(float)i;
	}
	f->m->step = 42;
	f->progress = (struct checkpoint_progress){
		.state = CHECKPOINT_FINAL, .step = 42, .best = NAN, .rate_factor = 0.5,
	};
	log_set_sink(&sink);
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *const f = *state;

	log_set_sink(NULL);
	model_free(f->m);
	file_remove_tree(f->directory);
	free(f);
	return 0;
}

static uint64_t
save(struct fixture *f, int make_current)
{
	uint64_t version;

	assert_int_equal(checkpoint_save(f->directory, f->m, &f->progress, make_current, &version,
		NULL), RS_OK);
	return version;
}

static void
B026_what_is_saved_is_loaded(void **state)
{
	struct fixture *const f = *state;
	struct checkpoint_progress progress;
	struct model *m;
	uint64_t version;

	assert_int_equal(save(f, 1), 1);
	assert_int_equal(
		checkpoint_load(f->directory, 0, &model_options, &m, &progress, &version), RS_OK);
	assert_int_equal(version, 1);
	assert_int_equal(m->P, f->m->P);
	assert_memory_equal(m->param, f->m->param, m->P * sizeof(float));
	assert_memory_equal(m->slot_m, f->m->slot_m, m->P * sizeof(float));
	assert_memory_equal(m->slot_v, f->m->slot_v, m->P * sizeof(float));
	assert_int_equal(m->step, 42);
	assert_true(m->rate_factor == 0.5);
	assert_true(isnan(progress.best));
	model_free(m);
}

static void
equal_models_give_equal_files(void **state)
{
	struct fixture *const f = *state;
	char one[128], two[128], *a, *b;
	size_t n_a, n_b;

	save(f, 0);
	save(f, 0);
	snprintf(one, sizeof one, "%s/v000001/dense.bin", f->directory);
	snprintf(two, sizeof two, "%s/v000002/dense.bin", f->directory);
	assert_int_equal(file_read(one, 1 << 20, &a, &n_a), RS_OK);
	assert_int_equal(file_read(two, 1 << 20, &b, &n_b), RS_OK);
	assert_int_equal(n_a, n_b);
	assert_memory_equal(a, b, n_a);
	free(a);
	free(b);
}

/* Its tables are larger than its other files. */
static struct model *
open_for_threads(size_t n_threads)
{
	const struct model_options options = { .n_threads = n_threads, .for_training = 1 };
	struct spec *spec;
	struct model *m;

	assert_int_equal(spec_load_text(spec_text, "test.ini", &spec), RS_OK);
	assert_int_equal(spec_set(spec, "field a", "buckets", "5000"), RS_OK);
	assert_int_equal(spec_set(spec, "field b", "buckets", "5000"), RS_OK);
	assert_int_equal(model_create(spec, &options, &m), RS_OK);
	for (size_t t = 0; t < m->n_tables; t++)
		assert_int_equal(touch_rows(m->lookup, t, &m->table[t], 1), RS_OK);
	return m;
}

/* MANIFEST has the order of the files and the checksums of all. */
static void
threads_save_what_one_saves(void **state)
{
	struct fixture *const f = *state;
	char path[128], *text[2], *files[2];
	size_t n;

	for (size_t i = 0; i < 2; i++) {
		struct model *const m = open_for_threads(i == 0 ? 1 : 3);

		assert_int_equal(checkpoint_save(f->directory, m, &f->progress, 0, NULL, NULL),
			RS_OK);
		snprintf(path, sizeof path, "%s/v%06zu/MANIFEST", f->directory, i + 1);
		assert_int_equal(file_read(path, 1 << 20, &text[i], &n), RS_OK);
		files[i] = strstr(text[i], "file = ");
		assert_non_null(files[i]);
		assert_non_null(strstr(files[i], "table-b.0-of-1.bin"));
		*strstr(files[i], "crc = ") = '\0';
		model_free(m);
	}
	assert_string_equal(files[0], files[1]);
	free(text[0]);
	free(text[1]);
}

static void
tables_that_threads_cannot_write_leave_nothing(void **state)
{
	struct fixture *const f = *state;
	struct model *const m = open_for_threads(3);
	struct rlimit was, small;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small = (struct rlimit){ .rlim_cur = 100000, .rlim_max = was.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	const enum rs_status status = checkpoint_save(f->directory, m, &f->progress, 1, NULL, NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(status, RS_EIO);
	assert_int_equal(rmdir(f->directory), 0);
	model_free(m);
}

static void
B032_a_damaged_version_falls_back_with_a_warning(void **state)
{
	struct fixture *const f = *state;
	char path[128];
	uint64_t version;
	struct model *m;

	save(f, 1);
	save(f, 1);
	snprintf(path, sizeof path, "%s/v000002/dense.bin", f->directory);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(
		checkpoint_load(f->directory, 0, &model_options, &m, NULL, &version), RS_OK);
	assert_int_equal(version, 1);
	assert_int_equal(f->warnings, 1);
	model_free(m);
	assert_int_equal(
		checkpoint_load(f->directory, 2, &model_options, &m, NULL, NULL), RS_EDATA);
	assert_non_null(strstr(rs_failure()->where, "dense.bin"));
}

static void
current_is_what_loads_not_the_newest(void **state)
{
	struct fixture *const f = *state;
	uint64_t version;

	save(f, 1);
	save(f, 0);
	assert_int_equal(checkpoint_peek(f->directory, 0, NULL, &version), RS_OK);
	assert_int_equal(version, 1);
	assert_int_equal(checkpoint_set_current(f->directory, 2), RS_OK);
	assert_int_equal(checkpoint_peek(f->directory, 0, NULL, &version), RS_OK);
	assert_int_equal(version, 2);
}

static void
without_current_the_newest_loads(void **state)
{
	struct fixture *const f = *state;
	uint64_t version;

	assert_int_equal(checkpoint_peek(f->directory, 0, NULL, &version), RS_ENOINPUT);
	save(f, 0);
	save(f, 0);
	assert_int_equal(checkpoint_peek(f->directory, 0, NULL, &version), RS_OK);
	assert_int_equal(version, 2);
}

static void
prune_keeps_current_the_best_and_the_newest(void **state)
{
	struct fixture *const f = *state;
	const uint64_t best = 2, want[] = { 1, 2, 5, 6 };
	uint64_t *list;
	size_t n;

	save(f, 1);
	for (int i = 0; i < 5; i++)
		save(f, 0);
	assert_int_equal(checkpoint_prune(f->directory, 2, &best, 1), RS_OK);
	assert_int_equal(checkpoint_list(f->directory, &list, &n), RS_OK);
	assert_int_equal(n, 4);
	assert_memory_equal(list, want, sizeof want);
	free(list);
}

static void
prune_removes_what_dead_writers_left(void **state)
{
	struct fixture *const f = *state;
	char path[128];

	snprintf(path, sizeof path, "%s/.tmp-v000001-12345", f->directory);
	assert_int_equal(file_make_directories(path), RS_OK);
	assert_int_equal(checkpoint_prune(f->directory, SIZE_MAX, NULL, 0), RS_OK);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void
a_version_of_itself_is_named_as_the_best(void **state)
{
	struct fixture *const f = *state;
	struct checkpoint_progress progress;

	f->progress.best_version = CHECKPOINT_ITSELF;
	save(f, 0);
	save(f, 0);
	assert_int_equal(checkpoint_peek(f->directory, 2, &progress, NULL), RS_OK);
	assert_int_equal(progress.best_version, 2);
}

static void
the_optimizers_start_anew_when_asked(void **state)
{
	struct fixture *const f = *state;
	struct spec *spec;
	struct model *m;

	save(f, 1);
	assert_int_equal(spec_load_text(spec_text, "test.ini", &spec), RS_OK);
	assert_int_equal(model_create(spec, &model_options, &m), RS_OK);
	assert_int_equal(checkpoint_fill(f->directory, 0, 0, m, NULL), RS_OK);
	assert_memory_equal(m->param, f->m->param, m->P * sizeof(float));
	for (size_t i = 0; i < m->P; i++)
		assert_true(m->slot_m[i] == 0 && m->slot_v[i] == 0);
	model_free(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(B026_what_is_saved_is_loaded),
		TEST(equal_models_give_equal_files),
		TEST(threads_save_what_one_saves),
		TEST(tables_that_threads_cannot_write_leave_nothing),
		TEST(B032_a_damaged_version_falls_back_with_a_warning),
		TEST(current_is_what_loads_not_the_newest),
		TEST(without_current_the_newest_loads),
		TEST(prune_keeps_current_the_best_and_the_newest),
		TEST(prune_removes_what_dead_writers_left),
		TEST(a_version_of_itself_is_named_as_the_best),
		TEST(the_optimizers_start_anew_when_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
