/* Tables as variables: nodes that hold, read and restore them, and their files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "export/bundle.h"
#include "export/savedmodel_private.h"
#include "export/table_rows.h"
#include "train/row_numbers.h"

void
savedmodel_variable(struct savedmodel_writer *w, const struct program_value *v, char *name)
{
	Tf__Node *const n = tf_graph_node(&w->g, "VarHandleOp", name, NULL);

	tf_graph_type(&w->g, n, "dtype", TF_FLOAT);
	tf_graph_shape(&w->g, n, "shape", tf_graph_dims(&w->g, v->dim, v->rank));
	tf_graph_string(&w->g, n, "shared_name", name);
	Tf__Node *const read = tf_graph_node(&w->g, "ReadVariableOp",
		tf_graph_text(&w->g, "%s/Read/ReadVariableOp", name),
		(const char *[TF_INPUTS]){ name });
	tf_graph_type(&w->g, read, "dtype", TF_FLOAT);
}

static enum rs_status
append_row(void *context, const float *row, size_t n)
{
	return bundle_writer_add(context, row, n);
}

/* Tables by the bytes of their names; 0 when there is none behind `after`. */
static const char *
next_table(const struct savedmodel_writer *w, const char *after, size_t *table)
{
	const char *best = NULL;

	for (size_t t = 0; t < w->model->n_tables; t++) {
		const char *const name = w->table[t];

		if (name == NULL || (after != NULL && strcmp(name, after) <= 0)
		    || (best != NULL && strcmp(name, best) >= 0))
			continue;
		best = name;
		*table = t;
	}
	return best;
}

static enum rs_status
write_tables(const struct savedmodel_writer *w, struct bundle_writer *bundle)
{
	size_t t = 0;

	for (const char *name = NULL; (name = next_table(w, name, &t)) != NULL;) {
		const struct lookup_table *const table = &w->model->table[t];
		const int64_t dim[] = { (int64_t)row_numbers_count(w->model, t),
			(int64_t)table->dim };

		RS_TRY(bundle_writer_begin(bundle, name, dim, 2));
		RS_TRY(table_rows(w->model, t, append_row, bundle));
	}
	return bundle_writer_commit(bundle);
}

