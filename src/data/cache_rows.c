/* Rows packed and unpacked: one list of parts for both ways. */
#include "data/cache_rows.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"

#define WEIGHTED 1u                /* flag: some weight is not 1                     */

struct head {
	uint32_t B, flags;
};

/* Both ways: exactly one of `out` and `in` is there. */
struct parts {
	struct buffer *out;
	const char *in;
	struct batch_view *view;   /* NULL: what is in `in` is copied                */
	size_t left;               /* of in                                          */
	int    failed;             /* in is too short                                */
};

/* NULL: there are fewer. */
static const unsigned char *
skip(struct parts *p, size_t bytes)
{
	const unsigned char *const at = (const unsigned char *)p->in;

	if (p->failed || bytes > p->left) {
		p->failed = 1;
		return NULL;
	}
	p->in += bytes;
	p->left -= bytes;
	return at;
}

static int
take(struct parts *p, void *to, size_t bytes)
{
	const unsigned char *const from = skip(p, bytes);

	if (from != NULL && bytes > 0)
		memcpy(to, from, bytes);
	return from != NULL;
}

/* n values of an array that is there. */
static enum rs_status
part(struct parts *p, void *values, size_t n, size_t size)
{
	if (values == NULL)
		return RS_OK;
	if (p->out != NULL)
		return buffer_append(p->out, values, n * size);
	(void)take(p, values, n * size);
	return RS_OK;
}

/* The same of an array that every row has one of. */
#define ROW_PART(p, batch, name, n) \
	((p)->view == NULL ? part(p, (batch)->name, n, sizeof *(batch)->name) \
		: view_part(p, (batch)->name, (n) * sizeof *(batch)->name, &(p)->view->name))

static enum rs_status
view_part(struct parts *p, const void *values, size_t bytes, const unsigned char **out)
{
	*out = values != NULL ? skip(p, bytes) : NULL;
	return RS_OK;
}

/* ---- ids -------------------------------------------------------------------- */

__attribute__((optimize("O3"))) static void
narrow(const uint64_t *restrict from, uint32_t *restrict to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint32_t)from[i];
}

__attribute__((optimize("O3"))) static void
widen(const uint32_t *restrict from, uint64_t *restrict to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

#define PIECE 1024u                /* ids at once, on the stack                      */

static enum rs_status
narrow_ids(struct parts *p, uint64_t *ids, size_t n)
{
	uint32_t piece[PIECE];

	for (size_t i = 0; i < n; i += PIECE) {
		const size_t m = n - i < PIECE ? n - i : PIECE;

		if (p->out != NULL) {
			narrow(ids + i, piece, m);
			RS_TRY(buffer_append(p->out, piece, m * sizeof *piece));
		} else if (take(p, piece, m * sizeof *piece)) {
			widen(piece, ids + i, m);
		}
	}
	return RS_OK;
}

static enum rs_status
column(struct parts *p, const struct schema *schema, size_t f, struct batch *batch)
{
	struct batch_column *const c = &batch->column[f];
	uint32_t N = (uint32_t)c->N;

	if (c->offset == NULL && p->view != NULL)
		return view_part(p, c->ids, batch->B * (schema_has_short_ids(schema, f)
			? sizeof(uint32_t) : sizeof(uint64_t)), &p->view->ids[f]);
	if (c->offset == NULL)
		N = (uint32_t)batch->B;
	else
		RS_TRY(part(p, &N, 1, sizeof N));
	if (p->failed || (p->in != NULL && N / 2 > p->left))   /* an id has four bytes or more */
		p->failed = 1;
	else
		RS_TRY(batch_reserve_ids(batch, f, N));
	if (p->failed)
		return RS_OK;
	c->N = N;
	if (schema_has_short_ids(schema, f))
		RS_TRY(narrow_ids(p, c->ids, N));
	else
		RS_TRY(part(p, c->ids, N, sizeof *c->ids));
	RS_TRY(part(p, c->weight, N, sizeof *c->weight));
	return part(p, c->offset, batch->B + 1, sizeof *c->offset);
}

/* ---- rows ------------------------------------------------------------------- */

static enum rs_status
all_parts(struct parts *p, const struct schema *schema, struct batch *batch, unsigned flags)
{
	const size_t B = batch->B, cells = B * batch->K;

	RS_TRY(ROW_PART(p, batch, label, B));
	if (flags & WEIGHTED)
		RS_TRY(ROW_PART(p, batch, weight, B));
	RS_TRY(ROW_PART(p, batch, dense, cells));
	RS_TRY(ROW_PART(p, batch, missing, cells));
	RS_TRY(ROW_PART(p, batch, group, B));
	RS_TRY(ROW_PART(p, batch, item, B));
	RS_TRY(ROW_PART(p, batch, time, B));
	for (size_t f = 0; f < batch->F; f++)
		RS_TRY(column(p, schema, f, batch));
	return RS_OK;
}

static unsigned
flags_of(const struct batch *batch)
{
	for (size_t b = 0; b < batch->B; b++)
		if (batch->weight[b] != 1)
			return WEIGHTED;
	return 0;
}

enum rs_status
cache_rows_pack(const struct schema *schema, const struct batch *batch, struct buffer *out)
{
	const struct head head = { .B = (uint32_t)batch->B, .flags = flags_of(batch) };
	struct parts p = { .out = out };
	struct batch same = *batch;            /* nothing of it is changed on this way        */

	RS_TRY(buffer_append(out, &head, sizeof head));
	return all_parts(&p, schema, &same, head.flags);
}

static enum rs_status
take_rows(struct parts *p, const struct schema *schema, struct batch *batch)
{
	const size_t n = p->left;
	struct head head = { .B = 0 };

	assert(batch->B == 0);
	if (!take(p, &head, sizeof head) || head.B > n)
		return rs_fail(RS_EDATA, "rows of a cache are cut off");
	RS_TRY(batch_reserve(batch, head.B));
	batch->B = head.B;
	for (size_t b = 0; b < batch->B && p->view == NULL && !(head.flags & WEIGHTED); b++)
		batch->weight[b] = 1;
	RS_TRY(all_parts(p, schema, batch, head.flags));
	return p->failed || p->left > 0
		? rs_fail(RS_EDATA, "rows of a cache have another length") : RS_OK;
}

enum rs_status
cache_rows_unpack(const struct schema *schema, const char *bytes, size_t n, struct batch *batch)
{
	struct parts p = { .in = bytes, .left = n };

	return take_rows(&p, schema, batch);
}

enum rs_status
cache_rows_view(const struct schema *schema, const char *bytes, size_t n, struct batch *batch,
	struct batch_view *view)
{
	struct parts p = { .in = bytes, .left = n, .view = view };

	view->weight = NULL;
	return take_rows(&p, schema, batch);
}
