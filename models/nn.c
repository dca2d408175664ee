/* The fields of a schema as operators, and the multi-layer perceptron. */
#include "models/nn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "graph/op_table.h"

enum { NN_NAME = 48 };            /* bytes of "tower_user.12" */

typedef struct node *field_operator(struct graph *g, const struct graph_field *field, size_t n);

/* Which fields: not those only of the other part, and those that are named. */
struct nn_choice {
	enum field_part other;         /* PART_BOTH: of any part                      */
	enum { NN_ANY, NN_IDS, NN_NUMERIC } kind;
	const struct text_list *names; /* NULL: of any name                           */
};

static int
nn_is_chosen(const struct schema_field *f, const struct nn_choice *choice)
{
	if (choice->other != PART_BOTH && f->settings->part == choice->other)
		return 0;
	if (choice->kind != NN_ANY && f->is_dense != (choice->kind == NN_NUMERIC))
		return 0;
	if (choice->names == NULL)
		return 1;
	for (size_t i = 0; i < choice->names->n; i++)
		if (strcmp(choice->names->item[i], f->name) == 0)
			return 1;
	return 0;
}

struct graph_field
nn_field(const struct schema_field *from, const struct settings *s)
{
	return (struct graph_field){
		.name = from->name, .is_dense = from->is_dense, .column = from->index,
		.schema_table = from->table, .dim = from->dim,
		.combiner = (int)from->settings->combiner,
		.init_stddev = (float)s->embedding.init_stddev,
		.max_ids = from->single ? 1 : (size_t)from->settings->max_length,
	};
}

/* Calls an operator with the fields chosen, in spec order. */
static struct node *
nn_over_fields(struct graph *g, const struct schema *schema, const struct settings *s,
	const struct nn_choice *choice, field_operator *operator)
{
	struct graph_field *field;
	size_t n = 0;

	if (memory_alloc(schema->n_fields + 1, sizeof(*field), &field) != RS_OK)
		return NULL;
	for (size_t i = 0; i < schema->n_fields; i++)
		if (nn_is_chosen(&schema->field[i], choice))
			field[n++] = nn_field(&schema->field[i], s);
	struct node *node = operator(g, field, n);
	free(field);
	return node;
}

struct node *
nn_embedding(struct graph *g, const struct schema *schema, const struct settings *s)
{
	return nn_over_fields(
		g, schema, s, &(struct nn_choice){ .other = PART_WIDE }, graph_embedding);
}

struct node *
nn_embedding_of(struct graph *g, const struct schema *schema, const struct settings *s,
	const struct text_list *names)
{
	return nn_over_fields(
		g, schema, s, &(struct nn_choice){ .names = names }, graph_embedding);
}

struct node *
nn_linear(struct graph *g, const struct schema *schema, const struct settings *s)
{
	return nn_over_fields(
		g, schema, s, &(struct nn_choice){ .other = PART_DEEP }, graph_first_order);
}

struct node *
nn_id_embedding(struct graph *g, const struct schema *schema, const struct settings *s)
{
	return nn_over_fields(g, schema, s,
		&(struct nn_choice){ .other = PART_WIDE, .kind = NN_IDS }, graph_embedding);
}

struct node *
nn_numeric(struct graph *g, const struct schema *schema, const struct settings *s)
{
	return nn_over_fields(
		g, schema, s, &(struct nn_choice){ .kind = NN_NUMERIC }, graph_numeric);
}

static const int param_init[] = {
	[INIT_XAVIER_UNIFORM] = PARAM_XAVIER_UNIFORM, [INIT_XAVIER_NORMAL] = PARAM_XAVIER_NORMAL,
	[INIT_HE_UNIFORM] = PARAM_HE_UNIFORM, [INIT_HE_NORMAL] = PARAM_HE_NORMAL,
};

int
nn_init(enum dense_init init)
{
	return param_init[init];
}

