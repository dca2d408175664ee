/* Folded products of numeric vectors against the same layers unfolded, in double. */
#include "gradient_bed.h"

/* Two layers that multiply the vectors, and one with a row for each unit. */
static struct node *
two_layers(struct graph *g, struct node *x)
{
	const struct graph_weight_options w = { .name = "w", .init = PARAM_XAVIER_UNIFORM };
	struct node *a = layer(g, x, "a", 5, KERNEL_ACT_TANH);
	struct node *b = layer(g, graph_product(g, x, 4, &w), "b", 5, KERNEL_ACT_SIGMOID);

	return layer(g, graph_add(g, a, b), "c", 1, KERNEL_ACT_NONE);
}

static struct node *
build_middle(struct graph *g, const struct graph_field *field)
{
	return two_layers(g, graph_embedding(g, field, N_FIELDS));
}

static struct node *
build_first(struct graph *g, const struct graph_field *field)
{
	const struct graph_field own[] = { field[1], field[2], field[0], field[3], field[4] };

	return two_layers(g, graph_embedding(g, own, N_FIELDS));
}

/* Two runs, ids between them. */
static struct node *
build_apart(struct graph *g, const struct graph_field *field)
{
	const struct graph_field own[] = { field[2], field[0], field[3], field[4], field[1] };

	return two_layers(g, graph_embedding(g, own, N_FIELDS));
}

static struct node *
build_alone(struct graph *g, const struct graph_field *field)
{
	return two_layers(g, graph_embedding(g, field + 1, 2));
}

/* A vector too short to gain anything beside one that is folded. */
static struct node *
build_short(struct graph *g, const struct graph_field *field)
{
	struct graph_field own[N_FIELDS];

	memcpy(own, field, sizeof(own));
	own[2].dim = FOLD_MIN_DIM - 1;
	return two_layers(g, graph_embedding(g, own, N_FIELDS));
}

/* The input is wider than what is folded of it, and its vectors have other users. */
static struct node *
build_cross(struct graph *g, const struct graph_field *field)
{
	const struct graph_weight_options w = { .name = "cross", .init = PARAM_XAVIER_UNIFORM };
	struct node *x0 = graph_embedding(g, field, N_FIELDS);
	struct node *x = graph_cross_v2(g, x0, x0, x0, &w);

	return graph_add(g, graph_fm2(g, x0),
		graph_add(g, two_layers(g, x0), layer(g, x, "d", 1, KERNEL_ACT_NONE)));
}

/* A layer is the first to add to the gradient of the vectors, and not the only one. */
static struct node *
build_deepfm(struct graph *g, const struct graph_field *field)
{
	struct node *x = graph_embedding(g, field, N_FIELDS);
	struct node *pairs = graph_fm2(g, x);

	return graph_add(g, pairs, two_layers(g, x));
}

static const struct fold_case {
	const char *name;
	build *model;
	size_t n_folds;
} case_table[] = {
	{ "middle", build_middle, 2 }, { "first", build_first, 2 }, { "apart", build_apart, 2 },
	{ "alone", build_alone, 2 }, { "short", build_short, 2 }, { "cross", build_cross, 3 },
	{ "deepfm", build_deepfm, 2 },
};

enum { N_CASES = sizeof(case_table) / sizeof(case_table[0]) };

static size_t
count_folds(const struct fixture *f, int training)
{
	const struct op_run r = { .exec = f->e, .training = training };
	size_t n = 0;

	for (size_t i = 0; i < f->g->n_nodes; i++)
		n += fold_of(&r, f->g->node[i], f->B) != NULL;
	return n;
}

static void
unfold(struct fixture *f)
{
	for (size_t i = 0; i < f->g->n_nodes; i++) {
		fold_destroy(f->g->node[i]->fold);
		f->g->node[i]->fold = NULL;
	}
}

/* The second of two passes: where the first left its gradients. */
static double
backward(struct fixture *f, double *grad)
{
	double loss = 0;

	for (size_t pass = 0; pass < 2; pass++) {
		loss = loss_of(f);
		for (size_t i = 0; i < f->P; i++)
			grad[i] = NAN;
		exec_backward(f->e, f->param, &f->feed, 0.5, grad);
	}
	return loss;
}

static void
assert_close(double a, double b, const char *what, size_t i)
{
	if (!(fabs(a - b) <= 1e-12 * (1 + fabs(b))))
		fail_msg("%s[%zu]: folded %.15g, unfolded %.15g", what, i, a, b);
}

static void
fold_changes_no_number(void **state)
{
	(void)state;
	for (size_t c = 0; c < N_CASES; c++) {
		struct fixture f;
		double *grad, *folded;

		fixture_open(&f, case_table[c].model, MAX_B, KERNEL_SUM, 0);
		grad = calloc(f.P, sizeof(*grad));
		folded = calloc(MAX_INPUTS * MAX_IDS * 4, sizeof(*folded));
		assert_int_equal(count_folds(&f, 1), case_table[c].n_folds);
		assert_int_equal(count_folds(&f, 0), 0);
		const double loss = backward(&f, f.grad);
		size_t n = 0;
		for (size_t i = 0; i < f.g->n_inputs; i++)
			for (size_t j = 0; j < op_n_ids(&f.feed, i); j++)
				for (size_t d = 0; d < f.g->input[i].dim; d++)
					folded[n++] = exec_row_grad(f.e, i)[j][d];
		unfold(&f);
		assert_int_equal(count_folds(&f, 1), 0);
		assert_close(loss, backward(&f, grad), case_table[c].name, 0);
		for (size_t i = 0; i < f.P; i++)
			assert_close(f.grad[i], grad[i], case_table[c].name, i);
		n = 0;
		for (size_t i = 0; i < f.g->n_inputs; i++)
			for (size_t j = 0; j < op_n_ids(&f.feed, i); j++)
				for (size_t d = 0; d < f.g->input[i].dim; d++, n++)
					assert_close(folded[n], exec_row_grad(f.e, i)[j][d],
						f.g->input[i].field, n);
		free(grad);
		free(folded);
		fixture_close(&f);
	}
}

static void
folds_have_the_gradients_of_differences(void **state)
{
	(void)state;
	for (size_t c = 0; c < N_CASES; c++)
		check_model(case_table[c].model, 0, KERNEL_SUM);
}

/* A slot of a few rows, whose product would be the smaller part of the work. */
static void
few_rows_are_not_folded(void **state)
{
	struct fixture f;

	(void)state;
	fixture_open(&f, build_middle, FOLD_MIN_ROWS - 1, KERNEL_SUM, 0);
	assert_int_equal(count_folds(&f, 1), 0);
	fixture_close(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fold_changes_no_number),
		cmocka_unit_test(folds_have_the_gradients_of_differences),
		cmocka_unit_test(few_rows_are_not_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
