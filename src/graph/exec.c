/* Running a graph: one thread's activations, forward, loss and backward. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "graph/mirror.h"
#include "graph/node.h"
#include "graph/plan.h"
#include "graph/replay.h"

struct exec {
	const struct graph *g;
	size_t place, B_max, B;     /* place: of the GPU                              */
	float *block;               /* on the GPU with a mirror                       */
	size_t block_bytes;
	struct plan plan;
	struct mirror *mirror;      /* NULL: on the host                              */
	struct replay *replay;      /* of its passes, or NULL                         */
	double *loss;               /* what exec_wait() adds to with a mirror, or NULL */
	size_t *N, *N_max;          /* [n_inputs] of the feed; of histories and, with a
	                               mirror, of all, planned for                    */
	enum graph_output output;
	struct row_grads *own, *rows;   /* rows: where gradients of occurrences go */
	struct exec_watch watch;    /* passed NULL: nobody                            */
	float *grad;                /* of the pass backward, where the caller wants it */
	size_t n_passed;            /* nodes of it, after which that was told         */
	struct layer_lanes lanes;
};

const struct graph *
op_graph(const struct op_run *r)
{
	return r->exec->g;
}

const struct layer_lanes *
op_lanes(const struct op_run *r)
{
	return &r->exec->lanes;
}

uint16_t *
op_rounded(const struct op_run *r)
{
	return mirror_rounded(r->exec->mirror);
}

size_t
op_B_max(const struct op_run *r)
{
	return r->exec->B_max;
}

float *
op_value(const struct op_run *r, const struct node *n)
{
	return r->exec->block + r->exec->plan.offset[n->index][PLAN_VALUE];
}

float *
op_gradient(const struct op_run *r, const struct node *n)
{
	const struct exec *e = r->exec;
	const size_t at = e->plan.offset[n->index][PLAN_GRADIENT];

	if (!n->op->keeps_gradient)
		return e->block + at;
	if (n->ragged > 0)
		return op_buffer(r, n->ragged - 1);
	return (e->mirror != NULL ? mirror_kept(e->mirror) : e->rows->block) + at;
}

const float *
op_kept(const struct op_run *r, const struct node *n)
{
	const struct row_grads *rows = r->exec->rows;

	assert(n->op->keeps_gradient);
	return n->ragged > 0 ? rows->input[n->ragged - 1].buffer
		: rows->block + r->exec->plan.offset[n->index][PLAN_GRADIENT];
}

const float *
op_scale(const struct op_run *r, size_t input)
{
	const struct exec *e = r->exec;

	return e->mirror != NULL ? mirror_scale(e->mirror, input) : e->rows->input[input].scale;
}

float *
op_buffer(const struct op_run *r, size_t input)
{
	const struct exec *e = r->exec;

	return e->mirror != NULL ? mirror_buffer(e->mirror, input) : e->rows->input[input].buffer;
}

void
op_multiply(const struct op_run *r, const struct gemm_args *product)
{
	struct gemm_args p = *product;

	p.is_tf32 = r->training && r->exec->g->has_tf32;
	if (!(r->training && r->exec->g->by_library) && exec_gemm_floats(r->exec->g) > 0)
		p.scratch = r->exec->block + r->exec->plan.floats;
	r->kernel->gemm(&p);
}

void
op_zero(const struct op_run *r, float *y, size_t n)
{
	r->kernel->fill(n, y, 0);
}

float *
op_saved(const struct op_run *r, const struct node *n)
{
	return r->exec->block + r->exec->plan.offset[n->index][PLAN_SAVED];
}

float *
op_scratch(const struct op_run *r, const struct node *n)
{
	return r->exec->block + r->exec->plan.offset[n->index][PLAN_SCRATCH];
}

int
op_is_first(const struct op_run *r, const struct node *n, size_t i)
{
	return r->exec->plan.first[n->index][i];
}

const float *
op_param(const struct op_run *r, const struct node *n, size_t i)
{
	return r->param + r->exec->g->param[n->param[i]].offset;
}

float *
op_param_gradient(const struct op_run *r, const struct node *n, size_t i)
{
	return r->grad + r->exec->g->param[n->param[i]].offset;
}

struct exec_input *
op_input(const struct op_run *r, size_t input)
{
	return &r->exec->rows->input[input];
}

size_t
op_n_ids(const struct feed *feed, size_t input)
{
	const uint32_t *offset = feed->offset == NULL ? NULL : feed->offset[input];

	return offset == NULL ? feed->B : offset[feed->B] - offset[0];
}

static size_t
exec_rows(const struct exec *e, const struct node *n)
{
	return n->ragged > 0 ? e->N[n->ragged - 1] : e->B;
}

