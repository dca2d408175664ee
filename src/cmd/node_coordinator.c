/* The coordinator of a job. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "cmd/node.h"
#include "place/coordinator.h"
#include "place/private_directory.h"

#define LEAVING_SECONDS 5.0

/* Nobody holds the other end any more. */
static int
is_orphan(int leash)
{
	struct pollfd p = { .fd = leash, .events = POLLIN };

	return leash >= 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLHUP) != 0;
}

/* At an address that is given, the one that was there before may still be leaving. */
static enum rs_status
bind_patiently(struct node *n, struct wire **out)
{
	const double until = clock_seconds() + LEAVING_SECONDS;
	enum rs_status status = node_bind(n, out);

	while (status == RS_EBUSY && clock_seconds() < until && command_stop_signal == 0) {
		(void)poll(NULL, 0, 100);
		status = node_bind(n, out);
	}
	return status;
}

static enum rs_status
serve(struct node *n)
{
	struct wire *wire;
	int is_of_job = 0;

	RS_TRY(bind_patiently(n, &wire));
	const struct coordinator_options options = {
		.wire = wire, .job = &n->job, .cluster = &n->settings->cluster,
		.directory = n->job.directory, .stop_signal = &command_stop_signal,
		.leash = n->job.leash_fd, .is_of_job = &is_of_job,
	};
	log_info("listening at %s", wire_endpoint(wire));
	const enum rs_status status = coordinator_serve(&options);
	n->is_told = n->has_ticket && is_of_job;
	wire_close(wire);
	return status;
}

enum rs_status
node_coordinator(struct node *n)
{
	struct private_directory own = { .lock = -1 };
	const char *const listen = n->job.node[n->job.self].endpoint;

	if (!n->has_ticket) {
		/* Started again, it goes on with its database as long as nodes wait for it. */
		RS_TRY(private_directory_reopen(command_variable("XDG_RUNTIME_DIR"),
			hash_fingerprint64(listen, strlen(listen)),
			n->settings->cluster.absence, &own));
		snprintf(n->job.directory, sizeof n->job.directory, "%s", own.path);
	}
	const enum rs_status status = serve(n);
	if (n->has_ticket && is_orphan(n->job.leash_fd))
		private_directory_remove(n->job.directory);
	private_directory_close(&own);
	return status;
}
