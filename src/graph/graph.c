/* Building a graph: nodes, inputs, tables, parameters and their initial values. */
#include "graph/graph.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/rng.h"
#include "graph/node.h"

enum { GRAPH_GROW = 32 };

enum rs_status
graph_create(const struct kernel_set *kernel, struct graph **out)
{
	RS_TRY(memory_alloc(1, sizeof(**out), out));
	(*out)->kernel = kernel;
	(*out)->weights = 1;
	return RS_OK;
}

void
graph_destroy(struct graph *g)
{
	if (g == NULL)
		return;
	graph_close_narrow(g);
	for (size_t i = 0; i < g->n_nodes; i++) {
		fold_destroy(g->node[i]->fold);
		free(g->node[i]->config);
		free(g->node[i]);
	}
	free(g->node);
	free(g->input);
	free(g->table);
	free(g->param);
	free(g->buffered);
	for (size_t i = 0; i < GRAPH_N_OUTPUTS; i++)
		free(g->part[i]);
	free(g);
}

void
graph_set_gpu(struct graph *g, struct gpu_memory *gpu)
{
	g->gpu = gpu;
	if (gpu == NULL)
		g->rows_are_there = g->gradient_is_there = 0;
}

void
graph_set_rows_there(struct graph *g, int is_there)
{
	assert(!is_there || g->gpu != NULL);
	g->rows_are_there = is_there;
}

void
graph_set_gradient_there(struct graph *g, int is_there)
{
	assert(!is_there || g->gpu != NULL);
	g->gradient_is_there = is_there;
}

int
graph_rows_are_there(const struct graph *g)
{
	return g->rows_are_there;
}

void
graph_set_dense(struct graph *g, size_t K)
{
	g->K = K;
}

/* Makes room for one more element; arrays grow by GRAPH_GROW. */
static enum rs_status
grow(void *array, size_t n, size_t size)
{
	void **old = array, *new;

	if (n % GRAPH_GROW != 0)
		return RS_OK;
	RS_TRY(memory_alloc(n + GRAPH_GROW, size, &new));
	if (n > 0)
		memcpy(new, *old, n * size);
	free(*old);
	*old = new;
	return RS_OK;
}

static void
keep_failure(struct graph *g)
{
	if (g->failure.status == RS_OK)
		rs_failure_take(&g->failure);
}

struct node *
graph_fail(struct graph *g, const struct op *op, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	rs_fail(RS_ESPEC, "operator '%s': %s", op->name, text);
	keep_failure(g);
	return NULL;
}

struct node *
graph_append(struct graph *g, const struct op *op, size_t width)
{
	struct node *n = NULL;

	assert(!g->finished);
	if (grow(&g->node, g->n_nodes, sizeof(*g->node)) != RS_OK
	    || memory_alloc(1, sizeof(*n), &n) != RS_OK) {
		keep_failure(g);
		return NULL;
	}
	n->op = op;
	n->index = g->n_nodes;
	n->width = width;
	g->node[g->n_nodes++] = n;
	return n;
}

struct node *
graph_append_rows(struct graph *g, const struct op *op, struct node *x, size_t width)
{
	struct node *n = graph_append(g, op, width);

	if (n == NULL)
		return NULL;
	n->input[n->n_inputs++] = x;
	n->ragged = x->ragged;
	return n;
}

size_t
graph_add_param(struct graph *g, const char *prefix, const char *suffix,
	const struct graph_param *like)
{
	struct graph_param *p;

	if (grow(&g->param, g->n_params, sizeof(*g->param)) != RS_OK) {
		keep_failure(g);
		return 0;
	}
	p = &g->param[g->n_params];
	*p = *like;
	p->offset = g->P;
	p->n_before = g->n_nodes;
	const int length = snprintf(p->name, sizeof(p->name), "%s.%s", prefix, suffix);
	if (length < 0 || (size_t)length >= sizeof(p->name)) {
		rs_fail(RS_ESPEC, "the name '%s' is longer than %zu bytes", prefix,
			sizeof(p->name) - strlen(suffix) - 2);
		keep_failure(g);
	}
	g->P += p->rows * p->columns;
	return g->n_params++;
}

