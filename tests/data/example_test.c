/*
 * tf.Example to rows: every kind of value, and what of it is a bad row.
 */
#include <math.h>

#include "tests/data/example_bed.h"
#include "tests/data/row_bed.h"

#include "data/example.h"
#include "data/tfrecord.h"

#define HEAD "[model]\ntype = wide_deep\n[data]\ntrain = x\nformat = tfrecord\nlabel = y\n"
#define FIELDS "[field c]\nbuckets = 1000\n[field n]\ntype = numeric\n" \
	"[field m]\ntype = multi\nbuckets = 1000\n"

static struct example_bytes file, row;

static uint64_t
bucket(const char *text)
{
	return hash_fingerprint64(text, strlen(text)) % 1000;
}

static void
parse(struct row_bed *bed, const char *spec)
{
	row_bed_open(bed, spec);
	if (row_bed_parse(bed, PARSE_TRAIN, (const char *)file.bytes, file.n) != RS_OK)
		fail_msg("%s %s", rs_failure()->where, rs_failure()->text);
}

static void
parse_bad(const char *spec, const char *wanted)
{
	struct row_bed bed;

	row_bed_open(&bed, spec);
	assert_int_equal(
		row_bed_parse(&bed, PARSE_TRAIN, (const char *)file.bytes, file.n), RS_EDATA);
	if (strstr(rs_failure()->text, wanted) == NULL)
		fail_msg("'%s', wanted '%s'", rs_failure()->text, wanted);
	row_bed_close(&bed);
}

static void
put_hex(const char *hex)
{
	for (; *hex != '\0'; hex += 2) {
		unsigned byte;

		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		file.bytes[file.n++] = (uint8_t)byte;
	}
}

/* The frames of the format's own documents. */
static void
known_frames_are_read(void **state)
{
	struct tfrecord r;
	uint32_t stored, computed;

	(void)state;
	file.n = 0;
	put_hex("0300000000000000b099490e666f6f618abefe");
	put_hex("000000000000000029039807d8ea82a2");
	tfrecord_read((const char *)file.bytes, file.n, &r);
	assert_true(r.state == TFRECORD_WHOLE && r.n == 3 && r.frame == 19);
	assert_memory_equal(r.data, "foo", 3);
	assert_true(tfrecord_data_is_sound(&r, &stored, &computed) && computed == 0xfebe8a61);
	tfrecord_read((const char *)file.bytes + 19, file.n - 19, &r);
	assert_true(r.state == TFRECORD_WHOLE && r.n == 0 && r.frame == 16);
	assert_true(tfrecord_data_is_sound(&r, &stored, &computed));
	assert_int_equal(tfrecord_count((const char *)file.bytes, file.n), 2);
	assert_int_equal(tfrecord_split((const char *)file.bytes, file.n - 1, 0), 19);
	assert_int_equal(tfrecord_split((const char *)file.bytes, file.n - 1, 1), file.n - 1);
}

/* {c1: "abc", ids: [3, -1], label: 1.0} */
static void
a_known_example_is_read(void **state)
{
	struct row_bed bed;

	(void)state;
	file.n = 0;
	put_hex("3c00000000000000c8b7a3520a3a0a0d0a02633112070a050a036162630a160a03696473120f1a0d"
		"0a0b03ffffffffffffffffff010a110a056c6162656c120812060a040000803f4efeca1d");
	parse(&bed, "[model]\ntype = wide_deep\n[data]\ntrain = x\nformat = tfrecord\n"
		"label = label\n[field c1]\nbuckets = 1000\n"
		"[field ids]\ntype = multi\nbuckets = 1000\n");
	assert_true(bed.batch.B == 1 && bed.batch.label[0] == 1);
	assert_int_equal(bed.batch.column[0].ids[0], bucket("abc"));
	assert_int_equal(bed.batch.column[1].N, 2);
	assert_int_equal(bed.batch.column[1].ids[0], bucket("3"));
	assert_int_equal(bed.batch.column[1].ids[1], bucket("-1"));
	row_bed_close(&bed);
}

static void
what_is_not_there_is_missing(void **state)
{
	static const struct example_bytes nothing;
	struct row_bed bed;

	(void)state;
	file.n = row.n = 0;
	example_integer(&row, "y", 1);
	example_frame(&file, &row);
	example_integer(&row, "y", 0);
	example_entry(&row, "c", &nothing);            /* key, 12 00                 */
	example_entry(&row, "n", NULL);                /* no value at all            */
	example_texts(&row, "m", NULL);                /* an empty list              */
	example_frame(&file, &row);
	example_integer(&row, "y", 0);
	example_texts(&row, "c", "", NULL);
	example_texts(&row, "n", "", NULL);
	example_texts(&row, "m", "", NULL);
	example_frame(&file, &row);
	parse(&bed, HEAD FIELDS);
	assert_int_equal(bed.batch.B, 3);
	for (size_t b = 0; b < 3; b++) {
		assert_int_equal(bed.batch.column[0].ids[b], 1000);
		assert_int_equal(bed.batch.missing[b], 1);
		assert_int_equal(bed.batch.column[1].ids[b], 1000);
	}
	row_bed_close(&bed);
}

