/* --help, --version and the command `help`. */
#include "cmd/help.h"

#include <cblas.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "cmd/arguments.h"
#include "config.h"
#include "reduce/plane.h"
#include "spec/option.h"
#include "src/cmd/commit.h"

const struct help_topic help_topic[] = {
	{ "ini", "recsys-train.ini", 5, "The spec of a model." },
	{ "data", "recsys-train-data", 7, "Formats of data files." },
	{ "db", "recsys-train-db", 5, "The run database." },
	{ "cluster", "recsys-train-cluster", 7, "Runs of many processes and hosts." },
	{ "cron", "recsys-train-cron", 7, "Retraining by the hour, left to cron." },
	{ "exit", "recsys-train-exit", 7, "Exit codes." },
	{ .name = NULL },
};

enum { TEXT_COLUMN = 28, LINE_COLUMNS = 79 };

enum rs_status
help_version(void)
{
	char blas[200];

	snprintf(blas, sizeof(blas), "%s", openblas_get_config());
	blas[strcspn(blas, "\n")] = '\0';
	for (size_t n = strlen(blas); n > 0 && blas[n - 1] == ' '; n--)
		blas[n - 1] = '\0';
	return output_printf("recsys-train %s (%s)  features: openblas zlib sqlite%s%s%s%s%s%s; "
		"sqlite %s; zlib %s; %s\n",
		PACKAGE_VERSION, COMMIT,
#ifdef HAVE_X86_LEVELS
		" avx2 avx512",
#else
		"",
#endif
#ifdef HAVE_ONEDNN
		" onednn",
#else
		"",
#endif
#ifdef HAVE_CUDA
		" cuda",
#else
		"",
#endif
#ifdef HAVE_NCCL
		" nccl",
#else
		"",
#endif
		plane_find("pushpull")->missing == NULL ? " zmq" : "",
		plane_find("mpi")->missing == NULL ? " mpi" : "",
		sqlite3_libversion(), zlibVersion(), blas);
}

/* Length of the first word; what is in brackets is one. */
static size_t
word_length(const char *text)
{
	size_t n = 0, depth = 0;

	for (; text[n] != '\0' && (text[n] != ' ' || depth > 0); n++)
		depth += (text[n] == '[') - (size_t)(text[n] == ']' && depth > 0);
	return n;
}

/* Words of text from column `column` on, folded; the cursor is at `at` now. */
static enum rs_status
print_folded(const char *text, size_t at, size_t column)
{
	if (at > 0 && at + 1 > column) {
		RS_TRY(output_printf("\n"));
		at = 0;
	}
	RS_TRY(output_printf("%*s", (int)(column - at), ""));
	at = column;
	while (*text != '\0') {
		const size_t n = word_length(text);

		if (at > column && at + 1 + n > LINE_COLUMNS) {
			RS_TRY(output_printf("\n%*s", (int)column, ""));
			at = column;
		}
		RS_TRY(output_printf("%s%.*s", at > column ? " " : "", (int)n, text));
		at += n + (at > column);
		text += n + strspn(text + n, " ");
	}
	return output_printf("\n");
}

/* "-o, --set SECTION.KEY=VALUE", "--data[=N|all]" */
static size_t
option_usage(const struct command_option *o, char out[120])
{
	const char letter[] = { '-', o->letter, ',', ' ', '\0' };
	const char *argument = o->argument != NULL ? o->argument : "", *before = "";

	if (argument[0] == '[') {
		before = "[=";
		argument++;
	} else if (argument[0] != '\0') {
		before = " ";
	}
	return (size_t)snprintf(out, 120, "  %s%s%s%s", o->letter != 0 ? letter : "    ", o->name,
		before, argument);
}

static enum rs_status
print_option(const struct command_option *o)
{
	const int words = (int)strlen(o->text) - (o->text[strlen(o->text) - 1] == '.');
	const int lower = o->text[0] >= 'a' && o->text[0] <= 'z' && o->text[1] != ':';
	char left[120], text[600];
	const size_t n = option_usage(o, left);

	snprintf(text, sizeof(text), o->dflt != NULL ? "%.*s [%s]%s" : "%.*s%.0s%s", words, o->text,
		o->dflt != NULL ? o->dflt : "", o->repeats ? " (repeatable)" : "");
	text[0] = (char)(text[0] - (lower ? 'a' - 'A' : 0));
	RS_TRY(output_printf("%s", left));
	return print_folded(text, n, TEXT_COLUMN);
}

static enum rs_status
print_heading(const struct arguments *a, const char *text)
{
	return output_printf(command_color(a, STDOUT_FILENO) ? "\n\033[1m%s\033[0m\n" : "\n%s\n",
		text);
}

static enum rs_status
print_options(const struct command_option *option)
{
	for (; option != NULL && option->name != NULL; option++)
		RS_TRY(print_option(option));
	return RS_OK;
}

static enum rs_status
print_usage(const struct command *command)
{
	const size_t n = strlen("usage: recsys-train ") + strlen(command->name);

	RS_TRY(output_printf("usage: recsys-train %s", command->name));
	RS_TRY(print_folded(command->synopsis, n, n + 1));
	return output_printf("\n");
}

