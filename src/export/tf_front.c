/* Text and raw numbers become rows and transformed numbers, in nodes of TensorFlow. */
#include "export/tf_front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/cross.h"
#include "export/tf_known.h"
#include "export/tf_node.h"
#include "train/row_numbers.h"

/* --- raw inputs ---------------------------------------- */

static enum rs_status
refuse(const struct schema_field *field, const char *what)
{
	return rs_fail(RS_ESPEC, "export: field '%s': %s cannot be said in a graph of TensorFlow",
		field->name, what);
}

static int
is_list(const struct schema_field *field)
{
	return field->settings->type == FIELD_MULTI || field->settings->type == FIELD_SEQUENCE;
}

static const char *
raw(const struct tf_front *f, size_t i, struct tf_front_raw *r, int type, size_t rank)
{
	static const int64_t dim[] = { -1, -1 };
	const int is_weight = r == &f->field[i].weight;

	f->wanted[i] = 1;
	if (r->node != NULL)
		return r->node;
	r->key = tf_graph_text(f->g, "%s%s", f->m->schema.field[i].name,
		is_weight ? ".weight" : "");
	Tf__Node *const n = tf_graph_node(f->g, "Place" "holder",
		tf_graph_name(f->g, "input/%zu/%s", i, r->key), NULL);
	tf_graph_type(f->g, n, "dtype", type);
	tf_graph_shape(f->g, n, "shape", tf_graph_dims(f->g, dim, rank));
	r->type = type;
	r->rank = rank;
	r->node = tf_node_name(n);
	return r->node;
}

/* The cell or item as it is hashed: whole numbers in their shortest form, folded letters. */
static const char *
normal_text(const struct tf_front *f, const struct field_settings *s, const char *x)
{
	static const char *const rule[][2] = {
		{ "^[+]?(-?)0*([0-9]+)$", "\\1\\2" }, { "^-0$", "0" },
	};

	for (size_t i = 0; s->id_type == ID_INT && i < 2; i++) {
		Tf__Node *const n = tf_node_make(f->g, "StaticRegexReplace", 0,
			(const char *[TF_INPUTS]){ x });

		tf_graph_string(f->g, n, "pattern", rule[i][0]);
		tf_graph_string(f->g, n, "rewrite", rule[i][1]);
		x = tf_node_name(n);
	}
	return s->id_type != ID_INT && s->fold_case ? tf_node_unary(f->g, "StringLower", 0, x) : x;
}

/* Cells that are words for "missing"; an empty item is none in any case. */
static const char *
missing_words(const struct tf_front *f, const struct schema_field *field, const char *x)
{
	const struct text_list *const words = field->settings->missing_own == TRI_YES
		? &field->settings->missing : &f->m->schema.settings->data.missing;
	const char *out = is_list(field) || words->n == 0
		? tf_node_binary(f->g, "Equal", TF_STRING, x, tf_node_word(f->g, "")) : NULL;

	if (words->n == 0 && !is_list(field))
		return tf_node_binary(f->g, "NotEqual", TF_STRING, x, x);
	for (size_t i = 0; i < words->n; i++) {
		if (words->item[i][0] == '\0' && is_list(field))
			continue;
		const char *const one = tf_node_binary(f->g, "Equal", TF_STRING, x,
			tf_node_word(f->g, words->item[i]));

		out = out == NULL ? one : tf_node_binary(f->g, "LogicalOr", 0, out, one);
	}
	return out;
}

/* Raw input, text, missing of a field; kind is that of the program. */
static void
open_field(const struct tf_front *f, size_t i, enum program_kind kind)
{
	const struct schema_field *const field = &f->m->schema.field[i];
	struct tf_front_field *const at = &f->field[i];
	const int is_number = field->settings->type == FIELD_NUMERIC;
	const size_t rank = is_list(field) || (kind == PROGRAM_BAG && !is_number) ? 2 : 1;
	const char *const x = raw(f, i, &at->raw, is_number ? TF_FLOAT : TF_STRING, rank);

	if (at->missing != NULL)
		return;
	at->missing = is_number ? tf_node_unary(f->g, "IsNan", TF_FLOAT, x)
		: missing_words(f, field, x);
	at->text = is_number ? x : normal_text(f, field->settings, x);
}

