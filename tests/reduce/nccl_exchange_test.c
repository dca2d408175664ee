/*
 * Sums of ranks with a GPU each over a double of NCCL: ranks are threads, what goes not over
 * NCCL goes over shared memory.
 */
#include "reduce/nccl_exchange.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/test.h"

#include "base/thread.h"
#include "kernel/kernel.h"
#include "nccl_double.h"
#include "plane_bed.h"
#include "tests/kernel/emulated_gpu.h"

enum { RANKS_MAX = 5, HEADS = 5, STEPS = 3 };
#define LARGE (NCCL_PIECE * (NCCL_LANES + 1) + 17)

static const struct kernel_set *kernel;

/* Of all ranks of a test. */
struct bed {
	struct plane_size size;
	int    fd;
	size_t bytes, n_buckets;
	double timeout;
	atomic_int stop;
	int    is_integer;
	size_t wild_step, wild_rank;   /* step 0: none                                    */
	float  wild;
	size_t leaver, leaves_after;   /* this rank ends after so many steps              */
	double leaves_late;            /* seconds that it hangs before                    */
	int    stops;                  /* all others, first                               */
	const char *why_not;           /* of the last rank; NULL: it can                  */
	int    shares_gpu, has_no_gpu; /* the last: that of the one before; one not there */
	int    has_two;                /* GPUs each                                       */
};

struct rank {
	struct bed *bed;
	size_t rank;
	struct gpu_memory gpu;
	float *x;                      /* out: [STEPS,n_floats]                           */
	double head[STEPS][HEADS];
	enum rs_status status, again;
	char   text[1024], why[NCCL_WHY];
	int    is_nccl;
	const struct gpu_memory *takes;        /* what of it the exchange takes sums from */
	size_t gpu_bytes;
	double seconds;
};

/* --- a rank -------------------------------------------------------------------------------- */

static float
integer(uint64_t step, size_t slot, size_t i)
{
	return (float)((step * 97 + slot * 31 + i * 7) % 2001) - 1000;
}

static void
set_integers(const struct bed *b, uint64_t step, struct exchange_part *part, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		float *x = (float *)(uintptr_t)part[k].x;

		for (size_t i = 0; i < b->size.n_floats; i++) {
			x[i] = 0;
			for (size_t slot = part[k].node.begin; slot < part[k].node.end; slot++)
				x[i] += integer(step, slot, i);
		}
	}
}

static enum rs_status
run_step(struct rank *r, struct exchange *e, uint64_t step)
{
	const struct bed *const b = r->bed;
	struct exchange_part part[2 * TREE_MAX_DEPTH];
	const size_t n = plane_parts(&b->size, step, r->rank, part);

	if (b->is_integer)
		set_integers(b, step, part, n);
	if (step == b->wild_step && r->rank == b->wild_rank)
		((float *)(uintptr_t)part[n - 1].x)[b->size.n_floats / 2] = b->wild;
	const enum rs_status status = plane_sum(e, &b->size, step, b->n_buckets, part, n,
		r->head[step - 1], r->x + (step - 1) * b->size.n_floats);
	plane_parts_free(part, n);
	return status;
}

static void
hang(double seconds)
{
	nanosleep(&(struct timespec){ .tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) }, NULL);
}

static enum rs_status
run_steps(struct rank *r, struct exchange *e)
{
	char word[] = "none";
	char all[RANKS_MAX];
	size_t begin[RANKS_MAX + 1];

	for (uint64_t step = 1; step <= STEPS; step++) {
		if (r->rank == r->bed->leaver && step > r->bed->leaves_after) {
			atomic_store(&r->bed->stop, r->bed->stops);
			hang(r->bed->leaves_late);
			return RS_OK;
		}
		RS_TRY(run_step(r, e, step));
	}
	if (r->rank == 0)
		memcpy(word, "word", sizeof(word));
	RS_TRY(e->ops->broadcast(e, word, sizeof(word)));
	assert_string_equal(word, "word");
	for (size_t i = 0; i <= e->n_ranks; i++)
		begin[i] = i;
	all[r->rank] = (char)('a' + r->rank);
	RS_TRY(e->ops->gather(e, all, begin));
	assert_memory_equal(all, "abcde", e->n_ranks);
	return RS_OK;
}