static enum rs_status
print_commands(void)
{
	for (size_t i = 0; command_table[i] != NULL; i++) {
		const int n = (int)strlen(command_table[i]->name) + 2;

		RS_TRY(output_printf("  %s", command_table[i]->name));
		RS_TRY(print_folded(command_table[i]->text, (size_t)n, 14));
	}
	return RS_OK;
}

static enum rs_status
print_topics(void)
{
	for (const struct help_topic *t = help_topic; t->name != NULL; t++) {
		RS_TRY(output_printf("  %s", t->name));
		RS_TRY(print_folded(t->text, strlen(t->name) + 2, 14));
	}
	return RS_OK;
}

enum rs_status
help_print(const struct arguments *a, const struct command *command)
{
	if (command != NULL) {
		RS_TRY(print_usage(command));
		RS_TRY(print_folded(command->text, 0, 0));
		if (command->alias != NULL)
			RS_TRY(output_printf("Another name of it is '%s'.\n", command->alias));
		if (command->option != NULL && command->option->name != NULL)
			RS_TRY(print_heading(a, "options"));
		RS_TRY(print_options(command->option));
	} else {
		RS_TRY(output_printf("usage: recsys-train [global options] COMMAND [options] "
			"[SPEC.ini] [arguments]\n\n"
			"Trains recommender models from click logs.\n"));
		RS_TRY(print_heading(a, "commands"));
		RS_TRY(print_commands());
		RS_TRY(print_heading(a, "pages of 'help'"));
		RS_TRY(print_topics());
	}
	RS_TRY(print_heading(a, "global options"));
	RS_TRY(print_options(command_global));
	if (command != NULL)
		return output_printf("\n'recsys-train help %s' opens the manual page.\n",
			command->name);
	return output_printf("\n'recsys-train help COMMAND' opens the manual page of a command.\n");
}

/* Runs man; quiet: only asks whether the page is there. */
static int
run_man(const char *section, const char *page, int quiet)
{
	const pid_t child = fork();
	int status = -1;

	if (child == 0) {
		const int null = quiet ? open("/dev/null", O_RDWR) : -1;

		if (null >= 0) {
			dup2(null, STDOUT_FILENO);
			dup2(null, STDERR_FILENO);
		}
		execlp("man", "man", quiet ? "-w" : "--", section, page, (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* 1 when somebody has read it. */
static int
show_page(const char *section, const char *page)
{
	return isatty(STDOUT_FILENO) && run_man(section, page, 1) && output_flush() == RS_OK
		&& run_man(section, page, 0);
}

static enum rs_status
open_page(const struct arguments *a, const struct command *command)
{
	char page[100];

	snprintf(page, sizeof(page), "recsys-train%s%s", command != NULL ? "-" : "",
		command != NULL ? command->name : "");
	return show_page("1", page) ? RS_OK : help_print(a, command);
}

static enum rs_status
open_topic(const struct help_topic *t)
{
	const char section[] = { (char)('0' + t->section), '\0' };

	return show_page(section, t->page) ? RS_OK
		: output_printf("%s\n'man %s %s' opens the manual page.\n", t->text, section,
			t->page);
}

static const struct help_topic *
find_topic(const char *name)
{
	const struct help_topic *t = help_topic;

	while (t->name != NULL && strcmp(t->name, name) != 0)
		t++;
	return t->name != NULL ? t : NULL;
}

static enum rs_status
run_help(const struct arguments *a)
{
	const char *name = a->n_positional > 0 ? a->positional[0] : NULL;
	const struct command *command = name != NULL ? arguments_command(name) : NULL;
	const struct help_topic *topic = name != NULL ? find_topic(name) : NULL;

	if (a->n_positional > 1)
		return rs_fail(RS_EUSAGE, "one name is wanted, '%s' is one too many",
			a->positional[1]);
	if (argument_given(a, "--spec"))
		return help_sample();
	if (argument_given(a, "--mdoc-exit"))
		return help_mdoc_exit();
	if (argument_given(a, "--mdoc-commands"))
		return help_mdoc_commands();
	if (argument_given(a, "--mdoc-models"))
		return help_mdoc_models();
	if (argument_given(a, "--mdoc-keys"))
		return help_mdoc_keys(name);
	if (topic != NULL && !argument_given(a, "--mdoc-options"))
		return open_topic(topic);
	if (name != NULL && command == NULL)
		return arguments_unknown_command(name);
	if (argument_given(a, "--mdoc-options"))
		return help_mdoc_options(command);
	return open_page(a, command);
}

static const struct command_option help_option[] = {
	{ .name = "--spec", .text = "print a spec with every key, its default and what it means" },
	{ .name = "--mdoc-options", .text = "print the options of a command as mdoc; without "
	  "one: the global options" },
	{ .name = "--mdoc-keys", .text = "print the keys of a section of the spec, or of all, as "
	  "mdoc" },
	{ .name = "--mdoc-exit", .text = "print the exit codes as mdoc" },
	{ .name = "--mdoc-commands", .text = "print the commands as mdoc" },
	{ .name = "--mdoc-models", .text = "print the models as mdoc" },
	{ .name = NULL },
};

const struct command command_help = {
	.name = "help",
	.synopsis = "[COMMAND|PAGE] [--spec]",
	.text = "Open the manual page of a command, or another.",
	.option = help_option,
	.run = run_help,
};
