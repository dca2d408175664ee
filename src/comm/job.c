/* Tickets: a job as fields through a descriptor. */
#include "comm/job.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/thread.h"
#include "comm/fields.h"

#define TICKET_SECONDS 10.0
#define NODE_BYTES     ((size_t)512)  /* the most a node takes in a ticket             */
#define OTHER_BYTES    ((size_t)8192)
#define TICKET_MAX     (OTHER_BYTES + JOB_NODES_MAX * NODE_BYTES)

enum rs_status
job_make_nodes(struct job *j, size_t n_monitors)
{
	const size_t n[] = { 1, j->n_ps, j->n_workers, n_monitors };
	const uint32_t role[] = { KEY_COORDINATOR, KEY_PS, KEY_WORKER, KEY_MONITOR };
	size_t at = 0;

	if (j->n_ps > JOB_NODES_MAX || j->n_workers > JOB_NODES_MAX ||
	    n_monitors > JOB_NODES_MAX || 1 + j->n_ps + j->n_workers + n_monitors > JOB_NODES_MAX)
		return rs_fail(RS_EUSAGE, "a job of %zu workers and %zu shards has too many nodes, "
			"at most %d", j->n_workers, j->n_ps, JOB_NODES_MAX);
	RS_TRY(memory_alloc(1 + j->n_ps + j->n_workers + n_monitors, sizeof(*j->node), &j->node));
	for (size_t r = 0; r < sizeof(n) / sizeof(n[0]); r++)
		for (size_t i = 0; i < n[r]; i++)
			j->node[at++] = (struct job_node){ .role = role[r], .index = i };
	j->n_nodes = at;
	return RS_OK;
}

void
job_free(struct job *j)
{
	explicit_bzero(j->keys.public_key, KEY_TEXT);
	explicit_bzero(j->keys.secret_key, KEY_TEXT);
	free(j->node);
	j->node = NULL;
	j->n_nodes = 0;
}

size_t
job_number(const struct job *j, uint32_t role, size_t index)
{
	size_t i = 0;

	while (i < j->n_nodes && (j->node[i].role != role || j->node[i].index != index))
		i++;
	return i;
}

const struct job_node *
job_find(const struct job *j, uint32_t role, size_t index)
{
	const size_t i = job_number(j, role, index);

	return i < j->n_nodes ? &j->node[i] : NULL;
}

const char *
job_node_name(const struct job *j, size_t number, char out[32])
{
	if (number >= j->n_nodes)
		snprintf(out, 32, "node %zu", number);
	else if (j->node[number].role == KEY_COORDINATOR)
		snprintf(out, 32, "coordinator");
	else
		snprintf(out, 32, "%s %zu", key_role_name(j->node[number].role),
			j->node[number].index);
	return out;
}

