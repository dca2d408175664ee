/*
 * What a process weighs at its peak, in the order in which it is allocated.
 *
 * The figures are those of what is written to, as the kernel counts resident memory; large
 * blocks are of whole pages of 2 MiB.  Sizes that follow from the spec are exact; PROCESS_,
 * BLAS_ and the like were measured.  Without a look at the data two full windows of rows of
 * as many bytes as their text are assumed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "embed/stacked.h"
#include "place/placement_private.h"
#include "train/step.h"

#define PROCESS_BYTES ((uint64_t)15 << 20)     /* program, libraries, small things     */
#define PEER_BYTES    ((uint64_t)3 << 20)      /* what talking to others takes         */
#define SHARD_BYTES   ((uint64_t)12 << 20)     /* the same of a shard                  */
#define BLAS_BYTES    ((uint64_t)900 << 10)    /* packed panels of a thread            */
#define SAVER_BYTES   ((uint64_t)1280 << 10)   /* a block of a file and rows for it    */
#define MERGE_BYTES   60                       /* of an occurrence, see embed/merge.h  */

struct weighing {
	const struct placement *p;
	const struct model *shape;
	const struct settings *s;
	const struct placement_sample *sample;   /* NULL: nothing was seen              */
	double *ids;                   /* [F] ids a row                                   */
	size_t *N;                     /* [n_inputs] ids of a slot                        */
	size_t  rows, slots;           /* of a slot; of a worker                          */
};

/* --- rows of the data -------------------------------------------------------- */

static void
count_ids(struct weighing *w)
{
	const struct schema *const schema = &w->shape->schema;
	const struct placement_sample *const sample = w->sample;
	double B = 0;

	for (size_t f = 0; f < schema->F; f++)
		w->ids[f] = 1;
	if (sample == NULL || sample->n == 0)
		return;
	for (size_t f = 0; f < schema->F; f++)
		w->ids[f] = 0;
	for (size_t i = 0; i < sample->n; i++) {
		B += (double)sample->batch[i].B;
		for (size_t f = 0; f < schema->F; f++)
			w->ids[f] += (double)sample->batch[i].column[f].N;
	}
	for (size_t f = 0; f < schema->F; f++)
		w->ids[f] /= B;
}

/* Of a row in a column of a batch, see data/batch.h. */
static double
column_bytes(const struct weighing *w, size_t f)
{
	const struct schema *const schema = &w->shape->schema;
	const struct schema_field *const field = &schema->field[schema->column_field[f]];
	const int has_weight = w->sample != NULL && w->sample->n > 0
		&& w->sample->batch[0].column[f].weight != NULL;

	return w->ids[f] * (sizeof(uint64_t) + (has_weight ? sizeof(float) : 0))
		+ (field->single ? 0 : sizeof(uint32_t));
}

/* Of a row in a batch. */
static double
row_bytes(const struct weighing *w)
{
	const struct schema *const schema = &w->shape->schema;
	double bytes = 2 * sizeof(float) + (double)schema->K * (sizeof(float) + 1);

	bytes += schema->has_group ? sizeof(uint64_t) : 0;
	bytes += schema->item_field < schema->n_fields ? sizeof(uint64_t) : 0;
	for (size_t f = 0; f < schema->F; f++)
		bytes += column_bytes(w, f);
	return bytes;
}

/* Of a row that waits to be shuffled, but for its lists. */
static double
shuffled_bytes(const struct weighing *w, double *lists)
{
	const struct schema *const schema = &w->shape->schema;

	*lists = 0;
	for (size_t f = 0; f < schema->F; f++)
		if (!schema->field[schema->column_field[f]].single)
			*lists += column_bytes(w, f);
	return w->s->data.shuffle ? (double)loader_row_bytes(schema) : 0;
}

static uint64_t
at_least(uint64_t x, uint64_t least)
{
	return x > least ? x : least;
}

