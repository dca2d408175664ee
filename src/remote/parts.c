/* Which shard has which rows: cutting, then the largest parts first. */
#include "remote/parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "embed/admission.h"
#include "embed/row_optimizer.h"
#include "embed/table.h"

/* Tables with the same rows, cut and placed as one. */
struct group {
	size_t   first;             /* its first table                                */
	enum table_kind kind;
	uint64_t rows, bytes;
	size_t   n_parts;
	size_t   piece;             /* where its pieces begin                         */
};

struct piece { size_t group, index, shard; uint64_t bytes; };

struct plan {
	const struct lookup_table *table;
	size_t n_tables, n_shards;
	size_t *group_of;           /* [n_tables]                                     */
	struct group *group;        /* [n_groups]                                     */
	size_t n_groups;
	struct piece *piece;        /* [n_pieces] by group and index                  */
	struct piece **order;       /* [n_pieces] the largest first                   */
	size_t n_pieces;
	uint64_t *used;             /* [n_shards] bytes                               */
	size_t *seen;               /* [n_shards] group + 1 of the piece before       */
};

uint64_t
parts_rows(const struct lookup_table *table, uint64_t begin, uint64_t end)
{
	if (table->kind != TABLE_EXACT)
		return end - begin;
	return (uint64_t)((double)table->expected * ((double)(end - begin) / (double)EXACT_ROWS));
}

/* Counters of ids that wait come one by one, but a sketch is there from the start. */
static uint64_t
sketch_bytes(const struct lookup_table *t, uint64_t begin, uint64_t end)
{
	const struct admission_settings s = { .kind = t->tenancy.admit,
		.count = t->tenancy.admit_count, .cells = t->tenancy.admit_cells };
	const unsigned last = end == EXACT_ROWS ? EXACT_SEGMENTS : exact_segment_of(end);

	return admission_sketch_bytes(&s, last - exact_segment_of(begin));
}

uint64_t
parts_bytes(const struct lookup_table *table, uint64_t begin, uint64_t end)
{
	const struct row_optimizer *o = row_optimizer_get(table->optimizer.kind);
	const uint64_t stride = row_slot_at(table->storage, table->dim) +
		row_optimizer_slots(o, table->dim);
	const uint64_t n = end - begin;

	if (table->kind == TABLE_EXACT)
		return exact_bytes_most(stride * sizeof(float), parts_rows(table, begin, end))
			+ sketch_bytes(table, begin, end);
	return n * stride * sizeof(float)
	    + (n + TABLE_TOUCHED_BITS - 1) / TABLE_TOUCHED_BITS * sizeof(uint64_t);
}

/* Where part i of n begins: floor(rows * i / n), where the product may not fit. */
static uint64_t
cut(const struct group *g, size_t i)
{
	const size_t n = g->n_parts;

	if (g->kind == TABLE_EXACT)
		return exact_segment_begin((unsigned)(EXACT_SEGMENTS * i / n));
	return g->rows / n * i + g->rows % n * i / n;
}

static enum rs_status
add_to_group(struct plan *p, size_t table)
{
	const struct lookup_table *t = &p->table[table];
	size_t g = 0;

	while (g < p->n_groups && p->table[p->group[g].first].twins != t->twins)
		g++;
	if (g == p->n_groups)
		p->group[p->n_groups++] = (struct group){ .first = table, .kind = t->kind,
			.rows = t->rows };
	if (p->group[g].rows != t->rows || p->group[g].kind != t->kind)
		return rs_fail(RS_EBUG, "tables '%s' and '%s' are twins of %llu and %llu rows",
			p->table[p->group[g].first].name, t->name,
			(unsigned long long)p->group[g].rows, (unsigned long long)t->rows);
	p->group_of[table] = g;
	p->group[g].bytes += parts_bytes(t, 0, t->rows);
	return RS_OK;
}

static size_t
count_parts(const struct group *g, size_t n_shards, uint64_t min_shard_bytes)
{
	const uint64_t least = min_shard_bytes > 0 ? min_shard_bytes : 1;
	const uint64_t wanted = g->bytes / least + (g->bytes % least > 0);
	const uint64_t most = g->kind == TABLE_EXACT ? EXACT_SEGMENTS : g->rows;
	uint64_t n = n_shards;

	n = most < n ? most : n;
	n = wanted < n ? wanted : n;
	return n > 0 ? (size_t)n : 1;
}

