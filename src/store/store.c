/* The run database: opening, migrating and recording. */
#include "store/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "store/process.h"
#include "store/sql.h"

#define APPLICATION_ID  0x72737472      /* "rstr" */
#define RETRY_NS        5000000L

static int64_t
newest_version(void)
{
	int64_t n = 0;

	while (sql_schema[n] != NULL)
		n++;
	return n;
}

/* Tells a run database from an empty file (version 0) and from anything else. */
static enum rs_status
check_ours(struct store *s, int64_t *version)
{
	int64_t id, n_objects;

	RS_TRY(sql_int(s, "PRAGMA application_id", &id));
	RS_TRY(sql_int(s, "PRAGMA user_version", version));
	RS_TRY(sql_int(s, "SELECT count(*) FROM sqlite_master", &n_objects));
	const int is_empty = id == 0 && *version == 0 && n_objects == 0;
	if (id != APPLICATION_ID && !is_empty)
		return rs_fail(RS_EDATA, "'%s' is a database of another program, not a run "
			"database", s->path);
	if (*version > newest_version())
		return rs_fail(RS_EPROTOCOL, "run database '%s' has version %" PRId64
			", this program knows up to %" PRId64, s->path, *version, newest_version());
	return RS_OK;
}

static enum rs_status
migrate_locked(struct store *s)
{
	char text[64];
	int64_t version;

	RS_TRY(check_ours(s, &version));      /* again: another process may have been first */
	for (; sql_schema[version] != NULL; version++)
		RS_TRY(sql_script(s, sql_schema[version]));
	snprintf(text, sizeof text, "PRAGMA application_id = %d", APPLICATION_ID);
	RS_TRY(sql_script(s, text));
	snprintf(text, sizeof text, "PRAGMA user_version = %" PRId64, version);
	return sql_script(s, text);
}

static enum rs_status
use_wal(struct store *s)
{
	sqlite3_stmt *statement;

	RS_TRY(sql_query(s, &statement, "PRAGMA journal_mode = WAL", ""));
	sql_next(statement);
	return sql_end(s, statement);
}

static enum rs_status
prepare_file(struct store *s)
{
	int64_t version = 0;

	RS_TRY(sql_script(s, "BEGIN"));       /* one snapshot for the three questions */
	RS_TRY(sql_finish(s, check_ours(s, &version)));
	if (s->read_only) {
		if (version == 0)
			return rs_fail(RS_ENOINPUT,
				"run database '%s' is empty: no run was recorded yet", s->path);
		if (version < newest_version())
			return rs_fail(RS_EPROTOCOL,
				"run database '%s' has version %" PRId64 ", wanted %" PRId64
				" (the next training run upgrades it)", s->path, version,
				newest_version());
		return RS_OK;
	}
	RS_TRY(use_wal(s));
	RS_TRY(sql_script(s, "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL"));
	if (version == newest_version())
		return RS_OK;
	RS_TRY(sql_script(s, "BEGIN IMMEDIATE"));
	return sql_finish(s, migrate_locked(s));
}

/* Changing to WAL does not call SQLite's busy handler, so waiting is done here. */
static enum rs_status
prepare_file_patiently(struct store *s, int busy_ms)
{
	const double deadline = clock_seconds() + busy_ms / 1000.0;

	for (;;) {
		const enum rs_status status = prepare_file(s);
		if (status != RS_EBUSY || clock_seconds() >= deadline)
			return status;
		nanosleep(&(struct timespec){ .tv_nsec = RETRY_NS }, NULL);
	}
}

static enum rs_status
make_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *parent;

	if (slash == NULL || slash == path)
		return RS_OK;
	RS_TRY(memory_strdup(path, &parent));
	parent[slash - path] = '\0';
	const enum rs_status status = file_make_directories(parent);
	free(parent);
	return status;
}

static enum rs_status
open_file(struct store *s, const char *path, int busy_ms)
{
	RS_TRY(memory_strdup(path, &s->path));
	if (s->read_only && access(path, F_OK) != 0)
		return rs_fail(RS_ENOINPUT, "there is no run database '%s'", path);
	if (!s->read_only)
		RS_TRY(make_parent(path));
	const int flags = s->read_only ? SQLITE_OPEN_READONLY
		: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	const int code = sqlite3_open_v2(path, &s->db, flags | SQLITE_OPEN_FULLMUTEX, NULL);
	if (code != SQLITE_OK)
		return sql_fail(s, code);
	sqlite3_busy_timeout(s->db, busy_ms);
	return prepare_file_patiently(s, busy_ms);
}

enum rs_status
store_open(const char *path, int read_only, int busy_ms, struct store **out)
{
	struct store *s;

	*out = NULL;
	RS_TRY(memory_alloc(1, sizeof *s, &s));
	s->read_only = read_only;
	const enum rs_status status = open_file(s, path, busy_ms);
	if (status != RS_OK) {
		store_close(s);
		return status;
	}
	*out = s;
	return RS_OK;
}

void
store_close(struct store *s)
{
	if (s == NULL)
		return;
	sqlite3_close(s->db);
	free(s->path);
	free(s);
}

static const char *
text_or_empty(const char *text)
{
	return text != NULL ? text : "";
}

