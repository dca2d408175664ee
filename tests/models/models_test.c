/*
 * The models as built from settings: their logits by hand, DeepFM's gradient over
 * all parameters, and what the ways of running must have in common.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "kernel/kernel.h"
#include "models/models.h"

enum { B = 12, F = 2, K = 1, D = 3, N_ROWS = 7, MAX_INPUTS = 8 };

/* Fields C1, I1, C2 of dim 3; one id a row. */
struct fixture {
	struct settings settings;
	struct field_settings field_settings[F + K];
	struct schema_field field[F + K];
	struct schema schema;
	double hidden[2];
	struct graph *g;
	struct exec *e;
	char *user_field[2], *item_field[1];
	float *param, *grad;
	size_t P;
	float dense[B * K], label[B], weight[B], table[MAX_INPUTS][N_ROWS * D];
	const float *row[MAX_INPUTS][B];
	const float *const *row_p[MAX_INPUTS];
	struct feed feed;
};

static void
fixture_fields(struct fixture *f)
{
	static const struct schema_field field_table[F + K] = {
		{ .name = "C1", .index = 0, .table = 0, .dim = D, .single = 1 },
		{ .name = "I1", .index = 0, .is_dense = 1, .dim = D },
		{ .name = "C2", .index = 1, .table = 1, .dim = D, .single = 1 },
	};

	memcpy(f->field, field_table, sizeof(field_table));
	for (size_t i = 0; i < F + K; i++)
		f->field[i].settings = &f->field_settings[i];
	f->schema = (struct schema){
		.settings = &f->settings, .field = f->field, .n_fields = F + K, .F = F, .K = K,
	};
}

static void
fixture_data(struct fixture *f)
{
	for (size_t b = 0; b < B; b++) {
		f->dense[b] = (float)rng_uniform(1, b) - 0.5f;
		f->label[b] = b % 3 == 0;
		f->weight[b] = 1;
	}
	for (size_t i = 0; i < graph_n_inputs(f->g); i++) {
		const size_t dim = graph_input(f->g, i)->dim;
		for (size_t j = 0; j < N_ROWS * D; j++)
			f->table[i][j] = (float)rng_normal(2 + i, j) * 0.3f;
		for (size_t b = 0; b < B; b++)
			f->row[i][b] = f->table[i] + (b * 3 + i) % N_ROWS * dim;
		f->row_p[i] = f->row[i];
	}
	f->feed = (struct feed){
		.B = B, .dense = f->dense, .label = f->label, .weight = f->weight, .row = f->row_p,
		.seed = 1, .step = 1, .loss_scale = 1.0f / B,
	};
}

static void
fixture_open(struct fixture *f, const char *model, int batch_norm, double dropout)
{
	memset(f, 0, sizeof(*f));
	f->user_field[0] = "C1";
	f->user_field[1] = "I1";
	f->item_field[0] = "C2";
	f->hidden[0] = 5;
	f->hidden[1] = 4;
	f->settings.embedding.init_stddev = 0.3;
	f->settings.dnn = (struct dnn_settings){
		.hidden = { f->hidden, 2 }, .activation = ACT_TANH, .dropout = dropout,
		.batch_norm = batch_norm, .batch_norm_momentum = 0.75, .batch_norm_epsilon = 1e-3,
	};
	f->settings.tower[TOWER_USER] = (struct tower_settings){
		.fields = { f->user_field, 2 }, .dnn = f->settings.dnn,
	};
	f->settings.tower[TOWER_ITEM] = (struct tower_settings){
		.fields = { f->item_field, 1 }, .dnn = f->settings.dnn,
	};
	f->settings.two_tower.temperature = 0.5;
	fixture_fields(f);
	assert_int_equal(graph_create(&kernel_ref, &f->g), RS_OK);
	graph_set_dense(f->g, K);
	struct node *logit = model_find(model)->build(f->g, &f->schema, &f->settings);
	assert_int_equal(graph_finish(f->g, logit, 0), RS_OK);
	f->P = graph_param_size(f->g);
	f->param = calloc(f->P, sizeof(float));
	f->grad = calloc(f->P, sizeof(float));
	graph_init_params(f->g, 3, f->param);
	assert_int_equal(exec_create(f->g, B, &f->e), RS_OK);
	fixture_data(f);
}

