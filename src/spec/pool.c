/* Small pieces of memory that are freed together. */
#include "spec/pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { FIRST_CAPACITY = 64 };

static enum rs_status
keep(struct pool *pool, void *block)
{
	if (pool->n == pool->capacity) {
		const size_t capacity = pool->capacity > 0 ? 2 * pool->capacity : FIRST_CAPACITY;
		void **item = realloc(pool->item, capacity * sizeof(*item));

		if (item == NULL) {
			free(block);
			return rs_fail(RS_ERESOURCE, "out of memory");
		}
		pool->item = item;
		pool->capacity = capacity;
	}
	pool->item[pool->n++] = block;
	return RS_OK;
}

enum rs_status
pool_alloc(struct pool *pool, size_t n, size_t size, void *out)
{
	void *block = calloc(n > 0 ? n : 1, size);
	void *none = NULL;

	memcpy(out, &none, sizeof(none));
	if (block == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	RS_TRY(keep(pool, block));
	memcpy(out, &block, sizeof(block));
	return RS_OK;
}

enum rs_status
pool_text(struct pool *pool, const char *text, size_t n, char **out)
{
	RS_TRY(pool_alloc(pool, n + 1, 1, out));
	memcpy(*out, text, n);
	return RS_OK;
}

enum rs_status
pool_printf(struct pool *pool, char **out, const char *format, ...)
{
	va_list arguments;
	char   *text;
	int     n;

	*out = NULL;
	va_start(arguments, format);
	n = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (n < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	RS_TRY(keep(pool, text));
	*out = text;
	return RS_OK;
}

void
pool_free(struct pool *pool)
{
	for (size_t i = 0; i < pool->n; i++)
		free(pool->item[i]);
	free(pool->item);
	*pool = (struct pool){ 0 };
}
