/* A program as an ONNX file. */
#include "export/onnx.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "config.h"
#include "export/onnx.pb-c.h"
#include "export/table_rows.h"

#define IR_VERSION  8
#define OPSET       17
#define DATA_ALIGN  4096
#define MESSAGE_MAX ((size_t)0x7fffffff)

enum { ONNX_FLOAT = 1, ONNX_INT64 = 7, ONNX_BOOL = 9 };
enum { ATTRIBUTE_INT = 2, ATTRIBUTE_INTS = 7 };

/* --- memory: everything lives until the file is written ---------------------------------- */

struct writer {
	const struct program *p;
	const struct onnx_options *options;
	const char *path;
	Onnx__Graph graph;
	Onnx__Model model;
	void **owned;              /* [n_owned]                                       */
	size_t n_owned, capacity;
	struct file_writer data;   /* of the side file                                */
	uint32_t data_crc;
	char **name;               /* [p->n] of values in the file                    */
	int has_data;
	int out_of_memory;
};

static void *
keep(struct writer *w, void *block)
{
	if (block != NULL && w->n_owned == w->capacity) {
		const size_t capacity = w->capacity == 0 ? 1024 : 2 * w->capacity;
		void **const grown = realloc(w->owned, capacity * sizeof *grown);

		if (grown == NULL) {
			free(block);
			block = NULL;
		} else {
			w->owned = grown;
			w->capacity = capacity;
		}
	}
	if (block == NULL)
		w->out_of_memory = 1;
	else
		w->owned[w->n_owned++] = block;
	return block;
}

static void *
make(struct writer *w, size_t size)
{
	return keep(w, calloc(1, size));
}

static char *
text(struct writer *w, const char *format, ...)
{
	static char empty[1];
	va_list list;
	char *out;

	va_start(list, format);
	if (vasprintf(&out, format, list) < 0)
		out = NULL;
	va_end(list);
	return keep(w, out) != NULL ? out : empty;
}

/* Grows an array of pointers that keep() owns, 16 at a time. */
static void
add_pointer(struct writer *w, void *array, size_t *n, void *item)
{
	void ***const at = array;

	if (*n % 16 == 0) {
		void **const grown = make(w, (*n + 16) * sizeof *grown);

		if (grown == NULL)
			return;
		if (*n > 0)
			memcpy(grown, *at, *n * sizeof *grown);
		*at = grown;
	}
	(*at)[(*n)++] = item;
}

/* --- tensors ---------------------------------------- */

static Onnx__Tensor *
add_tensor(struct writer *w, const char *name, int type, const int64_t *dim, size_t rank)
{
	Onnx__Tensor *const t = make(w, sizeof *t);

	if (t == NULL)
		return NULL;
	onnx__tensor__init(t);
	t->name = text(w, "%s", name);
	t->has_data_type = 1;
	t->data_type = type;
	t->n_dims = rank;
	t->dims = make(w, (rank + 1) * sizeof *t->dims);
	if (t->dims != NULL && rank > 0)
		memcpy(t->dims, dim, rank * sizeof *dim);
	add_pointer(w, &w->graph.initializer, &w->graph.n_initializer, t);
	return t;
}

static void
set_raw(Onnx__Tensor *t, const void *data, size_t n)
{
	if (t == NULL)
		return;
	t->has_raw_data = 1;
	t->raw_data.data = (uint8_t *)(uintptr_t)data;
	t->raw_data.len = n;
}

/* Whole numbers that a node takes; returns their name. */
static char *
numbers(struct writer *w, const int64_t *x, size_t n, int is_scalar)
{
	const int64_t dim[] = { (int64_t)n };
	char *const name = text(w, "/numbers.%zu", w->graph.n_initializer);
	int64_t *const copy = make(w, n * sizeof *copy);

	if (copy == NULL)
		return name;
	memcpy(copy, x, n * sizeof *copy);
	set_raw(add_tensor(w, name, ONNX_INT64, dim, is_scalar ? 0 : 1), copy, n * sizeof *copy);
	return name;
}

static void
add_pair(struct writer *w, void *array, size_t *n, const char *key, char *value)
{
	Onnx__Pair *const pair = make(w, sizeof *pair);

	if (pair == NULL)
		return;
	onnx__pair__init(pair);
	pair->key = text(w, "%s", key);
	pair->value = value;
	add_pointer(w, array, n, pair);
}

/* --- tables ---------------------------------------- */

