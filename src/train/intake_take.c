/* Parts of all files: of those whose names tell the time, or row by row. */
#include <stdlib.h>

#include "data/source.h"
#include "train/intake_private.h"

/* --- by name ----------------------------------------------------------------- */

/* Where a line begins at or behind a place where what was trained ends. */
static enum rs_status
line_begin(const struct intake_file *f, uint64_t *at)
{
	struct source *source;
	size_t got = 0;
	char before = '\n';

	if (*at == 0)
		return RS_OK;
	RS_TRY(source_open(f->path, &source));
	enum rs_status status = source_seek(source, NULL, *at - 1);
	if (status == RS_OK)
		status = source_read(source, &before, 1, &got);
	while (status == RS_OK && got == 1 && before != '\n') {
		status = source_read(source, &before, 1, &got);
		*at += got;
	}
	source_close(source);
	return status;
}

/* What was added to a file that was trained. */
static enum rs_status
take_growth(struct intake_work *w, struct intake_file *f)
{
	const int has_lines = w->settings->data.format != FORMAT_TFRECORD;
	struct range_list gaps = { .n = 0 };
	int has_rows;

	RS_TRY(intake_header(w, f, &has_rows));
	if (f->text == 0)
		RS_TRY(intake_hash_all(f));
	enum rs_status status = intake_gaps(f, &gaps);
	for (size_t i = 0; i < gaps.n && status == RS_OK; i++) {
		uint64_t begin = gaps.item[i].begin;

		if (has_lines && begin > f->skip)
			status = line_begin(f, &begin);
		if (status == RS_OK && begin < gaps.item[i].end)
			status = intake_part_add(f, f->period, begin, gaps.item[i].end, 0);
	}
	range_list_free(&gaps);
	return status;
}

static enum rs_status
take_named(struct intake_work *w, struct intake_file *f)
{
	int has_rows = 1;

	if (f->original != NULL || f->waits)
		return RS_OK;
	if (f->known != NULL || f->copied)
		return take_growth(w, f);
	/* A header alone is common: an hour in which nothing happened. */
	if (f->head_bytes < LEDGER_HEAD)
		RS_TRY(intake_header(w, f, &has_rows));
	return has_rows ? intake_part_add(f, f->period, 0, 0, 0) : RS_OK;
}

static int
is_selected(const struct intake_file *f)
{
	return !f->quiet && !f->waits;
}

/* Those of periods that are due, and late ones that do not change any more; the others are
 * not even opened. */
static void
select_named(struct intake_work *w)
{
	for (size_t i = 0; i < w->n; i++) {
		struct intake_file *const f = &w->file[i];

		f->waits = !intake_is_wanted(w, f->period) ||
			(intake_is_late(w, f->period) ? f->young
			: w->n_due == 0 || f->period > w->due[w->n_due - 1]);
	}
}

/* Of the periods that are due those of which files have rows. */
static void
drop_empty(struct intake_work *w)
{
	size_t n = 0;

	for (size_t d = 0; d < w->n_due; d++) {
		int has_rows = 0;

		for (size_t i = 0; i < w->n && !has_rows; i++)
			has_rows = w->file[i].n_parts > 0 && w->file[i].period == w->due[d] &&
				intake_fate_of(w, &w->file[i], &w->file[i].part[0]) == INTAKE_DUE;
		if (has_rows)
			w->due[n++] = w->due[d];
	}
	w->n_due = n;
}

enum rs_status
intake_take_named(struct intake_work *w)
{
	RS_TRY(intake_find_due(w));
	if (w->n_due == 0)
		return RS_OK;
	select_named(w);
	RS_TRY(intake_match(w, is_selected));
	for (size_t i = 0; i < w->n; i++)
		if (is_selected(&w->file[i]))
			RS_TRY(take_named(w, &w->file[i]));
	drop_empty(w);
	return RS_OK;
}

/* --- by rows ----------------------------------------------------------------- */

/* Rows that were taken from a file, and the first period of them. */
static uint64_t
former_rows(const struct intake_past *past, const struct intake_known *known, int64_t *oldest)
{
	uint64_t rows = 0;

	*oldest = INT64_MAX;
	for (size_t i = known->first; i != INTAKE_NONE; i = past->next[i]) {
		const struct ledger_entry *const e = &past->ledger->entry[i];

		rows += e->rows;
		if (e->period < *oldest)
			*oldest = e->period;
	}
	return rows;
}

/* A log that was made anew goes on in time where the former ended, but for some late rows;
 * one that was written again begins where that began, or has as many old rows. */
static int
is_rewritten(const struct intake_work *w, const struct intake_file *f)
{
	int64_t newest = intake_past_period(&w->past, f->former), oldest;
	const uint64_t rows = former_rows(&w->past, f->former, &oldest);
	uint64_t old = 0;

	if (newest == LEDGER_NO_PERIOD)
		newest = intake_floor(intake_past_latest(&w->past, f->former)->modified_ns /
			1000000000, w->period);
	for (size_t i = 0; i < f->n_parts; i++)
		old += f->part[i].period <= newest ? f->part[i].rows : 0;
	return f->first_period != LEDGER_NO_PERIOD && f->first_period < newest &&
		(f->first_period <= oldest || 2 * old >= rows);
}

static enum rs_status
take_rows(struct intake_work *w, struct intake_file *f)
{
	if (f->waits || f->original != NULL || intake_is_covered(f))
		return RS_OK;
	/* What it has in common with another must be that one's first. */
	if (!intake_may_go_on(f))
		return RS_OK;
	RS_TRY(intake_read_rows(w, f));
	f->replaced = f->replaced && is_rewritten(w, f);
	return RS_OK;
}

enum rs_status
intake_take_rows(struct intake_work *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->file[i].quiet)
			RS_TRY(intake_past_cover(&w->past, w->file[i].known, &w->file[i].covered));
	RS_TRY(intake_match(w, is_selected));
	for (size_t i = 0; i < w->n; i++)
		RS_TRY(take_rows(w, &w->file[i]));
	return intake_find_due_rows(w);
}