size_t
op_rows(const struct op_run *r, const struct node *n)
{
	return exec_rows(r->exec, n);
}

struct segment_args
op_segments(const struct op_run *r, const struct node *n)
{
	const uint32_t *const *offset = r->data->offset;

	return (struct segment_args){
		.B = r->B, .end = op_rows(r, n),
		.offset = offset == NULL ? NULL : offset[n->ragged - 1],
	};
}

/* Room for a block planned for B_max rows and N_max ids. */
static enum rs_status
exec_plan(struct exec *e)
{
	struct plan plan;

	replay_close(e->replay);
	e->replay = NULL;
	mirror_close(e->mirror);
	e->mirror = NULL;
	RS_TRY(plan_create(e->g, e->B_max, e->N_max, &plan));
	plan_free(&e->plan);
	e->plan = plan;
	if (e->g->gpu != NULL) {
		RS_TRY(mirror_open(e->g, e->place, &e->plan, e->B_max, e->N_max, &e->mirror));
		e->block = mirror_block(e->mirror);
		const struct gpu_replay *const gpu = e->g->gpu->gpu->replay;
		return gpu != NULL ? replay_open(e->g, gpu, &e->replay) : RS_OK;
	}
	const size_t bytes = (e->plan.floats + exec_gemm_floats(e->g)) * sizeof(*e->block);
	if (bytes <= e->block_bytes)
		return RS_OK;
	if (e->block != NULL)
		large_free(e->block, e->block_bytes);
	e->block = NULL;
	e->block_bytes = bytes;
	return large_alloc(e->block_bytes, &e->block);
}

/* Counts ids; a slot with more than any before where they are planned for, and an eighth to
 * spare, makes the block larger. */
static enum rs_status
ids_prepare(struct exec *e, const struct feed *feed)
{
	int grow = e->g->gpu != NULL && e->mirror == NULL;

	for (size_t i = 0; i < e->g->n_inputs; i++) {
		const size_t first = e->g->input[i].history;
		if (!graph_output_uses(e->g, e->output, i))
			continue;
		e->N[i] = op_n_ids(feed, i);
		if (first > 0 && e->N[i] != e->N[first - 1])
			return rs_fail(RS_EDATA,
				"histories '%s' and '%s' have %zu and %zu items in the same rows",
				e->g->input[first - 1].field, e->g->input[i].field, e->N[first - 1],
				e->N[i]);
		if (e->N[i] > e->N_max[i] && (first > 0 || e->g->gpu != NULL)) {
			e->N_max[i] = e->N[i] + e->N[i] / 8;
			grow = 1;
		}
	}
	return grow ? exec_plan(e) : RS_OK;
}

int
op_is_scaled(const struct graph *g, const struct feed *feed, size_t i)
{
	const int has_weight = feed->id_weight != NULL && feed->id_weight[i] != NULL;
	const int is_bag = feed->offset != NULL && feed->offset[i] != NULL;

	return has_weight || (is_bag && g->input[i].history == 0);
}

/* Scratch of the inputs and the factors of their occurrences. */
static enum rs_status
inputs_prepare(struct exec *e, const struct feed *feed)
{
	for (size_t i = 0; i < e->g->n_inputs; i++) {
		const struct graph_input *in = &e->g->input[i];
		const uint32_t *offset = feed->offset == NULL ? NULL : feed->offset[i];
		const float *weight = feed->id_weight == NULL ? NULL : feed->id_weight[i];
		const int simple = offset == NULL && weight == NULL;
		const int used = graph_output_uses(e->g, e->output, i);
		if (!used || (simple && e->g->buffered[i] == 0 && in->history == 0))
			continue;
		RS_TRY(row_grads_reserve(
			e->rows, i, op_n_ids(feed, i), e->g->buffered[i]));
		if (op_is_scaled(e->g, feed, i))
			e->g->kernel->bag_scale(
				feed->B, offset, weight, in->combiner, e->rows->input[i].scale);
	}
	return RS_OK;
}

enum rs_status
exec_create(const struct graph *g, size_t place, size_t B_max, struct exec **out)
{
	struct exec *e;
	enum rs_status status;

	assert(g->finished);
	RS_TRY(memory_alloc(1, sizeof(*e), &e));
	e->g = g;
	e->place = place;
	e->B_max = B_max;
	if ((status = memory_alloc(g->n_inputs + 1, sizeof(*e->N), &e->N)) != RS_OK)
		goto fail;
	if ((status = memory_alloc(g->n_inputs + 1, sizeof(*e->N_max), &e->N_max)) != RS_OK)
		goto fail;
	exec_set_most_ids(g, B_max, e->N_max);
	if ((status = exec_plan(e)) != RS_OK)
		goto fail;
	if ((status = row_grads_create(g, place, B_max, &e->own)) != RS_OK)
		goto fail;
	e->rows = e->own;
	*out = e;
	return RS_OK;
fail:
	exec_destroy(e);
	return status;
}

