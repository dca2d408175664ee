/* Gradients of the operators by central differences. */
#include "gradient_bed.h"

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

/* Two outputs forward, then back, the item of the first rows only: the same gradients
 * as by way of a logit that has none in the other rows. */
static void
vectors_pass_their_gradients_on(void **state)
{
	enum { N_USERS = 7, N_ITEMS = 3, WIDTH = 4 };
	double by_logit[256], vector[2][MAX_B * WIDTH] = { 0 }, dz[MAX_B];
	struct fixture f;

	(void)state;
	fixture_open(&f, build_similarity, N_USERS, KERNEL_SUM, 0);
	assert_true(f.P <= 256);
	loss_of(&f);
	double *dlogit = op_gradient(&(struct op_run){ .exec = f.e }, f.g->logit);
	memset(dlogit + N_ITEMS, 0, (N_USERS - N_ITEMS) * sizeof(*dlogit));
	memcpy(dz, dlogit, N_USERS * sizeof(*dz));
	exec_backward(f.e, f.param, &f.feed, 1, by_logit);
	const size_t temperature = f.g->param[f.g->logit->param[0]].offset;
	for (int i = 0; i < 2; i++) {
		exec_set_output(f.e, i == 0 ? GRAPH_USER : GRAPH_ITEM);
		f.feed.B = i == 0 ? N_USERS : N_ITEMS;
		memcpy(vector[i], exec_forward(f.e, f.param, &f.feed, 1),
			f.feed.B * WIDTH * sizeof(double));
	}
	for (int i = 1; i >= 0; i--) {
		exec_set_output(f.e, i == 0 ? GRAPH_USER : GRAPH_ITEM);
		f.feed.B = i == 0 ? N_USERS : N_ITEMS;
		for (size_t j = 0; j < f.feed.B * WIDTH; j++)
			exec_output_gradient(f.e)[j] = dz[j / WIDTH] * vector[1 - i][j]
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
	check_model(build_first_order, 0, KERNEL_LAST);
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
	check_model(build_fm2, 0, KERNEL_LAST);
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
