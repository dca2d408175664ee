/* Programs as the graph of a SavedModel. */
#include "export/savedmodel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "export/inputs_json.h"
#include "export/savedmodel_private.h"
#include "export/sums.h"
#include "export/table_rows.h"

#define PRODUCER     27
#define MIN_CONSUMER 12
#define MESSAGE_MAX  ((size_t)0x7fffffff)

/* --- tables ---------------------------------------- */

static uint64_t
table_bytes(const struct savedmodel_signature *signature, size_t n)
{
	const struct model *const m = signature[0].program->model;
	uint64_t bytes = 0;

	for (size_t t = 0; t < m->n_tables; t++)
		for (size_t i = 0, found = 0; i < n && !found; i++)
			for (size_t v = 1; v < signature[i].program->n && !found; v++) {
				const struct program_value *const x
					= &signature[i].program->value[v];

				found = x->op == PROGRAM_table && x->table == t;
				if (found)
					bytes += (uint64_t)x->dim[0] * (uint64_t)x->dim[1]
						* sizeof(float);
			}
	return bytes;
}

struct inline_rows { float *at; };

static enum rs_status
copy_row(void *context, const float *row, size_t n)
{
	struct inline_rows *const rows = context;

	memcpy(rows->at, row, n * sizeof *row);
	rows->at += n;
	return RS_OK;
}

static enum rs_status
constant_table(struct savedmodel_writer *w, const struct program_value *v, char *name)
{
	struct inline_rows rows;
	float *const data = tf_graph_make(&w->g, sizeof *data * program_value_size(v));

	if (data == NULL)
		return RS_OK;
	rows.at = data;
	RS_TRY(table_rows(w->model, v->table, copy_row, &rows));
	(void)tf_graph_const(&w->g, name, TF_FLOAT, v->dim, v->rank, data);
	return RS_OK;
}

static enum rs_status
add_table(struct savedmodel_writer *w, const struct program_value *v)
{
	if (w->table[v->table] != NULL)
		return RS_OK;
	char *const name = tf_graph_name(&w->g, "table/%zu/%s", v->table,
		v->name + strlen("table."));
	w->table[v->table] = name;
	if (!w->has_variables)
		return constant_table(w, v, name);
	savedmodel_variable(w, v, name);
	return RS_OK;
}

/* --- nodes ---------------------------------------- */

/* How a value is made: its operator, what it takes besides the inputs. */
enum extra { NO_EXTRA, AXIS_KEPT, AXIS, AXIS_LIST, COLUMNS, SHAPE, RANGE, INDEX, SWAPPED, ROWS,
	PRODUCT, ZERO, FROM_TO };

static const struct tf_row { const char *op; enum extra extra; } tf_table[PROGRAM_N_OPS] = {
	[PROGRAM_gather] = { "GatherV2", ROWS },
	[PROGRAM_add] = { "AddV2", NO_EXTRA }, [PROGRAM_sub] = { "Sub", NO_EXTRA },
	[PROGRAM_mul] = { "Mul", NO_EXTRA }, [PROGRAM_div] = { "RealDiv", NO_EXTRA },
	[PROGRAM_max] = { "Maximum", NO_EXTRA }, [PROGRAM_min] = { "Minimum", NO_EXTRA },
	[PROGRAM_matmul] = { "MatMul", PRODUCT },
	[PROGRAM_transpose] = { "Transpose", SWAPPED },
	[PROGRAM_sum] = { "Sum", AXIS_KEPT },
	[PROGRAM_most] = { "Max", AXIS_KEPT },
	[PROGRAM_concat] = { "ConcatV2", COLUMNS },
	[PROGRAM_reshape] = { "Reshape", SHAPE },
	[PROGRAM_expand] = { "ExpandDims", AXIS },
	[PROGRAM_squeeze] = { "Squeeze", AXIS_LIST },
	[PROGRAM_slice] = { "Slice", RANGE },
	[PROGRAM_pick] = { "GatherV2", INDEX },
	[PROGRAM_sqrt] = { "Sqrt", NO_EXTRA }, [PROGRAM_exp] = { "Exp", NO_EXTRA },
	[PROGRAM_relu] = { "Relu", NO_EXTRA }, [PROGRAM_sigmoid] = { "Sigmoid", NO_EXTRA },
	[PROGRAM_tanh] = { "Tanh", NO_EXTRA }, [PROGRAM_erf] = { "Erf", NO_EXTRA },
	[PROGRAM_softmax] = { "Softmax", NO_EXTRA },
	[PROGRAM_known] = { "GreaterEqual", ZERO },
	[PROGRAM_clamp] = { "Maximum", ZERO },
	[PROGRAM_is_nan] = { "IsNan", NO_EXTRA },
	[PROGRAM_where] = { "SelectV2", NO_EXTRA },
	[PROGRAM_number] = { "Cast", FROM_TO },
};

