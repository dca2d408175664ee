/* The block of an exec on a GPU: its pieces, and what is copied between them and the host. */
#include "graph/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Places in bytes. */
struct mirror_input {
	size_t N;                   /* planned                                        */
	size_t offset, scale;       /* [B+1] [N]                                      */
	size_t rows, row;           /* [N,dim], and where each of them is             */
	size_t buffer;              /* [N,buffered]                                   */
};

struct mirror {
	const struct graph *g;
	const struct plan *layout;  /* of the activations; the exec's                 */
	struct gpu_memory *gpu;
	struct gpu_plan plan;
	struct gpu_queue *queue;
	size_t B_max, here_bytes;
	char *there, *here;         /* the block; the host's side of its first bytes  */
	size_t dense[GRAPH_N_OUTPUTS], missing[GRAPH_N_OUTPUTS];   /* [B,K]           */
	size_t label, weight;       /* [B]                                            */
	size_t value, dvalue;       /* [B,width] of the output                        */
	size_t loss;                /* a double                                       */
	size_t bad, rows_bad;       /* two int each, to and from there                */
	size_t param, gradient, block, kept;
	size_t rounded;             /* [g->n_rounded] of two bytes                    */
	struct mirror_input *input; /* [n_inputs]                                     */
	int has_params, has_new;    /* has_new: mirror_params_are_new()               */

	struct feed data[GRAPH_N_OUTPUTS];
	const float *const **row;   /* [n_inputs]                                     */
	const uint32_t **offset;    /* [n_inputs]                                     */
};

/* --- places ------------------------------------------------------------------------------ */

static void
place_input(struct mirror *m, size_t i, size_t *end)
{
	struct mirror_input *in = &m->input[i];
	const size_t dim = m->g->rows_are_there ? 0 : m->g->input[i].dim;

	in->offset = gpu_cut(end, (m->B_max + 1) * sizeof(uint32_t));
	in->scale = gpu_cut(end, in->N * sizeof(float));
	in->rows = gpu_cut(end, in->N * dim * sizeof(float));
	in->row = gpu_cut(end, in->N * sizeof(float *));
}

/* Those with a side here come first. */
static void
place_all(struct mirror *m)
{
	const struct graph *g = m->g;
	size_t width = 1, end = 0;

	for (size_t o = 0; o < GRAPH_N_OUTPUTS; o++) {
		if (g->output[o] == NULL)
			continue;
		m->dense[o] = gpu_cut(&end, m->B_max * g->K * sizeof(float));
		m->missing[o] = gpu_cut(&end, m->B_max * g->K);
		width = g->output[o]->width > width ? g->output[o]->width : width;
	}
	m->label = gpu_cut(&end, m->B_max * sizeof(float));
	m->weight = gpu_cut(&end, m->B_max * sizeof(float));
	m->value = gpu_cut(&end, m->B_max * width * sizeof(float));
	m->dvalue = gpu_cut(&end, m->B_max * width * sizeof(float));
	m->loss = gpu_cut(&end, sizeof(double));
	m->bad = gpu_cut(&end, 2 * sizeof(int));
	m->rows_bad = gpu_cut(&end, 2 * sizeof(int));
	for (size_t i = 0; i < g->n_inputs; i++)
		place_input(m, i, &end);
	m->here_bytes = end;
	m->param = gpu_cut(&end, g->P * sizeof(float));
	m->gradient = gpu_cut(&end, g->P * sizeof(float));
	m->block = gpu_cut(&end, m->layout->floats * sizeof(float));
	m->rounded = gpu_cut(&end, g->n_rounded * sizeof(uint16_t));
	m->kept = gpu_cut(&end, m->layout->kept_floats * sizeof(float));
	for (size_t i = 0; i < g->n_inputs; i++)
		m->input[i].buffer =
			gpu_cut(&end, m->input[i].N * g->buffered[i] * sizeof(float));
	m->plan.bytes = end;
}

/* A gate works on rows times experts; first-order weights of numeric columns are no node's
 * width. */