static enum rs_status
put_data(struct writer *w, const void *bytes, size_t n)
{
	w->data_crc = hash_crc32c(w->data_crc, bytes, n);
	return file_writer_write(&w->data, bytes, n);
}

static enum rs_status
append_row(void *context, const float *row, size_t n)
{
	return put_data(context, row, n * sizeof *row);
}

static enum rs_status
align_data(struct writer *w)
{
	static const char zero[DATA_ALIGN];
	const size_t over = w->data.size % DATA_ALIGN;

	return over > 0 ? put_data(w, zero, DATA_ALIGN - over) : RS_OK;
}

static enum rs_status
add_external(struct writer *w, const struct program_value *v, Onnx__Tensor *t)
{
	const char *const slash = strrchr(w->path, '/');

	RS_TRY(align_data(w));
	const uint64_t offset = w->data.size;
	RS_TRY(table_rows(w->p->model, v->table, append_row, w));
	if (t == NULL)
		return RS_OK;
	t->has_data_location = 1;
	t->data_location = 1;
	add_pair(w, &t->external_data, &t->n_external_data, "location",
		text(w, "%s.data", slash != NULL ? slash + 1 : w->path));
	add_pair(w, &t->external_data, &t->n_external_data, "offset", text(w, "%" PRIu64, offset));
	add_pair(w, &t->external_data, &t->n_external_data, "length",
		text(w, "%" PRIu64, w->data.size - offset));
	return RS_OK;
}

static enum rs_status
copy_row(void *context, const float *row, size_t n)
{
	float **const at = context;

	memcpy(*at, row, n * sizeof *row);
	*at += n;
	return RS_OK;
}

static enum rs_status
add_table(struct writer *w, const struct program_value *v)
{
	Onnx__Tensor *const t = add_tensor(w, v->name, ONNX_FLOAT, v->dim, 2);
	const size_t n = (size_t)(v->dim[0] * v->dim[1]);

	if (w->has_data)
		return add_external(w, v, t);
	float *const data = make(w, n * sizeof *data);
	if (data == NULL)
		return RS_OK;
	float *at = data;
	RS_TRY(table_rows(w->p->model, v->table, copy_row, &at));
	set_raw(t, data, n * sizeof *data);
	return RS_OK;
}

/* --- nodes ---------------------------------------- */

/* How a value is made: its operator, and what it takes besides the inputs. */
enum extra { NO_EXTRA, AXIS_INPUT, AXIS_ATTRIBUTE, LAST_AXIS, FIRST_AXIS, ZERO_INPUT, SHAPE_INPUT,
	SLICE_INPUTS, INDEX_INPUT, SWAP_AXES, CAST_FLOAT };

static const struct onnx_row { const char *op; enum extra extra; } onnx_table[PROGRAM_N_OPS] = {
	[PROGRAM_gather] = { "Gather", FIRST_AXIS },
	[PROGRAM_add] = { "Add", NO_EXTRA }, [PROGRAM_sub] = { "Sub", NO_EXTRA },
	[PROGRAM_mul] = { "Mul", NO_EXTRA }, [PROGRAM_div] = { "Div", NO_EXTRA },
	[PROGRAM_max] = { "Max", NO_EXTRA }, [PROGRAM_min] = { "Min", NO_EXTRA },
	[PROGRAM_matmul] = { "MatMul", NO_EXTRA },
	[PROGRAM_transpose] = { "Transpose", SWAP_AXES },
	[PROGRAM_sum] = { "ReduceSum", AXIS_INPUT },
	[PROGRAM_most] = { "ReduceMax", AXIS_ATTRIBUTE },
	[PROGRAM_concat] = { "Concat", LAST_AXIS },
	[PROGRAM_reshape] = { "Reshape", SHAPE_INPUT },
	[PROGRAM_expand] = { "Unsqueeze", AXIS_INPUT },
	[PROGRAM_squeeze] = { "Squeeze", AXIS_INPUT },
	[PROGRAM_slice] = { "Slice", SLICE_INPUTS },
	[PROGRAM_pick] = { "Gather", INDEX_INPUT },
	[PROGRAM_sqrt] = { "Sqrt", NO_EXTRA }, [PROGRAM_exp] = { "Exp", NO_EXTRA },
	[PROGRAM_relu] = { "Relu", NO_EXTRA }, [PROGRAM_sigmoid] = { "Sigmoid", NO_EXTRA },
	[PROGRAM_tanh] = { "Tanh", NO_EXTRA }, [PROGRAM_erf] = { "Erf", NO_EXTRA },
	[PROGRAM_softmax] = { "Softmax", LAST_AXIS },
	[PROGRAM_known] = { "GreaterOrEqual", ZERO_INPUT },
	[PROGRAM_clamp] = { "Max", ZERO_INPUT },
	[PROGRAM_is_nan] = { "IsNaN", NO_EXTRA },
	[PROGRAM_where] = { "Where", NO_EXTRA },
	[PROGRAM_number] = { "Cast", CAST_FLOAT },
};

