/* The graph and the reference kernels in double, and the differences. */
#include "gradient_bed.h"

#include "src/kernel/ref/ref_dense.c"
#include "src/kernel/ref/ref_cross.c"
#include "src/kernel/ref/ref_embed.c"
#include "src/kernel/ref/ref_loss.c"
#include "src/kernel/ref/ref_optimizer.c"
#include "src/kernel/ref/ref_segment.c"
#include "src/kernel/ref/ref_set.c"
#include "src/kernel/ref/ref_vector.c"
#include "src/graph/axes.c"
#include "src/graph/fold.c"
#include "src/graph/graph.c"
#include "src/graph/fields.c"
#include "src/graph/plan.c"
#include "src/graph/exec.c"
#include "src/graph/exec_size.c"
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
#include "src/graph/product.c"
#include "src/graph/layer.c"
#include "src/graph/op_linear.c"
#include "src/graph/op_product.c"
#include "src/graph/op_cross_v1.c"
#include "src/graph/op_cross_v2.c"
#include "src/graph/op_gate.c"
#include "src/graph/op_dots.c"
#include "src/graph/op_numeric.c"
#include "src/graph/op_segment_pool.c"
#include "src/graph/op_segment_softmax.c"
#include "src/graph/op_similarity.c"

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
fixture_build(struct fixture *f, build *model, size_t B, int combiner, int mse)
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
	assert_int_equal(exec_create(f->g, 0, MAX_B, &f->e), RS_OK);
}

void
fixture_open(struct fixture *f, build *model, size_t B, int combiner, int mse)
{
	memset(f, 0, sizeof(*f));
	fixture_build(f, model, B, combiner, mse);
}

static void
fixture_open_without_ids(struct fixture *f, build *model, size_t B)
{
	memset(f, 0, sizeof(*f));
	f->no_ids = 1;
	fixture_build(f, model, B, KERNEL_SUM, 0);
}

void
fixture_close(struct fixture *f)
{
	exec_destroy(f->e);
	graph_destroy(f->g);
	free(f->param);
	free(f->grad);
}

double
loss_of(struct fixture *f)
{
	double loss = 0;

	assert_non_null(exec_forward(f->e, f->param, &f->feed, 1));
	exec_loss(f->e, &f->feed, &loss);
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
	if (!(fabs(numeric - analytic) <= 1e-6 * (fabs(numeric) + fabs(analytic)) + 1e-9))
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

void
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

void
check_model(build *model, int mse, int last_combiner)
{
	static const size_t size_table[] = { 1, 5, MAX_B };

	for (size_t i = 0; i < 3; i++)
		for (int combiner = KERNEL_SUM; combiner <= last_combiner; combiner++) {
			struct fixture f;
			fixture_open(&f, model, size_table[i], combiner, mse);
			check_gradients(&f);
			fixture_close(&f);
		}
}

void
check_histories(build *model)
{
	check_model(model, 0, KERNEL_SUM);
	for (size_t B = 1; B < 4; B += 2) {
		struct fixture f;
		fixture_open_without_ids(&f, model, B);
		check_gradients(&f);
		fixture_close(&f);
	}
}

struct node *
layer(struct graph *g, struct node *x, const char *name, size_t H, int act)
{
	return graph_linear(g, x, &(struct graph_linear_options){
		.name = name, .H = H, .act = act, .init = PARAM_XAVIER_UNIFORM });
}
