/*
 * A shard that is told to go on from its journal, whatever that has: it does, or says no, and
 * its memory stays whole.
 *
 * The first byte is the step to go on from, the second that of the journal's HEAD, the third
 * says whether the files are whole (0) or how many bytes are gone from their end; then
 * records: type, step, slot, chunk, flags, how many bytes the body has, the body.
 */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "comm/wire.h"
#include "kernel/kernel.h"
#include "remote/body.h"
#include "remote/journal_private.h"
#include "remote/shard.h"
#include "tests/fuzz/fuzz.h"

enum { N_TABLES = 2, N_RANKS = 2, HEAD = 6, MEMORY = 1 << 20 };

static const struct lookup_table table[N_TABLES] = {
	{ .name = "A", .rows = 100, .dim = 4, .optimizer = { .kind = ROW_ADAGRAD } },
	{ .name = "A.linear", .rows = 100, .dim = 1, .optimizer = { .kind = ROW_SGD } },
};

static struct {
	struct body_init head;
	struct body_table table[N_TABLES];
	struct body_part part[N_TABLES];
} init = {
	.head = { .n_tables = N_TABLES, .n_parts = N_TABLES, .n_slots = 4, .n_ranks = N_RANKS,
		.n_shards = 1, .keep = 1 },
};

static struct { int n_inits, n_answers; atomic_int stop; } feed;

/* --- the socket: an INIT_TABLE of each worker comes ------------------------------------- */

enum rs_status
wire_receive(struct wire *w, struct wire_message *m, int *got)
{
	(void)w;
	*m = (struct wire_message){ .from = { .n = 1, .roles = KEY_WORKER } };
	*got = feed.n_inits < N_RANKS;
	if (!*got)
		return RS_OK;
	m->frame = (struct frame){ .type = FRAME_INIT_TABLE, .slot = (uint32_t)feed.n_inits++ };
	m->part[0] = (struct frame_part){ &init, sizeof(init) };
	m->n_parts = 1;
	return RS_OK;
}

void
wire_message_free(struct wire_message *m)
{
	(void)m;
}

enum rs_status
wire_send(struct wire *w, const struct wire_peer *to, const struct frame *f,
	const struct wire_part *part, size_t n_parts)
{
	(void)w;
	(void)to;
	(void)part;
	FUZZ_CHECK(n_parts <= 2 && (f->type == FRAME_ACK || f->type == FRAME_ERROR));
	feed.n_answers++;
	return RS_OK;
}

enum rs_status
wire_wait(struct wire_poll *p, size_t n, double seconds)
{
	(void)p;
	(void)n;
	(void)seconds;
	atomic_store(&feed.stop, 1);
	return RS_OK;
}

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

/* --- the journal --------------------------------------------------------------------------- */

static char directory[64] = "/dev/shm/recsys-journal-fuzz-XXXXXX";

static void
remove_directory(void)
{
	(void)file_remove_tree(directory);
}

static void
make_all(void)
{
	if (init.head.first_step != 0)
		return;
	for (uint32_t t = 0; t < N_TABLES; t++) {
		body_table_put(&table[t], &init.table[t]);
		init.part[t] = (struct body_part){ .table = t, .end = table[t].rows };
	}
	if (mkdtemp(directory) == NULL) {
		snprintf(directory, sizeof(directory), "/tmp/recsys-journal-fuzz-XXXXXX");
		FUZZ_CHECK(mkdtemp(directory) != NULL);
	}
	atexit(remove_directory);
}

static void
write_records(struct journal *j, const uint8_t *data, size_t n)
{
	while (n >= HEAD) {
		const size_t bytes = data[5] < n - HEAD ? data[5] : n - HEAD;
		const struct journal_record r = { .type = data[0], .step = data[1],
			.slot = data[2], .chunk = data[3], .flags = data[4] };
		const struct frame_part part = { data + HEAD, bytes };

		journal_append(j, &r, &part, 1);
		data += HEAD + bytes;
		n -= HEAD + bytes;
	}
}

/* The end of the first segment. */
static void
cut(size_t n)
{
	char path[128];
	char *text;
	size_t size;

	snprintf(path, sizeof(path), "%s/%016x.log", directory, 1);
	FUZZ_CHECK(file_read(path, 1 << 20, &text, &size) == RS_OK);
	free(text);
	FUZZ_CHECK(truncate(path, n < size ? (off_t)(size - n) : 0) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct journal_options journal = { .directory = directory };
	const struct shard_options options = { .kernel = &kernel_ref, .n_threads = 1,
		.memory_bytes = MEMORY, .stop = &feed.stop, .journal = &journal };
	struct shard *shard;
	struct journal *j;

	if (n < 3)
		return 0;
	make_all();
	init.head.first_step = (uint64_t)data[0] + 1;
	feed.n_inits = feed.n_answers = 0;
	atomic_store(&feed.stop, 0);
	journal_file_remove(directory, 0, UINT64_MAX);
	FUZZ_CHECK(journal_open(&journal, &j) == RS_OK);
	journal_begin(j, data[1], 1, &init, sizeof(init));
	write_records(j, data + 3, n - 3);
	journal_close(j);
	if (data[2] > 0)
		cut(data[2]);
	FUZZ_CHECK(shard_open(&options, &shard) == RS_OK);
	FUZZ_CHECK(shard_serve(shard, &(struct shard_round){ .epoch = 0 }) == RS_OK);
	shard_close(shard);
	FUZZ_CHECK(feed.n_answers == N_RANKS);
	return 0;
}
