/* Every operator of a program against values by hand; shapes that do not fit. */
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export/program_run.h"

enum { N = 2, L = 3 };

struct bed { struct program p; };

static void
bed_open(struct bed *b)
{
	memset(b, 0, sizeof *b);
}

static void
bed_close(struct bed *b)
{
	for (size_t i = 0; i < b->p.n; i++) {
		free(b->p.value[i].input);
		free(b->p.value[i].index);
		free(b->p.value[i].own);
	}
	free(b->p.value);
}

static size_t
constant(struct bed *b, const float *x, const int64_t *dim, size_t rank)
{
	char name[32];

	snprintf(name, sizeof name, "c%zu", b->p.n);
	return program_constant(&b->p, name, x, dim, rank);
}

static const float *
two_rows(void *context, size_t table, uint64_t id)
{
	static const float row[2][2] = { { 1, 2 }, { 3, 4 } };

	(void)context;
	(void)table;
	return id < 2 ? row[id] : NULL;
}

/* The numbers of a value, with `input` for every feature. */
static void
check(struct bed *b, size_t value, const double *input, const double *wanted, size_t n)
{
	static const size_t length[] = { L };
	const double *const inputs[] = { input };
	const struct program_feed feed = { .N = N, .length = length, .input = inputs,
		.row = two_rows };
	double *out;

	assert_int_not_equal(value, 0);
	b->p.output[0].value = value;
	b->p.n_outputs = 1;
	assert_int_equal(program_run(&b->p, &feed, 0, &out), RS_OK);
	for (size_t i = 0; i < n; i++)
		assert_true(fabs(out[i] - wanted[i]) <= 1e-6 * (1 + fabs(wanted[i])));
	free(out);
}

static const int64_t square[] = { 2, 2 }, row[] = { 2 }, cube[] = { 2, 1, 2 };
static const float a4[] = { 1, -2, 3, 0.5f }, b2[] = { 2, 4 };

#define UNARY(op, w0, w1, w2, w3) do { \
	struct bed b; \
	bed_open(&b); \
	check(&b, program_unary(&b.p, PROGRAM_##op, constant(&b, a4, square, 2)), NULL, \
		(const double []){ w0, w1, w2, w3 }, 4); \
	bed_close(&b); \
} while (0)

static void
one_input_by_hand(void **state)
{
	(void)state;
	UNARY(exp, exp(1), exp(-2), exp(3), exp(0.5));
	UNARY(relu, 1, 0, 3, 0.5);
	UNARY(sigmoid, 1 / (1 + exp(-1)), 1 / (1 + exp(2)), 1 / (1 + exp(-3)), 1 / (1 + exp(-.5)));
	UNARY(tanh, tanh(1), tanh(-2), tanh(3), tanh(0.5));
	UNARY(erf, erf(1), erf(-2), erf(3), erf(0.5));
	UNARY(known, 1, 0, 1, 1);
	UNARY(clamp, 1, 0, 3, 0.5);
	UNARY(is_nan, 0, 0, 0, 0);
	UNARY(number, 1, -2, 3, 0.5);
	UNARY(transpose, 1, 3, -2, 0.5);
	UNARY(softmax, 1 / (1 + exp(-3)), 1 / (1 + exp(3)), 1 / (1 + exp(-2.5)),
		1 / (1 + exp(2.5)));
}

static void
roots_and_nan_by_hand(void **state)
{
	const float x[] = { 4, NAN };
	struct bed b;

	(void)state;
	bed_open(&b);
	const size_t c = constant(&b, x, row, 1);
	check(&b, program_unary(&b.p, PROGRAM_sqrt, c), NULL, (const double []){ 2 }, 1);
	check(&b, program_unary(&b.p, PROGRAM_is_nan, c), NULL, (const double []){ 0, 1 }, 2);
	const size_t nan = program_unary(&b.p, PROGRAM_is_nan, c);
	check(&b, program_where(&b.p, nan, program_scalar(&b.p, 7), c), NULL,
		(const double []){ 4, 7 }, 2);
	bed_close(&b);
}

#define BINARY(op, w0, w1, w2, w3) do { \
	struct bed b; \
	bed_open(&b); \
	check(&b, program_binary(&b.p, PROGRAM_##op, constant(&b, a4, square, 2), \
		constant(&b, b2, row, 1)), NULL, (const double []){ w0, w1, w2, w3 }, 4); \
	bed_close(&b); \
} while (0)

