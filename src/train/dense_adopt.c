/* Dense parameters of a version of other fields, by what rows and columns stand for. */
#include "train/dense_adopt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "train/dense_file.h"

#define NONE SIZE_MAX

int
dense_adopt_is_new(const struct model *former, const char *field)
{
	for (size_t i = 0; i < former->schema.n_fields; i++)
		if (strcmp(former->schema.field[i].name, field) == 0)
			return 0;
	return 1;
}

/* "NAME.vector" of field NAME. */
static int
is_of(const char *param, const char *name)
{
	const size_t n = strlen(name);

	return n > 0 && strncmp(param, name, n) == 0 && param[n] == '.';
}

static int
had_history(const struct model *former, const char *history)
{
	for (size_t i = 0; i < former->schema.n_fields; i++)
		if (strcmp(former->schema.field[i].settings->history, history) == 0)
			return 1;
	return 0;
}

/* A parameter that the version lacks: of a new field, or of the attention to a new history? */
static int
is_of_new_field(const struct model *m, const struct model *former, const char *param)
{
	for (size_t i = 0; i < m->schema.n_fields; i++) {
		const struct schema_field *f = &m->schema.field[i];

		if (dense_adopt_is_new(former, f->name) && (is_of(param, f->name) ||
			(is_of(param, f->settings->history) &&
			!had_history(former, f->settings->history))))
			return 1;
	}
	return 0;
}

/* --- matching ---------------------------------------------------------------- */

struct place { uint64_t label; size_t i; };

static int
label_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->label > y->label) - (x->label < y->label);
}

/* One axis of a parameter, now and before. */
struct axis {
	uint64_t *now, *before;        /* [n_now] [n_before] labels                   */
	size_t    n_now, n_before;
	size_t   *from;                /* [n_now] index before, NONE                  */
	struct place *place;           /* [n_before] sorted                           */
};

static enum rs_status
axis_init(struct axis *a, size_t n_now, size_t n_before)
{
	*a = (struct axis){ .n_now = n_now, .n_before = n_before };
	RS_TRY(memory_alloc(n_now, sizeof *a->now, &a->now));
	RS_TRY(memory_alloc(n_before, sizeof *a->before, &a->before));
	RS_TRY(memory_alloc(n_now, sizeof *a->from, &a->from));
	return memory_alloc(n_before, sizeof *a->place, &a->place);
}

static void
axis_free(struct axis *a)
{
	free(a->now);
	free(a->before);
	free(a->from);
	free(a->place);
}

/* 0: units were added or taken away, which no field explains. */
static int
axis_match(struct axis *a)
{
	size_t units = 0;              /* before, that are not there now              */
	int good = 1;

	for (size_t i = 0; i < a->n_before; i++) {
		a->place[i] = (struct place){ a->before[i], i };
		units += !graph_axis_is_of_field(a->before[i]);
	}
	qsort(a->place, a->n_before, sizeof *a->place, label_order);
	for (size_t i = 0; i < a->n_now; i++) {
		const struct place *const p = bsearch(&(struct place){ a->now[i], 0 }, a->place,
			a->n_before, sizeof *a->place, label_order);

		a->from[i] = p != NULL ? p->i : NONE;
		good &= p != NULL || graph_axis_is_of_field(a->now[i]);
		units -= p != NULL && !graph_axis_is_of_field(a->now[i]);
	}
	return good && units == 0;
}

static int
axis_is_whole(const struct axis *a)
{
	for (size_t i = 0; i < a->n_now; i++)
		if (a->from[i] != i)
			return 0;
	return a->n_now == a->n_before;
}

/* --- one parameter ------------------------------------------------------------- */

struct adopting {
	struct model *m;
	const struct model *former;
	struct graph_axes *now, *before;
	const char *path;
	struct dense_view view;
	int with_state;
};

static enum rs_status
other_shape(const struct adopting *a, const struct graph_param *p, const struct dense_param *row)
{
	(void)rs_fail_at(RS_ESPEC, a->path, 0, 0, "parameter '%s' is %" PRIu64 " x %" PRIu64
		" in the model saved, the spec wants %zu x %zu", p->name, row->rows, row->columns,
		p->rows, p->columns);
	return rs_hint("keep its layers as they were, or train a new model with --fresh");
}

static float
new_value(const struct graph_param *p)
{
	return p->init == PARAM_ONE ? 1 : p->init == PARAM_CONSTANT ? p->init_value : 0;
}

