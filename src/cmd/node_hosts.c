/* A node that nobody on its host started: who it is, from options, spec and environment. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/job_spec.h"
#include "cmd/node.h"
#include "place/environment.h"
#include "place/placement.h"

/* --- the spec --------------------------------------------------------------------- */

/* As every node finds by itself: only the number of threads is this host's. */
static enum rs_status
settle(struct node *n)
{
	struct placement_host host;
	struct spec *settled;

	placement_host_here(&host);
	host.n_hosts = 2;               /* more than one                              */
	host.memory_bytes = 0;
	if (host.no_mpi == NULL)
		host.no_mpi = "nodes are started one by one";
	RS_TRY(job_spec_place(n->spec, &host, &n->placement, &n->kernel));
	RS_TRY(job_spec_settle(n->spec, &n->placement, &settled));
	spec_free(n->spec);
	n->spec = settled;
	n->settings = spec_settings(settled);
	return job_spec_hash(settled, &n->placement, &n->job.config);
}

/* --- who is who ------------------------------------------------------------------------ */

/* By rank when the launcher counts just the processes that the run has. */
static void
take_rank(const struct node *n, const struct environment *e, uint32_t *role, size_t *index)
{
	if (e->size != n->job.n_nodes || e->rank >= e->size)
		return;
	*role = n->job.node[e->rank].role;
	*index = n->job.node[e->rank].index;
}

static enum rs_status
find_self(struct node *n, const struct environment *e)
{
	const char *const text = argument(n->a, "--role");
	uint32_t role = e->role;
	size_t index = e->role_index;
	int64_t given = 0;

	if (text != NULL) {
		role = key_role_parse(text, strlen(text));
		index = 0;
	} else if (role == 0) {
		take_rank(n, e, &role, &index);
	}
	RS_TRY(argument_int(n->a, "--index", 0, JOB_NODES_MAX, &given));
	if (argument_given(n->a, "--index"))
		index = (size_t)given;
	if (role == 0) {
		if (text != NULL)
			rs_fail(RS_EUSAGE, "node: '%.40s' is no role", text);
		else
			rs_fail(RS_EUSAGE, "node: which role has this process?");
		return rs_hint("give --role coordinator, ps or worker, and --index");
	}
	n->job.self = job_number(&n->job, role, index);
	if (n->job.self < n->job.n_nodes)
		return RS_OK;
	rs_fail(RS_EUSAGE, "node: there is no %s %zu: the run has %zu worker%s and %zu shard%s",
		key_role_name(role), index, n->job.n_workers, n->job.n_workers == 1 ? "" : "s",
		n->job.n_ps, n->job.n_ps == 1 ? "" : "s");
	return rs_hint("give --workers and --ps to every node, or cluster.workers and cluster.ps");
}

static enum rs_status
set_endpoint(struct job_node *node, const char *address)
{
	if (strlen(address) >= sizeof node->endpoint)
		return rs_fail(RS_EUSAGE, "the address '%.40s...' is too long", address);
	snprintf(node->endpoint, sizeof node->endpoint, "%s", address);
	return RS_OK;
}

static enum rs_status
find_addresses(struct node *n, const struct environment *e)
{
	struct job_node *const self = &n->job.node[n->job.self];
	const char *const listen = n->settings->cluster.listen;
	const char *join = argument(n->a, "--join");

	if (join == NULL && e->coordinator[0] != '\0')
		join = e->coordinator;
	if (self->role != KEY_COORDINATOR && join == NULL)
		return rs_fail(RS_EUSAGE, "node: where is the coordinator? give --join ADDRESS");
	if (self->role != KEY_WORKER && listen[0] == '\0') {
		rs_fail(RS_EUSAGE, "node: %s needs an address to listen at", n->name);
		return rs_hint("give --listen tcp://ADDRESS:PORT or cluster.listen");
	}
	if (self->role != KEY_WORKER)
		RS_TRY(set_endpoint(self, listen));
	return self->role != KEY_COORDINATOR ? set_endpoint(&n->job.node[0], join) : RS_OK;
}

/* --- keys ---------------------------------------------------------------------------------- */

static enum rs_status
find_coordinator_key(struct node *n)
{
	for (size_t i = 0; i < n->allowed.n; i++) {
		if ((n->allowed.entry[i].roles & KEY_COORDINATOR) == 0)
			continue;
		memcpy(n->job.node[0].public_key, n->allowed.entry[i].public_key, KEY_TEXT);
		return RS_OK;
	}
	return rs_fail(RS_EDENIED, "'%s' has no key of a coordinator", n->settings->cluster.keys);
}

static enum rs_status
read_keys(struct node *n)
{
	const struct cluster_settings *const c = &n->settings->cluster;

	if (c->secret[0] == '\0' && c->keys[0] == '\0')
		return RS_OK;
	if (c->secret[0] == '\0' || c->keys[0] == '\0') {
		rs_fail(RS_EUSAGE, "node: %s without %s", c->secret[0] ? "--key" : "--keys",
			c->secret[0] ? "--keys" : "--key");
		return rs_hint("a node needs its own key and the list of who may join");
	}
	RS_TRY(key_pair_read(c->secret, &n->job.keys));
	RS_TRY(key_list_read(c->keys, &n->allowed));
	RS_TRY(find_coordinator_key(n));
	memcpy(n->job.node[n->job.self].public_key, n->job.keys.public_key, KEY_TEXT);
	return RS_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Job 1 unless the launcher counts them; the addresses tell jobs apart. */
static enum rs_status
identify(struct node *n, const struct environment *e)
{
	n->job.id = e->job != 0 ? e->job : 1;
	n->job.local = e->local_rank;
	n->job.n_local = e->local_size;
	RS_TRY(job_make_nodes(&n->job, 0));
	RS_TRY(find_self(n, e));
	job_node_name(&n->job, n->job.self, n->name);
	RS_TRY(find_addresses(n, e));
	return read_keys(n);
}

enum rs_status
node_hosts(struct node *n)
{
	struct environment e;

	RS_TRY(settle(n));
	n->job.n_workers = n->placement.n_workers;
	n->job.n_ps = n->placement.n_ps;
	RS_TRY(environment_read(command_variable, &e));
	const enum rs_status status = identify(n, &e);
	environment_free(&e);
	return status;
}
