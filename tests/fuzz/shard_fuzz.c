/*
 * A shard and whatever its workers may send: it answers, and its memory stays whole.
 *
 * The first byte says how the round is (0, 1, 2: the consistency; others: no INIT_TABLE came);
 * then messages: type, flags, rank, step, chunk, where the body is cut in two, its length in
 * two bytes, the body.
 */
#include <string.h>

#include "base/memory.h"
#include "comm/wire.h"
#include "embed/exact.h"
#include "kernel/kernel.h"
#include "remote/body.h"
#include "remote/shard.h"
#include "tests/fuzz/fuzz.h"

enum { N_TABLES = 4, N_RANKS = 2, N_MESSAGES_MAX = 64, HEAD = 8, MEMORY = 1 << 20 };

static const struct lookup_table table[N_TABLES] = {
	{ .name = "A", .rows = 100, .dim = 4, .optimizer = { .kind = ROW_ADAGRAD } },
	{ .name = "A.linear", .rows = 100, .dim = 1, .optimizer = { .kind = ROW_SGD } },
	{ .name = "B", .rows = 7, .dim = 2, .optimizer = { .kind = ROW_ADAM } },
	{ .name = "E", .kind = TABLE_EXACT, .rows = EXACT_ROWS, .expected = 10, .dim = 2,
	  .optimizer = { .kind = ROW_ADAGRAD },
	  .tenancy = { .admit = ADMISSION_COUNT, .admit_count = 2, .admit_cells = 512,
		.expire_steps = 2, .segment_rows = 20 } },
};

/* The socket: what comes, and how much was answered. */
static struct {
	const uint8_t *at;
	size_t left, n_received, n_sent;
	int    wants_init, consistency;
	atomic_int stop;
} feed;

static void *
copy_of(const void *bytes, size_t n)
{
	uint8_t *copy = malloc(n > 0 ? n : 1);

	FUZZ_CHECK(copy != NULL);
	if (n > 0)
		memcpy(copy, bytes, n);
	return copy;
}

static void
make_init(struct wire_message *m)
{
	struct { struct body_init head; struct body_table table[N_TABLES];
		struct body_part part[N_TABLES]; } body = {
		.head = { .n_tables = N_TABLES, .n_parts = N_TABLES, .n_slots = 4,
			.n_ranks = N_RANKS,
			.n_shards = 1, .consistency = (uint32_t)feed.consistency,
			.staleness = 1, .first_step = 1, .keeps_changes = 1 },
	};

	for (uint32_t t = 0; t < N_TABLES; t++) {
		body_table_put(&table[t], &body.table[t]);
		body.part[t] = (struct body_part){ .table = t, .end = table[t].rows };
	}
	m->frame = (struct frame){ .type = FRAME_INIT_TABLE,
		.slot = (uint32_t)--feed.wants_init };
	m->owned = copy_of(&body, sizeof(body));
	m->part[0] = (struct frame_part){ m->owned, sizeof(body) };
	m->n_parts = 1;
}

static void
make_message(struct wire_message *m)
{
	const uint8_t *h = feed.at;
	size_t n = (size_t)(h[6] | h[7] << 8), cut;

	feed.at += HEAD;
	feed.left -= HEAD;
	n = n < feed.left ? n : feed.left;
	cut = h[5] < n ? h[5] : n;
	m->frame = (struct frame){ .type = h[0], .flags = h[1] & FRAME_FLAGS, .slot = h[2],
		.step = h[3], .chunk = h[4], .request = feed.n_received,
		.body_bytes = (uint32_t)n };
	m->owned = copy_of(feed.at, n);
	m->part[0] = (struct frame_part){ m->owned, cut };
	m->part[1] = (struct frame_part){ (uint8_t *)m->owned + cut, n - cut };
	m->n_parts = 2;
	feed.at += n;
	feed.left -= n;
}

enum rs_status
wire_receive(struct wire *w, struct wire_message *m, int *got)
{
	(void)w;
	*m = (struct wire_message){ .from = { .n = 1, .roles = KEY_WORKER } };
	*got = feed.wants_init > 0 || (feed.left >= HEAD && feed.n_received < N_MESSAGES_MAX);
	if (feed.wants_init > 0)
		make_init(m);
	else if (*got)
		make_message(m);
	feed.n_received += (size_t)*got;
	return RS_OK;
}

void
wire_message_free(struct wire_message *m)
{
	free(m->owned);
	m->owned = NULL;
}

/* All of what is sent is there to be read. */
enum rs_status
wire_send(struct wire *w, const struct wire_peer *to, const struct frame *f,
	const struct wire_part *part, size_t n_parts)
{
	volatile uint8_t sum = 0;

	(void)w;
	FUZZ_CHECK(to->n == 1 && frame_type_name(f->type) != NULL && n_parts <= 2);
	for (size_t i = 0; i < n_parts; i++) {
		for (size_t j = 0; j < part[i].n; j++)
			sum = (uint8_t)(sum + ((const uint8_t *)part[i].data)[j]);
		if (part[i].release != NULL)
			part[i].release((void *)(uintptr_t)part[i].data, part[i].hint);
	}
	feed.n_sent++;
	return RS_OK;
}

enum rs_status
wire_wait(struct wire_poll *p, size_t n, double seconds)
{
	(void)p;
	(void)n;
	FUZZ_CHECK(seconds > 0 && seconds <= 0.1);
	atomic_store(&feed.stop, 1);
	return RS_OK;
}

/* There is no peer. */
enum rs_status
wire_connect(struct wire_context *c, const char *endpoint, const char *key, struct wire **out)
{
	(void)c;
	(void)endpoint;
	(void)key;
	*out = NULL;
	return rs_fail(RS_EPEER, "nobody");
}

void
wire_close(struct wire *w)
{
	(void)w;
}

uint64_t
wire_malformed(const struct wire *w)
{
	(void)w;
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct shard_options options = { .kernel = &kernel_ref, .n_threads = 1,
		.memory_bytes = MEMORY, .stop = &feed.stop };
	struct shard *shard;

	if (n == 0)
		return 0;
	atomic_store(&feed.stop, 0);
	feed.at = data + 1;
	feed.left = n - 1;
	feed.n_received = feed.n_sent = 0;
	feed.wants_init = data[0] <= CONSISTENCY_ASYNC ? N_RANKS : 0;
	feed.consistency = data[0];
	FUZZ_CHECK(shard_open(&options, &shard) == RS_OK);
	FUZZ_CHECK(shard_serve(shard, &(struct shard_round){ .epoch = 0 }) == RS_OK);
	shard_close(shard);
	/* One answer each at most; parked requests and sums may have none. */
	FUZZ_CHECK(feed.n_sent <= 2 * feed.n_received);
	return 0;
}
