/* Row gradients of this rank, merged, and of all ranks, pushed. */
#include <stdlib.h>
#include <string.h>

#include "train/replicated_private.h"

#define PART_MIN       2048    /* occurrences: less is not worth a piece              */
#define PARTS_A_WORKER 4
#define BYTES_MAX      ((uint64_t)1 << 40)     /* of one rank in one step             */
#define SAME_KEYS      ((uint64_t)1 << 63)

/*
 * What a rank gives to a step, 8-byte units in the order of bytes of the hosts, which run
 * one program: count[n_tables, n_nodes] of rows; then for every table and node the row
 * ids, strictly increasing, the sums [n,D] and, of an exact table, how often each row
 * occurred uint32_t [n], padded.  SAME_KEYS in a count: the ids are those of the first twin of
 * the table, and are left out.
 */

static void
note(struct replicated *r, enum rs_status status)
{
	int none = 0;

	if (status == RS_OK || !atomic_compare_exchange_strong(&r->failed, &none, 1))
		return;
	rs_failure_take(&r->failure);
	atomic_store(&r->failed, 2);
}

/* All workers of the process wait for all; the failure of any is that of all. */
static enum rs_status
together(struct replicated *r)
{
	barrier_wait(&r->barrier);
	return atomic_load(&r->failed) == 2 ? rs_failure_put(&r->failure) : RS_OK;
}

/* The pushes of every table in the order slot, input: a counting sort. */
static size_t
list_pushes(struct replicated *r)
{
	const size_t n_push = (r->slot_end - r->slot_begin) * r->n_inputs;
	size_t total = 0;

	memset(r->table_push, 0, (r->n_tables + 1) * sizeof(*r->table_push));
	for (size_t i = 0; i < n_push; i++)
		if (r->push[i].n > 0) {
			r->table_push[r->push[i].table + 1]++;
			total += r->push[i].n;
		}
	for (size_t t = 0; t < r->n_tables; t++)
		r->table_push[t + 1] += r->table_push[t];
	for (size_t i = 0; i < n_push; i++)
		if (r->push[i].n > 0)
			r->listed[r->table_push[r->push[i].table]++] = &r->push[i];
	for (size_t t = r->n_tables; t > 0; t--)
		r->table_push[t] = r->table_push[t - 1];
	r->table_push[0] = 0;
	return total;
}

static size_t
count_parts(const struct replicated *r, size_t n, size_t total)
{
	const size_t wanted = r->n_workers > 1
		? n * r->n_workers * PARTS_A_WORKER / total + 1 : 1;
	const size_t useful = n / PART_MIN + 1;
	const size_t parts = wanted < useful ? wanted : useful;

	return parts < REPLICATED_PARTS ? parts : REPLICATED_PARTS;
}

static uint64_t
part_begin(uint64_t rows, size_t i, size_t parts)
{
	return rows / parts * i + rows % parts * i / parts;
}

/* Cuts what a node of a table has into pieces; `at` is the first of its pushes.  Returns
 * the one after its last. */
static size_t
cut_node(struct replicated *r, size_t table, size_t node, size_t at, size_t total)
{
	struct piece *p = r->piece + r->node_piece[table * r->n_nodes + node];
	size_t end = at, n = 0, parts;

	for (; end < r->table_push[table + 1] && r->listed[end]->slot < r->node[node].end; end++)
		n += r->listed[end]->n;
	parts = n > 0 ? count_parts(r, n, total) : 0;
	for (size_t i = 0; i < parts; i++)
		p[i] = (struct piece){ .table = table, .node = node, .push = at,
			.n_push = end - at, .n = n,
			.begin = part_begin(r->table[table].rows, i, parts),
			.end = part_begin(r->table[table].rows, i + 1, parts) };
	r->node_piece[table * r->n_nodes + node + 1] = (size_t)(p - r->piece) + parts;
	return end;
}

static void
cut_pieces(struct replicated *r)
{
	const size_t total = list_pushes(r);

	for (size_t t = 0; t < r->n_tables; t++)
		for (size_t k = 0, at = r->table_push[t]; k < r->n_nodes; k++)
			at = cut_node(r, t, k, at, total);
	atomic_store(&r->next, 0);
}

static enum rs_status
merge_piece(struct replicated *r, size_t worker, struct piece *p)
{
	struct merger *m = &r->merger[worker];
	const size_t D = r->table[p->table].dim;
	const struct merge_job job = { .kernel = r->kernel, .name = r->table[p->table].name,
		.D = D, .push = r->listed + p->push, .n_push = p->n_push, .n = p->n,
		.node = r->node[p->node], .begin = p->begin, .end = p->end };
	const float *sum;
	uint64_t id;

	p->worker = worker;
	p->id = m->ids.n;
	p->x = m->x.n;
	p->count = m->counts.n;
	RS_TRY(merge_begin(&m->scratch, &job));
	for (; merge_next(&m->scratch, &id, &sum); p->n_rows++) {
		RS_TRY(buffer_append(&m->ids, &id, sizeof(id)));
		RS_TRY(buffer_append(&m->x, sum, D * sizeof(*sum)));
		if (r->table[p->table].kind == TABLE_EXACT)
			RS_TRY(buffer_append(&m->counts, &m->scratch.run,
				sizeof(m->scratch.run)));
	}
	return RS_OK;
}

