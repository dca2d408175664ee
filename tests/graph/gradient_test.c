/*
 * Gradients of every operator by central differences, in double: the graph and
 * the reference kernels are compiled once more here with float meaning double.
 */
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/status.h"

#define float double
#include "src/kernel/ref/ref_dense.c"
#include "src/kernel/ref/ref_embed.c"
#include "src/kernel/ref/ref_loss.c"
#include "src/kernel/ref/ref_optimizer.c"
#include "src/kernel/ref/ref_segment.c"
#include "src/kernel/ref/ref_set.c"
#include "src/kernel/ref/ref_vector.c"
#include "src/graph/graph.c"
#include "src/graph/fields.c"
#include "src/graph/plan.c"
#include "src/graph/exec.c"
#include "src/graph/norm.c"
#include "src/graph/op_activation.c"
#include "src/graph/op_add.c"
#include "src/graph/op_attention_first.c"
#include "src/graph/op_bag_pairs.c"
#include "src/graph/op_batch_norm.c"
#include "src/graph/op_concat.c"
#include "src/graph/op_dice.c"
#include "src/graph/op_dropout.c"
#include "src/graph/op_embedding.c"
#include "src/graph/op_first_order.c"
#include "src/graph/op_fm2.c"
#include "src/graph/op_history.c"
#include "src/graph/op_l2_normalize.c"
#include "src/graph/op_linear.c"
#include "src/graph/op_segment_pool.c"
#include "src/graph/op_segment_softmax.c"
#include "src/graph/op_similarity.c"

enum { N_FIELDS = 5, K_COLUMNS = 2, MAX_B = 9, MAX_IDS = MAX_B * 4, N_ROWS = 11, MAX_INPUTS = 8 };

/* Three id fields (the second holds 0..4 ids) around two numeric ones. */
struct fixture {
	struct graph *g;
	struct exec *e;
	struct feed feed;
	size_t B, P;
	double *param, *grad, *down;
	double dense[MAX_B * K_COLUMNS], label[MAX_B], weight[MAX_B];
	uint8_t missing[MAX_B * K_COLUMNS];
	double table[MAX_INPUTS][N_ROWS * 4], row_grad[MAX_INPUTS][N_ROWS * 4];
	const double *row[MAX_INPUTS][MAX_IDS];
	size_t id[MAX_INPUTS][MAX_IDS];
	uint32_t offset[MAX_B + 1];
	double id_weight[MAX_IDS];
	const double *const *row_p[MAX_INPUTS];
	const uint32_t *offset_p[MAX_INPUTS];
	const double *id_weight_p[MAX_INPUTS];
	uint64_t counter;
	int    no_ids;              /* every bag is empty                             */
};

static double
next(struct fixture *f)
{
	return 2 * rng_uniform(99, f->counter++) - 1;
}

static const struct graph_field field_table[N_FIELDS] = {
	{ .name = "C1", .column = 0, .schema_table = 0, .dim = 3 },
	{ .name = "I1", .is_dense = 1, .column = 0, .dim = 3, .init_stddev = 0.5 },
	{ .name = "I2", .is_dense = 1, .column = 1, .dim = 3, .init_stddev = 0.5 },
	{ .name = "M1", .column = 1, .schema_table = 1, .dim = 3 },
	{ .name = "C2", .column = 2, .schema_table = 0, .dim = 3 },
};

typedef struct node *build(struct graph *g, const struct graph_field *field);

