/* A shard that writes a journal, is killed, and comes back with the very bits. */
#include "embed/tenancy.h"
#include "tests/remote/shard_bed.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

enum { STEPS = 12, RANKS = 2, IMAGE = 1 << 16 };

static struct bed b;
static size_t run;              /* of the test, for a directory of its own              */
static uint64_t growth;         /* of segments; 0: as usual                             */
static int durable;
static int with_rules;          /* C2 lets rows come and go, all are of one segment a part   */

/* All rows of all shards, with their state. */
struct image { uint8_t bytes[IMAGE]; size_t n; };

static struct image want[STEPS + 1], have;
static struct lookup_tenants tally;     /* of the last one taken                        */

/* Rows of a part, and the id of one: C2 is exact, its ids are spread. */
static uint64_t
n_rows(const struct part *p)
{
	return b.table[p->table].kind == TABLE_EXACT ? 40 : p->end - p->begin;
}

static uint64_t
id_at(const struct part *p, uint64_t i)
{
	return p->begin + i * (with_rules && p->table == 1 ? 7 : (p->end - p->begin) / n_rows(p));
}

/* Who waits in a segment, and what was counted there. */
static void
take_waiting(const struct part *p, unsigned segment, uint64_t step, struct image *out)
{
	const struct body_waiting head = { .table = (uint32_t)p->table, .segment = segment,
		.n = with_rules ? 64 : 0 };
	const struct frame f = bed_frame(&b, FRAME_WAITING_GET, 0, step + 1);
	struct body_waiting got;
	struct lookup_waiting w;
	struct buffer body;
	size_t n;

	buffer_init(&body, 1 << 10);
	bed_put(&body, &head, sizeof(head));
	n = bed_ask(&b, p->shard, &f, &body, FRAME_WAITING_R, out->bytes + out->n, IMAGE - out->n);
	assert_true(n >= sizeof(got));
	memcpy(&got, out->bytes + out->n, sizeof(got));
	body_waiting_get(&got, &w);
	lookup_tenants_add(&tally, &w.tally);
	/* Nothing asks for the clock without rules, and a step taken back leaves it. */
	if (!with_rules)
		memset(out->bytes + out->n + offsetof(struct body_waiting, clock), 0,
			sizeof(got.clock));
	out->n += n;
	buffer_free(&body);
}

static void
take_image(uint64_t step, struct image *out)
{
	out->n = 0;
	tally = (struct lookup_tenants){ .rows = 0 };
	for (size_t i = 0; i < b.parts.n; i++) {
		const struct part *p = &b.parts.part[i];
		const struct body_rows head = { .table = (uint32_t)p->table,
			.n = (uint32_t)n_rows(p), .begin = p->begin,
			.end = b.table[p->table].kind == TABLE_EXACT ? p->end : 0 };
		const struct frame f = bed_frame(&b, FRAME_SNAP_GET, 0, step + 1);
		struct buffer body;

		buffer_init(&body, 1 << 10);
		bed_put(&body, &head, sizeof(head));
		out->n += bed_ask(&b, p->shard, &f, &body, FRAME_SNAP_R, out->bytes + out->n,
			IMAGE - out->n);
		buffer_free(&body);
	}
	for (size_t i = 0; i < b.parts.n; i++)
		for (unsigned k = 0; b.parts.part[i].table == 1 && k < EXACT_SEGMENTS; k++)
			if (exact_segment_begin(k) >= b.parts.part[i].begin
			    && exact_segment_begin(k) < b.parts.part[i].end)
				take_waiting(&b.parts.part[i], k, step, out);
}

static void
check_image(uint64_t step)
{
	take_image(step, &have);
	assert_int_equal(have.n, want[step].n);
	assert_memory_equal(have.bytes, want[step].bytes, have.n);
}