static const int type_table[] = { [PROGRAM_FLOAT] = TF_FLOAT, [PROGRAM_INT64] = TF_INT64,
	[PROGRAM_BOOL] = TF_BOOL };

/* Of a value that a node takes: of the last of `where`, since the first is the condition. */
static int
input_type(const struct savedmodel_writer *w, const struct program_value *v)
{
	return type_table[w->p->value[v->input[v->n_inputs - 1]].type];
}

static void
take_number(struct savedmodel_writer *w, Tf__Node *n, int64_t x)
{
	tf_graph_input(&w->g, n, tf_graph_int32(&w->g, &x, 1, 1));
}

static void
take_numbers(struct savedmodel_writer *w, Tf__Node *n, const int64_t *x, size_t count)
{
	tf_graph_input(&w->g, n, tf_graph_int32(&w->g, x, count, 0));
}

static void
take_axis_list(struct savedmodel_writer *w, Tf__Node *n, size_t axis)
{
	Tf__List *const list = tf_graph_make(&w->g, sizeof *list);
	int64_t *const x = tf_graph_make(&w->g, sizeof *x);

	if (list == NULL || x == NULL)
		return;
	tf__list__init(list);
	*x = (int64_t)axis;
	list->i = x;
	list->n_i = 1;
	Tf__Attr *const a = tf_graph_attr(&w->g, n, "squeeze_dims");
	a->value_case = TF__ATTR__VALUE_LIST;
	a->list = list;
}

static void
take_shape(struct savedmodel_writer *w, Tf__Node *n, const struct program_value *v)
{
	int64_t dim[PROGRAM_RANK];

	for (size_t k = 0; k < v->rank; k++)
		dim[k] = v->dim[k] == PROGRAM_N ? -1 : v->dim[k];
	take_numbers(w, n, dim, v->rank);
}

/* Columns [begin,end) of the last axis; -1 takes all. */
static void
take_range(struct savedmodel_writer *w, Tf__Node *n, const struct program_value *v)
{
	int64_t begin[PROGRAM_RANK] = { 0 }, size[PROGRAM_RANK];

	for (size_t k = 0; k < v->rank; k++)
		size[k] = -1;
	begin[v->rank - 1] = (int64_t)v->begin;
	size[v->rank - 1] = (int64_t)(v->end - v->begin);
	take_numbers(w, n, begin, v->rank);
	take_numbers(w, n, size, v->rank);
	tf_graph_type(&w->g, n, "Index", TF_INT32);
}

static void
take_index(struct savedmodel_writer *w, Tf__Node *n, const struct program_value *v)
{
	take_numbers(w, n, v->index, (size_t)v->dim[v->rank - 1]);
	take_number(w, n, (int64_t)v->rank - 1);
	tf_graph_type(&w->g, n, "Tparams", input_type(w, v));
	tf_graph_type(&w->g, n, "Tindices", TF_INT32);
	tf_graph_type(&w->g, n, "Taxis", TF_INT32);
}

static void
take_swapped(struct savedmodel_writer *w, Tf__Node *n, const struct program_value *v)
{
	int64_t order[PROGRAM_RANK] = { 0, 1, 2, 3 };

	order[v->rank - 1] = (int64_t)v->rank - 2;
	order[v->rank - 2] = (int64_t)v->rank - 1;
	take_numbers(w, n, order, v->rank);
}

