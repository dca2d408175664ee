/*
 * Inside the graph: what a node, an operator and a running operator are.
 *
 * Each op_NAME.c holds graph_NAME() (the shape rule), forward and backward.
 * Forward writes the node's value.  Backward adds into the gradients of its
 * inputs (those it is the first to touch were zeroed, unless the operator says
 * `writes_first` and looks at op_is_first()), and writes the gradients of its
 * own parameters, but for those that other operators add to (graph/fold.h), which
 * begin_backward zeroes.  saved() lives from forward to backward, scratch() during
 * backward only.  All of these, parameters and r->data may lie on a GPU: operators leave
 * them to kernels.
 */
#ifndef GRAPH_NODE_H
#define GRAPH_NODE_H

#include <stddef.h>

#include "base/status.h"
#include "graph/graph.h"
#include "graph/fold.h"
#include "graph/layer.h"
#include "graph/op_table.h"
#include "kernel/gpu.h"
#include "kernel/kernel.h"

enum { NODE_MAX_INPUTS = 3, NODE_MAX_PARAMS = 5 };

struct op_run;

struct op {
	const char *name;
	int  keeps_input;           /* backward reads the values of its inputs        */
	int  keeps_output;          /* backward reads its own value                   */
	int  keeps_gradient;        /* its gradient is read after the pass            */
	int  writes_first;
	int  multiplies;            /* its rows are multiplied by its parameter 0     */
	int  narrows;               /* by layer_forward() and layer_backward()        */
	int  has_bias;              /* which forward adds, then node.act              */
	int  varies;                /* kernels get numbers that change with each step */
	int  changes_rows;          /* its value has other rows than its inputs       */
	/* Or NULL: before anything comes into the gradient of n. */
	void (*begin_backward)(const struct op_run *r, const struct node *n);
	void (*forward)(const struct op_run *r, const struct node *n);
	void (*backward)(const struct op_run *r, const struct node *n);
};

#define OP(name, arguments, text) extern const struct op op_##name;
OP_TABLE(OP)
#undef OP

struct node {
	const struct op *op;
	size_t index;               /* in graph.node                                  */
	struct node *input[NODE_MAX_INPUTS];
	size_t n_inputs;
	size_t width;               /* value is [B, width], or [N, width] of a history */
	size_t ragged;              /* 0: rows of the batch, else 1 + the input whose
	                               occurrences are its rows                       */
	size_t param[NODE_MAX_PARAMS];   /* indexes into graph.param                  */
	size_t saved_row, saved_fixed;   /* floats: rows of the node * row + fixed    */
	size_t saved_batch;              /* and rows of the batch * batch            */
	size_t scratch_row, scratch_fixed;
	int    act;
	float  number;              /* epsilon, dropout rate, vectors of dots         */
	void  *config;              /* owned, freed with free()                       */
	struct fold *fold;          /* graph/fold.h, or NULL                          */
};

struct graph {
	const struct kernel_set *kernel;
	struct node  **node;
	struct graph_input *input;
	struct graph_table *table;
	struct graph_param *param;
	size_t n_nodes, n_inputs, n_tables, n_params;
	size_t n_rounded;           /* weights in two bytes, on a GPU                 */
	size_t *buffered;           /* [n_inputs] floats of gradient an occurrence, 0 none */
	size_t K, P;
	struct gpu_memory *gpu;     /* NULL: operators run on the host                */
	int    rows_are_there;      /* see graph_set_rows_there()                     */
	int    gradient_is_there;   /* see graph_set_gradient_there()                 */
	struct node *logit, *output[GRAPH_N_OUTPUTS];
	unsigned char *part[GRAPH_N_OUTPUTS];   /* [n_nodes] 1: the output depends on it */
	int    loss_is_mse, finished;
	int    has_tf32;
	int    by_library;          /* see graph_set_library()                        */
	struct layer *layer;        /* [n_nodes] or NULL: all products are in floats  */
	uint64_t weights;           /* how often they changed, see graph_weights_changed() */
	struct rs_failure failure;
};

/* One operator at work. */
struct op_run {
	struct exec *exec;
	const struct kernel_set *kernel;
	const float *param;         /* [P] where kernels read them                    */
	const float *host_param;    /* [P] the same for the host                      */
	float *grad;                /* [P]                                            */
	const struct feed *feed;    /* what the host reads                            */
	const struct feed *data;    /* the same where kernels read it                 */
	size_t B;
	int    training;
	float  statistic_share;
};

/* The ids of one input in a slot. */
struct exec_input {
	const float **fixed;        /* [B_max] gradient of row b, for one id a row    */
	const float **grad;         /* [capacity] the same for bags                   */
	float  *scale;              /* [capacity]                                     */
	float  *buffer;             /* [capacity, buffered]; there: [n_there, buffered] */
	size_t  capacity, n_there;
	const float *const *out_grad;   /* what exec_row_grad() returns               */
	const float *out_scale;
};

