/* OFFER to all shards, and what their answers have in common. */
#include "remote/offer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "remote/body.h"

static void
take_none(struct offer *o, const char *why)
{
	if (o->why[0] == '\0')
		snprintf(o->why, sizeof o->why, "%s", why);
}

static enum rs_status
take_answer(struct offer *o, const struct client_call *call)
{
	const struct wire_message *const m = &call->reply;
	struct body_offer body;
	char why[200];

	if (m->frame.type != FRAME_OFFER_R || m->n_parts != 1 || m->part[0].n != sizeof body)
		return rs_fail(RS_EPROTOCOL, "ps %zu answers OFFER with %s of %u bytes",
			call->server, frame_type_name(m->frame.type), m->frame.body_bytes);
	memcpy(&body, m->part[0].data, sizeof body);
	if (body.lowest > body.applied) {
		snprintf(why, sizeof why, "ps %zu has lost its tables", call->server);
		take_none(o, why);
		return RS_OK;
	}
	if (body.tables != o->tables) {
		snprintf(why, sizeof why, "ps %zu has other tables", call->server);
		take_none(o, why);
		return RS_OK;
	}
	o->lowest = body.lowest > o->lowest ? body.lowest : o->lowest;
	o->highest = body.applied < o->highest ? body.applied : o->highest;
	if (o->lowest <= o->highest)
		return RS_OK;
	snprintf(why, sizeof why, "ps %zu has the tables of steps %" PRIu64 " to %" PRIu64
		", which are not those of the others", call->server, body.lowest, body.applied);
	take_none(o, why);
	return RS_OK;
}

static enum rs_status
ask_all(struct client *client, struct client_call *call, struct client_call **list,
	const uint8_t *has_rows, struct offer *out)
{
	const size_t n_servers = client_n_servers(client);
	enum rs_status status = RS_OK;
	size_t n = 0;

	for (size_t i = 0; i < n_servers && status == RS_OK; i++) {
		if (!has_rows[i])
			continue;
		call[i].server = i;
		call[i].frame.type = FRAME_OFFER;
		call[i].frame.slot = call[0].frame.slot;
		status = client_send(client, &call[i]);
		if (status == RS_OK)
			list[n++] = &call[i];
	}
	if (n > 0) {
		const enum rs_status waited = client_wait(client, list, n);

		status = status != RS_OK ? status : waited;
	}
	for (size_t i = 0; i < n; i++) {
		if (status == RS_OK)
			status = take_answer(out, list[i]);
		if (client_is_done(list[i]))
			wire_message_free(&list[i]->reply);
	}
	return status;
}

enum rs_status
offer_ask(struct client *client, size_t rank, uint64_t tables, const uint8_t *has_rows,
	struct offer *out)
{
	const size_t n = client_n_servers(client);
	struct client_call *call, **list;

	*out = (struct offer){ .tables = tables, .highest = UINT64_MAX };
	RS_TRY(memory_alloc(n, sizeof *call, &call));
	enum rs_status status = memory_alloc(n, sizeof(struct client_call *), &list);
	if (status == RS_OK) {
		call[0].frame.slot = (uint32_t)rank;
		status = ask_all(client, call, list, has_rows, out);
		free(list);
	}
	free(call);
	if (out->why[0] != '\0') {
		out->lowest = 1;
		out->highest = 0;
	}
	return status;
}
