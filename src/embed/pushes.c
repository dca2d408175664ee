/* Pushes of a step: kept by slot and input, listed by table. */
#include "embed/pushes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum rs_status
pushes_init(struct pushes *p, size_t n_tables, size_t n_slots, size_t n_inputs)
{
	p->n_tables = n_tables;
	p->n_slots = n_slots;
	p->n_inputs = n_inputs;
	return memory_alloc(n_slots * n_inputs + 1, sizeof(*p->push), &p->push);
}

void
pushes_free(struct pushes *p)
{
	free(p->push);
	p->push = NULL;
}

void
pushes_put(struct pushes *p, const struct lookup_push *push)
{
	assert(push->slot < p->n_slots && push->input < p->n_inputs && push->table < p->n_tables);
	p->push[push->slot * p->n_inputs + push->input] = *push;
}

void
pushes_clear(struct pushes *p)
{
	for (size_t i = 0; i < p->n_slots * p->n_inputs; i++)
		p->push[i].n = 0;
}

enum rs_status
pushes_order_init(struct pushes_order *o, const struct pushes *p)
{
	RS_TRY(memory_alloc(p->n_slots * p->n_inputs + 1, sizeof(*o->push), &o->push));
	RS_TRY(memory_alloc(p->n_tables + 1, sizeof(*o->begin), &o->begin));
	RS_TRY(memory_alloc(p->n_tables + 1, sizeof(*o->twin), &o->twin));
	o->n_tables = p->n_tables;
	return memory_alloc(p->n_tables + 1, sizeof(*o->n), &o->n);
}

void
pushes_order_free(struct pushes_order *o)
{
	free(o->push);
	free(o->begin);
	free(o->n);
	free(o->twin);
	memset(o, 0, sizeof(*o));
}

/* A counting sort. */
void
pushes_order_make(struct pushes_order *o, const struct pushes *p)
{
	const size_t n_push = p->n_slots * p->n_inputs;

	o->total = o->most = 0;
	memset(o->begin, 0, (p->n_tables + 1) * sizeof(*o->begin));
	memset(o->n, 0, p->n_tables * sizeof(*o->n));
	for (size_t i = 0; i < n_push; i++) {
		if (p->push[i].n == 0)
			continue;
		o->begin[p->push[i].table + 1]++;
		o->n[p->push[i].table] += p->push[i].n;
		o->total += p->push[i].n;
	}
	for (size_t t = 0; t < p->n_tables; t++) {
		o->begin[t + 1] += o->begin[t];
		o->most = o->n[t] > o->most ? o->n[t] : o->most;
	}
	for (size_t i = 0; i < n_push; i++)
		if (p->push[i].n > 0)
			o->push[o->begin[p->push[i].table]++] = &p->push[i];
	for (size_t t = p->n_tables; t > 0; t--)
		o->begin[t] = o->begin[t - 1];
	o->begin[0] = 0;
}

static int
same_occurrences(const struct pushes_order *o, size_t a, size_t b)
{
	const size_t n = o->begin[a + 1] - o->begin[a];
	const struct lookup_push *const *x = o->push + o->begin[a];
	const struct lookup_push *const *y = o->push + o->begin[b];

	if (n == 0 || o->begin[b + 1] - o->begin[b] != n)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (x[i]->ids != y[i]->ids || x[i]->n != y[i]->n || x[i]->slot != y[i]->slot)
			return 0;
	return 1;
}

/* Those of a model come in the same order, so that the search mostly finds at once. */
void
pushes_order_pair(struct pushes_order *o)
{
	const size_t n = o->n_tables;
	size_t next = 0;

	for (size_t t = 0; t < n; t++)
		o->twin[t] = n;
	for (size_t t = 0; t < n; t++)
		for (size_t k = 0; k < n && o->twin[t] == n; k++) {
			const size_t u = (next + k) % n;

			if (u <= t || o->twin[u] != n || !same_occurrences(o, t, u))
				continue;
			o->twin[t] = u;
			o->twin[u] = t;
			next = u + 1;
		}
}

void
pushes_of_node(const struct pushes_order *o, size_t table, struct tree_node node,
	struct merge_job *job)
{
	size_t i = o->begin[table], end = o->begin[table + 1];

	while (i < end && o->push[i]->slot < node.begin)
		i++;
	job->push = o->push + i;
	job->node = node;
	job->n = 0;
	job->n_push = 0;
	for (; i < end && o->push[i]->slot < node.end; i++, job->n_push++)
		job->n += o->push[i]->n;
}
