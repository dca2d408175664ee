/* What nodes and others say to the coordinator, and what they are told. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "comm/control.h"
#include "config.h"
#include "place/coordinator_private.h"

static enum rs_status
send(struct coordinator *c, const struct wire_peer *to, uint16_t type, uint64_t request,
	const struct buffer *body)
{
	const struct frame frame = { .type = type, .job = c->o->job->id,
		.epoch = c->roster.epoch, .source = 0, .request = request };
	const struct wire_part part = { .data = body->data, .n = body->n };

	return wire_send(c->o->wire, to, &frame, &part, body->n > 0);
}

/* Answers with the failure at hand. */
static void
send_error(struct coordinator *c, const struct wire_message *m)
{
	struct rs_failure failure;
	struct buffer body;

	rs_failure_take(&failure);
	log_debug("refused %s: %s", frame_type_name(m->frame.type), failure.text);
	buffer_init(&body, FIELDS_MAX);
	if (fields_put_failure(&body, &failure) == RS_OK)
		send(c, &m->from, FRAME_ERROR, m->frame.request, &body);
	buffer_free(&body);
}

static enum rs_status
put_view(const struct coordinator *c, struct buffer *b)
{
	RS_TRY(fields_put(b, "epoch", "%" PRIu32, c->roster.epoch));
	RS_TRY(fields_put(b, "nodes", "%zu", c->roster.n));
	RS_TRY(control_put_node(b, 0, c->o->job->node[0].public_key,
		c->o->job->node[0].endpoint));
	for (size_t i = 1; i < c->roster.n; i++)
		RS_TRY(control_put_node(b, i, c->roster.node[i].public_key,
			c->roster.node[i].endpoint));
	return RS_OK;
}

static enum rs_status
put_order(const struct coordinator *c, enum roster_order order, struct buffer *b)
{
	static const char *const name[] = { [ROSTER_WAIT] = "wait", [ROSTER_GO] = "go",
		[ROSTER_OVER] = "over", [ROSTER_END] = "end" };

	RS_TRY(fields_put(b, "order", "%s", name[order]));
	if (order == ROSTER_OVER)
		return fields_put(b, "reason", "%s", c->roster.reason);
	if (order == ROSTER_END && c->roster.failure.status != RS_OK)
		return fields_put_failure(b, &c->roster.failure);
	return RS_OK;
}

enum rs_status
coordinator_tell(struct coordinator *c, size_t number, const struct wire_peer *to,
	uint64_t request)
{
	const enum roster_order order = roster_order(&c->roster, number);
	uint16_t type = FRAME_RENEW_ACK;
	struct buffer body;
	enum rs_status status = RS_OK;

	buffer_init(&body, FIELDS_MAX);
	if (c->roster.node[number].state == ROSTER_GONE)
		type = FRAME_ACK;
	else if (order == ROSTER_GO && c->link[number].epoch != c->roster.epoch)
		type = FRAME_VIEW;
	if (type == FRAME_VIEW)
		status = put_view(c, &body);
	else if (type == FRAME_RENEW_ACK)
		status = put_order(c, order, &body);
	if (status == RS_OK)
		status = send(c, to, type, request, &body);
	buffer_free(&body);
	return status;
}

/* The node that a message claims to be from. */
static enum rs_status
check_number(const struct coordinator *c, const struct wire_message *m, size_t *number)
{
	char name[32];

	*number = m->frame.source;
	if (*number == 0 || *number >= c->roster.n)
		return rs_fail(RS_EPROTOCOL, "this job has no node %" PRIu32 " that could join",
			m->frame.source);
	const uint32_t role = c->o->job->node[*number].role;
	if ((m->from.roles & role) == 0)
		return rs_fail(RS_EDENIED, "the key '%s' may not be %s", m->from.name,
			job_node_name(c->o->job, *number, name));
	return RS_OK;
}

/* Once it is in, a node is spoken for by the key that it came with. */
static enum rs_status
check_key(const struct coordinator *c, const struct wire_message *m, size_t number)
{
	char name[32];

	if (c->roster.node[number].incarnation == 0 ||
	    strcmp(c->roster.node[number].name, m->from.name) == 0)
		return RS_OK;
	return rs_fail(RS_EDENIED, "the key '%s' is not that of %s", m->from.name,
		job_node_name(c->o->job, number, name));
}