static char *
name_of(const struct writer *w, size_t value)
{
	static char none[1];

	return w->name != NULL && w->name[value] != NULL ? w->name[value] : none;
}

static void
make_names(struct writer *w)
{
	w->name = make(w, w->p->n * sizeof *w->name);
	for (size_t i = 1; w->name != NULL && i < w->p->n; i++) {
		const struct program_value *const v = &w->p->value[i];

		w->name[i] = v->name[0] != '\0' ? text(w, "%s", v->name)
			: text(w, "/%s.%zu", program_op_name(v->op), i);
	}
	for (size_t k = 0; w->name != NULL && k < w->p->n_outputs; k++)
		w->name[w->p->output[k].value] = text(w, "%s", w->p->output[k].name);
}

static void
add_attribute(struct writer *w, Onnx__Node *n, const char *name, const int64_t *x, size_t count)
{
	Onnx__Attribute *const a = make(w, sizeof *a);

	if (a == NULL)
		return;
	onnx__attribute__init(a);
	a->name = text(w, "%s", name);
	a->has_type = 1;
	a->type = count == 1 && strcmp(name, "axes") != 0 ? ATTRIBUTE_INT : ATTRIBUTE_INTS;
	a->has_i = a->type == ATTRIBUTE_INT;
	a->i = a->has_i ? x[0] : 0;
	if (!a->has_i) {
		a->ints = make(w, count * sizeof *a->ints);
		a->n_ints = a->ints != NULL ? count : 0;
		for (size_t i = 0; i < a->n_ints; i++)
			a->ints[i] = x[i];
	}
	add_pointer(w, &n->attribute, &n->n_attribute, a);
}

static void
add_input(struct writer *w, Onnx__Node *n, char *name)
{
	add_pointer(w, &n->input, &n->n_input, name);
}

/* 0 takes the size of the same axis of the input. */
static void
add_shape(struct writer *w, Onnx__Node *n, const struct program_value *v)
{
	int64_t dim[PROGRAM_RANK];

	for (size_t k = 0; k < v->rank; k++)
		dim[k] = v->dim[k] == PROGRAM_N ? 0 : v->dim[k];
	add_input(w, n, numbers(w, dim, v->rank, 0));
}

static void
add_extra(struct writer *w, Onnx__Node *n, const struct program_value *v, enum extra extra)
{
	const int64_t axis = (int64_t)v->axis, last = (int64_t)v->rank - 1, zero = 0;
	const int64_t begin = (int64_t)v->begin, end = (int64_t)v->end, to_float = ONNX_FLOAT;
	int64_t order[PROGRAM_RANK] = { 0, 1, 2, 3 };

	switch (extra) {
	case AXIS_INPUT:     add_input(w, n, numbers(w, &axis, 1, 0)); break;
	case AXIS_ATTRIBUTE: add_attribute(w, n, "axes", &axis, 1); break;
	case LAST_AXIS:      add_attribute(w, n, "axis", &last, 1); break;
	case FIRST_AXIS:     add_attribute(w, n, "axis", &zero, 1); break;
	case ZERO_INPUT:     add_input(w, n, numbers(w, &zero, 1, 1)); break;
	case SHAPE_INPUT:    add_shape(w, n, v); break;
	case CAST_FLOAT:     add_attribute(w, n, "to", &to_float, 1); break;
	case SLICE_INPUTS:
		add_input(w, n, numbers(w, &begin, 1, 0));
		add_input(w, n, numbers(w, &end, 1, 0));
		add_input(w, n, numbers(w, &last, 1, 0));
		break;
	case INDEX_INPUT:
		add_input(w, n, numbers(w, v->index, (size_t)v->dim[last], 0));
		add_attribute(w, n, "axis", &last, 1);
		break;
	case SWAP_AXES:
		order[last] = last - 1;
		order[last - 1] = last;
		add_attribute(w, n, "perm", order, v->rank);
		break;
	case NO_EXTRA:
		break;
	}
}

