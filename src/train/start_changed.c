/* Keys that are not what they were when a run was interrupted. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "spec/option.h"
#include "train/start_private.h"

#define VALUE_LIMIT ((size_t)1 << 24)

/* The same key of two specs; of a field, of the field of one name in both. */
struct pair {
	const struct settings *saved, *now;
	const void *was, *is;          /* what the offsets of its rows are in        */
};

static int
is_equal(const struct option_row *row, const struct pair *p)
{
	return option_equal(row, p->was, row, p->is);
}

/* The key that it has its value from is told instead, if it changed. */
static int
is_inherited(const struct option_row *row, const struct pair *p)
{
	char section[64];
	const char *const dot = row->inherits != NULL ? strchr(row->inherits, '.') : NULL;
	const struct option_row *from;

	if (dot == NULL)
		return 0;
	snprintf(section, sizeof section, "%.*s", (int)(dot - row->inherits), row->inherits);
	from = option_find(section, dot + 1);
	return from != NULL && option_equal(row, p->was, from, p->saved)
		&& option_equal(row, p->is, from, p->now);
}

static enum rs_status
tell(const struct option_row *row, const char *section, const struct pair *p)
{
	struct buffer was, is;

	buffer_init(&was, VALUE_LIMIT);
	buffer_init(&is, VALUE_LIMIT);
	enum rs_status status = buffer_printf(&was, "%s", "");
	if (status == RS_OK)
		status = option_print(row, p->was, &was);
	if (status == RS_OK)
		status = buffer_printf(&is, "%s", "");
	if (status == RS_OK)
		status = option_print(row, p->is, &is);
	if (status == RS_OK)
		log_warn("resumed with %s.%s = %s, which was '%s' before: the result is not that "
			"of an undisturbed run", section, row->key, is.data, was.data);
	buffer_free(&was);
	buffer_free(&is);
	return status;
}

/* Rows of the table for one section of the model, "field" for p's field. */
static enum rs_status
tell_section(const char *of, const char *section, const struct pair *p)
{
	for (const struct option_row *row = option_table; row->section != NULL; row++)
		if (strcmp(row->section, of) == 0 && !row->is_free && !is_equal(row, p)
		    && !is_inherited(row, p))
			RS_TRY(tell(row, section, p));
	return RS_OK;
}

static enum rs_status
refuse_seed(const struct settings *saved, const struct settings *now)
{
	(void)rs_fail(RS_EDATA, "train.seed = %jd is not the one this run began with",
		(intmax_t)now->train.seed);
	return rs_hint("go on with --seed %jd, or start anew with --fresh",
		(intmax_t)saved->train.seed);
}

enum rs_status
start_tell_changed(const struct settings *saved, const struct settings *now)
{
	if (saved->train.seed != now->train.seed)
		return refuse_seed(saved, now);
	for (const struct option_section *s = option_section; s->name != NULL; s++)
		if (strcmp(s->name, "field") != 0
		    && option_section_concerns(s->name, now->model.type))
			RS_TRY(tell_section(s->name, s->name,
				&(struct pair){ saved, now, saved, now }));
	for (size_t i = 0; i < now->n_fields; i++) {
		const struct field_settings *const is = &now->field[i];
		const struct field_settings *const was = start_find_field(saved, is->name);
		char section[300];

		snprintf(section, sizeof section, "field %s", is->name);
		if (was != NULL)
			RS_TRY(tell_section("field", section,
				&(struct pair){ saved, now, was, is }));
	}
	return RS_OK;
}
