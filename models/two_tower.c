/*
 * Two towers: a vector of the user's fields and one of the item's, compared.
 * P. Covington, J. Adams, E. Sargin, "Deep Neural Networks for YouTube
 * Recommendations", RecSys 2016; X. Yi et al., "Sampling-Bias-Corrected Neural
 * Modeling for Large Corpus Item Recommendations", RecSys 2019.
 */
#include "graph/op_table.h"
#include "models/models.h"
#include "models/nn.h"

static struct node *
two_tower_vector(struct graph *g, const struct schema *schema, const struct settings *s,
	int tower, const char *prefix)
{
	const struct tower_settings *t = &s->tower[tower];
	struct node *x = nn_embedding_of(g, schema, s, &t->fields);
	struct node *v = nn_vector(g, prefix, x, &t->dnn);

	return s->two_tower.similarity == SIMILARITY_COSINE ? graph_l2_normalize(g, v) : v;
}

struct node *
two_tower_build(struct graph *g, const struct schema *schema, const struct settings *s)
{
	const struct graph_temperature temperature = {
		.name = "two_tower", .start = (float)s->two_tower.temperature,
		.learn = s->two_tower.learn_temperature,
	};
	struct node *u = two_tower_vector(g, schema, s, TOWER_USER, "tower_user"); /* u(x)     */
	struct node *v = two_tower_vector(g, schema, s, TOWER_ITEM, "tower_item"); /* v(y)     */

	graph_set_vector(g, GRAPH_USER, u);
	graph_set_vector(g, GRAPH_ITEM, v);
	return graph_similarity(g, u, v, &temperature);            /* <u(x), v(y)> / T, sec. 3 */
}
