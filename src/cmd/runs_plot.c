/* runs plot: the course of a metric in a run, or over the runs of a model. */
#include "cmd/runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/plot.h"
#include "spec/spec.h"

#define PERIOD_KEY "incremental.period_begin"

enum { WIDTH = 80, HEIGHT = 16, HEIGHT_LOW = 6, KEY_SIZE = 128 };

struct runs_plot {
	const struct runs_call *call;
	struct store_run *run;             /* [n_runs] oldest first                   */
	size_t n_runs;
	char   key[KEY_SIZE];              /* of the metric                           */
	enum plot_axis axis;
	struct plot_series *series;        /* [n_series], of [n_runs]                 */
	size_t n_series;
};

/* --- which runs ---------------------------------------------------------------------- */

static const char *
last_part(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* A model's name: its directory, the last part of that, or its type. */
static int
is_of_model(const struct store_run *run, const char *name)
{
	return name == NULL || strcmp(run->directory, name) == 0
		|| strcmp(last_part(run->directory), name) == 0 || strcmp(run->model, name) == 0;
}

static enum rs_status
find_named(struct runs_plot *p)
{
	RS_TRY(memory_alloc(p->call->n_names, sizeof *p->run, &p->run));
	for (size_t i = 0; i < p->call->n_names; i++) {
		RS_TRY(store_run_find(p->call->store, p->call->name[i], &p->run[i]));
		p->n_runs++;
	}
	return RS_OK;
}

/* Keeps those of the model, the newest `last` of them, oldest first. */
static void
keep_of_model(struct runs_plot *p, const char *name, int64_t last)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_runs; i++) {
		if (is_of_model(&p->run[i], name) && (last == 0 || n < (size_t)last))
			p->run[n++] = p->run[i];
		else
			store_run_free(&p->run[i]);
	}
	for (size_t i = 0; i < n / 2; i++) {
		const struct store_run swap = p->run[i];

		p->run[i] = p->run[n - 1 - i];
		p->run[n - 1 - i] = swap;
	}
	p->n_runs = n;
}

static enum rs_status
find_filtered(struct runs_plot *p)
{
	const struct arguments *const a = p->call->a;
	const struct store_filter filter = {
		.status = argument(a, "--status"), .tag = argument(a, "--tag"),
	};
	const char *const model = argument(a, "--model");
	int64_t last = 0;

	RS_TRY(argument_int(a, "--last", 1, INT64_MAX, &last));
	if (model == NULL && filter.tag == NULL && last == 0) {
		rs_fail(RS_EUSAGE, "runs plot: no runs are named");
		return rs_hint("name runs, or a model with --model");
	}
	RS_TRY(store_runs(p->call->store, &filter, &p->run, &p->n_runs));
	keep_of_model(p, model, last);
	if (p->n_runs > 0)
		return RS_OK;
	rs_fail(RS_EUSAGE, "there is no such run%s%s", model != NULL ? " of model " : "",
		model != NULL ? model : "");
	return rs_hint("see recsys-train runs list");
}

static enum rs_status
find_runs(struct runs_plot *p)
{
	const struct arguments *const a = p->call->a;

	if (p->call->n_names == 0)
		return find_filtered(p);
	if (argument_given(a, "--model") || argument_given(a, "--last")
	    || argument_given(a, "--tag") || argument_given(a, "--status"))
		return rs_fail(RS_EUSAGE, "runs plot: runs are named, so --model, --last, --tag "
			"and --status have nothing to choose");
	return find_named(p);
}

/* --- which metric -------------------------------------------------------------------- */

static enum rs_status
has_key(const struct runs_plot *p, const char *key, int *out)
{
	*out = 0;
	for (size_t i = 0; !*out && i < p->n_runs; i++) {
		struct store_point *point;
		size_t n;

		RS_TRY(store_points(p->call->store, p->run[i].run, key, &point, &n));
		free(point);
		*out = n > 0;
	}
	return RS_OK;
}

