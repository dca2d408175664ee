/* Periods that are due: the names of their parts, and the entries to come. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "train/intake_private.h"

/* --- what becomes of a part -------------------------------------------------- */

enum intake_fate
intake_fate_of(const struct intake_work *w, const struct intake_file *f,
	const struct intake_part *part)
{
	const struct incremental_settings *const s = &w->settings->incremental;
	const int late = intake_is_late(w, part->period);

	if (!intake_is_wanted(w, part->period))
		return INTAKE_LEFT;
	if (f->replaced && (late || !w->by_rows || w->mark == LEDGER_NO_PERIOD)) {
		if (s->replaced == REPLACED_SKIP)
			return INTAKE_REPLACED;
		return late ? INTAKE_LATE : INTAKE_DUE;
	}
	if (!late)
		return INTAKE_DUE;
	return s->late == LATE_TRAIN ? INTAKE_LATE : INTAKE_SKIPPED;
}

/* Late rows are trained with the first period. */
static int
is_of(const struct intake_work *w, const struct intake_file *f, const struct intake_part *part,
	size_t d)
{
	const enum intake_fate fate = intake_fate_of(w, f, part);

	return fate == INTAKE_LATE ? d == 0 : fate == INTAKE_DUE && part->period == w->due[d];
}

size_t
intake_done_with(const struct intake_work *w, const struct intake_file *f, uint64_t end)
{
	size_t last = 0;

	if (f->waits || !intake_may_go_on(f) || (f->unfinished && f->unfinished_at < end))
		return INTAKE_NONE;
	for (size_t i = 0; i < f->n_parts; i++) {
		const struct range_list *const rows = &f->part[i].ranges;
		const enum intake_fate fate = intake_fate_of(w, f, &f->part[i]);
		size_t d = 0;

		if (rows->n > 0 && rows->item[0].begin >= end)
			continue;
		if (fate == INTAKE_LEFT)
			return INTAKE_NONE;
		if (fate != INTAKE_DUE)
			continue;
		while (d < w->n_due && w->due[d] != f->part[i].period)
			d++;
		if (d == w->n_due)
			return INTAKE_NONE;
		last = d > last ? d : last;
	}
	return last;
}

/* --- a part ------------------------------------------------------------------ */

enum rs_status
intake_entry(const struct intake_file *f, enum ledger_use use, int64_t period,
	const struct range_list *rows, struct ledger_entry *out)
{
	enum rs_status status;

	*out = (struct ledger_entry){ .period = period, .use = use, .file = f->number,
		.size = f->size, .inode = f->inode, .modified_ns = f->modified_ns,
		.text = f->text, .head = f->head, .head_bytes = f->head_bytes };
	status = memory_strdup(f->real, &out->path);
	if (status == RS_OK && rows != NULL && f->skip > 0)
		status = range_list_add(&out->ranges, 0, f->skip);
	for (size_t i = 0; rows != NULL && i < rows->n && status == RS_OK; i++)
		status = range_list_add(&out->ranges, rows->item[i].begin, rows->item[i].end);
	if (status != RS_OK)
		ledger_entry_free(out);
	return status;
}

struct making {
	struct intake_work *w;
	size_t   d;
	struct intake_period *out;
	struct ledger train, held;
};

/* Rows of a file in a period. */
struct rows {
	struct range_list ranges;
	int      whole;            /* the whole file                                  */
	uint64_t late;
};

