/* One value after the other, each in memory of its own. */
#include "export/program_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of one value; what needs more is no model of ours. */
#define NUMBERS_MAX ((size_t)1 << 28)
#define ID_MAX      9e15

struct tensor { double *x; size_t dim[PROGRAM_RANK], rank, n; };

struct run {
	const struct program *p;
	const struct program_feed *feed;
	struct tensor *value;              /* [p->n]                                    */
	size_t *last_use;                  /* [p->n] the last value that reads it       */
};

/* --- shapes ---------------------------------------- */

static size_t
size_of(const struct run *r, int64_t dim)
{
	return dim == PROGRAM_N ? r->feed->N : dim < 0 ? r->feed->length[-2 - dim] : (size_t)dim;
}

static enum rs_status
shape(const struct run *r, const struct program_value *v, struct tensor *t)
{
	t->rank = v->rank;
	t->n = 1;
	for (size_t k = 0; k < v->rank; k++) {
		t->dim[k] = size_of(r, v->dim[k]);
		if (size_mul(t->n, t->dim[k], &t->n) != RS_OK || t->n > NUMBERS_MAX)
			return rs_fail(RS_ERESOURCE, "'%s' of an exported file has more than %zu "
				"numbers for %zu rows", program_op_name(v->op), NUMBERS_MAX,
				r->feed->N);
	}
	return memory_alloc(t->n + 1, sizeof *t->x, &t->x);
}

/* Where element i of `out` comes from in t, whose axes of 1 are read again and again. */
static size_t
place(const struct tensor *out, size_t i, const struct tensor *t)
{
	size_t at = 0, step = 1;

	for (size_t k = 0; k < out->rank; k++) {
		const size_t size = out->dim[out->rank - 1 - k], j = i % size;

		i /= size;
		if (k >= t->rank)
			continue;
		const size_t own = t->dim[t->rank - 1 - k];
		at += (own == 1 ? 0 : j) * step;
		step *= own;
	}
	return at;
}

/* --- operators ---------------------------------------- */

static double
one_of(enum program_op op, double a)
{
	switch (op) {
	case PROGRAM_sqrt:    return sqrt(a);
	case PROGRAM_exp:     return exp(a);
	case PROGRAM_relu:    return a > 0 ? a : 0;
	case PROGRAM_sigmoid: return 1 / (1 + exp(-a));
	case PROGRAM_tanh:    return tanh(a);
	case PROGRAM_erf:     return erf(a);
	case PROGRAM_known:   return a >= 0;
	case PROGRAM_clamp:   return a > 0 ? a : 0;
	case PROGRAM_is_nan:  return isnan(a) != 0;
	default:              return a;
	}
}

static double
two_of(enum program_op op, double a, double b)
{
	switch (op) {
	case PROGRAM_add: return a + b;
	case PROGRAM_sub: return a - b;
	case PROGRAM_mul: return a * b;
	case PROGRAM_div: return a / b;
	case PROGRAM_max: return a > b ? a : b;
	default:          return a < b ? a : b;
	}
}

static const struct tensor *
input(const struct run *r, const struct program_value *v, size_t i)
{
	return &r->value[v->input[i]];
}

static void
run_binary(const struct run *r, const struct program_value *v, struct tensor *t)
{
	const struct tensor *const a = input(r, v, 0), *const b = input(r, v, 1);

	for (size_t i = 0; i < t->n; i++)
		t->x[i] = two_of(v->op, a->x[place(t, i, a)], b->x[place(t, i, b)]);
}

static void
run_where(const struct run *r, const struct program_value *v, struct tensor *t)
{
	const struct tensor *const c = input(r, v, 0), *const a = input(r, v, 1);
	const struct tensor *const b = input(r, v, 2);

	for (size_t i = 0; i < t->n; i++)
		t->x[i] = c->x[place(t, i, c)] != 0 ? a->x[place(t, i, a)] : b->x[place(t, i, b)];
}