/* The bags: row 0 is empty, the others hold 1..4 ids. */
static void
fill_feed(struct fixture *f)
{
	for (size_t b = 0; b < f->B; b++) {
		f->label[b] = b % 3 == 0;
		f->weight[b] = 0.5 + fabs(next(f));
		const uint32_t before = f->no_ids || (b == 1 && f->B > 1) ? 0 : 1 + b % 4;
		f->offset[b] = b == 0 ? 5 : f->offset[b - 1] + before;
		for (size_t k = 0; k < K_COLUMNS; k++) {
			f->dense[b * K_COLUMNS + k] = next(f);
			f->missing[b * K_COLUMNS + k] = (b + k) % 4 == 3;
		}
	}
	f->offset[f->B] = f->offset[f->B - 1] + (f->no_ids ? 0 : 3);
	for (size_t i = 0; i < f->g->n_inputs; i++) {
		const size_t dim = f->g->input[i].dim, column = f->g->input[i].column;
		const size_t N = column == 1 ? f->offset[f->B] - f->offset[0] : f->B;
		for (size_t j = 0; j < N_ROWS * dim; j++)
			f->table[i][j] = next(f);
		for (size_t j = 0; j < N; j++) {
			f->id[i][j] = (j * 7 + column) % N_ROWS;
			f->row[i][j] = f->table[i] + f->id[i][j] * dim;
			f->id_weight[j] = 0.5 + fabs(next(f));
		}
		f->row_p[i] = f->row[i];
		f->offset_p[i] = column == 1 ? f->offset : NULL;
		f->id_weight_p[i] = column == 1 ? f->id_weight : NULL;
	}
	f->feed = (struct feed){
		.B = f->B,
		.dense = f->dense,
		.missing = f->missing,
		.label = f->label,
		.weight = f->weight,
		.row = f->row_p,
		.offset = f->offset_p,
		.id_weight = f->id_weight_p,
		.seed = 3,
		.step = 7,
		.first_row = 1000,
		.loss_scale = 0.25,
	};
}

static void
fixture_open(struct fixture *f, build *model, size_t B, int combiner, int mse)
{
	struct graph_field field[N_FIELDS];

	memcpy(field, field_table, sizeof(field));
	field[3].combiner = combiner;
	f->B = B;
	assert_int_equal(graph_create(&kernel_ref, &f->g), RS_OK);
	graph_set_dense(f->g, K_COLUMNS);
	assert_int_equal(graph_finish(f->g, model(f->g, field), mse), RS_OK);
	assert_true(f->g->n_inputs <= MAX_INPUTS);
	f->P = graph_param_size(f->g);
	f->param = calloc(f->P + 1, sizeof(double));
	f->grad = calloc(f->P + 1, sizeof(double));
	graph_init_params(f->g, 5, f->param);
	fill_feed(f);
	/* Zero biases would hide a wrong gradient. */
	for (size_t i = 0; i < f->P; i++)
		f->param[i] += 0.1 * next(f);
	assert_int_equal(exec_create(f->g, MAX_B, &f->e), RS_OK);
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

	assert_non_null(exec_forward(f->e, f->param, &f->feed, 1));
	exec_loss(f->e, &f->feed, &loss, NULL);
	return loss * f->feed.loss_scale;
}

static void
check_derivative(struct fixture *f, double *x, double analytic, const char *what, size_t i)
{
	const double step = 1e-5, saved = *x;

	*x = saved + step;
	const double above = loss_of(f);
	*x = saved - step;
	const double below = loss_of(f);
	*x = saved;
	const double numeric = (above - below) / (2 * step);
	if (fabs(numeric - analytic) > 1e-6 * (fabs(numeric) + fabs(analytic)) + 1e-9)
		fail_msg("%s[%zu] with %zu rows: gradient %.12g, by differences %.12g", what, i,
			f->B, analytic, numeric);
}

/* Sums the gradients of the occurrences into the rows of the tables. */
static void
collect_row_gradients(struct fixture *f)
{
	memset(f->row_grad, 0, sizeof(f->row_grad));
	for (size_t i = 0; i < f->g->n_inputs; i++) {
		const double *const *grad = exec_row_grad(f->e, i);
		const double *scale = exec_row_scale(f->e, i);
		const size_t dim = f->g->input[i].dim;
		for (size_t j = 0; j < op_n_ids(&f->feed, i); j++)
			for (size_t d = 0; d < dim; d++)
				f->row_grad[i][f->id[i][j] * dim + d]
					+= (scale == NULL ? 1 : scale[j]) * grad[j][d];
	}
}

static void
check_gradients(struct fixture *f)
{
	loss_of(f);
	for (size_t i = 0; i < f->P; i++)
		f->grad[i] = NAN;           /* everything must be overwritten */
	exec_backward(f->e, f->param, &f->feed, 0.5, f->grad);
	collect_row_gradients(f);
	for (size_t i = 0; i < f->g->n_params; i++) {
		const struct graph_param *p = &f->g->param[i];
		for (size_t j = p->offset; j < p->offset + p->rows * p->columns; j++)
			if (!p->is_statistic)
				check_derivative(
					f, &f->param[j], f->grad[j], p->name, j - p->offset);
			else
				assert_true(isfinite(f->grad[j]));
	}
	for (size_t i = 0; i < f->g->n_inputs; i++)
		for (size_t j = 0; j < N_ROWS * f->g->input[i].dim; j++)
			check_derivative(
				f, &f->table[i][j], f->row_grad[i][j], f->g->input[i].field, j);
}

