/* Where the nodes of this host listen when others have to reach them, and with which key. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/launched_private.h"

#define HOST 256

/* --- addresses ------------------------------------------------------------------------ */

/* tcp://HOST:PORT; brackets stay on. */
static void
split(const char *endpoint, char host[HOST], const char **port)
{
	const char *const begin = strncmp(endpoint, "tcp://", 6) == 0 ? endpoint + 6 : endpoint;
	const char *const colon = strrchr(begin, ':');
	const size_t n = colon != NULL ? (size_t)(colon - begin) : strlen(begin);

	snprintf(host, HOST, "%.*s", (int)(n < HOST ? n : 0), begin);
	*port = colon != NULL ? colon + 1 : "0";
}

static int
is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0
		|| strcmp(host, "[::1]") == 0;
}

static int
show(const struct sockaddr *a, char out[HOST])
{
	char text[INET6_ADDRSTRLEN];

	if (a == NULL || (a->sa_family != AF_INET && a->sa_family != AF_INET6))
		return 0;
	if (a->sa_family == AF_INET) {
		const struct sockaddr_in *const v4 = (const void *)a;

		if (inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text) == NULL)
			return 0;
		snprintf(out, HOST, "%s", text);
		return 1;
	}
	const struct sockaddr_in6 *const v6 = (const void *)a;

	if (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr)
	    || inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text) == NULL)
		return 0;
	snprintf(out, HOST, "[%s]", text);
	return 1;
}

static enum rs_status
find_interface(const char *name, char out[HOST])
{
	static const int family[] = { AF_INET, AF_INET6 };
	struct ifaddrs *list;
	int found = 0;

	if (getifaddrs(&list) != 0)
		return rs_fail(RS_EPEER, "cannot list the networks of this host");
	for (size_t f = 0; f < sizeof family / sizeof *family; f++)
		for (const struct ifaddrs *i = list; i != NULL && !found; i = i->ifa_next)
			found = i->ifa_addr != NULL && strcmp(i->ifa_name, name) == 0
				&& i->ifa_addr->sa_family == family[f]
				&& show(i->ifa_addr, out);
	freeifaddrs(list);
	return found ? RS_OK : rs_fail(RS_EUSAGE,
		"cluster.trusted_interface: '%s' has no address on this host", name);
}

/* A number for a name; the loopback only when it is meant. */
static enum rs_status
resolve(const char *name, int may_loop, char out[HOST])
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	char bare[HOST];
	struct addrinfo *list = NULL;
	int found = 0;

	snprintf(bare, sizeof bare, "%s", name + (name[0] == '['));
	bare[strcspn(bare, "]")] = '\0';
	const int error = getaddrinfo(bare, NULL, &hints, &list);
	if (error != 0)
		return rs_fail(RS_EPEER, "'%s': %s", bare, gai_strerror(error));
	for (const struct addrinfo *i = list; i != NULL && !found; i = i->ai_next)
		found = show(i->ai_addr, out) && (may_loop || !is_loopback(out));
	freeaddrinfo(list);
	if (found)
		return RS_OK;
	rs_fail(RS_EUSAGE, "the name '%s' stands for the loopback only", bare);
	return rs_hint("cluster.listen = tcp://ADDRESS:0, or cluster.trusted_interface, says at "
		"which address this host listens");
}

/* The address of this host, as text for an endpoint.  wanted: an endpoint that names it,
 * or "". */
static enum rs_status
find_host(const struct launched *l, const char *wanted, char out[HOST])
{
	const struct cluster_settings *const c = &l->node.settings->cluster;
	char name[HOST];
	const char *port;

	if (c->listen[0] != '\0') {
		split(c->listen, out, &port);
		return RS_OK;
	}
	if (c->trusted_interface[0] != '\0')
		return find_interface(c->trusted_interface, out);
	split(wanted[0] != '\0' ? wanted : l->e.coordinator, name, &port);
	if (wanted[0] != '\0' || is_loopback(name))
		return resolve(name, is_loopback(name), out);
	if (gethostname(name, sizeof name) != 0)
		return rs_fail(RS_EUSAGE, "this host has no name");
	return resolve(name, 0, out);
}

static enum rs_status
set_endpoint(struct job_node *node, const char *host, const char *port)
{
	const int n = snprintf(node->endpoint, sizeof node->endpoint, "tcp://%s:%s", host, port);

	return n > 0 && (size_t)n < sizeof node->endpoint ? RS_OK :
		rs_fail(RS_EUSAGE, "an address is too long: '%.40s...'", host);
}

