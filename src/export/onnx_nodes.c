/* Nodes of an ONNX file become values of a program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/onnx_file.h"

enum form { UNARY, BINARY, SELECT, GATHER, CONCAT, AXIS, REDUCE, RESHAPE, SLICE, MAXIMUM, KNOWN };
enum attribute { NONE, LAST_AXIS, ONE_AXIS, TO_FLOAT, SWAP, ANY_AXIS };

static const struct node_row {
	const char *type;
	enum program_op op;
	enum form form;
	size_t n_inputs;               /* 0: any number                                */
	enum attribute attribute;
} node_table[] = {
	{ "Add", PROGRAM_add, BINARY, 2, NONE }, { "Sub", PROGRAM_sub, BINARY, 2, NONE },
	{ "Mul", PROGRAM_mul, BINARY, 2, NONE }, { "Div", PROGRAM_div, BINARY, 2, NONE },
	{ "Min", PROGRAM_min, BINARY, 2, NONE }, { "MatMul", PROGRAM_matmul, BINARY, 2, NONE },
	{ "Max", PROGRAM_max, MAXIMUM, 2, NONE },
	{ "Gather", PROGRAM_gather, GATHER, 2, ANY_AXIS },
	{ "Where", PROGRAM_where, SELECT, 3, NONE },
	{ "Concat", PROGRAM_concat, CONCAT, 0, LAST_AXIS },
	{ "Unsqueeze", PROGRAM_expand, AXIS, 2, NONE },
	{ "Squeeze", PROGRAM_squeeze, AXIS, 2, NONE },
	{ "ReduceSum", PROGRAM_sum, REDUCE, 2, NONE },
	{ "ReduceMax", PROGRAM_most, REDUCE, 1, ONE_AXIS },
	{ "Reshape", PROGRAM_reshape, RESHAPE, 2, NONE },
	{ "Slice", PROGRAM_slice, SLICE, 4, NONE },
	{ "Softmax", PROGRAM_softmax, UNARY, 1, LAST_AXIS },
	{ "Transpose", PROGRAM_transpose, UNARY, 1, SWAP },
	{ "Cast", PROGRAM_number, UNARY, 1, TO_FLOAT },
	{ "GreaterOrEqual", PROGRAM_known, KNOWN, 2, NONE },
	{ "Sqrt", PROGRAM_sqrt, UNARY, 1, NONE }, { "Exp", PROGRAM_exp, UNARY, 1, NONE },
	{ "Relu", PROGRAM_relu, UNARY, 1, NONE }, { "Sigmoid", PROGRAM_sigmoid, UNARY, 1, NONE },
	{ "Tanh", PROGRAM_tanh, UNARY, 1, NONE }, { "Erf", PROGRAM_erf, UNARY, 1, NONE },
	{ "IsNaN", PROGRAM_is_nan, UNARY, 1, NONE },
};

static enum rs_status
input_number(const struct onnx_file *f, const Onnx__Node *n, size_t i, int64_t *out)
{
	const int64_t *x;
	size_t count;

	RS_TRY(onnx_file_numbers(f, n->input[i], &x, &count));
	*out = count == 1 ? x[0] : 0;
	return count == 1 ? RS_OK : onnx_file_fail(f, "not one number for", n->name);
}

/* The 0 that ids are compared with. */
static enum rs_status
input_zero(const struct onnx_file *f, const Onnx__Node *n)
{
	int64_t x;

	RS_TRY(input_number(f, n, 1, &x));
	return x == 0 ? RS_OK : onnx_file_fail(f, "another number than 0 for", n->name);
}

/* The axis of a node, an input or the attribute "axes". */
static enum rs_status
input_axis(const struct onnx_file *f, const Onnx__Node *n, size_t *out)
{
	int64_t x = n->n_attribute == 1 ? n->attribute[0]->ints[0] : 0;

	if (n->n_input > 1)
		RS_TRY(input_number(f, n, 1, &x));
	*out = (size_t)x;
	return x >= 0 && x < PROGRAM_RANK ? RS_OK : onnx_file_fail(f, "another axis of", n->name);
}

