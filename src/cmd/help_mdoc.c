/* Fragments of mdoc from the tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "cmd/help.h"
#include "models/models.h"
#include "spec/option.h"

/* One line of text: backslashes and what mdoc would take for a request. */
static enum rs_status
print_text(const char *text, int sentence)
{
	const size_t n = strlen(text);

	if (text[0] == '.' || text[0] == '\'')
		RS_TRY(output_printf("\\&"));
	for (size_t i = 0; i < n; i++) {
		const int upper = sentence && i == 0 && text[i] >= 'a' && text[i] <= 'z' &&
			text[1] != ':';

		if (text[i] == '\\')
			RS_TRY(output_printf("\\e"));
		else if (text[i] == '-' && (i == 0 || text[i - 1] == ' ' || text[i - 1] == '-'))
			RS_TRY(output_printf("\\-"));
		else
			RS_TRY(output_printf("%c", upper ? text[i] - ('a' - 'A') : text[i]));
	}
	if (!sentence)
		return RS_OK;
	return output_printf(n > 0 && text[n - 1] == '.' ? "\n" : ".\n");
}

/* An argument of a macro: quoted where a blank or a macro's name could break it. */
static enum rs_status
print_argument(const char *text)
{
	RS_TRY(output_printf("\""));
	for (; *text != '\0'; text++)
		RS_TRY(output_printf(*text == '"' ? "\"\"" : *text == '\\' ? "\\e" : "%c", *text));
	return output_printf("\"");
}

static enum rs_status
print_option(const struct command_option *o)
{
	const int optional = o->argument != NULL && o->argument[0] == '[';

	RS_TRY(output_printf(".It "));
	if (o->letter != 0)
		RS_TRY(output_printf("Fl %c , ", o->letter));
	RS_TRY(output_printf("Fl %s", o->name + 1));
	if (optional)
		RS_TRY(output_printf(" Ns Op = Ns Ar %.*s", (int)strcspn(o->argument + 1, "]"),
			o->argument + 1));
	else if (o->argument != NULL)
		RS_TRY(output_printf(" Ar %s", o->argument));
	RS_TRY(output_printf("\n"));
	RS_TRY(print_text(o->text, 1));
	if (o->dflt != NULL) {
		RS_TRY(output_printf("The default is "));
		RS_TRY(print_text(o->dflt, 0));
		RS_TRY(output_printf(".\n"));
	}
	return o->repeats ? output_printf("It may be given several times.\n") : RS_OK;
}

enum rs_status
help_mdoc_options(const struct command *command)
{
	const struct command_option *option = command != NULL ? command->option : command_global;

	if (option == NULL || option->name == NULL)
		return RS_OK;
	RS_TRY(output_printf(".Bl -tag -width Ds\n"));
	for (; option->name != NULL; option++)
		RS_TRY(print_option(option));
	return output_printf(".El\n");
}

static int
has_range(const struct option_row *row)
{
	return (row->type == OPTION_INT || row->type == OPTION_SIZE || row->type == OPTION_NUMBER ||
		row->type == OPTION_SECONDS || row->type == OPTION_INT_LIST) && row->max > row->min;
}

static enum rs_status
print_range(const struct option_row *row)
{
	char low[32], high[32];

	if (row->choices != NULL)
		return output_printf("One of %s.\n", row->choices);
	RS_TRY(output_printf("Type: %s", option_type_text(row->type)));
	if (has_range(row) && !isinf(row->min)) {
		number_print_double(low, row->min);
		number_print_double(high, row->max);
		RS_TRY(output_printf(", %s %s", row->above_min ? "above" : "from", low));
		if (!isinf(row->max))
			RS_TRY(output_printf(" to %s", high));
	}
	if (row->unit != NULL)
		RS_TRY(output_printf(", in %s", row->unit));
	return output_printf(".\n");
}

static enum rs_status
print_key(const struct option_row *row)
{
	RS_TRY(output_printf(".It Cm %s\n", row->key));
	RS_TRY(print_text(row->text, 1));
	RS_TRY(print_range(row));
	if (row->dflt != NULL) {
		RS_TRY(output_printf("Default:\n.Ql "));
		RS_TRY(print_argument(row->dflt));
		RS_TRY(output_printf(" .\n"));
	} else if (row->inherits != NULL) {
		RS_TRY(output_printf("Default: that of\n.Cm %s .\n", row->inherits));
	}
	if (row->is_free)
		RS_TRY(output_printf("A resumed run may have another.\n"));
	if (row->example != NULL) {
		RS_TRY(output_printf("Example:\n.Ql "));
		RS_TRY(print_argument(row->example));
		RS_TRY(output_printf(" .\n"));
	}
	return RS_OK;
}

enum rs_status
help_mdoc_keys(const char *section)
{
	int found = 0;

	for (const struct option_section *s = option_section; s->name != NULL; s++) {
		if (section != NULL && strcmp(section, s->name) != 0)
			continue;
		found = 1;
		if (section == NULL) {
			RS_TRY(output_printf(".Ss Section %s%s\n", s->name, strcmp(s->name,
				"field") == 0 ? " NAME" : ""));
			RS_TRY(print_text(s->text, 1));
			if (s->models != NULL)
				RS_TRY(output_printf("Used by %s.\n", s->models));
		}
		RS_TRY(output_printf(".Bl -tag -width Ds\n"));
		for (const struct option_row *row = option_table; row->section != NULL; row++)
			if (strcmp(row->section, s->name) == 0)
				RS_TRY(print_key(row));
		RS_TRY(output_printf(".El\n"));
	}
	return found ? RS_OK : rs_fail(RS_EUSAGE, "a spec has no section '%s'", section);
}

enum rs_status
help_mdoc_exit(void)
{
	RS_TRY(output_printf(".Bl -tag -width 128+N\n"));
	for (int i = 0; i < RS_N_STATUS; i++) {
		if (i == RS_ESIGNAL)
			RS_TRY(output_printf(".It 128+N\n"));
		else
			RS_TRY(output_printf(".It %d\n", rs_exit_code((enum rs_status)i)));
		RS_TRY(print_text(rs_status_text((enum rs_status)i), 1));
	}
	return output_printf(".El\n");
}

enum rs_status
help_mdoc_commands(void)
{
	RS_TRY(output_printf(".Bl -tag -width predict\n"));
	for (size_t i = 0; command_table[i] != NULL; i++) {
		RS_TRY(output_printf(".It Cm %s\n", command_table[i]->name));
		RS_TRY(print_text(command_table[i]->text, 1));
	}
	return output_printf(".El\n");
}

enum rs_status
help_mdoc_models(void)
{
	RS_TRY(output_printf(".Bl -tag -width two_tower\n"));
	for (const struct model_row *row = model_table; row->name != NULL; row++) {
		RS_TRY(output_printf(".It Cm %s\n", row->name));
		RS_TRY(print_text(row->text, 1));
		RS_TRY(print_text(row->source, 1));
	}
	return output_printf(".El\n");
}
