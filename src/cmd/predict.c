/* The command predict: one line a data row, in the order of the rows. */
#include "cmd/predict.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/best_items.h"
#include "cmd/row_inputs.h"
#include "cmd/scorer.h"
#include "data/catalogue.h"
#include "train/retrieval.h"

#define TEXT_LIMIT  ((size_t)1 << 30)
#define FLUSH_BYTES ((size_t)1 << 20)
#define THREADS_MAX 4096
#define TOP_MAX     ((int64_t)1 << 20)

struct row {
	const char *id;                /* [id_n] text, or NULL                        */
	size_t   id_n;
	uint64_t number;               /* from 1                                      */
	int      is_bad;
	float    logit, value;         /* value: probability, or the prediction       */
	const float *vector;           /* [dim] with --tower                          */
	const struct top_item *best;   /* [n_best] with --top                         */
	size_t   n_best;
	const struct batch *batch;     /* of data, whose row `at` it is               */
	size_t   at;
};

struct predict {
	const char *const *data;       /* [n_data] patterns                           */
	size_t n_data;
	struct scorer *scorer;
	struct buffer text;
	struct json json;
	int is_mse;
	int of_catalogue;              /* there are no data                           */
	int follow;                    /* lines are answered as they come             */
	int tower;                     /* TOWER_USER, TOWER_ITEM or -1                */
	size_t dim, top;               /* of a vector; items a row, 0: not asked      */
	float *vector;                 /* [vector_capacity]                           */
	size_t vector_capacity;
	struct text_list seen;         /* of --seen, borrowed strings                 */
	struct best_items *best;
	int gives_inputs;              /* --format inputs                             */
	struct row_inputs *inputs;
	uint64_t n_bad, n_not_finite;
	enum rs_status (*print)(struct predict *p, const struct row *row);
	struct file_writer *file;      /* NULL: stdout                                */
};

static enum rs_status
put_number(struct predict *p, const struct row *row, float value)
{
	char number[32];

	return buffer_printf(&p->text, "%s\n",
		row->is_bad ? "NA" : number_print_float(number, value));
}

static enum rs_status
print_prob(struct predict *p, const struct row *row)
{
	return put_number(p, row, row->value);
}

static enum rs_status
print_logit(struct predict *p, const struct row *row)
{
	return put_number(p, row, row->logit);
}

/* A tab or the end of a line inside of a name would make another column or row. */
static enum rs_status
put_name(struct predict *p, const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		static const char special[] = "\t\n\r\\", escape[] = "tnr\\";
		const char *at = name[i] != '\0' ? strchr(special, name[i]) : NULL;
		if (at != NULL)
			RS_TRY(buffer_printf(&p->text, "\\%c", escape[at - special]));
		else
			RS_TRY(buffer_append(&p->text, &name[i], 1));
	}
	return RS_OK;
}

static enum rs_status
put_id(struct predict *p, const struct row *row)
{
	return row->id != NULL ? put_name(p, row->id, row->id_n)
		: buffer_printf(&p->text, "%" PRIu64, row->number);
}

static enum rs_status
print_tsv(struct predict *p, const struct row *row)
{
	RS_TRY(put_id(p, row));
	RS_TRY(buffer_append(&p->text, "\t", 1));
	return put_number(p, row, row->value);
}

static enum rs_status
print_vector(struct predict *p, const struct row *row)
{
	char number[32];

	RS_TRY(put_id(p, row));
	if (row->is_bad)
		return buffer_printf(&p->text, "\tNA\n");
	for (size_t d = 0; d < p->dim; d++)
		RS_TRY(buffer_printf(&p->text, "\t%s",
			number_print_float(number, row->vector[d])));
	return buffer_append(&p->text, "\n", 1);
}

static enum rs_status
print_top(struct predict *p, const struct row *row)
{
	RS_TRY(put_id(p, row));
	if (row->is_bad)
		return buffer_printf(&p->text, "\tNA\n");
	for (size_t i = 0; i < row->n_best; i++) {
		size_t n;
		const char *const name = catalogue_name(scorer_model(p->scorer)->catalogue,
			row->best[i].number, &n);

		RS_TRY(buffer_append(&p->text, "\t", 1));
		RS_TRY(put_name(p, name, n));
	}
	return buffer_append(&p->text, "\n", 1);
}

