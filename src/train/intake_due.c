/* Which periods are due: those that are complete, up to the first that is not. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/memory.h"
#include "train/intake_private.h"

#define READY_CODES "aAbBCdDeFgGHIjmMnpSstTuUVwWyYhR%"
#define READY_LIMIT ((size_t)1 << 20)

struct pending {                       /* periods with rows                           */
	struct period { int64_t begin; int young; } *item;     /* [n]                 */
	size_t n, capacity;
};

/* The mark is the end of the newest period that is done with. */
int
intake_is_late(const struct intake_work *w, int64_t period)
{
	return w->mark != LEDGER_NO_PERIOD && period < w->mark;
}

int
intake_is_wanted(const struct intake_work *w, int64_t period)
{
	const struct intake_options *const o = w->options;

	return (o->since == LEDGER_NO_PERIOD || period >= o->since) &&
		(o->until == LEDGER_NO_PERIOD ||
		 period + (int64_t)o->settings->incremental.period <= o->until);
}

static enum rs_status
pending_add(struct pending *p, int64_t begin, int young)
{
	if (p->n > 0 && p->item[p->n - 1].begin == begin) {
		p->item[p->n - 1].young |= young;
		return RS_OK;
	}
	if (p->n == p->capacity) {
		const size_t capacity = p->capacity == 0 ? 64 : 2 * p->capacity;
		struct period *const grown = realloc(p->item, capacity * sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for %zu periods", capacity);
		p->item = grown;
		p->capacity = capacity;
	}
	p->item[p->n++] = (struct period){ begin, young };
	return RS_OK;
}

static int
period_order(const void *a, const void *b)
{
	const struct period *const x = a, *const y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void
pending_sort(struct pending *p)
{
	size_t n = 0;

	if (p->n > 0)
		qsort(p->item, p->n, sizeof *p->item, period_order);
	for (size_t i = 0; i < p->n; i++) {
		if (n > 0 && p->item[n - 1].begin == p->item[i].begin)
			p->item[n - 1].young |= p->item[i].young;
		else
			p->item[n++] = p->item[i];
	}
	p->n = n;
}

/* What C says of strftime(3), but for what depends on the time zone. */
enum rs_status
intake_ready_check(const char *pattern)
{
	for (const char *p = pattern; *p != '\0'; p++)
		if (*p == '%' && (*++p == '\0' || strchr(READY_CODES, *p) == NULL))
			return rs_fail(RS_ESPEC, "incremental.ready = '%s': '%%%.1s' is no code of "
				"a time in UTC", pattern, p);
	return RS_OK;
}

/* strftime(3) takes %s for a time of the zone that is set. */
static enum rs_status
marker_path(const char *pattern, int64_t begin, struct buffer *path)
{
	const time_t when = (time_t)begin;
	char text[128];
	struct tm tm;

	if (gmtime_r(&when, &tm) == NULL)
		return rs_fail(RS_ESPEC, "incremental.ready = '%s' names no file", pattern);
	for (const char *p = pattern; *p != '\0'; p++) {
		const char code[] = { '%', p[0] == '%' ? *++p : '\0', '\0' };

		if (code[1] == '\0')
			RS_TRY(buffer_append(path, p, 1));
		else if (code[1] == 's')
			RS_TRY(buffer_printf(path, "%" PRId64, begin));
		else
			RS_TRY(buffer_append(path, text, strftime(text, sizeof text, code, &tm)));
	}
	return buffer_append(path, "", 1);
}

/* Is the file there that says that a period is complete? */
static enum rs_status
marker_is_there(const struct intake_work *w, int64_t begin, int *there)
{
	struct buffer path;
	struct stat st;

	buffer_init(&path, READY_LIMIT);
	const enum rs_status status = marker_path(w->settings->incremental.ready, begin, &path);
	*there = status == RS_OK && stat(path.data, &st) == 0;
	buffer_free(&path);
	return status;
}

static enum rs_status
is_complete(const struct intake_work *w, const struct period *p, int *complete)
{
	const int64_t end = p->begin + w->period;

	*complete = 0;
	if (w->settings->incremental.ready[0] != '\0')
		return w->now >= end ? marker_is_there(w, p->begin, complete) : RS_OK;
	*complete = w->now >= end && w->now - end >= w->wait && !p->young;
	return RS_OK;
}

static enum rs_status
take_due(struct intake_work *w, const struct pending *p)
{
	int complete = 1;

	free(w->due);
	w->due = NULL;
	w->n_due = 0;
	w->waiting = LEDGER_NO_PERIOD;
	RS_TRY(memory_alloc(p->n + 1, sizeof *w->due, &w->due));
	for (size_t i = 0; i < p->n && complete; i++) {
		RS_TRY(is_complete(w, &p->item[i], &complete));
		if (complete)
			w->due[w->n_due++] = p->item[i].begin;
		else
			w->waiting = p->item[i].begin;
	}
	return RS_OK;
}

enum rs_status
intake_find_due(struct intake_work *w)
{
	struct pending p = { .n = 0 };
	enum rs_status status = RS_OK;

	for (size_t i = 0; i < w->n && status == RS_OK; i++) {
		const struct intake_file *const f = &w->file[i];

		if (!f->quiet && !intake_is_late(w, f->period) && intake_is_wanted(w, f->period))
			status = pending_add(&p, f->period, f->young);
	}
	pending_sort(&p);
	if (status == RS_OK)
		status = take_due(w, &p);
	free(p.item);
	return status;
}

/* A file that changes still may get more rows of the period of its last one, so that period
 * and those after it are not complete. */
static int64_t
held_from(const struct intake_work *w)
{
	int64_t from = INT64_MAX;

	for (size_t i = 0; i < w->n; i++) {
		const struct intake_file *const f = &w->file[i];

		if (f->waits)
			return INT64_MIN;
		if (f->young && f->original == NULL && f->newest != LEDGER_NO_PERIOD &&
		    !intake_is_late(w, f->newest) && f->newest < from)
			from = f->newest;
	}
	return from;
}

enum rs_status
intake_find_due_rows(struct intake_work *w)
{
	struct pending p = { .n = 0 };
	const int64_t from = held_from(w);
	enum rs_status status = RS_OK;

	for (size_t i = 0; i < w->n; i++)
		for (size_t k = 0; k < w->file[i].n_parts && status == RS_OK; k++) {
			const int64_t begin = w->file[i].part[k].period;

			if (!intake_is_late(w, begin) && intake_is_wanted(w, begin))
				status = pending_add(&p, begin, begin >= from);
		}
	pending_sort(&p);
	if (status == RS_OK)
		status = take_due(w, &p);
	free(p.item);
	return status;
}
