/*
 * Format lists: a line is a user and its items, each item a row.
 */
#include "tests/test.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "data/parser.h"
#include "spec/spec.h"

#define HEAD "[model]\ntype = fm\n[data]\ntrain = x\nformat = lists\n"
#define FIELDS "[field user]\nbuckets = 1000\n[field item]\nbuckets = 1000\n"
#define PLAIN HEAD FIELDS "[items]\nkey = item\n"
#define HISTORY HEAD FIELDS "[field history]\ntype = sequence\nshare = item\nmax_length = 2\n"

struct bed {
	struct spec *spec;
	struct schema schema;
	struct parser *parser;
	struct batch batch;
	struct parser_tally tally;
	size_t n_ids;
	char ids[8][16];
};

static void
keep_ids(struct bed *bed)
{
	const struct parser_ids *const ids = parser_ids(bed->parser);

	bed->n_ids = ids != NULL ? ids->n : 0;
	for (size_t i = 0; i < bed->n_ids && i < 8; i++)
		snprintf(bed->ids[i], sizeof bed->ids[i], "%.*s",
			(int)(ids->end[i] - ids->begin[i]), ids->text + ids->begin[i]);
}

static enum rs_status
parse(struct bed *bed, const char *spec, enum parser_purpose purpose, const char *text, size_t n)
{
	struct parser_layout *layout;
	size_t skip, lines;
	enum rs_status status;

	memset(bed, 0, sizeof *bed);
	assert_int_equal(spec_load_text(spec, "t.ini", &bed->spec), RS_OK);
	assert_int_equal(schema_build(spec_settings(bed->spec), &bed->schema), RS_OK);
	assert_int_equal(batch_init(&bed->batch, &bed->schema), RS_OK);
	assert_int_equal(parser_open(&bed->schema, purpose, &bed->parser), RS_OK);
	parser_keep_bad_rows(bed->parser, purpose == PARSE_PREDICT);
	assert_int_equal(parser_layout_make(&bed->schema, purpose, "t", text, n, &layout, &skip,
		&lines), RS_OK);

	const struct parser_span span = { .file = "t", .layout = layout, .text = text + skip,
		.n = n - skip, .line = 1 };

	status = parser_parse(bed->parser, &span, &bed->batch, &bed->tally);
	if (status == RS_OK)
		assert_int_equal(parser_count(&bed->schema, span.text, span.n), bed->tally.read);
	keep_ids(bed);
	parser_layout_free(layout);
	return status;
}

static void
take(struct bed *bed, const char *spec, const char *text)
{
	assert_int_equal(parse(bed, spec, PARSE_TRAIN, text, strlen(text)), RS_OK);
}

static void
bed_close(struct bed *bed)
{
	batch_free(&bed->batch);
	parser_close(bed->parser);
	schema_free(&bed->schema);
	spec_free(bed->spec);
}

static uint64_t
key(const char *text)
{
	return hash_fingerprint64(text, strlen(text));
}

static void
assert_pairs(const struct bed *bed, const char *const (*pair)[2], size_t n)
{
	assert_int_equal(bed->batch.B, n);
	for (size_t b = 0; b < n; b++) {
		assert_int_equal(bed->batch.column[0].ids[b], key(pair[b][0]) % 1000);
		assert_int_equal(bed->batch.column[1].ids[b], key(pair[b][1]) % 1000);
		assert_int_equal(bed->batch.group[b], key(pair[b][0]));
		if (bed->batch.item != NULL)
			assert_int_equal(bed->batch.item[b], key(pair[b][1]));
		assert_true(bed->batch.label[b] == 1 && bed->batch.weight[b] == 1);
	}
}

static const char *const three[][2] = { { "u1", "a" }, { "u1", "b" }, { "u2", "c" } };

static void
each_item_of_a_line_is_a_row_with_its_user(void **state)
{
	struct bed bed;

	(void)state;
	take(&bed, PLAIN, "u1 a b\nu2 c\n");
	assert_pairs(&bed, three, 3);
	assert_int_equal(bed.tally.read, 3);
	bed_close(&bed);
}

static void
blanks_tabs_and_line_ends_only_separate(void **state)
{
	static const char *const text[] = {
		"u1\ta\tb\nu2\tc\n", "  u1  a \t b  \n\tu2 c\t\n", "u1 a b\r\nu2 c \r\n",
		"u1 a b\n\n \r\nu2 c", "\xef\xbb\xbfu1 a b\nu2 c\r",
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(text); i++) {
		struct bed bed;

		take(&bed, PLAIN, text[i]);
		assert_pairs(&bed, three, 3);
		bed_close(&bed);
	}
}

static void
a_separator_of_its_own_leaves_blanks_in_the_cells(void **state)
{
	static const char *const pair[][2] = { { "u 1", "a b" }, { "u 1", "c" } };
	struct bed bed;

	(void)state;
	take(&bed, HEAD "separator = comma\n" FIELDS, "u 1,a b,c\r\n");
	assert_pairs(&bed, pair, 2);
	assert_null(bed.batch.item);
	bed_close(&bed);
	assert_int_equal(parse(&bed, HEAD "separator = comma\n" FIELDS, PARSE_TRAIN, "u,a\n,b\n",
		7), RS_EDATA);
	assert_string_equal(rs_failure()->where, "t:2:1");
	assert_string_equal(rs_failure()->text, "the user is missing");
	bed_close(&bed);
}

