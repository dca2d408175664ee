/* The journal of this shard goes to a peer, too: read from the files as they grow. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "comm/fields.h"
#include "remote/journal_private.h"
#include "remote/shard_private.h"

#define PIECE_BYTES    ((size_t)512 << 10)
#define UNDER_WAY_MAX  16               /* pieces that are not answered               */
#define SILENCE        10.0             /* seconds, then the peer is given up         */

static int
is_before(struct journal_place a, struct journal_place b)
{
	return a.segment != b.segment ? a.segment < b.segment : a.offset < b.offset;
}

static void
give_up(struct shard *s, const char *why)
{
	struct shard_copy *const c = &s->copy;

	log_warn("ps %zu: ps %zu keeps no copy of the journal now: %s", s->o->index,
		s->copy.peer, why);
	c->state = SHARD_COPY_OFF;
	c->id = 0;
}

static enum rs_status
send_what(struct shard *s, uint32_t what, struct journal_place at, const void *bytes, size_t n)
{
	struct shard_copy *const c = &s->copy;
	const struct body_copy body = { .id = c->id, .segment = at.segment, .offset = at.offset,
		.what = what, .n = (uint32_t)n };
	const struct frame f = { .type = FRAME_COPY, .job = s->o->job, .epoch = s->epoch,
		.slot = (uint32_t)s->o->index, .request = ++c->request };
	const struct wire_part part[] = { { .data = &body, .n = sizeof(body) },
		{ .data = bytes, .n = n } };

	RS_TRY(wire_send(c->link, NULL, &f, part, n > 0 ? 2 : 1));
	if (c->n_under_way++ == 0)
		c->heard = clock_seconds();
	return RS_OK;
}

/* --- what the peer answers ------------------------------------------------------------ */

/* Whether the peer still has what it had. */
static void
ask(struct shard *s)
{
	s->copy.state = SHARD_COPY_ASKED;
	if (send_what(s, BODY_COPY_ASK, (struct journal_place){ 0, 0 }, NULL, 0) != RS_OK)
		give_up(s, rs_failure()->text);
}

/* A new copy, from the first segment on. */
static void
begin_anew(struct shard *s)
{
	struct shard_copy *const c = &s->copy;

	c->id = hash_mix(((uint64_t)getpid() << 32) + (uint64_t)(clock_seconds() * 1e6)) | 1;
	c->state = SHARD_COPY_BEGINS;
	c->is_live = 0;
	c->first = journal_first(s->journal);
	c->sent = (struct journal_place){ c->first, 0 };
	c->acked = (struct journal_place){ 0, 0 };
	if (send_what(s, BODY_COPY_BEGIN, c->sent, NULL, 0) != RS_OK)
		give_up(s, rs_failure()->text);
}

static void
take_place(struct shard *s, const struct body_copy *answer)
{
	struct shard_copy *const c = &s->copy;

	if (c->state == SHARD_COPY_ASKED && (answer->segment == 0 || answer->id != c->id)) {
		begin_anew(s);
		return;
	}
	if (answer->id != c->id)
		return;
	c->acked = (struct journal_place){ answer->segment, answer->offset };
	if (c->state == SHARD_COPY_ASKED)
		c->sent = c->acked;
	c->state = SHARD_COPY_GOES;
}

enum rs_status
shard_copy_failure(const struct wire_message *m)
{
	struct shard_reader r;
	char text[2048];

	shard_reader_init(&r, m);
	const struct fields why = { text, r.left < sizeof(text) ? r.left : sizeof(text) };

	(void)shard_reader_copy(&r, text, why.n);
	return fields_failure(&why, "the peer");
}

static void
take_answer(struct shard *s, const struct wire_message *m)
{
	struct shard_copy *const c = &s->copy;
	struct shard_reader r;
	struct body_copy answer;

	c->heard = clock_seconds();
	if (shard_fetch_take(s, m))
		return;
	c->n_under_way -= c->n_under_way > 0;
	shard_reader_init(&r, m);
	if (c->state == SHARD_COPY_OFF)
		return;
	if (m->frame.type == FRAME_COPY_R
	    && shard_reader_copy(&r, &answer, sizeof(answer)) == RS_OK) {
		take_place(s, &answer);
		return;
	}
	(void)shard_copy_failure(m);
	give_up(s, rs_failure()->text);
}

/* --- what goes there -------------------------------------------------------------------- */

