/* The command runs: which runs there were and what came of them. */
#include "cmd/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "spec/spec.h"

#define BUSY_MS 10000

static enum rs_status
runs_path(const struct runs_call *call)
{
	return output_printf("%s\n", call->path);
}

static enum rs_status
remove_one(const struct runs_call *call, const char *name)
{
	struct store_run run;

	RS_TRY(store_run_find(call->store, name, &run));
	enum rs_status status = RS_OK;
	if (strcmp(run.status, "running") == 0) {
		rs_fail(RS_EBUSY, "run %s is still running (pid %lld)", run.name,
			(long long)run.pid);
		status = rs_hint("stop it first");
	} else if (argument_given(call->a, "--dry-run")) {
		status = output_printf("would remove %s\n", run.name);
	} else {
		status = store_run_remove(call->store, run.run);
		if (status == RS_OK)
			status = output_printf("removed %s\n", run.name);
	}
	store_run_free(&run);
	return status;
}

static enum rs_status
runs_rm(const struct runs_call *call)
{
	for (size_t i = 0; i < call->n_names; i++)
		RS_TRY(remove_one(call, call->name[i]));
	return RS_OK;
}

static enum rs_status
runs_tag(const struct runs_call *call)
{
	struct store_run run;
	const char *tag = call->name[1];

	RS_TRY(store_run_find(call->store, call->name[0], &run));
	enum rs_status status = RS_OK;
	if (!argument_given(call->a, "--dry-run"))
		status = store_run_tag(call->store, run.run, tag);
	if (status == RS_OK)
		log_info("%s: tag %s", run.name, tag[0] != '\0' ? tag : "taken away");
	store_run_free(&run);
	return status;
}

static const struct runs_row {
	const char *name, *wanted;
	size_t low, high;              /* how many names after the subcommand         */
	enum { NO_STORE, READ_STORE, CHANGE_STORE } use;
	enum rs_status (*run)(const struct runs_call *call);
} runs_table[] = {
	{ "list",    "no further argument",      0, 0,        READ_STORE,   runs_list },
	{ "show",    "one run",                  1, 1,        READ_STORE,   runs_show },
	{ "compare", "two runs or more",         2, 8,        READ_STORE,   runs_compare },
	{ "plot",    "runs, or none and --model", 0, SIZE_MAX, READ_STORE,  runs_plot },
	{ "export",  "runs, or none for all",   0, SIZE_MAX, READ_STORE,   runs_export },
	{ "report",  "one run",                  1, 1,        READ_STORE,   runs_report },
	{ "rm",      "one run or more",          1, SIZE_MAX, CHANGE_STORE, runs_rm },
	{ "tag",     "a run and a tag",          2, 2,        CHANGE_STORE, runs_tag },
	{ "path",    "no further argument",      0, 0,        NO_STORE,     runs_path },
};
#define N_RUNS (sizeof runs_table / sizeof runs_table[0])

static enum rs_status
find_row(const struct arguments *a, const struct runs_row **out)
{
	const char *names[N_RUNS];
	const char *name = a->n_positional > 0 ? a->positional[0] : "list";

	for (size_t i = 0; i < N_RUNS; i++) {
		names[i] = runs_table[i].name;
		if (strcmp(name, runs_table[i].name) != 0)
			continue;
		const size_t n = a->n_positional > 0 ? a->n_positional - 1 : 0;
		*out = &runs_table[i];
		if (n < runs_table[i].low || n > runs_table[i].high)
			return rs_fail(RS_EUSAGE, "runs %s: wanted %s, got %zu", name,
				runs_table[i].wanted, n);
		return RS_OK;
	}
	rs_fail(RS_EUSAGE, "runs: there is no subcommand '%s'", name);
	const char *near = spec_nearest(name, names, N_RUNS);
	if (near != NULL)
		return rs_hint("did you mean '%s'?", near);
	return rs_hint("there are list, show, compare, plot, export, report, rm, tag and path");
}

