/* Dense sums and gathers by way of the parameter server shards. */
#include "reduce/pushpull.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "comm/collective.h"

#define PIECES_MAX 65536               /* frame.chunk                                 */
#define NODES_MAX  (2 * TREE_MAX_DEPTH)

/* A piece that is asked for; lives until its answer was taken. */
struct flight {
	struct client_call call;
	struct collective_head head;
	struct collective_node node[NODES_MAX];
	double  *heads;                /* [n_parts,n_heads] of the first piece        */
	double  *head_out;
	uint8_t *out;                  /* where what comes goes                       */
	size_t   head_bytes, bytes;    /* that come                                   */
};

struct pushpull {
	struct exchange base;
	struct client  *client;
	size_t   n_shards, n_flights;
	uint64_t step;
	struct flight *flight;         /* [n_flights] a ring                          */
	size_t   first, n;             /* those under way                             */
};

static struct pushpull *
pushpull_of(struct exchange *e)
{
	return (struct pushpull *)e;
}

/* The parts of an answer as one run of bytes. */
struct reply {
	const struct wire_message *message;
	size_t part, at, left;
};

static void
reply_take(struct reply *r, void *out, size_t n)
{
	uint8_t *to = out;

	while (n > 0) {
		const struct frame_part *part = &r->message->part[r->part];
		const size_t left = part->n - r->at, now = n < left ? n : left;

		if (now > 0)
			memcpy(to, (const uint8_t *)part->data + r->at, now);
		to += now;
		n -= now;
		r->at += now;
		r->left -= now;
		if (r->at == part->n) {
			r->part++;
			r->at = 0;
		}
	}
}

static enum rs_status
flight_land(const struct pushpull *p, struct flight *f)
{
	const struct wire_message *m = &f->call.reply;
	struct reply r = { .message = m };
	struct collective_head got = { 0 };

	for (size_t i = 0; i < m->n_parts; i++)
		r.left += m->part[i].n;
	if (m->frame.type == FRAME_COLLECT_R && r.left >= sizeof(got))
		reply_take(&r, &got, sizeof(got));
	if (m->frame.type != FRAME_COLLECT_R || got.n_ranks != f->head.n_ranks
	    || got.n_heads != f->head.n_heads || got.total != f->head.total
	    || r.left != f->head_bytes + f->bytes)
		return rs_fail(RS_EPROTOCOL, "shard %zu: an answer to collective call %" PRIu64
			" that does not fit it", f->call.server, p->step);
	reply_take(&r, f->head_out, f->head_bytes);
	reply_take(&r, f->out, f->bytes);
	return RS_OK;
}

static void
flight_clear(struct flight *f)
{
	wire_message_free(&f->call.reply);
	free(f->heads);
	f->heads = NULL;
}

/* Waits for the piece that was asked for first. */
static enum rs_status
land_first(struct pushpull *p)
{
	struct flight *f = &p->flight[p->first];
	struct client_call *call = &f->call;
	enum rs_status status;

	p->first = (p->first + 1) % p->n_flights;
	p->n--;
	status = client_wait(p->client, &call, 1);
	if (status == RS_OK)
		status = flight_land(p, f);
	flight_clear(f);
	return status;
}

/* A place in the ring, all zeros. */
static enum rs_status
flight_next(struct pushpull *p, struct flight **out)
{
	if (p->n == p->n_flights)
		RS_TRY(land_first(p));
	*out = &p->flight[(p->first + p->n) % p->n_flights];
	memset(*out, 0, sizeof(**out));
	return RS_OK;
}

static enum rs_status
flight_start(struct pushpull *p, struct flight *f, uint16_t type, size_t shard, size_t piece)
{
	f->call.server = shard;
	f->call.frame = (struct frame){ .type = type, .slot = (uint32_t)p->base.rank,
		.chunk = (uint16_t)piece, .step = p->step };
	f->head.n_ranks = (uint32_t)p->base.n_ranks;
	f->head.patience_ms = (uint64_t)(p->base.timeout * 1000);
	f->call.part[0] = (struct frame_part){ &f->head, sizeof(f->head) };
	p->n++;
	return client_send(p->client, &f->call);
}

