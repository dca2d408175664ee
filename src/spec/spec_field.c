/* The fields of a spec: names, ranges, finding and adding. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "spec/spec_private.h"

enum { NAME_BYTES = 100, RANGE_LENGTH = 100000, FIELDS_MAX = 100000 };

/* "C07": the text before its last number, the number, and how it is written. */
struct numbered {
	size_t  prefix;       /* bytes before the digits                             */
	int64_t number;
	size_t  digits;
};

static int
split_number(const char *text, size_t n, struct numbered *out)
{
	size_t at = n;

	while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	*out = (struct numbered){ .prefix = at, .digits = n - at };
	return n - at > 0 && n - at < 10 && number_i64(text + at, n - at, &out->number);
}

enum rs_status
spec_field_range(struct pool *pool, const char *text, char ***out, size_t *n)
{
	const char *dots = strstr(text, "..");
	struct numbered low, high;
	size_t width;

	*out = NULL;
	*n = 0;
	if (dots == NULL || !split_number(text, (size_t)(dots - text), &low) ||
	    !split_number(dots + 2, strlen(dots + 2), &high))
		return RS_OK;
	if (low.prefix != high.prefix || memcmp(text, dots + 2, low.prefix) != 0)
		return rs_fail(RS_ESPEC, "'%s': both ends of a range need the same text before "
			"the number", text);
	if (high.number < low.number)
		return rs_fail(RS_ESPEC, "'%s': the range runs backwards", text);
	if (high.number - low.number >= RANGE_LENGTH)
		return rs_fail(RS_ESPEC, "'%s': a range of more than %d", text, RANGE_LENGTH);
	width = low.digits > 1 && text[low.prefix] == '0' ? low.digits : 1;
	RS_TRY(pool_alloc(pool, (size_t)(high.number - low.number + 1), sizeof(**out), out));
	for (int64_t i = low.number; i <= high.number; i++, (*n)++)
		RS_TRY(pool_printf(pool, &(*out)[*n], "%.*s%0*lld", (int)low.prefix, text,
			(int)width,
			(long long)i));
	return RS_OK;
}

size_t
spec_field_find(const struct spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->settings.n_fields; i++)
		if (strcmp(spec->settings.field[i].name, name) == 0)
			return i;
	return SPEC_NO_FIELD;
}

static enum rs_status
check_name(const char *name)
{
	const size_t n = strlen(name);
	char escaped[72];

	rs_escape(escaped, name, n);
	if (n == 0)
		return rs_fail(RS_ESPEC, "a field needs a name, as in [field C1]");
	if (n > NAME_BYTES)
		return rs_fail(RS_ESPEC, "field '%s': a name of %zu bytes, at most %d are allowed",
			escaped, n,
			NAME_BYTES);
	for (size_t i = 0; i < n;) {
		const size_t length = ini_utf8_length(name + i, n - i);
		char character[72];

		rs_escape(character, name + i, length > 0 ? length : 1);
		if (length == 0 || (unsigned char)name[i] < 0x20 || name[i] == 0x7f ||
			name[i] == '/')
			return rs_fail(RS_ESPEC, "field '%s': the character '%s' is not allowed "
				"in a name", escaped,
				character);
		i += length;
	}
	return RS_OK;
}

static enum rs_status
grow(struct spec *spec)
{
	const size_t capacity = spec->field_capacity > 0 ? 2 * spec->field_capacity : 64;
	struct field_settings *settings;
	struct spec_field *field;

	if (spec->settings.n_fields < spec->field_capacity)
		return RS_OK;
	if (spec->settings.n_fields >= FIELDS_MAX)
		return rs_fail(RS_ESPEC, "more than %d fields", FIELDS_MAX);
	settings = realloc(spec->settings.field, capacity * sizeof(*settings));
	if (settings == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	spec->settings.field = settings;
	field = realloc(spec->field, capacity * sizeof(*field));
	if (field == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	spec->field = field;
	spec->field_capacity = capacity;
	return RS_OK;
}

static enum rs_status
add(struct spec *spec, const char *name, const struct spec_place *place, size_t *out)
{
	const struct option_context context = { .pool = &spec->pool, .base = "" };
	struct field_settings *settings;
	struct spec_field *field;

	RS_TRY(check_name(name));
	RS_TRY(grow(spec));
	*out = spec->settings.n_fields;
	settings = &spec->settings.field[*out];
	field = &spec->field[*out];
	*settings = (struct field_settings){ .file = place->file, .line = place->line };
	*field = (struct spec_field){ .place = *place };
	RS_TRY(pool_text(&spec->pool, name, strlen(name), &settings->name));
	RS_TRY(pool_alloc(&spec->pool, spec->n_rows, sizeof(*field->origin), &field->origin));
	for (const struct option_row *row = option_table; row->section != NULL; row++) {
		if (strcmp(row->section, "field") != 0)
			continue;
		option_clear(row, settings);
		if (row->dflt != NULL)
			RS_TRY(option_read(row, row->dflt, &context, settings));
	}
	spec->settings.n_fields++;
	return RS_OK;
}

static enum rs_status
no_such_field(const struct spec *spec, const char *name)
{
	const size_t n = spec->settings.n_fields;
	const char **names = calloc(n + 1, sizeof(*names)), *near;
	char escaped[72];

	if (names == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	for (size_t i = 0; i < n; i++)
		names[i] = spec->settings.field[i].name;
	near = spec_nearest(name, names, n);
	rs_fail(RS_ESPEC, "there is no field '%s'", rs_escape(escaped, name, strlen(name)));
	free(names);
	return near != NULL ? rs_hint("did you mean '%s'?", near) : RS_ESPEC;
}

enum rs_status
spec_field_select(struct spec *spec, const char *name, int quoted, int create,
	const struct spec_place *place, struct spec_selection *out)
{
	char **names = NULL, *single = NULL;
	size_t n = 0;

	*out = (struct spec_selection){ 0 };
	if (!quoted)
		RS_TRY(spec_field_range(&spec->pool, name, &names, &n));
	if (n == 0) {
		RS_TRY(pool_text(&spec->pool, name, strlen(name), &single));
		names = &single;
		n = 1;
	}
	RS_TRY(pool_alloc(&spec->pool, n, sizeof(*out->field), &out->field));
	for (size_t i = 0; i < n; i++) {
		size_t field = spec_field_find(spec, names[i]);

		if (field == SPEC_NO_FIELD && !create)
			return no_such_field(spec, names[i]);
		if (field == SPEC_NO_FIELD)
			RS_TRY(add(spec, names[i], place, &field));
		out->field[out->n++] = field;
	}
	return RS_OK;
}