static void
run_matmul(const struct run *r, const struct program_value *v, struct tensor *t)
{
	const struct tensor *const a = input(r, v, 0), *const b = input(r, v, 1);
	const size_t n = a->dim[a->rank - 1], m = t->dim[t->rank - 1];
	const size_t rows = a->dim[a->rank - 2];

	for (size_t i = 0; i < t->n; i++) {
		const size_t row = i / m, column = i % m;
		const double *const right = b->x + (b->rank > 2 ? row / rows * n * m : 0);
		double sum = 0;

		for (size_t k = 0; k < n; k++)
			sum += a->x[row * n + k] * right[k * m + column];
		t->x[i] = sum;
	}
}

static enum rs_status
run_gather(const struct run *r, const struct program_value *v, struct tensor *t)
{
	const struct program_value *const table = &r->p->value[v->input[0]];
	const struct tensor *const ids = input(r, v, 1);
	const size_t D = t->dim[t->rank - 1];

	for (size_t i = 0; i < ids->n; i++) {
		const double id = ids->x[i];
		const float *const row = id >= 0 && id < ID_MAX
			? r->feed->row(r->feed->context, table->table, (uint64_t)id) : NULL;

		if (row == NULL)
			return rs_fail(RS_EDATA, "'%s' has no row %.0f", table->name, id);
		for (size_t d = 0; d < D; d++)
			t->x[i * D + d] = (double)row[d];
	}
	return RS_OK;
}

/* Distance of neighbours along the axis, and how many there are. */
static void
run_reduce(const struct run *r, const struct program_value *v, struct tensor *t)
{
	const struct tensor *const a = input(r, v, 0);
	const size_t n = a->dim[v->axis];
	size_t step = 1;

	for (size_t k = v->axis + 1; k < a->rank; k++)
		step *= a->dim[k];
	for (size_t i = 0; i < t->n; i++) {
		const double *const from = a->x + i / step * step * n + i % step;
		double y = v->op == PROGRAM_sum ? 0 : -INFINITY;

		for (size_t k = 0; k < n; k++)
			y = v->op == PROGRAM_sum ? y + from[k * step] : fmax(y, from[k * step]);
		t->x[i] = y;
	}
}

static void
run_softmax(const struct run *r, const struct program_value *v, struct tensor *t)
{
	const struct tensor *const a = input(r, v, 0);
	const size_t n = a->dim[a->rank - 1];

	for (size_t i = 0; n > 0 && i < a->n; i += n) {
		double most = -INFINITY, sum = 0;

		for (size_t k = 0; k < n; k++)
			most = fmax(most, a->x[i + k]);
		for (size_t k = 0; k < n; k++)
			sum += t->x[i + k] = exp(a->x[i + k] - most);
		for (size_t k = 0; k < n; k++)
			t->x[i + k] /= sum;
	}
}

static void
run_concat(const struct run *r, const struct program_value *v, struct tensor *t)
{
	const size_t width = t->dim[t->rank - 1];
	size_t at = 0;

	for (size_t k = 0; k < v->n_inputs; k++) {
		const struct tensor *const a = input(r, v, k);
		const size_t own = a->dim[a->rank - 1];

		for (size_t i = 0; i < a->n; i++)
			t->x[i / own * width + at + i % own] = a->x[i];
		at += own;
	}
}

/* slice and pick: columns of the last axis. */
static void
run_columns(const struct run *r, const struct program_value *v, struct tensor *t)
{
	const struct tensor *const a = input(r, v, 0);
	const size_t width = a->dim[a->rank - 1], own = t->dim[t->rank - 1];

	for (size_t i = 0; i < t->n; i++) {
		const size_t column = v->op == PROGRAM_pick ? (size_t)v->index[i % own]
			: v->begin + i % own;

		t->x[i] = a->x[i / own * width + column];
	}
}

static void
run_transpose(const struct run *r, const struct program_value *v, struct tensor *t)
{
	const size_t rows = t->dim[t->rank - 2], columns = t->dim[t->rank - 1];
	const struct tensor *const a = input(r, v, 0);

	for (size_t i = 0; i < t->n; i++) {
		const size_t matrix = i / (rows * columns), at = i % (rows * columns);

		t->x[i] = a->x[matrix * rows * columns + at % columns * rows + at / columns];
	}
}

