/*
 * Lists, histories and trimmed cells: what is kept, and what is a bad row.
 */
#include "tests/data/refused.h"
#include "tests/data/row_bed.h"

#include "base/hash.h"

#define HEAD "[model]\ntype = deepfm\n[data]\ntrain = x\nlabel = 1\n"
#define SEQUENCE(name, column) "[field " name "]\ncolumn = " column "\ntype = sequence\n" \
	"history = h\nbuckets = 1000\n"
#define SKIP "[data]\non_bad_row = skip\n"
#define PAIR HEAD "[field item]\ncolumn = 2\nbuckets = 1000\n" SEQUENCE("items", "3") \
	"share = item\nmax_length = 3\n" SEQUENCE("cats", "4") "max_length = 3\n"

static uint64_t
bucket(const char *text)
{
	return hash_fingerprint64(text, strlen(text)) % 1000;
}

static void
parse(struct row_bed *bed, const char *spec, const char *text)
{
	row_bed_open(bed, spec);
	if (row_bed_parse(bed, PARSE_TRAIN, text, strlen(text)) != RS_OK)
		fail_msg("%s %s", rs_failure()->where, rs_failure()->text);
}

static void
is_list(const struct batch *batch, size_t f, size_t row, const char *wanted)
{
	const struct batch_column *const c = &batch->column[f];
	char text[8];
	size_t i = c->offset[row];

	for (; *wanted != '\0'; wanted += *wanted != '\0') {
		size_t n = 0;

		while (*wanted != '\0' && *wanted != ' ')
			text[n++] = *wanted++;
		text[n] = '\0';
		assert_int_equal(c->ids[i++], strcmp(text, "?") == 0 ? 1000 : bucket(text));
	}
	assert_int_equal(i, c->offset[row + 1]);
}

/* B094 */
static void
B094_a_text_has_one_id_in_fields_that_share_and_one_a_table_else(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, PAIR, "1\tx\tx|y\tx|z\n");
	assert_int_equal(bed.batch.column[0].ids[0], bucket("x"));
	is_list(&bed.batch, 1, 0, "x y");
	assert_int_equal(bed.schema.n_tables, 2);
	assert_int_equal(bed.schema.field[1].table, bed.schema.field[0].table);
	assert_int_not_equal(bed.schema.field[2].table, bed.schema.field[0].table);
	row_bed_close(&bed);
}

static void
a_history_takes_how_ids_are_read_from_the_field_whose_table_it_shares(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, HEAD "[field item]\ncolumn = 2\nbuckets = 1000\nid_type = int\n"
		"[field past]\ncolumn = 3\ntype = sequence\nshare = item\n", "1\t007\t7|+7|07\n");
	assert_int_equal(bed.batch.column[0].ids[0], bucket("7"));
	is_list(&bed.batch, 1, 0, "7 7 7");
	row_bed_close(&bed);
}

static void
a_history_keeps_the_newest_in_every_field(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, PAIR, "1\tx\ta|b|c|d|e\tA|B|C|D|E\n0\tx\t\t\n1\tx\ta\tA\n");
	is_list(&bed.batch, 1, 0, "c d e");
	is_list(&bed.batch, 2, 0, "C D E");
	is_list(&bed.batch, 1, 1, "");
	is_list(&bed.batch, 2, 1, "");
	is_list(&bed.batch, 1, 2, "a");
	row_bed_close(&bed);
}

static void
a_place_without_any_item_is_none_and_one_without_some_has_the_missing_id(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, PAIR, "1\tx\ta||c|\tA||C|\n0\tx\ta|b|c\tA||\n1\tx\t|b||\t|||D\n");
	is_list(&bed.batch, 1, 0, "a c");
	is_list(&bed.batch, 2, 0, "A C");
	is_list(&bed.batch, 1, 1, "a b c");
	is_list(&bed.batch, 2, 1, "A ? ?");
	is_list(&bed.batch, 1, 2, "b ?");
	is_list(&bed.batch, 2, 2, "? D");
	row_bed_close(&bed);
}

static void
fields_of_one_history_with_other_counts_make_a_bad_row(void **state)
{
	static const char text[] = "1\tx\ta|b\tA|B\n1\tx\ta|b|c|d|e\tA|B|C|D\n1\tx\ta\tA\n";
	struct row_bed bed;

	(void)state;
	row_bed_open(&bed, PAIR);
	assert_int_equal(row_bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_EDATA);
	assert_string_equal(rs_failure()->where, "t:2:1");
	assert_non_null(strstr(rs_failure()->text, "'items' has 5 items"));
	assert_non_null(strstr(rs_failure()->text, "'cats' has 4"));
	row_bed_close(&bed);
	parse(&bed, PAIR SKIP, text);
	assert_int_equal(bed.tally.skipped, 1);
	assert_int_equal(bed.batch.B, 2);
	is_list(&bed.batch, 1, 1, "a");
	row_bed_close(&bed);
}

static void
sequences_of_other_histories_have_lengths_of_their_own(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, HEAD "[field a]\ncolumn = 2\ntype = sequence\nbuckets = 1000\n"
		"[field b]\ncolumn = 3\ntype = sequence\nbuckets = 1000\n", "1\tu|v\tw\n");
	is_list(&bed.batch, 0, 0, "u v");
	is_list(&bed.batch, 1, 0, "w");
	row_bed_close(&bed);
}

static void
of_repeated_items_the_newest_counts_and_its_weight(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, HEAD "[field m]\ncolumn = 2\ntype = multi\nbuckets = 1000\nunique = yes\n"
		"max_length = 2\nweight_separator = \":\"\n", "1\ta:1|b:2|a:3|c:4\n0\ta:1|a:2\n");
	is_list(&bed.batch, 0, 0, "a c");
	is_list(&bed.batch, 0, 1, "a");
	assert_true(bed.batch.column[0].weight[0] == 3 && bed.batch.column[0].weight[1] == 4);
	assert_true(bed.batch.column[0].weight[2] == 2);
	row_bed_close(&bed);
}

