/* Tables of fields that were removed: carried along as they are, listed, dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "train/checkpoint.h"

#define HEAD "[model]\ntype = deepfm\n[data]\ntrain = t.tsv\nformat = tsv\nlabel = 1\n"
#define A    "[field a]\ncolumn = 2\nbuckets = 20\n"
#define B    "[field b]\ncolumn = 3\nbuckets = 30\n"
#define TAIL "[embedding]\ndim = 3\n[dnn]\nhidden = 5\n"

static const struct model_options model_options = { .n_threads = 1, .for_training = 1 };
static char directory[64];

static int
set_up(void **state)
{
	(void)state;
	snprintf(directory, sizeof directory, "/tmp/checkpoint_unused.XXXXXX");
	return mkdtemp(directory) == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	return file_remove_tree(directory) == RS_OK ? 0 : -1;
}

static struct model *
make_model(const char *text)
{
	struct spec *spec;
	struct model *m;

	assert_int_equal(spec_load_text(text, "test.ini", &spec), RS_OK);
	assert_int_equal(model_create(spec, &model_options, &m), RS_OK);
	return m;
}

static uint64_t
save(struct model *m)
{
	const struct checkpoint_progress progress = { .state = CHECKPOINT_FINAL, .best = NAN,
		.rate_factor = 1 };
	uint64_t version;

	assert_int_equal(checkpoint_save(directory, m, &progress, 1, &version, NULL), RS_OK);
	return version;
}

static size_t
count_unused(uint64_t version)
{
	struct text_list list;
	size_t n;

	assert_int_equal(checkpoint_unused(directory, version, &list), RS_OK);
	for (size_t i = 0; i < list.n; i++) {
		assert_non_null(strstr(list.item[i], "table-b"));
		free(list.item[i]);
	}
	n = list.n;
	free(list.item);
	return n;
}

static int
has_file(uint64_t version, const char *name)
{
	char path[256];

	snprintf(path, sizeof path, "%s/v%06u/%s", directory, (unsigned)version, name);
	return access(path, F_OK) == 0;
}

static void
assert_same_file(uint64_t one, uint64_t two, const char *name)
{
	char path[256], *a, *b;
	size_t n_a, n_b;

	snprintf(path, sizeof path, "%s/v%06u/%s", directory, (unsigned)one, name);
	assert_int_equal(file_read(path, 1 << 20, &a, &n_a), RS_OK);
	snprintf(path, sizeof path, "%s/v%06u/%s", directory, (unsigned)two, name);
	assert_int_equal(file_read(path, 1 << 20, &b, &n_b), RS_OK);
	assert_int_equal(n_a, n_b);
	assert_memory_equal(a, b, n_a);
	free(a);
	free(b);
}

/* Version 1 has both fields, 2 and 3 one of them. */
static void
save_three(void)
{
	struct model *both = make_model(HEAD A B TAIL), *one = make_model(HEAD A TAIL);

	assert_int_equal(save(both), 1);
	assert_int_equal(checkpoint_keep_unused(directory, 1, one), RS_OK);
	assert_int_equal(save(one), 2);
	model_free(one);
	one = make_model(HEAD A TAIL);
	assert_int_equal(checkpoint_keep_unused(directory, 2, one), RS_OK);
	assert_int_equal(save(one), 3);
	model_free(one);
	model_free(both);
}

static void
tables_of_removed_fields_are_carried_along(void **state)
{
	uint64_t found;

	(void)state;
	save_three();
	assert_int_equal(count_unused(1), 0);
	assert_int_equal(count_unused(2), 2);
	assert_int_equal(count_unused(3), 2);
	assert_same_file(1, 3, "table-b.0-of-1.bin");
	assert_same_file(1, 3, "table-b.linear.0-of-1.bin");
	assert_int_equal(checkpoint_peek(directory, 3, NULL, &found), RS_OK);
}

static void
a_field_that_comes_back_has_no_unused_tables(void **state)
{
	struct model *both = make_model(HEAD A B TAIL);

	(void)state;
	save_three();
	assert_int_equal(checkpoint_keep_unused(directory, 3, both), RS_OK);
	assert_int_equal(both->n_kept, 0);
	model_free(both);
}

static void
dropping_leaves_a_sound_version(void **state)
{
	struct model *m;
	uint64_t bytes;

	(void)state;
	save_three();
	assert_int_equal(checkpoint_drop_unused(directory, 3, &bytes), RS_OK);
	assert_true(bytes > 2 * 31 * sizeof(float));
	assert_int_equal(count_unused(3), 0);
	assert_false(has_file(3, "table-b.0-of-1.bin"));
	assert_true(has_file(3, "table-a.0-of-1.bin"));
	assert_int_equal(count_unused(2), 2);
	assert_int_equal(checkpoint_load(directory, 3, &model_options, &m, NULL, NULL), RS_OK);
	model_free(m);
	assert_int_equal(checkpoint_drop_unused(directory, 3, &bytes), RS_OK);
	assert_int_equal(bytes, 0);
}

/* MANIFEST is written first, so a kill leaves files that it does not name. */
static void
what_a_kill_left_goes_with_the_next(void **state)
{
	char path[256];
	uint64_t bytes;

	(void)state;
	save_three();
	snprintf(path, sizeof path, "%s/v000001/table-gone.0-of-1.bin", directory);
	assert_int_equal(file_replace(path, "x", 1), RS_OK);
	assert_int_equal(checkpoint_drop_unused(directory, 1, &bytes), RS_OK);
	assert_false(has_file(1, "table-gone.0-of-1.bin"));
	assert_true(has_file(1, "table-b.0-of-1.bin"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tables_of_removed_fields_are_carried_along, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(a_field_that_comes_back_has_no_unused_tables,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(dropping_leaves_a_sound_version, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_a_kill_left_goes_with_the_next, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