/* Adds the "key = value" lines of a resolved spec as parameters. */
static enum rs_status
add_spec_params(struct store *s, int64_t run, const char *text)
{
	char section[256] = "", key[512], value[4096];

	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n"),
		line += *line == '\n') {
		const int length = (int)strcspn(line, "\n");
		const char *equals = memchr(line, '=', (size_t)length);
		if (line[0] == '[') {
			snprintf(section, sizeof section, "%.*s", (int)strcspn(line + 1, "]\n"),
				line + 1);
		} else if (equals != NULL && line[0] != '#' && line[0] != ';') {
			const char *v = equals + 1 + strspn(equals + 1, " \t");
			int n_key = (int)(equals - line);
			while (n_key > 0 && strchr(" \t", line[n_key - 1]) != NULL)
				n_key--;
			snprintf(key, sizeof key, "%s.%.*s", section, n_key, line);
			snprintf(value, sizeof value, "%.*s", (int)(line + length - v), v);
			RS_TRY(store_param(s, run, key, value));
		}
	}
	return RS_OK;
}

static enum rs_status
insert_run(struct store *s, const struct store_run_start *start, int64_t *run)
{
	struct process_identity self;

	process_self(&self);
	RS_TRY(sql_run(s, "INSERT INTO runs (model, directory, spec_path, spec_text, "
		"command_line, version, "
		"tag, note, seed, threads, started_ms, host, boot, process_space, pid, "
		"process_start) "
		"VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", "ssssssssiiisssii",
		text_or_empty(start->model), text_or_empty(start->directory),
		text_or_empty(start->spec_path),
		text_or_empty(start->spec_text), text_or_empty(start->command_line),
		text_or_empty(start->version), text_or_empty(start->tag),
		text_or_empty(start->note),
		start->seed, start->threads, clock_wall_ms(), self.host, self.boot, self.space,
		self.pid, self.start));
	*run = sqlite3_last_insert_rowid(s->db);
	return add_spec_params(s, *run, text_or_empty(start->spec_text));
}

enum rs_status
store_run_begin(struct store *s, const struct store_run_start *start, int64_t *run)
{
	RS_TRY(sql_script(s, "BEGIN IMMEDIATE"));
	return sql_finish(s, insert_run(s, start, run));
}

enum rs_status
store_run_end(struct store *s, int64_t run, const char *status, int64_t rows, const char *message)
{
	return sql_run(s, "UPDATE runs SET status = ?, rows = ?, message = ?, ended_ms = ? WHERE "
		"run = ?",
		"sisii", status, rows, text_or_empty(message), clock_wall_ms(), run);
}

enum rs_status
store_run_fail(struct store *s, int64_t run, const char *message)
{
	return sql_run(s, "UPDATE runs SET status = 'failed', message = ?, ended_ms = ? WHERE "
		"run = ? AND status = 'running'", "sii", text_or_empty(message), clock_wall_ms(),
		run);
}

enum rs_status
store_param(struct store *s, int64_t run, const char *key, const char *value)
{
	return sql_run(s, "INSERT OR REPLACE INTO params (run, key, value) VALUES (?,?,?)", "iss",
		run, key, text_or_empty(value));
}

static const char *
value_flag(double value)
{
	if (isnan(value))
		return "NaN";
	return isinf(value) ? (value > 0 ? "Inf" : "-Inf") : NULL;
}

enum rs_status
store_metric(struct store *s, int64_t run, const char *key, int64_t epoch, int64_t step,
	int64_t rows,
	double value)
{
	return sql_run(s, "INSERT OR REPLACE INTO metrics (run, key, epoch, step, rows, value, "
		"text, time_ms) "
		"VALUES (?,?,?,?,?,?,?,?)", "isiiidsi",
		run, key, epoch, step, rows, value, value_flag(value), clock_wall_ms());
}

enum rs_status
store_warning(struct store *s, int64_t run, const char *text)
{
	return sql_run(s, "INSERT INTO warnings (run, time_ms, text) VALUES (?,?,?)", "iis",
		run, clock_wall_ms(), text_or_empty(text));
}

enum rs_status
store_placement(struct store *s, int64_t run, const char *mode, const char *lookup,
	const char *reducer, const char *kernel, const char *reason)
{
	return sql_run(s, "INSERT OR REPLACE INTO placements (run, mode, lookup, reducer, "
		"kernel, reason) "
		"VALUES (?,?,?,?,?,?)", "isssss", run, text_or_empty(mode), text_or_empty(lookup),
		text_or_empty(reducer), text_or_empty(kernel), text_or_empty(reason));
}

enum rs_status
store_artifact(struct store *s, int64_t run, const char *kind, const char *path, int64_t bytes)
{
	return sql_run(s, "INSERT INTO artifacts (run, time_ms, kind, path, bytes) VALUES "
		"(?,?,?,?,?)",
		"iissi", run, clock_wall_ms(), kind, path, bytes);
}

enum rs_status
store_ledger(struct store *s, int64_t run, const struct store_ledger *row)
{
	char hash[17];

	snprintf(hash, sizeof hash, "%016" PRIx64, row->content_hash);
	return sql_run(s, "INSERT OR REPLACE INTO ledger (run, file, content_hash, range_begin, "
		"range_end, "
		"attempt, rows_read, rows_trained, rows_skipped) VALUES (?,?,?,?,?,?,?,?,?)",
		"issiiiiii",
		run, row->file, hash, (int64_t)row->begin, (int64_t)row->end, row->attempt,
		row->rows_read, row->rows_trained, row->rows_skipped);
}

enum rs_status
store_run_remove(struct store *s, int64_t run)
{
	return sql_run(s, "DELETE FROM runs WHERE run = ?", "i", run);
}

enum rs_status
store_run_tag(struct store *s, int64_t run, const char *tag)
{
	return sql_run(s, "UPDATE runs SET tag = ? WHERE run = ?", "si", text_or_empty(tag), run);
}
