/* The coordinator of a job. */
#include <poll.h>

#include "cmd/node.h"
#include "place/coordinator.h"
#include "place/private_directory.h"

/* Nobody holds the other end any more. */
static int
is_orphan(int leash)
{
	struct pollfd p = { .fd = leash, .events = POLLIN };

	return leash >= 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLHUP) != 0;
}

enum rs_status
node_coordinator(struct node *n)
{
	struct wire *wire;

	RS_TRY(node_bind(n, &wire));
	const struct coordinator_options options = {
		.wire = wire, .job = &n->job, .cluster = &n->settings->cluster,
		.directory = n->job.directory, .stop_signal = &command_stop_signal,
		.leash = n->job.leash_fd,
	};
	const enum rs_status status = coordinator_serve(&options);
	wire_close(wire);
	n->is_told = 1;
	if (is_orphan(n->job.leash_fd))
		private_directory_remove(n->job.directory);
	return status;
}
