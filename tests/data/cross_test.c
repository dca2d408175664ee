/*
 * Crosses against TensorFlow's own constants, and their edge cases.
 */
#include "tests/data/refused.h"
#include "tests/data/row_bed.h"

#include "base/hash.h"

#define HEAD "[model]\ntype = wide_deep\n[data]\ntrain = x\nlabel = 1\n"
#define PARTS HEAD "[field a]\ncolumn = 2\n[field b]\ncolumn = 3\n[field c]\ncolumn = 4\n"
#define ABC "[field abc]\ntype = cross\nfields = a,b,c\n"

static void
parse(struct row_bed *bed, const char *spec, const char *text)
{
	row_bed_open(bed, spec);
	if (row_bed_parse(bed, PARSE_TRAIN, text, strlen(text)) != RS_OK)
		fail_msg("%s %s", rs_failure()->where, rs_failure()->text);
}

static uint64_t
print(const char *text)
{
	return hash_fingerprint64(text, strlen(text));
}

static uint64_t
pair(uint64_t a, uint64_t b, uint64_t buckets)
{
	return hash_cat(hash_cat(0xDECAFCAFFEu, a), b) % buckets;
}

/* tensorflow/python/ops/sparse_ops_test: the same three texts. */
static void
a_cross_is_the_one_of_tensorflow(void **state)
{
	static const char row[] = "1\tbatch1-FC1-F1\tbatch1-FC2-F1\tbatch1-FC3-F1\n";
	struct row_bed bed;

	(void)state;
	parse(&bed, PARTS ABC "buckets = 100\n", row);
	assert_int_equal(bed.batch.column[3].N, 1);
	assert_int_equal(bed.batch.column[3].ids[0], 83);
	assert_null(bed.batch.column[3].offset);
	row_bed_close(&bed);
	/* Without buckets TensorFlow gives 1971693436396284976, modulo 2^63 - 1. */
	parse(&bed, PARTS ABC "buckets = 1099511627776\n", row);
	assert_int_equal(bed.batch.column[3].ids[0],
		(1971693436396284976u + INT64_MAX) % ((uint64_t)1 << 40));
	row_bed_close(&bed);
}

static void
integers_and_intervals_are_crossed_as_they_are_texts_by_their_hash(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, HEAD "[field i]\ncolumn = 2\nid_type = int\n[field t]\ncolumn = 3\n"
		"[field q]\ncolumn = 4\ntype = numeric\ntransform = bucketize\nboundaries = 1,2\n"
		"[field it]\ntype = cross\nfields = i,t\nbuckets = 1000\n"
		"[field tq]\ntype = cross\nfields = t,q\nbuckets = 1000\n", "1\t-7\t12\t2.5\n");
	assert_int_equal(
		bed.batch.column[3].ids[0], pair((uint64_t)-7, print("12"), 1000));
	assert_int_equal(bed.batch.column[4].ids[0], pair(print("12"), 2, 1000));
	assert_int_equal(bed.batch.column[2].ids[0], 2);
	row_bed_close(&bed);
}

static void
a_row_without_a_value_in_some_part_has_the_missing_row(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, PARTS ABC "buckets = 100\n", "1\tx\t\tz\n0\tx\ty\tz\n");
	assert_int_equal(bed.batch.column[3].N, 2);
	assert_int_equal(bed.batch.column[3].ids[0], 100);
	assert_true(bed.batch.column[3].ids[1] < 100);
	row_bed_close(&bed);
}

