/* runs export --mlflow: the runs copied into tables of MLflow. */
#include "cmd/mlflow.h"

#include <assert.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "store/sql.h"

#define INFINITE 1.7976931348623157e308        /* stands for infinity                 */

/* Bytes that MLflow allows. */
enum { KEY_LIMIT = 250, PARAM_LIMIT = 6000, TAG_LIMIT = 5000, NAME_LIMIT = 256, URI_LIMIT = 200 };

struct mlflow {
	struct store *from;
	struct store  to;
	char   user[NAME_LIMIT + 1];           /* who the run database belongs to     */
	char   uuid[33];                       /* of the run in work                  */
	int64_t begin_ms, end_ms;              /* of it; end 0: not yet               */
};

/* --- text ----------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at p, 0 when there is none. */
static size_t
character_bytes(const unsigned char *p)
{
	const size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		: p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0)
	    || (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return n;
}

/* At most limit bytes of whole characters; a byte that is no UTF-8, which the reader would
 * refuse, becomes a question mark.  out: [limit + 1]. */
static const char *
clip(char *out, size_t limit, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n = 0;

	while (*p != '\0') {
		const size_t bytes = character_bytes(p);

		if (n + (bytes > 0 ? bytes : 1) > limit)
			break;
		if (bytes == 0)
			out[n++] = '?';
		for (size_t i = 0; i < bytes; i++)
			out[n++] = (char)p[i];
		p += bytes > 0 ? bytes : 1;
	}
	out[n] = '\0';
	return out;
}

/* Keys have letters, digits and _-. /: only; ndcg@20 is ndcg_at_20 there. */
static const char *
clip_key(char out[KEY_LIMIT + 1], const char *key)
{
	static const char others[] = "_-. /:";
	size_t n = 0;

	for (; *key != '\0' && n + 4 <= KEY_LIMIT; key++) {
		const int is_plain = (*key >= 'a' && *key <= 'z') || (*key >= 'A' && *key <= 'Z')
			|| (*key >= '0' && *key <= '9') || strchr(others, *key) != NULL;
		const char *const put = *key == '@' ? "_at_" : "_";

		if (is_plain)
			out[n++] = *key;
		for (size_t i = 0; !is_plain && put[i] != '\0'; i++)
			out[n++] = put[i];
	}
	out[n] = '\0';
	return out;
}

/* --- what is written for a run --------------------------------------------------------- */

static enum rs_status
put_tag(struct mlflow *m, const char *key, const char *value)
{
	char text[TAG_LIMIT + 1];

	if (value[0] == '\0')
		return RS_OK;
	return sql_run(&m->to, "INSERT OR REPLACE INTO tags (key, value, run_uuid) "
		"VALUES (?,?,?)", "sss", key, clip(text, TAG_LIMIT, value), m->uuid);
}

static enum rs_status
put_tags(struct mlflow *m, const struct store_run *run)
{
	const struct { const char *key, *value; } tag[] = {
		{ "mlflow.runName", run->name }, { "mlflow.user", m->user },
		{ "mlflow.source.name", run->spec_path }, { "mlflow.source.type", "LOCAL" },
		{ "mlflow.note.content", run->note },
		{ "recsys_train.status", run->status }, { "recsys_train.tag", run->tag },
		{ "recsys_train.message", run->message }, { "recsys_train.model", run->model },
		{ "recsys_train.directory", run->directory },
		{ "recsys_train.command_line", run->command_line },
		{ "recsys_train.version", run->version },
	};

	for (size_t i = 0; i < sizeof tag / sizeof *tag; i++)
		RS_TRY(put_tag(m, tag[i].key, tag[i].value));
	return RS_OK;
}

static enum rs_status
copy_params(struct mlflow *m, sqlite3_stmt *row)
{
	char key[KEY_LIMIT + 1], value[PARAM_LIMIT + 1];

	while (sql_next(row))
		RS_TRY(sql_run(&m->to, "INSERT OR IGNORE INTO params (key, value, run_uuid) "
			"VALUES (?,?,?)", "sss",
			clip_key(key, (const char *)sqlite3_column_text(row, 0)),
			clip(value, PARAM_LIMIT, (const char *)sqlite3_column_text(row, 1)),
			m->uuid));
	return RS_OK;
}

/* What is no number is 0 and is_nan; an infinity is the largest double. */
static enum rs_status
copy_metrics(struct mlflow *m, sqlite3_stmt *row)
{
	char key[KEY_LIMIT + 1];

	while (sql_next(row)) {
		const char *const flag = (const char *)sqlite3_column_text(row, 3);
		const int has_value = sqlite3_column_type(row, 2) != SQLITE_NULL;
		const int is_nan = !has_value && (flag == NULL || strcmp(flag, "NaN") == 0);
		const double value = has_value ? sqlite3_column_double(row, 2)
			: is_nan ? 0 : flag[0] == '-' ? -INFINITE : INFINITE;

		RS_TRY(sql_run(&m->to, "INSERT OR IGNORE INTO metrics (key, value, timestamp, "
			"run_uuid, step, is_nan) VALUES (?,?,?,?,?,?)", "sdisii",
			clip_key(key, (const char *)sqlite3_column_text(row, 0)), value,
			(int64_t)sqlite3_column_int64(row, 4), m->uuid,
			(int64_t)sqlite3_column_int64(row, 1), (int64_t)is_nan));
	}
	return RS_OK;
}