/* Parsers with their text and rows, two windows, the ring of batches. */
static double
reader_bytes(const struct weighing *w)
{
	const struct data_settings *const d = &w->s->data;
	const size_t B = (size_t)w->s->train.batch_size;
	const struct placement_sample *const sample = w->sample;
	const double a_row = row_bytes(w);
	const double window = (double)(d->shuffle_window > 0 ? d->shuffle_window : d->row_group);
	const size_t parsers = loader_parsers((size_t)d->threads);
	double text = a_row, group = (double)d->row_group, rows, all = INFINITY, lists;
	const double packed = shuffled_bytes(w, &lists);

	if (sample != NULL && sample->rows > 0) {
		text = (double)sample->text_bytes / (double)sample->rows;
		all = (double)sample->rows;
		group = fmin(group, (double)sample->text_bytes);
	}
	rows = fmin(2 * fmin(ceil(window / text), all), all * (double)w->s->train.epochs);
	double windows = rows * (a_row + packed);  /* one group: taken over as it is */

	if (packed > 0 && window > group)
		windows = rows * lists + 2 * (double)large_size((size_t)(rows / 2 * packed));
	return (double)(parsers + 2) * (group + group / text * (a_row + packed)) + windows
		+ fmin((double)(loader_ring(B) * B), all * (double)w->s->train.epochs) * a_row;
}

/* --- a worker ---------------------------------------------------------------- */

static size_t
log2_up(size_t n)
{
	size_t k = 0;

	while (((size_t)1 << k) < n)
		k++;
	return k;
}

/* Gradients of subtrees of slots that are there at once: of each thread one a level, and
 * the sum of all, which is the only one here when GPUs sum. */
static uint64_t
dense_sums(const struct weighing *w)
{
	const size_t threads = w->p->n_threads, own = (w->slots + threads - 1) / threads;
	const size_t wanted = 1 + threads * (log2_up(own) + 1);
	const uint64_t one = (w->shape->P * sizeof(float) + 63) / 64 * 64;

	if (w->p->gpus_sum)
		return large_size(one);
	return large_size(one * (wanted < w->slots + 1 ? wanted : w->slots + 1));
}

/* Rows of a slot that an input has, of all rounds of its table. */
static size_t
input_rows(const struct weighing *w, size_t i)
{
	const size_t rounds = w->shape->table[graph_input(w->shape->graph, i)->table].rounds;

	return w->N[i] * (rounds > 1 ? rounds : 1);
}

/* Sums of rounds of a slot (embed/stacked.h). */
static uint64_t
stacked_sums(const struct weighing *w)
{
	const struct graph *const g = w->shape->graph;
	uint64_t bytes = 0;

	for (size_t i = 0; i < graph_n_inputs(g); i++)
		bytes += w->N[i] * stacked_bytes(&w->shape->table[graph_input(g, i)->table]);
	return bytes + bytes / 4;
}

static uint64_t
merge_bytes(const struct weighing *w)
{
	size_t most = 0;

	for (size_t i = 0; i < graph_n_inputs(w->shape->graph); i++)
		most = input_rows(w, i) > most ? input_rows(w, i) : most;
	return (uint64_t)MERGE_BYTES * most * w->slots;
}

/* Copies of the rows of a step that are not in memory for good. */
static uint64_t
copied_bytes(const struct weighing *w)
{
	const struct graph *const g = w->shape->graph;
	uint64_t bytes = 0;

	for (size_t i = 0; i < graph_n_inputs(g); i++)
		if (w->p->table[graph_input(g, i)->table].memory > 0)
			bytes += input_rows(w, i) * graph_input(g, i)->dim * sizeof(float);
	return w->slots * (bytes + bytes / 4);
}

/* Weights packed for all threads, and what each multiplies in. */
static enum rs_status
narrow_bytes(const struct weighing *w, uint64_t *out)
{
	size_t packed, of_thread;

	RS_TRY(graph_narrow_bytes(w->shape->graph, w->rows, &packed, &of_thread));
	*out = packed + w->p->n_threads * of_thread;
	return RS_OK;
}