static enum rs_status
cut_groups(struct plan *p, uint64_t min_shard_bytes)
{
	for (size_t t = 0; t < p->n_tables; t++)
		RS_TRY(add_to_group(p, t));
	for (size_t g = 0; g < p->n_groups; g++) {
		p->group[g].piece = p->n_pieces;
		p->group[g].n_parts = count_parts(&p->group[g], p->n_shards, min_shard_bytes);
		p->n_pieces += p->group[g].n_parts;
	}
	RS_TRY(memory_alloc(p->n_pieces + 1, sizeof(*p->piece), &p->piece));
	RS_TRY(memory_alloc(p->n_pieces + 1, sizeof(struct piece *), &p->order));
	for (size_t g = 0; g < p->n_groups; g++)
		for (size_t i = 0; i < p->group[g].n_parts; i++) {
			const size_t at = p->group[g].piece + i;

			p->piece[at] = (struct piece){ .group = g, .index = i };
			p->order[at] = &p->piece[at];
		}
	for (size_t t = 0; t < p->n_tables; t++) {
		const struct group *g = &p->group[p->group_of[t]];

		for (size_t i = 0; i < g->n_parts; i++)
			p->piece[g->piece + i].bytes += parts_bytes(&p->table[t],
				cut(g, i), cut(g, i + 1));
	}
	return RS_OK;
}

static int
compare_pieces(const void *a, const void *b)
{
	const struct piece *x = *(struct piece *const *)a, *y = *(struct piece *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x < y ? -1 : x > y;
}

/* The shard with the fewest bytes that has no piece of the group yet. */
static size_t
choose_shard(const struct plan *p, const struct piece *piece)
{
	const struct group *g = &p->group[piece->group];
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < g->n_parts; i++) {
		const struct piece *other = &p->piece[g->piece + i];

		if (other->shard != SIZE_MAX)
			p->seen[other->shard] = piece->group + 1;
	}
	for (size_t s = 0; s < p->n_shards; s++)
		if (p->seen[s] != piece->group + 1
		    && (best == SIZE_MAX || p->used[s] < p->used[best]))
			best = s;
	assert(best != SIZE_MAX);
	return best;
}

static enum rs_status
place_pieces(struct plan *p)
{
	RS_TRY(memory_alloc(p->n_shards, sizeof(*p->used), &p->used));
	RS_TRY(memory_alloc(p->n_shards, sizeof(*p->seen), &p->seen));
	for (size_t i = 0; i < p->n_pieces; i++)
		p->piece[i].shard = SIZE_MAX;
	qsort(p->order, p->n_pieces, sizeof(*p->order), compare_pieces);
	for (size_t i = 0; i < p->n_pieces; i++) {
		struct piece *piece = p->order[i];

		piece->shard = choose_shard(p, piece);
		p->used[piece->shard] += piece->bytes;
	}
	return RS_OK;
}

static enum rs_status
write_parts(const struct plan *p, struct parts *out)
{
	size_t n = 0;

	for (size_t t = 0; t < p->n_tables; t++)
		n += p->group[p->group_of[t]].n_parts;
	RS_TRY(memory_alloc(n + 1, sizeof(*out->part), &out->part));
	RS_TRY(memory_alloc(p->n_tables + 1, sizeof(*out->first), &out->first));
	for (size_t t = 0; t < p->n_tables; t++) {
		const struct group *g = &p->group[p->group_of[t]];

		out->first[t] = out->n;
		for (size_t i = 0; i < g->n_parts; i++)
			out->part[out->n++] = (struct part){
				.table = t, .shard = p->piece[g->piece + i].shard,
				.begin = cut(g, i), .end = cut(g, i + 1),
			};
	}
	out->first[p->n_tables] = out->n;
	out->n_tables = p->n_tables;
	out->n_shards = p->n_shards;
	return RS_OK;
}

static enum rs_status
make(struct plan *p, uint64_t min_shard_bytes, struct parts *out)
{
	RS_TRY(memory_alloc(p->n_tables + 1, sizeof(*p->group_of), &p->group_of));
	RS_TRY(memory_alloc(p->n_tables + 1, sizeof(*p->group), &p->group));
	RS_TRY(cut_groups(p, min_shard_bytes));
	RS_TRY(place_pieces(p));
	return write_parts(p, out);
}

enum rs_status
parts_make(const struct lookup_table *table, size_t n_tables, size_t n_shards,
	uint64_t min_shard_bytes, struct parts *out)
{
	struct plan p = { .table = table, .n_tables = n_tables, .n_shards = n_shards };
	enum rs_status status;

	memset(out, 0, sizeof(*out));
	if (n_shards == 0)
		return rs_fail(RS_EUSAGE, "tables cannot be cut for no shards");
	status = make(&p, min_shard_bytes, out);
	free(p.group_of);
	free(p.group);
	free(p.piece);
	free(p.order);
	free(p.used);
	free(p.seen);
	if (status != RS_OK)
		parts_free(out);
	return status;
}

void
parts_free(struct parts *p)
{
	free(p->part);
	free(p->first);
	memset(p, 0, sizeof(*p));
}