/* Activations that linear applies in place, while nothing comes between. */
static int
nn_is_fused(const struct dnn_settings *dnn)
{
	return !dnn->batch_norm && (dnn->activation == ACT_NONE || dnn->activation == ACT_RELU
		|| dnn->activation == ACT_TANH || dnn->activation == ACT_SIGMOID);
}

/* x W + b of one layer. */
static struct node *
nn_units(struct graph *g, struct node *x, const struct dnn_settings *dnn, const char *name,
	size_t H, int act)
{
	return graph_linear(g, x, &(struct graph_linear_options){
		.name = name, .H = H, .init = param_init[dnn->init], .l2 = (float)dnn->l2,
		.act = act,
	});
}

/* linear - batch norm - activation - dropout, what is asked for of it. */
static struct node *
nn_layer(struct graph *g, struct node *x, const struct dnn_settings *dnn, const char *name,
	size_t H)
{
	char norm_name[NN_NAME + 8], dice_name[NN_NAME + 8];
	const struct graph_norm_options norm = {
		.name = norm_name, .momentum = (float)dnn->batch_norm_momentum,
		.epsilon = (float)dnn->batch_norm_epsilon,
	};
	struct graph_norm_options dice = norm;

	snprintf(norm_name, sizeof(norm_name), "%s.norm", name);
	snprintf(dice_name, sizeof(dice_name), "%s.dice", name);
	dice.name = dice_name;
	x = nn_units(g, x, dnn, name, H,
		nn_is_fused(dnn) ? (int)dnn->activation : KERNEL_ACT_NONE);
	if (dnn->batch_norm)
		x = graph_batch_norm(g, x, &norm);
	if (dnn->activation == ACT_DICE)
		x = graph_dice(g, x, &dice);
	else if (!nn_is_fused(dnn))
		x = graph_activation(g, x, name, (int)dnn->activation);
	return graph_dropout(g, x, (float)dnn->dropout);
}

/* The first n hidden layers. */
static struct node *
nn_layers(struct graph *g, const char *prefix, struct node *x, const struct dnn_settings *dnn,
	size_t n)
{
	char name[NN_NAME];

	for (size_t layer = 0; layer < n; layer++) {
		snprintf(name, sizeof(name), "%s.%zu", prefix, layer);
		x = nn_layer(g, x, dnn, name, (size_t)dnn->hidden.item[layer]);
	}
	return x;
}

/* The first n hidden layers, then H units without activation. */
static struct node *
nn_layers_and_units(struct graph *g, const char *prefix, struct node *x,
	const struct dnn_settings *dnn, size_t n, size_t H)
{
	char name[NN_NAME];

	x = nn_layers(g, prefix, x, dnn, n);
	snprintf(name, sizeof(name), "%s.%zu", prefix, n);
	return nn_units(g, x, dnn, name, H, KERNEL_ACT_NONE);
}

struct node *
nn_hidden(struct graph *g, const char *prefix, struct node *x, const struct dnn_settings *dnn)
{
	return nn_layers(g, prefix, x, dnn, dnn->hidden.n);
}

struct node *
nn_vector(struct graph *g, const char *prefix, struct node *x, const struct dnn_settings *dnn)
{
	const size_t n = dnn->hidden.n;

	if (n == 0)
		return x;
	return nn_layers_and_units(g, prefix, x, dnn, n - 1, (size_t)dnn->hidden.item[n - 1]);
}

struct node *
nn_unit(struct graph *g, struct node *x, const struct dnn_settings *dnn)
{
	char name[NN_NAME];

	snprintf(name, sizeof(name), "dnn.%zu", dnn->hidden.n);
	return nn_units(g, x, dnn, name, 1, KERNEL_ACT_NONE);
}

struct node *
nn_mlp(struct graph *g, struct node *x, const struct dnn_settings *dnn)
{
	return nn_layers_and_units(g, "dnn", x, dnn, dnn->hidden.n, 1);
}
