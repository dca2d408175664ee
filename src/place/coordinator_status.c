/* The table of nodes, for people and for programs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "comm/fields.h"
#include "place/coordinator_private.h"

#define KEY_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

void
coordinator_next_report(const struct link *l, size_t *at, char key[72], char value[72])
{
	const struct fields f = { l->report.data, l->report.n };
	const char *line, *equal;
	size_t n;

	key[0] = value[0] = '\0';
	if (!fields_next(&f, "r", at, &line, &n))
		return;
	equal = memchr(line, '=', n);
	size_t n_key = equal != NULL ? (size_t)(equal - line) : n;
	size_t begin = equal != NULL ? n_key + 1 : n;
	while (n_key > 0 && line[n_key - 1] == ' ')
		n_key--;
	while (begin < n && line[begin] == ' ')
		begin++;
	rs_escape(key, line, n_key);
	for (char *k = key; *k != '\0'; k++)       /* a key of JSON is written as it is      */
		if (strchr(KEY_LETTERS, *k) == NULL)
			*k = '_';
	rs_escape(value, line + begin, n - begin);
}

static enum rs_status
print_node(const struct coordinator *c, size_t i, struct buffer *out)
{
	const struct roster_node *node = &c->roster.node[i];
	char name[32], key[72], value[72], heard[32] = "-", pid[24] = "-";
	size_t at = 0;

	if (node->heard > 0)
		snprintf(heard, sizeof(heard), "%.1f s", c->now - node->heard);
	if (node->pid > 0)
		snprintf(pid, sizeof(pid), "%" PRIu64, node->pid);
	RS_TRY(buffer_printf(out, "%-12s %-9s %8s %-16s %8s %10" PRIu64,
		job_node_name(c->o->job, i, name), roster_state_name(node->state), pid,
		node->host[0] != '\0' ? node->host : "-", heard, node->progress));
	for (coordinator_next_report(&c->link[i], &at, key, value); key[0] != '\0';
	     coordinator_next_report(&c->link[i], &at, key, value))
		RS_TRY(buffer_printf(out, "  %s=%s", key, value));
	if (node->trouble[0] != '\0' && node->state == ROSTER_ABSENT)
		RS_TRY(buffer_printf(out, "  %s", node->trouble));
	return buffer_printf(out, "\n");
}

static enum rs_status
print_text(const struct coordinator *c, struct buffer *out)
{
	const struct roster *r = &c->roster;

	RS_TRY(buffer_printf(out, "job %016" PRIx64 ": %s, round %" PRIu32 ", for %.0f s\n",
		c->o->job->id, roster_phase_name(r->phase), r->epoch, c->now - r->since));
	if (r->phase == ROSTER_ENDED && r->failure.status != RS_OK)
		RS_TRY(buffer_printf(out, "ended because: %s\n", r->failure.text));
	else if (r->reason[0] != '\0')
		RS_TRY(buffer_printf(out, "the last round ended because: %s\n", r->reason));
	RS_TRY(buffer_printf(out, "%-12s %-9s %8s %-16s %8s %10s  %s\n", "node", "state", "pid",
		"host", "heard", "progress", "reports"));
	for (size_t i = 1; i < r->n; i++)
		RS_TRY(print_node(c, i, out));
	return RS_OK;
}

static void
json_node(const struct coordinator *c, size_t i, struct json *j)
{
	const struct roster_node *node = &c->roster.node[i];
	const struct job_node *who = &c->o->job->node[i];
	char key[72], value[72];
	size_t at = 0;

	json_open(j, NULL, '{');
	json_string(j, "role", key_role_name(who->role));
	json_int(j, "index", (int64_t)who->index);
	json_string(j, "state", roster_state_name(node->state));
	json_int(j, "pid", (int64_t)node->pid);
	json_string(j, "host", node->host);
	json_string(j, "endpoint", node->endpoint);
	json_double(j, "silent", node->heard > 0 ? c->now - node->heard : 0.0 / 0.0);
	json_int(j, "progress", (int64_t)node->progress);
	json_string(j, "trouble", node->trouble[0] != '\0' ? node->trouble : NULL);
	json_open(j, "report", '{');
	for (coordinator_next_report(&c->link[i], &at, key, value); key[0] != '\0';
	     coordinator_next_report(&c->link[i], &at, key, value))
		json_string(j, key, value);
	json_close(j);
	json_close(j);
}

static void
json_job(const struct coordinator *c, struct json *j)
{
	const struct roster *r = &c->roster;
	char id[24];

	snprintf(id, sizeof(id), "%016" PRIx64, c->o->job->id);
	json_open(j, NULL, '{');
	json_string(j, "job", id);
	json_string(j, "phase", roster_phase_name(r->phase));
	json_int(j, "round", r->epoch);
	json_double(j, "seconds", c->now - r->since);
	json_string(j, "reason", r->reason[0] != '\0' ? r->reason : NULL);
	json_string(j, "failure", r->failure.status != RS_OK ? r->failure.text : NULL);
	json_open(j, "nodes", '[');
	for (size_t i = 1; i < r->n; i++)
		json_node(c, i, j);
	json_close(j);
	json_close(j);
}

enum rs_status
coordinator_print(const struct coordinator *c, int json, struct buffer *out)
{
	struct json j;

	if (!json)
		return print_text(c, out);
	json_init(&j);
	json_job(c, &j);
	const enum rs_status status = buffer_printf(out, "%s\n", json_text(&j));
	json_free(&j);
	return status;
}

/* Replaced as a whole, but not synced: after a crash of the machine nobody wants it. */
static int
replace(const char *path, mode_t mode, const struct buffer *text)
{
	char temporary[4300];

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0)
		return 0;
	const int written = write(fd, text->data, text->n) == (ssize_t)text->n;
	close(fd);
	return written && rename(temporary, path) == 0;
}

static void
publish_metrics(const struct coordinator *c)
{
	struct buffer text;

	if (c->o->cluster->metrics == NULL || c->o->cluster->metrics[0] == '\0')
		return;
	buffer_init(&text, FIELDS_MAX);
	if (coordinator_metrics(c, &text) != RS_OK ||
	    !replace(c->o->cluster->metrics, 0666, &text))
		log_debug("'%s' cannot be written", c->o->cluster->metrics);
	buffer_free(&text);
}

enum rs_status
coordinator_check_metrics(const struct coordinator_options *o)
{
	const char *const path = o->cluster->metrics;
	const struct buffer nothing = { .data = NULL };

	if (path == NULL || path[0] == '\0' || replace(path, 0666, &nothing))
		return RS_OK;
	return rs_fail(file_status_of(errno, RS_ECREATE), "cluster.metrics: cannot write '%s': %s",
		path, strerror(errno));
}

void
coordinator_publish(const struct coordinator *c)
{
	static const char *const name[] = { COORDINATOR_TEXT, COORDINATOR_JSON };

	for (int json = 0; json < 2; json++) {
		struct buffer text;
		char path[4200];

		buffer_init(&text, FIELDS_MAX);
		snprintf(path, sizeof(path), "%s/%s", c->o->directory, name[json]);
		if (coordinator_print(c, json, &text) != RS_OK || !replace(path, 0600, &text))
			log_debug("the table of nodes cannot be written");
		buffer_free(&text);
	}
	publish_metrics(c);
}
