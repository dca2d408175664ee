/* What the rows and columns of parameters stand for: labels of the columns of every value. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "graph/node.h"

#define OF_FIELD ((uint64_t)1)         /* bit of a label                              */

struct graph_axes {
	const struct graph *g;
	uint64_t **label;              /* [n_nodes] -> [width]                        */
};

/* How the columns of a value are labelled. */
enum axes_value { AXES_UNITS, AXES_LIKE, AXES_FIELDS, AXES_NUMERIC, AXES_CONCAT, AXES_DOTS };
enum { NO_INPUT = NODE_MAX_INPUTS };

static const struct axes_rule {
	const struct op *op;
	enum axes_value value;
	size_t like;                   /* AXES_LIKE: this input                       */
	size_t n_params;
	size_t multiplied;             /* parameter 0 has a row for each column of it */
	size_t times;                  /* or so many                                  */
} rule_table[] = {
	{ &op_embedding, AXES_FIELDS, 0, 0, NO_INPUT, 0 },
	{ &op_history, AXES_FIELDS, 0, 0, NO_INPUT, 0 },
	{ &op_numeric, AXES_NUMERIC, 0, 0, NO_INPUT, 0 },
	{ &op_first_order, AXES_UNITS, 0, 0, NO_INPUT, 0 },
	{ &op_fm2, AXES_UNITS, 0, 0, NO_INPUT, 0 },
	{ &op_bag_pairs, AXES_UNITS, 0, 0, NO_INPUT, 0 },
	{ &op_similarity, AXES_UNITS, 0, 0, NO_INPUT, 0 },
	{ &op_linear, AXES_UNITS, 0, 2, 0, 1 },
	{ &op_product, AXES_UNITS, 0, 1, 0, 1 },
	{ &op_attention_first, AXES_UNITS, 0, 2, 1, 4 },
	{ &op_cross_v1, AXES_LIKE, 0, 2, 1, 1 },
	{ &op_cross_v2, AXES_LIKE, 0, 2, 2, 1 },
	{ &op_batch_norm, AXES_LIKE, 0, 4, NO_INPUT, 0 },
	{ &op_dice, AXES_LIKE, 0, 3, NO_INPUT, 0 },
	{ &op_activation, AXES_LIKE, 0, 1, NO_INPUT, 0 },
	{ &op_dropout, AXES_LIKE, 0, 0, NO_INPUT, 0 },
	{ &op_l2_normalize, AXES_LIKE, 0, 0, NO_INPUT, 0 },
	{ &op_segment_softmax, AXES_LIKE, 0, 0, NO_INPUT, 0 },
	{ &op_segment_pool, AXES_LIKE, 1, 0, NO_INPUT, 0 },
	{ &op_gate, AXES_LIKE, 0, 0, NO_INPUT, 0 },
	{ &op_add, AXES_LIKE, 0, 0, NO_INPUT, 0 },
	{ &op_concat, AXES_CONCAT, 0, 0, NO_INPUT, 0 },
	{ &op_dots, AXES_DOTS, 0, 0, NO_INPUT, 0 },
};

static const struct axes_rule *
rule_of(const struct node *n)
{
	const size_t n_rules = sizeof(rule_table) / sizeof(rule_table[0]);
	size_t i = 0;

	while (i < n_rules && rule_table[i].op != n->op)
		i++;
	assert(i < n_rules);
	return &rule_table[i];
}

size_t
axes_multiplied(const struct node *n)
{
	assert(rule_of(n)->multiplied != NO_INPUT);
	return rule_of(n)->multiplied;
}

static size_t
count_params(const struct node *n)
{
	return n->op == &op_activation && n->act != KERNEL_ACT_PRELU ? 0 : rule_of(n)->n_params;
}

static uint64_t
name_label(const char *name, size_t i, uint64_t of_field)
{
	return (hash_cat(hash_fingerprint64(name, strlen(name)), i) & ~OF_FIELD) | of_field;
}

/* The same whichever comes first. */
static uint64_t
pair_label(uint64_t a, uint64_t b)
{
	return (hash_cat(a < b ? a : b, a < b ? b : a) & ~OF_FIELD) | ((a | b) & OF_FIELD);
}

