/* DCN and DLRM against their formulas in plain C, in double, and their gradients. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "model_bed.h"
#include "tests/test.h"

enum { N = (F + K) * D, WIDEST = 32 };

static const float *
weight(const struct model_bed *f, const char *name)
{
	return f->param + bed_param(f->g, name)->offset;
}

/* Biases start at 0, which would hide one that is not used. */
static void
move_params(struct model_bed *f)
{
	for (size_t i = 0; i < f->P; i++)
		f->param[i] += 0.2f * (float)rng_normal(77, i);
}

/* y[H] = x[n] W + b, W [n,H]; b NULL: 0. */
static void
affine(size_t n, size_t H, const double *x, const float *w, const float *bias, double *y)
{
	for (size_t h = 0; h < H; h++) {
		y[h] = bias == NULL ? 0 : bias[h];
		for (size_t i = 0; i < n; i++)
			y[h] += x[i] * w[i * H + h];
	}
}

/* The hidden layers 5 and 4 with tanh: h[4]. */
static void
hidden_layers(const struct model_bed *f, size_t n, const double *x, double *h)
{
	double first[5];

	affine(n, 5, x, weight(f, "dnn.0.weight"), weight(f, "dnn.0.bias"), first);
	for (size_t i = 0; i < 5; i++)
		first[i] = tanh(first[i]);
	affine(5, 4, first, weight(f, "dnn.1.weight"), weight(f, "dnn.1.bias"), h);
	for (size_t i = 0; i < 4; i++)
		h[i] = tanh(h[i]);
}

static double
unit(const struct model_bed *f, size_t n, const double *x)
{
	double y;

	affine(n, 1, x, weight(f, "dnn.2.weight"), weight(f, "dnn.2.bias"), &y);
	return y;
}

/* The vectors of row b beside each other, in spec order. */
static void
vectors(const struct model_bed *f, size_t b, double *x)
{
	const float *v = weight(f, "I1.vector");

	for (size_t d = 0; d < D; d++) {
		x[d] = f->row[0][b][d];
		x[D + d] = (double)f->dense[b] * v[d];
		x[2 * D + d] = f->row[1][b][d];
	}
}

/* Wang 2017 eq. (3). */
static void
cross_v1(const struct model_bed *f, size_t layer, const double *x0, double *x)
{
	const float *w = weight(f, layer == 0 ? "cross.0.weight" : "cross.1.weight");
	const float *bias = weight(f, layer == 0 ? "cross.0.bias" : "cross.1.bias");
	double dot = 0;

	for (size_t i = 0; i < N; i++)
		dot += x[i] * w[i];
	for (size_t i = 0; i < N; i++)
		x[i] = x0[i] * dot + bias[i] + x[i];
}

/* Wang 2021 eq. (1). */
static void
cross_v2(const struct model_bed *f, size_t layer, const double *x0, double *x)
{
	double z[N];

	affine(N, N, x, weight(f, layer == 0 ? "cross.0.weight" : "cross.1.weight"),
		weight(f, layer == 0 ? "cross.0.bias" : "cross.1.bias"), z);
	for (size_t i = 0; i < N; i++)
		x[i] = x0[i] * z[i] + x[i];
}

/* Wang 2021 eq. (2) and (3): x + sum_e G_e(x) x0 * (U_e (V_e^T x) + b). */
static void
cross_experts(const struct model_bed *f, size_t layer, const double *x0, double *x)
{
	const size_t E = (size_t)f->settings.dcn.experts, R = (size_t)f->settings.dcn.rank;
	const float *u = weight(f, layer == 0 ? "cross.0.weight" : "cross.1.weight");
	const float *bias = weight(f, layer == 0 ? "cross.0.bias" : "cross.1.bias");
	double down[WIDEST], gate[WIDEST] = { 1 }, sum = 0, y[N];

	affine(N, E * R, x,
		weight(f, layer == 0 ? "cross.0.down.weight" : "cross.1.down.weight"), NULL, down);
	if (E > 1)
		affine(N, E, x,
			weight(f, layer == 0 ? "cross.0.gate.weight" : "cross.1.gate.weight"),
			NULL, gate);
	for (size_t e = 0; e < E; e++)
		sum += gate[e] = exp(gate[e]);
	memcpy(y, x, sizeof(y));
	for (size_t e = 0; e < E; e++) {
		double z[N];
		affine(R, N, down + e * R, u + e * R * N, bias, z);
		for (size_t i = 0; i < N; i++)
			y[i] += gate[e] / sum * x0[i] * z[i];
	}
	memcpy(x, y, sizeof(y));
}

typedef void cross(const struct model_bed *f, size_t layer, const double *x0, double *x);

static void
check_dcn(const struct dcn_settings *dcn, cross *layer)
{
	struct model_bed f;

	bed_settings(&f, 0, 0);
	f.settings.dcn = *dcn;
	bed_build(&f, "dcn");
	move_params(&f);
	const float *logit = exec_forward(f.e, f.param, &f.feed, 0);
	for (size_t b = 0; b < B; b++) {
		double x0[N], x[WIDEST], h[4];
		vectors(&f, b, x0);
		memcpy(x, x0, sizeof(x0));
		for (size_t i = 0; i < 2; i++)
			layer(&f, i, x0, x);
		hidden_layers(&f, N, dcn->structure == STRUCTURE_STACKED ? x : x0, h);
		if (dcn->structure == STRUCTURE_STACKED) {
			assert_float_equal(logit[b], unit(&f, 4, h), 2e-5);
			continue;
		}
		memcpy(x + N, h, sizeof(h));
		assert_float_equal(logit[b], unit(&f, N + 4, x), 2e-5);
	}
	bed_check_gradient(&f);
}

