/*
 * Blocks of rows give what rows one by one give: batch, counts, warnings and failures, on
 * every level of the processor.  A parser that keeps cells takes no blocks: the oracle.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "data/parser_private.h"
#include "row_bed.h"

#define ROUNDS    400
#define TEXT_MAX  ((size_t)64 << 10)

static const char fields[] =
	"label = 1\nweight = 9\ngroup = 10\n"
	"[field id]\ncolumn = 2\nbuckets = 1000\n"
	"[field plain]\ncolumn = 3\ntype = numeric\n"
	"[field log]\ncolumn = 4\ntype = numeric\ntransform = log1p\n"
	"[field fold]\ncolumn = 5\nfold_case = yes\nbuckets = 77\n"
	"[field list]\ncolumn = 6\ntype = multi\nmulti_separator = '|'\nbuckets = 50\n"
	"[field other]\ncolumn = 7\nbuckets = 4294967296\n"
	"[field steps]\ncolumn = 8\ntype = numeric\ntransform = bucketize\n"
	"boundaries = 1,5,9\n";

/* Cells of a column; the later ones are rarely right. */
static const char *const common[] = {
	"0", "1", "", "3", "7", "deadbeef", "12345678", "a|b|a",
};
static const char *const rare[] = {
	"-3", "0.25", "1e3", "65535", "65536", "99999999", "123456789", "x", "+5", " 4",
	"deadbeefdeadbeef", "0a1b2c3d4e", "-", "1,5", "nan", "00000000000000000012", "7\t8", "\r",
	"\"q\"", "5 ",
};
/* Label, weight, group. */
static const char *const fixed[] = { "1", "0", "0.5", "2", "" };

struct text {
	char   bytes[TEXT_MAX];
	size_t n;
};

static void
add(struct text *t, const char *what)
{
	const size_t n = strlen(what);

	memcpy(t->bytes + t->n, what, n);
	t->n += n;
}

static const char *
cell(uint64_t draw, unsigned odds, size_t column)
{
	const uint64_t pick = draw >> 32;

	if (column == 0)
		return draw % odds == 0 ? fixed[pick % 5] : fixed[pick % 2];
	if (column == 8)
		return draw % odds == 0 ? fixed[pick % 5] : "1";
	if (draw % odds == 0)
		return rare[pick % (sizeof rare / sizeof rare[0])];
	if (column == 2 || column == 3 || column == 7)
		return common[pick % 5];
	return common[pick % 8];
}

/* Rows of nine or ten cells of which one in `odds` is odd. */
static void
make_text(struct text *t, uint64_t key, unsigned odds)
{
	const size_t rows = 1 + rng_below(key, 0, 150);
	uint64_t draw = 1;

	t->n = 0;
	for (size_t i = 0; i < rows; i++) {
		const size_t columns = rng_below(key, draw++, 40 * odds) == 0 ? 9 : 10;

		for (size_t c = 0; c < columns; c++) {
			add(t, c > 0 ? "\t" : "");
			add(t, cell(rng_u64(key, draw++), odds, c));
		}
		if (rng_below(key, draw++, 50 * odds) == 0)
			t->bytes[t->n++] = '\0';
		for (size_t k = rng_below(key, draw++, 50 * odds) == 0 ? 1200 : 0; k > 0; k--)
			t->bytes[t->n++] = 'l';
		add(t, rng_below(key, draw++, odds) == 0 ? "\r\n" : "\n");
		if (rng_below(key, draw++, 5 * odds) == 0)
			add(t, "\n");
	}
	t->n -= rng_below(key, draw, 3) == 0;
}

static void
check_same(const struct row_bed *x, const struct row_bed *y)
{
	const struct batch *const a = &x->batch, *const b = &y->batch;

	assert_memory_equal(&x->tally, &y->tally, sizeof x->tally);
	assert_int_equal(a->B, b->B);
	assert_memory_equal(a->label, b->label, a->B * sizeof *a->label);
	assert_memory_equal(a->weight, b->weight, a->B * sizeof *a->weight);
	assert_memory_equal(a->group, b->group, a->B * sizeof *a->group);
	assert_memory_equal(a->dense, b->dense, a->B * a->K * sizeof *a->dense);
	assert_memory_equal(a->missing, b->missing, a->B * a->K);
	for (size_t f = 0; f < a->F; f++) {
		const struct batch_column *const p = &a->column[f], *const q = &b->column[f];

		assert_int_equal(p->N, q->N);
		assert_memory_equal(p->ids, q->ids, p->N * sizeof *p->ids);
		if (p->offset != NULL)
			assert_memory_equal(p->offset, q->offset, (a->B + 1) * sizeof *p->offset);
	}
	assert_int_equal(parser_warnings(x->parser)->n, parser_warnings(y->parser)->n);
	for (size_t i = 0; i < parser_warnings(x->parser)->n; i++)
		assert_string_equal(
			parser_warnings(x->parser)->text[i], parser_warnings(y->parser)->text[i]);
}

