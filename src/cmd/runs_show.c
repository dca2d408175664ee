/* runs show: everything about one run. */
#include "cmd/runs.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "cmd/layout.h"

static const char *const part_name[] = {
	[STORE_PARAMS] = "params", [STORE_METRICS] = "metrics", [STORE_WARNINGS] = "warnings",
	[STORE_PLACEMENTS] = "placement", [STORE_ARTIFACTS] = "artifacts", [STORE_LEDGER] = "input",
};
#define N_PARTS (sizeof part_name / sizeof part_name[0])

static enum rs_status
print_rows(const struct store_table *table)
{
	struct layout l;
	enum rs_status status = RS_OK;
	uint64_t right = 0;

	for (size_t i = 0; i < table->n_columns; i++)
		right |= (uint64_t)(table->is_number[i] != 0) << i;
	layout_init(&l, table->n_columns, right);
	for (size_t i = 0; i < table->n_columns && status == RS_OK; i++)
		status = layout_cell(&l, "%s", table->name[i]);
	for (size_t i = 0; i < table->n_rows * table->n_columns && status == RS_OK; i++)
		status = layout_cell(&l, "%s", table->cell[i] != NULL ? table->cell[i] : "");
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	return status;
}

static enum rs_status
print_part(const struct runs_call *call, const struct store_run *run, enum store_part part)
{
	struct store_table table;

	RS_TRY(store_part(call->store, run->run, part, &table));
	const enum rs_status status = table.n_rows > 0 ? print_rows(&table) : RS_OK;
	store_table_free(&table);
	return status;
}

static enum rs_status
print_line(const char *name, const char *text)
{
	return text[0] == '\0' ? RS_OK : output_printf("%-10s %s\n", name, text);
}

/* The other figures of the kept weights. */
static enum rs_status
print_named(const struct store_run *run, const struct store_table *t)
{
	enum { KEY, EPOCH, STEP, ROWS, VALUE };
	double value;
	char text[32];

	for (size_t i = 0; i < t->n_rows; i++) {
		char **row = t->cell + i * t->n_columns;
		const char *const name = runs_figure_name(row[KEY]);

		if (name == NULL || strcmp(row[EPOCH], "0") != 0 || strcmp(name, "auc") == 0
		    || strcmp(name, "logloss") == 0
		    || (strcmp(name, "mse") == 0 && !isnan(run->logloss)))
			continue;
		if (row[VALUE] != NULL && number_double(row[VALUE], strlen(row[VALUE]), &value))
			RS_TRY(output_printf("   %s %s", name, layout_figure(text, value, 6)));
	}
	return output_printf("\n");
}

static enum rs_status
print_figures(const struct runs_call *call, const struct store_run *run)
{
	char rows[32], skipped[32], auc[32], logloss[32];
	struct store_table metrics;

	if (run->rows >= 0)
		RS_TRY(output_printf("%-10s %s trained, %s skipped\n", "rows",
			layout_count(rows, run->rows), layout_count(skipped, run->skipped)));
	if (isnan(run->valid_rows))
		return RS_OK;
	RS_TRY(output_printf("%-10s %s rows   logloss %s   auc %s", "valid",
		layout_count(rows, (int64_t)run->valid_rows),
		layout_figure(logloss, run->logloss, 6), layout_figure(auc, run->auc, 6)));
	RS_TRY(store_part(call->store, run->run, STORE_METRICS, &metrics));
	const enum rs_status status = print_named(run, &metrics);
	store_table_free(&metrics);
	return status;
}

