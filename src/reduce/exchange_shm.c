/* What workers of one host tell each other through a mapping that they inherited. */
#include "reduce/exchange.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/memory.h"
#include "reduce/meeting.h"

#define LINE        64
#define PIECE_MAX   ((size_t)1 << 16)       /* floats: blocks stay in the cache      */
#define HALF_MIN    ((size_t)1 << 18)       /* bytes                                 */

/*
 * The mapping: the desks of the ranks, then two halves that pieces use by turns: who reads
 * a half at one turn has done so when it comes to the first meeting of the next, and the
 * half is written again at the turn after that.  In a sum a half has the heads of all
 * ranks' nodes, their floats, and the total.
 */
struct shm {
	struct exchange base;
	struct meeting meeting;
	void  *mapping;
	char  *half[2];
	size_t half_bytes, bytes;
	struct exchange_part *part;        /* [n_parts] of all ranks for n_slots     */
	size_t n_slots, n_parts, capacity;
	size_t *first;                     /* [n_ranks + 1] of each rank's           */
	size_t *begin;                     /* [n_ranks + 1] of a broadcast           */
};

static struct shm *
shm_of(struct exchange *e)
{
	return (struct shm *)e;
}

static size_t
round_up(size_t bytes)
{
	return (bytes + LINE - 1) / LINE * LINE;
}

/* Nodes of all ranks together; part may be NULL. */
static size_t
list_parts(size_t n_ranks, size_t n_slots, struct exchange_part *part, size_t *first)
{
	size_t n = 0;

	for (size_t r = 0; r < n_ranks; r++) {
		struct tree_node node[2 * TREE_MAX_DEPTH];
		const size_t m = tree_frontier(n_slots, tree_rank_begin(n_slots, n_ranks, r),
			tree_rank_begin(n_slots, n_ranks, r + 1), node);

		if (first != NULL)
			first[r] = n;
		for (size_t i = 0; part != NULL && i < m; i++)
			part[n + i].node = node[i];
		n += m;
	}
	if (first != NULL)
		first[n_ranks] = n;
	return n;
}

size_t
exchange_shm_bytes(size_t n_ranks, size_t n_slots, size_t n_floats)
{
	const size_t n = list_parts(n_ranks, n_slots, NULL, NULL);
	const size_t piece = n_floats < PIECE_MAX ? n_floats : PIECE_MAX;
	const size_t half = round_up(n * EXCHANGE_HEADS_MAX * sizeof(double))
		+ (n + 1) * round_up(piece * sizeof(float));

	return round_up(meeting_bytes(n_ranks)) + 2 * (half > HALF_MIN ? half : HALF_MIN);
}

static enum rs_status
know_parts(struct shm *e, size_t n_slots)
{
	if (e->n_slots == n_slots)
		return RS_OK;
	e->n_slots = 0;
	e->n_parts = list_parts(e->base.n_ranks, n_slots, NULL, NULL);
	if (e->n_parts > e->capacity) {
		free(e->part);
		e->part = NULL;
		e->capacity = 0;
		RS_TRY(memory_alloc(e->n_parts, sizeof(*e->part), &e->part));
		e->capacity = e->n_parts;
	}
	list_parts(e->base.n_ranks, n_slots, e->part, e->first);
	e->n_slots = n_slots;
	return RS_OK;
}

/* Floats that go at a time; 0: the memory is too small. */
static size_t
piece_floats(const struct shm *e, const struct exchange_sum *s)
{
	const size_t heads = round_up(e->n_parts * s->n_heads * sizeof(double));
	const size_t room = heads < e->half_bytes ? e->half_bytes - heads : 0;
	const size_t n = room / (e->n_parts + 1) / LINE * LINE / sizeof(float);

	return n < PIECE_MAX ? n : PIECE_MAX;
}

/* Where everything of a piece is in the half of the turn. */
struct layout {
	double *head;                      /* [n_parts, n_heads]                     */
	float  *x;                         /* [n_parts, piece]                       */
	float  *total;                     /* [piece]                                */
	size_t piece;
};

static struct layout
lay_out(struct shm *e, const struct exchange_sum *s, size_t piece)
{
	char *half = e->half[e->meeting.turn & 1];
	char *floats = half + round_up(e->n_parts * s->n_heads * sizeof(double));
	const struct layout l = { (double *)(void *)half, (float *)(void *)floats,
		(float *)(void *)floats + e->n_parts * piece, piece };

	for (size_t i = 0; i < e->n_parts; i++) {
		e->part[i].head = l.head + i * s->n_heads;
		e->part[i].x = l.x + i * piece;
	}
	return l;
}