/* The nearest of the keys that the newest run has. */
static enum rs_status
no_such_metric(const struct runs_plot *p, const char *name)
{
	const struct store_run *const run = &p->run[p->n_runs - 1];
	struct store_table t;

	RS_TRY(store_part(p->call->store, run->run, STORE_METRICS, &t));
	const char **keys;
	enum rs_status status = memory_alloc(t.n_rows + 1, sizeof *keys, &keys);
	for (size_t i = 0; status == RS_OK && i < t.n_rows; i++)
		keys[i] = t.cell[i * t.n_columns];
	if (status == RS_OK) {
		status = rs_fail(RS_EUSAGE, "no run named has a metric '%s'", name);
		const char *const near = spec_nearest(name, keys, t.n_rows);
		if (near != NULL)
			(void)rs_hint("did you mean '%s'?", near);
		else
			(void)rs_hint("see recsys-train runs show %s --metrics", run->name);
		free(keys);
	}
	store_table_free(&t);
	return status;
}

/* "auc" is the key valid.auc, or else progressive.auc or train.auc. */
static enum rs_status
choose_key(struct runs_plot *p, const char *name)
{
	static const char *const before[] = { "", "valid.", "progressive.", "train." };
	int found = 0;

	for (size_t i = 0; !found && i < sizeof before / sizeof *before; i++) {
		snprintf(p->key, sizeof p->key, "%s%s", before[i], name);
		RS_TRY(has_key(p, p->key, &found));
	}
	return found ? RS_OK : no_such_metric(p, name);
}

/* Without --metric: what the newest run was judged by. */
static enum rs_status
choose_metric(struct runs_plot *p)
{
	const char *const wanted = argument(p->call->a, "--metric");
	const char *const monitor = p->run[p->n_runs - 1].monitor;
	int found = 0;

	if (wanted != NULL)
		return choose_key(p, wanted);
	snprintf(p->key, sizeof p->key, "progressive.auc");
	if (argument(p->call->a, "--x") != NULL
	    && strcmp(argument(p->call->a, "--x"), "period") == 0)
		RS_TRY(has_key(p, p->key, &found));
	if (found)
		return RS_OK;
	snprintf(p->key, sizeof p->key, "valid.%s", monitor[0] != '\0' ? monitor : "auc");
	RS_TRY(has_key(p, p->key, &found));
	return found ? RS_OK : choose_key(p, "train.loss");
}

static enum rs_status
choose_axis(struct runs_plot *p)
{
	static const char *const name[] = { [PLOT_ROWS] = "row", [PLOT_TIME] = "time",
		[PLOT_EPOCH] = "epoch", [PLOT_PERIOD] = "period" };
	const char *const wanted = argument(p->call->a, "--x");

	p->axis = strncmp(p->key, "progressive.", strlen("progressive.")) == 0 ? PLOT_PERIOD
		: PLOT_ROWS;
	if (wanted == NULL)
		return RS_OK;
	for (size_t i = 0; i < sizeof name / sizeof *name; i++)
		if (strcmp(wanted, name[i]) == 0) {
			p->axis = (enum plot_axis)i;
			return RS_OK;
		}
	return rs_fail(RS_EUSAGE, "--x '%s': wanted row, time, epoch or period", wanted);
}

/* --- points -------------------------------------------------------------------------- */

static enum rs_status
add_point(struct plot_series *s, double x, double y)
{
	size_t bytes;

	if (s->n == s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 64;
		RS_TRY(size_mul(s->capacity, sizeof *s->point, &bytes));
		struct plot_point *const grown = realloc(s->point, bytes);
		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for %zu points", s->capacity);
		s->point = grown;
	}
	s->point[s->n++] = (struct plot_point){ x, y };
	return RS_OK;
}

/* rows: of this epoch and those before it; the record has those of each. */
static double
x_of(const struct runs_plot *p, const struct store_point *point, int64_t rows)
{
	return p->axis == PLOT_ROWS ? (double)rows
		: p->axis == PLOT_EPOCH ? (double)point->epoch : point->seconds;
}

