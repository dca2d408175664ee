/* One question to the coordinator. */
#include "comm/monitor.h"

#include <inttypes.h>

#include "comm/client.h"
#include "comm/fields.h"
#include "comm/job.h"

static enum rs_status
ask(const struct monitor_options *o, uint16_t type, const struct buffer *body,
	struct client_call *call)
{
	const struct client_server server = { o->endpoint, o->key, "coordinator" };
	const struct client_options options = { .context = o->context, .server = &server,
		.n_servers = 1, .job = o->job, .source = JOB_NO_NODE,
		.request_timeout = o->timeout };
	struct client *client;

	*call = (struct client_call){ .frame.type = type, .n_parts = 1,
		.part = { { body->data, body->n } } };
	RS_TRY(client_open(&options, &client));
	enum rs_status status = client_send(client, call);
	if (status == RS_OK)
		status = client_wait(client, (struct client_call *[]){ call }, 1);
	client_close(client);
	return status;
}

enum rs_status
monitor_died(const struct monitor_options *options, size_t number, const char *how)
{
	struct client_call call = { 0 };
	struct buffer body;

	buffer_init(&body, FIELDS_MAX);
	enum rs_status status = fields_put(&body, "node", "%zu", number);
	if (status == RS_OK)
		status = fields_put(&body, "how", "%.190s", how);
	if (status == RS_OK)
		status = ask(options, FRAME_BYE, &body, &call);
	wire_message_free(&call.reply);
	buffer_free(&body);
	return status;
}

enum rs_status
monitor_status(const struct monitor_options *options, int json, struct buffer *out)
{
	struct client_call call = { 0 };
	struct buffer body;

	buffer_init(&body, FIELDS_MAX);
	enum rs_status status = fields_put(&body, "format", "%s", json ? "json" : "text");
	if (status == RS_OK)
		status = ask(options, FRAME_STATUS, &body, &call);
	if (status == RS_OK && call.reply.frame.type != FRAME_STATUS_R)
		status = rs_fail(RS_EPROTOCOL, "coordinator (%s) answered STATUS by %s",
			options->endpoint, frame_type_name(call.reply.frame.type));
	for (size_t i = 0; status == RS_OK && i < call.reply.n_parts; i++)
		status = buffer_append(out, call.reply.part[i].data, call.reply.part[i].n);
	wire_message_free(&call.reply);
	buffer_free(&body);
	return status;
}
