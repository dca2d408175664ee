/*
 * DeepFM: a factorisation machine and an MLP on the same vectors.  H. Guo et al.,
 * "DeepFM: A Factorization-Machine based Neural Network for CTR Prediction",
 * IJCAI 2017.
 */
#include "graph/op_table.h"
#include "models/models.h"
#include "models/nn.h"

struct node *
deepfm_build(struct graph *g, const struct schema *schema, const struct settings *s)
{
	struct node *v = nn_embedding(g, schema, s);                /* [B,F*D]        eq. (3) */
	struct node *first = nn_linear(g, schema, s);               /* [B,1]   w.x    eq. (2) */
	struct node *second = graph_fm2(g, v);                      /* [B,1]   <v,v>  eq. (2) */
	struct node *deep = nn_mlp(g, v, &s->dnn);                  /* [B,1]          eq. (4) */

	return graph_add(g, graph_add(g, first, second), deep);     /* logit          eq. (1) */
}
