/*
 * Inside the parser: the layout of a file, the structural index of a span, and
 * what a format does with one row.
 */
#ifndef DATA_PARSER_PRIVATE_H
#define DATA_PARSER_PRIVATE_H

#include "base/memory.h"
#include "data/cell_words.h"
#include "data/cross.h"
#include "data/feature.h"
#include "data/history.h"
#include "data/label.h"
#include "data/parser.h"

#define LAYOUT_NONE ((size_t)-1)

/* A column that is read: what it is for. */
enum layout_role { ROLE_FIELD, ROLE_LABEL, ROLE_WEIGHT, ROLE_ID, ROLE_GROUP, ROLE_ITEM,
	ROLE_TIME };

struct layout_column {
	size_t column;             /* from 0                                         */
	enum layout_role role;
	size_t field;              /* ROLE_FIELD                                     */
};

struct parser_layout {
	size_t n_columns;          /* cells of every row; 0: sparse format           */
	struct layout_column *column;  /* [n] ascending                              */
	size_t n;
	int    has_label;
	int    label_weight;       /* sparse format: labels are LABEL:WEIGHT         */
	int    trailing;           /* every row ends in one separator more           */
	int    skips_bom;
};

/* Ends of cells of a span: every separator and row end, ascending, then n.  at[-1] + 1
 * is 0, as the place behind an end is where the next cell begins. */
struct span_index {
	uint32_t *at;              /* [n]                                            */
	size_t    n, capacity;
	uint32_t *row;             /* [n_rows] which of at are ends of rows          */
	size_t    n_rows, row_capacity;
	int       quotes;          /* some cells are in quotes                       */
};

/* How a span without quotes is indexed; best first, the last by bytes. */
struct span_level {
	const char *name;
	int (*has)(void);
	enum rs_status (*index)(
		struct span_index *index, const char *text, size_t n, char separator);
};
extern const struct span_level span_levels[];      /* name NULL: the end           */
const struct span_level *span_level_best(void);

struct parser {
	const struct schema *schema;
	enum parser_purpose purpose;
	int    keep_bad_rows;
	int    quoted, sparse, trim;
	char   separator;
	size_t max_line;
	struct feature *feature;   /* [n_fields]                                     */
	struct feature *closing;   /* [n_closing] features whose rows need closing   */
	size_t n_closing;
	struct crosses crosses;
	struct histories histories;
	const char *limit;         /* end of the span being parsed                   */
	float  *log1p;             /* [FEATURE_LOG1P]                                */
	struct label_rule label;
	float  no_label;           /* label of a row that has none                   */
	const struct span_level *level;
	const struct cell_words *words;
	struct span_index index;
	struct buffer scratch, cell;   /* normalised ids; unquoted cells             */
	size_t *id_begin, *id_end; /* [n_ids] of the rows of the last parse          */
	size_t n_ids, id_capacity;
	struct parser_ids ids;
	size_t *number_field;      /* libffm: [n_numbers] field number -> field      */
	size_t n_numbers;
	struct lists *lists;       /* format lists, or NULL                          */
	struct examples *examples; /* format tfrecord, or NULL                       */
	uint8_t *given;            /* [n_fields] in a row of typed values, or NULL   */
	struct buffer id_text;     /* copied ids of the rows of the last parse       */
	struct cells *cells;       /* of the rows of the last parse, or NULL         */
	struct parser_warnings warnings;
};

/* What one row gave besides its features. */
struct row {
	float label, weight;
	struct cell id;            /* text NULL: none                                */
	uint64_t group, item;      /* as in a batch                                  */
	int has_group, has_item;
	int64_t time;              /* as in a batch                                  */
};

struct place {
	const struct parser_span *span;
	size_t begin, end;         /* of the row in the span, without its line end   */
	uint64_t line;
};

char data_separator(const struct data_settings *data);
int  data_is_quoted(const struct data_settings *data);
int  data_is_sparse(const struct data_settings *data);
int  data_is_delimited(const struct data_settings *data);    /* csv, tsv              */