/* Some rows of every part of a shard, other ones in each step. */
static void
push_to(size_t shard, size_t rank, uint64_t step, double scale)
{
	struct body_push head = { .rate_factor = 1, .finite = step % 5 != 4,
		.decay = step % 3 == 2 ? 0.75 : 0, .step = step, .newest = 1000 + step };
	struct frame f = bed_frame(&b, FRAME_PUSH, rank, step);
	struct bed_sections s;
	struct buffer body;
	const uint64_t key = rng_key(1000 * shard + 10 * step, rank);
	uint64_t drawn = 0;

	bed_sections_init(&s);
	for (size_t i = 0; i < b.parts.n && head.finite; i++) {
		const struct part *p = &b.parts.part[i];
		uint64_t id[256];
		size_t n = 0;

		for (uint64_t row = 0; p->shard == shard && row < n_rows(p); row++)
			if (rng_below(key, drawn++, 7) == 0)
				id[n++] = id_at(p, row);
		if (n == 0)
			continue;
		bed_section(&s, p, rank, id, n);
		if (b.table[p->table].kind == TABLE_EXACT)
			bed_counts(&s, n, 1 + (uint32_t)step);
		for (size_t k = 0; k < n * b.table[p->table].dim; k++) {
			const float x = (float)((double)rng_below(key, drawn++, 2001) - 1000)
				* (float)(scale / 1000);

			bed_put(&s.values, &x, sizeof(x));
		}
	}
	head.n_sections = (uint32_t)s.n;
	bed_join(&s, &head, &body);
	bed_ask(&b, shard, &f, &body, FRAME_PUSH_R, NULL, 0);
	buffer_free(&body);
	bed_sections_free(&s);
}

/* Worker 1 is first, and a step ahead where that may be. */
static void
push_steps(uint64_t from, uint64_t to)
{
	const int is_ahead = b.consistency != CONSISTENCY_SYNC;

	for (uint64_t step = from; step <= to; step++)
		for (size_t i = 0; i < b.n_shards; i++) {
			if (!is_ahead || step == from)
				push_to(i, 1, step, 1);
			if (is_ahead && step < to)
				push_to(i, 1, step + 1, 1);
			push_to(i, 0, step, 1);
		}
}

/* What comes in step 4 has its row at once, what came before waits for a second time. */
static struct lookup_tenancy rules = {
	.admit = ADMISSION_COUNT, .admit_count = 5, .admit_cells = 64 * 30, .key = 3,
	.segment_rows = TENANCY_SHARE, .evict = EVICT_LFU,
};

static void
open_bed(const char *directory, enum row_optimizer_kind kind, enum consistency consistency,
	int with_journals)
{
	char own[4096];

	memset(&b, 0, sizeof(b));
	bed_tables(&b, kind);
	bed_make_exact(&b, 1);
	if (with_rules)
		b.table[1].tenancy = rules;
	b.consistency = consistency;
	b.staleness = consistency == CONSISTENCY_SSP ? 2 : 0;
	b.with_journals = with_journals > 0;
	b.with_copies = with_journals > 1;
	b.growth = growth;
	b.durable = durable;
	snprintf(own, sizeof(own), "%s/%zu", directory, run++);
	assert_int_equal(file_make_directories(own), RS_OK);
	bed_open(&b, own, 2, RANKS, RANKS);
	bed_init(&b);
}

/* Rows that were not trained are not those of an empty table. */
static void
set_some(void)
{
	const struct part *p = &b.parts.part[0];
	const size_t dim = b.table[p->table].dim;
	const struct body_rows head = { .table = (uint32_t)p->table, .n = 3, .begin = p->begin,
		.dim = (uint32_t)dim };
	const struct frame f = bed_frame(&b, FRAME_SNAP_PUT, 0, 1);
	const uint8_t touched[3] = { 0, 1, 0 };
	struct buffer body;

	buffer_init(&body, 1 << 12);
	bed_put(&body, &head, sizeof(head));
	for (size_t i = 0; i < 3 * dim; i++)
		bed_put(&body, &(float){ (float)i + 0.5f }, sizeof(float));
	bed_put(&body, touched, 3);
	bed_ask(&b, p->shard, &f, &body, FRAME_SNAP_R, NULL, 0);
	buffer_free(&body);
}

/* What every step should be like. */
static void
run_undisturbed(const char *directory, enum row_optimizer_kind kind, enum consistency consistency)
{
	open_bed(directory, kind, consistency, 0);
	set_some();
	take_image(0, &want[0]);
	for (uint64_t step = 1; step <= STEPS; step++) {
		push_steps(step, step);
		take_image(step, &want[step]);
	}
	bed_close(&b);
}

