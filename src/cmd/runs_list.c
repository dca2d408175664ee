/* runs list: one line a run, newest first. */
#include "cmd/runs.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "cmd/layout.h"

static const char *const list_heading[] = {
	"run", "started (UTC)", "took", "model", "status", "rows", "auc", "logloss",
};
#define N_FIXED (sizeof list_heading / sizeof list_heading[0])

/* The figure of the best epoch has a column when it is no other column's. */
static int
monitors_another(const struct store_run *run)
{
	return !isnan(run->monitored) && strcmp(run->monitor, "auc") != 0 &&
		strcmp(run->monitor, "logloss") != 0;
}

static int
any_monitors_another(const struct store_run *run, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (monitors_another(&run[i]))
			return 1;
	return 0;
}

static int
has_ended(const struct store_run *run)
{
	return strcmp(run->status, "lost") != 0 && strcmp(run->status, "running") != 0;
}

static enum rs_status
add_outcome(struct layout *l, const struct store_run *run, int has_monitor)
{
	char text[32];

	if (strcmp(run->status, "partial") == 0 && run->skipped > 0)
		RS_TRY(layout_cell(l, "partial(%lld)", (long long)run->skipped));
	else
		RS_TRY(layout_cell(l, "%s", run->status));
	RS_TRY(layout_cell(l, "%s", run->rows < 0 ? "-" : layout_count(text, run->rows)));
	RS_TRY(layout_cell(l, "%s", has_ended(run) ? layout_figure(text, run->auc, 4) : "-"));
	RS_TRY(layout_cell(l, "%s", has_ended(run) ? layout_figure(text, run->logloss, 4) : "-"));
	if (has_monitor && monitors_another(run))
		RS_TRY(layout_cell(l, "%s %s", run->monitor,
			layout_figure(text, run->monitored, 4)));
	else if (has_monitor)
		RS_TRY(layout_cell(l, "-"));
	if (strcmp(run->status, "lost") == 0)
		return layout_cell(l, "%s%s(pid %lld is gone)", run->tag, run->tag[0] != '\0' ? " "
			: "",
			(long long)run->pid);
	return layout_cell(l, "%s", run->tag);
}

static enum rs_status
fill_table(struct layout *l, const struct store_run *run, size_t n, int has_monitor)
{
	char took[32];

	for (size_t i = 0; i < N_FIXED; i++)
		RS_TRY(layout_cell(l, "%s", list_heading[i]));
	if (has_monitor)
		RS_TRY(layout_cell(l, "monitored"));
	RS_TRY(layout_cell(l, "tag"));
	for (size_t i = 0; i < n; i++, run++) {
		RS_TRY(layout_cell(l, "%s", run->name));
		/* 2026-11-29T14:02:08Z without the year */
		RS_TRY(layout_cell(l, "%.5s %.8s", run->started + 5, run->started + 11));
		RS_TRY(layout_cell(l, "%s", layout_took(took, run->seconds)));
		RS_TRY(layout_cell(l, "%s", run->model));
		RS_TRY(add_outcome(l, run, has_monitor));
	}
	return RS_OK;
}

static enum rs_status
print_table(const struct store_run *run, size_t n)
{
	const int has_monitor = any_monitors_another(run, n);
	struct layout l;

	layout_init(&l, N_FIXED + (size_t)has_monitor + 1, 1 << 2);
	enum rs_status status = fill_table(&l, run, n, has_monitor);
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	return status;
}

static void
json_count(struct json *j, const char *key, int64_t n)
{
	if (n < 0)
		json_double(j, key, NAN);
	else
		json_int(j, key, n);
}

static enum rs_status
print_json(const struct store_run *run, size_t n)
{
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '[');
	for (size_t i = 0; i < n; i++, run++) {
		json_open(&j, NULL, '{');
		json_string(&j, "run", run->name);
		json_string(&j, "started", run->started);
		json_double(&j, "seconds", run->seconds);
		json_string(&j, "model", run->model);
		json_string(&j, "directory", run->directory);
		json_string(&j, "status", run->status);
		json_count(&j, "rows", run->rows);
		json_int(&j, "skipped", run->skipped);
		json_double(&j, "auc", run->auc);
		json_double(&j, "logloss", run->logloss);
		json_string(&j, "monitor", run->monitor);
		json_double(&j, "monitored", run->monitored);
		json_string(&j, "tag", run->tag);
		json_close(&j);
	}
	json_close(&j);
	const enum rs_status status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

static enum rs_status
csv_text(const char *text)
{
	if (strpbrk(text, ",\"\r\n") == NULL)
		return output_text(text, strlen(text));
	RS_TRY(output_text("\"", 1));
	for (; *text != '\0'; text++)
		RS_TRY(output_text(*text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1));
	return output_text("\"", 1);
}

static enum rs_status
csv_figure(double value)
{
	char text[32];

	return output_printf(",%s", isnan(value) ? "" : number_print_double(text, value));
}

static enum rs_status
print_csv(const struct store_run *run, size_t n)
{
	RS_TRY(output_printf("run,started,seconds,model,status,rows,skipped,auc,logloss,tag,"
		"monitor,monitored\n"));
	for (size_t i = 0; i < n; i++, run++) {
		RS_TRY(output_printf("%s,%s", run->name, run->started));
		RS_TRY(csv_figure(run->seconds));
		RS_TRY(output_printf(",%s,%s", run->model, run->status));
		RS_TRY(csv_figure(run->rows < 0 ? NAN : (double)run->rows));
		RS_TRY(csv_figure((double)run->skipped));
		RS_TRY(csv_figure(run->auc));
		RS_TRY(csv_figure(run->logloss));
		RS_TRY(output_text(",", 1));
		RS_TRY(csv_text(run->tag));
		RS_TRY(output_text(",", 1));
		RS_TRY(csv_text(run->monitor));
		RS_TRY(csv_figure(run->monitored));
		RS_TRY(output_text("\n", 1));
	}
	return RS_OK;
}

enum rs_status
runs_list(const struct runs_call *call)
{
	struct store_filter filter = {
		.status = argument(call->a, "--status"), .tag = argument(call->a, "--tag"),
		.model = argument(call->a, "--model"), .sort = argument(call->a, "--sort"),
	};
	struct store_run *run;
	size_t n;

	RS_TRY(argument_int(call->a, "--last", 1, INT64_MAX, &filter.last));
	RS_TRY(store_runs(call->store, &filter, &run, &n));
	enum rs_status status;
	if (command_json(call->a))
		status = print_json(run, n);
	else if (argument_given(call->a, "--csv"))
		status = print_csv(run, n);
	else
		status = print_table(run, n);
	store_runs_free(run, n);
	return status;
}
