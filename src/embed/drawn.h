/*
 * Which rows of a hashed table in memory are there.  What a row begins as is a pure function
 * (embed/row.h), so it is drawn when it is first read, and what nobody reads is not drawn.
 *
 * Rows come in groups of consecutive ones that have about DRAWN_FLOATS weights, one bit a group.
 * Any number of threads ask.  Who finds a group missing draws it between drawn_claim() and
 * drawn_done(); others that want it wait for that.
 */
#ifndef EMBED_DRAWN_H
#define EMBED_DRAWN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define DRAWN_FLOATS 16u           /* of a group: what is drawn at once               */
#define DRAWN_BITS   64u

struct drawn {
	_Atomic uint64_t *bits;    /* NULL: of another kind of table                  */
	uint64_t n_rows;
	unsigned shift;            /* rows of a group: 1 << shift                     */
	pthread_mutex_t *lock;     /* [DRAWN_LOCKS] of groups                         */
};

/* No row is there. */
enum rs_status drawn_init(struct drawn *d, uint64_t n_rows, size_t D);
void drawn_free(struct drawn *d);
/* No row is there any more.  One thread. */
void drawn_clear(struct drawn *d);
/* 1: the group of a row is missing and is the caller's to draw; 0: it is there by now. */
int drawn_claim(const struct drawn *d, uint64_t i);
void drawn_done(const struct drawn *d, uint64_t i);
/* The caller writes all of rows [begin,end), in groups that are theirs alone nothing is drawn.
 * One thread of those rows. */
void drawn_skip(const struct drawn *d, uint64_t begin, uint64_t end);
/* Bytes that the bits take. */
size_t drawn_bytes(uint64_t n_rows, size_t D);

static inline int
drawn_has(const struct drawn *d, uint64_t i)
{
	const uint64_t group = i >> d->shift;

	return (int)(atomic_load_explicit(&d->bits[group / DRAWN_BITS], memory_order_acquire)
		>> (group % DRAWN_BITS) & 1);
}

static inline uint64_t
drawn_begin(const struct drawn *d, uint64_t i)
{
	return i >> d->shift << d->shift;
}

static inline uint64_t
drawn_end(const struct drawn *d, uint64_t i)
{
	const uint64_t end = drawn_begin(d, i) + ((uint64_t)1 << d->shift);

	return end < d->n_rows ? end : d->n_rows;
}

#endif
