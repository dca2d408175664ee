/*
 * A model of the table on fields C1, I1, C2 of dim 3, one id a row: logits, and the
 * gradient of the loss over all parameters by differences.
 */
#ifndef TESTS_MODELS_MODEL_BED_H
#define TESTS_MODELS_MODEL_BED_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"
#include "models/models.h"

enum { B = 12, F = 2, K = 1, D = 3, N_ROWS = 7, MAX_INPUTS = 8 };

struct model_bed {
	const struct kernel_set *kernel;    /* NULL: ref; after bed_settings()        */
	struct settings settings;
	struct field_settings field_settings[F + K];
	struct schema_field field[F + K];
	struct schema schema;
	double hidden[2];
	char *user_field[2], *item_field[1];
	struct graph *g;
	struct exec *e;
	float *param, *grad;
	size_t P;
	uint8_t missing[B * K];
	float dense[B * K], label[B], weight[B], table[MAX_INPUTS][N_ROWS * D];
	const float *row[MAX_INPUTS][B];
	const float *const *row_p[MAX_INPUTS];
	struct feed feed;
};

/* Settings before the graph: layers 5 and 4 with tanh, two cross layers of v2. */
void bed_settings(struct model_bed *f, int batch_norm, double dropout);
void bed_build(struct model_bed *f, const char *model);
/* Both. */
void bed_open(struct model_bed *f, const char *model, int batch_norm, double dropout);
void bed_close(struct model_bed *f);
double bed_loss(struct model_bed *f);
/* Every parameter and every row against differences; closes the fixture. */
void bed_check_gradient(struct model_bed *f);
const struct graph_param *bed_param(const struct graph *g, const char *name);

#endif