/* Parses with one layout, so that a first row that is odd does not matter. */
static enum rs_status
parse(struct row_bed *bed, const struct text *t)
{
	static const char first[] = "1\ta\t1\t1\ta\ta\ta\t1\t1\t1\n";
	const struct parser_span span = { .file = "t", .text = t->bytes, .n = t->n, .line = 1 };
	struct parser_span with = span;
	size_t skip, lines;

	if (bed->layout == NULL)
		assert_int_equal(parser_layout_make(&bed->schema, PARSE_TRAIN, "t", first,
			sizeof first - 1, &bed->layout, &skip, &lines), RS_OK);
	with.layout = bed->layout;
	memset(&bed->tally, 0, sizeof bed->tally);
	batch_clear(&bed->batch);
	return parser_parse(bed->parser, &with, &bed->batch, &bed->tally);
}

static void
open_bed(struct row_bed *bed, const char *data, int alone)
{
	char spec[2048];

	snprintf(spec, sizeof spec, "[model]\ntype = fm\n[data]\ntrain = x.tsv\nformat = tsv\n"
		"header = no\n%s%s", data, fields);
	row_bed_open(bed, spec);
	assert_int_equal(parser_open(&bed->schema, PARSE_TRAIN, &bed->parser), RS_OK);
	if (alone)
		assert_int_equal(parser_keep_cells(bed->parser), RS_OK);
}

/* Returns the rows that went into batches. */
static size_t
compare(const char *data, const struct span_level *level, const struct cell_words *words)
{
	static struct text text;
	struct row_bed blocks, alone;
	struct rs_failure failure;
	size_t rows = 0;

	open_bed(&blocks, data, 0);
	open_bed(&alone, data, 1);
	blocks.parser->level = level;
	blocks.parser->words = words;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		make_text(&text, rng_key(5, round), round % 2 == 0 ? 400 : 7);

		const enum rs_status status = parse(&blocks, &text);

		rs_failure_take(&failure);
		assert_int_equal(parse(&alone, &text), status);
		if (status != RS_OK) {
			assert_string_equal(failure.where, rs_failure()->where);
			assert_string_equal(failure.text, rs_failure()->text);
			assert_string_equal(failure.hint, rs_failure()->hint);
		}
		check_same(&blocks, &alone);
		rows += blocks.batch.B;
	}
	row_bed_close(&blocks);
	row_bed_close(&alone);
	return rows;
}

static void
blocks_give_what_rows_give(void **state)
{
	static const char *const data[] = {
		"on_bad_row = skip\n", "on_bad_row = fail\n",
		"on_bad_row = skip\nquote = yes\n", "on_bad_row = skip\ntrim = yes\n",
		"on_bad_row = skip\nmissing = x,7\n", "on_bad_row = skip\nmax_line = 1024\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
		for (const struct span_level *level = span_levels; level->name != NULL; level++)
			for (const struct cell_words *w = cell_words_levels; w->name != NULL; w++)
				if (level->has() && w->has())
					assert_true(compare(data[i], level, w) > ROUNDS);
}

/* The plain way by bytes is the specification. */
static void
levels_index_alike(void **state)
{
	static char text[3000];
	struct span_index want = { .at = NULL }, got = { .at = NULL };
	const struct span_level *level = span_levels, *baseline = span_levels;

	(void)state;
	while (baseline[1].name != NULL)
		baseline++;
	for (; level->name != NULL; level++)
		for (uint64_t round = 0; level->has() && round < 300; round++) {
			const size_t n = rng_below(9, round, sizeof text);

			for (size_t i = 0; i < n; i++)
				text[i] = "\t\nab\tcdefg"[rng_below(
					rng_key(3, round), i, 2 + round % 9)];
			assert_int_equal(span_index_make(&want, baseline, text, n, 0, '\t'), RS_OK);
			assert_int_equal(span_index_make(&got, level, text, n, 0, '\t'), RS_OK);
			assert_int_equal(got.n, want.n);
			assert_int_equal(got.n_rows, want.n_rows);
			if (n == 0)
				continue;
			assert_int_equal(got.at[-1], UINT32_MAX);
			assert_memory_equal(got.at, want.at, want.n * sizeof *want.at);
			assert_memory_equal(got.row, want.row, want.n_rows * sizeof *want.row);
		}
	span_index_free(&want);
	span_index_free(&got);
}

static int64_t
digits_by_bytes(const char *text, size_t n)
{
	int64_t value = 0;

	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = 10 * value + (text[i] - '0');
	}
	return value;
}

static void
levels_read_eight_bytes_alike(void **state)
{
	enum { N = 61 };
	char text[N][8];
	uint64_t word[N], length[N], hash[N];
	int64_t value[N];

	(void)state;
	for (const struct cell_words *w = cell_words_levels; w->name != NULL; w++)
		for (uint64_t round = 0; w->has() && round < 500; round++) {
			for (size_t i = 0; i < N; i++) {
				for (size_t k = 0; k < 8; k++)
					text[i][k] = (char)(rng_below(rng_key(round, i), k, 40) == 0
						? rng_u64(round, i) : '0' + rng_below(
							rng_key(7, round), 8 * i + k, 10));
				word[i] = id_load64(text[i]);
				length[i] = rng_below(11, round * N + i, 9);
			}
			w->hash(N, word, hash);
			w->digits(N, word, length, value);
			for (size_t i = 0; i < N; i++) {
				assert_true(hash[i] == hash_fingerprint64(text[i], 8));
				assert_true(value[i] == digits_by_bytes(text[i], length[i]));
			}
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_give_what_rows_give),
		cmocka_unit_test(levels_index_alike),
		cmocka_unit_test(levels_read_eight_bytes_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
