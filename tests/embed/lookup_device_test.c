/* Tables on a GPU, or spread over several, which are emulated: steps are those of the host, files,
 * deltas and what is touched are the host's, and threads change no bit. */
#include "device_bed.h"

#include <sched.h>
#include <stdatomic.h>

static void
steps_are_those_of_the_host(void **state)
{
	static const size_t dims[] = { 1, 3, 16, 64 };
	char what[64];
	struct bed b;

	for (size_t k = 0; k < N_ROWS(kinds); k++)
		for (size_t i = n_gpus / 2; i < N_ROWS(dims) - n_gpus / 2; i++) {
			bed_open(&b, kinds[k], dims[i]);
			for (uint64_t key = 1; key <= STEPS; key++) {
				step_host(&b, key);
				step_there(&b, b.there, key, 1 + key % THREADS);
			}
			snprintf(what, sizeof(what), "optimizer %zu, dim %zu", k, dims[i]);
			assert_near(state, &b, what);
			bed_close(&b);
		}
}

static void
threads_change_no_bit(void **state)
{
	struct lookup *other;
	struct bed b;

	bed_open(&b, ROW_ADAGRAD, 3);
	other = open_there(&b, THREADS, 1);            /* has to grow                  */
	for (uint64_t key = 1; key <= STEPS; key++) {
		step_there(&b, b.there, key, 1);
		emulate_backwards(1);
		step_there(&b, other, key, 2 + key % 2);
		emulate_backwards(0);
	}
	assert_same_files(state, b.there, other);
	other->ops->close(other);
	bed_close(&b);
}

/* Pulled is where the row is, with what it has at home. */
static void
a_pulled_row_is_the_row(void **state)
{
	const uint64_t id[2] = { 69, 3 };
	const float *row[2], *at_home[2];
	float copy[3];
	struct bed b;

	(void)state;
	bed_open(&b, ROW_ADAM, 3);
	step_there(&b, b.there, 1, 1);
	const struct lookup_pull there = { .table = B, .ids = id, .n = 2, .row = row };
	const struct lookup_pull here = { .table = B, .ids = id, .n = 2, .row = at_home };
	assert_int_equal(b.there->ops->pull(b.there, &there), RS_OK);
	struct lookup *const home = home_of(b.there);
	assert_int_equal(home->ops->pull(home, &here), RS_OK);
	for (size_t i = 0; i < 2; i++) {
		b.gpu.gpu->use(b.queue[0]);
		b.gpu.gpu->download(copy, row[i], sizeof(copy));
		assert_int_equal(b.gpu.gpu->wait(), RS_OK);
		assert_memory_equal(copy, at_home[i], sizeof(copy));
	}
	bed_close(&b);
}

/* Masks that threads were given: how many, and cores of the smallest. */
static atomic_int n_masks, least_cores;

int
pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
	const int n = CPU_COUNT_S(bytes, set);

	(void)thread;
	atomic_fetch_add(&n_masks, 1);
	if (n < atomic_load(&least_cores))
		atomic_store(&least_cores, n);
	return 0;
}

/* Those that draw rows, when the one that pulls first keeps to a core. */
static void
threads_that_help_have_all_cores(void **state)
{
	const uint64_t id = 0;
	const float *row;
	cpu_set_t all, one;
	struct bed b;
	int core = 0;

	(void)state;
	bed_open(&b, ROW_SGD, 3);
	const struct lookup_pull pull = { .table = A, .ids = &id, .n = 1, .row = &row };
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(core, &all))
		core++;
	CPU_ZERO(&one);
	CPU_SET(core, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	atomic_store(&n_masks, 0);
	atomic_store(&least_cores, CPU_SETSIZE);
	const enum rs_status status = b.there->ops->pull(b.there, &pull);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(status, RS_OK);
	assert_int_equal(atomic_load(&n_masks), THREADS - 1);
	assert_int_equal(atomic_load(&least_cores), CPU_COUNT(&all));
	bed_close(&b);
}

static void
a_step_that_is_not_finite_is_dropped(void **state)
{
	struct lookup *other;
	struct bed b;

	bed_open(&b, ROW_FTRL, 16);
	other = open_there(&b, 1, 100);
	step_there(&b, b.there, 1, 2);
	step_there(&b, other, 1, 1);
	draw(2);
	pushed.value[1][1][1][1] = NAN;
	bring_values(&b);
	assert_int_equal(fetch(b.there, 2, 2), RS_OK);
	pull_and_push(b.there, 2, b.value, 2);
	assert_int_equal(commit(b.there, (struct lookup_commit){ .step = 2, .finite = 0,
		.rate_factor = 1 }, 2), RS_OK);
	assert_same_files(state, b.there, other);
	step_there(&b, b.there, 2, 2);
	step_there(&b, other, 2, 1);
	assert_same_files(state, b.there, other);
	other->ops->close(other);
	bed_close(&b);
}

