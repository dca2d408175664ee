/* What a run that goes on from a model takes over from its spec, and what it refuses. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "spec/option.h"
#include "train/checkpoint.h"
#include "train/start_private.h"

#define LIST_LIMIT ((size_t)1 << 24)

/* --- statistics of transforms: fixed by the first run ---------------------- */

static enum rs_status
set_number(struct spec *spec, const char *section, const char *key, double value)
{
	char text[32];

	return spec_set(spec, section, key, number_print_double(text, value));
}

static enum rs_status
set_numbers(struct spec *spec, const char *section, const char *key, const struct number_list *list)
{
	struct buffer text;
	enum rs_status status = RS_OK;
	char number[32];

	buffer_init(&text, LIST_LIMIT);
	for (size_t i = 0; status == RS_OK && i < list->n; i++)
		status =
			buffer_printf(&text, "%s%s", i > 0 ? "," : "",
				number_print_double(number, list->item[i]));
	if (status == RS_OK)
		status = spec_set(spec, section, key, text.data);
	buffer_free(&text);
	return status;
}

static enum rs_status
adopt_field(struct spec *spec, const struct field_settings *to, const struct field_settings *from)
{
	const int needs_mean = to->transform == TRANSFORM_STANDARDIZE && to->stddev == 0;
	const int needs_boundaries = to->transform == TRANSFORM_BUCKETIZE && to->boundaries.n == 0;
	char section[300];

	snprintf(section, sizeof section, "field %s", from->name);
	if (needs_mean && from->stddev > 0) {
		RS_TRY(set_number(spec, section, "mean", from->mean));
		RS_TRY(set_number(spec, section, "stddev", from->stddev));
	}
	if (needs_boundaries && from->boundaries.n > 0)
		RS_TRY(set_numbers(spec, section, "boundaries", &from->boundaries));
	return RS_OK;
}

const struct field_settings *
start_find_field(const struct settings *s, const char *name)
{
	for (size_t f = 0; f < s->n_fields; f++)
		if (strcmp(s->field[f].name, name) == 0)
			return &s->field[f];
	return NULL;
}

/* --- fields that came and went ----------------------------------------------- */

static enum rs_status
take_new_field(const struct field_settings *f, const struct train_options *train)
{
	if (!train->allow_new_fields) {
		(void)rs_fail(RS_ESPEC, "field '%s' is not in the model '%s'", f->name,
			train->resume ? train->directory : train->from);
		return rs_hint("--allow-new-fields lets it start fresh, the rest goes on");
	}
	log_warn("field '%s' is new: it starts fresh", f->name);
	return RS_OK;
}

static enum rs_status
adopt_fields(struct spec *spec, const struct settings *saved, const struct train_options *train)
{
	for (size_t f = 0; f < spec_settings(spec)->n_fields; f++) {
		const struct field_settings *const to = &spec_settings(spec)->field[f];
		const struct field_settings *const from = start_find_field(saved, to->name);

		RS_TRY(from == NULL ? take_new_field(to, train) : adopt_field(spec, to, from));
	}
	for (size_t f = 0; f < saved->n_fields; f++)
		if (start_find_field(spec_settings(spec), saved->field[f].name) == NULL)
			log_warn("field '%s' is not in the spec: what was learned of it stays in "
				"the versions", saved->field[f].name);
	return RS_OK;
}

/* --- fields that are not what they were ----------------------------------------- */

static enum rs_status
fail_changed(const char *field, const char *key, const char *before, const char *now)
{
	(void)rs_fail(RS_ESPEC, "field '%s': %s is %s in the model saved, %s in the spec", field,
		key, before, now);
	return rs_hint("keep %s = %s, or train a new model with --fresh", key, before);
}

static enum rs_status
check_number(const char *field, const char *key, uint64_t before, uint64_t now)
{
	char a[24], b[24];

	if (before == now)
		return RS_OK;
	snprintf(a, sizeof a, "%" PRIu64, before);
	snprintf(b, sizeof b, "%" PRIu64, now);
	return fail_changed(field, key, a, b);
}

/* A key of any section, by how it is written. */
static enum rs_status
check_option(const char *field, const struct option_row *row, const char *key, const void *from,
	const void *to)
{
	struct buffer before, now;
	enum rs_status status;

	buffer_init(&before, LIST_LIMIT);
	buffer_init(&now, LIST_LIMIT);
	status = option_print(row, from, &before);
	if (status == RS_OK)
		status = option_print(row, to, &now);
	if (status == RS_OK && strcmp(before.data, now.data) != 0)
		status = fail_changed(field, key, before.data, now.data);
	buffer_free(&before);
	buffer_free(&now);
	return status;
}

/* Keys of the field whose values are words. */
static enum rs_status
check_word(const char *field, const char *key, const struct field_settings *from,
	const struct field_settings *to)
{
	return check_option(field, option_find("field", key), key, from, to);
}

static enum rs_status
check_table(const char *field, const struct schema_table *from, const struct schema_table *to)
{
	if (from->kind != to->kind)
		return check_word(field, "table", from->settings, to->settings);
	RS_TRY(check_number(field,
		to->settings->type == FIELD_NUMERIC ? "quantiles" : "buckets", from->rows,
		to->rows));
	return check_number(field, "rounds", from->rounds, to->rounds);
}

static enum rs_status
check_field(const struct schema *was, const struct schema_field *from, const struct schema *is,
	const struct schema_field *to, const struct train_options *train)
{
	const struct field_settings *const before = from->settings, *const now = to->settings;

	RS_TRY(check_word(to->name, "type", before, now));
	if (from->is_dense != to->is_dense)
		RS_TRY(check_word(to->name, "transform", before, now));
	RS_TRY(check_number(to->name, "dim", from->dim, to->dim));
	if (to->is_dense)
		return RS_OK;
	RS_TRY(check_word(to->name, "share", before, now));
	RS_TRY(check_table(to->name, &was->table[from->table], &is->table[to->table]));
	if (is->table[to->table].rounds > 1)
		RS_TRY(check_option(to->name, option_find("embedding", "round_scale"),
			"embedding.round_scale", was->settings, is->settings));
	return train->reset_optimizer && !train->resume ? RS_OK
		: check_word(to->name, "optimizer", before, now);
}

static enum rs_status
check_fields(const struct schema *was, const struct schema *is, const struct train_options *train)
{
	for (size_t i = 0; i < is->n_fields; i++)
		for (size_t k = 0; k < was->n_fields; k++)
			if (strcmp(is->field[i].name, was->field[k].name) == 0)
				RS_TRY(check_field(was, &was->field[k], is, &is->field[i], train));
	return RS_OK;
}

static enum rs_status
check_schemas(const struct settings *saved, const struct settings *now,
	const struct train_options *train)
{
	struct schema was, is;

	RS_TRY(schema_build(saved, &was));
	enum rs_status status = schema_build(now, &is);
	if (status == RS_OK) {
		status = check_fields(&was, &is, train);
		schema_free(&is);
	}
	schema_free(&was);
	return status;
}

enum rs_status
start_adopt(struct spec *spec, const struct train_options *train, uint64_t version)
{
	struct spec *saved;

	RS_TRY(checkpoint_spec(train->resume ? train->directory : train->from, version, &saved));
	enum rs_status status = adopt_fields(spec, spec_settings(saved), train);
	if (status == RS_OK)
		status = check_schemas(spec_settings(saved), spec_settings(spec), train);
	if (status == RS_OK && train->resume)
		status = start_tell_changed(spec_settings(saved), spec_settings(spec));
	spec_free(saved);
	return status;
}
