/*
 * Messages in and out of a socket: one frame of header, then those of the parts of the body.
 *
 * A part is cut into frames of CUT bytes and one that is shorter, which may have none: so a
 * large part is encrypted, carried and decrypted piece by piece at the same time, signs of
 * life get through between the pieces, and no peer can make the library take more at once.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/memory.h"
#include "comm/fields.h"
#include "comm/wire_private.h"

/* So many malformed messages are skipped by one call, then others have their turn. */
enum { SKIP_MAX = 64 };

#define CUT ((size_t)WIRE_FRAME_MAX)

/* The frames of a message, kept until it is freed. */
struct owned {
	zmq_msg_t header, part[WIRE_PARTS_MAX];
	size_t n_parts;
	const char *wrong;          /* what the frames behind the header have, or NULL */
	/* The part that is being put together; NULL when none is. */
	char  *joined;
	size_t n_joined, left;      /* bytes of the body that may still come          */
};

/* What the frames of a part that is lent share. */
struct loan {
	atomic_size_t n_frames;
	struct wire_part part;
};

static void
release(const struct wire_part *part, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (part[i].release != NULL)
			part[i].release((void *)(uintptr_t)part[i].data, part[i].hint);
}

static int
send_frame(struct wire *w, zmq_msg_t *frame, int more)
{
	int n;

	do
		n = zmq_msg_send(frame, w->socket, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0));
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		const int error = errno;

		zmq_msg_close(frame);
		errno = error;
	}
	return n >= 0;
}

static int
send_copy(struct wire *w, const void *data, size_t n, int more)
{
	zmq_msg_t frame;

	if (zmq_msg_init_size(&frame, n) != 0)
		return 0;
	if (n > 0)
		memcpy(zmq_msg_data(&frame), data, n);
	return send_frame(w, &frame, more);
}

static int
send_lent(struct wire *w, const struct wire_part *part, int more)
{
	zmq_msg_t frame;

	if (zmq_msg_init_data(&frame, (void *)(uintptr_t)part->data, part->n, part->release,
	    part->hint) != 0) {
		release(part, 1);
		return 0;
	}
	return send_frame(w, &frame, more);
}

static void
release_frame(void *data, void *hint)
{
	struct loan *l = hint;

	(void)data;
	if (atomic_fetch_sub(&l->n_frames, 1) > 1)
		return;
	release(&l->part, 1);
	free(l);
}

/* All are handed over, also when one fails: else the next message would be their rest. */
static int
send_cut(struct wire *w, const struct wire_part *part, struct loan *l, int more)
{
	const char *data = part->data;
	int sent = 1;

	for (size_t at = 0; at < part->n; at += CUT) {
		const struct wire_part piece = { .data = data + at,
			.n = part->n - at < CUT ? part->n - at : CUT,
			.release = release_frame, .hint = l };
		const int is_last = piece.n < CUT && !more;

		sent &= l != NULL ? send_lent(w, &piece, !is_last) :
			send_copy(w, piece.data, piece.n, !is_last);
	}
	return part->n % CUT == 0 ? sent & send_copy(w, NULL, 0, more) : sent;
}

static int
send_part(struct wire *w, const struct wire_part *part, int more)
{
	struct loan *l;

	if (part->n < CUT)
		return part->release != NULL ? send_lent(w, part, more) :
			send_copy(w, part->data, part->n, more);
	if (part->release == NULL)
		return send_cut(w, part, NULL, more);
	l = malloc(sizeof(*l));
	if (l == NULL) {
		const int sent = send_cut(w, part, NULL, more);

		release(part, 1);
		return sent;
	}
	atomic_init(&l->n_frames, (part->n + CUT - 1) / CUT);
	l->part = *part;
	return send_cut(w, part, l, more);
}

static enum rs_status
fail_send(const struct wire *w, const struct wire_peer *to)
{
	const char *who = to != NULL && to->name[0] != '\0' ? to->name : to != NULL ?
		"a peer" : w->endpoint;

	return errno == ENOMEM ? rs_fail(RS_ERESOURCE, "out of memory for a message") :
		rs_fail(RS_EPEER, "'%s' %s", who, errno == EAGAIN ? "takes nothing more now" :
		"is gone");
}

/*
 * The first frame decides: when there is room for it there is for all.  If the link
 * breaks in between, the rest is still handed over, and dropped by the library.
 */
static enum rs_status
send_all(struct wire *w, const struct wire_peer *to, const uint8_t header[FRAME_BYTES],
	const struct wire_part *part, size_t n_parts)
{
	int sent;

	if ((to != NULL && !send_copy(w, to->id, to->n, 1)) ||
	    !send_copy(w, header, FRAME_BYTES, n_parts > 0)) {
		const int error = errno;

		release(part, n_parts);
		errno = error;
		return fail_send(w, to);
	}
	sent = 1;
	for (size_t i = 0; i < n_parts; i++)
		sent &= send_part(w, &part[i], i + 1 < n_parts);
	return sent ? RS_OK : fail_send(w, to);
}

