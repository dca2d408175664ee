/* What a shard refuses: tables, rows, steps, and messages of somebody else. */
#include "tests/remote/shard_bed.h"

static struct bed b;

/* A row that is not there must not shift the gradients of the others. */
static void
D2_2_a_push_with_a_row_that_is_not_here_is_refused_whole(void **state)
{
	const float value[3] = { 5, 1, 2 };
	const struct body_push head = { .rate_factor = 1, .finite = 1, .n_sections = 1 };
	struct bed_sections s;
	struct buffer body;
	struct frame f;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 1);
	for (size_t missing = 0; missing < 3; missing++) {
		/* Rows 1, 2 and 9 of 9, or 1 twice, or a byte missing. */
		const uint64_t id[3][3] = { { 1, 2, 9 }, { 1, 1, 2 }, { 1, 2, 300 } };

		bed_sections_init(&s);
		bed_section(&s, &b.parts.part[0], 0, id[missing], 3);
		bed_put(&s.values, value, sizeof(value));
		bed_join(&s, &head, &body);
		f = bed_frame(&b, FRAME_PUSH, 0, 1);
		bed_refused(&b, 0, &f, &body, "key ");
		buffer_free(&body);
		bed_sections_free(&s);
	}
	bed_push_count(&b, 0, 1, 1);
	assert_true(bed_read_count(&b, 0, 2) == -1);
	bed_close(&b);
}

static void
nothing_is_served_before_init(void **state)
{
	static const uint16_t type[] = { FRAME_PULL, FRAME_PUSH, FRAME_SNAP_GET, FRAME_SNAP_PUT };

	memset(&b, 0, sizeof(b));
	bed_counter(&b);
	bed_open(&b, *state, 1, 1, 1);
	for (size_t i = 0; i < 4; i++) {
		const struct frame f = bed_frame(&b, type[i], 0, 1);

		bed_refused(&b, 0, &f, NULL, "before INIT_TABLE");
	}
	bed_init(&b);
	bed_push_count(&b, 0, 1, 1);
	bed_close(&b);
}

static void
a_worker_that_never_said_its_tables_is_refused(void **state)
{
	struct buffer body;
	struct frame f;

	memset(&b, 0, sizeof(b));
	bed_counter(&b);
	bed_open(&b, *state, 1, 2, 2);
	bed_init_body(&b, &body);
	f = bed_frame(&b, FRAME_INIT_TABLE, 1, 0);
	bed_ask(&b, 0, &f, &body, FRAME_ACK, NULL, 0);
	buffer_free(&body);
	bed_push_count(&b, 1, 1, 1);
	f = bed_frame(&b, FRAME_PULL, 0, 1);
	bed_refused(&b, 0, &f, NULL, "PULL of worker 0 before its INIT_TABLE");
	bed_close(&b);
}

static void
other_jobs_rounds_workers_and_messages_are_refused(void **state)
{
	struct frame f;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 2);
	f = bed_frame(&b, FRAME_PULL, 0, 1);
	f.job++;
	bed_refused(&b, 0, &f, NULL, "another job");
	f = bed_frame(&b, FRAME_PULL, 0, 1);
	f.epoch++;
	bed_refused(&b, 0, &f, NULL, "round 2, this is round 1");
	f = bed_frame(&b, FRAME_HELLO, 0, 1);
	bed_refused(&b, 0, &f, NULL, "is not sent HELLO");
	f = bed_frame(&b, FRAME_PULL, 0, 1);
	f.slot = 2;
	bed_send(&b, 0, &(struct frame){ .type = FRAME_PULL, .job = BED_JOB, .epoch = b.epoch,
		.slot = 1, .request = 7 }, NULL, 0);
	struct wire_message m;

	assert_true(bed_receive(&b, 1, 0, 7, BED_SECONDS, &m));
	assert_int_equal(m.frame.type, FRAME_PULL_R);
	wire_message_free(&m);
	assert_int_equal(wire_send(b.link[0][0], NULL, &f, NULL, 0), RS_OK);
	assert_true(bed_receive(&b, 0, 0, f.request, BED_SECONDS, &m));
	assert_int_equal(m.frame.type, FRAME_ERROR);
	wire_message_free(&m);
	bed_close(&b);
}

