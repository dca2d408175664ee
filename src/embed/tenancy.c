/* Coming and going in exact tables. */
#include "embed/tenancy.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"

enum rs_status
tenancy_open(struct tenancy *t, const struct lookup_table *table, struct exact *exact,
	int for_training)
{
	const struct lookup_tenancy *s = &table->tenancy;
	const struct admission_settings filter = {
		.kind = s->admit, .count = s->admit_count, .probability = s->admit_probability,
		.cells = s->admit_cells, .seed = table->seed, .key = s->key, .name = table->name,
		.expiry = expiry_of(s->expire_after, s->expire_steps),
		.part_begin = exact->first, .part_end = exact->last,
	};

	*t = (struct tenancy){
		.exact = exact, .expiry = filter.expiry, .most = s->segment_rows,
		.evict = s->evict, .last_unit = filter.expiry.unit,
	};
	exact->segment_rows = t->most + t->most / TENANCY_SHARE;
	RS_TRY(memory_alloc(EXACT_SEGMENTS, sizeof(*t->segment), &t->segment));
	return for_training && s->admit != ADMISSION_ALL ? admission_open(&filter, &t->admission)
							 : RS_OK;
}

void
tenancy_close(struct tenancy *t)
{
	if (t->admission != NULL)
		admission_close(t->admission);
	free(t->segment);
	memset(t, 0, sizeof(*t));
}

uint64_t
tenancy_bytes(const struct tenancy *t)
{
	return EXACT_SEGMENTS * sizeof(*t->segment)
		+ (t->admission != NULL ? admission_bytes(t->admission) : 0);
}

struct tenancy_step
tenancy_step_of(const struct tenancy *t, const struct lookup_commit *c)
{
	return (struct tenancy_step){
		.step = c->step, .before = t->clock,
		.now = expiry_clock(&t->expiry, t->clock, c->step, c->newest),
	};
}

void
tenancy_commit(struct tenancy *t, const struct lookup_commit *c)
{
	const uint32_t now = tenancy_step_of(t, c).now;
	struct exact_entry *e;

	if (t->last_unit != t->expiry.unit) {
		for (uint64_t id = 0; (e = exact_next(t->exact, &id)) != NULL; ) {
			e->last = now;
			e->changed = 1;
		}
		if (t->admission != NULL)
			admission_restamp(t->admission, now);
	}
	t->last_unit = t->expiry.unit;
	t->clock = now;
}

/* --- one segment ------------------------------------------------------------------------ */

struct dropping {
	const struct tenancy *t;
	uint32_t clock;
	struct evict_key until;        /* the last that goes                         */
};

static int
is_over(void *context, const struct exact_entry *e)
{
	const struct dropping *d = context;

	return expiry_is_over(&d->t->expiry, e->last, d->clock);
}

static int
goes(void *context, const struct exact_entry *e)
{
	const struct dropping *d = context;

	return evict_goes(&d->until, d->t->evict, e->id, e->last, e->count);
}

static void
drop_over(struct tenancy *t, unsigned segment, uint32_t clock)
{
	struct dropping d = { .t = t, .clock = clock };

	if (t->expiry.limit > 0)
		t->segment[segment].tally.expired +=
			exact_sweep(t->exact, segment, is_over, &d);
}

void
tenancy_begin(struct tenancy *t, unsigned segment)
{
	struct tenancy_segment *g = &t->segment[segment];

	g->start = t->exact->segment[segment].n;
	g->n_new = 0;
	g->counted = 0;
	g->reached = 0;
}

/* Rows that are over at the begin of the step are in g->start until there is need to know:
 * as long as all of them fit, those that are left do. */
static int
has_room(struct tenancy *t, const struct tenancy_step *s, unsigned segment)
{
	struct tenancy_segment *g = &t->segment[segment];

	if (t->most == 0 || g->start + g->n_new < t->most)
		return 1;
	if (!g->counted) {
		drop_over(t, segment, s->before);
		g->start = t->exact->segment[segment].n - g->n_new;
		g->counted = 1;
	}
	return g->n_new < (g->start < t->most ? t->most - g->start : 0) + t->most / TENANCY_SHARE;
}

