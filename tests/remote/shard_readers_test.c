/*
 * Shards that are read while they are written to, and let rows go: a thread pulls rows of an
 * exact table, another pushes steps behind which some are evicted and others are over, and every
 * row seen is whole.  Column c of the row of an id is -version * weight_of(id, c), where version
 * is how many steps trained it since it came: a row torn between two versions, or of another id,
 * is no such thing.  Made to be run with -fsanitize=thread, too.
 */
#include "tests/remote/shard_bed.h"

#include <stdatomic.h>

#include "base/hash.h"
#include "embed/exact.h"
#include "embed/tenancy.h"

enum { DIM = 16, SHARDS = 2, RANKS = 3, READER = 2, IDS = 12000, READ = 6000, WRITTEN = 5500,
	PULLS = 60, STEPS = 40 };

static struct bed b;
static atomic_int n_pulls, n_steps;
static atomic_ullong n_rows_seen, n_versions_seen;

static int
compare_ids(const void *x, const void *y)
{
	const uint64_t a = *(const uint64_t *)x, c = *(const uint64_t *)y;

	return (a > c) - (a < c);
}

static uint64_t
id_of(uint64_t i)
{
	return hash_mix(i + 1);
}

static float
weight_of(uint64_t id, size_t c)
{
	return (float)(1 + rng_below(id, c, 61));
}

/* So many different ids from number `first` on, in order, of one part. */
static size_t
ids_of(const struct part *p, uint64_t first, size_t n, uint64_t *out)
{
	size_t k = 0;

	for (uint64_t i = first; i < first + n; i++) {
		const uint64_t id = id_of(i % IDS);

		if (id >= p->begin && id < p->end)
			out[k++] = id;
	}
	qsort(out, k, sizeof(*out), compare_ids);
	return k;
}

/* --- who writes ---------------------------------------------------------------------------- */

/* Ids of the step, few in some, in which the others get old; of another rank none. */
static void
push(struct bed_sections *s, const struct part *p, size_t rank, uint64_t step)
{
	static uint64_t id[WRITTEN];
	const size_t wanted = step % 16 < 7 ? WRITTEN : WRITTEN / 20;
	const size_t n = rank == 0 ? ids_of(p, step * 300, wanted, id) : 0;

	if (n == 0)
		return;
	bed_section(s, p, rank, id, n);
	bed_counts(s, n, 1);
	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < DIM; c++)
			bed_put(&s->values, &(float){ weight_of(id[i], c) }, sizeof(float));
}

static void
push_step(size_t shard, size_t rank, uint64_t step)
{
	struct body_push head = { .rate_factor = 1, .finite = 1, .step = step };
	const struct frame f = bed_frame(&b, FRAME_PUSH, rank, step);
	struct wire_message m;
	struct bed_sections s;
	struct buffer body;

	bed_sections_init(&s);
	for (size_t i = 0; i < b.parts.n; i++)
		if (b.parts.part[i].shard == shard)
			push(&s, &b.parts.part[i], rank, step);
	head.n_sections = (uint32_t)s.n;
	bed_join(&s, &head, &body);
	const struct wire_part sent = { .data = body.data, .n = body.n };

	/* All ranks' pushes come through the link of one thread. */
	assert_int_equal(wire_send(b.link[0][shard], NULL, &f, &sent, 1), RS_OK);
	assert_true(bed_receive(&b, 0, shard, f.request, BED_SECONDS, &m));
	assert_string_equal(frame_type_name(m.frame.type), "PUSH_R");
	wire_message_free(&m);
	buffer_free(&body);
	bed_sections_free(&s);
}

/* How many rows are there: those that are over go, as when a version is saved. */
static void
count_rows(uint64_t step)
{
	for (size_t i = 0; i < b.parts.n; i++) {
		const struct part *p = &b.parts.part[i];
		const struct body_rows head = { .table = (uint32_t)p->table, .begin = p->begin,
			.end = p->begin };
		const struct frame f = bed_frame(&b, FRAME_SNAP_GET, 0, step + 1);
		struct body_rows got;
		struct buffer body;

		buffer_init(&body, sizeof(head));
		bed_put(&body, &head, sizeof(head));
		assert_int_equal(bed_ask(&b, p->shard, &f, &body, FRAME_SNAP_R, &got,
			sizeof(got)), sizeof(got));
		assert_true(got.n_table > 0 && got.n_table <= EXACT_SEGMENTS * TENANCY_SHARE * 3);
		buffer_free(&body);
	}
}

static void *
write_run(void *unused)
{
	(void)unused;
	for (uint64_t step = 1; step <= STEPS || atomic_load(&n_pulls) < PULLS; step++) {
		for (size_t i = 0; i < b.n_shards; i++)
			for (size_t r = 0; r < RANKS; r++)
				push_step(i, r, step);
		if (step % 8 == 0)
			count_rows(step);
		atomic_store(&n_steps, (int)step);
	}
	return NULL;
}

