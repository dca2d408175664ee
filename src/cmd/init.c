/* `init`: a commented spec from a sample of the data. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "cmd/command.h"
#include "cmd/draft.h"
#include "config.h"
#include "spec/value.h"

enum { SAMPLE_ROWS = 100000 };

#define SPEC_BYTES_MAX ((size_t)64 << 20)

/* "0: 74.4%, 1: 25.6%" */
static void
describe_label(const struct draft *d, char out[200])
{
	const struct sample_column *c = &d->sample->column[d->label];
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < c->n_values && used < 150; i++)
		used += (size_t)snprintf(out + used, 200 - used, "%s%.12s: %.1f%%", i > 0 ? ", " :
			"", c->value[i].text,
			100.0 * (double)c->value[i].n / (double)c->rows);
	if (c->more_values)
		snprintf(out + used, 200 - used, ", ...");
}

static enum rs_status
add_label(struct draft *d)
{
	char   described[200], values[2 * SAMPLE_VALUE_BYTES + 2];
	size_t low = 0;

	if (d->label == GUESS_NO_LABEL)
		return buffer_printf(&d->text, "#label = click              # no column looks "
			"like a label: every row is a positive\n");
	const struct sample_column *c = &d->sample->column[d->label];

	describe_label(d, described);
	RS_TRY(draft_column(d, "label", d->label, described));
	if (c->more_values || c->n_values > 2)
		return c->numbers == c->rows ? draft_key(d, "label_type", "real",
			"more than two values: regression") : RS_OK;
	if (c->n_values == 2) {
		low = c->numbers == c->rows ? strtod(c->value[0].text,
			NULL) > strtod(c->value[1].text, NULL) :
			strcmp(c->value[0].text, c->value[1].text) > 0;
		snprintf(values, sizeof(values), "%s,%s", c->value[low].text,
			c->value[1 - low].text);
	} else {
		snprintf(values, sizeof(values), "0,1");
	}
	if (strcmp(values, "0,1") == 0 || strcmp(values, "1,0") == 0)
		return draft_key(d, "label_values", "0,1", "negative, positive; anything else is a "
			"bad row");
	RS_TRY(buffer_printf(&d->text, "label_values = "));
	RS_TRY(value_print(&d->text, c->value[low].text, 1));
	RS_TRY(buffer_printf(&d->text, ","));
	RS_TRY(value_print(&d->text, c->value[1 - low].text, 1));
	return buffer_printf(&d->text, "     # negative, positive; anything else is a bad row\n");
}

static enum rs_status
add_train(struct draft *d)
{
	RS_TRY(draft_section(d, "data"));
	RS_TRY(buffer_printf(&d->text, "train = "));
	RS_TRY(value_print(&d->text, d->data, 1));
	RS_TRY(buffer_printf(&d->text, "  # a list; globs sort; - is standard input\n"));
	return buffer_printf(&d->text, "#valid = valid.tsv          # scored after every epoch\n");
}

static enum rs_status
add_data(struct draft *d)
{
	const struct sample *s = d->sample;
	const char *format = s->is_records ? "tfrecord" : s->separator == '\t' ? "tsv" : "csv";
	char byte[2];

	RS_TRY(add_train(d));
	RS_TRY(draft_key(d, "format", format, "tsv csv libsvm libffm libfm tfrecord lists"));
	if (s->separator != '\t' && s->separator != ',')
		RS_TRY(draft_key(d, "separator", draft_separator(s->separator, byte), "%s", ""));
	if (s->trim)
		RS_TRY(draft_key(d, "trim", "yes", "blanks around a cell do not count"));
	if (!s->is_records)
		RS_TRY(draft_key(d, "header", s->has_header ? "yes" : "no", "%s", ""));
	RS_TRY(add_label(d));
	RS_TRY(draft_data_keys(d));
	RS_TRY(draft_key(d, "missing", "", "cells that mean no value"));
	return draft_key(d, "on_bad_row", "fail", "fail or skip; see max_bad_rows");
}

