/* What is new: files, a ledger and a time become periods. */
#include "train/intake.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "train/intake_private.h"

/* --- what the spec must give -------------------------------------------------- */

static enum rs_status
check_format(const struct settings *s)
{
	static const char *const name[] = { [FORMAT_LIBSVM] = "libsvm",
		[FORMAT_LIBFFM] = "libffm", [FORMAT_LIBFM] = "libfm",
		[FORMAT_TFRECORD] = "tfrecord", [FORMAT_LISTS] = "lists" };

	if (s->data.time[0] == '\0') {
		(void)rs_fail(RS_ESPEC, "nothing tells the periods: wanted incremental.file_time "
			"or data.time");
		return rs_hint("incremental.file_time = click-%%Y%%m%%d-%%H.tsv takes them from "
			"names, data.time = COLUMN from rows");
	}
	if (s->data.format == FORMAT_TSV || s->data.format == FORMAT_CSV)
		return RS_OK;
	(void)rs_fail(RS_ESPEC, "rows of format %s have no time by which they could be taken",
		name[s->data.format]);
	return rs_hint("give each period a file and incremental.file_time the pattern of their "
		"names");
}

enum rs_status
intake_check_settings(const struct settings *s)
{
	const double period = s->incremental.period;

	if (period < 1 || period != floor(period))
		return rs_fail(RS_ESPEC, "incremental.period = %g s: wanted whole seconds", period);
	if (s->data.command[0] != '\0')
		return rs_fail(RS_ESPEC, "the output of data.command cannot be trained by period");
	for (size_t i = 0; i < s->data.train.n; i++)
		if (strcmp(s->data.train.item[i], "-") == 0)
			return rs_fail(RS_ESPEC, "standard input cannot be trained by period");
	RS_TRY(intake_ready_check(s->incremental.ready));
	if (s->incremental.file_time[0] == '\0')
		return check_format(s);
	return intake_pattern_check(s->incremental.file_time);
}

/* --- the scan ----------------------------------------------------------------- */

static enum rs_status
scan(struct intake_work *w)
{
	RS_TRY(intake_past_make(w->options->ledger, &w->past));
	RS_TRY(intake_find_files(w));
	RS_TRY(w->by_rows ? intake_take_rows(w) : intake_take_named(w));
	RS_TRY(intake_make_periods(w));
	w->out->waiting = w->waiting;
	return RS_OK;
}

enum rs_status
intake_scan(const struct intake_options *options, struct intake **out)
{
	const struct settings *const s = options->settings;
	struct intake_work w = { .options = options, .settings = s, .now = options->now,
		.mark = options->ledger->mark, .waiting = LEDGER_NO_PERIOD };

	*out = NULL;
	RS_TRY(intake_check_settings(s));
	w.by_rows = s->incremental.file_time[0] == '\0';
	w.period = (int64_t)s->incremental.period;
	w.wait = (int64_t)ceil(s->incremental.wait);
	RS_TRY(memory_alloc(1, sizeof *w.out, &w.out));
	w.out->waiting = LEDGER_NO_PERIOD;
	const enum rs_status status = scan(&w);
	for (size_t i = 0; i < w.n; i++)
		intake_file_free(&w.file[i]);
	free(w.file);
	free(w.due);
	intake_past_free(&w.past);
	if (w.has_schema)
		schema_free(&w.schema);
	if (status == RS_OK)
		*out = w.out;
	else
		intake_free(w.out);
	return status;
}

/* --- periods ------------------------------------------------------------------ */

static void
free_list(struct text_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->item[i]);
	free(list->item);
}

static void
free_period(struct intake_period *p)
{
	free_list(&p->train);
	free_list(&p->held);
	for (size_t i = 0; i < p->n; i++)
		ledger_entry_free(&p->entry[i]);
	free(p->entry);
}

void
intake_free(struct intake *intake)
{
	if (intake == NULL)
		return;
	for (size_t i = 0; i < intake->n_due; i++)
		free_period(&intake->due[i]);
	free(intake->due);
	for (size_t i = 0; i < intake->n_notices; i++) {
		free(intake->notice[i].path);
		free(intake->notice[i].text);
	}
	free(intake->notice);
	free(intake->empty);
	free(intake);
}

/* Where inodes do not last, as on some network file systems, the first bytes tell. */
static int
begins_as_before(const struct ledger_entry *e)
{
	struct intake_file f = { .path = e->path, .size = UINT64_MAX };
	uint32_t head;

	return e->head_bytes > 0 && intake_head(&f, e->head_bytes, &head) == RS_OK &&
		head == e->head;
}

static int
is_as_before(const struct ledger_entry *e)
{
	struct stat st;

	return stat(e->path, &st) == 0 && (uint64_t)st.st_size >= e->size &&
		((uint64_t)st.st_ino == e->inode || begins_as_before(e));
}

