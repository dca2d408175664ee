/* A parameter server shard of a job. */
#include <inttypes.h>
#include <stdio.h>

#include "cmd/node.h"
#include "kernel/kernel.h"
#include "remote/shard.h"

#define REPORT_BYTES 2048

static void
on_counts(void *context, const struct shard_counts *c)
{
	struct node *const n = context;
	char text[REPORT_BYTES];

	snprintf(text, sizeof text,
		"pulls = %" PRIu64 "\npulled_rows = %" PRIu64 "\npulled_bytes = %" PRIu64
		"\npushes = %" PRIu64 "\npushed_rows = %" PRIu64 "\npushed_bytes = %" PRIu64
		"\nrepeated = %" PRIu64 "\nmisses = %" PRIu64 "\nrefused = %" PRIu64
		"\nwaiting = %" PRIu64
		"\nstaleness_max = %" PRIu64 "\nstep = %" PRIu64 "\nmalformed = %" PRIu64
		"\nbytes = %" PRIu64 "\nbusy = %.3f\n", c->pulls, c->pulled_rows, c->pulled_bytes,
		c->pushes, c->pushed_rows, c->pushed_bytes, c->repeated, c->misses, c->refused,
		c->waiting,		c->staleness_max, c->step, c->malformed, c->bytes, c->busy);
	member_report(n->member, text);
}

static enum rs_status
serve_rounds(struct node *n, struct shard *s)
{
	struct member_view view;
	int over = 0;

	for (;;) {
		RS_TRY(node_wait(n, &view, &over));
		if (over)
			return RS_OK;
		const uint32_t epoch = view.epoch;
		member_view_free(&view);
		RS_TRY(shard_serve(s, epoch));
	}
}

/* One shard for all rounds of this process. */
static enum rs_status
serve(struct node *n, const struct shard_options *options)
{
	struct shard *s;

	RS_TRY(shard_open(options, &s));
	const enum rs_status status = serve_rounds(n, s);
	shard_close(s);
	return status;
}

enum rs_status
node_ps(struct node *n)
{
	struct wire *wire;

	RS_TRY(node_bind(n, &wire));
	enum rs_status status = node_join(n, wire_endpoint(wire));
	if (status == RS_OK) {
		struct shard_options options = {
			.wire = wire, .index = n->job.node[n->job.self].index,
			.n_threads = (size_t)n->settings->cluster.ps_threads, .job = n->job.id,
			.stop = member_stop(n->member), .progress = member_progress(n->member),
			.report = on_counts, .context = n,
		};
		status = kernel_select("auto", &options.kernel);
		if (status == RS_OK)
			status = serve(n, &options);
		status = node_leave(n, status);
	}
	wire_close(wire);
	return status;
}