static int
range_order(const void *a, const void *b)
{
	const struct range *const x = a, *const y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static enum rs_status
gather(const struct making *m, const struct intake_file *f, struct rows *out)
{
	struct range *range;
	enum rs_status status = RS_OK;
	size_t n = 0;

	for (size_t i = 0; i < f->n_parts; i++)
		n += f->part[i].ranges.n;
	RS_TRY(memory_alloc(n + 1, sizeof *range, &range));
	n = 0;
	for (size_t i = 0; i < f->n_parts; i++) {
		const struct intake_part *const part = &f->part[i];

		if (!is_of(m->w, f, part, m->d))
			continue;
		out->whole |= part->ranges.n == 0;
		if (intake_is_late(m->w, part->period))
			out->late += part->rows;
		for (size_t k = 0; k < part->ranges.n; k++)
			range[n++] = part->ranges.item[k];
	}
	qsort(range, n, sizeof *range, range_order);
	for (size_t i = 0; i < n && status == RS_OK; i++)
		status = range_list_add(&out->ranges, range[i].begin, range[i].end);
	free(range);
	return status;
}

/* All rows of a file as a range. */
static enum rs_status
whole_rows(struct intake_work *w, struct intake_file *f, struct range_list *out)
{
	int has_rows;

	RS_TRY(intake_header(w, f, &has_rows));
	if (f->text == 0)
		RS_TRY(intake_hash_all(f));
	return f->skip < f->text ? range_list_add(out, f->skip, f->text) : RS_OK;
}

static enum rs_status
add_name(struct text_list *list, const struct ledger_entry *e)
{
	char **const grown = realloc(list->item, (list->n + 1) * sizeof *grown);
	struct buffer name;

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for the parts of a period");
	list->item = grown;
	buffer_init(&name, (size_t)1 << 30);
	const enum rs_status status = range_print(e->path, &e->ranges, &name);
	if (status == RS_OK)
		list->item[list->n++] = name.data;
	else
		buffer_free(&name);
	return status;
}

static enum rs_status
add_train(struct making *m, struct intake_file *f, const struct rows *rows)
{
	struct ledger_entry entry;

	RS_TRY(intake_entry(f, LEDGER_TRAINED, m->out->begin, rows->whole ? NULL : &rows->ranges,
		&entry));
	entry.late = rows->late;
	enum rs_status status = add_name(&m->out->train, &entry);
	if (status == RS_OK)
		return ledger_add(&m->train, &entry);
	ledger_entry_free(&entry);
	return status;
}

static enum rs_status
add_held(struct making *m, struct intake_file *f, const struct range_list *rows)
{
	struct ledger_entry entry;
	struct intake_digest digest = { .limit = 0 };

	RS_TRY(intake_entry(f, LEDGER_HELD, m->out->begin, rows, &entry));
	digest.ranges = &entry.ranges;
	enum rs_status status = intake_digest(f->path, &digest, 1, NULL);
	entry.content_hash = digest.hash;
	if (status == RS_OK)
		status = intake_count(m->w, f, rows, &entry.rows);
	if (status == RS_OK)
		status = add_name(&m->out->held, &entry);
	if (status == RS_OK)
		return ledger_add(&m->held, &entry);
	ledger_entry_free(&entry);
	return status;
}

/* Rows from `cut` on are held out. */
static enum rs_status
split(struct rows *rows, uint64_t cut, struct range_list *held)
{
	struct range_list before = { .n = 0 };
	enum rs_status status = RS_OK;

	for (size_t i = 0; i < rows->ranges.n && status == RS_OK; i++) {
		const struct range r = rows->ranges.item[i];

		if (r.begin < cut)
			status = range_list_add(&before, r.begin, r.end < cut ? r.end : cut);
		if (status == RS_OK && r.end > cut)
			status = range_list_add(held, r.begin > cut ? r.begin : cut, r.end);
	}
	range_list_free(&rows->ranges);
	rows->ranges = before;
	return status;
}

static enum rs_status
hold_out(struct making *m, struct intake_file *f, struct rows *rows, struct range_list *held)
{
	uint64_t cut;

	if (rows->whole)
		RS_TRY(whole_rows(m->w, f, &rows->ranges));
	RS_TRY(intake_cut(m->w, f, &rows->ranges, &cut));
	if (cut == RANGE_END)
		return RS_OK;
	rows->whole = 0;
	return split(rows, cut, held);
}

/* Late rows of a whole file are counted here; by rows they are known. */
static enum rs_status
count_late(struct making *m, struct intake_file *f, struct rows *rows)
{
	struct range_list all = { .n = 0 };
	enum rs_status status = RS_OK;

	if (m->w->by_rows || !intake_is_late(m->w, f->period))
		return RS_OK;
	if (rows->whole)
		status = whole_rows(m->w, f, &all);
	if (status == RS_OK)
		status = intake_count(m->w, f, rows->whole ? &all : &rows->ranges, &rows->late);
	range_list_free(&all);
	return status;
}

static enum rs_status
add_rows(struct making *m, struct intake_file *f, struct rows *rows)
{
	struct range_list held = { .n = 0 };
	enum rs_status status = count_late(m, f, rows);

	if (status == RS_OK && m->w->settings->incremental.holdout > 0)
		status = hold_out(m, f, rows, &held);
	if (status == RS_OK)
		status = add_train(m, f, rows);
	if (status == RS_OK && held.n > 0)
		status = add_held(m, f, &held);
	range_list_free(&held);
	return status;
}

static enum rs_status
add_file(struct making *m, struct intake_file *f)
{
	struct rows rows = { .late = 0 };
	enum rs_status status;

	if (f->n_parts == 0)
		return RS_OK;
	status = gather(m, f, &rows);
	if (status == RS_OK && (rows.whole || rows.ranges.n > 0))
		status = add_rows(m, f, &rows);
	range_list_free(&rows.ranges);
	return status;
}

/* --- a period ---------------------------------------------------------------- */

/* The entries move; the lists keep nothing of them. */
static enum rs_status
join_entries(struct making *m, struct ledger *extra)
{
	struct ledger *const list[] = { &m->train, &m->held, extra };
	size_t n = 0;

	for (size_t i = 0; i < 3; i++)
		n += list[i]->n;
	RS_TRY(memory_alloc(n + 1, sizeof *m->out->entry, &m->out->entry));
	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < list[i]->n; k++)
			m->out->entry[m->out->n++] = list[i]->entry[k];
		list[i]->n = 0;
	}
	return RS_OK;
}

