/* The results of bench in the run database, and beside those of an earlier run. */
#include "config.h"

#include "cmd/bench_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cmd/layout.h"

#define TAG        "bench"
#define LINE_LIMIT ((size_t)64 << 10)
#define KEY_SIZE   128
#define PREFIX     "bench."
#define NOISE      0.05           /* a smaller change is not called slower or faster  */

/* Of what a rate is besides its measure, or NULL: reading does not depend on the placement. */
static const char *
kind_of(const struct bench_result *r, const struct bench_line *line)
{
	if (r->format != NULL)
		return r->format;
	return bench_line_is_placed(line) &&
		r->placement != bench_placement_names[BENCH_LOCAL] ? r->placement : NULL;
}

static void
make_key(char key[KEY_SIZE], const struct bench_result *r, const struct bench_line *line,
	const char *figure)
{
	const char *const kind = kind_of(r, line);
	const int by_onednn = r->kernel_limit > 0 && bench_line_is_placed(line);

	snprintf(key, KEY_SIZE, PREFIX "%s.%s%s.%s%s%s.%zu.%s", r->model, r->precision,
		by_onednn ? "-onednn" : "", line->measure, kind != NULL ? "-" : "",
		kind != NULL ? kind : "", line->threads, figure);
}

/* ---- into the database -------------------------------------------------- */

static enum rs_status
put_line(struct store *store, int64_t run, const struct bench_result *r,
	const struct bench_line *line)
{
	const struct { const char *name; double value; } figure[] = {
		{ "samples_per_s", line->samples_per_s },
		{ "limit_ratio", bench_ratio(line) },
	};
	char key[KEY_SIZE];

	for (size_t i = 0; i < sizeof(figure) / sizeof(figure[0]); i++) {
		if (isnan(figure[i].value))
			continue;
		make_key(key, r, line, figure[i].name);
		RS_TRY(store_metric(store, run, key, 0, 0, 0, figure[i].value));
	}
	return RS_OK;
}

static enum rs_status
put_lines(struct store *store, int64_t run, const struct bench_result *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < r[i].n_lines; k++)
			RS_TRY(put_line(store, run, &r[i], &r[i].line[k]));
	return RS_OK;
}

enum rs_status
bench_record(const struct arguments *a, struct store *store, const struct bench_result *r,
	size_t n, char name[32])
{
	enum rs_status status;
	struct buffer line;
	int64_t run;

	buffer_init(&line, LINE_LIMIT);
	status = command_line_text(a, &line);
	if (status == RS_OK) {
		const struct store_run_start start = {
			.model = n == 1 ? r->model : "", .directory = "", .spec_path = "",
			.spec_text = "", .command_line = line.data, .version = PACKAGE_VERSION,
			.tag = TAG, .note = "", .threads = (int64_t)r->line[0].threads,
		};
		status = store_run_begin(store, &start, &run);
	}
	buffer_free(&line);
	RS_TRY(status);
	snprintf(name, 32, "r%04" PRId64, run);
	if ((status = put_lines(store, run, r, n)) != RS_OK) {
		(void)store_run_fail(store, run, "its figures could not be kept");
		return status;
	}
	return store_run_end(store, run, "ok", 0, "");
}

/* ---- beside an earlier run ---------------------------------------------- */

static enum rs_status
no_figures(const struct bench_past *past, const char *of)
{
	rs_fail(RS_EDATA, "run %s has no figure of %s", past->run.name, of);
	return rs_hint("wanted a run that 'bench --record' left, of the same models and threads");
}

enum rs_status
bench_past_find(struct store *store, const char *name, struct bench_past *out)
{
	struct store_table metrics;
	size_t n = 0;

	out->store = store;
	RS_TRY(store_run_find(store, name, &out->run));
	RS_TRY(store_part(store, out->run.run, STORE_METRICS, &metrics));
	for (size_t i = 0; i < metrics.n_rows; i++)
		n += strncmp(metrics.cell[i * metrics.n_columns], PREFIX, strlen(PREFIX)) == 0;
	store_table_free(&metrics);
	return n > 0 ? RS_OK : no_figures(out, "bench");
}

struct comparison {
	const struct bench_past *past;
	struct layout table;
	struct json json;
	size_t n_both;                 /* figures that both have                      */
	double worst;                  /* share that is left of the one that lost most */
	char   worst_key[KEY_SIZE];
};

/* NaN: it has none. */
static enum rs_status
figure_then(const struct comparison *c, const char *key, double *out)
{
	struct store_point *point;
	size_t n;

	RS_TRY(store_points(c->past->store, c->past->run.run, key, &point, &n));
	*out = n > 0 ? point[n - 1].value : NAN;
	free(point);
	return RS_OK;
}

static enum rs_status
compare_line(struct comparison *c, const struct bench_result *r, const struct bench_line *line)
{
	const char *figure = "limit_ratio";
	double then, now = bench_ratio(line);
	char key[KEY_SIZE];

	make_key(key, r, line, figure);
	RS_TRY(figure_then(c, key, &then));
	if (isnan(then) || isnan(now)) {
		figure = "samples_per_s";
		now = line->samples_per_s;
		make_key(key, r, line, figure);
		RS_TRY(figure_then(c, key, &then));
	}
	if (isnan(then) || isnan(now))
		return RS_OK;
	if (c->n_both++ == 0 || now / then < c->worst) {
		c->worst = now / then;
		memcpy(c->worst_key, key, sizeof(key));
	}
	json_open(&c->json, NULL, '{');
	json_string(&c->json, "figure", key);
	json_double(&c->json, "then", then);
	json_double(&c->json, "now", now);
	json_close(&c->json);
	RS_TRY(layout_cell(&c->table, "%s", key + strlen(PREFIX)));
	RS_TRY(layout_cell(&c->table, "%.4g", then));
	RS_TRY(layout_cell(&c->table, "%.4g", now));
	RS_TRY(layout_cell(&c->table, "%+.1f%%", 100 * (now / then - 1)));
	return layout_cell(&c->table, "%s", now < then * (1 - NOISE) ? "slower"
		: now > then * (1 + NOISE) ? "faster" : "");
}

static enum rs_status
print(const struct comparison *c, int as_json)
{
	if (as_json)
		RS_TRY(output_printf("%s\n", json_text(&c->json)));
	else
		RS_TRY(layout_print(&c->table));
	return output_flush();
}

static enum rs_status
compare_all(struct comparison *c, const struct bench_result *r, size_t n)
{
	const char *const head[] = { "figure", c->past->run.name, "now", "change", "" };

	json_open(&c->json, NULL, '[');
	RS_TRY(layout_cells(&c->table, head));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < r[i].n_lines; k++)
			RS_TRY(compare_line(c, &r[i], &r[i].line[k]));
	json_close(&c->json);
	return c->n_both > 0 ? RS_OK : no_figures(c->past, "what was measured now");
}

enum rs_status
bench_compare(const struct arguments *a, const struct bench_past *past,
	const struct bench_result *r, size_t n, double max_loss)
{
	struct comparison c = { .past = past };
	enum rs_status status;

	json_init(&c.json);
	layout_init(&c.table, 5, 0xe);
	status = compare_all(&c, r, n);
	if (status == RS_OK)
		status = print(&c, command_json(a));
	if (status == RS_OK && c.worst < 1 - max_loss)
		status = rs_fail(RS_EUNMET, "%s is %.1f %% less than in run %s; wanted a loss of "
			"%g %% at most", c.worst_key, 100 * (1 - c.worst), past->run.name,
			100 * max_loss);
	layout_free(&c.table);
	json_free(&c.json);
	return status;
}
