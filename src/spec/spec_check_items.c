/* Rules of rows by user and item: lists, groups, [items]. */
#include <stdio.h>
#include <string.h>

#include "spec/spec_private.h"

#define NONE SPEC_NO_FIELD

/* --- data.format = lists --------------------------------------------------- */

/* 1 user, 2 item, 3 history, 0 none of them. */
static int
list_column(const char *reference)
{
	static const char *const name[] = { "user", "item", "history" };

	for (int i = 0; i < 3; i++)
		if (strcmp(reference, name[i]) == 0 ||
		    (reference[0] == '1' + i && reference[1] == '\0'))
			return i + 1;
	return 0;
}

static enum rs_status
check_list_keys(struct spec *spec)
{
	const struct data_settings *d = &spec->settings.data;
	const struct { const char *key, *value; } column[] = {
		{ "label", d->label }, { "weight", d->weight }, { "time", d->time },
	};

	for (size_t i = 0; i < sizeof(column) / sizeof(column[0]); i++)
		if (*column[i].value != '\0')
			RS_TRY(spec_key_error(spec, "data", column[i].key, NULL,
				"lists have no such column; each item is a row of label 1"));
	if (d->header == TRI_YES)
		RS_TRY(spec_key_error(spec, "data", "header", NULL, "lists have none"));
	if (d->quote == TRI_YES)
		RS_TRY(spec_key_error(spec, "data", "quote", NULL,
			"cells of lists are not quoted"));
	if (*d->group != '\0' && list_column(d->group) != 1 && list_column(d->group) != 2)
		RS_TRY(spec_key_error(spec, "data", "group", NULL, "'%s', wanted user or item",
			d->group));
	if (*d->id != '\0' && list_column(d->id) != 1 && list_column(d->id) != 2)
		RS_TRY(spec_key_error(spec, "data", "id", NULL, "'%s', wanted user or item",
			d->id));
	return RS_OK;
}

static enum rs_status
check_list_field(struct spec *spec, size_t i)
{
	const struct field_settings *f = &spec->settings.field[i];
	const int is_list = f->type == FIELD_SEQUENCE || f->type == FIELD_MULTI;
	const int column = list_column(f->column);

	if (f->type == FIELD_CROSS)
		return RS_OK;
	if (column == 0)
		return spec_field_problem(spec, 1, NULL, i, "column",
			"'%s': lists have the columns user, item and history, or 1, 2 and 3",
			f->column);
	if (column == 3 && !is_list)
		return spec_field_problem(spec, 1, NULL, i, "type",
			"the history of lists is a sequence or multi");
	if (column == 3 && (f->unique || *f->weight_separator != '\0'))
		return spec_field_problem(spec, 1, NULL, i,
			f->unique ? "unique" : "weight_separator",
			"the history of lists has every item, without a weight");
	return RS_OK;
}

static enum rs_status
check_lists(struct spec *spec)
{
	if (spec->settings.data.format != FORMAT_LISTS)
		return RS_OK;
	RS_TRY(check_list_keys(spec));
	for (size_t i = 0; i < spec->settings.n_fields; i++)
		RS_TRY(check_list_field(spec, i));
	return RS_OK;
}

/* --- [items] ----------------------------------------------------------------- */

static int
is_sparse(const struct data_settings *d)
{
	return d->format == FORMAT_LIBSVM || d->format == FORMAT_LIBFFM ||
		d->format == FORMAT_LIBFM;
}

static enum rs_status
check_group(struct spec *spec)
{
	const struct data_settings *d = &spec->settings.data;

	if (is_sparse(d) && *d->group != '\0' && strcmp(d->group, "qid") != 0)
		return spec_key_error(spec, "data", "group", NULL,
			"'%s': the groups of libsvm, libffm and libfm rows are their qid",
			d->group);
	return RS_OK;
}

static enum rs_status
no_field(struct spec *spec, const char *key, const char *name)
{
	const char *names[64], *near;
	char hint[300];
	size_t n = 0;

	for (; n < spec->settings.n_fields && n < 64; n++)
		names[n] = spec->settings.field[n].name;
	near = spec_nearest(name, names, n);
	if (near != NULL)
		snprintf(hint, sizeof hint, "did you mean '%s'?", near);
	return spec_key_error(spec, "items", key, near != NULL ? hint : NULL,
		"there is no field '%s'", name);
}

static int
names_field(const struct text_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->item[i], name) == 0)
			return 1;
	return 0;
}

static enum rs_status
check_item_fields(struct spec *spec)
{
	const struct settings *s = &spec->settings;
	const size_t key = spec_field_find(spec, s->items.key);

	if (*s->items.key == '\0')
		return RS_OK;
	if (key == NONE)
		return no_field(spec, "key", s->items.key);
	if (s->field[key].type != FIELD_CATEGORICAL)
		RS_TRY(spec_key_error(spec, "items", "key", NULL,
			"field '%s' is not categorical: one id a row names the item",
			s->items.key));
	if (is_sparse(&s->data) && s->data.format != FORMAT_LIBFFM)
		RS_TRY(spec_key_error(spec, "items", "key", NULL,
			"the features of a libsvm or libfm row are one field"));
	if (s->data.format == FORMAT_LISTS && list_column(s->field[key].column) == 1)
		RS_TRY(spec_key_error(spec, "items", "key", NULL, "column 1 of lists is the user"));
	for (size_t i = 0; i < s->items.fields.n; i++)
		if (spec_field_find(spec, s->items.fields.item[i]) == NONE)
			return no_field(spec, "fields", s->items.fields.item[i]);
	if (!names_field(&s->items.fields, s->items.key))
		RS_TRY(spec_key_error(spec, "items", "fields", "add it to the list",
			"'%s', the key, is not among them", s->items.key));
	return RS_OK;
}

