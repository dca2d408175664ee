/* Gzip by members: checked reading, and entering in the middle at access points. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/source_private.h"

#define GZIP_WRAP (15 + 16)            /* zlib: gzip header and trailer expected */

struct source_point {
	uint64_t out, in;          /* decompressed offset; file offset of the next byte */
	unsigned bits;             /* of the byte before `in` that are still unread   */
	unsigned n_window;
	unsigned char *window;     /* [n_window] the text before `out`                */
};

struct source_index {
	size_t   span, most;
	struct source_point *point;    /* [n]                                         */
	size_t   n, capacity;
};

enum rs_status
source_gzip_begin(struct source *s)
{
	const int r = inflateInit2(&s->z, GZIP_WRAP);

	s->gzip_state = GZIP_MEMBER;
	if (r != Z_OK) {
		s->gzip = 0;
		return rs_fail(RS_ERESOURCE, "out of memory reading '%s'", s->name);
	}
	return RS_OK;
}

void
source_gzip_end(struct source *s)
{
	if (s->gzip)
		(void)inflateEnd(&s->z);
	s->gzip = 0;
}

static uint64_t
gzip_place(const struct source *s)
{
	return s->in_offset - (s->in_n - s->in_at);
}

static enum rs_status
gzip_truncated(const struct source *s)
{
	(void)rs_fail(RS_EDATA, "'%s': gzip data ends early at byte %ju (after %ju bytes of text)",
		s->name, (uintmax_t)gzip_place(s), (uintmax_t)s->offset);
	return rs_hint("the file is truncated; its writer may not have finished");
}

/* Drops every second point: the distance doubles. */
static void
gzip_index_thin(struct source_index *index)
{
	size_t kept = 0;

	for (size_t i = 0; i < index->n; i++) {
		if (i % 2 == 0)
			index->point[kept++] = index->point[i];
		else
			free(index->point[i].window);
	}
	index->n = kept;
	index->span *= 2;
}

