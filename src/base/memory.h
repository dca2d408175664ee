/*
 * Memory: checked allocation, an arena, growing buffers, large blocks.
 *
 * An arena is one block with a cursor: arena_alloc() never fails once the block
 * is big enough, arena_reset() keeps the block.  A buffer grows by doubling up
 * to `limit` bytes, beyond which buffer_reserve() is RS_EDATA.  Large blocks
 * are mmap'ed, zeroed, advised to huge pages and aligned to 2 MiB.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* *out = a * b, or RS_ERESOURCE on overflow. */
enum rs_status size_mul(size_t a, size_t b, size_t *out);

/* Zeroed memory, aligned to 64 bytes; freed with free(). */
enum rs_status memory_alloc(size_t n, size_t size, void *out);   /* out: any T ** */
enum rs_status memory_strdup(const char *text, char **out);

struct arena {
	char  *block;
	size_t size, used;
};

enum rs_status arena_init(struct arena *a, size_t size);
void  arena_free(struct arena *a);
void  arena_reset(struct arena *a);
/* 64-byte aligned; asserts that the block is large enough (it was planned). */
void *arena_alloc(struct arena *a, size_t size);

struct buffer {
	char  *data;
	size_t n, capacity, limit;
};

void buffer_init(struct buffer *b, size_t limit);
void buffer_free(struct buffer *b);
enum rs_status buffer_reserve(struct buffer *b, size_t extra);
enum rs_status buffer_append(struct buffer *b, const void *bytes, size_t n);
/* Appends formatted text and keeps data NUL-terminated. */
enum rs_status buffer_printf(struct buffer *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Once, before the first thread: what is freed goes back to the system, so that memory does
 * not depend on the order in which threads free. */
void memory_init(void);

enum rs_status large_alloc(size_t size, void *out);
void large_free(void *block, size_t size);
/* Memory of a block of so many bytes once it is written to. */
size_t large_size(size_t size);

#endif
