/* Values of a program: made one after the other, with their shapes. */
#include "export/program.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/row_numbers.h"

static const struct { const char *name; size_t n_inputs; } op_table[PROGRAM_N_OPS] = {
#define OP(name, n, text) [PROGRAM_##name] = { #name, n },
	PROGRAM_OPS(OP)
#undef OP
};

const char *
program_op_name(enum program_op op)
{
	return op_table[op].name;
}

size_t
program_value_size(const struct program_value *v)
{
	size_t n = 1;

	for (size_t k = 0; k < v->rank; k++)
		n *= (size_t)v->dim[k];
	return n;
}

uint64_t
program_bytes(const struct program *p, enum program_op op)
{
	uint64_t bytes = 0;

	for (size_t i = 1; i < p->n; i++)
		if (p->value[i].op == op)
			bytes += sizeof(float) * program_value_size(&p->value[i]);
	return bytes;
}

void
program_free(struct program *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->n; i++) {
		free(p->value[i].input);
		free(p->value[i].index);
		free(p->value[i].own);
	}
	free(p->value);
	free(p->feature);
	free(p->leader);
	free(p);
}

/* --- one value ---------------------------------------- */

/* Records the first failure, and is 0. */
static size_t
fail(struct program *p, const char *format, ...)
{
	char text[200];
	va_list list;

	if (p->failure.status != RS_OK)
		return 0;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	(void)rs_fail(RS_ESPEC, "export: %s", text);
	rs_failure_take(&p->failure);
	return 0;
}

static enum rs_status
grow(struct program *p)
{
	const size_t capacity = p->capacity == 0 ? 64 : 2 * p->capacity;
	struct program_value *grown;

	if (p->n < p->capacity)
		return RS_OK;
	grown = realloc(p->value, capacity * sizeof *grown);
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for a program");
	p->value = grown;
	p->capacity = capacity;
	return RS_OK;
}

/* Value 0 is none, so that 0 can mean a failure. */
static size_t
append(struct program *p, enum program_op op, const size_t *input, size_t n)
{
	if (p->failure.status != RS_OK)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (input[i] == 0)
			return fail(p, "an input of '%s' is missing", op_table[op].name);
		if ((p->value[input[i]].op == PROGRAM_table) != (op == PROGRAM_gather && i == 0))
			return fail(p, "'%s' of a table, or gather of none", op_table[op].name);
	}
	if (p->n == 0) {
		if (grow(p) != RS_OK)
			return fail(p, "out of memory");
		memset(&p->value[p->n++], 0, sizeof *p->value);
	}
	if (grow(p) != RS_OK)
		return fail(p, "out of memory");
	struct program_value *const v = &p->value[p->n];

	memset(v, 0, sizeof *v);
	v->op = op;
	if (n > 0 && memory_alloc(n, sizeof *v->input, &v->input) != RS_OK)
		return fail(p, "out of memory");
	for (size_t i = 0; i < n; i++)
		v->input[i] = input[i];
	v->n_inputs = n;
	if (n > 0) {
		v->rank = p->value[input[0]].rank;
		memcpy(v->dim, p->value[input[0]].dim, sizeof v->dim);
	}
	return p->n++;
}

/* The same operator of the same inputs, which then need not be worked out twice. */
static size_t
find_same(const struct program *p, enum program_op op, const size_t *input, size_t n)
{
	for (size_t i = 1; i < p->n; i++)
		if (p->value[i].op == op && p->value[i].n_inputs == n
		    && memcmp(p->value[i].input, input, n * sizeof *input) == 0)
			return i;
	return 0;
}

static void
set_shape(struct program_value *v, const int64_t *dim, size_t rank)
{
	v->rank = rank;
	memset(v->dim, 0, sizeof v->dim);
	if (rank > 0)
		memcpy(v->dim, dim, rank * sizeof *dim);
}

/* --- leaves ---------------------------------------- */

size_t
program_leaf(struct program *p, enum program_op op, enum program_type type, const char *name,
	const int64_t *dim, size_t rank)
{
	const size_t i = append(p, op, NULL, 0);

	if (i == 0)
		return 0;
	if (strlen(name) >= sizeof p->value[i].name)
		return fail(p, "the name '%.40s...' is too long", name);
	set_shape(&p->value[i], dim, rank);
	p->value[i].type = type;
	snprintf(p->value[i].name, sizeof p->value[i].name, "%s", name);
	return i;
}

