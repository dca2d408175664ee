/*
 * A model as a static graph: nodes made once, run for every slot.
 *
 * Building: operators append nodes (graph/op_table.h lists them) and parameters;
 * a shape error is recorded with the operator's name and graph_finish() returns
 * it.  Every node is [B, n] floats, or [N, n] with a row for every position of a
 * history in the slot: no padding, offsets are those of the history's ids.
 * Running: a struct exec is one thread's activations; parameters are shared and
 * read-only during a step.  exec_backward() zeroes and then adds; gradients of
 * the dense parameters go to the caller's flat buffer, those of embedding rows
 * are left in the feed.
 *
 * With a GPU passes only begin: a value, a loss and gradients are there when exec_wait() has
 * returned, in the thread that called for them.
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernel/gpu.h"
#include "kernel/kernel_table.h"

struct graph;
struct narrow;
struct narrow_set;
struct node;

/* One embedding input: a table's rows used by a field.  Numbered in the order
 * the model asked for them; train/ pulls rows for input i from table `table`
 * with the ids of column `column`. */
struct graph_input {
	const char *field;
	size_t column;              /* of the batch                                   */
	size_t table;               /* index into the model's tables, see below       */
	size_t dim;
	int    combiner;
	size_t history;             /* 0, or 1 + the first of the inputs that are aligned
	                               item by item as one history                    */
	size_t node;                /* number of the node that reads its rows         */
	size_t max_ids;             /* of a row, as far as is known; 0: one           */
};

/* Tables the model needs: one a schema table for vectors, one for first-order
 * weights (dim 1).  kind 0 vectors, 1 linear. */
struct graph_table {
	size_t schema_table;
	int    linear;
	size_t dim;
};

/* What one slot gives to the graph.  Rows and gradients of input i, occurrence j:
 * row[i][j] (borrowed from lookup); after backward the gradient of that
 * occurrence is scale[i][j] * grad[i][j][0..dim) (scale NULL: 1), valid until
 * the next forward into the same row_grads.  After graph_set_rows_there() both
 * point to the GPU. */
struct feed {
	size_t B;
	const float   *dense;       /* [B,K]                                          */
	const uint8_t *missing;     /* [B,K]                                          */
	const float   *label, *weight;             /* [B]                             */
	const float *const *const *row;            /* [n_inputs][N_i]                 */
	const uint32_t *const *offset; /* [n_inputs] -> [B+1] or NULL; offset[0] may be > 0:
	                                              positions are relative to offset[0]   */
	const float *const *id_weight;             /* [n_inputs] -> [N_i] or NULL     */
	uint64_t seed, step, first_row;            /* for dropout                     */
	float    loss_scale;        /* 1 / sum of weights of the global batch         */
};

/* A named range of the flat parameter vector. */
struct graph_param {
	char   name[64];            /* "dnn.0.weight"                                 */
	size_t offset, rows, columns;
	enum { PARAM_ZERO, PARAM_ONE, PARAM_NORMAL, PARAM_XAVIER_UNIFORM, PARAM_XAVIER_NORMAL,
	       PARAM_HE_UNIFORM, PARAM_HE_NORMAL, PARAM_CONSTANT } init;
	float  init_value;          /* stddev or constant                             */
	float  l2;                  /* added to the gradient as l2 * w                */
	int    decay;               /* weight decay of AdamW applies                  */
	int    is_statistic;        /* running values of batch norm: not optimised    */
	float  momentum;            /* statistics: running = m running + (1-m) batch  */
	size_t n_before;            /* nodes that were made before it; of the graph   */
};

enum rs_status graph_create(const struct kernel_set *kernel, struct graph **out);
void graph_destroy(struct graph *g);
/* Execs of the graph run on this GPU, NULL the host; borrowed.  Before the first operator. */
void graph_set_gpu(struct graph *g, struct gpu_memory *gpu);
/* With a GPU, before any exec is made: rows that feeds point at are there, in memory of all its
 * queues (kernel/gpu.h), and so stay the gradients of occurrences.  is_there 0: on the host. */
