/* runs export: runs with their parameters and the courses of their metrics, for others. */
#include "cmd/runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/mlflow.h"

#define EXPORT_RUN_BYTES ((size_t)1 << 30)

struct runs_export {
	const struct runs_call *call;
	struct store_run *run;             /* [n] oldest first                        */
	size_t n;
	struct file_writer file;           /* of -O                                   */
	int    has_file;
};

static enum rs_status
put(struct runs_export *e, const char *text, size_t n)
{
	return e->has_file ? file_writer_write(&e->file, text, n) : output_text(text, n);
}

/* --- which runs ---------------------------------------------------------------------- */

static int
compare_runs(const void *a, const void *b)
{
	const struct store_run *const p = a, *const q = b;

	return (p->run > q->run) - (p->run < q->run);
}

/* A run that was named twice is one. */
static enum rs_status
find_named(struct runs_export *e)
{
	const struct runs_call *const call = e->call;

	if (argument_given(call->a, "--model") || argument_given(call->a, "--last")
	    || argument_given(call->a, "--tag") || argument_given(call->a, "--status"))
		return rs_fail(RS_EUSAGE, "runs export: runs are named, so --model, --last, --tag "
			"and --status have nothing to choose");
	RS_TRY(memory_alloc(call->n_names, sizeof *e->run, &e->run));
	for (size_t i = 0; i < call->n_names; i++) {
		struct store_run run;
		size_t k = 0;

		RS_TRY(store_run_find(call->store, call->name[i], &run));
		while (k < e->n && e->run[k].run != run.run)
			k++;
		if (k < e->n)
			store_run_free(&run);
		else
			e->run[e->n++] = run;
	}
	return RS_OK;
}

static enum rs_status
find_runs(struct runs_export *e)
{
	const struct arguments *const a = e->call->a;
	struct store_filter filter = {
		.status = argument(a, "--status"), .tag = argument(a, "--tag"),
		.model = argument(a, "--model"),
	};

	if (e->call->n_names > 0) {
		RS_TRY(find_named(e));
	} else {
		RS_TRY(argument_int(a, "--last", 1, INT64_MAX, &filter.last));
		RS_TRY(store_runs(e->call->store, &filter, &e->run, &e->n));
	}
	if (e->n > 1)
		qsort(e->run, e->n, sizeof *e->run, compare_runs);
	return RS_OK;
}

/* --- JSON ---------------------------------------------------------------------------- */

static enum rs_status
put_json(struct runs_export *e)
{
	struct json j;
	enum rs_status status = put(e, "[", 1);

	json_init(&j);
	for (size_t i = 0; status == RS_OK && i < e->n; i++) {
		json_reset(&j);
		status = runs_show_json(&j, e->call, &e->run[i]);
		if (status == RS_OK)
			status = put(e, i > 0 ? ",\n" : "\n", i > 0 ? 2 : 1);
		if (status == RS_OK)
			status = put(e, json_text(&j), strlen(json_text(&j)));
	}
	json_free(&j);
	return status == RS_OK ? put(e, "\n]\n", 3) : status;
}

/* --- CSV ----------------------------------------------------------------------------- */

/* A line for each fact, so that runs of any spec make one table. */
static const char csv_heading[] = "run,part,key,epoch,step,rows,value\n";

static enum rs_status
csv_text(struct buffer *line, const char *text)
{
	if (strpbrk(text, ",\"\r\n") == NULL)
		return buffer_printf(line, "%s", text);
	RS_TRY(buffer_append(line, "\"", 1));
	for (; *text != '\0'; text++)
		RS_TRY(buffer_append(line, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1));
	return buffer_append(line, "\"", 1);
}

static enum rs_status
csv_fact(struct buffer *text, const struct store_run *run, const char *part, const char *key,
	const char *value)
{
	RS_TRY(buffer_printf(text, "%s,%s,", run->name, part));
	RS_TRY(csv_text(text, key));
	RS_TRY(buffer_append(text, ",,,,", 4));
	RS_TRY(csv_text(text, value));
	return buffer_append(text, "\n", 1);
}

static enum rs_status
csv_run(struct buffer *text, const struct store_run *run)
{
	char seconds[32], rows[32];
	const struct { const char *key, *value; } fact[] = {
		{ "status", run->status }, { "started", run->started },
		{ "seconds", isnan(run->seconds) ? "" : number_print_double(seconds,
			run->seconds) },
		{ "rows", run->rows < 0 ? "" : number_print_double(rows, (double)run->rows) },
		{ "model", run->model }, { "directory", run->directory },
		{ "spec_path", run->spec_path }, { "command_line", run->command_line },
		{ "version", run->version }, { "tag", run->tag }, { "note", run->note },
		{ "message", run->message },
	};

	for (size_t i = 0; i < sizeof fact / sizeof *fact; i++)
		RS_TRY(csv_fact(text, run, "run", fact[i].key, fact[i].value));
	return RS_OK;
}