static void
combiner_last_keeps_the_last_k_items(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, HEAD "[field s]\ncolumn = 2\ntype = sequence\nbuckets = 1000\n"
		"combiner = last\nlast_k = 2\n", "1\ta|b|c\n0\t\n");
	is_list(&bed.batch, 0, 0, "b c");
	is_list(&bed.batch, 0, 1, "");
	row_bed_close(&bed);
}

static void
an_item_without_its_weight_is_a_bad_row(void **state)
{
	static const char text[] = "1\ta:1|b\n";
	struct row_bed bed;

	(void)state;
	row_bed_open(&bed, HEAD "[field m]\ncolumn = 2\ntype = multi\nbuckets = 1000\n"
		"weight_separator = \":\"\n");
	assert_int_equal(row_bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "item 'b' has no weight"));
	row_bed_close(&bed);
}

/* ---- trim ---------------------------------------------------------------- */

#define TRIMMED "[model]\ntype = deepfm\n[data]\ntrain = x\nformat = csv\nlabel = y\ntrim = yes\n" \
	"[field c]\nbuckets = 1000\n[field n]\ntype = numeric\n"

static void
blanks_around_cells_labels_and_names_do_not_count(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, TRIMMED, "y , c,  n\n1, a b ,\t7 \r\n 0 ,\"x, \"\"z\"  , \n");
	assert_true(bed.batch.B == 2 && bed.batch.label[0] == 1 && bed.batch.label[1] == 0);
	assert_int_equal(bed.batch.column[0].ids[0], bucket("a b"));
	assert_int_equal(bed.batch.column[0].ids[1], bucket("x, \"z"));
	assert_true(bed.batch.dense[0] == 7 && bed.batch.missing[1] == 1);
	row_bed_close(&bed);
}

static void
a_cell_of_blanks_is_missing_and_without_trim_it_is_an_id(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, TRIMMED, "y, c, n\n1,  , \n");
	assert_int_equal(bed.batch.column[0].ids[0], 1000);
	assert_int_equal(bed.batch.missing[0], 1);
	row_bed_close(&bed);
	parse(&bed, "[model]\ntype = deepfm\n[data]\ntrain = x\nformat = csv\nlabel = y\n"
		"[field c]\nbuckets = 1000\n[field n]\ntype = numeric\n", "y,c,n\n1, ,2\n");
	assert_int_equal(bed.batch.column[0].ids[0], bucket(" "));
	row_bed_close(&bed);
}

static void
a_tab_that_separates_is_not_trimmed(void **state)
{
	struct row_bed bed;

	(void)state;
	parse(&bed, HEAD "trim = yes\n[field c]\ncolumn = 2\nbuckets = 1000\n"
		"[field d]\ncolumn = 3\nbuckets = 1000\n", "1\t\t x \n");
	assert_int_equal(bed.batch.column[0].ids[0], 1000);
	assert_int_equal(bed.batch.column[1].ids[0], bucket("x"));
	row_bed_close(&bed);
}

/* ---- specs that are refused ------------------------------------------------ */

static const struct refused_spec refused[] = {
	{ HEAD SEQUENCE("a", "2") SEQUENCE("b", "3") "max_length = 4\n",
		"4, but 100 for 'a', which is of the same history 'h'" },
	{ HEAD SEQUENCE("a", "2") SEQUENCE("b", "3") "unique = yes\n",
		"items of 'a' and 'b' belong together" },
	{ HEAD SEQUENCE("a", "2") "weight_separator = \":\"\n", "have no weights" },
	{ HEAD "[field a]\ncolumn = 2\n[field b]\ncolumn = 3\nshare = a\n"
		"[field c]\ncolumn = 4\nshare = b\n", "'b' itself shares with 'a'" },
	{ HEAD "[field a]\ncolumn = 2\n[field b]\ncolumn = 3\nshare = a\nid_type = int\n",
		"differs from that of 'a'" },
	{ HEAD "[field a]\ncolumn = 2\n[field b]\ncolumn = 3\nshare = a\nbuckets = 7\n",
		"differs from that of 'a'" },
};

static void
lists_that_cannot_be_read_together_are_refused(void **state)
{
	(void)state;
	assert_specs_refused(refused, N_ROWS(refused));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(B094_a_text_has_one_id_in_fields_that_share_and_one_a_table_else),
		cmocka_unit_test(
			a_history_takes_how_ids_are_read_from_the_field_whose_table_it_shares),
		cmocka_unit_test(a_history_keeps_the_newest_in_every_field),
		cmocka_unit_test(
			a_place_without_any_item_is_none_and_one_without_some_has_the_missing_id),
		cmocka_unit_test(fields_of_one_history_with_other_counts_make_a_bad_row),
		cmocka_unit_test(sequences_of_other_histories_have_lengths_of_their_own),
		cmocka_unit_test(of_repeated_items_the_newest_counts_and_its_weight),
		cmocka_unit_test(combiner_last_keeps_the_last_k_items),
		cmocka_unit_test(an_item_without_its_weight_is_a_bad_row),
		cmocka_unit_test(blanks_around_cells_labels_and_names_do_not_count),
		cmocka_unit_test(a_cell_of_blanks_is_missing_and_without_trim_it_is_an_id),
		cmocka_unit_test(a_tab_that_separates_is_not_trimmed),
		cmocka_unit_test(lists_that_cannot_be_read_together_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
