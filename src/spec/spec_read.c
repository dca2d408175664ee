/* From INI entries and -o texts to assignments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "spec/spec_private.h"
#include "spec/value.h"

enum { INCLUDE_DEPTH = 16, NAMES_MAX = 256 };

#define SPEC_BYTES_MAX ((size_t)16 << 20)

/* The files that are being read, for the cycle check. */
struct chain {
	const struct chain *outer;
	dev_t device;
	ino_t inode;
	size_t depth;
};

struct reading {
	struct spec *spec;
	const struct chain *chain;
	const char *file, *base;
	unsigned serial;
	const char *section;                  /* NULL: before the first             */
	int skip;                             /* the section is not known           */
	struct spec_selection fields;
};

static enum rs_status read_path(struct spec *spec, const char *path, const struct chain *outer);

/* Keys of a section, for the nearest name. */
static size_t
collect_keys(const char *section, const char *names[NAMES_MAX])
{
	size_t n = 0;

	for (const struct option_row *row = option_table; row->section != NULL &&
		n < NAMES_MAX; row++)
		if (strcmp(row->section, section) == 0)
			names[n++] = row->key;
	return n;
}

static enum rs_status
unknown_key(struct spec *spec, const char *section, const struct spec_assignment *a)
{
	const char *names[NAMES_MAX], *near;
	const size_t n = collect_keys(section, names);
	char hint[200] = "";

	near = spec_nearest(a->key, names, n);
	if (near != NULL)
		snprintf(hint, sizeof(hint), "did you mean '%s'?", near);
	for (const struct option_row *row = option_table; near == NULL &&
		row->section != NULL; row++)
		if (strcmp(row->key, a->key) == 0 && strcmp(row->section, "field") != 0)
			snprintf(hint, sizeof(hint), "'%s' is a key of [%s]", a->key, row->section);
	if (strcmp(a->key, "include") == 0)
		snprintf(hint, sizeof(hint), "include goes before the first section");
	return spec_add_problem(spec, !spec->lenient, &a->place, hint[0] != '\0' ? hint : NULL,
		"[%s] %s: unknown key", section, a->key);
}

/* field: number of the field or SPEC_NO_FIELD. */
static enum rs_status
assign_one(struct spec *spec, const struct option_row *row, size_t field,
	const struct spec_assignment *a,
	const char *value)
{
	struct spec_origin *origin = spec_origin(spec, row, field);
	struct spec_place  place = a->place;
	const struct option_context context = { .pool = &spec->pool, .base = a->base,
		.environment = spec->environment, .append = a->append };
	char name[160], prefix[360];
	enum rs_status status;

	if (field != SPEC_NO_FIELD)
		snprintf(name, sizeof(name), "field %s", spec->settings.field[field].name);
	snprintf(prefix, sizeof(prefix), "[%s] %s", field != SPEC_NO_FIELD ? name : row->section,
		row->key);
	if (a->append && !option_is_list(row))
		return spec_add_problem(spec, 1, &place, "write = instead of +=",
			"%s is not a list", prefix);
	if (!a->append && origin->serial == a->serial)
		return spec_add_problem(spec, 1, &place, option_is_list(row) ?
			"+= adds to a list" : NULL, "%s: given twice, first in line %zu", prefix,
			origin->place.line);
	origin->serial = a->serial;
	origin->place = a->place;
	status = option_read(row, value, &context, spec_base(spec, row, field));
	place.column = place.value_column;
	return status == RS_OK ? RS_OK : spec_failure_to_problem(spec, &place, prefix);
}

static enum rs_status
assign_fields(struct spec *spec, const struct option_row *row, const struct spec_selection *fields,
	const struct spec_assignment *a)
{
	char **values = NULL;
	size_t n = 0;

	if (strcmp(row->key, "column") == 0)
		RS_TRY(spec_field_range(&spec->pool, a->value, &values, &n));
	if (n > 0 && n != fields->n)
		return rs_fail(RS_ESPEC, "'%s': a range of %zu for %zu fields", a->value, n,
			fields->n);
	if (n == 0 && strcmp(row->key, "column") == 0 && fields->n > 1)
		return rs_fail(RS_ESPEC, "'%s': one column for %zu fields, a range A..B is wanted",
			a->value, fields->n);
	for (size_t i = 0; i < fields->n; i++) {
		const size_t problems = spec->n_problems;

		RS_TRY(assign_one(spec, row, fields->field[i], a, n > 0 ? values[i] : a->value));
		if (spec->n_problems > problems)       /* once, not for each of the range */
			break;
	}
	return RS_OK;
}

