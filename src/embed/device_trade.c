/* Rows and gradients between GPUs: where each entry lies, and the way there and back. */
#include "embed/device_trade.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"
#include "embed/device_side.h"
#include "embed/local.h"
#include "embed/pull.h"

/* What one GPU has for one of a group: entries, and the first of them on either side. */
struct run { size_t n, given, got, n_placed; };

/* Where the entries of a group begin on a GPU, and their floats; where what it steps goes. */
struct start {
	size_t given, got, given_at, got_at, n_given, n_got;
	struct device_rows_group step;
};

/* The next entries of a piece of a use with the rows of one GPU; `given` counts them first. */
struct next { uint32_t given, got; };

struct device_trade {
	struct gpu_memory *gpu;
	struct gpu_mesh *mesh;
	struct device_rows *const *rows;   /* [n_sides]                                   */
	size_t n_sides, n_groups, n_tables, n_uses, n_pieces;
	struct device_rows_table *table;   /* [n_sides,n_tables]                          */
	struct device_side *side;          /* [n_sides]                                   */
	size_t *width;                     /* [n_groups] floats of an entry               */
	struct run *run;                   /* [n_groups,from,to]                          */
	struct start *start;               /* [n_sides,n_groups]                          */
	struct next *next;                 /* [n_uses,n_pieces,n_sides]                   */
	struct gpu_move *move;             /* [n_groups,from,to]                          */
	struct gpu_queue **queue;          /* [n_sides]                                   */
	size_t *n_rows;                    /* [n_groups]                                  */
	/* Of the last fetch. */
	struct lookup_use *use;            /* [n_uses]                                    */
	size_t *place;                     /* [n_pieces]                                  */
	size_t *first;                     /* [n_uses+1] of entry                         */
	uint32_t *entry;                   /* of each occurrence, of those that were got  */
	size_t n_entries, n_now_pieces;
	int    training;
	atomic_size_t n_pushed;
};

static struct run *
run_of(const struct device_trade *t, size_t group, size_t from, size_t to)
{
	return &t->run[(group * t->n_sides + from) * t->n_sides + to];
}

static struct start *
start_of(const struct device_trade *t, size_t side, size_t group)
{
	return &t->start[side * t->n_groups + group];
}

static struct next *
next_of(const struct device_trade *t, size_t use, size_t piece)
{
	return &t->next[(use * t->n_pieces + piece) * t->n_sides];
}

static const struct device_rows_table *
table_of(const struct device_trade *t, size_t side, size_t table)
{
	return &t->table[side * t->n_tables + table];
}

/* --- opening ------------------------------------------------------------------------------- */

static struct device_room
planned(const struct lookup_device_options *o)
{
	struct device_room room = { 0 };

	for (size_t i = 0; i < o->local.n_tables; i++) {
		room.given += o->n[i];
		room.got += o->n_there[i];
		room.given_floats += o->n[i] * o->local.table[i].dim;
		room.got_floats += o->n_there[i] * o->local.table[i].dim;
	}
	return room;
}

size_t
device_trade_bytes(const struct lookup_device_options *o)
{
	const struct device_room room = planned(o);

	return device_side_bytes(o->gpu, &room);
}

static enum rs_status
reserve_entries(struct device_trade *t, size_t n)
{
	if (n <= t->n_entries)
		return RS_OK;
	free(t->entry);
	t->n_entries = 0;
	RS_TRY(memory_alloc(n + n / 8, sizeof(*t->entry), &t->entry));
	t->n_entries = n + n / 8;
	return RS_OK;
}

