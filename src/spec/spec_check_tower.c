/* Rules of two_tower: whose fields are whose, equal vectors, what losses cannot be. */
#include <string.h>

#include "spec/spec_private.h"

static const char *const tower_section[N_TOWERS] = {
	[TOWER_USER] = "tower user", [TOWER_ITEM] = "tower item",
};

static const char *const loss_name[] = {
	[LOSS_LOGLOSS] = "logloss", [LOSS_MSE] = "mse", [LOSS_SOFTMAX] = "softmax",
	[LOSS_SAMPLED_SOFTMAX] = "sampled_softmax", [LOSS_FULL_SOFTMAX] = "full_softmax",
	[LOSS_BPR] = "bpr", [LOSS_CCL] = "ccl",
};

/* How often the towers name a field. */
static size_t
count_named(const struct settings *s, const char *name)
{
	size_t n = 0;

	for (int t = 0; t < N_TOWERS; t++)
		for (size_t i = 0; i < s->tower[t].fields.n; i++)
			n += strcmp(s->tower[t].fields.item[i], name) == 0;
	return n;
}

static enum rs_status
check_tower_names(struct spec *spec, int tower)
{
	const struct text_list *fields = &spec->settings.tower[tower].fields;
	const char *section = tower_section[tower];

	if (fields->n == 0)
		return spec_key_error(spec, section, "fields", "for example fields = age,city",
			"the fields of this tower are needed");
	for (size_t i = 0; i < fields->n; i++) {
		if (spec_field_find(spec, fields->item[i]) == SPEC_NO_FIELD)
			RS_TRY(spec_key_error(spec, section, "fields", NULL,
				"there is no field '%s'",
				fields->item[i]));
		else if (count_named(&spec->settings, fields->item[i]) > 1)
			RS_TRY(spec_key_error(spec, section, "fields",
				"a second field of the same column can share its table",
				"field '%s' is named twice", fields->item[i]));
	}
	return RS_OK;
}

static enum rs_status
check_all_named(struct spec *spec)
{
	const struct settings *s = &spec->settings;

	for (size_t i = 0; i < s->n_fields; i++) {
		const struct spec_place place = spec_place(spec, "field", "column", i);

		if (count_named(s, s->field[i].name) == 0)
			RS_TRY(spec_add_problem(spec, 1, &place,
				"name it in fields of [tower user] or [tower item]",
				"[field %s] is in no tower", s->field[i].name));
	}
	return RS_OK;
}

/* Columns of a tower's vector. */
static int64_t
tower_width(const struct spec *spec, int tower)
{
	const struct tower_settings *t = &spec->settings.tower[tower];
	int64_t width = 0;

	if (t->dnn.hidden.n > 0)
		return (int64_t)t->dnn.hidden.item[t->dnn.hidden.n - 1];
	for (size_t i = 0; i < t->fields.n; i++) {
		const size_t f = spec_field_find(spec, t->fields.item[i]);

		if (f != SPEC_NO_FIELD)
			width += spec->settings.field[f].dim > 0 ? spec->settings.field[f].dim :
				spec->settings.embedding.dim;
	}
	return width;
}

static enum rs_status
check_widths(struct spec *spec)
{
	const int64_t user = tower_width(spec, TOWER_USER), item = tower_width(spec, TOWER_ITEM);

	if (user == item)
		return RS_OK;
	return spec_key_error(spec, tower_section[TOWER_ITEM], "hidden",
		"the last layers must have equal units",
		"a vector of %lld columns, but that of the user has %lld", (long long)item,
		(long long)user);
}

static enum rs_status
check_tower_loss(struct spec *spec)
{
	const struct settings *s = &spec->settings;
	const enum loss_kind loss = s->model.loss;

	if (loss == LOSS_CCL && s->two_tower.similarity != SIMILARITY_COSINE)
		RS_TRY(spec_key_error(spec, "two_tower", "similarity", NULL,
			"loss = ccl is of cosines"));
	if (loss == LOSS_CCL && s->two_tower.learn_temperature)
		RS_TRY(spec_key_error(spec, "two_tower", "learn_temperature", NULL,
			"loss = ccl has no temperature to learn"));
	return RS_OK;
}

enum rs_status
spec_check_towers(struct spec *spec)
{
	const struct settings *s = &spec->settings;

	if (strcmp(s->model.type, "two_tower") != 0) {
		if (s->model.loss != LOSS_LOGLOSS && s->model.loss != LOSS_MSE)
			return spec_key_error(spec, "model", "loss", "logloss or mse",
				"'%s' is for model type two_tower", loss_name[s->model.loss]);
		return RS_OK;
	}
	for (int t = 0; t < N_TOWERS; t++)
		RS_TRY(check_tower_names(spec, t));
	RS_TRY(check_all_named(spec));
	RS_TRY(check_widths(spec));
	return check_tower_loss(spec);
}