static void
plan_shapes(struct mirror *m)
{
	const struct graph *g = m->g;
	size_t experts = 1;

	m->plan.columns = g->K;
	for (size_t i = 0; i < g->n_nodes; i++) {
		const struct node *n = g->node[i];
		if (n->op == &op_gate && n->input[1]->width > experts)
			experts = n->input[1]->width;
		if (n->width > m->plan.columns)
			m->plan.columns = n->width;
	}
	m->plan.rows = m->B_max * experts;
	m->plan.multiplies = graph_multiplies(g);
}

static enum rs_status
mirror_init(struct mirror *m, const struct graph *g, const struct plan *plan, size_t B_max,
	const size_t *N_max)
{
	*m = (struct mirror){ .g = g, .layout = plan, .gpu = g->gpu, .B_max = B_max };
	RS_TRY(memory_alloc(g->n_inputs + 1, sizeof(*m->input), &m->input));
	for (size_t i = 0; i < g->n_inputs; i++)
		m->input[i].N = N_max[i];
	place_all(m);
	plan_shapes(m);
	return RS_OK;
}

enum rs_status
mirror_plan(const struct graph *g, const struct plan *plan, size_t B_max, const size_t *N_max,
	struct gpu_plan *out)
{
	struct mirror m;
	const enum rs_status status = mirror_init(&m, g, plan, B_max, N_max);

	*out = m.plan;
	free(m.input);
	return status;
}

static void *
there(const struct mirror *m, size_t at)
{
	return m->there + at;
}

static void *
here(const struct mirror *m, size_t at)
{
	return m->here + at;
}

/* --- opening ----------------------------------------------------------------------------- */

/* Where rows are never changes, so their addresses go there once. */
static enum rs_status
set_rows(struct mirror *m)
{
	const struct gpu *gpu = m->gpu->gpu;

	for (size_t i = 0; i < m->g->n_inputs; i++) {
		const struct mirror_input *in = &m->input[i];
		const float **row = here(m, in->row);
		const float *rows = there(m, in->rows);
		m->row[i] = there(m, in->row);
		if (m->g->rows_are_there)
			continue;
		for (size_t k = 0; k < in->N; k++)
			row[k] = rows + k * m->g->input[i].dim;
		gpu->upload(there(m, in->row), row, in->N * sizeof(*row));
	}
	return gpu->wait();
}

static enum rs_status
open_block(struct mirror *m, size_t place)
{
	const struct gpu *gpu = m->gpu->gpu;

	RS_TRY(gpu_memory_open(m->gpu, place, &m->plan, &m->queue, &m->there));
	RS_TRY(gpu->host_alloc(m->here_bytes, &m->here));
	RS_TRY(memory_alloc(m->g->n_inputs + 1, sizeof(*m->row), &m->row));
	RS_TRY(memory_alloc(m->g->n_inputs + 1, sizeof(*m->offset), &m->offset));
	for (size_t o = 0; o < GRAPH_N_OUTPUTS; o++)
		m->data[o] = (struct feed){ .row = m->row, .offset = m->offset,
			.dense = there(m, m->dense[o]), .label = there(m, m->label),
			.weight = there(m, m->weight) };
	gpu->use(m->queue);
	return set_rows(m);
}

enum rs_status
mirror_open(const struct graph *g, size_t place, const struct plan *plan, size_t B_max,
	const size_t *N_max, struct mirror **out)
{
	struct mirror *m;

	RS_TRY(memory_alloc(1, sizeof(*m), &m));
	enum rs_status status = mirror_init(m, g, plan, B_max, N_max);
	if (status == RS_OK)
		status = open_block(m, place);
	if (status != RS_OK) {
		mirror_close(m);
		return status;
	}
	*out = m;
	return RS_OK;
}

void
mirror_close(struct mirror *m)
{
	if (m == NULL)
		return;
	if (m->queue != NULL)
		gpu_memory_close(m->gpu, &m->plan, m->queue);
	if (m->here != NULL)
		m->gpu->gpu->host_free(m->here);
	free(m->row);
	free(m->offset);
	free(m->input);
	free(m);
}

float *
mirror_block(const struct mirror *m)
{
	return there(m, m->block);
}

float *
mirror_param(const struct mirror *m)
{
	return there(m, m->param);
}

float *
mirror_gradient(const struct mirror *m)
{
	return there(m, m->gradient);
}