static void
steps_out_of_reach_are_refused(void **state)
{
	struct buffer body;
	struct frame f;

	memset(&b, 0, sizeof(b));
	bed_counter(&b);
	b.first_step = 10;
	bed_open(&b, *state, 1, 2, 2);
	bed_init(&b);
	f = bed_count(&b, 0, 9, 1, &body);
	bed_refused(&b, 0, &f, &body, "began with 10");
	f.request = ++b.request;
	f.step = UINT64_MAX;
	bed_refused(&b, 0, &f, &body, "step 10 is not complete");
	buffer_free(&body);
	bed_push_count(&b, 0, 10, 1);
	bed_push_count(&b, 1, 10, 1);
	assert_true(bed_read_count(&b, 0, 11) == -2);
	f = bed_send_pull(&b, 0, 10, &body);
	buffer_free(&body);
	struct wire_message m;

	assert_true(bed_receive(&b, 0, 0, f.request, BED_SECONDS, &m));
	assert_int_equal(m.frame.type, FRAME_ERROR);
	wire_message_free(&m);
	bed_close(&b);
}

static void
tables_that_differ_are_refused_by_what_differs(void **state)
{
	struct buffer body;
	struct frame f;

	memset(&b, 0, sizeof(b));
	bed_tables(&b, ROW_ADAM);
	bed_open(&b, *state, 2, 2, 4);
	bed_init(&b);
	bed_init(&b);
#define DIFFERS(change, undo, text) do { \
	change; \
	bed_init_body(&b, &body); \
	f = bed_frame(&b, FRAME_INIT_TABLE, 1, 0); \
	bed_refused(&b, 0, &f, &body, text); \
	buffer_free(&body); \
	undo; \
} while (0)
	DIFFERS(b.table[1].dim = 4, b.table[1].dim = 3,
		"table 'C2' than worker 0's: dim is 4, not 3");
	DIFFERS(b.table[0].seed = 8, b.table[0].seed = 7, "seed is 8, not 7");
	DIFFERS(b.table[2].optimizer.beta1 = 0.5, b.table[2].optimizer.beta1 = 0.9,
		"'C1.linear' than worker 0's: beta1 is 0.5, not 0.9");
	DIFFERS(b.table[2].name[0] = 'D', b.table[2].name[0] = 'C',
		"name is D1.linear, not C1.linear");
	DIFFERS(b.first_step = 2, b.first_step = 1, "first_step is 2, not 1");
	DIFFERS(b.n_slots = 5, b.n_slots = 4, "n_slots is 5, not 4");
	DIFFERS(b.parts.part[0].shard ^= 1, b.parts.part[0].shard ^= 1, "another part 0");
#undef DIFFERS
	bed_close(&b);
}

static void
limit_memory(uint64_t bytes)
{
	bed_stop_round(&b);
	b.shard[0].options.memory_bytes = bytes;
	bed_start_round(&b);
}

static void
tables_that_cannot_be_are_refused_and_leave_nothing(void **state)
{
	struct buffer body;
	struct frame f;

	memset(&b, 0, sizeof(b));
	bed_tables(&b, ROW_ADAM);
	bed_open(&b, *state, 2, 2, 4);
#define REFUSED(change, undo, text) do { \
	change; \
	bed_init_body(&b, &body); \
	f = bed_frame(&b, FRAME_INIT_TABLE, 1, 0); \
	bed_refused(&b, 0, &f, &body, text); \
	buffer_free(&body); \
	undo; \
} while (0)
	REFUSED(b.parts.part[0].end--, b.parts.part[0].end++, "cannot be a part of their own");
	REFUSED(b.parts.part[1].shard ^= 1, b.parts.part[1].shard ^= 1, "a part of their own");
	REFUSED(b.parts.n--, b.parts.n++, "are in no part");
	REFUSED(b.table[1].rows++, b.table[1].rows--, "are in no part");
	REFUSED(b.n_slots = 1, b.n_slots = 4, "1 slots cannot be dealt to 2 workers");
	REFUSED(b.first_step = 0, b.first_step = 1, "first step 0");
	REFUSED(b.staleness = 5000, b.staleness = 0, "staleness 5000");
	REFUSED(b.table[1].dim = 0, b.table[1].dim = 3, "cannot have 62 rows of 0");
	REFUSED(limit_memory(100), limit_memory(0), "there are 100");
