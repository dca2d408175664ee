/*
 * When a row, or a counter of an id that has no row yet, is too old to be read.
 *
 * Each has `last`, the clock of the newest step that trained it.  The clock of a table counts
 * minutes of data time since 1970 when rows expire after a time (expire_after), steps
 * otherwise, so that the order in which rows go is known without a time too.  It never
 * counts the time of day: training the same data later gives the same rows.
 *
 * A row is over when clock - last > limit, where clock is that of the newest step committed
 * before.  Such a row reads as absent and is trained as a new one, whether it was removed or
 * not; so it does not matter when that happens.  A time is rounded up and `last` down to
 * minutes: no row goes early, none stays longer than a minute.
 */
#ifndef EMBED_EXPIRY_H
#define EMBED_EXPIRY_H

#include <stdint.h>

#define EXPIRY_MINUTE 60       /* seconds                                        */
#define EXPIRY_MINUTES_MAX INT32_MAX    /* the year 6053                         */

enum expiry_unit { EXPIRY_STEPS, EXPIRY_MINUTES };

struct expiry {
	enum expiry_unit unit;
	uint32_t limit;            /* in units; 0: never                             */
};

/* After so many seconds of data time, or steps; both 0: rows stay.  A spec with both is
 * refused. */
static inline struct expiry
expiry_of(uint64_t after, uint64_t steps)
{
	const uint64_t minutes = after / EXPIRY_MINUTE + (after % EXPIRY_MINUTE > 0);
	const uint64_t limit = after > 0 ? minutes : steps;

	return (struct expiry){
		.unit = after > 0 ? EXPIRY_MINUTES : EXPIRY_STEPS,
		.limit = limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX,
	};
}

/* A row of a batch that is so many seconds later than the middle one may be a mistake, and the
 * clock does not follow it: rows would go at once, and then none until the data have come to
 * that time.  So no such row makes others go earlier by more than a tenth of expire_after. */
static inline int64_t
expiry_ahead(double expire_after)
{
	return expire_after > 0 ? (int64_t)(expire_after / 10) : INT64_MAX;
}

/* A time in seconds since 1970, which may be 0 or below, in minutes. */
static inline uint32_t
expiry_minutes(int64_t time)
{
	const uint64_t minutes = time > 0 ? (uint64_t)time / EXPIRY_MINUTE : 0;

	return minutes < EXPIRY_MINUTES_MAX ? (uint32_t)minutes : EXPIRY_MINUTES_MAX;
}

/* The clock behind a step whose newest row is of so many seconds since 1970 (below 0 is
 * 0); it never goes back. */
static inline uint32_t
expiry_clock(const struct expiry *e, uint32_t before, uint64_t step, int64_t newest)
{
	const uint64_t now = e->unit == EXPIRY_MINUTES ? expiry_minutes(newest) : step;
	const uint32_t clock = now < UINT32_MAX ? (uint32_t)now : UINT32_MAX;

	return clock > before ? clock : before;
}

static inline int
expiry_is_over(const struct expiry *e, uint32_t last, uint32_t clock)
{
	return e->limit > 0 && clock > last && clock - last > e->limit;
}

#endif
