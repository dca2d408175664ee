/*
 * From the operators of a graph to those of a program: one function an operator, a row of
 * the table in lower.c.
 */
#ifndef EXPORT_LOWER_H
#define EXPORT_LOWER_H

#include <stddef.h>

#include "export/program.h"
#include "graph/node.h"

struct lowering {
	struct program *p;
	const struct model *m;
	const struct graph *g;
	const unsigned char *has_weight;   /* [F] of id columns                        */
	size_t *value;                     /* [n_nodes] of the program                 */
};

/* Into value[n->index]; RS_ESPEC: there is no row for it. */
enum rs_status lower_node(const struct lowering *l, const struct node *n);

/* The value of input i of the node. */
size_t lower_input(const struct lowering *l, const struct node *n, size_t i);
/* Parameter k of the node as a matrix, and as a row. */
size_t lower_matrix(const struct lowering *l, const struct node *n, size_t k);
size_t lower_row(const struct lowering *l, const struct node *n, size_t k);
/* Rows [begin,end) of it. */
size_t lower_rows(const struct lowering *l, const struct node *n, size_t k, size_t begin,
	size_t end);
size_t lower_activate(const struct lowering *l, size_t x, int act);

/* Of a graph input: 1 when it is one id a row; its ids; float 1 where there is one [N,L];
 * what each row of the table counts, its combiner included [N,L]; vectors times that
 * [N,L,D]; pooled [N,D]. */
int lower_is_single(const struct lowering *l, size_t input);
size_t lower_ids(const struct lowering *l, size_t input);
size_t lower_mask(const struct lowering *l, size_t input);
size_t lower_factors(const struct lowering *l, size_t input);
size_t lower_vectors(const struct lowering *l, size_t input);
size_t lower_pooled(const struct lowering *l, size_t input);

/* lower_op.c and lower_fields.c */
#define LOWERED(OP) \
	OP(embedding) OP(first_order) OP(fm2) OP(bag_pairs) OP(linear) OP(product) \
	OP(cross_v1) OP(cross_v2) OP(gate) OP(dots) OP(numeric) OP(activation) OP(dice) \
	OP(batch_norm) OP(dropout) OP(add) OP(concat) OP(l2_normalize) OP(similarity) \
	OP(history) OP(attention_first) OP(segment_softmax) OP(segment_pool)
#define OP(name) size_t lower_##name(const struct lowering *l, const struct node *n);
LOWERED(OP)
#undef OP

#endif