/* --- rows ---------------------------------------- */

static int64_t
buckets_of(const struct tf_front *f, size_t i)
{
	const struct schema_table *const t = &f->m->schema.table[f->m->schema.field[i].table];

	return t->kind == TABLE_EXACT ? TF_KNOWN_BUCKETS : (int64_t)t->buckets;
}

/* The number of the row for "missing". */
static const char *
missing_row(const struct tf_front *f, size_t i)
{
	const size_t table = f->m->schema.field[i].table;

	return tf_node_scalar(f->g, TF_INT64, (double)row_numbers_of(f->m, table,
		f->m->schema.table[table].buckets));
}

/* What a hash stands for. */
static enum rs_status
row_of_hash(const struct tf_front *f, size_t i, const char *hash, const char **out)
{
	uint64_t n;
	const uint64_t *const known = row_numbers_known(f->m, f->m->schema.field[i].table, &n);

	*out = hash;
	return known != NULL ? tf_known_rows(f->g, known, n, hash, out) : RS_OK;
}

static const char *
hashed(const struct tf_front *f, size_t i)
{
	Tf__Node *const n = tf_node_make(f->g, "StringToHashBucketFast", 0,
		(const char *[TF_INPUTS]){ f->field[i].text });

	tf_graph_int(f->g, n, "num_buckets", buckets_of(f, i));
	return tf_node_name(n);
}

/* The interval of a number. */
static const char *
interval(const struct tf_front *f, size_t i)
{
	const struct number_list *const list = &f->m->schema.field[i].settings->boundaries;
	Tf__Node *const n = tf_node_make(f->g, "Bucketize", TF_FLOAT,
		(const char *[TF_INPUTS]){ f->field[i].text });
	Tf__List *const floats = tf_graph_make(f->g, sizeof *floats);
	Tf__Attr *const a = tf_graph_attr(f->g, n, "boundaries");

	if (floats == NULL)
		return "";
	tf__list__init(floats);
	a->value_case = TF__ATTR__VALUE_LIST;
	a->list = floats;
	floats->f = tf_graph_make(f->g, (list->n + 1) * sizeof *floats->f);
	floats->n_f = floats->f != NULL ? list->n : 0;
	for (size_t k = 0; k < floats->n_f; k++)
		floats->f[k] = (float)list->item[k];
	return tf_node_cast(f->g, TF_INT32, TF_INT64, tf_node_name(n));
}

/* --- crosses ---------------------------------------- */

static size_t
find_field(const struct tf_front *f, const char *name)
{
	size_t i = 0;

	while (i < f->m->schema.n_fields && strcmp(f->m->schema.field[i].name, name) != 0)
		i++;
	return i;
}

/* What the cross takes a part for, [N,1]; its type. */
static const char *
cross_part(const struct tf_front *f, size_t i, int *type)
{
	const struct schema_field *const part = &f->m->schema.field[i];

	*type = TF_INT64;
	if (part->settings->type == FIELD_NUMERIC)
		return tf_node_expand(f->g, TF_INT64, interval(f, i), 1);
	*type = TF_STRING;
	if (part->settings->id_type != ID_INT)
		return tf_node_expand(f->g, TF_STRING, f->field[i].text, 1);
	*type = TF_INT64;
	Tf__Node *const n = tf_node_make(f->g, "StringToNumber", 0, (const char *[TF_INPUTS]){
		tf_node_choose(f->g, TF_STRING, f->field[i].missing, tf_node_word(f->g, "0"),
			f->field[i].text) });
	tf_graph_type(f->g, n, "out_type", TF_INT64);
	return tf_node_expand(f->g, TF_INT64, tf_node_name(n), 1);
}

