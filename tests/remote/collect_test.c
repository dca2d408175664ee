/* Sums and gathers in a shard: bits, order of arrival, repetition, and hostile bodies. */
#include "tests/test.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "comm/collective.h"
#include "kernel/kernel.h"
#include "remote/collect.h"
#include "tests/reduce/plane_bed.h"

#define RANKS_MAX 6
#define BODY_MAX  (1 << 16)

/* What the shard sent, instead of a socket. */
static struct sent {
	struct frame frame;
	uint8_t peer;
	char body[BODY_MAX];
	size_t n;
} sent[64];
static size_t n_sent;

enum rs_status
wire_send(struct wire *w, const struct wire_peer *to, const struct frame *f,
	const struct wire_part *part, size_t n_parts)
{
	struct sent *s = &sent[n_sent++ % N_ROWS(sent)];

	(void)w;
	s->frame = *f;
	s->peer = to->id[0];
	s->n = 0;
	for (size_t i = 0; i < n_parts; i++) {
		memcpy(s->body + s->n, part[i].data, part[i].n);
		s->n += part[i].n;
		if (part[i].release != NULL)
			part[i].release((void *)(uintptr_t)part[i].data, part[i].hint);
	}
	return RS_OK;
}

/* A request in one block that begins at an odd address and is cut in odd parts. */
struct request {
	char room[BODY_MAX];
	size_t n;
	struct frame frame;
};

static void
put(struct request *q, const void *bytes, size_t n)
{
	memcpy(q->room + 1 + q->n, bytes, n);
	q->n += n;
}

static enum rs_status
take(struct collect *c, const struct request *q, size_t cut)
{
	struct wire_message *m = calloc(1, sizeof(*m));
	enum rs_status status;

	m->frame = q->frame;
	m->from.id[0] = (uint8_t)q->frame.source;
	m->from.n = 1;
	m->part[0] = (struct frame_part){ q->room + 1, q->n < cut ? q->n : cut };
	m->part[1] = (struct frame_part){ q->room + 1, 0 };
	m->part[2] = (struct frame_part){ q->room + 1 + m->part[0].n, q->n - m->part[0].n };
	m->n_parts = 3;
	status = collect_take(c, NULL, m);
	free(m);
	return status;
}

static struct request *
make_sum(const struct plane_size *z, uint64_t step, size_t rank)
{
	struct request *q = calloc(1, sizeof(*q));
	struct exchange_part part[2 * TREE_MAX_DEPTH];
	const size_t n = plane_parts(z, step, rank, part);
	const struct collective_head head = { .n_ranks = (uint32_t)z->n_ranks,
		.n_slots = (uint32_t)z->n_slots, .n_heads = (uint32_t)z->n_heads,
		.n_parts = (uint32_t)n, .n = z->n_floats, .patience_ms = 60000 };

	q->frame = (struct frame){ .type = FRAME_SUM, .slot = (uint32_t)rank, .step = step,
		.source = (uint32_t)rank + 10, .request = 100 * step + rank };
	put(q, &head, sizeof(head));
	for (size_t i = 0; i < n; i++)
		put(q, &(struct collective_node){ (uint32_t)part[i].node.begin,
			(uint32_t)part[i].node.end }, sizeof(struct collective_node));
	for (size_t i = 0; i < n; i++)
		put(q, part[i].head, z->n_heads * sizeof(double));
	for (size_t i = 0; i < n; i++)
		put(q, part[i].x, z->n_floats * sizeof(float));
	plane_parts_free(part, n);
	return q;
}

static void
take_sum(struct collect *c, const struct plane_size *z, uint64_t step, size_t rank)
{
	struct request *q = make_sum(z, step, rank);

	assert_int_equal(RS_OK, take(c, q, 1 + rank * 7));
	free(q);
}

static int
sum_differs(const struct plane_size *z, uint64_t step, const struct sent *s)
{
	double head[8];
	float x[2000];
	struct collective_head got;

	memcpy(&got, s->body, sizeof(got));
	memcpy(head, s->body + sizeof(got), z->n_heads * sizeof(double));
	memcpy(x, s->body + sizeof(got) + z->n_heads * sizeof(double), z->n_floats * sizeof(float));
	return s->n != sizeof(got) + z->n_heads * sizeof(double) + z->n_floats * sizeof(float)
		|| s->frame.type != FRAME_COLLECT_R || got.n != z->n_floats
		|| got.n_heads != z->n_heads || plane_differs(z, step, head, x);
}

static void
opened(struct collect **c)
{
	assert_int_equal(RS_OK, collect_open(&kernel_ref, c));
	n_sent = 0;
}

