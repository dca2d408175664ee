/* Building and planning: what graph_finish() refuses, products, places in the block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/node.h"
#include "graph/plan.h"

static const struct graph_field field_table[] = {
	{ .name = "C1", .column = 0, .schema_table = 0, .dim = 4 },
	{ .name = "I1", .is_dense = 1, .column = 0, .dim = 4, .init_stddev = 0.1f },
	{ .name = "C2", .column = 1, .schema_table = 0, .dim = 4, .combiner = KERNEL_MAX },
};

enum { N_FIELDS = sizeof(field_table) / sizeof(field_table[0]) };

static struct graph *
new_graph(void)
{
	struct graph *g;

	assert_int_equal(graph_create(&kernel_ref, &g), RS_OK);
	graph_set_dense(g, 1);
	return g;
}

static struct node *
layer(struct graph *g, struct node *x, const char *name, size_t H)
{
	return graph_linear(g, x, &(struct graph_linear_options){
		.name = name, .H = H, .act = KERNEL_ACT_RELU, .init = PARAM_XAVIER_UNIFORM,
	});
}

static struct node *
tower(struct graph *g)
{
	struct node *x = graph_embedding(g, field_table, N_FIELDS);

	for (size_t i = 0; i < 4; i++)
		x = layer(g, x, (const char *[]){ "a", "b", "c", "d" }[i], 16);
	return layer(g, x, "e", 1);
}

static void
assert_refused(struct graph *g, struct node *logit, enum rs_status status, const char *text)
{
	assert_int_equal(graph_finish(g, logit, 0), status);
	assert_non_null(strstr(rs_failure()->text, text));
	graph_destroy(g);
}

static void
add_of_unequal_widths_is_refused(void **state)
{
	struct graph *g = new_graph();
	struct node *x = graph_embedding(g, field_table, N_FIELDS);

	(void)state;
	struct node *sum = graph_add(g, layer(g, x, "a", 2), layer(g, x, "b", 3));
	assert_refused(g, layer(g, sum, "c", 1), RS_ESPEC, "'add': 'linear' is [B,2]");
}

static void
bag_pairs_refuse_max_by_name(void **state)
{
	struct graph *g = new_graph();

	(void)state;
	assert_refused(g, graph_bag_pairs(g, graph_embedding(g, field_table, N_FIELDS)), RS_ESPEC,
		"'C2'");
}

static void
name_that_does_not_fit_is_refused(void **state)
{
	char name[80];
	struct graph *g = new_graph();

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_refused(g, layer(g, graph_embedding(g, field_table, N_FIELDS), name, 1), RS_ESPEC,
		"nnnn");
}

static void
logit_must_be_one_column(void **state)
{
	struct graph *g = new_graph();

	(void)state;
	assert_refused(g, graph_embedding(g, field_table, N_FIELDS), RS_EBUG, "[B,12]");
}

static void
operator_that_nobody_uses_is_refused(void **state)
{
	struct graph *g = new_graph();
	struct node *logit = tower(g);

	(void)state;
	graph_first_order(g, field_table, N_FIELDS);
	assert_refused(g, logit, RS_EBUG, "'first_order'");
}

static void
fields_that_share_a_table_pull_from_it(void **state)
{
	struct graph *g = new_graph();

	(void)state;
	assert_int_equal(graph_finish(g, tower(g), 0), RS_OK);
	assert_int_equal(graph_n_inputs(g), 2);
	assert_int_equal(graph_n_tables(g), 1);
	assert_string_equal(graph_input(g, 1)->field, "C2");
	assert_int_equal(graph_input(g, 1)->column, 1);
	graph_destroy(g);
}

static void
every_layer_has_three_products(void **state)
{
	struct graph *g = new_graph();
	struct gemm_args product[15];

	(void)state;
	assert_int_equal(graph_finish(g, tower(g), 0), RS_OK);
	assert_int_equal(graph_gemms(g, 32, NULL, product, 15), 15);
	assert_int_equal(graph_gemms(g, 32, NULL, NULL, 0), 15);
	assert_int_equal(product[0].m, 32);
	assert_int_equal(product[0].n, 16);
	assert_int_equal(product[0].k, 12);
	assert_int_equal(product[1].k, 32);
	assert_int_equal(product[2].n, 12);
	graph_destroy(g);
}

/* The limit of bench counts the formula, not the shortcut: four vectors a position. */
static void
attention_has_the_products_of_its_formula_for_every_position(void **state)
{
	struct graph *g = new_graph();
	struct node *q = graph_embedding(g, &field_table[0], 1);
	struct node *k = graph_history(g, &field_table[2], 1);
	struct node *a = graph_attention_first(g, q, k, &(struct graph_linear_options){
		.name = "a", .H = 8, .act = KERNEL_ACT_NONE, .init = PARAM_XAVIER_UNIFORM });
	struct gemm_args product[9];
	size_t N[3] = { 32, 32, 32 };

	(void)state;
	a = graph_segment_pool(g, layer(g, a, "b", 1), k);
	assert_int_equal(graph_finish(g, layer(g, a, "c", 1), 0), RS_OK);
	for (size_t i = 0; i < graph_n_inputs(g); i++)
		N[i] = graph_input(g, i)->history > 0 ? 700 : 32;
	assert_int_equal(graph_gemms(g, 32, N, product, 9), 9);
	assert_int_equal(product[0].m, 700);
	assert_int_equal(product[0].k, 16);
	assert_int_equal(product[0].n, 8);
	assert_int_equal(product[3].m, 700);
	assert_int_equal(product[6].m, 32);
	graph_destroy(g);
}

