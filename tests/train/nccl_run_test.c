/* Whole runs of ranks with a GPU each, which is emulated, that sum over a double of NCCL: their
 * figures are those of one process, and a lost rank or a failure is made good by the next round,
 * but for that of a GPU. */
#include <math.h>
#include <string.h>

#include "base/thread.h"
#include "place_run.h"
#include "gpu_bed.h"
#include "kernel/kernel.h"
#include "reduce/gpu_sums.h"
#include "reduce/nccl_exchange.h"
#include "tests/reduce/nccl_double.h"
#include "train/step.h"

enum { RANKS = 3 };

/* What goes wrong in the first round. */
struct trouble {
	size_t rank, call;             /* dies at this call of what NCCL does not carry; 0: none */
	struct nccl_double_plan plan;
	unsigned kernel;               /* the one of all ranks that fails, see emulate_fail() */
};

struct run {
	const char *model, *valid;     /* valid NULL: that of the spec                */
	size_t n_ranks, bucket_bytes;  /* n_ranks 0: one process, without a place     */
	int    threads, by_host;       /* by_host: the sum of a rank is made there    */
	int    has_two;                /* GPUs in each rank                           */
	struct trouble trouble;
	enum rs_status wanted;
	char directory[300];           /* out                                         */
	size_t n_rounds, n_wanted;     /* out: ranks that ended as wanted             */
	struct train_summary summary;  /* out, without files                          */
};

static struct gpu_memory own[RANKS];
static int by_host;

/* All ranks open theirs together. */
static enum rs_status
cover(struct job *job, struct train_place *place)
{
	struct exchange base = *place->exchange, *out;
	const struct nccl_exchange_options o = { .inner = place->exchange,
		.calls = &nccl_double, .gpu = &own[place->rank] };
	char why[NCCL_WHY];

	(void)job;
	RS_TRY(kernel_select("ref", &base.kernel));
	RS_TRY(nccl_exchange_open(&base, &o, &out, why));
	assert_string_equal(why, "");
	assert_ptr_equal(out->gpu, own[place->rank].n_devices == 1 ? &own[place->rank] : NULL);
	if (by_host)
		out->gpu = NULL;
	place->exchange = out;
	return RS_OK;
}

/* 1: it was the last. */
static int
run_round(struct run *run, struct job *job)
{
	const size_t n = run->n_ranks > 0 ? run->n_ranks : 1;
	const struct trouble *const t = &run->trouble;
	struct place_hub *const hub = run->n_ranks > 0 ? place_hub_open(n, HUB_NONE) : NULL;
	int over = 1;

	emulate_fail(run->n_rounds == 0 ? t->kernel : 0);
	nccl_double_reset(run->n_rounds == 0 ? &t->plan : &(struct nccl_double_plan){ 0 });
	if (hub != NULL) {
		place_hub_set_round(hub, (uint32_t)run->n_rounds + 1);
		place_hub_cut(hub, run->bucket_bytes);
		if (t->call > 0 && run->n_rounds == 0)
			place_hub_fail_call(hub, t->rank, t->call, 0);
	}
	for (size_t r = 0; r < n; r++)
		train_summary_free(&job[r].summary);
	place_run_jobs(job, n, hub);
	emulate_fail(0);
	for (size_t r = 0; r < n; r++)
		over &= job[r].status != RS_EPEER && job[r].status != RS_ERESOURCE;
	for (size_t r = 0; r < n; r++)
		over |= job[r].status == RS_EDEVICE;
	if (hub != NULL)
		place_hub_close(hub);
	run->n_rounds++;
	return over;
}

