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
	return h;
}

/* The next changed row from *at on, NULL: no more. */
static const float *
next_changed(const struct table *t, uint64_t *at, struct exact_entry *head)
{
	const struct exact_entry *entry;

	if (table_is_exact(t)) {
		while ((entry = exact_next(&t->exact, at)) != NULL && !entry->changed)
			;
		if (entry == NULL)
			return NULL;
		*head = *entry;
		return exact_row(entry);
	}
	for (uint64_t i = *at - t->begin; i < t->n_rows; i++) {
		const uint64_t word = t->changed[i / TABLE_TOUCHED_BITS];

		if (word == 0) {
			i |= TABLE_TOUCHED_BITS - 1;
		} else if (word >> (i % TABLE_TOUCHED_BITS) & 1) {
			*head = (struct exact_entry){ .id = t->begin + i };
			*at = t->begin + i + 1;
			return table_row(t, i);
		}
	}
	return NULL;
}

static enum rs_status
write_changed(const struct table *t, const struct rows_file_header *h, struct file_writer *w)
{
	struct exact_entry head;
	const float *row;

	for (uint64_t at = t->begin; (row = next_changed(t, &at, &head)) != NULL; )
		RS_TRY(rows_file_put(h, &head, row, w));
	return RS_OK;
}

enum rs_status
rows_delta_write(const struct table *t, const struct lookup_step *step, struct file_writer *w)
{
	struct rows_file_header h;
	struct exact_entry head;
	struct ids gone = { NULL, 0 };
	uint64_t n[2] = { 0, 0 };

	if (table_is_exact(t))
		RS_TRY(list_gone(t, &gone));
	for (uint64_t at = t->begin; next_changed(t, &at, &head) != NULL; )
		n[0]++;
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
	uint64_t n[EXACT_SEGMENTS] = { 0 };

	for (uint64_t i = 0; i < p->header->n; i++)
		n[exact_segment_of(rows_file_entry(p, i)->id)]++;
	for (unsigned i = e->first; i < e->last; i++) {
		if (a->n_gone > 0)
			exact_sweep(e, i, is_gone, a);
		if (n[i] > 0)
			RS_TRY(exact_reserve(e, i, e->segment[i].n + n[i]));
	}
	return RS_OK;
}

static enum rs_status
reach(struct table *t, const struct exact_entry *from, float **row)
{
	struct exact_entry *entry;
	int is_new;

	if (!table_is_exact(t)) {
		table_set_touched(t, from->id - t->begin, 1);
		*row = table_row(t, from->id - t->begin);
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
	if (table_is_exact(t))
		RS_TRY(make_room(a, p));
	for (uint64_t i = 0; i < p->header->n; i++) {
		const struct exact_entry *from = rows_file_entry(p, i);
		float *row;

		if (from->id - t->begin >= t->n_rows)
			continue;
		RS_TRY(reach(t, from, &row));
		rows_file_take(p, from, t, row);
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
struct between { const struct table *from, *to; };

static int
differs(const struct between *b, uint64_t id, const float *row)
{
	const enum row_storage storage = b->to->settings.storage;
	const float *former = table_find(b->from, id);

	return former == NULL || b->from->settings.storage != storage
	    || memcmp(former, row, b->to->D * row_weight_bytes(storage)) != 0;
}

static const float *
next_different(const struct between *b, uint64_t *at, struct exact_entry *head)
{
	const struct table *t = b->to;
	const struct exact_entry *entry;

	if (table_is_exact(t)) {
		while ((entry = exact_next(&t->exact, at)) != NULL
		    && !differs(b, entry->id, exact_row(entry)))
			;
		if (entry != NULL)
			*head = *entry;
		return entry != NULL ? exact_row(entry) : NULL;
	}
	for (uint64_t id = *at; id < t->begin + t->n_rows; id++)
		if (differs(b, id, table_row(t, id - t->begin))) {
			*head = (struct exact_entry){ .id = id };
			*at = id + 1;
			return table_row(t, id - t->begin);
		}
	return NULL;
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

enum rs_status
rows_delta_between(const struct table *from, const struct table *to,
	const struct lookup_step *step, struct file_writer *w)
{
	const struct between b = { from, to };
	struct rows_file_header h;
	struct exact_entry head;
	uint64_t n[2] = { 0, 0 }, id;
	const float *row;

	for (uint64_t at = to->begin; next_different(&b, &at, &head) != NULL; )
		n[0]++;
	for (uint64_t at = to->begin; next_gone(&b, &at, &id); )
		n[1]++;
	h = header_of(to, step, 0, n);
	RS_TRY(file_writer_write(w, &h, sizeof(h)));
	for (uint64_t at = to->begin; (row = next_different(&b, &at, &head)) != NULL; )
		RS_TRY(rows_file_put(&h, &head, row, w));
	for (uint64_t at = to->begin; next_gone(&b, &at, &id); )
		RS_TRY(file_writer_write(w, &id, sizeof(id)));
	return RS_OK;
}