static enum rs_status
json_name(struct predict *p, const char *key, const char *name, size_t n)
{
	struct buffer text;

	buffer_init(&text, TEXT_LIMIT);
	const enum rs_status status = buffer_printf(&text, "%.*s", (int)n, name);
	if (status == RS_OK)
		json_string(&p->json, key, text.data);
	buffer_free(&text);
	return status;
}

static enum rs_status
json_begin(struct predict *p, const struct row *row)
{
	json_reset(&p->json);
	json_open(&p->json, NULL, '{');
	json_int(&p->json, "row", (int64_t)row->number);
	return row->id != NULL ? json_name(p, "id", row->id, row->id_n) : RS_OK;
}

/* The double whose shortest text is that of the float. */
static double
short_double(float x)
{
	char text[32];
	double value = (double)x;

	number_print_float(text, x);
	return number_double(text, strlen(text), &value) ? value : (double)x;
}

static enum rs_status
print_vector_json(struct predict *p, const struct row *row)
{
	RS_TRY(json_begin(p, row));
	json_open(&p->json, "vector", '[');
	for (size_t d = 0; d < p->dim && !row->is_bad; d++)
		json_double(&p->json, NULL, short_double(row->vector[d]));
	json_close(&p->json);
	json_close(&p->json);
	return buffer_printf(&p->text, "%s\n", json_text(&p->json));
}

static enum rs_status
print_top_json(struct predict *p, const struct row *row)
{
	RS_TRY(json_begin(p, row));
	json_open(&p->json, "items", '[');
	for (size_t i = 0; i < row->n_best && !row->is_bad; i++) {
		size_t n;
		const char *const name = catalogue_name(scorer_model(p->scorer)->catalogue,
			row->best[i].number, &n);

		json_open(&p->json, NULL, '{');
		RS_TRY(json_name(p, "item", name, n));
		json_double(&p->json, "score", row->best[i].score);
		json_close(&p->json);
	}
	json_close(&p->json);
	json_close(&p->json);
	return buffer_printf(&p->text, "%s\n", json_text(&p->json));
}

static enum rs_status
print_json(struct predict *p, const struct row *row)
{
	const enum rs_status status = json_begin(p, row);

	json_double(&p->json, "prediction", row->is_bad ? (double)NAN : (double)row->value);
	json_double(&p->json, "logit", row->is_bad ? (double)NAN : (double)row->logit);
	json_close(&p->json);
	RS_TRY(status);
	return buffer_printf(&p->text, "%s\n", json_text(&p->json));
}

static enum rs_status
print_inputs(struct predict *p, const struct row *row)
{
	if (row->is_bad)
		return buffer_printf(&p->text, "null\n");
	json_reset(&p->json);
	row_inputs_print(p->inputs, row->batch, row->at, &p->json);
	return buffer_printf(&p->text, "%s\n", json_text(&p->json));
}

/* name, of a value, of a vector, of the best items; NULL: not in this form */
#define FORMATS(FORMAT) \
	FORMAT("prob", print_prob, NULL, NULL) \
	FORMAT("logit", print_logit, NULL, NULL) \
	FORMAT("tsv", print_tsv, print_vector, print_top) \
	FORMAT("json", print_json, print_vector_json, print_top_json) \
	FORMAT("inputs", print_inputs, print_inputs, NULL)
#define NAME(name, print, vector, top) "|" name
#define FORMAT_NAMES (&(FORMATS(NAME))[1])

static const struct predict_format {
	const char *name;
	enum rs_status (*print)(struct predict *p, const struct row *row);
	enum rs_status (*vector)(struct predict *p, const struct row *row);
	enum rs_status (*top)(struct predict *p, const struct row *row);
} format_table[] = {
#define ROW(name, print, vector, top) { name, print, vector, top },
	FORMATS(ROW)
#undef ROW
};