/* The value and gradient of a layer meet those of its neighbours in time. */
static void
plan_keeps_apart_what_lives_together(void **state)
{
	struct graph *g = new_graph();
	struct plan plan;
	size_t total = 0;

	(void)state;
	assert_int_equal(graph_finish(g, tower(g), 0), RS_OK);
	assert_int_equal(plan_create(g, 64, NULL, &plan), RS_OK);
	for (size_t i = 0; i < g->n_nodes; i++) {
		const size_t size = 64 * g->node[i]->width;
		total += 2 * size;
		for (size_t j = 0; j < i; j++) {
			const size_t a = plan.offset[i][PLAN_VALUE], b = plan.offset[j][PLAN_VALUE];
			assert_true(a + size <= b || b + 64 * g->node[j]->width <= a);
		}
		assert_true(plan.offset[i][PLAN_VALUE] % 16 == 0);
		assert_true(plan.offset[i][PLAN_GRADIENT] + size <= plan.floats);
	}
	assert_true(plan.floats < total);    /* gradients share memory */
	plan_free(&plan);
	graph_destroy(g);
}

static void
culprit_is_the_first_operator_that_is_not_finite(void **state)
{
	struct graph *g = new_graph();
	struct exec *e;
	const float rows[4] = { 1, 1, 1, 1 }, dense[1] = { 1 };
	const float *const row[] = { rows };
	const float *const *const inputs[] = { row, row };
	const struct feed feed = { .B = 1, .dense = dense, .row = inputs };

	(void)state;
	assert_int_equal(graph_finish(g, tower(g), 0), RS_OK);
	float *param = calloc(graph_param_size(g), sizeof(*param));
	assert_int_equal(exec_create(g, 0, 1, &e), RS_OK);
	assert_non_null(exec_forward(e, param, &feed, 0));
	assert_null(exec_culprit(e));
	param[graph_param(g, 3)->offset] = __builtin_nanf("");
	assert_non_null(exec_forward(e, param, &feed, 0));
	assert_string_equal(exec_culprit(e), "linear");
	exec_destroy(e);
	graph_destroy(g);
	free(param);
}

/* The gradient of a vector is that of the logit times the other one, in whatever pieces, and
 * nothing of a pass before is in it. */
static void
pairs_of_many_rows_have_the_gradients_of_each(void **state)
{
	enum { B = 9001, D = 4, USES = 2 };
	static const struct graph_field pair[] = {
		{ .name = "C1", .column = 0, .schema_table = 0, .dim = D },
		{ .name = "C2", .column = 1, .schema_table = 1, .dim = D },
	};
	static float vector[2][B][D], label[B], weight[B];
	static const float *row[2][B];
	const float *const *const inputs[] = { row[0], row[1] };
	const struct feed feed = { .B = B, .row = inputs, .label = label, .weight = weight,
		.loss_scale = 1 };
	struct graph *g = new_graph();
	struct exec *e;
	double loss;

	(void)state;
	assert_int_equal(graph_finish(g, graph_fm2(g, graph_embedding(g, pair, 2)), 0), RS_OK);
	assert_int_equal(exec_create(g, 0, B, &e), RS_OK);
	for (size_t b = 0; b < B; b++) {
		weight[b] = 1;
		for (size_t i = 0; i < 2; i++) {
			row[i][b] = vector[i][b];
			for (size_t d = 0; d < D; d++)
				vector[i][b][d] = (float)((b * (i + 1) + d) % 16);
		}
	}
	for (int use = 0; use < USES; use++) {
		assert_non_null(exec_forward(e, NULL, &feed, 1));
		exec_loss(e, &feed, &loss);
		const float *const dz = exec_output_gradient(e);
		exec_backward(e, NULL, &feed, 1, NULL);
		for (size_t i = 0; i < 2; i++)
			for (size_t b = 0; b < B; b++)
				for (size_t d = 0; d < D; d++)
					assert_true(exec_row_grad(e, i)[b][d]
						== dz[b] * vector[1 - i][b][d]);
	}
	exec_destroy(e);
	graph_destroy(g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add_of_unequal_widths_is_refused),
		cmocka_unit_test(bag_pairs_refuse_max_by_name),
		cmocka_unit_test(name_that_does_not_fit_is_refused),
		cmocka_unit_test(logit_must_be_one_column),
		cmocka_unit_test(operator_that_nobody_uses_is_refused),
		cmocka_unit_test(fields_that_share_a_table_pull_from_it),
		cmocka_unit_test(every_layer_has_three_products),
		cmocka_unit_test(attention_has_the_products_of_its_formula_for_every_position),
		cmocka_unit_test(plan_keeps_apart_what_lives_together),
		cmocka_unit_test(culprit_is_the_first_operator_that_is_not_finite),
		cmocka_unit_test(pairs_of_many_rows_have_the_gradients_of_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
