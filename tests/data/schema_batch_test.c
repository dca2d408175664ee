/*
 * Schemas and batches by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "data/batch.h"
#include "spec/spec.h"

static const char spec_text[] =
	"[model]\ntype = fm\n[data]\ntrain = x.tsv\nlabel = 1\n"
	"[field a]\ncolumn = 2\nbuckets = 10\n"
	"[field n]\ncolumn = 3\ntype = numeric\n"
	"[field m]\ncolumn = 4\ntype = multi\nshare = a\n"
	"[field b]\ncolumn = 5\ntype = numeric\ntransform = bucketize\nboundaries = 1,2,3\n";

static void
fields_become_columns_and_tables(void **state)
{
	struct spec *spec;
	struct schema schema;

	(void)state;
	assert_int_equal(spec_load_text(spec_text, "t.ini", &spec), RS_OK);
	assert_int_equal(schema_build(spec_settings(spec), &schema), RS_OK);
	assert_int_equal(schema.F, 3);
	assert_int_equal(schema.K, 1);
	assert_int_equal(schema.n_tables, 2);
	assert_int_equal(schema.table[0].buckets, 10);
	assert_int_equal(schema.table[1].buckets, 4);
	assert_int_equal(schema.field[2].table, schema.field[0].table);
	assert_true(schema.field[0].single && !schema.field[2].single && schema.field[3].single);
	schema_free(&schema);
	spec_free(spec);
}

static void
gather_copies_rows_in_the_given_order(void **state)
{
	struct spec *spec;
	struct schema schema;
	struct batch from, to;
	const uint32_t order[] = { 1, 0, 1 };

	(void)state;
	assert_int_equal(spec_load_text(spec_text, "t.ini", &spec), RS_OK);
	assert_int_equal(schema_build(spec_settings(spec), &schema), RS_OK);
	assert_int_equal(batch_init(&from, &schema), RS_OK);
	assert_int_equal(batch_init(&to, &schema), RS_OK);
	batch_clear(&from);
	batch_clear(&to);
	for (size_t b = 0; b < 2; b++) {
		from.label[b] = (float)b;
		from.weight[b] = 1;
		from.dense[b] = 10 + (float)b;
		from.missing[b] = (uint8_t)b;
		from.column[0].ids[b] = 5 + b;
		from.column[2].ids[b] = 7 + b;
	}
	from.column[1].ids[0] = 1;
	from.column[1].ids[1] = 2;
	from.column[1].offset[0] = 0;
	from.column[1].offset[1] = 2;
	from.column[1].offset[2] = 2;
	from.column[0].N = from.column[1].N = from.column[2].N = 2;
	from.B = 2;
	assert_int_equal(batch_gather(&to, &from, order, 3), RS_OK);
	assert_int_equal(to.B, 3);
	assert_true(to.label[0] == 1 && to.label[1] == 0 && to.label[2] == 1);
	assert_true(to.dense[1] == 10 && to.missing[0] == 1);
	assert_int_equal(to.column[0].ids[1], 5);
	assert_int_equal(to.column[1].N, 2);
	assert_int_equal(to.column[1].offset[1], 0);
	assert_int_equal(to.column[1].offset[2], 2);
	assert_int_equal(to.column[1].offset[3], 2);
	batch_free(&from);
	batch_free(&to);
	schema_free(&schema);
	spec_free(spec);
}

static void
a_few_rows_ahead_of_the_others_are_not_the_newest(void **state)
{
	static const struct {
		int64_t time[6];
		size_t  n;
		int64_t ahead, newest;
		size_t  n_later;
	} row[] = {
		{ { 100, 90, 110, 105, 95, 101 }, 6, INT64_MAX, 110, 0 },
		{ { 100, 90, 110, 105, 95, 101 }, 6, 10, 110, 0 },
		{ { 100, 90, 110, 105, 95, 101 }, 6, 9, 105, 1 },
		{ { 100, 90, 4102444800, 105, 95, 101 }, 6, 60, 105, 1 },
		{ { 100, 4102444800, INT64_MAX, 99, 98, 0 }, 6, 60, 100, 2 },
		{ { 100, 4102444800 }, 2, 60, 100, 1 },
		{ { 100, 5000, 5001, 5002 }, 4, 60, 5002, 0 },         /* the others are old  */
		{ { 4102444800, 100, 4102444801 }, 3, 60, 4102444801, 0 },
		{ { 0, -5, 7, 0, 0, 0 }, 6, 1, 7, 0 },                 /* 0: without a time   */
		{ { 0, -5 }, 2, 1, 0, 0 },
		{ { 0 }, 0, 1, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		int64_t time[6];
		const struct batch batch = { .B = row[i].n, .time = time };
		size_t n_later = 9;

		memcpy(time, row[i].time, sizeof time);
		assert_int_equal(batch_newest(&batch, row[i].ahead, &n_later), row[i].newest);
		assert_int_equal(n_later, row[i].n_later);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_become_columns_and_tables),
		cmocka_unit_test(gather_copies_rows_in_the_given_order),
		cmocka_unit_test(a_few_rows_ahead_of_the_others_are_not_the_newest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