/* What a run ended with, at epoch 0, is a point only when there is no course. */
static enum rs_status
add_course(struct runs_plot *p, const struct store_run *run)
{
	struct plot_series *const s = &p->series[p->n_series++];
	struct store_point *point;
	int64_t rows = 0;
	size_t n;

	RS_TRY(memory_strdup(run->name, &s->name));
	RS_TRY(store_points(p->call->store, run->run, p->key, &point, &n));
	const int has_course = n > 0 && point[0].epoch > 0;
	enum rs_status status = RS_OK;
	for (size_t i = 0; status == RS_OK && i < n; i++) {
		if (has_course && point[i].epoch == 0)
			continue;
		rows += point[i].rows;
		status = add_point(s, x_of(p, &point[i], rows), point[i].value);
	}
	free(point);
	return status;
}

/* "2026-11-29T14:00Z", with or without seconds, or seconds since 1970. */
static int
parse_period(const char *text, double *out)
{
	static const char *const form[] = { "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ" };
	int64_t seconds;

	for (size_t i = 0; i < sizeof form / sizeof *form; i++) {
		struct tm tm = { 0 };
		const char *const end = strptime(text, form[i], &tm);

		if (end != NULL && *end == '\0') {
			*out = (double)timegm(&tm);
			return 1;
		}
	}
	if (!number_i64(text, strlen(text), &seconds))
		return 0;
	*out = (double)seconds;
	return 1;
}

/* The curve of the model that the run is of. */
static enum rs_status
find_curve(struct runs_plot *p, const struct store_run *run, struct plot_series **out)
{
	const char *const name = run->directory[0] != '\0' ? run->directory : run->model;

	for (size_t i = 0; i < p->n_series; i++)
		if (strcmp(p->series[i].name, name) == 0) {
			*out = &p->series[i];
			return RS_OK;
		}
	*out = &p->series[p->n_series++];
	return memory_strdup(name, &(*out)->name);
}

static enum rs_status
add_period(struct runs_plot *p, const struct store_run *run)
{
	struct plot_series *curve;
	struct store_point *point;
	double period;
	size_t n;
	char *text;

	RS_TRY(store_param_value(p->call->store, run->run, PERIOD_KEY, &text));
	const int has_period = text != NULL && parse_period(text, &period);
	free(text);
	if (!has_period)
		return RS_OK;
	RS_TRY(store_points(p->call->store, run->run, p->key, &point, &n));
	const double value = n > 0 ? point[n - 1].value : NAN;
	free(point);
	if (n == 0)
		return RS_OK;
	RS_TRY(find_curve(p, run, &curve));
	return add_point(curve, period, value);
}

static int
compare_points(const void *a, const void *b)
{
	const struct plot_point *const p = a, *const q = b;

	return (p->x > q->x) - (p->x < q->x);
}

/* In the order of x; of runs of one period the newest, which was added last, is shown. */
static void
sort_points(const struct runs_plot *p, struct plot_series *s)
{
	size_t n = 0;

	if (s->n > 1 && p->axis != PLOT_PERIOD)
		qsort(s->point, s->n, sizeof *s->point, compare_points);
	for (size_t i = 1; p->axis == PLOT_PERIOD && i < s->n; i++) {      /* stable  */
		const struct plot_point moved = s->point[i];
		size_t j = i;

		for (; j > 0 && s->point[j - 1].x > moved.x; j--)
			s->point[j] = s->point[j - 1];
		s->point[j] = moved;
	}
	for (size_t i = 0; p->axis == PLOT_PERIOD && i < s->n; i++) {
		n -= n > 0 && s->point[n - 1].x == s->point[i].x;
		s->point[n++] = s->point[i];
	}
	if (p->axis == PLOT_PERIOD)
		s->n = n;
}

static int
has_value(const struct plot_series *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!isnan(s->point[i].y))
			return 1;
	return 0;
}

