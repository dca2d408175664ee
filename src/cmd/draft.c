/* Lines of a spec that is being written. */
#include "cmd/draft.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "spec/value.h"

enum { COMMENT_COLUMN = 27 };

enum rs_status
draft_key(struct draft *d, const char *key, const char *value, const char *comment, ...)
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

enum rs_status
draft_section(struct draft *d, const char *name)
{
	return buffer_printf(&d->text, "\n[%s]\n", name);
}

enum rs_status
draft_field_section(struct draft *d, const char *name)
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

enum rs_status
draft_column(struct draft *d, const char *key, size_t column, const char *comment)
{
	const struct sample_column *c = &d->sample->column[column];
	char number[32];

	snprintf(number, sizeof(number), "%zu", column + 1);
	return draft_key(d, key, d->sample->has_header ? c->name : number, "%s", comment);
}

enum rs_status
draft_buckets(struct draft *d, uint64_t buckets, const char *comment)
{
	char number[32];

	snprintf(number, sizeof(number), buckets == (1u << 20) ? "1M" : buckets >= 1024 ? "%lluk" :
		"%llu", (unsigned long long)(buckets >= 1024 ? buckets / 1024 : buckets));
	return draft_key(d, "buckets", number, "%s", comment);
}

const char *
draft_separator(char c, char out[2])
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
