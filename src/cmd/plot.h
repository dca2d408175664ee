/*
 * Curves: in characters, or as a file that gnuplot draws.
 *
 * A plot has series of points in the order of x; y NaN is a gap, where no line is drawn.
 * Points that share a column of the text become their mean.  Nothing is owned here.
 */
#ifndef CMD_PLOT_H
#define CMD_PLOT_H

#include <stddef.h>

#include "base/memory.h"
#include "base/status.h"

enum plot_axis { PLOT_ROWS, PLOT_TIME, PLOT_EPOCH, PLOT_PERIOD };

struct plot_point { double x, y; };    /* time: seconds; period: those since 1970 */

struct plot_series {
	char  *name;
	struct plot_point *point;          /* [n] ascending x; x is finite            */
	size_t n, capacity;
};

struct plot {
	const char *metric;
	enum plot_axis axis;
	const struct plot_series *series;  /* [n]                                     */
	size_t n;
};

#define PLOT_SERIES     32             /* that have a mark                        */
#define PLOT_WIDTH_LOW  20             /* narrower is drawn so wide               */
#define PLOT_HEIGHT_LOW 6
#define PLOT_BYTES      ((size_t)256 << 20)

/* Lines of at most width characters, where that is no less than the lowest. */
enum rs_status plot_text(const struct plot *p, size_t width, size_t height, struct buffer *out);
/* What gnuplot is told, to draw it as "svg" or "png" onto its standard output. */
enum rs_status plot_script(const struct plot *p, const char *format, struct buffer *out);
/* RS_EUSAGE unless it is X.svg or X.png. */
enum rs_status plot_check_path(const char *path);
/* Such a file is replaced in one step. */
enum rs_status plot_file(const struct plot *p, const char *path);

/* Places for labels on an axis from low to high: multiples of a round step, about n. */
struct plot_ticks { double first, step; size_t n; };
struct plot_ticks plot_ticks(double low, double high, size_t n);
/* The same for seconds since 1970: whole minutes, hours, days. */
struct plot_ticks plot_time_ticks(double low, double high, size_t n);

#endif
