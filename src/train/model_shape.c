/* What a spec says of a model: its graph, and what its tables are. */
#include "train/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "embed/exact.h"
#include "embed/row_optimizer.h"
#include "embed/row.h"
#include "embed/spill.h"
#include "embed/tenancy.h"
#include "models/models.h"

#define MODELS_MAX 32

size_t
model_vector_dim(const struct model *m)
{
	return graph_output_width(m->graph, GRAPH_USER);
}

static enum rs_status
unknown_type(const char *type)
{
	const char *name[MODELS_MAX];
	const char *near;
	size_t n = 0;

	for (; model_table[n].name != NULL && n < MODELS_MAX; n++)
		name[n] = model_table[n].name;
	near = spec_nearest(type, name, n);
	(void)rs_fail(RS_ESPEC, "model.type: there is no model '%s'", type);
	return near != NULL ? rs_hint("did you mean '%s'?", near) : rs_hint("try '%s'", name[0]);
}

enum rs_status
model_build_graph(struct model *m)
{
	const struct settings *const s = spec_settings(m->spec);
	const struct model_row *row = model_find(s->model.type);

	if (row == NULL)
		return unknown_type(s->model.type);
	RS_TRY(graph_create(m->kernel, &m->graph));
	graph_set_gpu(m->graph, m->gpu);
	graph_set_dense(m->graph, m->schema.K);
	return graph_finish(
		m->graph, row->build(m->graph, &m->schema, s), s->model.loss == LOSS_MSE);
}

int
model_is_brain(const struct settings *s)
{
	return strcmp(s->train.precision, "bf16") == 0;
}

int
model_by_library(const struct settings *s)
{
	return strcmp(s->train.products, "openblas") == 0;
}

enum rs_status
model_select_products(const struct settings *s, const struct narrow_set **out)
{
	*out = NULL;
	if (model_is_brain(s))
		return narrow_select(out);
	if (strcmp(s->train.products, "builtin") == 0 || model_by_library(s))
		return RS_OK;
	const enum rs_status status = narrow_select_plain(out);

	return status == RS_ESPEC && strcmp(s->train.products, "auto") == 0 ? RS_OK : status;
}

enum rs_status
model_set_precision(struct model *m)
{
	const struct settings *const s = spec_settings(m->spec);
	const size_t n_slots = model_slots(s);

	if (s->gpu.tf32)
		graph_set_tf32(m->graph);
	if (model_by_library(s))
		graph_set_library(m->graph);
	if (m->gpu == NULL)
		RS_TRY(model_select_products(s, &m->narrow));
	if (m->gpu == NULL ? m->narrow == NULL : !model_is_brain(s))
		return RS_OK;
	return graph_set_narrow(
		m->graph, m->narrow, ((size_t)s->train.batch_size + n_slots - 1) / n_slots);
}

/* The settings of a field's vectors: the embedding's, with what the field overrides.
 * A rate of its own does not follow the schedule. */
static struct row_optimizer_settings
vector_optimizer(const struct field_settings *f, const struct embedding_settings *e)
{
	struct row_optimizer_settings o = e->optimizer;

	o.kind = f->optimizer;
	o.l2 = f->l2;
	o.scheduled = f->scheduled;
	o.learning_rate = f->learning_rate;
	return o;
}

/* A vector of one weight gains nothing beside its slots. */
enum row_storage
model_storage(const struct settings *s, size_t dim)
{
	return dim > 1 ? s->embedding.storage : ROW_FP32;
}

/* Bytes that an id takes in all tables of the field. */
static size_t
id_bytes(const struct model *m, size_t schema_table)
{
	size_t bytes = 0;

	for (size_t i = 0; i < graph_n_tables(m->graph); i++) {
		const struct graph_table *const g = graph_table(m->graph, i);
		const struct settings *const s = spec_settings(m->spec);
		const enum row_optimizer_kind kind = g->linear ? s->linear.optimizer.kind :
			m->schema.table[schema_table].settings->optimizer;
		const size_t n_slot = row_optimizer_slots(row_optimizer_get(kind), g->dim);

		if (g->schema_table == schema_table)
			bytes += exact_entry_bytes((row_slot_at(model_storage(s, g->dim), g->dim)
				+ n_slot) * sizeof(float));
	}
	return bytes;
}

/* embedding.max_bytes that is room enough for ids of so many bytes, in whole k. */
static uint64_t
least_k(size_t bytes)
{
	uint64_t least = 0, most = 1;

	while (tenancy_most(exact_segment_rows(bytes, most * 1024)) < TENANCY_SHARE)
		most *= 2;
	while (most - least > 1) {
		const uint64_t k = (least + most) / 2;

		if (tenancy_most(exact_segment_rows(bytes, k * 1024)) < TENANCY_SHARE)
			least = k;
		else
			most = k;
	}
	return most;
}