/* All that are under way are waited for; after a failure they are given up. */
static enum rs_status
land_all(struct pushpull *p, enum rs_status status)
{
	while (status == RS_OK && p->n > 0)
		status = land_first(p);
	for (; p->n > 0; p->n--) {
		struct client_call *call = &p->flight[p->first].call;

		client_drop(p->client, &call, 1);
		flight_clear(&p->flight[p->first]);
		p->first = (p->first + 1) % p->n_flights;
	}
	return status;
}

/* Floats [from,to) of the sum, with the heads when they are due. */
static enum rs_status
sum_parts(struct flight *f, const struct exchange_sum *s, size_t n_heads, size_t from, size_t to)
{
	struct frame_part *part = &f->call.part[1];

	f->head.n_slots = (uint32_t)s->n_slots;
	f->head.n_heads = (uint32_t)n_heads;
	f->head.n_parts = (uint32_t)s->n_parts;
	f->head.n = to - from;
	f->head_out = s->head;
	f->head_bytes = n_heads * sizeof(double);
	f->out = (uint8_t *)(s->x + from);
	f->bytes = (to - from) * sizeof(float);
	for (size_t i = 0; i < s->n_parts; i++)
		f->node[i] = (struct collective_node){ (uint32_t)s->part[i].node.begin,
			(uint32_t)s->part[i].node.end };
	*part++ = (struct frame_part){ f->node, s->n_parts * sizeof(f->node[0]) };
	if (n_heads > 0) {
		RS_TRY(memory_alloc(s->n_parts * n_heads, sizeof(double), &f->heads));
		for (size_t i = 0; i < s->n_parts; i++)
			memcpy(f->heads + i * n_heads, s->part[i].head, f->head_bytes);
		*part++ = (struct frame_part){ f->heads, s->n_parts * f->head_bytes };
	}
	for (size_t i = 0; i < s->n_parts && to > from; i++)
		*part++ = (struct frame_part){ s->part[i].x + from, f->bytes };
	f->call.n_parts = (size_t)(part - f->call.part);
	return RS_OK;
}

static size_t
share_begin(size_t n, size_t n_shards, size_t shard)
{
	return n / n_shards * shard + n % n_shards * shard / n_shards;
}

static enum rs_status
sum_piece(struct pushpull *p, const struct exchange_sum *s, size_t shard, size_t piece)
{
	const size_t end = share_begin(s->n_floats, p->n_shards, shard + 1);
	const size_t begin = share_begin(s->n_floats, p->n_shards, shard);
	const size_t from = begin + piece * PUSHPULL_FLOATS;
	const int with_heads = shard == 0 && piece == 0;
	struct flight *f;

	/* The first piece goes in any case: for the heads, and so that all meet. */
	if (!with_heads && from >= end)
		return RS_OK;
	RS_TRY(flight_next(p, &f));
	RS_TRY(sum_parts(f, s, with_heads ? s->n_heads : 0, from,
		end - from < PUSHPULL_FLOATS ? end : from + PUSHPULL_FLOATS));
	return flight_start(p, f, FRAME_SUM, shard, piece);
}

static enum rs_status
pieces_fit(size_t n_pieces)
{
	if (n_pieces > PIECES_MAX)
		return rs_fail(RS_ERESOURCE, "a collective call of %zu pieces at a shard, the most "
			"is %d", n_pieces, PIECES_MAX);
	return RS_OK;
}

static enum rs_status
sum_pieces(struct pushpull *p, const struct exchange_sum *s)
{
	const size_t most = (s->n_floats + p->n_shards - 1) / p->n_shards;
	const size_t n_pieces = (most + PUSHPULL_FLOATS - 1) / PUSHPULL_FLOATS;

	for (size_t piece = 0; piece == 0 || piece < n_pieces; piece++)
		for (size_t shard = 0; shard < p->n_shards; shard++)
			RS_TRY(sum_piece(p, s, shard, piece));
	return RS_OK;
}