/* What a slot leaves for the lookup: the gradients of its occurrences. */
struct row_grads {
	size_t n_inputs;
	struct exec_input *input;   /* [n_inputs]                                     */
	float *block;               /* gradients of the nodes that keep them          */
	size_t block_bytes;
	const struct gpu *gpu;      /* whose copies come into the block, or NULL      */
	struct gpu_memory *there;   /* where block and buffers are, or NULL           */
	size_t place;               /* of the GPU in that                             */
	const struct graph *g;
	size_t B_max;
};

enum rs_status row_grads_reserve(struct row_grads *rows, size_t input, size_t n, size_t buffered);
/* Block and buffers there, before a pass that trains on N [n_inputs] ids. */
enum rs_status row_grads_reserve_there(struct row_grads *rows, const size_t *N);
/* As many ids as a GPU is planned for. */
size_t exec_most_ids(const struct graph *g, size_t input, size_t B_max);
/* Behind the plan of an exec: the scratch of products. */
size_t exec_gemm_floats(const struct graph *g);
/* N_max [n_inputs]: on the GPU as many as there can be, untouched on the host, whose plans grow
 * with the histories that come. */
void exec_set_most_ids(const struct graph *g, size_t B_max, size_t *N_max);

const struct graph *op_graph(const struct op_run *r);
float *op_value(const struct op_run *r, const struct node *n);
float *op_gradient(const struct op_run *r, const struct node *n);
float *op_saved(const struct op_run *r, const struct node *n);
float *op_scratch(const struct op_run *r, const struct node *n);
/* n is the first to add into the gradient of its input i. */
int op_is_first(const struct op_run *r, const struct node *n, size_t i);
const float *op_param(const struct op_run *r, const struct node *n, size_t i);
float *op_param_gradient(const struct op_run *r, const struct node *n, size_t i);
struct exec_input *op_input(const struct op_run *r, size_t input);
const struct layer_lanes *op_lanes(const struct op_run *r);
/* Factors of the occurrences of an input, and its buffer, for kernels. */
const float *op_scale(const struct op_run *r, size_t input);
float *op_buffer(const struct op_run *r, size_t input);
/* The gradient of a node that keeps it, where the host finds it after the pass. */
const float *op_kept(const struct op_run *r, const struct node *n);
/* The product, as precise as graph_set_tf32() lets it be. */
void op_multiply(const struct op_run *r, const struct gemm_args *product);
/* y [n] = 0 */
void op_zero(const struct op_run *r, float *y, size_t n);
/* [n_rounded] on the GPU: of the parameters that are there. */
uint16_t *op_rounded(const struct op_run *r);
size_t op_B_max(const struct op_run *r);
/* Whether row_grads have factors of the occurrences of an input. */
int op_is_scaled(const struct graph *g, const struct feed *feed, size_t input);
/* Number of occurrences of an input in this feed. */
size_t op_n_ids(const struct feed *feed, size_t input);
/* Rows of the node's value: those of the batch, or the positions of its history. */
size_t op_rows(const struct op_run *r, const struct node *n);
/* All positions of the history whose items are the rows of n. */
struct segment_args op_segments(const struct op_run *r, const struct node *n);

/* --- building --- */
struct node *graph_append(struct graph *g, const struct op *op, size_t width);
/* The same for an operator that works on every row of x by itself; x is its input. */
struct node *graph_append_rows(struct graph *g, const struct op *op, struct node *x, size_t width);
/* Records the first failure; returns NULL so that it can end a builder. */
struct node *graph_fail(struct graph *g, const struct op *op, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Appends a parameter "PREFIX.SUFFIX"; its index, 0 after a failure. */
size_t graph_add_param(struct graph *g, const char *prefix, const char *suffix,
	const struct graph_param *like);
/* The input that has a column for each row of parameter 0 of n, which has one. */
size_t axes_multiplied(const struct node *n);
/* For the node that is appended next. */
size_t graph_add_input(struct graph *g, const struct graph_field *field, int linear);

/* A run of fields as two operators use them: one id input, or n numeric columns
 * that lie beside each other in spec order. */
struct field_run {
	int    is_dense;
	size_t input;               /* id: index of the graph input                   */
	size_t column, n;           /* numeric: first column, how many                */
	size_t param_v, param_u;    /* numeric: indexes of the first of n parameters  */
	size_t place, dim;          /* first column of the value                      */
};

struct field_runs {
	size_t n;                   /* runs                                           */
	size_t n_fields, dim;       /* dim 0: they differ                             */
	char   names[2][64];        /* two fields of unequal dim, for the message      */
	struct field_run run[];
};

/* Adds inputs, tables and parameters of the fields. */
enum rs_status field_runs_create(struct graph *g, const struct graph_field *field, size_t n,
	int linear, struct field_runs **out, size_t *width);
/* Factors of the occurrences of a run's input, ready for bag_args. */
struct bag_args field_run_bag(const struct op_run *r, const struct field_run *run);
struct numeric_args field_run_numeric(const struct op_run *r, const struct field_run *run);
/* Publishes the factors of the occurrences. */
void field_run_scale(const struct op_run *r, const struct field_run *run);
/* And dy + b * lddy, of op_kept(), as the gradient of every occurrence of row b. */
void field_run_gradients(const struct op_run *r, const struct field_run *run, const float *dy,
	size_t lddy);

#endif