/* A file on the way and one that is read in another lookup change nothing of what comes. */
static void
what_is_saved_goes_on_elsewhere(void **state)
{
	struct lookup *other;
	struct bed b;

	for (size_t k = 0; k < N_ROWS(kinds); k++) {
		bed_open(&b, kinds[k], 3);
		other = open_there(&b, 2, 100);
		for (uint64_t key = 1; key <= 3; key++)
			step_there(&b, b.there, key, 2);
		step_there(&b, other, 9, 2);           /* forgotten with the load      */
		for (size_t t = 0; t < TABLES; t++) {
			const char *path = path_of(state, "saved");

			free(save(b.there, t, NULL, path).bytes);
			assert_int_equal(other->ops->load(other, t, &path, 1), RS_OK);
		}
		for (uint64_t key = 4; key <= STEPS; key++) {
			step_there(&b, b.there, key, 2);
			step_there(&b, other, key, 1);
		}
		assert_same_files(state, b.there, other);
		other->ops->close(other);
		bed_close(&b);
	}
}

static void
deltas_are_what_changed(void **state)
{
	const struct lookup_step second = { 2, 1 }, third = { 3, 2 };
	struct lookup *other;
	struct bed b;

	bed_open(&b, ROW_ADAGRAD, 16);
	other = open_there(&b, 1, 100);
	step_there(&b, b.there, 1, 1);
	for (size_t t = 0; t < TABLES; t++) {
		const char *path = path_of(state, "whole");

		free(save(b.there, t, NULL, path).bytes);
		assert_int_equal(other->ops->load(other, t, &path, 1), RS_OK);
	}
	b.there->ops->forget_changes(b.there);
	for (uint64_t key = 2; key <= 3; key++) {
		const struct lookup_step *from = key == 2 ? &second : &third;

		step_there(&b, b.there, key, 2);
		for (size_t t = 0; t < TABLES; t++) {
			const char *path = path_of(state, "delta");

			free(save(b.there, t, from, path).bytes);
			assert_int_equal(other->ops->load_delta(other, t, from, path), RS_OK);
		}
		b.there->ops->forget_changes(b.there);
		assert_same_files(state, b.there, other);
	}
	other->ops->close(other);
	bed_close(&b);
}

static void
state_is_reset_where_rows_are(void **state)
{
	struct bed b;

	bed_open(&b, ROW_ADAM, 3);
	for (uint64_t key = 1; key <= 3; key++) {
		step_host(&b, key);
		step_there(&b, b.there, key, 2);
		for (size_t t = 0; key == 2 && t < TABLES; t++) {
			b.host->ops->reset_state(b.host, t);
			b.there->ops->reset_state(b.there, t);
		}
	}
	assert_near(state, &b, "reset");
	bed_close(&b);
}

static void
what_was_trained_is_touched(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b, ROW_SGD, 3);
	assert_int_equal(b.there->ops->touched(b.there, A, 259), 0);
	step_there(&b, b.there, 1, 2);
	step_host(&b, 1);
	for (size_t t = 0; t < TABLES; t++)
		for (uint64_t id = 0; id < rows_of[t]; id++)
			assert_int_equal(b.there->ops->touched(b.there, t, id),
				b.host->ops->touched(b.host, t, id));
	assert_int_equal(b.there->ops->touched(b.there, A, 259), 1);
	bed_close(&b);
}

static void
an_unknown_id_is_refused(void **state)
{
	const uint64_t id[2] = { 0, 70 };
	const float *row[2];
	struct bed b;

	(void)state;
	bed_open(&b, ROW_SGD, 3);
	const struct lookup_pull p = { .table = B, .ids = id, .n = 2, .row = row };
	assert_int_equal(b.there->ops->pull(b.there, &p), RS_EDATA);
	assert_string_equal(rs_failure()->text, "table 'b' has 70 rows, got id 70");
	bed_close(&b);
}