static enum rs_status
copy(struct mlflow *m, const struct store_run *run, const char *query,
	enum rs_status (*each)(struct mlflow *m, sqlite3_stmt *row))
{
	sqlite3_stmt *row;

	RS_TRY(sql_query(m->from, &row, query, "i", run->run));
	const enum rs_status status = each(m, row);
	const enum rs_status end = sql_end(m->from, row);
	return status != RS_OK ? status : end;
}

/* The same run has the same name whenever it is exported. */
static enum rs_status
read_identity(struct mlflow *m, sqlite3_stmt *row)
{
	char text[1024];

	if (!sql_next(row))
		return rs_fail(RS_EBUSY, "a run was removed while it was exported");
	m->begin_ms = sqlite3_column_int64(row, 0);
	m->end_ms = sqlite3_column_int64(row, 1);
	const int n = snprintf(text, sizeof text, "%" PRId64 "/%s/%s/%" PRId64 "/%" PRId64,
		(int64_t)sqlite3_column_int64(row, 2), (const char *)sqlite3_column_text(row, 3),
		(const char *)sqlite3_column_text(row, 4), (int64_t)sqlite3_column_int64(row, 5),
		m->begin_ms);
	const uint64_t hash = hash_fingerprint64(text,
		(size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
	snprintf(m->uuid, sizeof m->uuid, "%016" PRIx64 "%016" PRIx64, hash, hash_mix(hash));
	return RS_OK;
}

/* Runs of one model directory are an experiment. */
static enum rs_status
find_experiment(struct mlflow *m, const struct store_run *run, int64_t *id)
{
	const char *const name = run->directory[0] != '\0' ? run->directory : "Default";
	char text[NAME_LIMIT + 1];
	sqlite3_stmt *row;

	clip(text, NAME_LIMIT, name);
	RS_TRY(sql_run(&m->to, "INSERT INTO experiments (name, artifact_location, "
		"lifecycle_stage, creation_time, last_update_time) VALUES (?1, 'mlruns/' || "
		"(SELECT max(experiment_id) + 1 FROM experiments), 'active', ?2, ?2) ON CONFLICT "
		"(name) DO UPDATE SET last_update_time = ?2", "si", text, m->begin_ms));
	RS_TRY(sql_query(&m->to, &row, "SELECT experiment_id FROM experiments WHERE name = ?",
		"s", text));
	*id = sql_next(row) ? sqlite3_column_int64(row, 0) : 0;
	return sql_end(&m->to, row);
}

static const char *
status_of(const struct store_run *run)
{
	static const struct { const char *ours, *theirs; } word[] = {
		{ "running", "RUNNING" }, { "ok", "FINISHED" }, { "partial", "FINISHED" },
		{ "rejected", "FINISHED" }, { "interrupted", "KILLED" }, { "lost", "KILLED" },
	};

	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		if (strcmp(run->status, word[i].ours) == 0)
			return word[i].theirs;
	return "FAILED";
}

/* The version that the run made; "" when there is none, or its path is too long. */
static enum rs_status
find_artifact(struct mlflow *m, const struct store_run *run, char out[URI_LIMIT + 1])
{
	sqlite3_stmt *row;

	out[0] = '\0';
	RS_TRY(sql_query(m->from, &row, "SELECT path FROM artifacts WHERE run = ? AND "
		"kind = 'model' AND length(CAST(path AS BLOB)) <= 200 ORDER BY id DESC LIMIT 1",
		"i", run->run));
	if (sql_next(row))
		clip(out, URI_LIMIT, (const char *)sqlite3_column_text(row, 0));
	return sql_end(m->from, row);
}

static enum rs_status
put_run(struct mlflow *m, const struct store_run *run)
{
	char uri[URI_LIMIT + 1], source[NAME_LIMIT + 1];
	int64_t experiment;

	RS_TRY(copy(m, run, "SELECT started_ms, ended_ms, run, host, boot, pid FROM runs WHERE "
		"run = ?", read_identity));
	RS_TRY(find_experiment(m, run, &experiment));
	RS_TRY(find_artifact(m, run, uri));
	RS_TRY(sql_run(&m->to, "INSERT INTO runs (run_uuid, name, source_type, source_name, "
		"entry_point_name, user_id, status, start_time, end_time, source_version, "
		"lifecycle_stage, artifact_uri, experiment_id) VALUES (?, ?, 'LOCAL', ?, '', ?, ?, "
		"?, nullif(?, 0), '', 'active', ?, ?)", "sssssiisi", m->uuid, run->name,
		clip(source, NAME_LIMIT, run->spec_path), m->user, status_of(run), m->begin_ms,
		m->end_ms, uri, experiment));
	RS_TRY(put_tags(m, run));
	RS_TRY(copy(m, run, "SELECT key, value FROM params WHERE run = ? ORDER BY key",
		copy_params));
	return copy(m, run, "SELECT key, step, value, text, time_ms FROM metrics WHERE run = ? "
		"ORDER BY key, epoch = 0, step", copy_metrics);
}

/* --- the file -------------------------------------------------------------------------- */

static void
find_user(struct mlflow *m)
{
	const struct passwd *owner = NULL;
	struct stat st;
	char number[24] = "";

	if (stat(m->from->path, &st) == 0) {
		owner = getpwuid(st.st_uid);
		snprintf(number, sizeof number, "%lu", (unsigned long)st.st_uid);
	}
	clip(m->user, NAME_LIMIT, owner != NULL ? owner->pw_name : number);
}

static enum rs_status
put_runs(struct mlflow *m, const struct store_run *run, size_t n)
{
	RS_TRY(sql_script(&m->to, mlflow_schema));
	for (size_t i = 0; i < n; i++)
		RS_TRY(put_run(m, &run[i]));
	/* The table of runs that MLflow shows reads these only. */
	return sql_script(&m->to, "INSERT INTO latest_metrics (key, value, timestamp, step, "
		"is_nan, run_uuid) SELECT key, value, timestamp, step, is_nan, run_uuid FROM "
		"(SELECT *, row_number() OVER (PARTITION BY run_uuid, key ORDER BY step DESC, "
		"timestamp DESC, value DESC) AS place FROM metrics) WHERE place = 1");
}

/* One snapshot of the run database. */
static enum rs_status
fill(struct mlflow *m, const struct store_run *run, size_t n)
{
	find_user(m);
	RS_TRY(sql_script(m->from, "BEGIN"));
	enum rs_status status = sql_script(&m->to, "BEGIN");
	if (status == RS_OK)
		status = sql_finish(&m->to, put_runs(m, run, n));
	return sql_finish(m->from, status);
}

/* Nobody else knows the name, and a file that is not whole is removed, so no journal. */
static enum rs_status
write_database(struct mlflow *m, const struct store_run *run, size_t n)
{
	const int code = sqlite3_open_v2(m->to.path, &m->to.db, SQLITE_OPEN_READWRITE, NULL);

	enum rs_status status = code == SQLITE_OK ? RS_OK : sql_fail(&m->to, code);
	if (status == RS_OK)
		status = sql_script(&m->to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
	if (status == RS_OK)
		status = fill(m, run, n);
	if (sqlite3_close(m->to.db) != SQLITE_OK && status == RS_OK)
		status = rs_fail(RS_EIO, "'%s' cannot be closed", m->to.path);
	return status;
}

/* A journal is of who writes into the file, and would be taken for the new one's. */
static enum rs_status
check_unused(const char *path)
{
	static const char *const suffix[] = { "-wal", "-journal" };
	char name[4096];
	struct stat st;

	for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
		snprintf(name, sizeof name, "%s%s", path, suffix[i]);
		if (stat(name, &st) == 0 && st.st_size > 0)
			return rs_fail(RS_EBUSY, "'%s' is being written: there is '%s'", path,
				name);
	}
	return RS_OK;
}

/* Something else of this name stays, above all the run database itself. */
static enum rs_status
check_target(const char *path)
{
	struct store there = { .path = (char *)path, .what = "file", .read_only = 1 };
	struct stat st;
	int64_t n = 0;

	if (stat(path, &st) != 0 || (S_ISREG(st.st_mode) && st.st_size == 0))
		return RS_OK;
	RS_TRY(check_unused(path));
	const int code = sqlite3_open_v2(path, &there.db, SQLITE_OPEN_READONLY, NULL);
	enum rs_status status = code != SQLITE_OK ? sql_fail(&there, code)
		: sql_int(&there, "SELECT count(*) FROM sqlite_master WHERE name IN "
			"('alembic_version', 'latest_metrics')", &n);
	sqlite3_close(there.db);
	if (status == RS_EBUSY || status == RS_ERESOURCE)
		return status;
	if (n == 2)
		return RS_OK;
	rs_fail(RS_ECREATE, "'%s' exists and is no database of MLflow", path);
	return rs_hint("name another file, or remove it first");
}

enum rs_status
mlflow_write(struct store *from, const struct store_run *run, size_t n, const char *path)
{
	struct mlflow m = { .from = from, .to.what = "MLflow database" };
	struct file_writer w;

	RS_TRY(check_target(path));
	enum rs_status status = file_writer_open(&w, path);
	if (status == RS_OK) {
		m.to.path = w.temporary;
		status = write_database(&m, run, n);
	}
	if (status == RS_OK)
		status = file_writer_commit(&w);
	file_writer_close(&w);
	return status;
}
