/*
 * Gradients of a graph by central differences, in double: the graph and the
 * reference kernels are compiled once more in gradient_bed.c with float meaning
 * double, and whoever includes this speaks to them.
 */
#ifndef TESTS_GRAPH_GRADIENT_BED_H
#define TESTS_GRAPH_GRADIENT_BED_H

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

/* What knows how a float is stored comes before the word means double. */
#include "base/half.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/status.h"

#define float double
#include "graph/node.h"

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

typedef struct node *build(struct graph *g, const struct graph_field *field);

void fixture_open(struct fixture *f, build *model, size_t B, int combiner, int mse);
void fixture_close(struct fixture *f);
double loss_of(struct fixture *f);
/* Of every parameter and every row against differences. */
void check_gradients(struct fixture *f);
/* One row, an odd number, the maximum; every combiner. */
void check_model(build *model, int mse, int last_combiner);
/* Histories in every row but one, and in no row. */
void check_histories(build *model);
struct node *layer(struct graph *g, struct node *x, const char *name, size_t H, int act);

#endif
