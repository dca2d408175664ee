/* A shard without a journal asks the peer for the copy that it keeps; who wants to know what
 * there is waits. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"
#include "remote/journal_private.h"
#include "remote/shard_private.h"

#define PIECE_BYTES   ((uint64_t)512 << 10)
#define UNDER_WAY_MAX 8
#define SILENCE       10.0              /* seconds                                        */

int
shard_fetch_is_busy(const struct shard *s)
{
	return s->fetch.state != SHARD_FETCH_OFF;
}

static enum rs_status
ask(struct shard *s, uint32_t what, uint64_t segment, uint64_t offset, size_t n)
{
	const struct body_copy body = { .segment = segment, .offset = offset, .what = what,
		.n = (uint32_t)n };
	const struct frame f = { .type = FRAME_COPY_GET, .job = s->o->job, .epoch = s->epoch,
		.slot = (uint32_t)s->o->index, .request = SHARD_FETCH_REQUEST };
	const struct wire_part part = { .data = &body, .n = sizeof(body) };

	RS_TRY(wire_send(s->copy.link, NULL, &f, &part, 1));
	s->fetch.n_under_way++;
	return RS_OK;
}

/* --- the end of it ----------------------------------------------------------------------- */

static void
answer_offers(struct shard *s)
{
	struct shard_fetch *const f = &s->fetch;

	while (f->offers != NULL) {
		struct shard_parked *const p = f->offers;

		f->offers = p->next;
		(void)shard_hold_offer(s, &p->message);
		wire_message_free(&p->message);
		free(p);
	}
}

static void
finish(struct shard *s)
{
	struct shard_fetch *const f = &s->fetch;

	if (f->fd >= 0)
		close(f->fd);
	free(f->file);
	f->fd = -1;
	f->file = NULL;
	f->state = SHARD_FETCH_OFF;
	if (shard_journal_is_on(s))
		journal_look_again(s->journal);
	answer_offers(s);
}

/* A shortage here says nothing of the copy, and a shard without one would go on as if there were
 * none; what came of it goes with the round. */
static void
fail(struct shard *s, enum rs_status status, const char *why)
{
	if (status == RS_ERESOURCE) {
		s->ending = *rs_failure();
		return;
	}
	log_warn("ps %zu: no journal from ps %zu: %s", s->o->index, s->copy.peer, why);
	journal_file_remove(s->o->journal->directory, 0, UINT64_MAX);
	finish(s);
}

static void
succeed(struct shard *s)
{
	const enum rs_status status = journal_read_range(s->o->journal, &s->found);

	if (status != RS_OK) {
		fail(s, status, rs_failure()->text);
		return;
	}
	if (s->found.n_starts > 0)
		log_info("the journal that ps %zu kept has steps %llu to %llu", s->copy.peer,
			(unsigned long long)s->found.start[0].step,
			(unsigned long long)s->found.applied);
	finish(s);
}

/* --- files ------------------------------------------------------------------------------- */

static enum rs_status
take_list(struct shard *s, struct shard_reader *r)
{
	struct shard_fetch *const f = &s->fetch;

	f->n_files = r->left / sizeof(*f->file);
	RS_TRY(memory_alloc(f->n_files + 1, sizeof(*f->file), &f->file));
	RS_TRY(shard_reader_copy(r, f->file, f->n_files * sizeof(*f->file)));
	for (size_t i = 0; i < f->n_files; i++)
		if (f->file[i].segment == 0 || f->file[i].segment >= UINT64_MAX / 2
		    || (i > 0 && f->file[i].segment <= f->file[i - 1].segment))
			return rs_fail(RS_EPROTOCOL, "its files have no order");
	f->state = SHARD_FETCH_FILES;
	return RS_OK;
}

static enum rs_status
open_next(struct shard *s)
{
	struct shard_fetch *const f = &s->fetch;
	char path[PATH_MAX];

	if (f->fd >= 0)
		close(f->fd);
	journal_file_name(s->o->journal->directory, f->file[f->have].segment, path);
	f->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return f->fd >= 0 ? RS_OK : rs_fail(file_status_of(errno, RS_EIO),
		"cannot write to '%s': %s", path, strerror(errno));
}