/* Without the blanks around it that are no separators. */
static inline struct cell
cell_trim(struct cell cell, char separator)
{
	while (cell.n > 0 && (*cell.text == ' ' || *cell.text == '\t') && *cell.text != separator) {
		cell.text++;
		cell.n--;
	}
	while (cell.n > 0 && (cell.text[cell.n - 1] == ' ' || cell.text[cell.n - 1] == '\t') &&
	       cell.text[cell.n - 1] != separator)
		cell.n--;
	return cell;
}

/* Bytes of the first row of text, its line end included; quote aware. */
size_t text_row_end(const char *text, size_t n, int quoted, char separator);
/* Rows of text that are not blank; is_blank sees a row without its line end. */
typedef int text_blank_fn(const char *text, size_t begin, size_t end);
uint64_t text_count_rows(
	const char *text, size_t n, int quoted, char separator, text_blank_fn *is_blank);
/* Offset behind the last complete row, 0 if there is none. */
size_t text_last_row_end(const char *text, size_t n, int quoted, char separator);
/* Separators and row ends outside quotes into the index. */
enum rs_status span_index_make(struct span_index *index, const struct span_level *level,
	const char *text, size_t n, int quoted, char separator);
void span_index_free(struct span_index *index);

/* The columns of the spec: of the label, weight, ..., then of the fields; "" when
 * it is not given or not read for the purpose. */
size_t parser_n_references(const struct schema *schema);
const char *parser_reference(const struct schema *schema, enum parser_purpose purpose, size_t i,
	struct layout_column *out);

/* What concerns a row as text: its length and its bytes. */
enum rs_status parser_row_check(
	const struct parser *p, const struct place *at, struct cell_error *error);
/* The key of the row's item, which a row that trains must have. */
enum rs_status parser_row_item(
	struct parser *p, struct cell cell, struct row *row, struct cell_error *error);
/* What the parsing of a row came to: the row of the batch is completed, or taken
 * back and counted by the policy for bad rows. */
enum rs_status parser_row_settle(struct parser *p, const struct place *at, enum rs_status status,
	const struct row *row, const struct cell_error *error, struct batch *batch,
	struct parser_tally *tally);

void parser_row_warn(
	struct parser *p, const struct place *at, const struct cell_error *error);
/* The cell of a column to where its role wants it. */
enum rs_status parser_cell(struct parser *p, const struct layout_column *column, struct cell cell,
	struct batch *batch, struct row *row, struct cell_error *error);
/* The id of a row moves to memory that lasts. */
enum rs_status parser_keep_id(struct parser *p, struct cell *id);

/* The text of cells (parser_cells.c); without parser_keep_cells() these do nothing.  A further
 * cell of the same field follows behind a comma. */
enum rs_status parser_cells_begin(struct parser *p);
enum rs_status parser_cells_add(struct parser *p, size_t field, struct cell cell);
/* The row being read is one of the batch, or is forgotten. */
enum rs_status parser_cells_row(struct parser *p, int kept);
void parser_cells_free(struct parser *p);

/* Format lists (lists.c). */
struct lists;
enum rs_status lists_open(const struct parser *p, struct lists **out);
void lists_close(struct lists *lists);
int lists_is_blank(const struct parser *p, const char *text, size_t begin, size_t end);
enum rs_status lists_line(struct parser *p, const struct place *at, struct batch *batch,
	struct parser_tally *tally);
uint64_t lists_count(const struct data_settings *data, const char *text, size_t n);

/* Rows without anything particular, column by column (parser_block.c): appends up to
 * `most`, at most PARSER_BLOCK, from number `first` of the index, *n of them; the row behind
 * these goes the long way.  Only where parser_block_fits(), of a span with its index. */
#define PARSER_BLOCK 64u           /* their text and ids stay in the first cache     */
int parser_block_fits(const struct parser *p, const struct parser_span *span);
enum rs_status parser_block(struct parser *p, const struct parser_span *span, size_t first,
	size_t most, struct batch *batch, size_t *n);

/* One row: [begin, end) is text without its line end. */
enum rs_status delimited_row(struct parser *p, const struct parser_layout *layout, const char *text,
	const uint32_t *end, size_t n_cells, size_t begin, struct batch *batch, struct row *row,
	struct cell_error *error);
enum rs_status sparse_row(struct parser *p, const struct parser_layout *layout, const char *begin,
	const char *end, struct batch *batch, struct row *row, struct cell_error *error);

#endif