static struct body_offer
offer_of(size_t shard)
{
	const struct frame f = bed_frame(&b, FRAME_OFFER, 0, 0);
	struct body_offer offer;

	assert_int_equal(bed_ask(&b, shard, &f, NULL, FRAME_OFFER_R, &offer, sizeof(offer)),
		sizeof(offer));
	return offer;
}

/* Until all rows are in every journal. */
static void
settle(void)
{
	for (size_t i = 0; i < b.n_shards; i++) {
		const double end = clock_seconds() + BED_SECONDS;
		struct journal_range range = { .n_starts = 0 };

		while (range.n_starts == 0 && clock_seconds() < end) {
			(void)poll(NULL, 0, 1);
			assert_int_equal(journal_read_range(&b.shard[i].journal, &range), RS_OK);
		}
		assert_true(range.n_starts > 0);
	}
}

static void
next_round(uint64_t step, int dead)
{
	bed_stop_round(&b);
	for (size_t i = 0; i < b.n_shards; i++)
		if (dead >> i & 1)
			bed_forget(&b, i);
	bed_start_round(&b);
	b.keep = 1;
	b.first_step = step + 1;
}

static const enum consistency mode[] = {
	CONSISTENCY_SYNC, CONSISTENCY_SSP, CONSISTENCY_ASYNC,
};

static void
check_comeback(const char *directory, enum row_optimizer_kind kind, enum consistency consistency,
	int dead)
{
	open_bed(directory, kind, consistency, 1);
	set_some();
	push_steps(1, 3);
	settle();
	push_steps(4, 9);
	/* Staged, and lost with the round. */
	push_to(0, 1, 10, 3);
	push_to(1, 0, 10, 3);
	for (uint64_t back = 9; back >= 7; back--) {
		next_round(back, dead);
		for (size_t i = 0; i < b.n_shards; i++) {
			const struct body_offer offer = offer_of(i);

			assert_true(offer.lowest <= 7);
			assert_true(offer.applied == (back < 9 ? back + 2 : 9));
		}
		bed_init(&b);
		check_image(back);
		push_steps(back + 1, back + 1);
		push_to(0, 1, back + 2, 5);
	}
	next_round(8, dead);
	bed_init(&b);
	check_image(8);
	push_steps(9, STEPS);
	check_image(STEPS);
	bed_close(&b);
}

static void
rows_come_back_with_the_very_bits(void **state)
{
	for (size_t i = 0; i < N_ROWS(mode); i++) {
		run_undisturbed(*state, ROW_ADAM, mode[i]);
		for (int dead = 0; dead < 4; dead++)
			check_comeback(*state, ROW_ADAM, mode[i], dead);
	}
}

/* Where one shard applied a step that another one did not. */
static void
without_a_journal_one_step_can_be_taken_back(void **state)
{
	for (size_t i = 0; i < N_ROWS(mode); i++) {
		run_undisturbed(*state, ROW_ADAM, mode[i]);
		open_bed(*state, ROW_ADAM, mode[i], 0);
		set_some();
		push_steps(1, 6);
		push_to(0, 1, 7, 1);
		push_to(0, 0, 7, 1);
		push_to(1, 0, 7, 1);
		for (int round = 0; round < 2; round++) {
			next_round(6, 0);
			assert_true(offer_of(0).applied == (round == 0 ? 7 : 6));
			assert_true(offer_of(0).lowest == 6);
			assert_true(offer_of(1).applied == 6);
			bed_init(&b);
			check_image(6);
		}
		push_steps(7, 8);
		/* Every row decayed in step 8: there is no way back. */
		assert_true(offer_of(0).lowest == 8);
		push_steps(9, STEPS);
		check_image(STEPS);
		bed_close(&b);
	}
}

/* It was pushed again, in another round, and need not be the same. */
static void
what_a_dead_round_staged_is_not_replayed(void **state)
{
	for (size_t i = 0; i < N_ROWS(mode); i++) {
		run_undisturbed(*state, ROW_ADAM, mode[i]);
		open_bed(*state, ROW_ADAM, mode[i], 1);
		set_some();
		push_steps(1, 4);
		settle();
		push_to(0, 1, 5, 3);
		push_to(1, 0, 5, 3);
		next_round(4, 0);
		bed_init(&b);
		push_steps(5, 6);
		next_round(6, 3);
		bed_init(&b);
		check_image(6);
		push_steps(7, STEPS);
		check_image(STEPS);
		bed_close(&b);
	}
}

