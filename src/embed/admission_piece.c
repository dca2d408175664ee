/* The state of an admission filter, a piece of a part at a time. */
#include "embed/admission_private.h"

size_t
admission_item_bytes(const struct admission *a)
{
	return !admission_has_state(a) ? 0 :
	       a->settings.kind == ADMISSION_SKETCH ? a->cell_bytes : sizeof(struct waiting_entry);
}

static void
get_counters(const struct admission *a, uint32_t clock, struct admission_piece *p)
{
	const struct waiting *w = &a->part[p->part].waiting;
	const size_t most = p->n;

	p->n = p->total = 0;
	for (size_t i = 0; i < w->places; i++) {
		const struct waiting_entry *e = &w->entry[i];

		if (e->count == 0 || expiry_is_over(&a->settings.expiry, e->last, clock))
			continue;
		if (p->total++ >= p->first && p->n < most)
			memcpy((char *)p->item + p->n++ * sizeof(*e), e, sizeof(*e));
	}
}

static void
get_cells(const struct admission *a, struct admission_piece *p)
{
	const struct admission_part *part = &a->part[p->part];
	size_t left;

	p->total = ADMISSION_ROWS * a->row_cells;
	left = p->first < p->total ? p->total - p->first : 0;
	p->n = p->n < left ? p->n : left;
	p->counted = part->counted;
	if (p->n > 0)
		memcpy(p->item, (const char *)part->cell + p->first * a->cell_bytes,
			p->n * a->cell_bytes);
}

void
admission_get(const struct admission *a, uint32_t clock, struct admission_piece *p)
{
	p->counted = 0;
	if (a->settings.kind == ADMISSION_COUNT)
		get_counters(a, clock, p);
	else if (a->settings.kind == ADMISSION_SKETCH)
		get_cells(a, p);
	else
		p->n = p->total = 0;
}

static enum rs_status
put_counters(struct admission *a, const struct admission_piece *p)
{
	struct waiting *w = &a->part[p->part].waiting;
	struct waiting_entry e;

	for (size_t i = 0; i < p->n; i++) {
		struct waiting_entry *there;

		memcpy(&e, (const char *)p->item + i * sizeof(e), sizeof(e));
		if (e.count == 0 || admission_part(e.id) != p->part)
			return rs_fail(RS_EDATA, "counter %zu of part %zu of the filter of '%s' "
				"cannot be", p->first + i, p->part, a->name);
		there = waiting_find(w, e.id);
		if (there != NULL)
			*there = e;
		else
			RS_TRY(waiting_put(w, &e));
	}
	return RS_OK;
}

static enum rs_status
put_cells(struct admission *a, const struct admission_piece *p)
{
	struct admission_part *part = &a->part[p->part];
	const size_t total = ADMISSION_ROWS * a->row_cells;

	if (p->first > total || p->n > total - p->first)
		return rs_fail(RS_EDATA, "part %zu of the filter of '%s' has %zu cells, not %zu",
			p->part, a->name, total, p->first + p->n);
	part->counted = p->counted;
	if (p->n > 0)
		memcpy((char *)part->cell + p->first * a->cell_bytes, p->item,
			p->n * a->cell_bytes);
	for (size_t i = p->first; i < p->first + p->n; i++)
		if (admission_cell(a, part, i) > a->settings.count)
			return rs_fail(RS_EDATA, "cell %zu of part %zu of the filter of '%s' "
				"cannot be", i, p->part, a->name);
	return RS_OK;
}

enum rs_status
admission_put(struct admission *a, const struct admission_piece *p)
{
	if (p->first == 0)
		admission_clear_part(a, p->part);
	if (a->settings.kind == ADMISSION_SKETCH)
		return put_cells(a, p);
	if (a->settings.kind == ADMISSION_COUNT)
		return put_counters(a, p);
	return p->n == 0 ? RS_OK : rs_fail(RS_EDATA, "the filter of '%s' has no counters", a->name);
}
