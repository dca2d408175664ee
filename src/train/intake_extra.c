/* What is never trained, and what there is to tell the operator. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "data/source.h"
#include "train/intake_private.h"

/* --- entries ----------------------------------------------------------------- */

static enum rs_status
add_whole(struct intake_work *w, struct intake_file *f, enum ledger_use use, size_t d,
	struct ledger *extra)
{
	struct ledger_entry entry;

	RS_TRY(intake_hash_all(f));
	RS_TRY(intake_entry(f, use, w->due[d], NULL, &entry));
	entry.content_hash = f->hash;
	return ledger_add(&extra[d], &entry);
}

static enum rs_status
add_ranges(struct intake_work *w, struct intake_file *f, enum ledger_use use,
	const struct range_list *rows, struct ledger *extra)
{
	struct ledger_entry entry;
	struct intake_digest digest = { .limit = 0 };

	RS_TRY(intake_entry(f, use, w->due[0], rows, &entry));
	digest.ranges = &entry.ranges;
	enum rs_status status = intake_digest(f->path, &digest, 1, NULL);
	entry.content_hash = digest.hash;
	if (status == RS_OK)
		return ledger_add(extra, &entry);
	ledger_entry_free(&entry);
	return status;
}

/* Bytes of another file, before rows of its own. */
static enum rs_status
add_covered(struct intake_work *w, struct intake_file *f, struct ledger *extra)
{
	const size_t skip = f->skip;

	f->skip = 0;               /* the ranges have the header                      */
	const enum rs_status status = add_ranges(w, f, LEDGER_DUPLICATE, &f->covered, extra);
	f->skip = skip;
	return status;
}

/* Parts with this fate as one entry. */
static enum rs_status
add_parts(struct intake_work *w, struct intake_file *f, enum intake_fate fate,
	enum ledger_use use, struct ledger *extra)
{
	for (size_t i = 0; i < f->n_parts; i++) {
		const struct intake_part *const part = &f->part[i];

		if (intake_fate_of(w, f, part) != fate)
			continue;
		RS_TRY(part->ranges.n == 0 ? add_whole(w, f, use, 0, extra)
			: add_ranges(w, f, use, &part->ranges, extra));
		struct ledger_entry *const e = &extra->entry[extra->n - 1];
		e->rows = e->late = part->rows;
	}
	return RS_OK;
}

static enum rs_status
add_file(struct intake_work *w, struct intake_file *f, struct ledger *extra)
{
	if (f->waits || f->quiet)
		return add_parts(w, f, INTAKE_SKIPPED, LEDGER_LATE, extra);
	if (f->original != NULL) {
		RS_TRY(intake_hash_all(f));
		const size_t d = intake_done_with(w, f->original, f->text);

		return d == INTAKE_NONE ? RS_OK : add_whole(w, f, LEDGER_DUPLICATE, d, extra);
	}
	/* The same file, but it does not look as it did. */
	if (f->known != NULL && intake_is_covered(f))
		return add_whole(w, f, LEDGER_DUPLICATE, 0, extra);
	if (f->copied && intake_may_go_on(f))
		RS_TRY(add_covered(w, f, extra));
	RS_TRY(add_parts(w, f, INTAKE_SKIPPED, LEDGER_LATE, extra));
	return add_parts(w, f, INTAKE_REPLACED, LEDGER_REPLACED, extra);
}

enum rs_status
intake_extra_entries(struct intake_work *w, struct ledger *extra)
{
	for (size_t i = 0; i < w->n; i++)
		RS_TRY(add_file(w, &w->file[i], extra));
	return RS_OK;
}

/* --- notices ----------------------------------------------------------------- */

