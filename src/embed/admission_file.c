/*
 * The file of an admission filter.  Little-endian: struct header, then for every part from
 * begin to end, in order, a uint64_t and
 *
 *	count        that many struct waiting_entry, by id
 *	sketch       the occurrences counted; the cells, row after row, padded to 8 bytes
 */
#include <stdio.h>
#include <string.h>

#include "embed/admission_private.h"

#define MAGIC   "RSADMIT"
#define VERSION 1
#define ALIGN   8

struct header {
	char     magic[8];
	uint32_t version, header_bytes;
	uint32_t kind, cell_bytes; /* enum admission_kind                            */
	uint64_t row_cells;        /* 0: no sketch                                   */
	uint32_t begin, end;       /* parts                                          */
	char     name[ADMISSION_NAME_SIZE];
};

_Static_assert(sizeof(struct waiting_entry) == 16, "counters are written as they lie");

static size_t
padding(size_t n)
{
	return (ALIGN - n % ALIGN) % ALIGN;
}

static enum rs_status
save_counters(const struct admission *a, const struct waiting *waiting, uint32_t clock,
	struct file_writer *w)
{
	const struct expiry *expiry = &a->settings.expiry;
	uint64_t n = 0;

	for (size_t i = 0; i < waiting->places; i++)
		n += waiting->entry[i].count > 0
			&& !expiry_is_over(expiry, waiting->entry[i].last, clock);
	RS_TRY(file_writer_write(w, &n, sizeof(n)));
	for (size_t i = 0; i < waiting->places; i++) {
		const struct waiting_entry *e = &waiting->entry[i];

		if (e->count > 0 && !expiry_is_over(expiry, e->last, clock))
			RS_TRY(file_writer_write(w, e, sizeof(*e)));
	}
	return RS_OK;
}

static enum rs_status
save_cells(const struct admission *a, const struct admission_part *p, struct file_writer *w)
{
	static const char zero[ALIGN];

	RS_TRY(file_writer_write(w, &p->counted, sizeof(p->counted)));
	RS_TRY(file_writer_write(w, p->cell, a->part_cell_bytes));
	return file_writer_write(w, zero, padding(a->part_cell_bytes));
}

enum rs_status
admission_save(const struct admission *a, uint32_t clock, struct file_writer *w)
{
	const struct admission_settings *s = &a->settings;
	struct header h = {
		.magic = MAGIC, .version = VERSION, .header_bytes = sizeof(h),
		.kind = s->kind, .cell_bytes = (uint32_t)a->cell_bytes,
		.row_cells = a->row_cells, .begin = (uint32_t)s->part_begin,
		.end = (uint32_t)s->part_end,
	};

	snprintf(h.name, sizeof(h.name), "%s", a->name);
	RS_TRY(file_writer_write(w, &h, sizeof(h)));
	for (size_t i = s->part_begin; i < s->part_end && admission_has_state(a); i++)
		if (s->kind == ADMISSION_SKETCH)
			RS_TRY(save_cells(a, &a->part[i], w));
		else
			RS_TRY(save_counters(a, &a->part[i].waiting, clock, w));
	return RS_OK;
}

/* A mapped file from front to back. */
struct reader {
	const struct file_map *map;
	const char *path;
	size_t at;
};

static enum rs_status
take(struct reader *r, uint64_t n, size_t size, const void **out)
{
	if (n > (r->map->size - r->at) / size)
		return rs_fail(RS_EDATA, "'%s' is cut short behind byte %zu", r->path, r->at);
	*out = r->map->data + r->at;
	r->at += (size_t)n * size;
	return RS_OK;
}

static enum rs_status
take_number(struct reader *r, uint64_t *out)
{
	const void *bytes = NULL;

	RS_TRY(take(r, 1, sizeof(*out), &bytes));
	memcpy(out, bytes, sizeof(*out));
	return RS_OK;
}

static enum rs_status
check_header(const struct admission *a, const struct header *h, const char *path)
{
	if (memcmp(h->magic, MAGIC, sizeof(h->magic)) != 0)
		return rs_fail(RS_EDATA, "'%s' is not a file of an admission filter", path);
	if (h->version != VERSION || h->header_bytes != sizeof(*h))
		return rs_fail(RS_EDATA, "'%s' has format version %u, expected %d", path,
			h->version, VERSION);
	if (h->begin > h->end || h->end > ADMISSION_PARTS
	    || memchr(h->name, 0, sizeof(h->name)) == NULL)
		return rs_fail(RS_EDATA, "'%s' has a damaged header", path);
	if (strcmp(h->name, a->name) != 0)
		return rs_fail(RS_EDATA, "'%s' holds the admission filter of '%s', expected '%s'",
			path, h->name, a->name);
	return RS_OK;
}

