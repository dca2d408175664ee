/*
 * Where the tables of a model are while a GPU trains it; for model.c.
 */
#ifndef TRAIN_MODEL_TABLES_H
#define TRAIN_MODEL_TABLES_H

#include "embed/lookup_device.h"
#include "train/model.h"

/* Once the tables are described: by what the options want, what they are, what the GPUs have room
 * for beside the threads and whether something joins them.  m->graph then has rows there or not,
 * m->why_tables says why, and o is complete, of which the caller has set `local`; n [2,n_tables]
 * zeros, for it.  RS_ESPEC, RS_ERESOURCE, RS_EPEER: gpu.tables = gpu cannot be. */
enum rs_status model_place_tables(struct model *m, const struct model_options *options,
	size_t *n, struct lookup_device_options *o);
/* m->lookup where graph_rows_are_there(); on the host, with the reason, when a GPU has no room any
 * more or several cannot be joined, and gpu.tables lets it. */
enum rs_status model_open_there(struct model *m, enum gpu_tables wanted,
	const struct lookup_device_options *o);

#endif
