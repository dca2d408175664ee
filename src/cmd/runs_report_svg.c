/* Curves of the page of `runs report`. */
#include "cmd/runs_report.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 360, HEIGHT = 200, LEFT = 56, RIGHT = 10, TOP = 10, BOTTOM = 26, TICKS = 4 };

struct frame { double x_low, x_high, y_low, y_high; };

enum rs_status
runs_report_text(struct buffer *out, const char *text)
{
	static const struct { char c; const char *entity; } special[] = {
		{ '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" },
		{ '\'', "&#39;" },
	};

	for (; *text != '\0'; text++) {
		const char *put = NULL;

		for (size_t i = 0; i < sizeof special / sizeof *special; i++)
			if (*text == special[i].c)
				put = special[i].entity;
		if ((unsigned char)*text < 0x20 && *text != '\n' && *text != '\t')
			put = "?";
		RS_TRY(buffer_append(out, put != NULL ? put : text, put != NULL ? strlen(put) : 1));
	}
	return RS_OK;
}

static double
x_of(const struct frame *f, double x)
{
	return LEFT + (x - f->x_low) / (f->x_high - f->x_low) * (WIDTH - LEFT - RIGHT);
}

static double
y_of(const struct frame *f, double y)
{
	return HEIGHT - BOTTOM - (y - f->y_low) / (f->y_high - f->y_low) * (HEIGHT - TOP - BOTTOM);
}

/* Some room on all sides; a single value lies in the middle.  0: there is none. */
static int
find_frame(const struct plot_point *point, size_t n, struct frame *f)
{
	int found = 0;

	*f = (struct frame){ 0, 0, 0, 0 };
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(point[i].y))
			continue;
		if (!found++)
			*f = (struct frame){ point[i].x, point[i].x, point[i].y, point[i].y };
		f->x_low = fmin(f->x_low, point[i].x);
		f->x_high = fmax(f->x_high, point[i].x);
		f->y_low = fmin(f->y_low, point[i].y);
		f->y_high = fmax(f->y_high, point[i].y);
	}
	if (!found)
		return 0;
	const double margin = f->y_high > f->y_low ? (f->y_high - f->y_low) * 0.06
		: fmax(fabs(f->y_low) * 0.05, 1e-6);
	f->y_low -= margin;
	f->y_high += margin;
	if (f->x_high <= f->x_low) {
		f->x_low -= 0.5;
		f->x_high += 0.5;
	}
	return 1;
}

static enum rs_status
draw_ticks(struct buffer *out, const struct frame *f)
{
	const struct plot_ticks y = plot_ticks(f->y_low, f->y_high, TICKS);
	const struct plot_ticks x = plot_ticks(f->x_low, f->x_high, TICKS);

	for (size_t i = 0; i < y.n; i++) {
		const double value = y.first + (double)i * y.step, at = y_of(f, value);
		const double unit = fabs(value) >= 1e6 ? 1e6 : fabs(value) >= 1e4 ? 1e3 : 1;

		RS_TRY(buffer_printf(out, "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" "
			"y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" "
			"text-anchor=\"end\">%.5g%s</text>\n",
			LEFT, WIDTH - RIGHT, at, at, LEFT - 5, at + 4,
			fabs(value) < y.step * 1e-6 ? 0 : value / unit,
			unit == 1e6 ? "M" : unit == 1e3 ? "k" : ""));
	}
	for (size_t i = 0; i < x.n; i++) {
		const double value = x.first + (double)i * x.step;

		if (value == floor(value))
			RS_TRY(buffer_printf(out, "<text x=\"%.1f\" y=\"%d\" "
				"text-anchor=\"middle\">%.0f</text>\n", x_of(f, value), HEIGHT - 8,
				value));
	}
	return RS_OK;
}

/* A gap where a value is not defined. */
static enum rs_status
draw_points(struct buffer *out, const struct frame *f, const struct plot_point *point, size_t n)
{
	int is_open = 0;

	RS_TRY(buffer_printf(out, "<path d=\""));
	for (size_t i = 0; i < n; i++) {
		if (isfinite(point[i].y))
			RS_TRY(buffer_printf(out, "%c%.1f %.1f ", is_open ? 'L' : 'M',
				x_of(f, point[i].x), y_of(f, point[i].y)));
		is_open = isfinite(point[i].y);
	}
	RS_TRY(buffer_printf(out, "\"/>\n"));
	for (size_t i = 0; n <= 60 && i < n; i++)
		if (isfinite(point[i].y))
			RS_TRY(buffer_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>"
				"epoch %.0f: %.6g</title></circle>\n", x_of(f, point[i].x),
				y_of(f, point[i].y), point[i].x, point[i].y));
	return RS_OK;
}

enum rs_status
runs_report_curve(struct buffer *out, const char *name, const struct plot_point *point, size_t n)
{
	struct frame f;

	if (!find_frame(point, n, &f))
		return RS_OK;
	RS_TRY(buffer_printf(out, "<figure><figcaption>"));
	RS_TRY(runs_report_text(out, name));
	RS_TRY(buffer_printf(out, " by epoch</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" "
		"aria-label=\"", WIDTH, HEIGHT));
	RS_TRY(runs_report_text(out, name));
	RS_TRY(buffer_printf(out, "\">\n"));
	RS_TRY(draw_ticks(out, &f));
	RS_TRY(draw_points(out, &f, point, n));
	return buffer_printf(out, "</svg></figure>\n");
}
