/* The rows of a file that no entry has, each into the period of its time. */
#include <string.h>

#include "base/memory.h"
#include "data/row_column.h"
#include "data/row_time.h"
#include "data/source.h"
#include "train/intake_private.h"

#define PEEK  ((size_t)1 << 20)
#define CHUNK ((size_t)1 << 20)

struct reading {
	struct intake_work *w;
	struct intake_file *f;
	struct source *source;
	struct row_column column;
	struct buffer text;        /* [begin, text.n) is not looked at yet            */
	size_t   begin;
	uint64_t offset;           /* of text[begin]                                  */
	struct range gap;
	int      ended;            /* of the gap, or of the file                      */

	/* Rows from run_begin on, of the period [period, period + P) when has_period; else
	 * of the first row to come that has a time. */
	uint64_t run_begin, run_rows;
	int      has_period;
	int64_t  period;
};

/* More text behind what there is. */
static enum rs_status
fill(struct reading *r)
{
	const uint64_t at = r->offset + (r->text.n - r->begin);
	const uint64_t left = r->gap.end - at;
	const size_t want = left < CHUNK ? (size_t)left : CHUNK;
	size_t got = 0;

	if (r->begin > 0) {
		memmove(r->text.data, r->text.data + r->begin, r->text.n - r->begin);
		r->text.n -= r->begin;
		r->begin = 0;
	}
	RS_TRY(buffer_reserve(&r->text, want + 1));
	RS_TRY(source_read(r->source, r->text.data + r->text.n, want, &got));
	r->text.n += got;
	r->ended = got == 0 || at + got == r->gap.end;
	return RS_OK;
}

/* The rows up to `end` are of the period. */
static enum rs_status
close_run(struct reading *r, uint64_t end)
{
	if (r->run_rows > 0)
		RS_TRY(intake_part_add(r->f, r->period, r->run_begin, end, r->run_rows));
	r->run_begin = end;
	r->run_rows = 0;
	return RS_OK;
}

static void
note_odd(struct reading *r, const char *cell, size_t n)
{
	if (r->f->odd.n++ > 0)
		return;
	r->f->odd.offset = r->offset;
	(void)rs_escape(r->f->odd.shown, cell, n);
}

/* A row without a time goes with the row before it. */
static enum rs_status
take_row(struct reading *r, const char *row, size_t n)
{
	const char *cell = row;
	size_t n_cell = 0;
	int64_t t;

	if (row_column_is_blank(row, n))
		return RS_OK;
	if (!row_column_cell(&r->column, row, n, &cell, &n_cell) ||
	    !row_time_read(cell, n_cell, &t)) {
		note_odd(r, cell, n_cell);
		r->run_rows++;
		return RS_OK;
	}
	if (!r->has_period) {
		r->has_period = 1;
		r->period = intake_floor(t, r->w->period);
		if (r->f->first_period == LEDGER_NO_PERIOD)
			r->f->first_period = r->period;
	} else if (t < r->period || t - r->period >= r->w->period) {
		RS_TRY(close_run(r, r->offset));
		r->period = intake_floor(t, r->w->period);
	}
	r->run_rows++;
	return RS_OK;
}

static enum rs_status
take_rows(struct reading *r)
{
	for (;;) {
		const char *const row = r->text.data + r->begin;
		const size_t have = r->text.n - r->begin;
		size_t n = have > 0 ? row_column_end(&r->column, row, have) : 0;

		if (n == 0 && !r->ended) {
			RS_TRY(fill(r));
			continue;
		}
		/* Before another range a row ends; at the end of the file it may go on. */
		if (n == 0 && r->gap.end != RANGE_END && r->gap.end != r->f->text)
			n = have;
		if (n == 0 && have > 0) {
			r->f->unfinished = 1;
			r->f->unfinished_at = r->offset;
		}
		if (n == 0)
			return RS_OK;
		RS_TRY(take_row(r, row, n));
		r->begin += n;
		r->offset += n;
	}
}

/* No row of the gap has a time: they are of the newest period of the file, as they stand
 * behind what was trained of it. */