/* --- who reads ------------------------------------------------------------------------------ */

static void
check_row(uint64_t id, const float *row)
{
	const float version = -row[0] / weight_of(id, 0);

	if (version < 0 || version != (float)(int)version)
		fail_msg("id %llx: version %g", (unsigned long long)id, version);
	for (size_t c = 0; c < DIM; c++)
		if (row[c] != -version * weight_of(id, c))
			fail_msg("id %llx: column %zu is %g in version %g",
				(unsigned long long)id, c, row[c], version);
	atomic_fetch_add(&n_rows_seen, version > 0);
	atomic_fetch_add(&n_versions_seen, version > 1);
}

/* Every second one as who trains does it, which may not see all that was pushed. */
static void
pull(const struct part *p, uint64_t number)
{
	static uint64_t id[READ];
	static uint8_t answer[READ * (DIM * sizeof(float) + 1)];
	const size_t n = ids_of(p, number * 700, READ, id);
	const struct frame f = { .type = FRAME_PULL, .job = BED_JOB, .epoch = b.epoch,
		.source = 10 + READER, .slot = READER, .request = (uint64_t)1 << 40 | number,
		.flags = number % 2 == 0 ? FRAME_TRAINING : 0, .step = number % 2 == 0 };
	struct bed_sections s;
	struct buffer body;

	bed_sections_init(&s);
	bed_section(&s, p, 0, id, n);
	bed_join(&s, NULL, &body);
	assert_int_equal(bed_ask(&b, p->shard, &f, &body, FRAME_PULL_R, answer, sizeof(answer)),
		(n + 7) / 8 + n * DIM * sizeof(float));
	for (size_t i = 0; i < n; i++) {
		float row[DIM];

		memcpy(row, answer + (n + 7) / 8 + i * sizeof(row), sizeof(row));
		check_row(id[i], row);
	}
	buffer_free(&body);
	bed_sections_free(&s);
}

static void *
read_run(void *unused)
{
	uint64_t number = 0;

	(void)unused;
	while (atomic_load(&n_steps) < STEPS || atomic_load(&n_pulls) < PULLS) {
		pull(&b.parts.part[number % b.parts.n], number);
		number++;
		atomic_fetch_add(&n_pulls, 1);
	}
	return NULL;
}

static void
take_tally(struct lookup_tenants *sum)
{
	for (size_t i = 0; i < b.parts.n; i++) {
		const struct body_waiting head = { .table = 0, .segment = EXACT_SEGMENTS };
		const struct frame f = bed_frame(&b, FRAME_WAITING_GET, 0, 0);
		struct body_waiting got;
		struct lookup_waiting w;
		struct buffer body;

		buffer_init(&body, sizeof(head));
		bed_put(&body, &head, sizeof(head));
		assert_int_equal(bed_ask(&b, b.parts.part[i].shard, &f, &body, FRAME_WAITING_R,
			&got, sizeof(got)), sizeof(got));
		body_waiting_get(&got, &w);
		lookup_tenants_add(sum, &w.tally);
		buffer_free(&body);
	}
}

static void
L004_a_row_is_whole_for_who_reads_while_others_go(void **state)
{
	struct lookup_tenants n = { .rows = 0 };
	pthread_t reader, writer;

	b.n_tables = 1;
	b.table[0] = (struct lookup_table){ .name = "E", .kind = TABLE_EXACT, .rows = EXACT_ROWS,
		.expected = IDS, .dim = DIM, .seed = 1,
		.optimizer = { .kind = ROW_SGD, .learning_rate = 1 },
		.tenancy = { .segment_rows = 3 * TENANCY_SHARE, .expire_steps = 6 } };
	b.consistency = CONSISTENCY_ASYNC;
	b.with_journals = 1;
	b.growth = 1 << 20;
	bed_open(&b, *state, SHARDS, RANKS, RANKS);
	bed_init(&b);
	assert_int_equal(thread_start(&reader, "reader", read_run, NULL), RS_OK);
	assert_int_equal(thread_start(&writer, "writer", write_run, NULL), RS_OK);
	thread_join(reader);
	thread_join(writer);
	take_tally(&n);
	bed_close(&b);
	print_message("%d steps, %d pulls, %llu rows seen, %llu of them trained again; "
		"%llu evicted, %llu expired\n", atomic_load(&n_steps), atomic_load(&n_pulls),
		atomic_load(&n_rows_seen), atomic_load(&n_versions_seen),
		(unsigned long long)n.evicted, (unsigned long long)n.expired);
	assert_true(atomic_load(&n_rows_seen) > 10000 && atomic_load(&n_versions_seen) > 1000);
	assert_true(n.evicted > 1000 && n.expired > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L004_a_row_is_whole_for_who_reads_while_others_go),
	};

	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