/* One row, an odd number, the maximum; every combiner. */
static void
check_model(build *model, int mse, int last_combiner)
{
	static const size_t size_table[] = { 1, 5, MAX_B };

	for (size_t i = 0; i < 3; i++)
		for (int combiner = KERNEL_SUM; combiner <= last_combiner; combiner++) {
			struct fixture f = { .no_ids = 0 };
			fixture_open(&f, model, size_table[i], combiner, mse);
			check_gradients(&f);
			fixture_close(&f);
		}
}

/* Histories in every row but one, and in no row. */
static void
check_histories(build *model)
{
	check_model(model, 0, KERNEL_SUM);
	for (size_t B = 1; B < 4; B += 2) {
		struct fixture f = { .no_ids = 1 };
		fixture_open(&f, model, B, KERNEL_SUM, 0);
		check_gradients(&f);
		fixture_close(&f);
	}
}

static struct node *
layer(struct graph *g, struct node *x, const char *name, size_t H, int act)
{
	return graph_linear(g, x, &(struct graph_linear_options){
		.name = name, .H = H, .act = act, .init = PARAM_XAVIER_UNIFORM });
}

static struct node *
build_first_order(struct graph *g, const struct graph_field *field)
{
	return graph_first_order(g, field, N_FIELDS);
}

static struct node *
build_fm(struct graph *g, const struct graph_field *field)
{
	struct node *v = graph_embedding(g, field, N_FIELDS);

	return graph_add(g, graph_fm2(g, v), graph_bag_pairs(g, v));
}

static struct node *
build_fm2(struct graph *g, const struct graph_field *field)
{
	return graph_fm2(g, graph_embedding(g, field, N_FIELDS));
}

/* Two layers on unequal dims, every activation that works in place. */
static struct node *
build_linear(struct graph *g, const struct graph_field *field)
{
	struct graph_field own[N_FIELDS];

	memcpy(own, field, sizeof(own));
	own[2].dim = 2;
	own[3].dim = 1;
	struct node *x = graph_embedding(g, own, N_FIELDS);
	x = layer(g, x, "a", 5, KERNEL_ACT_TANH);
	x = layer(g, x, "b", 4, KERNEL_ACT_SIGMOID);
	x = layer(g, x, "c", 3, KERNEL_ACT_RELU);
	return layer(g, x, "d", 1, KERNEL_ACT_NONE);
}

/* Two users of one value. */
static struct node *
build_activations(struct graph *g, const struct graph_field *field)
{
	struct node *x = layer(g, graph_embedding(g, field, N_FIELDS), "a", 4, KERNEL_ACT_NONE);
	struct node *y = graph_concat(g, graph_activation(g, x, "p", KERNEL_ACT_PRELU),
		graph_activation(g, x, "g", KERNEL_ACT_GELU));

	y = graph_concat(g, y, graph_activation(g, x, "t", KERNEL_ACT_TANH));
	y = graph_concat(g, y, graph_activation(g, x, "s", KERNEL_ACT_SIGMOID));
	y = graph_concat(g, y, graph_activation(g, x, "r", KERNEL_ACT_RELU));
	return layer(g, graph_add(g, y, y), "b", 1, KERNEL_ACT_NONE);
}

static struct node *
build_norm(struct graph *g, const struct graph_field *field)
{
	const struct graph_norm_options o = { .name = "n", .momentum = 0.9, .epsilon = 1e-2 };
	struct node *x = layer(g, graph_embedding(g, field, N_FIELDS), "a", 4, KERNEL_ACT_NONE);

	x = graph_activation(g, graph_batch_norm(g, x, &o), "t", KERNEL_ACT_TANH);
	return layer(g, x, "b", 1, KERNEL_ACT_NONE);
}

static struct node *
build_dice(struct graph *g, const struct graph_field *field)
{
	const struct graph_norm_options o = { .name = "d", .momentum = 0.9, .epsilon = 1e-2 };
	struct node *x = layer(g, graph_embedding(g, field, N_FIELDS), "a", 4, KERNEL_ACT_NONE);

	return layer(g, graph_dice(g, x, &o), "b", 1, KERNEL_ACT_NONE);
}

