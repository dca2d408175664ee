/* How the workers of a round sum. */
#include "cmd/node_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "reduce/pushpull.h"

/* A worker with a ticket has shared memory or shards; others know the plan. */
static enum dense_plane
carrier_of(const struct node *n)
{
	const enum dense_plane asked = n->settings->placement.dense;

	if (asked != PLANE_AUTO && asked != PLANE_NCCL)
		return asked;
	if (!n->has_ticket)
		return n->placement.carrier;
	return n->job.shared_fd >= 0 ? PLANE_SHM : PLANE_PUSHPULL;
}

static enum rs_status
open_carrier(const struct node_exchange_options *o, const struct exchange *base,
	struct exchange **out)
{
	const struct node *const n = o->node;

	switch (carrier_of(n)) {
	case PLANE_SHM:
		if (n->job.shared_fd < 0)
			break;
		return exchange_shm_open(base, n->job.shared_fd, (size_t)n->job.shared_bytes,
			o->epoch, out);
	case PLANE_PUSHPULL:
		if (o->client == NULL)
			break;
		return pushpull_open(base, o->client, out);
	case PLANE_MPI:
		if (n->mpi == NULL)
			break;
		return mpi_exchange_open(base, n->mpi, n->world, o->epoch, out);
	default:
		break;
	}
	return rs_fail(RS_ESPEC, "placement.dense: these workers have no such way to sum");
}

/* NCCL reads these when it starts; what the user set stays.  Without an interface all workers
 * are on one host.  Its other networks are no interfaces, but that of InfiniBand has one. */
void
node_exchange_name(const struct settings *s)
{
	const char *const trusted = s->cluster.trusted_interface;
	const char *const name = trusted[0] != '\0' ? trusted : "lo";
	char *text;

	if (s->placement.dense != PLANE_AUTO && s->placement.dense != PLANE_NCCL)
		return;
	if (asprintf(&text, "=%s", name) >= 0) {
		setenv("NCCL_SOCKET_IFNAME", text, 0);
		free(text);
	}
	if (strncmp(name, "ib", 2) != 0)
		setenv("NCCL_NET", "Socket", 0);
}

enum rs_status
node_exchange_open(const struct node_exchange_options *o, struct exchange **out,
	char why_not[NCCL_WHY])
{
	const struct node *const n = o->node;
	const struct settings *const s = n->settings;
	const enum dense_plane asked = s->placement.dense;
	struct exchange base = {
		.rank = o->rank, .n_ranks = n->job.n_workers, .stop = member_stop(n->member),
		.timeout = s->cluster.step_timeout,
	};
	struct nccl_exchange_options over = { .gpu = o->gpu };
	struct exchange *nccl = NULL;

	*out = NULL;
	why_not[0] = '\0';
	if (base.n_ranks == 1)
		return RS_OK;
	RS_TRY(kernel_select("auto", &base.kernel));
	RS_TRY(open_carrier(o, &base, out));
	if (asked != PLANE_AUTO && asked != PLANE_NCCL)
		return RS_OK;
	over.inner = *out;
	over.calls = session_nccl(o->gpu, o->why_device, &over.why_not);
	if (over.calls != NULL)
		over.why_not = NULL;
	RS_TRY(nccl_exchange_open(&base, &over, &nccl, why_not));
	if (nccl != NULL)
		*out = nccl;
	else if (asked == PLANE_NCCL)
		return rs_fail(RS_EUNMET, "placement.dense = nccl: %s", why_not);
	return RS_OK;
}
