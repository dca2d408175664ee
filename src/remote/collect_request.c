/* Requests of collective calls, of which nothing is believed. */
#include "remote/collect_request.h"

#include <inttypes.h>
#include <string.h>

#include "base/tree.h"

static size_t
body_bytes(const struct wire_message *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_parts; i++)
		n += m->part[i].n;
	return n;
}

/* The next n bytes, which are there. */
static void
body_take(struct collect_request *q, void *out, size_t n)
{
	uint8_t *to = out;

	while (n > 0) {
		const struct frame_part *part = &q->message->part[q->part];
		const size_t left = part->n - q->at, now = n < left ? n : left;

		if (now > 0)
			memcpy(to, (const uint8_t *)part->data + q->at, now);
		to += now;
		n -= now;
		q->at += now;
		if (q->at == part->n) {
			q->part++;
			q->at = 0;
		}
	}
}

static enum rs_status
malformed(const struct collect_request *q, const char *what)
{
	return rs_fail(RS_EPROTOCOL, "worker %zu: %s %" PRIu64 " with %s", q->rank,
		frame_type_name(q->type), q->step, what);
}

/* The nodes must be those of the rank, in their order. */
static enum rs_status
read_nodes(struct collect_request *q)
{
	const struct collective_head *h = &q->head;
	struct tree_node want[2 * TREE_MAX_DEPTH];
	const size_t n = tree_frontier(h->n_slots, tree_rank_begin(h->n_slots, h->n_ranks, q->rank),
		tree_rank_begin(h->n_slots, h->n_ranks, q->rank + 1), want);

	if (h->n_parts != n || n * sizeof(struct collective_node) > q->rest_bytes)
		return malformed(q, "another number of nodes than the rank has");
	for (size_t i = 0; i < n; i++) {
		struct collective_node node;

		body_take(q, &node, sizeof(node));
		if (node.begin != want[i].begin || node.end != want[i].end)
			return malformed(q, "nodes of the tree that are not the rank's");
	}
	q->rest_bytes -= n * sizeof(struct collective_node);
	return RS_OK;
}

static enum rs_status
read_sum(struct collect_request *q)
{
	const struct collective_head *h = &q->head;

	if (h->n_slots < h->n_ranks || h->n_slots > COLLECTIVE_SLOTS_MAX)
		return malformed(q, "a number of slots out of range");
	if (h->n_heads > COLLECTIVE_HEADS_MAX || h->n > FRAME_BODY_MAX || h->total != 0
	    || h->offset != 0)
		return malformed(q, "sizes out of range");
	RS_TRY(read_nodes(q));
	if (q->rest_bytes != h->n_parts * (h->n_heads * sizeof(double) + h->n * sizeof(float)))
		return malformed(q, "a body of another length than its sizes say");
	return RS_OK;
}

static enum rs_status
read_gather(struct collect_request *q)
{
	const struct collective_head *h = &q->head;

	if (h->n_slots != 0 || h->n_heads != 0 || h->n_parts != 0)
		return malformed(q, "sizes of a sum");
	if (h->total > FRAME_BODY_MAX - sizeof(*h) || h->offset > h->total
	    || h->n > h->total - h->offset)
		return malformed(q, "bytes beyond the whole");
	if (q->rest_bytes != h->n)
		return malformed(q, "a body of another length than its sizes say");
	return RS_OK;
}

enum rs_status
collect_request_read(const struct wire_message *m, struct collect_request *out)
{
	struct collect_request *q = out;

	*q = (struct collect_request){ .message = m, .type = m->frame.type,
		.chunk = m->frame.chunk, .rank = m->frame.slot, .step = m->frame.step,
		.rest_bytes = body_bytes(m) };
	if (q->type != FRAME_SUM && q->type != FRAME_GATHER)
		return rs_fail(RS_EPROTOCOL, "message %u where a sum or gather was wanted",
			q->type);
	if (q->rest_bytes < sizeof(q->head))
		return malformed(q, "a body that is too short");
	body_take(q, &q->head, sizeof(q->head));
	q->rest_bytes -= sizeof(q->head);
	if (q->head.n_ranks == 0 || q->head.n_ranks > COLLECTIVE_RANKS_MAX)
		return malformed(q, "a number of workers out of range");
	if (q->rank >= q->head.n_ranks)
		return malformed(q, "a rank that no worker has");
	if (q->step == 0)
		return malformed(q, "a number that no call has");
	return q->type == FRAME_SUM ? read_sum(q) : read_gather(q);
}

void
collect_request_rest(struct collect_request *q, void *out)
{
	body_take(q, out, q->rest_bytes);
}