/* What a step left half done is no state to save. */
static void
after_a_failure_nothing_is_saved(void **state)
{
	unsigned n_failed = 0;
	struct bed b;

	for (unsigned n = 1; n_failed < n; n++) {
		struct file_writer w;

		bed_open(&b, ROW_ADAGRAD, 3);
		step_there(&b, b.there, 1, 1);
		draw(2);
		bring_values(&b);
		assert_int_equal(fetch(b.there, 2, 1 + n % THREADS), RS_OK);
		pull_and_push(b.there, 2, b.value, 1 + n % THREADS);
		emulate_fail(n);
		const enum rs_status status = commit(b.there, commit_of(2), 1 + n % THREADS);
		emulate_fail(0);
		assert_int_equal(file_writer_open(&w, path_of(state, "none")), RS_OK);
		assert_int_equal(b.there->ops->save(b.there, A, &w), status);
		file_writer_close(&w);
		bed_close(&b);
		if (status == RS_OK) {
			assert_true(n_failed > 10);
			return;
		}
		assert_int_equal(status, RS_EDEVICE);
		n_failed++;
	}
}

/* Nor is there one to go on from when rows do not come. */
static void
a_fetch_that_fails_ends_the_steps(void **state)
{
	enum rs_status status = RS_EDEVICE;
	unsigned n = 1;
	struct bed b;

	(void)state;
	for (; status != RS_OK; n++) {
		bed_open(&b, ROW_ADAGRAD, 3);
		draw(1);
		emulate_fail(n);
		status = fetch(b.there, 1, 1 + n % THREADS);
		emulate_fail(0);
		assert_true(status == RS_OK || status == RS_EDEVICE);
		bed_close(&b);
	}
	assert_true(n > 3 * n_gpus);
}

/* At any exchange: of rows or of gradients, of the first step or the second. */
static void
gpus_that_lose_each_other_fail_the_step(void **state)
{
	struct bed b;

	for (size_t after = 1; after <= 4; after++) {
		const size_t fails_fetch = after % 2;
		struct file_writer w;

		bed_open(&b, ROW_ADAM, 3);
		for (uint64_t key = 1; key < (after + 1) / 2; key++)
			step_there(&b, b.there, key, 2);
		nccl_double_break(&(struct nccl_double_plan){ .wrong = 2,
			.wrong_after = after });
		draw(2);
		bring_values(&b);
		assert_int_equal(fetch(b.there, 2, 2), fails_fetch ? RS_EPEER : RS_OK);
		if (!fails_fetch) {
			pull_and_push(b.there, 2, b.value, 2);
			assert_int_equal(commit(b.there, commit_of(2), 2), RS_EPEER);
			assert_int_equal(file_writer_open(&w, path_of(state, "none")), RS_OK);
			assert_int_equal(b.there->ops->save(b.there, A, &w), RS_EPEER);
			file_writer_close(&w);
		}
		assert_int_equal(nccl_double_count().aborted, n_gpus);
		bed_close(&b);
	}
}

/* Copies of rows are where their slot is, and are those of now. */
static void
what_is_fetched_is_the_row(void **state)
{
	const float *row[N];
	float copy[16];
	struct bed b;

	(void)state;
	bed_open(&b, ROW_ADAM, 16);
	step_there(&b, b.there, 1, 3);
	draw(2);
	assert_int_equal(fetch(b.there, 2, 3), RS_OK);
	struct lookup *const home = home_of(b.there);
	for (size_t slot = 0; slot < SLOTS; slot++) {
		const uint64_t *const ids = pushed.id[4] + begin_of(2, slot);
		const struct lookup_pull pull = { .slot = slot, .table = B, .input = 4,
			.ids = ids + 1, .n = n_of(2, slot) - 1, .row = row };

		assert_int_equal(b.there->ops->pull(b.there, &pull), RS_OK);
		b.gpu.gpu->use(b.queue[place_of(slot, 3)]);
		for (size_t j = 0; j < pull.n; j++) {
			const float *at_home;

			b.gpu.gpu->download(copy, row[j], sizeof(copy));
			assert_int_equal(b.gpu.gpu->wait(), RS_OK);
			assert_int_equal(home->ops->pull(home, &(struct lookup_pull){
				.table = B, .ids = pull.ids + j, .n = 1, .row = &at_home }), RS_OK);
			assert_memory_equal(copy, at_home, sizeof(copy));
		}
	}
	bed_close(&b);
}