static void
cross_attributes(const struct tf_front *f, Tf__Node *n, size_t i, const int *type, size_t n_types)
{
	Tf__List *const list[] = { tf_graph_make(f->g, sizeof **list),
		tf_graph_make(f->g, sizeof **list) };

	tf_graph_int(f->g, n, "N", 0);
	tf_graph_bool(f->g, n, "hashed_output", 1);
	tf_graph_int(f->g, n, "num_buckets", buckets_of(f, i));
	tf_graph_int(f->g, n, "hash_key", CROSS_KEY);
	tf_graph_type(f->g, n, "out_type", TF_INT64);
	tf_graph_type(f->g, n, "internal_type", TF_INT64);
	for (size_t k = 0; k < 2 && list[k] != NULL; k++) {
		Tf__Attr *const a = tf_graph_attr(f->g, n, k == 0 ? "sparse_types"
			: "dense_types");

		tf__list__init(list[k]);
		a->value_case = TF__ATTR__VALUE_LIST;
		a->list = list[k];
		if (k == 0)
			continue;
		list[k]->type = tf_graph_make(f->g, (n_types + 1) * sizeof *type);
		list[k]->n_type = list[k]->type != NULL ? n_types : 0;
		for (size_t j = 0; j < list[k]->n_type; j++)
			list[k]->type[j] = type[j];
	}
}

static enum rs_status
cross_row(const struct tf_front *f, size_t i)
{
	const struct schema_field *const field = &f->m->schema.field[i];
	const struct text_list *const part = &field->settings->fields;
	struct tf_front_field *const at = &f->field[i];
	int type[32];
	Tf__Node *n;
	const char *value[32];

	if (!field->single)
		return refuse(field, "a cross of lists");
	if (part->n > 32)
		return refuse(field, "a cross of more than 32 fields");
	for (size_t k = 0; k < part->n; k++) {
		const size_t j = find_field(f, part->item[k]);

		open_field(f, j, PROGRAM_ID);
		if (f->field[j].raw.rank != 1)
			return refuse(field, "a cross of ids with weights");
		value[k] = cross_part(f, j, &type[k]);
		at->missing = at->missing == NULL ? f->field[j].missing
			: tf_node_binary(f->g, "LogicalOr", 0, at->missing, f->field[j].missing);
	}
	n = tf_node_make(f->g, "SparseCross", 0, NULL);
	for (size_t k = 0; k < part->n; k++)
		tf_graph_input(f->g, n, value[k]);
	cross_attributes(f, n, i, type, part->n);
	return row_of_hash(f, i, tf_node_binary(f->g, "Reshape", TF_INT64,
		tf_graph_text(f->g, "%s:1", tf_node_name(n)),
		tf_graph_int32(f->g, (const int64_t []){ -1 }, 1, 0)), &at->row);
}

/* A part is in the graph with its cross, too. */
static enum rs_status
single_row(const struct tf_front *f, size_t i, enum program_kind kind)
{
	struct tf_front_field *const at = &f->field[i];
	const struct schema_field *const field = &f->m->schema.field[i];

	if (field->settings->type == FIELD_CROSS) {
		if (at->row == NULL)
			RS_TRY(cross_row(f, i));
	} else {
		open_field(f, i, kind);
		if (field->settings->type == FIELD_NUMERIC)
			at->row = interval(f, i);
		else
			RS_TRY(row_of_hash(f, i, hashed(f, i), &at->row));
	}
	at->row = tf_node_choose(f->g, TF_INT64, at->missing,
		missing_row(f, i), at->row);
	return RS_OK;
}

/* --- lists ---------------------------------------- */

/* Members of the history of field i: fields whose items belong together; i alone is 1. */
static size_t
members_of(const struct tf_front *f, size_t i, size_t *member)
{
	const struct schema *const s = &f->m->schema;
	const char *const name = s->field[i].settings->history;
	size_t n = 0;

	for (size_t k = 0; k < s->n_fields && name != NULL && *name != '\0'; k++) {
		const struct field_settings *const other = s->field[k].settings;

		if (other->type == FIELD_SEQUENCE && other->history != NULL
		    && strcmp(other->history, name) == 0)
			member[n++] = k;
	}
	if (n < 2 || s->field[i].settings->type != FIELD_SEQUENCE) {
		member[0] = i;
		n = 1;
	}
	return n;
}

