/*
 * Shards in threads of this process over ipc, and workers that speak to them in plain
 * messages: what tests of the shard share.
 */
#ifndef TESTS_REMOTE_SHARD_BED_H
#define TESTS_REMOTE_SHARD_BED_H

#include "tests/test.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/thread.h"
#include "base/tree.h"
#include "comm/wire.h"
#include "embed/lookup.h"
#include "embed/merge.h"
#include "embed/pushes.h"
#include "kernel/kernel.h"
#include "remote/body.h"
#include "remote/parts.h"
#include "remote/shard.h"

#define BED_JOB     0x1234
#define BED_SHARDS  3
#define BED_RANKS   300
#define BED_TABLES  3              /* 2 is the first-order twin of 0                 */
#define BED_SECONDS 20.0

struct bed_shard {
	struct wire *wire;
	struct shard_options options;
	struct shard *shard;            /* stays from round to round                      */
	struct journal_options journal;
	char directory[4200];           /* of it                                          */
	char endpoint[4200];
	atomic_int stop;
	struct shard_round round;
	pthread_t thread;
	enum rs_status status;
	pthread_mutex_t lock;
	struct shard_counts counts;     /* as last reported                               */
	size_t n_reports;
};

struct bed {
	struct wire_context *context;
	size_t n_shards, n_ranks, n_slots;
	enum consistency consistency;
	uint64_t staleness, first_step;
	uint32_t keep;
	int with_journals, with_copies, durable;
	uint64_t growth;
	size_t n_tables;
	struct lookup_table table[BED_TABLES];
	struct parts parts;
	struct bed_shard shard[BED_SHARDS];
	struct wire *link[BED_RANKS][BED_SHARDS];
	uint64_t request;
	uint32_t epoch;
};

static inline void
bed_report(void *context, const struct shard_counts *counts)
{
	struct bed_shard *s = context;

	pthread_mutex_lock(&s->lock);
	s->counts = *counts;
	s->n_reports++;
	pthread_mutex_unlock(&s->lock);
}

static inline void *
bed_serve(void *argument)
{
	struct bed_shard *s = argument;

	s->status = shard_serve(s->shard, &s->round);
	return NULL;
}

/* Rows of C1 twice as many as it may have slots; sizes are odd. */
static inline void
bed_tables(struct bed *b, enum row_optimizer_kind kind)
{
	const struct row_optimizer_settings o = {
		.kind = kind, .learning_rate = 0.05, .initial_accumulator = 0.1, .epsilon = 1e-7,
		.beta1 = 0.9, .beta2 = 0.999, .l2 = 0.01, .ftrl_beta = 1, .ftrl_l1 = 0.001,
		.ftrl_l2 = 0.01, .ftrl_power = -0.5, .scheduled = 1,
	};
	const struct lookup_table table[BED_TABLES] = {
		{ .name = "C1", .rows = 131, .dim = 8, .init_stddev = 0.1, .seed = 7, .twins = 0 },
		{ .name = "C2", .rows = 62, .dim = 3, .init_stddev = 0.1, .seed = 7, .twins = 1 },
		{ .name = "C1.linear", .rows = 131, .dim = 1, .init_stddev = 0.1, .seed = 7 },
	};

	b->n_tables = BED_TABLES;
	for (size_t t = 0; t < BED_TABLES; t++) {
		b->table[t] = table[t];
		b->table[t].optimizer = o;
	}
}

/* One row of one float, learning rate 1, no other setting: its value counts. */
static inline void
bed_counter(struct bed *b)
{
	b->n_tables = 1;
	b->table[0] = (struct lookup_table){ .name = "N", .rows = 9, .dim = 1, .seed = 1,
		.optimizer = { .kind = ROW_SGD, .learning_rate = 1 } };
}

static inline void
bed_make_exact(struct bed *b, size_t table)
{
	b->table[table].kind = TABLE_EXACT;
	b->table[table].rows = EXACT_ROWS;
}

static inline void
bed_start_round(struct bed *b)
{
	b->epoch++;
	for (size_t i = 0; i < b->n_shards; i++) {
		atomic_store(&b->shard[i].stop, 0);
		const size_t peer = (i + 1) % b->n_shards;

		b->shard[i].round = (struct shard_round){ .epoch = b->epoch, .peer = peer };
		if (b->with_copies)
			b->shard[i].round.endpoint = b->shard[peer].endpoint;
		if (b->shard[i].shard == NULL)
			assert_int_equal(shard_open(&b->shard[i].options, &b->shard[i].shard),
				RS_OK);
		assert_int_equal(thread_start(&b->shard[i].thread, "shard", bed_serve,
			&b->shard[i]), RS_OK);
	}
}