static enum rs_status
write_all(int fd, const char *bytes, size_t n)
{
	while (n > 0) {
		const ssize_t done = write(fd, bytes, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return rs_fail(RS_EIO, "cannot write a ticket: %s", strerror(errno));
		bytes += done;
		n -= (size_t)done;
	}
	return RS_OK;
}

/* A node is "INDEX PUBLIC-KEY ENDPOINT", "-" where there is none, under its role's name. */
static enum rs_status
put_node(struct buffer *b, const struct job_node *n)
{
	return fields_put(b, key_role_name(n->role), "%zu %s %s", n->index,
		n->public_key[0] != '\0' ? n->public_key : "-",
		n->endpoint[0] != '\0' ? n->endpoint : "-");
}

static enum rs_status
put_job(struct buffer *b, const struct job *j)
{
	RS_TRY(fields_put(b, "job", "%" PRIu64, j->id));
	RS_TRY(fields_put(b, "config", "%" PRIu64, j->config));
	RS_TRY(fields_put(b, "workers", "%zu", j->n_workers));
	RS_TRY(fields_put(b, "shards", "%zu", j->n_ps));
	RS_TRY(fields_put(b, "self", "%zu", j->self));
	RS_TRY(fields_put(b, "directory", "%s", j->directory));
	if (j->shared_fd >= 0)
		RS_TRY(fields_put(b, "shared_fd", "%d", j->shared_fd));
	RS_TRY(fields_put(b, "shared_bytes", "%" PRIu64, j->shared_bytes));
	if (j->leash_fd >= 0)
		RS_TRY(fields_put(b, "leash_fd", "%d", j->leash_fd));
	RS_TRY(fields_put(b, "version", "%" PRIu64, j->version));
	RS_TRY(fields_put(b, "began_ms", "%" PRIu64, j->began_ms));
	RS_TRY(fields_put(b, "run", "%" PRId64, j->run));
	RS_TRY(fields_put(b, "local", "%zu", j->local));
	RS_TRY(fields_put(b, "n_local", "%zu", j->n_local));
	RS_TRY(fields_put(b, "public", "%s", j->keys.public_key));
	RS_TRY(fields_put(b, "secret", "%s", j->keys.secret_key));
	for (size_t i = 0; i < j->n_nodes; i++)
		RS_TRY(put_node(b, &j->node[i]));
	return fields_put(b, "nodes", "%zu", j->n_nodes);
}

enum rs_status
job_write(const struct job *j, int fd)
{
	struct buffer b;

	assert(j->n_nodes <= JOB_NODES_MAX && j->self < j->n_nodes);
	/* All at once: growing would leave the secret behind in freed memory. */
	buffer_init(&b, TICKET_MAX);
	enum rs_status status = buffer_reserve(&b, OTHER_BYTES + j->n_nodes * NODE_BYTES);
	if (status == RS_OK)
		status = put_job(&b, j);
	if (status == RS_OK)
		status = write_all(fd, b.data, b.n);
	if (b.data != NULL)
		explicit_bzero(b.data, b.n);
	buffer_free(&b);
	return status;
}

/* One read with a deadline; *n = 0 at the end. */
static enum rs_status
read_some(int fd, char *out, size_t capacity, double deadline, size_t *n)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		const double left = deadline - clock_seconds();

		if (left <= 0)
			return rs_fail(RS_EIO, "no whole ticket came on descriptor %d within %g s",
				fd, TICKET_SECONDS);
		if (poll(&p, 1, (int)(left * 1e3) + 1) <= 0)
			continue;
		const ssize_t got = read(fd, out, capacity);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got < 0)
			return rs_fail(RS_EIO, "cannot read the ticket on descriptor %d: %s", fd,
				strerror(errno));
		*n = (size_t)got;
		return RS_OK;
	}
}

static enum rs_status
read_key(const struct fields *f, const char *name, char out[KEY_TEXT])
{
	RS_TRY(fields_text(f, name, out, KEY_TEXT));
	if (out[0] != '\0' && strlen(out) != KEY_TEXT - 1)
		return rs_fail(RS_EPROTOCOL, "a ticket's '%s' key has %zu characters, wanted %d",
			name, strlen(out), KEY_TEXT - 1);
	return RS_OK;
}

/* The n bytes at *at, "-" being none, and the space after them. */
static int
take(const char **at, const char *end, size_t n, char *out, size_t capacity)
{
	if (n == 0 || n >= capacity)
		return 0;
	memcpy(out, *at, n);
	out[n] = '\0';
	if (strcmp(out, "-") == 0)
		out[0] = '\0';
	*at += n + (*at + n < end);
	return 1;
}

static size_t
word_length(const char *at, const char *end)
{
	const char *space = memchr(at, ' ', (size_t)(end - at));

	return (size_t)((space != NULL ? space : end) - at);
}

static enum rs_status
read_node(const char *value, size_t n, struct job_node *out)
{
	const char *at = value, *end = value + n;
	char index[24], escaped[72];
	uint64_t number;

	/* The endpoint is the rest: paths have spaces. */
	if (take(&at, end, word_length(at, end), index, sizeof(index)) &&
	    number_u64(index, strlen(index), &number) && number == out->index &&
	    take(&at, end, word_length(at, end), out->public_key, KEY_TEXT) &&
	    (out->public_key[0] == '\0' || strlen(out->public_key) == KEY_TEXT - 1) &&
	    take(&at, end, (size_t)(end - at), out->endpoint, sizeof(out->endpoint)))
		return RS_OK;
	return rs_fail(RS_EPROTOCOL, "a ticket has the %s '%s'", key_role_name(out->role),
		rs_escape(escaped, value, n));
}

static enum rs_status
read_nodes(const struct fields *f, struct job *out)
{
	size_t at = 0, n;
	uint64_t n_nodes;
	const char *value;

	RS_TRY(fields_u64(f, "nodes", &n_nodes));
	const size_t n_members = 1 + out->n_ps + out->n_workers;
	if (n_nodes < n_members || n_nodes > JOB_NODES_MAX)
		return rs_fail(RS_EPROTOCOL, "a ticket has %" PRIu64 " nodes for %zu shards and "
			"%zu workers", n_nodes, out->n_ps, out->n_workers);
	RS_TRY(job_make_nodes(out, (size_t)n_nodes - n_members));
	for (size_t i = 0; i < out->n_nodes; i++) {
		const char *role = key_role_name(out->node[i].role);

		at = out->node[i].index == 0 ? 0 : at;
		if (!fields_next(f, role, &at, &value, &n))
			return rs_fail(RS_EPROTOCOL, "a ticket lacks %s %zu", role,
				out->node[i].index);
		RS_TRY(read_node(value, n, &out->node[i]));
	}
	return RS_OK;
}

