/* The sample spec: every key, its default and its text. */
#include <string.h>

#include "cmd/help.h"
#include "spec/option.h"

#define SAMPLE_MODEL "deepfm"

/* A sample that loads as it is needs these. */
static const struct { const char *section, *key, *value; } needed[] = {
	{ "model", "type", SAMPLE_MODEL }, { "data", "train", "train.tsv" },
	{ "data", "label", "1" },
	{ "field", "column", "2" },
};

static const char *
needed_value(const struct option_row *row)
{
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (strcmp(row->section, needed[i].section) == 0 && strcmp(row->key,
			needed[i].key) == 0)
			return needed[i].value;
	return NULL;
}

static enum rs_status
print_key(const struct option_row *row)
{
	const char *value = needed_value(row);

	RS_TRY(output_printf("\n# %s\n", row->text));
	if (row->choices != NULL)
		RS_TRY(output_printf("# one of: %s\n", row->choices));
	if (value != NULL)
		return output_printf("%s = %s\n", row->key, value);
	if (row->dflt != NULL)
		return output_printf("#%s = %s\n", row->key, row->dflt);
	if (row->inherits != NULL)
		return output_printf("# by default that of %s\n#%s =\n", row->inherits, row->key);
	return output_printf("# for example\n#%s = %s\n", row->key,
		row->example != NULL ? row->example : "");
}

/* Sections that the model of the sample does not use are behind # as a whole. */
static enum rs_status
print_heading(const struct option_section *s)
{
	RS_TRY(output_printf("\n# %s\n", s->text));
	if (s->models != NULL)
		RS_TRY(output_printf("# used by: %s\n", s->models));
	return output_printf("%s[%s%s]\n", option_section_concerns(s->name, SAMPLE_MODEL) ? "" :
		"#", s->name, strcmp(s->name, "field") == 0 ? " C1" : "");
}

enum rs_status
help_sample(void)
{
	RS_TRY(output_printf("# Every key of a spec.  Behind # stands the default, or an example "
		"where there is none.\n"));
	for (const struct option_section *s = option_section; s->name != NULL; s++) {
		RS_TRY(print_heading(s));
		for (const struct option_row *row = option_table; row->section != NULL; row++)
			if (strcmp(row->section, s->name) == 0)
				RS_TRY(print_key(row));
	}
	return RS_OK;
}
