/*
 * The bed of tests on rows: a spec, and a text parsed into a batch.
 */
#ifndef TESTS_DATA_ROW_BED_H
#define TESTS_DATA_ROW_BED_H

#include <string.h>

#include "tests/test.h"

#include "data/parser.h"
#include "spec/spec.h"

struct row_bed {
	struct spec *spec;
	struct schema schema;
	struct parser *parser;
	struct parser_layout *layout;
	struct batch batch;
	struct parser_tally tally;
};

static inline void
row_bed_open(struct row_bed *bed, const char *spec)
{
	memset(bed, 0, sizeof *bed);
	if (spec_load_text(spec, "t.ini", &bed->spec) != RS_OK)
		fail_msg("%s %s", rs_failure()->where, rs_failure()->text);
	assert_int_equal(schema_build(spec_settings(bed->spec), &bed->schema), RS_OK);
	assert_int_equal(batch_init(&bed->batch, &bed->schema), RS_OK);
}

static inline enum rs_status
row_bed_parse(struct row_bed *bed, enum parser_purpose purpose, const char *text, size_t n)
{
	struct parser_span span = { .file = "t", .n = n };
	size_t skip, lines;

	RS_TRY(parser_open(&bed->schema, purpose, &bed->parser));
	RS_TRY(parser_layout_make(
		&bed->schema, purpose, "t", text, n, &bed->layout, &skip, &lines));
	span.layout = bed->layout;
	span.text = text + skip;
	span.n = n - skip;
	span.line = 1 + lines;
	span.offset = skip;
	return parser_parse(bed->parser, &span, &bed->batch, &bed->tally);
}

static inline void
row_bed_close(struct row_bed *bed)
{
	batch_free(&bed->batch);
	parser_layout_free(bed->layout);
	parser_close(bed->parser);
	schema_free(&bed->schema);
	spec_free(bed->spec);
}

#endif
