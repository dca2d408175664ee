/* Sums and gathers of the workers, made in a shard piece by piece. */
#include "remote/collect.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "base/tree.h"
#include "comm/collective.h"
#include "remote/collect_request.h"

#define N_CALLS  2
#define N_PIECES 65536                 /* values of frame.chunk                       */

/* What all ranks get; goes when its piece and the sockets have let it go. */
struct whole {
	atomic_size_t users;
	struct collective_head head;
	uint8_t *bytes;
	size_t   n;
};

/* What a rank gave to a piece, and where its answer goes. */
struct share {
	int came;
	struct wire_peer peer;
	struct frame frame;
	uint64_t n, offset;            /* gather: place of its bytes in the whole     */
	size_t   n_parts;
	uint8_t *body;                 /* sum: heads [n_parts,n_heads], values [n_parts,n] */
	size_t   bytes;
};

struct piece {
	struct collective_head head;   /* of who came first                           */
	size_t n_came;
	double first_at;
	struct whole *whole;           /* sum: NULL until all are there               */
	struct share share[];          /* [n_ranks]                                   */
};

struct call {
	uint64_t step;                 /* 0: unused                                   */
	uint16_t type;
	struct piece **piece;          /* [N_PIECES]                                  */
	size_t n_pieces;               /* highest in use + 1                          */
};

struct collect {
	const struct kernel_set *kernel;
	size_t    n_ranks;             /* 0 until the first request                   */
	uint64_t *latest;              /* [n_ranks] step of the rank's last call      */
	struct call call[N_CALLS];
	uint64_t  waiting, bytes;
};

static void
whole_release(void *bytes, void *hint)
{
	struct whole *w = hint;

	(void)bytes;
	if (atomic_fetch_sub(&w->users, 1) > 1)
		return;
	free(w->bytes);
	free(w);
}

static enum rs_status
block_alloc(struct collect *c, size_t n, uint8_t **out)
{
	if (n > COLLECT_BYTES_MAX - c->bytes)
		return rs_fail(RS_ERESOURCE,
			"collective calls of more than %zu bytes at one shard", COLLECT_BYTES_MAX);
	*out = aligned_alloc(64, (n + 64) / 64 * 64);
	if (*out == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes of a collective call", n);
	c->bytes += n;
	return RS_OK;
}

static void
share_drop(struct collect *c, struct share *s)
{
	free(s->body);
	c->bytes -= s->bytes;
	s->body = NULL;
	s->bytes = 0;
}

static void
piece_drop(struct collect *c, struct piece *p)
{
	if (p->n_came < c->n_ranks)
		c->waiting -= p->n_came;
	for (size_t r = 0; r < c->n_ranks; r++)
		share_drop(c, &p->share[r]);
	if (p->whole != NULL) {
		c->bytes -= p->whole->n;
		whole_release(NULL, p->whole);
	}
	free(p);
}

static void
call_drop(struct collect *c, struct call *call)
{
	for (size_t i = 0; i < call->n_pieces; i++)
		if (call->piece[i] != NULL) {
			piece_drop(c, call->piece[i]);
			call->piece[i] = NULL;
		}
	call->n_pieces = 0;
	call->step = 0;
}

enum rs_status
collect_open(const struct kernel_set *kernel, struct collect **out)
{
	struct collect *c;

	RS_TRY(memory_alloc(1, sizeof(*c), &c));
	c->kernel = kernel;
	for (size_t i = 0; i < N_CALLS; i++) {
		c->call[i].piece = calloc(N_PIECES, sizeof(*c->call[i].piece));
		if (c->call[i].piece == NULL) {
			collect_close(c);
			return rs_fail(RS_ERESOURCE, "out of memory: pieces of collective calls");
		}
	}
	*out = c;
	return RS_OK;
}

void
collect_close(struct collect *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < N_CALLS; i++) {
		call_drop(c, &c->call[i]);
		free(c->call[i].piece);
	}
	free(c->latest);
	free(c);
}