void
exec_destroy(struct exec *e)
{
	if (e == NULL)
		return;
	layer_lanes_free(e->g, &e->lanes);
	replay_close(e->replay);
	mirror_close(e->mirror);
	row_grads_destroy(e->own);
	if (e->block_bytes > 0 && e->block != NULL)
		large_free(e->block, e->block_bytes);
	plan_free(&e->plan);
	free(e->N);
	free(e->N_max);
	free(e);
}

enum rs_status
exec_reserve_training(struct exec *e, enum graph_output output, size_t rows)
{
	assert(rows <= e->B_max);
	return layer_lanes_reserve(e->g, output, rows, &e->lanes);
}

void
exec_set_rows(struct exec *e, struct row_grads *rows)
{
	e->rows = rows != NULL ? rows : e->own;
}

void
exec_set_watch(struct exec *e, const struct exec_watch *watch)
{
	e->watch = watch != NULL ? *watch : (struct exec_watch){ .passed = NULL };
}

void
exec_set_output(struct exec *e, enum graph_output output)
{
	assert(e->g->output[output] != NULL);
	e->output = output;
}

static struct op_run
run_of(struct exec *e, const float *param, const struct feed *feed)
{
	const struct mirror *m = e->mirror;

	return (struct op_run){
		.exec = e, .kernel = m != NULL ? e->g->gpu->gpu->kernel : e->g->kernel,
		.param = m != NULL ? mirror_param(m) : param, .host_param = param, .feed = feed,
		.data = m != NULL ? mirror_data(m, e->output) : feed, .B = feed->B,
	};
}

static void
nodes_forward(const struct op_run *r, size_t begin, size_t end)
{
	const struct exec *const e = r->exec;

	for (size_t i = begin; i < end; i++)
		if (e->g->part[e->output][i])
			e->g->node[i]->op->forward(r, e->g->node[i]);
}

const float *
exec_forward(struct exec *e, const float *param, const struct feed *feed, int training)
{
	const struct node *output = e->g->output[e->output];

	assert(feed->B > 0 && feed->B <= e->B_max);
	e->B = feed->B;
	if (ids_prepare(e, feed) != RS_OK || inputs_prepare(e, feed) != RS_OK)
		return NULL;
	if (training && e->g->rows_are_there && row_grads_reserve_there(e->rows, e->N) != RS_OK)
		return NULL;
	struct op_run r = run_of(e, param, feed);
	r.training = training;
	if (e->mirror != NULL) {
		mirror_use(e->mirror);
		mirror_feed(e->mirror, e->output, param, feed, e->rows);
		if (training && mirror_params_are_new(e->mirror))
			layer_round_weights(&r);
	}
	replay_run(e->replay, &(struct replay_pass){ .r = &r, .output = e->output,
		.run = nodes_forward });
	return e->mirror == NULL ? op_value(&r, output)
		: mirror_get_value(e->mirror, op_value(&r, output), e->B * output->width);
}

float *
exec_output_gradient(struct exec *e)
{
	const struct op_run r = { .exec = e };

	return e->mirror != NULL ? mirror_output_gradient(e->mirror)
		: op_gradient(&r, e->g->output[e->output]);
}

void
exec_loss(struct exec *e, const struct feed *feed, double *loss)
{
	const struct op_run r = run_of(e, NULL, feed);
	const struct feed *data = r.data;
	const float *z = op_value(&r, e->g->logit);
	float *dz = op_gradient(&r, e->g->logit);
	double *sum = loss;

	assert(e->output == GRAPH_LOGIT);
	if (e->mirror != NULL) {
		sum = mirror_loss(e->mirror);
		op_zero(&r, (float *)(void *)sum, sizeof(*sum) / sizeof(float));
		e->loss = loss;
	}
	if (e->g->loss_is_mse)
		r.kernel->mse(r.B, z, data->label, data->weight, feed->loss_scale, dz, sum);
	else
		r.kernel->logloss(
			r.B, z, data->label, data->weight, feed->loss_scale, dz, NULL, sum);
	if (e->mirror != NULL)
		mirror_get_loss(e->mirror);
}

