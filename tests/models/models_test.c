/*
 * The models as built from settings: logits by hand, gradients over all parameters,
 * and what the ways of running must have in common.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kernel/kernel.h"
#include "models/models.h"
#include "model_bed.h"
#include "tests/test.h"

static void
deepfm_gradient_over_all_parameters(void **state)
{
	struct model_bed f;

	(void)state;
	bed_open(&f, "deepfm", 0, 0.2);
	bed_check_gradient(&f);
}

static void
deepfm_gradient_with_batch_norm(void **state)
{
	struct model_bed f;

	(void)state;
	bed_open(&f, "deepfm", 1, 0.2);
	bed_check_gradient(&f);
}

static void
wide_deep_gradient(void **state)
{
	struct model_bed f;

	(void)state;
	bed_open(&f, "wide_deep", 0, 0.2);
	bed_check_gradient(&f);
}

/* C1 has only a weight, I1 only a vector, C2 both. */
static void
wide_fields_have_no_vector_and_deep_ones_no_weight(void **state)
{
	static const enum field_part part[F + K] = { PART_WIDE, PART_DEEP, PART_BOTH };
	struct model_bed f;
	struct graph *g;

	(void)state;
	bed_open(&f, "wide_deep", 0, 0);
	for (size_t i = 0; i < F + K; i++)
		f.field_settings[i].part = part[i];
	assert_int_equal(graph_create(&kernel_ref, &g), RS_OK);
	graph_set_dense(g, K);
	struct node *logit = model_find("wide_deep")->build(g, &f.schema, &f.settings);
	assert_int_equal(graph_finish(g, logit, 0), RS_OK);
	assert_int_equal(graph_n_tables(g), 3);
	assert_int_equal(graph_n_inputs(g), 3);
	for (size_t i = 0; i < 3; i++) {
		const int linear = graph_table(g, graph_input(g, i)->table)->linear;
		assert_string_equal(graph_input(g, i)->field, i == 0 ? "C1" : "C2");
		assert_int_equal(linear, i < 2);
	}
	for (size_t i = 0; i < graph_n_params(g); i++)
		assert_string_not_equal(graph_param(g, i)->name, "I1.linear");
	graph_destroy(g);
	bed_close(&f);
}

/* <a,b> + <a,c> + <b,c> + w0 + the first-order weights, straight from eq. (1). */
static void
fm_logit_is_equation_1(void **state)
{
	struct model_bed f;

	(void)state;
	bed_open(&f, "fm", 0, 0);
	f.param[bed_param(f.g, "linear.bias")->offset] = 0.5f;
	f.param[bed_param(f.g, "I1.linear")->offset] = 2;
	const float *logit = exec_forward(f.e, f.param, &f.feed, 0);
	for (size_t b = 0; b < B; b++) {
		const float *v = f.param + bed_param(f.g, "I1.vector")->offset;
		double expected = 0.5 + 2 * f.dense[b] + f.row[2][b][0] + f.row[3][b][0];
		for (size_t d = 0; d < D; d++) {
			const double x = f.row[0][b][d], y = f.dense[b] * v[d], z = f.row[1][b][d];
			expected += x * y + x * z + y * z;
		}
		assert_float_equal(logit[b], expected, 1e-5);
	}
	bed_close(&f);
}

/* Two slots: the running mean moves to the average of the slots' means. */
static void
statistics_of_two_slots_are_averaged(void **state)
{
	struct model_bed f;
	float *sum, *moved;

	(void)state;
	bed_open(&f, "deepfm", 1, 0);
	sum = calloc(f.P, sizeof(*sum));
	moved = calloc(f.P, sizeof(*moved));
	const size_t mean = bed_param(f.g, "dnn.0.norm.mean")->offset;
	double expected = 0;
	for (size_t slot = 0; slot < 2; slot++) {
		f.feed.B = slot == 0 ? B / 3 : B / 2;
		const float share = (float)f.feed.B / (B / 3 + B / 2);
		f.feed.dense = f.dense + slot;
		bed_loss(&f);
		exec_backward(f.e, f.param, &f.feed, 1, f.grad);
		expected += share * f.grad[mean];
		bed_loss(&f);
		exec_backward(f.e, f.param, &f.feed, share, f.grad);
		for (size_t i = 0; i < f.P; i++)
			sum[i] += f.grad[i];
	}
	memcpy(moved, f.param, f.P * sizeof(*moved));
	graph_update_statistics(f.g, sum, moved);
	assert_float_equal(moved[mean], 0.75 * f.param[mean] + 0.25 * expected, 1e-6);
	for (size_t i = 0; i < graph_n_params(f.g); i++)
		if (!graph_param(f.g, i)->is_statistic)
			assert_memory_equal(moved + graph_param(f.g, i)->offset,
				f.param + graph_param(f.g, i)->offset, sizeof(float));
	free(sum);
	free(moved);
	bed_close(&f);
}