static void
fixture_close(struct fixture *f)
{
	exec_destroy(f->e);
	graph_destroy(f->g);
	free(f->param);
	free(f->grad);
}

static double
loss_of(struct fixture *f)
{
	double loss = 0;

	exec_forward(f->e, f->param, &f->feed, 1);
	exec_loss(f->e, &f->feed, &loss, NULL);
	return loss / B;
}

static void
check_derivative(struct fixture *f, float *x, double gradient, const char *name)
{
	const float step = 4e-3f, saved = *x, up = saved + step, down = saved - step;

	*x = up;
	const double above = loss_of(f);
	*x = down;
	const double below = loss_of(f);
	*x = saved;
	const double numeric = (above - below) / ((double)up - down);
	if (fabs(numeric - gradient) > 1e-3 * fabs(numeric) + 3e-5)
		fail_msg("%s: gradient %g, by differences %g", name, gradient, numeric);
}

static void
check_gradient(const char *model, int batch_norm)
{
	struct fixture f;

	fixture_open(&f, model, batch_norm, 0.2);
	loss_of(&f);
	exec_backward(f.e, f.param, &f.feed, 1, f.grad);
	for (size_t i = 0; i < graph_n_params(f.g); i++) {
		const struct graph_param *p = graph_param(f.g, i);
		for (size_t j = 0; j < p->rows * p->columns && !p->is_statistic; j++)
			check_derivative(
				&f, &f.param[p->offset + j], f.grad[p->offset + j], p->name);
	}
	for (size_t i = 0; i < graph_n_inputs(f.g); i++) {
		double sum[N_ROWS * D] = { 0 };
		const size_t dim = graph_input(f.g, i)->dim;
		loss_of(&f);
		exec_backward(f.e, f.param, &f.feed, 1, f.grad);
		for (size_t b = 0; b < B; b++)
			for (size_t d = 0; d < dim; d++)
				sum[f.row[i][b] - f.table[i] + d] += exec_row_grad(f.e, i)[b][d];
		assert_null(exec_row_scale(f.e, i));
		for (size_t j = 0; j < N_ROWS * dim; j++)
			check_derivative(&f, &f.table[i][j], sum[j], graph_input(f.g, i)->field);
	}
	fixture_close(&f);
}

static void
deepfm_gradient_over_all_parameters(void **state)
{
	(void)state;
	check_gradient("deepfm", 0);
}

static void
deepfm_gradient_with_batch_norm(void **state)
{
	(void)state;
	check_gradient("deepfm", 1);
}

static void
wide_deep_gradient(void **state)
{
	(void)state;
	check_gradient("wide_deep", 0);
}

static const struct graph_param *
param_named(const struct graph *g, const char *name)
{
	for (size_t i = 0; i < graph_n_params(g); i++)
		if (strcmp(graph_param(g, i)->name, name) == 0)
			return graph_param(g, i);
	fail_msg("no parameter '%s'", name);
	return NULL;
}

/* C1 has only a weight, I1 only a vector, C2 both. */
static void
wide_fields_have_no_vector_and_deep_ones_no_weight(void **state)
{
	static const enum field_part part[F + K] = { PART_WIDE, PART_DEEP, PART_BOTH };
	struct fixture f;
	struct graph *g;

	(void)state;
	fixture_open(&f, "wide_deep", 0, 0);
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
	fixture_close(&f);
}

