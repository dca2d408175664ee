/*
 * Rows of every text format: what they become, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "data/id_hash.h"
#include "data/parser.h"
#include "spec/spec.h"

#define HEAD "[model]\ntype = fm\n[data]\ntrain = x\n"
#define PLAIN HEAD "label = 1\n" \
	"[field n]\ncolumn = 2\ntype = numeric\n[field c]\ncolumn = 3\nbuckets = 1000\n"
#define CSV HEAD "format = csv\nlabel = 1\n" \
	"[field n]\ncolumn = 2\ntype = numeric\n[field c]\ncolumn = 3\nbuckets = 1000\n"
#define NAMED HEAD "format = csv\nlabel = y\n[field c]\nbuckets = 1000\n"
#define MULTI HEAD "label = 1\n" \
	"[field m]\ncolumn = 2\ntype = multi\nbuckets = 1000\nmax_length = 3\n" \
	"[field s]\ncolumn = 3\ntype = sequence\nbuckets = 1000\n"
#define LIBSVM HEAD "format = libsvm\nindex_base = 1\n[field m]\ntype = multi\nbuckets = 1000\n"
#define LIBFFM HEAD "format = libffm\nindex_base = 0\n[field a]\ncolumn = 1\nbuckets = 1000\n" \
	"[field b]\ncolumn = 2\ntype = multi\nbuckets = 1000\n" \
	"[field q]\ncolumn = 3\ntype = numeric\ntransform = bucketize\nboundaries = 1,2\n"
#define SKIP "on_bad_row = skip\n"

struct bed {
	struct spec *spec;
	struct schema schema;
	struct parser *parser;
	struct parser_layout *layout;
	struct batch batch;
	struct parser_tally tally;
	size_t skip, lines;
};

static void
bed_open(struct bed *bed, const char *spec)
{
	memset(bed, 0, sizeof *bed);
	assert_int_equal(spec_load_text(spec, "t.ini", &bed->spec), RS_OK);
	assert_int_equal(schema_build(spec_settings(bed->spec), &bed->schema), RS_OK);
	assert_int_equal(batch_init(&bed->batch, &bed->schema), RS_OK);
}

static enum rs_status
bed_parse(struct bed *bed, enum parser_purpose purpose, const char *text, size_t n)
{
	struct parser_span span = { .file = "t", .n = n };

	RS_TRY(parser_open(&bed->schema, purpose, &bed->parser));
	RS_TRY(parser_layout_make(&bed->schema, purpose, "t", text, n, &bed->layout, &bed->skip,
		&bed->lines));
	span.layout = bed->layout;
	span.text = text + bed->skip;
	span.n = n - bed->skip;
	span.line = 1 + bed->lines;
	return parser_parse(bed->parser, &span, &bed->batch, &bed->tally);
}

static void
bed_close(struct bed *bed)
{
	batch_free(&bed->batch);
	parser_layout_free(bed->layout);
	parser_close(bed->parser);
	schema_free(&bed->schema);
	spec_free(bed->spec);
}

static uint64_t
bucket(const char *text)
{
	return hash_fingerprint64(text, strlen(text)) % 1000;
}

/* ---- delimited ------------------------------------------------------------------ */

static void
an_empty_cell_is_missing_and_a_row_needs_no_newline(void **state)
{
	static const char text[] = "1\t\t68fd1e64\r\n\n0\t-2.5\t";
	struct bed bed;

	(void)state;
	bed_open(&bed, PLAIN);
	assert_int_equal(bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_OK);
	assert_int_equal(bed.batch.B, 2);
	assert_int_equal(bed.tally.read, 2);
	assert_int_equal(bed.tally.blank, 1);
	assert_true(bed.batch.label[0] == 1 && bed.batch.label[1] == 0);
	assert_true(bed.batch.missing[0] == 1 && bed.batch.dense[0] == 0);
	assert_true(bed.batch.missing[1] == 0 && bed.batch.dense[1] == -2.5f);
	assert_int_equal(bed.batch.column[0].ids[0], bucket("68fd1e64"));
	assert_int_equal(bed.batch.column[0].ids[1], 1000);
	bed_close(&bed);
}

