/*
 * The models: one file each, one row each in model_table (models/models.c).
 * build() is an expression over nn.h and the graph's operators and returns the
 * logit node [B,1].
 */
#ifndef MODELS_MODELS_H
#define MODELS_MODELS_H

#include "base/status.h"
#include "data/schema.h"
#include "graph/graph.h"
#include "models/model_list.h"
#include "spec/settings.h"

struct model_row {
	const char *name, *text, *source;
	struct node *(*build)(
		struct graph *g, const struct schema *schema, const struct settings *s);
};

#define MODEL(name, text, source) struct node *name##_build(struct graph *g, \
	const struct schema *schema, const struct settings *s);
MODEL_LIST(MODEL)
#undef MODEL

extern const struct model_row model_table[];    /* ends with a NULL name          */

/* NULL when there is none of that name. */
const struct model_row *model_find(const char *name);

#endif