static const enum program_type feature_type[] = {
	[PROGRAM_ID] = PROGRAM_INT64, [PROGRAM_BAG] = PROGRAM_INT64,
	[PROGRAM_WEIGHT] = PROGRAM_FLOAT, [PROGRAM_VALUE] = PROGRAM_FLOAT,
};

static size_t
find_feature(const struct program *p, enum program_kind kind, size_t field, size_t round)
{
	for (size_t i = 0; i < p->n_features; i++)
		if (p->feature[i].kind == kind && p->feature[i].field == field
		    && p->feature[i].round == round)
			return p->feature[i].value;
	return 0;
}

void
program_feature_name(char name[160], enum program_kind kind, const char *field, size_t round)
{
	if (round > 0)
		snprintf(name, sizeof((struct program_feature *)0)->name, "%s.round%zu", field,
			round + 1);
	else
		snprintf(name, sizeof((struct program_feature *)0)->name, "%s%s", field,
			kind == PROGRAM_WEIGHT ? ".weight" : "");
}

size_t
program_feature_add(struct program *p, enum program_kind kind, size_t field)
{
	return program_round_add(p, kind, field, 0);
}

size_t
program_round_add(struct program *p, enum program_kind kind, size_t field, size_t round)
{
	const struct schema_field *const f = &p->model->schema.field[field];
	const int is_list = kind == PROGRAM_BAG || kind == PROGRAM_WEIGHT;
	const size_t known = find_feature(p, kind, field, round);
	struct program_feature *grown;

	if (known != 0 || p->failure.status != RS_OK)
		return known;
	grown = realloc(p->feature, (p->n_features + 1) * sizeof *grown);
	if (grown == NULL)
		return fail(p, "out of memory");
	p->feature = grown;
	char name[sizeof p->feature->name];
	const int64_t dim[] = { PROGRAM_N, PROGRAM_L(p->leader[field]) };

	program_feature_name(name, kind, f->name, round);
	const size_t value = program_leaf(p, PROGRAM_input, feature_type[kind], name, dim,
		is_list ? 2 : 1);
	if (value == 0)
		return 0;
	struct program_feature *const feature = &p->feature[p->n_features];
	*feature = (struct program_feature){ .kind = kind, .field = field, .column = f->index,
		.round = round, .value = value };
	memcpy(feature->name, name, sizeof name);
	p->value[value].feature = p->n_features++;
	return value;
}

size_t
program_constant(struct program *p, const char *name, const float *data, const int64_t *dim,
	size_t rank)
{
	for (size_t i = 1; i < p->n; i++)
		if (p->value[i].op == PROGRAM_constant && p->value[i].data == data
		    && strcmp(p->value[i].name, name) == 0)
			return i;
	const size_t i = append(p, PROGRAM_constant, NULL, 0);
	if (i == 0)
		return 0;
	struct program_value *const v = &p->value[i];
	set_shape(v, dim, rank);
	v->data = data;
	snprintf(v->name, sizeof v->name, "%s", name);
	return i;
}

size_t
program_scalar(struct program *p, float x)
{
	float *data;
	char name[32];

	if (p->failure.status != RS_OK)
		return 0;
	if (memory_alloc(1, sizeof *data, &data) != RS_OK)
		return fail(p, "out of memory");
	*data = x;
	for (size_t i = 1; i < p->n; i++)
		if (p->value[i].own != NULL && *p->value[i].own == x) {
			free(data);
			return i;
		}
	snprintf(name, sizeof name, "/scalar.%zu", p->n);
	const size_t i = program_constant(p, name, data, NULL, 0);
	if (i == 0)
		free(data);
	else
		p->value[i].own = data;
	return i;
}

size_t
program_table(struct program *p, size_t table)
{
	const struct lookup_table *const t = &p->model->table[table];
	const int64_t dim[] = { (int64_t)row_numbers_count(p->model, table), (int64_t)t->dim };

	for (size_t i = 1; i < p->n; i++)
		if (p->value[i].op == PROGRAM_table && p->value[i].table == table)
			return i;
	const size_t i = append(p, PROGRAM_table, NULL, 0);
	if (i == 0)
		return 0;
	set_shape(&p->value[i], dim, 2);
	p->value[i].table = table;
	if ((size_t)snprintf(p->value[i].name, sizeof p->value[i].name, "table.%s", t->name)
	    >= sizeof p->value[i].name)
		return fail(p, "the name of table '%.40s...' is too long", t->name);
	return i;
}

/* --- shapes of operators ---------------------------------------- */