void
collect_counts(const struct collect *c, uint64_t *waiting, uint64_t *bytes)
{
	*waiting = c->waiting;
	*bytes = c->bytes;
}

/* The rank is at this step: a call that all have left is not asked for again. */
static void
rank_advance(struct collect *c, size_t rank, uint64_t step)
{
	uint64_t slowest = step;

	c->latest[rank] = step;
	for (size_t r = 0; r < c->n_ranks; r++)
		if (c->latest[r] < slowest)
			slowest = c->latest[r];
	for (size_t i = 0; i < N_CALLS; i++)
		if (c->call[i].step != 0 && c->call[i].step < slowest)
			call_drop(c, &c->call[i]);
}

static enum rs_status
call_find(struct collect *c, const struct collect_request *q, struct call **out)
{
	struct call *unused = NULL;

	for (size_t i = 0; i < N_CALLS; i++) {
		struct call *call = &c->call[i];

		if (call->step == 0)
			unused = call;
		if (call->step != q->step)
			continue;
		if (call->type != q->type)
			return rs_fail(RS_EPROTOCOL,
				"worker %zu: collective call %" PRIu64 " is a %s, for others a %s",
				q->rank, q->step, frame_type_name(q->type),
				frame_type_name(call->type));
		*out = call;
		return RS_OK;
	}
	if (unused == NULL)
		return rs_fail(RS_EPROTOCOL,
			"worker %zu: collective call %" PRIu64 ", while two others are under way",
			q->rank, q->step);
	unused->step = q->step;
	unused->type = q->type;
	*out = unused;
	return RS_OK;
}

static enum rs_status
piece_find(struct collect *c, struct call *call, const struct collect_request *q,
	struct piece **out)
{
	struct piece **place = &call->piece[q->chunk];

	if (*place == NULL) {
		RS_TRY(memory_alloc(1, sizeof(**place) + c->n_ranks * sizeof(struct share), place));
		(*place)->head = q->head;
		(*place)->first_at = clock_seconds();
		if (q->chunk >= call->n_pieces)
			call->n_pieces = q->chunk + (size_t)1;
	}
	*out = *place;
	return RS_OK;
}

static void
answer(struct wire *w, const struct share *s, const struct wire_part *part, size_t n_parts,
	uint16_t type)
{
	struct frame f = s->frame;

	f.type = type;
	f.flags = 0;
	/* Who does not take it now asks again. */
	(void)wire_send(w, &s->peer, &f, part, n_parts);
}

static void
answer_whole(struct wire *w, const struct share *s, struct whole *whole)
{
	const struct wire_part part[] = {
		{ .data = &whole->head, .n = sizeof(whole->head) },
		{ .data = whole->bytes, .n = whole->n, .release = whole_release, .hint = whole },
	};

	atomic_fetch_add(&whole->users, 1);
	answer(w, s, part, whole->n > 0 ? 2 : 1, FRAME_COLLECT_R);
	if (whole->n == 0)
		whole_release(NULL, whole);
}

static enum rs_status
whole_make(struct collect *c, const struct piece *p, size_t n, struct whole **out)
{
	struct whole *w;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*w), &w));
	status = block_alloc(c, n, &w->bytes);
	if (status != RS_OK) {
		free(w);
		return status;
	}
	atomic_init(&w->users, 1);
	w->head = (struct collective_head){ .n_ranks = p->head.n_ranks,
		.n_slots = p->head.n_slots, .n_heads = p->head.n_heads, .n = p->head.n,
		.total = p->head.total };
	w->n = n;
	*out = w;
	return RS_OK;
}

/* Walks the nodes of all ranks from left to right, once. */
struct walk {
	const struct kernel_set *kernel;
	struct piece *piece;
	size_t rank, part, n_parts;
	int    bad;                    /* a value that the kernel's guard refuses     */
	struct tree_node node[2 * TREE_MAX_DEPTH];
};

