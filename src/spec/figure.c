/* The names of figures. */
#include "spec/figure.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "spec/spec.h"

static const struct figure_row {
	const char *name;
	int better;
	enum figure_cut cut;
	int grouped, classes, probability;
} figure_table[N_FIGURES] = {
#define ROW(kind, name, better, cut, grouped, classes, probability) \
	{ name, better, cut, grouped, classes, probability },
	FIGURE_TABLE(ROW)
#undef ROW
};

int
figure_better(const struct figure *f)
{
	return figure_table[f->kind].better;
}

int
figure_needs_groups(const struct figure *f)
{
	return figure_table[f->kind].grouped;
}

int
figure_needs_classes(const struct figure *f)
{
	return figure_table[f->kind].classes;
}

int
figure_needs_probabilities(const struct figure *f)
{
	return figure_table[f->kind].probability;
}

int
figure_is_rank(const struct figure *f)
{
	return figure_table[f->kind].cut != CUT_NONE;
}

static enum rs_status
no_such_figure(const char *text, size_t n_name, enum rs_status failure)
{
	const char *names[N_FIGURES];
	char name[64] = "";
	size_t row = 0;

	snprintf(name, sizeof name, "%.*s", (int)n_name, text);
	for (size_t i = 0; i < N_FIGURES; i++)
		names[i] = figure_table[i].name;
	rs_fail(failure, "'%.60s': there is no such metric", text);
	const char *near = spec_nearest(name, names, N_FIGURES);
	if (near == NULL)
		return rs_hint("for example auc, logloss, gauc or ndcg@10");
	while (names[row] != near)
		row++;
	if (figure_table[row].cut == CUT_NONE)
		return rs_hint("did you mean '%s'?", near);
	return rs_hint("did you mean '%s%s'?", near, text[n_name] != '\0' ? text + n_name : "@10");
}

/* The digits behind the '@'. */
static enum rs_status
parse_cut(const char *text, size_t n_name, enum figure_cut cut, enum rs_status failure,
	uint32_t *out)
{
	const char *digits = text + n_name + 1;
	int64_t k = 0;

	*out = 0;
	if (text[n_name] == '\0' && cut != CUT_MUST)
		return RS_OK;
	if (text[n_name] != '\0' && cut == CUT_NONE) {
		rs_fail(failure, "'%.60s': this metric has no '@'", text);
		return rs_hint("write '%.*s'", (int)n_name, text);
	}
	if (text[n_name] == '\0' || !number_i64(digits, strlen(digits), &k) || k < 1
	    || k > FIGURE_K_MAX) {
		rs_fail(failure, "'%.60s': a number of places from 1 to %d is wanted behind '@'",
			text, FIGURE_K_MAX);
		return rs_hint("for example '%.*s@10'", (int)n_name, text);
	}
	*out = (uint32_t)k;
	return RS_OK;
}

enum rs_status
figure_parse(const char *text, size_t n, enum rs_status failure, struct figure *out)
{
	char copy[64];

	snprintf(copy, sizeof copy, "%.*s", (int)(n < sizeof copy ? n : sizeof copy), text);
	const size_t n_name = strcspn(copy, "@");
	for (size_t i = 0; i < N_FIGURES; i++) {
		const struct figure_row *const row = &figure_table[i];
		if (strlen(row->name) != n_name || memcmp(row->name, copy, n_name) != 0)
			continue;
		*out = (struct figure){ .kind = (enum figure_kind)i };
		RS_TRY(parse_cut(copy, n_name, row->cut, failure, &out->k));
		if (out->k > 0)
			snprintf(out->name, sizeof out->name, "%s@%u", row->name, out->k);
		else
			snprintf(out->name, sizeof out->name, "%s", row->name);
		return RS_OK;
	}
	return no_such_figure(copy, n_name, failure);
}

size_t
figure_find(const struct figure_list *list, const char *name)
{
	size_t i = 0;

	while (i < list->n && strcmp(list->item[i].name, name) != 0)
		i++;
	return i;
}

enum rs_status
figure_add(struct figure_list *list, const struct figure *f)
{
	if (figure_find(list, f->name) < list->n)
		return RS_OK;
	if (list->n == FIGURE_MAX)
		return rs_fail(RS_ESPEC, "'%s' is one metric too many, at most %d are possible",
			f->name, FIGURE_MAX);
	list->item[list->n++] = *f;
	return RS_OK;
}

int
figure_list_needs_classes(const struct figure_list *list)
{
	int wanted = 0;

	for (size_t i = 0; i < list->n; i++)
		wanted |= figure_needs_classes(&list->item[i]);
	return wanted;
}

static void
add_name(struct figure_list *list, const char *name)
{
	struct figure f;

	if (figure_parse(name, strlen(name), RS_ESPEC, &f) == RS_OK)
		figure_add(list, &f);
}

/* Logged rows of both classes; not those that are all positive, with the negatives
 * drawn in training. */
static int
judges_rows(const struct settings *s)
{
	return s->model.loss == LOSS_LOGLOSS && s->data.format != FORMAT_LISTS
		&& (s->items.negatives == 0 || s->eval.candidates == EVAL_ROWS);
}

/* The figures of a loss when eval.metrics names none. */
static void
add_defaults(const struct settings *s, struct figure_list *list)
{
	static const char *const by_class[] = { "auc", "logloss", NULL };
	static const char *const by_square[] = { "mse", NULL };
	static const char *const retrieved[] = { "recall@20", "ndcg@20", NULL };
	static const char *const ranked[] = { "hr@10", "ndcg@10", NULL };
	const char *const *name = s->eval.candidates == EVAL_CATALOGUE ? retrieved : ranked;

	if (s->model.loss == LOSS_MSE)
		name = by_square;
	else if (judges_rows(s))
		name = by_class;
	for (; *name != NULL; name++)
		add_name(list, *name);
}

static void
add_wanted(const struct settings *s, struct figure_list *out)
{
	out->n = 0;
	for (size_t i = 0; i < s->eval.metrics.n; i++)
		add_name(out, s->eval.metrics.item[i]);
	if (out->n == 0)
		add_defaults(s, out);
}

/* 1 when training can look at it. */
static int
can_be_monitored(const struct settings *s, const struct figure *f)
{
	return figure_better(f) != 0
		&& (s->model.loss != LOSS_MSE || !figure_table[f->kind].probability);
}

void
figure_monitor(const struct settings *s, struct figure *out)
{
	struct figure_list list;
	const char *const name = s->train.monitor;

	if (name != NULL && figure_parse(name, strlen(name), RS_ESPEC, out) == RS_OK
	    && can_be_monitored(s, out))
		return;
	add_wanted(s, &list);
	for (size_t i = 0; i < list.n; i++)
		if (can_be_monitored(s, &list.item[i])) {
			*out = list.item[i];
			return;
		}
	*out = (struct figure){ s->model.loss == LOSS_MSE ? FIGURE_MSE : FIGURE_AUC, 0, "" };
	snprintf(out->name, sizeof out->name, "%s", figure_table[out->kind].name);
}

void
figure_list_of(const struct settings *s, struct figure_list *out)
{
	struct figure monitor;

	add_wanted(s, out);
	figure_monitor(s, &monitor);
	if (figure_find(out, monitor.name) == out->n && out->n == FIGURE_MAX)
		out->n--;
	figure_add(out, &monitor);
}