void graph_set_rows_there(struct graph *g, int is_there);
int graph_rows_are_there(const struct graph *g);
/* The same of the gradient of the dense parameters, which then no pass brings to the host. */
void graph_set_gradient_there(struct graph *g, int is_there);
/* Declares the batch: number of numeric columns K. */
void graph_set_dense(struct graph *g, size_t K);
/* What a graph computes.  A model with towers also gives a vector of the user and
 * one of the item; their nodes are made in this order. */
enum graph_output { GRAPH_LOGIT, GRAPH_USER, GRAPH_ITEM, GRAPH_N_OUTPUTS };
/* Before graph_finish(): the node of a vector; NULL when its operator failed. */
void graph_set_vector(struct graph *g, enum graph_output output, struct node *n);
/* The node whose value is the logit [B,1]; ends building. */
enum rs_status graph_finish(struct graph *g, struct node *logit, int loss_is_mse);

/* After graph_finish() and before any exec is made: passes that train multiply by the set
 * (kernel/narrow.h), mostly so many rows at once; what else runs does not.  The weights are
 * rounded or packed once in each time that they are told to have changed.  With a GPU set is
 * NULL: its kernels multiply two bytes, for each exec that gets new parameters. */
enum rs_status graph_set_narrow(struct graph *g, const struct narrow_set *set, size_t rows);
/* What that takes: of the weights for all execs, and of an exec for passes that train on so many
 * rows, beside exec_bytes(); 0 without it. */
enum rs_status graph_narrow_bytes(const struct graph *g, size_t rows, size_t *packed,
	size_t *of_exec);
/* Products of floats in passes that train take 10 bits of each mantissa, on a GPU. */
void graph_set_tf32(struct graph *g);
/* On the host products of floats in passes that train are OpenBLAS's; else those of the kernels,
 * where these have an own one. */
void graph_set_library(struct graph *g);
/* While nobody runs: the next pass meets other parameters than the last. */
void graph_weights_changed(struct graph *g);

size_t graph_n_inputs(const struct graph *g);
const struct graph_input *graph_input(const struct graph *g, size_t i);
/* Columns of an output, 0 when the model has none such. */
size_t graph_output_width(const struct graph *g, enum graph_output output);
/* 1 when the output depends on rows of input i. */
int graph_output_uses(const struct graph *g, enum graph_output output, size_t i);
size_t graph_n_tables(const struct graph *g);
const struct graph_table *graph_table(const struct graph *g, size_t i);
size_t graph_n_params(const struct graph *g);
const struct graph_param *graph_param(const struct graph *g, size_t i);
size_t graph_param_size(const struct graph *g);      /* P floats, statistics included */
/* When the gradient of parameter i is final, in passes backward for output[0], [1], ..:
 * after that number of nodes, see exec_set_watch(); 0: none of the passes writes it. */
size_t graph_param_time(const struct graph *g, size_t i, const enum graph_output *output,
	size_t n);
size_t graph_n_nodes(const struct graph *g);
/* Whether it has matrix products. */
int graph_multiplies(const struct graph *g);
/* The matrix products of one training step of B rows as the formulas have them, in
 * order, pointers NULL; N [n_inputs] ids of each input in these rows.  Returns how
 * many there are, writes at most n_max. */
size_t graph_gemms(const struct graph *g, size_t B, const size_t *N, struct gemm_args *out,
	size_t n_max);
/* What multiplies product k of these, and k + 1 and k + 2 of the same layer, in passes that train;
 * NULL: the kernel's gemm. */
struct narrow *graph_gemm_layer(const struct graph *g, size_t k);
/* 1: a GPU makes product k of these from two bytes in passes that train. */
int graph_gemm_is_brain(const struct graph *g, size_t k);
/* What rows and columns of parameters stand for, as labels: equal in two graphs where the same
 * is meant, a unit of a layer or a column of a field.  g outlives it. */
struct graph_axes;
enum rs_status graph_axes_create(const struct graph *g, struct graph_axes **out);
void graph_axes_destroy(struct graph_axes *a);
/* row [rows], column [columns] of parameter i. */
void graph_axes_of(const struct graph_axes *a, size_t i, uint64_t *row, uint64_t *column);
/* 1: of a field or a pair of them, which a graph of other fields need not have. */
int graph_axis_is_of_field(uint64_t label);
/* Writes the initial values: a pure function of (seed, parameter name, position). */
void graph_init_params(const struct graph *g, uint64_t seed, float *param);

