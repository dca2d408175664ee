/* What the nodes report, in the text form of Prometheus. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "comm/fields.h"
#include "place/coordinator_private.h"

#define PREFIX "recsys_train_"

/* Names in reports (of shards, and of worker 0), and what is said of them. */
static const struct { const char *key, *type, *help; } metric[] = {
	{ "pulls", "counter", "Pulls answered." },
	{ "pulled_rows", "counter", "Rows sent." },
	{ "pulled_bytes", "counter", "Bytes of rows sent." },
	{ "pushes", "counter", "Pushes taken." },
	{ "pushed_rows", "counter", "Row gradients taken." },
	{ "pushed_bytes", "counter", "Bytes of row gradients taken." },
	{ "repeated", "counter", "Pushes that were there already and dropped." },
	{ "misses", "counter", "Rows sent that were never trained." },
	{ "refused", "counter", "Pushes dropped for values that are not finite." },
	{ "malformed", "counter", "Messages that made no sense." },
	{ "busy", "counter", "Seconds at work." },
	{ "waiting", "gauge", "Requests that wait for other workers." },
	{ "staleness_max", "gauge", "The most steps that a row lagged." },
	{ "bytes", "gauge", "Bytes of tables." },
	{ "step", "gauge", "Step that was applied last." },
	{ "rows", "counter", "Rows trained." },
	{ "loss", "gauge", "Loss since the last report." },
	{ "rows_per_second", "gauge", "Rows trained a second." },
	{ "recomputed_steps", "counter", "Steps done again after deaths." },
};

static enum rs_status
put_head(struct buffer *out, const char *name, const char *type, const char *help)
{
	return buffer_printf(out, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", name, help,
		name, type);
}

static enum rs_status
put_sample(const struct coordinator *c, size_t node, const char *name, double value,
	struct buffer *out)
{
	const struct job_node *const who = &c->o->job->node[node];
	char text[40];

	RS_TRY(buffer_printf(out, PREFIX "%s{job=\"%016" PRIx64 "\",", name, c->o->job->id));
	return buffer_printf(out, "role=\"%s\",index=\"%zu\"} %s\n", key_role_name(who->role),
		who->index, number_print_double(text, value));
}

/* 1: the node reports a number of that name. */
static int
find_report(const struct link *l, const char *key, double *value)
{
	char name[72], text[72];
	size_t at = 0;

	for (coordinator_next_report(l, &at, name, text); name[0] != '\0';
	     coordinator_next_report(l, &at, name, text))
		if (strcmp(name, key) == 0)
			return number_double(text, strlen(text), value);
	return 0;
}

static enum rs_status
put_nodes(const struct coordinator *c, struct buffer *out)
{
	const struct roster *const r = &c->roster;

	RS_TRY(put_head(out, "round", "gauge", "Rounds begun: 1 and one for each disturbance."));
	RS_TRY(put_sample(c, 0, "round", r->epoch, out));
	RS_TRY(put_head(out, "node_up", "gauge", "1 when the node takes part in the round."));
	for (size_t i = 1; i < r->n; i++)
		RS_TRY(put_sample(c, i, "node_up", r->node[i].state == ROSTER_IN, out));
	RS_TRY(put_head(out, "node_silent_seconds", "gauge", "Since its last sign of life."));
	for (size_t i = 1; i < r->n; i++)
		if (r->node[i].heard > 0)
			RS_TRY(put_sample(c, i, "node_silent_seconds", c->now - r->node[i].heard,
				out));
	return RS_OK;
}

enum rs_status
coordinator_metrics(const struct coordinator *c, struct buffer *out)
{
	RS_TRY(put_nodes(c, out));
	for (size_t m = 0; m < sizeof metric / sizeof *metric; m++) {
		int headed = 0;

		for (size_t i = 1; i < c->roster.n; i++) {
			double value;

			if (!find_report(&c->link[i], metric[m].key, &value))
				continue;
			if (!headed++)
				RS_TRY(put_head(out, metric[m].key, metric[m].type,
					metric[m].help));
			RS_TRY(put_sample(c, i, metric[m].key, value, out));
		}
	}
	return RS_OK;
}
