/* The command audit: why a row has the score it has. */
#include "cmd/command.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "cmd/layout.h"
#include "cmd/scorer.h"
#include "data/hash_stack.h"
#include "embed/stacked.h"
#include "export/explain.h"

#define ROW_MAX   INT64_MAX
#define TEXT_MAX  ((size_t)64 << 20)
#define ROWS_TEXT 192              /* bytes: 20 a row, of eight at most               */

/* A field of the row being told. */
struct line {
	size_t field;                  /* of the schema                                   */
	const char *name;
	const char *value;             /* [n] text of the cell, NULL: not known           */
	size_t n;
	const uint64_t *id;            /* [n_ids] NULL: a number                          */
	size_t n_ids, unseen, n_missing;
	const struct schema_table *table;  /* of the ids                                  */
	struct explained_field part;
	double total;
};

struct audit {
	const struct arguments *a;
	struct scorer *scorer;
	struct explain *explain;
	const struct schema *schema;
	struct line *line;             /* [n_fields] the largest total first              */
	int64_t row, top;              /* row 0: all                                      */
	int is_mse;
};

/* What is told of a row besides its fields. */
struct told {
	uint64_t number;               /* from 1                                          */
	const char *label;             /* [n_label] NULL: there is none                   */
	size_t n_label;
	double logit, score;
	const struct explained *why;
};

static int
by_total(const void *a, const void *b)
{
	const struct line *const x = a, *const y = b;
	const double far = fabs(y->total) - fabs(x->total);

	return far > 0 ? 1 : far < 0 ? -1 : x->field < y->field ? -1 : x->field > y->field;
}

static void
fill_ids(const struct audit *t, const struct batch *batch, size_t b, size_t field,
	struct line *line)
{
	const struct schema_field *const f = &t->schema->field[field];
	const struct batch_column *const c = &batch->column[f->index];
	const size_t begin = c->offset != NULL ? c->offset[b] : b;
	const size_t end = c->offset != NULL ? c->offset[b + 1] : b + 1;
	const struct model *const m = scorer_model(t->scorer);
	size_t table = 0;

	line->table = &t->schema->table[f->table];
	line->id = c->ids + begin;
	line->n_ids = end - begin;
	while (table + 1 < m->n_tables && graph_table(m->graph, table)->schema_table != f->table)
		table++;
	for (size_t i = 0; i < line->n_ids; i++) {
		if (line->id[i] == t->schema->table[f->table].buckets)
			line->n_missing++;
		else
			line->unseen += !stacked_touched(m->stacked, m->lookup, table, line->id[i]);
	}
}

static void
fill_lines(const struct audit *t, const struct batch *batch, size_t b, const struct explained *why)
{
	for (size_t i = 0; i < t->schema->n_fields; i++) {
		struct line *const line = &t->line[i];

		*line = (struct line){ .field = i, .name = t->schema->field[i].name,
			.part = why->field[i] };
		line->total = line->part.linear + line->part.pairs + line->part.deep;
		line->value = scorer_cell(t->scorer, b, i, &line->n);
		if (!t->schema->field[i].is_dense)
			fill_ids(t, batch, b, i, line);
	}
	qsort(t->line, t->schema->n_fields, sizeof *t->line, by_total);
}

/* --- for people ---------------------------------------- */

static enum rs_status
put_part(struct layout *l, int has, double x)
{
	return has ? layout_cell(l, "%+.4f", x) : RS_OK;
}

/* The rows of an id, one in most tables. */
static enum rs_status
put_rows(struct layout *l, const struct schema_table *t, uint64_t id)
{
	char text[ROWS_TEXT];
	size_t n = 0;

	for (size_t r = 0; r < hash_stack_rows(t, id) && n < sizeof text; r++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRIu64, r > 0 ? "+" : "",
			hash_stack_row(t, id, r));
	return layout_cell(l, "%s", text);
}

static enum rs_status
put_ids(struct layout *l, const struct line *line)
{
	if (line->id == NULL)
		return layout_cell(l, "-");
	if (line->n_ids != 1)
		return layout_cell(l, "%zu ids", line->n_ids);
	if (line->n_missing > 0)
		return layout_cell(l, "missing");
	return put_rows(l, line->table, line->id[0]);
}

static enum rs_status
put_note(struct layout *l, const struct line *line)
{
	if (line->unseen == 0)
		return layout_cell(l, "%s", "");
	if (line->n_ids == 1)
		return layout_cell(l, "never trained");
	return layout_cell(l, "%zu never trained", line->unseen);
}

static enum rs_status
put_line(struct layout *l, const struct explained *why, const struct line *line)
{
	char text[72];

	RS_TRY(layout_cell(l, "  %s", line->name));
	RS_TRY(layout_cell(l, "%s", line->value == NULL ? "-" : line->n == 0 ? "(blank)"
		: rs_escape(text, line->value, line->n)));
	RS_TRY(put_ids(l, line));
	RS_TRY(put_part(l, why->has_linear, line->part.linear));
	RS_TRY(put_part(l, why->has_pairs, line->part.pairs));
	RS_TRY(put_part(l, why->has_deep, line->part.deep));
	RS_TRY(layout_cell(l, "%+.4f", line->total));
	return put_note(l, line);
}