static enum rs_status
open_exchange(struct rank *r, struct exchange **inner, struct exchange **out)
{
	struct bed *const b = r->bed;
	const struct exchange base = { .rank = r->rank, .n_ranks = b->size.n_ranks,
		.kernel = kernel, .stop = &b->stop, .timeout = b->timeout };
	const int is_last = r->rank == base.n_ranks - 1;
	const struct nccl_exchange_options o = {
		.calls = &nccl_double, .gpu = &r->gpu, .why_not = is_last ? b->why_not : NULL,
	};
	struct nccl_exchange_options with = o;

	RS_TRY(exchange_shm_open(&base, b->fd, b->bytes, 1, inner));
	with.inner = *inner;
	RS_TRY(nccl_exchange_open(&base, &with, out, r->why));
	r->is_nccl = *out != NULL;
	r->gpu_bytes = atomic_load(&r->gpu.used);
	r->takes = *out != NULL ? (*out)->gpu : NULL;
	if (*out != NULL)
		*inner = NULL;
	return RS_OK;
}

static void *
rank_main(void *context)
{
	struct rank *const r = context;
	struct exchange *inner = NULL, *e = NULL;
	const double begin = clock_seconds();

	r->status = open_exchange(r, &inner, &e);
	if (r->status == RS_OK)
		r->status = run_steps(r, e != NULL ? e : inner);
	r->seconds = clock_seconds() - begin;
	snprintf(r->text, sizeof(r->text), "%s", r->status == RS_OK ? "" : rs_failure()->text);
	r->again = e == NULL || r->status == RS_OK ? r->status : run_step(r, e, STEPS);
	if (e != NULL)
		e->ops->close(e);
	if (inner != NULL)
		inner->ops->close(inner);
	return NULL;
}

/* --- all of them --------------------------------------------------------------------------- */

static void
open_bed(struct bed *b, size_t n_ranks, size_t n_slots, size_t n_floats)
{
	*b = (struct bed){ .size = { n_slots, n_ranks, HEADS, n_floats }, .n_buckets = 1,
		.timeout = 30, .leaver = SIZE_MAX, .is_integer = 1 };
	b->bytes = exchange_shm_bytes(n_ranks, n_slots, n_floats);
	b->fd = memfd_create("exchange", MFD_CLOEXEC);
	assert_true(b->fd >= 0);
	assert_int_equal(ftruncate(b->fd, (off_t)b->bytes), 0);
}

static void
run_ranks(struct bed *b, struct rank rank[RANKS_MAX])
{
	pthread_t thread[RANKS_MAX];

	for (size_t r = 0; r < b->size.n_ranks; r++) {
		const int is_last = r == b->size.n_ranks - 1;
		const int device = b->shares_gpu && is_last ? (int)r - 1
			: b->has_no_gpu && is_last ? EMULATED_GPUS : (int)r;

		rank[r] = (struct rank){ .bed = b, .rank = r, .gpu = { .gpu = &gpu_emulated,
			.n_devices = b->has_two ? 2 : 1,
			.device = { device, (device + 1) % EMULATED_GPUS } } };
		rank[r].x = calloc(STEPS * b->size.n_floats + 1, sizeof(float));
		assert_int_equal(pthread_create(&thread[r], NULL, rank_main, &rank[r]), 0);
	}
	for (size_t r = 0; r < b->size.n_ranks; r++)
		pthread_join(thread[r], NULL);
}

