/* The command predict: one line a data row, in the order of the rows. */
#include "cmd/command.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/scorer.h"

#define TEXT_LIMIT  ((size_t)1 << 30)
#define THREADS_MAX 4096

struct row {
	const char *id;                /* [id_n] text, or NULL                        */
	size_t   id_n;
	uint64_t number;               /* from 1                                      */
	int      is_bad;
	float    logit, value;         /* value: probability, or the prediction       */
};

struct predict {
	struct scorer *scorer;
	struct buffer text;
	struct json json;
	int is_mse;
	uint64_t n_bad;
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

/* A tab or the end of a line inside of an id would make another column or row. */
static enum rs_status
put_id(struct predict *p, const struct row *row)
{
	for (size_t i = 0; i < row->id_n; i++) {
		static const char special[] = "\t\n\r\\", escape[] = "tnr\\";
		const char *at = row->id[i] != '\0' ? strchr(special, row->id[i]) : NULL;
		if (at != NULL)
			RS_TRY(buffer_printf(&p->text, "\\%c", escape[at - special]));
		else
			RS_TRY(buffer_append(&p->text, &row->id[i], 1));
	}
	return RS_OK;
}

static enum rs_status
print_tsv(struct predict *p, const struct row *row)
{
	if (row->id != NULL)
		RS_TRY(put_id(p, row));
	else
		RS_TRY(buffer_printf(&p->text, "%" PRIu64, row->number));
	RS_TRY(buffer_append(&p->text, "\t", 1));
	return put_number(p, row, row->value);
}

static enum rs_status
print_json(struct predict *p, const struct row *row)
{
	struct buffer id;
	enum rs_status status = RS_OK;

	json_reset(&p->json);
	json_open(&p->json, NULL, '{');
	json_int(&p->json, "row", (int64_t)row->number);
	if (row->id != NULL) {
		buffer_init(&id, TEXT_LIMIT);
		status = buffer_printf(&id, "%.*s", (int)row->id_n, row->id);
		if (status == RS_OK)
			json_string(&p->json, "id", id.data);
		buffer_free(&id);
	}
	json_double(&p->json, "prediction", row->is_bad ? (double)NAN : (double)row->value);
	json_double(&p->json, "logit", row->is_bad ? (double)NAN : (double)row->logit);
	json_close(&p->json);
	RS_TRY(status);
	return buffer_printf(&p->text, "%s\n", json_text(&p->json));
}

static const struct predict_format {
	const char *name;
	enum rs_status (*print)(struct predict *p, const struct row *row);
} format_table[] = {
	{ "prob", print_prob },
	{ "logit", print_logit },
	{ "tsv", print_tsv },
	{ "json", print_json },
};

static enum rs_status
set_format(struct predict *p, const struct arguments *a)
{
	const char *name = argument(a, "--format");

	if (name == NULL)
		name = argument(a, "--id") != NULL ? "tsv" : command_json(a) ? "json" : "prob";
	for (size_t i = 0; i < sizeof format_table / sizeof format_table[0]; i++)
		if (strcmp(format_table[i].name, name) == 0) {
			p->print = format_table[i].print;
			return RS_OK;
		}
	return rs_fail(RS_EUSAGE, "--format: there is no '%s', wanted prob, logit, tsv or json",
		name);
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
print_rows(struct predict *p, const struct scorer_rows *rows)
{
	for (size_t b = 0; b < rows->batch->B; b++) {
		const float z = rows->logit[b];
		struct row row = {
			.number = rows->first + b + 1, .is_bad = isnan(rows->batch->label[b]),
			.logit = z,
			.value = p->is_mse ? z : (float)(1 / (1 + exp(-(double)z))),
		};
		if (rows->ids != NULL && b < rows->ids->n) {
			row.id = rows->ids->text + rows->ids->begin[b];
			row.id_n = rows->ids->end[b] - rows->ids->begin[b];
		}
		p->n_bad += row.is_bad != 0;
		RS_TRY(p->print(p, &row));
	}
	return flush(p);
}

static enum rs_status
predict_all(struct predict *p)
{
	struct scorer_rows rows;

	do {
		RS_TRY(scorer_next(p->scorer, &rows));
		RS_TRY(print_rows(p, &rows));
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
predict_with(struct predict *p, const struct arguments *a)
{
	const char *path = argument(a, "--predictions");

	p->is_mse = spec_settings(scorer_model(p->scorer)->spec)->model.loss == LOSS_MSE;
	if (path != NULL && strcmp(path, "-") != 0)
		RS_TRY(predict_to_file(p, path));
	else
		RS_TRY(predict_all(p));
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
predict_run(const struct arguments *a)
{
	struct predict p = { 0 };
	int64_t n_threads = 0;

	if (a->n_positional < 2)
		return rs_fail(RS_EUSAGE, "predict: wanted MODEL and DATA, got %zu arguments",
			a->n_positional);
	struct scorer_options options = {
		.model = a->positional[0], .data = (const char *const *)a->positional + 1,
		.n_data = a->n_positional - 1, .purpose = PARSE_PREDICT, .id = argument(a, "--id"),
	};
	RS_TRY(set_policy(a, &options.keep_bad_rows));
	RS_TRY(set_format(&p, a));
	RS_TRY(argument_int(a, "--threads", 0, THREADS_MAX, &n_threads));
	options.n_threads = (size_t)n_threads;
	RS_TRY(scorer_open(&options, &p.scorer));
	buffer_init(&p.text, TEXT_LIMIT);
	json_init(&p.json);
	const enum rs_status status = predict_with(&p, a);
	json_free(&p.json);
	buffer_free(&p.text);
	scorer_close(p.scorer);
	return status;
}

static const struct command_option predict_option[] = {
	{ .name = "--predictions", .letter = 'p', .argument = "FILE", .dflt = "-",
		.text = "write the predictions to this file, which is complete or absent" },
	{ .name = "--format", .argument = "F", .dflt = "prob", .text =
		"form of a line: prob, logit, tsv "
		"(id or row number, tab, probability) or json (one object a line)" },
	{ .name = "--id", .argument = "COLUMN", .text =
		"print this column, by name or number, before the "
		"prediction; implies --format tsv" },
	{ .name = "--on-bad-row", .argument = "P", .dflt = "fail", .text =
		"what a row that cannot be read "
		"does: fail, or na: print NA for it and exit 3" },
	{ .name = NULL },
};

const struct command command_predict = {
	.name = "predict",
	.synopsis = "MODEL DATA|-... [-p FILE|-] [--format F] [--id COLUMN] [--on-bad-row fail|na]",
	.text = "Predict one value a row.",
	.option = predict_option,
	.run = predict_run,
};
