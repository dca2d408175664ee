/* The monitored figure. */
#include "train/monitor.h"

#include <math.h>

void
monitor_init(struct monitor *m, const struct settings *s)
{
	figure_monitor(s, &m->figure);
	m->name = m->figure.name;
	m->higher_is_better = figure_better(&m->figure) > 0;
	m->needs_classes = figure_needs_classes(&m->figure);
}

double
monitor_figure(const struct monitor *m, const struct metric_result *result)
{
	return metric_named(result, m->name);
}

int
monitor_is_better(const struct monitor *m, double figure, double best, double min_delta)
{
	if (isnan(figure))
		return 0;
	if (isnan(best))
		return 1;
	return m->higher_is_better ? figure > best + min_delta : figure < best - min_delta;
}