size_t
program_unary(struct program *p, enum program_op op, size_t a)
{
	const size_t same = a != 0 ? find_same(p, op, &a, 1) : 0;

	if (same != 0)
		return same;
	const size_t i = append(p, op, &a, 1);
	if (i == 0)
		return 0;
	struct program_value *const v = &p->value[i];
	v->type = op == PROGRAM_known || op == PROGRAM_is_nan ? PROGRAM_BOOL
		: op == PROGRAM_clamp ? PROGRAM_INT64 : PROGRAM_FLOAT;
	if (v->rank < (op == PROGRAM_transpose ? 2 : op == PROGRAM_softmax))
		return fail(p, "'%s' of a value with too few axes", op_table[op].name);
	if (op == PROGRAM_transpose) {
		const int64_t last = v->dim[v->rank - 1];
		v->dim[v->rank - 1] = v->dim[v->rank - 2];
		v->dim[v->rank - 2] = last;
	}
	return i;
}

/* As NumPy: shapes meet at their ends, 1 grows. */
static size_t
broadcast(struct program *p, size_t i, const struct program_value *a,
	const struct program_value *b)
{
	struct program_value *const v = &p->value[i];
	const struct program_value *const more = a->rank >= b->rank ? a : b;
	const struct program_value *const less = a->rank >= b->rank ? b : a;
	const size_t shift = more->rank - less->rank;
	int64_t dim[PROGRAM_RANK];

	for (size_t k = 0; k < more->rank; k++) {
		const int64_t x = more->dim[k], y = k < shift ? 1 : less->dim[k - shift];

		if (x != y && x != 1 && y != 1)
			return fail(p, "'%s' of axes that differ, %jd and %jd",
				op_table[v->op].name, (intmax_t)x, (intmax_t)y);
		dim[k] = x != 1 ? x : y;
	}
	set_shape(v, dim, more->rank);
	return i;
}

static size_t
product_shape(struct program *p, size_t i, const struct program_value *a,
	const struct program_value *b)
{
	struct program_value *const v = &p->value[i];

	if (b->rank < 2 || a->rank < 2 || (b->rank != 2 && b->rank != a->rank)
	    || a->dim[a->rank - 1] != b->dim[b->rank - 2]
	    || (b->rank > 2 && memcmp(a->dim, b->dim, (b->rank - 2) * sizeof *b->dim) != 0))
		return fail(p, "matmul of shapes that do not fit");
	v->dim[v->rank - 1] = b->dim[b->rank - 1];
	return i;
}

static size_t
gather_shape(struct program *p, size_t i, const struct program_value *a,
	const struct program_value *b)
{
	struct program_value *const v = &p->value[i];
	const int64_t width = a->dim[1];

	if (b->rank + 1 > PROGRAM_RANK || b->type != PROGRAM_INT64)
		return fail(p, "gather by what is no ids");
	set_shape(v, b->dim, b->rank);
	v->dim[v->rank++] = width;
	return i;
}

size_t
program_binary(struct program *p, enum program_op op, size_t a, size_t b)
{
	const size_t input[] = { a, b }, same = a != 0 && b != 0 ? find_same(p, op, input, 2) : 0;

	if (same != 0)
		return same;
	const size_t i = append(p, op, input, 2);
	if (i == 0)
		return 0;
	if (op == PROGRAM_matmul)
		return product_shape(p, i, &p->value[a], &p->value[b]);
	if (op == PROGRAM_gather)
		return gather_shape(p, i, &p->value[a], &p->value[b]);
	return broadcast(p, i, &p->value[a], &p->value[b]);
}

size_t
program_where(struct program *p, size_t condition, size_t a, size_t b)
{
	const size_t i = append(p, PROGRAM_where, (const size_t []){ condition, a, b }, 3);

	if (i == 0 || broadcast(p, i, &p->value[a], &p->value[b]) == 0)
		return 0;
	return broadcast(p, i, &p->value[condition], &p->value[i]);
}

size_t
program_reduce(struct program *p, enum program_op op, size_t a, int axis)
{
	const size_t i = append(p, op, &a, 1);

	if (i == 0)
		return 0;
	struct program_value *const v = &p->value[i];
	v->axis = axis < 0 ? v->rank - (size_t)-axis : (size_t)axis;
	if (v->axis >= v->rank)
		return fail(p, "'%s' over an axis that is not there", op_table[op].name);
	v->dim[v->axis] = 1;
	return i;
}

