/* Curves in characters. */
#include "cmd/plot.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LABEL = 32, Y_TICKS = 5, X_LABEL_WIDTH = 14 };

static const char mark[PLOT_SERIES + 1] = "*o+x#@%&abcdefghijklmnpqrstuvwyz";

/* --- ticks --------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, at least x. */
static double
round_step(double x)
{
	const double power = pow(10, floor(log10(x))), times = x / power;

	return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

static struct plot_ticks
ticks_of(double low, double high, double step)
{
	const double first = ceil(low / step - 1e-9) * step;
	const double n = floor((high - first) / step + 1e-9) + 1;

	return (struct plot_ticks){ first, step, n > 0 ? (size_t)n : 0 };
}

struct plot_ticks
plot_ticks(double low, double high, size_t n)
{
	return ticks_of(low, high, round_step((high - low) / (double)(n > 1 ? n : 1)));
}

struct plot_ticks
plot_time_ticks(double low, double high, size_t n)
{
	static const double step[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600,
		7200, 10800, 21600, 43200, 86400, 172800, 604800, 1209600, 2592000, 7776000,
		31536000 };
	const double wanted = (high - low) / (double)(n > 1 ? n : 1);
	size_t i = 0;

	while (i + 1 < sizeof step / sizeof *step && step[i] < wanted)
		i++;
	return ticks_of(low, high, step[i] < wanted ? ceil(wanted / step[i]) * step[i] : step[i]);
}

/* --- ranges -------------------------------------------------------------------------- */

struct range { double low, high; };

static void
widen(struct range *r, double value)
{
	if (isnan(value))
		return;
	r->low = isnan(r->low) || value < r->low ? value : r->low;
	r->high = isnan(r->high) || value > r->high ? value : r->high;
}

static void
find_ranges(const struct plot *p, struct range *x, struct range *y)
{
	*x = *y = (struct range){ NAN, NAN };
	for (size_t s = 0; s < p->n; s++)
		for (size_t i = 0; i < p->series[s].n; i++) {
			widen(x, p->series[s].point[i].x);
			widen(y, p->series[s].point[i].y);
		}
}

/* A range of one value gets some around it; then whole steps. */
static struct range
round_range(struct range y)
{
	const double least = fmax(fabs(y.low), fabs(y.high)) * 1e-9;

	if (!(y.high - y.low > least)) {
		const double around = y.low != 0 ? fabs(y.low) / 10 : 1;

		y.low -= around;
		y.high += around;
	}
	const double step = round_step((y.high - y.low) / (Y_TICKS - 1));
	y.low = floor(y.low / step + 1e-9) * step;
	y.high = ceil(y.high / step - 1e-9) * step;
	return y;
}

/* --- labels -------------------------------------------------------------------------- */

/* With as many digits as the step needs. */
static void
print_number(char out[LABEL], double value, double step)
{
	const double digits = -floor(log10(step) + 1e-9);

	if (fabs(value) < step / 2)
		value = 0;
	if (digits > 9 || fabs(value) >= 1e9)
		snprintf(out, LABEL, "%.6g", value);
	else
		snprintf(out, LABEL, "%.*f", digits > 0 ? (int)digits : 0, value);
}

static void
print_time(char out[LABEL], double value, double step)
{
	const time_t seconds = (time_t)value;
	const char *const form = step < 60 ? "%H:%M:%S" : step < 86400 ? "%m-%d %H:%M"
		: "%Y-%m-%d";
	struct tm tm;

	if (gmtime_r(&seconds, &tm) == NULL || strftime(out, LABEL, form, &tm) == 0)
		snprintf(out, LABEL, "?");
}

/* A unit in which the numbers of an axis are short, and its name. */
struct unit { double size; const char *name; };

static struct unit
unit_of(enum plot_axis axis, double high)
{
	static const struct unit time_unit[] = { { 86400, "days since the start" },
		{ 3600, "hours since the start" }, { 60, "minutes since the start" },
		{ 1, "seconds since the start" } };
	size_t i = 0;

	if (axis == PLOT_EPOCH)
		return (struct unit){ 1, "epoch" };
	if (axis == PLOT_PERIOD)
		return (struct unit){ 1, "period (UTC)" };
	if (axis == PLOT_ROWS)
		return high >= 2e6 ? (struct unit){ 1e6, "rows (M)" }
			: high >= 2e3 ? (struct unit){ 1e3, "rows (k)" }
			: (struct unit){ 1, "rows" };
	while (time_unit[i].size > 1 && high < 2 * time_unit[i].size)
		i++;
	return time_unit[i];
}

/* --- the canvas ---------------------------------------------------------------------- */

struct canvas {
	const struct plot *plot;
	struct range x, y;
	size_t width, height;              /* of the area for curves                  */
	size_t margin;                     /* of the labels at its left               */
	char  *cell;                       /* [height,width]                          */
};

static size_t
place(const struct range *r, double value, size_t n)
{
	if (!(r->high > r->low))
		return n / 2;
	const double at = (value - r->low) / (r->high - r->low) * (double)(n - 1) + 0.5;
	return at < 0 ? 0 : at >= (double)n ? n - 1 : (size_t)at;
}

static size_t
row_of(const struct canvas *c, double y)
{
	return c->height - 1 - place(&c->y, y, c->height);
}

/* A column in which a series has points: their mean. */
struct dot { size_t column, n; double sum; int begins; };

static double
mean(const struct dot *d)
{
	return d->sum / (double)d->n;
}

static void
draw_line(const struct canvas *c, const struct dot *a, const struct dot *b)
{
	for (size_t column = a->column + 1; column < b->column; column++) {
		const double share = (double)(column - a->column) / (double)(b->column - a->column);
		const double y = mean(a) + share * (mean(b) - mean(a));
		char *const cell = &c->cell[row_of(c, y) * c->width + column];

		*cell = *cell == ' ' ? '.' : *cell;
	}
}

/* dot [width] */
static size_t
gather_dots(const struct canvas *c, const struct plot_series *s, struct dot *dot)
{
	size_t n = 0;
	int begins = 1;

	for (size_t i = 0; i < s->n; i++) {
		const struct plot_point *const p = &s->point[i];
		const size_t column = place(&c->x, p->x, c->width);

		if (isnan(p->y)) {
			begins = 1;
			continue;
		}
		if (n == 0 || dot[n - 1].column != column)
			dot[n++] = (struct dot){ .column = column, .begins = begins };
		dot[n - 1].sum += p->y;
		dot[n - 1].n++;
		begins = 0;
	}
	return n;
}

static enum rs_status
draw_curves(const struct canvas *c)
{
	struct dot *dot;

	RS_TRY(memory_alloc(c->width, sizeof *dot, &dot));
	for (size_t s = c->plot->n; s-- > 0; ) {           /* the first is on top     */
		const size_t n = gather_dots(c, &c->plot->series[s], dot);

		for (size_t i = 1; i < n; i++)
			if (!dot[i].begins)
				draw_line(c, &dot[i - 1], &dot[i]);
		for (size_t i = 0; i < n; i++)
			c->cell[row_of(c, mean(&dot[i])) * c->width + dot[i].column] = mark[s];
	}
	free(dot);
	return RS_OK;
}

/* --- lines of text -------------------------------------------------------------------- */

static enum rs_status
print_area(const struct canvas *c, const struct plot_ticks *y, struct buffer *out)
{
	for (size_t row = 0; row < c->height; row++) {
		const char *const cells = &c->cell[row * c->width];
		size_t n = c->width;
		char label[LABEL] = "";

		for (size_t i = 0; i < y->n; i++)
			if (row_of(c, y->first + (double)i * y->step) == row)
				print_number(label, y->first + (double)i * y->step, y->step);
		while (n > 0 && cells[n - 1] == ' ')
			n--;
		RS_TRY(buffer_printf(out, "%*s |%s%.*s\n", (int)c->margin, label,
			n > 0 ? " " : "", (int)n, cells));
	}
	return RS_OK;
}

/* The line under the area with its ticks, and the line of their labels, [n] each. */
struct x_axis { char *line, *labels; size_t n, used; };

/* A label stands under its tick, moved as far as the ends want, where there is room. */
static void
put_tick(struct x_axis *x, size_t at, const char *label)
{
	const size_t n = strlen(label), half = n / 2 < at ? n / 2 : at;
	const size_t begin = at - half + n > x->n ? (x->n > n ? x->n - n : 0) : at - half;

	x->line[at < x->n ? at : x->n - 1] = '+';
	if (begin < x->used || begin + n > x->n)
		return;
	memcpy(x->labels + begin, label, n);
	x->used = begin + n + 2;
}

static struct plot_ticks
x_ticks(const struct canvas *c, const struct range *x)
{
	const enum plot_axis axis = c->plot->axis;
	const size_t n_wanted = c->width / X_LABEL_WIDTH;

	if (!(x->high > x->low))
		return (struct plot_ticks){ x->low, axis == PLOT_PERIOD ? 60 : 1, 1 };
	if (axis == PLOT_PERIOD)
		return plot_time_ticks(x->low, x->high, n_wanted);
	const struct plot_ticks t = plot_ticks(x->low, x->high, n_wanted);
	return axis == PLOT_EPOCH && t.step < 1 ? ticks_of(x->low, x->high, 1) : t;
}

static enum rs_status
print_line(const char *text, size_t n, struct buffer *out)
{
	while (n > 0 && text[n - 1] == ' ')
		n--;
	return buffer_printf(out, "%.*s\n", (int)n, text);
}

static enum rs_status
print_x_axis(const struct canvas *c, struct buffer *out)
{
	const struct unit unit = unit_of(c->plot->axis, c->x.high);
	const struct range range = { c->x.low / unit.size, c->x.high / unit.size };
	const struct plot_ticks t = x_ticks(c, &range);
	struct x_axis x = { .n = c->margin + 3 + c->width };
	const size_t n_name = strlen(unit.name);

	RS_TRY(memory_alloc(2 * x.n, 1, &x.line));
	x.labels = x.line + x.n;
	memset(x.line, '-', x.n);
	memset(x.line, ' ', c->margin + 1);
	memset(x.labels, ' ', x.n);
	x.line[c->margin + 1] = '+';
	for (size_t i = 0; i < t.n; i++) {
		const double value = t.first + (double)i * t.step;
		char label[LABEL];

		if (c->plot->axis == PLOT_PERIOD)
			print_time(label, value, t.step);
		else
			print_number(label, value, t.step);
		put_tick(&x, c->margin + 3 + place(&range, value, c->width), label);
	}
	enum rs_status status = print_line(x.line, x.n, out);
	if (status == RS_OK)
		status = print_line(x.labels, x.n, out);
	const size_t room = x.n > n_name ? x.n - n_name : 0;
	const size_t begin = room < c->margin + 3 ? room : c->margin + 3;
	if (status == RS_OK)
		status = buffer_printf(out, "%*s%.*s\n", (int)begin, "", (int)x.n, unit.name);
	free(x.line);
	return status;
}

/* "* r0142   o r0139", in lines of the width; of longer names the end is shown. */
static enum rs_status
print_legend(const struct plot *p, size_t width, struct buffer *out)
{
	size_t used = 0;

	for (size_t s = 0; s < p->n; s++) {
		const char *const whole = p->series[s].name;
		const size_t n_whole = strlen(whole), skipped = n_whole > 60 ? n_whole - 60 : 0;
		char name[72];
		const char *shown = rs_escape(name, whole + skipped, n_whole - skipped);

		if (strlen(shown) + 2 > width)
			shown += strlen(shown) + 2 - width;
		const size_t n = strlen(shown) + 2;
		const char *const gap = used == 0 ? "" : used + 3 + n > width ? "\n" : "   ";
		used = *gap == ' ' ? used + 3 + n : n;
		RS_TRY(buffer_printf(out, "%s%c %s", gap, mark[s], shown));
	}
	return buffer_printf(out, "\n");
}

static size_t
label_width(const struct plot_ticks *t)
{
	size_t width = 0;
	char label[LABEL];

	for (size_t i = 0; i < t->n; i++) {
		print_number(label, t->first + (double)i * t->step, t->step);
		width = strlen(label) > width ? strlen(label) : width;
	}
	return width;
}

enum rs_status
plot_text(const struct plot *p, size_t width, size_t height, struct buffer *out)
{
	struct canvas c = { .plot = p };

	assert(p->n <= PLOT_SERIES);
	find_ranges(p, &c.x, &c.y);
	assert(!isnan(c.y.low));
	width = width > PLOT_WIDTH_LOW ? width : PLOT_WIDTH_LOW;
	c.height = height > PLOT_HEIGHT_LOW ? height : PLOT_HEIGHT_LOW;
	c.y = round_range(c.y);
	const struct plot_ticks y = plot_ticks(c.y.low, c.y.high, Y_TICKS);
	c.margin = label_width(&y);
	c.width = width > c.margin + 3 + 8 ? width - c.margin - 3 : 8;
	RS_TRY(memory_alloc(c.height, c.width, &c.cell));
	memset(c.cell, ' ', c.height * c.width);
	enum rs_status status = draw_curves(&c);
	if (status == RS_OK)
		status = print_line(p->metric, strlen(p->metric) < width ? strlen(p->metric)
			: width, out);
	if (status == RS_OK)
		status = print_area(&c, &y, out);
	if (status == RS_OK)
		status = print_x_axis(&c, out);
	if (status == RS_OK)
		status = print_legend(p, width, out);
	free(c.cell);
	return status;
}
