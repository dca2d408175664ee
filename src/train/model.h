/*
 * A trained (or fresh) model in memory: spec, schema, graph, dense parameters
 * with their optimizer state, and the lookup that holds the tables.
 *
 * model_create() builds and initialises everything from a spec; model_load()
 * (train/checkpoint.h) fills it from a version.  The model owns all of it.
 */
#ifndef TRAIN_MODEL_H
#define TRAIN_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "data/catalogue.h"
#include "data/schema.h"
#include "embed/lookup.h"
#include "graph/graph.h"
#include "kernel/kernel.h"
#include "kernel/narrow.h"
#include "spec/spec.h"
#include "train/place.h"

/* A table of a field that is no longer in the spec, see train/checkpoint.h. */
struct model_kept { char *name; struct file_map map; };

/* The ids that an exact table of the schema knows, in order; hashed: NULL. */
struct model_numbers { uint64_t *id; uint64_t n; };

/* The saved version from which the lookup knows what changed; 0 none. */
struct model_base {
	uint64_t version, identity;    /* as its MANIFEST has them                    */
	size_t   n_deltas;             /* behind the version that is whole            */
};

struct model {
	struct spec   *spec;           /* owned                                       */
	struct schema  schema;
	const struct kernel_set *kernel;
	const struct narrow_set *narrow;   /* multiplies layers on the host in training;
	                                    * NULL: the kernels do                      */
	struct graph  *graph;
	struct lookup *lookup;
	struct stacked *stacked;       /* rows of several rounds; NULL: no table has any */
	struct lookup_table *table;    /* [n_tables] same numbering as graph_table()  */
	size_t  n_tables;
	struct model_numbers *numbers; /* train/row_numbers.h; NULL: none were made   */
	size_t  P;
	float  *param, *slot_m, *slot_v;   /* [P] weights and optimizer state         */
	struct catalogue *catalogue;   /* owned; NULL: none was needed                */
	struct frequency *frequency;   /* of items, for log q of softmax, or NULL     */
	struct model_kept *kept;       /* [n_kept] files that versions carry along    */
	size_t n_kept;
	uint64_t step;                 /* steps applied since the model was made      */
	uint64_t skipped_steps;
	double   rate_factor;          /* plateau: product of its reductions          */
	struct model_base base;
	const struct train_place *place;   /* borrowed; NULL: all is in this process  */
	struct gpu_memory *gpu;        /* borrowed; NULL: the dense network is on the host */
	char why_host[256];            /* why not on the GPU that was given; else ""  */
	char why_tables[256];          /* why they are on the GPU that trains, or not; else ""  */
	int    pins_threads;           /* train.pin_threads of this run               */
};

struct model_options {
	const char *kernel;            /* NULL = auto                                 */
	struct gpu_memory *gpu;        /* borrowed; runs the dense network; NULL: the host */
	size_t n_threads;
	size_t n_more_threads;         /* of other workers beside them, as bench has; 0: none */
	int    pins_threads;
	enum gpu_tables tables;        /* where they are while the GPU trains         */
	int    wants_gpu;              /* for train.c: a GPU that cannot be opened is a failure */
	int    for_training;           /* 0: no optimizer state                       */
	int    shape_only;             /* lookup stays NULL: no table takes memory    */
	const struct train_place *place;   /* borrowed; NULL: all is in this process  */
};

/* Takes the spec (also on failure). */
enum rs_status model_create(
	struct spec *spec, const struct model_options *options, struct model **out);
void model_free(struct model *m);
void model_forget_numbers(struct model *m);
void model_forget_kept(struct model *m);

/* m->graph from spec, schema and kernel; then what table i of it is. */
enum rs_status model_build_graph(struct model *m);
enum rs_status model_describe_table(const struct model *m, size_t i, struct lookup_table *out);
/* How a table of that width has its weights in memory, and rounds what rows begin as. */
enum row_storage model_storage(const struct settings *s, size_t dim);
/* train.precision = bf16. */
int model_is_brain(const struct settings *s);
/* Whether train.products wants those of OpenBLAS in training. */
int model_by_library(const struct settings *s);
/* What multiplies layers on the host for train.precision and train.products; NULL: the kernels.
 * RS_ESPEC where this machine has no such thing. */
enum rs_status model_select_products(const struct settings *s, const struct narrow_set **out);
/* What train.precision, train.products and gpu.tf32 say of passes that train. */
enum rs_status model_set_precision(struct model *m);
/* Before anything was pulled: all is on the host from now on, since the GPU cannot be opened, of
 * which m->why_host keeps the text.  With products in two bytes it is that failure. */
enum rs_status model_leave_gpu(struct model *m, const struct rs_failure *why);
/* Once all are described: embedding.resident is shared among those it has no room for. */
enum rs_status model_share_resident(struct model *m);

/* m->stacked, once the tables are described. */
enum rs_status model_open_stacked(struct model *m);

/* Columns of the vectors of a model with towers, else 0. */
size_t model_vector_dim(const struct model *m);

/* Slots of a global batch: train.slots, or the largest power of two up to 8 that
 * leaves slots of at least 512 rows; at least 1. */
size_t model_slots(const struct settings *s);
/* Threads that train: one without a slot would only wait, on a core others want. */
size_t model_workers(const struct settings *s, size_t n_threads);
/* First row of slot i when B rows are cut into n slots. */
size_t model_slot_begin(size_t B, size_t n_slots, size_t i);

#endif