static enum rs_status
take_memory(struct device_trade *t)
{
	const size_t S = t->n_sides, runs = t->n_groups * S * S;

	RS_TRY(memory_alloc(S, sizeof(*t->side), &t->side));
	RS_TRY(memory_alloc(t->n_groups + 1, sizeof(*t->width), &t->width));
	RS_TRY(memory_alloc(S, sizeof(*t->queue), &t->queue));
	RS_TRY(memory_alloc(S * t->n_tables + 1, sizeof(*t->table), &t->table));
	RS_TRY(memory_alloc(runs + 1, sizeof(*t->run), &t->run));
	RS_TRY(memory_alloc(runs + 1, sizeof(*t->move), &t->move));
	RS_TRY(memory_alloc(S * t->n_groups + 1, sizeof(*t->start), &t->start));
	RS_TRY(memory_alloc(t->n_uses * t->n_pieces * S + 1, sizeof(*t->next), &t->next));
	RS_TRY(memory_alloc(t->n_groups + 1, sizeof(*t->n_rows), &t->n_rows));
	RS_TRY(memory_alloc(t->n_uses + 1, sizeof(*t->use), &t->use));
	RS_TRY(memory_alloc(t->n_pieces + 1, sizeof(*t->place), &t->place));
	return memory_alloc(t->n_uses + 1, sizeof(*t->first), &t->first);
}

static enum rs_status
open_all(struct device_trade *t, const struct lookup_device_options *o)
{
	const struct device_room room = planned(o);

	RS_TRY(take_memory(t));
	for (size_t i = 0; i < t->n_sides; i++) {
		for (size_t k = 0; k < t->n_tables; k++) {
			const struct device_rows_table table = device_rows_table(t->rows[i], k);

			t->table[i * t->n_tables + k] = table;
			t->width[table.group] = table.D;
		}
		RS_TRY(device_side_open(&t->side[i], t->gpu, i, &room));
		t->queue[i] = t->side[i].queue;
	}
	return reserve_entries(t, room.given);
}

enum rs_status
device_trade_open(const struct lookup_device_options *o, struct device_rows *const *rows,
	struct device_trade **out)
{
	struct device_trade *t;

	RS_TRY(memory_alloc(1, sizeof(*t), &t));
	*out = t;
	t->gpu = o->gpu;
	t->mesh = o->mesh;
	t->rows = rows;
	t->n_sides = gpu_memory_places(o->gpu);
	t->n_groups = device_rows_n_groups(rows[0]);
	t->n_tables = o->local.n_tables;
	t->n_uses = o->local.n_inputs;
	t->n_pieces = o->n_pieces;
	return open_all(t, o);
}

void
device_trade_close(struct device_trade *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; t->side != NULL && i < t->n_sides; i++)
		device_side_close(&t->side[i]);
	free(t->side);
	free(t->width);
	free(t->queue);
	free(t->table);
	free(t->run);
	free(t->move);
	free(t->start);
	free(t->next);
	free(t->n_rows);
	free(t->use);
	free(t->place);
	free(t->first);
	free(t->entry);
	free(t);
}

size_t
device_trade_here(const struct device_trade *t)
{
	size_t bytes = t->n_entries * sizeof(*t->entry);

	for (size_t i = 0; i < t->n_sides; i++)
		bytes += t->side[i].plan.bytes;
	return bytes;
}

/* --- where entries lie --------------------------------------------------------------------- */

/* Rows of a table are fewer than 2^32. */
static size_t
owner_of(const struct device_rows_table *table, uint64_t id)
{
	return (uint32_t)id / (uint32_t)table->n;
}

enum rs_status
device_trade_count(struct device_trade *t, const struct lookup_fetch *f,
	const struct lookup *home, size_t use)
{
	const struct lookup_use *const u = &f->use[use];
	const struct table *const own = local_table(home, u->table);
	const struct device_rows_table *const table = table_of(t, 0, u->table);

	if (f->n_uses > t->n_uses || f->n_pieces > t->n_pieces)
		return rs_fail(RS_EBUG, "a fetch of %zu uses in %zu pieces, the lookup was opened "
			"for %zu and %zu", f->n_uses, f->n_pieces, t->n_uses, t->n_pieces);
	for (size_t piece = 0; piece < f->n_pieces; piece++) {
		struct next *const next = next_of(t, use, piece);

		for (size_t i = 0; i < t->n_sides; i++)
			next[i].given = 0;
		for (size_t j = u->piece[piece]; j < u->piece[piece + 1]; j++) {
			if (u->ids[j] >= own->n_rows)
				return pull_unknown_id(own, u->ids[j]);
			next[owner_of(table, u->ids[j])].given++;
		}
	}
	return RS_OK;
}

