/* Figures of shards, by FRAME_STATS. */
#include "cmd/node_shards.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "comm/fields.h"

static void
record_lines(struct record *record, size_t shard, char *rest)
{
	for (char *line; (line = strsep(&rest, "\n")) != NULL; ) {
		char *const between = strstr(line, " = ");
		char key[128];
		double value;

		if (between == NULL)
			continue;
		snprintf(key, sizeof key, "shard.%zu.%.*s", shard, (int)(between - line), line);
		if (number_double(between + 3, strlen(between + 3), &value))
			record_figure(record, key, value);
	}
}

static void
record_shard(struct record *record, size_t shard, const struct wire_message *m)
{
	struct buffer text;

	buffer_init(&text, FIELDS_MAX);
	enum rs_status status = RS_OK;
	for (size_t i = 0; status == RS_OK && i < m->n_parts; i++)
		status = buffer_append(&text, m->part[i].data, m->part[i].n);
	if (status == RS_OK)
		status = buffer_printf(&text, "\n");
	if (status == RS_OK)
		record_lines(record, shard, text.data);
	buffer_free(&text);
}

static enum rs_status
ask_shard(struct client *client, size_t shard, struct record *record)
{
	struct client_call call = { .server = shard, .frame = { .type = FRAME_STATS } };
	struct client_call *const wanted = &call;

	RS_TRY(client_send(client, &call));
	const enum rs_status status = client_wait(client, &wanted, 1);
	if (status == RS_OK)
		record_shard(record, shard, &call.reply);
	wire_message_free(&call.reply);
	return status;
}

void
node_shards_record(struct client *client, size_t n, struct record *record)
{
	for (size_t i = 0; i < n; i++)
		if (ask_shard(client, i, record) != RS_OK)
			log_debug("no figures of a shard: %s", rs_failure()->text);
}
