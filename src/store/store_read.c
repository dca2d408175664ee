/* Reading the run database for the runs commands. */
#include "store/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "store/process.h"
#include "store/sql.h"

#define FIGURE(key) \
	"(SELECT m.value FROM metrics m WHERE m.run = r.run AND m.epoch = 0 AND m.key = '" key "')"

#define MONITOR \
	"(SELECT p.value FROM params p WHERE p.run = r.run AND p.key = 'train.monitor')"

/* Text members in the order of the columns of run_query. */
static const size_t run_text[] = {
	offsetof(struct store_run, name), offsetof(struct store_run, status),
	offsetof(struct store_run, model), offsetof(struct store_run, directory),
	offsetof(struct store_run, spec_path), offsetof(struct store_run, spec_text),
	offsetof(struct store_run, command_line), offsetof(struct store_run, version),
	offsetof(struct store_run, tag), offsetof(struct store_run, note),
	offsetof(struct store_run, message), offsetof(struct store_run, monitor),
	offsetof(struct store_run, started),
};
#define N_RUN_TEXT ((int)(sizeof run_text / sizeof run_text[0]))

static const char run_query[] =
	"SELECT printf('r%04d', r.run), r.status, r.model, r.directory, r.spec_path, r.spec_text,"
	" r.command_line, r.version, r.tag, r.note, r.message,"
	" " MONITOR ", strftime('%Y-%m-%dT%H:%M:%SZ', r.started_ms / 1000, 'unixepoch'),"
	" (r.ended_ms - r.started_ms) / 1000.0, " FIGURE("valid.auc") ", "
	"" FIGURE("valid.logloss") ", "
	FIGURE("valid.rows") ", " FIGURE("valid.positives") ","
	" (SELECT m.value FROM metrics m WHERE m.run = r.run AND m.epoch = 0"
	" AND m.key = 'valid.' || " MONITOR "),"
	" r.run, ifnull(r.rows, -1), coalesce(" FIGURE("data.rows_skipped") " + "
	FIGURE("data.rows_zero_weight") ", (SELECT sum(l.rows_skipped) FROM ledger l WHERE "
	"l.run = r.run), 0),"
	" r.seed, r.threads, r.pid, r.host, r.boot, r.process_space, r.process_start"
	" FROM runs r WHERE (?1 IS NULL OR r.tag = ?1) AND (?2 IS NULL OR r.model = ?2)"
	" AND (?3 < 0 OR r.run = ?3) ORDER BY r.run DESC";

static double
column_figure(sqlite3_stmt *statement, int i)
{
	return sqlite3_column_type(statement, i) == SQLITE_NULL ? NAN
		: sqlite3_column_double(statement, i);
}

static const char *
column_text(sqlite3_stmt *statement, int i)
{
	const char *text = (const char *)sqlite3_column_text(statement, i);

	return text != NULL ? text : "";
}

static int
is_lost(sqlite3_stmt *statement, int i)
{
	struct process_identity p = { .pid = sqlite3_column_int64(statement, i) };

	snprintf(p.host, sizeof p.host, "%s", column_text(statement, i + 1));
	snprintf(p.boot, sizeof p.boot, "%s", column_text(statement, i + 2));
	snprintf(p.space, sizeof p.space, "%s", column_text(statement, i + 3));
	p.start = sqlite3_column_int64(statement, i + 4);
	return process_is_gone(&p);
}

static enum rs_status
read_run(sqlite3_stmt *statement, struct store_run *run)
{
	int i = N_RUN_TEXT;

	run->seconds = column_figure(statement, i++);
	run->auc = column_figure(statement, i++);
	run->logloss = column_figure(statement, i++);
	run->valid_rows = column_figure(statement, i++);
	run->valid_positives = column_figure(statement, i++);
	run->monitored = column_figure(statement, i++);
	run->run = sqlite3_column_int64(statement, i++);
	run->rows = sqlite3_column_int64(statement, i++);
	run->skipped = sqlite3_column_int64(statement, i++);
	run->seed = sqlite3_column_int64(statement, i++);
	run->threads = sqlite3_column_int64(statement, i++);
	run->pid = sqlite3_column_int64(statement, i);
	for (int k = 0; k < N_RUN_TEXT; k++) {
		const char *text = column_text(statement, k);
		if (run_text[k] == offsetof(struct store_run, status)
			&& strcmp(text, "running") == 0 && is_lost(statement, i))
			text = "lost";
		RS_TRY(memory_strdup(text, (char **)((char *)run + run_text[k])));
	}
	return RS_OK;
}