#undef REFUSED
	bed_init_body(&b, &body);
	for (body.n -= 1; body.n > 0; body.n -= body.n > 50 ? 7 : 1) {
		f = bed_frame(&b, FRAME_INIT_TABLE, 0, 0);
		bed_refused(&b, 0, &f, &body, "INIT_TABLE of");
	}
	buffer_free(&body);
	bed_init(&b);
	bed_close(&b);
}

static void
rows_are_set_before_the_first_step_or_by_worker_0(void **state)
{
	struct { struct body_rows head; float w; uint8_t touched; } put = {
		{ .n = 1, .begin = 0, .dim = 1 }, 7, 1,
	};
	struct buffer body = { .data = (char *)&put, .n = sizeof(put.head) + 5 };
	struct frame f;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 2);
	f = bed_frame(&b, FRAME_SNAP_PUT, 1, 0);
	bed_ask(&b, 0, &f, &body, FRAME_SNAP_R, NULL, 0);
	assert_true(bed_read_count(&b, 0, 1) == 7);
	bed_push_count(&b, 0, 1, 1);
	f = bed_frame(&b, FRAME_SNAP_PUT, 1, 0);
	bed_refused(&b, 0, &f, &body, "worker 1 sets rows after step 1");
	bed_push_count(&b, 1, 1, 1);
	f = bed_frame(&b, FRAME_SNAP_PUT, 0, 0);
	bed_ask(&b, 0, &f, &body, FRAME_SNAP_R, NULL, 0);
	assert_true(bed_read_count(&b, 0, 2) == 7);
	put.touched = 2;
	f = bed_frame(&b, FRAME_SNAP_PUT, 0, 0);
	bed_refused(&b, 0, &f, &body, "neither 0 nor 1");
	put.head.begin = 9;
	f = bed_frame(&b, FRAME_SNAP_PUT, 0, 0);
	bed_refused(&b, 0, &f, &body, "are not all of 0 to 9");
	bed_close(&b);
}

/* A PUSH of rows 0 and 1 of the counter, with these bytes of counts. */
static void
counts_are_refused(enum table_kind kind, const char *counts, size_t n, const char *why)
{
	const uint64_t id[] = { 0, 1 };
	const float x[] = { 1, 2 };
	const struct body_push head = { .rate_factor = 1, .finite = 1, .n_sections = 1 };
	const struct frame f = bed_frame(&b, FRAME_PUSH, 0, 1);
	struct bed_sections s;
	struct buffer body;

	b.table[0].kind = kind;
	bed_sections_init(&s);
	bed_section(&s, &b.parts.part[0], 0, id, 2);
	bed_put(&s.keys, counts, n);
	s.section[0].count_bytes = (uint32_t)n;
	bed_put(&s.values, x, sizeof(x));
	bed_join(&s, &head, &body);
	bed_refused(&b, 0, &f, &body, why);
	buffer_free(&body);
	bed_sections_free(&s);
}

static void
counts_are_of_exact_tables_one_a_row(void **state)
{
	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 1);
	counts_are_refused(TABLE_HASHED, "\1\1", 2, "counts of table 'N', which is hashed");
	bed_close(&b);
	bed_open_counter_of(&b, TABLE_EXACT, *state, CONSISTENCY_SYNC, 0, 1);
	counts_are_refused(TABLE_EXACT, "", 0, "count 0 of 2");
	counts_are_refused(TABLE_EXACT, "\1", 1, "count 1 of 2");
	counts_are_refused(TABLE_EXACT, "\1\0", 2, "count 1 of 2");
	counts_are_refused(TABLE_EXACT, "\1\1\1", 3, "3 bytes of counts");
	counts_are_refused(TABLE_EXACT, "\1\377\377\377\377\177", 6, "count 1 of 2");
	bed_push_count(&b, 0, 1, 3);
	bed_close(&b);
}

