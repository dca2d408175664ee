/* A spec: loading, problems, access. */
#include "spec/spec.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec/spec_private.h"

enum rs_status
spec_add_problem(struct spec *spec, int is_error, const struct spec_place *place, const char *hint,
	const char *format, ...)
{
	struct spec_problem p = { .is_error = is_error, .line = place->line,
		.column = place->column };
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (spec->n_problems == spec->problem_capacity) {
		const size_t capacity = spec->problem_capacity > 0 ? 2 * spec->problem_capacity :
			16;
		struct spec_problem *grown = realloc(spec->problem, capacity * sizeof(*grown));

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory");
		spec->problem = grown;
		spec->problem_capacity = capacity;
	}
	RS_TRY(pool_text(&spec->pool, place->file != NULL ? place->file : "", place->file != NULL ?
		strlen(place->file) : 0, &p.file));
	RS_TRY(pool_text(&spec->pool, text, strlen(text), &p.text));
	if (hint != NULL)
		RS_TRY(pool_text(&spec->pool, hint, strlen(hint), &p.hint));
	spec->problem[spec->n_problems++] = p;
	spec->n_errors += is_error != 0;
	return RS_OK;
}

enum rs_status
spec_key_error(struct spec *spec, const char *section, const char *key, const char *hint,
	const char *format, ...)
{
	const struct spec_place place = spec_place(spec, section, key, SPEC_NO_FIELD);
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return spec_add_problem(spec, 1, &place, hint, "[%s] %s: %s", section, key, text);
}

enum rs_status
spec_field_problem(struct spec *spec, int is_error, const char *hint, size_t field,
	const char *key, const char *format, ...)
{
	const struct spec_place place = spec_place(spec, "field", key, field);
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return spec_add_problem(spec, is_error, &place, hint, "[field %s] %s: %s",
		spec->settings.field[field].name, key, text);
}

enum rs_status
spec_failure_to_problem(struct spec *spec, const struct spec_place *place, const char *prefix)
{
	struct rs_failure f;

	rs_failure_take(&f);
	if (f.status != RS_ESPEC)
		return rs_failure_put(&f);
	return spec_add_problem(spec, 1, place, f.hint[0] != '\0' ? f.hint : NULL, "%s%s%s",
		prefix != NULL ? prefix : "", prefix == NULL ? "" : f.text[0] == '\'' ? " = " :
		": ", f.text);
}

struct spec_origin *
spec_origin(const struct spec *spec, const struct option_row *row, size_t field)
{
	const size_t index = (size_t)(row - option_table);

	return field != SPEC_NO_FIELD ? &spec->field[field].origin[index] : &spec->origin[index];
}

void *
spec_base(const struct spec *spec, const struct option_row *row, size_t field)
{
	assert((strcmp(row->section, "field") == 0) == (field != SPEC_NO_FIELD));
	return field != SPEC_NO_FIELD ? (void *)&spec->settings.field[field] :
		(void *)(uintptr_t)&spec->settings;
}

int
spec_given(const struct spec *spec, const char *section, const char *key, size_t field)
{
	return spec_origin(spec, option_find(section, key), field)->place.file != NULL;
}

struct spec_place
spec_place(const struct spec *spec, const char *section, const char *key, size_t field)
{
	const struct spec_origin *origin = spec_origin(spec, option_find(section, key), field);

	if (origin->place.file == NULL && field != SPEC_NO_FIELD)
		return spec->field[field].place;
	return origin->place;
}

static enum rs_status
make(struct spec **out)
{
	const struct option_context context = { .base = "" };
	struct spec *spec = calloc(1, sizeof(*spec));
	struct option_context with_pool = context;
	enum rs_status status;

	*out = spec;
	if (spec == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	with_pool.pool = &spec->pool;
	spec->n_rows = option_count();
	status = pool_alloc(&spec->pool, spec->n_rows, sizeof(*spec->origin), &spec->origin);
	for (const struct option_row *row = option_table; status == RS_OK &&
		row->section != NULL; row++) {
		if (strcmp(row->section, "field") == 0)
			continue;
		option_clear(row, &spec->settings);
		if (row->dflt != NULL)
			status = option_read(row, row->dflt, &with_pool, &spec->settings);
	}
	return status;
}

/* The first error becomes the failure of the caller. */
static enum rs_status
first_error(const struct spec *spec, size_t from)
{
	for (size_t i = from; i < spec->n_problems; i++) {
		const struct spec_problem *p = &spec->problem[i];

		if (!p->is_error)
			continue;
		rs_fail_at(RS_ESPEC, p->file, p->line, p->column, "%s", p->text);
		return p->hint != NULL ? rs_hint("%s", p->hint) : RS_ESPEC;
	}
	return RS_OK;
}

static enum rs_status
finish(struct spec *spec, enum rs_status status)
{
	if (status == RS_OK) {
		spec_resolve(spec);
		status = spec_check_all(spec);
	}
	return status == RS_OK ? first_error(spec, 0) : status;
}

enum rs_status
spec_load(const struct spec_input *input, struct spec **out)
{
	struct spec *spec;
	enum rs_status status = make(out);

	spec = *out;
	if (status == RS_OK) {
		spec->lenient = input->lenient;
		spec->model_type = input->model_type;
		spec->environment = input->environment;
	}
	for (size_t i = 0; status == RS_OK && i < input->n_layers; i++)
		status = spec_read_file(spec, input->layer[i]);
	for (size_t i = 0; status == RS_OK && i < input->n_sets; i++)
		status = spec_read_set(spec, input->set[i]);
	status = spec != NULL ? finish(spec, status) : status;
	if (status != RS_OK && status != RS_ESPEC) {
		spec_free(spec);
		*out = NULL;
	}
	return status;
}

enum rs_status
spec_load_text(const char *text, const char *name, struct spec **out)
{
	enum rs_status status = make(out);

	if (status == RS_OK)
		status = spec_read_text(*out, text, strlen(text), name, "");
	status = *out != NULL ? finish(*out, status) : status;
	if (status != RS_OK && status != RS_ESPEC) {
		spec_free(*out);
		*out = NULL;
	}
	return status;
}

void
spec_free(struct spec *spec)
{
	if (spec == NULL)
		return;
	free(spec->settings.field);
	free(spec->field);
	free(spec->problem);
	pool_free(&spec->pool);
	free(spec);
}

const struct settings *
spec_settings(const struct spec *spec)
{
	return &spec->settings;
}

size_t
spec_n_problems(const struct spec *spec)
{
	return spec->n_problems;
}

const struct spec_problem *
spec_problem(const struct spec *spec, size_t i)
{
	return i < spec->n_problems ? &spec->problem[i] : NULL;
}

enum rs_status
spec_set(struct spec *spec, const char *section, const char *key, const char *value)
{
	const size_t problems = spec->n_problems, errors = spec->n_errors;
	struct spec_selection fields = { 0 };
	struct spec_assignment a = { .key = key, .value = value, .base = "",
		.serial = ++spec->serial,
		.place = { .file = "this run" } };
	const int is_field = strncmp(section, "field ", 6) == 0;
	enum rs_status status = RS_OK;

	if (is_field)
		status = spec_field_select(spec, section + 6, 1, 0, &a.place, &fields);
	if (status == RS_OK)
		status = spec_assign(spec, is_field ? "field" : section, &fields, &a);
	if (status == RS_OK && spec->n_errors == errors) {
		spec_resolve(spec);
		status = spec_check_all(spec);
	}
	if (status == RS_OK)
		status = first_error(spec, problems);
	spec->n_problems = problems;
	spec->n_errors = errors;
	return status;
}