static enum rs_status
read_counts(const struct fields *f, struct job *out)
{
	uint64_t workers, shards, self;

	RS_TRY(fields_u64(f, "workers", &workers));
	RS_TRY(fields_u64(f, "shards", &shards));
	RS_TRY(fields_u64(f, "self", &self));
	if (workers > JOB_NODES_MAX || shards > JOB_NODES_MAX)
		return rs_fail(RS_EPROTOCOL, "a ticket has %" PRIu64 " workers and %" PRIu64
			" shards", workers, shards);
	out->n_workers = (size_t)workers;
	out->n_ps = (size_t)shards;
	RS_TRY(read_nodes(f, out));
	if (self >= out->n_nodes)
		return rs_fail(RS_EPROTOCOL, "a ticket is for node %" PRIu64 " of %zu", self,
			out->n_nodes);
	out->self = (size_t)self;
	return RS_OK;
}

static enum rs_status
read_descriptor(const struct fields *f, const char *name, int *out)
{
	const char *value;
	uint64_t fd;
	size_t n;

	if (!fields_find(f, name, 0, &value, &n))
		return RS_OK;
	RS_TRY(fields_u64(f, name, &fd));
	if (fd > INT32_MAX)
		return rs_fail(RS_EPROTOCOL, "a ticket has descriptor %" PRIu64, fd);
	*out = (int)fd;
	return RS_OK;
}

static enum rs_status
read_ticket(const struct fields *f, struct job *out)
{
	uint64_t run, local, n_local;

	RS_TRY(fields_u64(f, "job", &out->id));
	RS_TRY(fields_u64(f, "config", &out->config));
	RS_TRY(fields_u64(f, "shared_bytes", &out->shared_bytes));
	RS_TRY(fields_u64(f, "version", &out->version));
	RS_TRY(fields_u64(f, "began_ms", &out->began_ms));
	RS_TRY(fields_u64(f, "run", &run));
	RS_TRY(fields_u64(f, "local", &local));
	RS_TRY(fields_u64(f, "n_local", &n_local));
	if (local > n_local || n_local > JOB_NODES_MAX)
		return rs_fail(RS_EPROTOCOL, "a ticket is for worker %" PRIu64 " of %" PRIu64
			" of a host", local, n_local);
	out->local = (size_t)local;
	out->n_local = (size_t)n_local;
	RS_TRY(fields_text(f, "directory", out->directory, sizeof(out->directory)));
	RS_TRY(read_key(f, "public", out->keys.public_key));
	RS_TRY(read_key(f, "secret", out->keys.secret_key));
	RS_TRY(read_descriptor(f, "shared_fd", &out->shared_fd));
	RS_TRY(read_descriptor(f, "leash_fd", &out->leash_fd));
	if (run > INT64_MAX)
		return rs_fail(RS_EPROTOCOL, "a ticket has run %" PRIu64, run);
	out->run = (int64_t)run;
	return read_counts(f, out);
}

enum rs_status
job_read(int fd, struct job *out)
{
	const double deadline = clock_seconds() + TICKET_SECONDS;
	enum rs_status status = RS_OK;
	size_t n = 0, got = 1;
	char *text;

	*out = (struct job){ .shared_fd = -1, .leash_fd = -1 };
	/* One block that never moves, so that the secret is nowhere else. */
	RS_TRY(memory_alloc(TICKET_MAX, 1, &text));
	(void)lseek(fd, 0, SEEK_SET);       /* whoever filled a memfd is at its end   */
	while (status == RS_OK && got > 0 && n < TICKET_MAX) {
		status = read_some(fd, text + n, TICKET_MAX - n, deadline, &got);
		n += status == RS_OK ? got : 0;
	}
	if (status == RS_OK && n == TICKET_MAX)
		status = rs_fail(RS_EPROTOCOL, "a ticket has more than %zu bytes", TICKET_MAX - 1);
	if (status == RS_OK)
		status = read_ticket(&(struct fields){ text, n }, out);
	explicit_bzero(text, n);
	free(text);
	if (status != RS_OK)
		job_free(out);
	return status;
}
