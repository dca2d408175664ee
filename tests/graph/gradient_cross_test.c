/* Gradients of cross layers, experts and dots by central differences. */
#include "gradient_bed.h"

static const struct graph_weight_options *
weight(const char *name)
{
	static struct graph_weight_options o;

	o = (struct graph_weight_options){ .name = name, .init = PARAM_XAVIER_UNIFORM };
	return &o;
}

/* The first layer has one node for x0 and x. */
static struct node *
build_cross_v1(struct graph *g, const struct graph_field *field)
{
	struct node *x0 = graph_embedding(g, field, N_FIELDS);
	struct node *x = graph_cross_v1(g, x0, x0, weight("a"));

	x = graph_cross_v1(g, x0, x, weight("b"));
	return layer(g, graph_concat(g, x, x0), "c", 1, KERNEL_ACT_NONE);
}

static struct node *
build_cross_v2(struct graph *g, const struct graph_field *field)
{
	struct node *x0 = graph_embedding(g, field, N_FIELDS);
	struct node *x = graph_cross_v2(g, x0, x0, x0, weight("a"));

	x = graph_cross_v2(g, x0, x, x, weight("b"));
	return layer(g, x, "c", 1, KERNEL_ACT_NONE);
}

/* Rank 2, then two experts of rank 2. */
static struct node *
build_cross_experts(struct graph *g, const struct graph_field *field)
{
	struct node *x0 = graph_embedding(g, field, 2);
	struct node *x = graph_cross_v2(
		g, x0, x0, graph_product(g, x0, 2, weight("v")), weight("u"));
	struct node *logit = graph_product(g, x, 2, weight("gate"));

	x = graph_cross_v2(g, x0, x,
		graph_gate(g, graph_product(g, x, 4, weight("vv")), logit), weight("uu"));
	return layer(g, x, "c", 1, KERNEL_ACT_NONE);
}

/* The numeric columns as a vector beside those of the id fields. */
static struct node *
build_dots(struct graph *g, const struct graph_field *field)
{
	const struct graph_field id[] = { field[0], field[3], field[4] };
	struct node *bottom = layer(g, graph_numeric(g, field + 1, 2), "a", 3, KERNEL_ACT_TANH);
	struct node *v = graph_embedding(g, id, 3);

	return graph_add(g,
		layer(g, graph_concat(g, bottom, graph_dots(g, v, bottom)), "b", 1,
			KERNEL_ACT_NONE),
		layer(g, graph_dots(g, v, NULL), "c", 1, KERNEL_ACT_NONE));
}

static void
cross_v1_gradient(void **state)
{
	(void)state;
	check_model(build_cross_v1, 0, KERNEL_SUM);
}

static void
cross_v2_gradient(void **state)
{
	(void)state;
	check_model(build_cross_v2, 0, KERNEL_SUM);
}

static void
cross_of_low_rank_and_experts_gradient(void **state)
{
	(void)state;
	check_model(build_cross_experts, 0, KERNEL_SUM);
}

static void
numeric_and_dots_gradient(void **state)
{
	(void)state;
	check_model(build_dots, 0, KERNEL_SUM);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cross_v1_gradient),
		cmocka_unit_test(cross_v2_gradient),
		cmocka_unit_test(cross_of_low_rank_and_experts_gradient),
		cmocka_unit_test(numeric_and_dots_gradient),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