void
store_run_free(struct store_run *run)
{
	for (int k = 0; k < N_RUN_TEXT; k++)
		free(*(char **)((char *)run + run_text[k]));
	memset(run, 0, sizeof *run);
}

void
store_runs_free(struct store_run *run, size_t n)
{
	for (size_t i = 0; i < n; i++)
		store_run_free(&run[i]);
	free(run);
}

/* NaN last whatever the direction. */
static int
compare_figure(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return (a < b) - (a > b);
}

static int
by_auc(const void *a, const void *b)
{
	return compare_figure(((const struct store_run *)a)->auc,
		((const struct store_run *)b)->auc);
}

static int
by_logloss(const void *a, const void *b)
{
	return compare_figure(-((const struct store_run *)a)->logloss,
		-((const struct store_run *)b)->logloss);
}

static int
by_rows(const void *a, const void *b)
{
	return compare_figure((double)((const struct store_run *)a)->rows,
		(double)((const struct store_run *)b)->rows);
}

static int
by_took(const void *a, const void *b)
{
	return compare_figure(((const struct store_run *)a)->seconds,
		((const struct store_run *)b)->seconds);
}

static int
by_run(const void *a, const void *b)
{
	return compare_figure((double)((const struct store_run *)a)->run,
		(double)((const struct store_run *)b)->run);
}

static const struct sort_row {
	const char *name;
	int (*compare)(const void *a, const void *b);
} sort_table[] = {
	{ "auc", by_auc }, { "logloss", by_logloss }, { "rows", by_rows }, { "took", by_took },
		{ "run", by_run },
};

static const char *const status_table[] = {
	"running", "ok", "partial", "diverged", "failed", "interrupted", "lost", "rejected",
};

static enum rs_status
find_sort(const char *name, const struct sort_row **out)
{
	*out = NULL;
	for (size_t i = 0; name != NULL && i < sizeof sort_table / sizeof sort_table[0]; i++)
		if (strcmp(sort_table[i].name, name) == 0)
			*out = &sort_table[i];
	if (name != NULL && *out == NULL)
		return rs_fail(RS_EUSAGE, "cannot sort runs by '%s', wanted auc, logloss, rows, "
			"took or run", name);
	return RS_OK;
}

static enum rs_status
check_status(const char *name)
{
	for (size_t i = 0; name != NULL && i < sizeof status_table / sizeof status_table[0]; i++)
		if (strcmp(status_table[i], name) == 0)
			return RS_OK;
	if (name == NULL)
		return RS_OK;
	return rs_fail(RS_EUSAGE, "no run has the status '%s', wanted running, ok, partial, "
		"diverged, failed, "
		"interrupted, lost or rejected", name);
}

struct run_list {
	struct store_run *run;
	size_t n, capacity;
};