enum rs_status
wire_send(struct wire *w, const struct wire_peer *to, const struct frame *f,
	const struct wire_part *part, size_t n_parts)
{
	uint8_t header[FRAME_BYTES];
	struct frame_part body[WIRE_PARTS_MAX];
	enum rs_status status = wire_is_refused(w) ? wire_fail_trouble(w) : RS_OK;

	assert(n_parts <= WIRE_PARTS_MAX && w->is_router == (to != NULL));
	for (size_t i = 0; i < n_parts; i++)
		body[i] = (struct frame_part){ part[i].data, part[i].n };
	if (status == RS_OK)
		status = frame_encode(f, body, n_parts, header);
	if (status != RS_OK) {
		release(part, n_parts);
		return status;
	}
	return send_all(w, to, header, part, n_parts);
}

static enum rs_status
receive_frame(struct wire *w, zmq_msg_t *frame, int *got)
{
	int n;

	zmq_msg_init(frame);
	do
		n = zmq_msg_recv(frame, w->socket, ZMQ_DONTWAIT);
	while (n < 0 && errno == EINTR);
	*got = n >= 0;
	if (n >= 0)
		return RS_OK;
	zmq_msg_close(frame);
	return errno == EAGAIN ? RS_OK : rs_fail(RS_EPEER, "cannot receive from '%s': %s",
		w->endpoint, zmq_strerror(errno));
}

static void
free_joined(void *data, void *hint)
{
	(void)hint;
	free(data);
}

/* The part is whole: what was put together becomes a frame like the others. */
static void
end_joining(struct owned *o)
{
	if (zmq_msg_init_data(&o->part[o->n_parts], o->joined, o->n_joined, free_joined, NULL) == 0)
		o->n_parts++;
	else
		o->wrong = "a part that there is no memory for";
	if (o->wrong != NULL)
		free(o->joined);
	o->joined = NULL;
}

/* A frame of CUT bytes goes on in the next one. */
static void
join(struct owned *o, zmq_msg_t *frame)
{
	const size_t n = zmq_msg_size(frame);

	if (o->joined == NULL) {
		o->n_joined = 0;
		o->joined = malloc(n + o->left);
	}
	if (o->joined == NULL) {
		o->wrong = "a part that there is no memory for";
		return;
	}
	if (n > 0)
		memcpy(o->joined + o->n_joined, zmq_msg_data(frame), n);
	o->n_joined += n;
	if (n < CUT)
		end_joining(o);
}

static void
take_frame(struct owned *o, zmq_msg_t *frame)
{
	const size_t n = zmq_msg_size(frame);

	if (o->wrong != NULL)
		return;
	if (n > o->left || n > CUT) {
		o->wrong = "more bytes than its header tells";
		return;
	}
	if (o->n_parts == WIRE_PARTS_MAX) {
		o->wrong = "too many parts";
		return;
	}
	o->left -= n;
	if (o->joined != NULL || n == CUT) {
		join(o, frame);
		return;
	}
	zmq_msg_init(&o->part[o->n_parts]);
	zmq_msg_move(&o->part[o->n_parts++], frame);
}

/* The frames behind the header; the library hands out whole messages only. */
static enum rs_status
receive_parts(struct wire *w, struct owned *o)
{
	int more = zmq_msg_more(&o->header);

	while (more) {
		zmq_msg_t frame;
		int got;

		RS_TRY(receive_frame(w, &frame, &got));
		if (!got)
			return rs_fail(RS_EPEER, "half a message from '%s'", w->endpoint);
		more = zmq_msg_more(&frame);
		take_frame(o, &frame);
		zmq_msg_close(&frame);
	}
	if (o->joined != NULL && o->wrong == NULL)
		o->wrong = "a part without its end";
	return RS_OK;
}

/* The sender's address within the ROUTER; without a frame behind it there is no message. */
static enum rs_status
receive_peer(struct wire *w, struct wire_peer *from, int *got, int *more)
{
	zmq_msg_t id;

	RS_TRY(receive_frame(w, &id, got));
	if (!*got)
		return RS_OK;
	from->n = zmq_msg_size(&id) <= sizeof(from->id) ? zmq_msg_size(&id) : 0;
	memcpy(from->id, zmq_msg_data(&id), from->n);
	*more = zmq_msg_more(&id);
	zmq_msg_close(&id);
	return RS_OK;
}