static uint64_t
worker_bytes(const struct weighing *w)
{
	const struct placement *const p = w->p;
	const struct graph *const g = w->shape->graph;
	const size_t rows = at_least(w->rows, STEP_PREDICT_CHUNK);
	const uint64_t grads = row_grads_bytes(g, w->rows, w->N);
	uint64_t bytes = PROCESS_BYTES + p->dense_bytes + dense_sums(w)
		+ w->slots * (grads + stacked_sums(w));

	bytes += p->n_threads * (exec_bytes(g, rows, w->N) + BLAS_BYTES + merge_bytes(w));
	bytes += (uint64_t)reader_bytes(w);
	bytes += p->n_workers > 1 || p->n_ps > 0 ? PEER_BYTES : 0;
	if (p->n_ps > 0)               /* rows pulled, sums to push, both on the wire     */
		return bytes + 3 * w->slots * grads;
	if (p->n_workers > 1)          /* gradients of the others                         */
		bytes += p->n_workers * w->slots * grads;
	else                           /* tables are saved by all threads                 */
		bytes += (p->n_threads - 1) * SAVER_BYTES;
	return bytes + large_size(p->table_bytes) + copied_bytes(w);
}

/* --- all ----------------------------------------------------------------------- */

/* Of a slot, as it is sent. */
static uint64_t
gradient_bytes(const struct weighing *w)
{
	const struct graph *const g = w->shape->graph;
	uint64_t bytes = 0;

	for (size_t i = 0; i < graph_n_inputs(g); i++)
		bytes += input_rows(w, i)
			* (graph_input(g, i)->dim * sizeof(float) + sizeof(uint64_t));
	return bytes;
}

static enum rs_status
weigh(struct weighing *w, struct placement *p)
{
	const struct graph *const g = w->shape->graph;
	uint64_t largest = 0, narrow;

	RS_TRY(narrow_bytes(w, &narrow));
	count_ids(w);
	for (size_t i = 0; i < graph_n_inputs(g); i++) {
		const double ids = w->ids[graph_input(g, i)->column];

		w->N[i] = (size_t)ceil(ids * (double)w->rows);
	}
	p->worker_bytes = worker_bytes(w) + narrow;
	for (size_t i = 0; i < p->n_ps; i++)
		largest = at_least(p->shard[i].bytes, largest);
	if (p->n_ps > 0)
		p->shard_bytes = SHARD_BYTES + large_size(largest)
			+ p->n_workers * w->slots * gradient_bytes(w) / p->n_ps;
	return RS_OK;
}

/* Of a step: a log of less than train.batch_size is one smaller batch. */
static size_t
step_rows(const struct settings *s, const struct placement_sample *sample)
{
	const size_t most = (size_t)s->train.batch_size;

	return sample != NULL && sample->n > 0 && sample->batch[0].B < most ? sample->batch[0].B
		: most;
}

enum rs_status
placement_weigh_processes(struct placement *p, const struct model *shape,
	const struct placement_sample *sample)
{
	const struct settings *const s = spec_settings(shape->spec);
	struct weighing w = { .p = p, .shape = shape, .s = s, .sample = sample,
		.rows = (step_rows(s, sample) + p->n_slots - 1) / p->n_slots,
		.slots = (p->n_slots + p->n_workers - 1) / p->n_workers };

	p->dense_step_bytes = p->n_workers < 2 ? 0
		: 2.0 * (double)(p->dense_params * sizeof(float));
	enum rs_status status = memory_alloc(shape->schema.F + 1, sizeof *w.ids, &w.ids);
	if (status == RS_OK)
		status = memory_alloc(graph_n_inputs(shape->graph) + 1, sizeof *w.N, &w.N);
	if (status == RS_OK)
		status = weigh(&w, p);
	free(w.ids);
	free(w.N);
	return status;
}
