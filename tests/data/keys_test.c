/*
 * Groups and items of rows, in every format that has them.
 */
#include "tests/data/row_bed.h"

#include "base/hash.h"

#define HEAD "[model]\ntype = fm\n[data]\ntrain = x\n"
#define FIELDS "[field user]\ncolumn = 2\n[field item]\ncolumn = 3\n"
#define ITEM "[items]\nkey = item\n"
#define TSV HEAD "label = 1\ngroup = 2\n" FIELDS ITEM
#define LIBSVM HEAD "format = libsvm\nindex_base = 1\ngroup = qid\n[field m]\ntype = multi\n"
#define LIBFFM HEAD "format = libffm\nindex_base = 0\n[field user]\ncolumn = 0\n" \
	"[field item]\ncolumn = 1\n" ITEM

static void
take(struct row_bed *bed, const char *spec, enum parser_purpose purpose, const char *text)
{
	row_bed_open(bed, spec);
	if (row_bed_parse(bed, purpose, text, strlen(text)) != RS_OK)
		fail_msg("%s %s", rs_failure()->where, rs_failure()->text);
}

static void
assert_refused(const char *spec, const char *text, const char *where, const char *why)
{
	struct row_bed bed;

	row_bed_open(&bed, spec);
	assert_int_equal(row_bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_EDATA);
	assert_string_equal(rs_failure()->where, where);
	assert_string_equal(rs_failure()->text, why);
	row_bed_close(&bed);
}

static uint64_t
key(const char *text)
{
	return hash_fingerprint64(text, strlen(text));
}

static void
cells_of_group_and_item_become_their_fingerprints(void **state)
{
	struct row_bed bed;

	(void)state;
	take(&bed, TSV, PARSE_TRAIN, "1\tu1\ti1\n0\tu2\ti2\n");
	assert_int_equal(bed.batch.group[0], key("u1"));
	assert_int_equal(bed.batch.group[1], key("u2"));
	assert_int_equal(bed.batch.item[1], key("i2"));
	row_bed_close(&bed);
}

static void
without_keys_in_the_spec_a_batch_has_none(void **state)
{
	struct row_bed bed;

	(void)state;
	take(&bed, HEAD "label = 1\n" FIELDS, PARSE_TRAIN, "1\tu1\ti1\n");
	assert_null(bed.batch.group);
	assert_null(bed.batch.item);
	row_bed_close(&bed);
}

static void
the_group_may_be_a_column_that_is_no_field(void **state)
{
	struct row_bed bed;

	(void)state;
	take(&bed, HEAD "format = csv\nlabel = y\ngroup = session\n[field item]\n", PARSE_TRAIN,
		"session,y,item\n\"s \"\"1\"\"\",1,i1\n");
	assert_int_equal(bed.batch.group[0], key("s \"1\""));
	row_bed_close(&bed);
}

static void
ids_that_are_equal_have_equal_keys(void **state)
{
	struct row_bed bed;

	(void)state;
	take(&bed, HEAD "format = csv\nlabel = 1\n" FIELDS "fold_case = yes\n" ITEM, PARSE_TRAIN,
		"1,u,\"Ab\"\n1,u,aB\n1,u,b\n");
	assert_int_equal(bed.batch.item[0], key("ab"));
	assert_int_equal(bed.batch.item[1], key("ab"));
	assert_int_not_equal(bed.batch.item[2], key("ab"));
	row_bed_close(&bed);
	take(&bed, HEAD "label = 1\n" FIELDS "id_type = int\n" ITEM, PARSE_TRAIN,
		"1\tu\t007\n1\tu\t+7\n1\tu\t7\n");
	for (size_t b = 0; b < 3; b++)
		assert_int_equal(bed.batch.item[b], key("7"));
	row_bed_close(&bed);
}

static void
a_row_to_train_on_has_an_item_but_not_one_to_predict(void **state)
{
	struct row_bed bed;

	(void)state;
	assert_refused(TSV, "1\tu1\ti1\n1\tu1\t\n", "t:2:6", "field 'item': the item is missing");
	take(&bed, TSV, PARSE_PREDICT, "1\tu1\t\n");
	assert_int_equal(bed.batch.B, 1);
	assert_int_equal(bed.batch.item[0], key(""));
	row_bed_close(&bed);
}

