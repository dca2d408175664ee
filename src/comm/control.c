/* What nodes and coordinator say to each other, put into fields and read from them. */
#include "comm/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "base/thread.h"
#include "config.h"

int
control_is_done(enum rs_status status)
{
	return status == RS_OK || status == RS_EPARTIAL || status == RS_EUNMET;
}

struct fields
control_fields(const struct wire_message *m)
{
	if (m->n_parts == 0)
		return (struct fields){ "", 0 };
	return (struct fields){ m->part[0].data, m->part[0].n };
}

static void
read_boot(char out[64])
{
	char *text;
	size_t n;

	out[0] = '\0';
	if (file_read("/proc/sys/kernel/random/boot_id", 256, &text, &n) != RS_OK)
		return;
	snprintf(out, 64, "%.*s", (int)strcspn(text, "\n"), text);
	free(text);
}

void
control_describe_self(const struct job *job, const char *endpoint, struct control_self *out)
{
	const struct job_node *node = &job->node[job->self];

	*out = (struct control_self){ .index = node->index, .n_workers = job->n_workers,
		.n_ps = job->n_ps, .config = job->config, .pid = (uint64_t)getpid() };
	snprintf(out->program, sizeof(out->program), "%s", PACKAGE_VERSION);
	snprintf(out->role, sizeof(out->role), "%s", key_role_name(node->role));
	snprintf(out->endpoint, sizeof(out->endpoint), "%s", endpoint != NULL ? endpoint : "");
	snprintf(out->public_key, sizeof(out->public_key), "%s", job->keys.public_key);
	if (gethostname(out->host, sizeof(out->host) - 1) != 0)
		out->host[0] = '\0';
	read_boot(out->boot);
	while (out->nonce == 0)
		if (getrandom(&out->nonce, sizeof(out->nonce), 0) != sizeof(out->nonce))
			out->nonce = (uint64_t)(clock_seconds() * 1e9) ^ out->pid << 40;
}

static enum rs_status
put_self(struct buffer *b, const struct control_self *s)
{
	RS_TRY(fields_put(b, "program", "%s", s->program));
	RS_TRY(fields_put(b, "role", "%s", s->role));
	RS_TRY(fields_put(b, "index", "%" PRIu64, s->index));
	RS_TRY(fields_put(b, "workers", "%" PRIu64, s->n_workers));
	RS_TRY(fields_put(b, "shards", "%" PRIu64, s->n_ps));
	RS_TRY(fields_put(b, "config", "%" PRIu64, s->config));
	RS_TRY(fields_put(b, "nonce", "%" PRIu64, s->nonce));
	RS_TRY(fields_put(b, "pid", "%" PRIu64, s->pid));
	RS_TRY(fields_put(b, "endpoint", "%s", s->endpoint));
	RS_TRY(fields_put(b, "public_key", "%s", s->public_key));
	RS_TRY(fields_put(b, "host", "%s", s->host));
	return fields_put(b, "boot", "%s", s->boot);
}

static enum rs_status
put_life(struct buffer *b, const struct control_life *life)
{
	RS_TRY(fields_put(b, "incarnation", "%" PRIu64, life->incarnation));
	RS_TRY(fields_put(b, "last_epoch", "%" PRIu32, life->last_epoch));
	return fields_put(b, "progress", "%" PRIu64, life->progress);
}

enum rs_status
control_put_hello(struct buffer *b, const struct control_self *self,
	const struct control_life *life, const char *why)
{
	RS_TRY(put_self(b, self));
	RS_TRY(put_life(b, life));
	return fields_put(b, "why", "%.500s", why);
}

/* Every line of the report is a field of its own. */
enum rs_status
control_put_renew(struct buffer *b, const struct control_life *life)
{
	RS_TRY(put_life(b, life));
	for (const char *at = life->report; at != NULL && *at != '\0';) {
		const size_t n = strcspn(at, "\n");

		if (n > 0)
			RS_TRY(fields_put(b, "report", "%.*s", (int)n, at));
		at += n + (at[n] == '\n');
	}
	return RS_OK;
}

enum rs_status
control_put_bye(struct buffer *b, const struct control_self *self,
	const struct control_life *life, const struct rs_failure *failure)
{
	RS_TRY(put_self(b, self));
	RS_TRY(put_life(b, life));
	return fields_put_failure(b, failure);
}

enum rs_status
control_put_node(struct buffer *b, size_t number, const char *public_key, const char *endpoint)
{
	return fields_put(b, "node", "%zu %s %s", number, public_key[0] != '\0' ? public_key : "-",
		endpoint[0] != '\0' ? endpoint : "-");
}