static void
quoted_cells_hold_separators_newlines_and_quotes(void **state)
{
	static const char text[] = "\xef\xbb\xbf" "click,n,c\n1,2,\"a,\n\"\"b\"\"\"\n0,\"3\",x\n";
	struct bed bed;

	(void)state;
	bed_open(&bed, CSV);
	assert_int_equal(bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_OK);
	assert_int_equal(bed.batch.B, 2);
	assert_int_equal(bed.lines, 1);
	assert_int_equal(bed.batch.column[0].ids[0], bucket("a,\n\"b\""));
	assert_true(bed.batch.dense[1] == 3);
	bed_close(&bed);
}

/* B083 */
static void
a_file_without_labels_is_for_predict_only(void **state)
{
	static const char text[] = "5\tab\n6\tcd\n";
	struct bed bed;

	(void)state;
	bed_open(&bed, PLAIN);
	assert_int_equal(bed_parse(&bed, PARSE_PREDICT, text, strlen(text)), RS_OK);
	assert_false(parser_layout_has_label(bed.layout));
	assert_true(bed.batch.B == 2 && bed.batch.dense[1] == 6);
	assert_int_equal(bed.batch.column[0].ids[0], bucket("ab"));
	bed_close(&bed);
	bed_open(&bed, PLAIN);
	assert_int_equal(bed_parse(&bed, PARSE_EVAL, text, strlen(text)), RS_EDATA);
	assert_non_null(strstr(rs_failure()->hint, "label missing?"));
	bed_close(&bed);
}

static void
a_list_keeps_the_newest_and_an_empty_one_has_the_missing_id(void **state)
{
	static const char text[] = "1\ta|b|c|d\tx|y\n0\t\t\n";
	struct bed bed;
	const struct batch_column *m, *s;

	(void)state;
	bed_open(&bed, MULTI);
	assert_int_equal(bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_OK);
	m = &bed.batch.column[0];
	s = &bed.batch.column[1];
	assert_int_equal(m->N, 4);
	assert_int_equal(m->ids[0], bucket("b"));
	assert_int_equal(m->ids[2], bucket("d"));
	assert_int_equal(m->ids[3], 1000);
	assert_true(s->N == 2 && s->offset[1] == 2 && s->offset[2] == 2);
	bed_close(&bed);
}

static void
an_integer_id_is_its_decimal_text(void **state)
{
	static const char text[] = "1\t1\t007\n1\t1\t-0\n1\t1\t18446744073709551615\n"
		"1\t1\t-9223372036854775808\n";
	struct bed bed;

	(void)state;
	bed_open(&bed, PLAIN "id_type = int\n");
	assert_int_equal(bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_OK);
	assert_int_equal(bed.batch.column[0].ids[0], bucket("7"));
	assert_int_equal(bed.batch.column[0].ids[1], bucket("0"));
	assert_int_equal(bed.batch.column[0].ids[2], bucket("18446744073709551615"));
	assert_int_equal(bed.batch.column[0].ids[3], bucket("-9223372036854775808"));
	bed_close(&bed);
}

static void
a_weight_of_zero_is_read_but_in_no_batch(void **state)
{
	static const char text[] = "1\t1\ta\t0\n0\t2\tb\t0.5\n";
	struct bed bed;

	(void)state;
	bed_open(&bed, HEAD "label = 1\nweight = 4\n[field c]\ncolumn = 3\nbuckets = 1000\n");
	assert_int_equal(bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_OK);
	assert_true(bed.tally.read == 2 && bed.tally.zero_weight == 1 && bed.batch.B == 1);
	assert_true(bed.batch.weight[0] == 0.5f && bed.batch.column[0].N == 1);
	bed_close(&bed);
}