static enum rs_status
set_format(struct predict *p, const struct arguments *a)
{
	const char *name = argument(a, "--format");

	const int plain = p->tower < 0 && p->top == 0;

	if (name == NULL)
		name = argument(a, "--id") != NULL ? "tsv" : command_json(a) ? "json"
			: plain ? "prob" : "tsv";
	for (size_t i = 0; i < sizeof format_table / sizeof format_table[0]; i++) {
		const struct predict_format *const f = &format_table[i];

		if (strcmp(f->name, name) != 0)
			continue;
		p->print = plain ? f->print : p->top > 0 ? f->top : f->vector;
		if (p->print == NULL)
			return rs_fail(RS_EUSAGE, "--format: '%s' is not for this, wanted tsv "
				"or json", name);
		p->gives_inputs = p->print == print_inputs;
		if (p->gives_inputs && argument_given(a, "--id"))
			return rs_fail(RS_EUSAGE, "--format: inputs has no place for --id");
		return RS_OK;
	}
	return rs_fail(RS_EUSAGE, "--format: there is no '%s', wanted one of %s", name,
		FORMAT_NAMES);
}

static enum rs_status
flush(struct predict *p)
{
	enum rs_status status = RS_OK;

	if (p->text.n > 0)
		status = p->file != NULL ? file_writer_write(p->file, p->text.data, p->text.n)
			: output_text(p->text.data, p->text.n);
	p->text.n = 0;
	return status;
}

static enum rs_status
make_vectors(struct predict *p, const struct batch *batch)
{
	const size_t n = batch->B * p->dim;

	if (n > p->vector_capacity) {
		free(p->vector);
		p->vector = NULL;
		p->vector_capacity = 0;
		RS_TRY(memory_alloc(n, sizeof *p->vector, &p->vector));
		p->vector_capacity = n;
	}
	RS_TRY(workers_vectors(scorer_workers(p->scorer), p->tower, batch, p->vector));
	return p->top > 0 ? best_items_find(p->best, batch, p->vector) : RS_OK;
}

static void
set_value(const struct predict *p, float z, struct row *row)
{
	row->logit = z;
	row->value = p->is_mse ? z : (float)(1 / (1 + exp(-(double)z)));
}

static enum rs_status
print_rows(struct predict *p, const struct scorer_rows *rows)
{
	if (p->tower >= 0 && rows->batch->B > 0 && !p->gives_inputs)
		RS_TRY(make_vectors(p, rows->batch));
	for (size_t b = 0; b < rows->batch->B; b++) {
		struct row row = {
			.number = rows->first + b + 1, .is_bad = isnan(rows->batch->label[b]),
			.vector = p->vector != NULL ? p->vector + b * p->dim : NULL,
			.batch = rows->batch, .at = b,
		};
		if (rows->logit != NULL)
			set_value(p, rows->logit[b], &row);
		if (p->top > 0)
			row.best = best_items_row(p->best, b, &row.n_best);
		if (rows->ids != NULL && b < rows->ids->n) {
			row.id = rows->ids->text + rows->ids->begin[b];
			row.id_n = rows->ids->end[b] - rows->ids->begin[b];
		}
		p->n_bad += row.is_bad != 0;
		p->n_not_finite += !row.is_bad && !isfinite(row.logit);
		RS_TRY(p->print(p, &row));
	}
	return flush(p);
}

/* --tower item without data: the items of the catalogue by their names. */
static enum rs_status
predict_catalogue(struct predict *p)
{
	const struct model *const m = scorer_model(p->scorer);
	float *vector;
	int finite;

	if (m->catalogue == NULL)
		return rs_fail(RS_EUSAGE, "the model has no catalogue of items");
	RS_TRY(retrieval_items(scorer_workers(p->scorer), m, &vector, &finite));
	enum rs_status status = RS_OK;
	for (size_t i = 0; status == RS_OK && i < m->catalogue->n; i++) {
		struct row row = { .number = i + 1, .vector = vector + i * p->dim };

		row.id = catalogue_name(m->catalogue, i, &row.id_n);
		status = p->print(p, &row);
		if (status == RS_OK && p->text.n >= FLUSH_BYTES)
			status = flush(p);
	}
	free(vector);
	return status == RS_OK ? flush(p) : status;
}

static void
set_model(struct predict *p)
{
	const struct model *const m = scorer_model(p->scorer);

	p->is_mse = spec_settings(m->spec)->model.loss == LOSS_MSE;
	p->dim = model_vector_dim(m);
}

