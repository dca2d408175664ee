/*
 * Memory that lives as long as its owner: many small pieces, freed together.
 * pool_free() of a zeroed pool is fine.  Not for several threads.
 */
#ifndef SPEC_POOL_H
#define SPEC_POOL_H

#include <stddef.h>

#include "base/status.h"

struct pool {
	void **item;
	size_t n, capacity;
};

/* Zeroed; *out (any T **) is NULL on failure. */
enum rs_status pool_alloc(struct pool *pool, size_t n, size_t size, void *out);
/* A NUL-terminated copy of n bytes. */
enum rs_status pool_text(struct pool *pool, const char *text, size_t n, char **out);
enum rs_status pool_printf(struct pool *pool, char **out, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void pool_free(struct pool *pool);

#endif
