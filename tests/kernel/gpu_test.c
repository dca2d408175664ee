/* What a run may take of GPUs, and which of them are whose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "emulated_gpu.h"

static void
deals(size_t n_devices, size_t i, size_t n, const char *expected)
{
	struct gpu_memory m = { .n_devices = n_devices };
	char got[GPU_DEVICES_MAX + 1] = "";

	for (size_t k = 0; k < n_devices; k++)
		m.device[k] = (int)(9 - k);
	gpu_memory_deal(&m, i, n);
	for (size_t k = 0; k < m.n_devices; k++)
		got[k] = (char)('0' + m.device[k]);
	assert_string_equal(got, expected);
}

static void
processes_of_a_host_share_its_gpus(void **state)
{
	(void)state;
	deals(1, 0, 1, "9");
	deals(1, 2, 3, "9");
	deals(0, 2, 3, "0");
	deals(4, 0, 1, "9876");
	deals(4, 1, 4, "8");
	deals(4, 3, 4, "6");
	deals(4, 0, 3, "96");
	deals(4, 1, 3, "8");
	deals(2, 3, 5, "8");
	deals(2, 4, 5, "9");
	deals(5, 1, 2, "86");
}

/* A copy of the plan may be closed. */
static void
queues_and_memory_are_where_they_are_told(void **state)
{
	const struct gpu_plan small = { .bytes = 1000 }, large = { .bytes = 5000 };
	struct gpu_memory m = { .gpu = &gpu_emulated, .n_devices = 2, .device = { 3, 1 } };
	static const size_t place[] = { 0, 1, 0, 0 };
	struct gpu_plan plan[4] = { small, large, small, large };
	struct gpu_queue *q[4];
	char *block;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(gpu_memory_open(&m, place[i], &plan[i], &q[i], &block), RS_OK);
		assert_int_equal(plan[i].device, m.device[place[i]]);
	}
	assert_int_equal(emulated_gpu_queues(3), 3);
	assert_int_equal(emulated_gpu_queues(1), 1);
	const size_t before[2] = { atomic_load(&m.used_of[0]), atomic_load(&m.used_of[1]) };
	assert_int_equal(gpu_memory_alloc(&m, 1, 700, &block), RS_OK);
	assert_int_equal(atomic_load(&m.used_of[0]), before[0]);
	assert_int_equal(atomic_load(&m.used_of[1]), before[1] + 700);
	assert_int_equal(atomic_load(&m.used), before[0] + before[1] + 700);
	gpu_memory_free(&m, 1, block, 700);
	for (size_t i = 0; i < 4; i++) {
		const struct gpu_plan closed = plan[i];
		gpu_memory_close(&m, &closed, q[i]);
	}
	assert_int_equal(atomic_load(&m.used_of[0]), 0);
	assert_int_equal(atomic_load(&m.used_of[1]), 0);
	assert_int_equal(emulated_gpu_in_use(), 0);
}

static void
every_gpu_has_to_have_room(void **state)
{
	struct gpu_memory m = { .gpu = &gpu_emulated, .n_devices = 2, .device = { 0, 2 },
		.limit = 2000 };

	(void)state;
	assert_int_equal(gpu_memory_check(&m, (const size_t [2]){ 2000, 2000 }), RS_OK);
	assert_int_equal(gpu_memory_check(&m, (const size_t [2]){ 0, 2001 }), RS_ERESOURCE);
	assert_non_null(strstr(rs_failure()->text, "GPU 2: training wants "));
	m.n_devices = 1;
	assert_int_equal(gpu_memory_check(&m, (const size_t [1]){ 2001 }), RS_ERESOURCE);
	assert_non_null(strstr(rs_failure()->text, "GPU: training wants "));
}

static void
what_is_claimed_is_beside_what_is_used(void **state)
{
	struct gpu_memory m = { .gpu = &gpu_emulated, .n_devices = 2, .device = { 0, 2 } };
	struct gpu_plan plan = { .bytes = 4000 };
	struct gpu_queue *q;
	char *block;

	(void)state;
	assert_int_equal(gpu_memory_open(&m, 1, &plan, &q, &block), RS_OK);
	m.limit = atomic_load(&m.used_of[1]);
	assert_int_equal(gpu_memory_check(&m, (const size_t [2]){ m.limit, 0 }), RS_OK);
	assert_int_equal(gpu_memory_check(&m, (const size_t [2]){ m.limit, 1 }), RS_ERESOURCE);
	gpu_memory_close(&m, &plan, q);
	assert_int_equal(emulated_gpu_in_use(), 0);
}

static void
room_for_products_is_where_there_are_some(void **state)
{
	struct gpu_memory m = { .gpu = &gpu_emulated };
	struct gpu_plan plan = { .bytes = 4096 };
	struct gpu_queue *q;
	char *block;

	(void)state;
	assert_int_equal(gpu_memory_open(&m, 0, &plan, &q, &block), RS_OK);
	assert_int_equal(atomic_load(&m.used), 4096);
	gpu_memory_close(&m, &plan, q);
	plan.multiplies = 1;
	assert_int_equal(gpu_memory_open(&m, 0, &plan, &q, &block), RS_OK);
	assert_int_equal(atomic_load(&m.used), 4096 + EMULATED_PRODUCT_BYTES);
	gpu_memory_close(&m, &plan, q);
	assert_int_equal(emulated_gpu_in_use(), 0);
}

static void
marks_are_of_a_gpu(void **state)
{
	struct gpu_memory m = { .gpu = &gpu_emulated, .n_devices = 2, .device = { 0, 2 } };
	struct gpu_plan plan[2] = { { .bytes = 1 }, { .bytes = 1 } };
	struct gpu_queue *q[2];
	struct gpu_mark *mark;
	const char *where;
	char *block;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(gpu_memory_open(&m, i, &plan[i], &q[i], &block), RS_OK);
	assert_int_equal(m.gpu->order->open(EMULATED_GPUS, &mark), RS_EPEER);
	assert_int_equal(m.gpu->order->open(2, &mark), RS_OK);
	(void)emulated_gpu_marks();
	m.gpu->use(q[1]);
	m.gpu->order->follow(mark);
	assert_int_equal(emulated_gpu_marks().n_followed, 0);
	m.gpu->order->set(mark);
	m.gpu->order->follow(mark);
	const struct emulated_gpu_marks counted = emulated_gpu_marks();
	assert_int_equal(counted.n_set, 1);
	assert_int_equal(counted.n_followed, 1);
	assert_int_equal(emulate_violations(&where), 0);
	m.gpu->use(q[0]);
	m.gpu->order->follow(mark);
	assert_int_equal(emulate_violations(&where), 1);
	m.gpu->order->close(mark);
	for (size_t i = 0; i < 2; i++)
		gpu_memory_close(&m, &plan[i], q[i]);
	assert_int_equal(emulated_gpu_in_use(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_of_a_host_share_its_gpus),
		cmocka_unit_test(queues_and_memory_are_where_they_are_told),
		cmocka_unit_test(every_gpu_has_to_have_room),
		cmocka_unit_test(room_for_products_is_where_there_are_some),
		cmocka_unit_test(what_is_claimed_is_beside_what_is_used),
		cmocka_unit_test(marks_are_of_a_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
