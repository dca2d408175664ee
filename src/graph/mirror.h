/*
 * What of an exec lies on a GPU: activations, parameters and their gradient, gradients of
 * embedding rows, and a feed like the host's, whose rows are copied there.
 *
 * Where rows are on the GPU their addresses go there instead, and gradients of occurrences stay
 * in row_grads; where gradients of parameters are, they stay in what the caller has for them.
 *
 * One block of its memory, planned for slots of at most B_max rows and N_max [n_inputs] ids;
 * every piece has its place in it for good.  The first of them have a side here, in memory
 * of the host that copies go through.  The plan is borrowed.
 * Between mirror_feed() and mirror_wait() nothing is waited for; the thread that calls the
 * one calls all up to the other.
 */
#ifndef GRAPH_MIRROR_H
#define GRAPH_MIRROR_H

#include "graph/node.h"
#include "graph/plan.h"

struct mirror;

/* On the GPU at that place. */
enum rs_status mirror_open(const struct graph *g, size_t place, const struct plan *plan,
	size_t B_max, const size_t *N_max, struct mirror **out);
void mirror_close(struct mirror *m);
/* What mirror_open() asks of the GPU. */
enum rs_status mirror_plan(const struct graph *g, const struct plan *plan, size_t B_max,
	const size_t *N_max, struct gpu_plan *out);

float *mirror_block(const struct mirror *m);
float *mirror_param(const struct mirror *m);
float *mirror_gradient(const struct mirror *m);
float *mirror_kept(const struct mirror *m);
uint16_t *mirror_rounded(const struct mirror *m);
const float *mirror_scale(const struct mirror *m, size_t input);
float *mirror_buffer(const struct mirror *m, size_t input);
double *mirror_loss(const struct mirror *m);
/* Of the last mirror_feed() for the output. */
const struct feed *mirror_data(const struct mirror *m, enum graph_output output);

/* Makes the mirror that of the thread. */
void mirror_use(const struct mirror *m);
/* The parameters that the host has now differ from those that were copied. */
void mirror_forget_params(struct mirror *m);
/* 1: they were copied since this was last asked. */
int mirror_params_are_new(struct mirror *m);
/* The parameters, if they were forgotten, and what the output looks at of the feed, with the
 * factors in rows. */
void mirror_feed(struct mirror *m, enum graph_output output, const float *param,
	const struct feed *feed, const struct row_grads *rows);
/* The value [B,width] of the output from there; returned is where it comes to, or a gradient
 * of it is put for mirror_put_gradient(), which takes it there. */
float *mirror_get_value(struct mirror *m, const float *value, size_t n);
float *mirror_output_gradient(const struct mirror *m);
void mirror_put_gradient(struct mirror *m, float *to, size_t n);
void mirror_get_loss(struct mirror *m);
/* Of a pass backward for the output: parameters whose gradients became final after more than
 * `from` nodes and at most `to`, into grad [P]; those of rows, into rows, and those that stay on
 * the GPU are looked at. */
void mirror_get_params(struct mirror *m, enum graph_output output, float *grad, size_t from,
	size_t to);
void mirror_get_rows(struct mirror *m, enum graph_output output, const struct feed *feed,
	struct row_grads *rows);
/* All was done; *loss += what mirror_get_loss() got.  loss NULL: it was not called. */
enum rs_status mirror_wait(struct mirror *m, double *loss);
/* After that: 1 when something that stays there is not finite. */
int mirror_rows_are_bad(const struct mirror *m);
/* 1: so many floats there are finite; waits. */
int mirror_is_finite(struct mirror *m, const float *x, size_t n);

#endif
