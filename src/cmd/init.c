/* `init`: a commented spec from a sample of the data. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "cmd/command.h"
#include "cmd/guess.h"
#include "config.h"
#include "spec/value.h"

enum { SAMPLE_ROWS = 100000, COMMENT_COLUMN = 27 };

#define SPEC_BYTES_MAX ((size_t)64 << 20)

struct draft {
	const struct sample *sample;
	const char *model, *data, *name;
	size_t label;
	struct buffer text;
};

/* "key = value          # comment" */
static enum rs_status __attribute__((format(printf, 4, 5)))
add_key(struct draft *d, const char *key, const char *value, const char *comment, ...)
{
	const size_t begin = d->text.n;
	va_list arguments;
	char note[300];

	va_start(arguments, comment);
	vsnprintf(note, sizeof(note), comment, arguments);
	va_end(arguments);
	RS_TRY(buffer_printf(&d->text, "%s = ", key));
	RS_TRY(value_print(&d->text, value, 0));
	if (note[0] == '\0')
		return buffer_printf(&d->text, "\n");
	while (d->text.n - begin < COMMENT_COLUMN)
		RS_TRY(buffer_printf(&d->text, " "));
	return buffer_printf(&d->text, " # %s\n", note);
}

static const char *
separator_name(char c, char out[2])
{
	static const struct { char byte; const char *name; } row[] = {
		{ '\t', "tab" }, { ',', "comma" }, { ';', "semicolon" }, { '|', "pipe" }, { ' ',
			"space" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (row[i].byte == c)
			return row[i].name;
	out[0] = c;
	out[1] = '\0';
	return out;
}

static enum rs_status
add_column_key(struct draft *d, const char *key, size_t column, const char *comment)
{
	const struct sample_column *c = &d->sample->column[column];
	char number[32];

	snprintf(number, sizeof(number), "%zu", column + 1);
	return add_key(d, key, d->sample->has_header ? c->name : number, "%s", comment);
}

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
	const struct sample_column *c = &d->sample->column[d->label];
	char   described[200], values[2 * SAMPLE_VALUE_BYTES + 2];
	size_t low = 0;

	describe_label(d, described);
	RS_TRY(add_column_key(d, "label", d->label, described));
	if (c->more_values || c->n_values > 2)
		return c->numbers == c->rows ? add_key(d, "label_type", "real",
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
		return add_key(d, "label_values", "0,1", "negative, positive; anything else is a "
			"bad row");
	RS_TRY(buffer_printf(&d->text, "label_values = "));
	RS_TRY(value_print(&d->text, c->value[low].text, 1));
	RS_TRY(buffer_printf(&d->text, ","));
	RS_TRY(value_print(&d->text, c->value[1 - low].text, 1));
	return buffer_printf(&d->text, "     # negative, positive; anything else is a bad row\n");
}

static enum rs_status
add_data(struct draft *d)
{
	const struct sample *s = d->sample;
	const char *format = s->separator == '\t' ? "tsv" : "csv";
	char byte[2];

	RS_TRY(buffer_printf(&d->text, "\n[data]\n"));
	RS_TRY(buffer_printf(&d->text, "train = "));
	RS_TRY(value_print(&d->text, d->data, 1));
	RS_TRY(buffer_printf(&d->text, "  # a list; globs sort; - is standard input\n"));
	RS_TRY(buffer_printf(&d->text, "#valid = valid.tsv          # scored after every epoch\n"));
	RS_TRY(add_key(d, "format", format, "tsv csv libsvm libffm libfm"));
	if (s->separator != '\t' && s->separator != ',')
		RS_TRY(add_key(d, "separator", separator_name(s->separator, byte), "%s", ""));
	RS_TRY(add_key(d, "header", s->has_header ? "yes" : "no", "%s", ""));
	RS_TRY(add_label(d));
	RS_TRY(add_key(d, "missing", "", "cells that mean no value"));
	return add_key(d, "on_bad_row", "fail", "fail or skip; see max_bad_rows");
}

static enum rs_status
add_field_name(struct draft *d, const char *name)
{
	for (const char *c = name; *c != '\0'; c++)
		if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-",
			*c) == NULL) {
			RS_TRY(buffer_printf(&d->text, "\n[field \""));
			for (c = name; *c != '\0'; c++)
				RS_TRY(buffer_printf(&d->text, strchr("\"\\", *c) != NULL ? "\\%c" :
					"%c", *c));
			return buffer_printf(&d->text, "\"]");
		}
	return buffer_printf(&d->text, "\n[field %s]", name);
}

static enum rs_status
add_field(struct draft *d, size_t column, const struct guess *g, const char *name)
{
	const struct sample_column *c = &d->sample->column[column];
	char number[32], byte[2];

	RS_TRY(add_field_name(d, name));
	RS_TRY(buffer_printf(&d->text, "  # %llu different values, %.1f%% missing\n",
		(unsigned long long)g->distinct,
		100.0 * (double)c->missing / (double)c->rows));
	RS_TRY(add_column_key(d, "column", column, ""));
	if (g->role == GUESS_NUMERIC) {
		RS_TRY(add_key(d, "type", "numeric", "from %g to %g", c->min, c->max));
		return add_key(d, "transform", g->transform, "none log1p standardize bucketize");
	}
	RS_TRY(add_key(d, "type", g->role == GUESS_MULTI ? "multi" : "categorical",
		"categorical numeric multi sequence"));
	if (g->role == GUESS_MULTI)
		RS_TRY(add_key(d, "multi_separator", separator_name(g->multi_separator, byte), "%s",
			""));
	snprintf(number, sizeof(number), g->buckets == (1u << 20) ? "1M" : g->buckets >= 1024 ?
		"%lluk" : "%llu",
		(unsigned long long)(g->buckets >= 1024 ? g->buckets / 1024 : g->buckets));
	return add_key(d, "buckets", number, "about four times the different values");
}