/* The database named by --db or the environment, else that of the spec in use. */
static enum rs_status
find_database(const struct arguments *a, char **path)
{
	const struct arguments none = {
		.command = a->command, .given = a->given, .n_given = a->n_given, .argc = a->argc,
			.argv = a->argv,
	};
	const struct command_environment environment = command_environment();
	struct spec *spec = NULL;
	size_t n_used;

	if (argument(a, "--db") == NULL && environment.database == NULL
		&& (environment.spec != NULL || access("recsys.ini", F_OK) == 0))
		RS_TRY(command_spec(&none, NULL, 0, &spec, &n_used));
	const char *directory = spec != NULL ? spec_settings(spec)->model.path : NULL;
	const enum rs_status status = command_database(a, spec,
		directory != NULL && directory[0] != '\0' ? directory : NULL, path);
	spec_free(spec);
	return status;
}

static enum rs_status
open_store(const struct runs_row *row, struct runs_call *call)
{
	if (row->use == NO_STORE)
		return RS_OK;
	if (access(call->path, F_OK) != 0) {
		rs_fail(RS_ENOINPUT, "there is no run database '%s'", call->path);
		return rs_hint("name it with --db FILE or RECSYS_TRAIN_DB; it lies beside the "
			"model directory");
	}
	return store_open(call->path, row->use == READ_STORE, BUSY_MS, &call->store);
}

static enum rs_status
runs_run(const struct arguments *a)
{
	const struct runs_row *row = NULL;
	char *path;

	RS_TRY(find_row(a, &row));
	RS_TRY(find_database(a, &path));
	struct runs_call call = {
		.a = a, .path = path,
		.name = (const char *const *)a->positional + (a->n_positional > 0),
		.n_names = a->n_positional - (a->n_positional > 0),
	};
	enum rs_status status = open_store(row, &call);
	if (status == RS_OK)
		status = row->run(&call);
	store_close(call.store);
	free(path);
	return status;
}

static const struct command_option runs_option[] = {
	{ .name = "--last", .argument = "N", .text = "list, plot, export: only the newest N runs" },
	{ .name = "--status", .argument = "S", .text =
		"list, plot, export: only runs with this status: running, ok, partial, "
		"diverged, failed, interrupted, lost or rejected" },
	{ .name = "--tag", .argument = "T", .text = "list, plot, export: only runs with this tag" },
	{ .name = "--model", .argument = "NAME", .text =
		"list, export: only runs of this type of model; plot: also of the model "
		"directory that is called so" },
	{ .name = "--sort", .argument = "KEY", .text =
		"list: best first by auc, logloss, rows, took or run" },
	{ .name = "--csv", .text = "list, export: comma-separated values" },
	{ .name = "--mlflow", .argument = "FILE", .text =
		"export: write FILE, an SQLite database that MLflow opens" },
	{ .name = "--log", .text = "show: only the warnings" },
	{ .name = "--spec", .text = "show: only the resolved spec" },
	{ .name = "--metrics", .text = "show: only the metrics, by epoch" },
	{ .name = "--metric", .argument = "KEY", .text =
		"plot: this metric; by default what the newest run was judged by" },
	{ .name = "--x", .argument = "row|time|epoch|period", .text =
		"plot: against the rows, the time or the epochs of each run; or one curve over the "
		"periods of all runs of a model, which is how progressive metrics are shown" },
	{ .name = "--output", .letter = 'O', .argument = "FILE", .text =
		"plot: let gnuplot draw FILE, an .svg or .png; export, report: write FILE instead "
		"of standard output" },
	{ .name = "--require", .argument = "METRIC>=X", .repeats = 1,
		.text = "compare: exit 1 unless this holds for the last run named" },
	{ .name = NULL },
};

const struct command command_runs = {
	.name = "runs",
	.synopsis = "list | show RUN | compare RUN RUN... | plot RUN... | export [RUN...] | "
		"report RUN | rm RUN... | tag RUN TAG | path",
	.text = "List, show, compare, plot, export, report, tag and remove recorded runs.",
	.option = runs_option,
	.run = runs_run,
};
