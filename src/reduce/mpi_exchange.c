/* Sums along the tree of slots, gathers and broadcasts by messages between two processes. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/mpi_private.h"

#define TAG_EPOCHS   4095              /* tags below 32768 are promised               */
#define SCRATCH_MAX  (TREE_MAX_DEPTH + 1)

struct mpi_exchange {
	struct exchange base;
	struct mpi *mpi;
	int   *world;                  /* [n_ranks]                                   */
	int    tag;
	const char *noun;              /* what a rank is called in messages           */
	struct mpi_program *program;   /* [MPI_WINDOW]                                */
	uint8_t *scratch[MPI_WINDOW][SCRATCH_MAX];     /* MPI_PIECE bytes, when needed */
};

static struct mpi_exchange *
mpi_of(struct exchange *e)
{
	return (struct mpi_exchange *)e;
}

static void
name_worker(const struct mpi_exchange *x, int process, char *out, size_t capacity)
{
	for (size_t r = 0; r < x->base.n_ranks; r++)
		if (x->world[r] == process)
			snprintf(out, capacity, "%s %zu", x->noun, r);
}

/* --- programs ------------------------------------------------------------- */

static void
put(struct mpi_program *p, struct mpi_op op)
{
	assert(p->n < MPI_OPS_MAX);
	p->op[p->n++] = op;
}

static void
put_send(struct mpi_program *p, int to, const void *bytes, size_t n)
{
	put(p, (struct mpi_op){ .kind = MPI_OP_MESSAGE, .to = to, .from = -1, .source = bytes,
		.n_source = n });
}

static void
put_receive(struct mpi_program *p, int from, void *bytes, size_t n)
{
	put(p, (struct mpi_op){ .kind = MPI_OP_MESSAGE, .to = -1, .from = from, .target = bytes,
		.n_target = n });
}

/* Down a binomial tree: rank root + i gets it from root + i without i's lowest bit. */
static void
put_broadcast(const struct mpi_exchange *x, struct mpi_program *p, size_t root, void *bytes,
	size_t n)
{
	const size_t R = x->base.n_ranks, i = (x->base.rank + R - root) % R;
	size_t bit = 1;

	while (bit < R && !(i & bit))
		bit <<= 1;
	if (i != 0)
		put_receive(p, x->world[(root + (i & (i - 1))) % R], bytes, n);
	while ((bit >>= 1) > 0)
		if (i + bit < R)
			put_send(p, x->world[(root + i + bit) % R], bytes, n);
}

/* --- sums ----------------------------------------------------------------- */

struct sum {
	struct mpi_exchange *x;
	const struct exchange_sum *s;
	size_t head_pieces;            /* 1 when there are heads: they are piece 0    */
	enum rs_status status;         /* of getting memory                           */
};

/* A piece of one sum being planned; values are of this rank when owner is. */
struct planned {
	struct sum *sum;
	struct mpi_program *program;
	size_t piece, from, bytes;     /* from: of the floats                         */
	size_t next_part;
	uint8_t *out;
	unsigned used;                 /* scratch blocks, a bit each; bit 0: out      */
};

struct value {
	size_t owner;
	const uint8_t *bytes;
	int    block;                  /* number of the scratch block; -1: a part     */
};

static size_t
rank_of(const struct planned *q, size_t slot)
{
	const size_t n = q->sum->s->n_slots, R = q->sum->x->base.n_ranks;
	size_t rank = slot * R / n;

	while (tree_rank_begin(n, R, rank + 1) <= slot)
		rank++;
	while (tree_rank_begin(n, R, rank) > slot)
		rank--;
	return rank;
}

static int
is_heads(const struct planned *q)
{
	return q->piece < q->sum->head_pieces;
}

/* A free block; that of the result serves as the first. */
static uint8_t *
block_take(struct planned *q, int *number)
{
	struct mpi_exchange *x = q->sum->x;
	int b = 0;

	while (q->used & 1u << b)
		b++;
	assert(b < 32);
	q->used |= 1u << b;
	*number = b;
	if (b == 0)
		return q->out;
	uint8_t **block = &x->scratch[q->piece % MPI_WINDOW][b];
	if (*block == NULL && q->sum->status == RS_OK)
		q->sum->status = memory_alloc(1, MPI_PIECE, block);
	return *block;
}

