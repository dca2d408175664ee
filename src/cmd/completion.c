/* `completion bash|zsh|fish`: from the tables of commands, options and keys. */
#include <string.h>

#include "cmd/command.h"
#include "cmd/help.h"
#include "spec/option.h"

static enum rs_status
print_words(const struct command_option *option, const char *between)
{
	for (; option != NULL && option->name != NULL; option++)
		RS_TRY(output_printf("%s%s", option->name, between));
	return RS_OK;
}

static enum rs_status
print_command_names(void)
{
	for (size_t i = 0; command_table[i] != NULL; i++)
		RS_TRY(output_printf("%s%s", i > 0 ? " " : "", command_table[i]->name));
	return RS_OK;
}

static enum rs_status
print_keys(void)
{
	for (const struct option_row *row = option_table; row->section != NULL; row++)
		if (strcmp(row->section, "field") != 0)
			RS_TRY(output_printf("%s.%s= ", row->section, row->key));
	return RS_OK;
}

/* Values that stand in the table as they are typed: text|json, but not N of N|F|none. */
static int
has_values(const struct command_option *option)
{
	return option->argument != NULL && option->argument[0] != '['
		&& strchr(option->argument, '|') != NULL;
}

static enum rs_status
print_values(const struct command_option *option)
{
	const char *next;

	for (const char *at = option->argument; *at != '\0'; at = next) {
		const size_t n = strcspn(at, "|");

		next = at + n + (at[n] == '|');
		if (*at >= 'a' && *at <= 'z')
			RS_TRY(output_printf("%.*s ", (int)n, at));
	}
	return RS_OK;
}

/* command: "*" of options that every command has. */
static enum rs_status
print_bash_values(const struct command_option *option, const char *command)
{
	for (; option != NULL && option->name != NULL; option++) {
		if (!has_values(option))
			continue;
		RS_TRY(output_printf("\t%s:%s", command, option->name));
		if (option->letter != 0)
			RS_TRY(output_printf("|%s:-%c", command, option->letter));
		RS_TRY(output_printf(") COMPREPLY=($(compgen -W \""));
		RS_TRY(print_values(option));
		RS_TRY(output_printf("\" -- \"$cur\")); return;;\n"));
	}
	return RS_OK;
}

/* The body that bash and zsh (through bashcompinit) share. */
static enum rs_status
print_bash(void)
{
	RS_TRY(output_printf("# completion of recsys-train for bash; source "
		"it\n_recsys_train()\n{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= "
		"word\n"
		"\tlocal commands=\""));
	RS_TRY(print_command_names());
	RS_TRY(output_printf("\"\n\tlocal pages=\""));
	for (const struct help_topic *t = help_topic; t->name != NULL; t++)
		RS_TRY(output_printf("%s%s", t == help_topic ? "" : " ", t->name));
	RS_TRY(output_printf("\"\n\tlocal options=\""));
	RS_TRY(print_words(command_global, " "));
	RS_TRY(output_printf("\"\n\tlocal keys=\""));
	RS_TRY(print_keys());
	RS_TRY(output_printf("\"\n\tfor word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
		"\t\tcase \" $commands \" in *\" $word \"*) command=$word; break;; esac\n\tdone\n"
		"\tcase $command in\n"));
	for (size_t i = 0; command_table[i] != NULL; i++) {
		RS_TRY(output_printf("\t%s) options=\"$options ", command_table[i]->name));
		RS_TRY(print_words(command_table[i]->option, " "));
		RS_TRY(output_printf("\";;\n"));
	}
	RS_TRY(output_printf("\tesac\n\tCOMPREPLY=()\n\tcase $command:$prev in\n"));
	RS_TRY(print_bash_values(command_global, "*"));
	for (size_t i = 0; command_table[i] != NULL; i++)
		RS_TRY(print_bash_values(command_table[i]->option, command_table[i]->name));
	return output_printf(
		"\t*:-o|*:--set) COMPREPLY=($(compgen -W \"$keys\" -- \"$cur\")); "
		"compopt -o nospace 2>/dev/null; return;;\n"
		"\tesac\n"
		"\tcase $cur in\n\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")); "
		"return;;\n\tesac\n"
		"\tif [ -z \"$command\" ]; then\n"
		"\t\tCOMPREPLY=($(compgen -W \"$commands\" -- \"$cur\"))\n"
		"\telif [ \"$command\" = help ]; then\n"
		"\t\tCOMPREPLY=($(compgen -W \"$commands $pages\" -- \"$cur\"))\n\telse\n"
		"\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\tfi\n}\n"
		"complete -o filenames -F _recsys_train recsys-train\n");
}