static enum rs_status
csv_params(struct buffer *text, const struct store_run *run, const struct store_table *t)
{
	for (size_t i = 0; i < t->n_rows; i++)
		RS_TRY(csv_fact(text, run, "param", t->cell[i * t->n_columns],
			t->cell[i * t->n_columns + 1]));
	return RS_OK;
}

/* The flag stands where the value is no number. */
static enum rs_status
csv_metrics(struct buffer *text, const struct store_run *run, const struct store_table *t)
{
	enum { KEY, EPOCH, STEP, ROWS, VALUE, FLAG };

	for (size_t i = 0; i < t->n_rows; i++) {
		char **const cell = t->cell + i * t->n_columns;
		const char *const value = cell[VALUE] != NULL ? cell[VALUE] : cell[FLAG];

		RS_TRY(buffer_printf(text, "%s,metric,", run->name));
		RS_TRY(csv_text(text, cell[KEY]));
		RS_TRY(buffer_printf(text, ",%s,%s,%s,%s\n", cell[EPOCH], cell[STEP], cell[ROWS],
			value != NULL ? value : ""));
	}
	return RS_OK;
}

static enum rs_status
csv_part(struct runs_export *e, const struct store_run *run, enum store_part part,
	struct buffer *text)
{
	struct store_table table;

	RS_TRY(store_part(e->call->store, run->run, part, &table));
	const enum rs_status status = part == STORE_PARAMS ? csv_params(text, run, &table)
		: csv_metrics(text, run, &table);
	store_table_free(&table);
	return status;
}

static enum rs_status
put_csv(struct runs_export *e)
{
	struct buffer text;
	enum rs_status status = put(e, csv_heading, strlen(csv_heading));

	buffer_init(&text, EXPORT_RUN_BYTES);
	for (size_t i = 0; status == RS_OK && i < e->n; i++) {
		text.n = 0;
		status = csv_run(&text, &e->run[i]);
		if (status == RS_OK)
			status = csv_part(e, &e->run[i], STORE_PARAMS, &text);
		if (status == RS_OK)
			status = csv_part(e, &e->run[i], STORE_METRICS, &text);
		if (status == RS_OK)
			status = put(e, text.data, text.n);
	}
	buffer_free(&text);
	return status;
}

/* --- the whole ----------------------------------------------------------------------- */

static enum rs_status
write_text(struct runs_export *e, enum rs_status (*write)(struct runs_export *e))
{
	const char *const path = argument(e->call->a, "--output");

	if (path == NULL)
		return write(e);
	RS_TRY(file_writer_open(&e->file, path));
	e->has_file = 1;
	enum rs_status status = write(e);
	if (status == RS_OK)
		status = file_writer_commit(&e->file);
	file_writer_close(&e->file);
	return status;
}

static enum rs_status
write_form(struct runs_export *e)
{
	const char *const mlflow = argument(e->call->a, "--mlflow");

	if (mlflow != NULL)
		return mlflow_write(e->call->store, e->run, e->n, mlflow);
	return write_text(e, command_json(e->call->a) ? put_json : put_csv);
}

static enum rs_status
check_form(const struct arguments *a)
{
	const int n = argument_given(a, "--mlflow") + command_json(a) + argument_given(a, "--csv");

	if (n == 0) {
		rs_fail(RS_EUSAGE, "runs export: no form is given");
		return rs_hint("give --mlflow FILE, --json or --csv");
	}
	if (n > 1)
		return rs_fail(RS_EUSAGE, "runs export: --mlflow, --json and --csv exclude each "
			"other");
	if (argument_given(a, "--mlflow") && argument_given(a, "--output"))
		return rs_fail(RS_EUSAGE, "runs export: --mlflow names its file, so -O has nothing "
			"to name");
	return RS_OK;
}

enum rs_status
runs_export(const struct runs_call *call)
{
	struct runs_export e = { .call = call };

	RS_TRY(check_form(call->a));
	enum rs_status status = find_runs(&e);
	if (status == RS_OK && !argument_given(call->a, "--dry-run"))
		status = write_form(&e);
	store_runs_free(e.run, e.n);
	return status;
}
