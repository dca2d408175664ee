/*
 * Where cells and rows end.  Without quotes 64 bytes are compared at once; with
 * quotes (RFC 4180: a quote opens only at the start of a cell) byte by byte.
 */
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "data/parser_private.h"

struct quote_scan {
	int inside, cell_start;
};

/* 1 when c, at the place the scan has come to, is outside quotes. */
static inline int
quote_scan_step(struct quote_scan *s, char c, char separator)
{
	if (s->inside) {
		s->inside = c != '"';
		return 0;
	}
	if (c == '"') {
		/* cell_start stays set inside a quoted cell, so "" closes and opens. */
		s->inside = s->cell_start;
		return 0;
	}
	s->cell_start = c == separator || c == '\n';
	return 1;
}

static size_t
row_end(const char *text, size_t n, int quoted, char separator)
{
	struct quote_scan scan = { 0, 1 };

	if (!quoted) {
		const char *const end = memchr(text, '\n', n);

		return end != NULL ? (size_t)(end + 1 - text) : n;
	}
	for (size_t i = 0; i < n; i++)
		if (quote_scan_step(&scan, text[i], separator) && text[i] == '\n')
			return i + 1;
	return n;
}

size_t
text_row_end(const char *text, size_t n, int quoted, char separator)
{
	return row_end(text, n, quoted && memchr(text, '"', n) != NULL, separator);
}

uint64_t
text_count_rows(const char *text, size_t n, int quoted, char separator, text_blank_fn *is_blank)
{
	const int quotes = quoted && memchr(text, '"', n) != NULL;
	uint64_t rows = 0;

	for (size_t begin = 0; begin < n;) {
		const size_t next = begin + row_end(text + begin, n - begin, quotes, separator);

		rows += !is_blank(text, begin, next - (text[next - 1] == '\n'));
		begin = next;
	}
	return rows;
}

size_t
text_last_row_end(const char *text, size_t n, int quoted, char separator)
{
	struct quote_scan scan = { 0, 1 };
	size_t last = 0;

	if (!quoted || memchr(text, '"', n) == NULL) {
		const char *const end = memrchr(text, '\n', n);

		return end != NULL ? (size_t)(end + 1 - text) : 0;
	}
	for (size_t i = 0; i < n; i++)
		if (quote_scan_step(&scan, text[i], separator) && text[i] == '\n')
			last = i + 1;
	return last;
}

static enum rs_status
span_index_room(struct span_index *index, size_t n)
{
	size_t capacity = index->capacity > 0 ? index->capacity : 4096;
	uint32_t *larger;

	if (n <= index->capacity)
		return RS_OK;
	while (capacity < n)
		capacity *= 2;
	RS_TRY(memory_alloc(capacity, sizeof *larger, &larger));
	if (index->n > 0)
		memcpy(larger, index->at, index->n * sizeof *larger);
	free(index->at);
	index->at = larger;
	index->capacity = capacity;
	return RS_OK;
}

static enum rs_status
index_quoted(struct span_index *index, const char *text, size_t n, char separator)
{
	struct quote_scan scan = { 0, 1 };

	for (size_t i = 0; i < n; i++)
		if (quote_scan_step(&scan, text[i], separator) &&
			(text[i] == separator || text[i] == '\n')) {
			RS_TRY(span_index_room(index, index->n + 1));
			index->at[index->n++] = (uint32_t)i;
		}
	return RS_OK;
}

static enum rs_status
index_bytes(struct span_index *index, const char *text, size_t begin, size_t n, char separator)
{
	for (size_t i = begin; i < n; i++)
		if (text[i] == separator || text[i] == '\n') {
			RS_TRY(span_index_room(index, index->n + 1));
			index->at[index->n++] = (uint32_t)i;
		}
	return RS_OK;
}

#ifdef __SSE2__
static inline uint64_t
mask64(const char *text, __m128i separator, __m128i newline)
{
	uint64_t mask = 0;

	for (int i = 0; i < 4; i++) {
		const __m128i x = _mm_loadu_si128((const __m128i *)(text + 16 * i));
		const __m128i hit = _mm_or_si128(
			_mm_cmpeq_epi8(x, separator), _mm_cmpeq_epi8(x, newline));

		mask |= (uint64_t)(unsigned)_mm_movemask_epi8(hit) << 16 * i;
	}
	return mask;
}

static enum rs_status
index_plain(struct span_index *index, const char *text, size_t n, char separator)
{
	const __m128i s = _mm_set1_epi8(separator), newline = _mm_set1_epi8('\n');
	size_t i = 0;

	for (; i + 64 <= n; i += 64) {
		uint64_t mask = mask64(text + i, s, newline);
		uint32_t *at;

		RS_TRY(span_index_room(index, index->n + 64));
		at = index->at + index->n;
		for (; mask != 0; mask &= mask - 1)
			*at++ = (uint32_t)i + (uint32_t)__builtin_ctzll(mask);
		index->n = (size_t)(at - index->at);
	}
	return index_bytes(index, text, i, n, separator);
}
#else
static enum rs_status
index_plain(struct span_index *index, const char *text, size_t n, char separator)
{
	return index_bytes(index, text, 0, n, separator);
}
#endif

enum rs_status
span_index_make(struct span_index *index, const char *text, size_t n, int quoted, char separator)
{
	index->n = 0;
	if (n > UINT32_MAX)
		return rs_fail(RS_EDATA, "a span of %zu bytes is longer than 4 GiB", n);
	if (quoted && memchr(text, '"', n) != NULL)
		RS_TRY(index_quoted(index, text, n, separator));
	else
		RS_TRY(index_plain(index, text, n, separator));
	if (n > 0 && (index->n == 0 || index->at[index->n - 1] != n - 1 || text[n - 1] != '\n')) {
		RS_TRY(span_index_room(index, index->n + 1));
		index->at[index->n++] = (uint32_t)n;
	}
	return RS_OK;
}