static void
lists_give_every_combination_the_last_part_fastest(void **state)
{
	static const char spec[] = HEAD "[field m]\ncolumn = 2\ntype = multi\nmax_length = 2\n"
		"[field s]\ncolumn = 3\ntype = multi\n[field c]\ncolumn = 4\n"
		"[field x]\ntype = cross\nfields = m,s\nbuckets = 1000\n"
		"[field y]\ntype = cross\nfields = c,m\nbuckets = 1000\n";
	const struct batch_column *x, *y;
	struct row_bed bed;

	(void)state;
	row_bed_open(&bed, spec);
	assert_int_equal(bed.schema.field[3].settings->combiner, COMBINE_SUM);
	row_bed_close(&bed);
	parse(&bed, spec, "1\tdropped|a|b\tu||v\tc\n0\t\tu\tc\n1\ta\tu\tc\n");
	x = &bed.batch.column[3];
	y = &bed.batch.column[4];
	assert_int_equal(x->offset[1], 4);
	assert_int_equal(x->ids[0], pair(print("a"), print("u"), 1000));
	assert_int_equal(x->ids[1], pair(print("a"), print("v"), 1000));
	assert_int_equal(x->ids[2], pair(print("b"), print("u"), 1000));
	assert_int_equal(x->ids[3], pair(print("b"), print("v"), 1000));
	assert_true(x->offset[2] == 5 && x->ids[4] == 1000);
	assert_true(x->offset[3] == 6 && x->ids[5] == pair(print("a"), print("u"), 1000));
	assert_true(y->offset[1] == 2 && y->ids[1] == pair(print("c"), print("b"), 1000));
	row_bed_close(&bed);
}

static void
too_many_combinations_are_a_bad_row(void **state)
{
	static char text[4000];
	struct row_bed bed;
	size_t n = 2;

	(void)state;
	memcpy(text, "1\t", 2);
	for (int column = 0; column < 2; column++) {
		for (int i = 0; i < 300; i++, n += 2)
			memcpy(text + n, "x|", 2);
		text[n - 1] = column == 0 ? '\t' : '\n';
	}
	row_bed_open(&bed, HEAD "[field m]\ncolumn = 2\ntype = multi\nmax_length = 1000\n"
		"[field s]\ncolumn = 3\ntype = multi\nmax_length = 1000\n"
		"[field x]\ntype = cross\nfields = m,s\n");
	assert_int_equal(row_bed_parse(&bed, PARSE_TRAIN, text, n), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "more than 65536 combinations"));
	row_bed_close(&bed);
}

static void
fields_of_libffm_can_be_crossed(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, "[model]\ntype = wide_deep\n[data]\ntrain = x\nformat = libffm\n"
		"index_base = 0\n"
		"[field a]\ncolumn = 1\n[field b]\ncolumn = 2\n"
		"[field ab]\ntype = cross\nfields = a,b\nbuckets = 1000\n",
		"1 2:v:1 1:u:1\n0 1:u:1\n");
	assert_int_equal(bed.batch.column[2].ids[0], pair(print("u"), print("v"), 1000));
	assert_int_equal(bed.batch.column[2].ids[1], 1000);
	row_bed_close(&bed);
}

static const struct refused_spec refused[] = {
	{ PARTS "[field x]\ntype = cross\n", "0 fields are named" },
	{ PARTS "[field x]\ntype = cross\nfields = a\n", "1 field is named" },
	{ PARTS "[field x]\ntype = cross\nfields = a,bb\n", "there is no field 'bb'" },
	{ PARTS "[field x]\ntype = cross\nfields = a,a\n", "'a' is named twice" },
	{ PARTS "[field x]\ntype = cross\nfields = a,x\n", "with itself" },
	{ PARTS ABC "[field x]\ntype = cross\nfields = a,abc\n", "'abc' is a cross" },
	{ PARTS "[field n]\ncolumn = 5\ntype = numeric\n[field x]\ntype = cross\nfields = a,n\n",
		"'n' is numeric" },
	{ PARTS ABC "[field d]\ncolumn = 5\nshare = abc\n", "'abc' is a cross" },
};

static void
crosses_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	assert_specs_refused(refused, N_ROWS(refused));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cross_is_the_one_of_tensorflow),
		cmocka_unit_test(
			integers_and_intervals_are_crossed_as_they_are_texts_by_their_hash),
		cmocka_unit_test(a_row_without_a_value_in_some_part_has_the_missing_row),
		cmocka_unit_test(lists_give_every_combination_the_last_part_fastest),
		cmocka_unit_test(too_many_combinations_are_a_bad_row),
		cmocka_unit_test(fields_of_libffm_can_be_crossed),
		cmocka_unit_test(crosses_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
