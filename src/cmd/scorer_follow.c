/* A scorer that takes up the version which CURRENT has come to name. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"
#include "cmd/scorer_private.h"
#include "train/checkpoint.h"

#define LOOK_SECONDS 0.1
#define HEAD_LIMIT   ((size_t)64 << 20)

/* What CURRENT is before the model is loaded, so that no change is missed. */
enum rs_status
scorer_follow_open(struct scorer *s)
{
	RS_TRY(file_join(s->directory, "CURRENT", &s->follow.current));
	(void)stat(s->follow.current, &s->follow.seen);
	s->follow.looked = clock_seconds();
	return RS_OK;
}

void
scorer_follow_close(struct scorer *s)
{
	free(s->follow.current);
	buffer_free(&s->follow.head);
}

enum rs_status
scorer_follow_begin(struct scorer *s)
{
	struct buffer *const head = &s->follow.head;

	buffer_init(head, HEAD_LIMIT);
	return s->text.n > 0 ? buffer_append(head, s->text.data, s->text.n) : RS_OK;
}

/* The columns of the stream as the fields of another spec. */
static enum rs_status
make_layout(const struct scorer *s, const struct scorer_part *part, struct parser_layout **out)
{
	const struct buffer *const head = &s->follow.head;
	size_t skip, lines;

	*out = NULL;
	return head->n == 0 ? RS_OK : parser_layout_make(&part->schema, s->options.purpose,
		source_name(s->source), head->data, head->n, out, &skip, &lines);
}

static enum rs_status
take_up(struct scorer *s, uint64_t version)
{
	struct parser_layout *layout = NULL;
	struct scorer_part *part;

	RS_TRY(scorer_part_open(s, version, NULL, &part));
	const enum rs_status status = make_layout(s, part, &layout);
	if (status != RS_OK) {
		scorer_part_close(part);
		return status;
	}
	if (layout != NULL) {
		parser_layout_free(s->layout);
		s->layout = layout;
	}
	scorer_part_close(s->part);
	s->part = part;
	s->version = version;
	log_info("v%06ju is taken up", (uintmax_t)version);
	return RS_OK;
}

static int
is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size
		&& a->st_mtim.tv_sec == b->st_mtim.tv_sec
		&& a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void
scorer_follow_look(struct scorer *s)
{
	struct scorer_follow *const f = &s->follow;
	const double now = clock_seconds();
	struct stat st;

	if (f->current == NULL || now - f->looked < LOOK_SECONDS)
		return;
	f->looked = now;
	if (stat(f->current, &st) != 0 || is_same(&st, &f->seen))
		return;
	f->seen = st;
	const uint64_t version = checkpoint_current(s->directory);
	if (version == 0 || version == s->version)
		return;
	if (take_up(s, version) != RS_OK)
		log_passed(rs_failure(), "v%06ju stays until CURRENT changes",
			(uintmax_t)s->version);
}