static enum rs_status
add_fields(struct draft *d)
{
	size_t n_numeric = 0, n_other = 0, n_fields = 0;
	char   name[32];

	for (size_t i = 0; i < d->sample->n_columns; i++) {
		const struct guess g = guess_column(d->sample, i, d->label);
		const struct sample_column *c = &d->sample->column[i];

		if (g.role == GUESS_LABEL)
			continue;
		if (g.role >= GUESS_ROW_ID) {
			RS_TRY(buffer_printf(&d->text, "\n# column %zu%s%s%s is left out: %s\n",
				i + 1, c->name != NULL ?
				" (" : "", c->name != NULL ? c->name : "", c->name != NULL ? ")" :
				"",
				g.role == GUESS_ROW_ID ? "every row has its own value" :
				g.role == GUESS_TIME ? "it is the time of the row" :
				"it has one value"));
			continue;
		}
		snprintf(name, sizeof(name), g.role == GUESS_NUMERIC ? "I%zu" : "C%zu",
			g.role == GUESS_NUMERIC ? ++n_numeric : ++n_other);
		RS_TRY(add_field(d, i, &g, c->name != NULL ? c->name : name));
		n_fields++;
	}
	log_info("%s: %zu fields", d->data, n_fields);
	return n_fields > 0 ? RS_OK : rs_fail(RS_EDATA, "'%s' has no column that tells rows apart",
		d->data);
}

static enum rs_status
write_draft(struct draft *d)
{
	const struct sample_column *label = &d->sample->column[d->label];
	const int regression = label->more_values || label->n_values > 2;

	RS_TRY(buffer_printf(&d->text, "# %s - written by recsys-train %s init\n", d->name,
		PACKAGE_VERSION));
	RS_TRY(buffer_printf(&d->text, "# 'recsys-train help --spec' prints every "
		"key.\n\n[model]\n"));
	RS_TRY(add_key(d, "type", d->model, "%s", ""));
	RS_TRY(add_key(d, "path", "model", "the model directory"));
	if (regression)
		RS_TRY(add_key(d, "loss", "mse", "%s", ""));
	RS_TRY(add_data(d));
	RS_TRY(add_fields(d));
	RS_TRY(buffer_printf(&d->text, "\n[embedding]\n"));
	RS_TRY(add_key(d, "dim", "16", "width of the vectors"));
	RS_TRY(add_key(d, "optimizer", "adagrad", "sgd adagrad rowwise_adagrad adam ftrl"));
	RS_TRY(add_key(d, "learning_rate", "0.02", "%s", ""));
	RS_TRY(buffer_printf(&d->text, "\n[dnn]\n"));
	RS_TRY(add_key(d, "hidden", "400,400,400", "units of the hidden layers"));
	RS_TRY(add_key(d, "dropout", "0", "%s", ""));
	RS_TRY(buffer_printf(&d->text, "\n[train]\n"));
	RS_TRY(add_key(d, "epochs", "1", "%s", ""));
	RS_TRY(add_key(d, "batch_size", "4096", "rows of a step"));
	RS_TRY(add_key(d, "optimizer", "adam", "of the dense weights"));
	RS_TRY(add_key(d, "learning_rate", "0.001", "%s", ""));
	return add_key(d, "seed", "1", "equal seeds give equal models");
}

static void
tell(const struct draft *d)
{
	const struct sample *s = d->sample;
	char described[200], byte[2];

	log_info("%s: %llu rows read: %s, %s header, %zu columns", d->data,
		(unsigned long long)s->rows,
		separator_name(s->separator, byte), s->has_header ? "a" : "no", s->n_columns);
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
choose_separator(const struct arguments *a, char *out)
{
	const char *format = argument(a, "--format");
	char escaped[72];

	*out = 0;
	if (format == NULL)
		return RS_OK;
	if (strcmp(format, "tsv") != 0 && strcmp(format, "csv") != 0) {
		rs_fail(RS_EUSAGE, "--format '%s': init reads tsv and csv", rs_escape(escaped,
			format, strlen(format)));
		return rs_hint("'recsys-train help --spec' prints a spec to begin with");
	}
	*out = format[0] == 't' ? '\t' : ',';
	return RS_OK;
}

static enum rs_status
draft_from(const struct arguments *a, struct draft *d, struct sample *sample, const char *data)
{
	int64_t rows = SAMPLE_ROWS;
	char    separator;

	RS_TRY(argument_int(a, "--rows", 1, INT64_MAX, &rows));
	RS_TRY(choose_separator(a, &separator));
	RS_TRY(command_model_check(d->model));
	RS_TRY(sample_read(data, (uint64_t)rows, separator, sample));
	d->label = guess_label(sample);
	if (d->label == GUESS_NO_LABEL) {
		rs_fail(RS_EDATA, "'%s': no column looks like a label", data);
		return rs_hint("a column named label or click, or one with the values 0 and 1, "
			"is wanted");
	}
	tell(d);
	return write_draft(d);
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
	{ .name = "--format", .argument = "tsv|csv", .text = "Do not guess the separator." },
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
