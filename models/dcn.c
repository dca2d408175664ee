/*
 * Deep & Cross Network.  v1: R. Wang et al., "Deep & Cross Network for Ad Click
 * Predictions", ADKDD 2017.  v2: R. Wang et al., "DCN V2: Improved Deep & Cross
 * Network and Practical Lessons for Web-scale Learning to Rank Systems", WWW 2021.
 */
#include <stdio.h>

#include "graph/op_table.h"
#include "models/models.h"
#include "models/nn.h"

enum { NAME = 32 };

static struct graph_weight_options
weight_options(const struct settings *s, char name[NAME], size_t layer, const char *part)
{
	snprintf(name, NAME, "cross.%zu%s", layer, part);
	return (struct graph_weight_options){
		.name = name, .init = nn_init(s->dnn.init), .l2 = (float)s->dnn.l2,
	};
}

/* V^T x of all experts beside each other, each part times its gate: because the gates
 * sum to 1, sum_i G_i(x) x0 * (U_i V_i^T x + b) is x0 * (U (gated V^T x) + b). */
static struct node *
low_rank(struct graph *g, struct node *x, const struct settings *s, size_t layer)
{
	const size_t E = (size_t)s->dcn.experts, rank = (size_t)s->dcn.rank;
	char down_name[NAME], gate_name[NAME];
	const struct graph_weight_options down = weight_options(s, down_name, layer, ".down");
	const struct graph_weight_options gate = weight_options(s, gate_name, layer, ".gate");
	struct node *t = graph_product(g, x, E * rank, &down);      /* [B,E*r]  2021 eq. (2) */

	return E == 1 ? t : graph_gate(g, t, graph_product(g, x, E, &gate));      /* eq. (3) */
}

static struct node *
cross_layer(struct graph *g, struct node *x0, struct node *x, const struct settings *s,
	size_t layer)
{
	char name[NAME];
	const struct graph_weight_options o = weight_options(s, name, layer, "");

	if (s->dcn.version == DCN_V1)
		return graph_cross_v1(g, x0, x, &o);                    /* 2017 eq. (3)      */
	struct node *t = s->dcn.rank > 0 ? low_rank(g, x, s, layer) : x;
	return graph_cross_v2(g, x0, x, t, &o);                         /* 2021 eq. (1), (2) */
}

struct node *
dcn_build(struct graph *g, const struct schema *schema, const struct settings *s)
{
	struct node *x0 = nn_embedding(g, schema, s), *x = x0;      /* [B,n]             */

	for (size_t layer = 0; layer < (size_t)s->dcn.layers; layer++)
		x = cross_layer(g, x0, x, s, layer);                /* [B,n]             */
	if (s->dcn.structure == STRUCTURE_STACKED)
		return nn_mlp(g, x, &s->dnn);
	if (s->dnn.hidden.n > 0)
		x = graph_concat(g, x, nn_hidden(g, "dnn", x0, &s->dnn));   /* 2017 fig. 1   */
	return nn_unit(g, x, &s->dnn);                              /* logit 2017 eq. (5) */
}