static enum rs_status
describe_tenancy(const struct model *m, size_t schema_table, struct lookup_tenancy *out)
{
	const struct embedding_settings *const e = &spec_settings(m->spec)->embedding;
	const char *const field = m->schema.table[schema_table].name;
	const size_t bytes = id_bytes(m, schema_table);

	*out = (struct lookup_tenancy){
		.admit = e->admit, .admit_count = (uint32_t)e->admit_count,
		.admit_probability = e->admit_probability, .admit_cells = (uint64_t)e->admit_cells,
		.key = hash_fingerprint64(field, strlen(field)),
		.expire_after = (uint64_t)ceil(e->expire_after),
		.expire_steps = (uint64_t)e->expire_steps, .evict = e->evict,
	};
	if (e->max_bytes == 0)
		return RS_OK;
	out->segment_rows = tenancy_most(exact_segment_rows(bytes, (uint64_t)e->max_bytes));
	if (out->segment_rows >= TENANCY_SHARE)
		return RS_OK;
	(void)rs_fail(RS_ESPEC, "embedding.max_bytes: %lld bytes are room for %llu rows of field "
		"'%s', wanted %u at least", (long long)e->max_bytes,
		(unsigned long long)out->segment_rows * EXACT_SEGMENTS, field,
		TENANCY_SHARE * EXACT_SEGMENTS);
	return rs_hint("an id of it takes %zu bytes, gaps between ids come on top: the least is %"
		PRIu64 "k", bytes, least_k(bytes));
}

enum rs_status
model_describe_table(const struct model *m, size_t i, struct lookup_table *out)
{
	const struct settings *const s = spec_settings(m->spec);
	const struct graph_table *const g = graph_table(m->graph, i);
	const struct schema_table *t = &m->schema.table[g->schema_table];
	const int n = snprintf(
		out->name, sizeof(out->name), "%s%s", t->name, g->linear ? ".linear" : "");

	if (n < 0 || (size_t)n >= sizeof(out->name))
		return rs_fail(RS_ESPEC, "field '%s': a name is at most %zu bytes", t->name,
		    sizeof(out->name) - sizeof(".linear"));
	out->kind = t->kind;
	out->rows = t->rows + 1;
	out->rounds = t->rounds;
	out->scales_rounds = s->embedding.round_scale == ROUNDS_SQRT;
	out->expected = t->kind == TABLE_EXACT ? (uint64_t)t->settings->buckets : out->rows;
	out->dim = g->dim;
	out->storage = model_storage(s, g->dim);
	out->twins = g->schema_table;
	out->optimizer = g->linear ? s->linear.optimizer :
				     vector_optimizer(t->settings, &s->embedding);
	out->init_stddev = g->linear ? s->linear.init_stddev : s->embedding.init_stddev;
	out->seed = (uint64_t)s->train.seed;
	out->spill = s->embedding.spill;
	if (t->kind != TABLE_EXACT)
		return RS_OK;
	RS_TRY(describe_tenancy(m, g->schema_table, &out->tenancy));
	const uint64_t most = out->tenancy.segment_rows * EXACT_SEGMENTS;
	if (most > 0 && out->expected > most)
		out->expected = most;
	return RS_OK;
}

/* --- tables larger than memory ---------------------------------------------------- */

static size_t
trained_row_bytes(const struct lookup_table *t)
{
	const size_t n_slot = row_optimizer_slots(row_optimizer_get(t->optimizer.kind), t->dim);

	return (row_slot_at(t->storage, t->dim) + n_slot) * sizeof(float);
}

/* Bytes that places of rows take when the table is not in memory whole. */
static uint64_t
place_bytes(const struct lookup_table *t)
{
	return t->rows * sizeof(uint32_t);
}

/* Tables that take no more than an even share of what is left and the places they then do not
 * need stay in memory whole; the others, which are counted, are marked. */
static uint64_t
keep_small(struct model *m, uint64_t *left)
{
	uint64_t n = m->n_tables, before;

	for (size_t i = 0; i < m->n_tables; i++)
		m->table[i].resident = UINT64_MAX;
	do {
		before = n;
		for (size_t i = 0; i < m->n_tables && n > 0; i++) {
			struct lookup_table *const t = &m->table[i];
			const uint64_t share = *left / n + (n > 1 ? place_bytes(t) : 0);
			const uint64_t most = n > 1 ? *left / 4 * 3 : *left;

			if (t->resident == 0
			    || t->rows > (share < most ? share : most) / trained_row_bytes(t))
				continue;
			*left -= t->rows * trained_row_bytes(t);
			t->resident = 0;
			n--;
		}
	} while (n < before);
	return n;
}

/* The others have even shares: where ids are Zipf, rows of all of them are then used as often
 * for their bytes when they leave memory. */
enum rs_status
model_share_resident(struct model *m)
{
	const uint64_t resident = (uint64_t)spec_settings(m->spec)->embedding.resident;
	uint64_t left = resident;
	const uint64_t n = resident > 0 ? keep_small(m, &left) : 0;

	for (size_t i = 0; i < m->n_tables && n > 0; i++) {
		struct lookup_table *const t = &m->table[i];
		const uint64_t least = spill_least(t->rows, trained_row_bytes(t));

		if (t->resident == 0)
			continue;
		t->resident = left / n;
		if (t->resident >= least)
			continue;
		(void)rs_fail(RS_ESPEC, "embedding.resident: %" PRIu64 " bytes are too few for "
			"table '%s' of %" PRIu64 " rows", resident, t->name, t->rows);
		return rs_hint("the least is about %" PRIu64 "k", (resident - left + n * least)
			/ 1024 + 1);
	}
	return RS_OK;
}
