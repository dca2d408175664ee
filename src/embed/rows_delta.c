/* Rows that changed: written, applied, and found between two tables. */
#include "embed/rows_delta.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "embed/rows_file.h"

/* --- what is in a delta ---------------------------------------------------------------- */

/* Ids in order: taken twice, to be counted and to be written. */
struct ids { uint64_t *id; size_t n; };

static int
compare_ids(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Those of all segments that did not come back, each once. */
static enum rs_status
list_gone(const struct table *t, struct ids *out)
{
	const struct exact *e = &t->exact;
	size_t n = 0, kept = 0;

	for (unsigned i = 0; i < EXACT_SEGMENTS; i++)
		n += e->gone[i].n;
	RS_TRY(memory_alloc(n + 1, sizeof(*out->id), &out->id));
	for (unsigned i = 0; i < EXACT_SEGMENTS; i++)
		for (uint64_t j = 0; j < e->gone[i].n; j++)
			out->id[out->n++] = e->gone[i].id[j];
	qsort(out->id, out->n, sizeof(*out->id), compare_ids);
	for (size_t i = 0; i < out->n; i++)
		if ((kept == 0 || out->id[kept - 1] != out->id[i])
		    && exact_find(e, out->id[i]) == NULL)
			out->id[kept++] = out->id[i];
	out->n = kept;
	return RS_OK;
}

/* n: entries, ids gone. */
static struct rows_file_header
header_of(const struct table *t, const struct lookup_step *step, size_t n_slot,
	const uint64_t n[2])
{
	struct rows_file_shape shape = rows_file_shape_of(t);
	struct rows_file_header h;

	shape.kind = ROWS_FILE_DELTA;
	shape.n_slot = n_slot;
	h = rows_file_header_make(&shape, t->begin, t->begin + t->n_rows, n[0], n[1]);
	h.model_version = step->version;
	h.parent = step->parent;
	if (t->optimizer->decays && n_slot > 0)
		h.decays = t->decays;
	return h;
}

/* The next entry of an exact table that changed, from *at on; NULL: no more. */
static const struct exact_entry *
next_changed(const struct table *t, uint64_t *at)
{
	const struct exact_entry *entry;

	while ((entry = exact_next(&t->exact, at)) != NULL && !entry->changed)
		;
	return entry;
}

static uint64_t
count_changed(const struct table *t)
{
	uint64_t n = 0;

	if (!table_is_exact(t))
		return table_walk_count(t, t->changed, NULL);
	for (uint64_t at = t->begin; next_changed(t, &at) != NULL; )
		n++;
	return n;
}

static enum rs_status
write_changed(const struct table *t, const struct rows_file_header *h, struct file_writer *w)
{
	const struct exact_entry *entry;
	struct table_walk walk;

	if (table_is_exact(t)) {
		for (uint64_t at = t->begin; (entry = next_changed(t, &at)) != NULL; )
			RS_TRY(rows_file_put(h, entry, exact_row(entry), w));
		return RS_OK;
	}
	RS_TRY(table_walk_init(&walk, t, t->changed, NULL));
	const enum rs_status status = rows_file_put_walk(h, &walk, NULL, w);
	table_walk_free(&walk);
	return status;
}

enum rs_status
rows_delta_write(const struct table *t, const struct lookup_step *step, struct file_writer *w)
{
	struct rows_file_header h;
	struct ids gone = { NULL, 0 };
	uint64_t n[2] = { 0, 0 };

	if (table_is_exact(t))
		RS_TRY(list_gone(t, &gone));
	n[0] = count_changed(t);
	n[1] = gone.n;
	h = header_of(t, step, t->n_slot, n);
	enum rs_status status = file_writer_write(w, &h, sizeof(h));
	if (status == RS_OK)
		status = write_changed(t, &h, w);
	if (status == RS_OK)
		status = file_writer_write(w, gone.id, gone.n * sizeof(*gone.id));
	free(gone.id);
	return status;
}

/* --- applying --------------------------------------------------------------------------- */

struct applying {
	struct table *t;
	const struct lookup_step *step;
	const char *path;
	const uint64_t *gone;
	uint64_t n_gone, next;         /* of gone, of the sweep under way             */
};

static enum rs_status
check_step(const struct applying *a, const struct rows_file_header *h)
{
	const uint64_t have = a->step->parent, missing = h->parent;

	if (h->model_version == a->step->version && missing == have)
		return RS_OK;
	if (h->model_version <= have)
		return rs_fail_at(RS_EDATA, a->path, 0, 0, "makes v%06" PRIu64 " of v%06" PRIu64
			", which v%06" PRIu64 " has in it already", h->model_version, missing,
			have);
	return rs_fail_at(RS_EDATA, a->path, 0, 0, "makes v%06" PRIu64 " of v%06" PRIu64
		", expected v%06" PRIu64 " of v%06" PRIu64 ": v%06" PRIu64 " is missing",
		h->model_version, missing, a->step->version, have,
		missing != have ? missing : a->step->version);
}

static int
is_gone(void *context, const struct exact_entry *entry)
{
	struct applying *a = context;

	while (a->next < a->n_gone && a->gone[a->next] < entry->id)
		a->next++;
	return a->next < a->n_gone && a->gone[a->next] == entry->id;
}

/* Rows go, and room is made for those that come. */
static enum rs_status
make_room(struct applying *a, const struct rows_file_piece *p)
{
	struct exact *e = &a->t->exact;

	for (unsigned i = e->first; a->n_gone > 0 && i < e->last; i++)
		exact_sweep(e, i, is_gone, a);
	return rows_file_reserve(p, e);
}

static enum rs_status
reach(struct table *t, const struct exact_entry *from, float **row)
{
	struct exact_entry *entry;
	int is_new;

	if (!table_is_exact(t)) {
		RS_TRY(table_take(t, from->id - t->begin, row));
		table_set_touched(t, from->id - t->begin, 1);
		return RS_OK;
	}
	RS_TRY(exact_insert(&t->exact, from->id, &entry, &is_new));
	*entry = *from;
	*row = exact_row(entry);
	return RS_OK;
}

static enum rs_status
apply(void *context, const struct rows_file_piece *p)
{
	struct applying *a = context;
	struct table *t = a->t;

	RS_TRY(check_step(a, p->header));
	a->gone = p->gone;
	a->n_gone = p->header->n_gone;
	if (p->has_state)
		RS_TRY(table_replay_decays(t, &p->header->decays));
	if (table_is_exact(t))
		RS_TRY(make_room(a, p));
	for (uint64_t i = 0; i < p->header->n; i++) {
		const struct exact_entry *from = rows_file_entry(p, i);
		float *row;

		if (from->id - t->begin >= t->n_rows)
			continue;
		RS_TRY(reach(t, from, &row));
		rows_file_take(p, from, t, row);
		table_leave(t, from->id);
	}
	t->state_anew |= !p->has_state && t->n_slot > 0;
	return RS_OK;
}

enum rs_status
rows_delta_read(struct table *t, const struct lookup_step *step, const char *path)
{
	struct applying a = { .t = t, .step = step, .path = path };
	struct rows_file_shape shape = rows_file_shape_of(t);

	shape.kind = ROWS_FILE_DELTA;
	return rows_file_visit(&shape, &path, 1, apply, &a);
}

/* --- between two tables ------------------------------------------------------------------ */

/* Rows that `to` has and `from` has not so, or those of `from` that it has no more. */
struct between {
	const struct table *from, *to;
	float *scratch[2];             /* [stride] of each                            */
};

static int
differs(const struct between *b, const float *former, const float *row)
{
	const enum row_storage storage = b->to->settings.storage;

	return former == NULL || b->from->settings.storage != storage
	    || memcmp(former, row, row_bytes(storage, b->to->D)) != 0;
}

/* Row i of both is as it began. */
static int
both_untouched(const struct between *b, uint64_t i)
{
	const struct table *t[2] = { b->from, b->to };
	const uint64_t word = i / TABLE_TOUCHED_BITS;

	for (int k = 0; k < 2; k++)
		if (t[k]->touched[word] != 0 || (t[k]->kept != NULL && t[k]->kept[word] != 0))
			return 0;
	return t[0]->start.key == t[1]->start.key && t[0]->start.stddev == t[1]->start.stddev
	    && t[0]->settings.storage == t[1]->settings.storage;
}

static enum rs_status
next_of_hashed(const struct between *b, uint64_t *at, struct exact_entry *head, const float **out)
{
	const struct table *t = b->to;
	const float *former, *row;

	*out = NULL;
	for (uint64_t i = *at - t->begin; i < t->n_rows; i++) {
		if (both_untouched(b, i)) {
			i |= TABLE_TOUCHED_BITS - 1;
			continue;
		}
		RS_TRY(table_read(b->from, i, b->scratch[0], &former));
		RS_TRY(table_read(t, i, b->scratch[1], &row));
		if (differs(b, former, row)) {
			*head = (struct exact_entry){ .id = t->begin + i };
			*at = t->begin + i + 1;
			*out = row;
			return RS_OK;
		}
	}
	return RS_OK;
}

/* *out NULL: there is no other. */
static enum rs_status
next_different(const struct between *b, uint64_t *at, struct exact_entry *head, const float **out)
{
	const struct table *t = b->to;
	const struct exact_entry *entry;

	if (!table_is_exact(t))
		return next_of_hashed(b, at, head, out);
	while ((entry = exact_next(&t->exact, at)) != NULL
	    && !differs(b, table_find(b->from, entry->id), exact_row(entry)))
		;
	if (entry != NULL)
		*head = *entry;
	*out = entry != NULL ? exact_row(entry) : NULL;
	return RS_OK;
}

/* The next id of `from` that `to` has not. */
static int
next_gone(const struct between *b, uint64_t *at, uint64_t *id)
{
	const struct exact_entry *entry = NULL;

	if (!table_is_exact(b->from))
		return 0;
	while ((entry = exact_next(&b->from->exact, at)) != NULL
	    && exact_find(&b->to->exact, entry->id) != NULL)
		;
	*id = entry != NULL ? entry->id : 0;
	return entry != NULL;
}

/* How many rows differ, or, w not NULL, those. */
static enum rs_status
visit_different(const struct between *b, const struct rows_file_header *h, struct file_writer *w,
	uint64_t *n)
{
	uint64_t at = b->to->begin;
	struct exact_entry head;
	const float *row;

	for (*n = 0;; ++*n) {
		RS_TRY(next_different(b, &at, &head, &row));
		if (row == NULL)
			return RS_OK;
		if (w != NULL)
			RS_TRY(rows_file_put(h, &head, row, w));
	}
}

static enum rs_status
write_between(const struct between *b, const struct lookup_step *step, struct file_writer *w)
{
	struct rows_file_header h;
	uint64_t n[2] = { 0, 0 }, id;

	RS_TRY(visit_different(b, NULL, NULL, &n[0]));
	for (uint64_t at = b->to->begin; next_gone(b, &at, &id); )
		n[1]++;
	h = header_of(b->to, step, 0, n);
	RS_TRY(file_writer_write(w, &h, sizeof(h)));
	RS_TRY(visit_different(b, &h, w, &n[0]));
	for (uint64_t at = b->to->begin; next_gone(b, &at, &id); )
		RS_TRY(file_writer_write(w, &id, sizeof(id)));
	return RS_OK;
}

enum rs_status
rows_delta_between(const struct table *from, const struct table *to,
	const struct lookup_step *step, struct file_writer *w)
{
	struct between b = { .from = from, .to = to };
	enum rs_status status = memory_alloc(from->stride, sizeof(float), &b.scratch[0]);

	if (status == RS_OK)
		status = memory_alloc(to->stride, sizeof(float), &b.scratch[1]);
	if (status == RS_OK)
		status = write_between(&b, step, w);
	free(b.scratch[0]);
	free(b.scratch[1]);
	return status;
}
