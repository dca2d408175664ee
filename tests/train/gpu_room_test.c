/* Workers that are there beside others have room on a GPU, which is emulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/kernel/emulated_gpu.h"
#include "train/model.h"
#include "train/workers.h"

static struct model *
model_beside(size_t n_more_threads, struct gpu_memory *on)
{
	const struct model_options options = { .kernel = "ref", .gpu = on, .n_threads = 2,
		.n_more_threads = n_more_threads, .for_training = 1, .tables = GPU_TABLES_AUTO };
	struct spec *spec;
	struct model *m;

	assert_int_equal(spec_load_text("[model]\ntype = fm\n[data]\ntrain = x.csv\n"
		"format = csv\nlabel = y\n[field a]\ncolumn = a\nbuckets = 200000\n"
		"[train]\nbatch_size = 64\nslots = 2\n", "beside", &spec), RS_OK);
	assert_int_equal(model_create(spec, &options, &m), RS_OK);
	return m;
}

/* As bench has them, which takes turns with one and with all threads. */
static void
other_workers_have_room_beside_tables(void **state)
{
	struct gpu_memory little = { .gpu = &gpu_emulated };
	struct workers *all, *one;

	(void)state;
	struct model *m = model_beside(0, &little);
	assert_string_equal(m->lookup->ops->name, "device");
	assert_int_equal(workers_create(m, 2, &all), RS_OK);
	const size_t limit = atomic_load(&little.used);
	assert_int_equal(workers_create(m, 1, &one), RS_OK);
	little.limit = limit + (atomic_load(&little.used) - limit) / 2;
	workers_free(one);
	assert_int_equal(workers_create(m, 1, &one), RS_ERESOURCE);
	workers_free(all);
	model_free(m);
	m = model_beside(1, &little);
	assert_string_equal(m->lookup->ops->name, "local");
	assert_int_equal(workers_create(m, 2, &all), RS_OK);
	assert_int_equal(workers_create(m, 1, &one), RS_OK);
	workers_free(one);
	workers_free(all);
	model_free(m);
	assert_int_equal(emulated_gpu_in_use(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_workers_have_room_beside_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