float *
mirror_kept(const struct mirror *m)
{
	return there(m, m->kept);
}

uint16_t *
mirror_rounded(const struct mirror *m)
{
	return there(m, m->rounded);
}

const float *
mirror_scale(const struct mirror *m, size_t input)
{
	return there(m, m->input[input].scale);
}

float *
mirror_buffer(const struct mirror *m, size_t input)
{
	return there(m, m->input[input].buffer);
}

double *
mirror_loss(const struct mirror *m)
{
	return there(m, m->loss);
}

const struct feed *
mirror_data(const struct mirror *m, enum graph_output output)
{
	return &m->data[output];
}

/* --- copies ------------------------------------------------------------------------------ */

void
mirror_use(const struct mirror *m)
{
	m->gpu->gpu->use(m->queue);
}

void
mirror_forget_params(struct mirror *m)
{
	m->has_params = 0;
}

int
mirror_params_are_new(struct mirror *m)
{
	const int is_new = m->has_new;

	m->has_new = 0;
	return is_new;
}

/* From the host to the side here, and from there on. */
static void
send(struct mirror *m, size_t at, const void *from, size_t bytes)
{
	if (bytes == 0)
		return;
	memcpy(here(m, at), from, bytes);
	m->gpu->gpu->upload(there(m, at), here(m, at), bytes);
}

static void
send_rows(struct mirror *m, size_t i, const float *const *row, size_t N)
{
	const size_t dim = m->g->input[i].dim, bytes = N * dim * sizeof(float);
	float *to = here(m, m->input[i].rows);

	for (size_t k = 0; k < N; k++)
		memcpy(to + k * dim, row[k], dim * sizeof(float));
	if (N > 0)
		m->gpu->gpu->upload(there(m, m->input[i].rows), to, bytes);
}

static void
send_input(struct mirror *m, size_t i, const struct feed *feed, const struct row_grads *rows)
{
	const size_t N = op_n_ids(feed, i);
	const uint32_t *offset = feed->offset == NULL ? NULL : feed->offset[i];

	m->offset[i] = offset == NULL ? NULL : there(m, m->input[i].offset);
	if (offset != NULL)
		send(m, m->input[i].offset, offset, (feed->B + 1) * sizeof(*offset));
	if (op_is_scaled(m->g, feed, i))
		send(m, m->input[i].scale, rows->input[i].scale, N * sizeof(float));
	if (m->g->rows_are_there)
		send(m, m->input[i].row, feed->row[i], N * sizeof(*feed->row[i]));
	else
		send_rows(m, i, feed->row[i], N);
}

void
mirror_feed(struct mirror *m, enum graph_output output, const float *param,
	const struct feed *feed, const struct row_grads *rows)
{
	const struct graph *g = m->g;
	const size_t cells = feed->B * g->K;

	if (!m->has_params) {
		m->gpu->gpu->upload(there(m, m->param), param, g->P * sizeof(float));
		m->has_params = m->has_new = 1;
	}
	m->data[output].missing = feed->missing == NULL ? NULL : there(m, m->missing[output]);
	if (feed->dense != NULL)
		send(m, m->dense[output], feed->dense, cells * sizeof(float));
	if (feed->missing != NULL)
		send(m, m->missing[output], feed->missing, cells);
	if (feed->label != NULL && output == GRAPH_LOGIT)
		send(m, m->label, feed->label, feed->B * sizeof(float));
	if (feed->weight != NULL && output == GRAPH_LOGIT)
		send(m, m->weight, feed->weight, feed->B * sizeof(float));
	for (size_t i = 0; i < g->n_inputs; i++)
		if (graph_output_uses(g, output, i))
			send_input(m, i, feed, rows);
}

float *
mirror_get_value(struct mirror *m, const float *value, size_t n)
{
	m->gpu->gpu->download(here(m, m->value), value, n * sizeof(*value));
	return here(m, m->value);
}

float *
mirror_output_gradient(const struct mirror *m)
{
	return here(m, m->dvalue);
}

void
mirror_put_gradient(struct mirror *m, float *to, size_t n)
{
	m->gpu->gpu->upload(to, here(m, m->dvalue), n * sizeof(*to));
}

