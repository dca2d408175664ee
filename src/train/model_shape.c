/* What a spec says of a model: its graph, and what its tables are. */
#include "train/model.h"

#include <stdio.h>

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
	graph_set_dense(m->graph, m->schema.K);
	return graph_finish(
		m->graph, row->build(m->graph, &m->schema, s), s->model.loss == LOSS_MSE);
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
	out->rows = t->buckets + 1;
	out->expected = t->kind == TABLE_EXACT ? (uint64_t)t->settings->buckets : out->rows;
	out->dim = g->dim;
	out->twins = g->schema_table;
	out->optimizer = g->linear ? s->linear.optimizer :
				     vector_optimizer(t->settings, &s->embedding);
	out->init_stddev = g->linear ? s->linear.init_stddev : s->embedding.init_stddev;
	out->seed = (uint64_t)s->train.seed;
	return RS_OK;
}