static void
add_node(struct writer *w, size_t value)
{
	const struct program_value *const v = &w->p->value[value];
	const struct onnx_row *const row = &onnx_table[v->op];
	Onnx__Node *const n = make(w, sizeof *n);

	if (n == NULL)
		return;
	onnx__node__init(n);
	n->op_type = text(w, "%s", row->op);
	n->name = text(w, "%s.%zu", program_op_name(v->op), value);
	for (size_t i = 0; i < v->n_inputs; i++)
		add_input(w, n, name_of(w, v->input[i]));
	add_extra(w, n, v, row->extra);
	add_pointer(w, &n->output, &n->n_output, name_of(w, value));
	add_pointer(w, &w->graph.node, &w->graph.n_node, n);
}

/* --- inputs, outputs ---------------------------------------- */

static void
add_dimension(struct writer *w, Onnx__Shape *shape, int64_t dim)
{
	Onnx__Dimension *const d = make(w, sizeof *d);

	if (d == NULL)
		return;
	onnx__dimension__init(d);
	d->value_case = dim < 0 ? ONNX__DIMENSION__VALUE_DIM_PARAM
		: ONNX__DIMENSION__VALUE_DIM_VALUE;
	if (dim >= 0)
		d->dim_value = dim;
	else
		d->dim_param = dim == PROGRAM_N ? text(w, "N") : text(w, "L_%s",
			w->p->model->schema.field[-2 - dim].name);
	add_pointer(w, &shape->dim, &shape->n_dim, d);
}

static void
add_value(struct writer *w, size_t value, void *array, size_t *n)
{
	static const int type[] = { [PROGRAM_FLOAT] = ONNX_FLOAT, [PROGRAM_INT64] = ONNX_INT64,
		[PROGRAM_BOOL] = ONNX_BOOL };
	const struct program_value *const v = &w->p->value[value];
	Onnx__ValueInfo *const info = make(w, sizeof *info);
	Onnx__Type *const t = make(w, sizeof *t);
	Onnx__TensorType *const tensor = make(w, sizeof *tensor);
	Onnx__Shape *const shape = make(w, sizeof *shape);

	if (w->out_of_memory)
		return;
	onnx__value_info__init(info);
	onnx__type__init(t);
	onnx__tensor_type__init(tensor);
	onnx__shape__init(shape);
	info->name = name_of(w, value);
	info->type = t;
	t->tensor_type = tensor;
	tensor->has_elem_type = 1;
	tensor->elem_type = type[v->type];
	tensor->shape = shape;
	for (size_t k = 0; k < v->rank; k++)
		add_dimension(w, shape, v->dim[k]);
	add_pointer(w, array, n, info);
}

/* --- the file ---------------------------------------- */

static enum rs_status
add_values(struct writer *w)
{
	for (size_t i = 1; i < w->p->n; i++) {
		const struct program_value *const v = &w->p->value[i];

		if (v->op == PROGRAM_table)
			RS_TRY(add_table(w, v));
		else if (v->op == PROGRAM_constant)
			set_raw(add_tensor(w, v->name, ONNX_FLOAT, v->dim, v->rank), v->data,
				sizeof(float) * program_value_size(v));
		else if (v->op == PROGRAM_input)
			add_value(w, i, &w->graph.input, &w->graph.n_input);
		else
			add_node(w, i);
	}
	for (size_t k = 0; k < w->p->n_outputs; k++)
		add_value(w, w->p->output[k].value, &w->graph.output, &w->graph.n_output);
	return RS_OK;
}

static void
add_head(struct writer *w)
{
	Onnx__OperatorSet *const set = make(w, sizeof *set);

	w->graph.name = text(w, "%s", w->p->model->schema.settings->model.type);
	w->model.has_ir_version = 1;
	w->model.ir_version = IR_VERSION;
	w->model.producer_name = text(w, "recsys-train");
	w->model.producer_version = text(w, "%s", PACKAGE_VERSION);
	w->model.graph = &w->graph;
	if (set == NULL)
		return;
	onnx__operator_set__init(set);
	set->has_version = 1;
	set->version = OPSET;
	add_pointer(w, &w->model.opset_import, &w->model.n_opset_import, set);
	for (size_t i = 0; i < w->options->n_properties; i++)
		add_pair(w, &w->model.metadata_props, &w->model.n_metadata_props,
			w->options->property[i].key, text(w, "%s", w->options->property[i].value));
	if (!w->has_data)
		return;
	add_pair(w, &w->model.metadata_props, &w->model.n_metadata_props, ONNX_DATA_BYTES,
		text(w, "%" PRIu64, w->data.size));
	add_pair(w, &w->model.metadata_props, &w->model.n_metadata_props, ONNX_DATA_CRC,
		text(w, "%08" PRIx32, w->data_crc));
}

