/* Contexts and sockets over libzmq: opened, bound, connected, waited for. */
#include "comm/wire.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zmq.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "comm/wire_private.h"

/*
 * Messages to a ROUTER's peer that is slow wait here, then wire_send() says so.  A worker
 * asks a shard for a few hundred messages at most, a step's pulls and pushes.
 */
enum { QUEUE_MESSAGES = 4096 };
enum { N_FILES_MAX = 1 << 20, N_SOCKETS_MAX = 16384 };
enum { POLL_STACK = 64 };
enum { ENFORCE_DOMAIN = 93 };       /* ZMQ_ZAP_ENFORCE_DOMAIN, a draft in zmq.h       */

#define POLL_SECONDS_MAX 3600.0
#define SELF_TEST_SECONDS 5.0

static const struct { int option, value; } socket_option[] = {
	{ ZMQ_LINGER, 0 },
	{ ZMQ_SNDHWM, QUEUE_MESSAGES },
	{ ZMQ_RCVHWM, QUEUE_MESSAGES },
	{ ZMQ_HANDSHAKE_IVL, 5000 },
	{ ZMQ_CONNECT_TIMEOUT, 2000 },
	{ ZMQ_RECONNECT_IVL, 100 },
	{ ZMQ_RECONNECT_IVL_MAX, 5000 },
	{ ZMQ_HEARTBEAT_IVL, 1000 },
	{ ZMQ_HEARTBEAT_TIMEOUT, 3000 },
	{ ZMQ_HEARTBEAT_TTL, 3000 },
	{ ZMQ_TCP_KEEPALIVE, 1 },
	{ ZMQ_TCP_KEEPALIVE_IDLE, 30 },
	{ ZMQ_TCP_KEEPALIVE_INTVL, 10 },
	{ ZMQ_TCP_KEEPALIVE_CNT, 3 },
	{ ZMQ_BACKLOG, 1024 },
};

/* Every link is a descriptor. */
static void
raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= N_FILES_MAX)
		return;
	limit.rlim_cur = limit.rlim_max < N_FILES_MAX ? limit.rlim_max : N_FILES_MAX;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* A file of the memory of a process that has keys would tell them. */
static void
forbid_core_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) != 0)
		return;
	limit.rlim_cur = 0;
	setrlimit(RLIMIT_CORE, &limit);
}

static enum rs_status
set_up_context(struct wire_context *c, const struct wire_options *o)
{
	raise_file_limit();
	c->zmq = zmq_ctx_new();
	if (c->zmq == NULL || zmq_ctx_set(c->zmq, ZMQ_IO_THREADS,
	    o->n_io_threads > 0 ? (int)o->n_io_threads : 1) != 0 ||
	    zmq_ctx_set(c->zmq, ZMQ_MAX_SOCKETS, N_SOCKETS_MAX) != 0)
		return rs_fail(RS_ERESOURCE, "cannot start ZeroMQ: %s", zmq_strerror(errno));
	if (o->self == NULL || o->self->public_key[0] == '\0')
		return RS_OK;
	if (!zmq_has("curve"))
		return rs_fail(RS_EUSAGE, "this ZeroMQ was built without CURVE");
	forbid_core_files();
	c->self = *o->self;
	RS_TRY(zap_open(c->zmq, &c->zap));
	return o->allowed != NULL ? wire_context_allow(c, o->allowed) : RS_OK;
}

enum rs_status
wire_context_open(const struct wire_options *options, struct wire_context **out)
{
	struct wire_context *c;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*c), &c));
	status = set_up_context(c, options);
	if (status != RS_OK) {
		wire_context_close(c);
		return status;
	}
	*out = c;
	return RS_OK;
}

enum rs_status
wire_context_allow(struct wire_context *c, const struct key_list *allowed)
{
	assert(c->zap != NULL);
	atomic_store(&c->has_list, allowed != NULL && allowed->n > 0);
	return zap_allow(c->zap, allowed);
}

