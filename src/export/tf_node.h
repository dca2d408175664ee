/*
 * Nodes of TensorFlow by their operators; each returns the name of the new one, and takes the
 * names of others.
 */
#ifndef EXPORT_TF_NODE_H
#define EXPORT_TF_NODE_H

#include "export/tf_graph.h"

char *tf_node_new(struct tf_graph *g);
const char *tf_node_name(const Tf__Node *n);
/* T is the type of its inputs, 0: the operator has none. */
Tf__Node *tf_node_make(struct tf_graph *g, const char *op, int type,
	const char *const input[TF_INPUTS]);
const char *tf_node_unary(struct tf_graph *g, const char *op, int type, const char *a);
const char *tf_node_binary(struct tf_graph *g, const char *op, int type, const char *a,
	const char *b);
/* a where c holds, else b. */
const char *tf_node_choose(struct tf_graph *g, int type, const char *c, const char *a,
	const char *b);
const char *tf_node_scalar(struct tf_graph *g, int type, double x);
const char *tf_node_word(struct tf_graph *g, const char *text);
const char *tf_node_cast(struct tf_graph *g, int from, int to, const char *a);
const char *tf_node_expand(struct tf_graph *g, int type, const char *a, int axis);
/* Is it so anywhere along the axis?  Without it, or with 1 instead. */
const char *tf_node_any(struct tf_graph *g, const char *a, int axis, int keep);
/* Sums of int64 along axis 1 of what is before, or behind. */
const char *tf_node_sums(struct tf_graph *g, const char *a, int reverse);
const char *tf_node_beside(struct tf_graph *g, int type, const char *a, const char *b);

#endif