static void
entries_are_all_of_a_range_in_order(void **state)
{
	struct row { struct exact_entry e; float w[2]; };
	struct { struct body_rows head; struct row row[2]; } put = {
		{ .n = 2, .begin = 5, .end = 9, .dim = 1 },
		{ { { .id = 5, .count = 1 }, { 3 } }, { { .id = 7, .count = 1 }, { 4 } } },
	};
	struct buffer body = { .data = (char *)&put, .n = sizeof(put) };
	const struct { size_t bytes; uint64_t *where, value; const char *why; } bad[] = {
		{ sizeof(put), &put.row[1].e.id, 5, "out of order" },
		{ sizeof(put), &put.row[1].e.id, 9, "out of order" },
		{ sizeof(put), &put.row[0].e.id, 4, "out of order" },
		{ sizeof(put), &put.head.begin, 10, "are not all of" },
		{ sizeof(put), &put.head.end, 4, "are not all of" },
		{ sizeof(put), &put.head.n_segment, UINT64_MAX / 2, "rows in a segment" },
		{ sizeof(put) - 1, &put.head.n_table, 0, "bytes of 2 rows" },
	};
	struct frame f;

	bed_open_counter_of(&b, TABLE_EXACT, *state, CONSISTENCY_SYNC, 0, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const uint64_t kept = *bad[i].where;

		*bad[i].where = bad[i].value;
		body.n = bad[i].bytes;
		f = bed_frame(&b, FRAME_SNAP_PUT, 0, 0);
		bed_refused(&b, 0, &f, &body, bad[i].why);
		*bad[i].where = kept;
	}
	body.n = sizeof(put);
	f = bed_frame(&b, FRAME_SNAP_PUT, 0, 0);
	bed_ask(&b, 0, &f, &body, FRAME_SNAP_R, NULL, 0);
	bed_close(&b);
}

/* A counter with a filter, on one shard. */
static void
open_filter(const char *directory)
{
	memset(&b, 0, sizeof(b));
	bed_counter(&b);
	bed_make_exact(&b, 0);
	b.table[0].tenancy = (struct lookup_tenancy){ .admit = ADMISSION_COUNT, .admit_count = 3,
		.admit_cells = 640 };
	bed_open(&b, directory, 1, 2, 2);
	bed_init(&b);
}

static void
counters_are_of_the_segment_they_are_set_in(void **state)
{
	struct { struct body_waiting head; struct { uint64_t id; uint32_t count, last; } e[2]; }
		put = { { .segment = 5, .n = 2, .clock = 1 },
			{ { (uint64_t)5 << 58 | 1, 2, 1 }, { (uint64_t)5 << 58 | 2, 1, 1 } } }, got;
	struct buffer body = { .data = (char *)&put };
	const struct { size_t bytes; void *where; uint32_t value; const char *why; } bad[] = {
		{ sizeof(put) - 1, &put.head.clock, 1, "bytes of 2 items" },
		{ sizeof(put), &put.head.n, 1, "bytes of 1 items" },
		{ sizeof(put), &put.head.segment, 6, "cannot be" },
		{ sizeof(put), &put.head.segment, EXACT_SEGMENTS, "is not here" },
		{ sizeof(put), &put.head.unit, 7, "clock 7" },
		{ sizeof(put), &put.head.table, 1, "table 1 of 1" },
		{ sizeof(put), &put.e[1].count, 0, "cannot be" },
	};
	struct frame f;

	open_filter(*state);
	for (size_t i = 0; i < N_ROWS(bad); i++) {
		const uint32_t kept = *(uint32_t *)bad[i].where;

		*(uint32_t *)bad[i].where = bad[i].value;
		body.n = bad[i].bytes;
		f = bed_frame(&b, FRAME_WAITING_PUT, 0, 0);
		bed_refused(&b, 0, &f, &body, bad[i].why);
		*(uint32_t *)bad[i].where = kept;
	}
	/* Twice, as who had no answer says it. */
	body.n = sizeof(put);
	for (int i = 0; i < 2; i++) {
		f = bed_frame(&b, FRAME_WAITING_PUT, 0, 0);
		bed_ask(&b, 0, &f, &body, FRAME_WAITING_R, NULL, 0);
	}
	body.n = sizeof(put.head);
	f = bed_frame(&b, FRAME_WAITING_GET, 1, 0);
	assert_int_equal(bed_ask(&b, 0, &f, &body, FRAME_WAITING_R, &got, sizeof(got)),
		sizeof(got));
	assert_memory_equal(got.e, put.e, sizeof(put.e));
	assert_true(got.head.total == 2 && got.head.clock == 1);
	bed_push_count(&b, 0, 1, 1);
	f = bed_frame(&b, FRAME_WAITING_PUT, 1, 0);
	body.n = sizeof(put);
	bed_refused(&b, 0, &f, &body, "worker 1 sets rows after step 1");
	bed_close(&b);
}

