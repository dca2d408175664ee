/*
 * Deep interest network.  G. Zhou et al., "Deep Interest Network for Click-Through
 * Rate Prediction", KDD 2018.
 *
 *	v(A) = sum_i a(e_i, v_A) e_i,   a(k, q) = MLP[k, q, k-q, k*q]             (3)
 *
 * over the real items e_i of a history, v_A the vectors of the fields whose tables it
 * shares.  Sequences of one `history` are attended to together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "graph/op_table.h"
#include "models/models.h"
#include "models/nn.h"

struct din_group {
	const char *name;                   /* of the history                         */
	struct graph_field *key, *query;    /* [n] its fields, and what they share    */
	size_t n;
};

static int
is_sequence(const struct schema *schema, size_t i)
{
	return schema->field[i].settings->type == FIELD_SEQUENCE;
}

/* The first field of the history that sequence i belongs to. */
static size_t
first_of_history(const struct schema *schema, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_sequence(schema, k) && strcmp(schema->field[k].settings->history,
			schema->field[i].settings->history) == 0)
			return k;
	return i;
}

/* The field that sequence i shares its table with; itself when it has its own. */
static size_t
target_of(const struct schema *schema, size_t i)
{
	for (size_t k = 0; k < schema->n_fields; k++)
		if (strcmp(schema->field[k].name, schema->field[i].settings->share) == 0)
			return k;
	return i;
}

static void
group_fill(const struct schema *schema, const struct settings *s, size_t first,
	struct din_group *group)
{
	for (size_t i = first; i < schema->n_fields; i++) {
		if (!is_sequence(schema, i) || first_of_history(schema, i) != first)
			continue;
		group->key[group->n] = nn_field(&schema->field[i], s);
		group->query[group->n++] = nn_field(&schema->field[target_of(schema, i)], s);
	}
}

/* One layer of the unit: over q and k, or (q NULL) over what came before. */
static struct node *
attention_layer(struct graph *g, struct node *q, struct node *x, size_t H, int act,
	const struct settings *s, const char *name)
{
	char dice[136];
	const int in_place = act != ACT_PRELU && act != ACT_DICE && act != ACT_GELU;
	const struct graph_linear_options o = {
		.name = name, .H = H, .act = in_place ? act : KERNEL_ACT_NONE,
		.init = nn_init(s->dnn.init), .l2 = (float)s->dnn.l2,
	};

	x = q != NULL ? graph_attention_first(g, q, x, &o) : graph_linear(g, x, &o);
	snprintf(dice, sizeof(dice), "%s.dice", name);
	if (act == ACT_DICE)
		return graph_dice(g, x, &(struct graph_norm_options){ dice,
			(float)s->dnn.batch_norm_momentum, (float)s->dnn.batch_norm_epsilon });
	return in_place ? x : graph_activation(g, x, name, act);
}

/* [N,1] a(k, q): hidden layers, then one unit without activation. */
static struct node *
attention_unit(struct graph *g, struct node *q, struct node *k, const struct settings *s,
	const char *history)
{
	const size_t n = s->din.attention.n;
	struct node *x = k;
	char name[128];

	for (size_t i = 0; i <= n; i++) {
		const size_t H = i < n ? (size_t)s->din.attention.item[i] : 1;
		const int act = i < n ? (int)s->din.activation : ACT_NONE;
		snprintf(name, sizeof(name), "%s.attention.%zu", history, i);
		x = attention_layer(g, i == 0 ? q : NULL, x, H, act, s, name);
	}
	return s->din.softmax ? graph_segment_softmax(g, x) : x;
}

/* [B,D] one history as a vector. */
static struct node *
group_pool(struct graph *g, const struct settings *s, const struct din_group *group)
{
	for (size_t i = 0; i < group->n; i++)
		group->key[i].combiner = s->din.pooling == DIN_MEAN ? KERNEL_MEAN : KERNEL_SUM;

	if (s->din.pooling != DIN_ATTENTION)
		return graph_embedding(g, group->key, group->n);
	struct node *q = graph_embedding(g, group->query, group->n);          /* [B,D]  v_A  */
	struct node *k = graph_history(g, group->key, group->n);              /* [N,D]  e_i  */
	struct node *a = attention_unit(g, q, k, s, group->name);             /* [N,1]  a    */

	return graph_segment_pool(g, a, k);                                   /* eq. (3)     */
}

/* field: room for three times as many as the schema has. */
static struct node *
din_features(struct graph *g, const struct schema *schema, const struct settings *s,
	struct graph_field *field)
{
	size_t n = 0;

	for (size_t i = 0; i < schema->n_fields; i++)
		if (!is_sequence(schema, i))
			field[n++] = nn_field(&schema->field[i], s);
	struct node *x = graph_embedding(g, field, n);                        /* [B,F*D]     */
	for (size_t i = 0; i < schema->n_fields; i++) {
		struct din_group group = { .name = schema->field[i].settings->history,
			.key = field + schema->n_fields, .query = field + 2 * schema->n_fields };
		if (!is_sequence(schema, i) || first_of_history(schema, i) != i)
			continue;
		group_fill(schema, s, i, &group);
		x = graph_concat(g, x, group_pool(g, s, &group));
	}
	return x;
}

struct node *
din_build(struct graph *g, const struct schema *schema, const struct settings *s)
{
	struct graph_field *field;
	struct node *x = NULL;

	if (memory_alloc(3 * schema->n_fields + 1, sizeof(*field), &field) == RS_OK)
		x = din_features(g, schema, s, field);
	free(field);
	return nn_mlp(g, x, &s->dnn);
}
