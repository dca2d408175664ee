/*
 * Where cells and rows end.  Without quotes 64 bytes are compared at once, by the widest
 * code that the processor has; with quotes (RFC 4180: a quote opens only at the start of a
 * cell) byte by byte.
 */
#include <stdlib.h>
#include <string.h>

#include "config.h"
#ifdef HAVE_X86_LEVELS
#include <immintrin.h>
#endif

#include "data/parser_private.h"

#define BLOCK    64u               /* bytes compared at once                         */
#define AT_ONCE  8u                /* ends written without looking how many there are */
#define SENTINEL 1u                /* at[-1] + 1 is the first byte                   */

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
grow(uint32_t **array, size_t *capacity, size_t n, size_t before)
{
	size_t more = *capacity > 0 ? *capacity : 4096;
	uint32_t *larger;

	if (n <= *capacity)
		return RS_OK;
	while (more < n)
		more *= 2;
	larger = realloc(*array == NULL ? NULL : *array - before,
		(more + before) * sizeof *larger);
	if (larger == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for an index of %zu cells", more);
	*array = larger + before;
	*capacity = more;
	return RS_OK;
}

/* Room for n more ends of cells and as many of rows. */
static inline enum rs_status
index_room(struct span_index *index, size_t n)
{
	if (index->n + n > index->capacity) {
		RS_TRY(grow(&index->at, &index->capacity, index->n + n, SENTINEL));
		index->at[-1] = UINT32_MAX;
	}
	return index->n_rows + n > index->row_capacity ?
		grow(&index->row, &index->row_capacity, index->n_rows + n, 0) : RS_OK;
}

void
span_index_free(struct span_index *index)
{
	if (index->at != NULL)
		free(index->at - SENTINEL);
	free(index->row);
	*index = (struct span_index){ .at = NULL };
}

static enum rs_status
index_end(struct span_index *index, size_t at, int of_row)
{
	RS_TRY(index_room(index, 1));
	if (of_row)
		index->row[index->n_rows++] = (uint32_t)index->n;
	index->at[index->n++] = (uint32_t)at;
	return RS_OK;
}

static enum rs_status
index_quoted(struct span_index *index, const char *text, size_t n, char separator)
{
	struct quote_scan scan = { 0, 1 };

	for (size_t i = 0; i < n; i++)
		if (quote_scan_step(&scan, text[i], separator) &&
			(text[i] == separator || text[i] == '\n'))
			RS_TRY(index_end(index, i, text[i] == '\n'));
	return RS_OK;
}

static enum rs_status
index_bytes(struct span_index *index, const char *text, size_t begin, size_t n, char separator)
{
	for (size_t i = begin; i < n; i++)
		if (text[i] == separator || text[i] == '\n')
			RS_TRY(index_end(index, i, text[i] == '\n'));
	return RS_OK;
}

static enum rs_status
index_plain(struct span_index *index, const char *text, size_t n, char separator)
{
	return index_bytes(index, text, 0, n, separator);
}

#ifdef HAVE_X86_LEVELS
/* Of 64 bytes: bit i is byte i. */
struct block_masks {
	uint64_t ends, newlines;
};

/* Their ends into the index, which has room for 64 + 8 more.  at: of the first byte. */
static inline void
index_block(struct span_index *index, size_t at, struct block_masks mask)
{
	uint32_t *to = index->at + index->n;
	uint64_t left = mask.ends;

	for (; mask.newlines != 0; mask.newlines &= mask.newlines - 1) {
		const uint64_t before = mask.ends & ((mask.newlines & -mask.newlines) - 1);

		index->row[index->n_rows++] = (uint32_t)(index->n +
			(size_t)__builtin_popcountll(before));
	}
	index->n += (size_t)__builtin_popcountll(left);
	do
		for (unsigned k = 0; k < AT_ONCE; k++) {
			*to++ = (uint32_t)at + (uint32_t)__builtin_ctzll(left | (uint64_t)1 << 63);
			left &= left - 1;
		}
	while (left != 0);
}

#define AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))

AVX2 static inline struct block_masks
masks_avx2(const char *text, __m256i separator, __m256i newline)
{
	const __m256i low = _mm256_loadu_si256((const __m256i *)text);
	const __m256i high = _mm256_loadu_si256((const __m256i *)(text + 32));
	const __m256i low_end = _mm256_cmpeq_epi8(low, newline);
	const __m256i high_end = _mm256_cmpeq_epi8(high, newline);
	const uint64_t rows = (uint32_t)_mm256_movemask_epi8(low_end) |
		(uint64_t)(uint32_t)_mm256_movemask_epi8(high_end) << 32;
	const uint64_t cells =
		(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, separator)) |
		(uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, separator)) << 32;

	return (struct block_masks){ rows | cells, rows };
}

AVX2 static enum rs_status
index_avx2(struct span_index *index, const char *text, size_t n, char separator)
{
	const __m256i s = _mm256_set1_epi8(separator), newline = _mm256_set1_epi8('\n');
	size_t i = 0;

	for (; i + BLOCK <= n; i += BLOCK) {
		RS_TRY(index_room(index, BLOCK + AT_ONCE));
		index_block(index, i, masks_avx2(text + i, s, newline));
	}
	return index_bytes(index, text, i, n, separator);
}

static int
has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
		__builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
}
#endif

static int
has_baseline(void)
{
	return 1;
}

const struct span_level span_levels[] = {
#ifdef HAVE_X86_LEVELS
	{ "avx2", has_avx2, index_avx2 },
#endif
	{ "baseline", has_baseline, index_plain },
	{ NULL, NULL, NULL },
};

const struct span_level *
span_level_best(void)
{
	const struct span_level *level = span_levels;

	while (!level->has())
		level++;
	return level;
}

enum rs_status
span_index_make(struct span_index *index, const struct span_level *level, const char *text,
	size_t n, int quoted, char separator)
{
	index->n = index->n_rows = 0;
	if (n > UINT32_MAX)
		return rs_fail(RS_EDATA, "a span of %zu bytes is longer than 4 GiB", n);
	index->quotes = quoted && memchr(text, '"', n) != NULL;
	if (index->quotes)
		RS_TRY(index_quoted(index, text, n, separator));
	else
		RS_TRY(level->index(index, text, n, separator));
	return n > 0 && (index->n == 0 || index->at[index->n - 1] != n - 1 || text[n - 1] != '\n')
		? index_end(index, n, 1) : RS_OK;
}