static enum rs_status
settle_timeless(struct reading *r)
{
	const struct intake_file *const f = r->f;

	if (r->run_rows == 0)
		return RS_OK;
	if (f->known != NULL)
		r->period = intake_past_period(&r->w->past, f->known);
	else if (f->n_parts > 0)
		r->period = f->part[f->n_parts - 1].period;
	if (r->period == LEDGER_NO_PERIOD) {
		(void)rs_fail_at(RS_EDATA, f->path, f->lines + 1, 0,
			"'%s' in the column of data.time is no time, and neither is any other",
			f->odd.shown);
		return rs_hint("a time is seconds, milli- or microseconds since 1970, or "
			"2026-11-29T14:00:00Z");
	}
	return close_run(r, r->offset);
}

/* What was trained may have ended within a line: its rest is no row. */
static enum rs_status
skip_rest_of_line(struct reading *r)
{
	char before;
	size_t got;

	RS_TRY(source_seek(r->source, NULL, r->gap.begin - 1));
	RS_TRY(source_read(r->source, &before, 1, &got));
	while (got == 1 && before != '\n' && r->offset < r->gap.end) {
		RS_TRY(source_read(r->source, &before, 1, &got));
		r->offset += got;
	}
	return RS_OK;
}

static enum rs_status
read_gap(struct reading *r, struct range gap)
{
	r->gap = gap;
	r->offset = gap.begin;
	r->text.n = r->begin = 0;
	r->ended = r->has_period = 0;
	r->run_rows = 0;
	r->period = LEDGER_NO_PERIOD;
	if (gap.begin > r->f->skip)
		RS_TRY(skip_rest_of_line(r));
	else
		RS_TRY(source_seek(r->source, NULL, gap.begin));
	r->run_begin = r->offset;
	if (r->offset >= gap.end)
		return RS_OK;
	RS_TRY(take_rows(r));
	if (!r->has_period)
		return settle_timeless(r);
	r->f->newest = r->period;
	return close_run(r, r->offset);
}

/* Header and column from the first bytes; *empty: there is no whole line yet. */
static enum rs_status
find_column(struct reading *r, int *empty)
{
	const uint64_t limit = r->f->gzip || !r->f->looked ? PEEK : r->f->size;
	const size_t want = limit < PEEK ? (size_t)limit : PEEK;
	size_t got = 1;

	RS_TRY(buffer_reserve(&r->text, PEEK));
	while (got > 0 && r->text.n < want) {
		RS_TRY(source_read(r->source, r->text.data + r->text.n, want - r->text.n, &got));
		r->text.n += got;
	}
	*empty = r->text.n == 0 ||
		(r->text.n < PEEK && memchr(r->text.data, '\n', r->text.n) == NULL);
	if (*empty)
		return RS_OK;
	RS_TRY(row_column_find(&r->w->schema, r->w->settings->data.time, r->f->path, r->text.data,
		r->text.n, &r->column));
	r->f->skip = r->column.skip;
	r->f->lines = r->column.lines;
	*empty = !r->column.found;
	return RS_OK;
}

static enum rs_status
read_file(struct reading *r)
{
	struct range_list gaps = { .n = 0 };
	enum rs_status status;
	int empty;

	RS_TRY(source_open(r->f->path, &r->source));
	RS_TRY(find_column(r, &empty));
	if (empty)
		return RS_OK;
	r->f->gzip = source_is_gzip(r->source);
	if (!r->f->gzip)
		r->f->text = r->f->size;
	status = intake_gaps(r->f, &gaps);
	for (size_t i = 0; i < gaps.n && status == RS_OK; i++) {
		status = read_gap(r, gaps.item[i]);
		if (gaps.item[i].end == RANGE_END)
			r->f->text = r->offset + (r->text.n - r->begin);
	}
	range_list_free(&gaps);
	return status;
}

enum rs_status
intake_read_rows(struct intake_work *w, struct intake_file *f)
{
	struct reading r = { .w = w, .f = f };

	RS_TRY(intake_schema(w));
	buffer_init(&r.text, (size_t)1 << 34);
	const enum rs_status status = read_file(&r);
	source_close(r.source);
	buffer_free(&r.text);
	return status;
}