static enum rs_status
print_zsh(void)
{
	RS_TRY(output_printf("#compdef recsys-train\nautoload -U +X bashcompinit && "
		"bashcompinit\n"));
	return print_bash();
}

/* Single quotes of fish know \' and \\. */
static enum rs_status
print_quoted(const char *text)
{
	RS_TRY(output_printf("'"));
	for (; *text != '\0'; text++)
		RS_TRY(output_printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text));
	return output_printf("'\n");
}

static enum rs_status
print_fish_options(const struct command_option *option, const char *command)
{
	for (; option != NULL && option->name != NULL; option++) {
		RS_TRY(output_printf("complete -c recsys-train"));
		if (command != NULL)
			RS_TRY(output_printf(" -n '__fish_seen_subcommand_from %s'", command));
		RS_TRY(output_printf(" -l %s", option->name + 2));
		if (option->letter != 0)
			RS_TRY(output_printf(" -s %c", option->letter));
		if (option->argument != NULL && option->argument[0] != '[')
			RS_TRY(output_printf(" -r"));
		if (has_values(option)) {
			RS_TRY(output_printf(" -f -a '"));
			RS_TRY(print_values(option));
			RS_TRY(output_printf("'"));
		}
		if (strcmp(option->name, "--set") == 0) {
			RS_TRY(output_printf(" -f -a '"));
			RS_TRY(print_keys());
			RS_TRY(output_printf("'"));
		}
		RS_TRY(output_printf(" -d "));
		RS_TRY(print_quoted(option->text));
	}
	return RS_OK;
}

static enum rs_status
print_fish(void)
{
	RS_TRY(output_printf("# completion of recsys-train for fish\n"));
	for (size_t i = 0; command_table[i] != NULL; i++) {
		RS_TRY(output_printf("complete -c recsys-train -n '__fish_use_subcommand' -f -a "
			"%s -d ",
			command_table[i]->name));
		RS_TRY(print_quoted(command_table[i]->text));
	}
	for (const struct help_topic *t = help_topic; t->name != NULL; t++) {
		RS_TRY(output_printf("complete -c recsys-train -n '__fish_seen_subcommand_from "
			"help' -f -a %s -d ", t->name));
		RS_TRY(print_quoted(t->text));
	}
	RS_TRY(print_fish_options(command_global, NULL));
	for (size_t i = 0; command_table[i] != NULL; i++)
		RS_TRY(print_fish_options(command_table[i]->option, command_table[i]->name));
	return RS_OK;
}

static const struct { const char *name; enum rs_status (*print)(void); } shell[] = {
	{ "bash", print_bash }, { "zsh", print_zsh }, { "fish", print_fish },
};

static enum rs_status
run_completion(const struct arguments *a)
{
	char escaped[72];

	if (a->n_positional != 1)
		return rs_fail(RS_EUSAGE, "the name of a shell is wanted: bash, zsh or fish");
	for (size_t i = 0; i < sizeof(shell) / sizeof(shell[0]); i++)
		if (strcmp(shell[i].name, a->positional[0]) == 0)
			return shell[i].print();
	return rs_fail(RS_EUSAGE, "'%s': bash, zsh or fish is wanted",
		rs_escape(escaped, a->positional[0], strlen(a->positional[0])));
}

static const struct command_option completion_option[] = { { .name = NULL } };

const struct command command_completion = {
	.name = "completion",
	.synopsis = "bash|zsh|fish",
	.text = "Print the completion of a shell.",
	.option = completion_option,
	.run = run_completion,
};