static enum rs_status
merge_pieces(struct replicated *r, size_t worker)
{
	const size_t n = r->node_piece[r->n_tables * r->n_nodes];

	r->merger[worker].ids.n = r->merger[worker].x.n = r->merger[worker].counts.n = 0;
	for (size_t i; (i = atomic_fetch_add(&r->next, 1)) < n;)
		RS_TRY(merge_piece(r, worker, &r->piece[i]));
	return RS_OK;
}

static const char *
piece_ids(const struct replicated *r, const struct piece *p)
{
	return r->merger[p->worker].ids.data + p->id;
}

/* Whether a node has the same ids in the first twin of the table. */
static int
has_keys_of_twin(const struct replicated *r, size_t table, size_t node)
{
	const size_t *own = r->node_piece + table * r->n_nodes + node;
	const size_t *other = r->node_piece + r->twin[table] * r->n_nodes + node;

	if (r->twin[table] == table || own[1] - own[0] != other[1] - other[0])
		return 0;
	for (size_t i = 0; i < own[1] - own[0]; i++) {
		const struct piece *a = &r->piece[own[0] + i], *b = &r->piece[other[0] + i];

		if (a->n_rows != b->n_rows || (a->n_rows > 0
		    && memcmp(piece_ids(r, a), piece_ids(r, b), a->n_rows * 8) != 0))
			return 0;
	}
	return 1;
}

static size_t
header_bytes(const struct replicated *r, size_t n_nodes)
{
	return r->n_tables * n_nodes * sizeof(uint64_t);
}

static size_t
count_bytes(const struct replicated *r, size_t table, size_t n)
{
	return r->table[table].kind == TABLE_EXACT ? n * sizeof(uint32_t) : 0;
}

/* Of sums and counts of n rows. */
static size_t
value_bytes(const struct replicated *r, size_t table, size_t n)
{
	const size_t sums = n * r->table[table].dim * sizeof(float);

	return (sums + count_bytes(r, table, n) + 7) / 8 * 8;
}

/* Where sums and counts of the n rows that a node of a table has go. */
static void
place_values(struct replicated *r, size_t table_node, size_t n, char *to)
{
	struct piece *p = r->piece + r->node_piece[table_node];
	const struct piece *const end = r->piece + r->node_piece[table_node + 1];

	for (size_t at = 0; p < end; at += p++->n_rows) {
		const size_t row_bytes = r->table[p->table].dim * sizeof(float);

		p->x_to = to + at * row_bytes;
		p->count_to = to + n * row_bytes + at * sizeof(uint32_t);
	}
}

/* Counts, and where every piece goes from `to` on, of which nothing but differences counts
 * as long as it is NULL.  Returns how many bytes that is. */
static size_t
lay_out(struct replicated *r, char *to)
{
	size_t used = header_bytes(r, r->n_nodes);

	for (size_t i = 0; i < r->n_tables * r->n_nodes; i++) {
		const size_t t = i / r->n_nodes;
		const int same = has_keys_of_twin(r, t, i % r->n_nodes);
		struct piece *p = r->piece + r->node_piece[i];
		const struct piece *end = r->piece + r->node_piece[i + 1];
		uint64_t n = 0;

		for (; p < end; n += p++->n_rows)
			p->key_to = to == NULL || same ? NULL : to + used + n * 8;
		used += same ? 0 : n * 8;
		if (to != NULL)
			place_values(r, i, n, to + used);
		used += value_bytes(r, t, n);
		if (to != NULL)
			memcpy(to + i * 8, &(uint64_t){ n | (same ? SAME_KEYS : 0) }, 8);
	}
	return used;
}

/* How much all ranks give, room for it, and where this rank's is. */
static enum rs_status
agree_on_sizes(struct replicated *r)
{
	const size_t R = r->exchange->n_ranks, rank = r->exchange->rank;

	for (size_t i = 0; i <= R; i++)
		r->begin[i] = i * sizeof(*r->bytes);
	r->bytes[rank] = lay_out(r, NULL);
	RS_TRY(r->exchange->ops->gather(r->exchange, r->bytes, r->begin));
	r->begin[0] = 0;
	for (size_t i = 0; i < R; i++) {
		if (r->bytes[i] > BYTES_MAX || r->bytes[i] % 8 != 0)
			return rs_fail(RS_EPROTOCOL, "worker %zu gives %llu bytes of row gradients",
				i, (unsigned long long)r->bytes[i]);
		r->begin[i + 1] = r->begin[i] + r->bytes[i];
	}
	r->block.n = 0;
	RS_TRY(buffer_reserve(&r->block, r->begin[R]));
	lay_out(r, r->block.data + r->begin[rank]);
	atomic_store(&r->next, 0);
	return RS_OK;
}