static enum rs_status
write_bundle(const struct savedmodel_writer *w)
{
	struct bundle_writer *bundle;
	char *path;

	if (asprintf(&path, "%s/variables", w->directory) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	enum rs_status status = file_make_directories(path);
	free(path);
	RS_TRY(status);
	if (asprintf(&path, "%s/variables/variables", w->directory) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	status = bundle_writer_open(path, &bundle);
	free(path);
	RS_TRY(status);
	status = write_tables(w, bundle);
	bundle_writer_close(bundle);
	return status;
}

/* So that Python finds the variables. */
static void
add_variable(struct savedmodel_writer *w, Tf__BytesList *list, const char *name, const char *assign)
{
	Tf__Variable variable;
	ProtobufCBinaryData *const grown = tf_graph_make(&w->g,
		(list->n_value + 1) * sizeof *grown);

	tf__variable__init(&variable);
	variable.variable_name = tf_graph_text(&w->g, "%s:0", name);
	variable.initializer_name = tf_graph_text(&w->g, "%s", assign);
	variable.snapshot_name = tf_graph_text(&w->g, "%s/Read/ReadVariableOp:0", name);
	variable.has_is_resource = 1;
	variable.is_resource = 1;
	const size_t size = tf__variable__get_packed_size(&variable);
	uint8_t *const bytes = tf_graph_make(&w->g, size);
	if (grown == NULL || bytes == NULL)
		return;
	if (list->n_value > 0)
		memcpy(grown, list->value, list->n_value * sizeof *grown);
	(void)tf__variable__pack(&variable, bytes);
	grown[list->n_value] = (ProtobufCBinaryData){ .data = bytes, .len = size };
	list->value = grown;
	list->n_value++;
}

static Tf__BytesList *
add_collection(struct savedmodel_writer *w, const char *key)
{
	Tf__CollectionEntry *const entry = tf_graph_make(&w->g, sizeof *entry);
	Tf__Collection *const collection = tf_graph_make(&w->g, sizeof *collection);
	Tf__BytesList *const list = tf_graph_make(&w->g, sizeof *list);

	if (entry == NULL || collection == NULL || list == NULL)
		return NULL;
	tf__collection_entry__init(entry);
	tf__collection__init(collection);
	tf__bytes_list__init(list);
	entry->key = tf_graph_text(&w->g, "%s", key);
	entry->value = collection;
	collection->bytes_list = list;
	tf_graph_add(&w->g, &w->meta.collection_def, &w->meta.n_collection_def, entry);
	return list;
}

/* RestoreV2 of all names; its outputs are assigned one by one. */
static Tf__Node *
add_restore(struct savedmodel_writer *w, const char *const *name, size_t n)
{
	static const char *const model = "model";
	const char **const slices = tf_graph_make(&w->g, (n + 1) * sizeof *slices);
	Tf__List *const types = tf_graph_make(&w->g, sizeof *types);
	int32_t *const type = tf_graph_make(&w->g, (n + 1) * sizeof *type);

	if (slices == NULL || types == NULL || type == NULL)
		return NULL;
	tf__list__init(types);
	for (size_t i = 0; i < n; i++) {
		slices[i] = "";
		type[i] = TF_FLOAT;
	}
	types->type = type;
	types->n_type = n;
	Tf__Node *const restore = tf_graph_node(&w->g, "RestoreV2",
		tf_graph_text(&w->g, "save/RestoreV2"), (const char *[TF_INPUTS]){
		tf_graph_texts(&w->g, tf_graph_text(&w->g, "save/Const"), &model, 1, 1),
		tf_graph_texts(&w->g, tf_graph_text(&w->g, "save/names"), name, n, 0),
		tf_graph_texts(&w->g, tf_graph_text(&w->g, "save/slices"), slices, n, 0) });
	Tf__Attr *const a = tf_graph_attr(&w->g, restore, "dtypes");
	a->value_case = TF__ATTR__VALUE_LIST;
	a->list = types;
	return restore;
}

static void
add_saver(struct savedmodel_writer *w, const char *const *name, size_t n)
{
	Tf__Saver *const saver = tf_graph_make(&w->g, sizeof *saver);
	Tf__BytesList *const variables = add_collection(w, "variables");

	(void)add_restore(w, name, n);
	Tf__Node *const all = tf_graph_make(&w->g, sizeof *all);
	if (saver == NULL || variables == NULL || all == NULL)
		return;
	tf__node__init(all);
	all->name = tf_graph_text(&w->g, "save/restore_all");
	all->op = tf_graph_text(&w->g, "NoOp");
	for (size_t i = 0; i < n; i++) {
		Tf__Node *const assign = tf_graph_node(&w->g, "AssignVariableOp",
			tf_graph_text(&w->g, "save/Assign/%zu", i), (const char *[TF_INPUTS]){
			name[i], tf_graph_text(&w->g, "save/RestoreV2:%zu", i) });

		tf_graph_type(&w->g, assign, "dtype", TF_FLOAT);
		tf_graph_input(&w->g, all, tf_graph_text(&w->g, "^save/Assign/%zu", i));
		add_variable(w, variables, name[i], tf_graph_text(&w->g, "save/Assign/%zu", i));
	}
	tf_graph_add(&w->g, &w->g.def.node, &w->g.def.n_node, all);
	tf__saver__init(saver);
	saver->filename_tensor_name = tf_graph_text(&w->g, "save/Const:0");
	saver->save_tensor_name = tf_graph_text(&w->g, "save/Const:0");
	saver->restore_op_name = tf_graph_text(&w->g, "save/restore_all");
	saver->has_version = 1;
	saver->version = 2;
	w->meta.saver_def = saver;
}

enum rs_status
savedmodel_add_variables(struct savedmodel_writer *w)
{
	const char **const name = tf_graph_make(&w->g, (w->model->n_tables + 1) * sizeof *name);
	size_t n = 0, t = 0;

	for (const char *at = NULL; name != NULL && (at = next_table(w, at, &t)) != NULL;)
		name[n++] = at;
	if (name == NULL || n == 0)
		return RS_OK;
	add_saver(w, name, n);
	return write_bundle(w);
}