/* Without dropout and with running values a row's logit does not depend on others. */
static void
evaluation_of_a_row_ignores_its_neighbours(void **state)
{
	struct model_bed f;
	float all[B];

	(void)state;
	bed_open(&f, "deepfm", 1, 0.5);
	memcpy(all, exec_forward(f.e, f.param, &f.feed, 0), sizeof(all));
	f.feed.B = 1;
	assert_memory_equal(all, exec_forward(f.e, f.param, &f.feed, 0), sizeof(float));
	bed_close(&f);
}

/* Dropout belongs to the row of the epoch, not to its place in a slot. */
static void
dropout_follows_the_global_row(void **state)
{
	struct model_bed f;
	float first[B];

	(void)state;
	bed_open(&f, "deepfm", 0, 0.5);
	memcpy(first, exec_forward(f.e, f.param, &f.feed, 1), sizeof(first));
	assert_memory_not_equal(first, exec_forward(f.e, f.param, &f.feed, 0), sizeof(first));
	for (size_t i = 0; i < graph_n_inputs(f.g); i++)
		f.row_p[i] = f.row[i] + 4;
	f.feed.dense += 4;
	f.feed.first_row = 4;
	f.feed.B = B - 4;
	assert_memory_equal(
		first + 4, exec_forward(f.e, f.param, &f.feed, 1), (B - 4) * sizeof(float));
	f.feed.step++;
	assert_memory_not_equal(first + 4, exec_forward(f.e, f.param, &f.feed, 1),
		(B - 4) * sizeof(float));
	bed_close(&f);
}

static void
initial_values_depend_on_seed_and_name_only(void **state)
{
	struct model_bed plain, normed;

	(void)state;
	bed_open(&plain, "deepfm", 0, 0);
	bed_open(&normed, "deepfm", 1, 0);
	const size_t a = bed_param(plain.g, "dnn.1.weight")->offset;
	const size_t b = bed_param(normed.g, "dnn.1.weight")->offset;
	assert_int_not_equal(a, b);
	assert_memory_equal(plain.param + a, normed.param + b, 5 * 4 * sizeof(float));
	graph_init_params(normed.g, 4, normed.param);
	assert_memory_not_equal(plain.param + a, normed.param + b, 5 * 4 * sizeof(float));
	bed_close(&plain);
	bed_close(&normed);
}

static void
fm_refuses_unequal_dims_by_name(void **state)
{
	struct model_bed f;
	struct graph *g;

	(void)state;
	bed_open(&f, "fm", 0, 0);
	f.field[2].dim = D + 1;
	assert_int_equal(graph_create(&kernel_ref, &g), RS_OK);
	graph_set_dense(g, K);
	struct node *logit = model_find("fm")->build(g, &f.schema, &f.settings);
	assert_int_equal(graph_finish(g, logit, 0), RS_ESPEC);
	assert_non_null(strstr(rs_failure()->text, "'C1' and 'C2'"));
	graph_destroy(g);
	bed_close(&f);
}

static void
every_model_of_the_table_builds(void **state)
{
	(void)state;
	for (const struct model_row *row = model_table; row->name != NULL; row++) {
		struct model_bed f;
		bed_open(&f, row->name, 1, 0.1);
		assert_ptr_equal(model_find(row->name), row);
		assert_true(isfinite(bed_loss(&f)));
		bed_close(&f);
	}
	assert_null(model_find("no such model"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deepfm_gradient_over_all_parameters),
		cmocka_unit_test(deepfm_gradient_with_batch_norm),
		cmocka_unit_test(wide_deep_gradient),
		cmocka_unit_test(wide_fields_have_no_vector_and_deep_ones_no_weight),
		cmocka_unit_test(fm_logit_is_equation_1),
		cmocka_unit_test(statistics_of_two_slots_are_averaged),
		cmocka_unit_test(evaluation_of_a_row_ignores_its_neighbours),
		cmocka_unit_test(dropout_follows_the_global_row),
		cmocka_unit_test(initial_values_depend_on_seed_and_name_only),
		cmocka_unit_test(fm_refuses_unequal_dims_by_name),
		cmocka_unit_test(every_model_of_the_table_builds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