static void
any_order_of_any_ranks_gives_the_bits_of_the_tree(void **state)
{
	(void)state;
	for (size_t slots = 1; slots <= 9; slots++)
		for (size_t ranks = 1; ranks <= slots && ranks <= RANKS_MAX; ranks++) {
			const struct plane_size z = { slots, ranks, 3, 37 };
			struct collect *c;

			opened(&c);
			for (uint64_t step = 1; step <= 3; step++) {
				n_sent = 0;
				for (size_t r = 0; r < ranks; r++)
					take_sum(c, &z, step, (r * (step == 2 ? ranks - 1 : 1)
						+ step) % ranks);
				assert_int_equal(ranks, n_sent);
				for (size_t r = 0; r < ranks; r++) {
					assert_false(sum_differs(&z, step, &sent[r]));
					assert_int_equal(sent[r].peer, sent[r].frame.slot + 10);
					assert_int_equal(sent[r].frame.slot, r);
					assert_int_equal(sent[r].frame.request, 100 * step + r);
				}
			}
			collect_close(c);
		}
}

static void
a_sum_without_floats_and_one_without_heads_are_sums(void **state)
{
	const struct plane_size size[] = { { 5, 2, 4, 0 }, { 5, 2, 0, 9 }, { 5, 2, 0, 0 } };
	struct collect *c;

	(void)state;
	opened(&c);
	for (size_t i = 0; i < N_ROWS(size); i++) {
		n_sent = 0;
		take_sum(c, &size[i], i + 1, 1);
		take_sum(c, &size[i], i + 1, 0);
		assert_int_equal(2, n_sent);
		assert_false(sum_differs(&size[i], i + 1, &sent[1]));
	}
	collect_close(c);
}

static void
who_asks_again_is_told_to_wait_and_for_whom(void **state)
{
	const struct plane_size z = { 4, 3, 1, 5 };
	struct collect *c;

	(void)state;
	opened(&c);
	take_sum(c, &z, 1, 0);
	take_sum(c, &z, 1, 2);
	assert_int_equal(0, n_sent);
	take_sum(c, &z, 1, 2);
	assert_int_equal(1, n_sent);
	assert_int_equal(FRAME_ACK, sent[0].frame.type);
	assert_int_equal(201 - 99, sent[0].frame.request);
	assert_memory_equal("waits_for = worker 1\n", sent[0].body, sent[0].n);
	collect_close(c);
}

static void
who_waited_too_long_hears_who_is_missing(void **state)
{
	const struct plane_size z = { 4, 3, 1, 5 };
	struct request *q = make_sum(&z, 1, 0);
	struct collective_head head;
	struct collect *c;

	(void)state;
	opened(&c);
	memcpy(&head, q->room + 1, sizeof(head));
	head.patience_ms = 0;
	memcpy(q->room + 1, &head, sizeof(head));
	assert_int_equal(RS_OK, take(c, q, 9));
	take_sum(c, &z, 1, 1);
	assert_int_equal(RS_EPEER, take(c, q, 9));
	assert_non_null(strstr(rs_failure()->text, "worker 2 did not come"));
	/* And is still counted when the missing one comes. */
	take_sum(c, &z, 1, 2);
	assert_int_equal(3, n_sent);
	free(q);
	collect_close(c);
}

static void
a_repeated_part_counts_once_and_its_answer_is_repeated(void **state)
{
	const struct plane_size z = { 4, 2, 1, 5 };
	struct collect *c;

	(void)state;
	opened(&c);
	take_sum(c, &z, 1, 0);
	take_sum(c, &z, 1, 1);
	n_sent = 0;
	take_sum(c, &z, 1, 0);
	take_sum(c, &z, 2, 0);     /* the others have not left the first call         */
	take_sum(c, &z, 1, 1);
	assert_int_equal(2, n_sent);
	assert_false(sum_differs(&z, 1, &sent[0]));
	assert_false(sum_differs(&z, 1, &sent[1]));
	take_sum(c, &z, 1, 0);     /* came late: has begun the second                 */
	assert_int_equal(2, n_sent);
	take_sum(c, &z, 2, 1);
	assert_int_equal(4, n_sent);
	assert_false(sum_differs(&z, 2, &sent[3]));
	collect_close(c);
}

