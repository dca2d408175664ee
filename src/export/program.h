/*
 * A model as a program of tensor operations that other tools have as well.
 *
 * program_build() lowers the graph of a model as it is in evaluation: running statistics,
 * no dropout.  A value is written once (SSA) and named by its number; operators are the rows
 * of PROGRAM_OPS, which ONNX and TensorFlow both know, with the broadcasting of NumPy.
 * Inputs are what a batch holds after hashing and transforms:
 *
 *     id        int64 [N]       the row of the table; the last is "missing"
 *     bag       int64 [N, L]    rows in order, -1 behind the last: sequences and bags
 *     weight    float [N, L]    of a bag whose ids have weights; 0 behind the last
 *
 * of which there is one a round where a table has several; -1 in later rounds of "missing";
 *
 *     number    float [N]       NaN: missing
 *
 * N and every L are free, all other dimensions fixed.  The model is borrowed and outlives
 * the program.
 */
#ifndef EXPORT_PROGRAM_H
#define EXPORT_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "train/model.h"

enum program_type { PROGRAM_FLOAT, PROGRAM_INT64, PROGRAM_BOOL };

/* name, inputs, what it is */
#define PROGRAM_OPS(OP) \
	OP(input,     0, "a feature") \
	OP(constant,  0, "fixed floats") \
	OP(table,     0, "the rows of a table [V,D]") \
	OP(gather,    2, "rows of a table a by the ids b [..]: [..,D]") \
	OP(add,       2, "a + b") \
	OP(sub,       2, "a - b") \
	OP(mul,       2, "a * b") \
	OP(div,       2, "a / b") \
	OP(max,       2, "the greater of a and b") \
	OP(min,       2, "the lesser of a and b") \
	OP(matmul,    2, "a [..,n] times b [n,m] or [..,n,m]") \
	OP(transpose, 1, "the last two axes change places") \
	OP(sum,       1, "over `axis`, which stays as 1") \
	OP(most,      1, "the greatest along `axis`, which stays as 1") \
	OP(concat,    0, "inputs beside each other along the last axis") \
	OP(reshape,   1, "the same numbers as `dim`, of which N alone is free") \
	OP(expand,    1, "a new axis of 1 at `axis`") \
	OP(squeeze,   1, "without the axis of 1 at `axis`") \
	OP(slice,     1, "columns [begin,end) of the last axis") \
	OP(pick,      1, "columns `index` of the last axis") \
	OP(sqrt,      1, "the root") \
	OP(exp,       1, "e to the a") \
	OP(relu,      1, "max(a, 0)") \
	OP(sigmoid,   1, "1 / (1 + e^-a)") \
	OP(tanh,      1, "the hyperbolic tangent") \
	OP(erf,       1, "the error function") \
	OP(softmax,   1, "over the last axis") \
	OP(known,     1, "a >= 0 of int64: bool") \
	OP(clamp,     1, "max(a, 0) of int64") \
	OP(is_nan,    1, "a is NaN: bool") \
	OP(where,     3, "b where a holds, else c") \
	OP(number,    1, "bool to 0 or 1")

enum program_op {
#define OP(name, n, text) PROGRAM_##name,
	PROGRAM_OPS(OP)
#undef OP
	PROGRAM_N_OPS
};

#define PROGRAM_RANK 4
#define PROGRAM_N (-1)                  /* rows of the batch                          */
#define PROGRAM_L(i) (-2 - (int64_t)(i))    /* positions of field i                   */

enum program_kind { PROGRAM_ID, PROGRAM_BAG, PROGRAM_WEIGHT, PROGRAM_VALUE };

struct program_feature {
	enum program_kind kind;
	char    name[160];                 /* program_feature_name()                    */
	size_t  round;                     /* of an id or a bag, data/hash_stack.h      */
	size_t  field;                     /* of the schema                             */
	size_t  column;                    /* id column, or dense column of a value     */
	size_t  value;                     /* the value that it is                      */
};

struct program_value {
	enum program_op op;
	enum program_type type;
	size_t *input, n_inputs;           /* values                                    */
	int64_t dim[PROGRAM_RANK];
	size_t  rank;
	size_t  axis, begin, end;          /* see the operators                         */
	size_t  feature, table;
	int64_t *index;                    /* [dim of the last axis] of pick            */
	const float *data;                 /* constant: borrowed, or own                */
	float  *own;
	char    name[160];                 /* of inputs, constants, tables; else ""     */
};

struct program_output { char name[32]; size_t value; };

/* A sum that ends in the logit has parts, each the value of an operator of the graph. */
struct program_part { const char *op; size_t value; };
#define PROGRAM_PARTS 8

struct program {
	const struct model *model;
	struct program_value *value;       /* [n]                                       */
	size_t n, capacity;
	struct program_feature *feature;   /* [n_features]                              */
	size_t n_features;
	struct program_output output[4];   /* "logit" and "probability", or the vectors */
	size_t n_outputs;
	struct program_part part[PROGRAM_PARTS];   /* of the logit; not of what was read */
	size_t n_parts;
	size_t *leader;                    /* [schema.n_fields] field whose positions those of a
	                                    * sequence are                            */
	struct rs_failure failure;         /* the first of building                     */
};

/* What is computed: the logit with its probability, or the vector of a tower. */
enum rs_status program_build(const struct model *m, enum graph_output output,
	struct program **out);
void program_free(struct program *p);

/* Building; each returns the number of the new value, 0 after a failure. */
size_t program_leaf(struct program *p, enum program_op op, enum program_type type,
	const char *name, const int64_t *dim, size_t rank);
size_t program_feature_add(struct program *p, enum program_kind kind, size_t field);
/* The ids in a round of a field. */
size_t program_round_add(struct program *p, enum program_kind kind, size_t field, size_t round);
/* "NAME" of the field; "NAME.weight" of weights; "NAME.round2" .. of rounds from 1 on. */
void program_feature_name(char name[160], enum program_kind kind, const char *field, size_t round);
size_t program_constant(struct program *p, const char *name, const float *data,
	const int64_t *dim, size_t rank);
/* One number, kept by the program. */
size_t program_scalar(struct program *p, float x);
size_t program_table(struct program *p, size_t table);
size_t program_unary(struct program *p, enum program_op op, size_t a);
size_t program_binary(struct program *p, enum program_op op, size_t a, size_t b);
size_t program_where(struct program *p, size_t condition, size_t a, size_t b);
/* sum and most; axis counts from 0, -1 is the last. */
size_t program_reduce(struct program *p, enum program_op op, size_t a, int axis);
/* expand and squeeze. */
size_t program_axis(struct program *p, enum program_op op, size_t a, size_t axis);
size_t program_concat(struct program *p, const size_t *input, size_t n);
size_t program_reshape(struct program *p, size_t a, const int64_t *dim, size_t rank);
size_t program_slice(struct program *p, size_t a, size_t begin, size_t end);
size_t program_pick(struct program *p, size_t a, const int64_t *index, size_t n);

const char *program_op_name(enum program_op op);
/* Numbers in a value of fixed shape. */
size_t program_value_size(const struct program_value *v);
/* Of all tables, or all constants. */
uint64_t program_bytes(const struct program *p, enum program_op op);

#endif