static void
predict_does_not_want_the_column_of_the_group(void **state)
{
	struct row_bed bed;

	(void)state;
	take(&bed, HEAD "format = csv\nlabel = y\ngroup = session\n[field item]\n", PARSE_PREDICT,
		"item\ni1\n");
	assert_int_equal(bed.batch.group[0], 0);
	row_bed_close(&bed);
}

static void
keys_stay_with_their_rows_when_they_are_gathered(void **state)
{
	const uint32_t order[] = { 2, 0, 2 };
	struct row_bed bed;
	struct batch to;

	(void)state;
	take(&bed, TSV, PARSE_TRAIN, "1\ta\tx\n1\tb\ty\n1\tc\tz\n");
	assert_int_equal(batch_init(&to, &bed.schema), RS_OK);
	assert_int_equal(batch_gather(&to, &bed.batch, order, 3), RS_OK);
	assert_int_equal(to.group[0], key("c"));
	assert_int_equal(to.group[1], key("a"));
	assert_int_equal(to.item[2], key("z"));
	batch_free(&to);
	row_bed_close(&bed);
}

static void
the_group_of_a_libsvm_row_is_its_qid(void **state)
{
	struct row_bed bed;

	(void)state;
	take(&bed, LIBSVM, PARSE_TRAIN, "1 qid:007 1:1\n0 1:1 qid:12 2:1\n");
	assert_int_equal(bed.batch.group[0], key("7"));
	assert_int_equal(bed.batch.group[1], key("12"));
	row_bed_close(&bed);
	assert_refused(LIBSVM, "1 qid:7 1:1\n0 1:1\n", "t:2:1", "no qid, but data.group = qid");
	take(&bed, LIBSVM, PARSE_PREDICT, "1 2:1 1:1\n");
	assert_int_equal(bed.batch.group[0], 0);
	row_bed_close(&bed);
}

static void
the_item_of_a_libffm_row_is_the_feature_of_its_field(void **state)
{
	struct row_bed bed;

	(void)state;
	take(&bed, LIBFFM, PARSE_TRAIN, "1 0:u1:1 1:i1:1\n0 1:i2:1\n");
	assert_int_equal(bed.batch.item[0], key("i1"));
	assert_int_equal(bed.batch.item[1], key("i2"));
	row_bed_close(&bed);
	assert_refused(LIBFFM, "1 0:u1:1\n", "t:1:1", "field 'item': the item is missing");
}

static void
keys_that_a_format_cannot_have_are_refused(void **state)
{
	static const struct { const char *spec, *text; } bad[] = {
		{ HEAD "format = libsvm\nindex_base = 1\ngroup = 2\n[field m]\ntype = multi\n",
			"[data] group: '2': the groups of libsvm, libffm and libfm rows are their "
			"qid" },
		{ HEAD "label = 1\n" FIELDS "type = multi\n" ITEM, "[items] key: field 'item' is "
			"not categorical: one id a row names the item" },
		{ HEAD "label = 1\n" FIELDS "[items]\nkey = item\nfields = item,colour\n",
			"[items] fields: there is no field 'colour'" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(bad); i++) {
		struct spec *spec;

		assert_int_equal(spec_load_text(bad[i].spec, "t.ini", &spec), RS_ESPEC);
		assert_string_equal(spec_problem(spec, 0)->text, bad[i].text);
		spec_free(spec);
	}
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(cells_of_group_and_item_become_their_fingerprints),
		cmocka_unit_test(without_keys_in_the_spec_a_batch_has_none),
		cmocka_unit_test(the_group_may_be_a_column_that_is_no_field),
		cmocka_unit_test(ids_that_are_equal_have_equal_keys),
		cmocka_unit_test(a_row_to_train_on_has_an_item_but_not_one_to_predict),
		cmocka_unit_test(predict_does_not_want_the_column_of_the_group),
		cmocka_unit_test(keys_stay_with_their_rows_when_they_are_gathered),
		cmocka_unit_test(the_group_of_a_libsvm_row_is_its_qid),
		cmocka_unit_test(the_item_of_a_libffm_row_is_the_feature_of_its_field),
		cmocka_unit_test(keys_that_a_format_cannot_have_are_refused),
	};

	return cmocka_run_group_tests(test, NULL, NULL);
}