void
mirror_get_loss(struct mirror *m)
{
	m->gpu->gpu->download(here(m, m->loss), there(m, m->loss), sizeof(double));
}

/* n floats from there to the host, or to elsewhere there. */
static void
get(const struct mirror *m, int stays_there, float *to, const float *from, size_t n)
{
	const struct gpu *gpu = m->gpu->gpu;

	if (stays_there)
		gpu->kernel->copy_rows(1, n, from, n, to, n);
	else
		gpu->download(to, from, n * sizeof(*to));
}

static int
is_final_in(const struct graph *g, size_t i, enum graph_output output, size_t from, size_t to)
{
	const size_t time = graph_param_time(g, i, &output, 1);

	return time > from && time <= to;
}

/* Runs of parameters together. */
void
mirror_get_params(struct mirror *m, enum graph_output output, float *grad, size_t from, size_t to)
{
	const struct graph *g = m->g;
	size_t begin = 0, end = 0;

	for (size_t i = 0; i <= g->n_params; i++) {
		const int is_in = i < g->n_params && is_final_in(g, i, output, from, to);
		if (is_in && g->param[i].offset == end) {
			end += g->param[i].rows * g->param[i].columns;
			continue;
		}
		if (end > begin)
			get(m, g->gradient_is_there, grad + begin, mirror_gradient(m) + begin,
				end - begin);
		begin = end = i < g->n_params ? g->param[i].offset : 0;
		if (is_in)
			end += g->param[i].rows * g->param[i].columns;
	}
}

/* n gradients of occurrences to where row_grads have them; there it is that they are looked
 * at, then. */
static void
get_piece(struct mirror *m, float *rows, const float *from, size_t n)
{
	get(m, m->g->rows_are_there, rows, from, n);
	if (m->g->rows_are_there)
		m->gpu->gpu->kernel->finite(n, rows, there(m, m->rows_bad));
}

static void
get_rows(struct mirror *m, enum graph_output output, const struct feed *feed,
	struct row_grads *rows)
{
	const struct graph *g = m->g;

	for (size_t i = 0; i < g->n_nodes; i++) {
		const struct node *n = g->node[i];
		const size_t at = m->layout->offset[i][PLAN_GRADIENT];
		if (g->part[output][i] && n->op->keeps_gradient && n->ragged == 0)
			get_piece(m, rows->block + at, mirror_kept(m) + at, feed->B * n->width);
	}
	for (size_t i = 0; i < g->n_inputs; i++) {
		const size_t N = op_n_ids(feed, i);
		if (graph_output_uses(g, output, i) && g->buffered[i] > 0 && N > 0)
			get_piece(m, rows->input[i].buffer, mirror_buffer(m, i),
				N * g->buffered[i]);
	}
}

void
mirror_get_rows(struct mirror *m, enum graph_output output, const struct feed *feed,
	struct row_grads *rows)
{
	const struct gpu *gpu = m->gpu->gpu;
	int *bad = here(m, m->rows_bad);

	bad[0] = bad[1] = 0;
	if (m->g->rows_are_there)
		gpu->upload(there(m, m->rows_bad), &bad[0], sizeof(*bad));
	get_rows(m, output, feed, rows);
	if (m->g->rows_are_there)
		gpu->download(&bad[1], there(m, m->rows_bad), sizeof(*bad));
}

int
mirror_rows_are_bad(const struct mirror *m)
{
	return ((const int *)here(m, m->rows_bad))[1] != 0;
}

enum rs_status
mirror_wait(struct mirror *m, double *loss)
{
	mirror_use(m);
	RS_TRY(m->gpu->gpu->wait());
	if (loss != NULL)
		*loss += *(const double *)here(m, m->loss);
	return RS_OK;
}

int
mirror_is_finite(struct mirror *m, const float *x, size_t n)
{
	const struct gpu *gpu = m->gpu->gpu;
	int *bad = here(m, m->bad);

	bad[0] = bad[1] = 0;
	gpu->upload(there(m, m->bad), &bad[0], sizeof(*bad));
	gpu->kernel->finite(n, x, there(m, m->bad));
	gpu->download(&bad[1], there(m, m->bad), sizeof(*bad));
	return gpu->wait() != RS_OK || bad[1] == 0;
}
