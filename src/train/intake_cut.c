/* Rows counted, and cut where those that are held out begin. */
#include <string.h>

#include "data/source.h"
#include "train/intake_private.h"

#define CHUNK ((size_t)1 << 20)

/* Rows of a range, whole ones first. */
struct walk {
	struct source *source;
	struct buffer text;
	uint64_t at, end;          /* of text.data[0] and of the range                */
	int      ended;
};

/* Has text up to the end of some row: *n bytes of whole rows, 0 at the end. */
static enum rs_status
next_rows(struct walk *k, const struct schema *schema, size_t *n)
{
	for (;;) {
		const uint64_t left = k->end - k->at - k->text.n;
		const size_t want = left < CHUNK ? (size_t)left : CHUNK;
		size_t got = 0;

		*n = k->text.n > 0 ? parser_split(schema, k->text.data, k->text.n, k->ended) : 0;
		if (*n > 0 || k->ended)
			return RS_OK;
		RS_TRY(buffer_reserve(&k->text, want + 1));
		RS_TRY(source_read(k->source, k->text.data + k->text.n, want, &got));
		k->text.n += got;
		k->ended = got == 0 || got == left;
	}
}

static void
drop_rows(struct walk *k, size_t n)
{
	k->text.n -= n;
	memmove(k->text.data, k->text.data + n, k->text.n);
	k->at += n;
}

static enum rs_status
walk_to(struct walk *k, const struct range *range)
{
	k->text.n = 0;
	k->at = range->begin;
	k->end = range->end;
	k->ended = 0;
	return source_seek(k->source, NULL, range->begin);
}

static enum rs_status
count_rows(struct walk *k, const struct schema *schema, const struct range_list *rows,
	uint64_t *out)
{
	for (size_t i = 0; i < rows->n; i++) {
		size_t n;

		RS_TRY(walk_to(k, &rows->item[i]));
		for (;;) {
			RS_TRY(next_rows(k, schema, &n));
			if (n == 0)
				break;
			*out += parser_count(schema, k->text.data, n);
			drop_rows(k, n);
		}
	}
	return RS_OK;
}

/* The last place in the range, up to `want`, where a row ends; its begin when none does. */
static enum rs_status
cut_range(struct walk *k, const struct schema *schema, const struct range *range,
	uint64_t want, uint64_t *cut)
{
	const struct range before = { range->begin, want };
	size_t n;

	*cut = range->begin;
	if (want <= range->begin)
		return RS_OK;
	RS_TRY(walk_to(k, &before));
	for (;;) {
		RS_TRY(next_rows(k, schema, &n));
		/* What is left at the end is a piece of a row. */
		if (k->ended && n == k->text.n && n > 0)
			n = parser_split(schema, k->text.data, n, 0);
		if (n == 0)
			return RS_OK;
		*cut += n;
		drop_rows(k, n);
	}
}

enum rs_status
intake_count(struct intake_work *w, const struct intake_file *f, const struct range_list *rows,
	uint64_t *n)
{
	struct walk k = { .source = NULL };

	*n = 0;
	RS_TRY(intake_schema(w));
	RS_TRY(source_open(f->path, &k.source));
	buffer_init(&k.text, (size_t)1 << 34);
	const enum rs_status status = count_rows(&k, &w->schema, rows, n);
	buffer_free(&k.text);
	source_close(k.source);
	return status;
}

enum rs_status
intake_cut(struct intake_work *w, const struct intake_file *f, const struct range_list *rows,
	uint64_t *cut)
{
	const double share = w->settings->incremental.holdout;
	struct walk k = { .source = NULL };
	uint64_t keep = range_list_bytes(rows);
	size_t i = 0;

	*cut = RANGE_END;
	keep -= (uint64_t)(share * (double)keep);
	while (i < rows->n && keep > rows->item[i].end - rows->item[i].begin) {
		keep -= rows->item[i].end - rows->item[i].begin;
		i++;
	}
	if (i == rows->n)
		return RS_OK;
	RS_TRY(intake_schema(w));
	RS_TRY(source_open(f->path, &k.source));
	buffer_init(&k.text, (size_t)1 << 34);
	const enum rs_status status = cut_range(&k, &w->schema, &rows->item[i],
		rows->item[i].begin + keep, cut);
	buffer_free(&k.text);
	source_close(k.source);
	/* One row at least is trained, and nothing is held out of nothing. */
	if ((i == 0 && *cut == rows->item[0].begin) || *cut >= rows->item[rows->n - 1].end)
		*cut = RANGE_END;
	return status;
}
