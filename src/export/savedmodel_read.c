/* One signature of a SavedModel read back as a program: only what is written here is known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "export/bundle.h"
#include "export/savedmodel.h"
#include "export/tf_graph.h"

#define NUMBERS_MAX ((uint64_t)1 << 40)        /* of one value                    */

struct known { const char *node; size_t value; };
struct table { const float *row; uint64_t rows, dim; };

struct savedmodel {
	const char *directory;             /* while it is read                        */
	struct file_map map;
	Tf__SavedModel *model;
	const Tf__Graph *graph;
	struct bundle *bundle;             /* NULL: no variables                      */
	struct program *program;
	struct known *known;               /* [n_known] nodes that are values         */
	size_t n_known;
	struct table *table;               /* [n_tables]                              */
	size_t n_tables;
};

static enum rs_status
fail(const struct savedmodel *s, const char *what, const char *name)
{
	return rs_fail(RS_EDATA, "'%s/saved_model.pb': %s '%s'", s->directory, what,
		name != NULL ? name : "");
}

/* --- nodes by name ---------------------------------------- */

static const Tf__Node *
find_node(const struct savedmodel *s, const char *name)
{
	for (size_t i = 0; i < s->graph->n_node; i++)
		if (s->graph->node[i]->name != NULL && strcmp(s->graph->node[i]->name, name) == 0)
			return s->graph->node[i];
	return NULL;
}

static const Tf__Attr *
find_attr(const Tf__Node *n, const char *key, Tf__Attr__ValueCase kind)
{
	for (size_t i = 0; i < n->n_attr; i++)
		if (n->attr[i]->key != NULL && strcmp(n->attr[i]->key, key) == 0
		    && n->attr[i]->value != NULL && n->attr[i]->value->value_case == kind)
			return n->attr[i]->value;
	return NULL;
}

static int
is_op(const Tf__Node *n, const char *op)
{
	return n->op != NULL && strcmp(n->op, op) == 0;
}

