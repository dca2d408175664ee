/* malloc and its kin, counted. */
#include "tests/allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_size_t n_allocations;

size_t
allocations_count(void)
{
	return atomic_load(&n_allocations);
}

#if ALLOCATIONS_CAN_COUNT
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);

void *
malloc(size_t n)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_realloc(p, n);
}

void *
aligned_alloc(size_t alignment, size_t n)
{
	atomic_fetch_add(&n_allocations, 1);
	return __libc_memalign(alignment, n);
}

int
posix_memalign(void **out, size_t alignment, size_t n)
{
	atomic_fetch_add(&n_allocations, 1);
	*out = __libc_memalign(alignment, n);
	return *out != NULL ? 0 : ENOMEM;
}
#endif
