/* Groups of items and their alias tables. */
#include "data/sampler_table.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/rng.h"

/* Draws of the own item are thrown away; after so many any other item will do. */
#define TRIES 64

struct member { uint64_t group; uint32_t item; };

static int
order_of_members(const void *a, const void *b)
{
	const struct member *const x = a, *const y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

static void
table_set_range(struct sampler_table *t, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		t->range[t->item[i]] =
			(struct sampler_range){ (uint32_t)begin, (uint32_t)end };
}

static enum rs_status
table_group(struct sampler_table *t, const uint64_t *group)
{
	struct member *member;
	size_t begin = 0;

	RS_TRY(memory_alloc(t->n, sizeof *member, &member));
	for (size_t i = 0; i < t->n; i++)
		member[i] = (struct member){ group != NULL ? group[i] : 0, (uint32_t)i };
	if (group != NULL)
		qsort(member, t->n, sizeof *member, order_of_members);
	for (size_t i = 0; i < t->n; i++) {
		t->item[i] = member[i].item;
		t->place[member[i].item] = (uint32_t)i;
	}
	for (size_t i = 1; i <= t->n; i++)
		if (i == t->n || member[i].group != member[begin].group) {
			table_set_range(t, begin, i);
			begin = i;
		}
	free(member);
	return RS_OK;
}

/* Vose 1991: places below the mean share are filled up from those above it. */
static void
table_alias(struct sampler_table *t, size_t begin, size_t end, const double *weight,
	uint32_t *stack)
{
	size_t n_small = 0, large = end - begin;
	double sum = 0;

	for (size_t i = begin; i < end; i++)
		sum += weight[t->item[i]];
	for (size_t i = begin; i < end; i++) {
		t->share[i] = weight[t->item[i]] * (double)(end - begin) / sum;
		t->alias[i] = (uint32_t)i;
		if (t->share[i] < 1)
			stack[n_small++] = (uint32_t)i;
		else
			stack[--large] = (uint32_t)i;
	}
	while (n_small > 0 && large < end - begin) {
		const uint32_t poor = stack[--n_small], rich = stack[large];

		t->alias[poor] = rich;
		t->share[rich] -= 1 - t->share[poor];
		if (t->share[rich] < 1) {
			large++;
			stack[n_small++] = rich;
		}
	}
	while (n_small > 0)
		t->share[stack[--n_small]] = 1;
	for (; large < end - begin; large++)
		t->share[stack[large]] = 1;
}

static enum rs_status
table_weigh(struct sampler_table *t, const double *weight)
{
	uint32_t *stack;

	RS_TRY(memory_alloc(t->n, sizeof *t->share, &t->share));
	RS_TRY(memory_alloc(t->n, sizeof *t->alias, &t->alias));
	RS_TRY(memory_alloc(t->n, sizeof *stack, &stack));
	for (size_t i = 0; i < t->n; i = t->range[t->item[i]].end)
		table_alias(t, i, t->range[t->item[i]].end, weight, stack);
	free(stack);
	return RS_OK;
}

enum rs_status
sampler_table_make(
	struct sampler_table *t, size_t n, const uint64_t *group, const double *weight)
{
	*t = (struct sampler_table){ .n = n };
	RS_TRY(memory_alloc(n, sizeof *t->item, &t->item));
	RS_TRY(memory_alloc(n, sizeof *t->place, &t->place));
	RS_TRY(memory_alloc(n, sizeof *t->range, &t->range));
	RS_TRY(table_group(t, group));
	return weight != NULL ? table_weigh(t, weight) : RS_OK;
}

void
sampler_table_free(struct sampler_table *t)
{
	free(t->item);
	free(t->place);
	free(t->range);
	free(t->share);
	free(t->alias);
	*t = (struct sampler_table){ .n = 0 };
}

uint32_t
sampler_table_draw(const struct sampler_table *t, uint32_t item, uint64_t key, uint64_t draw)
{
	const struct sampler_range range = t->range[item];
	const size_t i = range.begin + rng_below(key, 2 * draw, range.end - range.begin);

	if (t->share == NULL || rng_uniform(key, 2 * draw + 1) < t->share[i])
		return t->item[i];
	return t->item[t->alias[i]];
}

/* All others alike. */
static uint32_t
draw_any_other(const struct sampler_table *t, uint32_t item, uint64_t key, uint64_t draw)
{
	const struct sampler_range range = t->range[item];
	const size_t i = range.begin + rng_below(key, 2 * draw, range.end - range.begin - 1);

	return t->item[i + (i >= t->place[item])];
}

uint32_t
sampler_table_draw_other(const struct sampler_table *t, uint32_t item, uint64_t key, uint64_t draw)
{
	for (uint64_t i = 0; t->share != NULL && i < TRIES; i++) {
		const uint32_t other = sampler_table_draw(t, item, key, draw * (TRIES + 1) + i);

		if (other != item)
			return other;
	}
	return draw_any_other(t, item, key, draw * (TRIES + 1) + TRIES);
}
