/* The monitored figure. */
#include "train/monitor.h"

#include <math.h>
#include <string.h>

static const struct monitor monitor_table[] = {
	{ "auc",     1, 1, offsetof(struct metric_result, auc) },
	{ "logloss", 0, 0, offsetof(struct metric_result, logloss) },
	{ "mse",     0, 0, offsetof(struct metric_result, mse) },
};
enum { N_MONITORS = sizeof monitor_table / sizeof *monitor_table };

const struct monitor *
monitor_of(const struct settings *s)
{
	const char *const name = s->model.loss == LOSS_MSE ? "mse" : s->train.monitor;

	for (size_t i = 0; i < N_MONITORS; i++)
		if (strcmp(monitor_table[i].name, name) == 0)
			return &monitor_table[i];
	return &monitor_table[0];
}

double
monitor_figure(const struct monitor *m, const struct metric_result *result)
{
	double figure;

	memcpy(&figure, (const char *)result + m->offset, sizeof figure);
	return figure;
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

int
monitor_needs_classes(const struct monitor *m)
{
	return m->needs_classes;
}
