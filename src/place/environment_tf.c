/*
 * TF_CONFIG: {"cluster": {"chief": [..], "worker": [..], "ps": [..]}, "task": {"type": ..,
 * "index": ..}}.  The chief, or without one worker 0, is worker 0 and has the coordinator;
 * an evaluator has nothing to do here.  SQLite reads the JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "comm/keys.h"
#include "place/environment_private.h"
#include "store/sql.h"

#define ADDRESSES "SELECT value FROM json_each(?, '$.cluster.' || ?)"
#define COUNT     "SELECT count(*) FROM json_each(?, '$.cluster.' || ?)"

static enum rs_status
query_text(struct store *s, const char *query, const char *json, const char *argument,
	char out[ENVIRONMENT_NAME])
{
	sqlite3_stmt *statement;
	const unsigned char *text;

	*out = '\0';
	RS_TRY(sql_query(s, &statement, query, argument != NULL ? "ss" : "s", json, argument));
	if (sql_next(statement) && (text = sqlite3_column_text(statement, 0)) != NULL)
		snprintf(out, ENVIRONMENT_NAME, "%s", (const char *)text);
	return sql_end(s, statement);
}

static enum rs_status
query_count(struct store *s, const char *json, const char *role, size_t *out)
{
	char text[ENVIRONMENT_NAME];

	RS_TRY(query_text(s, COUNT, json, role, text));
	*out = (size_t)strtoull(text, NULL, 10);
	return RS_OK;
}

static enum rs_status
refuse(const char *what)
{
	(void)rs_fail(RS_EUSAGE, "TF_CONFIG: %s", what);
	return rs_hint("wanted {\"cluster\": {\"worker\": [\"host:port\", ...], \"ps\": [...]}, "
		"\"task\": {\"type\": \"worker\", \"index\": 0}}");
}

/* Which node the task is. */
static enum rs_status
take_task(struct environment *e, const char *type, size_t index, size_t n_chiefs)
{
	const size_t n = strcmp(type, "ps") == 0 ? e->n_ps : strcmp(type, "chief") == 0 ||
		strcmp(type, "master") == 0 ? n_chiefs : e->n_workers - n_chiefs;

	if (strcmp(type, "evaluator") == 0)
		return refuse("an evaluator is not needed: workers evaluate");
	if (index >= n)
		return refuse("the task is not in the cluster");
	if (strcmp(type, "ps") == 0) {
		e->role = KEY_PS;
		e->role_index = index;
		return RS_OK;
	}
	if (strcmp(type, "worker") != 0 && strcmp(type, "chief") != 0
	    && strcmp(type, "master") != 0)
		return refuse("the task's type is none of chief, worker, ps");
	e->role = KEY_WORKER;
	e->role_index = strcmp(type, "worker") == 0 ? index + n_chiefs : 0;
	return RS_OK;
}

/* Each has an address of its own. */
static enum rs_status
take_address(struct store *s, struct environment *e, const char *json, const char *type,
	size_t index)
{
	char path[80], address[ENVIRONMENT_NAME];

	snprintf(path, sizeof(path), "%.32s[%zu]", type, index);
	RS_TRY(query_text(s, "SELECT json_extract(?, '$.cluster.' || ?)", json, path, address));
	snprintf(e->self, sizeof(e->self), "tcp://%.*s", (int)(ENVIRONMENT_NAME - sizeof("tcp://")),
		address);
	return RS_OK;
}

static enum rs_status
read_cluster(struct store *s, const struct environment_reader *r, const char *json)
{
	struct environment *e = r->out;
	char type[ENVIRONMENT_NAME], index[ENVIRONMENT_NAME], chief[ENVIRONMENT_NAME];
	size_t n_chiefs = 0, n_masters = 0;

	RS_TRY(query_text(s, "SELECT json_valid(?)", json, NULL, type));
	if (strcmp(type, "1") != 0)
		return refuse("that is not JSON");
	RS_TRY(query_text(s, "SELECT json_extract(?, '$.task.type')", json, NULL, type));
	RS_TRY(query_text(s, "SELECT json_extract(?, '$.task.index')", json, NULL, index));
	RS_TRY(query_count(s, json, "chief", &n_chiefs));
	RS_TRY(query_count(s, json, "master", &n_masters));
	RS_TRY(query_count(s, json, "worker", &e->n_workers));
	RS_TRY(query_count(s, json, "ps", &e->n_ps));
	n_chiefs += n_masters;
	e->n_workers += n_chiefs;
	if (n_chiefs > 1)
		return refuse("more than one chief");
	if (e->n_workers == 0)
		return refuse("no worker");
	RS_TRY(query_text(s, ADDRESSES, json, n_chiefs == 0 ? "worker" :
		n_masters > 0 ? "master" : "chief", chief));
	if (strchr(chief, ':') == NULL || strlen(chief) + sizeof("tcp://") > ENVIRONMENT_NAME)
		return refuse("an address is not host:port");
	snprintf(e->coordinator, sizeof(e->coordinator), "tcp://%.*s",
		(int)(ENVIRONMENT_NAME - sizeof("tcp://")), chief);
	e->size = e->n_workers;
	e->n_hosts = e->n_workers + e->n_ps;
	RS_TRY(take_task(e, type, (size_t)strtoull(index, NULL, 10), n_chiefs));
	RS_TRY(take_address(s, e, json, type, (size_t)strtoull(index, NULL, 10)));
	e->rank = e->role == KEY_WORKER ? e->role_index : 0;
	e->host_index = e->role == KEY_WORKER ? e->role_index : e->n_workers + e->role_index;
	return RS_OK;
}

enum rs_status
environment_tf_config(const struct environment_reader *r)
{
	const char *json = environment_value(r, "TF_CONFIG");
	char path[] = ":memory:";
	struct store s = { .path = path, .read_only = 1 };
	const int code = sqlite3_open(":memory:", &s.db);
	const enum rs_status status = code != SQLITE_OK ? sql_fail(&s, code)
		: read_cluster(&s, r, json);

	(void)sqlite3_close(s.db);
	r->out->job = hash_fingerprint64(r->out->coordinator, strlen(r->out->coordinator));
	return status;
}