static struct node *
build_dropout(struct graph *g, const struct graph_field *field)
{
	struct node *x = layer(g, graph_embedding(g, field, N_FIELDS), "a", 6, KERNEL_ACT_TANH);

	return layer(g, graph_dropout(g, x, 0.4), "b", 1, KERNEL_ACT_NONE);
}

/* Cosine of two towers over a temperature that is learned, as in models/two_tower.c. */
static struct node *
build_similarity(struct graph *g, const struct graph_field *field)
{
	const struct graph_temperature t = { .name = "t", .start = 0.3, .learn = 1 };
	struct node *u = layer(g, graph_embedding(g, field, 3), "u", 4, KERNEL_ACT_TANH);
	struct node *v = layer(g, graph_embedding(g, field + 3, 2), "v", 4, KERNEL_ACT_NONE);

	u = graph_l2_normalize(g, u);
	v = graph_l2_normalize(g, v);
	graph_set_vector(g, GRAPH_USER, u);
	graph_set_vector(g, GRAPH_ITEM, v);
	return graph_similarity(g, u, v, &t);
}

static void
l2_normalize_and_similarity_gradient(void **state)
{
	(void)state;
	check_model(build_similarity, 0, KERNEL_MAX);
}

/* Two outputs forward, then back: the same gradients as by way of the logit. */
static void
vectors_pass_their_gradients_on(void **state)
{
	struct fixture f = { .no_ids = 0 };
	double by_logit[256], u[MAX_B * 4], v[MAX_B * 4], z[MAX_B], dz[MAX_B];

	(void)state;
	fixture_open(&f, build_similarity, 7, KERNEL_SUM, 0);
	assert_true(f.P <= 256);
	loss_of(&f);
	memcpy(z, op_value(&(struct op_run){ .exec = f.e }, f.g->logit), sizeof(double) * 7);
	memcpy(dz, op_gradient(&(struct op_run){ .exec = f.e }, f.g->logit), sizeof(double) * 7);
	exec_backward(f.e, f.param, &f.feed, 1, by_logit);
	for (int output = GRAPH_USER; output <= GRAPH_ITEM; output++) {
		exec_set_output(f.e, output);
		memcpy(output == GRAPH_USER ? u : v, exec_forward(f.e, f.param, &f.feed, 1),
			7 * 4 * sizeof(double));
	}
	const size_t temperature = f.g->param[f.g->logit->param[0]].offset;
	for (int output = GRAPH_ITEM; output >= GRAPH_USER; output--) {
		const double *other = output == GRAPH_USER ? v : u;
		exec_set_output(f.e, output);
		for (size_t i = 0; i < 7 * 4; i++)
			exec_output_gradient(f.e)[i] = dz[i / 4] * other[i]
				/ exp(f.param[temperature]);
		exec_backward(f.e, f.param, &f.feed, 1, f.grad);
	}
	for (size_t i = 0; i < f.P; i++)
		if (i != temperature)
			assert_true(fabs(f.grad[i] - by_logit[i]) < 1e-12);
	for (size_t i = 0; i < f.g->n_inputs; i++)
		assert_int_not_equal(graph_output_uses(f.g, GRAPH_USER, i),
			graph_output_uses(f.g, GRAPH_ITEM, i));
	fixture_close(&f);
}

static void
a_row_of_zeros_has_no_direction(void **state)
{
	const double x[4] = { 0, 0, 3, 4 }, dy[4] = { 1, 1, 1, 1 };
	double y[4], inverse[2], dx[4] = { 0 };

	(void)state;
	kernel_ref.l2_normalize_forward(2, 2, x, y, inverse);
	kernel_ref.l2_normalize_backward(2, 2, y, inverse, dy, dx);
	for (size_t i = 0; i < 2; i++)
		assert_true(y[i] == 0 && dx[i] == 0);
	assert_true(fabs(y[2] - 0.6) < 1e-15 && fabs(y[3] - 0.8) < 1e-15);
}

