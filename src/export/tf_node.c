/* Nodes of the operators that the front of a graph is made of. */
#include "export/tf_node.h"

char *
tf_node_new(struct tf_graph *g)
{
	return tf_graph_text(g, "front/%zu", g->def.n_node);
}

/* T is the type of its inputs, 0: the operator has none. */
Tf__Node *
tf_node_make(struct tf_graph *g, const char *op, int type, const char *const input[TF_INPUTS])
{
	Tf__Node *const n = tf_graph_node(g, op, tf_node_new(g), input);

	if (type != 0)
		tf_graph_type(g, n, "T", type);
	return n;
}

const char *
tf_node_name(const Tf__Node *n)
{
	return n != NULL ? n->name : "";
}

const char *
tf_node_unary(struct tf_graph *g, const char *op, int type, const char *a)
{
	return tf_node_name(tf_node_make(g, op, type, (const char *[TF_INPUTS]){ a }));
}

const char *
tf_node_binary(struct tf_graph *g, const char *op, int type, const char *a, const char *b)
{
	return tf_node_name(tf_node_make(g, op, type, (const char *[TF_INPUTS]){ a, b }));
}

const char *
tf_node_choose(struct tf_graph *g, int type, const char *c, const char *a, const char *b)
{
	return tf_node_name(tf_node_make(g, "SelectV2", type,
		(const char *[TF_INPUTS]){ c, a, b }));
}

const char *
tf_node_scalar(struct tf_graph *g, int type, double x)
{
	return tf_graph_scalar(g, type, x);
}

const char *
tf_node_word(struct tf_graph *g, const char *text)
{
	return tf_graph_texts(g, tf_node_new(g), &text, 1, 1);
}

const char *
tf_node_cast(struct tf_graph *g, int from, int to, const char *a)
{
	Tf__Node *const n = tf_node_make(g, "Cast", 0, (const char *[TF_INPUTS]){ a });

	tf_graph_type(g, n, "SrcT", from);
	tf_graph_type(g, n, "DstT", to);
	return tf_node_name(n);
}

const char *
tf_node_expand(struct tf_graph *g, int type, const char *a, int axis)
{
	return tf_node_binary(g, "ExpandDims", type, a, tf_node_scalar(g, TF_INT32, axis));
}

/* Is it so anywhere along the axis?  Without it, or with 1 instead. */
const char *
tf_node_any(struct tf_graph *g, const char *a, int axis, int keep)
{
	Tf__Node *const n = tf_node_make(g, "Any", 0, (const char *[TF_INPUTS]){ a,
		tf_node_scalar(g, TF_INT32, axis) });

	if (keep)
		tf_graph_bool(g, n, "keep_dims", 1);
	return tf_node_name(n);
}

/* Sums along axis 1 of what is before, or behind. */
const char *
tf_node_sums(struct tf_graph *g, const char *a, int reverse)
{
	Tf__Node *const n = tf_node_make(g, "Cumsum", TF_INT64, (const char *[TF_INPUTS]){ a,
		tf_node_scalar(g, TF_INT32, 1) });

	tf_graph_bool(g, n, "exclusive", 1);
	if (reverse)
		tf_graph_bool(g, n, "reverse", 1);
	return tf_node_name(n);
}

const char *
tf_node_beside(struct tf_graph *g, int type, const char *a, const char *b)
{
	Tf__Node *const n = tf_node_make(g, "ConcatV2", type, (const char *[TF_INPUTS]){ a, b,
		tf_node_scalar(g, TF_INT32, 1) });

	tf_graph_int(g, n, "N", 2);
	return tf_node_name(n);
}