static void
close_bed(struct bed *b, struct rank rank[RANKS_MAX])
{
	const char *where;

	for (size_t r = 0; r < b->size.n_ranks; r++) {
		free(rank[r].x);
		assert_int_equal(atomic_load(&rank[r].gpu.used), 0);
	}
	close(b->fd);
	if (emulate_violations(&where) > 0)
		fail_msg("%s", where);
	assert_int_equal(emulated_gpu_in_use(), 0);
	nccl_double_reset(&(struct nccl_double_plan){ 0 });
}

static void
assert_fine(const struct bed *b, const struct rank rank[RANKS_MAX])
{
	for (size_t r = 0; r < b->size.n_ranks; r++)
		if (rank[r].status != RS_OK)
			fail_msg("rank %zu: %s", r, rank[r].text);
}

static float
expected(const struct bed *b, uint64_t step, size_t i)
{
	float sum = 0;

	for (size_t slot = 0; slot < b->size.n_slots; slot++)
		sum += integer(step, slot, i);
	return sum;
}

static void
assert_exact(const struct bed *b, const struct rank *r)
{
	const size_t n = b->size.n_floats;

	for (uint64_t step = 1; step <= STEPS; step++) {
		for (size_t i = 0; i < n; i++)
			if (r->x[(step - 1) * n + i] != expected(b, step, i))
				fail_msg("rank %zu, step %d, float %zu: %g", r->rank, (int)step, i,
					r->x[(step - 1) * n + i]);
		for (size_t i = 0; i < HEADS; i++)
			assert_true(r->head[step - 1][i]
				== plane_head(step, 0, b->size.n_slots, i));
	}
}

/* --- tests --------------------------------------------------------------------------------- */