/* How many items are kept, 0: all. */
static int64_t
kept_items(const struct tf_front *f, const size_t *member, size_t n)
{
	int64_t most = 0;

	for (size_t k = 0; k < n; k++) {
		const struct field_settings *const s = f->m->schema.field[member[k]].settings;

		if (s->max_length > 0 && (most == 0 || s->max_length < most))
			most = s->max_length;
		if (n == 1 && s->combiner == COMBINE_LAST && s->last_k > 0
		    && (most == 0 || s->last_k < most))
			most = s->last_k;
	}
	return most;
}

/* Of repeated items the last counts. */
static const char *
without_repeated(const struct tf_front *f, const char *row, const char *known)
{
	const char *const place = tf_node_sums(f->g,
		tf_node_unary(f->g, "OnesLike", TF_INT64, row), 0);
	const char *const same = tf_node_binary(f->g, "Equal", TF_INT64,
		tf_node_expand(f->g, TF_INT64, row, 2), tf_node_expand(f->g, TF_INT64, row, 1));
	const char *const later = tf_node_binary(f->g, "Less", TF_INT64,
		tf_node_expand(f->g, TF_INT64, place, 2), tf_node_expand(f->g, TF_INT64, place, 1));
	const char *const both = tf_node_binary(f->g, "LogicalAnd", 0,
		tf_node_binary(f->g, "LogicalAnd", 0, same, later),
		tf_node_expand(f->g, TF_BOOL, known, 1));
	const char *const last = tf_node_unary(f->g, "LogicalNot", 0,
		tf_node_any(f->g, both, 2, 0));

	return tf_node_binary(f->g, "LogicalAnd", 0, known, last);
}

/* The newest `most` of those known. */
static const char *
newest(const struct tf_front *f, const char *known, int64_t most)
{
	if (most == 0)
		return known;
	const char *const behind = tf_node_sums(f->g,
		tf_node_cast(f->g, TF_BOOL, TF_INT64, known), 1);
	return tf_node_binary(f->g, "LogicalAnd", 0, known, tf_node_binary(f->g, "Less", TF_INT64,
		behind, tf_node_scalar(f->g, TF_INT64, (double)most)));
}

/* Which places of a list, or of lists that belong together, are items. */
static enum rs_status
keep_items(const struct tf_front *f, size_t i, const size_t *member, size_t n)
{
	struct tf_front_field *const at = &f->field[i];
	const char *missing = NULL;

	for (size_t k = 0; k < n; k++) {
		open_field(f, member[k], PROGRAM_BAG);
		missing = missing == NULL ? f->field[member[k]].missing
			: tf_node_binary(f->g, "LogicalAnd", 0, missing,
				f->field[member[k]].missing);
	}
	const char *known = tf_node_unary(f->g, "LogicalNot", 0, missing);
	at->row = hashed(f, i);
	if (f->m->schema.field[i].settings->unique && n == 1)
		known = without_repeated(f, at->row, known);
	at->kept = newest(f, known, is_list(&f->m->schema.field[i])
		? kept_items(f, member, n) : 0);
	RS_TRY(row_of_hash(f, i, at->row, &at->row));
	if (n > 1)
		at->row = tf_node_choose(f->g, TF_INT64, at->missing,
			missing_row(f, i), at->row);
	at->row = tf_node_choose(f->g, TF_INT64, at->kept, at->row,
		tf_node_scalar(f->g, TF_INT64, -1));
	return RS_OK;
}

/* In front of a bag a place for the missing row, which an empty bag has. */
static int
has_own_missing(const struct tf_front *f, size_t i)
{
	return f->m->schema.field[i].settings->type != FIELD_SEQUENCE;
}

