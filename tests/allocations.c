/* malloc and its kin, counted. */
#include "tests/allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_size_t n_allocations, n_live, n_left;

size_t
allocations_count(void)
{
	return atomic_load(&n_allocations);
}

size_t
allocations_live(void)
{
	return atomic_load(&n_live);
}

void
allocations_fail_at(size_t n)
{
	atomic_store(&n_left, n);
}

#if ALLOCATIONS_CAN_COUNT
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);
extern void __libc_free(void *p);

/* This one fails. */
static int
fails(void)
{
	size_t left = atomic_load(&n_left);

	atomic_fetch_add(&n_allocations, 1);
	while (left > 0)
		if (atomic_compare_exchange_weak(&n_left, &left, left - 1)) {
			errno = ENOMEM;
			return left == 1;
		}
	return 0;
}

static void *
counted(void *p)
{
	if (p != NULL)
		atomic_fetch_add(&n_live, 1);
	return p;
}

void *
malloc(size_t n)
{
	return fails() ? NULL : counted(__libc_malloc(n));
}

void *
calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__libc_calloc(n, size));
}

void *
realloc(void *p, size_t n)
{
	if (fails())
		return NULL;
	void *const q = __libc_realloc(p, n);

	if (p == NULL)
		return counted(q);
	if (q == NULL && n == 0)
		atomic_fetch_sub(&n_live, 1);
	return q;
}

void *
aligned_alloc(size_t alignment, size_t n)
{
	return fails() ? NULL : counted(__libc_memalign(alignment, n));
}

int
posix_memalign(void **out, size_t alignment, size_t n)
{
	*out = fails() ? NULL : counted(__libc_memalign(alignment, n));
	return *out != NULL ? 0 : ENOMEM;
}

void
free(void *p)
{
	if (p != NULL)
		atomic_fetch_sub(&n_live, 1);
	__libc_free(p);
}
#endif
