/* Checked allocation, the arena, growing buffers and large blocks. */
#include "base/memory.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE_BYTES ((size_t)64)
#define HUGE_BYTES ((size_t)2 << 20)

static size_t
round_up(size_t n, size_t unit)
{
	return (n + unit - 1) & ~(unit - 1);
}

enum rs_status
size_mul(size_t a, size_t b, size_t *out)
{
	if (__builtin_mul_overflow(a, b, out))
		return rs_fail(RS_ERESOURCE,
			"a size of %zu times %zu bytes does not fit the address space",
			a, b);
	return RS_OK;
}

enum rs_status
memory_alloc(size_t n, size_t size, void *out)
{
	size_t bytes;
	void  *block = NULL;

	memcpy(out, &block, sizeof(block));
	RS_TRY(size_mul(n, size, &bytes));
	if (bytes > SIZE_MAX - LINE_BYTES)
		return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted", bytes);
	bytes = bytes > 0 ? round_up(bytes, LINE_BYTES) : LINE_BYTES;
	block = aligned_alloc(LINE_BYTES, bytes);
	if (block == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted", bytes);
	memset(block, 0, bytes);
	memcpy(out, &block, sizeof(block));
	return RS_OK;
}

enum rs_status
memory_strdup(const char *text, char **out)
{
	*out = strdup(text);
	if (*out == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted", strlen(text) + 1);
	return RS_OK;
}

enum rs_status
arena_init(struct arena *a, size_t size)
{
	*a = (struct arena){ 0 };
	RS_TRY(memory_alloc(size, 1, &a->block));
	a->size = size > 0 ? round_up(size, LINE_BYTES) : LINE_BYTES;
	return RS_OK;
}

void
arena_free(struct arena *a)
{
	free(a->block);
	*a = (struct arena){ 0 };
}

void
arena_reset(struct arena *a)
{
	a->used = 0;
}

void *
arena_alloc(struct arena *a, size_t size)
{
	char *at = a->block + a->used;

	assert(size <= a->size - a->used);
	a->used += round_up(size, LINE_BYTES);
	return at;
}

void
buffer_init(struct buffer *b, size_t limit)
{
	*b = (struct buffer){ .limit = limit };
}

void
buffer_free(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){ .limit = b->limit };
}

enum rs_status
buffer_reserve(struct buffer *b, size_t extra)
{
	size_t capacity = b->capacity > 0 ? b->capacity : 64;
	char  *data;

	if (extra <= b->capacity - b->n)
		return RS_OK;
	if (b->n > b->limit || extra > b->limit - b->n)
		return rs_fail(RS_EDATA,
			"text or data of more than %zu bytes where %zu is the limit",
			b->n > SIZE_MAX - extra ? SIZE_MAX : b->n + extra - 1, b->limit);
	while (capacity < b->n + extra)
		capacity = capacity > b->limit / 2 ? b->limit : capacity * 2;
	data = realloc(b->data, capacity);
	if (data == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted", capacity);
	b->data = data;
	b->capacity = capacity;
	return RS_OK;
}

enum rs_status
buffer_append(struct buffer *b, const void *bytes, size_t n)
{
	if (n == 0)
		return RS_OK;
	RS_TRY(buffer_reserve(b, n));
	memcpy(b->data + b->n, bytes, n);
	b->n += n;
	return RS_OK;
}

enum rs_status
buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list arguments;
	int     n;

	va_start(arguments, format);
	n = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (n < 0)
		return rs_fail(RS_EDATA, "text that cannot be formatted: %s", strerror(errno));
	RS_TRY(buffer_reserve(b, (size_t)n + 1));
	va_start(arguments, format);
	vsnprintf(b->data + b->n, (size_t)n + 1, format, arguments);
	va_end(arguments);
	b->n += (size_t)n;
	return RS_OK;
}

/* The threshold of glibc for blocks of their own moves with what is freed unless it is set. */
#define OWN_BLOCK ((int)128 << 10)

void
memory_init(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, OWN_BLOCK);
}

/* More than a page is mapped with room to cut an aligned piece out of it. */
enum rs_status
large_alloc(size_t size, void *out)
{
	const size_t wanted = round_up(size > 0 ? size : 1, HUGE_BYTES);
	char        *raw, *block = NULL;
	size_t       before;

	memcpy(out, &block, sizeof(block));
	if (wanted < size || wanted > SIZE_MAX - HUGE_BYTES)
		return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted", size);
	raw = mmap(NULL, wanted + HUGE_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw == MAP_FAILED)
		return rs_fail(RS_ERESOURCE, "cannot map %zu bytes: %s", wanted, strerror(errno));
	block = (char *)round_up((size_t)raw, HUGE_BYTES);
	before = (size_t)(block - raw);
	if (before > 0)
		munmap(raw, before);
	if (before < HUGE_BYTES)
		munmap(block + wanted, HUGE_BYTES - before);
	madvise(block, wanted, MADV_HUGEPAGE);
	memcpy(out, &block, sizeof(block));
	return RS_OK;
}

size_t
large_size(size_t size)
{
	return round_up(size > 0 ? size : 1, HUGE_BYTES);
}

void
large_free(void *block, size_t size)
{
	if (block != NULL)
		munmap(block, round_up(size > 0 ? size : 1, HUGE_BYTES));
}
