/*
 * The first pass.  The fields that need figures are read as plain numbers, by the
 * parser and the rules of the training itself, in file order.
 */
#include "data/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/rng.h"
#include "data/loader.h"

#define FIT_BATCH  8192
/* Quantiles are exact up to this many values; beyond, each value is kept with a
 * probability that halves whenever the store is full: a uniform sample of one to
 * two million, whose ranks are off by about a thousandth. */
#define FIT_VALUES ((size_t)1 << 21)

struct fit_column {
	struct field_settings field;    /* as the spec has it                          */
	uint64_t n;
	double   mean, square;          /* sum of squared distances from the mean      */
	float   *value;                 /* [n_values] bucketize                        */
	uint64_t *row;                  /* [n_values] the row it came from             */
	size_t   n_values, capacity;
	unsigned halvings;
};

struct fit {
	struct settings settings;       /* of the pass: only the fields below          */
	struct field_settings *field;   /* [n], for libffm the others behind them      */
	struct fit_column *column;      /* [n]                                         */
	size_t   n;
	uint64_t key;
};

static int
field_needs_fit(const struct field_settings *f)
{
	return f->type == FIELD_NUMERIC &&
		((f->transform == TRANSFORM_STANDARDIZE && f->stddev == 0) ||
		 (f->transform == TRANSFORM_BUCKETIZE && f->boundaries.n == 0));
}

int
fit_needed(const struct settings *settings)
{
	for (size_t i = 0; i < settings->n_fields; i++)
		if (field_needs_fit(&settings->field[i]))
			return 1;
	return 0;
}

/* Chan, Golub, LeVeque 1979: a batch's own sums are merged into the running ones. */
static void
column_add_moments(struct fit_column *c, const struct batch *batch, size_t k)
{
	double sum = 0, square = 0, mean, delta, n = 0;

	for (size_t b = 0; b < batch->B; b++)
		if (!batch->missing[b * batch->K + k]) {
			sum += (double)batch->dense[b * batch->K + k];
			n++;
		}
	if (n == 0)
		return;
	mean = sum / n;
	for (size_t b = 0; b < batch->B; b++)
		if (!batch->missing[b * batch->K + k]) {
			const double d = (double)batch->dense[b * batch->K + k] - mean;

			square += d * d;
		}
	delta = mean - c->mean;
	c->square += square + delta * delta * (double)c->n * n / ((double)c->n + n);
	c->mean += delta * n / ((double)c->n + n);
	c->n += (uint64_t)n;
}

static int
row_is_kept(uint64_t key, uint64_t row, unsigned halvings)
{
	return halvings == 0 || rng_u64(key, row) >> (64 - halvings) == 0;
}

static void
column_thin(struct fit_column *c, uint64_t key)
{
	size_t kept = 0;

	c->halvings++;
	for (size_t i = 0; i < c->n_values; i++)
		if (row_is_kept(key, c->row[i], c->halvings)) {
			c->value[kept] = c->value[i];
			c->row[kept++] = c->row[i];
		}
	c->n_values = kept;
}

static enum rs_status
column_grow(struct fit_column *c)
{
	const size_t capacity = c->capacity == 0 ? 4096 : 2 * c->capacity;
	float *value = realloc(c->value, capacity * sizeof *value);
	uint64_t *row;

	if (value == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for %zu values of field '%s'", capacity,
			c->field.name);
	c->value = value;
	row = realloc(c->row, capacity * sizeof *row);
	if (row == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for %zu values of field '%s'", capacity,
			c->field.name);
	c->row = row;
	c->capacity = capacity;
	return RS_OK;
}

static enum rs_status
column_add_values(struct fit_column *c, const struct batch *batch, size_t k, uint64_t key)
{
	for (size_t b = 0; b < batch->B; b++) {
		const uint64_t row = batch->first_row + b;

		if (batch->missing[b * batch->K + k] || !row_is_kept(key, row, c->halvings))
			continue;
		while (c->n_values == FIT_VALUES)
			column_thin(c, key);
		if (!row_is_kept(key, row, c->halvings))
			continue;
		if (c->n_values == c->capacity)
			RS_TRY(column_grow(c));
		c->value[c->n_values] = batch->dense[b * batch->K + k];
		c->row[c->n_values++] = row;
	}
	return RS_OK;
}

static enum rs_status
fit_add(void *context, const struct batch *batch, int *done)
{
	struct fit *const fit = context;

	(void)done;
	for (size_t k = 0; k < fit->n; k++) {
		if (fit->column[k].field.transform == TRANSFORM_STANDARDIZE)
			column_add_moments(&fit->column[k], batch, k);
		else
			RS_TRY(column_add_values(&fit->column[k], batch, k, fit->key));
	}
	return RS_OK;
}

static enum rs_status
fit_read(struct fit *fit)
{
	struct schema schema;
	const struct loader_options options = {
		.schema = &schema, .files = &fit->settings.data.train,
		.command = fit->settings.data.command, .purpose = PARSE_TRAIN,
		.batch_size = FIT_BATCH,
		.epochs = 1, .n_threads = (size_t)fit->settings.data.threads,
	};

	RS_TRY(schema_build(&fit->settings, &schema));
	const enum rs_status status = loader_each(&options, fit_add, fit, NULL);
	schema_free(&schema);
	return status;
}