static void
train(struct run *run)
{
	static unsigned number;
	const size_t n = run->n_ranks > 0 ? run->n_ranks : 1;
	struct job job[HUB_RANKS];

	snprintf(run->directory, sizeof(run->directory), "%s/run-%u", place_run_top, number++);
	place_run_begin(job, n, place_run_spec(run->model), run->directory);
	for (size_t r = 0; r < n; r++) {
		own[r] = (struct gpu_memory){ .gpu = &gpu_emulated, .n_devices = 1,
			.device = { (int)r } };
		if (run->has_two)
			own[r] = (struct gpu_memory){ .gpu = &gpu_emulated, .n_devices = 2,
				.device = { (int)(2 * r), (int)(2 * r) + 1 } };
		job[r].gpu = &own[r];
		job[r].valid = run->valid;
		job[r].threads = run->threads;
		job[r].cover = run->n_ranks > 0 ? cover : NULL;
		assert_int_equal(live_open(2, &job[r].live), RS_OK);
	}
	by_host = run->by_host;
	while (!run_round(run, job) && run->n_rounds < 4)
		continue;
	for (size_t r = 0; r < n; r++)
		if (job[r].status != run->wanted
		    && (run->wanted != RS_EDEVICE || job[r].status != RS_EPEER))
			fail_msg("%s, rank %zu: %s", run->model, r, job[r].failure.text);
	for (size_t r = 0; r < n; r++)
		run->n_wanted += job[r].status == run->wanted;
	run->summary = job[0].summary;
	for (size_t r = 0; r < n; r++)
		live_close(job[r].live);
	place_run_free(job, n);
	for (size_t r = 0; r < n; r++)
		assert_int_equal(atomic_load(&own[r].used), 0);
	assert_clean(run->model);
}

/* That ranks stay equal to the bit is looked at in every step. */
static void
figures_are_those_of_one_process(void **state)
{
	static const char *const model[] = { "early", "deepfm", "softmax" };
	char valid[300];

	(void)state;
	snprintf(valid, sizeof(valid), "%s/train.csv", place_run_top);
	for (size_t i = 0; i < N_ROWS(model); i++) {
		struct run alone = { .model = model[i], .valid = valid };
		struct run ranks = { .model = model[i], .valid = valid, .n_ranks = RANKS };

		train(&alone);
		train(&ranks);
		const struct nccl_double_count c = nccl_double_count();
		assert_int_equal(ranks.n_rounds, 1);
		assert_int_equal(c.groups, 1);
		assert_int_equal(c.aborted, 0);
		assert_int_equal(c.destroyed, RANKS);
		assert_true(c.sums >= ranks.summary.step);
		assert_int_equal(ranks.summary.step, alone.summary.step);
		assert_int_equal(ranks.summary.rows_trained, alone.summary.rows_trained);
		if (!(fabs(ranks.summary.loss / alone.summary.loss - 1) < 1e-4))
			fail_msg("%s: loss %.9g, in one process %.9g", model[i],
				ranks.summary.loss, alone.summary.loss);
		if (i < 1 && !(fabs(ranks.summary.valid.auc - alone.summary.valid.auc) <= 0.0005))
			fail_msg("%s: auc %g, in one process %g", model[i],
				ranks.summary.valid.auc, alone.summary.valid.auc);
	}
}

/* A thread beside the workers sums all but the last bucket; the sums are the same. */
static void
buckets_change_no_bit(void **state)
{
	struct run whole = { .model = "wide", .n_ranks = RANKS };
	struct run cut = { .model = "wide", .n_ranks = RANKS, .bucket_bytes = 256 };

	(void)state;
	train(&whole);
	const size_t n_sums = nccl_double_count().sums;
	train(&cut);
	if (nccl_double_count().sums < 2 * n_sums)
		fail_msg("%zu sums, before %zu", nccl_double_count().sums, n_sums);
	assert_true(fabs(cut.summary.loss / whole.summary.loss - 1) < 1e-5);
}