static void
touch(struct exact_entry *e, const struct tenancy_step *s, uint32_t n)
{
	e->last = s->now;
	e->count = n > EXACT_COUNT_MAX - e->count ? EXACT_COUNT_MAX : e->count + n;
	e->changed = 1;
}

static enum rs_status
may_come(struct tenancy *t, const struct tenancy_step *s, uint64_t id, uint32_t n, int *out)
{
	struct tenancy_segment *g = &t->segment[exact_segment_of(id)];
	const struct admission_question q = {
		.id = id, .n = n, .step = s->step, .before = s->before, .now = s->now,
	};

	*out = has_room(t, s, exact_segment_of(id));
	g->tally.refused += !*out;
	if (!*out || t->admission == NULL)
		return RS_OK;
	RS_TRY(admission_ask(t->admission, &q, out));
	g->tally.waiting += !*out;
	return RS_OK;
}

enum rs_status
tenancy_reach(struct tenancy *t, const struct tenancy_step *s, uint64_t id, uint32_t n,
	struct tenancy_answer *out)
{
	struct tenancy_segment *g = &t->segment[exact_segment_of(id)];
	int comes, is_new;

	g->reached = 1;
	*out = (struct tenancy_answer){ .entry = exact_find(t->exact, id), .trains = 1 };
	if (out->entry != NULL && !expiry_is_over(&t->expiry, out->entry->last, s->before)) {
		touch(out->entry, s, n);
		return RS_OK;
	}
	out->entry = NULL;
	RS_TRY(may_come(t, s, id, n, &comes));
	if (!comes)
		return RS_OK;
	RS_TRY(exact_insert(t->exact, id, &out->entry, &is_new));
	if (!is_new) {             /* one that is over gives its place               */
		*out->entry = (struct exact_entry){ .id = id };
		g->start--;
		g->tally.expired++;
	}
	touch(out->entry, s, n);
	g->n_new++;
	g->tally.admitted++;
	out->is_new = 1;
	out->trains = t->admission == NULL;
	return RS_OK;
}

static enum rs_status
evict_rows(struct tenancy *t, unsigned segment, struct evict_scratch *scratch)
{
	const uint64_t n = t->exact->segment[segment].n, kept = t->most - t->most / TENANCY_SHARE;
	struct dropping d = { .t = t };
	const struct exact_entry *e;

	RS_TRY(evict_begin(scratch, t->evict, (size_t)n));
	for (uint64_t place = 0; (e = exact_step(t->exact, segment, &place)) != NULL; )
		evict_add(scratch, e->id, e->last, e->count);
	d.until = evict_find(scratch, (size_t)(n - kept));
	t->segment[segment].tally.evicted += exact_sweep(t->exact, segment, goes, &d);
	return RS_OK;
}

enum rs_status
tenancy_end(struct tenancy *t, const struct tenancy_step *s, unsigned segment,
	struct evict_scratch *scratch)
{
	if (!t->segment[segment].reached)
		return RS_OK;
	if (t->admission != NULL)
		RS_TRY(admission_end_step(t->admission, segment, s->now, scratch));
	if (t->most == 0 || t->exact->segment[segment].n <= t->most)
		return RS_OK;
	drop_over(t, segment, s->now);
	return t->exact->segment[segment].n > t->most ? evict_rows(t, segment, scratch) : RS_OK;
}

/* --- the table -------------------------------------------------------------------------- */

void
tenancy_sweep(struct tenancy *t)
{
	for (unsigned i = t->exact->first; i < t->exact->last; i++)
		drop_over(t, i, t->clock);
}

void
tenancy_tally(const struct tenancy *t, struct lookup_tenants *out)
{
	*out = (struct lookup_tenants){ .rows = exact_count(t->exact), .clock = t->clock };
	for (unsigned i = 0; i < EXACT_SEGMENTS; i++)
		lookup_tenants_add(out, &t->segment[i].tally);
}

size_t
tenancy_item_bytes(const struct tenancy *t)
{
	return t->admission != NULL ? admission_item_bytes(t->admission) : 0;
}

