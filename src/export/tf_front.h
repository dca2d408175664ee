/*
 * The part of a SavedModel in front of the program: text and raw numbers become rows of
 * tables and transformed numbers.
 *
 * Raw inputs have the names of fields: string [N] of a categorical field, string [N, L] of a
 * list with "" where there is no item, float [N] of a number with NaN for missing, and float
 * [N, L] NAME.weight.  Each feature of a program ends in an Identity with the attributes
 * "_feature", its name, and "_shape", whose dimensions are named, which the reader knows it by.
 */
#ifndef EXPORT_TF_FRONT_H
#define EXPORT_TF_FRONT_H

#include "export/program.h"
#include "export/tf_graph.h"

struct tf_front_raw { const char *node; int type; size_t rank; char *key; };

/* What a field is in the graph; names of nodes, NULL: not made yet. */
struct tf_front_field {
	struct tf_front_raw raw, weight;
	const char *text;                  /* what is hashed                          */
	const char *missing;               /* bool                                    */
	const char *row;                   /* int64 [N] of single fields              */
	const char *kept;                  /* bool [N,L]: items of a list that count  */
	const char *feature[4];            /* [enum program_kind]                     */
};

struct tf_front {
	struct tf_graph *g;
	const struct model *m;
	struct tf_front_field *field;      /* [n_fields]                              */
	char *wanted;                      /* [n_fields] raw inputs that something takes */
};

enum rs_status tf_front_init(struct tf_front *f, struct tf_graph *g, const struct model *m);
void tf_front_free(struct tf_front *f);

/* The node of a feature; the raw inputs it takes are marked in `wanted`.  RS_ESPEC names what
 * a graph cannot say. */
enum rs_status tf_front_feature(struct tf_front *f, const struct program *p,
	const struct program_feature *feature, const char **out);

#endif
