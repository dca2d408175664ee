/* Tables of shards as files: to other numbers of shards, to one process, damaged ones. */
#include "tests/remote/lookup_bed.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "remote/body.h"
#include "tests/embed/touch.h"

#define LAST 9                      /* steps                                          */

static struct bed_worker worker[BED_SLOTS];

static void
workers_clear(void)
{
	memset(worker, 0, sizeof(worker));
}

/* Loads what `from` wrote as `name`. */
static void
load_all(struct lookup *l, const char *directory, const char *name)
{
	for (size_t t = 0; t < BED_TABLES; t++) {
		char path[300];
		const char *list[] = { path };

		snprintf(path, sizeof(path), "%s/%s-%zu", directory, name, t);
		if (l->ops->load(l, t, list, 1) != RS_OK)
			fail_msg("%s", rs_failure()->text);
	}
}

static void
save_all(struct lookup *l, const char *directory, const char *name)
{
	char path[300];

	for (size_t t = 0; t < BED_TABLES; t++)
		bed_save(l, directory, name, t, path, sizeof(path));
}

/* Trained on two shards, saved, loaded by three, trained on; by one process from there. */
static void
L023_state_goes_from_two_shards_to_three_to_one_process(void **state)
{
	(void)state;
	for (enum row_optimizer_kind kind = ROW_SGD; kind <= ROW_FTRL; kind++) {
		const struct bed_run run = { .n_ranks = 2, .n_threads = 1, .kind = kind };
		struct lookup *local = bed_local(kind), *again = bed_local(kind);
		struct bed two, three;

		workers_clear();
		bed_open(&two, 2);
		bed_train(&two, &run, worker, 1, 3);
		save_all(worker[0].r.lookup, two.directory, "two");
		bed_workers_close(worker, 2);

		workers_clear();
		bed_open(&three, 3);
		bed_train(&three, &run, worker, 1, 0);
		load_all(worker[0].r.lookup, two.directory, "two");
		bed_train(&three, &run, worker, 5, 6);
		save_all(worker[0].r.lookup, two.directory, "three");

		bed_train_local(local, 1, 3);
		bed_train_local(local, 5, 6);
		bed_assert_equal(local, worker[0].r.lookup);
		load_all(again, two.directory, "three");
		bed_train_local(local, 7, 7);
		bed_train_local(again, 7, 7);
		bed_assert_equal(local, again);
		bed_workers_close(worker, 2);
		bed_close(&three);
		bed_close(&two);
		again->ops->close(again);
		local->ops->close(local);
	}
}

/* Saved on two shards and loaded by three: what is pulled before and after. */
static void
check_pulled(int distinct)
{
	const struct bed_run run = { .n_ranks = 1, .n_threads = 1, .kind = ROW_ADAGRAD };
	static float before[BED_FLOATS], after[BED_FLOATS], fresh[BED_FLOATS];
	static struct bed_step s;
	struct bed b, other;
	size_t n, m;

	workers_clear();
	bed_fill(&s, 8);
	s.training = 0;
	bed_open(&b, 2);
	bed_train(&b, &run, worker, 1, LAST);
	save_all(worker[0].r.lookup, b.directory, "saved");
	bed_pull_step(worker[0].r.lookup, &s, before, &n);
	bed_workers_close(worker, 1);

	workers_clear();
	bed_open(&other, 3);
	bed_train(&other, &run, worker, 1, 0);
	bed_pull_step(worker[0].r.lookup, &s, fresh, &m);
	assert_memory_not_equal(before, fresh, n * sizeof(float));
	load_all(worker[0].r.lookup, b.directory, "saved");
	bed_pull_step(worker[0].r.lookup, &s, after, &m);
	assert_int_equal(n, m);
	assert_memory_equal(before, after, n * sizeof(float));
	for (size_t j = 1; distinct && j < s.begin[3][1]; j++)
		if (s.id[3][j] != s.id[3][0])
			assert_memory_not_equal(s.row[3][0], s.row[3][j], BED_DIM * sizeof(float));
	bed_workers_close(worker, 1);
	bed_close(&other);
	bed_close(&b);
}

static void
L009_rows_loaded_are_each_its_own(void **state)
{
	(void)state;
	check_pulled(1);
}

static void
L010_what_was_pulled_before_a_save_is_pulled_after_a_load(void **state)
{
	(void)state;
	check_pulled(0);
}