static enum rs_status
fit_set(struct spec *spec, const struct field_settings *field, const char *key, const char *value)
{
	char section[600];

	if ((size_t)snprintf(section, sizeof section, "field %s", field->name) >= sizeof section)
		return rs_fail(RS_ESPEC, "the name of field '%.40s...' is too long", field->name);
	return spec_set(spec, section, key, value);
}

/* A constant or empty column is left as it is: its deviation counts as 1. */
static enum rs_status
fit_set_moments(struct spec *spec, const struct fit_column *c)
{
	const double deviation = c->n > 0 ? sqrt(c->square / (double)c->n) : 0;
	char text[32];

	RS_TRY(fit_set(spec, &c->field, "mean", number_print_double(text, c->mean)));
	return fit_set(spec, &c->field, "stddev",
		number_print_double(text, deviation > 0 ? deviation : 1));
}

static int
value_order(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Values at ranks i/q of the sorted column, each once. */
static enum rs_status
fit_set_boundaries(struct spec *spec, struct fit_column *c)
{
	const size_t q = c->field.quantiles > 1 ? (size_t)c->field.quantiles : 2;
	struct buffer list;
	enum rs_status status = RS_OK;
	const float *last = NULL;
	char text[32];

	if (c->n_values > 0)
		qsort(c->value, c->n_values, sizeof *c->value, value_order);
	buffer_init(&list, (size_t)1 << 24);
	for (size_t i = 1; i < q && c->n_values > 0 && status == RS_OK; i++) {
		const size_t rank = (size_t)((double)i * (double)c->n_values / (double)q);
		const float *value = &c->value[rank];

		if (last == NULL || *value > *last)
			status = buffer_printf(&list, "%s%s", last == NULL ? "" : ",",
				number_print_float(text, *value));
		last = value;
	}
	if (status == RS_OK)
		status = fit_set(spec, &c->field, "boundaries", list.n > 0 ? list.data : "0");
	buffer_free(&list);
	return status;
}

static enum rs_status
fit_write(struct fit *fit, struct spec *spec)
{
	for (size_t k = 0; k < fit->n; k++)
		RS_TRY(fit->column[k].field.transform == TRANSFORM_STANDARDIZE
			? fit_set_moments(spec, &fit->column[k])
			: fit_set_boundaries(spec, &fit->column[k]));
	return RS_OK;
}

/* Standard input would be used up by the pass. */
static enum rs_status
fit_check_input(const struct settings *s)
{
	if (*s->data.command != '\0')
		return RS_OK;
	for (size_t i = 0; i < s->data.train.n; i++)
		if (strcmp(s->data.train.item[i], "-") == 0) {
			(void)rs_fail(RS_ESPEC,
				"standard input can be read once, but fields need statistics");
			return rs_hint("give mean and stddev, or boundaries, in the spec");
		}
	return RS_OK;
}

/* A libffm row with a field that is not known is a bad row, so all are kept. */
static void
fit_keep_others(struct fit *fit, const struct settings *settings)
{
	if (settings->data.format != FORMAT_LIBFFM)
		return;
	for (size_t i = 0; i < settings->n_fields; i++)
		if (!field_needs_fit(&settings->field[i]) &&
		    settings->field[i].type != FIELD_CROSS)
			fit->field[fit->settings.n_fields++] = settings->field[i];
}

static enum rs_status
fit_open(struct fit *fit, const struct settings *settings, const struct text_list *files)
{
	static char none[1];

	RS_TRY(memory_alloc(settings->n_fields, sizeof *fit->field, &fit->field));
	RS_TRY(memory_alloc(settings->n_fields, sizeof *fit->column, &fit->column));
	for (size_t i = 0; i < settings->n_fields; i++) {
		if (!field_needs_fit(&settings->field[i]))
			continue;
		fit->column[fit->n].field = settings->field[i];
		fit->field[fit->n] = settings->field[i];
		fit->field[fit->n++].transform = TRANSFORM_NONE;
	}
	fit->settings = *settings;
	fit->settings.field = fit->field;
	fit->settings.n_fields = fit->n;
	if (files != NULL) {
		fit->settings.data.train = *files;
		fit->settings.data.command = none;
	}
	fit_keep_others(fit, settings);
	fit->key = rng_key((uint64_t)settings->train.seed, RNG_SAMPLE);
	return RS_OK;
}

static void
fit_close(struct fit *fit)
{
	for (size_t k = 0; fit->column != NULL && k < fit->n; k++) {
		free(fit->column[k].value);
		free(fit->column[k].row);
	}
	free(fit->column);
	free(fit->field);
}

enum rs_status
fit_run(struct spec *spec, const struct text_list *files)
{
	const struct settings *settings = spec_settings(spec);
	struct fit fit = { .n = 0 };
	enum rs_status status;

	if (!fit_needed(settings))
		return RS_OK;
	if (files == NULL)
		RS_TRY(fit_check_input(settings));
	status = fit_open(&fit, settings, files);
	if (status == RS_OK)
		status = fit_read(&fit);
	if (status == RS_OK)
		status = fit_write(&fit, spec);
	fit_close(&fit);
	return status;
}