enum rs_status
control_read_self(const struct fields *f, struct control_self *out)
{
	RS_TRY(fields_text(f, "program", out->program, sizeof(out->program)));
	RS_TRY(fields_text(f, "role", out->role, sizeof(out->role)));
	RS_TRY(fields_u64(f, "index", &out->index));
	RS_TRY(fields_u64(f, "workers", &out->n_workers));
	RS_TRY(fields_u64(f, "shards", &out->n_ps));
	RS_TRY(fields_u64(f, "config", &out->config));
	RS_TRY(fields_u64(f, "nonce", &out->nonce));
	RS_TRY(fields_u64(f, "pid", &out->pid));
	RS_TRY(fields_text(f, "endpoint", out->endpoint, sizeof(out->endpoint)));
	RS_TRY(fields_text(f, "public_key", out->public_key, sizeof(out->public_key)));
	RS_TRY(fields_text(f, "host", out->host, sizeof(out->host)));
	return fields_text(f, "boot", out->boot, sizeof(out->boot));
}

enum rs_status
control_read_life(const struct fields *f, struct control_life *out)
{
	uint64_t epoch;

	RS_TRY(fields_u64(f, "incarnation", &out->incarnation));
	RS_TRY(fields_u64(f, "last_epoch", &epoch));
	RS_TRY(fields_u64(f, "progress", &out->progress));
	/* Half of the numbers are left to count on from whatever somebody claims. */
	if (epoch > UINT32_MAX / 2)
		return rs_fail(RS_EPROTOCOL, "a message has epoch %" PRIu64, epoch);
	out->last_epoch = (uint32_t)epoch;
	out->report = NULL;
	return RS_OK;
}

enum rs_status
control_read_bye(const struct fields *f, struct rs_failure *out)
{
	const char *value;
	size_t n;

	*out = (struct rs_failure){ 0 };
	if (!fields_find(f, "status", 0, &value, &n))
		return rs_fail(RS_EPROTOCOL, "a message lacks 'status'");
	if (n == 2 && memcmp(value, "OK", 2) == 0)
		return RS_OK;
	fields_failure(f, "a node");
	rs_failure_take(out);
	return RS_OK;
}

enum rs_status
control_copy_view(const struct member_view *from, struct member_view *out)
{
	*out = (struct member_view){ .epoch = from->epoch, .n_nodes = from->n_nodes };
	enum rs_status status = memory_alloc(from->n_nodes, sizeof(*out->endpoint), &out->endpoint);
	if (status == RS_OK)
		status = memory_alloc(from->n_nodes, sizeof(*out->public_key), &out->public_key);
	if (status != RS_OK) {
		member_view_free(out);
		return status;
	}
	if (from->endpoint != NULL) {
		memcpy(out->endpoint, from->endpoint, from->n_nodes * sizeof(*out->endpoint));
		memcpy(out->public_key, from->public_key, from->n_nodes * sizeof(*out->public_key));
	}
	return RS_OK;
}

/* "NUMBER KEY ENDPOINT"; the endpoint is the rest, since paths have spaces. */
static int
read_node(const char *value, size_t n, struct member_view *out, unsigned char *seen)
{
	const char *key = memchr(value, ' ', n), *end = value + n, *endpoint;
	uint64_t number;

	if (key == NULL || !number_u64(value, (size_t)(key - value), &number) ||
	    number >= out->n_nodes || seen[number]++)
		return 0;
	key++;
	endpoint = memchr(key, ' ', (size_t)(end - key));
	if (endpoint == NULL)
		return 0;
	const size_t n_key = (size_t)(endpoint - key), n_endpoint = (size_t)(end - endpoint - 1);
	endpoint++;
	if ((n_key != 1 && n_key != KEY_TEXT - 1) || n_endpoint == 0 ||
	    n_endpoint >= sizeof(out->endpoint[0]))
		return 0;
	if (n_key > 1)
		memcpy(out->public_key[number], key, n_key);
	if (n_endpoint > 1 || endpoint[0] != '-')
		memcpy(out->endpoint[number], endpoint, n_endpoint);
	return 1;
}

static enum rs_status
read_nodes(const struct fields *f, struct member_view *out, unsigned char *seen)
{
	size_t at = 0, n, n_seen = 0;
	const char *value;
	char escaped[72];

	for (; fields_next(f, "node", &at, &value, &n); n_seen++)
		if (!read_node(value, n, out, seen))
			return rs_fail(RS_EPROTOCOL, "a view has the node '%s'",
				rs_escape(escaped, value, n));
	if (n_seen != out->n_nodes)
		return rs_fail(RS_EPROTOCOL, "a view has %zu nodes, wanted %zu", n_seen,
			out->n_nodes);
	return RS_OK;
}

enum rs_status
control_read_view(const struct fields *f, size_t n_nodes, struct member_view *out)
{
	struct member_view empty = { .n_nodes = n_nodes };
	unsigned char *seen;
	uint64_t epoch;

	RS_TRY(fields_u64(f, "epoch", &epoch));
	if (epoch == 0 || epoch > UINT32_MAX)
		return rs_fail(RS_EPROTOCOL, "a view has epoch %" PRIu64, epoch);
	empty.epoch = (uint32_t)epoch;
	RS_TRY(memory_alloc(n_nodes, 1, &seen));
	enum rs_status status = control_copy_view(&empty, out);
	if (status == RS_OK)
		status = read_nodes(f, out, seen);
	free(seen);
	if (status != RS_OK)
		member_view_free(out);
	return status;
}