static void
copy_values(const struct adopting *a, const struct graph_param *p, const struct dense_param *row,
	const struct axis *rows, const struct axis *columns)
{
	const size_t P = (size_t)a->view.head.P * sizeof(float);

	for (size_t i = 0; i < p->rows * p->columns; i++) {
		const size_t r = rows->from[i / p->columns], c = columns->from[i % p->columns];
		const size_t to = p->offset + i;

		if (r == NONE || c == NONE) {
			a->m->param[to] = new_value(p);
			continue;
		}
		const char *const from = a->view.weight +
			((size_t)row->offset + r * (size_t)row->columns + c) * sizeof(float);
		memcpy(&a->m->param[to], from, sizeof(float));
		if (!a->with_state)
			continue;
		memcpy(&a->m->slot_m[to], from + P, sizeof(float));
		memcpy(&a->m->slot_v[to], from + 2 * P, sizeof(float));
	}
}

static enum rs_status
match_param(struct adopting *a, size_t i, size_t former, struct axis axis[2],
	const struct dense_param *row, struct dense_adopted *out)
{
	const struct graph_param *const p = graph_param(a->m->graph, i);

	RS_TRY(axis_init(&axis[0], p->rows, (size_t)row->rows));
	RS_TRY(axis_init(&axis[1], p->columns, (size_t)row->columns));
	graph_axes_of(a->now, i, axis[0].now, axis[1].now);
	graph_axes_of(a->before, former, axis[0].before, axis[1].before);
	if (!axis_match(&axis[0]) || !axis_match(&axis[1]))
		return other_shape(a, p, row);
	if (axis_is_whole(&axis[0]) && axis_is_whole(&axis[1]))
		out->whole++;
	else
		out->changed++;
	copy_values(a, p, row, &axis[0], &axis[1]);
	return RS_OK;
}

static size_t
find_former(const struct model *former, const char *name)
{
	size_t i = 0;

	while (i < graph_n_params(former->graph) &&
		strcmp(graph_param(former->graph, i)->name, name) != 0)
		i++;
	return i;
}

static enum rs_status
find_row(const struct adopting *a, const char *name, struct dense_param *out, int *found)
{
	*found = 0;
	for (size_t i = 0; !*found && i < a->view.head.n_params; i++) {
		RS_TRY(dense_file_param(&a->view, i, a->path, out));
		*found = strcmp(out->name, name) == 0;
	}
	return RS_OK;
}

static enum rs_status
adopt_param(struct adopting *a, size_t i, struct dense_adopted *out)
{
	const struct graph_param *const p = graph_param(a->m->graph, i);
	const size_t former = find_former(a->former, p->name);
	struct axis axis[2] = { { .n_now = 0 } };
	struct dense_param row;
	int found;

	RS_TRY(find_row(a, p->name, &row, &found));
	if (!found && is_of_new_field(a->m, a->former, p->name)) {
		out->fresh++;
		return RS_OK;
	}
	if (!found) {
		(void)rs_fail_at(RS_ESPEC, a->path, 0, 0, "the model saved has no parameter '%s'",
			p->name);
		return rs_hint("keep its layers as they were, or train a new model with --fresh");
	}
	if (former == graph_n_params(a->former->graph) ||
	    graph_param(a->former->graph, former)->rows != row.rows ||
	    graph_param(a->former->graph, former)->columns != row.columns)
		return rs_fail_at(RS_EDATA, a->path, 0, 0, "parameter '%s' is not that of its spec",
			p->name);
	const enum rs_status status = match_param(a, i, former, axis, &row, out);
	axis_free(&axis[0]);
	axis_free(&axis[1]);
	return status;
}

static enum rs_status
adopt_params(struct adopting *a, struct dense_adopted *out)
{
	RS_TRY(graph_axes_create(a->m->graph, &a->now));
	RS_TRY(graph_axes_create(a->former->graph, &a->before));
	for (size_t i = 0; i < graph_n_params(a->m->graph); i++)
		RS_TRY(adopt_param(a, i, out));
	a->m->step = a->view.head.step;
	a->m->skipped_steps = a->view.head.skipped_steps;
	return RS_OK;
}

enum rs_status
dense_adopt(struct model *m, const struct model *former, const char *path, int with_state,
	struct dense_adopted *out)
{
	struct adopting a = { .m = m, .former = former, .path = path };
	struct file_map map;

	memset(out, 0, sizeof *out);
	RS_TRY(file_map_open(&map, path));
	enum rs_status status = dense_file_view(&map, path, &a.view);
	a.with_state = with_state && a.view.head.has_state && m->slot_m != NULL
		&& m->slot_v != NULL;
	out->had_state = a.view.head.has_state != 0;
	if (status == RS_OK)
		status = adopt_params(&a, out);
	graph_axes_destroy(a.before);
	graph_axes_destroy(a.now);
	file_map_close(&map);
	return status;
}