static void
what_changed_is_told_to_worker_0_as_far_as_it_is_known(void **state)
{
	struct body_changes ask = { .what = BODY_CHANGES_MAKE }, got;
	const struct buffer body = { .data = (char *)&ask, .n = sizeof(ask) };
	struct frame f;

	open_filter(*state);
	f = bed_frame(&b, FRAME_CHANGES, 1, 0);
	bed_refused(&b, 0, &f, &body, "worker 1 asks what changed");
	f = bed_frame(&b, FRAME_CHANGES, 0, 0);
	bed_ask(&b, 0, &f, &body, FRAME_CHANGES_R, &got, sizeof(got));
	assert_true(got.known == 0 && got.size == 0);
	ask.what = BODY_CHANGES_READ;
	ask.n = 1;
	f = bed_frame(&b, FRAME_CHANGES, 0, 0);
	bed_ask(&b, 0, &f, &body, FRAME_CHANGES_R, &got, sizeof(got));
	assert_true(got.known == 0 && got.n == 0);
	ask.what = BODY_CHANGES_DROP + 1;
	f = bed_frame(&b, FRAME_CHANGES, 0, 0);
	bed_refused(&b, 0, &f, &body, "what = 6");
	bed_close(&b);
}

/* A shard that lets in keys of these roles; links to it are made one after the other. */
struct locked {
	struct key_pair server, key[4];
	struct key_list list;
	struct wire_context *own, *other[4];
	size_t n;
};

static void
open_locked(struct locked *l, const uint32_t *role, size_t n)
{
	struct bed_shard *s = &b.shard[0];

	*l = (struct locked){ .n = n };
	b.n_shards = b.n_ranks = b.n_slots = b.first_step = 1;
	assert_int_equal(key_pair_make(&l->server), RS_OK);
	for (size_t i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "node%zu", i);
		assert_int_equal(key_pair_make(&l->key[i]), RS_OK);
		assert_int_equal(key_list_add(&l->list, name, role[i], l->key[i].public_key),
			RS_OK);
		assert_int_equal(wire_context_open(&(struct wire_options){ .self = &l->key[i] },
			&l->other[i]), RS_OK);
	}
	assert_int_equal(wire_context_open(&(struct wire_options){ .self = &l->server,
		.allowed = &l->list }, &l->own), RS_OK);
	assert_int_equal(wire_bind(l->own, "tcp://127.0.0.1:0", &s->wire), RS_OK);
	s->options = (struct shard_options){ .wire = s->wire, .kernel = &kernel_ref,
		.n_threads = 1, .job = BED_JOB, .stop = &s->stop };
	bed_start_round(&b);
}

