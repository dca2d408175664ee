/*
 * What the models share: the fields of a schema as operators, and the MLP.
 *
 * Like the graph's operators these take NULL for a failed input and return NULL.
 */
#ifndef MODELS_NN_H
#define MODELS_NN_H

#include "data/schema.h"
#include "graph/graph.h"
#include "graph/op_table.h"
#include "spec/settings.h"

/* A field of the schema as the graph takes it. */
struct graph_field nn_field(const struct schema_field *from, const struct settings *s);
/* PARAM_... of the spec's word. */
int nn_init(enum dense_init init);
/* [B, sum of dims]: the vectors of all fields in spec order but those of part wide. */
struct node *nn_embedding(struct graph *g, const struct schema *schema, const struct settings *s);
/* The same without the numeric fields. */
struct node *nn_id_embedding(
	struct graph *g, const struct schema *schema, const struct settings *s);
/* [B,K]: the numeric fields as they are. */
struct node *nn_numeric(struct graph *g, const struct schema *schema, const struct settings *s);
/* [B,1]: bias + first-order weights of all fields but those of part deep. */
struct node *nn_linear(struct graph *g, const struct schema *schema, const struct settings *s);
/* The same of the fields that are named. */
struct node *nn_embedding_of(struct graph *g, const struct schema *schema,
	const struct settings *s, const struct text_list *names);
/* [B, last of hidden]: the hidden layers, parameters PREFIX.0, PREFIX.1 ...; x without. */
struct node *nn_hidden(
	struct graph *g, const char *prefix, struct node *x, const struct dnn_settings *dnn);
/* The same, but the last layer has no activation, batch norm or dropout. */
struct node *nn_vector(
	struct graph *g, const char *prefix, struct node *x, const struct dnn_settings *dnn);
/* [B,1]: one unit without activation, behind the hidden layers of [dnn]. */
struct node *nn_unit(struct graph *g, struct node *x, const struct dnn_settings *dnn);
/* [B,1]: hidden layers of [dnn], then one unit without activation. */
struct node *nn_mlp(struct graph *g, struct node *x, const struct dnn_settings *dnn);

#endif