static void
value_drop(struct planned *q, const struct value *v)
{
	if (v->block >= 0)
		q->used &= ~(1u << v->block);
}

static struct value
part_value(struct planned *q, size_t owner)
{
	struct value v = { .owner = owner, .block = -1 };

	if (owner == q->sum->x->base.rank) {
		const struct exchange_part *part = &q->sum->s->part[q->next_part++];

		v.bytes = is_heads(q) ? (const void *)part->head
			: (const void *)(part->x + q->from);
	}
	return v;
}

static void
put_add(struct planned *q, const struct value *into, const struct value *from, int into_right)
{
	put(q->program, (struct mpi_op){ .to = -1, .from = -1,
		.kind = is_heads(q) ? MPI_OP_ADD_DOUBLES : MPI_OP_ADD_FLOATS,
		.target = (void *)(uintptr_t)into->bytes, .source = from->bytes,
		.n_target = q->bytes, .guard_target = into_right });
}

/* Both are this rank's.  left + right and right + left are the same bits. */
static struct value
add_here(struct planned *q, struct value left, struct value right)
{
	const struct value *into = left.block >= 0 ? &left : &right;
	const struct value *from = into == &left ? &right : &left;
	struct value sum = *into;

	if (sum.block < 0) {
		uint8_t *bytes = block_take(q, &sum.block);

		put(q->program, (struct mpi_op){ .kind = MPI_OP_COPY, .to = -1, .from = -1,
			.target = bytes, .source = into->bytes, .n_target = q->bytes });
		sum.bytes = bytes;
	}
	put_add(q, &sum, from, into == &right);
	value_drop(q, from);
	return sum;
}

/* The value of a node: which child's owner makes it goes by a bit of the piece's number. */
static struct value
node_value(struct planned *q, size_t begin, size_t end, unsigned depth)
{
	const struct mpi_exchange *x = q->sum->x;
	const size_t first = rank_of(q, begin);

	if (first == rank_of(q, end - 1))
		return part_value(q, first);

	const size_t middle = tree_middle(begin, end);
	const struct value left = node_value(q, begin, middle, depth + 1);
	const struct value right = node_value(q, middle, end, depth + 1);
	const int by_right = q->piece >> depth & 1;
	const struct value mine = by_right ? right : left, other = by_right ? left : right;

	if (mine.owner == other.owner)
		return mine.owner == x->base.rank ? add_here(q, left, right) : mine;
	if (other.owner == x->base.rank) {
		put_send(q->program, x->world[mine.owner], other.bytes, q->bytes);
		value_drop(q, &other);
	} else if (mine.owner == x->base.rank) {
		struct value got = { .owner = mine.owner };
		uint8_t *bytes = block_take(q, &got.block);

		got.bytes = bytes;
		put_receive(q->program, x->world[other.owner], bytes, q->bytes);
		return by_right ? add_here(q, got, mine) : add_here(q, mine, got);
	}
	return (struct value){ .owner = mine.owner, .block = -1 };
}

static enum rs_status
sum_fill(void *context, size_t piece, struct mpi_program *program)
{
	struct sum *sum = context;
	const struct exchange_sum *s = sum->s;
	struct planned q = { .sum = sum, .program = program, .piece = piece };

	if (is_heads(&q)) {
		q.bytes = s->n_heads * sizeof(double);
		q.out = (uint8_t *)s->head;
	} else {
		const size_t most = MPI_PIECE / sizeof(float);

		q.from = (piece - sum->head_pieces) * most;
		q.bytes = (s->n_floats - q.from < most ? s->n_floats - q.from : most)
			* sizeof(float);
		q.out = (uint8_t *)(s->x + q.from);
	}
	const struct value total = node_value(&q, 0, s->n_slots, 0);
	if (total.owner == sum->x->base.rank && total.bytes != q.out)
		put(program, (struct mpi_op){ .kind = MPI_OP_COPY, .to = -1, .from = -1,
			.target = q.out, .source = total.bytes, .n_target = q.bytes });
	put_broadcast(sum->x, program, total.owner, q.out, q.bytes);
	return sum->status;
}