static enum rs_status
list_row(const struct tf_front *f, size_t i)
{
	struct tf_front_field *const at = &f->field[i];
	size_t *member;

	RS_TRY(memory_alloc(f->m->schema.n_fields, sizeof *member, &member));
	const size_t n = members_of(f, i, member);
	const enum rs_status status = keep_items(f, i, member, n);
	free(member);
	if (!has_own_missing(f, i) || status != RS_OK)
		return status;
	const char *const own = tf_node_choose(f->g, TF_INT64, tf_node_any(f->g, at->kept, 1, 1),
		tf_node_scalar(f->g, TF_INT64, -1),
		missing_row(f, i));
	at->row = tf_node_beside(f->g, TF_INT64, own, at->row);
	return RS_OK;
}

/* Does the graph see field i as a list?  Numbers and crosses never come as one. */
static int
comes_as_list(const struct tf_front *f, size_t i)
{
	const enum field_type type = f->m->schema.field[i].settings->type;

	return type != FIELD_NUMERIC && type != FIELD_CROSS;
}

static enum rs_status
bag(const struct tf_front *f, size_t i)
{
	if (comes_as_list(f, i))
		return list_row(f, i);
	RS_TRY(single_row(f, i, PROGRAM_ID));
	f->field[i].row = tf_node_expand(f->g, TF_INT64, f->field[i].row, 1);
	return RS_OK;
}

static enum rs_status
weight(const struct tf_front *f, size_t i, const char **out)
{
	struct tf_front_field *const at = &f->field[i];

	if (!comes_as_list(f, i))
		return refuse(&f->m->schema.field[i], "a number or a cross with a weight");
	*out = raw(f, i, &at->weight, TF_FLOAT, 2);
	if (!has_own_missing(f, i))
		return RS_OK;
	const char *const one = tf_node_choose(f->g, TF_FLOAT, tf_node_any(f->g, at->kept, 1, 1),
		tf_node_scalar(f->g, TF_FLOAT, 0), tf_node_scalar(f->g, TF_FLOAT, 1));
	*out = tf_node_beside(f->g, TF_FLOAT, one, *out);
	return RS_OK;
}

/* --- numbers ---------------------------------------- */

/* sign(x) log1p(|x|), in double precision as everywhere. */
static const char *
log1p_of(const struct tf_front *f, const char *x)
{
	const char *const y = tf_node_cast(f->g, TF_FLOAT, TF_DOUBLE, x);

	return tf_node_cast(f->g, TF_DOUBLE, TF_FLOAT, tf_node_binary(f->g, "Mul", TF_DOUBLE,
		tf_node_unary(f->g, "Sign", TF_DOUBLE, y),
		tf_node_unary(f->g, "Log1p", TF_DOUBLE, tf_node_unary(f->g, "Abs", TF_DOUBLE, y))));
}

static const char *
standard_of(const struct tf_front *f, const struct field_settings *s, const char *x)
{
	const char *const above = tf_node_binary(f->g, "Sub", TF_DOUBLE,
		tf_node_cast(f->g, TF_FLOAT, TF_DOUBLE, x),
		tf_node_scalar(f->g, TF_DOUBLE, s->mean));
	const char *const units = tf_node_binary(f->g, "RealDiv", TF_DOUBLE, above,
		tf_node_scalar(f->g, TF_DOUBLE, s->stddev > 0 ? s->stddev : 1));

	return tf_node_cast(f->g, TF_DOUBLE, TF_FLOAT, units);
}

static const char *
number(const struct tf_front *f, size_t i)
{
	const struct field_settings *const s = f->m->schema.field[i].settings;
	const char *x;

	open_field(f, i, PROGRAM_VALUE);
	x = f->field[i].text;
	if (s->transform == TRANSFORM_LOG1P)
		x = log1p_of(f, x);
	else if (s->transform == TRANSFORM_STANDARDIZE)
		x = standard_of(f, s, x);
	return s->missing_value == 0 ? x : tf_node_choose(f->g, TF_FLOAT, f->field[i].missing,
		tf_node_scalar(f->g, TF_FLOAT, s->missing_value), x);
}

/* --- features ---------------------------------------- */