/* A file cut at `size` and with one byte changed at `flip`. */
static void
write_damaged(const char *from, const char *to, size_t size, size_t flip)
{
	struct file_map m;
	char *copy;

	assert_int_equal(file_map_open(&m, from), RS_OK);
	copy = malloc(m.size);
	memcpy(copy, m.data, m.size);
	if (flip < m.size)
		copy[flip] ^= 0x55;
	assert_int_equal(file_replace(to, copy, size < m.size ? size : m.size), RS_OK);
	free(copy);
	file_map_close(&m);
}

static void
L058_a_damaged_file_is_named_and_changes_nothing(void **state)
{
	static const struct { size_t size, flip; } damage[] = {
		{ 0, SIZE_MAX }, { 100, SIZE_MAX }, { 1000, SIZE_MAX }, { SIZE_MAX, 0 },
		{ SIZE_MAX, 9 }, { SIZE_MAX, 17 }, { SIZE_MAX, 40 }, { SIZE_MAX, 104 },
	};
	const struct bed_run run = { .n_ranks = 1, .n_threads = 1, .kind = ROW_ADAM };
	char good[300], bad[300], now[300];
	const char *list[] = { bad };
	struct lookup *l;
	struct bed b;

	(void)state;
	workers_clear();
	bed_open(&b, 2);
	bed_train(&b, &run, worker, 1, 2);
	l = worker[0].r.lookup;
	bed_save(l, b.directory, "good", 0, good, sizeof(good));
	snprintf(bad, sizeof(bad), "%s/bad", b.directory);
	for (size_t i = 0; i < N_ROWS(damage) - (bed_kind == TABLE_EXACT); i++) {
		write_damaged(good, bad, damage[i].size, damage[i].flip);
		assert_int_not_equal(l->ops->load(l, 0, list, 1), RS_OK);
		if (strstr(rs_failure()->text, "'C1': ids from") == NULL)
			assert_non_null(strstr(rs_failure()->text, bad));
	}
	bed_save(l, b.directory, "now", 0, now, sizeof(now));
	bed_assert_same_file(good, now);
	bed_train(&b, &run, worker, 3, 3);              /* and it goes on */
	bed_workers_close(worker, 1);
	bed_close(&b);
}

static void
state_of_another_optimizer_starts_anew_and_so_after_a_reset(void **state)
{
	const struct bed_run run = { .n_ranks = 2, .n_threads = 1, .kind = ROW_ADAM };
	struct lookup *sgd = bed_local(ROW_SGD), *adam = bed_local(ROW_ADAM);
	struct bed b;

	(void)state;
	workers_clear();
	bed_open(&b, 2);
	bed_train_local(sgd, 1, 2);
	save_all(sgd, b.directory, "sgd");
	bed_train(&b, &run, worker, 1, 1);
	load_all(worker[0].r.lookup, b.directory, "sgd");
	load_all(adam, b.directory, "sgd");
	bed_assert_equal(adam, worker[0].r.lookup);
	bed_train(&b, &run, worker, 3, 3);
	bed_train_local(adam, 3, 3);
	bed_assert_equal(adam, worker[0].r.lookup);
	for (size_t t = 0; t < BED_TABLES; t++) {
		adam->ops->reset_state(adam, t);
		worker[0].r.lookup->ops->reset_state(worker[0].r.lookup, t);
	}
	bed_assert_equal(adam, worker[0].r.lookup);
	bed_workers_close(worker, 2);
	bed_close(&b);
	adam->ops->close(adam);
	sgd->ops->close(sgd);
}

/* Rank 1 pushes while rank 0 already saves. */
static void *
late_rank(void *argument)
{
	struct bed_worker *w = argument;

	usleep(100000);
	return bed_worker_run(w);
}

static void
a_save_has_what_other_ranks_push_later_for_the_steps_before_it(void **state)
{
	static const enum consistency mode[] = {
		CONSISTENCY_SYNC, CONSISTENCY_SSP, CONSISTENCY_ASYNC,
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(mode); i++) {
		const struct bed_run run = { .n_ranks = 2, .n_threads = 1, .kind = ROW_SGD,
			.consistency = mode[i], .staleness = 2 };
		struct file_writer before, after;
		pthread_t late;
		struct bed b;

		workers_clear();
		bed_open(&b, 2);
		bed_train(&b, &run, worker, 1, 0);
		worker[0].last = worker[1].last = 1;
		assert_int_equal(pthread_create(&late, NULL, late_rank, &worker[1]), 0);
		(void)bed_worker_run(&worker[0]);
		assert_int_equal(worker[0].status, RS_OK);
		bed_save_memory(worker[0].r.lookup, 0, &before);
		pthread_join(late, NULL);
		assert_int_equal(worker[1].status, RS_OK);
		bed_save_memory(worker[1].r.lookup, 0, &after);
		bed_assert_same_file(before.path, after.path);
		file_writer_close(&before);
		file_writer_close(&after);
		bed_workers_close(worker, 2);
		bed_close(&b);
	}
}