static void
sum_who(void *context, int process, char *out, size_t capacity)
{
	name_worker(((struct sum *)context)->x, process, out, capacity);
}

static struct mpi_run
run_of(struct mpi_exchange *x)
{
	return (struct mpi_run){ .mpi = x->mpi, .kernel = x->base.kernel, .stop = x->base.stop,
		.timeout = x->base.timeout, .tag = x->tag, .program = x->program };
}

static enum rs_status
mpi_sum(struct exchange *e, const struct exchange_sum *s)
{
	struct mpi_exchange *x = mpi_of(e);
	const size_t most = MPI_PIECE / sizeof(float);
	struct sum sum = { .x = x, .s = s, .head_pieces = s->n_heads > 0 };
	struct mpi_run r = run_of(x);

	assert(s->n_parts > 0 && s->n_heads * sizeof(double) <= MPI_PIECE);
	r.n_pieces = sum.head_pieces + (s->n_floats + most - 1) / most;
	r.in_background = s->in_background;
	r.fill = sum_fill;
	r.who = sum_who;
	r.context = &sum;
	return mpi_run(&r);
}

/* --- gathers and broadcasts ----------------------------------------------- */

struct gather {
	struct mpi_exchange *x;
	uint8_t *block;
	const size_t *begin;
	size_t pieces_each;            /* of the rank that has most                   */
};

static void
cut(const size_t *begin, size_t rank, size_t piece, size_t *from, size_t *n)
{
	const size_t length = begin[rank + 1] - begin[rank], at = piece * MPI_PIECE;
	const size_t left = at < length ? length - at : 0;

	*from = begin[rank] + at;
	*n = left < MPI_PIECE ? left : MPI_PIECE;
}

/* Everyone sends to the rank d further on while receiving from the one d before. */
static enum rs_status
gather_fill(void *context, size_t piece, struct mpi_program *program)
{
	const struct gather *g = context;
	const struct mpi_exchange *x = g->x;
	const size_t R = x->base.n_ranks, rank = x->base.rank;
	const size_t d = piece / g->pieces_each + 1, k = piece % g->pieces_each;
	const size_t to = (rank + d) % R, from = (rank + R - d) % R;
	size_t mine, n_mine, theirs, n_theirs;

	cut(g->begin, rank, k, &mine, &n_mine);
	cut(g->begin, from, k, &theirs, &n_theirs);
	if (n_mine > 0 || n_theirs > 0)
		put(program, (struct mpi_op){ .kind = MPI_OP_MESSAGE,
			.to = n_mine > 0 ? x->world[to] : -1,
			.from = n_theirs > 0 ? x->world[from] : -1,
			.source = n_mine > 0 ? g->block + mine : NULL, .n_source = n_mine,
			.target = n_theirs > 0 ? g->block + theirs : NULL,
			.n_target = n_theirs });
	return RS_OK;
}

static void
gather_who(void *context, int process, char *out, size_t capacity)
{
	name_worker(((struct gather *)context)->x, process, out, capacity);
}

static enum rs_status
mpi_gather(struct exchange *e, void *block, const size_t *begin)
{
	struct mpi_exchange *x = mpi_of(e);
	struct gather g = { .x = x, .block = block, .begin = begin };
	struct mpi_run r = run_of(x);

	for (size_t i = 0; i < e->n_ranks; i++) {
		const size_t n = (begin[i + 1] - begin[i] + MPI_PIECE - 1) / MPI_PIECE;

		g.pieces_each = n > g.pieces_each ? n : g.pieces_each;
	}
	r.n_pieces = (e->n_ranks - 1) * g.pieces_each;
	r.fill = gather_fill;
	r.who = gather_who;
	r.context = &g;
	return mpi_run(&r);
}

static enum rs_status
broadcast_fill(void *context, size_t piece, struct mpi_program *program)
{
	const struct gather *g = context;
	size_t from, n;

	cut(g->begin, 0, piece, &from, &n);
	put_broadcast(g->x, program, 0, g->block + from, n);
	return RS_OK;
}