static enum rs_status
make_period(struct intake_work *w, size_t d, struct ledger *extra)
{
	struct making m = { .w = w, .d = d, .out = &w->out->due[d] };
	enum rs_status status = RS_OK;

	ledger_init(&m.train);
	ledger_init(&m.held);
	m.out->begin = w->due[d];
	m.out->end = w->due[d] + w->period;
	w->out->n_due = d + 1;
	for (size_t i = 0; i < w->n && status == RS_OK; i++)
		status = add_file(&m, &w->file[i]);
	if (status == RS_OK)
		status = join_entries(&m, extra);
	ledger_free(&m.train);
	ledger_free(&m.held);
	return status;
}

/* Complete periods without rows, from the mark to the last that is due. */
static enum rs_status
find_empty(struct intake_work *w)
{
	int64_t t = w->mark != LEDGER_NO_PERIOD ? intake_floor(w->mark, w->period) : w->due[0];
	const int64_t last = w->due[w->n_due - 1];
	size_t d = 0;

	if (w->options->since != LEDGER_NO_PERIOD && t < w->options->since)
		t = intake_floor(w->options->since + w->period - 1, w->period);
	if ((last - t) / w->period > (int64_t)(INTAKE_EMPTY + w->n_due))
		t = last - (int64_t)INTAKE_EMPTY * w->period;
	if (t > last)
		return RS_OK;
	RS_TRY(memory_alloc((size_t)((last - t) / w->period) + 1, sizeof *w->out->empty,
		&w->out->empty));
	for (; t <= last; t += w->period) {
		while (d < w->n_due && w->due[d] < t)
			d++;
		if (w->due[d] != t)
			w->out->empty[w->out->n_empty++] = t;
	}
	return RS_OK;
}

enum rs_status
intake_make_periods(struct intake_work *w)
{
	struct ledger *extra;
	enum rs_status status;

	if (w->options->most > 0 && w->n_due > w->options->most)
		w->n_due = w->options->most;
	if (w->n_due == 0)
		return RS_OK;
	RS_TRY(memory_alloc(w->n_due, sizeof *extra, &extra));
	for (size_t d = 0; d < w->n_due; d++)
		ledger_init(&extra[d]);
	status = memory_alloc(w->n_due, sizeof *w->out->due, &w->out->due);
	if (status == RS_OK)
		status = intake_extra_entries(w, extra);
	for (size_t d = 0; d < w->n_due && status == RS_OK; d++)
		status = make_period(w, d, &extra[d]);
	for (size_t d = 0; d < w->n_due; d++)
		ledger_free(&extra[d]);
	free(extra);
	RS_TRY(status);
	RS_TRY(find_empty(w));
	return intake_tell(w);
}