void
wire_context_close(struct wire_context *c)
{
	if (c == NULL)
		return;
	assert(atomic_load(&c->n_wires) == 0);
	if (c->zmq != NULL) {
		zmq_ctx_shutdown(c->zmq);
		zap_close(c->zap);
		while (zmq_ctx_term(c->zmq) != 0 && errno == EINTR)
			continue;
	}
	key_pair_wipe(&c->self);
	free(c);
}

/* The host of tcp://HOST:PORT, brackets off; "" when it is something else. */
static void
host_of(const char *endpoint, char out[256])
{
	const char *begin = endpoint + strlen("tcp://");
	const char *colon = strrchr(begin, ':');
	size_t n = colon != NULL ? (size_t)(colon - begin) : strlen(begin);

	if (n >= 2 && begin[0] == '[' && begin[n - 1] == ']') {
		begin++;
		n -= 2;
	}
	snprintf(out, 256, "%.*s", n < 256 ? (int)n : 0, begin);
}

/* What the kernel routes to this host alone, told from the text: a name other than
 * localhost may mean anything tomorrow. */
static int
is_loopback(const char *endpoint)
{
	char host[256];
	struct in_addr v4;

	host_of(endpoint, host);
	return strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0 ||
		(inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

/* The library takes ports modulo 65536. */
static int
is_port(const char *text)
{
	const size_t n = strspn(text, "0123456789");

	return strcmp(text, "*") == 0 ||
		(n > 0 && n <= 5 && text[n] == '\0' && strtol(text, NULL, 10) <= 65535);
}

static enum rs_status
check_endpoint(const char *endpoint)
{
	static const char *const scheme[] = { "ipc://", "inproc://" };
	const char *colon = strrchr(endpoint, ':');

	if (strlen(endpoint) < sizeof(((struct wire *)NULL)->endpoint)) {
		if (strncmp(endpoint, "tcp://", 6) == 0 && colon > endpoint + 6 &&
		    is_port(colon + 1))
			return RS_OK;
		for (size_t i = 0; i < sizeof(scheme) / sizeof(scheme[0]); i++)
			if (strncmp(endpoint, scheme[i], strlen(scheme[i])) == 0)
				return RS_OK;
	}
	rs_fail(RS_EUSAGE, "'%s' is no address", endpoint);
	return rs_hint("addresses are tcp://HOST:PORT and ipc://PATH");
}

static enum rs_status
check_bind(struct wire_context *c, const char *endpoint)
{
	RS_TRY(check_endpoint(endpoint));
	if (strncmp(endpoint, "tcp://", 6) != 0 || is_loopback(endpoint))
		return RS_OK;
	if (c->zap != NULL && atomic_load(&c->has_list))
		return RS_OK;
	rs_fail(RS_EDENIED, "will not listen on '%s' without %s", endpoint, c->zap == NULL ?
		"a key" : "a list of who may connect");
	return rs_hint("recsys-train keygen makes a key; cluster.secret and cluster.keys name it "
		"and the list");
}

static enum rs_status
fail_socket(const char *doing, const char *endpoint)
{
	const int error = errno;
	const enum rs_status status = error == EADDRINUSE ? RS_EBUSY : error == EACCES ?
		RS_EDENIED : file_is_shortage(error) ? RS_ERESOURCE :
		error == EINVAL || error == ENODEV || error == EADDRNOTAVAIL ||
		error == ENAMETOOLONG || error == ENOENT ? RS_EUSAGE : RS_EPEER;

	return rs_fail(status, "cannot %s '%s': %s", doing, endpoint, error == ENODEV ?
		"no such host or network" : zmq_strerror(error));
}

/* An address of IPv4 stays one: the library would write it as one of IPv6. */
static int
is_ipv4(const char *endpoint)
{
	char host[256];
	struct in_addr v4;

	if (strncmp(endpoint, "tcp://", 6) != 0)
		return 0;
	host_of(endpoint, host);
	return inet_pton(AF_INET, host, &v4) == 1;
}

static enum rs_status
set_options(struct wire *w)
{
	const int64_t bytes_max = WIRE_FRAME_MAX + 4096;        /* CURVE adds some      */
	const int ipv6 = !is_ipv4(w->endpoint);

	if (zmq_setsockopt(w->socket, ZMQ_IPV6, &ipv6, sizeof(ipv6)) != 0)
		return rs_fail(RS_ERESOURCE, "cannot set up a socket: %s", zmq_strerror(errno));
	for (size_t i = 0; i < sizeof(socket_option) / sizeof(socket_option[0]); i++)
		if (zmq_setsockopt(w->socket, socket_option[i].option, &socket_option[i].value,
		    sizeof(socket_option[i].value)) != 0)
			return rs_fail(RS_ERESOURCE, "cannot set option %d of a socket: %s",
				socket_option[i].option, zmq_strerror(errno));
	if (zmq_setsockopt(w->socket, ZMQ_MAXMSGSIZE, &bytes_max, sizeof(bytes_max)) != 0)
		return rs_fail(RS_ERESOURCE, "cannot limit messages: %s", zmq_strerror(errno));
	return RS_OK;
}

static enum rs_status
wire_make(struct wire_context *c, const char *endpoint, int type, struct wire **out)
{
	struct wire *w;

	RS_TRY(memory_alloc(1, sizeof(*w), &w));
	atomic_fetch_add(&c->n_wires, 1);
	w->context = c;
	w->is_router = type == ZMQ_ROUTER;
	/* The library binds addresses and interfaces, not names; and ::1 is not meant. */
	if (strncmp(endpoint, "tcp://localhost:", 16) == 0)
		snprintf(w->endpoint, sizeof(w->endpoint), "tcp://127.0.0.1:%s", endpoint + 16);
	else
		snprintf(w->endpoint, sizeof(w->endpoint), "%s", endpoint);
	w->socket = zmq_socket(c->zmq, type);
	enum rs_status status = w->socket == NULL ? fail_socket("make a socket for", endpoint) :
		set_options(w);
	if (status != RS_OK) {
		wire_close(w);
		return status;
	}
	*out = w;
	return RS_OK;
}

/* The secret key travels to the library as text, which it decodes and keeps. */
static enum rs_status
secure_server(struct wire *w)
{
	const int yes = 1;

	w->is_secure = 1;
	/* Should the handler be gone, nobody is let in; where the library has this. */
	zmq_setsockopt(w->socket, ENFORCE_DOMAIN, &yes, sizeof(yes));
	if (zmq_setsockopt(w->socket, ZMQ_CURVE_SERVER, &yes, sizeof(yes)) != 0 ||
	    zmq_setsockopt(w->socket, ZMQ_CURVE_SECRETKEY, w->context->self.secret_key,
	    KEY_TEXT) != 0 ||
	    zmq_setsockopt(w->socket, ZMQ_ZAP_DOMAIN, ZAP_DOMAIN, strlen(ZAP_DOMAIN)) != 0)
		return rs_fail(RS_EDENIED, "the key of this node cannot be used: %s",
			zmq_strerror(errno));
	return RS_OK;
}

static enum rs_status
no_key(const struct wire *w)
{
	rs_fail(RS_EDENIED, "'%s' wants a key, and this node has none", w->endpoint);
	return rs_hint("cluster.secret and cluster.keys name the key and the list, or --key and "
		"--keys");
}

static enum rs_status
secure_client(struct wire *w, const struct key_pair *self, const char *server_key)
{
	w->is_secure = 1;
	if (self->public_key[0] == '\0')
		return no_key(w);
	if (zmq_setsockopt(w->socket, ZMQ_CURVE_SERVERKEY, server_key, KEY_TEXT) != 0 ||
	    zmq_setsockopt(w->socket, ZMQ_CURVE_PUBLICKEY, self->public_key, KEY_TEXT) != 0 ||
	    zmq_setsockopt(w->socket, ZMQ_CURVE_SECRETKEY, self->secret_key, KEY_TEXT) != 0)
		return rs_fail(RS_EDENIED, "the keys for '%s' cannot be used: %s", w->endpoint,
			zmq_strerror(errno));
	return RS_OK;
}

static enum rs_status
bind_router(struct wire *w, const char *endpoint)
{
	const int yes = 1;
	size_t n = sizeof(w->endpoint);

	if (zmq_setsockopt(w->socket, ZMQ_ROUTER_MANDATORY, &yes, sizeof(yes)) != 0)
		return fail_socket("set up", endpoint);
	if (w->context->zap != NULL)
		RS_TRY(secure_server(w));
	if (zmq_bind(w->socket, w->endpoint) != 0)
		return fail_socket("listen on", endpoint);
	if (zmq_getsockopt(w->socket, ZMQ_LAST_ENDPOINT, w->endpoint, &n) != 0)
		return fail_socket("find out about", endpoint);
	return RS_OK;
}

enum rs_status
wire_bind(struct wire_context *c, const char *endpoint, struct wire **out)
{
	struct wire *w;

	RS_TRY(check_bind(c, endpoint));
	RS_TRY(wire_make(c, endpoint, ZMQ_ROUTER, &w));
	const enum rs_status status = bind_router(w, endpoint);
	if (status != RS_OK) {
		wire_close(w);
		return status;
	}
	*out = w;
	return RS_OK;
}

const char *
wire_endpoint(const struct wire *w)
{
	return w->endpoint;
}

static enum rs_status
connect_dealer(struct wire *w, const struct key_pair *self, const char *server_key)
{
	if (server_key != NULL && server_key[0] != '\0')
		RS_TRY(secure_client(w, self, server_key));
	RS_TRY(wire_monitor_open(w));
	return zmq_connect(w->socket, w->endpoint) == 0 ? RS_OK :
		fail_socket("connect to", w->endpoint);
}

static enum rs_status
wire_dial(struct wire_context *c, const char *endpoint, const struct key_pair *self,
	const char *server_key, struct wire **out)
{
	struct wire *w;

	RS_TRY(check_endpoint(endpoint));
	RS_TRY(wire_make(c, endpoint, ZMQ_DEALER, &w));
	const enum rs_status status = connect_dealer(w, self, server_key);
	if (status != RS_OK) {
		wire_close(w);
		return status;
	}
	*out = w;
	return RS_OK;
}

enum rs_status
wire_connect(struct wire_context *c, const char *endpoint, const char *server_key,
	struct wire **out)
{
	return wire_dial(c, endpoint, &c->self, server_key, out);
}

void
wire_close(struct wire *w)
{
	if (w == NULL)
		return;
	if (w->socket != NULL) {
		wire_monitor_close(w);
		zmq_close(w->socket);
	}
	atomic_fetch_sub(&w->context->n_wires, 1);
	free(w);
}

uint64_t
wire_malformed(const struct wire *w)
{
	return w->malformed;
}

/* Where we can be dialled from here: an address for all interfaces is none to dial. */
static void
dial_address(const struct wire *bound, char out[320])
{
	char host[256];
	const char *port = strrchr(bound->endpoint, ':');

	snprintf(out, 320, "%s", bound->endpoint);
	if (strncmp(bound->endpoint, "tcp://", 6) != 0)
		return;
	host_of(bound->endpoint, host);
	if (strcmp(host, "0.0.0.0") == 0)
		snprintf(out, 320, "tcp://127.0.0.1%s", port);
	else if (strcmp(host, "::") == 0)
		snprintf(out, 320, "tcp://[::1]%s", port);
}

/* Waits for the end of the handshake: a link means RS_OK, RS_EPEER no answer. */
static enum rs_status
handshake(struct wire *w, double seconds)
{
	const double end = clock_seconds() + seconds;

	w->trouble = RS_EPEER;
	snprintf(w->why, sizeof(w->why), "does not answer");
	do {
		zmq_pollitem_t item = { .socket = w->monitor, .events = ZMQ_POLLIN };

		wire_monitor_read(w);
		if (w->trouble != RS_EPEER)
			return w->trouble;
		zmq_poll(&item, 1, 20);
	} while (clock_seconds() < end);
	return RS_EPEER;
}

enum rs_status
wire_self_test(struct wire_context *c, struct wire *bound)
{
	char address[320];
	struct key_pair stranger;
	struct wire *w;
	enum rs_status status;

	if (c->zap == NULL)
		return RS_OK;
	RS_TRY(key_pair_make(&stranger));
	zap_expect(c->zap, stranger.public_key);
	dial_address(bound, address);
	status = wire_dial(c, address, &stranger, c->self.public_key, &w);
	key_pair_wipe(&stranger);
	RS_TRY(status);
	status = handshake(w, SELF_TEST_SECONDS);
	wire_close(w);
	if (status == RS_OK)
		return rs_fail(RS_EDENIED, "'%s' lets in a stranger: the list of keys does not "
			"work", address);
	return status == RS_EDENIED ? RS_OK : rs_fail(RS_EPEER, "'%s' did not refuse a stranger "
		"within %.0f s: it cannot be dialled", address, SELF_TEST_SECONDS);
}

/* Sockets and descriptors are items [0,n), the monitors of those that have one follow. */
static size_t
fill_items(const struct wire_poll *p, size_t n, zmq_pollitem_t *item)
{
	size_t n_items = n;

	for (size_t i = 0; i < n; i++) {
		const struct wire *w = p[i].wire;

		item[i] = (zmq_pollitem_t){ .socket = w != NULL ? w->socket : NULL,
			.fd = w != NULL ? 0 : p[i].fd, .events = ZMQ_POLLIN };
		if (w != NULL && w->monitor != NULL)
			item[n_items++] = (zmq_pollitem_t){ .socket = w->monitor,
				.events = ZMQ_POLLIN };
	}
	return n_items;
}

/* Sets readable of all. */
static size_t
look(struct wire_poll *p, size_t n, const zmq_pollitem_t *item)
{
	const zmq_pollitem_t *monitor = item + n;
	size_t n_ready = 0;

	for (size_t i = 0; i < n; i++) {
		struct wire *w = p[i].wire;

		p[i].readable = (item[i].revents & (ZMQ_POLLIN | ZMQ_POLLERR)) != 0;
		if (w != NULL && w->monitor != NULL && monitor++->revents != 0)
			wire_monitor_read(w);
		if (w != NULL && wire_is_refused(w))
			p[i].readable = 1;
		n_ready += (size_t)p[i].readable;
	}
	return n_ready;
}

static enum rs_status
wait_items(struct wire_poll *p, size_t n, zmq_pollitem_t *item, double seconds)
{
	const size_t n_items = fill_items(p, n, item);
	const double end = clock_seconds() + seconds;

	/* Old trouble is no event. */
	for (size_t i = 0; i < n; i++)
		if (p[i].wire != NULL && wire_is_refused(p[i].wire))
			seconds = 0;
	for (double left = seconds; ; left = end - clock_seconds()) {
		/* Up, so as not to spin through the last millisecond. */
		const long ms = left > 0 ? (long)(left * 1e3) + 1 : 0;
		const int got = zmq_poll(item, (int)n_items, ms);

		if (got < 0 && errno == EINTR) {
			for (size_t i = 0; i < n; i++)
				p[i].readable = 0;
			return RS_OK;
		}
		if (got < 0)
			return rs_fail(RS_EPEER, "cannot wait for messages: %s",
				zmq_strerror(errno));
		if (look(p, n, item) > 0 || left <= 0)
			return RS_OK;
	}
}

enum rs_status
wire_wait(struct wire_poll *p, size_t n, double seconds)
{
	zmq_pollitem_t local[2 * POLL_STACK], *item = local;
	enum rs_status status;

	if (n > POLL_STACK)
		RS_TRY(memory_alloc(2 * n, sizeof(*item), &item));
	status = wait_items(p, n, item, seconds > POLL_SECONDS_MAX ? POLL_SECONDS_MAX :
		seconds > 0 ? seconds : 0);
	if (item != local)
		free(item);
	return status;
}
