/*
 * Every model of the table with the kernels for GPUs, emulated: logits, loss and all gradients
 * are those of the reference, and no kernel touches what is outside of what a model gave it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/models.h"
#include "model_bed.h"
#include "tests/kernel/emulate.h"

/* What makes a model use kernels that its defaults do not. */
struct variant {
	const char *name;
	int batch_norm;
	double dropout;
	enum activation activation;
	struct dcn_settings dcn;
};

static const struct variant variant_table[] = {
	{ "plain", 0, 0, ACT_TANH, { .version = DCN_V2, .layers = 2, .experts = 1 } },
	{ "normed", 1, 0.2, ACT_RELU, { .version = DCN_V1, .layers = 3, .experts = 1 } },
	{ "dice", 0, 0.5, ACT_DICE, { .version = DCN_V2, .layers = 1, .experts = 3, .rank = 2 } },
	{ "prelu", 1, 0, ACT_PRELU, { .version = DCN_V2, .layers = 2, .experts = 1, .rank = 2 } },
	{ "gelu", 0, 0, ACT_GELU, { .version = DCN_V1, .layers = 1, .experts = 1 } },
	{ "sigmoid", 0, 0, ACT_SIGMOID, { .version = DCN_V2, .layers = 1, .experts = 1 } },
};

static void
open_bed(struct model_bed *f, const char *model, const struct variant *v,
	const struct kernel_set *kernel)
{
	bed_settings(f, v->batch_norm, v->dropout);
	f->kernel = kernel;
	f->settings.dnn.activation = v->activation;
	f->settings.dcn = v->dcn;
	for (size_t side = 0; side < 2; side++)
		f->settings.tower[side].dnn = f->settings.dnn;
	bed_build(f, model);
}

static void
same(const char *model, const char *what, const float *want, const float *got, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(fabs((double)want[i] - got[i]) <= 1e-5 * (1 + fabs((double)want[i]))))
			fail_msg("%s: %s %zu is %.9g, ref says %.9g", model, what, i, got[i],
				want[i]);
}

/* One step of both: f[0] the reference. */
static void
compare_beds(const char *name, struct model_bed f[2])
{
	const float *logit[2];
	double loss[2];

	for (size_t side = 0; side < 2; side++) {
		loss[side] = bed_loss(&f[side]);
		logit[side] = exec_forward(f[side].e, f[side].param, &f[side].feed, 1);
	}
	same(name, "logit", logit[0], logit[1], B);
	assert_true(fabs(loss[0] - loss[1]) <= 1e-5 * fabs(loss[0]));
	for (size_t side = 0; side < 2; side++) {
		bed_loss(&f[side]);
		exec_backward(f[side].e, f[side].param, &f[side].feed, 1, f[side].grad);
	}
	same(name, "gradient", f[0].grad, f[1].grad, f[0].P);
	for (size_t i = 0; i < graph_n_inputs(f[0].g); i++)
		for (size_t b = 0; b < B; b++)
			same(name, "row gradient", exec_row_grad(f[0].e, i)[b],
				exec_row_grad(f[1].e, i)[b], graph_input(f[0].g, i)->dim);
}

static void
every_model_steps_as_with_ref(void **state)
{
	static struct model_bed f[2];

	(void)state;
	for (const struct model_row *row = model_table; row->name != NULL; row++)
		for (size_t i = 0; i < sizeof(variant_table) / sizeof(variant_table[0]); i++) {
			const char *where;
			open_bed(&f[0], row->name, &variant_table[i], &kernel_ref);
			open_bed(&f[1], row->name, &variant_table[i], &kernel_emulated);
			emulate_backwards(i % 2);
			compare_beds(row->name, f);
			if (emulate_violations(&where) > 0)
				fail_msg("%s, %s: %s", row->name, variant_table[i].name,
					where);
			bed_close(&f[0]);
			bed_close(&f[1]);
		}
	emulate_end();
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_model_steps_as_with_ref) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