struct term { double *head; float *x; };

static void
walk_rank(struct walk *w)
{
	const size_t n = w->piece->head.n_slots, R = w->piece->head.n_ranks;

	w->part = 0;
	w->n_parts = w->rank == R ? 0 : tree_frontier(n, tree_rank_begin(n, R, w->rank),
		tree_rank_begin(n, R, w->rank + 1), w->node);
}

static struct term
walk_next(struct walk *w)
{
	const struct collective_head *h = &w->piece->head;
	const struct share *s = &w->piece->share[w->rank];
	double *heads = (double *)s->body;
	float *values = (float *)(heads + s->n_parts * h->n_heads);
	const struct term term = { heads + w->part * h->n_heads, values + w->part * h->n };

	if (++w->part == w->n_parts) {
		w->rank++;
		walk_rank(w);
	}
	return term;
}

static struct term
tree_fold(struct walk *w, size_t begin, size_t end)
{
	const size_t middle = tree_middle(begin, end);
	struct term left, right;

	if (w->node[w->part].begin == begin && w->node[w->part].end == end)
		return walk_next(w);
	left = tree_fold(w, begin, middle);
	right = tree_fold(w, middle, end);
	for (size_t i = 0; i < w->piece->head.n_heads; i++)
		left.head[i] += right.head[i];
	w->kernel->sum_into(w->piece->head.n, left.x, right.x, &w->bad);
	return left;
}

static enum rs_status
piece_sum(struct collect *c, struct piece *p)
{
	struct walk walk = { .kernel = c->kernel, .piece = p };
	const size_t head_bytes = p->head.n_heads * sizeof(double);
	const size_t value_bytes = p->head.n * sizeof(float);
	struct term total;

	RS_TRY(whole_make(c, p, head_bytes + value_bytes, &p->whole));
	walk_rank(&walk);
	total = tree_fold(&walk, 0, p->head.n_slots);
	if (walk.bad)
		total.x[0] = NAN;      /* so that the ranks' guard sees it, too       */
	memcpy(p->whole->bytes, total.head, head_bytes);
	memcpy(p->whole->bytes + head_bytes, total.x, value_bytes);
	for (size_t r = 0; r < c->n_ranks; r++)
		share_drop(c, &p->share[r]);
	return RS_OK;
}

static size_t
first_missing(const struct collect *c, const struct piece *p)
{
	size_t rank = 0;

	while (rank < c->n_ranks && p->share[rank].came)
		rank++;
	return rank;
}

static void
answer_wait(const struct collect *c, struct wire *w, const struct piece *p, size_t rank)
{
	char text[64];

	snprintf(text, sizeof(text), "waits_for = worker %zu\n", first_missing(c, p));
	answer(w, &p->share[rank], &(struct wire_part){ .data = text, .n = strlen(text) }, 1,
		FRAME_ACK);
}

static enum rs_status
answer_again(struct collect *c, struct wire *w, struct piece *p, const struct collect_request *q)
{
	const double waited = clock_seconds() - p->first_at;
	struct share *s = &p->share[q->rank];

	s->peer = q->message->from;
	s->frame = q->message->frame;
	if (p->n_came == c->n_ranks) {
		answer_whole(w, s, p->whole);
		return RS_OK;
	}
	if (waited * 1000 > (double)q->head.patience_ms)
		return rs_fail(RS_EPEER, "worker %zu did not come to collective call %" PRIu64
			" within %.0f s", first_missing(c, p), q->step, waited);
	answer_wait(c, w, p, q->rank);
	return RS_OK;
}