static void
ids_of_quoted_cells_are_without_quotes(void **state)
{
	static const char text[] = "1,\"r,1\",\"b\"\n0,r2,c\n1,\"\"\"3\"\" r\",\"d\"\"e\"\n";
	const struct parser_ids *ids;
	struct bed bed;

	(void)state;
	bed_open(&bed,
		HEAD "format = csv\nlabel = 1\nid = 2\n[field c]\ncolumn = 3\nbuckets = 1000\n");
	assert_int_equal(bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_OK);
	ids = parser_ids(bed.parser);
	assert_int_equal(ids->n, 3);
	assert_int_equal(ids->end[0] - ids->begin[0], 3);
	assert_memory_equal(ids->text + ids->begin[0], "r,1", 3);
	assert_memory_equal(ids->text + ids->begin[1], "r2", 2);
	assert_int_equal(ids->end[2] - ids->begin[2], 5);
	assert_memory_equal(ids->text + ids->begin[2], "\"3\" r", 5);
	bed_close(&bed);
}

/* ---- sparse ----------------------------------------------------------------------- */

/* B080 */
static void
libsvm_takes_spaces_comments_weights_and_groups(void **state)
{
	static const char text[] = "# head\n+1:0.5 qid:3  7:2 \t007:1 # tail\n0:1 \n";
	struct bed bed;

	(void)state;
	bed_open(&bed, LIBSVM);
	assert_int_equal(bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_OK);
	assert_true(bed.batch.B == 2 && bed.batch.label[0] == 1 && bed.batch.weight[0] == 0.5f);
	assert_int_equal(bed.batch.column[0].N, 3);
	assert_int_equal(bed.batch.column[0].ids[0], bucket("7"));
	assert_int_equal(bed.batch.column[0].ids[1], bucket("7"));
	assert_true(bed.batch.column[0].weight[0] == 2);
	assert_int_equal(bed.batch.column[0].ids[2], 1000);
	bed_close(&bed);
}

/* However an index and a value are written: as most are, which is read in one go, or not. */
static void
numbers_of_libsvm_are_the_same_in_every_form(void **state)
{
	static const struct { const char *item, *id; float value; } of[] = {
		{ "7:1", "7", 1 }, { "+7:1", "7", 1 }, { "0007:1", "7", 1 }, { "7:+1", "7", 1 },
		{ "7:1.0", "7", 1 }, { "7:1e0", "7", 1 }, { "7:0000001", "7", 1 },
		{ "7:000000001", "7", 1 }, { "7:16777217", "7", 16777217 },
		{ "7:99999999", "7", 99999999 }, { "7:999999999", "7", 999999999 },
		{ "7:-3", "7", -3 },
		{ "1234567890123456789:2", "1234567890123456789", 2 },
		{ "01234567890123456789:2", "1234567890123456789", 2 },
		{ "18446744073709551615:2", "18446744073709551615", 2 },
	};
	static const char *const bad[] = { "0:1", "00:1", ":1", "7:", "7", "7:1:1", "7:1x", "7x:1",
		"18446744073709551616:1", "28446744073709551616:1", "-7:1", "7:nan", "7:1e99" };
	char text[400] = "1";
	struct bed bed;

	(void)state;
	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
			i % 3 ? " " : "\t ", of[i].item);
	bed_open(&bed, LIBSVM);
	assert_int_equal(bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_OK);
	assert_int_equal(bed.batch.column[0].N, sizeof of / sizeof *of);
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		assert_int_equal(bed.batch.column[0].ids[i], bucket(of[i].id));
		assert_true(bed.batch.column[0].weight[i] == of[i].value);
	}
	bed_close(&bed);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(text, sizeof text, "1 3:1 %s 4:1\n", bad[i]);
		bed_open(&bed, LIBSVM);
		if (bed_parse(&bed, PARSE_TRAIN, text, strlen(text)) != RS_EDATA)
			fail_msg("'%s' was read", bad[i]);
		bed_close(&bed);
	}
}

