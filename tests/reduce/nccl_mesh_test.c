/* Floats between GPUs, which are emulated, with a double of NCCL: they are where they were sent,
 * and whatever goes wrong ends in a failure with the GPUs free. */
#include "reduce/nccl_mesh.h"

#include <string.h>

#include "nccl_double.h"
#include "tests/kernel/emulated_gpu.h"
#include "tests/test.h"

enum { GPUS = 3, FLOATS = 600, PIECE = 64 };

/* Two blocks a GPU: what it has, and what it gets. */
struct bed {
	struct gpu_memory gpu;
	struct gpu_mesh *mesh;
	struct gpu_plan plan[GPUS];
	struct gpu_queue *queue[GPUS];
	float *own[GPUS], *got[GPUS];  /* own in memory of the queue, got in that of all  */
	float  text[GPUS][FLOATS], back[GPUS][FLOATS];
};

static void
bed_open(struct bed *b)
{
	memset(b, 0, sizeof(*b));
	b->gpu = (struct gpu_memory){ .gpu = &gpu_emulated, .n_devices = GPUS,
		.device = { 2, 0, 3 } };
	for (size_t i = 0; i < GPUS; i++) {
		char *block;

		b->plan[i] = (struct gpu_plan){ .bytes = sizeof(b->text[i]), .rows = 1,
			.columns = 1 };
		assert_int_equal(gpu_memory_open(&b->gpu, i, &b->plan[i], &b->queue[i], &block),
			RS_OK);
		b->own[i] = (float *)(void *)block;
		assert_int_equal(gpu_memory_alloc(&b->gpu, i, sizeof(b->text[i]), &b->got[i]),
			RS_OK);
		for (size_t k = 0; k < FLOATS; k++)
			b->text[i][k] = (float)(1000 * i + k);
	}
}

static void
bed_close(struct bed *b)
{
	const char *where;

	if (b->mesh != NULL)
		b->mesh->ops->close(b->mesh);
	for (size_t i = 0; i < GPUS; i++) {
		gpu_memory_free(&b->gpu, i, b->got[i], sizeof(b->text[i]));
		gpu_memory_close(&b->gpu, &b->plan[i], b->queue[i]);
	}
	assert_int_equal(atomic_load(&b->gpu.used), 0);
	assert_int_equal(emulated_gpu_in_use(), 0);
	if (emulate_violations(&where) > 0)
		fail_msg("%s", where);
}

/* Own memory is filled in the queue, in which the moves come behind, and behind them a copy on one
 * of the GPUs. */
static enum rs_status
move_all(struct bed *b, const struct gpu_move *move, size_t n)
{
	const struct gpu *const gpu = b->gpu.gpu;

	for (size_t i = 0; i < GPUS; i++) {
		gpu->use(b->queue[i]);
		gpu->upload(b->own[i], b->text[i], sizeof(b->text[i]));
	}
	RS_TRY(b->mesh->ops->start(b->mesh, b->queue, move, n));
	gpu->use(b->queue[1]);
	gpu->download(b->back[1], b->own[1], sizeof(b->back[1]));
	return b->mesh->ops->wait(b->mesh, b->queue);
}

/* From each to each, itself too, pieces of lengths that differ, two of a pair in order. */
static size_t
pieces_of(const struct bed *b, struct gpu_move *move, float want[GPUS][FLOATS])
{
	size_t n = 0;

	for (size_t to = 0; to < GPUS; to++)
		for (size_t from = 0, at = 0; from < GPUS; from++)
			for (size_t half = 0; half < 2; half++, at += PIECE) {
				const size_t begin = to * 2 * PIECE + half * PIECE;
				const size_t count = from == 1 && half == 0 ? 0
					: PIECE - from - 5 * to - half;

				move[n++] = (struct gpu_move){ from, to, b->own[from] + begin,
					b->got[to] + at, count };
				memcpy(want[to] + at, b->text[from] + begin,
					count * sizeof(float));
			}
	return n;
}