static void
who_comes_and_goes_is_the_same_after_a_comeback(void **state)
{
	with_rules = 1;
	for (size_t i = 0; i < N_ROWS(mode); i++)
		for (int sketch = 0; sketch < 2; sketch++) {
			rules.admit = sketch ? ADMISSION_SKETCH : ADMISSION_COUNT;
			rules.expire_steps = sketch ? 0 : 4;
			rules.expire_after = sketch ? 240 : 0;
			run_undisturbed(*state, ROW_ADAM, mode[i]);
			assert_true(tally.admitted > 20 && tally.waiting > 5);
			assert_true(tally.evicted > 0 && tally.expired > 0);
			check_comeback(*state, ROW_ADAM, mode[i], 1 + 2 * sketch);
		}
	with_rules = 0;
}

/* Nor by what the journal knows of it, when there is none. */
static void
a_step_in_which_others_went_is_not_taken_back(void **state)
{
	with_rules = 1;
	open_bed(*state, ROW_ADAM, CONSISTENCY_SYNC, 0);
	push_steps(1, 6);
	for (size_t i = 0; i < b.n_shards; i++)
		assert_true(offer_of(i).lowest == 6 && offer_of(i).applied == 6);
	bed_close(&b);
	with_rules = 0;
}

static void
every_optimizer_comes_back(void **state)
{
	static const enum row_optimizer_kind kind[] = { ROW_SGD, ROW_ADAGRAD, ROW_FTRL };

	for (size_t i = 0; i < N_ROWS(kind); i++) {
		run_undisturbed(*state, kind[i], CONSISTENCY_SYNC);
		check_comeback(*state, kind[i], CONSISTENCY_SYNC, 2);
	}
}

/* --- hosts that are gone ------------------------------------------------------------------ */

/* Its process ends, and so do its files. */
static void
lose(size_t shard)
{
	char copy[4300];

	bed_forget(&b, shard);
	assert_int_equal(file_remove_tree(b.shard[shard].directory), RS_OK);
	snprintf(copy, sizeof(copy), "%s.copy%zu", b.shard[shard].directory,
		(shard + b.n_shards - 1) % b.n_shards);
	assert_int_equal(file_remove_tree(copy), RS_OK);
}

/* Until the files of every shard are with its peer. */
static void
wait_for_copies(void)
{
	settle();
	for (size_t i = 0; i < b.n_shards; i++) {
		const double end = clock_seconds() + BED_SECONDS;
		const size_t peer = (i + 1) % b.n_shards;
		uint64_t own = 0, there = 1;
		char copy[4300];

		snprintf(copy, sizeof(copy), "%s.copy%zu", b.shard[peer].directory, i);
		while (own != there && clock_seconds() < end) {
			(void)poll(NULL, 0, 5);
			assert_int_equal(file_directory_bytes(b.shard[i].directory, &own), RS_OK);
			if (file_directory_bytes(copy, &there) != RS_OK)
				there = UINT64_MAX;
		}
		assert_true(own == there);
	}
}

static void
lose_in_round(uint64_t step, size_t shard)
{
	bed_stop_round(&b);
	lose(shard);
	bed_start_round(&b);
	b.keep = 1;
	b.first_step = step + 1;
}

static void
a_shard_whose_host_is_gone_comes_back_from_its_peer(void **state)
{
	for (size_t i = 0; i < N_ROWS(mode); i++) {
		run_undisturbed(*state, ROW_ADAM, mode[i]);
		open_bed(*state, ROW_ADAM, mode[i], 2);
		set_some();
		push_steps(1, 5);
		wait_for_copies();
		/* Each in turn, so that copies are made anew. */
		for (size_t round = 0; round < 5; round++) {
			const uint64_t step = 5 + round;

			lose_in_round(step, round % b.n_shards);
			for (size_t k = 0; k < b.n_shards; k++)
				assert_true(offer_of(k).applied == step);
			bed_init(&b);
			check_image(step);
			push_steps(step + 1, step + 1);
			wait_for_copies();
		}
		push_steps(11, STEPS);
		check_image(STEPS);
		bed_close(&b);
	}
}

