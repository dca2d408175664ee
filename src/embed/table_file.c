/* Writing and reading the file of a table. */
#include "embed/table_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define ALIGN       64
#define CHUNK_BYTES ((size_t)256 << 10)
#define WIDTH_MAX   ((uint32_t)1 << 24)

_Static_assert(sizeof(struct table_file_header) == 256, "the header is 256 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "table files are little-endian");

static uint64_t
align_up(uint64_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static void
header_layout(struct table_file_header *h)
{
	const uint64_t n = h->end - h->begin;

	h->weights = h->header_bytes;
	h->slots = align_up(h->weights + n * h->dim * sizeof(float));
	h->touched = align_up(h->slots + n * h->n_slot * sizeof(float));
	h->file_bytes = h->touched + (n + 7) / 8;
}

static enum rs_status
write_padding(struct file_writer *w, uint64_t n)
{
	static const char zero[ALIGN];

	return file_writer_write(w, zero, (size_t)(align_up(n) - n));
}

/* One section: `width` floats at `offset` of every row, gathered in chunks. */
static enum rs_status
write_floats(
	const struct table *t, struct file_writer *w, size_t offset, size_t width, float *chunk)
{
	const size_t per_chunk = CHUNK_BYTES / sizeof(float) / (width > 0 ? width : 1);
	const uint64_t rows = t->n_rows;

	for (uint64_t begin = 0; width > 0 && begin < rows; begin += per_chunk) {
		const size_t n = rows - begin < per_chunk ? (size_t)(rows - begin) : per_chunk;

		for (size_t i = 0; i < n; i++)
			memcpy(chunk + i * width, table_row(t, begin + i) + offset,
				width * sizeof(float));
		RS_TRY(file_writer_write(w, chunk, n * width * sizeof(float)));
	}
	return write_padding(w, rows * width * sizeof(float));
}

static enum rs_status
write_sections(const struct table *t, struct file_writer *w, float *chunk)
{
	struct table_file_header h = {
		.magic = TABLE_FILE_MAGIC, .version = TABLE_FILE_VERSION, .header_bytes = sizeof(h),
		.rows = t->settings.rows, .begin = t->begin, .end = t->begin + t->n_rows,
		.dim = (uint32_t)t->D, .n_slot = (uint32_t)t->n_slot,
	};

	header_layout(&h);
	snprintf(h.optimizer, sizeof(h.optimizer), "%s", t->optimizer->name);
	snprintf(h.name, sizeof(h.name), "%s", t->settings.name);
	RS_TRY(file_writer_write(w, &h, sizeof(h)));
	RS_TRY(write_floats(t, w, 0, t->D, chunk));
	RS_TRY(write_floats(t, w, t->D, t->n_slot, chunk));
	return file_writer_write(w, t->touched, (size_t)(t->n_rows + 7) / 8);
}

enum rs_status
table_file_write(const struct table *t, struct file_writer *w)
{
	enum rs_status status;
	float *chunk;
	size_t bytes = CHUNK_BYTES;

	if (bytes < t->stride * sizeof(float))
		bytes = t->stride * sizeof(float);
	RS_TRY(memory_alloc(bytes, 1, &chunk));
	status = write_sections(t, w, chunk);
	free(chunk);
	return status;
}

enum rs_status
table_file_check(const struct file_map *m, const char *path, const struct table_file_header **out)
{
	const struct table_file_header *h = (const struct table_file_header *)(const void *)m->data;
	struct table_file_header want;

	if (m->size < sizeof(*h) || memcmp(h->magic, TABLE_FILE_MAGIC, sizeof(h->magic)) != 0)
		return rs_fail(RS_EDATA, "'%s' is not a table file", path);
	if (h->version != TABLE_FILE_VERSION || h->header_bytes != sizeof(*h))
		return rs_fail(RS_EDATA, "'%s' has format version %u, expected %d", path,
			h->version, TABLE_FILE_VERSION);
	if (h->begin > h->end || h->end > h->rows || h->end - h->begin > m->size
	    || h->dim > WIDTH_MAX || h->n_slot > WIDTH_MAX
	    || memchr(h->name, 0, sizeof(h->name)) == NULL
	    || memchr(h->optimizer, 0, sizeof(h->optimizer)) == NULL)
		return rs_fail(RS_EDATA, "'%s' has a damaged header", path);
	want = *h;
	header_layout(&want);
	if (memcmp(&want, h, sizeof(want)) != 0 || want.file_bytes != m->size)
		return rs_fail(RS_EDATA, "'%s' is %zu bytes, its header says %llu", path, m->size,
		    (unsigned long long)want.file_bytes);
	*out = h;
	return RS_OK;
}

static enum rs_status
check_table(const struct table *t, const struct table_file_header *h, const char *path)
{
	if (strcmp(h->name, t->settings.name) != 0)
		return rs_fail(RS_EDATA, "'%s' holds table '%s', expected '%s'", path, h->name,
		    t->settings.name);
	if (h->rows != t->settings.rows || h->dim != t->D)
		return rs_fail(RS_EDATA,
			"'%s': table '%s' has %llu rows of %u, expected %llu of %zu", path, h->name,
			(unsigned long long)h->rows, h->dim, (unsigned long long)t->settings.rows,
			t->D);
	return RS_OK;
}

/* Those of the rows that are here. */
static void
read_rows(struct table *t, const struct table_file_header *h, const char *data)
{
	const int same = strcmp(h->optimizer, t->optimizer->name) == 0 && h->n_slot == t->n_slot;
	const uint64_t begin = h->begin > t->begin ? h->begin : t->begin;
	const uint64_t end = h->end < t->begin + t->n_rows ? h->end : t->begin + t->n_rows;
	const char *touched = data + h->touched;

	for (uint64_t id = begin; id < end; id++) {
		const uint64_t i = id - h->begin;
		float *w = table_row(t, id - t->begin);

		memcpy(w, data + h->weights + i * t->D * sizeof(float), t->D * sizeof(float));
		if (same)
			memcpy(w + t->D, data + h->slots + i * t->n_slot * sizeof(float),
			    t->n_slot * sizeof(float));
		else if (t->n_slot > 0)
			row_optimizer_init(t->optimizer, &t->settings.optimizer, t->D, w + t->D);
		if (touched[i / 8] >> (i % 8) & 1)
			table_touch(t, id - t->begin);
	}
	t->state_anew |= !same && t->n_slot > 0;
}

static enum rs_status
read_file(struct table *t, const char *path, uint64_t *begin, uint64_t *end)
{
	struct file_map m;
	const struct table_file_header *h;
	enum rs_status status;

	RS_TRY(file_map_open(&m, path));
	status = table_file_check(&m, path, &h);
	if (status == RS_OK)
		status = check_table(t, h, path);
	if (status == RS_OK) {
		read_rows(t, h, m.data);
		*begin = h->begin;
		*end = h->end;
	}
	file_map_close(&m);
	return status;
}

/* Ranges of the files must be all rows, each once; begin, end are sorted here. */
static enum rs_status
check_cover(const struct table *t, uint64_t *begin, uint64_t *end, size_t n)
{
	uint64_t next = 0;

	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j > 0 && (begin[j - 1] > begin[j]
		    || (begin[j - 1] == begin[j] && end[j - 1] > end[j])); j--) {
			const uint64_t b = begin[j], e = end[j];

			begin[j] = begin[j - 1];
			end[j] = end[j - 1];
			begin[j - 1] = b;
			end[j - 1] = e;
		}
	for (size_t i = 0; i < n; i++) {
		if (begin[i] != next)
			return rs_fail(RS_EDATA, "table '%s': rows %llu to %llu are %s",
				t->settings.name,
				(unsigned long long)(begin[i] < next ? begin[i] : next),
				(unsigned long long)(begin[i] < next ? next : begin[i]),
				begin[i] < next ? "in two files" : "in no file");
		next = end[i];
	}
	if (next != t->settings.rows)
		return rs_fail(RS_EDATA, "table '%s': rows %llu to %llu are in no file",
			t->settings.name, (unsigned long long)next,
			(unsigned long long)t->settings.rows);
	return RS_OK;
}

enum rs_status
table_file_read(struct table *t, const char *const *path, size_t n_paths)
{
	enum rs_status status = RS_OK;
	uint64_t *range;

	RS_TRY(memory_alloc(n_paths + 1, 2 * sizeof(*range), &range));
	memset(t->touched, 0,
		(size_t)(t->n_rows + TABLE_TOUCHED_BITS - 1) / TABLE_TOUCHED_BITS *
			sizeof(*t->touched));
	for (size_t i = 0; i < n_paths && status == RS_OK; i++)
		status = read_file(t, path[i], &range[i], &range[n_paths + i]);
	if (status == RS_OK)
		status = check_cover(t, range, range + n_paths, n_paths);
	free(range);
	return status;
}
