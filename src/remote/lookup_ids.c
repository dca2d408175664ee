/* The ids of a fetch: which tables go together, unique ids, a place for every occurrence. */
#include <stdlib.h>
#include <string.h>

#include "embed/id_sort.h"
#include "remote/lookup_private.h"

#define CUTS_A_WORKER  4
#define CUT_MIN        2048     /* occurrences: less is not worth a cut               */

/* Keeps the uses and lists those of every table, in order. */
static enum rs_status
take_uses(struct remote_lookup *l, const struct lookup_fetch *f)
{
	if (f->n_uses > l->o.base.n_inputs)
		return rs_fail(RS_EBUG, "a fetch of %zu uses, the lookup was opened for %zu",
			f->n_uses, l->o.base.n_inputs);
	for (size_t t = 0; t < l->n_tables; t++)
		l->first_use[t] = SIZE_MAX;
	for (size_t i = l->o.base.n_inputs; i-- > 0;) {
		struct lookup_use_state *u = &l->use[i];

		memset(u, 0, sizeof(*u));
		if (i >= f->n_uses || f->use[i].n == 0)
			continue;
		u->table = f->use[i].table;
		u->ids = f->use[i].ids;
		u->n = f->use[i].n;
		u->next = l->first_use[u->table];
		l->first_use[u->table] = i;
	}
	return RS_OK;
}

static int
same_uses(const struct remote_lookup *l, size_t a, size_t b)
{
	size_t i = l->first_use[a], j = l->first_use[b];

	if (l->table[a].twins != l->table[b].twins || l->table[a].rows != l->table[b].rows)
		return 0;
	for (; i != SIZE_MAX && j != SIZE_MAX; i = l->use[i].next, j = l->use[j].next)
		if (l->use[i].ids != l->use[j].ids || l->use[i].n != l->use[j].n)
			return 0;
	return i == j;
}

/* Tables with the same occurrences share everything but their rows. */
static void
make_groups(struct remote_lookup *l)
{
	size_t n_places = 0;

	l->n_groups = 0;
	for (size_t t = 0; t < l->n_tables; t++) {
		size_t g = 0, place;

		l->group_of[t] = SIZE_MAX;
		if (l->first_use[t] == SIZE_MAX)
			continue;
		while (g < l->n_groups && !same_uses(l, l->group[g].leader, t))
			g++;
		if (g == l->n_groups)
			l->group[l->n_groups++] = (struct group){
				.leader = t, .first_place = n_places };
		l->group_of[t] = g;
		place = l->group[g].first_place;
		for (size_t i = l->first_use[t]; i != SIZE_MAX; i = l->use[i].next) {
			l->use[i].first_place = place;
			place += l->use[i].n;
		}
		l->group[g].N = place - l->group[g].first_place;
		n_places = place > n_places ? place : n_places;
	}
}

/* Segments of every part of a group: one, or some when threads would have nothing to do. */
static size_t
count_cuts(size_t N, size_t total, size_t n_parts, size_t n_workers)
{
	const size_t shares = n_workers > 1 ? (N * n_workers * CUTS_A_WORKER + total - 1) / total
					    : 1;
	const size_t wanted = (shares + n_parts - 1) / n_parts, useful = N / n_parts / CUT_MIN + 1;
	const size_t n = wanted < useful ? wanted : useful;

	return n > LOOKUP_CUTS_MAX ? LOOKUP_CUTS_MAX : n;
}

static enum rs_status
cut_group(struct remote_lookup *l, size_t g, size_t total, size_t n_workers)
{
	struct group *group = &l->group[g];
	const struct part *part = &l->parts.part[l->parts.first[group->leader]];
	const size_t n_parts = l->parts.first[group->leader + 1] - l->parts.first[group->leader];

	group->n_cuts = count_cuts(group->N, total, n_parts, n_workers);
	group->first_segment = l->n_segments;
	group->n_segments = n_parts * group->n_cuts;
	RS_TRY(remote_lookup_grow(&l->segment, &l->segment_capacity,
		l->n_segments + group->n_segments, sizeof(*l->segment)));
	for (size_t p = 0; p < n_parts; p++)
		for (size_t c = 0; c < group->n_cuts; c++) {
			const uint64_t rows = part[p].end - part[p].begin;
			struct segment *s = &l->segment[l->n_segments++];

			s->group = g;
			s->begin = part[p].begin + rows / group->n_cuts * c;
			s->end = c + 1 == group->n_cuts ?
				part[p].end : part[p].begin + rows / group->n_cuts * (c + 1);
			s->n = 0;
		}
	return RS_OK;
}

enum rs_status
lookup_ids_plan(struct remote_lookup *l, const struct lookup_fetch *f)
{
	size_t total = 0, n_rows = 0, most = 1;

	RS_TRY(take_uses(l, f));
	make_groups(l);
	l->n_segments = 0;
	for (size_t g = 0; g < l->n_groups; g++)
		total += l->group[g].N;
	for (size_t g = 0; g < l->n_groups; g++) {
		RS_TRY(cut_group(l, g, total, f->n_workers));
		most = l->group[g].n_segments > most ? l->group[g].n_segments : most;
	}
	l->index_bits = 32 - id_sort_bits(most);
	for (size_t t = 0; t < l->n_tables; t++) {
		l->first_row[t] = n_rows;
		n_rows += l->group_of[t] != SIZE_MAX ? l->group[l->group_of[t]].n_segments : 0;
	}
	RS_TRY(remote_lookup_grow(&l->place, &l->place_capacity, total, sizeof(*l->place)));
	return remote_lookup_grow(&l->row, &l->row_capacity, n_rows, sizeof(*l->row));
}