/* What differs are gradients of slots that have rows, and sums of ranks on their way up. */
static void
only_the_total_of_gradients_comes_to_the_host(void **state)
{
	enum { SLOTS_OF_AN_EPOCH = 5 + 5 + 5 + 3, EPOCHS = 4, STEPS = 4 * EPOCHS };
	struct run there = { .model = "wide", .n_ranks = RANKS, .bucket_bytes = 256 };
	struct run host = { .model = "wide", .n_ranks = RANKS, .bucket_bytes = 256, .by_host = 1 };

	(void)state;
	(void)emulated_gpu_copies();
	train(&there);
	const struct emulated_gpu_copies least = emulated_gpu_copies();
	train(&host);
	const struct emulated_gpu_copies most = emulated_gpu_copies();
	const size_t gradient = (most.up - least.up) / (RANKS * STEPS);
	assert_int_equal(there.summary.step, STEPS);
	assert_true(gradient > 32 * 16 * sizeof(float));
	assert_int_equal(most.up - least.up, RANKS * STEPS * gradient);
	assert_int_equal(most.down - least.down, EPOCHS * SLOTS_OF_AN_EPOCH * gradient);
	assert_true(fabs(there.summary.loss / host.summary.loss - 1) < 1e-5);
}

/* Whichever thread had which slot. */
static void
runs_have_the_same_bits(void **state)
{
	static const char *const model[] = { "wide", "deepfm", "din", "softmax" };

	(void)state;
	for (size_t i = 0; i < N_ROWS(model); i++) {
		struct run one = { .model = model[i], .n_ranks = RANKS, .bucket_bytes = 256 };
		struct run two = { .model = model[i], .n_ranks = RANKS, .bucket_bytes = 256,
			.threads = 2 };

		train(&one);
		train(&two);
		place_run_assert_same(one.directory, two.directory, 0);
		assert_true(one.summary.loss == two.summary.loss);
	}
}

/* Of step_check_gpu(), to the byte. */
static size_t
least_limit(const struct model *m, size_t *limit)
{
	size_t few = 1, enough = EMULATED_GPU_BYTES / 2;

	while (few < enough) {
		*limit = (few + enough) / 2;
		if (step_check_gpu(m, &(size_t){ 1 }, 1, 0) == RS_OK)
			enough = *limit;
		else
			few = *limit + 1;
	}
	return enough;
}

/* Ranks 0, 1 and 2 have one slot of five, two and two. */
static void
gradients_are_counted_before_the_first_step(void **state)
{
	(void)state;
	for (size_t r = 0; r < RANKS; r++) {
		struct gpu_memory one = { .gpu = &gpu_emulated, .n_devices = 1 };
		struct exchange e = { .rank = r, .n_ranks = RANKS };
		const struct train_place place = { .rank = r, .n_ranks = RANKS, .exchange = &e };
		const struct model_options options = { .kernel = "ref", .gpu = &one,
			.n_threads = 1, .shape_only = 1, .place = &place };
		char text[4096];
		struct spec *spec;
		struct model *m;

		snprintf(text, sizeof(text), place_run_spec("wide"), place_run_top, place_run_top);
		assert_int_equal(spec_load_text(text, "wide", &spec), RS_OK);
		assert_int_equal(model_create(spec, &options, &m), RS_OK);
		const size_t by_the_host = least_limit(m, &one.limit);
		e.gpu = &one;
		assert_int_equal(least_limit(m, &one.limit) - by_the_host,
			gpu_sums_bytes(r == 0 ? 1 : 2, m->P));
		assert_true(gpu_sums_bytes(1, m->P) >= m->P * sizeof(float));
		model_free(m);
	}
}

/* The host adds up what comes from several. */
static void
ranks_of_several_gpus_sum_as_those_of_one(void **state)
{
	struct run one = { .model = "wide", .n_ranks = 2, .bucket_bytes = 256, .threads = 2 };
	struct run several = { .model = "wide", .n_ranks = 2, .bucket_bytes = 256, .threads = 2,
		.has_two = 1 };

	(void)state;
	(void)emulated_gpu_marks();
	train(&one);
	assert_true(emulated_gpu_marks().n_set > 0);
	train(&several);
	assert_int_equal(emulated_gpu_marks().n_set, 0);
	assert_int_equal(several.summary.step, one.summary.step);
	assert_true(fabs(several.summary.loss / one.summary.loss - 1) < 1e-5);
}

static size_t n_buckets;
static atomic_size_t passes[RANKS], n_goes_on;