enum rs_status
spec_assign(struct spec *spec, const char *section, const struct spec_selection *fields,
	const struct spec_assignment *a)
{
	const struct option_row *row = option_find(section, a->key);
	struct spec_place place = a->place;
	char prefix[200];
	enum rs_status status;

	if (row == NULL)
		return unknown_key(spec, section, a);
	if (strcmp(section, "field") != 0)
		return assign_one(spec, row, SPEC_NO_FIELD, a, a->value);
	status = assign_fields(spec, row, fields, a);
	if (status == RS_OK)
		return RS_OK;
	snprintf(prefix, sizeof(prefix), "[field] %s", a->key);
	place.column = place.value_column;
	return spec_failure_to_problem(spec, &place, prefix);
}

static enum rs_status
unknown_section(struct spec *spec, const char *section, const struct spec_place *place)
{
	const char *names[NAMES_MAX], *near;
	char hint[200] = "";
	size_t n = 0;

	while (option_section[n].name != NULL && n < NAMES_MAX) {
		names[n] = option_section[n].name;
		n++;
	}
	near = spec_nearest(section, names, n);
	if (near != NULL)
		snprintf(hint, sizeof(hint), "did you mean '%s'?", near);
	return spec_add_problem(spec, !spec->lenient, place, near != NULL ? hint : NULL,
		"[%s]: unknown section", section);
}

static int
is_section(const char *name)
{
	for (const struct option_section *s = option_section; s->name != NULL; s++)
		if (strcmp(s->name, name) == 0)
			return 1;
	return 0;
}

static enum rs_status
begin_fields(struct reading *r, const struct ini_entry *e, const struct spec_place *place)
{
	struct spec *spec = r->spec;
	enum rs_status status;

	status = spec_field_select(spec, e->name != NULL ? e->name : "", e->quoted, 1, place,
		&r->fields);
	if (status != RS_OK) {
		r->skip = 1;
		return spec_failure_to_problem(spec, place, NULL);
	}
	for (size_t i = 0; i < r->fields.n; i++) {
		struct spec_field *field = &spec->field[r->fields.field[i]];

		if (field->serial == r->serial) {
			r->skip = 1;
			return spec_add_problem(spec, 1, place,
				"a run layer or -o changes single keys",
				"[field %s] is in the file twice, first in line %zu",
				spec->settings.field[r->fields.field[i]].name, field->place.line);
		}
		field->serial = r->serial;
		field->place = *place;
	}
	return RS_OK;
}

/* "tower user" of [tower user]: some sections have two words. */
static enum rs_status
full_section(struct pool *pool, const struct ini_entry *e, const char **out)
{
	char text[300], *copy;

	*out = e->section;
	if (e->name == NULL)
		return RS_OK;
	const int n = snprintf(text, sizeof(text), "%s %s", e->section, e->name);
	RS_TRY(pool_text(pool, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1, &copy));
	*out = copy;
	return RS_OK;
}

static enum rs_status
begin_section(struct reading *r, const struct ini_entry *e)
{
	const struct spec_place place = { r->file, e->line, e->column, e->column };

	r->section = e->section != NULL ? e->section : "";
	r->skip = 0;
	if (e->section == NULL) {                     /* was reported already          */
		r->skip = 1;
		return RS_OK;
	}
	if (strcmp(e->section, "field") == 0)
		return begin_fields(r, e, &place);
	RS_TRY(full_section(&r->spec->pool, e, &r->section));
	if (is_section(r->section))
		return RS_OK;
	r->skip = is_section(e->section) == 0;
	if (r->skip)
		return unknown_section(r->spec, r->section, &place);
	r->section = e->section;
	return spec_add_problem(r->spec, 1, &place, NULL, "[%s] takes no name", e->section);
}

