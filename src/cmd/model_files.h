/*
 * The files of one model version, mapped for reading, without building the model.
 *
 * MODEL is a model directory (the version CURRENT names) or the directory of a version,
 * under whatever name: in a model directory or published.  Every file was verified against
 * MANIFEST.  Tables are in the order in which they were saved, which is that of the graph.
 */
#ifndef CMD_MODEL_FILES_H
#define CMD_MODEL_FILES_H

#include "base/file.h"
#include "base/status.h"
#include "embed/exact.h"
#include "embed/rows_file.h"
#include "embed/table_file.h"
#include "spec/spec.h"
#include "train/dense_file.h"
#include "train/manifest.h"

struct model_table {
	struct file_map map;
	const struct table_file_header *header;   /* exact: own, rows are those there are */
	struct table_file_header own;
	struct rows_file_piece exact;  /* header NULL: a hashed table                 */
	struct rows_file_piece sparse; /* hashed, the others are as rows begin; header NULL: all
	                                * rows are there                              */
	enum row_storage begins;       /* weights of these others are rounded so      */
	uint64_t *near;                /* entry that was last found                   */
	float *row, *slots;            /* [dim], [n_slot]                             */
};

struct model_files {
	char *directory, *path;        /* MODEL, the directory of the version         */
	uint64_t version;
	struct manifest manifest;
	struct spec *spec;
	char *dense_path;
	struct file_map dense_map;
	struct dense_view dense;
	struct model_table *table;     /* [n_tables]                                  */
	size_t n_tables;
	uint64_t n_items;              /* of the catalogue; 0: there is none          */
};

/* RS_ENOINPUT: it is no directory. */
enum rs_status model_files_check(const char *model);
/* *version for checkpoint_load(): 0 of a model directory, or CHECKPOINT_HERE.  The caller
 * frees *directory. */
enum rs_status model_files_resolve(const char *model, char **directory, uint64_t *version);
enum rs_status model_files_open(const char *model, struct model_files *out);
void model_files_close(struct model_files *f);

/* The table of that name, or NULL. */
const struct model_table *model_files_table(const struct model_files *f, const char *name);

/* Rows in the file, and the id of each, ascending. */
uint64_t model_table_count(const struct model_table *t);
uint64_t model_table_id(const struct model_table *t, uint64_t i);
/* Of an exact table, the row of an id; NULL: it has none, or the table is hashed. */
const struct exact_entry *model_table_entry(const struct model_table *t, uint64_t id);
/* Row id of a table, id in [begin,end): D weights, until the next call of the table; n_slot
 * optimizer values, likewise; NULL: an exact table has no such row. */
const float *model_table_weights(const struct model_table *t, uint64_t id);
const float *model_table_slots(const struct model_table *t, uint64_t id);
int model_table_touched(const struct model_table *t, uint64_t id);
/* Row id of a hashed table is in no file, but as rows begin. */
int model_table_is_absent(const struct model_table *t, uint64_t id);

#endif
