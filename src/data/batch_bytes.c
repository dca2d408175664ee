/* Rows of a batch as bytes: columns one after the other, as they are in memory. */
#include "data/batch_bytes.h"

#include <string.h>

/* --- out ------------------------------------------------------------------------ */

/* Counts only when to is NULL. */
struct bytes_out {
	unsigned char *to;
	size_t n;
};

static void
put(struct bytes_out *o, const void *values, size_t n, size_t size)
{
	if (values == NULL)
		return;
	if (o->to != NULL && n > 0)
		memcpy(o->to + o->n, values, n * size);
	o->n += n * size;
}

static void
put_column(struct bytes_out *o, const struct batch_column *c, size_t B)
{
	const uint64_t N = c->N;

	put(o, &N, 1, sizeof N);
	put(o, c->ids, c->N, sizeof *c->ids);
	put(o, c->weight, c->N, sizeof *c->weight);
	put(o, c->offset, B + 1, sizeof *c->offset);
}

static void
put_batch(struct bytes_out *o, const struct batch *batch)
{
	const size_t B = batch->B, cells = batch->K * B;

	put(o, batch->label, B, sizeof *batch->label);
	put(o, batch->weight, B, sizeof *batch->weight);
	put(o, batch->dense, cells, sizeof *batch->dense);
	put(o, batch->missing, cells, sizeof *batch->missing);
	put(o, batch->group, B, sizeof *batch->group);
	put(o, batch->item, B, sizeof *batch->item);
	put(o, batch->time, B, sizeof *batch->time);
	for (size_t f = 0; f < batch->F; f++)
		put_column(o, &batch->column[f], B);
}

size_t
batch_bytes_size(const struct batch *batch)
{
	struct bytes_out o = { .to = NULL };

	put_batch(&o, batch);
	return o.n;
}

void
batch_bytes_write(const struct batch *batch, unsigned char *out)
{
	put_batch(&(struct bytes_out){ .to = out }, batch);
}

/* --- in ------------------------------------------------------------------------- */

struct bytes_in {
	const unsigned char *at;
	size_t left;
};

static enum rs_status
fail_bytes(const char *what)
{
	return rs_fail(RS_EPROTOCOL, "rows of another worker are damaged: %s", what);
}

static enum rs_status
need(const struct bytes_in *in, uint64_t n, size_t size)
{
	return n <= in->left / size ? RS_OK : fail_bytes("they end early");
}

/* Into values + first, if there are such. */
static enum rs_status
take(struct bytes_in *in, void *values, size_t first, size_t n, size_t size)
{
	if (values == NULL)
		return RS_OK;
	RS_TRY(need(in, n, size));
	if (n > 0)
		memcpy((unsigned char *)values + first * size, in->at, n * size);
	in->at += n * size;
	in->left -= n * size;
	return RS_OK;
}

/* Offsets of the rows that come count from 0. */
static enum rs_status
move_offsets(struct batch_column *c, size_t B, size_t n_rows, size_t N, uint32_t head)
{
	uint32_t *const offset = c->offset + B + 1, former = offset[-1];
	uint32_t last = head;

	if (head != 0)
		return fail_bytes("the first offset is not 0");
	for (size_t b = 0; b < n_rows; b++) {
		if (offset[b] < last || offset[b] > N)
			return fail_bytes("offsets do not ascend");
		last = offset[b];
		offset[b] += former;
	}
	return last == N ? RS_OK : fail_bytes("offsets and ids differ");
}

static enum rs_status
take_column(struct bytes_in *in, struct batch *batch, size_t f, size_t n_rows)
{
	struct batch_column *const c = &batch->column[f];
	const size_t former = c->offset != NULL ? c->N : batch->B;
	uint64_t N;
	uint32_t head;

	RS_TRY(take(in, &N, 0, 1, sizeof N));
	RS_TRY(need(in, N, sizeof *c->ids));
	if (c->offset == NULL && N != n_rows)
		return fail_bytes("a column has another number of rows");
	RS_TRY(batch_reserve_ids(batch, f, former + N));
	RS_TRY(take(in, c->ids, former, N, sizeof *c->ids));
	RS_TRY(take(in, c->weight, former, N, sizeof *c->weight));
	c->N = former + N;
	if (c->offset == NULL)
		return RS_OK;
	RS_TRY(take(in, &head, 0, 1, sizeof head));
	RS_TRY(take(in, c->offset, batch->B + 1, n_rows, sizeof *c->offset));
	return move_offsets(c, batch->B, n_rows, N, head);
}

enum rs_status
batch_bytes_append(struct batch *batch, size_t n_rows, const unsigned char *bytes, size_t n)
{
	struct bytes_in in = { bytes, n };
	const size_t B = batch->B, K = batch->K;

	RS_TRY(need(&in, n_rows, sizeof *batch->label));
	RS_TRY(batch_reserve(batch, B + n_rows));
	RS_TRY(take(&in, batch->label, B, n_rows, sizeof *batch->label));
	RS_TRY(take(&in, batch->weight, B, n_rows, sizeof *batch->weight));
	RS_TRY(take(&in, batch->dense, B * K, n_rows * K, sizeof *batch->dense));
	RS_TRY(take(&in, batch->missing, B * K, n_rows * K, sizeof *batch->missing));
	RS_TRY(take(&in, batch->group, B, n_rows, sizeof *batch->group));
	RS_TRY(take(&in, batch->item, B, n_rows, sizeof *batch->item));
	RS_TRY(take(&in, batch->time, B, n_rows, sizeof *batch->time));
	for (size_t f = 0; f < batch->F; f++)
		RS_TRY(take_column(&in, batch, f, n_rows));
	if (in.left > 0)
		return fail_bytes("they have too many bytes");
	batch->B = B + n_rows;
	return RS_OK;
}