static enum rs_status
include(struct reading *r, const struct ini_entry *e, const struct spec_place *place)
{
	struct spec *spec = r->spec;
	char *name, *path = NULL;
	enum rs_status status;

	if (r->chain == NULL)
		return spec_add_problem(spec, 1, place, NULL, "include is not possible here");
	if (r->chain->depth >= INCLUDE_DEPTH)
		return spec_add_problem(spec, 1, place, NULL,
			"more than %d files include one another", INCLUDE_DEPTH);
	status = value_scalar(e->value, strlen(e->value), &spec->pool, &name);
	if (status != RS_OK)
		return spec_failure_to_problem(spec, place, "include");
	RS_TRY(file_join(r->base, name, &path));
	status = read_path(spec, path, r->chain);
	free(path);
	return status == RS_ESPEC ? spec_failure_to_problem(spec, place, "include") : status;
}

static enum rs_status
take_entry(struct reading *r, const struct ini_entry *e)
{
	const struct spec_assignment a = { .key = e->key, .value = e->value, .append = e->append,
		.base = r->base, .serial = r->serial,
		.place = { r->file, e->line, e->column, e->value_column } };

	if (e->kind == INI_PROBLEM)
		return spec_add_problem(r->spec, 1, &a.place, e->hint, "%s", e->text);
	if (e->kind == INI_SECTION)
		return begin_section(r, e);
	if (r->skip)
		return RS_OK;
	if (r->section == NULL && strcmp(e->key, "include") == 0)
		return include(r, e, &a.place);
	if (r->section == NULL)
		return spec_add_problem(r->spec, 1, &a.place, NULL,
			"'%s' stands before the first section", e->key);
	return spec_assign(r->spec, r->section, &r->fields, &a);
}

static enum rs_status
read_text(struct spec *spec, const char *text, size_t n, const char *file, const char *base,
	const struct chain *chain)
{
	struct reading r = { .spec = spec, .chain = chain, .file = file, .base = base,
		.serial = ++spec->serial };
	struct ini ini;
	enum rs_status status;

	status = ini_read(text, n, &spec->pool, &ini);
	for (size_t i = 0; status == RS_OK && i < ini.n; i++)
		status = take_entry(&r, &ini.entry[i]);
	free(ini.entry);
	return status;
}

enum rs_status
spec_read_text(struct spec *spec, const char *text, size_t n, const char *file, const char *base)
{
	char *name, *directory;

	RS_TRY(pool_text(&spec->pool, file, strlen(file), &name));
	RS_TRY(pool_text(&spec->pool, base, strlen(base), &directory));
	return read_text(spec, text, n, name, directory, NULL);
}

/* A file that is too long is a problem of the spec, then *text is NULL; an included
 * one is a problem of its include. */
static enum rs_status
read_bytes(struct spec *spec, const char *path, int is_included, char **text, size_t *n)
{
	const struct spec_place place = { .file = path, .line = 1, .column = 1 };
	const enum rs_status status = file_read(path, SPEC_BYTES_MAX, text, n);
	struct rs_failure failure;

	if (status != RS_EDATA)
		return status;
	rs_failure_take(&failure);
	failure.status = RS_ESPEC;
	rs_failure_put(&failure);
	return is_included ? RS_ESPEC : spec_failure_to_problem(spec, &place, NULL);
}

static enum rs_status
read_path(struct spec *spec, const char *path, const struct chain *outer)
{
	struct chain here = { .outer = outer, .depth = outer != NULL ? outer->depth + 1 : 0 };
	struct stat st;
	const char *slash = strrchr(path, '/');
	char  *text, *name, *base;
	size_t n;
	enum rs_status status;

	if (stat(path, &st) == 0) {
		here.device = st.st_dev;
		here.inode = st.st_ino;
	}
	for (const struct chain *c = outer; c != NULL; c = c->outer)
		if (c->device == here.device && c->inode == here.inode)
			return rs_fail(RS_ESPEC, "'%s' includes itself", path);
	RS_TRY(pool_text(&spec->pool, path, strlen(path), &name));
	RS_TRY(read_bytes(spec, name, outer != NULL, &text, &n));
	if (text == NULL)
		return RS_OK;
	status = pool_text(
		&spec->pool, path, slash != NULL ? (size_t)(slash - path) + 1 : 0, &base);
	if (status == RS_OK)
		status = read_text(spec, text, n, name, base, &here);
	free(text);
	return status;
}