static enum rs_status
write_head(struct draft *d)
{
	RS_TRY(buffer_printf(&d->text, "# %s - written by recsys-train %s init\n", d->name,
		PACKAGE_VERSION));
	RS_TRY(buffer_printf(&d->text, "# 'recsys-train help --spec' prints every "
		"key.\n\n[model]\n"));
	RS_TRY(draft_key(d, "type", d->model, "%s", ""));
	RS_TRY(draft_key(d, "path", "model", "the model directory"));
	if (d->is_regression)
		return draft_key(d, "loss", "mse", "%s", "");
	return draft_model_keys(d);
}

static enum rs_status
write_draft(struct draft *d)
{
	if (d->label != GUESS_NO_LABEL) {
		const struct sample_column *label = &d->sample->column[d->label];

		d->is_regression = label->more_values || label->n_values > 2;
	}
	RS_TRY(draft_fields(d));
	RS_TRY(write_head(d));
	RS_TRY(add_data(d));
	RS_TRY(draft_print_fields(d));
	return draft_model(d);
}

static void
tell(const struct draft *d)
{
	const struct sample *s = d->sample;
	char described[200], byte[2];

	if (s->is_records)
		log_info("%s: %llu records read: %zu features", d->data,
			(unsigned long long)s->rows, s->n_columns);
	else
		log_info("%s: %llu rows read: %s, %s header, %zu columns", d->data,
			(unsigned long long)s->rows, draft_separator(s->separator, byte),
			s->has_header ? "a" : "no", s->n_columns);
	if (d->label == GUESS_NO_LABEL) {
		log_info("no column looks like a label: every row is taken for a positive");
		return;
	}
	describe_label(d, described);
	log_info("column %zu looks like the label (%s)", d->label + 1, described);
}

static enum rs_status
deliver(const struct arguments *a, const struct draft *d)
{
	const char *path = argument(a, "--output");

	if (path == NULL)
		return output_text(d->text.data, d->text.n);
	if (access(path, F_OK) == 0 && !argument_given(a, "--force")) {
		rs_fail(RS_ECREATE, "'%s' exists", path);
		return rs_hint("--force replaces it");
	}
	if (argument_given(a, "--dry-run"))
		return output_printf("would write '%s', %zu bytes\n", path, d->text.n);
	return file_replace(path, d->text.data, d->text.n);
}

/* The data as seen from where the spec will be; caller frees. */
static enum rs_status
data_path(const struct arguments *a, const char *data, char **out)
{
	const char *path = argument(a, "--output");

	if (path == NULL || strchr(path, '/') == NULL || strcmp(data, "-") == 0)
		return memory_strdup(data, out);
	*out = realpath(data, NULL);
	return *out != NULL ? RS_OK : rs_fail(RS_ENOINPUT, "cannot open '%s'", data);
}

static enum rs_status
draft_columns(struct draft *d, struct sample *sample, const char *data, uint64_t rows,
	enum sample_form form)
{
	RS_TRY(sample_read(data, rows, form, sample));

	const int of_positives = strcmp(d->model, "two_tower") == 0;

	d->label = guess_label(sample, !of_positives);
	if (d->label == GUESS_NO_LABEL && !of_positives) {
		rs_fail(RS_EDATA, "'%s': no column looks like a label", data);
		return rs_hint("a column named label or click, or one with the values 0 and 1, "
			"is wanted");
	}
	tell(d);
	return write_draft(d);
}

/* The head depends on the labels, which are seen only with the rows. */
static enum rs_status
draft_rows(struct draft *d, const char *data, uint64_t rows)
{
	enum rs_status status = draft_sparse(d, data, rows);
	struct buffer body = d->text;

	buffer_init(&d->text, SPEC_BYTES_MAX);
	if (status == RS_OK)
		status = write_head(d);
	if (status == RS_OK)
		status = add_train(d);
	if (status == RS_OK)
		status = buffer_append(&d->text, body.data, body.n);
	buffer_free(&body);
	return status == RS_OK ? draft_model(d) : status;
}