static int
is_swap(const Onnx__Attribute *a, size_t rank)
{
	if (a->n_ints != rank || rank < 2)
		return 0;
	for (size_t k = 0; k + 2 < rank; k++)
		if (a->ints[k] != (int64_t)k)
			return 0;
	return a->ints[rank - 2] == (int64_t)rank - 1 && a->ints[rank - 1] == (int64_t)rank - 2;
}

/* What the node's attribute must be, given the value that was made of it. */
static int
attribute_fits(const Onnx__Attribute *a, const struct program_value *v, enum attribute kind)
{
	const int64_t last = (int64_t)v->rank - 1;
	const char *const name = a->name != NULL ? a->name : "";

	switch (kind) {
	case LAST_AXIS: return strcmp(name, "axis") == 0 && a->has_i && a->i == last;
	case ANY_AXIS:  return strcmp(name, "axis") == 0 && a->has_i
		&& a->i == (v->op == PROGRAM_gather ? 0 : last);
	case TO_FLOAT:  return strcmp(name, "to") == 0 && a->has_i && a->i == ONNX_FLOAT;
	case ONE_AXIS:  return strcmp(name, "axes") == 0 && a->n_ints == 1;
	case SWAP:      return strcmp(name, "perm") == 0 && is_swap(a, v->rank);
	default:        return 0;
	}
}

static enum rs_status
make_reshape(const struct onnx_file *f, const Onnx__Node *n, size_t a, size_t *out)
{
	const int64_t *x;
	int64_t dim[PROGRAM_RANK];
	size_t count;

	RS_TRY(onnx_file_numbers(f, n->input[1], &x, &count));
	if (count > PROGRAM_RANK)
		return onnx_file_fail(f, "too many axes of", n->name);
	for (size_t k = 0; k < count; k++) {
		if (x[k] < 0 || x[k] > ONNX_FILE_DIM_MAX || (x[k] == 0
			&& k >= f->program->value[a].rank))
			return onnx_file_fail(f, "another shape than this program writes:",
				n->name);
		dim[k] = x[k] == 0 ? f->program->value[a].dim[k] : x[k];
	}
	*out = program_reshape(f->program, a, dim, count);
	return RS_OK;
}

static enum rs_status
make_slice(const struct onnx_file *f, const Onnx__Node *n, size_t a, size_t *out)
{
	int64_t begin, end, axis;

	RS_TRY(input_number(f, n, 1, &begin));
	RS_TRY(input_number(f, n, 2, &end));
	RS_TRY(input_number(f, n, 3, &axis));
	if (begin < 0 || end < 0 || axis + 1 != (int64_t)f->program->value[a].rank)
		return onnx_file_fail(f, "another slice than this program writes:", n->name);
	*out = program_slice(f->program, a, (size_t)begin, (size_t)end);
	return RS_OK;
}

static enum rs_status
make_gather(const struct onnx_file *f, const Onnx__Node *n, size_t a, size_t *out)
{
	const int64_t *index;
	size_t count;

	if (f->program->value[a].op == PROGRAM_table) {
		*out = program_binary(f->program, PROGRAM_gather, a, onnx_file_value(f,
			n->input[1]));
		return RS_OK;
	}
	RS_TRY(onnx_file_numbers(f, n->input[1], &index, &count));
	*out = program_pick(f->program, a, index, count);
	return RS_OK;
}

static enum rs_status
make_concat(const struct onnx_file *f, const Onnx__Node *n, size_t *out)
{
	size_t *input;

	RS_TRY(memory_alloc(n->n_input + 1, sizeof *input, &input));
	for (size_t i = 0; i < n->n_input; i++)
		input[i] = onnx_file_value(f, n->input[i]);
	*out = program_concat(f->program, input, n->n_input);
	free(input);
	return RS_OK;
}