static void
put_parts(const struct shm *e, const struct layout *l, const struct exchange_sum *s,
	size_t offset, size_t n)
{
	const size_t first = e->first[e->base.rank];

	for (size_t i = 0; i < s->n_parts; i++) {
		if (offset == 0 && s->n_heads > 0)
			memcpy(l->head + (first + i) * s->n_heads, s->part[i].head,
				s->n_heads * sizeof(*l->head));
		if (n > 0)
			memcpy(l->x + (first + i) * l->piece, s->part[i].x + offset,
				n * sizeof(*l->x));
	}
}

/* First float of rank r's share of n, a whole line. */
static size_t
share_begin(size_t n, size_t n_ranks, size_t r)
{
	const size_t line = LINE / sizeof(float);

	return r == n_ranks ? n : n / line * r / n_ranks * line;
}

/* Every rank puts its nodes down, sums its share of the floats, takes the whole. */
static enum rs_status
sum_piece(struct shm *e, const struct exchange_sum *s, size_t offset, size_t piece)
{
	const size_t n = s->n_floats - offset < piece ? s->n_floats - offset : piece;
	const size_t R = e->base.n_ranks, rank = e->base.rank;
	const struct layout l = lay_out(e, s, piece);
	const struct meeting_call call = { .kind = MEETING_SUM, .step = s->step,
		.n_slots = s->n_slots, .n_heads = s->n_heads, .n = s->n_floats,
		.offset = offset, .n_ranks = R, .bytes = e->bytes };

	put_parts(e, &l, s, offset, n);
	RS_TRY(meeting_come(&e->meeting, &call));
	exchange_combine(e->base.kernel, s->n_slots, e->part, e->n_parts, s->n_heads,
		offset == 0 ? s->head : NULL, share_begin(n, R, rank),
		share_begin(n, R, rank + 1), l.total);
	RS_TRY(meeting_wait(&e->meeting));
	if (n > 0)
		memcpy(s->x + offset, l.total, n * sizeof(*l.total));
	meeting_next(&e->meeting);
	return RS_OK;
}

static enum rs_status
sum_all(struct shm *e, const struct exchange_sum *s)
{
	size_t piece, offset = 0;

	RS_TRY(know_parts(e, s->n_slots));
	assert(s->n_parts == e->first[e->base.rank + 1] - e->first[e->base.rank]);
	piece = piece_floats(e, s);
	if (piece == 0)
		return rs_fail(RS_ERESOURCE,
			"%zu bytes of shared memory are too few for sums of %zu workers",
			e->bytes, e->base.n_ranks);
	do {
		RS_TRY(sum_piece(e, s, offset, piece));
		offset += piece;
	} while (offset < s->n_floats);
	return RS_OK;
}

static uint64_t
shape_of(const size_t *begin, size_t n_ranks)
{
	return hash_fingerprint64(begin, (n_ranks + 1) * sizeof(*begin));
}

static size_t
within(size_t x, size_t begin, size_t end)
{
	return x < begin ? begin : x > end ? end : x;
}

static enum rs_status
gather_piece(struct shm *e, const struct meeting_call *call, char *block, const size_t *own)
{
	const size_t from = call->offset, left = call->n - from;
	const size_t to = from + (left < e->half_bytes ? left : e->half_bytes);
	const size_t begin = within(own[0], from, to), end = within(own[1], from, to);
	char *half = e->half[e->meeting.turn & 1];

	if (end > begin)
		memcpy(half + (begin - from), block + begin, end - begin);
	RS_TRY(meeting_come(&e->meeting, call));
	if (begin > from)
		memcpy(block + from, half, begin - from);
	if (to > end)
		memcpy(block + end, half + (end - from), to - end);
	meeting_next(&e->meeting);
	return RS_OK;
}

static enum rs_status
gather_all(struct shm *e, enum meeting_kind kind, char *block, const size_t *begin)
{
	struct meeting_call call = { .kind = kind, .n = begin[e->base.n_ranks],
		.shape = shape_of(begin, e->base.n_ranks), .n_ranks = e->base.n_ranks,
		.bytes = e->bytes };

	do {
		RS_TRY(gather_piece(e, &call, block, begin + e->base.rank));
		call.offset += e->half_bytes;
	} while (call.offset < call.n);
	return RS_OK;
}

