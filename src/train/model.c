/* A model made from its spec: schema, graph, parameters and tables. */
#include "train/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "embed/stacked.h"
#include "train/frequency.h"
#include "train/model_tables.h"
#include "train/ranks.h"
#include "train/replicated.h"

#define SLOTS_MAX_DEFAULT 8
#define SLOT_ROWS_MIN     512

size_t
model_slots(const struct settings *s)
{
	size_t n = SLOTS_MAX_DEFAULT;

	if (s->train.slots > 0)
		return (size_t)s->train.slots;
	while (n > 1 && (size_t)s->train.batch_size / n < SLOT_ROWS_MIN)
		n /= 2;
	return n;
}

size_t
model_workers(const struct settings *s, size_t n_threads)
{
	const size_t n = model_slots(s);

	return n_threads < n ? n_threads : n;
}

size_t
model_slot_begin(size_t B, size_t n_slots, size_t i)
{
	return B * i / n_slots;
}

enum rs_status
model_open_stacked(struct model *m)
{
	return stacked_open(m->table, m->n_tables, model_slots(spec_settings(m->spec)),
		graph_n_inputs(m->graph), &m->stacked);
}

static enum rs_status
open_lookup(struct model *m, const struct model_options *options, size_t *n)
{
	const struct settings *const s = spec_settings(m->spec);
	struct lookup_device_options device = { .local = {
		.kernel = m->kernel, .table = m->table, .n_tables = m->n_tables,
		.n_slots = model_slots(s), .n_inputs = graph_n_inputs(m->graph),
		.n_threads = options->n_threads, .for_training = options->for_training,
		.keeps_changes = options->for_training && s->train.full_every > 1,
	} };

	RS_TRY(model_place_tables(m, options, n, &device));
	if (options->shape_only)
		return RS_OK;
	RS_TRY(model_open_stacked(m));
	if (m->place != NULL && m->place->open_lookup != NULL)
		return m->place->open_lookup(m->place->context, &device.local, &m->lookup);
	if (ranks_several(m->place) && options->for_training)
		return replicated_open(&device.local, m->place->exchange, &m->lookup);
	if (graph_rows_are_there(m->graph))
		return model_open_there(m, options->tables, &device);
	return lookup_local_open(&device.local, &m->lookup);
}

static enum rs_status
open_tables(struct model *m, const struct model_options *options)
{
	size_t *n;

	m->n_tables = graph_n_tables(m->graph);
	RS_TRY(memory_alloc(m->n_tables + 1, sizeof(*m->table), &m->table));
	for (size_t i = 0; i < m->n_tables; i++)
		RS_TRY(model_describe_table(m, i, &m->table[i]));
	RS_TRY(model_share_resident(m));
	RS_TRY(memory_alloc(2 * m->n_tables + 1, sizeof(*n), &n));
	const enum rs_status status = open_lookup(m, options, n);
	free(n);
	return status;
}

static enum rs_status
init_params(struct model *m, const struct settings *s, int for_training)
{
	m->P = graph_param_size(m->graph);
	RS_TRY(memory_alloc(m->P + 1, sizeof(*m->param), &m->param));
	if (for_training) {
		RS_TRY(memory_alloc(m->P + 1, sizeof(*m->slot_m), &m->slot_m));
		RS_TRY(memory_alloc(m->P + 1, sizeof(*m->slot_v), &m->slot_v));
	}
	for (size_t i = 0; for_training && s->train.optimizer == DENSE_ADAGRAD && i < m->P; i++)
		m->slot_v[i] = (float)s->embedding.optimizer.initial_accumulator;
	graph_init_params(m->graph, (uint64_t)s->train.seed, m->param);
	return RS_OK;
}

/* One place a bucket of the field that names the item; without such buckets, one an item. */
static enum rs_status
open_frequency(struct model *m, const struct settings *s)
{
	if (s->model.loss != LOSS_SOFTMAX || !s->two_tower.logq)
		return RS_OK;
	for (size_t i = 0; i < m->schema.n_fields; i++) {
		const struct schema_field *f = &m->schema.field[i];

		if (f->is_dense || strcmp(f->name, s->items.key) != 0)
			continue;
		const struct schema_table *const t = &m->schema.table[f->table];
		const int has_buckets = t->kind == TABLE_HASHED && t->rounds == 1;

		return frequency_create(has_buckets ? t->buckets : 0, s->two_tower.logq_rate,
			&m->frequency);
	}
	return rs_fail(RS_ESPEC, "items.key: field '%s' is needed to tell how frequent an item is",
		s->items.key);
}

/* A network or a loss that multiplies matrices. */
static int
has_products(const struct model *m)
{
	return graph_multiplies(m->graph) || spec_settings(m->spec)->model.loss == LOSS_SOFTMAX;
}

static enum rs_status
build(struct model *m, const struct model_options *options)
{
	const struct settings *s = spec_settings(m->spec);

	RS_TRY(kernel_select(options->kernel != NULL ? options->kernel : "auto", &m->kernel));
	RS_TRY(schema_build(s, &m->schema));
	RS_TRY(model_build_graph(m));
	RS_TRY(init_params(m, s, options->for_training));
	if (options->for_training)
		RS_TRY(model_set_precision(m));
	if (options->for_training)
		RS_TRY(open_frequency(m, s));
	RS_TRY(open_tables(m, options));
	return options->shape_only || !has_products(m) ? RS_OK
		: kernel_blas_room(options->n_threads > 0 ? options->n_threads : 1);
}

enum rs_status
model_create(struct spec *spec, const struct model_options *options, struct model **out)
{
	struct model *m;
	enum rs_status status = memory_alloc(1, sizeof(*m), &m);

	if (status != RS_OK) {
		spec_free(spec);
		return status;
	}
	m->spec = spec;
	m->rate_factor = 1.0;
	m->place = options->place;
	m->gpu = options->gpu;
	m->pins_threads = options->pins_threads;
	status = build(m, options);
	if (status != RS_OK) {
		model_free(m);
		return status;
	}
	*out = m;
	return RS_OK;
}

void
model_forget_kept(struct model *m)
{
	for (size_t i = 0; i < m->n_kept; i++) {
		file_map_close(&m->kept[i].map);
		free(m->kept[i].name);
	}
	free(m->kept);
	m->kept = NULL;
	m->n_kept = 0;
}

void
model_free(struct model *m)
{
	if (m == NULL)
		return;
	if (m->lookup != NULL)
		m->lookup->ops->close(m->lookup);
	if (m->graph != NULL)
		graph_destroy(m->graph);
	stacked_close(m->stacked);
	frequency_free(m->frequency);
	model_forget_kept(m);
	model_forget_numbers(m);
	free(m->table);
	free(m->param);
	free(m->slot_m);
	free(m->slot_v);
	catalogue_free(m->catalogue);
	schema_free(&m->schema);
	spec_free(m->spec);
	free(m);
}