/* A message wakes a shard that waits. */
static inline void
bed_stop_round(struct bed *b)
{
	const struct frame bye = { .type = FRAME_BYE };

	for (size_t i = 0; i < b->n_shards; i++) {
		atomic_store(&b->shard[i].stop, 1);
		assert_int_equal(wire_send(b->link[0][i], NULL, &bye, NULL, 0), RS_OK);
	}
	for (size_t i = 0; i < b->n_shards; i++) {
		thread_join(b->shard[i].thread);
		assert_int_equal(b->shard[i].status, RS_OK);
	}
}

/* Its process ends and is started again: what it held is lost. */
static inline void
bed_forget(struct bed *b, size_t shard)
{
	shard_close(b->shard[shard].shard);
	b->shard[shard].shard = NULL;
}

/* Tables and consistency are set before. */
static inline void
bed_open(struct bed *b, const char *directory, size_t n_shards, size_t n_ranks, size_t n_slots)
{
	const struct wire_options options = { .self = NULL };

	b->n_shards = n_shards;
	b->n_ranks = n_ranks;
	b->n_slots = n_slots;
	b->first_step = b->first_step > 0 ? b->first_step : 1;
	assert_int_equal(parts_make(b->table, b->n_tables, n_shards, 64, &b->parts), RS_OK);
	assert_int_equal(wire_context_open(&options, &b->context), RS_OK);
	for (size_t i = 0; i < n_shards; i++) {
		struct bed_shard *s = &b->shard[i];
		char *const endpoint = s->endpoint;

		snprintf(endpoint, sizeof(s->endpoint), "ipc://%s/%zu", directory, i);
		assert_int_equal(wire_bind(b->context, endpoint, &s->wire), RS_OK);
		pthread_mutex_init(&s->lock, NULL);
		s->options = (struct shard_options){ .wire = s->wire, .kernel = &kernel_ref,
			.index = i, .n_threads = 1 + i, .job = BED_JOB, .stop = &s->stop,
			.context_of_peers = b->context, .report = bed_report, .context = s };
		snprintf(s->directory, sizeof(s->directory), "%s/journal%zu", directory, i);
		s->journal.directory = s->directory;
		s->journal.job = BED_JOB;
		s->journal.shard = i;
		s->journal.growth = b->growth;
		s->journal.durable = b->durable;
		if (b->with_journals)
			s->options.journal = &s->journal;
		for (size_t r = 0; r < n_ranks; r++)
			assert_int_equal(wire_connect(b->context, endpoint, NULL, &b->link[r][i]),
				RS_OK);
	}
	bed_start_round(b);
}

static inline void
bed_close(struct bed *b)
{
	bed_stop_round(b);
	for (size_t i = 0; i < b->n_shards; i++) {
		bed_forget(b, i);
		for (size_t r = 0; r < b->n_ranks; r++)
			wire_close(b->link[r][i]);
		wire_close(b->shard[i].wire);
		pthread_mutex_destroy(&b->shard[i].lock);
	}
	wire_context_close(b->context);
	parts_free(&b->parts);
}

static inline struct frame
bed_frame(struct bed *b, uint16_t type, size_t rank, uint64_t step)
{
	return (struct frame){ .type = type, .job = BED_JOB, .epoch = b->epoch,
		.source = (uint32_t)rank + 10, .slot = (uint32_t)rank, .step = step,
		.request = ++b->request };
}

static inline void
bed_send(struct bed *b, size_t shard, const struct frame *f, const void *body, size_t n)
{
	const struct wire_part part = { .data = body, .n = n };

	assert_int_equal(wire_send(b->link[f->slot][shard], NULL, f, &part, n > 0), RS_OK);
}

/* The answer to a request within so many seconds; 0: none.  Others' are dropped. */
static inline int
bed_receive(struct bed *b, size_t rank, size_t shard, uint64_t request, double seconds,
	struct wire_message *m)
{
	struct wire *w = b->link[rank][shard];
	const double end = clock_seconds() + seconds;

	for (;;) {
		struct wire_poll p = { .wire = w };
		const double left = end - clock_seconds();
		int got;

		assert_int_equal(wire_receive(w, m, &got), RS_OK);
		if (got && m->frame.request == request)
			return 1;
		if (got)
			wire_message_free(m);
		else if (left <= 0)
			return 0;
		else
			assert_int_equal(wire_wait(&p, 1, left), RS_OK);
	}
}