enum rs_status
intake_check(const struct intake_period *period)
{
	for (size_t i = 0; i < period->n; i++) {
		const struct ledger_entry *const e = &period->entry[i];

		if ((e->use != LEDGER_TRAINED && e->use != LEDGER_HELD) || is_as_before(e))
			continue;
		(void)rs_fail(RS_EBUSY, "'%s' is not the file any more that it was when the period "
			"began to be trained", e->path);
		return rs_hint("it was renamed or replaced meanwhile; run again");
	}
	return RS_OK;
}

/* --- several periods as one --------------------------------------------------- */

static int
range_order(const void *a, const void *b)
{
	const struct range *const x = a, *const y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* Ranges of both; the header is in both. */
static enum rs_status
join_ranges(struct range_list *to, const struct range_list *from)
{
	struct range_list joined = { .n = 0 };
	struct range *range;
	enum rs_status status = RS_OK;

	RS_TRY(memory_alloc(to->n + from->n + 1, sizeof *range, &range));
	for (size_t i = 0; i < to->n; i++)
		range[i] = to->item[i];
	for (size_t i = 0; i < from->n; i++)
		range[to->n + i] = from->item[i];
	qsort(range, to->n + from->n, sizeof *range, range_order);
	for (size_t i = 0; i < to->n + from->n && status == RS_OK; i++) {
		struct range *const last = joined.n > 0 ? &joined.item[joined.n - 1] : NULL;

		if (last == NULL || range[i].begin > last->end)
			status = range_list_add(&joined, range[i].begin, range[i].end);
		else if (range[i].end > last->end)
			last->end = range[i].end;
	}
	free(range);
	range_list_free(to);
	*to = joined;
	return status;
}

/* A file that is in two periods is one part: a name of ranges may share no row with
 * another, and a header is one. */
static enum rs_status
join_entry(struct ledger *list, const struct ledger_entry *entry)
{
	struct ledger_entry copy;

	for (size_t i = 0; i < list->n; i++) {
		struct ledger_entry *const e = &list->entry[i];

		if (e->ranges.n == 0 || entry->ranges.n == 0 || strcmp(e->path, entry->path) != 0)
			continue;
		e->rows += entry->rows;
		e->late += entry->late;
		e->period = entry->period;
		e->content_hash = 0;
		return join_ranges(&e->ranges, &entry->ranges);
	}
	RS_TRY(ledger_entry_copy(entry, &copy));
	return ledger_add(list, &copy);
}

static enum rs_status
join_names(const struct ledger *list, struct text_list *out)
{
	RS_TRY(memory_alloc(list->n + 1, sizeof *out->item, &out->item));
	for (size_t i = 0; i < list->n; i++) {
		struct buffer name;

		buffer_init(&name, (size_t)1 << 30);
		RS_TRY(range_print(list->entry[i].path, &list->entry[i].ranges, &name));
		out->item[out->n++] = name.data;
	}
	return RS_OK;
}

/* Lists of train, held and the others. */
static enum rs_status
join_period(const struct intake_period *p, struct ledger list[3])
{
	for (size_t i = 0; i < p->n; i++) {
		const size_t part = i < p->train.n ? 0 : i < p->train.n + p->held.n ? 1 : 2;
		struct ledger_entry copy;

		if (part < 2) {
			RS_TRY(join_entry(&list[part], &p->entry[i]));
			continue;
		}
		RS_TRY(ledger_entry_copy(&p->entry[i], &copy));
		RS_TRY(ledger_add(&list[part], &copy));
	}
	return RS_OK;
}

static enum rs_status
join_all(struct ledger list[3], struct intake_period *out)
{
	RS_TRY(join_names(&list[0], &out->train));
	RS_TRY(join_names(&list[1], &out->held));
	RS_TRY(memory_alloc(list[0].n + list[1].n + list[2].n + 1, sizeof *out->entry,
		&out->entry));
	for (size_t k = 0; k < 3; k++) {
		for (size_t i = 0; i < list[k].n; i++)
			out->entry[out->n++] = list[k].entry[i];
		list[k].n = 0;
	}
	return RS_OK;
}

enum rs_status
intake_join(const struct intake_period *period, size_t n, struct intake_period *out)
{
	struct ledger list[3];
	enum rs_status status = RS_OK;

	*out = (struct intake_period){ .begin = period[n - 1].begin, .end = period[n - 1].end };
	for (size_t k = 0; k < 3; k++)
		ledger_init(&list[k]);
	for (size_t i = 0; i < n && status == RS_OK; i++)
		status = join_period(&period[i], list);
	if (status == RS_OK)
		status = join_all(list, out);
	for (size_t k = 0; k < 3; k++)
		ledger_free(&list[k]);
	if (status != RS_OK)
		intake_join_free(out);
	return status;
}

void
intake_join_free(struct intake_period *joined)
{
	free_period(joined);
	memset(joined, 0, sizeof *joined);
}
