/*
 * From text to batch rows: the format reader and the features in one pass.
 *
 * A parser is fed whole spans of text that end at a row boundary and appends the
 * rows to a batch; it keeps no row state between spans, so any number of parsers
 * may work on different spans at once.  parser_split() finds the last row end in
 * a span and parser_count() counts rows, newlines in quotes respected.  A bad row
 * is reported by the policy of data.on_bad_row: fail -> RS_EDATA at FILE:LINE:COL;
 * skip -> counted in tally, the first few kept as parser_warnings().  A header or
 * the column count of row 1 is settled by parser_layout_make().
 */
#ifndef DATA_PARSER_H
#define DATA_PARSER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/batch.h"
#include "data/schema.h"

enum parser_purpose { PARSE_TRAIN, PARSE_EVAL, PARSE_PREDICT };

struct parser_tally {
	uint64_t read;             /* data rows seen                                 */
	uint64_t skipped;          /* bad rows left out under the skip policy        */
	uint64_t zero_weight;      /* rows with weight 0: read, in no batch          */
	uint64_t blank;            /* blank lines, not rows                          */
};

struct parser_layout;              /* of one file: separator, columns by name     */
struct parser;

/* Looks at the first bytes of a file (up to 1 MiB or the whole file): BOM,
 * header, column names and count, label present or not.  *skip is the number of
 * bytes before the first data row, *lines how many lines these are. */
enum rs_status parser_layout_make(const struct schema *schema, enum parser_purpose purpose,
	const char *file, const char *text, size_t n, struct parser_layout **out,
	size_t *skip, size_t *lines);
void parser_layout_free(struct parser_layout *layout);
int parser_layout_has_label(const struct parser_layout *layout);

enum rs_status parser_open(
	const struct schema *schema, enum parser_purpose purpose, struct parser **out);
void parser_close(struct parser *parser);

/* Bytes of text[0..n) up to and including the last complete row; at_end: the
 * rest is a row even without a newline. */
size_t parser_split(const struct schema *schema, const char *text, size_t n, int at_end);

/* Rows of the span text[0..n) as parser_parse() sees them, bad ones included. */
uint64_t parser_count(const struct schema *schema, const char *text, size_t n);

struct parser_span;
/* Lines of the span, or records: what rows are numbered by. */
uint64_t parser_lines(const struct schema *schema, const char *text, size_t n);
/* text[0..n) is the beginning of a row that is too long: bytes of it still to come,
 * UINT64_MAX when only a newline ends it. */
uint64_t parser_overhang(const struct schema *schema, const char *text, size_t n);
/* RS_EDATA when the span begins with a row that no reader gets past (tfrecord). */
enum rs_status parser_check(const struct schema *schema, const struct parser_span *span);

struct parser_span {
	const char *file;
	const struct parser_layout *layout;
	const char *text;
	size_t      n;
	uint64_t    line;          /* number of the first line of the span, from 1   */
	uint64_t    offset;        /* byte offset of the span in the decompressed file */
};

/* Appends the rows of the span.  row_line, when not NULL, gets the line of each
 * appended row ([rows appended]).  For PARSE_PREDICT with on_bad=na a bad row is
 * appended as a row with label NAN. */
enum rs_status parser_parse(struct parser *parser, const struct parser_span *span,
	struct batch *batch, struct parser_tally *tally);
/* Predict: keep bad rows as rows whose label is NAN instead of failing. */
void parser_keep_bad_rows(struct parser *parser, int keep);
/* The first bad rows of the last parse, which the caller shows in input order;
 * *shown counts those of all spans, so that only the first few are shown. */
#define PARSER_WARNINGS 5
struct parser_warnings { size_t n; char text[PARSER_WARNINGS][1600]; };
const struct parser_warnings *parser_warnings(const struct parser *parser);
void parser_warnings_copy(struct parser_warnings *to, const struct parser_warnings *from);
void parser_warnings_show(const struct parser_warnings *warnings, size_t *shown);

/* Values of a field of a row that is not text; values of a list follow each other. */
struct parser_value {
	const char *field;         /* its name                                       */
	enum { PARSER_TEXT, PARSER_INTEGER, PARSER_NUMBER } type;
	const char *text;          /* [n]                                            */
	size_t  n;
	int64_t integer;
	double  number;            /* NaN: missing                                   */
};
/* Instead of parser_parse(): begins, then appends row after row.  Fields that are not given
 * are missing; a field that the model lacks is RS_EUSAGE. */
void parser_begin_values(struct parser *parser);
enum rs_status parser_add_values(struct parser *parser, const struct parser_value *value,
	size_t n, struct batch *batch);

/* Before the first parse: the text of every cell is kept from parse to parse. */
enum rs_status parser_keep_cells(struct parser *parser);
/* Of a row of the last parse, without quotes, [*n]; values of a list of several cells with
 * commas between.  NULL: there was none, or it is not known (format lists).  The label is
 * field schema.n_fields. */
const char *parser_cell_text(const struct parser *parser, size_t row, size_t field, size_t *n);

/* Text of the data.id column of each row of the last parse, or NULL: row i is
 * text[begin[i]..end[i]). */
struct parser_ids { const char *text; const size_t *begin, *end; size_t n; };
const struct parser_ids *parser_ids(const struct parser *parser);

#endif