/* The body of a message in one piece. */
static inline size_t
bed_body(const struct wire_message *m, void *out, size_t capacity)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_parts; i++) {
		assert_true(n + m->part[i].n <= capacity);
		memcpy((char *)out + n, m->part[i].data, m->part[i].n);
		n += m->part[i].n;
	}
	return n;
}

/* Asks and has the answer of this type; body [capacity] gets its body. */
static inline size_t
bed_ask(struct bed *b, size_t shard, const struct frame *f, const struct buffer *body,
	uint16_t type, void *out, size_t capacity)
{
	struct wire_message m;
	size_t n = 0;

	bed_send(b, shard, f, body != NULL ? body->data : NULL, body != NULL ? body->n : 0);
	assert_true(bed_receive(b, f->slot, shard, f->request, BED_SECONDS, &m));
	if (m.frame.type != type && m.frame.type == FRAME_ERROR)
		print_message("%.*s\n", (int)m.part[0].n, (const char *)m.part[0].data);
	assert_string_equal(frame_type_name(m.frame.type), frame_type_name(type));
	if (out != NULL)
		n = bed_body(&m, out, capacity);
	wire_message_free(&m);
	return n;
}

/* The ERROR has this in its text. */
static inline void
bed_refused(struct bed *b, size_t shard, const struct frame *f, const struct buffer *body,
	const char *text)
{
	char answer[4096];
	const size_t n = bed_ask(b, shard, f, body, FRAME_ERROR, answer, sizeof(answer) - 1);

	answer[n] = '\0';
	if (strstr(answer, text) == NULL)
		print_message("%s", answer);
	assert_non_null(strstr(answer, text));
}

static inline void
bed_put(struct buffer *body, const void *bytes, size_t n)
{
	assert_int_equal(buffer_append(body, bytes, n), RS_OK);
}

/* The body of INIT_TABLE; parts after it. */
static inline void
bed_init_body(const struct bed *b, struct buffer *body)
{
	const struct body_init init = {
		.n_tables = (uint32_t)b->n_tables, .n_parts = (uint32_t)b->parts.n,
		.n_slots = (uint32_t)b->n_slots, .n_ranks = (uint32_t)b->n_ranks,
		.n_shards = (uint32_t)b->n_shards, .consistency = (uint32_t)b->consistency,
		.staleness = b->staleness, .first_step = b->first_step,
		.keep = b->keep,
	};

	buffer_init(body, FRAME_BODY_MAX);
	bed_put(body, &init, sizeof(init));
	for (size_t t = 0; t < b->n_tables; t++) {
		struct body_table table;

		body_table_put(&b->table[t], &table);
		bed_put(body, &table, sizeof(table));
	}
	for (size_t i = 0; i < b->parts.n; i++) {
		const struct part *p = &b->parts.part[i];
		const struct body_part part = { .table = (uint32_t)p->table,
			.shard = (uint32_t)p->shard, .begin = p->begin, .end = p->end };

		bed_put(body, &part, sizeof(part));
	}
}

static inline void
bed_init(struct bed *b)
{
	struct buffer body;

	bed_init_body(b, &body);
	for (size_t r = 0; r < b->n_ranks; r++)
		for (size_t i = 0; i < b->n_shards; i++) {
			const struct frame f = bed_frame(b, FRAME_INIT_TABLE, r, 0);

			bed_ask(b, i, &f, &body, FRAME_ACK, NULL, 0);
		}
	buffer_free(&body);
}

/* A section list with its keys, in the order in which they were added. */
struct bed_sections {
	struct body_section section[64];
	size_t n;
	struct buffer keys, values;
};

static inline void
bed_sections_init(struct bed_sections *s)
{
	s->n = 0;
	buffer_init(&s->keys, FRAME_BODY_MAX);
	buffer_init(&s->values, FRAME_BODY_MAX);
}

static inline void
bed_sections_free(struct bed_sections *s)
{
	buffer_free(&s->keys);
	buffer_free(&s->values);
}

/* ids NULL: those of the section before. */
static inline void
bed_section(struct bed_sections *s, const struct part *p, size_t slot, const uint64_t *ids,
	size_t n)
{
	const size_t before = s->keys.n;

	if (ids != NULL)
		assert_int_equal(body_put_keys(&s->keys, ids, n, p->begin), RS_OK);
	s->section[s->n++] = (struct body_section){ .table = (uint32_t)p->table, .n = (uint32_t)n,
		.key_bytes = (uint32_t)(s->keys.n - before), .slot = (uint32_t)slot };
}

/* Each row of the last section, of an exact table, occurred so often. */
static inline void
bed_counts(struct bed_sections *s, size_t n, uint32_t count)
{
	const size_t before = s->keys.n;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(body_put_counts(&s->keys, &count, 1), RS_OK);
	s->section[s->n - 1].count_bytes = (uint32_t)(s->keys.n - before);
}

