/* Reads a body through the bounds of its parts. */
#include <string.h>

#include "remote/shard_private.h"

void
shard_reader_init(struct shard_reader *r, const struct wire_message *m)
{
	*r = (struct shard_reader){ .part = m->part, .n_parts = m->n_parts };
	for (size_t i = 0; i < m->n_parts; i++)
		r->left += m->part[i].n;
}

static void
skip_empty(struct shard_reader *r)
{
	while (r->i < r->n_parts && r->at == r->part[r->i].n) {
		r->i++;
		r->at = 0;
	}
}

const uint8_t *
shard_reader_span(struct shard_reader *r, size_t n)
{
	const uint8_t *at;

	skip_empty(r);
	if (r->i == r->n_parts || n > r->part[r->i].n - r->at)
		return NULL;
	at = (const uint8_t *)r->part[r->i].data + r->at;
	r->at += n;
	r->left -= n;
	return at;
}

enum rs_status
shard_reader_copy(struct shard_reader *r, void *out, size_t n)
{
	uint8_t *to = out;

	if (n > r->left)
		return rs_fail(RS_EPROTOCOL, "the body is %zu bytes short", n - r->left);
	while (n > 0) {
		skip_empty(r);

		const size_t there = r->part[r->i].n - r->at, now = n < there ? n : there;

		memcpy(to, shard_reader_span(r, now), now);
		to += now;
		n -= now;
	}
	return RS_OK;
}

enum rs_status
shard_reader_block(struct shard_reader *r, size_t n, struct buffer *scratch, const uint8_t **out)
{
	static const uint8_t nothing[1];

	if (n > r->left)
		return rs_fail(RS_EPROTOCOL, "the body is %zu bytes short", n - r->left);
	*out = n == 0 ? nothing : shard_reader_span(r, n);
	if (*out != NULL)
		return RS_OK;
	buffer_init(scratch, FRAME_BODY_MAX + 1);
	RS_TRY(buffer_reserve(scratch, n));
	RS_TRY(shard_reader_copy(r, scratch->data, n));
	*out = (const uint8_t *)scratch->data;
	return RS_OK;
}