/* --- long runs, and disks that are full ------------------------------------------------- */

/* Segments begin all the time, and old ones go. */
static void
rows_come_back_from_one_of_many_segments(void **state)
{
	uint64_t bytes;

	growth = 600;
	for (size_t i = 0; i < N_ROWS(mode); i++) {
		run_undisturbed(*state, ROW_ADAM, mode[i]);
		check_comeback(*state, ROW_ADAM, mode[i], 1);
	}
	open_bed(*state, ROW_SGD, CONSISTENCY_SYNC, 1);
	push_steps(1, 400);
	assert_true(offer_of(0).lowest > 300);
	assert_int_equal(file_directory_bytes(b.shard[0].directory, &bytes), RS_OK);
	assert_true(bytes < 400000);
	growth = 0;
	bed_close(&b);
}

static void
a_full_disk_costs_the_journal_only(void **state)
{
	const struct rlimit small = { 2000, RLIM_INFINITY };
	struct rlimit before;
	uint64_t bytes;

	run_undisturbed(*state, ROW_ADAM, CONSISTENCY_ASYNC);
	open_bed(*state, ROW_ADAM, CONSISTENCY_ASYNC, 1);
	set_some();
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	push_steps(1, STEPS);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	check_image(STEPS);
	for (size_t i = 0; i < b.n_shards; i++) {
		assert_int_equal(file_directory_bytes(b.shard[i].directory, &bytes), RS_OK);
		assert_true(bytes == 0);
		assert_true(offer_of(i).applied == STEPS);
	}
	next_round(STEPS, 1);
	assert_true(offer_of(0).lowest > offer_of(0).applied);
	bed_close(&b);
}

/* Rows that are set in between are no step's, and are in the next segment. */
static void
rows_that_are_set_begin_another_journal(void **state)
{
	struct body_offer offer;

	open_bed(*state, ROW_ADAM, CONSISTENCY_SYNC, 1);
	push_steps(1, 4);
	settle();
	set_some();
	offer = offer_of(b.parts.part[0].shard);
	assert_true(offer.lowest > offer.applied);
	push_steps(5, 6);
	settle();
	take_image(6, &want[6]);
	next_round(6, 3);
	bed_init(&b);
	check_image(6);
	bed_close(&b);
}

static void
pushes_that_wait_for_the_disk_are_acknowledged(void **state)
{
	run_undisturbed(*state, ROW_ADAM, CONSISTENCY_ASYNC);
	durable = 1;
	open_bed(*state, ROW_ADAM, CONSISTENCY_ASYNC, 1);
	durable = 0;
	set_some();
	push_steps(1, 4);
	settle();
	next_round(4, 3);
	bed_init(&b);
	check_image(4);
	bed_close(&b);
}

static void
other_tables_do_not_come_back(void **state)
{
	struct frame ask;
	struct buffer body;

	open_bed(*state, ROW_ADAM, CONSISTENCY_SYNC, 1);
	push_steps(1, 3);
	settle();
	next_round(3, 3);
	b.table[0].seed++;
	ask = bed_frame(&b, FRAME_INIT_TABLE, 0, 0);
	bed_init_body(&b, &body);
	bed_refused(&b, 0, &ask, &body, "has the rows of other tables");
	buffer_free(&body);
	b.table[0].seed--;
	bed_init(&b);
	take_image(3, &have);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_back_with_the_very_bits),
		cmocka_unit_test(without_a_journal_one_step_can_be_taken_back),
		cmocka_unit_test(what_a_dead_round_staged_is_not_replayed),
		cmocka_unit_test(who_comes_and_goes_is_the_same_after_a_comeback),
		cmocka_unit_test(a_step_in_which_others_went_is_not_taken_back),
		cmocka_unit_test(every_optimizer_comes_back),
		cmocka_unit_test(rows_come_back_from_one_of_many_segments),
		cmocka_unit_test(a_full_disk_costs_the_journal_only),
		cmocka_unit_test(rows_that_are_set_begin_another_journal),
		cmocka_unit_test(pushes_that_wait_for_the_disk_are_acknowledged),
		cmocka_unit_test(other_tables_do_not_come_back),
		cmocka_unit_test(a_shard_whose_host_is_gone_comes_back_from_its_peer),
	};

	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