static void
a_line_with_only_a_user_has_no_rows(void **state)
{
	struct bed bed;

	(void)state;
	take(&bed, PLAIN, "u1 a b\nu9\nu8 \r\n\nu2 c\n");
	assert_pairs(&bed, three, 3);
	assert_int_equal(bed.tally.blank, 3);
	bed_close(&bed);
}

static void
an_item_given_twice_is_two_rows(void **state)
{
	static const char *const pair[][2] = { { "u", "a" }, { "u", "a" }, { "u", "a" } };
	struct bed bed;

	(void)state;
	take(&bed, PLAIN, "u a a a\n");
	assert_pairs(&bed, pair, 3);
	bed_close(&bed);
}

static void
a_history_is_the_newest_items_before_oldest_first(void **state)
{
	static const char *const wanted[][2] = { { NULL, NULL }, { "a", NULL }, { "a", "b" },
		{ "b", "c" }, { NULL, NULL } };
	const struct batch_column *history;
	struct bed bed;

	(void)state;
	take(&bed, HISTORY, "u a b c d\nv x\n");
	history = &bed.batch.column[2];
	assert_int_equal(bed.batch.B, 5);
	for (size_t b = 0; b < 5; b++) {
		const size_t begin = history->offset[b], n = history->offset[b + 1] - begin;

		assert_int_equal(n, (wanted[b][0] != NULL) + (wanted[b][1] != NULL));
		for (size_t i = 0; i < n; i++)
			assert_int_equal(history->ids[begin + i], key(wanted[b][i]) % 1000);
	}
	bed_close(&bed);
}

static void
an_empty_history_of_type_multi_has_its_missing_row(void **state)
{
	struct bed bed;

	(void)state;
	take(&bed, HEAD FIELDS "[field past]\ncolumn = 3\ntype = multi\nbuckets = 50\n", "u a b\n");
	assert_int_equal(bed.batch.column[2].N, 2);
	assert_int_equal(bed.batch.column[2].ids[0], 50);
	assert_int_equal(bed.batch.column[2].ids[1], key("a") % 50);
	assert_null(bed.batch.column[2].weight);
	bed_close(&bed);
}

static void
columns_go_by_number_too_and_the_group_may_be_the_item(void **state)
{
	struct bed bed;

	(void)state;
	take(&bed, HEAD "group = 2\nid = 1\n[field i]\ncolumn = 2\n[field u]\ncolumn = 1\n",
		"u a b\n");
	assert_int_equal(bed.batch.group[1], key("b"));
	assert_int_equal(bed.n_ids, 2);
	assert_string_equal(bed.ids[1], "u");
	bed_close(&bed);
}

static void
a_bad_item_is_one_bad_row_and_no_history(void **state)
{
	static const char spec[] = HEAD "on_bad_row = skip\n" "[field user]\n"
		"[field item]\nid_type = int\nbuckets = 1000\n"
		"[field history]\ntype = sequence\nshare = item\nid_type = int\n"
		"[items]\nkey = item\n";
	struct bed bed;

	(void)state;
	take(&bed, spec, "u 1 x 3\n");
	assert_int_equal(bed.batch.B, 2);
	assert_int_equal(bed.tally.read, 3);
	assert_int_equal(bed.tally.skipped, 1);
	assert_int_equal(bed.batch.column[2].offset[2], 1);
	assert_int_equal(bed.batch.column[2].ids[0], key("1") % 1000);
	assert_string_equal(parser_warnings(bed.parser)->text[0],
		"t:1:5: row skipped: field 'item': 'x' is not a 64-bit whole number "
		"(id_type = int)");
	bed_close(&bed);
}

static void
a_line_that_cannot_be_read_is_as_many_bad_rows_as_it_has_items(void **state)
{
	static const char text[] = "u a b\nv c\0 d e\nw f\n";
	struct bed bed;

	(void)state;
	assert_int_equal(parse(&bed, HEAD "on_bad_row = skip\n" FIELDS, PARSE_TRAIN, text,
		sizeof text - 1), RS_OK);
	assert_int_equal(bed.batch.B, 3);
	assert_int_equal(bed.tally.read, 6);
	assert_int_equal(bed.tally.skipped, 3);
	assert_int_equal(parser_warnings(bed.parser)->n, 1);
	bed_close(&bed);
	assert_int_equal(parse(&bed, PLAIN, PARSE_TRAIN, text, sizeof text - 1), RS_EDATA);
	assert_string_equal(rs_failure()->where, "t:2:4");
	bed_close(&bed);
	assert_int_equal(parse(&bed, PLAIN, PARSE_PREDICT, text, sizeof text - 1), RS_OK);
	assert_int_equal(bed.batch.B, 6);
	assert_true(isnan(bed.batch.label[2]) && isnan(bed.batch.label[4]));
	assert_int_equal(bed.batch.group[2], 0);
	bed_close(&bed);
}

