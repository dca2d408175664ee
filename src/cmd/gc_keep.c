/* The rules of gc: so many versions, hours, days, weeks; and a size. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/gc.h"

#define HOUR 3600
#define DAY  86400
#define WEEK (7 * DAY)
#define MONDAY (4 * DAY)           /* 1970 began on a Thursday                        */

void
gc_reason(struct gc_item *item, const char *text)
{
	const size_t n = strlen(item->why);

	snprintf(item->why + n, sizeof item->why - n, "%s%s", n > 0 ? ", " : "", text);
}

static int64_t
floor_divide(int64_t a, int64_t b)
{
	return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/* The newest item of each of the newest `n` spans of time. */
static void
keep_spans(struct gc *g, int64_t n, const char *name, int64_t seconds, int64_t offset)
{
	int64_t last = 0, seen = 0;

	for (size_t i = 0; i < g->n && n > 0; i++) {
		struct gc_item *const item = &g->item[i];

		if (item->kind != GC_VERSION)
			continue;
		const int64_t span = floor_divide(item->time - offset, seconds);
		if (seen > 0 && span == last)
			continue;
		last = span;
		seen++;
		n--;
		item->fate = GC_KEEP;
		gc_reason(item, name);
	}
}

static void
keep_last(struct gc *g, int64_t n)
{
	for (size_t i = 0; i < g->n && n > 0; i++) {
		if (g->item[i].kind != GC_VERSION)
			continue;
		g->item[i].fate = GC_KEEP;
		gc_reason(&g->item[i], "last");
		n--;
	}
}

void
gc_keep(struct gc *g, const struct gc_rules *rules)
{
	keep_last(g, rules->last);
	keep_spans(g, rules->hourly, "hourly", HOUR, 0);
	keep_spans(g, rules->daily, "daily", DAY, 0);
	keep_spans(g, rules->weekly, "weekly", WEEK, MONDAY);
}

/* What an item is a delta of; that of one that was put aside may be put aside, too. */
static struct gc_item *
parent_of(struct gc *g, const struct gc_item *item)
{
	struct gc_item *aside = NULL;

	for (size_t i = 0; item->parent != 0 && i < g->n; i++) {
		struct gc_item *const other = &g->item[i];

		if (other->version != item->parent)
			continue;
		if (other->kind == GC_VERSION)
			return other;
		if (other->kind == GC_REJECTED && item->kind == GC_REJECTED)
			aside = other;
	}
	return aside;
}

/* Newest first, so that a parent comes after what is made of it. */
static void
keep_parents(struct gc *g, enum gc_kind kind)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct gc_item *const item = &g->item[i];
		struct gc_item *const parent = item->kind == kind && item->fate == GC_KEEP
			? parent_of(g, item) : NULL;
		char why[64];

		if (parent == NULL)
			continue;
		parent->fate = GC_KEEP;
		parent->bound |= item->bound;
		snprintf(why, sizeof why, "parent of %s", item->name);
		gc_reason(parent, why);
	}
}

/* No version is a delta of one that was put aside. */
void
gc_keep_parents(struct gc *g)
{
	keep_parents(g, GC_REJECTED);
	keep_parents(g, GC_VERSION);
}

/* Is something that stays a delta of it? */
static int
is_parent(struct gc *g, const struct gc_item *item)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->item[i].fate == GC_KEEP && parent_of(g, &g->item[i]) == item)
			return 1;
	return 0;
}

/* Rejected ones first, then the oldest version that no other needs. */
static struct gc_item *
next_victim(struct gc *g)
{
	struct gc_item *found = NULL;

	for (size_t i = g->n; i-- > 0; ) {
		struct gc_item *const item = &g->item[i];

		if (item->bound || item->fate != GC_KEEP || is_parent(g, item))
			continue;
		if (item->kind == GC_REJECTED)
			return item;
		if (item->kind == GC_VERSION && found == NULL)
			found = item;
	}
	return found;
}

void
gc_limit(struct gc *g, uint64_t bytes, uint64_t *left)
{
	struct gc_item *victim;

	*left = 0;
	for (size_t i = 0; i < g->n; i++)
		if (g->item[i].fate == GC_KEEP && g->item[i].kind <= GC_REJECTED)
			*left += g->item[i].bytes;
	while (*left > bytes && (victim = next_victim(g)) != NULL) {
		*left -= victim->bytes;
		victim->fate = victim->kind == GC_REJECTED && victim->version > g->current
			? GC_STRIP : GC_REMOVE;
		victim->why[0] = '\0';
		gc_reason(victim, "--max-size");
	}
}
