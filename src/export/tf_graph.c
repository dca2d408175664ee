/* Nodes of a graph, one behind the other. */
#include "export/tf_graph.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
tf_graph_init(struct tf_graph *g)
{
	memset(g, 0, sizeof *g);
	tf__graph__init(&g->def);
}

void
tf_graph_free(struct tf_graph *g)
{
	for (size_t i = 0; i < g->n_owned; i++)
		free(g->owned[i]);
	free(g->owned);
}

enum rs_status
tf_graph_status(const struct tf_graph *g)
{
	return g->out_of_memory ? rs_fail(RS_ERESOURCE, "out of memory for a graph") : RS_OK;
}

/* --- memory ---------------------------------------- */

static void *
keep(struct tf_graph *g, void *block)
{
	if (block != NULL && g->n_owned == g->capacity) {
		const size_t capacity = g->capacity == 0 ? 1024 : 2 * g->capacity;
		void **const grown = realloc(g->owned, capacity * sizeof *grown);

		if (grown == NULL) {
			free(block);
			block = NULL;
		} else {
			g->owned = grown;
			g->capacity = capacity;
		}
	}
	if (block == NULL)
		g->out_of_memory = 1;
	else
		g->owned[g->n_owned++] = block;
	return block;
}

void *
tf_graph_make(struct tf_graph *g, size_t size)
{
	return keep(g, calloc(1, size));
}

static char *
text(struct tf_graph *g, const char *format, va_list list)
{
	static char empty[1];
	char *out;

	if (vasprintf(&out, format, list) < 0)
		out = NULL;
	return keep(g, out) != NULL ? out : empty;
}

char *
tf_graph_text(struct tf_graph *g, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	char *const out = text(g, format, list);
	va_end(list);
	return out;
}

char *
tf_graph_name(struct tf_graph *g, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	char *const out = text(g, format, list);
	va_end(list);
	for (char *p = out; *p != '\0'; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')
		    || (*p >= '0' && *p <= '9') || strchr("_./-", *p) != NULL))
			*p = '_';
	return out;
}

void
tf_graph_add(struct tf_graph *g, void *array, size_t *n, void *item)
{
	void ***const at = array;

	if (item == NULL)
		return;
	/* Whenever n is a power of two, or 0, there is no more room. */
	if ((*n & (*n - 1)) == 0) {
		void **const grown = tf_graph_make(g, (2 * *n + 1) * sizeof *grown);

		if (grown == NULL)
			return;
		if (*n > 0)
			memcpy(grown, *at, *n * sizeof *grown);
		*at = grown;
	}
	(*at)[(*n)++] = item;
}

/* --- nodes ---------------------------------------- */

void
tf_graph_input(struct tf_graph *g, Tf__Node *n, const char *name)
{
	if (n != NULL)
		tf_graph_add(g, &n->input, &n->n_input, (void *)(uintptr_t)name);
}

Tf__Node *
tf_graph_node(struct tf_graph *g, const char *op, char *name, const char *const input[TF_INPUTS])
{
	Tf__Node *const n = tf_graph_make(g, sizeof *n);

	if (n == NULL)
		return NULL;
	tf__node__init(n);
	n->name = name;
	n->op = tf_graph_text(g, "%s", op);
	for (size_t i = 0; input != NULL && i < TF_INPUTS && input[i] != NULL; i++)
		tf_graph_input(g, n, input[i]);
	tf_graph_add(g, &g->def.node, &g->def.n_node, n);
	return n;
}

Tf__Attr *
tf_graph_attr(struct tf_graph *g, Tf__Node *n, const char *key)
{
	static Tf__Attr nowhere;
	Tf__AttrEntry *const entry = tf_graph_make(g, sizeof *entry);
	Tf__Attr *const attr = tf_graph_make(g, sizeof *attr);

	if (n == NULL || entry == NULL || attr == NULL)
		return &nowhere;
	tf__attr_entry__init(entry);
	tf__attr__init(attr);
	entry->key = tf_graph_text(g, "%s", key);
	entry->value = attr;
	tf_graph_add(g, &n->attr, &n->n_attr, entry);
	return attr;
}

void
tf_graph_type(struct tf_graph *g, Tf__Node *n, const char *key, int type)
{
	Tf__Attr *const a = tf_graph_attr(g, n, key);

	a->value_case = TF__ATTR__VALUE_TYPE;
	a->type = type;
}

void
tf_graph_int(struct tf_graph *g, Tf__Node *n, const char *key, int64_t x)
{
	Tf__Attr *const a = tf_graph_attr(g, n, key);

	a->value_case = TF__ATTR__VALUE_I;
	a->i = x;
}

void
tf_graph_bool(struct tf_graph *g, Tf__Node *n, const char *key, int x)
{
	Tf__Attr *const a = tf_graph_attr(g, n, key);

	a->value_case = TF__ATTR__VALUE_B;
	a->b = x;
}