static void
fill_block(struct replicated *r)
{
	const size_t n = r->node_piece[r->n_tables * r->n_nodes];

	for (size_t i; (i = atomic_fetch_add(&r->next, 1)) < n;) {
		const struct piece *p = &r->piece[i];

		if (p->n_rows == 0)
			continue;
		if (p->key_to != NULL)
			memcpy(p->key_to, piece_ids(r, p), p->n_rows * 8);
		memcpy(p->x_to, r->merger[p->worker].x.data + p->x,
			p->n_rows * r->table[p->table].dim * sizeof(float));
		if (r->table[p->table].kind == TABLE_EXACT)
			memcpy(p->count_to, r->merger[p->worker].counts.data + p->count,
				count_bytes(r, p->table, p->n_rows));
	}
}

static enum rs_status
fail_block(size_t rank)
{
	return rs_fail(RS_EPROTOCOL, "row gradients of worker %zu are malformed", rank);
}

/* Reads what rank gives into sections; nothing is trusted. */
static enum rs_status
find_sections(struct replicated *r, size_t rank, size_t *n_rows)
{
	const size_t R = r->exchange->n_ranks, bytes = r->begin[rank + 1] - r->begin[rank];
	const char *block = r->block.data + r->begin[rank];
	struct tree_node node[2 * TREE_MAX_DEPTH];
	const size_t n_nodes = tree_frontier(r->n_slots, tree_rank_begin(r->n_slots, R, rank),
		tree_rank_begin(r->n_slots, R, rank + 1), node);
	struct section *first = r->section + r->n_sections;
	size_t used = header_bytes(r, n_nodes);

	if (used > bytes)
		return fail_block(rank);
	for (size_t i = 0; i < r->n_tables * n_nodes; i++) {
		const size_t t = i / n_nodes;
		const struct section *twin = first + r->twin[t] * n_nodes + i % n_nodes;
		uint64_t count;

		memcpy(&count, block + i * 8, 8);
		const int same = (count & SAME_KEYS) != 0;
		const size_t n = count & ~SAME_KEYS;

		if (n > bytes || (same && (twin >= first + i || twin->n != n)))
			return fail_block(rank);
		if (used + (same ? 0 : n * 8) + value_bytes(r, t, n) > bytes)
			return fail_block(rank);
		first[i] = (struct section){ .table = t, .slot = node[i % n_nodes].begin, .n = n,
			.ids = same ? twin->ids : (const uint64_t *)(const void *)(block + used),
			.x = (const float *)(const void *)(block + used + (same ? 0 : n * 8)),
			.first = *n_rows };
		if (r->table[t].kind == TABLE_EXACT)
			first[i].count = (const uint32_t *)(const void *)
				(first[i].x + n * r->table[t].dim);
		used += (same ? 0 : n * 8) + value_bytes(r, t, n);
		*n_rows += n;
	}
	r->n_sections += r->n_tables * n_nodes;
	return used == bytes ? RS_OK : fail_block(rank);
}

static enum rs_status
gather_sections(struct replicated *r)
{
	size_t n = 0;

	RS_TRY(r->exchange->ops->gather(r->exchange, r->block.data, r->begin));
	r->n_sections = 0;
	for (size_t rank = 0; rank < r->exchange->n_ranks; rank++)
		RS_TRY(find_sections(r, rank, &n));
	if (n > r->n_grad) {
		free(r->grad);
		r->grad = NULL;
		r->n_grad = 0;
		RS_TRY(memory_alloc(n + n / 4, sizeof(*r->grad), &r->grad));
		r->n_grad = n + n / 4;
	}
	atomic_store(&r->next, 0);
	return RS_OK;
}

static enum rs_status
push_section(struct replicated *r, const struct section *s)
{
	const struct lookup_table *t = &r->table[s->table];
	const struct lookup_push p = { .slot = s->slot, .table = s->table, .input = s->table,
		.ids = s->ids, .n = s->n, .grad = r->grad + s->first, .count = s->count };

	for (size_t i = 0; i < s->n; i++) {
		if (s->ids[i] >= t->rows || (i > 0 && s->ids[i] <= s->ids[i - 1]))
			return rs_fail(RS_EPROTOCOL,
				"a gradient of row %llu of table '%s', which has %llu, came from "
				"another worker", (unsigned long long)s->ids[i], t->name,
				(unsigned long long)t->rows);
		r->grad[s->first + i] = s->x + i * t->dim;
	}
	return s->n > 0 ? r->over.under->ops->push(r->over.under, &p) : RS_OK;
}

static enum rs_status
push_sections(struct replicated *r)
{
	for (size_t i; (i = atomic_fetch_add(&r->next, 1)) < r->n_sections;)
		RS_TRY(push_section(r, &r->section[i]));
	return RS_OK;
}

enum rs_status
replicated_share(struct replicated *r, size_t worker)
{
	if (worker == 0)
		cut_pieces(r);
	RS_TRY(together(r));
	note(r, merge_pieces(r, worker));
	RS_TRY(together(r));
	if (worker == 0)
		note(r, agree_on_sizes(r));
	RS_TRY(together(r));
	fill_block(r);
	RS_TRY(together(r));
	if (worker == 0)
		note(r, gather_sections(r));
	RS_TRY(together(r));
	note(r, push_sections(r));
	return together(r);
}
