/*
 * The short way of a cell gives what the long way gives, for cells of every kind.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "base/rng.h"
#include "data/fast_cell.h"
#include "spec/spec.h"

static const char spec_text[] =
	"[model]\ntype = fm\n[data]\ntrain = x.tsv\nlabel = 1\n"
	"[field id]\ncolumn = 2\nbuckets = 1000\n"
	"[field plain]\ncolumn = 3\ntype = numeric\n"
	"[field log]\ncolumn = 4\ntype = numeric\ntransform = log1p\n"
	"[field fold]\ncolumn = 5\nfold_case = yes\nbuckets = 1000\n";

struct bench {
	struct spec   *spec;
	struct schema  schema;
	struct batch   fast, slow;
	struct feature feature[4];
	float          log1p[FEATURE_LOG1P];
};

static int
setup(void **state)
{
	static struct bench b;

	assert_int_equal(spec_load_text(spec_text, "t.ini", &b.spec), RS_OK);
	assert_int_equal(schema_build(spec_settings(b.spec), &b.schema), RS_OK);
	assert_int_equal(batch_init(&b.fast, &b.schema), RS_OK);
	assert_int_equal(batch_init(&b.slow, &b.schema), RS_OK);
	feature_log1p_table(b.log1p);
	for (size_t i = 0; i < 4; i++)
		feature_init(&b.feature[i], &b.schema, i, b.log1p);
	*state = &b;
	return 0;
}

static int
teardown(void **state)
{
	struct bench *b = *state;

	batch_free(&b->fast);
	batch_free(&b->slow);
	schema_free(&b->schema);
	spec_free(b->spec);
	return 0;
}

static void
check_cell(struct bench *b, size_t f, struct cell cell, const char *limit, size_t *taken)
{
	struct buffer scratch;
	struct cell_error error;
	const struct feature *const feature = &b->feature[f];

	buffer_init(&scratch, 1 << 20);
	batch_clear(&b->fast);
	batch_clear(&b->slow);
	if (fast_cell(feature, cell, limit, &b->fast)) {
		++*taken;
		assert_int_equal(feature_cell(feature, cell, &b->slow, &scratch, &error), RS_OK);
		if (feature->field->is_dense) {
			assert_true(b->fast.dense[feature->index] == b->slow.dense[feature->index]);
			assert_int_equal(b->fast.missing[feature->index],
				b->slow.missing[feature->index]);
		} else {
			assert_true(b->fast.column[feature->index].ids[0] ==
				b->slow.column[feature->index].ids[0]);
			assert_int_equal(b->fast.column[feature->index].N, 1);
		}
	}
	buffer_free(&scratch);
}

static void
short_way_equals_long_way(void **state)
{
	static const char alphabet[] = "0123456789-.e+aF /:\377";
	struct bench *b = *state;
	size_t taken[4] = { 0 };
	char text[64];

	for (uint64_t i = 0; i < 200000; i++) {
		const uint64_t bits = rng_u64(7, i);
		const size_t n = bits % 20, digits = (bits >> 8) % 4 != 0;

		for (size_t j = 0; j < sizeof text; j++)
			text[j] = digits ? (char)('0' + rng_below(9, i * 64 + j, 10))
			                 : alphabet[rng_below(8, i * 64 + j, sizeof alphabet - 1)];
		check_cell(b, i % 4, (struct cell){ text, n }, text + ((bits >> 16) % 2 ? n : 64),
			&taken[i % 4]);
	}
	assert_true(taken[0] > 40000 && taken[1] > 5000 && taken[2] > 2000);
	assert_int_equal(taken[3], 0);
}

static void
every_number_of_four_digits_is_read(void **state)
{
	char text[16] = "";

	(void)state;
	for (int i = 0; i < 10000; i++) {
		const size_t n = (size_t)snprintf(text, sizeof text, "%d\t999999", i) - 7;

		assert_int_equal(fast_cell_digits(text, n), i);
	}
	assert_int_equal(fast_cell_digits("99999999", 8), 99999999);
	assert_int_equal(fast_cell_digits("9999999:", 8), -1);
	assert_int_equal(fast_cell_digits("/9999999", 8), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_way_equals_long_way),
		cmocka_unit_test(every_number_of_four_digits_is_read),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