static void
floats_are_where_they_were_sent(void **state)
{
	static float want[GPUS][FLOATS];
	struct gpu_move move[2 * GPUS * GPUS];
	struct bed b;

	(void)state;
	for (int lag = 0; lag < 4; lag += 3) {
		nccl_double_reset(&(struct nccl_double_plan){ .lag = lag });
		bed_open(&b);
		assert_int_equal(nccl_mesh_open(&nccl_double, 10, &b.gpu, &b.mesh), RS_OK);
		const size_t n = pieces_of(&b, move, want);
		for (int again = 0; again < 3; again++)
			assert_int_equal(move_all(&b, move, n), RS_OK);
		for (size_t i = 0; i < n; i++) {
			float *const got = b.back[move[i].to];

			b.gpu.gpu->use(b.queue[move[i].to]);
			b.gpu.gpu->download(got, move[i].target, move[i].n * sizeof(float));
			assert_int_equal(b.gpu.gpu->wait(), RS_OK);
			assert_memory_equal(got, want[move[i].to]
				+ (move[i].target - b.got[move[i].to]),
				move[i].n * sizeof(float));
		}
		assert_int_equal(nccl_double_count().moves, 3 * (n - GPUS));
		bed_close(&b);
		assert_int_equal(nccl_double_count().groups, 1);
		assert_int_equal(nccl_double_count().destroyed, GPUS);
		assert_int_equal(nccl_double_count().aborted, 0);
	}
}

static void
expect_failure(const struct nccl_double_plan *plan, double timeout, unsigned fails,
	const char *text)
{
	static float want[GPUS][FLOATS];
	struct gpu_move move[2 * GPUS * GPUS];
	struct bed b;

	nccl_double_reset(plan);
	bed_open(&b);
	assert_int_equal(nccl_mesh_open(&nccl_double, timeout, &b.gpu, &b.mesh), RS_OK);
	const size_t n = pieces_of(&b, move, want);
	emulate_fail(fails);
	assert_int_equal(move_all(&b, move, n), fails > 0 ? RS_EDEVICE : RS_EPEER);
	emulate_fail(0);
	if (strstr(rs_failure()->text, text) == NULL)
		fail_msg("%s", rs_failure()->text);
	assert_int_equal(nccl_double_count().aborted, GPUS);
	assert_int_equal(b.mesh->ops->start(b.mesh, b.queue, move, n), RS_EPEER);
	assert_string_equal(rs_failure()->text, "NCCL: the group of GPUs was given up");
	bed_close(&b);
	assert_int_equal(nccl_double_count().destroyed, 0);
}

static void
what_goes_wrong_ends_in_a_failure(void **state)
{
	(void)state;
	expect_failure(&(struct nccl_double_plan){ .wrong = 2, .wrong_after = 1 }, 10, 0,
		"NCCL: GPU 1 of 3: rows between GPUs: the cable is out");
	expect_failure(&(struct nccl_double_plan){ .is_stuck = 1 }, 0.2, 0,
		"NCCL: GPU 0 of 3: rows between GPUs: not over after 0.2 s; another GPU is "
		"missing");
	/* Before the moves are asked for, which NCCL then refuses, and after. */
	for (unsigned fails = 2; fails <= GPUS + 1; fails += 2)
		expect_failure(&(struct nccl_double_plan){ 0 }, 10, fails,
			"GPU: a kernel or copy failed: emulated");
}

static void
a_start_that_fails_leaves_nothing(void **state)
{
	struct bed b;

	(void)state;
	nccl_double_reset(&(struct nccl_double_plan){ .has_no_id = 1 });
	bed_open(&b);
	assert_int_equal(nccl_mesh_open(&nccl_double, 10, &b.gpu, &b.mesh), RS_EPEER);
	assert_string_equal(rs_failure()->text, "NCCL: no id: no socket");
	bed_close(&b);
	nccl_double_reset(&(struct nccl_double_plan){ .wrong = 3 });
	bed_open(&b);
	assert_int_equal(nccl_mesh_open(&nccl_double, 10, &b.gpu, &b.mesh), RS_EPEER);
	assert_string_equal(rs_failure()->text, "NCCL: GPU 2 of 3: start: the cable is out");
	assert_int_equal(nccl_double_count().aborted, GPUS);
	b.gpu.device[1] = EMULATED_GPUS;
	nccl_double_reset(&(struct nccl_double_plan){ 0 });
	assert_int_equal(nccl_mesh_open(&nccl_double, 10, &b.gpu, &b.mesh), RS_EPEER);
	assert_int_equal(nccl_double_count().aborted, 1);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floats_are_where_they_were_sent),
		cmocka_unit_test(what_goes_wrong_ends_in_a_failure),
		cmocka_unit_test(a_start_that_fails_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
