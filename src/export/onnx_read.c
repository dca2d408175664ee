/* An ONNX file read back as a program: only what onnx.c writes is understood. */
#include "export/onnx.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/number.h"
#include "export/onnx.pb-c.h"

enum { ONNX_FLOAT = 1, ONNX_INT64 = 7 };

struct onnx_file {
	const char *path;              /* for messages, while it is read              */
	struct file_map map, data;     /* data: of the side file                      */
	Onnx__Model *model;
	struct program *program;
	const float **table;           /* [n initializers] rows, NULL: no table       */
	/* Names of values, and the L of lists. */
	char   **length;               /* [n_lengths] borrowed                        */
	size_t   n_lengths;
};

static enum rs_status
fail(const struct onnx_file *f, const char *what, const char *name)
{
	return rs_fail(RS_EDATA, "'%s': %s '%s'", f->path, what, name != NULL ? name : "");
}

/* --- names ---------------------------------------- */

static const Onnx__Tensor *
find_tensor(const struct onnx_file *f, const char *name, size_t *index)
{
	const Onnx__Graph *const g = f->model->graph;

	for (size_t i = 0; i < g->n_initializer; i++) {
		if (strcmp(g->initializer[i]->name, name) != 0)
			continue;
		*index = i;
		return g->initializer[i];
	}
	return NULL;
}

static size_t
find_value(const struct onnx_file *f, const char *name)
{
	for (size_t i = 1; i < f->program->n; i++)
		if (strcmp(f->program->value[i].name, name) == 0)
			return i;
	return 0;
}

/* --- tensors ---------------------------------------- */

static size_t
tensor_size(const Onnx__Tensor *t)
{
	size_t n = 1;

	for (size_t k = 0; k < t->n_dims; k++)
		if (t->dims[k] < 0 || size_mul(n, (size_t)t->dims[k], &n) != RS_OK)
			return SIZE_MAX;
	return n;
}

static uint64_t
external_number(const Onnx__Tensor *t, const char *key)
{
	uint64_t x = 0;

	for (size_t i = 0; i < t->n_external_data; i++)
		if (strcmp(t->external_data[i]->key, key) == 0)
			(void)number_u64(t->external_data[i]->value,
				strlen(t->external_data[i]->value), &x);
	return x;
}

/* The floats of a tensor, in the file or beside it. */
static enum rs_status
tensor_floats(const struct onnx_file *f, const Onnx__Tensor *t, const float **out)
{
	const size_t n = tensor_size(t);
	size_t bytes;

	if (t->data_type != ONNX_FLOAT || size_mul(n, sizeof **out, &bytes) != RS_OK)
		return fail(f, "no floats in", t->name);
	if (!t->has_data_location || t->data_location == 0) {
		*out = (const float *)(const void *)t->raw_data.data;
		return t->raw_data.len == bytes ? RS_OK : fail(f, "another size of", t->name);
	}
	const uint64_t offset = external_number(t, "offset"), length = external_number(t, "length");
	if (length != bytes || offset % sizeof **out != 0 || offset > f->data.size
	    || length > f->data.size - offset)
		return fail(f, "the file of data is too short for", t->name);
	*out = (const float *)(const void *)(f->data.data + offset);
	return RS_OK;
}

static enum rs_status
tensor_numbers(const struct onnx_file *f, const char *name, const int64_t **out, size_t *n)
{
	size_t index;
	const Onnx__Tensor *const t = find_tensor(f, name, &index);

	if (t == NULL || t->data_type != ONNX_INT64)
		return fail(f, "no whole numbers", name);
	*n = tensor_size(t);
	*out = (const int64_t *)(const void *)t->raw_data.data;
	return t->raw_data.len == *n * sizeof **out ? RS_OK : fail(f, "another size of", name);
}

static enum rs_status
add_tensor(struct onnx_file *f, size_t i)
{
	const Onnx__Tensor *const t = f->model->graph->initializer[i];
	const int is_table = t->name != NULL && strncmp(t->name, "table.", 6) == 0;
	const float *data = NULL;

	if (t->name == NULL || t->data_type == ONNX_INT64)
		return t->name == NULL ? fail(f, "a tensor without a name", NULL) : RS_OK;
	if (t->n_dims > PROGRAM_RANK || (is_table && t->n_dims != 2))
		return fail(f, "too many axes of", t->name);
	RS_TRY(tensor_floats(f, t, &data));
	const size_t v = program_leaf(f->program, is_table ? PROGRAM_table : PROGRAM_constant,
		PROGRAM_FLOAT, t->name, t->dims, t->n_dims);
	if (v == 0)
		return rs_failure_put(&f->program->failure);
	f->program->value[v].data = data;
	f->program->value[v].table = i;
	f->table[i] = is_table ? data : NULL;
	return RS_OK;
}

