/*
 * Wide & Deep: first-order weights and an MLP.  H.-T. Cheng et al., "Wide & Deep
 * Learning for Recommender Systems", DLRS 2016.
 */
#include "graph/op_table.h"
#include "models/models.h"
#include "models/nn.h"

struct node *
wide_deep_build(struct graph *g, const struct schema *schema, const struct settings *s)
{
	struct node *wide = nn_linear(g, schema, s);                /* [B,1]  w.x + b         */
	struct node *deep = nn_mlp(g, nn_embedding(g, schema, s), &s->dnn);   /* [B,1] eq. (1) */

	return graph_add(g, wide, deep);                            /* logit          eq. (3) */
}