static enum rs_status
receive_message(struct wire *w, struct wire_message *m, int *got)
{
	struct owned *o;
	int more = 1;

	*m = (struct wire_message){ .from = { .roles = KEY_ALL_ROLES } };
	if (w->is_router) {
		RS_TRY(receive_peer(w, &m->from, got, &more));
		if (!*got || !more)
			return RS_OK;
	}
	o = malloc(sizeof(*o));
	if (o == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for a message");
	o->n_parts = 0;
	o->wrong = NULL;
	o->joined = NULL;
	const enum rs_status status = receive_frame(w, &o->header, got);
	if (status != RS_OK || !*got) {
		free(o);
		return status;
	}
	m->owned = o;
	/* Of a header that is none, nothing is kept. */
	o->left = frame_decode(zmq_msg_data(&o->header), zmq_msg_size(&o->header), &m->frame) ==
		RS_OK ? m->frame.body_bytes : 0;
	return receive_parts(w, o);
}

/* Small frames may begin anywhere in the library's buffer. */
static enum rs_status
align_part(zmq_msg_t *part)
{
	zmq_msg_t copy;

	if ((uintptr_t)zmq_msg_data(part) % 8 == 0)
		return RS_OK;
	if (zmq_msg_init_size(&copy, zmq_msg_size(part)) != 0)
		return rs_fail(RS_ERESOURCE, "out of memory for a message");
	memcpy(zmq_msg_data(&copy), zmq_msg_data(part), zmq_msg_size(part));
	zmq_msg_move(part, &copy);
	zmq_msg_close(&copy);
	return RS_OK;
}

/* Who sent it, by the list as it is now. */
static enum rs_status
identify(const struct wire *w, struct wire_message *m, zmq_msg_t *header)
{
	struct key_entry e;
	const char *key;

	if (!w->is_router || !w->is_secure)
		return RS_OK;
	m->from.roles = 0;
	key = zmq_msg_gets(header, ZAP_KEY_PROPERTY);
	if (key == NULL || !zap_find(w->context->zap, key, &e))
		return rs_fail(RS_EDENIED, "the key of this node is no longer on the list");
	memcpy(m->from.name, e.name, sizeof(m->from.name));
	m->from.roles = e.roles;
	return RS_OK;
}

static enum rs_status
inspect(const struct wire *w, struct wire_message *m)
{
	struct owned *o = m->owned;

	if (o == NULL)
		return rs_fail(RS_EPROTOCOL, "an empty message");
	const enum rs_status decoded = frame_decode(zmq_msg_data(&o->header),
		zmq_msg_size(&o->header), &m->frame);
	RS_TRY(identify(w, m, &o->header));
	RS_TRY(decoded);
	if (o->wrong != NULL)
		return rs_fail(RS_EPROTOCOL, "a %s message has %s",
			frame_type_name(m->frame.type), o->wrong);
	for (size_t i = 0; i < o->n_parts; i++) {
		RS_TRY(align_part(&o->part[i]));
		m->part[i] = (struct frame_part){ zmq_msg_data(&o->part[i]),
			zmq_msg_size(&o->part[i]) };
	}
	m->n_parts = o->n_parts;
	m->bytes = FRAME_BYTES + (uint64_t)m->frame.body_bytes;
	return frame_check(&m->frame, zmq_msg_data(&o->header), m->part, m->n_parts);
}

/* An ERROR with the failure just recorded, to who sent m; never to an ERROR. */
static void
answer_malformed(struct wire *w, const struct wire_message *m)
{
	const struct rs_failure failure = *rs_failure();
	const struct frame f = { .type = FRAME_ERROR, .job = m->frame.job,
		.epoch = m->frame.epoch, .request = m->frame.request };
	struct buffer body;

	if (!w->is_router || m->from.n == 0 || m->frame.type == FRAME_ERROR)
		return;
	buffer_init(&body, FIELDS_MAX);
	if (fields_put_failure(&body, &failure) == RS_OK) {
		const struct wire_part part = { .data = body.data, .n = body.n };

		wire_send(w, &m->from, &f, &part, 1);
	}
	buffer_free(&body);
}

enum rs_status
wire_receive(struct wire *w, struct wire_message *m, int *got)
{
	*got = 0;
	for (int skipped = 0; skipped < SKIP_MAX; skipped++) {
		int there = 0;
		enum rs_status status = receive_message(w, m, &there);

		if (status == RS_OK && !there)
			break;
		if (status == RS_OK)
			status = inspect(w, m);
		if (status == RS_OK) {
			*got = 1;
			return RS_OK;
		}
		if (status != RS_EPROTOCOL && status != RS_EDENIED) {
			wire_message_free(m);
			return status;
		}
		w->malformed++;
		answer_malformed(w, m);
		wire_message_free(m);
	}
	wire_monitor_read(w);
	return wire_is_refused(w) ? wire_fail_trouble(w) : RS_OK;
}

void
wire_message_free(struct wire_message *m)
{
	struct owned *o = m->owned;

	if (o == NULL)
		return;
	zmq_msg_close(&o->header);
	for (size_t i = 0; i < o->n_parts; i++)
		zmq_msg_close(&o->part[i]);
	free(o->joined);
	free(o);
	m->owned = NULL;
	m->n_parts = 0;
}