enum rs_status
intake_notice(struct intake_work *w, enum ledger_use use, const char *path,
	const char *format, ...)
{
	struct intake *const out = w->out;
	struct intake_notice notice = { .use = use };
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (out->n_notices == w->notice_capacity) {
		const size_t capacity = w->notice_capacity == 0 ? 16 : 2 * w->notice_capacity;
		struct intake_notice *const grown =
			realloc(out->notice, capacity * sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for notices of files");
		out->notice = grown;
		w->notice_capacity = capacity;
	}
	RS_TRY(memory_strdup(path, &notice.path));
	if (memory_strdup(text, &notice.text) != RS_OK) {
		free(notice.path);
		return rs_failure()->status;
	}
	out->notice[out->n_notices++] = notice;
	return RS_OK;
}

/* Lines before an offset, the one that begins there included. */
static enum rs_status
line_of(const struct intake_file *f, uint64_t offset, uint64_t *line)
{
	char text[1 << 14];
	struct source *source;
	enum rs_status status;
	size_t got = 1;

	*line = 1;
	RS_TRY(source_open(f->path, &source));
	status = RS_OK;
	while (status == RS_OK && offset > 0 && got > 0) {
		status = source_read(source, text, offset < sizeof text ? (size_t)offset
			: sizeof text, &got);
		for (size_t i = 0; i < got; i++)
			*line += text[i] == '\n';
		offset -= got;
	}
	source_close(source);
	return status;
}

static enum rs_status
tell_odd(struct intake_work *w, const struct intake_file *f)
{
	uint64_t line;

	if (f->odd.n == 0)
		return RS_OK;
	RS_TRY(line_of(f, f->odd.offset, &line));
	return intake_notice(w, LEDGER_N_USES, f->path,
		"%s:%" PRIu64 ": '%s' in the column of data.time is no time; %" PRIu64
		" row%s without one taken with the row before", f->path, line, f->odd.shown,
		f->odd.n, f->odd.n == 1 ? "" : "s");
}

/* Rows and the first period of the parts with a fate. */
static size_t
count_parts(const struct intake_work *w, const struct intake_file *f, enum intake_fate fate,
	uint64_t *rows, int64_t *first)
{
	size_t n = 0;

	*rows = 0;
	*first = LEDGER_NO_PERIOD;
	for (size_t i = 0; i < f->n_parts; i++)
		if (intake_fate_of(w, f, &f->part[i]) == fate) {
			*rows += f->part[i].rows;
			*first = n++ == 0 ? f->part[i].period : *first;
		}
	return n;
}

static enum rs_status
tell_late(struct intake_work *w, const struct intake_file *f, enum intake_fate fate)
{
	uint64_t rows;
	int64_t first;
	char period[24], with[24], what[64] = "rows";

	if (count_parts(w, f, fate, &rows, &first) == 0)
		return RS_OK;
	if (rows > 0)
		snprintf(what, sizeof what, "%" PRIu64 " row%s", rows, rows == 1 ? "" : "s");
	(void)intake_time(first, period);
	(void)intake_time(w->due[0], with);
	if (fate == INTAKE_SKIPPED)
		return intake_notice(w, LEDGER_LATE, f->path,
			"%s: %s of %s came after that period was done with, never trained",
			f->path, what, period);
	return intake_notice(w, LEDGER_LATE, f->path,
		"%s: %s of %s came after that period was done with, trained with %s",
		f->path, what, period, with);
}

static enum rs_status
tell_copy(struct intake_work *w, const struct intake_file *f)
{
	if (f->original != NULL)
		return intake_done_with(w, f->original, f->text) == INTAKE_NONE ? RS_OK :
			intake_notice(w, LEDGER_DUPLICATE, f->path,
				"%s: the same bytes as %s, not trained again", f->path,
				f->original->path);
	if (f->copied)
		return intake_notice(w, LEDGER_DUPLICATE, f->path,
			"%s: begins with what was trained of %s, not trained again", f->path,
			f->was);
	return RS_OK;
}

static enum rs_status
tell_replaced(struct intake_work *w, const struct intake_file *f)
{
	uint64_t rows;
	int64_t first;

	if (count_parts(w, f, INTAKE_REPLACED, &rows, &first) > 0)
		return intake_notice(w, LEDGER_REPLACED, f->path,
			"%s: has other contents than when it was trained, not trained again",
			f->path);
	if (!f->replaced || f->n_parts == 0)
		return RS_OK;
	return intake_notice(w, LEDGER_REPLACED, f->path,
		"%s: has other contents than when it was trained, trained as if it were new",
		f->path);
}

/* A clock was wrong, here or where the rows are from. */
static enum rs_status
tell_future(struct intake_work *w, const struct intake_file *f)
{
	const int64_t limit = w->now + w->period;
	char period[24];
	uint64_t rows = 0;
	int64_t newest = w->by_rows || f->quiet ? LEDGER_NO_PERIOD : f->period;

	for (size_t i = 0; i < f->n_parts; i++)
		if (f->part[i].period > limit) {
			rows += f->part[i].rows;
			newest = f->part[i].period;
		}
	if (newest == LEDGER_NO_PERIOD || newest <= limit)
		return RS_OK;
	(void)intake_time(newest, period);
	if (rows == 0)
		return intake_notice(w, LEDGER_N_USES, f->path, "%s: is of %s, which is to come",
			f->path, period);
	return intake_notice(w, LEDGER_N_USES, f->path,
		"%s: %" PRIu64 " row%s of a time to come, up to %s", f->path, rows,
		rows == 1 ? " is" : "s are", period);
}

static enum rs_status
tell_file(struct intake_work *w, const struct intake_file *f)
{
	RS_TRY(tell_future(w, f));
	if (f->waits)
		return RS_OK;
	RS_TRY(tell_copy(w, f));
	RS_TRY(tell_replaced(w, f));
	RS_TRY(tell_late(w, f, INTAKE_SKIPPED));
	if (!f->replaced)
		RS_TRY(tell_late(w, f, INTAKE_LATE));
	RS_TRY(tell_odd(w, f));
	if (f->unfinished && !f->young)
		RS_TRY(intake_notice(w, LEDGER_N_USES, f->path,
			"%s: the last line has no end and waits for it", f->path));
	return RS_OK;
}

enum rs_status
intake_tell(struct intake_work *w)
{
	for (size_t i = 0; i < w->n; i++)
		RS_TRY(tell_file(w, &w->file[i]));
	return RS_OK;
}