static void
run_unary(const struct run *r, const struct program_value *v, struct tensor *t)
{
	const struct tensor *const a = input(r, v, 0);

	for (size_t i = 0; i < t->n; i++)
		t->x[i] = one_of(v->op, a->x[i]);
}

static void
run_leaf(const struct run *r, const struct program_value *v, struct tensor *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->x[i] = v->op == PROGRAM_input ? r->feed->input[v->feature][i]
			: (double)v->data[i];
}

static void (*const run_table[PROGRAM_N_OPS])(const struct run *, const struct program_value *,
	struct tensor *) = {
	[PROGRAM_input] = run_leaf, [PROGRAM_constant] = run_leaf,
	[PROGRAM_add] = run_binary, [PROGRAM_sub] = run_binary, [PROGRAM_mul] = run_binary,
	[PROGRAM_div] = run_binary, [PROGRAM_max] = run_binary, [PROGRAM_min] = run_binary,
	[PROGRAM_matmul] = run_matmul, [PROGRAM_transpose] = run_transpose,
	[PROGRAM_sum] = run_reduce, [PROGRAM_most] = run_reduce, [PROGRAM_concat] = run_concat,
	[PROGRAM_slice] = run_columns, [PROGRAM_pick] = run_columns,
	[PROGRAM_softmax] = run_softmax, [PROGRAM_where] = run_where,
};

static enum rs_status
run_value(const struct run *r, size_t i)
{
	const struct program_value *const v = &r->p->value[i];
	struct tensor *const t = &r->value[i];

	if (v->op == PROGRAM_table)
		return RS_OK;
	RS_TRY(shape(r, v, t));
	if (v->op == PROGRAM_gather)
		return run_gather(r, v, t);
	if (run_table[v->op] != NULL)
		run_table[v->op](r, v, t);
	else
		run_unary(r, v, t);
	return RS_OK;
}

/* Those of which nothing is wanted any more make room. */
static void
forget(const struct run *r, size_t i)
{
	const struct program_value *const v = &r->p->value[i];

	for (size_t k = 0; k < v->n_inputs; k++) {
		struct tensor *const t = &r->value[v->input[k]];

		if (r->last_use[v->input[k]] == i) {
			free(t->x);
			t->x = NULL;
		}
	}
}

/* last_use 0: nothing that is wanted depends on it. */
static void
find_uses(const struct run *r, size_t output)
{
	r->last_use[output] = r->p->n;
	for (size_t i = output; i >= 1; i--)
		for (size_t k = 0; r->last_use[i] > 0 && k < r->p->value[i].n_inputs; k++) {
			size_t *const use = &r->last_use[r->p->value[i].input[k]];

			*use = i > *use ? i : *use;
		}
}

static enum rs_status
run_all(struct run *r, size_t output)
{
	RS_TRY(memory_alloc(r->p->n, sizeof *r->value, &r->value));
	RS_TRY(memory_alloc(r->p->n, sizeof *r->last_use, &r->last_use));
	find_uses(r, output);
	for (size_t i = 1; i <= output; i++) {
		if (r->last_use[i] == 0)
			continue;
		RS_TRY(run_value(r, i));
		forget(r, i);
	}
	return RS_OK;
}

enum rs_status
program_run_value(const struct program *p, const struct program_feed *feed, size_t value,
	double **out, size_t *n)
{
	struct run r = { .p = p, .feed = feed };
	const enum rs_status status = run_all(&r, value);

	*out = NULL;
	for (size_t i = 1; r.value != NULL && i < p->n; i++) {
		if (status != RS_OK || i != value) {
			free(r.value[i].x);
			continue;
		}
		*out = r.value[i].x;
		*n = r.value[i].n;
	}
	free(r.value);
	free(r.last_use);
	return status;
}

enum rs_status
program_run(const struct program *p, const struct program_feed *feed, size_t k, double **out)
{
	size_t n;

	return program_run_value(p, feed, p->output[k].value, out, &n);
}