static void
libffm_features_go_to_their_fields(void **state)
{
	static const char text[] = "1 2:x:0.5 1:y:1 2:z:1 3:v:1.5\n";
	struct bed bed;

	(void)state;
	bed_open(&bed, LIBFFM);
	assert_int_equal(bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_OK);
	assert_int_equal(bed.batch.column[0].ids[0], bucket("y"));
	assert_int_equal(bed.batch.column[1].ids[1], bucket("z"));
	assert_true(bed.batch.column[1].weight[0] == 0.5f);
	assert_int_equal(bed.batch.column[2].ids[0], 1);
	bed_close(&bed);
}

/* ---- refused ------------------------------------------------------------------------ */

#define TEXT(literal) literal, sizeof literal - 1

static const struct {
	const char *spec, *text;
	size_t n;
	const char *wanted;        /* in the place, the message or its hint          */
} bad[] = {
	{ PLAIN, TEXT("2\t1\ta\n"), "'2'" },
	{ PLAIN, TEXT("\t1\ta\n"), "label" },
	{ PLAIN, TEXT("x\t1\ta\n"), "'x'" },
	{ PLAIN, TEXT("1\t1\ta\n-1\t1\ta\n"), "'-1'" },
	{ PLAIN, TEXT("1\t1,5\ta\n"), "decimal point" },
	{ PLAIN, TEXT("1\tnan\ta\n"), "missing" },
	{ PLAIN, TEXT("1\tinf\ta\n"), "'inf'" },
	{ PLAIN, TEXT("1\t0x10\ta\n"), "'0x10'" },
	{ PLAIN, TEXT("1\t1e39\ta\n"), "'1e39'" },
	{ PLAIN, TEXT("1\t1e999\ta\n"), "'1e999'" },
	{ PLAIN, TEXT("1\t-\ta\n"), "'-'" },
	{ PLAIN, TEXT("1\t1\ta\n1\t2\n"), "2 columns" },
	{ PLAIN, TEXT("1\t1\ta\n1\t2\tb\t\n"), "4 columns" },
	{ PLAIN, TEXT("1\t1\ta\n1\t2\tb\0c\n"), "NUL" },
	{ PLAIN, TEXT("1,1,a\n"), "comma" },
	{ PLAIN, TEXT("1 1 a\n"), "space" },
	{ PLAIN, TEXT("\xff\xfe" "1\t1\ta\n"), "UTF-16" },
	{ NAMED, TEXT("y,c,x,c\n1,a,b,c\n"), "'c' twice, as columns 2 and 4" },
	{ NAMED, TEXT("y,c,y,x\n1,a,b,c\n"), "'y' twice, as columns 1 and 3" },
	{ CSV, TEXT("1,1,\"a\n"), "t:1:5 the quoted cell that begins here has no end" },
	{ CSV, TEXT("1,1,a\n1,\"1,a\n1,1,b\n"), "t:2:3 the quoted cell that begins here" },
	{ CSV, TEXT("1,1,a\n\"1,\"\"1\n"), "t:2:1 the quoted cell that begins here" },
	{ CSV, TEXT("1,1,a\n1,x\"1\n"), "2 columns" },
	{ CSV, TEXT("1,1,\"a\"b\n"), "closing quote" },
	{ PLAIN "id_type = int\n", TEXT("1\t1\t18446744073709551616\n"), "64-bit" },
	{ PLAIN "id_type = int\n", TEXT("1\t1\t1.0\n"), "'1.0'" },
	{ PLAIN "missing = NULL\n", TEXT("1\tNULL\ta\n1\t\ta\n"), "'NULL'" },
	{ LIBSVM, TEXT("1 0:1\n"), "index_base" },
	{ LIBSVM, TEXT("1 -1:1\n"), "2^64" },
	{ LIBSVM, TEXT("1 18446744073709551616:1\n"), "2^64" },
	{ LIBSVM, TEXT("1 5:\n"), "value" },
	{ LIBSVM, TEXT("1 5:x\n"), "number" },
	{ LIBSVM, TEXT("1 5\n"), "INDEX:VALUE" },
	{ LIBSVM, TEXT("1:-1 5:1\n"), "negative" },
	{ LIBSVM, TEXT("1 1:1\n1:1 2:1\n"), "no label" },
	{ LIBSVM, TEXT("1:1 1:1\n1 2:1\n"), "LABEL:WEIGHT" },
	{ LIBFFM, TEXT("1 1:a:1\n1:1 1:a:1\n"), "no label" },
	{ LIBFFM, TEXT("1:2:1 2:1:1\n"), "label" },
	{ LIBFFM, TEXT("1 9:1:1\n"), "field" },
	{ LIBFFM, TEXT("1 1:a:1 1:b:1\n"), "second" },
	{ LIBFFM, TEXT("1 1:a:0.5\n"), "multi" },
	{ LIBFFM, TEXT("1 3:a:1 3:a:2 3:a:3\n"), "second" },
	{ LIBFFM, TEXT("1 1:a\n"), "FIELD:FEATURE:VALUE" },
};