#define FORMATS "tsv|csv|tfrecord|libsvm|libffm|libfm|lists"

static enum rs_status
unknown_format(const char *format)
{
	char escaped[72];

	rs_fail(RS_EUSAGE, "--format '%s': init reads " FORMATS,
		rs_escape(escaped, format, strlen(format)));
	return rs_hint("'recsys-train help --spec' prints a spec to begin with");
}

static enum rs_status
draft_from(const struct arguments *a, struct draft *d, struct sample *sample, const char *data)
{
	static const struct { const char *format; enum sample_form form; } of_columns[] = {
		{ "tsv", SAMPLE_TSV }, { "csv", SAMPLE_CSV }, { "tfrecord", SAMPLE_RECORDS },
	};
	static const char *const of_features[] = { "libsvm", "libffm", "libfm", "lists" };
	int64_t rows = SAMPLE_ROWS;

	RS_TRY(argument_int(a, "--rows", 1, INT64_MAX, &rows));
	RS_TRY(command_model_check(d->model));
	d->format = argument(a, "--format");
	if (d->format == NULL)
		return draft_columns(d, sample, data, (uint64_t)rows, SAMPLE_GUESSED);
	for (size_t i = 0; i < sizeof(of_columns) / sizeof(of_columns[0]); i++)
		if (strcmp(d->format, of_columns[i].format) == 0)
			return draft_columns(d, sample, data, (uint64_t)rows, of_columns[i].form);
	for (size_t i = 0; i < sizeof(of_features) / sizeof(of_features[0]); i++)
		if (strcmp(d->format, of_features[i]) == 0)
			return draft_rows(d, data, (uint64_t)rows);
	return unknown_format(d->format);
}

static enum rs_status
run_init(const struct arguments *a)
{
	const char *data = argument(a, "--from"), *output = argument(a, "--output");
	struct sample sample = { 0 };
	struct draft  d = { .sample = &sample, .model = argument(a, "--model"),
		.name = output != NULL ? output : "recsys.ini" };
	char *path = NULL;
	enum rs_status status;

	if (data == NULL && a->n_positional == 1)
		data = a->positional[0];
	if (data == NULL)
		return rs_fail(RS_EUSAGE, "--from DATA is needed, a sample of the rows");
	if (d.model == NULL)
		d.model = "deepfm";
	buffer_init(&d.text, SPEC_BYTES_MAX);
	status = data_path(a, data, &path);
	d.data = path;
	if (status == RS_OK)
		status = draft_from(a, &d, &sample, data);
	if (status == RS_OK)
		status = deliver(a, &d);
	buffer_free(&d.text);
	free(d.field);
	sample_free(&sample);
	free(path);
	return status;
}

static const struct command_option init_option[] = {
	{ .name = "--model", .argument = "NAME", .dflt = "deepfm",
	  .text = "The model of the spec." },
	{ .name = "--from", .argument = "DATA", .text = "The file to look at; - is standard "
	  "input." },
	{ .name = "--rows", .argument = "N", .dflt = "100000", .text = "Look at this many rows." },
	{ .name = "--format", .argument = FORMATS,
	  .text = "What the rows are; with tsv and csv the separator is not guessed." },
	{ .name = "--output", .letter = 'O', .argument = "FILE",
	  .text = "Write to FILE, which must not exist, instead of standard output." },
	{ .name = "--force", .text = "Replace FILE." },
	{ .name = NULL },
};

const struct command command_init = {
	.name = "init",
	.synopsis = "--from DATA [--model NAME] [--rows N] [--format F] [-O FILE] [--force]",
	.text = "Write a commented spec from a sample of the data.",
	.option = init_option,
	.run = run_init,
};