static enum rs_status
make_clamp(const struct onnx_file *f, const Onnx__Node *n, enum program_op op, size_t a,
	size_t *out)
{
	RS_TRY(input_zero(f, n));
	*out = program_unary(f->program, op, a);
	return RS_OK;
}

static enum rs_status
make_value(const struct onnx_file *f, const Onnx__Node *n, const struct node_row *row, size_t *out)
{
	struct program *const p = f->program;
	const size_t a = onnx_file_value(f, n->input[0]);
	const size_t b = n->n_input > 1 ? onnx_file_value(f, n->input[1]) : 0;
	size_t axis = 0;

	if (a == 0)
		return onnx_file_fail(f, "an input is missing of", n->name);
	switch (row->form) {
	case UNARY:
		*out = program_unary(p, row->op, a);
		return RS_OK;
	case BINARY:
		*out = program_binary(p, row->op, a, b);
		return RS_OK;
	case MAXIMUM:
		if (b == 0)
			return make_clamp(f, n, PROGRAM_clamp, a, out);
		*out = program_binary(p, row->op, a, b);
		return RS_OK;
	case KNOWN:
		return make_clamp(f, n, row->op, a, out);
	case SELECT:
		*out = program_where(p, a, b, onnx_file_value(f, n->input[2]));
		return RS_OK;
	case AXIS: case REDUCE:
		RS_TRY(input_axis(f, n, &axis));
		*out = row->form == AXIS ? program_axis(p, row->op, a, axis)
			: program_reduce(p, row->op, a, (int)axis);
		return RS_OK;
	case GATHER:  return make_gather(f, n, a, out);
	case CONCAT:  return make_concat(f, n, out);
	case RESHAPE: return make_reshape(f, n, a, out);
	case SLICE:   return make_slice(f, n, a, out);
	}
	return RS_OK;
}

static const struct node_row *
find_row(const Onnx__Node *n)
{
	const size_t rows = sizeof node_table / sizeof *node_table;

	for (size_t i = 0; i < rows && n->op_type != NULL; i++)
		if (strcmp(node_table[i].type, n->op_type) == 0)
			return &node_table[i];
	return NULL;
}

/* The output has a name of its own, and is a value that was not there. */
static enum rs_status
name_value(const struct onnx_file *f, const Onnx__Node *n, size_t value)
{
	struct program_value *const v = &f->program->value[value];

	if (v->name[0] != '\0' || value + 1 != f->program->n)
		return onnx_file_fail(f, "a value is made twice by", n->name);
	if (n->output[0][0] == '\0' || onnx_file_value(f, n->output[0]) != 0
	    || strlen(n->output[0]) >= sizeof v->name)
		return onnx_file_fail(f, "a name that is taken, or none:", n->output[0]);
	snprintf(v->name, sizeof v->name, "%s", n->output[0]);
	return RS_OK;
}

enum rs_status
onnx_nodes_add(struct onnx_file *f, const Onnx__Node *n)
{
	const struct node_row *const row = find_row(n);
	size_t value = 0;

	if (row == NULL || n->n_input == 0 || n->n_output != 1
	    || (row->n_inputs > 0 && n->n_input != row->n_inputs)
	    || (n->domain != NULL && n->domain[0] != '\0')
	    || n->n_attribute != (row->attribute != NONE)
	    || (row->attribute == ONE_AXIS && n->attribute[0]->n_ints != 1))
		return onnx_file_fail(f, "an operator that this program does not write:",
			n->op_type);
	RS_TRY(make_value(f, n, row, &value));
	if (f->program->failure.status != RS_OK)
		return onnx_file_fail(f, f->program->failure.text, n->name);
	if (value == 0)
		return onnx_file_fail(f, "an input is missing of", n->name);
	if (row->attribute != NONE
	    && !attribute_fits(n->attribute[0], &f->program->value[value], row->attribute))
		return onnx_file_fail(f, "another attribute than this program writes:", n->name);
	return name_value(f, n, value);
}