static void
malformed_rows_are_refused_with_a_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char all[3000];
		struct bed bed;
		enum rs_status status;

		bed_open(&bed, bad[i].spec);
		status = bed_parse(&bed, PARSE_TRAIN, bad[i].text, bad[i].n);
		if (status != RS_EDATA)
			print_error("case %zu: status %d\n", i, (int)status);
		assert_int_equal(status, RS_EDATA);
		snprintf(all, sizeof all, "%s %s %s", rs_failure()->where, rs_failure()->text,
			rs_failure()->hint);
		if (strstr(all, bad[i].wanted) == NULL ||
			strncmp(rs_failure()->where, "t:", 2) != 0)
			print_error("case %zu: %s: %s\n", i, rs_failure()->where, all);
		assert_non_null(strstr(all, bad[i].wanted));
		assert_memory_equal(rs_failure()->where, "t:", 2);
		bed_close(&bed);
	}
}

static void
predict_wants_a_number_where_a_label_is(void **state)
{
	static const struct { const char *spec, *text; enum rs_status status; } row[] = {
		{ LIBSVM, "7 1:1\n+1 2:1\n", RS_OK },
		{ LIBSVM, "1:1 2:1\n2:1\n", RS_OK },
		{ LIBFFM, "1:0.5 1:a:1\n", RS_OK },
		{ LIBFFM, "1:a:1\n", RS_OK },
		{ LIBSVM, "\001\377\002\n", RS_EDATA },
		{ LIBSVM, "inf 1:1\n", RS_EDATA },
		{ LIBSVM, "1 1:1\n1:1 2:1\n", RS_EDATA },
		{ LIBSVM, "1:1 2:1\n1 1:1\n", RS_EDATA },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct bed bed;

		bed_open(&bed, row[i].spec);
		assert_int_equal(
			bed_parse(&bed, PARSE_PREDICT, row[i].text, strlen(row[i].text)),
			row[i].status);
		bed_close(&bed);
	}
}

/* ---- properties ------------------------------------------------------------------------ */

static size_t
junk(char *text, size_t n, uint64_t key)
{
	static const char *const pieces[] = {
		"1\t2\tab\n", "0\t\t\n", "\n", "1", "\t", ",", "\"", "\r\n", "x", "-7", "\n",
		"1,2,\"a\"\n", ":", " ", "1 2:3\n", "1 3:a:1 2:b:1\n", "3:1:2", "#", "0,1,b\n",
	};
	size_t used = 0;

	for (uint64_t i = 0; used + 16 < n; i++) {
		const uint64_t k = rng_below(key, i, sizeof pieces / sizeof *pieces + 1);

		if (k == sizeof pieces / sizeof *pieces) {
			text[used++] = (char)rng_below(key, i + 100000, 256);
			continue;
		}
		memcpy(text + used, pieces[k], strlen(pieces[k]));
		used += strlen(pieces[k]);
	}
	return used;
}

