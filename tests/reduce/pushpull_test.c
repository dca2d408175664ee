/* The push-pull plane: ranks and shards as threads, joined by sockets that lose messages. */
#include "tests/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/rng.h"
#include "base/thread.h"
#include "comm/fields.h"
#include "config.h"
#include "kernel/kernel.h"
#include "reduce/pushpull.h"
#include "remote/collect.h"
#include "tests/reduce/plane_bed.h"

#define RANKS_MAX  4
#define SHARDS_MAX 3
#define N_STEPS    3

/* Of messages that a shard gets, these in a thousand are lost, taken twice, taken after
 * the next one, or taken while the answer is lost. */
struct trouble { uint64_t lost, twice, late, unanswered; };

struct shard {
	struct wire *wire;
	struct trouble trouble;
	atomic_int *over;
	size_t number;
	uint64_t n_taken, n_troubles, n_waiting;
};

static void
take(struct shard *s, struct collect *c, const struct wire_message *m)
{
	const struct frame *f = &m->frame;
	struct rs_failure failure;
	struct buffer text;

	s->n_taken++;
	if (collect_take(c, s->wire, m) == RS_OK)
		return;
	rs_failure_take(&failure);
	buffer_init(&text, FIELDS_MAX);
	assert_int_equal(RS_OK, fields_put_failure(&text, &failure));
	(void)wire_send(s->wire, &m->from, &(struct frame){ .type = FRAME_ERROR, .job = f->job,
		.epoch = f->epoch, .request = f->request, .step = f->step },
		&(struct wire_part){ .data = text.data, .n = text.n }, 1);
	buffer_free(&text);
}

static void
take_troubled(struct shard *s, struct collect *c, struct wire_message *m,
	struct wire_message *late)
{
	const struct trouble *t = &s->trouble;
	const uint64_t at = rng_below(s->number + 3, s->n_troubles++, 1000);

	if (late->owned != NULL) {
		take(s, c, m);
		take(s, c, late);
		wire_message_free(late);
		*late = (struct wire_message){ 0 };
	} else if (at < t->lost) {
		;
	} else if (at < t->lost + t->twice) {
		take(s, c, m);
		take(s, c, m);
	} else if (at < t->lost + t->twice + t->late) {
		*late = *m;
		*m = (struct wire_message){ 0 };
	} else if (at < t->lost + t->twice + t->late + t->unanswered) {
		m->from.id[0] ^= 0x55;
		take(s, c, m);
	} else {
		take(s, c, m);
	}
}

static void *
shard_run(void *argument)
{
	struct shard *s = argument;
	struct wire_message m, late = { 0 };
	struct collect *c;
	uint64_t bytes;

	if (collect_open(&kernel_ref, &c) != RS_OK)
		return NULL;
	while (!atomic_load(s->over)) {
		int got = 1;

		wire_wait(&(struct wire_poll){ .wire = s->wire }, 1, .02);
		while (got && wire_receive(s->wire, &m, &got) == RS_OK)
			if (got) {
				take_troubled(s, c, &m, &late);
				wire_message_free(&m);
			}
	}
	collect_counts(c, &s->n_waiting, &bytes);
	wire_message_free(&late);
	collect_close(c);
	return NULL;
}

struct rank {
	struct client *client;
	struct plane_size size;
	size_t rank, n_steps, n_buckets;
	double timeout;
	const atomic_int *stop;
	enum rs_status status;
	char text[256];
	int wrong;
};

static enum rs_status
do_sums(struct rank *k, struct exchange *e)
{
	const struct plane_size *z = &k->size;
	float *x = malloc((z->n_floats + 1) * sizeof(*x));
	double head[8];
	enum rs_status status = RS_OK;

	for (uint64_t step = 1; status == RS_OK && step <= k->n_steps; step++) {
		struct exchange_part part[2 * TREE_MAX_DEPTH];
		const size_t n = plane_parts(z, step, k->rank, part);

		status = plane_sum(e, z, step, k->n_buckets, part, n, head, x);
		k->wrong |= status == RS_OK && plane_differs(z, step, head, x);
		plane_parts_free(part, n);
	}
	free(x);
	return status;
}