static void
take_rows(struct savedmodel_writer *w, Tf__Node *n)
{
	if (w->has_variables) {
		n->op = tf_graph_text(&w->g, "ResourceGather");
		tf_graph_type(&w->g, n, "dtype", TF_FLOAT);
	} else {
		take_number(w, n, 0);
		tf_graph_type(&w->g, n, "Tparams", TF_FLOAT);
		tf_graph_type(&w->g, n, "Taxis", TF_INT32);
	}
	tf_graph_type(&w->g, n, "Tindices", TF_INT64);
}

static void
take_zero(struct savedmodel_writer *w, Tf__Node *n)
{
	tf_graph_input(&w->g, n, tf_graph_scalar(&w->g, TF_INT64, 0));
}

static void
add_extra(struct savedmodel_writer *w, Tf__Node *n, const struct program_value *v, enum extra extra)
{
	const int64_t last = (int64_t)v->rank - 1;

	if (extra != ROWS && extra != INDEX && extra != FROM_TO && v->op != PROGRAM_is_nan)
		tf_graph_type(&w->g, n, "T", input_type(w, v));
	switch (extra) {
	case AXIS_KEPT:
		take_numbers(w, n, (const int64_t []){ (int64_t)v->axis }, 1);
		tf_graph_bool(&w->g, n, "keep_dims", 1);
		break;
	case COLUMNS:
		take_number(w, n, last);
		tf_graph_int(&w->g, n, "N", (int64_t)v->n_inputs);
		break;
	case PRODUCT:
		if (v->rank > 2)
			n->op = tf_graph_text(&w->g, "BatchMatMulV2");
		break;
	case FROM_TO:
		tf_graph_type(&w->g, n, "SrcT", input_type(w, v));
		tf_graph_type(&w->g, n, "DstT", TF_FLOAT);
		break;
	case AXIS:      take_number(w, n, (int64_t)v->axis); break;
	case AXIS_LIST: take_axis_list(w, n, v->axis); break;
	case SHAPE:     take_shape(w, n, v); break;
	case RANGE:     take_range(w, n, v); break;
	case INDEX:     take_index(w, n, v); break;
	case SWAPPED:   take_swapped(w, n, v); break;
	case ROWS:      take_rows(w, n); break;
	case ZERO:      take_zero(w, n); break;
	case NO_EXTRA:  break;
	}
	if (v->op == PROGRAM_is_nan)
		tf_graph_type(&w->g, n, "T", TF_FLOAT);
}

/* The names of what comes from outside the program are known by their fields and tables. */
static enum rs_status
add_value(struct savedmodel_writer *w, size_t i)
{
	const struct program_value *const v = &w->p->value[i];
	Tf__Node *n;

	if (v->op == PROGRAM_input)
		return tf_front_feature(&w->front, w->p, &w->p->feature[v->feature], &w->name[i]);
	if (v->op == PROGRAM_table) {
		RS_TRY(add_table(w, v));
		w->name[i] = w->table[v->table];
		return RS_OK;
	}
	if (v->op == PROGRAM_constant) {
		w->name[i] = tf_graph_const(&w->g, tf_graph_name(&w->g, "%s/%zu/%s",
			w->signature[w->number].name, i, v->name), TF_FLOAT, v->dim, v->rank,
			v->data);
		return RS_OK;
	}
	n = tf_graph_node(&w->g, tf_table[v->op].op, tf_graph_name(&w->g, "%s/%zu/%s",
		w->signature[w->number].name, i, program_op_name(v->op)), NULL);
	if (n == NULL)
		return RS_OK;
	for (size_t k = 0; k < v->n_inputs; k++)
		tf_graph_input(&w->g, n, w->name[v->input[k]]);
	add_extra(w, n, v, tf_table[v->op].extra);
	w->name[i] = n->name;
	return RS_OK;
}