/* --- inputs ---------------------------------------- */

static enum rs_status
length_of(struct onnx_file *f, char *name, int64_t *out)
{
	for (size_t i = 0; i < f->n_lengths; i++)
		if (strcmp(f->length[i], name) == 0) {
			*out = PROGRAM_L(i);
			return RS_OK;
		}
	char **const grown = realloc(f->length, (f->n_lengths + 1) * sizeof *grown);
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	f->length = grown;
	f->length[f->n_lengths] = name;
	*out = PROGRAM_L(f->n_lengths++);
	return RS_OK;
}

static enum rs_status
add_feature(struct program *p, size_t value)
{
	const struct program_value *const v = &p->value[value];
	struct program_feature *const grown = realloc(p->feature,
		(p->n_features + 1) * sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	p->feature = grown;
	p->feature[p->n_features] = (struct program_feature){ .value = value,
		.kind = v->type == PROGRAM_INT64 ? (v->rank == 2 ? PROGRAM_BAG : PROGRAM_ID)
			: v->rank == 2 ? PROGRAM_WEIGHT : PROGRAM_VALUE };
	snprintf(p->feature[p->n_features].name, sizeof p->feature->name, "%s", v->name);
	p->value[value].feature = p->n_features++;
	return RS_OK;
}

static enum rs_status
add_input(struct onnx_file *f, const Onnx__ValueInfo *info)
{
	const Onnx__TensorType *const t = info->type != NULL ? info->type->tensor_type : NULL;
	int64_t dim[PROGRAM_RANK] = { 0 };

	if (info->name == NULL || t == NULL || t->shape == NULL || t->shape->n_dim > PROGRAM_RANK)
		return fail(f, "no shape of", info->name);
	for (size_t k = 0; k < t->shape->n_dim; k++) {
		const Onnx__Dimension *const d = t->shape->dim[k];

		if (d->value_case != ONNX__DIMENSION__VALUE_DIM_PARAM)
			return fail(f, "an axis that is not free in", info->name);
		if (strcmp(d->dim_param, "N") == 0)
			dim[k] = PROGRAM_N;
		else
			RS_TRY(length_of(f, d->dim_param, &dim[k]));
	}
	const size_t v = program_leaf(f->program, PROGRAM_input,
		t->elem_type == ONNX_INT64 ? PROGRAM_INT64 : PROGRAM_FLOAT, info->name, dim,
		t->shape->n_dim);
	return v != 0 ? add_feature(f->program, v) : rs_failure_put(&f->program->failure);
}

/* --- nodes ---------------------------------------- */

enum form { UNARY, BINARY, SELECT, GATHER, CONCAT, AXIS, REDUCE, RESHAPE, SLICE, MAXIMUM, SOFTMAX,
	TRANSPOSE, CAST };

static const struct { const char *type; enum program_op op; enum form form; } node_table[] = {
	{ "Add", PROGRAM_add, BINARY }, { "Sub", PROGRAM_sub, BINARY },
	{ "Mul", PROGRAM_mul, BINARY }, { "Div", PROGRAM_div, BINARY },
	{ "Min", PROGRAM_min, BINARY }, { "MatMul", PROGRAM_matmul, BINARY },
	{ "Max", PROGRAM_max, MAXIMUM }, { "Gather", PROGRAM_gather, GATHER },
	{ "Where", PROGRAM_where, SELECT }, { "Concat", PROGRAM_concat, CONCAT },
	{ "Unsqueeze", PROGRAM_expand, AXIS }, { "Squeeze", PROGRAM_squeeze, AXIS },
	{ "ReduceSum", PROGRAM_sum, REDUCE }, { "ReduceMax", PROGRAM_most, REDUCE },
	{ "Reshape", PROGRAM_reshape, RESHAPE }, { "Slice", PROGRAM_slice, SLICE },
	{ "Softmax", PROGRAM_softmax, SOFTMAX }, { "Transpose", PROGRAM_transpose, TRANSPOSE },
	{ "Cast", PROGRAM_number, CAST }, { "GreaterOrEqual", PROGRAM_known, UNARY },
	{ "Sqrt", PROGRAM_sqrt, UNARY }, { "Exp", PROGRAM_exp, UNARY },
	{ "Relu", PROGRAM_relu, UNARY }, { "Sigmoid", PROGRAM_sigmoid, UNARY },
	{ "Tanh", PROGRAM_tanh, UNARY }, { "Erf", PROGRAM_erf, UNARY },
	{ "IsNaN", PROGRAM_is_nan, UNARY },
};

/* The one number that a node takes as its input i, or as an attribute. */
static enum rs_status
one_number(const struct onnx_file *f, const Onnx__Node *n, size_t i, int64_t *out)
{
	const int64_t *x;
	size_t count;

	if (i >= n->n_input) {
		if (n->n_attribute == 0 || n->attribute[0]->n_ints != 1)
			return fail(f, "no axis of", n->name);
		*out = n->attribute[0]->ints[0];
		return RS_OK;
	}
	RS_TRY(tensor_numbers(f, n->input[i], &x, &count));
	*out = count == 1 ? x[0] : 0;
	return count == 1 ? RS_OK : fail(f, "not one number for", n->name);
}

static enum rs_status
make_reshape(const struct onnx_file *f, const Onnx__Node *n, size_t a, size_t *out)
{
	const int64_t *x;
	int64_t dim[PROGRAM_RANK];
	size_t count;

	RS_TRY(tensor_numbers(f, n->input[1], &x, &count));
	if (count > PROGRAM_RANK)
		return fail(f, "too many axes of", n->name);
	for (size_t k = 0; k < count; k++)
		dim[k] = x[k] == 0 ? f->program->value[a].dim[k] : x[k];
	*out = program_reshape(f->program, a, dim, count);
	return RS_OK;
}

static enum rs_status
make_slice(const struct onnx_file *f, const Onnx__Node *n, size_t a, size_t *out)
{
	int64_t begin, end;

	RS_TRY(one_number(f, n, 1, &begin));
	RS_TRY(one_number(f, n, 2, &end));
	*out = program_slice(f->program, a, (size_t)begin, (size_t)end);
	return RS_OK;
}

static enum rs_status
make_gather(const struct onnx_file *f, const Onnx__Node *n, size_t a, size_t *out)
{
	const int64_t *index;
	size_t count;

	if (f->program->value[a].op == PROGRAM_table) {
		*out = program_binary(f->program, PROGRAM_gather, a, find_value(f, n->input[1]));
		return RS_OK;
	}
	RS_TRY(tensor_numbers(f, n->input[1], &index, &count));
	*out = program_pick(f->program, a, index, count);
	return RS_OK;
}

static enum rs_status
make_concat(const struct onnx_file *f, const Onnx__Node *n, size_t *out)
{
	size_t *input;

	RS_TRY(memory_alloc(n->n_input + 1, sizeof *input, &input));
	for (size_t i = 0; i < n->n_input; i++)
		input[i] = find_value(f, n->input[i]);
	*out = program_concat(f->program, input, n->n_input);
	free(input);
	return RS_OK;
}

static enum rs_status
make_value(const struct onnx_file *f, const Onnx__Node *n, size_t row, size_t *out)
{
	struct program *const p = f->program;
	const enum program_op op = node_table[row].op;
	const size_t a = find_value(f, n->input[0]);
	const size_t b = n->n_input > 1 ? find_value(f, n->input[1]) : 0;
	int64_t axis = 0;

	switch (node_table[row].form) {
	case UNARY: case SOFTMAX: case TRANSPOSE: case CAST:
		*out = program_unary(p, op, a);
		return RS_OK;
	case BINARY:
		*out = program_binary(p, op, a, b);
		return RS_OK;
	case MAXIMUM:
		*out = b != 0 ? program_binary(p, op, a, b) : program_unary(p, PROGRAM_clamp, a);
		return RS_OK;
	case SELECT:
		*out = program_where(p, a, b, n->n_input > 2 ? find_value(f, n->input[2]) : 0);
		return RS_OK;
	case AXIS: case REDUCE:
		RS_TRY(one_number(f, n, 1, &axis));
		*out = node_table[row].form == AXIS ? program_axis(p, op, a, (size_t)axis)
			: program_reduce(p, op, a, (int)axis);
		return RS_OK;
	case GATHER:  return make_gather(f, n, a, out);
	case CONCAT:  return make_concat(f, n, out);
	case RESHAPE: return make_reshape(f, n, a, out);
	case SLICE:   return make_slice(f, n, a, out);
	}
	return RS_OK;
}

static enum rs_status
add_node(struct onnx_file *f, const Onnx__Node *n)
{
	const size_t rows = sizeof node_table / sizeof *node_table;
	size_t row = 0, value = 0;

	while (row < rows && (n->op_type == NULL
	    || strcmp(node_table[row].type, n->op_type) != 0))
		row++;
	if (row == rows || n->n_input == 0 || n->n_output != 1)
		return fail(f, "an operator that this program does not write:", n->op_type);
	RS_TRY(make_value(f, n, row, &value));
	if (f->program->failure.status != RS_OK)
		return fail(f, f->program->failure.text, n->name);
	if (value == 0)
		return fail(f, "an input is missing of", n->name);
	snprintf(f->program->value[value].name, sizeof f->program->value[value].name, "%s",
		n->output[0]);
	return RS_OK;
}

/* --- the file ---------------------------------------- */

static enum rs_status
add_outputs(struct onnx_file *f)
{
	struct program *const p = f->program;
	const Onnx__Graph *const g = f->model->graph;

	for (size_t k = 0; k < g->n_output; k++) {
		const size_t value = find_value(f, g->output[k]->name);

		if (value == 0 || k >= sizeof p->output / sizeof *p->output)
			return fail(f, "no such output:", g->output[k]->name);
		snprintf(p->output[k].name, sizeof p->output[k].name, "%s", g->output[k]->name);
		p->output[k].value = value;
		p->n_outputs = k + 1;
	}
	return p->n_outputs > 0 ? RS_OK : fail(f, "no output", NULL);
}

static int
has_external(const Onnx__Graph *g)
{
	for (size_t i = 0; i < g->n_initializer; i++)
		if (g->initializer[i]->has_data_location && g->initializer[i]->data_location == 1)
			return 1;
	return 0;
}

static enum rs_status
open_data(struct onnx_file *f)
{
	char *path;

	if (!has_external(f->model->graph))
		return RS_OK;
	if (asprintf(&path, "%s.data", f->path) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	const enum rs_status status = file_map_open(&f->data, path);
	free(path);
	return status;
}

static enum rs_status
read_graph(struct onnx_file *f)
{
	const Onnx__Graph *const g = f->model->graph;

	if (g == NULL)
		return fail(f, "no graph", NULL);
	RS_TRY(open_data(f));
	RS_TRY(memory_alloc(g->n_initializer + 1, sizeof *f->table, &f->table));
	for (size_t i = 0; i < g->n_initializer; i++)
		RS_TRY(add_tensor(f, i));
	for (size_t i = 0; i < g->n_input; i++)
		RS_TRY(add_input(f, g->input[i]));
	for (size_t i = 0; i < g->n_node; i++)
		RS_TRY(add_node(f, g->node[i]));
	return add_outputs(f);
}

enum rs_status
onnx_read(const char *path, struct onnx_file **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	struct onnx_file *const f = *out;

	f->path = path;
	enum rs_status status = memory_alloc(1, sizeof *f->program, &f->program);
	if (status == RS_OK)
		status = file_map_open(&f->map, path);
	if (status == RS_OK) {
		f->model = onnx__model__unpack(NULL, f->map.size,
			(const uint8_t *)f->map.data);
		status = f->model != NULL ? read_graph(f)
			: rs_fail(RS_EDATA, "'%s' is no ONNX file", path);
	}
	if (status != RS_OK) {
		onnx_close(f);
		*out = NULL;
	}
	return status;
}

void
onnx_close(struct onnx_file *f)
{
	if (f == NULL)
		return;
	program_free(f->program);
	if (f->model != NULL)
		onnx__model__free_unpacked(f->model, NULL);
	file_map_close(&f->data);
	file_map_close(&f->map);
	free(f->table);
	free(f->length);
	free(f);
}

const struct program *
onnx_program(const struct onnx_file *f)
{
	return f->program;
}

const float *
onnx_row(void *context, size_t table, uint64_t id)
{
	const struct onnx_file *const f = context;
	const Onnx__Tensor *const t = f->model->graph->initializer[table];

	return id < (uint64_t)t->dims[0] ? f->table[table] + id * (uint64_t)t->dims[1] : NULL;
}