static enum rs_status
list_grow(struct run_list *list)
{
	if (list->n < list->capacity)
		return RS_OK;
	const size_t capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
	size_t bytes;
	RS_TRY(size_mul(capacity, sizeof *list->run, &bytes));
	struct store_run *run = realloc(list->run, bytes);
	if (run == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for %zu runs", capacity);
	memset(run + list->capacity, 0, (capacity - list->capacity) * sizeof *run);
	list->run = run;
	list->capacity = capacity;
	return RS_OK;
}

static enum rs_status
read_runs(sqlite3_stmt *statement, const struct store_filter *filter, struct run_list *list)
{
	while ((filter->last == 0 || list->n < (size_t)filter->last) && sql_next(statement)) {
		RS_TRY(list_grow(list));
		list->n++;
		RS_TRY(read_run(statement, &list->run[list->n - 1]));
		if (filter->status != NULL && strcmp(list->run[list->n - 1].status,
			filter->status) != 0)
			store_run_free(&list->run[--list->n]);
	}
	return RS_OK;
}

static enum rs_status
list_runs(struct store *s, const struct store_filter *filter, int64_t only, struct run_list *list)
{
	sqlite3_stmt *statement;

	RS_TRY(sql_query(s, &statement, run_query, "ssi", filter->tag, filter->model, only));
	enum rs_status status = read_runs(statement, filter, list);
	const enum rs_status end = sql_end(s, statement);
	if (status == RS_OK)
		status = end;
	if (status != RS_OK) {
		store_runs_free(list->run, list->n);
		*list = (struct run_list){ 0 };
	}
	return status;
}

enum rs_status
store_runs(struct store *s, const struct store_filter *filter, struct store_run **out, size_t *n)
{
	struct run_list list = { 0 };
	const struct sort_row *sort;

	*out = NULL;
	*n = 0;
	RS_TRY(find_sort(filter->sort, &sort));
	RS_TRY(check_status(filter->status));
	RS_TRY(list_runs(s, filter, -1, &list));
	if (sort != NULL && list.n > 1)
		qsort(list.run, list.n, sizeof *list.run, sort->compare);
	*out = list.run;
	*n = list.n;
	return RS_OK;
}

/* Fails with the newest run as a hint. */
static enum rs_status
no_such_run(struct store *s, const char *name)
{
	int64_t newest;

	RS_TRY(sql_int(s, "SELECT ifnull(max(run), 0) FROM runs", &newest));
	rs_fail(RS_EUSAGE, "there is no run or tag '%s' in '%s'", name, s->path);
	if (newest == 0)
		return rs_hint("no run is recorded there yet");
	return rs_hint("the newest run is r%04" PRId64, newest);
}

enum rs_status
store_run_find(struct store *s, const char *name, struct store_run *out)
{
	const char *digits = name + (name[0] == 'r');
	struct store_filter filter = { .last = 1 };
	struct run_list list = { 0 };
	int64_t only;

	if (!number_i64(digits, strlen(digits), &only) || only < 0) {
		only = -1;
		filter.tag = strcmp(name, "last") == 0 ? NULL : name;
	}
	RS_TRY(list_runs(s, &filter, only, &list));
	if (list.n == 0) {
		free(list.run);
		return no_such_run(s, name);
	}
	*out = list.run[0];
	free(list.run);
	return RS_OK;
}

static const char *const part_query[] = {
	[STORE_PARAMS] = "SELECT key, value FROM params WHERE run = ? ORDER BY key",
	[STORE_METRICS] = "SELECT key, epoch, step, rows, value, text FROM metrics WHERE run = ?"
		" ORDER BY epoch = 0, epoch, step, key",
	[STORE_WARNINGS] = "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', time_ms / 1000, 'unixepoch') "
	"AS time, text"
		" FROM warnings WHERE run = ? ORDER BY id",
	[STORE_PLACEMENTS] = "SELECT mode, lookup, reducer, kernel, reason FROM placements WHERE "
	"run = ?",
	[STORE_ARTIFACTS] = "SELECT kind, path, bytes FROM artifacts WHERE run = ? ORDER BY id",
	[STORE_LEDGER] = "SELECT file, content_hash, range_begin, range_end, attempt, rows_read, "
	"rows_trained,"
		" rows_skipped FROM ledger WHERE run = ? ORDER BY file, range_begin, attempt",
};

static enum rs_status
copy_cell(sqlite3_stmt *statement, int i, char **out, int *is_number)
{
	char text[32];
	const int type = sqlite3_column_type(statement, i);

	if (type == SQLITE_NULL)
		return RS_OK;
	if (type != SQLITE_TEXT)
		*is_number = 1;
	/* SQLite prints 15 digits; ours read back to the same value. */
	if (type == SQLITE_FLOAT)
		return memory_strdup(number_print_double(text, sqlite3_column_double(statement, i)),
			out);
	return memory_strdup(column_text(statement, i), out);
}

static enum rs_status
read_part(sqlite3_stmt *statement, struct store_table *table)
{
	size_t capacity = 0;

	table->n_columns = (size_t)sqlite3_column_count(statement);
	RS_TRY(memory_alloc(table->n_columns, sizeof *table->name, &table->name));
	RS_TRY(memory_alloc(table->n_columns, sizeof *table->is_number, &table->is_number));
	for (size_t i = 0; i < table->n_columns; i++)
		RS_TRY(memory_strdup(sqlite3_column_name(statement, (int)i), &table->name[i]));
	while (sql_next(statement)) {
		const size_t used = table->n_rows * table->n_columns;
		if (used + table->n_columns > capacity) {
			size_t bytes;
			capacity = 2 * (used + table->n_columns);
			RS_TRY(size_mul(capacity, sizeof *table->cell, &bytes));
			char **cell = realloc(table->cell, bytes);
			if (cell == NULL)
				return rs_fail(RS_ERESOURCE, "out of memory for %zu cells",
					capacity);
			table->cell = cell;
		}
		memset(table->cell + used, 0, table->n_columns * sizeof *table->cell);
		table->n_rows++;
		for (size_t i = 0; i < table->n_columns; i++)
			RS_TRY(copy_cell(statement, (int)i, &table->cell[used + i],
				&table->is_number[i]));
	}
	return RS_OK;
}

enum rs_status
store_part(struct store *s, int64_t run, enum store_part part, struct store_table *out)
{
	sqlite3_stmt *statement;

	memset(out, 0, sizeof *out);
	RS_TRY(sql_query(s, &statement, part_query[part], "i", run));
	enum rs_status status = read_part(statement, out);
	const enum rs_status end = sql_end(s, statement);
	if (status == RS_OK)
		status = end;
	if (status != RS_OK)
		store_table_free(out);
	return status;
}

static double
column_number(sqlite3_stmt *statement, int i)
{
	return sqlite3_column_type(statement, i) == SQLITE_NULL ? NAN
		: sqlite3_column_double(statement, i);
}

static enum rs_status
read_points(sqlite3_stmt *statement, struct store_point **out, size_t *n)
{
	size_t capacity = 0, bytes;

	while (sql_next(statement)) {
		if (*n == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			RS_TRY(size_mul(capacity, sizeof **out, &bytes));
			struct store_point *const grown = realloc(*out, bytes);
			if (grown == NULL)
				return rs_fail(RS_ERESOURCE, "out of memory for %zu points",
					capacity);
			*out = grown;
		}
		(*out)[(*n)++] = (struct store_point){
			.epoch = sqlite3_column_int64(statement, 0),
			.rows = sqlite3_column_int64(statement, 1),
			.seconds = column_number(statement, 2),
			.value = column_number(statement, 3),
		};
	}
	return RS_OK;
}

enum rs_status
store_points(struct store *s, int64_t run, const char *key, struct store_point **out, size_t *n)
{
	sqlite3_stmt *statement;

	*out = NULL;
	*n = 0;
	RS_TRY(sql_query(s, &statement, "SELECT m.epoch, m.rows, (m.time_ms - r.started_ms) / "
		"1000.0, m.value FROM metrics m JOIN runs r ON r.run = m.run WHERE m.run = ? "
		"AND m.key = ? ORDER BY m.epoch = 0, m.step, m.epoch", "is", run, key));
	enum rs_status status = read_points(statement, out, n);
	const enum rs_status end = sql_end(s, statement);
	if (status == RS_OK)
		status = end;
	if (status != RS_OK) {
		free(*out);
		*out = NULL;
		*n = 0;
	}
	return status;
}

enum rs_status
store_param_value(struct store *s, int64_t run, const char *key, char **out)
{
	sqlite3_stmt *statement;
	enum rs_status status = RS_OK;

	*out = NULL;
	RS_TRY(sql_query(s, &statement, "SELECT value FROM params WHERE run = ? AND key = ?", "is",
		run, key));
	if (sql_next(statement))
		status = memory_strdup(column_text(statement, 0), out);
	const enum rs_status end = sql_end(s, statement);
	return status != RS_OK ? status : end;
}

void
store_table_free(struct store_table *table)
{
	for (size_t i = 0; table->name != NULL && i < table->n_columns; i++)
		free(table->name[i]);
	for (size_t i = 0; i < table->n_rows * table->n_columns; i++)
		free(table->cell[i]);
	free(table->name);
	free(table->is_number);
	free(table->cell);
	memset(table, 0, sizeof *table);
}