/* What all ranks hold back, into one file. */
static void
save_rests(size_t n_ranks, const char *directory, char path[300])
{
	struct file_writer w;

	snprintf(path, 300, "%s/rest", directory);
	assert_int_equal(file_writer_open(&w, path), RS_OK);
	for (size_t r = 0; r < n_ranks; r++)
		assert_int_equal(
			worker[r].r.lookup->ops->save_rest(worker[r].r.lookup, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
}

/* Ranks that go on from the tables and the rest are those that never stopped; without the
 * rest they are not.  Another number of shards and of ranks takes it, too. */
static void
what_rounding_left_out_goes_on_with_the_run(void **state)
{
	(void)state;
	for (int with_rest = 0; with_rest < 2; with_rest++)
		for (size_t shards = 2; shards <= 3; shards++) {
			const struct bed_run run = { .n_ranks = 2, .n_threads = 1,
				.kind = ROW_ADAGRAD, .compress = COMPRESS_INT8 };
			struct file_writer whole, again;
			struct bed first, second;
			char path[300];

			workers_clear();
			bed_open(&first, 2);
			bed_train(&first, &run, worker, 1, 5);
			save_all(worker[0].r.lookup, first.directory, "half");
			save_rests(2, first.directory, path);
			bed_train(&first, &run, worker, 6, LAST);
			bed_save_memory(worker[0].r.lookup, 2, &whole);
			bed_workers_close(worker, 2);

			workers_clear();
			bed_open(&second, shards);
			bed_train(&second, &run, worker, 1, 0);
			load_all(worker[0].r.lookup, first.directory, "half");
			for (size_t r = 0; r < 2 && with_rest; r++)
				assert_int_equal(worker[r].r.lookup->ops->load_rest(
					worker[r].r.lookup, path), RS_OK);
			bed_train(&second, &run, worker, 6, LAST);
			bed_save_memory(worker[0].r.lookup, 2, &again);
			if (with_rest)
				bed_assert_same_file(whole.path, again.path);
			else
				assert_int_not_equal(whole.crc[0], again.crc[0]);
			file_writer_close(&whole);
			file_writer_close(&again);
			bed_workers_close(worker, 2);
			bed_close(&second);
			bed_close(&first);
		}
}

/* Three ranks hold back together what two did, each row once. */
static void
other_ranks_hold_back_the_same_in_sum(void **state)
{
	const struct bed_run two = { .n_ranks = 2, .n_threads = 1, .kind = ROW_SGD,
		.compress = COMPRESS_FP16 };
	const struct bed_run three = { .n_ranks = 3, .n_threads = 1, .kind = ROW_SGD,
		.compress = COMPRESS_FP16 };
	char before[300], after[300];
	struct bed first, second;
	struct file_map a, b;

	(void)state;
	workers_clear();
	bed_open(&first, 2);
	bed_train(&first, &two, worker, 1, 3);
	save_rests(2, first.directory, before);
	bed_workers_close(worker, 2);

	workers_clear();
	bed_open(&second, 2);
	bed_train(&second, &three, worker, 1, 0);
	for (size_t r = 0; r < 3; r++)
		assert_int_equal(worker[r].r.lookup->ops->load_rest(worker[r].r.lookup, before),
			RS_OK);
	save_rests(3, second.directory, after);
	assert_int_equal(file_map_open(&a, before), RS_OK);
	assert_int_equal(file_map_open(&b, after), RS_OK);
	assert_true(a.size > 1000 && b.size == a.size);
	file_map_close(&a);
	file_map_close(&b);
	write_damaged(before, after, 1000, SIZE_MAX);
	assert_int_equal(worker[0].r.lookup->ops->load_rest(worker[0].r.lookup, after), RS_EDATA);
	write_damaged(before, after, SIZE_MAX, 8);
	assert_int_equal(worker[0].r.lookup->ops->load_rest(worker[0].r.lookup, after), RS_EDATA);
	bed_workers_close(worker, 3);
	bed_close(&second);
	bed_close(&first);
}

/* What the filters of all tables know, as the files beside those of the tables have it. */
static void
assert_same_waiting(struct lookup *a, struct lookup *c)
{
	for (size_t t = 0; t < BED_TABLES; t++) {
		struct lookup *const of[2] = { a, c };
		struct file_writer w[2];

		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(file_writer_open_memory(&w[i]), RS_OK);
			if (of[i]->ops->save_tenancy(of[i], t, &w[i]) != RS_OK)
				fail_msg("%s", rs_failure()->text);
			assert_int_equal(file_writer_commit(&w[i]), RS_OK);
		}
		bed_assert_same_file(w[0].path, w[1].path);
		file_writer_close(&w[0]);
		file_writer_close(&w[1]);
	}
}

static void
load_waiting(struct lookup *from, struct lookup *to)
{
	for (size_t t = 0; t < BED_TABLES; t++) {
		struct file_writer rows, waiting;
		const char *path;

		bed_save_memory(from, t, &rows);
		assert_int_equal(file_writer_open_memory(&waiting), RS_OK);
		assert_int_equal(from->ops->save_tenancy(from, t, &waiting), RS_OK);
		assert_int_equal(file_writer_commit(&waiting), RS_OK);
		path = rows.path;
		assert_int_equal(to->ops->load(to, t, &path, 1), RS_OK);
		path = waiting.path;
		if (to->ops->load_tenancy(to, t, &path, 1) != RS_OK)
			fail_msg("%s", rs_failure()->text);
		file_writer_close(&rows);
		file_writer_close(&waiting);
	}
}

/* There in pieces as small as can be: each counter, each cell is one. */
static void
who_waits_goes_from_shards_to_shards_and_to_one_process(void **state)
{
	static const enum admission_kind kind[] = { ADMISSION_COUNT, ADMISSION_SKETCH };

	(void)state;
	for (size_t k = 0; k < N_ROWS(kind); k++) {
		const struct bed_run run = { .n_ranks = 2, .n_threads = 1, .kind = ROW_ADAGRAD };
		struct lookup *local;
		struct bed_rank other;
		struct bed a, c;

		bed_rules = (struct lookup_tenancy){ .admit = kind[k], .admit_count = 6,
			.admit_cells = 1280, .key = 4, .expire_steps = 3 };
		local = bed_local(ROW_ADAGRAD);
		bed_train_local(local, 1, LAST);
		workers_clear();
		bed_open(&a, 2);
		bed_train(&a, &run, worker, 1, LAST);
		assert_same_waiting(local, worker[0].r.lookup);
		bed_assert_equal(local, worker[0].r.lookup);
		bed_open(&c, 3);
		assert_int_equal(bed_rank_open(&c, &(struct bed_run){ .n_ranks = 1, .n_threads = 1,
			.kind = ROW_ADAGRAD, .message_bytes = 1 }, 0, &other), RS_OK);
		load_waiting(worker[0].r.lookup, other.lookup);
		assert_same_waiting(local, other.lookup);
		bed_assert_equal(local, other.lookup);
		bed_rank_close(&other);
		bed_close(&c);
		bed_workers_close(worker, 2);
		bed_close(&a);
		local->ops->close(local);
	}
	bed_rules = (struct lookup_tenancy){ .admit = ADMISSION_ALL };
}

/* Rows by id with weights of two bytes, loaded where they are of four: rows that are in no
 * entry, too, are what one process makes of them. */
static void
rows_by_id_of_another_storage_are_those_of_one_process(void **state)
{
	const struct bed_run run = { .n_ranks = 1, .n_threads = 1, .kind = ROW_ADAGRAD };
	struct lookup *const local = bed_local(ROW_ADAGRAD);
	struct lookup_table table[BED_TABLES];
	const struct lookup_local_options options = bed_options(table, 1);
	struct lookup *narrow;
	struct bed b;
	char path[300];
	const char *const list[] = { path };

	(void)state;
	workers_clear();
	bed_tables(table, ROW_ADAGRAD);
	table[2].storage = ROW_BF16;
	assert_int_equal(lookup_local_open(&options, &narrow), RS_OK);
	assert_int_equal(touch_rows(narrow, 2, &table[2], 7), RS_OK);
	bed_open(&b, 2);
	bed_train(&b, &run, worker, 1, 0);
	bed_save(narrow, b.directory, "narrow", 2, path, sizeof(path));
	assert_int_equal(local->ops->load(local, 2, list, 1), RS_OK);
	assert_int_equal(worker[0].r.lookup->ops->load(worker[0].r.lookup, 2, list, 1), RS_OK);
	bed_assert_equal(local, worker[0].r.lookup);
	bed_workers_close(worker, 1);
	bed_close(&b);
	narrow->ops->close(narrow);
	local->ops->close(local);
}

/* --- a file that a shard has no more ---------------------------------------------------- */

struct saver {
	struct lookup *lookup;
	char *path;
	enum rs_status status;
	atomic_int is_over;
};

static void *
save_by_id(void *argument)
{
	struct saver *s = argument;
	struct file_writer w;

	s->status = file_writer_open(&w, s->path);
	if (s->status == RS_OK)
		s->status = s->lookup->ops->save(s->lookup, 2, &w);
	if (s->status == RS_OK)
		s->status = file_writer_commit(&w);
	file_writer_close(&w);
	atomic_store(&s->is_over, 1);
	return NULL;
}

/* As when they were restarted: the shards' files of rows by id of table 2 go. */
static void
drop_files(struct bed_rank *r, size_t n_shards)
{
	for (size_t i = 0; i < n_shards; i++) {
		struct body_changes head = { .table = 2, .what = BODY_CHANGES_DROP };
		struct client_call call = { .server = i, .n_parts = 1,
			.part = { { &head, sizeof(head) } },
			.frame = { .type = FRAME_CHANGES, .slot = 1 } };
		struct client_call *const wanted = &call;

		assert_int_equal(client_send(r->client, &call), RS_OK);
		assert_int_equal(client_wait(r->client, &wanted, 1), RS_OK);
		assert_int_equal(call.reply.frame.type, FRAME_CHANGES_R);
		wire_message_free(&call.reply);
	}
}

static void
a_shard_that_lost_its_file_of_rows_is_asked_for_it_again(void **state)
{
	const struct bed_run run = { .n_ranks = 2, .n_threads = 1, .kind = ROW_ADAGRAD };
	char path[300], again[300], hold[300], reached[310], arm[400];
	struct saver saver = { .path = again };
	struct file_writer w;
	pthread_t thread;
	struct bed b;

	(void)state;
	workers_clear();
	bed_open(&b, 2);
	bed_train(&b, &run, worker, 1, 1);
	bed_save(worker[0].r.lookup, b.directory, "once", 2, path, sizeof(path));
	snprintf(again, sizeof(again), "%s/again", b.directory);
	snprintf(hold, sizeof(hold), "%s/hold", b.directory);
	snprintf(reached, sizeof(reached), "%s.reached", hold);
	snprintf(arm, sizeof(arm), "lookup_changes.read@2=wait:%s", hold);
	assert_int_equal(failpoint_arm(arm), RS_OK);
	saver.lookup = worker[0].r.lookup;
	assert_int_equal(pthread_create(&thread, NULL, save_by_id, &saver), 0);
	WAIT_UNTIL(access(reached, F_OK) == 0 || atomic_load(&saver.is_over), 60);
	if (access(reached, F_OK) != 0)
		fail_msg("status %d of a save that read no row by id", saver.status);
	drop_files(&worker[1].r, 2);
	assert_int_equal(file_writer_open(&w, hold), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
	pthread_join(thread, NULL);
	assert_int_equal(failpoint_arm(NULL), RS_OK);
	assert_int_equal(saver.status, RS_OK);
	bed_assert_same_file(path, again);
	bed_workers_close(worker, 2);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L023_state_goes_from_two_shards_to_three_to_one_process),
		BED_TEST_EXACT(L023_state_goes_from_two_shards_to_three_to_one_process),
		cmocka_unit_test(L009_rows_loaded_are_each_its_own),
		BED_TEST_EXACT(who_waits_goes_from_shards_to_shards_and_to_one_process),
		BED_TEST_EXACT(L009_rows_loaded_are_each_its_own),
		cmocka_unit_test(L010_what_was_pulled_before_a_save_is_pulled_after_a_load),
		BED_TEST_EXACT(L010_what_was_pulled_before_a_save_is_pulled_after_a_load),
		cmocka_unit_test(L058_a_damaged_file_is_named_and_changes_nothing),
		BED_TEST_EXACT(L058_a_damaged_file_is_named_and_changes_nothing),
		cmocka_unit_test(state_of_another_optimizer_starts_anew_and_so_after_a_reset),
		BED_TEST_EXACT(state_of_another_optimizer_starts_anew_and_so_after_a_reset),
		cmocka_unit_test(rows_by_id_of_another_storage_are_those_of_one_process),
		cmocka_unit_test(a_shard_that_lost_its_file_of_rows_is_asked_for_it_again),
		cmocka_unit_test(what_rounding_left_out_goes_on_with_the_run),
		cmocka_unit_test(other_ranks_hold_back_the_same_in_sum),
		cmocka_unit_test(a_save_has_what_other_ranks_push_later_for_the_steps_before_it),
		BED_TEST_EXACT(a_save_has_what_other_ranks_push_later_for_the_steps_before_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