static enum rs_status
print_summary(const struct runs_call *call, const struct store_run *run)
{
	char took[32];

	RS_TRY(output_printf("%-10s %s   %s   %s   took %s\n", "run", run->name, run->status,
		run->started,
		layout_took(took, run->seconds)));
	RS_TRY(output_printf("%-10s %s   %s\n", "model", run->model, run->directory));
	RS_TRY(print_line("spec", run->spec_path));
	RS_TRY(print_line("command", run->command_line));
	RS_TRY(output_printf("%-10s version %s   seed %lld   threads %lld   pid %lld\n", "program",
		run->version,
		(long long)run->seed, (long long)run->threads, (long long)run->pid));
	RS_TRY(print_figures(call, run));
	RS_TRY(print_line("tag", run->tag));
	RS_TRY(print_line("note", run->note));
	RS_TRY(print_line("message", run->message));
	static const enum store_part parts[] = {
		STORE_PLACEMENTS, STORE_ARTIFACTS, STORE_LEDGER, STORE_WARNINGS,
	};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		struct store_table table;
		RS_TRY(store_part(call->store, run->run, parts[i], &table));
		enum rs_status status = RS_OK;
		if (table.n_rows > 0)
			status = output_printf("\n%s\n", part_name[parts[i]]);
		if (table.n_rows > 0 && status == RS_OK)
			status = print_rows(&table);
		store_table_free(&table);
		RS_TRY(status);
	}
	return RS_OK;
}

static void
json_cell(struct json *j, const char *key, const char *text, int is_number)
{
	int64_t whole;
	double value;

	if (text != NULL && is_number && number_i64(text, strlen(text), &whole))
		json_int(j, key, whole);
	else if (text != NULL && is_number && number_double(text, strlen(text), &value))
		json_double(j, key, value);
	else
		json_string(j, key, text);
}

static enum rs_status
json_part(struct json *j, const struct runs_call *call, int64_t run, enum store_part part)
{
	struct store_table table;

	RS_TRY(store_part(call->store, run, part, &table));
	json_open(j, part_name[part], '[');
	for (size_t i = 0; i < table.n_rows; i++) {
		json_open(j, NULL, '{');
		for (size_t c = 0; c < table.n_columns; c++)
			json_cell(j, table.name[c], table.cell[i * table.n_columns + c],
				table.is_number[c]);
		json_close(j);
	}
	json_close(j);
	store_table_free(&table);
	return RS_OK;
}

enum rs_status
runs_show_json(struct json *j, const struct runs_call *call, const struct store_run *run)
{
	json_open(j, NULL, '{');
	json_string(j, "run", run->name);
	json_string(j, "status", run->status);
	json_string(j, "started", run->started);
	json_double(j, "seconds", run->seconds);
	json_string(j, "model", run->model);
	json_string(j, "directory", run->directory);
	json_string(j, "spec_path", run->spec_path);
	json_string(j, "spec", run->spec_text);
	json_string(j, "command_line", run->command_line);
	json_string(j, "version", run->version);
	json_int(j, "seed", run->seed);
	json_int(j, "threads", run->threads);
	json_int(j, "pid", run->pid);
	json_double(j, "rows", run->rows < 0 ? NAN : (double)run->rows);
	json_int(j, "skipped", run->skipped);
	json_double(j, "auc", run->auc);
	json_double(j, "logloss", run->logloss);
	json_string(j, "tag", run->tag);
	json_string(j, "note", run->note);
	json_string(j, "message", run->message);
	for (size_t part = 0; part < N_PARTS; part++)
		RS_TRY(json_part(j, call, run->run, (enum store_part)part));
	json_close(j);
	return RS_OK;
}

static enum rs_status
print_json(const struct runs_call *call, const struct store_run *run)
{
	struct json j;

	json_init(&j);
	enum rs_status status = runs_show_json(&j, call, run);
	if (status == RS_OK)
		status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

enum rs_status
runs_show(const struct runs_call *call)
{
	struct store_run run;
	enum rs_status status;

	RS_TRY(store_run_find(call->store, call->name[0], &run));
	if (command_json(call->a))
		status = print_json(call, &run);
	else if (argument_given(call->a, "--spec"))
		status = output_text(run.spec_text, strlen(run.spec_text));
	else if (argument_given(call->a, "--log"))
		status = print_part(call, &run, STORE_WARNINGS);
	else if (argument_given(call->a, "--metrics"))
		status = print_part(call, &run, STORE_METRICS);
	else
		status = print_summary(call, &run);
	store_run_free(&run);
	return status;
}