static void
two_inputs_by_hand_and_shapes_meet_at_their_ends(void **state)
{
	(void)state;
	BINARY(add, 3, 2, 5, 4.5);
	BINARY(sub, -1, -6, 1, -3.5);
	BINARY(mul, 2, -8, 6, 2);
	BINARY(div, 0.5, -0.5, 1.5, 0.125);
	BINARY(max, 2, 4, 3, 4);
	BINARY(min, 1, -2, 2, 0.5);
}

static void
products_by_hand(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	const size_t a = constant(&b, a4, square, 2);
	check(&b, program_binary(&b.p, PROGRAM_matmul, a, a), NULL,
		(const double []){ -5, -3, 4.5, -5.75 }, 4);
	/* [2,1,2] times [2,2], and times its own transpose. */
	const size_t c = constant(&b, a4, cube, 3);
	check(&b, program_binary(&b.p, PROGRAM_matmul, c, a), NULL,
		(const double []){ -5, -3, 4.5, -5.75 }, 4);
	check(&b, program_binary(&b.p, PROGRAM_matmul, c,
		program_unary(&b.p, PROGRAM_transpose, c)), NULL, (const double []){ 5, 9.25 }, 2);
	bed_close(&b);
}

static void
sums_and_columns_by_hand(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	const size_t a = constant(&b, a4, square, 2), c = constant(&b, a4, cube, 3);
	check(&b, program_reduce(&b.p, PROGRAM_sum, a, 0), NULL, (const double []){ 4, -1.5 }, 2);
	check(&b, program_reduce(&b.p, PROGRAM_sum, a, -1), NULL, (const double []){ -1, 3.5 }, 2);
	check(&b, program_reduce(&b.p, PROGRAM_most, a, 1), NULL, (const double []){ 1, 3 }, 2);
	check(&b, program_reduce(&b.p, PROGRAM_sum, c, 0), NULL, (const double []){ 4, -1.5 }, 2);
	const size_t both = program_concat(&b.p, (const size_t []){ a, a }, 2);
	check(&b, both, NULL, (const double []){ 1, -2, 1, -2, 3, 0.5, 3, 0.5 }, 8);
	check(&b, program_slice(&b.p, both, 1, 3), NULL, (const double []){ -2, 1, 0.5, 3 }, 4);
	check(&b, program_pick(&b.p, both, (const int64_t []){ 3, 0, 0 }, 3), NULL,
		(const double []){ -2, 1, 1, 0.5, 3, 3 }, 6);
	check(&b, program_axis(&b.p, PROGRAM_expand, a, 1), NULL, (const double []){ 1, -2, 3 }, 3);
	check(&b, program_axis(&b.p, PROGRAM_squeeze, c, 1), NULL, (const double []){ 1, -2 }, 2);
	check(&b, program_reshape(&b.p, a, (const int64_t []){ 4 }, 1), NULL,
		(const double []){ 1, -2, 3, 0.5 }, 4);
	bed_close(&b);
}

static void
rows_of_tables_come_by_their_ids(void **state)
{
	const int64_t list[] = { PROGRAM_N, PROGRAM_L(0) };
	const double ids[N * L] = { 1, 0, -1, 0, -1, -1 };
	struct bed b;

	(void)state;
	bed_open(&b);
	const size_t x = program_leaf(&b.p, PROGRAM_input, PROGRAM_INT64, "x", list, 2);
	const size_t t = program_leaf(&b.p, PROGRAM_table, PROGRAM_FLOAT, "table.x", square, 2);
	const size_t known = program_unary(&b.p, PROGRAM_clamp, x);
	check(&b, program_binary(&b.p, PROGRAM_gather, t, known), ids,
		(const double []){ 3, 4, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2 }, 12);
	/* -1 itself is no row. */
	static const size_t length[] = { L };
	const double *const inputs[] = { ids };
	const struct program_feed feed = { .N = N, .length = length, .input = inputs,
		.row = two_rows };
	double *out;
	b.p.output[0].value = program_binary(&b.p, PROGRAM_gather, t, x);
	assert_int_equal(program_run(&b.p, &feed, 0, &out), RS_EDATA);
	assert_null(out);
	bed_close(&b);
}

