/* An ONNX file read back as a program: only what onnx.c writes is understood. */
#include "export/onnx_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX ((size_t)1 << 16)

enum rs_status
onnx_file_fail(const struct onnx_file *f, const char *what, const char *name)
{
	return rs_fail(RS_EDATA, "'%s': %s '%s'", f->path, what, name != NULL ? name : "");
}

/* --- names ---------------------------------------- */

static const Onnx__Tensor *
find_tensor(const struct onnx_file *f, const char *name, size_t *index)
{
	const Onnx__Graph *const g = f->model->graph;

	for (size_t i = 0; i < g->n_initializer; i++) {
		if (strcmp(g->initializer[i]->name, name) != 0)
			continue;
		*index = i;
		return g->initializer[i];
	}
	return NULL;
}

size_t
onnx_file_value(const struct onnx_file *f, const char *name)
{
	for (size_t i = 1; i < f->program->n; i++)
		if (strcmp(f->program->value[i].name, name) == 0)
			return i;
	return 0;
}

/* --- tensors ---------------------------------------- */

static size_t
tensor_size(const Onnx__Tensor *t)
{
	size_t n = 1;

	for (size_t k = 0; k < t->n_dims; k++)
		if (t->dims[k] < 1 || t->dims[k] > ONNX_FILE_DIM_MAX || size_mul(n,
			(size_t)t->dims[k], &n) != RS_OK)
			return SIZE_MAX;
	return n;
}

/* The floats of a tensor, in the file or beside it. */
static enum rs_status
tensor_floats(const struct onnx_file *f, const Onnx__Tensor *t, const float **out)
{
	const size_t n = tensor_size(t);
	size_t bytes;

	if (t->data_type != ONNX_FLOAT || size_mul(n, sizeof **out, &bytes) != RS_OK)
		return onnx_file_fail(f, "no floats in", t->name);
	if (!t->has_data_location || t->data_location == 0) {
		*out = (const float *)(const void *)t->raw_data.data;
		return t->raw_data.len == bytes ? RS_OK : onnx_file_fail(f, "another size of",
			t->name);
	}
	const uint64_t offset = onnx_sum_number(t->external_data, t->n_external_data, "offset");
	const uint64_t length = onnx_sum_number(t->external_data, t->n_external_data, "length");
	if (length != bytes || offset % sizeof **out != 0 || offset > f->data.size
	    || length > f->data.size - offset)
		return onnx_file_fail(f, "the file of data is too short for", t->name);
	*out = (const float *)(const void *)(f->data.data + offset);
	return RS_OK;
}

enum rs_status
onnx_file_numbers(const struct onnx_file *f, const char *name, const int64_t **out, size_t *n)
{
	size_t index;
	const Onnx__Tensor *const t = find_tensor(f, name, &index);

	if (t == NULL || t->data_type != ONNX_INT64)
		return onnx_file_fail(f, "no whole numbers", name);
	*n = tensor_size(t);
	*out = (const int64_t *)(const void *)t->raw_data.data;
	return *n <= t->raw_data.len && t->raw_data.len == *n * sizeof **out ? RS_OK
		: onnx_file_fail(f, "another size of", name);
}

static enum rs_status
add_tensor(struct onnx_file *f, size_t i)
{
	const Onnx__Tensor *const t = f->model->graph->initializer[i];
	const int is_table = t->name != NULL && strncmp(t->name, "table.", 6) == 0;
	const float *data = NULL;

	if (t->name == NULL || t->data_type == ONNX_INT64)
		return t->name == NULL ? onnx_file_fail(f, "a tensor without a name", NULL) : RS_OK;
	if (t->n_dims > PROGRAM_RANK || (is_table && t->n_dims != 2))
		return onnx_file_fail(f, "too many axes of", t->name);
	if (onnx_file_value(f, t->name) != 0)
		return onnx_file_fail(f, "two values with the name", t->name);
	RS_TRY(tensor_floats(f, t, &data));
	const size_t v = program_leaf(f->program, is_table ? PROGRAM_table : PROGRAM_constant,
		PROGRAM_FLOAT, t->name, t->dims, t->n_dims);
	if (v == 0)
		return rs_failure_put(&f->program->failure);
	f->program->value[v].data = data;
	f->program->value[v].table = i;
	f->table[i] = is_table ? data : NULL;
	return RS_OK;
}