static void
whole_numbers_are_summed_exactly(void **state)
{
	static const struct { size_t n_ranks, n_slots, n_floats, n_buckets; int lag; } row[] = {
		{ 2, 8, 1000, 1, 0 }, { 3, 8, 1000, 3, 2 }, { 5, 8, 1, 1, 0 }, { 5, 13, 100, 4, 1 },
		{ 3, 3, LARGE, 1, 0 }, { 2, 2, LARGE, 2, 0 }, { 2, 2, 0, 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(row); i++) {
		struct rank rank[RANKS_MAX];
		struct bed b;

		nccl_double_reset(&(struct nccl_double_plan){ .lag = row[i].lag });
		open_bed(&b, row[i].n_ranks, row[i].n_slots, row[i].n_floats);
		b.n_buckets = row[i].n_buckets;
		b.has_two = i % 2;
		run_ranks(&b, rank);
		const struct nccl_double_count c = nccl_double_count();
		assert_fine(&b, rank);
		assert_int_equal(c.groups, 1);
		assert_int_equal(c.aborted, 0);
		assert_int_equal(c.destroyed, row[i].n_ranks);
		assert_true(row[i].n_floats == 0 || c.sums >= STEPS);
		for (size_t r = 0; r < row[i].n_ranks; r++) {
			assert_true(rank[r].is_nccl);
			assert_ptr_equal(rank[r].takes, b.has_two ? NULL : &rank[r].gpu);
			/* Lanes have no room for products. */
			assert_true(rank[r].gpu_bytes
				== NCCL_LANES * NCCL_LANE_BYTES);
			assert_exact(&b, &rank[r]);
		}
		close_bed(&b, rank);
	}
}

/* Ranks have the same bits, which are those of the tree to rounding. */
static void
other_numbers_are_summed_to_rounding(void **state)
{
	struct rank rank[RANKS_MAX];
	struct bed b;

	(void)state;
	open_bed(&b, 3, 8, 3000);
	b.is_integer = 0;
	run_ranks(&b, rank);
	assert_fine(&b, rank);
	float *const tree = calloc(b.size.n_floats, sizeof(*tree));
	plane_floats(STEPS, 0, b.size.n_slots, b.size.n_floats, tree);
	const float *const got = rank[0].x + (STEPS - 1) * b.size.n_floats;
	assert_memory_not_equal(got, tree, b.size.n_floats * sizeof(*tree));
	for (size_t i = 0; i < b.size.n_floats; i++)
		assert_true(fabs((double)got[i] - tree[i]) <= 1e-6 * 5e8);
	for (size_t r = 1; r < 3; r++) {
		assert_memory_equal(rank[r].x, rank[0].x,
			STEPS * b.size.n_floats * sizeof(float));
		assert_memory_equal(rank[r].head, rank[0].head, sizeof(rank[r].head));
	}
	free(tree);
	close_bed(&b, rank);
}

static int
is_wild(const struct bed *b, const struct rank *r, uint64_t step)
{
	int bad = 0;

	kernel->finite(b->size.n_floats, r->x + (step - 1) * b->size.n_floats, &bad);
	return bad;
}

/* Of one rank in one step; of many slots or one. */
static void
what_one_rank_must_not_sum_all_see(void **state)
{
	static const struct { size_t rank, n_slots; float wild; } row[] = {
		{ 0, 8, NAN }, { 1, 3, INFINITY }, { 2, 8, -INFINITY }, { 1, 8, 0x1p101F },
		{ 2, 3, -0x1p120F },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(row); i++) {
		struct rank rank[RANKS_MAX];
		struct bed b;

		open_bed(&b, 3, row[i].n_slots, 1000);
		b.wild = row[i].wild;
		b.wild_step = 2;
		b.wild_rank = row[i].rank;
		run_ranks(&b, rank);
		assert_fine(&b, rank);
		for (size_t r = 0; r < 3; r++)
			for (uint64_t step = 1; step <= STEPS; step++)
				assert_int_equal(is_wild(&b, &rank[r], step), step == 2);
		close_bed(&b, rank);
	}
}

/* All but the one that left; it may have come to the end. */
static void
assert_others_failed(const struct bed *b, const struct rank *rank, double seconds)
{
	for (size_t r = 0; r < b->size.n_ranks; r++) {
		if (r == b->leaver)
			continue;
		const int is_own = rank[r].status == RS_EDEVICE
			&& strstr(rank[r].text, "GPU: a kernel or copy failed") != NULL;

		if ((rank[r].status != RS_EPEER && !is_own) || rank[r].again != RS_EPEER)
			fail_msg("rank %zu: %s", r, rank[r].text);
		assert_true(rank[r].seconds < seconds);
	}
	assert_true(nccl_double_count().aborted >= b->size.n_ranks - 1);
}

static void
rank_that_is_gone_ends_the_sum_of_the_others(void **state)
{
	(void)state;
	for (size_t leaver = 0; leaver < 3; leaver++) {
		struct rank rank[RANKS_MAX];
		struct bed b;

		open_bed(&b, 3, 8, 1000);
		b.leaver = leaver;
		b.leaves_after = 1;
		b.n_buckets = leaver == 1 ? 2 : 1;
		b.timeout = 2;
		run_ranks(&b, rank);
		assert_others_failed(&b, rank, 20);
		close_bed(&b, rank);
	}
}

/* Heads go another way, which has its own deadline: here there are none yet. */
static void
rank_that_hangs_is_waited_for_so_long(void **state)
{
	struct rank rank[RANKS_MAX];
	struct bed b;

	(void)state;
	open_bed(&b, 3, 8, 1000);
	b.leaver = 1;
	b.leaves_late = 4;
	b.n_buckets = 2;
	b.timeout = 2;
	run_ranks(&b, rank);
	assert_others_failed(&b, rank, 20);
	assert_non_null(strstr(rank[0].text,
		"NCCL: worker 0 of 3: sum of step 1: not over after 2 s"));
	close_bed(&b, rank);
}

static void
run_that_goes_back_is_not_waited_for(void **state)
{
	struct rank rank[RANKS_MAX];
	struct bed b;

	(void)state;
	open_bed(&b, 3, 8, 1000);
	b.leaver = 1;
	b.leaves_after = 1;
	b.leaves_late = 0.5;
	b.stops = 1;
	b.n_buckets = 2;
	b.timeout = 500;
	run_ranks(&b, rank);
	assert_others_failed(&b, rank, 100);
	close_bed(&b, rank);
}

/* NCCL's own, and one of the GPU, which is no peer that is lost: before the sum is asked for, and
 * after. */
static void
failure_in_one_rank_ends_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct rank rank[RANKS_MAX];
		struct bed b;
		size_t n_told = 0, n_own = 0;

		nccl_double_reset(&(struct nccl_double_plan){ .wrong = i == 0 ? 2 : 0,
			.wrong_after = 2 });
		emulate_fail(i == 0 ? 0 : (unsigned)(6 + i));
		open_bed(&b, 3, 8, 1000);
		b.timeout = 2;
		run_ranks(&b, rank);
		emulate_fail(0);
		assert_others_failed(&b, rank, 20);
		for (size_t r = 0; r < 3; r++) {
			n_own += rank[r].status == RS_EDEVICE;
			n_told += strstr(rank[r].text, i == 0
				? "worker 1 of 3: sum of step 2: the cable is out"
				: "GPU: a kernel or copy failed") != NULL;
		}
		if (n_told != 1 || n_own != (i > 0))
			fail_msg("%zu: '%s' '%s' '%s'", i, rank[0].text, rank[1].text,
				rank[2].text);
		close_bed(&b, rank);
	}
}