static inline void
bed_join(const struct bed_sections *s, const struct body_push *head, struct buffer *body)
{
	buffer_init(body, FRAME_BODY_MAX);
	if (head != NULL)
		bed_put(body, head, sizeof(*head));
	bed_put(body, s->section, s->n * sizeof(s->section[0]));
	bed_put(body, s->keys.data, s->keys.n);
	bed_put(body, s->values.data, s->values.n);
}

/* All rows of a part, as a pull of `step` by `rank` sees them. */
static inline void
bed_pull_part(struct bed *b, size_t rank, uint64_t step, const struct part *p, float *rows,
	uint8_t *touched)
{
	static uint8_t answer[1 << 16];
	struct bed_sections s;
	struct frame f = bed_frame(b, FRAME_PULL, rank, step);
	struct buffer body;
	uint64_t id[256];
	const struct lookup_table *t = &b->table[p->table];
	const size_t n = t->kind == TABLE_EXACT ? 9 : (size_t)(p->end - p->begin), dim = t->dim;

	for (size_t i = 0; i < n; i++)
		id[i] = p->begin + i;
	bed_sections_init(&s);
	bed_section(&s, p, 0, id, n);
	bed_join(&s, NULL, &body);
	f.flags = FRAME_TRAINING;
	assert_int_equal(bed_ask(b, p->shard, &f, &body, FRAME_PULL_R, answer, sizeof(answer)),
		(n + 7) / 8 + n * dim * sizeof(float));
	for (size_t i = 0; i < n; i++)
		touched[i] = answer[i / 8] >> i % 8 & 1;
	memcpy(rows, answer + (n + 7) / 8, n * dim * sizeof(float));
	buffer_free(&body);
	bed_sections_free(&s);
}

/* The counter's row 0 adds x, from a rank; rank r has slot r. */
static inline struct frame
bed_count(struct bed *b, size_t rank, uint64_t step, float x, struct buffer *body)
{
	const uint64_t id = 0;
	const struct body_push head = { .rate_factor = 1, .finite = 1, .n_sections = 1 };
	struct bed_sections s;

	bed_sections_init(&s);
	bed_section(&s, &b->parts.part[0], rank, &id, 1);
	if (b->table[0].kind == TABLE_EXACT)
		bed_counts(&s, 1, 1);
	bed_put(&s.values, &x, sizeof(x));
	bed_join(&s, &head, body);
	bed_sections_free(&s);
	return bed_frame(b, FRAME_PUSH, rank, step);
}

static inline void
bed_push_count(struct bed *b, size_t rank, uint64_t step, float x)
{
	struct buffer body;
	const struct frame f = bed_count(b, rank, step, x, &body);

	bed_ask(b, b->parts.part[0].shard, &f, &body, FRAME_PUSH_R, NULL, 0);
	buffer_free(&body);
}

static inline float
bed_read_count(struct bed *b, size_t rank, uint64_t step)
{
	float rows[9];
	uint8_t touched[9];

	bed_pull_part(b, rank, step, &b->parts.part[0], rows, touched);
	return rows[0];
}

/* A counter on one shard: row 0 falls by what is pushed. */
static inline void
bed_open_counter_of(struct bed *b, enum table_kind kind, const char *directory,
	enum consistency consistency, uint64_t staleness, size_t n_ranks)
{
	memset(b, 0, sizeof(*b));
	bed_counter(b);
	if (kind == TABLE_EXACT)
		bed_make_exact(b, 0);
	b->consistency = consistency;
	b->staleness = staleness;
	bed_open(b, directory, 1, n_ranks, n_ranks);
	bed_init(b);
}

static inline void
bed_open_counter(struct bed *b, const char *directory, enum consistency consistency,
	uint64_t staleness, size_t n_ranks)
{
	bed_open_counter_of(b, TABLE_HASHED, directory, consistency, staleness, n_ranks);
}

/* A pull of the counter under way. */
static inline struct frame
bed_send_pull(struct bed *b, size_t rank, uint64_t step, struct buffer *body)
{
	const uint64_t id = 0;
	struct bed_sections s;
	struct frame f = bed_frame(b, FRAME_PULL, rank, step);

	bed_sections_init(&s);
	bed_section(&s, &b->parts.part[0], 0, &id, 1);
	bed_join(&s, NULL, body);
	bed_sections_free(&s);
	f.flags = FRAME_TRAINING;
	bed_send(b, 0, &f, body->data, body->n);
	return f;
}

#endif