static void
sum_runs(struct device_trade *t, const struct lookup_fetch *f)
{
	for (size_t i = 0; i < t->n_groups * t->n_sides * t->n_sides; i++)
		t->run[i] = (struct run){ .n = 0 };
	for (size_t piece = 0; piece < f->n_pieces; piece++)
		for (size_t use = 0; use < f->n_uses; use++) {
			const size_t group = table_of(t, 0, f->use[use].table)->group;
			const struct next *const next = next_of(t, use, piece);

			for (size_t i = 0; i < t->n_sides; i++)
				run_of(t, group, i, f->place[piece])->n += next[i].given;
		}
}

static void
place_runs(struct device_trade *t, size_t side)
{
	struct device_room *const used = &t->side[side].used;

	*used = (struct device_room){ 0 };
	for (size_t group = 0; group < t->n_groups; group++) {
		struct start *const start = start_of(t, side, group);

		*start = (struct start){ .given = used->given, .got = used->got,
			.given_at = used->given_floats, .got_at = used->got_floats };
		for (size_t i = 0; i < t->n_sides; i++) {
			struct run *const to = run_of(t, group, side, i);
			struct run *const from = run_of(t, group, i, side);

			to->given = used->given;
			from->got = used->got;
			used->given += to->n;
			used->got += from->n;
		}
		start->n_given = used->given - start->given;
		start->n_got = used->got - start->got;
		used->given_floats += start->n_given * t->width[group];
		used->got_floats += start->n_got * t->width[group];
	}
}

/* Counts become the first entries of each piece of a use. */
static void
place_pieces(struct device_trade *t, const struct lookup_fetch *f)
{
	for (size_t piece = 0; piece < f->n_pieces; piece++)
		for (size_t use = 0; use < f->n_uses; use++) {
			const size_t group = table_of(t, 0, f->use[use].table)->group;
			struct next *const next = next_of(t, use, piece);

			for (size_t i = 0; i < t->n_sides; i++) {
				struct run *const r = run_of(t, group, i, f->place[piece]);
				const size_t n = next[i].given;

				next[i].given = (uint32_t)(r->given + r->n_placed);
				next[i].got = (uint32_t)(r->got + r->n_placed);
				r->n_placed += n;
			}
		}
}

static void
keep_fetch(struct device_trade *t, const struct lookup_fetch *f)
{
	for (size_t use = 0; use < f->n_uses; use++) {
		t->use[use] = f->use[use];
		t->first[use + 1] = t->first[use] + f->use[use].n;
	}
	for (size_t piece = 0; piece < f->n_pieces; piece++)
		t->place[piece] = f->place[piece];
	t->n_now_pieces = f->n_pieces;
	t->training = f->training;
	atomic_store(&t->n_pushed, 0);
}

static enum rs_status
begin_rows(struct device_trade *t, size_t side)
{
	for (size_t group = 0; group < t->n_groups; group++)
		t->n_rows[group] = start_of(t, side, group)->n_given;
	RS_TRY(device_rows_begin_groups(t->rows[side], t->n_rows));
	for (size_t group = 0; group < t->n_groups; group++)
		start_of(t, side, group)->step = device_rows_group(t->rows[side], group);
	return RS_OK;
}

enum rs_status
device_trade_place(struct device_trade *t, const struct lookup_fetch *f)
{
	sum_runs(t, f);
	keep_fetch(t, f);
	RS_TRY(reserve_entries(t, t->first[f->n_uses]));
	for (size_t i = 0; i < t->n_sides; i++) {
		place_runs(t, i);
		RS_TRY(device_side_reserve(&t->side[i]));
		t->queue[i] = t->side[i].queue;
		if (f->training)
			RS_TRY(begin_rows(t, i));
	}
	place_pieces(t, f);
	return RS_OK;
}