/* <a,b> + <a,c> + <b,c> + w0 + the first-order weights, straight from eq. (1). */
static void
fm_logit_is_equation_1(void **state)
{
	struct fixture f;

	(void)state;
	fixture_open(&f, "fm", 0, 0);
	f.param[param_named(f.g, "linear.bias")->offset] = 0.5f;
	f.param[param_named(f.g, "I1.linear")->offset] = 2;
	const float *logit = exec_forward(f.e, f.param, &f.feed, 0);
	for (size_t b = 0; b < B; b++) {
		const float *v = f.param + param_named(f.g, "I1.vector")->offset;
		double expected = 0.5 + 2 * f.dense[b] + f.row[2][b][0] + f.row[3][b][0];
		for (size_t d = 0; d < D; d++) {
			const double x = f.row[0][b][d], y = f.dense[b] * v[d], z = f.row[1][b][d];
			expected += x * y + x * z + y * z;
		}
		assert_float_equal(logit[b], expected, 1e-5);
	}
	fixture_close(&f);
}

/* Two slots: the running mean moves to the average of the slots' means. */
static void
statistics_of_two_slots_are_averaged(void **state)
{
	struct fixture f;
	float *sum, *moved;

	(void)state;
	fixture_open(&f, "deepfm", 1, 0);
	sum = calloc(f.P, sizeof(*sum));
	moved = calloc(f.P, sizeof(*moved));
	const size_t mean = param_named(f.g, "dnn.0.norm.mean")->offset;
	double expected = 0;
	for (size_t slot = 0; slot < 2; slot++) {
		f.feed.B = slot == 0 ? B / 3 : B / 2;
		const float share = (float)f.feed.B / (B / 3 + B / 2);
		f.feed.dense = f.dense + slot;
		loss_of(&f);
		exec_backward(f.e, f.param, &f.feed, 1, f.grad);
		expected += share * f.grad[mean];
		loss_of(&f);
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
	fixture_close(&f);
}

/* Without dropout and with running values a row's logit does not depend on others. */
static void
evaluation_of_a_row_ignores_its_neighbours(void **state)
{
	struct fixture f;
	float all[B];

	(void)state;
	fixture_open(&f, "deepfm", 1, 0.5);
	memcpy(all, exec_forward(f.e, f.param, &f.feed, 0), sizeof(all));
	f.feed.B = 1;
	assert_memory_equal(all, exec_forward(f.e, f.param, &f.feed, 0), sizeof(float));
	fixture_close(&f);
}

/* Dropout belongs to the row of the epoch, not to its place in a slot. */
static void
dropout_follows_the_global_row(void **state)
{
	struct fixture f;
	float first[B];

	(void)state;
	fixture_open(&f, "deepfm", 0, 0.5);
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
	fixture_close(&f);
}

static void
initial_values_depend_on_seed_and_name_only(void **state)
{
	struct fixture plain, normed;

	(void)state;
	fixture_open(&plain, "deepfm", 0, 0);
	fixture_open(&normed, "deepfm", 1, 0);
	const size_t a = param_named(plain.g, "dnn.1.weight")->offset;
	const size_t b = param_named(normed.g, "dnn.1.weight")->offset;
	assert_int_not_equal(a, b);
	assert_memory_equal(plain.param + a, normed.param + b, 5 * 4 * sizeof(float));
	graph_init_params(normed.g, 4, normed.param);
	assert_memory_not_equal(plain.param + a, normed.param + b, 5 * 4 * sizeof(float));
	fixture_close(&plain);
	fixture_close(&normed);
}

static void
fm_refuses_unequal_dims_by_name(void **state)
{
	struct fixture f;
	struct graph *g;

	(void)state;
	fixture_open(&f, "fm", 0, 0);
	f.field[2].dim = D + 1;
	assert_int_equal(graph_create(&kernel_ref, &g), RS_OK);
	graph_set_dense(g, K);
	struct node *logit = model_find("fm")->build(g, &f.schema, &f.settings);
	assert_int_equal(graph_finish(g, logit, 0), RS_ESPEC);
	assert_non_null(strstr(rs_failure()->text, "'C1' and 'C2'"));
	graph_destroy(g);
	fixture_close(&f);
}

static void
every_model_of_the_table_builds(void **state)
{
	(void)state;
	for (const struct model_row *row = model_table; row->name != NULL; row++) {
		struct fixture f;
		fixture_open(&f, row->name, 1, 0.1);
		assert_ptr_equal(model_find(row->name), row);
		assert_true(isfinite(loss_of(&f)));
		fixture_close(&f);
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
