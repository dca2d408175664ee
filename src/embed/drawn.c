/* Bits of groups of rows, and who draws one. */
#include "embed/drawn.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define DRAWN_LOCKS 16u            /* two threads seldom want the same               */

static unsigned
shift_of(size_t D)
{
	unsigned shift = 0;

	while (D << (shift + 1) <= DRAWN_FLOATS)
		shift++;
	return shift;
}

static size_t
count_words(uint64_t n_rows, size_t D)
{
	const uint64_t rows = (uint64_t)DRAWN_BITS << shift_of(D);

	return (size_t)((n_rows + rows - 1) / rows);
}

size_t
drawn_bytes(uint64_t n_rows, size_t D)
{
	return count_words(n_rows, D) * sizeof(uint64_t);
}

enum rs_status
drawn_init(struct drawn *d, uint64_t n_rows, size_t D)
{
	pthread_mutexattr_t kind;

	*d = (struct drawn){ .n_rows = n_rows, .shift = shift_of(D) };
	RS_TRY(memory_alloc(count_words(n_rows, D), sizeof(*d->bits), &d->bits));
	RS_TRY(memory_alloc(DRAWN_LOCKS, sizeof(*d->lock), &d->lock));
	/* A group takes so short a time that who wants it had better not sleep. */
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
	for (unsigned i = 0; i < DRAWN_LOCKS; i++)
		pthread_mutex_init(&d->lock[i], &kind);
	pthread_mutexattr_destroy(&kind);
	return RS_OK;
}

void
drawn_free(struct drawn *d)
{
	for (unsigned i = 0; d->lock != NULL && i < DRAWN_LOCKS; i++)
		pthread_mutex_destroy(&d->lock[i]);
	free(d->lock);
	free(d->bits);
	memset(d, 0, sizeof(*d));
}

void
drawn_clear(struct drawn *d)
{
	const uint64_t rows = (uint64_t)DRAWN_BITS << d->shift;

	for (uint64_t i = 0; d->bits != NULL && i * rows < d->n_rows; i++)
		atomic_store_explicit(&d->bits[i], 0, memory_order_relaxed);
}

static pthread_mutex_t *
lock_of(const struct drawn *d, uint64_t i)
{
	return &d->lock[(i >> d->shift) % DRAWN_LOCKS];
}

int
drawn_claim(const struct drawn *d, uint64_t i)
{
	pthread_mutex_lock(lock_of(d, i));
	if (!drawn_has(d, i))
		return 1;
	pthread_mutex_unlock(lock_of(d, i));
	return 0;
}

static void
mark(const struct drawn *d, uint64_t group)
{
	atomic_fetch_or_explicit(&d->bits[group / DRAWN_BITS],
		(uint64_t)1 << (group % DRAWN_BITS), memory_order_release);
}

void
drawn_done(const struct drawn *d, uint64_t i)
{
	mark(d, i >> d->shift);
	pthread_mutex_unlock(lock_of(d, i));
}

void
drawn_skip(const struct drawn *d, uint64_t begin, uint64_t end)
{
	for (uint64_t i = begin; i < end; i = drawn_end(d, i))
		if (drawn_begin(d, i) >= begin && drawn_end(d, i) <= end)
			mark(d, i >> d->shift);
}