/* All say the same of it and go on without. */
static void
ranks_that_cannot_all_agree_to_do_without(void **state)
{
	static const struct {
		const char *why_not;
		int shares_gpu, has_no_gpu;
		struct nccl_double_plan plan;
		const char *text;
	} row[] = {
		{ "no NVIDIA GPU was found", .text = "worker 2: no NVIDIA GPU was found" },
		{ .shares_gpu = 1, .text = "workers 1 and 2 have one GPU together" },
		{ .has_no_gpu = 1, .text = "worker 2: GPU: cannot be used: there is no GPU 5" },
		{ .plan = { .has_no_id = 1 }, .text = "worker 0: NCCL: no id: no socket" },
		{ .plan = { .wrong = 2 },
		  .text = "NCCL: worker 1 of 3: start: the cable is out" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(row); i++) {
		struct rank rank[RANKS_MAX];
		struct bed b;

		nccl_double_reset(&row[i].plan);
		open_bed(&b, 3, 8, 1000);
		b.why_not = row[i].why_not;
		b.shares_gpu = row[i].shares_gpu;
		b.has_no_gpu = row[i].has_no_gpu;
		run_ranks(&b, rank);
		assert_fine(&b, rank);
		for (size_t r = 0; r < 3; r++) {
			assert_false(rank[r].is_nccl);
			assert_exact(&b, &rank[r]);
			if (strstr(rank[r].why, row[i].text) == NULL)
				fail_msg("'%s' does not say '%s'", rank[r].why, row[i].text);
		}
		assert_int_equal(nccl_double_count().sums, 0);
		close_bed(&b, rank);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers_are_summed_exactly),
		cmocka_unit_test(other_numbers_are_summed_to_rounding),
		cmocka_unit_test(what_one_rank_must_not_sum_all_see),
		cmocka_unit_test(rank_that_is_gone_ends_the_sum_of_the_others),
		cmocka_unit_test(rank_that_hangs_is_waited_for_so_long),
		cmocka_unit_test(run_that_goes_back_is_not_waited_for),
		cmocka_unit_test(failure_in_one_rank_ends_all),
		cmocka_unit_test(ranks_that_cannot_all_agree_to_do_without),
	};

	assert(kernel_select("auto", &kernel) == RS_OK);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