static enum rs_status
do_bytes(struct rank *k, struct exchange *e)
{
	const size_t R = k->size.n_ranks, large = 2 * PUSHPULL_FLOATS * sizeof(float) + 5;
	size_t begin[RANKS_MAX + 1] = { 0 };
	enum rs_status status;

	for (size_t r = 0; r < R; r++)
		begin[r + 1] = begin[r] + (r % 3 == 2 ? 0 : r % 3 ? 7 : large);
	uint8_t *block = calloc(begin[R], 1);
	for (size_t i = begin[k->rank]; i < begin[k->rank + 1]; i++)
		block[i] = (uint8_t)(i * 31 % 251);
	status = e->ops->gather(e, block, begin);
	for (size_t i = 0; status == RS_OK && i < begin[R]; i++)
		k->wrong |= block[i] != (uint8_t)(i * 31 % 251);
	for (size_t i = 0; i < begin[R]; i++)
		block[i] = k->rank == 0 ? (uint8_t)(i * 17) : 0;
	if (status == RS_OK)
		status = e->ops->broadcast(e, block, begin[R]);
	for (size_t i = 0; status == RS_OK && i < begin[R]; i++)
		k->wrong |= block[i] != (uint8_t)(i * 17);
	if (status == RS_OK)
		status = e->ops->broadcast(e, NULL, 0);
	free(block);
	return status;
}

static void *
rank_run(void *argument)
{
	struct rank *k = argument;
	const struct exchange base = { .rank = k->rank, .n_ranks = k->size.n_ranks,
		.kernel = &kernel_ref, .timeout = k->timeout, .stop = k->stop };
	struct exchange *e;

	k->status = pushpull_open(&base, k->client, &e);
	if (k->status != RS_OK)
		return NULL;
	k->status = do_sums(k, e);
	if (k->status == RS_OK && k->n_steps == N_STEPS)
		k->status = do_bytes(k, e);
	snprintf(k->text, sizeof(k->text), "%.255s", rs_failure()->text);
	e->ops->close(e);
	return NULL;
}

struct job {
	struct rank rank[RANKS_MAX];
	struct shard shard[SHARDS_MAX];
	struct wire_context *context;
	pthread_t serving[SHARDS_MAX];
	atomic_int over;
};

static void
open_client(struct job *j, size_t n_shards, size_t rank, const struct rank *like)
{
	struct client_server server[SHARDS_MAX];

	for (size_t s = 0; s < n_shards; s++)
		server[s] = (struct client_server){ wire_endpoint(j->shard[s].wire), NULL, "ps" };
	assert_int_equal(RS_OK, client_open(&(struct client_options){ .context = j->context,
		.server = server, .n_servers = n_shards, .job = 77, .epoch = 1,
		.source = (uint32_t)rank, .request_timeout = 20, .patience = .2,
		.stop = like->stop },
		&j->rank[rank].client));
}

static void
start(struct job *j, struct plane_size z, size_t n_shards, const struct trouble *trouble,
	const struct rank *like)
{
	memset(j, 0, sizeof(*j));
	assert_int_equal(RS_OK, wire_context_open(&(struct wire_options){ 0 }, &j->context));
	for (size_t s = 0; s < n_shards; s++) {
		j->shard[s] = (struct shard){ .over = &j->over, .number = s,
			.trouble = trouble != NULL ? *trouble : (struct trouble){ 0 } };
		assert_int_equal(RS_OK, wire_bind(j->context, "tcp://127.0.0.1:*",
			&j->shard[s].wire));
		assert_int_equal(RS_OK, thread_start(&j->serving[s], "shard", shard_run,
			&j->shard[s]));
	}
	for (size_t r = 0; r < z.n_ranks; r++) {
		j->rank[r] = *like;
		j->rank[r].rank = r;
		j->rank[r].size = z;
		open_client(j, n_shards, r, like);
	}
}

static void
end(struct job *j, size_t n_ranks, size_t n_shards)
{
	for (size_t r = 0; r < n_ranks; r++)
		client_close(j->rank[r].client);
	atomic_store(&j->over, 1);
	for (size_t s = 0; s < n_shards; s++) {
		thread_join(j->serving[s]);
		wire_close(j->shard[s].wire);
	}
	wire_context_close(j->context);
}

/* All ranks but the absent ones. */
static void
run_ranks(struct job *j, size_t n_ranks, unsigned absent)
{
	pthread_t thread[RANKS_MAX];

	for (size_t r = 0; r < n_ranks; r++)
		if (!(absent >> r & 1))
			assert_int_equal(RS_OK, thread_start(&thread[r], "rank", rank_run,
				&j->rank[r]));
	for (size_t r = 0; r < n_ranks; r++)
		if (!(absent >> r & 1))
			thread_join(thread[r]);
}

static void
check_works(struct plane_size z, size_t n_shards, size_t n_buckets, const struct trouble *trouble)
{
	struct job j;

	start(&j, z, n_shards, trouble, &(struct rank){ .timeout = 60, .n_steps = N_STEPS,
		.n_buckets = n_buckets });
	run_ranks(&j, z.n_ranks, 0);
	for (size_t r = 0; r < z.n_ranks; r++) {
		if (j.rank[r].status != RS_OK)
			print_message("%s\n", j.rank[r].text);
		assert_int_equal(RS_OK, j.rank[r].status);
		assert_false(j.rank[r].wrong);
	}
	end(&j, z.n_ranks, n_shards);
	for (size_t s = 0; s < n_shards; s++)
		assert_int_equal(0, j.shard[s].n_waiting);
}