static enum rs_status
mpi_broadcast(struct exchange *e, void *bytes, size_t n)
{
	struct mpi_exchange *x = mpi_of(e);
	const size_t begin[] = { 0, n };
	struct gather g = { .x = x, .block = bytes, .begin = begin };
	struct mpi_run r = run_of(x);

	r.n_pieces = (n + MPI_PIECE - 1) / MPI_PIECE;
	r.fill = broadcast_fill;
	r.who = gather_who;
	r.context = &g;
	return mpi_run(&r);
}

static void
mpi_exchange_close(struct exchange *e)
{
	struct mpi_exchange *x = mpi_of(e);

	for (size_t w = 0; w < MPI_WINDOW; w++)
		for (size_t b = 0; b < SCRATCH_MAX; b++)
			free(x->scratch[w][b]);
	free(x->program);
	free(x->world);
	free(x);
}

static const struct exchange_ops mpi_ops = {
	.name = "mpi", .sum = mpi_sum, .gather = mpi_gather, .broadcast = mpi_broadcast,
	.close = mpi_exchange_close,
};

static enum rs_status
open_tag(const struct exchange *base, struct mpi *m, const int *world, int tag,
	struct mpi_exchange **out)
{
	struct mpi_exchange *x;
	enum rs_status status;

	assert(base->rank < base->n_ranks && world[base->rank] == m->rank);
	RS_TRY(memory_alloc(1, sizeof(*x), &x));
	x->base = *base;
	x->base.ops = &mpi_ops;
	x->mpi = m;
	x->noun = "worker";
	x->tag = tag;
	status = memory_alloc(base->n_ranks, sizeof(*x->world), &x->world);
	if (status == RS_OK)
		status = memory_alloc(MPI_WINDOW, sizeof(*x->program), &x->program);
	if (status != RS_OK) {
		mpi_exchange_close(&x->base);
		return status;
	}
	memcpy(x->world, world, base->n_ranks * sizeof(*world));
	*out = x;
	return RS_OK;
}

enum rs_status
mpi_exchange_open(const struct exchange *base, struct mpi *m, const int *world, uint32_t epoch,
	struct exchange **out)
{
	struct mpi_exchange *x;

	RS_TRY(open_tag(base, m, world, (int)(epoch % TAG_EPOCHS + 1) * MPI_WINDOW, &x));
	*out = &x->base;
	return RS_OK;
}

/* --- rendezvous ----------------------------------------------------------- */

static enum rs_status
rendezvous(struct mpi_exchange *x, const void *text, size_t n, struct buffer *all, size_t *begin)
{
	const size_t rank = x->base.rank, R = x->base.n_ranks;

	for (size_t r = 0; r <= R; r++)
		begin[r] = r * sizeof(uint64_t);
	RS_TRY(buffer_reserve(all, R * sizeof(uint64_t)));
	memcpy(all->data + begin[rank], &(uint64_t){ n }, sizeof(uint64_t));
	RS_TRY(mpi_gather(&x->base, all->data, begin));
	for (size_t r = 0, total = 0; r < R; r++) {
		uint64_t size;

		memcpy(&size, all->data + r * sizeof(size), sizeof(size));
		if (size > MPI_TEXT_MAX)
			return rs_fail(RS_EPROTOCOL, "process %zu tells too much", r);
		begin[r] = total;
		begin[r + 1] = total += size;
	}
	RS_TRY(buffer_reserve(all, begin[R] + 1));
	if (n > 0)
		memcpy(all->data + begin[rank], text, n);
	all->n = begin[R];
	return mpi_gather(&x->base, all->data, begin);
}

enum rs_status
mpi_rendezvous(struct mpi *m, const void *text, size_t n, struct buffer *all, size_t *begin)
{
	const struct exchange base = { .rank = mpi_rank(m), .n_ranks = mpi_size(m),
		.timeout = m->timeout };
	struct mpi_exchange *x = NULL;
	enum rs_status status;
	int *world;

	assert(n <= MPI_TEXT_MAX && all->n == 0);
	RS_TRY(memory_alloc(base.n_ranks, sizeof(*world), &world));
	for (size_t r = 0; r < base.n_ranks; r++)
		world[r] = (int)r;
	status = open_tag(&base, m, world, 0, &x);
	free(world);
	RS_TRY(status);
	x->noun = "process";
	status = rendezvous(x, text, n, all, begin);
	mpi_exchange_close(&x->base);
	return status;
}