static void
close_file(struct shard_copy *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* The file to read from; the next one when that is at its end. */
static enum rs_status
open_file(struct shard *s, uint64_t *bytes)
{
	struct shard_copy *const c = &s->copy;
	char path[PATH_MAX];
	struct stat st;

	if (c->fd < 0 || c->fd_segment != c->sent.segment) {
		close_file(c);
		journal_file_name(s->o->journal->directory, c->sent.segment, path);
		c->fd = open(path, O_RDONLY | O_CLOEXEC);
		c->fd_segment = c->sent.segment;
	}
	if (c->fd < 0 || fstat(c->fd, &st) != 0)
		return rs_fail(RS_EIO, "cannot read segment %" PRIu64 ": %s", c->sent.segment,
			strerror(errno));
	*bytes = (uint64_t)st.st_size;
	return RS_OK;
}

static enum rs_status
send_piece(struct shard *s, uint64_t bytes)
{
	struct shard_copy *const c = &s->copy;
	const uint64_t left = bytes - c->sent.offset;
	const size_t n = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
	struct shard_block *block;
	enum rs_status status = RS_OK;

	RS_TRY(shard_pool_take(s->pool, n, &block));
	if (pread(c->fd, block->data, n, (off_t)c->sent.offset) != (ssize_t)n)
		status = rs_fail(RS_EIO, "cannot read segment %" PRIu64, c->sent.segment);
	/* A link that takes nothing now takes it in another turn. */
	else if (send_what(s, BODY_COPY_WRITE, c->sent, block->data, n) == RS_OK)
		c->sent.offset += n;
	else
		c->is_full = 1;
	shard_pool_put(block);
	return status;
}

/* What the files have and the peer was not sent. */
static enum rs_status
send_some(struct shard *s)
{
	struct shard_copy *const c = &s->copy;
	const struct journal_place end = journal_at(s->journal);
	uint64_t bytes = 0;

	c->is_full = 0;
	if (journal_first(s->journal) > c->first) {
		const struct journal_place first = { journal_first(s->journal), 0 };

		if (send_what(s, BODY_COPY_DROP, first, NULL, 0) != RS_OK)
			return RS_OK;
		c->first = first.segment;
		if (is_before(c->sent, first))
			c->sent = first;
	}
	while (!c->is_full && c->n_under_way < UNDER_WAY_MAX && is_before(c->sent, end)) {
		RS_TRY(open_file(s, &bytes));
		if (c->sent.offset < bytes)
			RS_TRY(send_piece(s, bytes));
		else if (c->sent.segment < end.segment)
			c->sent = (struct journal_place){ c->sent.segment + 1, 0 };
		else
			return rs_fail(RS_EIO, "segment %" PRIu64 " is too short",
				c->sent.segment);
	}
	if (!c->is_live && end.segment > 0 && !is_before(c->sent, end)) {
		c->is_live = 1;
		log_info("ps %zu has a copy of the journal", c->peer);
	}
	return RS_OK;
}

void
shard_copy_turn(struct shard *s)
{
	struct shard_copy *const c = &s->copy;
	struct wire_message m;
	int got = 1;

	if (c->link == NULL)
		return;
	while (wire_receive(c->link, &m, &got) == RS_OK && got) {
		take_answer(s, &m);
		wire_message_free(&m);
	}
	shard_fetch_turn(s);
	if (c->state == SHARD_COPY_OFF)
		return;
	if (!shard_journal_is_on(s))
		c->state = SHARD_COPY_OFF;
	else if (c->state == SHARD_COPY_WAITS && !shard_fetch_is_busy(s))
		ask(s);
	else if (c->n_under_way > 0 && clock_seconds() - c->heard > SILENCE)
		give_up(s, "it does not answer");
	else if (c->state == SHARD_COPY_GOES && send_some(s) != RS_OK)
		give_up(s, rs_failure()->text);
}

/* --- what happens to the journal ---------------------------------------------------------- */

void
shard_copy_reset(struct shard *s)
{
	struct shard_copy *const c = &s->copy;

	close_file(c);
	c->is_live = 0;
	if (c->state < SHARD_COPY_BEGINS)
		c->id = 0;
	else if (c->sent.segment != journal_first(s->journal) || c->sent.offset > 0)
		begin_anew(s);
}

void
shard_copy_cut(struct shard *s, const struct journal_place *end)
{
	struct shard_copy *const c = &s->copy;

	close_file(c);
	if (c->state < SHARD_COPY_BEGINS)
		c->id = 0;
	if (c->state != SHARD_COPY_GOES || !is_before(*end, c->sent))
		return;
	c->sent = *end;
	c->is_live = 0;
	if (send_what(s, BODY_COPY_CUT, *end, NULL, 0) != RS_OK)
		give_up(s, rs_failure()->text);
}

int
shard_copy_is_live(const struct shard *s)
{
	return s->copy.state == SHARD_COPY_GOES && s->copy.is_live;
}

int
shard_copy_has(const struct shard *s, const struct journal_place *place)
{
	return !shard_copy_is_live(s) || !is_before(s->copy.acked, *place);
}

/* --- rounds --------------------------------------------------------------------------------- */

void
shard_copy_begin(struct shard *s, const struct shard_round *round)
{
	struct shard_copy *const c = &s->copy;

	c->peer = round->peer;
	c->n_under_way = 0;
	c->fd = -1;
	if (round->endpoint == NULL || s->o->context_of_peers == NULL || !shard_journal_is_on(s))
		return;
	if (wire_connect(s->o->context_of_peers, round->endpoint, round->key, &c->link) != RS_OK) {
		c->link = NULL;
		give_up(s, rs_failure()->text);
		return;
	}
	shard_fetch_begin(s);
	c->state = SHARD_COPY_WAITS;
}

void
shard_copy_end(struct shard *s)
{
	struct shard_copy *const c = &s->copy;

	shard_fetch_end(s);
	if (c->link != NULL)
		wire_close(c->link);
	close_file(c);
	c->link = NULL;
	c->state = SHARD_COPY_OFF;
	c->is_live = 0;
}