/* --- signatures ---------------------------------------- */

struct tensor { const char *key, *node; int type; const int64_t *dim; size_t rank; };

static void
add_info(struct savedmodel_writer *w, void *array, size_t *n, const struct tensor *t)
{
	Tf__TensorInfoEntry *const entry = tf_graph_make(&w->g, sizeof *entry);
	Tf__TensorInfo *const info = tf_graph_make(&w->g, sizeof *info);

	if (entry == NULL || info == NULL)
		return;
	tf__tensor_info_entry__init(entry);
	tf__tensor_info__init(info);
	entry->key = tf_graph_text(&w->g, "%s", t->key);
	entry->value = info;
	info->name = tf_graph_text(&w->g, "%s:0", t->node);
	info->has_dtype = 1;
	info->dtype = t->type;
	info->tensor_shape = tf_graph_dims(&w->g, t->dim, t->rank);
	tf_graph_add(&w->g, array, n, entry);
}

static void
add_raw(struct savedmodel_writer *w, Tf__Signature *s, const struct tf_front_raw *raw)
{
	static const int64_t dim[] = { -1, -1 };

	if (raw->node != NULL)
		add_info(w, &s->inputs, &s->n_inputs, &(struct tensor){ raw->key, raw->node,
			raw->type, dim, raw->rank });
}

static void
add_signature(struct savedmodel_writer *w, const char *name)
{
	Tf__SignatureEntry *const entry = tf_graph_make(&w->g, sizeof *entry);
	Tf__Signature *const s = tf_graph_make(&w->g, sizeof *s);

	if (entry == NULL || s == NULL)
		return;
	tf__signature_entry__init(entry);
	tf__signature__init(s);
	entry->key = tf_graph_text(&w->g, "%s", name);
	entry->value = s;
	s->method_name = tf_graph_text(&w->g, "tensorflow/serving/predict");
	for (size_t i = 0; i < w->model->schema.n_fields; i++)
		if (w->front.wanted[i]) {
			add_raw(w, s, &w->front.field[i].raw);
			add_raw(w, s, &w->front.field[i].weight);
		}
	for (size_t k = 0; k < w->p->n_outputs; k++) {
		const struct program_value *const v = &w->p->value[w->p->output[k].value];

		add_info(w, &s->outputs, &s->n_outputs, &(struct tensor){ w->p->output[k].name,
			w->name[w->p->output[k].value], type_table[v->type], v->dim, v->rank });
	}
	tf_graph_add(&w->g, &w->meta.signature_def, &w->meta.n_signature_def, entry);
}

static enum rs_status
add_program(struct savedmodel_writer *w, size_t number)
{
	enum rs_status status = RS_OK;

	w->number = number;
	w->p = w->signature[number].program;
	RS_TRY(memory_alloc(w->p->n, sizeof *w->name, &w->name));
	memset(w->front.wanted, 0, w->model->schema.n_fields);
	for (size_t i = 1; i < w->p->n && status == RS_OK; i++)
		status = add_value(w, i);
	if (status == RS_OK)
		add_signature(w, w->signature[number].name);
	free(w->name);
	return status;
}

/* --- the file ---------------------------------------- */

static void
add_head(struct savedmodel_writer *w)
{
	static char serve[] = "serve";
	static char *tags[] = { serve };
	Tf__MetaInfo *const info = tf_graph_make(&w->g, sizeof *info);
	Tf__Versions *const versions = tf_graph_make(&w->g, sizeof *versions);

	if (info == NULL || versions == NULL)
		return;
	tf__meta_info__init(info);
	info->tags = tags;
	info->n_tags = 1;
	info->has_stripped_default_attrs = 1;
	info->stripped_default_attrs = 1;
	w->meta.meta_info_def = info;
	tf__versions__init(versions);
	versions->has_producer = versions->has_min_consumer = 1;
	versions->producer = PRODUCER;
	versions->min_consumer = MIN_CONSUMER;
	w->g.def.versions = versions;
	w->meta.graph_def = &w->g.def;
}