static enum rs_status
leave_after(struct shm *e, enum rs_status status)
{
	if (status != RS_OK)
		meeting_leave(&e->meeting);
	return status;
}

static enum rs_status
shm_sum(struct exchange *base, const struct exchange_sum *s)
{
	struct shm *e = shm_of(base);

	assert(s->n_heads <= EXCHANGE_HEADS_MAX && base->n_ranks <= s->n_slots);
	RS_TRY(meeting_check(&e->meeting));
	e->meeting.quiet = s->in_background;
	const enum rs_status status = leave_after(e, sum_all(e, s));
	e->meeting.quiet = 0;
	return status;
}

static enum rs_status
shm_gather(struct exchange *base, void *block, const size_t *begin)
{
	struct shm *e = shm_of(base);

	RS_TRY(meeting_check(&e->meeting));
	return leave_after(e, gather_all(e, MEETING_GATHER, block, begin));
}

static enum rs_status
shm_broadcast(struct exchange *base, void *bytes, size_t n)
{
	struct shm *e = shm_of(base);

	RS_TRY(meeting_check(&e->meeting));
	for (size_t r = 1; r <= base->n_ranks; r++)
		e->begin[r] = n;
	return leave_after(e, gather_all(e, MEETING_BROADCAST, bytes, e->begin));
}

static void
shm_close(struct exchange *base)
{
	struct shm *e = shm_of(base);

	if (e->meeting.control != NULL)
		meeting_leave(&e->meeting);
	if (e->mapping != NULL)
		munmap(e->mapping, e->bytes);
	free(e->part);
	free(e->first);
	free(e->begin);
	free(e);
}

static const struct exchange_ops shm_ops = {
	.name = "shm", .sum = shm_sum, .gather = shm_gather, .broadcast = shm_broadcast,
	.close = shm_close,
};

static enum rs_status
map(struct shm *e, int fd)
{
	const size_t desks = round_up(meeting_bytes(e->base.n_ranks));
	struct stat st;
	void *at;
	int error;

	if (fstat(fd, &st) != 0)
		return rs_fail(RS_ERESOURCE, "no shared memory: %s", strerror(errno));
	if ((uint64_t)st.st_size < e->bytes || e->bytes < desks + 2 * LINE)
		return rs_fail(RS_ERESOURCE, "shared memory has %lld bytes, expected %zu",
			(long long)st.st_size, e->bytes);
	/* Pages now: later nothing but a signal would say that there is none. */
	error = posix_fallocate(fd, 0, (off_t)e->bytes);
	if (error != 0)
		return rs_fail(RS_ERESOURCE, "no %zu bytes of shared memory: %s", e->bytes,
			strerror(error));
	at = mmap(NULL, e->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return rs_fail(RS_ERESOURCE, "cannot map %zu bytes of shared memory: %s", e->bytes,
			strerror(errno));
	e->mapping = at;
	e->half_bytes = (e->bytes - desks) / 2 / LINE * LINE;
	e->half[0] = (char *)at + desks;
	e->half[1] = e->half[0] + e->half_bytes;
	return RS_OK;
}

static enum rs_status
shm_init(struct shm *e, int fd, uint32_t epoch)
{
	enum rs_status status;

	RS_TRY(memory_alloc(e->base.n_ranks + 1, sizeof(*e->first), &e->first));
	RS_TRY(memory_alloc(e->base.n_ranks + 1, sizeof(*e->begin), &e->begin));
	RS_TRY(map(e, fd));
	status = meeting_open(&e->meeting, &e->base, e->mapping, epoch);
	if (status != RS_OK)
		e->meeting.control = NULL;         /* it was not in: it does not leave */
	return status;
}

enum rs_status
exchange_shm_open(const struct exchange *base, int fd, size_t bytes, uint32_t epoch,
	struct exchange **out)
{
	struct shm *e;
	enum rs_status status;

	assert(base->rank < base->n_ranks);
	RS_TRY(memory_alloc(1, sizeof(*e), &e));
	e->base = *base;
	e->base.ops = &shm_ops;
	e->bytes = bytes;
	status = shm_init(e, fd, epoch);
	if (status != RS_OK) {
		shm_close(&e->base);
		return status;
	}
	*out = &e->base;
	return RS_OK;
}
