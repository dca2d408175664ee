/*
 * Inside the writer of SavedModels.
 */
#ifndef EXPORT_SAVEDMODEL_PRIVATE_H
#define EXPORT_SAVEDMODEL_PRIVATE_H

#include "export/savedmodel.h"
#include "export/tf_front.h"
#include "export/tf_graph.h"

struct savedmodel_writer {
	const struct model *model;
	const struct savedmodel_signature *signature;
	const struct program *p;           /* of the signature being written          */
	size_t number;                     /* of that signature                       */
	const char *directory;
	struct tf_graph g;
	struct tf_front front;
	Tf__MetaGraph meta;
	const char **name;                 /* [p->n] nodes of the values              */
	const char **table;                /* [n_tables] nodes that gather reads      */
	int has_variables;
};

/* The handle of a table that is a variable. */
void savedmodel_variable(struct savedmodel_writer *w, const struct program_value *v, char *name);
/* Behind all nodes: what restores the variables, and their files. */
enum rs_status savedmodel_add_variables(struct savedmodel_writer *w);

#endif