struct stream {
	ProtobufCBuffer base;
	struct file_writer *out;
	uint32_t crc;
	enum rs_status status;
};

static void
append_stream(ProtobufCBuffer *buffer, size_t n, const uint8_t *bytes)
{
	struct stream *const s = (struct stream *)buffer;

	s->crc = hash_crc32c(s->crc, bytes, n);
	if (s->status == RS_OK)
		s->status = file_writer_write(s->out, bytes, n);
}

static enum rs_status
fail_size(const struct writer *w)
{
	rs_fail(RS_ECREATE, "'%s' would be larger than 2 GiB, the limit of the format", w->path);
	return rs_hint("leave tables outside: --inline-bytes");
}

/* Before any work: tables and constants alone. */
static enum rs_status
check_size(const struct writer *w)
{
	const uint64_t bytes = program_bytes(w->p, PROGRAM_constant)
		+ (w->has_data ? 0 : program_bytes(w->p, PROGRAM_table));

	return bytes > MESSAGE_MAX ? fail_size(w) : RS_OK;
}

/* An input that has the name of something else in the file would be mistaken for it. */
static enum rs_status
check_names(const struct writer *w)
{
	for (size_t i = 0; i < w->p->n_features; i++)
		for (size_t k = 1; k < w->p->n; k++) {
			const char *const name = w->p->feature[i].name;

			if (w->p->feature[i].value != k && strcmp(name, name_of(w, k)) == 0)
				return rs_fail(RS_ESPEC, "export: field '%s' has the name of "
					"another part of the file", name);
		}
	return RS_OK;
}

static enum rs_status
write_message(struct writer *w)
{
	struct file_writer out;
	struct stream stream = { .base = { append_stream }, .out = &out };
	char tail[ONNX_TAIL + 1];

	if (protobuf_c_message_get_packed_size(&w->model.base) + ONNX_TAIL > MESSAGE_MAX)
		return fail_size(w);
	RS_TRY(file_writer_open(&out, w->path));
	protobuf_c_message_pack_to_buffer(&w->model.base, &stream.base);
	enum rs_status status = stream.status;
	if (status == RS_OK) {
		onnx_tail(stream.crc, tail);
		status = file_writer_write(&out, tail, ONNX_TAIL);
	}
	if (status == RS_OK)
		status = file_writer_commit(&out);
	file_writer_close(&out);
	return status;
}

static enum rs_status
write_file(struct writer *w)
{
	make_names(w);
	RS_TRY(check_names(w));
	RS_TRY(check_size(w));
	RS_TRY(add_values(w));
	add_head(w);
	if (w->out_of_memory)
		return rs_fail(RS_ERESOURCE, "out of memory for '%s'", w->path);
	if (w->has_data)
		RS_TRY(file_writer_commit(&w->data));
	return write_message(w);
}

static enum rs_status
open_data(struct writer *w)
{
	char *path;

	w->has_data = program_bytes(w->p, PROGRAM_table) > w->options->inline_bytes;
	if (!w->has_data)
		return RS_OK;
	if (asprintf(&path, "%s.data", w->path) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	const enum rs_status status = file_writer_open(&w->data, path);
	free(path);
	w->has_data = status == RS_OK;
	return status;
}

enum rs_status
onnx_write(const struct program *p, const char *path, const struct onnx_options *options,
	int *has_data)
{
	struct writer w = { .p = p, .options = options, .path = path };

	onnx__graph__init(&w.graph);
	onnx__model__init(&w.model);
	enum rs_status status = open_data(&w);
	if (status == RS_OK)
		status = write_file(&w);
	*has_data = w.has_data;
	if (w.has_data)
		file_writer_close(&w.data);
	for (size_t i = 0; i < w.n_owned; i++)
		free(w.owned[i]);
	free(w.owned);
	return status;
}