static void
label_fields(const struct graph *g, const struct node *n, uint64_t *label)
{
	const struct field_runs *runs = n->config;

	for (size_t i = 0; i < runs->n; i++) {
		const struct field_run *run = &runs->run[i];
		for (size_t k = 0; k < run->n * run->dim; k++) {
			const char *name = run->is_dense ?
				g->param[run->param_v + k / run->dim].name :
				g->input[run->input].field;
			label[run->place + k] = name_label(name, k % run->dim, OF_FIELD);
		}
	}
}

/* A vector is known by the label of its first column. */
static void
label_dots(const struct node *n, const uint64_t *x, uint64_t *label)
{
	const size_t F = (size_t)n->number, D = n->input[0]->width / F;

	for (size_t i = 1; i < F; i++)
		for (size_t j = 0; j < i; j++)
			*label++ = pair_label(x[i * D], x[j * D]);
}

static void
label_node(const struct graph_axes *a, const struct node *n, uint64_t *label)
{
	const struct graph *g = a->g;
	const struct axes_rule *rule = rule_of(n);
	const char *name = count_params(n) > 0 ? g->param[n->param[0]].name : n->op->name;

	switch (rule->value) {
	case AXES_FIELDS:
		label_fields(g, n, label);
		break;
	case AXES_NUMERIC:
		for (size_t i = 0; i < n->width; i++)
			label[i] = name_label(g->param[n->param[0] + i].name, 0, OF_FIELD);
		break;
	case AXES_CONCAT:
		for (size_t i = 0; i < n->n_inputs; label += n->input[i++]->width)
			memcpy(label, a->label[n->input[i]->index],
				n->input[i]->width * sizeof(*label));
		break;
	case AXES_DOTS:
		label_dots(n, a->label[n->input[0]->index], label);
		break;
	case AXES_LIKE:
		memcpy(label, a->label[n->input[rule->like]->index], n->width * sizeof(*label));
		break;
	case AXES_UNITS:
		for (size_t i = 0; i < n->width; i++)
			label[i] = name_label(name, i, 0);
		break;
	}
}

enum rs_status
graph_axes_create(const struct graph *g, struct graph_axes **out)
{
	struct graph_axes *a;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*a), &a));
	a->g = g;
	status = memory_alloc(g->n_nodes + 1, sizeof(*a->label), &a->label);
	for (size_t i = 0; i < g->n_nodes && status == RS_OK; i++) {
		status = memory_alloc(g->node[i]->width, sizeof(**a->label), &a->label[i]);
		if (status == RS_OK)
			label_node(a, g->node[i], a->label[i]);
	}
	if (status != RS_OK) {
		graph_axes_destroy(a);
		return status;
	}
	*out = a;
	return RS_OK;
}

void
graph_axes_destroy(struct graph_axes *a)
{
	if (a == NULL)
		return;
	for (size_t i = 0; a->label != NULL && i < a->g->n_nodes; i++)
		free(a->label[i]);
	free(a->label);
	free(a);
}

/* The node that made the parameter as its k-th; NULL: it has no axis but its own. */
static const struct node *
owner_of(const struct graph *g, size_t param, size_t *k)
{
	for (size_t i = 0; i < g->n_nodes; i++)
		for (*k = 0; *k < count_params(g->node[i]); ++*k)
			if (g->node[i]->param[*k] == param)
				return g->node[i];
	return NULL;
}

static void
label_rows(const struct graph_axes *a, const struct node *n, uint64_t *row)
{
	const struct axes_rule *rule = rule_of(n);
	const struct node *x = n->input[rule->multiplied];

	for (size_t t = 0; t < rule->times; t++)
		for (size_t i = 0; i < x->width; i++) {
			const uint64_t label = a->label[x->index][i];
			*row++ = rule->times == 1 ? label :
				(hash_cat(label, t) & ~OF_FIELD) | (label & OF_FIELD);
		}
}

void
graph_axes_of(const struct graph_axes *a, size_t param, uint64_t *row, uint64_t *column)
{
	const struct graph_param *p = &a->g->param[param];
	size_t k;
	const struct node *n = owner_of(a->g, param, &k);
	const int is_weight = n != NULL && k == 0 && rule_of(n)->multiplied != NO_INPUT;

	if (is_weight)
		label_rows(a, n, row);
	for (size_t i = 0; i < p->rows && !is_weight; i++)
		row[i] = name_label("row", i, 0);
	for (size_t i = 0; i < p->columns; i++)
		column[i] = n != NULL && p->columns == n->width ? a->label[n->index][i] :
			name_label("column", i, 0);
}

int
graph_axis_is_of_field(uint64_t label)
{
	return (label & OF_FIELD) != 0;
}
