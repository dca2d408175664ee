/* Which items the rows of some files are about, by group. */
#include "train/seen.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/loader.h"

#define SEEN_BATCH     4096
#define SEEN_PAIRS_MAX ((size_t)1 << 36)

void
seen_free(struct seen *s)
{
	free(s->begin);
	free(s->number);
	memset(s, 0, sizeof *s);
}

enum rs_status
seen_add(struct seen_pairs *p, uint32_t group, uint32_t value)
{
	if (p->n == p->capacity) {
		const size_t capacity = p->capacity == 0 ? 4096 : 2 * p->capacity;
		struct seen_pair *const grown = capacity > SEEN_PAIRS_MAX ? NULL
			: realloc(p->item, capacity * sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "no memory for the items of %zu rows",
				capacity);
		p->item = grown;
		p->capacity = capacity;
	}
	p->item[p->n++] = (struct seen_pair){ group, value };
	return RS_OK;
}

static int
compare_numbers(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Sorts each list, and moves the lists together without what is there twice. */
static void
sort_lists(struct seen *s)
{
	size_t n = 0;

	for (size_t g = 0, begin = 0; g < s->n_groups; g++) {
		const size_t end = s->begin[g + 1];

		if (end - begin > 1)
			qsort(s->number + begin, end - begin, sizeof *s->number, compare_numbers);
		s->begin[g] = n;
		for (size_t i = begin; i < end; i++)
			if (n == s->begin[g] || s->number[n - 1] != s->number[i])
				s->number[n++] = s->number[i];
		begin = end;
	}
	s->begin[s->n_groups] = n;
}

enum rs_status
seen_sort(const struct seen_pairs *p, size_t n_groups, struct seen *out)
{
	*out = (struct seen){ .n_groups = n_groups };
	RS_TRY(memory_alloc(n_groups + 2, sizeof *out->begin, &out->begin));
	const enum rs_status status = memory_alloc(p->n + 1, sizeof *out->number, &out->number);
	if (status != RS_OK) {
		seen_free(out);
		return status;
	}
	/* begin[g+2] counts, then begin[g+1] is where the next of g goes */
	for (size_t i = 0; i < p->n; i++)
		out->begin[p->item[i].group + 2]++;
	for (size_t g = 2; g < n_groups + 2; g++)
		out->begin[g] += out->begin[g - 1];
	for (size_t i = 0; i < p->n; i++)
		out->number[out->begin[p->item[i].group + 1]++] = p->item[i].value;
	sort_lists(out);
	return RS_OK;
}

struct reading {
	const struct seen_source *from;
	struct groups *groups;
	int every;
	struct seen_pairs pairs;
};

static enum rs_status
add_row(struct reading *r, uint64_t group_key, uint64_t item_key)
{
	uint32_t group = GROUPS_NONE;

	if (r->every)
		RS_TRY(groups_add(r->groups, group_key, &group));
	else
		group = groups_find(r->groups, group_key);
	if (group == GROUPS_NONE)
		return RS_OK;
	const uint32_t number = catalogue_find(r->from->catalogue, item_key);
	return number != CATALOGUE_NONE ? seen_add(&r->pairs, group, number) : RS_OK;
}

static enum rs_status
read_pairs(struct reading *r, struct loader *loader)
{
	const struct batch *batch;

	RS_TRY(loader_next(loader, &batch, NULL));
	while (batch != NULL) {
		if (batch->B > 0 && (batch->group == NULL || batch->item == NULL))
			return rs_fail(RS_ESPEC, "rows have no %s, so no items can be masked",
				batch->group == NULL ? "group" : "item");
		for (size_t b = 0; b < batch->B; b++)
			RS_TRY(add_row(r, batch->group[b], batch->item[b]));
		RS_TRY(loader_next(loader, &batch, NULL));
	}
	return RS_OK;
}

enum rs_status
seen_read(const struct seen_source *from, struct groups *groups, int every, struct seen *out)
{
	const struct loader_options options = {
		.schema = from->schema, .files = from->files, .purpose = PARSE_TRAIN,
		.batch_size = SEEN_BATCH, .epochs = 1,
		.n_threads = (size_t)from->schema->settings->data.threads,
	};
	struct reading reading = { .from = from, .groups = groups, .every = every };
	struct loader *loader;

	memset(out, 0, sizeof *out);
	RS_TRY(loader_open(&options, &loader));
	enum rs_status status = read_pairs(&reading, loader);
	if (status == RS_OK)
		status = seen_sort(&reading.pairs, groups->n, out);
	loader_close(loader);
	free(reading.pairs.item);
	return status;
}