static enum rs_status
pushpull_sum(struct exchange *e, const struct exchange_sum *s)
{
	struct pushpull *p = pushpull_of(e);

	assert(s->n_parts > 0 && s->n_parts + 3 <= WIRE_PARTS_MAX);
	if (s->n_slots > COLLECTIVE_SLOTS_MAX || s->n_heads > COLLECTIVE_HEADS_MAX)
		return rs_fail(RS_ERESOURCE, "a dense sum of %zu slots and %zu heads", s->n_slots,
			s->n_heads);
	RS_TRY(pieces_fit(s->n_floats / PUSHPULL_FLOATS / p->n_shards + 1));
	p->step++;
	return land_all(p, sum_pieces(p, s));
}

/* Bytes [from,to) of the block, of which [begin,end) are this rank's. */
static enum rs_status
gather_piece(struct pushpull *p, uint8_t *block, const size_t *begin, size_t from, size_t to)
{
	const size_t piece = from / (PUSHPULL_FLOATS * sizeof(float));
	const size_t rank = p->base.rank;
	size_t mine = begin[rank] > from ? begin[rank] : from;
	size_t end = begin[rank + 1] < to ? begin[rank + 1] : to;
	struct flight *f;

	if (end <= mine)
		mine = end = from;
	RS_TRY(flight_next(p, &f));
	f->head.n = end - mine;
	f->head.total = to - from;
	f->head.offset = mine - from;
	f->out = block + from;
	f->bytes = to - from;
	f->call.part[1] = (struct frame_part){ block + mine, end - mine };
	f->call.n_parts = end > mine ? 2 : 1;
	return flight_start(p, f, FRAME_GATHER, piece % p->n_shards, piece / p->n_shards);
}

static enum rs_status
gather_pieces(struct pushpull *p, uint8_t *block, const size_t *begin)
{
	const size_t step = PUSHPULL_FLOATS * sizeof(float), n = begin[p->base.n_ranks];

	for (size_t from = 0; from == 0 || from < n; from += step)
		RS_TRY(gather_piece(p, block, begin, from, n - from < step ? n : from + step));
	return RS_OK;
}

static enum rs_status
pushpull_gather(struct exchange *e, void *block, const size_t *begin)
{
	struct pushpull *p = pushpull_of(e);
	const size_t n = begin[e->n_ranks];

	assert(begin[0] == 0);
	RS_TRY(pieces_fit(n / (PUSHPULL_FLOATS * sizeof(float)) / p->n_shards + 1));
	p->step++;
	return land_all(p, gather_pieces(p, block, begin));
}

/* A gather of which rank 0 has everything. */
static enum rs_status
pushpull_broadcast(struct exchange *e, void *bytes, size_t n)
{
	size_t *begin;
	enum rs_status status;

	RS_TRY(memory_alloc(e->n_ranks + 1, sizeof(*begin), &begin));
	for (size_t r = 1; r <= e->n_ranks; r++)
		begin[r] = n;
	status = pushpull_gather(e, bytes, begin);
	free(begin);
	return status;
}

static void
pushpull_close(struct exchange *e)
{
	struct pushpull *p = pushpull_of(e);

	free(p->flight);
	free(p);
}

static const struct exchange_ops pushpull_ops = {
	.name = "pushpull", .sum = pushpull_sum, .gather = pushpull_gather,
	.broadcast = pushpull_broadcast, .close = pushpull_close,
};

enum rs_status
pushpull_open(const struct exchange *base, struct client *client, struct exchange **out)
{
	struct pushpull *p;
	enum rs_status status;

	assert(base->rank < base->n_ranks && client_n_servers(client) > 0);
	RS_TRY(memory_alloc(1, sizeof(*p), &p));
	p->base = *base;
	p->base.ops = &pushpull_ops;
	p->client = client;
	p->n_shards = client_n_servers(client);
	p->n_flights = p->n_shards * PUSHPULL_WINDOW;
	status = memory_alloc(p->n_flights, sizeof(*p->flight), &p->flight);
	if (status != RS_OK) {
		free(p);
		return status;
	}
	*out = &p->base;
	return RS_OK;
}