void
tf_graph_string(struct tf_graph *g, Tf__Node *n, const char *key, const char *x)
{
	Tf__Attr *const a = tf_graph_attr(g, n, key);

	a->value_case = TF__ATTR__VALUE_S;
	a->s.data = (uint8_t *)tf_graph_text(g, "%s", x);
	a->s.len = strlen(x);
}

void
tf_graph_shape(struct tf_graph *g, Tf__Node *n, const char *key, Tf__Shape *shape)
{
	Tf__Attr *const a = tf_graph_attr(g, n, key);

	a->value_case = TF__ATTR__VALUE_SHAPE;
	a->shape = shape;
}

/* --- constants ---------------------------------------- */

Tf__Shape *
tf_graph_dims(struct tf_graph *g, const int64_t *dim, size_t rank)
{
	Tf__Shape *const shape = tf_graph_make(g, sizeof *shape);

	if (shape == NULL)
		return NULL;
	tf__shape__init(shape);
	for (size_t k = 0; k < rank; k++) {
		Tf__Dim *const d = tf_graph_make(g, sizeof *d);

		if (d == NULL)
			return shape;
		tf__dim__init(d);
		d->has_size = 1;
		d->size = dim[k] < 0 ? -1 : dim[k];
		tf_graph_add(g, &shape->dim, &shape->n_dim, d);
	}
	return shape;
}

static Tf__Tensor *
add_const(struct tf_graph *g, char *name, int type, const int64_t *dim, size_t rank)
{
	Tf__Tensor *const t = tf_graph_make(g, sizeof *t);
	Tf__Node *const n = tf_graph_node(g, "Const", name, NULL);

	if (t == NULL)
		return NULL;
	tf__tensor__init(t);
	t->has_dtype = 1;
	t->dtype = type;
	t->tensor_shape = tf_graph_dims(g, dim, rank);
	tf_graph_type(g, n, "dtype", type);
	Tf__Attr *const a = tf_graph_attr(g, n, "value");
	a->value_case = TF__ATTR__VALUE_TENSOR;
	a->tensor = t;
	return t;
}

static size_t
type_size(int type)
{
	return type == TF_DOUBLE || type == TF_INT64 ? 8 : type == TF_BOOL ? 1 : 4;
}

const char *
tf_graph_const(struct tf_graph *g, char *name, int type, const int64_t *dim, size_t rank,
	const void *data)
{
	Tf__Tensor *const t = add_const(g, name, type, dim, rank);
	size_t n = type_size(type);

	for (size_t k = 0; k < rank; k++)
		n *= (size_t)dim[k];
	if (t == NULL)
		return name;
	t->has_tensor_content = 1;
	t->tensor_content.data = (uint8_t *)(uintptr_t)data;
	t->tensor_content.len = n;
	return name;
}

const char *
tf_graph_int32(struct tf_graph *g, const int64_t *x, size_t n, int is_scalar)
{
	const int64_t dim[] = { (int64_t)n };
	char *const name = tf_graph_text(g, "number/%zu", g->def.n_node);
	int32_t *const copy = tf_graph_make(g, (n + 1) * sizeof *copy);

	for (size_t i = 0; copy != NULL && i < n; i++)
		copy[i] = (int32_t)x[i];
	return tf_graph_const(g, name, TF_INT32, dim, is_scalar ? 0 : 1, copy);
}

const char *
tf_graph_scalar(struct tf_graph *g, int type, double x)
{
	union { float f; double d; int32_t i; int64_t l; } *const copy
		= tf_graph_make(g, sizeof *copy);
	char *const name = tf_graph_text(g, "number/%zu", g->def.n_node);

	if (copy == NULL)
		return name;
	switch (type) {
	case TF_FLOAT:  copy->f = (float)x; break;
	case TF_DOUBLE: copy->d = x; break;
	case TF_INT32:  copy->i = (int32_t)x; break;
	default:        copy->l = (int64_t)x; break;
	}
	return tf_graph_const(g, name, type, NULL, 0, copy);
}

const char *
tf_graph_texts(struct tf_graph *g, char *name, const char *const *x, size_t n, int is_scalar)
{
	const int64_t dim[] = { (int64_t)n };
	Tf__Tensor *const t = add_const(g, name, TF_STRING, dim, is_scalar ? 0 : 1);

	if (t == NULL)
		return name;
	t->string_val = tf_graph_make(g, (n + 1) * sizeof *t->string_val);
	for (size_t i = 0; t->string_val != NULL && i < n; i++) {
		t->string_val[i].data = (uint8_t *)tf_graph_text(g, "%s", x[i]);
		t->string_val[i].len = strlen(x[i]);
		t->n_string_val = i + 1;
	}
	return name;
}