static void
dcn_v1_is_wang_2017_equation_3(void **state)
{
	(void)state;
	check_dcn(&(struct dcn_settings){ .version = DCN_V1, .layers = 2 }, cross_v1);
}

static void
dcn_v2_is_wang_2021_equation_1(void **state)
{
	(void)state;
	check_dcn(&(struct dcn_settings){ .version = DCN_V2, .layers = 2 }, cross_v2);
}

static void
stacked_dcn_has_its_hidden_layers_behind_the_cross_layers(void **state)
{
	(void)state;
	check_dcn(&(struct dcn_settings){ .version = DCN_V2, .layers = 2,
		.structure = STRUCTURE_STACKED }, cross_v2);
}

static void
dcn_of_low_rank_is_equation_2(void **state)
{
	(void)state;
	check_dcn(&(struct dcn_settings){ .version = DCN_V2, .layers = 2, .rank = 2,
		.experts = 1 }, cross_experts);
}

static void
dcn_of_experts_is_equation_3(void **state)
{
	(void)state;
	check_dcn(&(struct dcn_settings){ .version = DCN_V2, .layers = 2, .rank = 3,
		.experts = 4 }, cross_experts);
}

static void
dcn_without_hidden_layers_is_its_cross_layers(void **state)
{
	struct model_bed f;

	(void)state;
	bed_settings(&f, 0, 0);
	f.settings.dnn.hidden.n = 0;
	bed_build(&f, "dcn");
	for (size_t i = 0; i < graph_n_params(f.g); i++)
		if (strcmp(graph_param(f.g, i)->name, "dnn.0.weight") == 0)
			assert_int_equal(graph_param(f.g, i)->rows, N);
	bed_check_gradient(&f);
}

/* The numeric vector, then the dots <C1,I>, <C2,I>, <C2,C1> go through the top layers. */
static void
dlrm_is_naumov_2019(void **state)
{
	struct model_bed f;

	(void)state;
	bed_open(&f, "dlrm", 0, 0);
	move_params(&f);
	f.missing[3] = 1;
	f.dense[3] = 0;
	f.feed.missing = f.missing;
	const float *logit = exec_forward(f.e, f.param, &f.feed, 0);
	for (size_t b = 0; b < B; b++) {
		const double x = f.missing[b] ? weight(&f, "I1.missing")[0] : f.dense[b];
		double bottom[5], top[D + 3] = { 0 }, h[4];
		affine(1, 5, &x, weight(&f, "bottom.0.weight"), weight(&f, "bottom.0.bias"),
			bottom);
		for (size_t i = 0; i < 5; i++)
			bottom[i] = tanh(bottom[i]);
		affine(5, D, bottom, weight(&f, "bottom.1.weight"), weight(&f, "bottom.1.bias"),
			top);
		for (size_t d = 0; d < D; d++) {
			const double c1 = f.row[0][b][d], c2 = f.row[1][b][d];
			top[d] = tanh(top[d]);
			top[D] += c1 * top[d];
			top[D + 1] += c2 * top[d];
			top[D + 2] += c2 * c1;
		}
		hidden_layers(&f, D + 3, top, h);
		assert_float_equal(logit[b], unit(&f, 4, h), 2e-5);
	}
	bed_check_gradient(&f);
}

static void
dlrm_without_numeric_fields_has_no_bottom(void **state)
{
	struct model_bed f;

	(void)state;
	bed_settings(&f, 0, 0);
	f.field[1] = f.field[2];
	f.schema.n_fields = 2;
	f.schema.K = 0;
	bed_build(&f, "dlrm");
	for (size_t i = 0; i < graph_n_params(f.g); i++)
		assert_null(strstr(graph_param(f.g, i)->name, "bottom"));
	assert_int_equal(bed_param(f.g, "dnn.0.weight")->rows, 1);
	bed_check_gradient(&f);
}

static void
check_refused(const struct model_bed *f, const char *words)
{
	struct graph *g;

	assert_int_equal(graph_create(&kernel_ref, &g), RS_OK);
	graph_set_dense(g, K);
	struct node *logit = model_find("dlrm")->build(g, &f->schema, &f->settings);
	assert_int_equal(graph_finish(g, logit, 0), RS_ESPEC);
	assert_non_null(strstr(rs_failure()->text, words));
	graph_destroy(g);
}

static void
dlrm_refuses_unequal_dims_by_name(void **state)
{
	struct model_bed f;

	(void)state;
	bed_settings(&f, 0, 0);
	f.field[2].dim = D + 1;
	check_refused(&f, "'C1' and 'C2'");
	f.field[0].dim = D + 1;
	check_refused(&f, "[B,3], the vectors of the fields are 4");
	f.schema.n_fields = 1;
	f.schema.K = 0;
	check_refused(&f, "no pair");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dcn_v1_is_wang_2017_equation_3),
		cmocka_unit_test(dcn_v2_is_wang_2021_equation_1),
		cmocka_unit_test(stacked_dcn_has_its_hidden_layers_behind_the_cross_layers),
		cmocka_unit_test(dcn_of_low_rank_is_equation_2),
		cmocka_unit_test(dcn_of_experts_is_equation_3),
		cmocka_unit_test(dcn_without_hidden_layers_is_its_cross_layers),
		cmocka_unit_test(dlrm_is_naumov_2019),
		cmocka_unit_test(dlrm_without_numeric_fields_has_no_bottom),
		cmocka_unit_test(dlrm_refuses_unequal_dims_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