/* --- inputs ---------------------------------------- */

static enum rs_status
length_of(struct onnx_file *f, char *name, int64_t *out)
{
	for (size_t i = 0; i < f->n_lengths; i++)
		if (strcmp(f->length[i], name) == 0) {
			*out = PROGRAM_L(i);
			return RS_OK;
		}
	char **const grown = realloc(f->length, (f->n_lengths + 1) * sizeof *grown);
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	f->length = grown;
	f->length[f->n_lengths] = name;
	*out = PROGRAM_L(f->n_lengths++);
	return RS_OK;
}

static enum rs_status
add_feature(struct program *p, size_t value)
{
	const struct program_value *const v = &p->value[value];
	struct program_feature *const grown = realloc(p->feature,
		(p->n_features + 1) * sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	p->feature = grown;
	p->feature[p->n_features] = (struct program_feature){ .value = value,
		.kind = v->type == PROGRAM_INT64 ? (v->rank == 2 ? PROGRAM_BAG : PROGRAM_ID)
			: v->rank == 2 ? PROGRAM_WEIGHT : PROGRAM_VALUE };
	snprintf(p->feature[p->n_features].name, sizeof p->feature->name, "%s", v->name);
	p->value[value].feature = p->n_features++;
	return RS_OK;
}

static enum rs_status
add_input(struct onnx_file *f, const Onnx__ValueInfo *info)
{
	const Onnx__TensorType *const t = info->type != NULL ? info->type->tensor_type : NULL;
	int64_t dim[PROGRAM_RANK] = { 0 };

	if (info->name == NULL || t == NULL || t->shape == NULL || t->shape->n_dim > PROGRAM_RANK)
		return onnx_file_fail(f, "no shape of", info->name);
	if (t->shape->n_dim < 1 || t->shape->n_dim > 2 || onnx_file_value(f, info->name) != 0
	    || (t->elem_type != ONNX_INT64 && t->elem_type != ONNX_FLOAT))
		return onnx_file_fail(f, "another form of input than this program writes:",
			info->name);
	for (size_t k = 0; k < t->shape->n_dim; k++) {
		const Onnx__Dimension *const d = t->shape->dim[k];

		if (d->value_case != ONNX__DIMENSION__VALUE_DIM_PARAM)
			return onnx_file_fail(f, "an axis that is not free in", info->name);
		if ((strcmp(d->dim_param, "N") == 0) != (k == 0))
			return onnx_file_fail(f, "another form of input than this program writes:",
				info->name);
		if (k == 0)
			dim[k] = PROGRAM_N;
		else
			RS_TRY(length_of(f, d->dim_param, &dim[k]));
	}
	const size_t v = program_leaf(f->program, PROGRAM_input,
		t->elem_type == ONNX_INT64 ? PROGRAM_INT64 : PROGRAM_FLOAT, info->name, dim,
		t->shape->n_dim);
	return v != 0 ? add_feature(f->program, v) : rs_failure_put(&f->program->failure);
}

/* --- the file ---------------------------------------- */

static enum rs_status
add_outputs(struct onnx_file *f)
{
	struct program *const p = f->program;
	const Onnx__Graph *const g = f->model->graph;

	for (size_t k = 0; k < g->n_output; k++) {
		const size_t value = g->output[k]->name != NULL
			? onnx_file_value(f, g->output[k]->name) : 0;

		if (value == 0 || p->value[value].op == PROGRAM_table
			|| k >= sizeof p->output / sizeof *p->output)
			return onnx_file_fail(f, "no such output:", g->output[k]->name);
		snprintf(p->output[k].name, sizeof p->output[k].name, "%s", g->output[k]->name);
		p->output[k].value = value;
		p->n_outputs = k + 1;
	}
	return p->n_outputs > 0 ? RS_OK : onnx_file_fail(f, "no output", NULL);
}

/* Where the tables lie, NULL: inside. */
static const Onnx__Tensor *
find_external(const Onnx__Graph *g)
{
	for (size_t i = 0; i < g->n_initializer; i++)
		if (g->initializer[i]->has_data_location && g->initializer[i]->data_location == 1)
			return g->initializer[i];
	return NULL;
}

/* A file beside this one, whatever its name. */
static enum rs_status
open_data(struct onnx_file *f)
{
	const Onnx__Tensor *const t = find_external(f->model->graph);
	const char *const slash = strrchr(f->path, '/');
	char *path;

	if (t == NULL)
		return RS_OK;
	const char *const name = onnx_sum_pair(t->external_data, t->n_external_data, "location");
	if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL)
		return onnx_file_fail(f, "no file beside it:", name);
	if (asprintf(&path, "%.*s%s", slash != NULL ? (int)(slash - f->path) + 1 : 0, f->path,
	    name) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	enum rs_status status = file_map_open(&f->data, path);
	if (status == RS_OK)
		status = onnx_sum_check_data(f, path);
	free(path);
	return status;
}

static enum rs_status
check_head(const struct onnx_file *f)
{
	const Onnx__Model *const m = f->model;

	if (m->graph == NULL)
		return onnx_file_fail(f, "no graph", NULL);
	if (m->n_opset_import != 1 || m->opset_import[0]->version != 17
	    || (m->opset_import[0]->domain != NULL && m->opset_import[0]->domain[0] != '\0'))
		return onnx_file_fail(f, "another set of operators than", "17");
	if (m->graph->n_node + m->graph->n_initializer + m->graph->n_input > VALUES_MAX)
		return onnx_file_fail(f, "too many values", NULL);
	return RS_OK;
}

static enum rs_status
read_graph(struct onnx_file *f)
{
	const Onnx__Graph *const g = f->model->graph;

	RS_TRY(check_head(f));
	RS_TRY(open_data(f));
	RS_TRY(memory_alloc(g->n_initializer + 1, sizeof *f->table, &f->table));
	for (size_t i = 0; i < g->n_initializer; i++)
		RS_TRY(add_tensor(f, i));
	for (size_t i = 0; i < g->n_input; i++)
		RS_TRY(add_input(f, g->input[i]));
	for (size_t i = 0; i < g->n_node; i++)
		RS_TRY(onnx_nodes_add(f, g->node[i]));
	return add_outputs(f);
}

static enum rs_status
read_file(struct onnx_file *f)
{
	RS_TRY(memory_alloc(1, sizeof *f->program, &f->program));
	RS_TRY(file_map_open(&f->map, f->path));
	RS_TRY(onnx_sum_check(f));
	f->model = onnx__model__unpack(NULL, f->map.size, (const uint8_t *)f->map.data);
	if (f->model == NULL)
		return rs_fail(RS_EDATA, "'%s' is no ONNX file", f->path);
	return read_graph(f);
}

enum rs_status
onnx_read(const char *path, struct onnx_file **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	(*out)->path = path;
	const enum rs_status status = read_file(*out);
	if (status != RS_OK) {
		onnx_close(*out);
		*out = NULL;
	}
	return status;
}

void
onnx_close(struct onnx_file *f)
{
	if (f == NULL)
		return;
	program_free(f->program);
	if (f->model != NULL)
		onnx__model__free_unpacked(f->model, NULL);
	file_map_close(&f->data);
	file_map_close(&f->map);
	free(f->table);
	free(f->length);
	free(f);
}

const struct program *
onnx_program(const struct onnx_file *f)
{
	return f->program;
}

const float *
onnx_row(void *context, size_t table, uint64_t id)
{
	const struct onnx_file *const f = context;
	const Onnx__Tensor *const t = f->model->graph->initializer[table];

	return id < (uint64_t)t->dims[0] ? f->table[table] + id * (uint64_t)t->dims[1] : NULL;
}
