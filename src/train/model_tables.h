/*
 * Where the tables of a model are while a GPU trains it; for model.c.
 */
#ifndef TRAIN_MODEL_TABLES_H
#define TRAIN_MODEL_TABLES_H

#include "embed/lookup_device.h"
#include "train/model.h"

/* Once the tables are described: by what is wanted, what they are and what the GPU has room for.
 * m->graph then has rows there or not, m->why_tables says why, and o is complete, of which the
 * caller has set `local`.  RS_ESPEC, RS_ERESOURCE: gpu.tables = gpu cannot be. */
enum rs_status model_place_tables(struct model *m, enum gpu_tables wanted,
	struct lookup_device_options *o);
/* m->lookup where graph_rows_are_there(); on the host, with the reason, when the GPU has no room
 * any more and gpu.tables lets it. */
enum rs_status model_open_there(struct model *m, enum gpu_tables wanted,
	const struct lookup_device_options *o);

#endif
