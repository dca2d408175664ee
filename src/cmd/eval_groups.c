/* Metrics of groups of rows. */
#include "cmd/eval_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

void
eval_groups_free(struct eval_groups *g)
{
	for (size_t i = 0; i < g->n_groups; i++) {
		metric_free(g->group[i].metric);
		free(g->group[i].text);
	}
	free(g->group);
	free(g->slot);
	memset(g, 0, sizeof *g);
}

/* The slot of a text, or the empty one where it belongs. */
static size_t
find_slot(const struct eval_groups *g, uint64_t hash, const char *text, size_t n)
{
	size_t i = (size_t)hash & (g->n_slots - 1);

	for (; g->slot[i] != 0; i = (i + 1) & (g->n_slots - 1)) {
		const struct eval_group *group = &g->group[g->slot[i] - 1];
		if (group->hash == hash && group->n == n && memcmp(group->text, text, n) == 0)
			break;
	}
	return i;
}

static enum rs_status
grow(struct eval_groups *g)
{
	const size_t capacity = g->capacity == 0 ? 64 : 2 * g->capacity;
	struct eval_group *group;
	uint32_t *slot;

	if (g->n_groups < g->capacity)
		return RS_OK;
	if (g->n_groups >= EVAL_GROUPS_MAX)
		return rs_fail(RS_EDATA, "the field has more than %zu values, too many to print by",
			EVAL_GROUPS_MAX);
	RS_TRY(memory_alloc(4 * capacity, sizeof *slot, &slot));
	group = realloc(g->group, capacity * sizeof *group);
	if (group == NULL) {
		free(slot);
		return rs_fail(RS_ERESOURCE, "out of memory for %zu groups", capacity);
	}
	free(g->slot);
	g->group = group;
	g->slot = slot;
	g->capacity = capacity;
	g->n_slots = 4 * capacity;
	for (size_t i = 0; i < g->n_groups; i++)
		slot[find_slot(g, group[i].hash, group[i].text, group[i].n)] = (uint32_t)(i + 1);
	return RS_OK;
}

static enum rs_status
add_group(struct eval_groups *g, uint64_t hash, const char *text, size_t n)
{
	struct eval_group *group = &g->group[g->n_groups];

	memset(group, 0, sizeof *group);
	RS_TRY(memory_alloc(n + 1, 1, &group->text));
	memcpy(group->text, text, n);
	group->n = n;
	group->hash = hash;
	const enum rs_status status = metric_create(&group->metric);
	if (status != RS_OK) {
		free(group->text);
		return status;
	}
	metric_set_real(group->metric, g->is_real);
	metric_set_figures(group->metric, g->figures);
	g->slot[find_slot(g, hash, text, n)] = (uint32_t)++g->n_groups;
	return RS_OK;
}

enum rs_status
eval_groups_add(struct eval_groups *g, const char *text, size_t n, const struct batch *batch,
	size_t b, float logit)
{
	const struct batch row = { .B = 1, .label = &batch->label[b], .weight = &batch->weight[b],
		.group = batch->group != NULL ? &batch->group[b] : NULL };
	const uint64_t hash = hash_fingerprint64(text, n);

	RS_TRY(grow(g));
	size_t slot = find_slot(g, hash, text, n);
	if (g->slot[slot] == 0)
		RS_TRY(add_group(g, hash, text, n));
	struct eval_group *group = &g->group[g->slot[slot] - 1];
	group->rows++;
	return metric_add_batch(group->metric, &row, &logit);
}

static int
compare_groups(const void *a, const void *b)
{
	const struct eval_group *x = a, *y = b;
	const size_t n = x->n < y->n ? x->n : y->n;

	if (x->rows != y->rows)
		return x->rows < y->rows ? 1 : -1;
	const int order = memcmp(x->text, y->text, n);
	return order != 0 ? order : (x->n > y->n) - (x->n < y->n);
}

void
eval_groups_sort(struct eval_groups *g)
{
	if (g->n_groups > 1)
		qsort(g->group, g->n_groups, sizeof *g->group, compare_groups);
	free(g->slot);                /* numbers of groups are no longer valid */
	g->slot = NULL;
	g->n_slots = 0;
}
