/*
 * Bytes of records changed at random, their CRCs made right again, so that the
 * decoder sees them: an answer, never a crash.
 */
#include "tests/data/example_bed.h"
#include "tests/data/row_bed.h"

#include "base/log.h"
#include "base/rng.h"

#define ROUNDS 4000
#define SPEC "[model]\ntype = wide_deep\n[data]\ntrain = x\nformat = tfrecord\nlabel = y\n" \
	"on_bad_row = skip\nid = c\n[field c]\nbuckets = 1000\n[field n]\ntype = numeric\n" \
	"[field m]\ntype = multi\nbuckets = 1000\n[field s]\ntype = sequence\nhistory = h\n" \
	"[field t]\ntype = sequence\nhistory = h\n" \
	"[field x]\ntype = cross\nfields = c,m\nbuckets = 50\n"

static struct example_bytes features, example, file;

static void
make_example(void)
{
	static const int64_t id[] = { 3, -1, 1 << 20 };
	static const float number[] = { 0.5f, 1e30f };

	features.n = example.n = 0;
	example_integer(&features, "y", 1);
	example_texts(&features, "c", "cell", NULL);
	example_float(&features, "n", 2.5f);
	example_integers(&features, "m", 3, id, 1);
	example_integers(&features, "s", 3, id, 0);
	example_texts(&features, "t", "a", "b", "c", NULL);
	example_floats(&features, "u", 2, number, 1);
	example_field(&example, 1, features.bytes, features.n);
}

static void
changed_examples_are_rows_or_bad_rows(void **state)
{
	static struct example_bytes changed;
	const uint64_t key = rng_key(7, RNG_SAMPLE);
	struct row_bed bed;
	uint64_t draw = 0, good = 0;

	(void)state;
	make_example();
	row_bed_open(&bed, SPEC);
	assert_int_equal(parser_open(&bed.schema, PARSE_TRAIN, &bed.parser), RS_OK);
	for (int round = 0; round < ROUNDS; round++) {
		const struct parser_span span = { .file = "t", .text = (const char *)file.bytes };
		struct parser_span whole = span;
		struct parser_tally tally = { .read = 0 };

		changed = example;
		for (uint64_t n = 1 + rng_below(key, draw++, 4); n > 0; n--) {
			uint8_t *const byte = &changed.bytes[rng_below(key, draw++, changed.n)];

			*byte = (uint8_t)rng_below(key, draw++, 256);
		}
		if (rng_below(key, draw++, 8) == 0)
			changed.n = (size_t)rng_below(key, draw++, changed.n);
		file.n = 0;
		example_record(&file, changed.bytes, changed.n);
		example_record(&file, example.bytes, example.n);
		whole.n = file.n;
		whole.line = 1;
		batch_clear(&bed.batch);
		assert_int_equal(parser_parse(bed.parser, &whole, &bed.batch, &tally), RS_OK);
		assert_true(tally.read == 2 && bed.batch.B == 2 - tally.skipped);
		good += bed.batch.B - 1;
	}
	assert_true(good > ROUNDS / 50 && good < ROUNDS);
	row_bed_close(&bed);
}

/* No CRC is made right: nearly every change is found. */
static void
changed_files_are_read_or_refused(void **state)
{
	static struct example_bytes changed;
	const uint64_t key = rng_key(8, RNG_SAMPLE);
	struct row_bed bed;
	uint64_t draw = 0;

	(void)state;
	make_example();
	file.n = 0;
	for (int i = 0; i < 3; i++)
		example_record(&file, example.bytes, example.n);
	row_bed_open(&bed, SPEC);
	assert_int_equal(parser_open(&bed.schema, PARSE_TRAIN, &bed.parser), RS_OK);
	for (int round = 0; round < ROUNDS; round++) {
		struct parser_span span = { .file = "t", .text = (const char *)changed.bytes,
			.line = 1 };
		struct parser_tally tally = { .read = 0 };
		enum rs_status status;
		uint8_t *byte;

		changed = file;
		byte = &changed.bytes[rng_below(key, draw++, changed.n)];
		*byte ^= (uint8_t)(1u << rng_below(key, draw++, 8));
		if (rng_below(key, draw++, 4) == 0)
			changed.n = 1 + (size_t)rng_below(key, draw++, changed.n - 1);
		span.n = changed.n;
		batch_clear(&bed.batch);
		status = parser_parse(bed.parser, &span, &bed.batch, &tally);
		assert_true(status == RS_OK || status == RS_EDATA);
		assert_true(bed.batch.B <= 3 && (status != RS_OK || bed.batch.B < 3));
		assert_true(parser_lines(&bed.schema, span.text, span.n) <= 4);
		assert_true(parser_split(&bed.schema, span.text, span.n, 0) <= span.n);
	}
	row_bed_close(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_examples_are_rows_or_bad_rows),
		cmocka_unit_test(changed_files_are_read_or_refused),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
