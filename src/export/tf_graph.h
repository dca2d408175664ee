/*
 * A graph of TensorFlow being made: nodes, their inputs and attributes.
 *
 * Names and everything else that is added live until tf_graph_free().  Out of memory is
 * remembered, tf_graph_status() tells.
 */
#ifndef EXPORT_TF_GRAPH_H
#define EXPORT_TF_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "export/tf.pb-c.h"

enum tf_type { TF_FLOAT = 1, TF_DOUBLE = 2, TF_INT32 = 3, TF_STRING = 7, TF_INT64 = 9,
	TF_BOOL = 10, TF_RESOURCE = 20 };

struct tf_graph {
	Tf__Graph def;
	void **owned;                      /* [n_owned]                               */
	size_t n_owned, capacity;
	int out_of_memory;
};

void tf_graph_init(struct tf_graph *g);
void tf_graph_free(struct tf_graph *g);
enum rs_status tf_graph_status(const struct tf_graph *g);

/* Zeroed memory that the graph keeps; NULL: out of memory. */
void *tf_graph_make(struct tf_graph *g, size_t size);
char *tf_graph_text(struct tf_graph *g, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* As text, what may not be in the name of a node replaced. */
char *tf_graph_name(struct tf_graph *g, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds to an array of pointers. */
void tf_graph_add(struct tf_graph *g, void *array, size_t *n, void *item);

/* A node; inputs are names of nodes, the first that is "" ends them. */
#define TF_INPUTS 4
Tf__Node *tf_graph_node(struct tf_graph *g, const char *op, char *name,
	const char *const input[TF_INPUTS]);
void tf_graph_input(struct tf_graph *g, Tf__Node *n, const char *name);
Tf__Attr *tf_graph_attr(struct tf_graph *g, Tf__Node *n, const char *key);
void tf_graph_type(struct tf_graph *g, Tf__Node *n, const char *key, int type);
void tf_graph_int(struct tf_graph *g, Tf__Node *n, const char *key, int64_t x);
void tf_graph_bool(struct tf_graph *g, Tf__Node *n, const char *key, int x);
void tf_graph_string(struct tf_graph *g, Tf__Node *n, const char *key, const char *x);
void tf_graph_shape(struct tf_graph *g, Tf__Node *n, const char *key, Tf__Shape *shape);

/* A negative dimension is free. */
Tf__Shape *tf_graph_dims(struct tf_graph *g, const int64_t *dim, size_t rank);
/* Const nodes: numbers of this type whose bytes are borrowed; int32; text. */
const char *tf_graph_const(struct tf_graph *g, char *name, int type, const int64_t *dim,
	size_t rank, const void *data);
const char *tf_graph_int32(struct tf_graph *g, const int64_t *x, size_t n, int is_scalar);
const char *tf_graph_scalar(struct tf_graph *g, int type, double x);
const char *tf_graph_texts(struct tf_graph *g, char *name, const char *const *x, size_t n,
	int is_scalar);

#endif
