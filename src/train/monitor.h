/*
 * The figure that early stop and the choice of the best epoch look at.  Its
 * direction is a property of the metric, never a setting.
 */
#ifndef TRAIN_MONITOR_H
#define TRAIN_MONITOR_H

#include "spec/figure.h"
#include "spec/settings.h"
#include "train/metric.h"

struct monitor {
	struct figure figure;
	const char *name;          /* of it                                           */
	int higher_is_better, needs_classes;
};

/* train.monitor, see figure_monitor(); the result is not to be moved. */
void monitor_init(struct monitor *m, const struct settings *s);
double monitor_figure(const struct monitor *m, const struct metric_result *result);
/* NaN is never better; anything is better than NaN. */
int monitor_is_better(const struct monitor *m, double figure, double best, double min_delta);

#endif