static void
lists_may_be_unpacked_and_the_last_of_equal_keys_counts(void **state)
{
	static const int64_t id[] = { 7, -9223372036854775807 - 1, 7 };
	static const float number[] = { 0.5f, 16777216.0f };
	struct row_bed bed;

	(void)state;
	file.n = row.n = 0;
	example_texts(&row, "c", "first", NULL);
	example_integers(&row, "m", 3, id, 0);
	example_floats(&row, "n", 1, number, 0);
	example_texts(&row, "y", "1", NULL);
	example_texts(&row, "c", "last", NULL);
	example_frame(&file, &row);
	example_floats(&row, "m", 2, number, 0);
	example_float(&row, "y", 0);
	example_texts(&row, "n", "-2.5", NULL);
	example_frame(&file, &row);
	parse(&bed, HEAD FIELDS);
	assert_true(bed.batch.label[0] == 1 && bed.batch.label[1] == 0);
	assert_int_equal(bed.batch.column[0].ids[0], bucket("last"));
	assert_int_equal(bed.batch.column[1].offset[1], 3);
	assert_int_equal(bed.batch.column[1].ids[1], bucket("-9223372036854775808"));
	assert_int_equal(bed.batch.column[1].ids[3], bucket("0.5"));
	assert_int_equal(bed.batch.column[1].ids[4], bucket("16777216.0"));
	assert_true(bed.batch.dense[0] == 0.5f && bed.batch.dense[1] == -2.5f);
	row_bed_close(&bed);
}

/* A list is a cell with separators: also what is cut out of one value. */
static void
lists_are_cut_and_kept_as_those_of_cells_are(void **state)
{
	struct row_bed bed;

	(void)state;
	file.n = row.n = 0;
	example_integer(&row, "y", 1);
	example_texts(&row, "m", "a:1|b:2", "c:3", "", "d:4", NULL);
	example_texts(&row, "s", "p", "", "q", "r", NULL);
	example_texts(&row, "t", "1||3|4", NULL);
	example_frame(&file, &row);
	parse(&bed, HEAD "[field m]\ntype = multi\nbuckets = 1000\nmax_length = 3\n"
		"weight_separator = \":\"\n"
		"[field s]\ntype = sequence\nbuckets = 1000\nhistory = h\n"
		"[field t]\ntype = sequence\nbuckets = 1000\nhistory = h\n");
	assert_int_equal(bed.batch.column[0].N, 3);
	assert_int_equal(bed.batch.column[0].ids[0], bucket("b"));
	assert_true(bed.batch.column[0].weight[2] == 4);
	assert_int_equal(bed.batch.column[1].N, 3);
	assert_int_equal(bed.batch.column[1].ids[1], bucket("q"));
	assert_int_equal(bed.batch.column[2].ids[1], bucket("3"));
	row_bed_close(&bed);
}

static void
roles_other_than_fields_are_read_by_name(void **state)
{
	const struct parser_ids *ids;
	struct row_bed bed;

	(void)state;
	file.n = row.n = 0;
	for (int i = 0; i < 3; i++) {
		example_integer(&row, "y", i == 1);
		example_float(&row, "w", 0.5f * (float)i);
		example_integer(&row, "user", 70 + i);
		example_texts(&row, "name", i == 0 ? "zero" : i == 1 ? "one" : "two", NULL);
		example_texts(&row, "c", "x", NULL);
		example_frame(&file, &row);
	}
	parse(&bed, HEAD "weight = w\ngroup = user\nid = name\n[field c]\nbuckets = 1000\n");
	assert_true(bed.tally.read == 3 && bed.tally.zero_weight == 1 && bed.batch.B == 2);
	assert_true(bed.batch.weight[0] == 0.5f && bed.batch.weight[1] == 1);
	assert_true(bed.batch.group[1] == hash_fingerprint64("72", 2));
	ids = parser_ids(bed.parser);
	assert_int_equal(ids->n, 2);
	assert_int_equal(ids->end[1] - ids->begin[1], 3);
	assert_memory_equal(ids->text + ids->begin[0], "one", 3);
	assert_memory_equal(ids->text + ids->begin[1], "two", 3);
	row_bed_close(&bed);
}

