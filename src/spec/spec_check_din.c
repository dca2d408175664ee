/* Rules of din: histories, and what their items are compared with. */

#include "spec/spec_private.h"

/* Attention compares every item with the one id of the field whose table it is in. */
static enum rs_status
check_target(struct spec *spec, size_t field)
{
	const struct field_settings *f = &spec->settings.field[field];
	const size_t target = spec_field_find(spec, f->share);

	if (*f->share == '\0')
		return spec_field_problem(spec, 1,
			"for example share = item; din.pooling = mean compares nothing",
			field, "share",
			"the field that the items are compared with is needed");
	if (target == SPEC_NO_FIELD)            /* a problem already                     */
		return RS_OK;
	if (spec->settings.field[target].type == FIELD_MULTI
	    || spec->settings.field[target].type == FIELD_SEQUENCE)
		return spec_field_problem(spec, 1, NULL, field, "share",
			"'%s' has several ids a row; items are compared with one", f->share);
	return RS_OK;
}

enum rs_status
spec_check_din(struct spec *spec)
{
	const struct settings *s = &spec->settings;
	const struct spec_place place = spec_place(spec, "model", "type", SPEC_NO_FIELD);
	size_t n = 0;

	if (!option_section_concerns("din", s->model.type))
		return RS_OK;
	for (size_t i = 0; i < s->n_fields; i++) {
		if (s->field[i].type != FIELD_SEQUENCE)
			continue;
		n++;
		if (s->din.pooling == DIN_ATTENTION)
			RS_TRY(check_target(spec, i));
	}
	if (n > 0)
		return RS_OK;
	return spec_add_problem(spec, 1, &place, "for example [field clicked] type = sequence, "
		"share = item", "[model] type: din needs a field of type sequence");
}