enum rs_status
exec_wait(struct exec *e)
{
	double *const loss = e->loss;

	e->loss = NULL;
	const enum rs_status status = e->mirror != NULL ? mirror_wait(e->mirror, loss) : RS_OK;
	if (status != RS_OK)
		replay_forget(e->replay);
	return status;
}

void
exec_forget_params(struct exec *e)
{
	if (e->mirror != NULL)
		mirror_forget_params(e->mirror);
}

/* What comes before the operators of a pass backward on a GPU. */
static void
mirror_begin(struct exec *e, const struct op_run *r)
{
	const struct node *output = e->g->output[e->output];

	mirror_use(e->mirror);
	if (e->output != GRAPH_LOGIT)
		mirror_put_gradient(e->mirror, op_gradient(r, output), e->B * output->width);
}

/* Before n adds to the gradients of its inputs. */
static void
inputs_begin(const struct op_run *r, const struct node *n)
{
	for (size_t k = 0; k < n->n_inputs; k++) {
		const struct node *const x = n->input[k];

		if (!op_is_first(r, n, k))
			continue;
		if (!n->op->writes_first)
			op_zero(r, op_gradient(r, x), op_rows(r, x) * x->width);
		if (x->op->begin_backward != NULL)
			x->op->begin_backward(r, x);
	}
}

/* From the last node on. */
static void
nodes_backward(const struct op_run *r, size_t begin, size_t end)
{
	const struct exec *const e = r->exec;

	for (size_t j = begin; j < end; j++) {
		const struct node *n = e->g->node[e->g->n_nodes - 1 - j];
		if (!e->g->part[e->output][n->index])
			continue;
		if (n == e->g->output[e->output] && n->op->begin_backward != NULL)
			n->op->begin_backward(r, n);
		inputs_begin(r, n);
		n->op->backward(r, n);
	}
}

/* What became final in these nodes is put where it stays before anyone hears of it. */
static void
nodes_passed(const struct op_run *r, size_t k)
{
	struct exec *const e = r->exec;

	if (e->mirror != NULL)
		mirror_get_params(e->mirror, e->output, e->grad, e->n_passed, k);
	e->n_passed = k;
	e->watch.passed(e->watch.context, k);
}

void
exec_backward(struct exec *e, const float *param, const struct feed *feed, float statistic_share,
	float *grad)
{
	const int is_told = e->watch.passed != NULL
		&& (e->mirror == NULL || e->g->gradient_is_there);
	struct op_run r = run_of(e, param, feed);

	e->grad = grad;
	e->n_passed = 0;
	e->B = feed->B;             /* a pass for another output may lie between */
	r.training = 1;
	r.grad = e->mirror != NULL ? mirror_gradient(e->mirror) : grad;
	r.statistic_share = statistic_share;
	if (e->mirror != NULL)
		mirror_begin(e, &r);
	replay_run(e->replay, &(struct replay_pass){ .r = &r, .output = e->output,
		.is_backward = 1, .run = nodes_backward, .watch = is_told ? &e->watch : NULL,
		.passed = nodes_passed });
	if (e->mirror == NULL)
		return;
	mirror_get_params(e->mirror, e->output, grad, e->n_passed, e->g->n_nodes);
	mirror_get_rows(e->mirror, e->output, feed, e->rows);
}

enum rs_status
exec_fill_gradient(struct exec *e, float *grad, size_t n, float value)
{
	if (e->g->gradient_is_there)
		mirror_use(e->mirror);
	(e->g->gradient_is_there ? e->g->gpu->gpu->kernel : e->g->kernel)->fill(n, grad, value);
	return e->g->gradient_is_there ? exec_wait(e) : RS_OK;
}

const float *const *
exec_row_grad(const struct exec *e, size_t input)
{
	return e->rows->input[input].out_grad;
}

const float *
exec_row_scale(const struct exec *e, size_t input)
{
	return e->rows->input[input].out_scale;
}

int
exec_rows_are_bad(const struct exec *e)
{
	return e->g->rows_are_there && mirror_rows_are_bad(e->mirror);
}

static int
is_finite(const struct exec *e, const float *value, size_t n)
{
	size_t i = 0;

	if (e->mirror != NULL)
		return mirror_is_finite(e->mirror, value, n);
	while (i < n && isfinite(value[i]))
		i++;
	return i == n;
}

const char *
exec_culprit(const struct exec *e)
{
	for (size_t i = 0; i < e->g->n_nodes; i++) {
		const struct node *n = e->g->node[i];
		const float *value = e->block + e->plan.offset[i][PLAN_VALUE];
		if (e->g->part[e->output][i] && !is_finite(e, value, exec_rows(e, n) * n->width))
			return n->op->name;
	}
	return NULL;
}