/* One that nobody has now; whoever takes it in the meantime makes the start fail. */
static enum rs_status
find_port(char out[16])
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6 };
	struct sockaddr_in b = { .sin_family = AF_INET };
	socklen_t n = sizeof a, m = sizeof b;
	unsigned port = 0;
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0
	    && getsockname(fd, (struct sockaddr *)&a, &n) == 0)
		port = ntohs(a.sin6_port);
	if (fd >= 0)
		close(fd);
	fd = port == 0 ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
	if (fd >= 0 && bind(fd, (struct sockaddr *)&b, m) == 0
	    && getsockname(fd, (struct sockaddr *)&b, &m) == 0)
		port = ntohs(b.sin_port);
	if (fd >= 0)
		close(fd);
	snprintf(out, 16, "%u", port);
	return port != 0 ? RS_OK : rs_fail(RS_EPEER, "no port is free");
}

static enum rs_status
set_coordinator(struct launched *l)
{
	char host[HOST], name[HOST], free_port[16];
	const char *port = free_port;

	RS_TRY(find_host(l, l->e.coordinator, host));
	RS_TRY(find_port(free_port));
	if (l->e.coordinator[0] != '\0' && l->e.launcher != LAUNCHER_SSH)
		split(l->e.coordinator, name, &port);
	return set_endpoint(&l->node.job.node[0], host, port);
}

/* Of a process that is a shard itself. */
static enum rs_status
set_self(struct launched *l)
{
	const char *const listen = l->node.settings->cluster.listen;
	char host[HOST];
	const char *port = "0";

	RS_TRY(find_host(l, l->e.self, host));
	if (listen[0] != '\0' || l->e.self[0] != '\0')
		split(listen[0] != '\0' ? listen : l->e.self, (char [HOST]){ 0 }, &port);
	return set_endpoint(&l->node.job.node[l->node.job.self], host, port);
}

static enum rs_status
set_shards(struct launched *l)
{
	struct job *const job = &l->node.job;
	char host[HOST];

	if (l->node.settings->cluster.listen[0] != '\0')
		return RS_OK;           /* the supervisor takes it                      */
	for (size_t i = 0; i < l->n_own; i++) {
		struct job_node *const node = &job->node[l->own[i]];

		if (node->role != KEY_PS)
			continue;
		RS_TRY(find_host(l, l->e.self, host));
		RS_TRY(set_endpoint(node, host, "0"));
	}
	return RS_OK;
}

/* --- keys ------------------------------------------------------------------------------ */

/* Nodes that are started by role may each have a key of their own. */
static enum rs_status
read_list(struct launched *l)
{
	struct node *const n = &l->node;
	const char *const path = n->settings->cluster.keys;

	if (l->e.role == 0) {
		rs_fail(RS_EUSAGE, "%s: a job of a launcher has one key for all", l->e.name);
		return rs_hint("leave cluster.keys out: cluster.secret is the key of every node");
	}
	RS_TRY(key_list_read(path, &n->allowed));
	for (size_t i = 0; i < n->allowed.n; i++)
		if ((n->allowed.entry[i].roles & KEY_COORDINATOR) != 0) {
			memcpy(n->job.node[0].public_key, n->allowed.entry[i].public_key,
				KEY_TEXT);
			return RS_OK;
		}
	return rs_fail(RS_EDENIED, "'%s' has no key of a coordinator", path);
}

static enum rs_status
set_keys(struct launched *l)
{
	const struct cluster_settings *const c = &l->node.settings->cluster;
	const int can_tell = l->node.mpi != NULL || l->meeting[0] != '\0';

	if (l->node.job.keys.secret_key[0] != '\0')
		return RS_OK;           /* it came from whoever started this one        */
	if (c->secret[0] != '\0')
		RS_TRY(key_pair_read(c->secret, &l->node.job.keys));
	else if (l->is_first && can_tell)
		RS_TRY(key_pair_make(&l->node.job.keys));
	return c->keys[0] != '\0' && c->secret[0] != '\0' ? read_list(l) : RS_OK;
}

/* --- the whole ---------------------------------------------------------------------------- */

enum rs_status
launched_address(struct launched *l)
{
	struct job *const job = &l->node.job;

	if (l->is_alone && l->node.settings->cluster.listen[0] == '\0')
		return RS_OK;
	RS_TRY(set_keys(l));
	if (l->is_alone)
		return RS_OK;
	if (l->e.coordinator[0] != '\0')
		snprintf(job->node[0].endpoint, sizeof job->node[0].endpoint, "%s",
			l->e.coordinator);
	if (l->is_first ? l->e.launcher != LAUNCHER_RECSYS : l->e.role == KEY_COORDINATOR)
		RS_TRY(set_coordinator(l));
	if (l->e.role == KEY_PS)
		RS_TRY(set_self(l));
	return set_shards(l);
}