/* Node i is worker 0 from now on. */
static void
link_as(const struct locked *l, size_t i)
{
	if (b.link[0][0] != NULL)
		wire_close(b.link[0][0]);
	assert_int_equal(wire_connect(l->other[i], wire_endpoint(b.shard[0].wire),
		l->server.public_key, &b.link[0][0]), RS_OK);
}

static void
close_locked(struct locked *l)
{
	bed_stop_round(&b);
	bed_forget(&b, 0);
	wire_close(b.link[0][0]);
	wire_close(b.shard[0].wire);
	for (size_t i = 0; i < l->n; i++)
		wire_context_close(l->other[i]);
	wire_context_close(l->own);
	key_list_free(&l->list);
	parts_free(&b.parts);
}

static void
keys_ask_what_their_roles_allow(void **state)
{
	static const uint32_t role[] = { KEY_WORKER, KEY_MONITOR, KEY_PS, KEY_COORDINATOR };
	static const uint16_t type[] = { FRAME_STATS, FRAME_PULL, FRAME_PUSH, FRAME_SUM,
		FRAME_GATHER, FRAME_INIT_TABLE, FRAME_SNAP_GET, FRAME_SNAP_PUT,
		FRAME_WAITING_GET, FRAME_WAITING_PUT, FRAME_CHANGES };
	struct locked l;

	(void)state;
	memset(&b, 0, sizeof(b));
	open_locked(&l, role, N_ROWS(role));
	for (size_t i = 0; i < N_ROWS(role); i++) {
		link_as(&l, i);
		for (size_t k = 0; k < N_ROWS(type); k++) {
			const struct frame f = bed_frame(&b, type[k], 0, 1);

			if (type[k] == FRAME_STATS)
				bed_ask(&b, 0, &f, NULL, FRAME_STATS_R, NULL, 0);
			else
				bed_refused(&b, 0, &f, NULL, role[i] == KEY_WORKER ? "EPROTOCOL" :
					"EDENIED");
		}
	}
	close_locked(&l);
}

static void
a_worker_cannot_push_as_another(void **state)
{
	static const uint32_t role[] = { KEY_WORKER, KEY_WORKER };
	struct locked l;
	struct buffer body;
	struct frame f;

	(void)state;
	memset(&b, 0, sizeof(b));
	bed_counter(&b);
	open_locked(&l, role, 2);
	assert_int_equal(parts_make(b.table, 1, 1, 1, &b.parts), RS_OK);
	link_as(&l, 0);
	bed_init(&b);
	bed_push_count(&b, 0, 1, 1);
	link_as(&l, 1);
	f = bed_count(&b, 0, 2, 1, &body);
	bed_refused(&b, 0, &f, &body, "the key of 'node1' is not that of worker 0");
	buffer_free(&body);
	bed_init_body(&b, &body);
	f = bed_frame(&b, FRAME_INIT_TABLE, 0, 0);
	bed_refused(&b, 0, &f, &body, "the key of 'node1' is not that of worker 0");
	buffer_free(&body);
	close_locked(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(D2_2_a_push_with_a_row_that_is_not_here_is_refused_whole),
		cmocka_unit_test(nothing_is_served_before_init),
		cmocka_unit_test(a_worker_that_never_said_its_tables_is_refused),
		cmocka_unit_test(other_jobs_rounds_workers_and_messages_are_refused),
		cmocka_unit_test(steps_out_of_reach_are_refused),
		cmocka_unit_test(tables_that_differ_are_refused_by_what_differs),
		cmocka_unit_test(tables_that_cannot_be_are_refused_and_leave_nothing),
		cmocka_unit_test(a_worker_cannot_push_as_another),
		cmocka_unit_test(keys_ask_what_their_roles_allow),
		cmocka_unit_test(counts_are_of_exact_tables_one_a_row),
		cmocka_unit_test(entries_are_all_of_a_range_in_order),
		cmocka_unit_test(counters_are_of_the_segment_they_are_set_in),
		cmocka_unit_test(what_changed_is_told_to_worker_0_as_far_as_it_is_known),
		cmocka_unit_test(rows_are_set_before_the_first_step_or_by_worker_0),
	};

	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