/* Counters of one part; those of parts elsewhere are only passed over. */
static enum rs_status
load_counters(struct admission *a, struct reader *r, size_t part)
{
	const int here = part >= a->settings.part_begin && part < a->settings.part_end;
	uint64_t n = 0, above = 0;
	const void *bytes = NULL;

	RS_TRY(take_number(r, &n));
	RS_TRY(take(r, n, sizeof(struct waiting_entry), &bytes));
	for (uint64_t i = 0; here && i < n; i++) {
		struct waiting_entry e;

		memcpy(&e, (const char *)bytes + i * sizeof(e), sizeof(e));
		if (e.count == 0 || admission_part(e.id) != part || (i > 0 && e.id <= above))
			return rs_fail(RS_EDATA, "'%s' has a damaged counter of id %llu", r->path,
				(unsigned long long)e.id);
		above = e.id;
		RS_TRY(waiting_put(&a->part[part].waiting, &e));
	}
	return RS_OK;
}

static enum rs_status
load_cells(struct admission *a, struct reader *r, const struct header *h, size_t part)
{
	const size_t n = ADMISSION_ROWS * a->row_cells;
	const int here = part >= a->settings.part_begin && part < a->settings.part_end;
	uint64_t counted = 0;
	const void *bytes = NULL, *pad = NULL;

	RS_TRY(take_number(r, &counted));
	RS_TRY(take(r, n, h->cell_bytes, &bytes));
	RS_TRY(take(r, padding(n * h->cell_bytes), 1, &pad));
	if (!here)
		return RS_OK;
	a->part[part].counted = counted;
	for (size_t i = 0; i < n; i++) {
		const uint8_t *b = (const uint8_t *)bytes + i * h->cell_bytes;
		const uint32_t value = h->cell_bytes == 1 ? b[0] : (uint32_t)(b[0] | b[1] << 8);

		admission_set_cell(a, &a->part[part], i,
			value < a->settings.count ? value : a->settings.count);
	}
	return RS_OK;
}

void
admission_load_begin(struct admission *a)
{
	for (size_t i = 0; i < ADMISSION_PARTS; i++)
		admission_clear_part(a, i);
	a->loaded = 0;
}

enum rs_status
admission_load(struct admission *a, const struct file_map *m, const char *path, int *anew)
{
	struct reader r = { .map = m, .path = path };
	const void *bytes = NULL;
	struct header h;
	int passed;

	RS_TRY(take(&r, 1, sizeof(h), &bytes));
	memcpy(&h, bytes, sizeof(h));
	RS_TRY(check_header(a, &h, path));
	passed = h.kind != (uint32_t)a->settings.kind || h.row_cells != a->row_cells
		|| (h.cell_bytes != 1 && h.cell_bytes != 2 && a->row_cells > 0);
	*anew |= passed && admission_has_state(a);
	for (size_t i = h.begin; i < h.end; i++) {
		if (a->loaded >> i & 1)
			return rs_fail(RS_EDATA,
				"'%s': part %zu of the filter of '%s' is in two files", path, i,
				a->name);
		a->loaded |= (uint64_t)1 << i;
		if (!passed && h.kind == ADMISSION_COUNT)
			RS_TRY(load_counters(a, &r, i));
		else if (!passed && h.kind == ADMISSION_SKETCH)
			RS_TRY(load_cells(a, &r, &h, i));
	}
	if (!passed && r.at != m->size)
		return rs_fail(RS_EDATA, "'%s' has %zu bytes behind its end", path, m->size - r.at);
	return RS_OK;
}

enum rs_status
admission_load_end(struct admission *a)
{
	for (size_t i = a->settings.part_begin; i < a->settings.part_end; i++)
		if (!(a->loaded >> i & 1))
			return rs_fail(RS_EDATA,
				"part %zu of the admission filter of '%s' is in no file", i,
				a->name);
	return RS_OK;
}