static enum rs_status
check_ids(const struct lookup_table *t, const struct lookup_use_state *u)
{
	for (size_t j = 0; j < u->n; j++)
		if (u->ids[j] >= t->rows)
			return rs_fail(RS_EDATA, "table '%s' has %llu rows, got id %llu", t->name,
				(unsigned long long)t->rows, (unsigned long long)u->ids[j]);
	return RS_OK;
}

/* A sort at hand: keys of the ids of a segment, which drop the lower bits of wide ones. */
struct sort {
	const struct segment *segment;
	unsigned shift, dropped;
	const uint64_t *id;         /* [N] by index; NULL: nothing is dropped         */
};

static uint64_t
id_of(const struct sort *o, uint64_t key)
{
	return o->id != NULL ? o->id[key & (((uint64_t)1 << o->shift) - 1)] :
		o->segment->begin + (key >> o->shift);
}

/* Gives every occurrence its place among the unique ids. */
static enum rs_status
number_ids(struct remote_lookup *l, struct segment *s, const struct sort *o,
	const uint64_t *sorted, size_t n)
{
	const struct group *g = &l->group[s->group];
	const uint64_t mask = ((uint64_t)1 << o->shift) - 1;
	const uint32_t high = (uint32_t)((uint64_t)(s - l->segment - g->first_segment) <<
		l->index_bits);
	uint32_t *place = l->place + g->first_place;
	size_t n_unique = 0;

	RS_TRY(remote_lookup_grow(&s->id, &s->capacity, n, sizeof(*s->id)));
	for (size_t i = 0; i < n; i++) {
		const uint64_t id = id_of(o, sorted[i]);

		if (n_unique == 0 || s->id[n_unique - 1] != id)
			s->id[n_unique++] = id;
		place[sorted[i] & mask] = high | (uint32_t)(n_unique - 1);
	}
	s->n = n_unique;
	if (n_unique <= (size_t)1 << l->index_bits)
		return RS_OK;
	return rs_fail(RS_ERESOURCE, "table '%s': %zu different ids in one step are too many",
		l->table[g->leader].name, n_unique);
}

static enum rs_status
reserve(struct lookup_thread *w, size_t N, int wide)
{
	size_t capacity = w->key_capacity;

	RS_TRY(remote_lookup_grow(&w->key2, &capacity, N, sizeof(*w->key2)));
	RS_TRY(remote_lookup_grow(&w->key, &w->key_capacity, N, sizeof(*w->key)));
	return wide ? remote_lookup_grow(&w->id, &w->id_capacity, N, sizeof(*w->id)) : RS_OK;
}

static enum rs_status
sort_segment(struct remote_lookup *l, struct lookup_thread *w, struct segment *s)
{
	const struct group *g = &l->group[s->group];
	const struct lookup_table *t = &l->table[g->leader];
	const uint64_t length = s->end - s->begin;
	const unsigned n_bits = id_sort_bits(length);
	const int is_first = s == &l->segment[g->first_segment];
	struct sort o = { .segment = s, .shift = id_sort_bits(g->N) };
	size_t n = 0, index = 0;
	uint64_t *sorted;

	o.dropped = id_sort_dropped(n_bits, o.shift);
	RS_TRY(reserve(w, g->N, o.dropped > 0));
	o.id = o.dropped > 0 ? w->id : NULL;
	for (size_t i = l->first_use[g->leader]; i != SIZE_MAX; i = l->use[i].next) {
		const struct lookup_use_state *u = &l->use[i];

		if (is_first)
			RS_TRY(check_ids(t, u));
		for (size_t j = 0; j < u->n; j++, index++) {
			if (u->ids[j] - s->begin >= length)
				continue;
			w->key[n++] = (u->ids[j] - s->begin) >> o.dropped << o.shift | index;
			if (o.dropped > 0)
				w->id[index] = u->ids[j];
		}
	}
	sorted = id_sort(w->key, w->key2, n, o.shift, n_bits - o.dropped);
	if (o.dropped > 0)
		id_sort_settle(sorted, n, o.shift, w->id);
	return number_ids(l, s, &o, sorted, n);
}

enum rs_status
lookup_ids_sort(struct remote_lookup *l, size_t worker)
{
	for (size_t i; (i = atomic_fetch_add_explicit(&l->next_item, 1, memory_order_relaxed)) <
		l->n_segments;)
		RS_TRY(sort_segment(l, &l->thread[worker], &l->segment[i]));
	return RS_OK;
}

void
lookup_ids_number(struct remote_lookup *l)
{
	for (size_t t = 0; t < l->n_tables; t++) {
		const struct group *g = l->group_of[t] == SIZE_MAX ? NULL
								   : &l->group[l->group_of[t]];
		const size_t first = l->parts.first[t];

		for (size_t p = first; p < l->parts.first[t + 1]; p++) {
			struct part_rows *r = &l->part[p];

			r->n = 0;
			r->row = NULL;
			if (g == NULL)
				continue;
			r->first_segment = g->first_segment + (p - first) * g->n_cuts;
			for (size_t c = 0; c < g->n_cuts; c++) {
				l->segment[r->first_segment + c].first = r->n;
				r->n += l->segment[r->first_segment + c].n;
			}
		}
	}
}

void
lookup_ids_free(struct remote_lookup *l)
{
	for (size_t i = 0; i < l->segment_capacity; i++)
		free(l->segment[i].id);
	free(l->segment);
	free(l->place);
	free(l->row);
	free(l->use);
	free(l->group);
	free(l->group_of);
	free(l->first_use);
	free(l->first_row);
}