static void
what_was_not_fetched_is_refused(void **state)
{
	const uint64_t other[1] = { 0 };
	const float *row[N + 1];
	struct bed b;

	(void)state;
	bed_open(&b, ROW_SGD, 3);
	draw(1);
	assert_int_equal(fetch(b.there, 1, 1), RS_OK);
	struct lookup_pull p = { .table = B, .input = 4, .ids = other, .n = 1, .row = row };
	assert_int_equal(b.there->ops->pull(b.there, &p), RS_EBUG);
	p.ids = pushed.id[4];
	p.n = n_of(1, 0) + 1;
	assert_int_equal(b.there->ops->pull(b.there, &p), RS_EBUG);
	p.n--;
	assert_int_equal(b.there->ops->pull(b.there, &p), RS_OK);
	pushed.id[4][17] = 70;
	assert_int_equal(fetch(b.there, 1, 2), RS_EDATA);
	pushed.id[4][17] = 69;
	assert_int_equal(fetch(b.there, 1, 2), RS_OK);
	bed_close(&b);
}

static void
tables_that_cannot_be_there_are_named(void **state)
{
	static const struct { struct lookup_table table; const char *why; } refused[] = {
		{ { .kind = TABLE_EXACT }, "table 'b': it is exact" },
		{ { .storage = ROW_BF16 },
		  "table 'b': its weights have two bytes (embedding.storage)" },
		{ { .resident = 1 }, "table 'b': a part of it is in a file (embedding.resident)" },
		{ { .rounds = 2 }, "table 'b': an id of it has several rows (rounds)" },
		{ { .rows = (uint64_t)1 << 33 }, "table 'b': it has more than 2^32 rows" },
		{ { .end = 3 }, "table 'b': a part of it is elsewhere" },
	};
	struct lookup_table table[2] = { { .name = "a", .rows = 5, .dim = 1 } };
	char why[DEVICE_WHY_MAX];

	(void)state;
	assert_int_equal(lookup_device_takes(table, 1, why), 1);
	for (size_t i = 0; i < N_ROWS(refused); i++) {
		table[1] = refused[i].table;
		snprintf(table[1].name, sizeof(table[1].name), "b");
		assert_int_equal(lookup_device_takes(table, 2, why), 0);
		assert_string_equal(why, refused[i].why);
	}
}

static void
more_than_the_memory_is_refused(void **state)
{
	struct lookup *l;
	struct bed b;

	(void)state;
	bed_open(&b, ROW_SGD, 3);
	struct gpu_memory little = { .gpu = &gpu_emulated, .limit = 1000 };
	const size_t n[TABLES] = { 1, 1, 1, 1 };
	const struct lookup_device_options o = { .local = options_of(&b, 1), .gpu = &little,
		.n = n };
	assert_int_equal(lookup_device_open(&o, &l), RS_ERESOURCE);
	assert_int_equal(atomic_load(&little.used), 0);
	bed_close(&b);
}

static int
on_one_gpu(void **state)
{
	(void)state;
	n_gpus = 1;
	return 0;
}

static int
on_two_gpus(void **state)
{
	(void)state;
	n_gpus = 2;
	return 0;
}

static int
on_three_gpus(void **state)
{
	(void)state;
	n_gpus = 3;
	return 0;
}

#define ON_ONE(test)     cmocka_unit_test_setup(test, on_one_gpu)
#define ON_SEVERAL(test) cmocka_unit_test_setup(test, on_two_gpus), \
	cmocka_unit_test_setup(test, on_three_gpus)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		ON_ONE(steps_are_those_of_the_host), ON_SEVERAL(steps_are_those_of_the_host),
		ON_ONE(threads_change_no_bit), ON_SEVERAL(threads_change_no_bit),
		ON_ONE(a_pulled_row_is_the_row),
		ON_ONE(threads_that_help_have_all_cores),
		ON_ONE(a_step_that_is_not_finite_is_dropped),
		ON_SEVERAL(a_step_that_is_not_finite_is_dropped),
		ON_ONE(what_is_saved_goes_on_elsewhere),
		ON_SEVERAL(what_is_saved_goes_on_elsewhere),
		ON_ONE(deltas_are_what_changed), ON_SEVERAL(deltas_are_what_changed),
		ON_ONE(state_is_reset_where_rows_are), ON_SEVERAL(state_is_reset_where_rows_are),
		ON_ONE(what_was_trained_is_touched), ON_SEVERAL(what_was_trained_is_touched),
		ON_ONE(an_unknown_id_is_refused),
		ON_ONE(after_a_failure_nothing_is_saved),
		ON_SEVERAL(after_a_failure_nothing_is_saved),
		ON_ONE(tables_that_cannot_be_there_are_named),
		ON_ONE(more_than_the_memory_is_refused),
		ON_SEVERAL(a_fetch_that_fails_ends_the_steps),
		ON_SEVERAL(gpus_that_lose_each_other_fail_the_step),
		ON_SEVERAL(what_is_fetched_is_the_row),
		ON_SEVERAL(what_was_not_fetched_is_refused),
	};

	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
