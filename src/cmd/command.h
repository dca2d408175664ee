/*
 * Commands: one file each, one row each in COMMAND_LIST (cmd/command_list.h).
 *
 * cmd/train.c defines `const struct command command_train` and its row is
 * ROW(train); nothing else is edited.  A command owns its options; the same rows
 * parse the command line and print --help, the man page's OPTIONS and the shell
 * completions.  run() returns a status whose failure was recorded by rs_fail();
 * main prints it and exits with its code.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "cmd/command_list.h"
#include "spec/spec.h"

struct command_option {
	const char *name;          /* "--valid"; NULL ends the array                  */
	char        letter;        /* 'd' or 0                                        */
	const char *argument;      /* "DATA"; NULL: a flag; "[N]": only as --name=N   */
	int         repeats;
	const char *dflt;          /* text of the default, or NULL                    */
	const char *text;          /* one sentence for help and manual                */
};

/* The parsed command line; values are borrowed from argv. */
struct arguments {
	const struct command *command;
	const char **positional;   /* [n_positional]                                  */
	size_t       n_positional;
	const struct option_value {
		const struct command_option *option;
		const char *value;
	} *given;
	size_t       n_given;
	int          argc;         /* as typed, for the run record                    */
	char       **argv;
};

struct command {
	const char *name, *alias;
	const char *synopsis;      /* "SPEC [-d DATA]... [-f DIR]"                    */
	const char *text;          /* one line                                        */
	const struct command_option *option;
	enum rs_status (*run)(const struct arguments *a);
	/* Options that stand for others, which count as given before all that was typed; a
	 * NULL option ends it, and it may be NULL. */
	const struct option_meaning { const char *option, *name, *value; } *meaning;
};

extern const struct command *const command_table[];     /* ends with NULL         */
extern const struct command_option command_global[];    /* options of every command */

#define ROW(name) extern const struct command command_##name;
COMMAND_LIST(ROW)
#undef ROW

/* Number of the signal that asked the program to stop, 0 none; RS_ESIGNAL exits
 * with 128 plus it.  A second signal of the kind ends the program at once. */
extern volatile int command_stop_signal;
void command_catch_signals(void);                /* SIGINT, SIGTERM              */

/* Not -1: another process acted for this one and has told what there is to tell; the program
 * ends with its code and prints nothing. */
extern int command_exit_code;

/* The last value of an option (given or global), NULL if absent; flags give "". */
const char *argument(const struct arguments *a, const char *name);
int    argument_given(const struct arguments *a, const char *name);
/* i-th value of a repeated option, NULL past the end. */
const char *argument_nth(const struct arguments *a, const char *name, size_t i);
/* Numbers with checks: RS_EUSAGE names the option and what was wanted. */
enum rs_status argument_int(const struct arguments *a, const char *name, int64_t low, int64_t high,
	int64_t *inout);
enum rs_status argument_double(const struct arguments *a, const char *name, double low, double high,
	double *inout);
enum rs_status argument_seconds(const struct arguments *a, const char *name,
	double *inout);   /* 50m, 2h, 30 */

/* Appends the command line as it was typed, words parted by blanks. */
enum rs_status command_line_text(const struct arguments *a, struct buffer *out);

/* The spec of a command: positional 0, else RECSYS_TRAIN_SPEC, else ./recsys.ini,
 * with --layer files, -o overrides and -j; prints every problem and fails with
 * RS_ESPEC.  *n_used is the number of positionals taken (0 or 1).  extra: further
 * "section.key=value" overrides made from the command's own options. */
enum rs_status command_spec(const struct arguments *a, const char *const *extra, size_t n_extra,
	struct spec **out, size_t *n_used);

#define COMMAND_MODELS_MAX 64
/* The names of all models, a NULL behind them; returns how many. */
size_t command_models(const char *names[COMMAND_MODELS_MAX]);
/* RS_EUSAGE, with the nearest name, unless there is a model of that name. */
enum rs_status command_model_check(const char *name);

/* The run database: --db, else RECSYS_TRAIN_DB, else runs.db of the spec (spec may
 * be NULL), else runs.db beside the model directory (directory may be NULL: in the
 * working directory).  Caller frees. */
enum rs_status command_database(const struct arguments *a, const struct spec *spec,
	const char *directory,
	char **out);

/* stdout of results: checks every write, ends quietly on a closed pipe (141). */
enum rs_status output_text(const char *text, size_t n);
enum rs_status output_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
enum rs_status output_flush(void);
int command_json(const struct arguments *a);    /* --json given                   */

/* What the environment says; the only place that reads it. */
struct command_environment {
	const char *spec, *database;    /* RECSYS_TRAIN_SPEC, RECSYS_TRAIN_DB, or NULL */
	const char *temporary;          /* TMPDIR, or NULL                             */
	const char *mpi_plugin;         /* RECSYS_TRAIN_MPI_PLUGIN: its file, or NULL  */
	int no_color;                   /* NO_COLOR                                    */
	const char *failpoint, *now;    /* RECSYS_TRAIN_FAILPOINT, _NOW: for tests     */
	const char *kernels;            /* RECSYS_TRAIN_KERNELS: the set, or NULL      */
};
struct command_environment command_environment(void);
const char *command_variable(const char *name);  /* for ${NAME} of paths          */
/* --color, NO_COLOR and whether fd is a terminal. */
int command_color(const struct arguments *a, int fd);

#endif