static void
parse_junk(const char *head, const char *fields, enum parser_purpose purpose, uint64_t key)
{
	char spec[1200], *text = malloc(400);
	size_t n = junk(text, 400, key);
	struct bed bed;

	/* The exact size, so that a checker sees a byte read too many. */
	text = realloc(text, n);
	snprintf(spec, sizeof spec, "%s" SKIP "max_bad_rows = 1000000\n%s", head, fields);
	bed_open(&bed, spec);
	if (bed_parse(&bed, purpose, text, n) == RS_OK) {
		assert_int_equal(
			bed.tally.read, bed.batch.B + bed.tally.skipped + bed.tally.zero_weight);
		assert_int_equal(bed.tally.read,
			parser_count(&bed.schema, text + bed.skip, n - bed.skip));
		for (size_t f = 0; f < bed.batch.F; f++) {
			const struct batch_column *c = &bed.batch.column[f];
			const size_t B = bed.batch.B;

			assert_int_equal(c->N, c->offset != NULL && B > 0 ? c->offset[B] : B);
		}
	}
	bed_close(&bed);
	free(text);
}

static void
rows_in_are_rows_out_and_bad_rows_whatever_the_text(void **state)
{
	static const char *const format[] = { "tsv", "csv", "libsvm", "libfm", "libffm" };
	static const char *const fields[] = {
		"[field n]\ncolumn = 2\ntype = numeric\n[field c]\ncolumn = 3\nbuckets = 1000\n",
		"[field n]\ncolumn = 2\ntype = multi\nbuckets = 9\n"
		"[field c]\ncolumn = 3\nbuckets = 1000\n",
		"[field m]\ntype = multi\nbuckets = 1000\n",
		"[field m]\ntype = multi\nbuckets = 1000\n",
		"[field a]\ncolumn = 3\ntype = numeric\ntransform = bucketize\nboundaries = 1\n"
		"[field b]\ncolumn = 2\ntype = multi\nbuckets = 9\n",
	};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		const size_t k = i % 5;
		char head[200];

		snprintf(head, sizeof head,
			HEAD "format = %s\nindex_base = 0\nheader = no\nlabel = 1\n", format[k]);
		parse_junk(head, fields[k], i / 5 % 2 == 0 ? PARSE_TRAIN : PARSE_PREDICT,
			rng_key(7, i));
	}
}

static void
text_cut_at_any_row_end_gives_the_same_rows(void **state)
{
	static const char text[] = "1,1,\"a\nb\"\n0,2,c\n1,,\"\"\"\n\"\n0,4,d\r\n";
	struct bed bed;

	(void)state;
	bed_open(&bed, CSV "[data]\nheader = no\n");
	assert_int_equal(bed_parse(&bed, PARSE_TRAIN, text, strlen(text)), RS_OK);
	assert_int_equal(bed.batch.B, 4);
	for (size_t n = 1; n < strlen(text); n++) {
		const size_t cut = parser_split(&bed.schema, text, n, 0);
		struct parser_span span = {
			.file = "t", .layout = bed.layout, .text = text, .n = cut, .line = 1
		};
		struct parser_tally tally = { .read = 0 };
		struct batch batch;

		assert_int_equal(batch_init(&batch, &bed.schema), RS_OK);
		assert_int_equal(parser_parse(bed.parser, &span, &batch, &tally), RS_OK);
		span.text = text + cut;
		span.n = strlen(text) - cut;
		assert_int_equal(parser_parse(bed.parser, &span, &batch, &tally), RS_OK);
		assert_int_equal(batch.B, 4);
		assert_memory_equal(
			batch.column[0].ids, bed.batch.column[0].ids, 4 * sizeof(uint64_t));
		assert_memory_equal(batch.dense, bed.batch.dense, 4 * sizeof(float));
		batch_free(&batch);
	}
	bed_close(&bed);
}