struct stream { ProtobufCBuffer base; struct file_writer *out; enum rs_status status; };

static void
append_stream(ProtobufCBuffer *buffer, size_t n, const uint8_t *bytes)
{
	struct stream *const s = (struct stream *)buffer;

	if (s->status == RS_OK)
		s->status = file_writer_write(s->out, bytes, n);
}

static enum rs_status
write_file(const ProtobufCMessage *message, const char *path)
{
	struct file_writer out;
	struct stream stream = { .base = { append_stream }, .out = &out };

	if (protobuf_c_message_get_packed_size(message) > MESSAGE_MAX) {
		rs_fail(RS_ECREATE, "'%s' would be larger than 2 GiB, the limit of the format",
			path);
		return rs_hint("make variables of the tables: --inline-bytes");
	}
	RS_TRY(file_writer_open(&out, path));
	protobuf_c_message_pack_to_buffer(message, &stream.base);
	enum rs_status status = stream.status;
	if (status == RS_OK)
		status = file_writer_commit(&out);
	file_writer_close(&out);
	return status;
}

static enum rs_status
write_model(struct savedmodel_writer *w)
{
	Tf__MetaGraph *graphs[] = { &w->meta };
	Tf__SavedModel model;
	char *path;

	add_head(w);
	RS_TRY(tf_graph_status(&w->g));
	tf__saved_model__init(&model);
	model.has_saved_model_schema_version = 1;
	model.saved_model_schema_version = 1;
	model.meta_graphs = graphs;
	model.n_meta_graphs = 1;
	if (asprintf(&path, "%s/saved_model.pb", w->directory) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	const enum rs_status status = write_file(&model.base, path);
	free(path);
	return status;
}

/* inputs.json: raw inputs of any signature. */
static enum rs_status
write_inputs(const struct savedmodel_writer *w)
{
	const size_t n = w->model->schema.n_fields;
	struct inputs_json_raw *raw;
	size_t count = 0;
	char *path;

	RS_TRY(memory_alloc(2 * n + 1, sizeof *raw, &raw));
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 2; k++) {
			const struct tf_front_raw *const at = k == 0 ? &w->front.field[i].raw
				: &w->front.field[i].weight;

			if (at->node != NULL)
				raw[count++] = (struct inputs_json_raw){ at->key, i, at->rank, k };
		}
	enum rs_status status = file_join(w->directory, "inputs.json", &path);
	if (status == RS_OK) {
		status = inputs_json_write_raw(w->signature[0].program, raw, count, path);
		free(path);
	}
	free(raw);
	return status;
}

/* Variables have their own. */
static const char *const summed[] = { "saved_model.pb", "inputs.json" };
enum { N_SUMMED = sizeof summed / sizeof *summed };

enum rs_status
savedmodel_check(const char *directory)
{
	return sums_check(directory, summed, N_SUMMED);
}

enum rs_status
savedmodel_write(const struct savedmodel_signature *signature, size_t n, const char *directory,
	uint64_t inline_bytes, int *has_variables)
{
	struct savedmodel_writer w = { .signature = signature, .model = signature[0].program->model,
		.directory = directory };

	w.has_variables = table_bytes(signature, n) > inline_bytes;
	*has_variables = w.has_variables;
	tf_graph_init(&w.g);
	tf__meta_graph__init(&w.meta);
	enum rs_status status = tf_front_init(&w.front, &w.g, w.model);
	if (status == RS_OK)
		status = memory_alloc(w.model->n_tables + 1, sizeof *w.table, &w.table);
	for (size_t i = 0; i < n && status == RS_OK; i++)
		status = add_program(&w, i);
	if (status == RS_OK && w.has_variables)
		status = savedmodel_add_variables(&w);
	if (status == RS_OK)
		status = write_model(&w);
	if (status == RS_OK)
		status = write_inputs(&w);
	if (status == RS_OK)
		status = sums_write(directory, summed, N_SUMMED);
	tf_front_free(&w.front);
	free(w.table);
	tf_graph_free(&w.g);
	return status;
}
