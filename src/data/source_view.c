/* Ranges of a file as a file of their own. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/source_private.h"

enum rs_status
source_view_open(const char *name, struct source *s)
{
	struct range_list ranges;

	RS_TRY(range_parse(name, &s->path, &ranges));
	if (s->path == NULL)
		return memory_strdup(name, &s->path);
	if (memory_alloc(1, sizeof *s->view, &s->view) != RS_OK) {
		range_list_free(&ranges);
		return rs_failure()->status;
	}
	s->view->ranges = ranges;
	s->view->last = '\n';
	return RS_OK;
}

void
source_view_close(struct source *s)
{
	if (s->view != NULL)
		range_list_free(&s->view->ranges);
	free(s->view);
	free(s->path);
}

void
source_expect_lines(struct source *s)
{
	if (s->view != NULL)
		s->view->lines = 1;
}

static enum rs_status
view_short(const struct source *s, uint64_t wanted)
{
	(void)rs_fail(RS_EDATA, "'%s' ends at byte %ju, wanted byte %ju", s->name,
		(uintmax_t)s->offset, (uintmax_t)wanted);
	return rs_hint("the file has become shorter, or the range is wrong");
}

static enum rs_status
view_uneven(const struct source *s, const char *what, uint64_t offset)
{
	return rs_fail(RS_EDATA, "'%s': the range that %s at byte %ju does so inside of a line",
		s->name, what, (uintmax_t)offset);
}

/* Goes to the begin of the range, by way of the byte before it. */
static enum rs_status
view_enter(struct source *s, const struct range *r)
{
	size_t got;
	char before;

	RS_TRY(source_begin(s));
	if (s->kind == SOURCE_FILE && !s->gzip)
		RS_TRY(source_seek_whole(s, NULL, r->begin - 1));
	else
		RS_TRY(source_skip_to(s, r->begin - 1));
	RS_TRY(source_read_whole(s, &before, 1, &got));
	if (got == 0)
		return view_short(s, r->begin);
	return s->view->lines && before != '\n' ? view_uneven(s, "begins", r->begin) : RS_OK;
}

/* At the end of a range: a line ends there, or the file. */
static enum rs_status
view_leave(struct source *s)
{
	struct source_view *v = s->view;
	const uint64_t end = v->ranges.item[v->at++].end;
	size_t got = 1;
	char next;

	if (!v->lines || v->last == '\n')
		return RS_OK;
	if (v->at == v->ranges.n)
		RS_TRY(source_read_whole(s, &next, 1, &got));
	return got > 0 ? view_uneven(s, "ends", end) : RS_OK;
}

enum rs_status
source_view_read(struct source *s, void *bytes, size_t n, size_t *got)
{
	struct source_view *v = s->view;

	while (v->at < v->ranges.n) {
		const struct range *r = &v->ranges.item[v->at];

		if (s->offset < r->begin)
			RS_TRY(view_enter(s, r));
		if (s->offset == r->end) {
			RS_TRY(view_leave(s));
			continue;
		}
		if (r->end - s->offset < n)
			n = (size_t)(r->end - s->offset);
		RS_TRY(source_read_whole(s, bytes, n, got));
		if (*got > 0)
			v->last = ((const char *)bytes)[*got - 1];
		else if (r->end != RANGE_END)
			return view_short(s, r->end);
		return RS_OK;
	}
	return RS_OK;
}

enum rs_status
source_view_seek(struct source *s, const struct source_index *index, uint64_t offset)
{
	struct source_view *v = s->view;

	for (v->at = 0; v->at + 1 < v->ranges.n; v->at++) {
		const struct range *r = &v->ranges.item[v->at];

		if (offset < r->end - r->begin)
			break;
		offset -= r->end - r->begin;
	}
	v->last = '\n';
	return source_seek_whole(s, index, v->ranges.item[v->at].begin + offset);
}
