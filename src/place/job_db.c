/* The coordinator's memory: one row of the job, one of each node. */
#include "place/job_db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "store/sql.h"

#define BUSY_MS 5000

struct job_db { struct store store; };

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS job (one INTEGER PRIMARY KEY CHECK (one = 1), id INTEGER, "
	"config INTEGER, epoch INTEGER, phase INTEGER, finished INTEGER, incarnation INTEGER, "
	"reason TEXT, status TEXT, text TEXT, hint TEXT, place TEXT);"
	"CREATE TABLE IF NOT EXISTS node (number INTEGER PRIMARY KEY, state INTEGER, "
	"incarnation INTEGER, nonce INTEGER, pid INTEGER, endpoint TEXT, public_key TEXT, "
	"host TEXT, name TEXT);";

static void
copy_text(sqlite3_stmt *q, int column, char *out, size_t capacity)
{
	const unsigned char *text = sqlite3_column_text(q, column);

	snprintf(out, capacity, "%s", text != NULL ? (const char *)text : "");
}

static void
read_job(sqlite3_stmt *q, struct roster *r, double now)
{
	const int64_t phase = sqlite3_column_int64(q, 1);
	char status[32];

	r->epoch = (uint32_t)sqlite3_column_int64(q, 0);
	r->phase = phase >= 0 && phase < ROSTER_N_PHASES ? (enum roster_phase)phase :
		ROSTER_GATHERING;
	r->finished = sqlite3_column_int(q, 2);
	r->last_incarnation = (uint64_t)sqlite3_column_int64(q, 3);
	copy_text(q, 4, r->reason, sizeof(r->reason));
	copy_text(q, 5, status, sizeof(status));
	copy_text(q, 6, r->failure.text, sizeof(r->failure.text));
	copy_text(q, 7, r->failure.hint, sizeof(r->failure.hint));
	copy_text(q, 8, r->failure.where, sizeof(r->failure.where));
	for (enum rs_status s = RS_OK; s < RS_N_STATUS; s++)
		if (strcmp(rs_status_name(s), status) == 0)
			r->failure.status = s;
	r->failure.file_bytes = strlen(r->failure.where);
	r->since = r->progressed = r->finished_at = now;
}

static void
read_node(sqlite3_stmt *q, struct roster *r, double now)
{
	const int64_t number = sqlite3_column_int64(q, 0), state = sqlite3_column_int64(q, 1);

	if (number < 1 || number >= (int64_t)r->n || state < 0 || state >= ROSTER_N_STATES)
		return;
	struct roster_node *node = &r->node[number];
	node->state = (enum roster_state)state;
	node->incarnation = (uint64_t)sqlite3_column_int64(q, 2);
	node->nonce = (uint64_t)sqlite3_column_int64(q, 3);
	node->pid = (uint64_t)sqlite3_column_int64(q, 4);
	copy_text(q, 5, node->endpoint, sizeof(node->endpoint));
	copy_text(q, 6, node->public_key, sizeof(node->public_key));
	copy_text(q, 7, node->host, sizeof(node->host));
	copy_text(q, 8, node->name, sizeof(node->name));
	node->heard = node->progressed = now;
}

static enum rs_status
load(struct job_db *d, struct roster *r, double now)
{
	sqlite3_stmt *q;
	int found;

	RS_TRY(sql_query(&d->store, &q, "SELECT epoch, phase, finished, incarnation, reason, "
		"status, text, hint, place FROM job WHERE id = ?1 AND config = ?2", "ii",
		(int64_t)r->job->id, (int64_t)r->job->config));
	found = sql_next(q);
	if (found)
		read_job(q, r, now);
	RS_TRY(sql_end(&d->store, q));
	if (!found)                 /* of another job: nothing of it holds            */
		return sql_script(&d->store, "DELETE FROM job; DELETE FROM node");
	RS_TRY(sql_query(&d->store, &q, "SELECT number, state, incarnation, nonce, pid, endpoint, "
		"public_key, host, name FROM node", ""));
	while (sql_next(q))
		read_node(q, r, now);
	return sql_end(&d->store, q);
}

static enum rs_status
prepare(struct job_db *d, struct roster *r, double now)
{
	const int code = sqlite3_open_v2(d->store.path, &d->store.db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

	if (code != SQLITE_OK)
		return sql_fail(&d->store, code);
	sqlite3_busy_timeout(d->store.db, BUSY_MS);
	RS_TRY(sql_script(&d->store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"));
	RS_TRY(sql_script(&d->store, schema));
	return load(d, r, now);
}

enum rs_status
job_db_open(const char *directory, struct roster *r, double now, struct job_db **out)
{
	struct job_db *d;

	RS_TRY(memory_alloc(1, sizeof(*d), &d));
	d->store.what = "job database";
	enum rs_status status = file_join(directory, "job.db", &d->store.path);
	if (status == RS_OK)
		status = prepare(d, r, now);
	if (status != RS_OK) {
		job_db_close(d);
		return status;
	}
	*out = d;
	return RS_OK;
}

void
job_db_close(struct job_db *d)
{
	if (d == NULL)
		return;
	sqlite3_close(d->store.db);
	free(d->store.path);
	free(d);
}

static enum rs_status
save_node(struct job_db *d, const struct roster_node *n, size_t number)
{
	return sql_run(&d->store, "INSERT OR REPLACE INTO node (number, state, incarnation, nonce, "
		"pid, endpoint, public_key, host, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		"iiiiissss", (int64_t)number, (int64_t)n->state, (int64_t)n->incarnation,
		(int64_t)n->nonce, (int64_t)n->pid, n->endpoint, n->public_key, n->host, n->name);
}

static enum rs_status
save(struct job_db *d, const struct roster *r)
{
	RS_TRY(sql_run(&d->store, "INSERT OR REPLACE INTO job (one, id, config, epoch, phase, "
		"finished, incarnation, reason, status, text, hint, place) "
		"VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "iiiiiisssss", (int64_t)r->job->id,
		(int64_t)r->job->config, (int64_t)r->epoch, (int64_t)r->phase,
		(int64_t)r->finished, (int64_t)r->last_incarnation, r->reason,
		rs_status_name(r->failure.status), r->failure.text, r->failure.hint,
		r->failure.where));
	for (size_t i = 1; i < r->n; i++)
		if (r->node[i].dirty)
			RS_TRY(save_node(d, &r->node[i], i));
	return RS_OK;
}

enum rs_status
job_db_save(struct job_db *d, struct roster *r)
{
	if (!r->dirty)
		return RS_OK;
	RS_TRY(sql_script(&d->store, "BEGIN IMMEDIATE"));
	RS_TRY(sql_finish(&d->store, save(d, r)));
	for (size_t i = 1; i < r->n; i++)
		r->node[i].dirty = 0;
	r->dirty = 0;
	return RS_OK;
}