static void
rows_are_counted_as_they_are_parsed(void **state)
{
	static const struct { const char *spec, *text; uint64_t n; } rows[] = {
		{ CSV, "1,1,a\"\n0,2,b\n1,3,c\n", 3 },
		{ CSV, "1,1,5\" disk\n0,2,\"b\n\n\"\"\"\n\n\r\n1,3,c", 3 },
		{ CSV, "1,1,\"\n", 1 },
		{ PLAIN, "1\t1\t\"a\n0\t2\tb\"\n\n", 2 },
		{ LIBSVM, "# head\n1 1:1\n \t\n0 2:1 # \"tail\n", 2 },
		{ PLAIN, "", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const size_t n = strlen(rows[i].text);
		char spec[1000];
		struct bed bed;

		snprintf(spec, sizeof spec, "%s[data]\n" SKIP "header = no\n", rows[i].spec);
		bed_open(&bed, spec);
		assert_int_equal(bed_parse(&bed, PARSE_TRAIN, rows[i].text, n), RS_OK);
		assert_int_equal(bed.tally.read, rows[i].n);
		assert_int_equal(parser_count(&bed.schema, rows[i].text, n), rows[i].n);
		bed_close(&bed);
	}
}

static void
the_remainder_without_division_is_exact(void **state)
{
	static const uint64_t edge[] = { 0, 1, 2, 3, 7, 1000, (uint64_t)1 << 40,
		((uint64_t)1 << 63) + 1, UINT64_MAX - 1, UINT64_MAX };
	const size_t n = sizeof edge / sizeof *edge;

	(void)state;
	for (size_t i = 1; i < n; i++) {
		const struct id_divisor by = id_divisor_make(edge[i]);

		for (size_t k = 0; k < n; k++) {
			assert_true(id_remainder(edge[k], &by) == edge[k] % edge[i]);
			assert_true(id_remainder(0 - edge[i] * edge[k], &by) ==
				(0 - edge[i] * edge[k]) % edge[i]);
		}
	}
	for (uint64_t i = 0; i < 20000; i++) {
		const uint64_t d = (rng_u64(1, i) >> rng_below(2, i, 63)) + 1, x = rng_u64(3, i);
		const struct id_divisor by = id_divisor_make(d);

		assert_true(id_remainder(x, &by) == x % d);
		assert_true(id_remainder(x - x % d, &by) == 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_remainder_without_division_is_exact),
		cmocka_unit_test(an_empty_cell_is_missing_and_a_row_needs_no_newline),
		cmocka_unit_test(quoted_cells_hold_separators_newlines_and_quotes),
		cmocka_unit_test(a_file_without_labels_is_for_predict_only),
		cmocka_unit_test(a_list_keeps_the_newest_and_an_empty_one_has_the_missing_id),
		cmocka_unit_test(an_integer_id_is_its_decimal_text),
		cmocka_unit_test(a_weight_of_zero_is_read_but_in_no_batch),
		cmocka_unit_test(ids_of_quoted_cells_are_without_quotes),
		cmocka_unit_test(libsvm_takes_spaces_comments_weights_and_groups),
		cmocka_unit_test(numbers_of_libsvm_are_the_same_in_every_form),
		cmocka_unit_test(libffm_features_go_to_their_fields),
		cmocka_unit_test(malformed_rows_are_refused_with_a_place),
		cmocka_unit_test(predict_wants_a_number_where_a_label_is),
		cmocka_unit_test(rows_in_are_rows_out_and_bad_rows_whatever_the_text),
		cmocka_unit_test(rows_are_counted_as_they_are_parsed),
		cmocka_unit_test(text_cut_at_any_row_end_gives_the_same_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