static size_t
add_table(struct graph *g, const struct graph_field *field, int linear)
{
	const size_t dim = linear ? 1 : field->dim;

	for (size_t i = 0; i < g->n_tables; i++)
		if (g->table[i].schema_table == field->schema_table && g->table[i].linear == linear)
			return i;
	if (grow(&g->table, g->n_tables, sizeof(*g->table)) != RS_OK) {
		keep_failure(g);
		return 0;
	}
	g->table[g->n_tables] = (struct graph_table){
		.schema_table = field->schema_table, .linear = linear, .dim = dim,
	};
	return g->n_tables++;
}

size_t
graph_add_input(struct graph *g, const struct graph_field *field, int linear)
{
	const size_t table = add_table(g, field, linear);

	if (grow(&g->input, g->n_inputs, sizeof(*g->input)) != RS_OK
	    || grow(&g->buffered, g->n_inputs, sizeof(*g->buffered)) != RS_OK) {
		keep_failure(g);
		return 0;
	}
	g->input[g->n_inputs] = (struct graph_input){
		.field = field->name, .column = field->column, .table = table,
		.dim = linear ? 1 : field->dim, .combiner = field->combiner, .node = g->n_nodes,
		.max_ids = field->max_ids,
	};
	return g->n_inputs++;
}

/* A node that the logit does not depend on would have no gradient. */
static enum rs_status
check_all_used(const struct graph *g)
{
	for (size_t i = 0; i < g->n_nodes; i++) {
		int used = g->node[i] == g->logit;
		for (size_t j = i + 1; j < g->n_nodes; j++)
			for (size_t k = 0; k < g->node[j]->n_inputs; k++)
				used |= g->node[j]->input[k] == g->node[i];
		if (!used)
			return rs_fail(RS_EBUG, "operator '%s': nothing uses its value",
				g->node[i]->op->name);
	}
	return RS_OK;
}

/* Rows of a history end where an operator pools them, nowhere else. */
static enum rs_status
check_rows(const struct graph *g)
{
	for (size_t i = 0; i < g->n_nodes; i++)
		for (size_t k = 0; k < g->node[i]->n_inputs; k++)
			if (!g->node[i]->op->changes_rows
			    && g->node[i]->ragged != g->node[i]->input[k]->ragged)
				return rs_fail(RS_EBUG,
					"operator '%s': the rows of '%s' are not its own",
					g->node[i]->op->name, g->node[i]->input[k]->op->name);
	return RS_OK;
}

void
graph_set_vector(struct graph *g, enum graph_output output, struct node *n)
{
	g->output[output] = n;
}

/* Marks the nodes that an output depends on. */
static enum rs_status
find_part(const struct graph *g, const struct node *output, unsigned char **part)
{
	RS_TRY(memory_alloc(g->n_nodes, 1, part));
	if (output != NULL)
		(*part)[output->index] = 1;
	for (size_t i = g->n_nodes; i-- > 0;)
		for (size_t k = 0; k < g->node[i]->n_inputs && (*part)[i]; k++)
			(*part)[g->node[i]->input[k]->index] = 1;
	return RS_OK;
}

enum rs_status
graph_finish(struct graph *g, struct node *logit, int loss_is_mse)
{
	if (g->failure.status != RS_OK)
		return rs_failure_put(&g->failure);
	if (logit == NULL)
		return rs_fail(RS_EBUG, "the model gave no logit");
	if (logit->width != 1 || logit->ragged > 0)
		return rs_fail(RS_EBUG, "operator '%s': the logit must be [B,1], found [B,%zu]",
			logit->op->name, logit->width);
	g->logit = g->output[GRAPH_LOGIT] = logit;
	g->loss_is_mse = loss_is_mse;
	RS_TRY(check_all_used(g));
	RS_TRY(check_rows(g));
	RS_TRY(fold_create(g));
	for (size_t i = 0; i < GRAPH_N_OUTPUTS; i++)
		RS_TRY(find_part(g, g->output[i], &g->part[i]));
	g->finished = 1;
	return RS_OK;
}

