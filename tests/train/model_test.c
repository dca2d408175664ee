/* Building a model from a spec: what is refused, with which words, and its slots. */
#include "train/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char head[] =
	"[data]\ntrain = none.csv\nformat = csv\nlabel = y\n"
	"[train]\nlearning_rate = 0.01\n"
	"[embedding]\nlearning_rate = 0.05\ndim = 4\n"
	"[field a]\ncolumn = a\nbuckets = 50\n"
	"[field b]\ncolumn = b\nbuckets = 7\n";

/* A model of the head and more lines. */
static enum rs_status
create(const char *more, struct model **out)
{
	const struct model_options options = { .kernel = "ref", .n_threads = 1, .for_training = 1 };
	char text[1024];
	struct spec *spec;

	snprintf(text, sizeof(text), "%s%s", head, more);
	assert_int_equal(spec_load_text(text, "model_test", &spec), RS_OK);
	return model_create(spec, &options, out);
}

static void
assert_refused(const char *more, const char *text, const char *hint)
{
	struct model *m = NULL;

	assert_int_equal(create(more, &m), RS_ESPEC);
	assert_null(m);
	assert_non_null(strstr(rs_failure()->text, text));
	assert_non_null(strstr(rs_failure()->hint, hint));
}

static void
unknown_model_names_the_nearest(void **state)
{
	(void)state;
	assert_refused("[model]\ntype = depfm\n", "no model 'depfm'", "'deepfm'");
}

static const struct row_optimizer_settings *
optimizer_of(const struct model *m, const char *table)
{
	for (size_t i = 0; i < m->n_tables; i++)
		if (strcmp(m->table[i].name, table) == 0)
			return &m->table[i].optimizer;
	fail_msg("no table '%s'", table);
	return NULL;
}

/* Its own rate stands even where it equals the embedding's. */
static void
field_with_a_rate_of_its_own_follows_no_schedule(void **state)
{
	struct model *m;

	(void)state;
	assert_int_equal(create("learning_rate = 0.05\n[model]\ntype = fm\n", &m), RS_OK);
	assert_int_equal(optimizer_of(m, "a")->scheduled, 1);
	assert_int_equal(optimizer_of(m, "b")->scheduled, 0);
	assert_int_equal(optimizer_of(m, "b.linear")->scheduled, 1);
	model_free(m);
}

static void
slots_are_a_power_of_two_of_at_least_512_rows(void **state)
{
	static const struct { long long batch_size, slots; size_t want; } row[] = {
		{ 1, 0, 1 }, { 1023, 0, 1 }, { 1024, 0, 2 }, { 2047, 0, 2 }, { 2048, 0, 4 },
		{ 4095, 0, 4 }, { 4096, 0, 8 }, { 65536, 0, 8 }, { 256, 8, 8 }, { 4096, 3, 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct settings s = {
			.train.batch_size = row[i].batch_size, .train.slots = row[i].slots,
		};

		assert_int_equal(model_slots(&s), row[i].want);
	}
}

static void
slots_cover_every_row_once(void **state)
{
	(void)state;
	for (size_t B = 0; B < 40; B++)
		for (size_t n = 1; n < 9; n++) {
			assert_int_equal(model_slot_begin(B, n, 0), 0);
			assert_int_equal(model_slot_begin(B, n, n), B);
			for (size_t i = 0; i < n; i++) {
				const size_t rows = model_slot_begin(B, n, i + 1)
				    - model_slot_begin(B, n, i);

				assert_true(rows == B / n || rows == (B + n - 1) / n);
			}
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_model_names_the_nearest),
		cmocka_unit_test(field_with_a_rate_of_its_own_follows_no_schedule),
		cmocka_unit_test(slots_are_a_power_of_two_of_at_least_512_rows),
		cmocka_unit_test(slots_cover_every_row_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