static void
nothing_is_kept_of_calls_that_all_have_left(void **state)
{
	const struct plane_size z = { 4, 2, 1, 500 };
	uint64_t waiting, bytes, most = 0;
	struct collect *c;

	(void)state;
	opened(&c);
	for (uint64_t step = 1; step <= 50; step++) {
		take_sum(c, &z, step, 0);
		collect_counts(c, &waiting, &bytes);
		assert_int_equal(1, waiting);
		most = bytes > most ? bytes : most;
		take_sum(c, &z, step, 1);
		collect_counts(c, &waiting, &bytes);
		assert_int_equal(0, waiting);
		assert_int_equal(bytes, sizeof(double) + 500 * sizeof(float));
	}
	assert_true(most <= 3 * (2 * sizeof(double) + 500 * sizeof(float)));
	collect_close(c);
}

static void
a_rank_cannot_run_two_calls_ahead(void **state)
{
	const struct plane_size z = { 4, 2, 1, 5 };
	struct request *q = make_sum(&z, 3, 0);
	struct collect *c;

	(void)state;
	opened(&c);
	take_sum(c, &z, 1, 0);
	take_sum(c, &z, 2, 0);
	assert_int_equal(RS_EPROTOCOL, take(c, q, 1));
	free(q);
	collect_close(c);
}

static void
a_wild_value_on_the_way_is_a_nan_in_the_sum(void **state)
{
	const struct plane_size z = { 2, 2, 0, 4 };
	const float wild = -0x1p101f;
	struct request *q = make_sum(&z, 1, 1);
	struct collect *c;
	float x;

	(void)state;
	opened(&c);
	memcpy(q->room + 1 + q->n - sizeof(wild), &wild, sizeof(wild));
	take_sum(c, &z, 1, 0);
	assert_int_equal(RS_OK, take(c, q, 50));
	memcpy(&x, sent[0].body + sizeof(struct collective_head), sizeof(x));
	assert_true(isnan(x));
	free(q);
	collect_close(c);
}

static struct request *
make_gather(size_t n_ranks, size_t rank, uint64_t step, size_t from, size_t to, size_t total)
{
	struct request *q = calloc(1, sizeof(*q));
	const struct collective_head head = { .n_ranks = (uint32_t)n_ranks, .n = to - from,
		.offset = from, .total = total, .patience_ms = 1000 };

	q->frame = (struct frame){ .type = FRAME_GATHER, .slot = (uint32_t)rank, .step = step };
	put(q, &head, sizeof(head));
	for (size_t i = from; i < to; i++)
		put(q, &(char){ (char)('a' + i) }, 1);
	return q;
}

static enum rs_status
take_gather(struct collect *c, size_t rank, uint64_t step, size_t from, size_t to, size_t total)
{
	struct request *q = make_gather(3, rank, step, from, to, total);
	const enum rs_status status = take(c, q, 3);

	free(q);
	return status;
}

static void
bytes_of_the_ranks_make_the_whole(void **state)
{
	struct collect *c;

	(void)state;
	opened(&c);
	assert_int_equal(RS_OK, take_gather(c, 2, 1, 3, 10, 10));
	assert_int_equal(RS_OK, take_gather(c, 0, 1, 0, 3, 10));
	assert_int_equal(RS_OK, take_gather(c, 1, 1, 3, 3, 10));
	assert_int_equal(3, n_sent);
	assert_int_equal(sizeof(struct collective_head) + 10, sent[0].n);
	assert_memory_equal("abcdefghij", sent[2].body + sizeof(struct collective_head), 10);
	n_sent = 0;
	assert_int_equal(RS_OK, take_gather(c, 2, 2, 0, 0, 0));
	assert_int_equal(RS_OK, take_gather(c, 1, 2, 0, 0, 0));
	assert_int_equal(RS_OK, take_gather(c, 0, 2, 0, 0, 0));
	assert_int_equal(3, n_sent);
	assert_int_equal(sizeof(struct collective_head), sent[0].n);
	collect_close(c);
}

static void
gathers_that_do_not_fit_together_are_refused(void **state)
{
	struct collect *c;

	(void)state;
	opened(&c);
	assert_int_equal(RS_OK, take_gather(c, 0, 1, 0, 4, 10));
	assert_int_equal(RS_EPROTOCOL, take_gather(c, 1, 1, 3, 6, 10));
	assert_non_null(strstr(rs_failure()->text, "worker 0's"));
	assert_int_equal(RS_EPROTOCOL, take_gather(c, 1, 1, 4, 6, 11));
	assert_int_equal(RS_EPROTOCOL, take_gather(c, 1, 1, 4, 11, 10));
	assert_int_equal(RS_OK, take_gather(c, 1, 1, 4, 6, 10));
	assert_int_equal(RS_EPROTOCOL, take_gather(c, 2, 1, 7, 10, 10));
	assert_non_null(strstr(rs_failure()->text, "9 bytes of 10"));
	assert_int_equal(0, n_sent);
	assert_int_equal(RS_OK, take_gather(c, 2, 1, 6, 10, 10));
	assert_int_equal(3, n_sent);
	collect_close(c);
}