size_t
graph_n_inputs(const struct graph *g)
{
	return g->n_inputs;
}

const struct graph_input *
graph_input(const struct graph *g, size_t i)
{
	return &g->input[i];
}

size_t
graph_output_width(const struct graph *g, enum graph_output output)
{
	return g->output[output] == NULL ? 0 : g->output[output]->width;
}

int
graph_output_uses(const struct graph *g, enum graph_output output, size_t i)
{
	return g->part[output][g->input[i].node];
}

size_t
graph_n_tables(const struct graph *g)
{
	return g->n_tables;
}

const struct graph_table *
graph_table(const struct graph *g, size_t i)
{
	return &g->table[i];
}

size_t
graph_n_params(const struct graph *g)
{
	return g->n_params;
}

const struct graph_param *
graph_param(const struct graph *g, size_t i)
{
	return &g->param[i];
}

size_t
graph_param_size(const struct graph *g)
{
	return g->P;
}

size_t
graph_n_nodes(const struct graph *g)
{
	return g->n_nodes;
}

static size_t
node_time(const struct graph *g, size_t node, const enum graph_output *output, size_t n)
{
	while (n > 0 && !g->part[output[n - 1]][node])
		n--;
	return n == 0 ? 0 : (n - 1) * g->n_nodes + g->n_nodes - node;
}

/* Operators make their parameters just before or just after their node. */
size_t
graph_param_time(const struct graph *g, size_t i, const enum graph_output *output, size_t n)
{
	const size_t before = g->param[i].n_before;
	const size_t a = before > 0 ? node_time(g, before - 1, output, n) : 0;
	const size_t b = before < g->n_nodes ? node_time(g, before, output, n) : 0;

	return a > b ? a : b;
}

/* Standard deviation, or half width of a uniform one: Glorot and Bengio 2010,
 * He et al. 2015; fan in = rows, fan out = columns. */
static double
init_spread(const struct graph_param *p)
{
	switch (p->init) {
	case PARAM_XAVIER_UNIFORM: return sqrt(6.0 / (double)(p->rows + p->columns));
	case PARAM_XAVIER_NORMAL:  return sqrt(2.0 / (double)(p->rows + p->columns));
	case PARAM_HE_UNIFORM:     return sqrt(6.0 / (double)p->rows);
	case PARAM_HE_NORMAL:      return sqrt(2.0 / (double)p->rows);
	default:                   return p->init_value;
	}
}

static double
init_value(const struct graph_param *p, uint64_t key, size_t i)
{
	switch (p->init) {
	case PARAM_ZERO:           return 0;
	case PARAM_ONE:            return 1;
	case PARAM_CONSTANT:       return p->init_value;
	case PARAM_XAVIER_UNIFORM:
	case PARAM_HE_UNIFORM:     return init_spread(p) * (2 * rng_uniform(key, i) - 1);
	default:                   return init_spread(p) * rng_normal(key, i);
	}
}

void
graph_init_params(const struct graph *g, uint64_t seed, float *param)
{
	for (size_t i = 0; i < g->n_params; i++) {
		const struct graph_param *p = &g->param[i];
		const uint64_t name = hash_fingerprint64(p->name, strlen(p->name));
		const uint64_t key = rng_key(rng_key(seed, RNG_INIT_DENSE), name);
		for (size_t j = 0; j < p->rows * p->columns; j++)
			param[p->offset + j] = init_value(p, key, j);
	}
}

void
graph_update_statistics(const struct graph *g, const float *summed, float *param)
{
	for (size_t i = 0; i < g->n_params; i++) {
		const struct graph_param *p = &g->param[i];
		if (!p->is_statistic)
			continue;
		for (size_t j = p->offset; j < p->offset + p->rows * p->columns; j++)
			param[j] = p->momentum * param[j] + (1 - p->momentum) * summed[j];
	}
}