#define REFUSED(call) do { \
	struct bed b; \
	bed_open(&b); \
	const size_t a = constant(&b, a4, square, 2), c = constant(&b, a4, cube, 3); \
	const size_t s = program_scalar(&b.p, 1); \
	const size_t t = program_leaf(&b.p, PROGRAM_table, PROGRAM_FLOAT, "t", square, 2); \
	(void)a; (void)c; (void)s; (void)t; \
	assert_int_equal(call, 0); \
	assert_int_equal(b.p.failure.status, RS_ESPEC); \
	bed_close(&b); \
} while (0)

static void
shapes_that_do_not_fit_are_failures(void **state)
{
	static const float six[6];
	static const int64_t wide[] = { 2, 3 }, flat[] = { PROGRAM_N, 4 };

	(void)state;
	REFUSED(program_binary(&b.p, PROGRAM_add, a, constant(&b, six, wide, 2)));
	REFUSED(program_binary(&b.p, PROGRAM_matmul, a, s));
	REFUSED(program_binary(&b.p, PROGRAM_matmul, constant(&b, six, wide, 2), a));
	REFUSED(program_binary(&b.p, PROGRAM_add, a, t));
	REFUSED(program_binary(&b.p, PROGRAM_gather, a, a));
	REFUSED(program_binary(&b.p, PROGRAM_gather, t, a));
	REFUSED(program_binary(&b.p, PROGRAM_add, a, 0));
	REFUSED(program_unary(&b.p, PROGRAM_softmax, s));
	REFUSED(program_unary(&b.p, PROGRAM_transpose, s));
	REFUSED(program_unary(&b.p, PROGRAM_relu, t));
	REFUSED(program_reduce(&b.p, PROGRAM_sum, a, 2));
	REFUSED(program_reduce(&b.p, PROGRAM_sum, s, -1));
	REFUSED(program_axis(&b.p, PROGRAM_squeeze, a, 0));
	REFUSED(program_axis(&b.p, PROGRAM_squeeze, a, 9));
	REFUSED(program_axis(&b.p, PROGRAM_expand, a, 3));
	REFUSED(program_axis(&b.p, PROGRAM_expand, program_axis(&b.p, PROGRAM_expand, c, 0), 0));
	REFUSED(program_concat(&b.p, (const size_t []){ a, c }, 2));
	REFUSED(program_concat(&b.p, (const size_t []){ s, s }, 2));
	REFUSED(program_reshape(&b.p, a, wide, 2));
	REFUSED(program_reshape(&b.p, a, flat, 2));
	REFUSED(program_slice(&b.p, a, 1, 3));
	REFUSED(program_slice(&b.p, a, 1, 1));
	REFUSED(program_slice(&b.p, s, 0, 1));
	REFUSED(program_pick(&b.p, a, (const int64_t []){ 2 }, 1));
	REFUSED(program_pick(&b.p, a, (const int64_t []){ -1 }, 1));
	REFUSED(program_pick(&b.p, s, (const int64_t []){ 0 }, 1));
}

static void
equal_values_are_worked_out_once(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	const size_t a = constant(&b, a4, square, 2);
	assert_int_equal(program_unary(&b.p, PROGRAM_relu, a),
		program_unary(&b.p, PROGRAM_relu, a));
	assert_int_equal(program_binary(&b.p, PROGRAM_add, a, a),
		program_binary(&b.p, PROGRAM_add, a, a));
	assert_int_equal(program_scalar(&b.p, 3), program_scalar(&b.p, 3));
	assert_int_equal(program_slice(&b.p, a, 0, 2), a);
	bed_close(&b);
}

static void
every_operator_has_a_name(void **state)
{
	(void)state;
	for (enum program_op op = 0; op < PROGRAM_N_OPS; op++)
		assert_true(program_op_name(op) != NULL && program_op_name(op)[0] != '\0');
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_input_by_hand),
		cmocka_unit_test(roots_and_nan_by_hand),
		cmocka_unit_test(two_inputs_by_hand_and_shapes_meet_at_their_ends),
		cmocka_unit_test(products_by_hand),
		cmocka_unit_test(sums_and_columns_by_hand),
		cmocka_unit_test(rows_of_tables_come_by_their_ids),
		cmocka_unit_test(shapes_that_do_not_fit_are_failures),
		cmocka_unit_test(equal_values_are_worked_out_once),
		cmocka_unit_test(every_operator_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