enum rs_status
tenancy_get(const struct tenancy *t, struct lookup_waiting *w)
{
	struct admission_piece p = { .part = w->segment, .first = w->first, .n = w->n,
		.item = w->item };

	w->unit = t->last_unit;
	w->clock = t->clock;
	w->n = w->total = w->counted = 0;
	if (w->segment == EXACT_SEGMENTS) {
		tenancy_tally(t, &w->tally);
		return RS_OK;
	}
	if (w->segment < t->exact->first || w->segment >= t->exact->last)
		return rs_fail(RS_EDATA, "segment %u is not here", w->segment);
	w->tally = t->segment[w->segment].tally;
	if (t->admission == NULL)
		return RS_OK;
	admission_get(t->admission, t->clock, &p);
	w->n = p.n;
	w->total = p.total;
	w->counted = p.counted;
	return RS_OK;
}

enum rs_status
tenancy_put(struct tenancy *t, const struct lookup_waiting *w)
{
	const struct admission_piece p = { .part = w->segment, .first = w->first, .n = w->n,
		.counted = w->counted, .item = w->item };

	if (w->segment < t->exact->first || w->segment >= t->exact->last)
		return rs_fail(RS_EDATA, "segment %u is not here", w->segment);
	if (w->unit > EXPIRY_MINUTES || (t->admission == NULL && w->n > 0))
		return rs_fail(RS_EDATA, "clock %u, %zu items of a filter", w->unit, w->n);
	if (t->admission != NULL)
		RS_TRY(admission_put(t->admission, &p));
	t->last_unit = (enum expiry_unit)w->unit;
	t->clock = w->clock;
	if (w->has_tally)
		t->segment[w->segment].tally = w->tally;
	return RS_OK;
}

/* --- files ------------------------------------------------------------------------------ */

#define MAGIC   "RSTENAN"
#define VERSION 1

/* Behind it the file of the filter, if there is one (embed/admission_file.c). */
struct header {
	char     magic[8];
	uint32_t version, header_bytes;
	uint32_t unit, clock;          /* enum expiry_unit                           */
};

enum rs_status
tenancy_save(const struct tenancy *t, struct file_writer *w)
{
	const struct header h = {
		.magic = MAGIC, .version = VERSION, .header_bytes = sizeof(h),
		.unit = t->last_unit, .clock = t->clock,
	};

	RS_TRY(file_writer_write(w, &h, sizeof(h)));
	return t->admission != NULL ? admission_save(t->admission, t->clock, w) : RS_OK;
}

static enum rs_status
load_file(struct tenancy *t, const struct file_map *m, const char *path, int *anew)
{
	const struct file_map rest = {
		.data = m->data + sizeof(struct header), .size = m->size - sizeof(struct header),
	};
	struct header h;

	if (m->size < sizeof(h) || memcmp(m->data, MAGIC, sizeof(h.magic)) != 0)
		return rs_fail(RS_EDATA, "'%s' does not say who is in an exact table", path);
	memcpy(&h, m->data, sizeof(h));
	if (h.version != VERSION || h.header_bytes != sizeof(h) || h.unit > EXPIRY_MINUTES)
		return rs_fail(RS_EDATA, "'%s' has format version %u, expected %d", path,
			h.version, VERSION);
	t->last_unit = (enum expiry_unit)h.unit;
	if (t->last_unit == t->expiry.unit && h.clock > t->clock)
		t->clock = h.clock;
	if (t->admission == NULL)
		return RS_OK;
	if (rest.size == 0) {
		*anew = 1;
		return RS_OK;
	}
	return admission_load(t->admission, &rest, path, anew);
}

enum rs_status
tenancy_load(struct tenancy *t, const char *const *path, size_t n_paths)
{
	enum rs_status status = RS_OK;
	struct file_map m;
	int anew = n_paths == 0;

	t->clock = 0;
	t->last_unit = EXPIRY_STEPS;           /* as rows without such a file have it    */
	if (t->admission != NULL)
		admission_load_begin(t->admission);
	for (size_t i = 0; i < n_paths && status == RS_OK; i++) {
		RS_TRY(file_map_open(&m, path[i]));
		status = load_file(t, &m, path[i], &anew);
		file_map_close(&m);
	}
	RS_TRY(status);
	if (t->admission == NULL || !admission_has_state(t->admission))
		return RS_OK;
	if (anew)
		log_info("table '%s': the filter begins to count anew: that of the model saved is "
			"another", admission_name(t->admission));
	return anew ? RS_OK : admission_load_end(t->admission);
}
