/*
 * DLRM.  M. Naumov et al., "Deep Learning Recommendation Model for Personalization
 * and Recommendation Systems", 2019: an MLP turns the numeric fields into one more
 * vector, the dots of all pairs of vectors and that vector go through another MLP.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "graph/op_table.h"
#include "models/models.h"
#include "models/nn.h"

/* The layers of [dlrm] bottom and one of embedding.dim units, in other things as [dnn]. */
static struct node *
bottom_mlp(struct graph *g, struct node *x, const struct settings *s)
{
	const struct number_list *bottom = &s->dlrm.bottom;
	struct dnn_settings dnn = s->dnn;
	double *hidden;

	if (memory_alloc(bottom->n + 1, sizeof(*hidden), &hidden) != RS_OK)
		return NULL;
	if (bottom->n > 0)
		memcpy(hidden, bottom->item, bottom->n * sizeof(*hidden));
	hidden[bottom->n] = (double)s->embedding.dim;
	dnn.hidden = (struct number_list){ hidden, bottom->n + 1 };
	x = nn_hidden(g, "bottom", x, &dnn);
	free(hidden);
	return x;
}

struct node *
dlrm_build(struct graph *g, const struct schema *schema, const struct settings *s)
{
	struct node *bottom = NULL;

	if (schema->K > 0)
		bottom = bottom_mlp(g, nn_numeric(g, schema, s), s);        /* [B,D]         */
	struct node *v = nn_id_embedding(g, schema, s);                     /* [B,F*D]       */
	struct node *dots = graph_dots(g, v, bottom);                       /* [B,F(F+1)/2]  */

	return nn_mlp(g, schema->K > 0 ? graph_concat(g, bottom, dots) : dots, &s->dnn);
}
