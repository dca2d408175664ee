/*
 * Logs by rows: a new file that is a beginning of another is a copy that was made while that
 * one grew, and not trained.  The first bytes of all files are compared with those of new
 * ones, so nothing is done while there is no new file.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "data/source.h"
#include "train/intake_private.h"

struct beginnings {
	struct intake_work *w;
	struct intake_map by_head;         /* new files                               */
	uint32_t *length;                  /* [n] of their heads, ascending           */
	size_t    n;
	char     *text;                    /* [LEDGER_HEAD]                           */
};

static int
is_new(const struct intake_file *f)
{
	return f->looked && f->known == NULL && f->original == NULL && !f->copied && !f->waits &&
		f->head_bytes > 0;
}

static int
length_order(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
index_new(struct beginnings *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->w->n; i++) {
		const struct intake_file *const f = &b->w->file[i];

		if (!is_new(f))
			continue;
		intake_map_add(&b->by_head, intake_past_key_head(f->head_bytes, f->head), i);
		b->length[b->n++] = f->head_bytes;
	}
	if (b->n > 0)
		qsort(b->length, b->n, sizeof *b->length, length_order);
	for (size_t i = 0; i < b->n; i++)
		if (n == 0 || b->length[n - 1] != b->length[i])
			b->length[n++] = b->length[i];
	b->n = n;
}

/* The longer one, of two that are equal the one that is known or the first by name. */
static int
may_be_original(const struct intake_file *g, const struct intake_file *f)
{
	return g->text > f->text || (g->text == f->text && (g < f || !is_new(g)));
}

static enum rs_status
try_pair(struct beginnings *b, struct intake_file *g, struct intake_file *f)
{
	int has_rows, same;

	if (g == f || g->original != NULL || !is_new(f))
		return RS_OK;
	RS_TRY(intake_size(g));
	RS_TRY(intake_size(f));
	if (!may_be_original(g, f))
		return RS_OK;
	RS_TRY(intake_header(b->w, f, &has_rows));
	if (!has_rows)
		return RS_OK;
	RS_TRY(intake_begins_with(g, f, &same));
	if (!same)
		return RS_OK;
	f->original = g;
	f->was = g->path;
	return RS_OK;
}

/* New files with which g begins. */
static enum rs_status
compare(struct beginnings *b, struct intake_file *g, size_t n)
{
	uint32_t crc = 0;
	size_t at = 0;

	for (size_t i = 0; i < b->n && b->length[i] <= n; i++) {
		crc = hash_crc32c(crc, b->text + at, b->length[i] - at);
		at = b->length[i];
		for (size_t k = intake_map_find(&b->by_head,
		     intake_past_key_head(b->length[i], crc)); k != INTAKE_NONE;
		     k = intake_map_next(&b->by_head, k))
			RS_TRY(try_pair(b, g, &b->w->file[k]));
	}
	return RS_OK;
}

static enum rs_status
read_and_compare(struct beginnings *b, struct intake_file *g)
{
	struct source *source;
	enum rs_status status;
	size_t n = 0, got = 1;

	RS_TRY(source_open(g->path, &source));
	status = RS_OK;
	while (status == RS_OK && got > 0 && n < b->length[b->n - 1]) {
		status = source_read(source, b->text + n, b->length[b->n - 1] - n, &got);
		n += got;
	}
	g->gzip = source_is_gzip(source);
	source_close(source);
	return status == RS_OK ? compare(b, g, n) : status;
}

static enum rs_status
match_all(struct beginnings *b)
{
	RS_TRY(intake_map_init(&b->by_head, b->w->n));
	RS_TRY(memory_alloc(b->w->n + 1, sizeof *b->length, &b->length));
	RS_TRY(memory_alloc(LEDGER_HEAD, 1, &b->text));
	index_new(b);
	for (size_t i = 0; i < b->w->n && b->n > 0; i++) {
		struct intake_file *const g = &b->w->file[i];

		if (!g->waits && (g->gzip || g->size >= b->length[0] || g->text >= b->length[0]))
			RS_TRY(read_and_compare(b, g));
	}
	return RS_OK;
}

enum rs_status
intake_match_beginnings(struct intake_work *w)
{
	struct beginnings b = { .w = w };
	const enum rs_status status = match_all(&b);

	intake_map_free(&b.by_head);
	free(b.length);
	free(b.text);
	return status;
}
