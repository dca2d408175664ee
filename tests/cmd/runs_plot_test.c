/* runs plot on a database made by hand. */
#include "tests/cmd/runs_bed.h"

#include <math.h>

/* A run of three epochs, r0001. */
static void
add_epochs(struct store *s)
{
	const struct store_run_start start = { .model = "din", .directory = "model/din",
		.spec_text = "[incremental]\nperiod = 1h\n", .tag = "first" };
	int64_t run;

	assert_int_equal(store_run_begin(s, &start, &run), RS_OK);
	for (int64_t e = 1; e <= 3; e++) {
		const double auc = e == 2 ? NAN : 0.6 + 0.05 * (double)e;
		assert_int_equal(store_metric(s, run, "valid.auc", e, 10 * e, 1000, auc), RS_OK);
	}
	assert_int_equal(store_metric(s, run, "valid.auc", 0, 30, 3000, 0.75), RS_OK);
	assert_int_equal(store_run_end(s, run, "ok", 3000, ""), RS_OK);
}

/* One run a period. */
static void
add_period(struct store *s, const char *model, const char *period, double auc)
{
	char path[64];
	int64_t run;

	snprintf(path, sizeof path, "/srv/model/%s", model);
	const struct store_run_start start = { .model = "deepfm", .directory = path,
		.spec_text = "[incremental]\nperiod = 1h\n" };
	assert_int_equal(store_run_begin(s, &start, &run), RS_OK);
	if (period != NULL)
		assert_int_equal(store_param(s, run, "incremental.period_begin", period), RS_OK);
	assert_int_equal(store_metric(s, run, "progressive.auc", 0, 10, 100, auc), RS_OK);
	assert_int_equal(store_run_end(s, run, "ok", 100, ""), RS_OK);
}

static int
setup(void **state)
{
	struct store *s;

	(void)state;
	if (bed_open(&s) != 0)
		return -1;
	add_epochs(s);
	add_period(s, "ctr", "2026-11-29T01:00Z", 0.71);
	add_period(s, "ctr", "2026-11-29T02:00Z", 0.1);        /* done again below     */
	add_period(s, "ctr", "2026-11-29T00:00Z", 0.70);
	add_period(s, "ctr", "2026-11-29T02:00Z", 0.72);
	add_period(s, "ctr", "1795921200", 0.73);              /* ... 03:00             */
	add_period(s, "other", "2026-11-29T00:00:00Z", 0.5);
	add_period(s, "other", NULL, 0.9);                     /* of no period          */
	store_close(s);
	return 0;
}

static int
plot(const char *arguments)
{
	char all[512];

	snprintf(all, sizeof all, "plot %s", arguments);
	return runs(all);
}

static void
course_of_a_run_has_a_point_an_epoch(void **state)
{
	(void)state;
	assert_int_equal(plot("r0001 --json"), 0);
	assert_has("{\"metric\":\"valid.auc\",\"x\":\"row\",\"curves\":[{\"name\":\"r0001\","
		"\"points\":[[1000,0.65],[2000,null],[3000,0.75]]}]}");
	assert_int_equal(plot("first --metric auc --x epoch --json"), 0);
	assert_has("\"points\":[[1,0.65],[2,null],[3,0.75]]");
	assert_int_equal(plot("1 --x time --json"), 0);
	assert_has("\"x\":\"time\"");
	assert_int_equal(plot("1"), 0);
	assert_has("valid.auc\n");
	assert_has("* r0001\n");
	assert_has("rows (k)\n");
}

static void
runs_of_a_model_are_one_curve_over_their_periods(void **state)
{
	(void)state;
	assert_int_equal(plot("--model ctr --metric progressive.auc --x period --json"), 0);
	assert_has("\"curves\":[{\"name\":\"/srv/model/ctr\",\"points\":[[1795910400,0.7],"
		"[1795914000,0.71],[1795917600,0.72],[1795921200,0.73]]}]}");
	assert_int_equal(plot("--model ctr --metric progressive.auc --json"), 0);
	assert_has("\"x\":\"period\"");
	assert_int_equal(plot("--model deepfm --metric progressive.auc"), 0);
	assert_has("* /srv/model/ctr   o /srv/model/other\n");
	assert_has("period (UTC)\n");
	assert_int_equal(plot("--model /srv/model/other --x period --json"), 0);
	assert_has("\"points\":[[1795910400,0.5]]");
	assert_int_equal(plot("2 4 --metric progressive.auc --json"), 0);
	assert_has("\"points\":[[1795910400,0.7],[1795914000,0.71]]");
	assert_int_equal(plot("--model ctr --last 2 --metric progressive.auc --json"), 0);
	assert_has("\"points\":[[1795917600,0.72],[1795921200,0.73]]");
}

static void
what_cannot_be_drawn_is_told(void **state)
{
	(void)state;
	assert_int_equal(plot(""), 64);
	assert_has("no runs are named");
	assert_int_equal(plot("--model nosuch"), 64);
	assert_has("no such run of model nosuch");
	assert_int_equal(plot("1 --metric valid.auk"), 64);
	assert_has("did you mean 'valid.auc'?");
	assert_int_equal(plot("1 --metric logloss"), 64);
	assert_has("has a metric 'logloss'");
	assert_int_equal(plot("1 --x colour"), 64);
	assert_has("wanted row, time, epoch or period");
	assert_int_equal(plot("1 --x period"), 64);
	assert_has("is of a period");
	assert_int_equal(plot("1 --last 2"), 64);
	assert_int_equal(plot("99"), 64);
	assert_int_equal(plot("1 -O x.pdf"), 64);
	assert_has("ends in .svg or .png");
	assert_int_equal(plot("1 -O"), 64);
}

static void
more_curves_than_marks_are_refused(void **state)
{
	char names[512] = "";

	(void)state;
	for (size_t i = 0; i < 33; i++)
		snprintf(names + 2 * i, sizeof names - 2 * i, "1 ");
	assert_int_equal(plot(names), 64);
	assert_has("33 curves in one plot, at most 32");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(course_of_a_run_has_a_point_an_epoch),
		cmocka_unit_test(runs_of_a_model_are_one_curve_over_their_periods),
		cmocka_unit_test(what_cannot_be_drawn_is_told),
		cmocka_unit_test(more_curves_than_marks_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, bed_close);
}