static enum rs_status
check_self(const struct coordinator *c, size_t number, const struct control_self *self)
{
	const struct job *job = c->o->job;
	const struct job_node *node = &job->node[number];
	char name[32];

	job_node_name(job, number, name);
	if (strcmp(self->role, key_role_name(node->role)) != 0 || self->index != node->index)
		return rs_fail(RS_EPROTOCOL, "node %zu says that it is %s %" PRIu64
			", here it is %s", number, self->role, self->index, name);
	if (strcmp(self->program, PACKAGE_VERSION) != 0)
		return rs_fail(RS_EPROTOCOL, "%s runs version %s, the coordinator %s", name,
			self->program, PACKAGE_VERSION);
	if (self->n_workers != job->n_workers || self->n_ps != job->n_ps)
		return rs_fail(RS_EPROTOCOL, "%s was started for %" PRIu64 " workers and %" PRIu64
			" shards, the coordinator for %zu and %zu", name, self->n_workers,
			self->n_ps, job->n_workers, job->n_ps);
	if (self->config == job->config)
		return RS_OK;
	rs_fail(RS_EPROTOCOL, "%s has another spec (%016" PRIx64 ") than the coordinator (%016"
		PRIx64 ")", name, self->config, job->config);
	return rs_hint("all nodes need the same spec, layers and options");
}

static enum rs_status
read_hello(const struct coordinator *c, const struct wire_message *m, size_t number,
	struct roster_hello *out)
{
	const struct fields f = control_fields(m);
	struct control_self self;
	struct control_life life;

	RS_TRY(control_read_self(&f, &self));
	RS_TRY(control_read_life(&f, &life));
	RS_TRY(check_self(c, number, &self));
	*out = (struct roster_hello){ .incarnation = life.incarnation, .nonce = self.nonce,
		.pid = self.pid, .progress = life.progress, .last_epoch = life.last_epoch };
	memcpy(out->endpoint, self.endpoint, sizeof(out->endpoint));
	memcpy(out->public_key, self.public_key, sizeof(out->public_key));
	memcpy(out->host, self.host, sizeof(out->host));
	memcpy(out->name, m->from.name, sizeof(out->name));
	return fields_text(&f, "why", out->why, sizeof(out->why));
}

static void
link_to(struct coordinator *c, size_t number, const struct wire_message *m, uint32_t epoch)
{
	c->link[number].peer = m->from;
	c->link[number].has_peer = 1;
	c->link[number].epoch = epoch;
}

static enum rs_status
welcome(struct coordinator *c, size_t number, const struct wire_message *m)
{
	struct buffer body;

	buffer_init(&body, FIELDS_MAX);
	enum rs_status status = fields_put(&body, "incarnation", "%" PRIu64,
		c->roster.node[number].incarnation);
	if (status == RS_OK)
		status = send(c, &m->from, FRAME_WELCOME, m->frame.request, &body);
	buffer_free(&body);
	return status;
}

static enum rs_status
take_hello(struct coordinator *c, const struct wire_message *m)
{
	struct roster_hello hello;
	size_t number;

	RS_TRY(check_number(c, m, &number));
	enum rs_status status = read_hello(c, m, number, &hello);
	if (status != RS_OK) {
		roster_refused(&c->roster, number, rs_failure()->text);
		return status;
	}
	if (hello.incarnation != 0)
		RS_TRY(check_key(c, m, number));
	if (c->roster.phase != ROSTER_ENDED)
		RS_TRY(roster_hello(&c->roster, number, &hello, c->now));
	coordinator_commit(c);
	if (c->failure.status != RS_OK)
		return RS_OK;
	link_to(c, number, m, hello.last_epoch);
	/* What cannot be sent now is asked for again. */
	if (c->roster.phase != ROSTER_ENDED)
		welcome(c, number, m);
	coordinator_tell(c, number, &m->from, m->frame.request);
	return RS_OK;
}

static void
keep_report(struct link *l, const struct fields *f)
{
	const char *value;
	size_t at = 0, n;

	l->report.n = 0;
	while (fields_next(f, "report", &at, &value, &n))
		if (fields_put(&l->report, "r", "%.*s", n < 1000 ? (int)n : 1000, value) != RS_OK)
			return;
}

static enum rs_status
take_renew(struct coordinator *c, const struct wire_message *m)
{
	const struct fields f = control_fields(m);
	struct control_life life;
	size_t number;

	RS_TRY(check_number(c, m, &number));
	RS_TRY(check_key(c, m, number));
	RS_TRY(control_read_life(&f, &life));
	RS_TRY(roster_renew(&c->roster, number, life.incarnation, life.progress, c->now));
	keep_report(&c->link[number], &f);
	link_to(c, number, m, life.last_epoch);
	coordinator_commit(c);
	if (c->failure.status == RS_OK)
		coordinator_tell(c, number, &m->from, m->frame.request);
	return RS_OK;
}