static int
is_two_tower(const struct settings *s)
{
	return strcmp(s->model.type, "two_tower") == 0;
}

/* An item's vector is made of the fields of its tower, all of them and no others. */
static enum rs_status
check_tower_items(struct spec *spec)
{
	const struct settings *s = &spec->settings;
	const struct text_list *tower = &s->tower[TOWER_ITEM].fields, *fields = &s->items.fields;

	if (!is_two_tower(s) || *s->items.key == '\0')
		return RS_OK;
	for (size_t i = 0; i < fields->n; i++)
		if (!names_field(tower, fields->item[i]))
			return spec_key_error(spec, "items", "fields",
				"by default they are those of [tower item]",
				"'%s' is not a field of [tower item]", fields->item[i]);
	for (size_t i = 0; i < tower->n; i++)
		if (!names_field(fields, tower->item[i]))
			return spec_key_error(spec, "items", "fields",
				"by default they are those of [tower item]",
				"'%s' of [tower item] is not among them", tower->item[i]);
	return RS_OK;
}

static enum rs_status
check_within(struct spec *spec)
{
	const struct items_settings *items = &spec->settings.items;
	const size_t field = spec_field_find(spec, items->within);

	if (*items->within == '\0')
		return RS_OK;
	if (field == NONE)
		return no_field(spec, "within", items->within);
	if (!names_field(&items->fields, items->within) || strcmp(items->within, items->key) == 0 ||
	    spec->settings.field[field].type != FIELD_CATEGORICAL)
		return spec_key_error(spec, "items", "within", NULL,
			"'%s', wanted a categorical field of items.fields besides the key",
			items->within);
	if (spec->settings.model.loss == LOSS_SAMPLED_SOFTMAX)
		return spec_key_error(spec, "items", "within", NULL,
			"sampled_softmax draws for the batch, not for a row");
	return RS_OK;
}

/* Items are drawn for the losses that want them, and for logloss and mse on request. */
static enum rs_status
check_negatives(struct spec *spec)
{
	const struct settings *s = &spec->settings;
	const enum loss_kind loss = s->model.loss;
	const int wants = loss == LOSS_SAMPLED_SOFTMAX || loss == LOSS_BPR || loss == LOSS_CCL;

	if (s->items.negatives > 0 && *s->items.key == '\0')
		return spec_key_error(spec, "items", "key", "key = the field of the item's id",
			"needed to draw negatives");
	if (s->items.negatives == 0 && wants && is_two_tower(s))
		return spec_key_error(spec, "items", "negatives", "for example negatives = 100",
			"model.loss draws negatives, how many?");
	if (s->items.negatives > 0 && (loss == LOSS_SOFTMAX || loss == LOSS_FULL_SOFTMAX))
		return spec_key_error(spec, "items", "negatives", NULL,
			"model.loss compares with %s; none are drawn",
			loss == LOSS_SOFTMAX ? "the items of the batch" : "all items");
	return RS_OK;
}

/* A drawn item takes the place of the row's with its fields; a cross of them has to
 * come along, and one with other fields cannot. */
static enum rs_status
check_crosses(struct spec *spec)
{
	const struct settings *s = &spec->settings;

	for (size_t i = 0; s->items.negatives > 0 && i < s->n_fields; i++) {
		const struct field_settings *f = &s->field[i];
		size_t of_item = 0;

		for (size_t k = 0; f->type == FIELD_CROSS && k < f->fields.n; k++)
			of_item += (size_t)names_field(&s->items.fields, f->fields.item[k]);
		if (of_item == 0 || (of_item == f->fields.n &&
			names_field(&s->items.fields, f->name)))
			continue;
		RS_TRY(spec_field_problem(spec, 1, NULL, i, "fields", of_item < f->fields.n ?
			"crosses the item with other fields, which drawn negatives cannot have" :
			"crosses fields of the item, so items.fields must name it"));
	}
	return RS_OK;
}

/* The catalogue of items is made by a pass over the rows before training. */
static enum rs_status
check_catalogue_input(struct spec *spec)
{
	const struct settings *s = &spec->settings;
	const int full = s->model.loss == LOSS_FULL_SOFTMAX;

	if (!spec_reads_a_stream(&s->data) || (s->items.negatives == 0 && !full))
		return RS_OK;
	return spec_key_error(spec, "data", *s->data.command != '\0' ? "command" : "train",
		"give files", "%s needs all items beforehand, but a stream is read only once",
		full ? "model.loss = full_softmax" : "items.negatives");
}

enum rs_status
spec_check_items(struct spec *spec)
{
	RS_TRY(check_lists(spec));
	RS_TRY(check_group(spec));
	RS_TRY(check_item_fields(spec));
	RS_TRY(check_tower_items(spec));
	RS_TRY(check_within(spec));
	RS_TRY(check_negatives(spec));
	RS_TRY(check_crosses(spec));
	return check_catalogue_input(spec);
}
