/* Curves in characters, and what gnuplot is told. */
#include "cmd/plot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char text[1 << 16];

/* Drawn into `text`; every line fits. */
static void
draw(const struct plot *p, size_t width, size_t height)
{
	struct buffer out;

	buffer_init(&out, sizeof text - 1);
	assert_int_equal(plot_text(p, width, height, &out), RS_OK);
	memcpy(text, out.data, out.n);
	text[out.n] = '\0';
	buffer_free(&out);
	for (const char *at = text; *at != '\0'; ) {
		const size_t n = strcspn(at, "\n");

		if (n > (width > PLOT_WIDTH_LOW ? width : PLOT_WIDTH_LOW))
			fail_msg("a line of %zu characters in %zu:\n%s", n, width, text);
		assert_true(n == 0 || at[n - 1] != ' ');
		at += n + 1;
	}
}

static void
draw_one(struct plot_point *point, size_t n, enum plot_axis axis, size_t width)
{
	const struct plot_series s = { .name = (char *)"r0001", .point = point, .n = n };

	draw(&(struct plot){ .metric = "valid.auc", .axis = axis, .series = &s, .n = 1 }, width,
		9);
}

static void
assert_drawn(const char *want)
{
	if (strcmp(text, want) != 0)
		fail_msg("drawn was\n%s\nwanted\n%s", text, want);
}

static size_t
count(char c)
{
	size_t n = 0;

	for (const char *at = text; *at != '\0'; at++)
		n += *at == c;
	return n;
}

static void
line_runs_between_marks(void **state)
{
	struct plot_point p[] = { { 0, 0.6 }, { 1000, 0.8 }, { 2000, 0.7 } };

	(void)state;
	draw_one(p, 3, PLOT_ROWS, 40);
	assert_drawn(
		"valid.auc\n"
		"0.80 |                .*..\n"
		"     |              ..    ...\n"
		"0.75 |             .         ....\n"
		"     |           ..              ....\n"
		"0.70 |         ..                    ..*\n"
		"     |       ..\n"
		"0.65 |     ..\n"
		"     |   ..\n"
		"0.60 | *.\n"
		"     +-+---------------+---------------+\n"
		"       0               1               2\n"
		"       rows (k)\n"
		"* r0001\n");
}

static void
one_point_is_drawn(void **state)
{
	struct plot_point p[] = { { 5, 0.75 } };

	(void)state;
	draw_one(p, 1, PLOT_EPOCH, 40);
	assert_int_equal(count('*'), 2);               /* and the legend              */
	assert_non_null(strstr(text, "epoch"));
	assert_non_null(strstr(text, " 5\n"));
}

static void
equal_values_are_drawn_in_the_middle(void **state)
{
	struct plot_point p[] = { { 1, 0 }, { 2, 0 }, { 3, 0 } };

	(void)state;
	draw_one(p, 3, PLOT_EPOCH, 40);
	assert_non_null(strstr(text, " 0.0 | *"));
	assert_int_equal(count('*'), 4);
	for (size_t i = 0; i < 3; i++)
		p[i].y = 1e12;
	draw_one(p, 3, PLOT_EPOCH, 40);
	assert_int_equal(count('*'), 4);
}

static void
gap_has_no_line(void **state)
{
	struct plot_point p[] = { { 1, 1 }, { 2, 1 }, { 3, NAN }, { 4, 1 }, { 5, 1 } };

	(void)state;
	draw_one(p, 5, PLOT_EPOCH, 60);
	assert_int_equal(count('*'), 5);
	const size_t with_gap = count('.');
	p[2].y = 1;
	draw_one(p, 5, PLOT_EPOCH, 60);
	assert_int_equal(count('*'), 6);
	assert_true(count('.') > with_gap + 10);
}

static void
many_points_become_the_mean_of_their_column(void **state)
{
	enum { MANY = 100000 };
	static struct plot_point p[MANY];

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		p[i] = (struct plot_point){ (double)i, i % 2 ? 0.4 : 0.6 };
	draw_one(p, MANY, PLOT_ROWS, 80);
	assert_non_null(strstr(text, "*****"));
	assert_non_null(strstr(text, "rows (k)"));
	assert_non_null(strstr(text, "80\n"));
}

static void
narrow_terminal_is_drawn_as_if_it_had_20_columns(void **state)
{
	struct plot_point p[] = { { 1764424800, 0.6 }, { 1764428400, 0.8 } };

	(void)state;
	for (size_t width = 0; width < 40; width++)
		draw_one(p, 2, PLOT_PERIOD, width);
	for (size_t width = 0; width < 40; width++)
		draw_one(p, 1, PLOT_TIME, width);
}

static void
periods_have_their_time_below(void **state)
{
	struct plot_point p[24];

	(void)state;
	for (size_t i = 0; i < 24; i++)
		p[i] = (struct plot_point){ 1764374400 + 3600 * (double)i, 0.7 };
	draw_one(p, 24, PLOT_PERIOD, 80);
	assert_non_null(strstr(text, "11-29 06:00"));
	assert_non_null(strstr(text, "11-29 18:00"));
	assert_non_null(strstr(text, "period (UTC)"));
}

