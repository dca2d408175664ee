/* Rows by id in pieces. */
#include "embed/rows_pieces.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum rs_status
rows_pieces_open(const struct table *t, struct rows_pieces *p)
{
	const size_t words = (t->n_rows + TABLE_TOUCHED_BITS - 1) / TABLE_TOUCHED_BITS;
	const struct rows_file_shape shape = rows_file_shape_of(t);

	assert(!table_is_exact(t));
	*p = (struct rows_pieces){ .t = t };
	RS_TRY(memory_alloc(words, sizeof(*p->marked), &p->marked));
	enum rs_status status = memory_alloc(t->stride, sizeof(*p->scratch), &p->scratch);
	if (status != RS_OK) {
		rows_pieces_close(p);
		return status;
	}
	for (size_t i = 0; i < words; i++)
		p->marked[i] = t->touched[i] | (t->kept != NULL ? t->kept[i] : 0);
	p->header = rows_file_header_of(t, &shape, table_walk_count(t, p->marked, NULL));
	return RS_OK;
}

void
rows_pieces_close(struct rows_pieces *p)
{
	free(p->scratch);
	free(p->marked);
	memset(p, 0, sizeof(*p));
}

enum rs_status
rows_pieces_write(struct rows_pieces *p, uint64_t from, uint64_t to, struct file_writer *w,
	uint64_t *begins)
{
	const struct rows_file_header *const h = &p->header;
	const uint64_t bytes = h->entry_bytes;
	const uint64_t first = from > h->entries ? (from - h->entries) / bytes : 0;
	const uint64_t end = to > h->entries ? (to - h->entries + bytes - 1) / bytes : 0;
	struct table_walk walk;

	assert(from <= to && to <= h->file_bytes);
	*begins = from < h->entries ? 0 : h->entries + first * bytes;
	if (*begins == 0)
		RS_TRY(file_writer_write(w, h, sizeof(*h)));
	if (first >= end)
		return RS_OK;
	enum rs_status status = table_walk_init_part(&walk, p->t, p->marked, first, end - first);
	if (status == RS_OK)
		status = rows_file_put_walk(h, &walk, p->scratch, w);
	table_walk_free(&walk);
	return status;
}
