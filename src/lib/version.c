/* Versions opened for scoring. */
#include "lib/version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "embed/stacked.h"
#include "lib/mapped.h"
#include "train/checkpoint.h"
#include "train/dense_file.h"

#define SPEC_LIMIT ((size_t)64 << 20)
#define LINE       16              /* floats of a cache line                      */

/* The directory behind links that may point elsewhere any time. */
static enum rs_status
real_directory(const char *path, char **out)
{
	*out = realpath(path, NULL);
	return *out != NULL ? RS_OK
		: rs_fail(RS_ENOINPUT, "there is no model directory '%s'", path);
}

static enum rs_status
find_in(const char *directory, uint64_t *number, char **out)
{
	struct manifest manifest;

	if (!checkpoint_is_version(directory)) {
		RS_TRY(checkpoint_read_current(directory, number));
		return *number != 0 ? checkpoint_version_path(directory, *number, out)
			: rs_fail(RS_ENOINPUT, "'%s' has no version that CURRENT names",
				directory);
	}
	RS_TRY(manifest_read(&manifest, directory));
	*number = manifest.version;
	manifest_free(&manifest);
	return memory_strdup(directory, out);
}

enum rs_status
version_find(const char *model, uint64_t *number, char **directory)
{
	char *real, *found = NULL;

	RS_TRY(real_directory(model, &real));
	const enum rs_status status = find_in(real, number, &found);
	free(real);
	if (status == RS_OK && directory != NULL)
		*directory = found;
	else
		free(found);
	return status;
}

/* Compares all of a file with MANIFEST; *path is the caller's. */
static enum rs_status
check_file(const struct version *v, const char *directory, const char *name, char **path)
{
	const struct manifest_file *f = NULL;
	struct file_map map;

	for (size_t i = 0; i < v->manifest.n_files; i++)
		if (strcmp(v->manifest.file[i].name, name) == 0)
			f = &v->manifest.file[i];
	if (f == NULL)
		return rs_fail_at(RS_EDATA, directory, 0, 0,
			"damaged: MANIFEST has no file '%s'", name);
	RS_TRY(file_join(directory, name, path));
	RS_TRY(file_map_open(&map, *path));
	enum rs_status status = manifest_check_size(f, &map, *path);
	for (size_t i = 0; status == RS_OK && i < f->n_crc; i++)
		status = manifest_check_block(f, i, &map, *path);
	file_map_close(&map);
	return status;
}

static enum rs_status
open_spec(struct version *v, const char *directory)
{
	char *path = NULL, *text = NULL;
	size_t n;

	enum rs_status status = check_file(v, directory, "spec.ini", &path);
	if (status == RS_OK)
		status = file_read(path, SPEC_LIMIT, &text, &n);
	if (status == RS_OK)
		status = spec_load_text(text, path, &v->model.spec);
	free(text);
	free(path);
	return status;
}

/* Floats to leave before the parameters, so that the largest matrix begins a cache line. */
static size_t
align_param(const struct graph *g)
{
	size_t largest = 0, offset = 0;

	for (size_t i = 0; i < graph_n_params(g); i++) {
		const struct graph_param *const p = graph_param(g, i);

		if (p->rows * p->columns > largest) {
			largest = p->rows * p->columns;
			offset = p->offset;
		}
	}
	return (LINE - offset % LINE) % LINE;
}

static enum rs_status
open_dense(struct version *v, const char *directory)
{
	struct model *const m = &v->model;
	char *path = NULL;

	m->P = graph_param_size(m->graph);
	RS_TRY(memory_alloc(m->P + LINE, sizeof *v->param_block, &v->param_block));
	m->param = v->param_block + align_param(m->graph);
	enum rs_status status = check_file(v, directory, "dense.bin", &path);
	if (status == RS_OK)
		status = dense_file_load(m, path, 0, NULL);
	free(path);
	return status;
}

static enum rs_status
open_parts(struct version *v, const char *directory)
{
	struct model *const m = &v->model;

	RS_TRY(manifest_read(&v->manifest, directory));
	v->number = v->manifest.version;
	if (v->manifest.kind == MANIFEST_DELTA) {
		(void)rs_fail_at(RS_EDATA, directory, 0, 0, "a delta of v%06" PRIu64
			", wanted a whole version", v->manifest.parent);
		return rs_hint("recsys-train gc MODEL --compact makes the current version whole");
	}
	RS_TRY(open_spec(v, directory));
	RS_TRY(kernel_select("auto", &m->kernel));
	RS_TRY(schema_build(spec_settings(m->spec), &m->schema));
	RS_TRY(model_build_graph(m));
	RS_TRY(open_dense(v, directory));
	m->n_tables = graph_n_tables(m->graph);
	RS_TRY(memory_alloc(m->n_tables + 1, sizeof *m->table, &m->table));
	for (size_t i = 0; i < m->n_tables; i++)
		RS_TRY(model_describe_table(m, i, &m->table[i]));
	RS_TRY(stacked_open(m->table, m->n_tables, 1, graph_n_inputs(m->graph), &m->stacked));
	return mapped_open(directory, &v->manifest, m, &m->lookup);
}

enum rs_status
version_open(const char *directory, struct version **out)
{
	struct version *v;

	*out = NULL;
	RS_TRY(memory_alloc(1, sizeof *v, &v));
	atomic_init(&v->n_references, 1);
	const enum rs_status status = open_parts(v, directory);
	if (status != RS_OK) {
		version_drop(v);
		return status;
	}
	*out = v;
	return RS_OK;
}

void
version_hold(struct version *v)
{
	atomic_fetch_add_explicit(&v->n_references, 1, memory_order_relaxed);
}

void
version_drop(struct version *v)
{
	struct model *m;

	if (v == NULL || atomic_fetch_sub_explicit(&v->n_references, 1, memory_order_acq_rel) > 1)
		return;
	m = &v->model;
	if (m->lookup != NULL)
		m->lookup->ops->close(m->lookup);
	if (m->graph != NULL)
		graph_destroy(m->graph);
	stacked_close(m->stacked);
	free(m->table);
	free(v->param_block);
	schema_free(&m->schema);
	spec_free(m->spec);
	manifest_free(&v->manifest);
	free(v);
}
