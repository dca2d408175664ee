/*
 * The operators: name, arguments of graph_NAME(), what it computes.
 *
 * graph_NAME() appends a node and returns it.  It takes NULL for an input whose
 * own operator failed and then returns NULL, so that a model stays one
 * expression; graph_finish() reports the first failure.  Values are [B, n];
 * parameters are named by the caller's prefix ("dnn.0" gives "dnn.0.weight").
 */
#ifndef GRAPH_OP_TABLE_H
#define GRAPH_OP_TABLE_H

#include <stddef.h>

#include "graph/graph.h"

/* A field as the graph sees it: an id column with a table, or a numeric column. */
struct graph_field {
	const char *name;
	int    is_dense;
	size_t column;              /* id column, or numeric column of feed.dense     */
	size_t schema_table;        /* id columns                                     */
	size_t dim;
	int    combiner;            /* id columns: enum kernel_combiner               */
	float  init_stddev;         /* numeric: of its vectors                        */
	size_t max_ids;             /* id columns: of a row, as far as is known; 0: one */
};

struct graph_linear_options {
	const char *name;
	size_t H;
	int    act;                 /* none relu tanh sigmoid                         */
	int    init;                /* PARAM_XAVIER_UNIFORM ...                       */
	float  l2;
};

struct graph_norm_options {
	const char *name;
	float momentum, epsilon;    /* running = momentum running + (1 - momentum) batch */
};

struct graph_temperature {
	const char *name;
	float start;
	int   learn;                /* kept as its logarithm, "NAME.log_temperature"  */
};

struct graph_weight_options {
	const char *name;
	int    init;                /* PARAM_XAVIER_UNIFORM ...                       */
	float  l2;
};

#define OP_TABLE(OP) \
	OP(embedding,   (struct graph *g, const struct graph_field *field, size_t n), \
		"x = the vectors of all fields beside each other; numeric: value times vector") \
	OP(first_order, (struct graph *g, const struct graph_field *field, size_t n), \
		"y = w0 + sum of w_i x_i") \
	OP(fm2,         (struct graph *g, struct node *embedding), \
		"y = 1/2 sum_d ((sum_f x_f)^2 - sum_f x_f^2), x_f the vectors of the fields") \
	OP(bag_pairs,   (struct graph *g, struct node *embedding), \
		"y = what fm2 lacks to count pairs of ids inside one field") \
	OP(linear,      (struct graph *g, struct node *x, const struct graph_linear_options *o), \
		"y = act(x W + b)") \
	OP(product,     (struct graph *g, struct node *x, size_t H, \
			const struct graph_weight_options *o), \
		"y = x W") \
	OP(cross_v1,    (struct graph *g, struct node *x0, struct node *x, \
			const struct graph_weight_options *o), \
		"y = x0 (x . w) + b + x") \
	OP(cross_v2,    (struct graph *g, struct node *x0, struct node *x, struct node *t, \
			const struct graph_weight_options *o), \
		"y = x0 * (t W + b) + x; t is x, or x in fewer dimensions") \
	OP(gate,        (struct graph *g, struct node *t, struct node *logit), \
		"y = softmax(logit)_e t_e for each of the E parts of t") \
	OP(dots,        (struct graph *g, struct node *embedding, struct node *beside), \
		"y = the dots of all pairs of fields, and of beside (a vector, or NULL) with them") \
	OP(numeric,     (struct graph *g, const struct graph_field *field, size_t n), \
		"x = the numeric columns; a trained value where missing") \
	OP(activation,  (struct graph *g, struct node *z, const char *name, int act), \
		"y = act(z), any but dice") \
	OP(dice,        (struct graph *g, struct node *z, const struct graph_norm_options *o), \
		"y = z (p + (1-p) alpha), p = sigmoid of the batch-normalised z") \
	OP(batch_norm,  (struct graph *g, struct node *x, const struct graph_norm_options *o), \
		"y = gamma (x - mean) / sqrt(var + eps) + beta") \
	OP(dropout,     (struct graph *g, struct node *x, float p), \
		"y = x / (1-p) where kept, else 0; training only") \
	OP(add,         (struct graph *g, struct node *a, struct node *b), \
		"y = a + b") \
	OP(concat,      (struct graph *g, struct node *a, struct node *b), \
		"y = [a, b]") \
	OP(l2_normalize, (struct graph *g, struct node *x), \
		"y = x / |x|, a row of zeros stays one") \
	OP(similarity,  (struct graph *g, struct node *u, struct node *v, \
		const struct graph_temperature *t), \
		"y = u.v / temperature, row by row") \
	OP(history,     (struct graph *g, const struct graph_field *field, size_t n), \
		"k = the vectors of aligned sequence fields beside each other, a row an item") \
	OP(attention_first, (struct graph *g, struct node *q, struct node *k, \
		const struct graph_linear_options *o), \
		"y = act([k, q, k-q, k*q] W + b) for every item k, q the vector of its row") \
	OP(segment_softmax, (struct graph *g, struct node *a), \
		"y = softmax of a over each history") \
	OP(segment_pool, (struct graph *g, struct node *a, struct node *k), \
		"y = sum of a_i k_i over each history, 0 where it is empty")

#define OP(name, arguments, text) struct node *graph_##name arguments;
OP_TABLE(OP)
#undef OP

#endif
