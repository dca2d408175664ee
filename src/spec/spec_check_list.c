/*
 * Rules on fields of several ids: lists, histories, crosses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "spec/spec_private.h"

/* The first sequence of the history of the field, the field itself if there is none. */
static size_t
first_of_history(const struct spec *spec, size_t field)
{
	const struct field_settings *const all = spec->settings.field;

	for (size_t i = 0; i < field; i++)
		if (all[i].type == FIELD_SEQUENCE &&
		    strcmp(all[i].history, all[field].history) == 0)
			return i;
	return field;
}

/* Sequences that go item by item are cut alike. */
static enum rs_status
check_history(struct spec *spec, size_t field)
{
	const size_t first = first_of_history(spec, field);
	const struct field_settings *const f = &spec->settings.field[field];
	const struct field_settings *const other = &spec->settings.field[first];

	if (first == field)
		return RS_OK;
	if (f->max_length != other->max_length)
		RS_TRY(spec_field_problem(spec, 1, NULL, field, "max_length",
			"%lld, but %lld for '%s', which is of the same history '%s'",
			(long long)f->max_length, (long long)other->max_length, other->name,
			f->history));
	if (f->unique || other->unique)
		RS_TRY(spec_field_problem(spec, 1, NULL, f->unique ? field : first, "unique",
			"items of '%s' and '%s' belong together, none can be left out of one",
			other->name, f->name));
	return RS_OK;
}

enum rs_status
spec_check_list(struct spec *spec, size_t field)
{
	const struct field_settings *const f = &spec->settings.field[field];

	if (f->type != FIELD_SEQUENCE)
		return RS_OK;
	if (*f->weight_separator != '\0')
		RS_TRY(spec_field_problem(spec, 1, NULL, field, "weight_separator",
			"items of a sequence have no weights; wanted type = multi"));
	return check_history(spec, field);
}

static enum rs_status
unknown_part(struct spec *spec, size_t field, const char *part)
{
	const struct settings *const s = &spec->settings;
	struct spec_place place = spec_place(spec, "field", "fields", field);
	const char **name, *near;
	char prefix[200];

	RS_TRY(memory_alloc(s->n_fields + 1, sizeof *name, &name));
	for (size_t i = 0; i < s->n_fields; i++)
		name[i] = s->field[i].name;
	near = spec_nearest(part, name, s->n_fields);
	rs_fail(RS_ESPEC, "there is no field '%s'", part);
	if (near != NULL)
		rs_hint("did you mean '%s'?", near);
	free(name);
	place.column = place.value_column;
	snprintf(prefix, sizeof prefix, "[field %s] fields", s->field[field].name);
	return spec_failure_to_problem(spec, &place, prefix);
}

static enum rs_status
check_part(struct spec *spec, size_t field, const char *name)
{
	const size_t i = spec_field_find(spec, name);
	const struct field_settings *const part = &spec->settings.field[i];

	if (i == SPEC_NO_FIELD)
		return unknown_part(spec, field, name);
	if (part->type == FIELD_CROSS)
		return spec_field_problem(spec, 1, NULL, field, "fields",
			i == field ? "'%s' cannot be crossed with itself"
				   : "'%s' is a cross; name its fields instead",
			name);
	if (part->type == FIELD_NUMERIC && part->transform != TRANSFORM_BUCKETIZE)
		return spec_field_problem(spec, 1, NULL, field, "fields",
			"'%s' is numeric; wanted ids, as from transform = bucketize", name);
	return RS_OK;
}

enum rs_status
spec_check_cross(struct spec *spec, size_t field)
{
	const struct field_settings *const f = &spec->settings.field[field];
	const struct text_list *const parts = &f->fields;

	if (f->type != FIELD_CROSS)
		return RS_OK;
	if (parts->n < 2)
		return spec_field_problem(spec, 1, NULL, field, "fields",
			"%zu field%s named, wanted two or more", parts->n,
			parts->n == 1 ? " is" : "s are");
	for (size_t i = 0; i < parts->n; i++) {
		for (size_t k = 0; k < i; k++)
			if (strcmp(parts->item[i], parts->item[k]) == 0)
				return spec_field_problem(spec, 1, NULL, field, "fields",
					"'%s' is named twice", parts->item[i]);
		RS_TRY(check_part(spec, field, parts->item[i]));
	}
	return RS_OK;
}