/* The others' requests of the piece: sizes agree, bytes do not overlap and fill the whole. */
static enum rs_status
piece_agrees(const struct collect *c, const struct piece *p, const struct collect_request *q)
{
	const struct collective_head *a = &p->head, *b = &q->head;
	uint64_t filled = b->n;

	if (a->n_slots != b->n_slots || a->n_heads != b->n_heads || a->total != b->total
	    || (q->type == FRAME_SUM && a->n != b->n))
		return rs_fail(RS_EPROTOCOL, "worker %zu: sizes of collective call %" PRIu64
			" differ from those of others", q->rank, q->step);
	if (q->type == FRAME_SUM)
		return RS_OK;
	for (size_t r = 0; r < c->n_ranks; r++) {
		const struct share *s = &p->share[r];

		if (s->came && s->offset < b->offset + b->n && b->offset < s->offset + s->n)
			return rs_fail(RS_EPROTOCOL, "worker %zu: bytes of gather %" PRIu64
				" that are worker %zu's", q->rank, q->step, r);
		filled += s->came ? s->n : 0;
	}
	if (p->n_came + 1 == c->n_ranks && filled != a->total)
		return rs_fail(RS_EPROTOCOL, "worker %zu: %" PRIu64 " bytes of %" PRIu64
			" in gather %" PRIu64, q->rank, filled, a->total, q->step);
	return RS_OK;
}

static enum rs_status
share_take(struct collect *c, struct piece *p, struct collect_request *q)
{
	struct share *s = &p->share[q->rank];

	RS_TRY(piece_agrees(c, p, q));
	if (q->type == FRAME_GATHER) {
		if (p->whole == NULL)
			RS_TRY(whole_make(c, p, q->head.total, &p->whole));
		collect_request_rest(q, p->whole->bytes + q->head.offset);
	} else {
		RS_TRY(block_alloc(c, q->rest_bytes, &s->body));
		s->bytes = q->rest_bytes;
		collect_request_rest(q, s->body);
	}
	s->n = q->head.n;
	s->offset = q->head.offset;
	s->n_parts = q->head.n_parts;
	s->peer = q->message->from;
	s->frame = q->message->frame;
	if (p->n_came + 1 == c->n_ranks && q->type == FRAME_SUM) {
		const enum rs_status status = piece_sum(c, p);

		if (status != RS_OK) {
			share_drop(c, s);
			return status;
		}
	}
	s->came = 1;
	p->n_came++;
	c->waiting++;
	return RS_OK;
}

static enum rs_status
ranks_agree(struct collect *c, const struct collect_request *q)
{
	if (c->n_ranks == 0) {
		RS_TRY(memory_alloc(q->head.n_ranks, sizeof(*c->latest), &c->latest));
		c->n_ranks = q->head.n_ranks;
	}
	if (q->head.n_ranks != c->n_ranks)
		return rs_fail(RS_EPROTOCOL, "worker %zu: %" PRIu32 " workers, others say %zu",
			q->rank, q->head.n_ranks, c->n_ranks);
	return RS_OK;
}

enum rs_status
collect_take(struct collect *c, struct wire *w, const struct wire_message *m)
{
	struct collect_request q;
	struct call *call = NULL;
	struct piece *piece;

	RS_TRY(collect_request_read(m, &q));
	RS_TRY(ranks_agree(c, &q));
	if (q.step < c->latest[q.rank])
		return RS_OK;          /* late: the rank has had its answer           */
	rank_advance(c, q.rank, q.step);
	RS_TRY(call_find(c, &q, &call));
	RS_TRY(piece_find(c, call, &q, &piece));
	if (piece->share[q.rank].came)
		return answer_again(c, w, piece, &q);
	RS_TRY(share_take(c, piece, &q));
	if (piece->n_came < c->n_ranks) {
		if (m->frame.flags & FRAME_RETRY)
			answer_wait(c, w, piece, q.rank);
		return RS_OK;
	}
	c->waiting -= c->n_ranks;
	for (size_t r = 0; r < c->n_ranks; r++)
		answer_whole(w, &piece->share[r], piece->whole);
	return RS_OK;
}