/* Items of two aligned fields of unequal dim beside the vectors of two others. */
static struct node *
history_of(struct graph *g, const struct graph_field *field, struct node **query)
{
	struct graph_field key[2] = { field[3], field[3] }, target[2] = { field[0], field[4] };

	key[1].dim = target[1].dim = 4;
	key[1].schema_table = target[1].schema_table = 2;
	*query = graph_embedding(g, target, 2);
	return graph_history(g, key, 2);
}

/* The unit with what may stand between its layers; x is q beside what was pooled. */
static struct node *
build_attention(struct graph *g, const struct graph_field *field)
{
	const struct graph_norm_options norm = { .name = "n", .momentum = 0.9, .epsilon = 1e-2 };
	struct node *q, *k = history_of(g, field, &q);
	struct node *a = graph_attention_first(g, q, k, &(struct graph_linear_options){
		.name = "a", .H = 5, .act = KERNEL_ACT_TANH, .init = PARAM_XAVIER_UNIFORM });

	a = graph_concat(g, a, graph_activation(g, a, "p", KERNEL_ACT_PRELU));
	a = graph_dropout(g, graph_batch_norm(g, layer(g, a, "b", 3, KERNEL_ACT_NONE), &norm), 0.3);
	a = layer(g, graph_add(g, a, a), "c", 1, KERNEL_ACT_SIGMOID);
	struct node *x = graph_concat(g, q, graph_segment_pool(g, a, k));
	return layer(g, x, "d", 1, KERNEL_ACT_NONE);
}

static struct node *
build_attention_softmax(struct graph *g, const struct graph_field *field)
{
	const struct graph_norm_options dice = { .name = "n", .momentum = 0.9, .epsilon = 1e-2 };
	struct node *q, *k = history_of(g, field, &q);
	struct node *a = graph_attention_first(g, q, k, &(struct graph_linear_options){
		.name = "a", .H = 5, .init = PARAM_XAVIER_UNIFORM });

	a = layer(g, graph_dice(g, a, &dice), "b", 1, KERNEL_ACT_NONE);
	struct node *x = graph_segment_pool(g, graph_segment_softmax(g, a), k);
	return layer(g, graph_concat(g, x, q), "d", 1, KERNEL_ACT_NONE);
}

static void
attention_gradient(void **state)
{
	(void)state;
	check_histories(build_attention);
}

static void
attention_softmax_and_dice_gradient(void **state)
{
	(void)state;
	check_histories(build_attention_softmax);
}

static void
first_order_gradient(void **state)
{
	(void)state;
	check_model(build_first_order, 0, KERNEL_MAX);
}

static void
fm_gradient_with_pairs_inside_bags(void **state)
{
	(void)state;
	check_model(build_fm, 0, KERNEL_SQRTN);
}

static void
embedding_and_fm2_gradient(void **state)
{
	(void)state;
	check_model(build_fm2, 0, KERNEL_MAX);
}

static void
linear_gradient(void **state)
{
	(void)state;
	check_model(build_linear, 0, KERNEL_MAX);
}

static void
activation_add_concat_gradient(void **state)
{
	(void)state;
	check_model(build_activations, 0, KERNEL_SUM);
}

static void
batch_norm_gradient(void **state)
{
	(void)state;
	check_model(build_norm, 0, KERNEL_SUM);
}

static void
dice_gradient(void **state)
{
	(void)state;
	check_model(build_dice, 0, KERNEL_SUM);
}

static void
dropout_gradient(void **state)
{
	(void)state;
	check_model(build_dropout, 0, KERNEL_SUM);
}

static void
mse_gradient(void **state)
{
	(void)state;
	check_model(build_linear, 1, KERNEL_SUM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_order_gradient),
		cmocka_unit_test(attention_gradient),
		cmocka_unit_test(attention_softmax_and_dice_gradient),
		cmocka_unit_test(embedding_and_fm2_gradient),
		cmocka_unit_test(fm_gradient_with_pairs_inside_bags),
		cmocka_unit_test(linear_gradient),
		cmocka_unit_test(activation_add_concat_gradient),
		cmocka_unit_test(batch_norm_gradient),
		cmocka_unit_test(dice_gradient),
		cmocka_unit_test(dropout_gradient),
		cmocka_unit_test(mse_gradient),
		cmocka_unit_test(l2_normalize_and_similarity_gradient),
		cmocka_unit_test(vectors_pass_their_gradients_on),
		cmocka_unit_test(a_row_of_zeros_has_no_direction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