/* Past files that have all their bytes. */
static void
skip_whole(const struct shard_fetch *f, size_t *file, uint64_t *offset)
{
	while (*file < f->n_files && *offset >= f->file[*file].bytes) {
		++*file;
		*offset = 0;
	}
}

/* Answers come in the order of questions. */
static enum rs_status
take_piece(struct shard *s, struct shard_reader *r)
{
	struct shard_fetch *const f = &s->fetch;
	struct shard_block *block;
	const size_t n = r->left;
	enum rs_status status;

	skip_whole(f, &f->have, &f->have_bytes);
	if (f->have == f->n_files || n == 0 || n > f->file[f->have].bytes - f->have_bytes)
		return rs_fail(RS_EPROTOCOL, "it sends what was not asked for");
	if (f->have_bytes == 0)
		RS_TRY(open_next(s));
	RS_TRY(shard_pool_take(s->pool, n, &block));
	status = shard_reader_copy(r, block->data, n);
	if (status == RS_OK && write(f->fd, block->data, n) != (ssize_t)n)
		status = rs_fail(RS_EIO, "cannot write to '%s'", s->o->journal->directory);
	shard_pool_put(block);
	f->have_bytes += n;
	return status;
}

int
shard_fetch_take(struct shard *s, const struct wire_message *m)
{
	struct shard_fetch *const f = &s->fetch;
	struct shard_reader r;
	enum rs_status status;

	if (m->frame.request != SHARD_FETCH_REQUEST)
		return 0;
	if (!shard_fetch_is_busy(s))
		return 1;
	f->heard = clock_seconds();
	f->n_under_way--;
	shard_reader_init(&r, m);
	if (m->frame.type != FRAME_COPY_R)
		status = shard_copy_failure(m);
	else if (f->state == SHARD_FETCH_LIST)
		status = take_list(s, &r);
	else
		status = take_piece(s, &r);
	if (status != RS_OK)
		fail(s, status, rs_failure()->text);
	return 1;
}

void
shard_fetch_turn(struct shard *s)
{
	struct shard_fetch *const f = &s->fetch;

	if (!shard_fetch_is_busy(s))
		return;
	if (clock_seconds() - f->heard > SILENCE) {
		fail(s, RS_EPEER, "it does not answer");
		return;
	}
	if (f->state != SHARD_FETCH_FILES)
		return;
	for (; f->n_under_way < UNDER_WAY_MAX; ) {
		skip_whole(f, &f->asked, &f->asked_bytes);
		if (f->asked == f->n_files)
			break;

		const uint64_t left = f->file[f->asked].bytes - f->asked_bytes;
		const size_t n = left < PIECE_BYTES ? (size_t)left : (size_t)PIECE_BYTES;

		if (ask(s, BODY_COPY_READ, f->file[f->asked].segment, f->asked_bytes, n) != RS_OK)
			return;
		f->asked_bytes += n;
	}
	if (f->n_under_way == 0)
		succeed(s);
}

/* --- when ------------------------------------------------------------------------------------ */

void
shard_fetch_begin(struct shard *s)
{
	s->fetch = (struct shard_fetch){ .fd = -1, .heard = clock_seconds() };
	if (s->lookup != NULL || s->found.n_starts > 0 || journal_has_segment(s->journal))
		return;
	s->fetch.state = SHARD_FETCH_LIST;
	if (ask(s, BODY_COPY_LIST, 0, 0, 0) != RS_OK)
		s->fetch.state = SHARD_FETCH_OFF;
}

void
shard_fetch_end(struct shard *s)
{
	if (!shard_fetch_is_busy(s))
		return;
	journal_file_remove(s->o->journal->directory, 0, UINT64_MAX);
	finish(s);
}

/* Waits at most as long as the copy comes; who asks again is told so. */
int
shard_fetch_park(struct shard *s, struct wire_message *m)
{
	struct shard_parked **at = &s->fetch.offers, *p;

	if (!shard_fetch_is_busy(s))
		return 0;
	for (; *at != NULL; at = &(*at)->next)
		if ((*at)->message.frame.request == m->frame.request
		    && (*at)->message.frame.source == m->frame.source) {
			(*at)->message.from = m->from;
			shard_answer_wait(s, m);
			return 1;
		}
	if (memory_alloc(1, sizeof(*p), &p) != RS_OK)
		return 0;
	shard_keep(s, m, &p->message);
	*at = p;
	return 1;
}