/* Before it goes on with a pass, a rank waits until the sum of what it had before is asked for. */
static void
wait_for_sum(int device, unsigned n)
{
	static _Thread_local size_t n_started;
	const double until = clock_seconds() + 120;

	if (n > 0 && emulate_started() > n_started)
		atomic_fetch_add(&n_goes_on, 1);
	n_started = emulate_started();

	if (n == 0)
		atomic_fetch_add(&passes[device], 1);
	const size_t wanted = (atomic_load(&passes[device]) - 1) * n_buckets + n;
	while (nccl_double_asked((size_t)device) < wanted) {
		assert_true(clock_seconds() < until);
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
}

static void
sums_begin_before_the_pass_has_ended(void **state)
{
	struct run free = { .model = "a_slot_each", .n_ranks = RANKS, .bucket_bytes = 256 };
	struct run held = free;

	(void)state;
	train(&free);
	n_buckets = nccl_double_count().sums / free.summary.step;
	assert_true(n_buckets > 2);
	(void)emulated_gpu_replays();
	(void)emulated_gpu_marks();
	emulated_gpu_on_mark(wait_for_sum);
	train(&held);
	emulated_gpu_on_mark(NULL);
	assert_true(emulated_gpu_replays() > 0);
	/* All in one place, at the end of the pass, it would be that many. */
	assert_true(emulated_gpu_marks().n_repeated < RANKS * held.summary.step * (n_buckets - 2));
	for (size_t r = 0; r < RANKS; r++)
		assert_int_equal(atomic_load(&passes[r]), held.summary.step);
	assert_true(atomic_load(&n_goes_on) >= RANKS * held.summary.step);
	place_run_assert_same(free.directory, held.directory, 0);
}

static void
a_lost_rank_is_made_good_by_a_new_group(void **state)
{
	static const struct trouble trouble[] = {
		{ .rank = 1, .call = 40 }, { .rank = 0, .call = 25 }, { .rank = 2, .call = 4 },
		{ .plan = { .wrong = 2, .wrong_after = 5 } },
	};
	struct run whole = { .model = "early", .n_ranks = RANKS };

	(void)state;
	train(&whole);
	for (size_t i = 0; i < N_ROWS(trouble); i++) {
		struct run lost = { .model = "early", .n_ranks = RANKS, .trouble = trouble[i] };

		train(&lost);
		assert_int_equal(lost.n_rounds, 2);
		assert_int_equal(nccl_double_count().groups, 1);
		assert_int_equal(nccl_double_count().aborted, 0);
		place_run_assert_same(whole.directory, lost.directory, 0);
		assert_true(lost.summary.loss == whole.summary.loss);
	}
}

/* In the step, or what sums: the kernel, copy or product that fails is of one rank. */
static void
a_gpu_that_fails_is_no_lost_rank(void **state)
{
	(void)state;
	for (unsigned n = 300; n < 10000; n *= 5) {
		struct run run = { .model = "early", .n_ranks = RANKS, .wanted = RS_EDEVICE,
			.trouble = { .kernel = n } };

		train(&run);
		assert_int_equal(run.n_rounds, 1);
		assert_int_equal(run.n_wanted, 1);
	}
}

static void
a_run_that_diverges_ends_in_all_ranks(void **state)
{
	struct run run = { .model = "diverging", .n_ranks = RANKS, .wanted = RS_EDIVERGED };

	(void)state;
	train(&run);
	assert_int_equal(run.n_rounds, 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_of_one_process),
		cmocka_unit_test(buckets_change_no_bit),
		cmocka_unit_test(only_the_total_of_gradients_comes_to_the_host),
		cmocka_unit_test(gradients_are_counted_before_the_first_step),
		cmocka_unit_test(runs_have_the_same_bits),
		cmocka_unit_test(ranks_of_several_gpus_sum_as_those_of_one),
		cmocka_unit_test(sums_begin_before_the_pass_has_ended),
		cmocka_unit_test(a_lost_rank_is_made_good_by_a_new_group),
		cmocka_unit_test(a_gpu_that_fails_is_no_lost_rank),
		cmocka_unit_test(a_run_that_diverges_ends_in_all_ranks),
	};

	return cmocka_run_group_tests(tests, place_run_set_up, place_run_tear_down);
}