static enum rs_status
put_rest(struct layout *l, const struct audit *t, const struct explained *why, size_t shown)
{
	struct explained_field sum = { 0 };
	double total = 0;

	if (shown == t->schema->n_fields)
		return RS_OK;
	for (size_t i = shown; i < t->schema->n_fields; i++) {
		sum.linear += t->line[i].part.linear;
		sum.pairs += t->line[i].part.pairs;
		sum.deep += t->line[i].part.deep;
		total += t->line[i].total;
	}
	RS_TRY(layout_cell(l, "  %zu more", t->schema->n_fields - shown));
	RS_TRY(layout_cell(l, "%s", ""));
	RS_TRY(layout_cell(l, "%s", ""));
	RS_TRY(put_part(l, why->has_linear, sum.linear));
	RS_TRY(put_part(l, why->has_pairs, sum.pairs));
	RS_TRY(put_part(l, why->has_deep, sum.deep));
	RS_TRY(layout_cell(l, "%+.4f", total));
	return layout_cell(l, "%s", "");
}

static enum rs_status
fill_table(struct layout *l, const struct audit *t, const struct explained *why)
{
	const size_t F = t->schema->n_fields;
	const size_t shown = t->top < (int64_t)F ? (size_t)t->top : F;

	RS_TRY(layout_cell(l, "  field"));
	RS_TRY(layout_cell(l, "value"));
	RS_TRY(layout_cell(l, "bucket"));
	if (why->has_linear)
		RS_TRY(layout_cell(l, "linear"));
	if (why->has_pairs)
		RS_TRY(layout_cell(l, "pairs"));
	if (why->has_deep)
		RS_TRY(layout_cell(l, "deep*"));
	RS_TRY(layout_cell(l, "total"));
	RS_TRY(layout_cell(l, "%s", ""));
	for (size_t i = 0; i < shown; i++)
		RS_TRY(put_line(l, why, &t->line[i]));
	return put_rest(l, t, why, shown);
}

static enum rs_status
print_head(const struct audit *t, const struct told *told)
{
	char label[72];

	RS_TRY(output_printf("row %" PRIu64, told->number));
	if (told->label != NULL)
		RS_TRY(output_printf("   label %s", rs_escape(label, told->label, told->n_label)));
	if (t->is_mse)
		RS_TRY(output_printf("   prediction %.6g", told->logit));
	else
		RS_TRY(output_printf("   p %.4f   logit %.4f", told->score, told->logit));
	if (told->why->has_linear)
		RS_TRY(output_printf("   bias %+.4f", told->why->bias));
	if (told->why->has_deep && told->why->has_linear)
		RS_TRY(output_printf("   deep part %+.4f", told->why->deep));
	return output_printf("\n");
}

static enum rs_status
print_text(const struct audit *t, const struct told *told)
{
	const struct explained *const why = told->why;
	const size_t n_parts = (size_t)(why->has_linear + why->has_pairs + why->has_deep);
	struct layout l;

	RS_TRY(print_head(t, told));
	layout_init(&l, 5 + n_parts, (((uint64_t)1 << (n_parts + 1)) - 1) << 3);
	enum rs_status status = fill_table(&l, t, why);
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	if (status == RS_OK && why->has_deep)
		status = output_printf("* change of the deep part when this field is blank; these "
			"do not add up to it\n");
	return status;
}

/* --- for programs ---------------------------------------- */

static enum rs_status
json_text_of(struct json *j, const char *key, const char *text, size_t n)
{
	struct buffer copy;

	if (text == NULL) {
		json_string(j, key, NULL);
		return RS_OK;
	}
	buffer_init(&copy, TEXT_MAX);
	const enum rs_status status = buffer_printf(&copy, "%.*s", (int)n, text);
	if (status == RS_OK)
		json_string(j, key, copy.data);
	buffer_free(&copy);
	return status;
}

/* Where an id is not its row: the rows of all of them. */
static void
json_rows(struct json *j, const struct line *line)
{
	if (line->table->rounds == 1)
		return;
	json_open(j, "rows", '[');
	for (size_t i = 0; i < line->n_ids; i++)
		for (size_t r = 0; r < hash_stack_rows(line->table, line->id[i]); r++)
			json_uint(j, NULL, hash_stack_row(line->table, line->id[i], r));
	json_close(j);
}

static enum rs_status
json_line(struct json *j, const struct explained *why, const struct line *line)
{
	json_open(j, NULL, '{');
	json_string(j, "field", line->name);
	RS_TRY(json_text_of(j, "value", line->value, line->n));
	if (line->id != NULL) {
		json_open(j, "ids", '[');
		for (size_t i = 0; i < line->n_ids; i++)
			json_uint(j, NULL, line->id[i]);
		json_close(j);
		json_rows(j, line);
		json_int(j, "missing", (int64_t)line->n_missing);
		json_int(j, "unseen", (int64_t)line->unseen);
	}
	if (why->has_linear)
		json_double(j, "linear", line->part.linear);
	if (why->has_pairs)
		json_double(j, "pairs", line->part.pairs);
	if (why->has_deep)
		json_double(j, "deep", line->part.deep);
	json_double(j, "total", line->total);
	json_close(j);
	return RS_OK;
}