size_t
program_axis(struct program *p, enum program_op op, size_t a, size_t axis)
{
	const size_t i = append(p, op, &a, 1);

	if (i == 0)
		return 0;
	struct program_value *const v = &p->value[i];
	const int grows = op == PROGRAM_expand;

	if (grows ? v->rank == PROGRAM_RANK || axis > v->rank
	    : axis >= v->rank || v->dim[axis] != 1)
		return fail(p, "'%s' of an axis that is not there", op_table[op].name);
	int64_t *const at = v->dim + axis;
	v->axis = axis;
	v->type = p->value[a].type;
	memmove(at + grows, at + !grows, (v->rank - axis - !grows) * sizeof *at);
	if (grows)
		*at = 1;
	v->rank += grows ? 1 : (size_t)-1;
	return i;
}

size_t
program_concat(struct program *p, const size_t *input, size_t n)
{
	if (n == 1)
		return input[0];
	const size_t i = append(p, PROGRAM_concat, input, n);
	if (i == 0)
		return 0;
	struct program_value *const v = &p->value[i];
	if (v->rank == 0)
		return fail(p, "concat of numbers");
	v->axis = v->rank - 1;
	v->dim[v->axis] = 0;
	for (size_t k = 0; k < n; k++) {
		const struct program_value *const a = &p->value[input[k]];

		if (a->rank != v->rank || memcmp(a->dim, v->dim, v->axis * sizeof *a->dim) != 0
		    || a->dim[v->axis] < 0)
			return fail(p, "concat of shapes that do not fit");
		v->dim[v->axis] += a->dim[v->axis];
	}
	return i;
}

/* Free axes in order, and how many numbers the others have; 0: too many. */
static uint64_t
fixed_part(const int64_t *dim, size_t rank, int64_t *free_axis)
{
	uint64_t n = 1;

	for (size_t k = 0; k < PROGRAM_RANK; k++)
		free_axis[k] = 0;
	for (size_t k = 0; k < rank; k++) {
		if (dim[k] < 0)
			*free_axis++ = dim[k];
		else if (__builtin_mul_overflow(n, (uint64_t)dim[k], &n))
			return 0;
	}
	return n;
}

size_t
program_reshape(struct program *p, size_t a, const int64_t *dim, size_t rank)
{
	const size_t i = append(p, PROGRAM_reshape, &a, 1);
	int64_t before[PROGRAM_RANK], after[PROGRAM_RANK];

	if (i == 0)
		return 0;
	const uint64_t n = fixed_part(p->value[a].dim, p->value[a].rank, before);
	if (n == 0 || fixed_part(dim, rank, after) != n
	    || memcmp(before, after, sizeof before) != 0)
		return fail(p, "reshape to another number of elements");
	p->value[i].type = p->value[a].type;
	set_shape(&p->value[i], dim, rank);
	return i;
}

/* Its size where it is fixed, else -1. */
static int64_t
last_axis(const struct program *p, size_t a)
{
	const struct program_value *const v = a != 0 ? &p->value[a] : NULL;

	return v != NULL && v->rank > 0 && v->dim[v->rank - 1] > 0 ? v->dim[v->rank - 1] : -1;
}

size_t
program_slice(struct program *p, size_t a, size_t begin, size_t end)
{
	const int64_t width = last_axis(p, a);

	if (begin == 0 && width > 0 && (int64_t)end == width)
		return a;
	const size_t i = append(p, PROGRAM_slice, &a, 1);
	if (i == 0)
		return 0;
	if (width < 0 || begin >= end || end > (uint64_t)width)
		return fail(p, "slice of columns that are not there");
	struct program_value *const v = &p->value[i];
	v->begin = begin;
	v->end = end;
	v->dim[v->rank - 1] = (int64_t)(end - begin);
	return i;
}

size_t
program_pick(struct program *p, size_t a, const int64_t *index, size_t n)
{
	const size_t i = append(p, PROGRAM_pick, &a, 1);

	if (i == 0)
		return 0;
	for (size_t k = 0; k < n; k++)
		if (index[k] < 0 || index[k] >= last_axis(p, a))
			return fail(p, "columns that are not there");
	if (n == 0 || last_axis(p, a) < 0)
		return fail(p, "no columns");
	struct program_value *const v = &p->value[i];
	if (memory_alloc(n, sizeof *v->index, &v->index) != RS_OK)
		return fail(p, "out of memory");
	memcpy(v->index, index, n * sizeof *index);
	v->dim[v->rank - 1] = (int64_t)n;
	return i;
}