static enum rs_status
predict_all(struct predict *p)
{
	struct scorer_rows rows;

	if (p->of_catalogue)
		return predict_catalogue(p);
	do {
		RS_TRY(scorer_next(p->scorer, &rows));
		set_model(p);
		RS_TRY(print_rows(p, &rows));
		if (p->follow)
			RS_TRY(output_flush());
	} while (rows.batch->B > 0);
	return RS_OK;
}

static enum rs_status
predict_to_file(struct predict *p, const char *path)
{
	struct file_writer file;

	RS_TRY(file_writer_open(&file, path));
	p->file = &file;
	enum rs_status status = predict_all(p);
	if (status == RS_OK)
		status = file_writer_commit(&file);
	file_writer_close(&file);
	p->file = NULL;
	return status;
}

static enum rs_status
open_towers(struct predict *p)
{
	const struct model *const m = scorer_model(p->scorer);

	if (p->tower < 0)
		return RS_OK;
	p->dim = model_vector_dim(m);
	if (p->dim == 0)
		return rs_fail(RS_EUSAGE, "'%s' has no towers, only a two_tower has",
			m->schema.settings->model.type);
	return p->top == 0 ? RS_OK : best_items_open(m, scorer_workers(p->scorer), p->top,
		p->seen.n > 0 ? &p->seen : NULL, &p->best);
}

static enum rs_status
predict_with(struct predict *p, const struct arguments *a)
{
	const char *path = argument(a, "--predictions");

	RS_TRY(open_towers(p));
	if (p->gives_inputs && p->follow)
		return rs_fail(RS_EUSAGE, "--follow and --format inputs exclude each other");
	if (p->gives_inputs)
		RS_TRY(row_inputs_open(scorer_model(p->scorer), p->tower, &p->inputs));
	if (path != NULL && strcmp(path, "-") != 0)
		RS_TRY(predict_to_file(p, path));
	else
		RS_TRY(predict_all(p));
	if (p->n_not_finite > 0)
		log_warn("%" PRIu64 " rows have a score that is not a finite number",
			p->n_not_finite);
	if (p->n_bad > 0)
		return rs_fail(RS_EPARTIAL, "%" PRIu64 " bad rows have the prediction NA",
			p->n_bad);
	return RS_OK;
}

static enum rs_status
set_policy(const struct arguments *a, int *keep)
{
	const char *policy = argument(a, "--on-bad-row");

	*keep = policy != NULL && strcmp(policy, "na") == 0;
	if (policy != NULL && !*keep && strcmp(policy, "fail") != 0)
		return rs_fail(RS_EUSAGE, "--on-bad-row: '%s' is no policy, wanted fail or na",
			policy);
	return RS_OK;
}

static enum rs_status
set_follow(struct predict *p, const struct arguments *a)
{
	static const char *const other[] = { "--predictions", "--tower", "--top" };

	p->follow = argument_given(a, "--follow");
	for (size_t i = 0; p->follow && i < sizeof other / sizeof other[0]; i++)
		if (argument_given(a, other[i]))
			return rs_fail(RS_EUSAGE, "--follow and %s exclude each other", other[i]);
	if (p->follow && (a->n_positional != 2 || strcmp(a->positional[1], "-") != 0))
		return rs_fail(RS_EUSAGE, "--follow: wanted MODEL and -, for standard input");
	return RS_OK;
}

static enum rs_status
set_towers(struct predict *p, const struct arguments *a)
{
	const char *tower = argument(a, "--tower"), *file;
	int64_t top = (int64_t)p->top;

	p->tower = -1;
	RS_TRY(argument_int(a, "--top", 1, TOP_MAX, &top));
	p->top = (size_t)top;
	if (top > 0 || (tower != NULL && strcmp(tower, "user") == 0))
		p->tower = TOWER_USER;
	else if (tower != NULL && strcmp(tower, "item") == 0)
		p->tower = TOWER_ITEM;
	else if (tower != NULL)
		return rs_fail(RS_EUSAGE, "--tower: '%s', wanted user or item", tower);
	if (top > 0 && tower != NULL)
		return rs_fail(RS_EUSAGE, "--top and --tower exclude each other");
	if (top == 0 && argument_given(a, "--seen"))
		return rs_fail(RS_EUSAGE, "--seen: only with --top");
	while (argument_nth(a, "--seen", p->seen.n) != NULL)
		p->seen.n++;
	RS_TRY(memory_alloc(p->seen.n + 1, sizeof *p->seen.item, &p->seen.item));
	for (size_t i = 0; (file = argument_nth(a, "--seen", i)) != NULL; i++)
		p->seen.item[i] = (char *)(uintptr_t)file;
	return RS_OK;
}