static void
floats_are_written_as_python_does(void **state)
{
	static const struct { float value; const char *text; } known[] = {
		{ 8, "8.0" }, { -8, "-8.0" }, { 0.1f, "0.1" }, { 0, "0.0" }, { -0.0f, "-0.0" },
		{ 12.25f, "12.25" }, { 1e-4f, "0.0001" }, { 1.5e-5f, "1.5e-05" },
		{ 1e10f, "10000000000.0" }, { 17031081984.0f, "17031082000.0" },
		{ 1e15f, "1000000000000000.0" }, { 1e16f, "1e+16" },
		{ 3.4028235e38f, "3.4028235e+38" }, { 1e-45f, "1e-45" }, { 100, "100.0" },
		{ 41.880994f, "41.880993" },
		{ INFINITY, "inf" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < N_ROWS(known); i++)
		assert_string_equal(example_float_text(text, known[i].value), known[i].text);
}

/* ---- bad rows -------------------------------------------------------------------- */

static void
a_row_that_cannot_be_read_names_its_record_and_byte(void **state)
{
	static const float two[] = { 1, 2 };
	size_t begin;

	(void)state;
	file.n = row.n = 0;
	example_integer(&row, "y", 1);
	example_frame(&file, &row);
	begin = file.n;
	example_integer(&row, "y", 7);
	example_frame(&file, &row);
	parse_bad(HEAD FIELDS, "'t' record 2 at byte 30: label '7', wanted '0' or '1'");
	assert_int_equal(begin, 30);
	file.n = begin;
	example_float(&row, "n", 1);
	example_frame(&file, &row);
	parse_bad(HEAD FIELDS, "feature 'y', the label, is missing");
	file.n = begin;
	example_integer(&row, "y", 1);
	example_floats(&row, "n", 2, two, 1);
	example_frame(&file, &row);
	parse_bad(HEAD FIELDS, "feature 'n' has 2 values, wanted one");
	file.n = begin;
	example_integer(&row, "y", 1);
	example_float(&row, "n", NAN);
	example_frame(&file, &row);
	parse_bad(HEAD FIELDS, "field 'n': 'nan' is not a number");
	file.n = begin;
	example_record(&file, "\x0a\x7f", 2);
	parse_bad(HEAD FIELDS, "record 2 at byte 30: the record is no tf.Example");
	parse_bad(HEAD "max_line = 1024\n" FIELDS, "no tf.Example");
	file.n = begin;
	memset(row.bytes, 0, 2000);
	example_record(&file, row.bytes, 2000);
	parse_bad(HEAD "max_line = 1024\n" FIELDS, "has 2000 bytes, data.max_line is 1024");
}

/* B087 */
static void
B087_a_changed_byte_of_the_data_is_a_bad_row(void **state)
{
	struct row_bed bed;

	(void)state;
	file.n = row.n = 0;
	for (int i = 0; i < 3; i++) {
		example_integer(&row, "y", i == 1);
		example_frame(&file, &row);
	}
	file.bytes[30 + 20] ^= 1;
	parse_bad(HEAD FIELDS, "'t' record 2 at byte 30: the CRC of the data is ");
	parse(&bed, HEAD "on_bad_row = skip\n" FIELDS);
	assert_true(bed.tally.read == 3 && bed.tally.skipped == 1 && bed.batch.B == 2);
	assert_non_null(strstr(parser_warnings(bed.parser)->text[0],
		"'t' record 2 at byte 30 skipped: the CRC of the data is "));
	row_bed_close(&bed);
}

/* B087 */
static void
B087_a_changed_byte_of_a_length_is_an_error_whatever_the_policy(void **state)
{
	(void)state;
	file.n = row.n = 0;
	for (int i = 0; i < 3; i++) {
		example_integer(&row, "y", i == 1);
		example_frame(&file, &row);
	}
	file.bytes[30 + 3] ^= 1;
	parse_bad(HEAD FIELDS, "'t' record 2 at byte 30: the CRC of the length is ");
	parse_bad(HEAD "on_bad_row = skip\n" FIELDS,
		"'t' record 2 at byte 30: the CRC of the length is ");
	assert_non_null(strstr(rs_failure()->hint, "leave the file out"));
	file.bytes[3] ^= 1;
	parse_bad(HEAD FIELDS, "'t' record 1 at byte 0: the CRC of the length is ");
	assert_non_null(strstr(rs_failure()->hint, "data.format"));
}

/* B087 */
static void
B087_a_file_that_ends_inside_a_record_loses_only_that(void **state)
{
	struct row_bed bed;
	size_t whole;

	(void)state;
	file.n = row.n = 0;
	example_integer(&row, "y", 1);
	example_frame(&file, &row);
	whole = file.n;
	example_integer(&row, "y", 0);
	example_frame(&file, &row);
	while (--file.n > whole) {
		parse(&bed, HEAD FIELDS);
		assert_true(bed.batch.B == 1 && bed.tally.read == 2 && bed.tally.skipped == 1);
		assert_non_null(strstr(parser_warnings(bed.parser)->text[0],
			"'t' record 2 at byte 30 skipped: the file ends inside the record"));
		row_bed_close(&bed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_frames_are_read),
		cmocka_unit_test(a_known_example_is_read),
		cmocka_unit_test(what_is_not_there_is_missing),
		cmocka_unit_test(lists_may_be_unpacked_and_the_last_of_equal_keys_counts),
		cmocka_unit_test(lists_are_cut_and_kept_as_those_of_cells_are),
		cmocka_unit_test(roles_other_than_fields_are_read_by_name),
		cmocka_unit_test(floats_are_written_as_python_does),
		cmocka_unit_test(a_row_that_cannot_be_read_names_its_record_and_byte),
		cmocka_unit_test(B087_a_changed_byte_of_the_data_is_a_bad_row),
		cmocka_unit_test(B087_a_changed_byte_of_a_length_is_an_error_whatever_the_policy),
		cmocka_unit_test(B087_a_file_that_ends_inside_a_record_loses_only_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
