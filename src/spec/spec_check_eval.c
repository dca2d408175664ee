/* Rules about the figures of an evaluation. */
#include <stdio.h>
#include <string.h>

#include "spec/figure.h"
#include "spec/spec_private.h"

static int
has_groups(const struct data_settings *d)
{
	return *d->group != '\0' || d->format == FORMAT_LISTS;
}

static enum rs_status
check_figure(struct spec *spec, const char *section, const char *key, const char *name)
{
	struct spec_place place = spec_place(spec, section, key, SPEC_NO_FIELD);
	char prefix[64];
	struct figure f;

	place.column = place.value_column;
	snprintf(prefix, sizeof prefix, "[%s] %s", section, key);
	if (figure_parse(name, strlen(name), RS_ESPEC, &f) != RS_OK)
		return spec_failure_to_problem(spec, &place, prefix);
	if (figure_needs_groups(&f) && !has_groups(&spec->settings.data))
		return spec_key_error(spec, section, key,
			"name the column of the user in [data] group",
			"'%s' is made of groups of rows, and there are none", f.name);
	if (strcmp(section, "train") == 0 && figure_better(&f) == 0)
		return spec_key_error(spec, section, key, "for example auc, logloss or ndcg@10",
			"'%s' is neither better nor worse when it is higher", f.name);
	return RS_OK;
}

static int
wants_ranks(const struct settings *s)
{
	struct figure_list list;
	int wanted = 0;

	figure_list_of(s, &list);
	for (size_t i = 0; i < list.n; i++)
		wanted |= figure_is_rank(&list.item[i]);
	return wanted;
}

static enum rs_status
check_catalogue(struct spec *spec)
{
	const struct settings *s = &spec->settings;

	if (s->eval.candidates != EVAL_CATALOGUE)
		return RS_OK;
	if (strcmp(s->model.type, "two_tower") != 0)
		return spec_key_error(spec, "eval", "candidates", "set candidates = rows",
			"all items can be ranked by a two_tower only, not by '%s'", s->model.type);
	if (!has_groups(&s->data))
		return spec_key_error(spec, "data", "group", "set it to the column of the user",
			"needed to rank the catalogue for each user");
	if (s->data.valid.n > 0 && wants_ranks(s) && spec_reads_a_stream(&s->data))
		return spec_key_error(spec, "eval", "candidates",
			"set candidates = rows, or train on files",
			"rows of a stream are read only once, so there is no catalogue to rank");
	return RS_OK;
}

enum rs_status
spec_check_eval(struct spec *spec)
{
	const struct settings *s = &spec->settings;

	for (size_t i = 0; i < s->eval.metrics.n; i++)
		RS_TRY(check_figure(spec, "eval", "metrics", s->eval.metrics.item[i]));
	if (s->eval.metrics.n > FIGURE_MAX - 1)
		RS_TRY(spec_key_error(spec, "eval", "metrics", NULL, "more than %d",
			FIGURE_MAX - 1));
	if (spec_given(spec, "train", "monitor", SPEC_NO_FIELD))
		RS_TRY(check_figure(spec, "train", "monitor", s->train.monitor));
	return check_catalogue(spec);
}