static enum rs_status
acknowledge(struct coordinator *c, const struct wire_message *m)
{
	const struct buffer nothing = { 0 };

	coordinator_commit(c);
	return c->failure.status == RS_OK ?
		send(c, &m->from, FRAME_ACK, m->frame.request, &nothing) : RS_OK;
}

/* "node" and "how": its starter knows that it ended. */
static enum rs_status
take_death(struct coordinator *c, const struct wire_message *m)
{
	const struct fields f = control_fields(m);
	char how[200];
	uint64_t number;

	if ((m->from.roles & KEY_MONITOR) == 0)
		return rs_fail(RS_EDENIED, "the key '%s' may not be a monitor", m->from.name);
	RS_TRY(fields_u64(&f, "node", &number));
	RS_TRY(fields_text(&f, "how", how, sizeof(how)));
	if (number == 0 || number >= c->roster.n)
		return rs_fail(RS_EPROTOCOL, "there is no node %" PRIu64, number);
	roster_died(&c->roster, (size_t)number, how, c->now);
	return acknowledge(c, m);
}

static enum rs_status
take_bye(struct coordinator *c, const struct wire_message *m)
{
	const struct fields f = control_fields(m);
	struct control_self self;
	struct control_life life;
	struct rs_failure failure;
	size_t number;

	if (m->frame.source == JOB_NO_NODE)
		return take_death(c, m);
	RS_TRY(check_number(c, m, &number));
	RS_TRY(check_key(c, m, number));
	RS_TRY(control_read_self(&f, &self));
	RS_TRY(check_self(c, number, &self));
	RS_TRY(control_read_life(&f, &life));
	RS_TRY(control_read_bye(&f, &failure));
	/* The answer to its HELLO was still on its way. */
	if (life.incarnation == 0 && self.nonce == c->roster.node[number].nonce)
		life.incarnation = c->roster.node[number].incarnation;
	RS_TRY(roster_bye(&c->roster, number, life.incarnation, &failure, c->now));
	/* It left before it heard that the round began: the others would wait for its steps. */
	if (failure.status == RS_ESIGNAL && life.last_epoch < c->roster.epoch &&
	    c->o->job->node[number].role == KEY_WORKER)
		roster_end(&c->roster, &failure, c->now);
	link_to(c, number, m, life.last_epoch);
	if (!control_is_done(failure.status) || c->roster.node[number].state == ROSTER_GONE)
		return acknowledge(c, m);
	coordinator_commit(c);
	if (c->failure.status == RS_OK)
		coordinator_tell(c, number, &m->from, m->frame.request);
	return RS_OK;
}

static enum rs_status
take_status(struct coordinator *c, const struct wire_message *m)
{
	const struct fields f = control_fields(m);
	char format[16];
	struct buffer body;

	RS_TRY(fields_text(&f, "format", format, sizeof(format)));
	buffer_init(&body, FIELDS_MAX);
	enum rs_status status = coordinator_print(c, strcmp(format, "json") == 0, &body);
	if (status == RS_OK)
		send(c, &m->from, FRAME_STATUS_R, m->frame.request, &body);
	buffer_free(&body);
	return status;
}

static const struct {
	uint16_t type;
	enum rs_status (*take)(struct coordinator *c, const struct wire_message *m);
} handler[] = {
	{ FRAME_HELLO, take_hello },
	{ FRAME_RENEW, take_renew },
	{ FRAME_BYE, take_bye },
	{ FRAME_STATUS, take_status },
};

static enum rs_status
dispatch(struct coordinator *c, const struct wire_message *m)
{
	const uint64_t job = m->frame.job;

	if (job != c->o->job->id && (job != 0 || m->frame.type != FRAME_STATUS))
		return rs_fail(RS_EPROTOCOL, "this is the coordinator of job %016" PRIx64
			", not of %016" PRIx64, c->o->job->id, job);
	for (size_t i = 0; i < sizeof(handler) / sizeof(handler[0]); i++)
		if (handler[i].type == m->frame.type)
			return handler[i].take(c, m);
	return rs_fail(RS_EPROTOCOL, "the coordinator has no answer to %s",
		frame_type_name(m->frame.type));
}

void
coordinator_take(struct coordinator *c, const struct wire_message *m)
{
	const enum rs_status status = dispatch(c, m);

	if (status != RS_OK && status != RS_EPEER)
		send_error(c, m);
}