static void
need_zmq(void)
{
#ifndef HAVE_ZMQ
	SKIP_BECAUSE("built without ZeroMQ");
#endif
}

static void
any_ranks_and_shards_give_the_bits_of_the_tree(void **state)
{
	(void)state;
	need_zmq();
	for (size_t ranks = 1; ranks <= RANKS_MAX; ranks++)
		for (size_t shards = 1; shards <= SHARDS_MAX; shards++)
			check_works((struct plane_size){ 4 + shards, ranks, 3, 1000 * shards + 1 },
				shards, 1, NULL);
}

static void
sums_of_many_pieces_and_of_nothing_are_sums(void **state)
{
	(void)state;
	need_zmq();
	check_works((struct plane_size){ 3, 2, 5, 11 * PUSHPULL_FLOATS + 3 }, 2, 1, NULL);
	check_works((struct plane_size){ 5, 4, 5, 0 }, 3, 1, NULL);
	check_works((struct plane_size){ 5, 2, 0, 2 }, 3, 1, NULL);
}

static void
buckets_of_odd_sizes_are_summed_one_by_one(void **state)
{
	(void)state;
	need_zmq();
	for (size_t shards = 1; shards <= SHARDS_MAX; shards++)
		check_works((struct plane_size){ 7, RANKS_MAX, 3, 5003 }, shards, 4, NULL);
	check_works((struct plane_size){ 5, 3, 2, 3 * PUSHPULL_FLOATS + 5 }, 2, 3,
		&(struct trouble){ .lost = 30, .twice = 200, .late = 100, .unanswered = 30 });
}

static void
lost_repeated_and_reordered_messages_change_nothing(void **state)
{
	(void)state;
	need_zmq();
	check_works((struct plane_size){ 5, 3, 2, 3 * PUSHPULL_FLOATS }, 2, 1,
		&(struct trouble){ .lost = 30, .twice = 200, .late = 100, .unanswered = 30 });
}

static void
a_missing_rank_is_named_within_the_deadline(void **state)
{
	const double begin = clock_seconds();
	struct job j;

	(void)state;
	need_zmq();
	start(&j, (struct plane_size){ 4, 3, 2, 1000 }, 2, NULL,
		&(struct rank){ .timeout = 1, .n_steps = 1, .n_buckets = 1 });
	run_ranks(&j, 3, 1 << 1);
	assert_int_equal(RS_EPEER, j.rank[0].status);
	assert_int_equal(RS_EPEER, j.rank[2].status);
	assert_non_null(strstr(j.rank[0].text, "worker 1 did not come"));
	assert_true(clock_seconds() - begin < 6);
	end(&j, 3, 2);
}

static void
the_end_of_the_round_ends_the_wait(void **state)
{
	const double begin = clock_seconds();
	atomic_int stop = 0;
	pthread_t thread;
	struct job j;

	(void)state;
	need_zmq();
	start(&j, (struct plane_size){ 4, 3, 2, 1000 }, 2, NULL,
		&(struct rank){ .timeout = 60, .n_steps = 1, .n_buckets = 2, .stop = &stop });
	assert_int_equal(RS_OK, thread_start(&thread, "stop", plane_stop_soon, &stop));
	run_ranks(&j, 3, 1 << 2);
	thread_join(thread);
	assert_int_equal(RS_EPEER, j.rank[0].status);
	assert_int_equal(RS_EPEER, j.rank[1].status);
	assert_true(clock_seconds() - begin < 2);
	end(&j, 3, 2);
}

static void
ranks_of_different_sizes_are_told(void **state)
{
	struct job j;

	(void)state;
	need_zmq();
	start(&j, (struct plane_size){ 4, 2, 2, 1000 }, 1, NULL,
		&(struct rank){ .timeout = 1, .n_steps = 1, .n_buckets = 1 });
	j.rank[1].size.n_floats = 1001;
	run_ranks(&j, 2, 0);
	assert_true(j.rank[0].status == RS_EPROTOCOL || j.rank[1].status == RS_EPROTOCOL);
	assert_int_not_equal(RS_OK, j.rank[0].status);
	assert_int_not_equal(RS_OK, j.rank[1].status);
	end(&j, 2, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_ranks_and_shards_give_the_bits_of_the_tree),
		cmocka_unit_test(sums_of_many_pieces_and_of_nothing_are_sums),
		cmocka_unit_test(buckets_of_odd_sizes_are_summed_one_by_one),
		cmocka_unit_test(lost_repeated_and_reordered_messages_change_nothing),
		cmocka_unit_test(a_missing_rank_is_named_within_the_deadline),
		cmocka_unit_test(the_end_of_the_round_ends_the_wait),
		cmocka_unit_test(ranks_of_different_sizes_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