static enum rs_status
check_values(const struct runs_plot *p)
{
	for (size_t i = 0; i < p->n_series; i++)
		if (has_value(&p->series[i]))
			return RS_OK;
	if (p->axis == PLOT_PERIOD && p->n_series == 0) {
		rs_fail(RS_EUSAGE, "no run named with a '%s' is of a period", p->key);
		return rs_hint("train --incremental makes such runs; others have --x row");
	}
	return rs_fail(RS_EUSAGE, "'%s' is not defined in any of the runs", p->key);
}

static enum rs_status
gather(struct runs_plot *p)
{
	RS_TRY(memory_alloc(p->n_runs, sizeof *p->series, &p->series));
	for (size_t i = 0; i < p->n_runs; i++)
		RS_TRY(p->axis == PLOT_PERIOD ? add_period(p, &p->run[i])
			: add_course(p, &p->run[i]));
	for (size_t i = 0; i < p->n_series; i++)
		sort_points(p, &p->series[i]);
	if (p->n_series > PLOT_SERIES) {
		rs_fail(RS_EUSAGE, "%zu curves in one plot, at most %d are possible", p->n_series,
			PLOT_SERIES);
		return rs_hint("choose fewer runs, for instance with --last, or --x period for one "
			"curve a model");
	}
	return check_values(p);
}

/* --- the drawing --------------------------------------------------------------------- */

static enum rs_status
print_json(const struct plot *plot)
{
	static const char *const axis[] = { [PLOT_ROWS] = "row", [PLOT_TIME] = "time",
		[PLOT_EPOCH] = "epoch", [PLOT_PERIOD] = "period" };
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '{');
	json_string(&j, "metric", plot->metric);
	json_string(&j, "x", axis[plot->axis]);
	json_open(&j, "curves", '[');
	for (size_t s = 0; s < plot->n; s++) {
		json_open(&j, NULL, '{');
		json_string(&j, "name", plot->series[s].name);
		json_open(&j, "points", '[');
		for (size_t i = 0; i < plot->series[s].n; i++) {
			json_open(&j, NULL, '[');
			json_double(&j, NULL, plot->series[s].point[i].x);
			json_double(&j, NULL, plot->series[s].point[i].y);
			json_close(&j);
		}
		json_close(&j);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	const enum rs_status status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

/* As much of the terminal as leaves room for a prompt. */
static void
find_size(size_t *width, size_t *height)
{
	struct winsize size;

	*width = WIDTH;
	*height = HEIGHT;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return;
	*width = size.ws_col;
	if (size.ws_row > 0 && size.ws_row < HEIGHT + 6)
		*height = size.ws_row > HEIGHT_LOW + 6 ? (size_t)size.ws_row - 6 : HEIGHT_LOW;
}

static enum rs_status
print_text(const struct plot *plot)
{
	struct buffer text;
	size_t width, height;

	find_size(&width, &height);
	buffer_init(&text, PLOT_BYTES);
	enum rs_status status = plot_text(plot, width, height, &text);
	if (status == RS_OK)
		status = output_text(text.data, text.n);
	buffer_free(&text);
	return status;
}

static enum rs_status
draw(struct runs_plot *p)
{
	const char *const path = argument(p->call->a, "--output");
	const struct plot plot = { .metric = p->key, .axis = p->axis, .series = p->series,
		.n = p->n_series };

	if (path != NULL)
		return plot_file(&plot, path);
	return command_json(p->call->a) ? print_json(&plot) : print_text(&plot);
}

enum rs_status
runs_plot(const struct runs_call *call)
{
	struct runs_plot p = { .call = call };
	const char *const path = argument(call->a, "--output");

	if (path != NULL)
		RS_TRY(plot_check_path(path));
	enum rs_status status = find_runs(&p);
	if (status == RS_OK)
		status = choose_metric(&p);
	if (status == RS_OK)
		status = choose_axis(&p);
	if (status == RS_OK)
		status = gather(&p);
	if (status == RS_OK)
		status = draw(&p);
	for (size_t i = 0; i < p.n_series; i++) {
		free(p.series[i].name);
		free(p.series[i].point);
	}
	free(p.series);
	store_runs_free(p.run, p.n_runs);
	return status;
}
