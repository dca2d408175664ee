/* The fields of a schema as operators, and the multi-layer perceptron. */
#include "models/nn.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "graph/op_table.h"

typedef struct node *field_operator(struct graph *g, const struct graph_field *field, size_t n);

/* Calls an operator with those fields, in spec order, that are not only of the other part. */
static struct node *
nn_over_fields(struct graph *g, const struct schema *schema, const struct settings *s,
	enum field_part other, field_operator *operator)
{
	struct graph_field *field;
	size_t n_fields = 0;

	if (memory_alloc(schema->n_fields + 1, sizeof(*field), &field) != RS_OK)
		return NULL;
	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct schema_field *from = &schema->field[i];
		if (from->settings->part == other)
			continue;
		field[n_fields++] = (struct graph_field){
			.name = from->name, .is_dense = from->is_dense, .column = from->index,
			.schema_table = from->table, .dim = from->dim,
			.combiner = (int)from->settings->combiner,
			.init_stddev = (float)s->embedding.init_stddev,
		};
	}
	struct node *n = operator(g, field, n_fields);
	free(field);
	return n;
}

struct node *
nn_embedding(struct graph *g, const struct schema *schema, const struct settings *s)
{
	return nn_over_fields(g, schema, s, PART_WIDE, graph_embedding);
}

struct node *
nn_linear(struct graph *g, const struct schema *schema, const struct settings *s)
{
	return nn_over_fields(g, schema, s, PART_DEEP, graph_first_order);
}

static const int param_init[] = {
	[INIT_XAVIER_UNIFORM] = PARAM_XAVIER_UNIFORM, [INIT_XAVIER_NORMAL] = PARAM_XAVIER_NORMAL,
	[INIT_HE_UNIFORM] = PARAM_HE_UNIFORM, [INIT_HE_NORMAL] = PARAM_HE_NORMAL,
};

/* Activations that linear applies in place, while nothing comes between. */
static int
nn_is_fused(const struct dnn_settings *dnn)
{
	return !dnn->batch_norm && (dnn->activation == ACT_NONE || dnn->activation == ACT_RELU
		|| dnn->activation == ACT_TANH || dnn->activation == ACT_SIGMOID);
}

/* linear - batch norm - activation - dropout, what is asked for of it. */
static struct node *
nn_layer(struct graph *g, struct node *x, const struct dnn_settings *dnn, size_t layer)
{
	char name[32], norm_name[40], dice_name[40];
	const struct graph_norm_options norm = {
		.name = norm_name, .momentum = (float)dnn->batch_norm_momentum,
		.epsilon = (float)dnn->batch_norm_epsilon,
	};
	struct graph_norm_options dice = norm;

	snprintf(name, sizeof(name), "dnn.%zu", layer);
	snprintf(norm_name, sizeof(norm_name), "%s.norm", name);
	snprintf(dice_name, sizeof(dice_name), "%s.dice", name);
	dice.name = dice_name;
	x = graph_linear(g, x,
		&(struct graph_linear_options){
			.name = name,
			.H = (size_t)dnn->hidden.item[layer],
			.init = param_init[dnn->init],
			.l2 = (float)dnn->l2,
			.act = nn_is_fused(dnn) ? (int)dnn->activation : KERNEL_ACT_NONE,
		});
	if (dnn->batch_norm)
		x = graph_batch_norm(g, x, &norm);
	if (dnn->activation == ACT_DICE)
		x = graph_dice(g, x, &dice);
	else if (!nn_is_fused(dnn))
		x = graph_activation(g, x, name, (int)dnn->activation);
	return graph_dropout(g, x, (float)dnn->dropout);
}

struct node *
nn_mlp(struct graph *g, struct node *x, const struct dnn_settings *dnn)
{
	char name[32];

	for (size_t layer = 0; layer < dnn->hidden.n; layer++)
		x = nn_layer(g, x, dnn, layer);
	snprintf(name, sizeof(name), "dnn.%zu", dnn->hidden.n);
	return graph_linear(g, x, &(struct graph_linear_options){
		.name = name, .H = 1, .init = param_init[dnn->init], .l2 = (float)dnn->l2,
		.act = KERNEL_ACT_NONE,
	});
}