/* Entry `given` of a side is that row, and its gradient will lie where its copy does. */
static void
fill_entry(struct device_trade *t, size_t side, const struct device_rows_table *table,
	size_t given, uint32_t row)
{
	struct device_side *const s = &t->side[side];
	const struct start *const start = start_of(t, side, table->group);
	const size_t k = given - start->given;

	((const float **)(void *)(s->here + s->source))[given] = table->rows + row * table->stride;
	if (!t->training)
		return;
	start->step.row[k] = (uint32_t)table->first + row;
	start->step.grad[k] = s->given + start->given_at + k * table->D;
}

void
device_trade_fill(struct device_trade *t, const struct lookup_fetch *f, size_t use)
{
	const struct lookup_use *const u = &f->use[use];
	uint32_t *const entry = t->entry + t->first[use];

	for (size_t piece = 0; piece < f->n_pieces; piece++) {
		struct next *const next = next_of(t, use, piece);

		for (size_t j = u->piece[piece]; j < u->piece[piece + 1]; j++) {
			const size_t side = owner_of(table_of(t, 0, u->table), u->ids[j]);
			const struct device_rows_table *const table =
				table_of(t, side, u->table);

			entry[j] = next[side].got++;
			fill_entry(t, side, table, next[side].given++,
				(uint32_t)(u->ids[j] - side * table->n));
		}
	}
}

/* --- the way there and back ---------------------------------------------------------------- */

/* Floats of a run on the side that gives them, and on that which gets them. */
static struct gpu_move
move_of(const struct device_trade *t, size_t group, size_t from, size_t to)
{
	const struct run *const r = run_of(t, group, from, to);
	const struct start *const a = start_of(t, from, group), *const b = start_of(t, to, group);
	const size_t D = t->width[group];

	return (struct gpu_move){ .from = from, .to = to, .n = r->n * D,
		.source = t->side[from].given + a->given_at + (r->given - a->given) * D,
		.target = t->side[to].got + b->got_at + (r->got - b->got) * D };
}

static enum rs_status
move_all(struct device_trade *t, int is_back)
{
	size_t n = 0;

	for (size_t group = 0; group < t->n_groups; group++)
		for (size_t from = 0; from < t->n_sides; from++)
			for (size_t to = 0; to < t->n_sides; to++) {
				const struct gpu_move m = move_of(t, group, from, to);

				t->move[n++] = !is_back ? m : (struct gpu_move){ .from = to,
					.to = from, .source = m.target,
					.target = (float *)(uintptr_t)m.source, .n = m.n };
			}
	RS_TRY(t->mesh->ops->start(t->mesh, t->queue, t->move, n));
	return t->mesh->ops->wait(t->mesh, t->queue);
}

static void
send(const struct device_trade *t, const struct device_side *s, size_t at, size_t bytes)
{
	if (bytes > 0)
		t->gpu->gpu->upload(s->there + at, s->here + at, bytes);
}

/* y [n,D] = the n rows at pointers that begin at a place of the block, times factors or not. */
static void
copy_entries(const struct device_trade *t, const struct device_side *s, const struct bag_args *a,
	size_t pointers)
{
	struct bag_args bag = *a;

	bag.row = (const float *const *)(void *)(s->there + pointers);
	bag.ldy = a->D;
	if (bag.B > 0)
		t->gpu->gpu->kernel->bag_forward(&bag);
}

static void
give_rows(struct device_trade *t, size_t side)
{
	const struct device_side *const s = &t->side[side];

	t->gpu->gpu->use(s->queue);
	send(t, s, s->source, s->used.given * sizeof(float *));
	for (size_t group = 0; group < t->n_groups; group++) {
		const struct start *const start = start_of(t, side, group);

		copy_entries(t, s, &(struct bag_args){ .B = start->n_given,
			.D = t->width[group], .y = s->given + start->given_at },
			s->source + start->given * sizeof(float *));
	}
}