static enum rs_status
gzip_index_grow(struct source_index *index)
{
	const size_t capacity = index->capacity == 0 ? 16 : 2 * index->capacity;
	struct source_point *grown = realloc(index->point, capacity * sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for %zu access points", capacity);
	index->point = grown;
	index->capacity = capacity;
	return RS_OK;
}

/* Called between two deflate blocks. */
static enum rs_status
gzip_collect(struct source *s)
{
	struct source_index *index = s->collect;
	struct source_point *p;
	uInt n = SOURCE_WINDOW;

	if (index->n > 0 && s->offset - index->point[index->n - 1].out < index->span)
		return RS_OK;
	if (index->n == index->most)
		gzip_index_thin(index);
	if (index->n == index->capacity)
		RS_TRY(gzip_index_grow(index));
	p = &index->point[index->n];
	RS_TRY(memory_alloc(SOURCE_WINDOW, 1, &p->window));
	if (inflateGetDictionary(&s->z, p->window, &n) != Z_OK)
		n = 0;
	p->n_window = n;
	p->out = s->offset;
	p->in = gzip_place(s);
	p->bits = (unsigned)s->z.data_type & 7;
	index->n++;
	return RS_OK;
}

/* What follows a member: another one, zero padding or the end. */
static enum rs_status
gzip_member(struct source *s)
{
	const unsigned char next = s->in[s->in_at];

	if (next == 0) {
		s->gzip_state = GZIP_PADDING;
		return RS_OK;
	}
	if (next != 0x1f)
		return rs_fail(RS_EDATA,
			"'%s': bytes that are not gzip after the gzip data, at byte %ju",
			s->name, (uintmax_t)gzip_place(s));
	(void)inflateReset2(&s->z, GZIP_WRAP);
	s->raw = 0;
	s->gzip_state = GZIP_BODY;
	return RS_OK;
}

static enum rs_status
gzip_padding(struct source *s)
{
	for (; s->in_at < s->in_n; s->in_at++)
		if (s->in[s->in_at] != 0)
			return rs_fail(RS_EDATA,
				"'%s': bytes that are not zero in the padding after the "
				"gzip data, at byte %ju", s->name, (uintmax_t)gzip_place(s));
	return RS_OK;
}

static void
gzip_trailer(struct source *s)
{
	const size_t have = s->in_n - s->in_at;
	const size_t step = have < s->trailer_left ? have : s->trailer_left;

	s->in_at += step;
	s->trailer_left -= (unsigned)step;
	if (s->trailer_left == 0)
		s->gzip_state = GZIP_MEMBER;
}

static enum rs_status
gzip_body(struct source *s, unsigned char *out, size_t n, size_t *got)
{
	const size_t room = n < (size_t)1 << 30 ? n : (size_t)1 << 30;
	int r;

	s->z.next_in = s->in + s->in_at;
	s->z.avail_in = (uInt)(s->in_n - s->in_at);
	s->z.next_out = out;
	s->z.avail_out = (uInt)room;
	r = inflate(&s->z, s->collect != NULL ? Z_BLOCK : Z_NO_FLUSH);
	s->in_at = s->in_n - s->z.avail_in;
	*got = room - s->z.avail_out;
	s->offset += *got;
	if (r == Z_MEM_ERROR)
		return rs_fail(RS_ERESOURCE, "out of memory reading '%s'", s->name);
	if (r != Z_OK && r != Z_BUF_ERROR && r != Z_STREAM_END) {
		(void)rs_fail(RS_EDATA, "'%s': broken gzip data near byte %ju: %s", s->name,
			(uintmax_t)gzip_place(s), s->z.msg != NULL ? s->z.msg : "not deflate");
		return rs_hint("the file is damaged; gzip -t FILE says whether a copy is sound");
	}
	if (r == Z_STREAM_END) {
		s->gzip_state = s->raw ? GZIP_TRAILER : GZIP_MEMBER;
		s->trailer_left = 8;
	} else if (s->collect != NULL && (s->z.data_type & (64 | 128)) == 128) {
		/* between two blocks, and not after the last of the member */
		return gzip_collect(s);
	}
	return RS_OK;
}

/* The end of the file is right between members and in padding only. */
static enum rs_status
gzip_at_end(struct source *s)
{
	if (s->gzip_state == GZIP_BODY || s->gzip_state == GZIP_TRAILER)
		return gzip_truncated(s);
	s->gzip_state = GZIP_END;
	return RS_OK;
}

static enum rs_status
gzip_step(struct source *s, unsigned char *out, size_t n, size_t *got)
{
	switch (s->gzip_state) {
	case GZIP_MEMBER:  return gzip_member(s);
	case GZIP_PADDING: return gzip_padding(s);
	case GZIP_TRAILER: gzip_trailer(s); return RS_OK;
	default:           return gzip_body(s, out, n, got);
	}
}

enum rs_status
source_gzip_read(struct source *s, unsigned char *out, size_t n, size_t *got)
{
	*got = 0;
	while (*got < n && s->gzip_state != GZIP_END) {
		const int is_body = s->gzip_state == GZIP_BODY;
		size_t more = 0;

		if (s->in_at == s->in_n)
			RS_TRY(source_fill(s));
		/* inflate may hold output back even when the file has ended */
		if (s->in_n > 0 || is_body) {
			const enum rs_status status = gzip_step(s, out + *got, n - *got, &more);

			*got += more;
			RS_TRY(status);
		}
		if (s->in_n == 0 && more == 0)
			RS_TRY(gzip_at_end(s));
	}
	return RS_OK;
}

static const struct source_point *
gzip_find(const struct source_index *index, uint64_t offset)
{
	size_t low = 0, high = index == NULL ? 0 : index->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (index->point[middle].out <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? NULL : &index->point[low - 1];
}

static enum rs_status
gzip_enter(struct source *s, const struct source_point *p)
{
	RS_TRY(source_seek_fd(s, p->in - (p->bits != 0)));
	(void)inflateReset2(&s->z, -15);
	if (p->bits != 0) {
		RS_TRY(source_fill(s));
		if (s->in_n == 0)
			return rs_fail(RS_EDATA, "'%s' is shorter than it was: the file changed",
				s->name);
		(void)inflatePrime(&s->z, (int)p->bits, s->in[s->in_at++] >> (8 - p->bits));
	}
	(void)inflateSetDictionary(&s->z, p->window, p->n_window);
	s->raw = 1;
	s->gzip_state = GZIP_BODY;
	s->offset = p->out;
	return RS_OK;
}

enum rs_status
source_gzip_seek(struct source *s, const struct source_index *index, uint64_t offset)
{
	const struct source_point *p = gzip_find(index, offset);

	s->collect = NULL;
	if (s->offset <= offset && (p == NULL || p->out <= s->offset))
		return RS_OK;
	if (p != NULL)
		return gzip_enter(s, p);
	RS_TRY(source_seek_fd(s, 0));
	s->gzip_state = GZIP_MEMBER;
	s->offset = 0;
	return RS_OK;
}

enum rs_status
source_collect(struct source *s, size_t span, size_t most, struct source_index **out)
{
	struct source_index *index;

	RS_TRY(memory_alloc(1, sizeof *index, &index));
	index->span = span;
	index->most = most < 2 ? 2 : most;
	s->collect = index;
	*out = index;
	return RS_OK;
}

void
source_index_free(struct source_index *index)
{
	if (index == NULL)
		return;
	for (size_t i = 0; i < index->n; i++)
		free(index->point[i].window);
	free(index->point);
	free(index);
}