enum rs_status
spec_read_file(struct spec *spec, const char *path)
{
	return read_path(spec, path, NULL);
}

/* A -o text: "section.key=value", "field NAME.key=value", "field \"odd\".key=value". */
struct set_parts { char *section, *field, *key; const char *value; int quoted, append; };

static enum rs_status
bad_set(const char *set)
{
	char escaped[72];

	rs_fail(RS_ESPEC, "'%s' is not SECTION.KEY=VALUE", rs_escape(escaped, set, strlen(set)));
	return rs_hint("for example train.epochs=2 or 'field C1.buckets=10k'");
}

/* The name of "field NAME.key" at text; *key_at is the byte behind the dot. */
static enum rs_status
split_field(struct spec *spec, const char *set, const char *text, const char *end,
	struct set_parts *out,
	const char **key_at)
{
	const char *dot = NULL;

	text += strspn(text, " \t");
	if (*text == '"' || *text == '\'') {
		const size_t n = value_quoted_length(text, strlen(text));

		if (n == 0 || text[n] != '.')
			return bad_set(set);
		out->quoted = 1;
		*key_at = text + n + 1;
		return value_scalar(text, n, &spec->pool, &out->field);
	}
	for (const char *at = text; at < end; at++)
		if (*at == '.')
			dot = at;
	if (dot == NULL)
		return bad_set(set);
	*key_at = dot + 1;
	return pool_text(&spec->pool, text, (size_t)(dot - text), &out->field);
}

static enum rs_status
split_set(struct spec *spec, const char *set, struct set_parts *out)
{
	size_t section = strcspn(set, ". =");
	if (set[section] == ' ' && strncmp(set, "field ", 6) != 0)
		section = strcspn(set, ".=");
	const char *key = set + section + 1, *equals = strchr(set, '=');
	size_t n;

	*out = (struct set_parts){ 0 };
	if (equals == NULL || set[section] == '\0' || set[section] == '=')
		return bad_set(set);
	RS_TRY(pool_text(&spec->pool, set, section, &out->section));
	if (set[section] == ' ') {
		RS_TRY(split_field(spec, set, key, equals, out, &key));
		equals = strchr(key, '=');
		if (equals == NULL)
			return bad_set(set);
	}
	n = (size_t)(equals - key);
	if (n > 0 && key[n - 1] == '+') {
		out->append = 1;
		n--;
	}
	while (n > 0 && key[n - 1] == ' ')
		n--;
	if (n == 0)
		return bad_set(set);
	out->value = equals + 1 + strspn(equals + 1, " \t");
	return pool_text(&spec->pool, key, n, &out->key);
}

enum rs_status
spec_read_set(struct spec *spec, const char *set)
{
	const struct spec_place place = { .file = "command line" };
	struct spec_selection fields = { 0 };
	struct set_parts parts;
	struct spec_assignment a;
	enum rs_status status;

	status = split_set(spec, set, &parts);
	if (status == RS_OK && !is_section(parts.section))
		return unknown_section(spec, parts.section, &place);
	if (status == RS_OK && (parts.field != NULL) != (strcmp(parts.section, "field") == 0))
		status = bad_set(set);
	if (status == RS_OK && parts.field != NULL)
		status = spec_field_select(spec, parts.field, parts.quoted, 0, &place, &fields);
	if (status != RS_OK)
		return spec_failure_to_problem(spec, &place, NULL);
	a = (struct spec_assignment){ .key = parts.key, .value = parts.value,
		.append = parts.append,
		.base = "", .serial = ++spec->serial, .place = place };
	return spec_assign(spec, parts.section, &fields, &a);
}