enum rs_status
device_trade_bring(struct device_trade *t)
{
	for (size_t i = 0; i < t->n_sides; i++)
		give_rows(t, i);
	return move_all(t, 0);
}

/* Gradients come where the rows were that they are of. */
static void
give_gradients(struct device_trade *t, size_t side)
{
	const struct device_side *const s = &t->side[side];

	t->gpu->gpu->use(s->queue);
	send(t, s, s->grad, s->used.got * sizeof(float *));
	send(t, s, s->scale, s->used.got * sizeof(float));
	for (size_t group = 0; group < t->n_groups; group++) {
		const struct start *const start = start_of(t, side, group);

		copy_entries(t, s, &(struct bag_args){ .B = start->n_got,
			.D = t->width[group], .y = s->got + start->got_at,
			.scale = (const float *)(void *)(s->there + s->scale) + start->got },
			s->grad + start->got * sizeof(float *));
	}
}

enum rs_status
device_trade_step(struct device_trade *t, double rate_factor)
{
	enum rs_status status = RS_OK;
	size_t n = 0;

	for (size_t i = 0; i < t->n_sides; i++) {
		n += t->side[i].used.got;
		give_gradients(t, i);
	}
	assert(t->training && atomic_load(&t->n_pushed) == n);
	RS_TRY(move_all(t, 1));
	for (size_t i = 0; i < t->n_sides; i++)
		device_rows_start(t->rows[i], rate_factor);
	for (size_t i = 0; i < t->n_sides; i++) {
		const enum rs_status own = device_rows_wait(t->rows[i]);

		status = status != RS_OK ? status : own;
	}
	return status;
}

/* --- what was fetched ---------------------------------------------------------------------- */

/* The entries of n ids of an input, in one piece, and the GPU that looks at them. */
static enum rs_status
find_entries(const struct device_trade *t, size_t input, const uint64_t *ids, size_t n,
	const uint32_t **entry, size_t *place)
{
	const struct lookup_use *const u = &t->use[input];
	const uintptr_t from = (uintptr_t)u->ids, to = (uintptr_t)(u->ids + u->n);
	size_t piece = 0;

	if ((uintptr_t)ids < from || (uintptr_t)(ids + n) > to)
		return rs_fail(RS_EBUG, "%zu ids of input %zu were not fetched", n, input);
	const size_t j = (size_t)(ids - u->ids);
	while (piece < t->n_now_pieces && u->piece[piece + 1] <= j)
		piece++;
	if (n > 0 && (piece == t->n_now_pieces || j + n > u->piece[piece + 1]))
		return rs_fail(RS_EBUG, "%zu ids of input %zu are no piece", n, input);
	*entry = t->entry + t->first[input] + j;
	*place = n > 0 ? t->place[piece] : 0;
	return RS_OK;
}

enum rs_status
device_trade_pull(struct device_trade *t, const struct lookup_pull *p)
{
	const struct device_rows_table *const table = table_of(t, 0, p->table);
	const uint32_t *entry;
	size_t place;

	RS_TRY(find_entries(t, p->input, p->ids, p->n, &entry, &place));
	const struct start *const start = start_of(t, place, table->group);
	const float *const got = t->side[place].got + start->got_at;
	for (size_t j = 0; j < p->n; j++)
		p->row[j] = got + (entry[j] - start->got) * table->D;
	return RS_OK;
}

enum rs_status
device_trade_push(struct device_trade *t, const struct lookup_push *p)
{
	const uint32_t *entry;
	size_t place;

	RS_TRY(find_entries(t, p->input, p->ids, p->n, &entry, &place));
	const struct device_side *const s = &t->side[place];
	const float **const grad = (const float **)(void *)(s->here + s->grad);
	float *const scale = (float *)(void *)(s->here + s->scale);
	for (size_t j = 0; j < p->n; j++) {
		grad[entry[j]] = p->grad[j];
		scale[entry[j]] = p->scale != NULL ? p->scale[j] : 1;
	}
	atomic_fetch_add_explicit(&t->n_pushed, p->n, memory_order_relaxed);
	return RS_OK;
}