static enum rs_status
remember(struct savedmodel *s, const char *node, size_t value)
{
	struct known *const grown = reallocarray(s->known, s->n_known + 1, sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	s->known = grown;
	s->known[s->n_known++] = (struct known){ node, value };
	return RS_OK;
}

/* --- constants ---------------------------------------- */

static const Tf__Tensor *
tensor_of(const Tf__Node *n)
{
	const Tf__Attr *const a = n != NULL && is_op(n, "Const")
		? find_attr(n, "value", TF__ATTR__VALUE_TENSOR) : NULL;

	return a != NULL ? a->tensor : NULL;
}

/* Its dimensions; PROGRAM_RANK at most, and not more numbers than there are bytes. */
static enum rs_status
shape_of(const struct savedmodel *s, const Tf__Node *n, const Tf__Shape *shape, int64_t *dim)
{
	uint64_t size = 1;

	if (shape == NULL || shape->n_dim > PROGRAM_RANK)
		return fail(s, "no shape of", n->name);
	for (size_t k = 0; k < shape->n_dim; k++) {
		dim[k] = shape->dim[k]->size;
		if (dim[k] < 1 || __builtin_mul_overflow(size, (uint64_t)dim[k], &size)
		    || size > NUMBERS_MAX)
			return fail(s, "axes without an end of", n->name);
	}
	return RS_OK;
}

/* Whole numbers of 32 bits that a node takes as its input i. */
static enum rs_status
numbers(const struct savedmodel *s, const Tf__Node *n, size_t i, const int32_t **out, size_t *count)
{
	const Tf__Tensor *const t = i < n->n_input ? tensor_of(find_node(s, n->input[i])) : NULL;

	if (t == NULL || t->dtype != TF_INT32 || t->tensor_content.len % sizeof **out != 0)
		return fail(s, "no whole numbers for", n->name);
	*out = (const int32_t *)(const void *)t->tensor_content.data;
	*count = t->tensor_content.len / sizeof **out;
	return RS_OK;
}

static enum rs_status
one_number(const struct savedmodel *s, const Tf__Node *n, size_t i, size_t *out)
{
	const int32_t *x;
	size_t count;

	RS_TRY(numbers(s, n, i, &x, &count));
	if (count != 1 || *x < 0)
		return fail(s, "not one number for", n->name);
	*out = (size_t)*x;
	return RS_OK;
}

/* --- leaves ---------------------------------------- */

static enum rs_status
add_constant(struct savedmodel *s, const Tf__Node *n, size_t *out)
{
	const Tf__Tensor *const t = tensor_of(n);
	int64_t dim[PROGRAM_RANK] = { 0 };

	if (t == NULL || t->dtype != TF_FLOAT)
		return fail(s, "no floats in", n->name);
	RS_TRY(shape_of(s, n, t->tensor_shape, dim));
	const size_t v = program_leaf(s->program, PROGRAM_constant, PROGRAM_FLOAT, n->name, dim,
		t->tensor_shape->n_dim);
	if (v == 0)
		return rs_failure_put(&s->program->failure);
	s->program->value[v].data = (const float *)(const void *)t->tensor_content.data;
	*out = v;
	return program_value_size(&s->program->value[v]) * sizeof(float) == t->tensor_content.len
		? RS_OK : fail(s, "another size of", n->name);
}

static enum rs_status
add_variable(struct savedmodel *s, const Tf__Node *n, size_t *out)
{
	const Tf__Attr *const shape = find_attr(n, "shape", TF__ATTR__VALUE_SHAPE);
	int64_t dim[PROGRAM_RANK] = { 0 };
	const float *rows;

	if (shape == NULL || s->bundle == NULL)
		return fail(s, "no variable", n->name);
	RS_TRY(shape_of(s, n, shape->shape, dim));
	RS_TRY(bundle_find(s->bundle, n->name, dim, shape->shape->n_dim, &rows));
	*out = program_leaf(s->program, PROGRAM_constant, PROGRAM_FLOAT, n->name, dim,
		shape->shape->n_dim);
	if (*out == 0)
		return rs_failure_put(&s->program->failure);
	s->program->value[*out].data = rows;
	return RS_OK;
}

/* A leaf becomes a table. */
static enum rs_status
make_table(struct savedmodel *s, const Tf__Node *n, size_t value)
{
	struct program_value *const v = &s->program->value[value];
	struct table *const grown = reallocarray(s->table, s->n_tables + 1, sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	s->table = grown;
	if (v->rank != 2)
		return fail(s, "no rows in", n->name);
	s->table[s->n_tables] = (struct table){ v->data, (uint64_t)v->dim[0],
		(uint64_t)v->dim[1] };
	v->op = PROGRAM_table;
	v->table = s->n_tables++;
	return RS_OK;
}

/* N, or L and a number. */
static enum rs_status
free_shape(const struct savedmodel *s, const Tf__Node *n, const Tf__Shape *shape, int64_t *dim)
{
	if (shape == NULL || shape->n_dim > 2)
		return fail(s, "no shape of", n->name);
	for (size_t k = 0; k < shape->n_dim; k++) {
		const char *const name = shape->dim[k]->name;
		unsigned list;

		if (name != NULL && strcmp(name, "N") == 0)
			dim[k] = PROGRAM_N;
		else if (name != NULL && sscanf(name, "L%u", &list) == 1)
			dim[k] = PROGRAM_L(list);
		else
			return fail(s, "an axis that is not free in", n->name);
	}
	return RS_OK;
}

static enum rs_status
add_feature(struct savedmodel *s, const Tf__Node *n, size_t *out)
{
	const Tf__Attr *const name = find_attr(n, "_feature", TF__ATTR__VALUE_S);
	const Tf__Attr *const shape = find_attr(n, "_shape", TF__ATTR__VALUE_SHAPE);
	const Tf__Attr *const type = find_attr(n, "T", TF__ATTR__VALUE_TYPE);
	struct program *const p = s->program;
	struct program_feature *const grown = reallocarray(p->feature, p->n_features + 1,
		sizeof *grown);
	int64_t dim[2] = { 0 };

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	p->feature = grown;
	if (name == NULL || shape == NULL || type == NULL)
		return fail(s, "no feature:", n->name);
	RS_TRY(free_shape(s, n, shape->shape, dim));
	const size_t rank = shape->shape->n_dim;
	const int is_row = type->type == TF_INT64;
	*out = program_leaf(p, PROGRAM_input, is_row ? PROGRAM_INT64 : PROGRAM_FLOAT, n->name, dim,
		rank);
	if (*out == 0)
		return rs_failure_put(&p->failure);
	struct program_feature *const f = &p->feature[p->n_features];
	*f = (struct program_feature){ .value = *out, .kind = is_row
		? (rank == 2 ? PROGRAM_BAG : PROGRAM_ID)
		: rank == 2 ? PROGRAM_WEIGHT : PROGRAM_VALUE };
	snprintf(f->name, sizeof f->name, "%.*s", (int)name->s.len, (const char *)name->s.data);
	p->value[*out].feature = p->n_features++;
	return RS_OK;
}

/* The value of a node; leaves become values when they are first taken. */
static enum rs_status
value_of(struct savedmodel *s, const char *name, size_t *out)
{
	for (size_t i = 0; i < s->n_known; i++)
		if (strcmp(s->known[i].node, name) == 0) {
			*out = s->known[i].value;
			return RS_OK;
		}
	const Tf__Node *const n = find_node(s, name);
	if (n != NULL && is_op(n, "Identity"))
		RS_TRY(add_feature(s, n, out));
	else if (n != NULL && is_op(n, "Const"))
		RS_TRY(add_constant(s, n, out));
	else if (n != NULL && is_op(n, "VarHandleOp"))
		RS_TRY(add_variable(s, n, out));
	else
		return fail(s, "there is no node", name);
	return remember(s, n->name, *out);
}

/* --- operators ---------------------------------------- */

enum form { UNARY, BINARY, SELECT, ROWS, GATHER, CONCAT, AXIS, SQUEEZE, REDUCE, RESHAPE, SLICE,
	MAXIMUM };

static const struct { const char *type; enum program_op op; enum form form; } node_table[] = {
	{ "AddV2", PROGRAM_add, BINARY }, { "Sub", PROGRAM_sub, BINARY },
	{ "Mul", PROGRAM_mul, BINARY }, { "RealDiv", PROGRAM_div, BINARY },
	{ "Minimum", PROGRAM_min, BINARY }, { "MatMul", PROGRAM_matmul, BINARY },
	{ "BatchMatMulV2", PROGRAM_matmul, BINARY }, { "Maximum", PROGRAM_max, MAXIMUM },
	{ "GatherV2", PROGRAM_gather, GATHER }, { "ResourceGather", PROGRAM_gather, ROWS },
	{ "SelectV2", PROGRAM_where, SELECT }, { "ConcatV2", PROGRAM_concat, CONCAT },
	{ "ExpandDims", PROGRAM_expand, AXIS }, { "Squeeze", PROGRAM_squeeze, SQUEEZE },
	{ "Sum", PROGRAM_sum, REDUCE }, { "Max", PROGRAM_most, REDUCE },
	{ "Reshape", PROGRAM_reshape, RESHAPE }, { "Slice", PROGRAM_slice, SLICE },
	{ "Softmax", PROGRAM_softmax, UNARY }, { "Transpose", PROGRAM_transpose, UNARY },
	{ "Cast", PROGRAM_number, UNARY }, { "GreaterEqual", PROGRAM_known, UNARY },
	{ "Sqrt", PROGRAM_sqrt, UNARY }, { "Exp", PROGRAM_exp, UNARY },
	{ "Relu", PROGRAM_relu, UNARY }, { "Sigmoid", PROGRAM_sigmoid, UNARY },
	{ "Tanh", PROGRAM_tanh, UNARY }, { "Erf", PROGRAM_erf, UNARY },
	{ "IsNan", PROGRAM_is_nan, UNARY },
};

static enum rs_status
make_rows(struct savedmodel *s, const Tf__Node *n, size_t a, size_t *out)
{
	size_t ids;

	if (s->program->value[a].op == PROGRAM_constant)
		RS_TRY(make_table(s, find_node(s, n->input[0]), a));
	RS_TRY(value_of(s, n->input[1], &ids));
	*out = program_binary(s->program, PROGRAM_gather, a, ids);
	return RS_OK;
}

/* Rows of a table, or columns that are fixed. */
static enum rs_status
make_gather(struct savedmodel *s, const Tf__Node *n, size_t a, size_t *out)
{
	int64_t index[4096];
	const int32_t *x;
	size_t count;

	if (tensor_of(find_node(s, n->input[0])) != NULL)
		return make_rows(s, n, a, out);
	RS_TRY(numbers(s, n, 1, &x, &count));
	const struct program_value *const v = &s->program->value[a];
	if (count > sizeof index / sizeof *index)
		return fail(s, "too many columns for", n->name);
	for (size_t i = 0; i < count; i++) {
		if (x[i] < 0 || x[i] >= v->dim[v->rank - 1])
			return fail(s, "no such column for", n->name);
		index[i] = x[i];
	}
	*out = program_pick(s->program, a, index, count);
	return RS_OK;
}

static enum rs_status
make_concat(struct savedmodel *s, const Tf__Node *n, size_t *out)
{
	const size_t count = n->n_input - 1;
	enum rs_status status = RS_OK;
	size_t *input;

	RS_TRY(memory_alloc(count + 1, sizeof *input, &input));
	for (size_t i = 0; i < count && status == RS_OK; i++)
		status = value_of(s, n->input[i], &input[i]);
	if (status == RS_OK && count > 0)
		*out = program_concat(s->program, input, count);
	free(input);
	return status;
}

static enum rs_status
make_reshape(struct savedmodel *s, const Tf__Node *n, size_t a, size_t *out)
{
	int64_t dim[PROGRAM_RANK];
	const int32_t *x;
	size_t count;

	RS_TRY(numbers(s, n, 1, &x, &count));
	if (count > PROGRAM_RANK)
		return fail(s, "too many axes of", n->name);
	for (size_t k = 0; k < count; k++)
		dim[k] = x[k] < 0 ? PROGRAM_N : x[k];
	*out = program_reshape(s->program, a, dim, count);
	return RS_OK;
}

static enum rs_status
make_slice(struct savedmodel *s, const Tf__Node *n, size_t a, size_t *out)
{
	const int32_t *begin, *size;
	size_t count, other;

	RS_TRY(numbers(s, n, 1, &begin, &count));
	RS_TRY(numbers(s, n, 2, &size, &other));
	const struct program_value *const v = &s->program->value[a];
	if (count != v->rank || other != count || count == 0 || begin[count - 1] < 0
	    || size[count - 1] < 0
	    || begin[count - 1] > v->dim[count - 1] - size[count - 1])
		return fail(s, "no such columns for", n->name);
	*out = program_slice(s->program, a, (size_t)begin[count - 1],
		(size_t)begin[count - 1] + (size_t)size[count - 1]);
	return RS_OK;
}

static enum rs_status
make_squeeze(struct savedmodel *s, const Tf__Node *n, size_t a, size_t *out)
{
	const Tf__Attr *const list = find_attr(n, "squeeze_dims", TF__ATTR__VALUE_LIST);

	if (list == NULL || list->list->n_i != 1 || list->list->i[0] < 0)
		return fail(s, "no axis of", n->name);
	*out = program_axis(s->program, PROGRAM_squeeze, a, (size_t)list->list->i[0]);
	return RS_OK;
}

/* The zero that a row is not below is no value. */
static enum rs_status
make_maximum(struct savedmodel *s, const Tf__Node *n, size_t a, size_t *out)
{
	size_t b;

	if (s->program->value[a].type == PROGRAM_INT64) {
		*out = program_unary(s->program, PROGRAM_clamp, a);
		return RS_OK;
	}
	RS_TRY(value_of(s, n->input[1], &b));
	*out = program_binary(s->program, PROGRAM_max, a, b);
	return RS_OK;
}

static enum rs_status
make_value(struct savedmodel *s, const Tf__Node *n, size_t row, size_t *out)
{
	static const size_t wanted[] = { [UNARY] = 1, [BINARY] = 2, [SELECT] = 3, [ROWS] = 2,
		[GATHER] = 3, [CONCAT] = 2, [AXIS] = 2, [SQUEEZE] = 1, [REDUCE] = 2, [RESHAPE] = 2,
		[SLICE] = 3, [MAXIMUM] = 2 };
	const enum program_op op = node_table[row].op;
	size_t a, b, c;

	if (n->n_input < wanted[node_table[row].form])
		return fail(s, "an input is missing of", n->name);
	RS_TRY(value_of(s, n->input[0], &a));
	switch (node_table[row].form) {
	case UNARY:
		*out = program_unary(s->program, op, a);
		return RS_OK;
	case BINARY:
		RS_TRY(value_of(s, n->input[1], &b));
		*out = program_binary(s->program, op, a, b);
		return RS_OK;
	case SELECT:
		RS_TRY(value_of(s, n->input[1], &b));
		RS_TRY(value_of(s, n->input[2], &c));
		*out = program_where(s->program, a, b, c);
		return RS_OK;
	case AXIS:
		RS_TRY(one_number(s, n, 1, &b));
		*out = program_axis(s->program, op, a, b);
		return RS_OK;
	case REDUCE:
		RS_TRY(one_number(s, n, 1, &b));
		*out = program_reduce(s->program, op, a, (int)b);
		return RS_OK;
	case ROWS:    return make_rows(s, n, a, out);
	case GATHER:  return make_gather(s, n, a, out);
	case CONCAT:  return make_concat(s, n, out);
	case SQUEEZE: return make_squeeze(s, n, a, out);
	case RESHAPE: return make_reshape(s, n, a, out);
	case SLICE:   return make_slice(s, n, a, out);
	case MAXIMUM: return make_maximum(s, n, a, out);
	}
	return RS_OK;
}

static enum rs_status
add_node(struct savedmodel *s, const Tf__Node *n)
{
	const size_t rows = sizeof node_table / sizeof *node_table;
	size_t row = 0, value = 0;

	if (is_op(n, "Const"))
		return RS_OK;
	while (row < rows && !is_op(n, node_table[row].type))
		row++;
	if (row == rows)
		return fail(s, "an operator that this program does not write:", n->op);
	RS_TRY(make_value(s, n, row, &value));
	if (s->program->failure.status != RS_OK)
		return fail(s, s->program->failure.text, n->name);
	return remember(s, n->name, value);
}

/* --- the signature ---------------------------------------- */

static const Tf__Signature *
find_signature(const Tf__MetaGraph *graph, const char *name)
{
	for (size_t i = 0; i < graph->n_signature_def; i++)
		if (graph->signature_def[i]->key != NULL
		    && strcmp(graph->signature_def[i]->key, name) == 0)
			return graph->signature_def[i]->value;
	return NULL;
}

static enum rs_status
add_outputs(struct savedmodel *s, const Tf__Signature *signature)
{
	struct program *const p = s->program;

	if (signature->n_outputs == 0
	    || signature->n_outputs > sizeof p->output / sizeof *p->output)
		return fail(s, "no output", NULL);
	for (size_t k = 0; k < signature->n_outputs; k++) {
		const Tf__TensorInfoEntry *const o = signature->outputs[k];
		const char *const name = o->value != NULL ? o->value->name : NULL;
		const char *const colon = name != NULL ? strchr(name, ':') : NULL;
		char node[256];

		if (o->key == NULL || colon == NULL || strcmp(colon, ":0") != 0)
			return fail(s, "no such output:", o->key);
		snprintf(node, sizeof node, "%.*s", (int)(colon - name), name);
		RS_TRY(value_of(s, node, &p->output[k].value));
		snprintf(p->output[k].name, sizeof p->output[k].name, "%s", o->key);
		p->n_outputs = k + 1;
	}
	return RS_OK;
}

static enum rs_status
read_signature(struct savedmodel *s, const char *name)
{
	const Tf__MetaGraph *const graph = s->model->n_meta_graphs == 1
		? s->model->meta_graphs[0] : NULL;
	const size_t n = strlen(name);

	if (graph == NULL || graph->graph_def == NULL)
		return fail(s, "no graph", NULL);
	s->graph = graph->graph_def;
	const Tf__Signature *const signature = find_signature(graph, name);
	if (signature == NULL)
		return fail(s, "there is no signature", name);
	for (size_t i = 0; i < s->graph->n_node; i++) {
		const Tf__Node *const node = s->graph->node[i];

		if (node->name != NULL && strncmp(node->name, name, n) == 0
		    && node->name[n] == '/')
			RS_TRY(add_node(s, node));
	}
	return add_outputs(s, signature);
}

/* --- the files ---------------------------------------- */

static int
has_variables(const Tf__SavedModel *m)
{
	return m->n_meta_graphs == 1 && m->meta_graphs[0]->saver_def != NULL;
}

static enum rs_status
open_files(struct savedmodel *s)
{
	char *path;

	RS_TRY(file_join(s->directory, "saved_model.pb", &path));
	enum rs_status status = file_map_open(&s->map, path);
	free(path);
	RS_TRY(status);
	s->model = tf__saved_model__unpack(NULL, s->map.size, (const uint8_t *)s->map.data);
	if (s->model == NULL)
		return rs_fail(RS_EDATA, "'%s/saved_model.pb' is no SavedModel", s->directory);
	if (!has_variables(s->model))
		return RS_OK;
	RS_TRY(file_join(s->directory, "variables/variables", &path));
	status = bundle_open(path, &s->bundle);
	free(path);
	return status;
}

enum rs_status
savedmodel_read(const char *directory, const char *signature, struct savedmodel **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	struct savedmodel *const s = *out;

	s->directory = directory;
	enum rs_status status = memory_alloc(1, sizeof *s->program, &s->program);
	if (status == RS_OK)
		status = open_files(s);
	if (status == RS_OK)
		status = read_signature(s, signature);
	if (status != RS_OK) {
		savedmodel_close(s);
		*out = NULL;
	}
	return status;
}

void
savedmodel_close(struct savedmodel *s)
{
	if (s == NULL)
		return;
	program_free(s->program);
	if (s->model != NULL)
		tf__saved_model__free_unpacked(s->model, NULL);
	bundle_close(s->bundle);
	file_map_close(&s->map);
	free(s->known);
	free(s->table);
	free(s);
}

const struct program *
savedmodel_program(const struct savedmodel *s)
{
	return s->program;
}

const float *
savedmodel_row(void *context, size_t table, uint64_t id)
{
	const struct savedmodel *const s = context;

	return id < s->table[table].rows ? s->table[table].row + id * s->table[table].dim : NULL;
}