static enum rs_status
open_scorer(struct predict *p, const struct arguments *a)
{
	int64_t n_threads = 0;

	p->of_catalogue = p->tower == TOWER_ITEM && p->n_data == 0 && !p->gives_inputs;
	if (p->n_data == 0 && !p->of_catalogue)
		return rs_fail(RS_EUSAGE, "predict: wanted MODEL and DATA, got %zu",
			a->n_positional);
	struct scorer_options options = {
		.model = a->positional[0], .data = p->data, .n_data = p->n_data,
		.purpose = PARSE_PREDICT, .id = argument(a, "--id"),
		.without_scores = p->tower >= 0 || p->gives_inputs,
		.with_groups = p->seen.n > 0,
	};
	RS_TRY(set_policy(a, &options.keep_bad_rows));
	options.follow = p->follow;
	options.keep_bad_rows |= p->follow && !argument_given(a, "--on-bad-row");
	RS_TRY(argument_int(a, "--threads", 0, THREADS_MAX, &n_threads));
	options.n_threads = (size_t)n_threads;
	return scorer_open(&options, &p->scorer);
}

enum rs_status
predict_best(const struct arguments *a, const char *const *data, size_t n_data, size_t top)
{
	struct predict p = { .data = data, .n_data = n_data, .top = top };

	buffer_init(&p.text, TEXT_LIMIT);
	json_init(&p.json);
	enum rs_status status = set_follow(&p, a);
	if (status == RS_OK)
		status = set_towers(&p, a);
	if (status == RS_OK)
		status = set_format(&p, a);
	if (status == RS_OK)
		status = open_scorer(&p, a);
	if (status == RS_OK)
		status = predict_with(&p, a);
	best_items_close(p.best);
	row_inputs_close(p.inputs);
	free(p.vector);
	free(p.seen.item);
	json_free(&p.json);
	buffer_free(&p.text);
	scorer_close(p.scorer);
	return status;
}

static enum rs_status
predict_run(const struct arguments *a)
{
	if (a->n_positional == 0)
		return rs_fail(RS_EUSAGE, "predict: wanted MODEL and DATA, got 0");
	return predict_best(a, (const char *const *)a->positional + 1, a->n_positional - 1, 0);
}

static const struct command_option predict_option[] = {
	{ .name = "--predictions", .letter = 'p', .argument = "FILE", .dflt = "-",
		.text = "write the predictions to this file, which is complete or absent" },
	{ .name = "--format", .argument = FORMAT_NAMES, .dflt = "prob", .text =
		"form of a line; tsv: id or row number, tab, probability; json: one object a "
		"line; inputs: what an exported model is given for the row" },
	{ .name = "--id", .argument = "COLUMN", .text =
		"print this column, by name or number, before the "
		"prediction; implies --format tsv" },
	{ .name = "--tower", .argument = "user|item", .text =
		"two_tower: print the vectors of this tower instead of "
		"predictions; item without DATA: of every item of the catalogue" },
	{ .name = "--top", .argument = "K", .text =
		"two_tower: print the K best items of the catalogue instead of a prediction" },
	{ .name = "--seen", .argument = "FILE", .repeats = 1, .text =
		"--top: items of the rows of this file are not given to their group" },
	{ .name = "--follow", .text =
		"standard input is a stream: answer each line at once, with the version that "
		"CURRENT names; rows that cannot be read are NA" },
	{ .name = "--on-bad-row", .argument = "fail|na", .dflt = "fail", .text =
		"what a row that cannot be read does; na: print NA for it and exit 3" },
	{ .name = NULL },
};

const struct command command_predict = {
	.name = "predict",
	.synopsis = "MODEL DATA|-... [-p FILE|-] [--format F] [--id COLUMN] [--on-bad-row fail|na] "
		"[--tower T|--top K [--seen FILE]...] [--follow]",
	.text = "Predict one value a row.",
	.option = predict_option,
	.run = predict_run,
};