static void
curves_have_marks_of_their_own(void **state)
{
	struct plot_point a[] = { { 1, 0.6 }, { 2, 0.8 } }, b[] = { { 1, 0.7 }, { 2, 0.7 } };
	const struct plot_series s[] = { { .name = (char *)"r0139", .point = a, .n = 2 },
		{ .name = (char *)"r0142", .point = b, .n = 2 } };

	(void)state;
	draw(&(struct plot){ .metric = "x", .axis = PLOT_EPOCH, .series = s, .n = 2 }, 60, 12);
	assert_non_null(strstr(text, "* r0139   o r0142\n"));
	assert_int_equal(count('*'), 3);
	draw(&(struct plot){ .metric = "x", .axis = PLOT_EPOCH, .series = s, .n = 2 }, 20, 12);
	assert_non_null(strstr(text, "* r0139   o r0142\n"));
	draw(&(struct plot){ .metric = "x", .axis = PLOT_EPOCH, .series = s, .n = 2 }, 19, 12);
}

static void
steps_of_ticks_are_round(void **state)
{
	static const struct { double low, high, first, step; size_t n; } row[] = {
		{ 0, 1, 0, 0.2, 6 }, { 0.71, 0.79, 0.72, 0.02, 4 }, { 3, 3000, 1000, 1000, 3 },
		{ -1, 1, -1, 0.5, 5 }, { 1e-7, 9e-7, 2e-7, 2e-7, 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const struct plot_ticks t = plot_ticks(row[i].low, row[i].high, 5);

		assert_true(fabs(t.first - row[i].first) < 1e-9);
		assert_true(fabs(t.step / row[i].step - 1) < 1e-9);
		assert_int_equal(t.n, row[i].n);
	}
	const struct plot_ticks day = plot_time_ticks(0, 86400, 4);
	assert_true(day.step == 21600);
	const struct plot_ticks years = plot_time_ticks(0, 86400.0 * 365 * 40, 4);
	assert_true(years.step == 86400.0 * 365 * 10);
}

static void
long_or_odd_names_do_not_harm_the_terminal(void **state)
{
	struct plot_point p[] = { { 1, 1 } };
	const struct plot_series s[] = {
		{ .name = (char *)"/a/very/long/name/of/a/model/ctr", .point = p, .n = 1 },
		{ .name = (char *)"red\033[31m", .point = p, .n = 1 } };

	(void)state;
	draw(&(struct plot){ .metric = "valid.a_very_long_metric@100", .axis = PLOT_EPOCH,
		.series = s, .n = 2 }, 20, 8);
	assert_non_null(strstr(text, "/model/ctr\n"));
	assert_null(strchr(text, '\033'));
}

/* --- gnuplot --- */

static void
write_script(const struct plot *p, const char *format)
{
	struct buffer out;

	buffer_init(&out, sizeof text - 1);
	assert_int_equal(plot_script(p, format, &out), RS_OK);
	memcpy(text, out.data, out.n);
	text[out.n] = '\0';
	buffer_free(&out);
}

/* A name is text, whatever it holds: quotes, commands, macros, lines. */
static void
names_are_quoted(void **state)
{
	struct plot_point p[] = { { 1, 0.5 }, { 2, NAN }, { 3, NAN }, { 4, 0.25 } };
	const struct plot_series s = { .name = (char *)"it's `id` @a\n!id", .point = p, .n = 4 };
	const struct plot plot = { .metric = "m'", .axis = PLOT_ROWS, .series = &s, .n = 1 };

	(void)state;
	write_script(&plot, "svg");
	assert_non_null(strstr(text, "title 'it''s `id` @a?!id'\n"));
	assert_non_null(strstr(text, "set ylabel 'm'''\n"));
	assert_non_null(strstr(text, "<< END_OF_CURVE\n1 0.5\n\n4 0.25\nEND_OF_CURVE\n"));
}

static void
curve_without_a_value_is_left_out(void **state)
{
	struct plot_point a[] = { { 1, NAN } }, b[] = { { 1, 0.5 } };
	const struct plot_series s[] = { { .name = (char *)"none", .point = a, .n = 1 },
		{ .name = (char *)"one", .point = b, .n = 1 } };
	const struct plot plot = { .metric = "m", .axis = PLOT_PERIOD, .series = s, .n = 2 };

	(void)state;
	write_script(&plot, "png");
	assert_null(strstr(text, "none"));
	assert_non_null(strstr(text, "plot $curve1 using 1:2 title 'one'\n"));
	assert_non_null(strstr(text, "set xdata time"));
	assert_non_null(strstr(text, "pngcairo"));
}

static void
name_of_the_file_tells_its_form(void **state)
{
	(void)state;
	assert_int_equal(plot_check_path("a/b.svg"), RS_OK);
	assert_int_equal(plot_check_path("b.png"), RS_OK);
	assert_int_equal(plot_check_path("b.pdf"), RS_EUSAGE);
	assert_int_equal(plot_check_path("svg"), RS_EUSAGE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_runs_between_marks),
		cmocka_unit_test(one_point_is_drawn),
		cmocka_unit_test(equal_values_are_drawn_in_the_middle),
		cmocka_unit_test(gap_has_no_line),
		cmocka_unit_test(many_points_become_the_mean_of_their_column),
		cmocka_unit_test(narrow_terminal_is_drawn_as_if_it_had_20_columns),
		cmocka_unit_test(periods_have_their_time_below),
		cmocka_unit_test(curves_have_marks_of_their_own),
		cmocka_unit_test(steps_of_ticks_are_round),
		cmocka_unit_test(long_or_odd_names_do_not_harm_the_terminal),
		cmocka_unit_test(names_are_quoted),
		cmocka_unit_test(curve_without_a_value_is_left_out),
		cmocka_unit_test(name_of_the_file_tells_its_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