static enum rs_status
make_feature(const struct tf_front *f, enum program_kind kind, size_t i, const char **out)
{
	const struct schema_field *const field = &f->m->schema.field[i];

	if (!field->is_dense && f->m->schema.table[field->table].rounds > 1) {
		(void)refuse(field, "a table of several rounds");
		return rs_hint("export --to onnx takes it; or train with rounds = 1");
	}
	switch (kind) {
	case PROGRAM_ID:
		RS_TRY(single_row(f, i, kind));
		*out = f->field[i].row;
		return RS_OK;
	case PROGRAM_BAG:
		RS_TRY(bag(f, i));
		*out = f->field[i].row;
		return RS_OK;
	case PROGRAM_WEIGHT:
		if (f->field[i].feature[PROGRAM_BAG] == NULL)
			RS_TRY(bag(f, i));
		return weight(f, i, out);
	case PROGRAM_VALUE:
		*out = number(f, i);
		return RS_OK;
	}
	return RS_OK;
}

/* -1 with a name: N, or L and the number of the list whose length it is. */
static Tf__Shape *
named_shape(const struct tf_front *f, const struct program_value *v)
{
	Tf__Shape *const shape = tf_graph_dims(f->g, v->dim, v->rank);

	for (size_t k = 0; shape != NULL && k < shape->n_dim; k++)
		shape->dim[k]->name = v->dim[k] == PROGRAM_N ? tf_graph_text(f->g, "N")
			: tf_graph_text(f->g, "L%jd", (intmax_t)(-2 - v->dim[k]));
	return shape;
}

/* What the feature takes is wanted, whether or not it is in the graph already. */
static void
mark_wanted(const struct tf_front *f, size_t i)
{
	const struct text_list *const part = &f->m->schema.field[i].settings->fields;
	const char *const name = f->m->schema.field[i].settings->history;

	f->wanted[i] = 1;
	if (f->m->schema.field[i].settings->type == FIELD_CROSS)
		for (size_t k = 0; k < part->n; k++)
			f->wanted[find_field(f, part->item[k])] = 1;
	for (size_t k = 0; name != NULL && *name != '\0' && k < f->m->schema.n_fields; k++) {
		const char *const other = f->m->schema.field[k].settings->history;

		if (f->m->schema.field[i].settings->type == FIELD_SEQUENCE && other != NULL
		    && f->m->schema.field[k].settings->type == FIELD_SEQUENCE
		    && strcmp(name, other) == 0)
			f->wanted[k] = 1;
	}
}

enum rs_status
tf_front_feature(struct tf_front *f, const struct program *p,
	const struct program_feature *feature, const char **out)
{
	static const int type[] = { [PROGRAM_ID] = TF_INT64, [PROGRAM_BAG] = TF_INT64,
		[PROGRAM_WEIGHT] = TF_FLOAT, [PROGRAM_VALUE] = TF_FLOAT };
	const char **const known = &f->field[feature->field].feature[feature->kind];
	const char *value = NULL;

	mark_wanted(f, feature->field);
	if (*known == NULL) {
		RS_TRY(make_feature(f, feature->kind, feature->field, &value));
		Tf__Node *const n = tf_graph_node(f->g, "Identity",
			tf_graph_name(f->g, "feature/%zu/%s", feature->field, feature->name),
			(const char *[TF_INPUTS]){ value });

		tf_graph_type(f->g, n, "T", type[feature->kind]);
		tf_graph_string(f->g, n, "_feature", feature->name);
		tf_graph_shape(f->g, n, "_shape", named_shape(f, &p->value[feature->value]));
		*known = tf_node_name(n);
	}
	*out = *known;
	return RS_OK;
}

enum rs_status
tf_front_init(struct tf_front *f, struct tf_graph *g, const struct model *m)
{
	*f = (struct tf_front){ .g = g, .m = m };
	RS_TRY(memory_alloc(m->schema.n_fields + 1, sizeof *f->field, &f->field));
	return memory_alloc(m->schema.n_fields + 1, 1, &f->wanted);
}

void
tf_front_free(struct tf_front *f)
{
	free(f->field);
	free(f->wanted);
}