static void
a_sum_where_others_gather_and_other_sizes_are_refused(void **state)
{
	const struct plane_size z = { 4, 3, 1, 5 }, other = { 4, 3, 1, 6 }, more = { 5, 3, 1, 5 };
	struct request *a = make_sum(&other, 1, 1), *b = make_sum(&more, 1, 1);
	struct collect *c;

	(void)state;
	opened(&c);
	take_sum(c, &z, 1, 0);
	assert_int_equal(RS_EPROTOCOL, take(c, a, 1));
	assert_int_equal(RS_EPROTOCOL, take(c, b, 1));
	assert_int_equal(RS_EPROTOCOL, take_gather(c, 1, 1, 0, 0, 0));
	assert_non_null(strstr(rs_failure()->text, "is a GATHER, for others a SUM"));
	free(a);
	free(b);
	collect_close(c);
}

static void
every_cut_of_a_body_is_refused_and_leaves_nothing(void **state)
{
	const struct plane_size z = { 5, 2, 2, 6 };
	struct request *q = make_sum(&z, 1, 1), *g = make_gather(2, 1, 1, 0, 5, 9);
	uint64_t waiting, bytes;
	struct collect *c;

	(void)state;
	opened(&c);
	for (size_t n = q->n; n-- > 0;) {
		q->n = n;
		assert_int_equal(RS_EPROTOCOL, take(c, q, n / 2));
	}
	for (size_t n = g->n; n-- > 0;) {
		g->n = n;
		assert_int_equal(RS_EPROTOCOL, take(c, g, n / 2));
	}
	collect_counts(c, &waiting, &bytes);
	assert_int_equal(0, waiting);
	assert_int_equal(0, bytes);
	assert_int_equal(0, n_sent);
	free(q);
	free(g);
	collect_close(c);
}

static uint64_t
draw(uint64_t n)
{
	static uint64_t counter;

	return rng_below(7, counter++, n);
}

/* A request of which three bytes of the head or the nodes are others. */
static struct request *
make_mutant(const struct plane_size *z)
{
	struct request *q = draw(2) ? make_sum(z, 1, 1) : make_gather(2, 1, 1, 0, 5, 9);

	for (size_t i = 0; i < 3; i++)
		q->room[1 + draw(64)] = (char)(draw(256) >> draw(9));
	q->frame.slot = (uint32_t)draw(3);
	q->frame.chunk = (uint16_t)draw(UINT16_MAX + 1);
	return q;
}

/* Whatever they say, what is kept of them fits in messages. */
static void
any_bytes_are_taken_or_refused(void **state)
{
	const struct plane_size z = { 5, 2, 2, 6 };
	uint64_t refused = 0, waiting, bytes;

	(void)state;
	for (size_t round = 0; round < 200; round++) {
		struct collect *c;

		opened(&c);
		take_sum(c, &z, 1, 0);
		for (size_t k = 0; k < 20; k++) {
			struct request *q = make_mutant(&z);

			refused += take(c, q, 11) != RS_OK;
			free(q);
		}
		collect_counts(c, &waiting, &bytes);
		assert_true(waiting <= 21);
		assert_true(bytes <= 21 * FRAME_BODY_MAX);
		collect_close(c);
	}
	assert_true(refused > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_of_any_ranks_gives_the_bits_of_the_tree),
		cmocka_unit_test(a_sum_without_floats_and_one_without_heads_are_sums),
		cmocka_unit_test(who_asks_again_is_told_to_wait_and_for_whom),
		cmocka_unit_test(who_waited_too_long_hears_who_is_missing),
		cmocka_unit_test(a_repeated_part_counts_once_and_its_answer_is_repeated),
		cmocka_unit_test(nothing_is_kept_of_calls_that_all_have_left),
		cmocka_unit_test(a_rank_cannot_run_two_calls_ahead),
		cmocka_unit_test(a_wild_value_on_the_way_is_a_nan_in_the_sum),
		cmocka_unit_test(bytes_of_the_ranks_make_the_whole),
		cmocka_unit_test(gathers_that_do_not_fit_together_are_refused),
		cmocka_unit_test(a_sum_where_others_gather_and_other_sizes_are_refused),
		cmocka_unit_test(every_cut_of_a_body_is_refused_and_leaves_nothing),
		cmocka_unit_test(any_bytes_are_taken_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