static void
an_item_that_means_no_value_is_a_bad_row_where_items_matter(void **state)
{
	struct bed bed;

	(void)state;
	assert_int_equal(parse(&bed, HEAD "missing = \"\",-\n" FIELDS "[items]\nkey = item\n",
		PARSE_TRAIN, "u a - b\n", 8), RS_EDATA);
	assert_string_equal(rs_failure()->where, "t:1:5");
	assert_string_equal(rs_failure()->text, "field 'item': the item is missing");
	bed_close(&bed);
	take(&bed, HEAD "missing = \"\",-\n" FIELDS, "u a - b\n");
	assert_int_equal(bed.batch.column[1].ids[1], 1000);
	bed_close(&bed);
}

static void
keys_that_lists_cannot_have_are_refused(void **state)
{
	static const struct { const char *spec, *text; } bad[] = {
		{ HEAD "label = 1\n" FIELDS, "[data] label: lists have no such column; "
			"each item is a row of label 1" },
		{ HEAD "weight = 2\n" FIELDS, "[data] weight: lists have no such column; "
			"each item is a row of label 1" },
		{ HEAD "group = 3\n" FIELDS, "[data] group: '3', wanted user or item" },
		{ HEAD "header = yes\n" FIELDS, "[data] header: lists have none" },
		{ HEAD "[field x]\ncolumn = 4\n", "[field x] column: '4': lists have the columns "
			"user, item and history, or 1, 2 and 3" },
		{ HEAD "[field history]\n", "[field history] type: the history of lists is a "
			"sequence or multi" },
		{ HEAD FIELDS "[items]\nkey = user\n",
			"[items] key: column 1 of lists is the user" },
		{ HEAD FIELDS "[items]\nkey = itm\n", "[items] key: there is no field 'itm'" },
		{ HEAD FIELDS "[items]\nnegatives = 3\n", "[items] key: needed to draw negatives" },
		{ HEAD FIELDS "[field x]\ntype = cross\nfields = user,item\n"
			"[items]\nkey = item\nnegatives = 2\n", "[field x] fields: crosses the "
			"item with other fields, which drawn negatives cannot have" },
		{ HEAD FIELDS "[items]\nkey = item\nfields = user\n",
			"[items] fields: 'item', the key, is not among them" },
		{ HEAD FIELDS "[items]\nkey = item\nwithin = item\n",
			"[items] within: 'item', wanted a categorical field of items.fields "
			"besides the key" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(bad); i++) {
		struct spec *spec;

		assert_int_equal(spec_load_text(bad[i].spec, "t.ini", &spec), RS_ESPEC);
		assert_string_equal(spec_problem(spec, 0)->text, bad[i].text);
		spec_free(spec);
	}
}

static void
long_histories_make_the_window_smaller_unless_it_is_given(void **state)
{
	static const struct { const char *spec; int64_t window; } test[] = {
		{ PLAIN, 16 << 20 }, { HISTORY, 16 << 20 },
		{ HEAD FIELDS "[field history]\ntype = sequence\nmax_length = 64\n", 4 << 20 },
		{ HEAD FIELDS "[field history]\ntype = sequence\nmax_length = 1M\n", 256 << 10 },
		{ HEAD "shuffle_window = 32M\n" FIELDS
			"[field history]\ntype = sequence\nmax_length = 64\n", 32 << 20 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(test); i++) {
		struct spec *spec;

		assert_int_equal(spec_load_text(test[i].spec, "t.ini", &spec), RS_OK);
		assert_int_equal(spec_settings(spec)->data.shuffle_window, test[i].window);
		spec_free(spec);
	}
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(each_item_of_a_line_is_a_row_with_its_user),
		cmocka_unit_test(blanks_tabs_and_line_ends_only_separate),
		cmocka_unit_test(a_separator_of_its_own_leaves_blanks_in_the_cells),
		cmocka_unit_test(a_line_with_only_a_user_has_no_rows),
		cmocka_unit_test(an_item_given_twice_is_two_rows),
		cmocka_unit_test(a_history_is_the_newest_items_before_oldest_first),
		cmocka_unit_test(an_empty_history_of_type_multi_has_its_missing_row),
		cmocka_unit_test(columns_go_by_number_too_and_the_group_may_be_the_item),
		cmocka_unit_test(a_bad_item_is_one_bad_row_and_no_history),
		cmocka_unit_test(a_line_that_cannot_be_read_is_as_many_bad_rows_as_it_has_items),
		cmocka_unit_test(an_item_that_means_no_value_is_a_bad_row_where_items_matter),
		cmocka_unit_test(keys_that_lists_cannot_have_are_refused),
		cmocka_unit_test(long_histories_make_the_window_smaller_unless_it_is_given),
	};

	return cmocka_run_group_tests(test, NULL, NULL);
}
