/* Which periods are due: those that are complete, up to the first that is not. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/memory.h"
#include "train/intake_private.h"

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

/* Is the file there that says that a period is complete? */
static enum rs_status
marker_is_there(const struct intake_work *w, int64_t begin, int *there)
{
	const char *const pattern = w->settings->incremental.ready;
	const time_t when = (time_t)begin;
	char path[4096];
	struct stat st;
	struct tm tm;

	if (gmtime_r(&when, &tm) == NULL || strftime(path, sizeof path, pattern, &tm) == 0)
		return rs_fail(RS_ESPEC, "incremental.ready = '%s' names no file", pattern);
	*there = stat(path, &st) == 0;
	return RS_OK;
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
