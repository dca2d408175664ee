/* A model on a few rows. */
#include "model_bed.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

static void
bed_fields(struct model_bed *f)
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
bed_data(struct model_bed *f)
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

void
bed_settings(struct model_bed *f, int batch_norm, double dropout)
{
	memset(f, 0, sizeof(*f));
	f->user_field[0] = "C1";
	f->user_field[1] = "I1";
	f->item_field[0] = "C2";
	f->hidden[0] = 5;
	f->hidden[1] = 4;
	f->settings.embedding.init_stddev = 0.3;
	f->settings.embedding.dim = D;
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
	f->settings.dcn = (struct dcn_settings){ .version = DCN_V2, .layers = 2, .experts = 1 };
	f->settings.dlrm.bottom = (struct number_list){ f->hidden, 1 };
	bed_fields(f);
}

void
bed_build(struct model_bed *f, const char *model)
{
	assert_int_equal(graph_create(f->kernel != NULL ? f->kernel : &kernel_ref, &f->g), RS_OK);
	graph_set_dense(f->g, K);
	struct node *logit = model_find(model)->build(f->g, &f->schema, &f->settings);
	assert_int_equal(graph_finish(f->g, logit, 0), RS_OK);
	f->P = graph_param_size(f->g);
	f->param = calloc(f->P, sizeof(float));
	f->grad = calloc(f->P, sizeof(float));
	graph_init_params(f->g, 3, f->param);
	assert_int_equal(exec_create(f->g, 0, B, &f->e), RS_OK);
	bed_data(f);
}

void
bed_open(struct model_bed *f, const char *model, int batch_norm, double dropout)
{
	bed_settings(f, batch_norm, dropout);
	bed_build(f, model);
}

void
bed_close(struct model_bed *f)
{
	exec_destroy(f->e);
	graph_destroy(f->g);
	free(f->param);
	free(f->grad);
}

double
bed_loss(struct model_bed *f)
{
	double loss = 0;

	exec_forward(f->e, f->param, &f->feed, 1);
	exec_loss(f->e, &f->feed, &loss);
	return loss / B;
}

static void
check_derivative(struct model_bed *f, float *x, double gradient, const char *name)
{
	const float step = 4e-3f, saved = *x, up = saved + step, down = saved - step;

	*x = up;
	const double above = bed_loss(f);
	*x = down;
	const double below = bed_loss(f);
	*x = saved;
	const double numeric = (above - below) / ((double)up - down);
	if (!(fabs(numeric - gradient) <= 1e-3 * fabs(numeric) + 3e-5))
		fail_msg("%s: gradient %g, by differences %g", name, gradient, numeric);
}

void
bed_check_gradient(struct model_bed *f)
{
	bed_loss(f);
	exec_backward(f->e, f->param, &f->feed, 1, f->grad);
	for (size_t i = 0; i < graph_n_params(f->g); i++) {
		const struct graph_param *p = graph_param(f->g, i);
		for (size_t j = 0; j < p->rows * p->columns && !p->is_statistic; j++)
			check_derivative(
				f, &f->param[p->offset + j], f->grad[p->offset + j], p->name);
	}
	for (size_t i = 0; i < graph_n_inputs(f->g); i++) {
		double sum[N_ROWS * D] = { 0 };
		const size_t dim = graph_input(f->g, i)->dim;
		bed_loss(f);
		exec_backward(f->e, f->param, &f->feed, 1, f->grad);
		for (size_t b = 0; b < B; b++)
			for (size_t d = 0; d < dim; d++)
				sum[f->row[i][b] - f->table[i] + d] += exec_row_grad(f->e, i)[b][d];
		assert_null(exec_row_scale(f->e, i));
		for (size_t j = 0; j < N_ROWS * dim; j++)
			check_derivative(f, &f->table[i][j], sum[j], graph_input(f->g, i)->field);
	}
	bed_close(f);
}

const struct graph_param *
bed_param(const struct graph *g, const char *name)
{
	for (size_t i = 0; i < graph_n_params(g); i++)
		if (strcmp(graph_param(g, i)->name, name) == 0)
			return graph_param(g, i);
	fail_msg("no parameter '%s'", name);
	return NULL;
}
