/*
 * Factorisation machine.  S. Rendle, "Factorization Machines", ICDM 2010.
 *
 *	y = w0 + sum_i w_i x_i + sum_{i<j} <v_i, v_j> x_i x_j                     (1)
 *
 * The pairs in linear time are 1/2 sum_f ((sum_i v_if x_i)^2 - sum_i v_if^2 x_i^2),
 * lemma 3.1.  Every id of a field that holds several is a feature of its own.
 */
#include "graph/op_table.h"
#include "models/models.h"
#include "models/nn.h"

static int
fm_has_bags(const struct schema *schema)
{
	for (size_t i = 0; i < schema->n_fields; i++)
		if (!schema->field[i].is_dense && !schema->field[i].single)
			return 1;
	return 0;
}

struct node *
fm_build(struct graph *g, const struct schema *schema, const struct settings *s)
{
	struct node *v = nn_embedding(g, schema, s);                /* [B,F*D] v_i x_i       */
	struct node *first = nn_linear(g, schema, s);               /* [B,1]   w0 + w.x  (1) */
	struct node *pairs = graph_fm2(g, v);                       /* [B,1]   lemma 3.1     */

	if (fm_has_bags(schema))
		pairs = graph_add(g, pairs, graph_bag_pairs(g, v));
	return graph_add(g, first, pairs);
}
