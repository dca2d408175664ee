/* The resolved spec in its own dialect. */
#include <stdio.h>
#include <string.h>

#include "spec/spec_private.h"
#include "spec/value.h"

/* Not given, and in a section that the model does not use. */
static int
is_idle(const struct spec *spec, const struct option_row *row, size_t field)
{
	return spec_origin(spec, row, field)->place.file == NULL &&
		!option_section_concerns(row->section, spec->settings.model.type);
}

/* Keys that follow from others, and those that mean nothing here, stay away:
 * read back, they would count as given. */
static int
is_printed(const struct spec *spec, const struct option_row *row, size_t field)
{
	const int given = spec_origin(spec, row, field)->place.file != NULL;
	const enum field_type type = field != SPEC_NO_FIELD ? spec->settings.field[field].type : 0;

	if (given)
		return !option_is_unset(row, spec_base(spec, row, field)) || row->dflt != NULL ||
			option_is_list(row);
	if (row->inherits != NULL || row->dflt == NULL || is_idle(spec, row, field))
		return 0;
	return row->types == 0 || row->types >> type & 1;
}

static int
is_bare_name(const char *name)
{
	for (size_t i = 0; name[i] != '\0'; i++)
		if (!ini_is_name_byte((unsigned char)name[i]))
			return 0;
	return strstr(name, "..") == NULL;
}

static enum rs_status
print_field_name(struct buffer *out, const char *name)
{
	if (is_bare_name(name))
		return buffer_printf(out, "%s", name);
	RS_TRY(buffer_printf(out, "\""));
	for (size_t i = 0; name[i] != '\0'; i++)
		RS_TRY(buffer_printf(out, strchr("\"\\", name[i]) != NULL ? "\\%c" : "%c",
			name[i]));
	return buffer_printf(out, "\"");
}

static enum rs_status
print_keys(const struct spec *spec, const char *section, size_t field, struct buffer *out)
{
	for (const struct option_row *row = option_table; row->section != NULL; row++) {
		if (strcmp(row->section, section) != 0 || !is_printed(spec, row, field))
			continue;
		RS_TRY(buffer_printf(out, "%s = ", row->key));
		RS_TRY(option_print(row, spec_base(spec, row, field), out));
		RS_TRY(buffer_printf(out, "\n"));
	}
	return RS_OK;
}

/* The section has a key to print, or is one of the model's. */
static int
is_section_printed(const struct spec *spec, const char *section)
{
	for (const struct option_row *row = option_table; row->section != NULL; row++)
		if (strcmp(row->section, section) == 0 && is_printed(spec, row, SPEC_NO_FIELD))
			return 1;
	return option_section_concerns(section, spec->settings.model.type);
}

static enum rs_status
print_section(const struct spec *spec, const char *section, struct buffer *out)
{
	if (strcmp(section, "field") != 0) {
		if (!is_section_printed(spec, section))
			return RS_OK;
		RS_TRY(buffer_printf(out, "[%s]\n", section));
		return print_keys(spec, section, SPEC_NO_FIELD, out);
	}
	for (size_t i = 0; i < spec->settings.n_fields; i++) {
		RS_TRY(buffer_printf(out, "[field "));
		RS_TRY(print_field_name(out, spec->settings.field[i].name));
		RS_TRY(buffer_printf(out, "]\n"));
		RS_TRY(print_keys(spec, section, i, out));
	}
	return RS_OK;
}

/* "ctr.ini:14", padded, then the key and its value. */
static enum rs_status
print_origin(const struct spec *spec, const struct option_row *row, size_t field,
	struct buffer *out)
{
	const struct spec_place *place = &spec_origin(spec, row, field)->place;
	char origin[400] = "default", key[300];

	if (is_idle(spec, row, field) ||
	    (place->file == NULL && option_is_unset(row, spec_base(spec, row, field))))
		return RS_OK;
	if (place->file == NULL && field != SPEC_NO_FIELD && row->types != 0 &&
	    !(row->types >> spec->settings.field[field].type & 1))
		return RS_OK;
	if (place->file != NULL && place->line > 0)
		snprintf(origin, sizeof(origin), "%s:%zu", place->file, place->line);
	else if (place->file != NULL)
		snprintf(origin, sizeof(origin), "%s", place->file);
	else if (row->inherits != NULL)
		snprintf(origin, sizeof(origin), "%s", row->inherits);
	if (field != SPEC_NO_FIELD)
		snprintf(key, sizeof(key), "field %s.%s", spec->settings.field[field].name,
			row->key);
	else
		snprintf(key, sizeof(key), "%s.%s", row->section, row->key);
	RS_TRY(buffer_printf(out, "%-22s %-30s = ", origin, key));
	RS_TRY(option_print(row, spec_base(spec, row, field), out));
	return buffer_printf(out, "\n");
}

static enum rs_status
print_origins(const struct spec *spec, struct buffer *out)
{
	for (const struct option_row *row = option_table; row->section != NULL; row++)
		if (strcmp(row->section, "field") != 0)
			RS_TRY(print_origin(spec, row, SPEC_NO_FIELD, out));
	for (size_t i = 0; i < spec->settings.n_fields; i++)
		for (const struct option_row *row = option_table; row->section != NULL; row++)
			if (strcmp(row->section, "field") == 0)
				RS_TRY(print_origin(spec, row, i, out));
	return RS_OK;
}

enum rs_status
spec_print(const struct spec *spec, int with_origin, struct buffer *out)
{
	if (with_origin)
		return print_origins(spec, out);
	for (const struct option_section *s = option_section; s->name != NULL; s++)
		RS_TRY(print_section(spec, s->name, out));
	return RS_OK;
}