/* --- running --- */
struct exec;
struct row_grads;
/* place: of the GPU that it runs on (struct gpu_memory). */
enum rs_status exec_create(const struct graph *g, size_t place, size_t B_max, struct exec **out);
void exec_destroy(struct exec *e);
/* Room for passes that train on at most so many rows, where graph_set_narrow() was called; no
 * more than B_max.  Takes memory only when there is not enough yet. */
enum rs_status exec_reserve_training(struct exec *e, enum graph_output output, size_t rows);
/* What an exec takes of the GPU's memory with as many ids as there can be; 0: it is on the
 * host. */
enum rs_status exec_gpu_bytes(const struct graph *g, size_t B_max, size_t *out);
/* The same of a row_grads: 0, or what it takes when a pass first trains into it. */
enum rs_status row_grads_gpu_bytes(const struct graph *g, size_t B_max, size_t *out);
/* Memory of an exec, and of a row_grads here, for B_max rows with N [n_inputs] ids; once used. */
size_t exec_bytes(const struct graph *g, size_t B_max, const size_t *N);
size_t row_grads_bytes(const struct graph *g, size_t B_max, const size_t *N);
/* What the passes from here on compute, with the nodes it depends on; at first the
 * logit.  After a pass forward for the user and one for the item, of as many rows each
 * as they like, come those backward for the item and for the user, in this order. */
void exec_set_output(struct exec *e, enum graph_output output);
/* Where the caller puts the gradient [B,width] of a vector before exec_backward(). */
float *exec_output_gradient(struct exec *e);
/* What the functions before it began with this exec is done, or its failure. */
enum rs_status exec_wait(struct exec *e);
/* The parameters are others, or will be, than in the passes before. */
void exec_forget_params(struct exec *e);
/* training: batch statistics and dropout; else running values.  Logits [B] or vectors,
 * NULL when the memory that more ids than ever before need cannot be had. */
const float *exec_forward(struct exec *e, const float *param, const struct feed *feed,
	int training);
/* Loss of the last forward: *loss += sum w l. */
void exec_loss(struct exec *e, const struct feed *feed, double *loss);
/* After exec_loss.  grad [P], of the GPU after graph_set_gradient_there(), is overwritten where
 * the output depends on it; at the place of a statistic it holds the slot's value times (rows of
 * the slot / B of the global batch given by statistic_share), so that the tree sum is the batch's
 * average. */
void exec_backward(struct exec *e, const float *param, const struct feed *feed,
	float statistic_share, float *grad);
/* Who watches passes backward. */
struct exec_watch {
	/* After k nodes, from the last of the graph on; wants: 1 for each k that is to be
	 * told, the same in all passes of an output. */
	int  (*wants)(void *context, size_t k);
	void (*passed)(void *context, size_t k);
	void *context;
};
/* In those from here on; NULL: nobody.  With a GPU and a gradient that comes to the host nothing
 * is final before the end, and nobody is told; where it stays there the queue of the thread has
 * what makes it so. */
void exec_set_watch(struct exec *e, const struct exec_watch *watch);
/* n floats of a gradient, where exec_backward() leaves it, are value from here on; before or
 * between passes. */
enum rs_status exec_fill_gradient(struct exec *e, float *grad, size_t n, float value);
/* Where the passes from here on leave the gradients of embedding occurrences; rows
 * (made for as many rows as e) is borrowed, NULL is one of the exec's own.  So one
 * exec serves slot after slot while the lookup still borrows from each. */
void exec_set_rows(struct exec *e, struct row_grads *rows);
enum rs_status row_grads_create(const struct graph *g, size_t place, size_t B_max,
	struct row_grads **out);
void row_grads_destroy(struct row_grads *rows);
/* Gradients of embedding occurrences after exec_backward; arrays [N_i]. */
const float *const *exec_row_grad(const struct exec *e, size_t input);
const float *exec_row_scale(const struct exec *e, size_t input);
/* With rows on the GPU, after exec_wait(): 1 when a gradient there is not finite. */
int exec_rows_are_bad(const struct exec *e);
/* After exec_forward: the first operator whose value is not finite, or NULL. */
const char *exec_culprit(const struct exec *e);
/* Folds the tree-summed statistics of a step into the running values. */
void graph_update_statistics(const struct graph *g, const float *summed, float *param);

#endif