static enum rs_status
fill_json(struct json *j, const struct audit *t, const struct told *told)
{
	json_open(j, NULL, '{');
	json_int(j, "row", (int64_t)told->number);
	RS_TRY(json_text_of(j, "label", told->label, told->n_label));
	json_double(j, "prediction", told->score);
	json_double(j, "logit", told->logit);
	if (told->why->has_linear)
		json_double(j, "bias", told->why->bias);
	if (told->why->has_deep)
		json_double(j, "deep", told->why->deep);
	json_open(j, "fields", '[');
	for (size_t i = 0; i < t->schema->n_fields && (int64_t)i < t->top; i++)
		RS_TRY(json_line(j, told->why, &t->line[i]));
	json_close(j);
	json_close(j);
	return output_printf("%s\n", json_text(j));
}

static enum rs_status
print_json(const struct audit *t, const struct told *told)
{
	struct json j;

	json_init(&j);
	const enum rs_status status = fill_json(&j, t, told);
	json_free(&j);
	return status;
}

/* --- rows ---------------------------------------- */

static enum rs_status
tell_row(const struct audit *t, const struct scorer_rows *rows, size_t b)
{
	struct told told = { .number = rows->first + b + 1, .logit = (double)rows->logit[b] };

	RS_TRY(explain_row(t->explain, rows->batch, b, &told.why));
	told.score = t->is_mse ? told.logit : 1 / (1 + exp(-told.logit));
	told.label = scorer_cell(t->scorer, b, t->schema->n_fields, &told.n_label);
	fill_lines(t, rows->batch, b, told.why);
	return command_json(t->a) ? print_json(t, &told) : print_text(t, &told);
}

static int
is_wanted(const struct audit *t, uint64_t number)
{
	return t->row == 0 || number == (uint64_t)t->row;
}

static enum rs_status
tell_rows(const struct audit *t)
{
	struct scorer_rows rows;
	uint64_t n = 0;

	do {
		RS_TRY(scorer_next(t->scorer, &rows));
		for (size_t b = 0; b < rows.batch->B; b++)
			if (is_wanted(t, ++n))
				RS_TRY(tell_row(t, &rows, b));
	} while (rows.batch->B > 0 && (t->row == 0 || n < (uint64_t)t->row));
	if (t->row > 0 && n < (uint64_t)t->row)
		return rs_fail(RS_EDATA, "--row %" PRId64 ": the data have %" PRIu64 " row%s",
			t->row, n, n == 1 ? "" : "s");
	return output_flush();
}

static enum rs_status
audit_all(struct audit *t)
{
	const struct scorer_options options = {
		.model = t->a->positional[0], .data = (const char *const *)t->a->positional + 1,
		.n_data = t->a->n_positional - 1, .purpose = PARSE_PREDICT, .with_cells = 1,
		.n_threads = 1,
	};

	RS_TRY(scorer_open(&options, &t->scorer));
	const struct model *const m = scorer_model(t->scorer);
	t->schema = &m->schema;
	t->is_mse = t->schema->settings->model.loss == LOSS_MSE;
	RS_TRY(memory_alloc(t->schema->n_fields + 1, sizeof *t->line, &t->line));
	RS_TRY(explain_open(m, &t->explain));
	return tell_rows(t);
}

static enum rs_status
audit_run(const struct arguments *a)
{
	struct audit t = { .a = a, .row = 1, .top = 20 };

	if (a->n_positional < 2)
		return rs_fail(RS_EUSAGE, "audit: wanted MODEL and DATA, got %zu",
			a->n_positional);
	RS_TRY(argument_int(a, "--row", 1, ROW_MAX, &t.row));
	RS_TRY(argument_int(a, "--top", 1, ROW_MAX, &t.top));
	if (argument_given(a, "--all") && argument_given(a, "--row"))
		return rs_fail(RS_EUSAGE, "--row and --all: wanted one of them");
	if (argument_given(a, "--all"))
		t.row = 0;
	const enum rs_status status = audit_all(&t);
	explain_close(t.explain);
	free(t.line);
	scorer_close(t.scorer);
	return status;
}

static const struct command_option audit_option[] = {
	{ .name = "--row", .argument = "N", .dflt = "1", .text = "the row to explain, from 1" },
	{ .name = "--all", .text = "explain every row" },
	{ .name = "--top", .argument = "N", .dflt = "20",
		.text = "fields to show, those that matter most first" },
	{ .name = NULL },
};

const struct command command_audit = {
	.name = "audit",
	.synopsis = "MODEL DATA|- [--row N|--all] [--top N]",
	.text = "Explain the score of a row, field by field.",
	.option = audit_option,
	.run = audit_run,
};
