/* Sockets in a build without ZeroMQ: there are none. */
#include "comm/wire.h"

static enum rs_status
not_built(void)
{
	rs_fail(RS_EUSAGE, "this program was built without ZeroMQ, which runs of many processes "
		"need");
	return rs_hint("configure it with --with-zmq (Debian: libzmq3-dev)");
}

enum rs_status
wire_context_open(const struct wire_options *options, struct wire_context **out)
{
	(void)options;
	*out = NULL;
	return not_built();
}

enum rs_status
wire_context_allow(struct wire_context *c, const struct key_list *allowed)
{
	(void)c;
	(void)allowed;
	return not_built();
}

void
wire_context_close(struct wire_context *c)
{
	(void)c;
}

enum rs_status
wire_bind(struct wire_context *c, const char *endpoint, struct wire **out)
{
	(void)c;
	(void)endpoint;
	*out = NULL;
	return not_built();
}

const char *
wire_endpoint(const struct wire *w)
{
	(void)w;
	return "";
}

enum rs_status
wire_connect(struct wire_context *c, const char *endpoint, const char *server_key,
	struct wire **out)
{
	(void)c;
	(void)endpoint;
	(void)server_key;
	*out = NULL;
	return not_built();
}

enum rs_status
wire_trouble(struct wire *w)
{
	(void)w;
	return not_built();
}

const char *
wire_trouble_text(struct wire *w)
{
	(void)w;
	return "";
}

void
wire_close(struct wire *w)
{
	(void)w;
}

enum rs_status
wire_self_test(struct wire_context *c, struct wire *bound)
{
	(void)c;
	(void)bound;
	return not_built();
}

enum rs_status
wire_send(struct wire *w, const struct wire_peer *to, const struct frame *f,
	const struct wire_part *part, size_t n_parts)
{
	(void)w;
	(void)to;
	(void)f;
	(void)part;
	(void)n_parts;
	return not_built();
}

enum rs_status
wire_receive(struct wire *w, struct wire_message *m, int *got)
{
	(void)w;
	*m = (struct wire_message){ .owned = NULL };
	*got = 0;
	return not_built();
}

void
wire_message_free(struct wire_message *m)
{
	(void)m;
}

uint64_t
wire_malformed(const struct wire *w)
{
	(void)w;
	return 0;
}

enum rs_status
wire_wait(struct wire_poll *p, size_t n, double seconds)
{
	(void)p;
	(void)n;
	(void)seconds;
	return not_built();
}
