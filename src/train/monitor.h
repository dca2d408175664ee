/*
 * The figure that early stop and the choice of the best epoch look at.  Its
 * direction is a property of the metric, never a setting.
 */
#ifndef TRAIN_MONITOR_H
#define TRAIN_MONITOR_H

#include <stddef.h>

#include "spec/settings.h"
#include "train/metric.h"

struct monitor {
	const char *name;
	int    higher_is_better, needs_classes;
	size_t offset;             /* of a double in struct metric_result             */
};

/* train.monitor; with loss = mse always mse. */
const struct monitor *monitor_of(const struct settings *s);
double monitor_figure(const struct monitor *m, const struct metric_result *result);
/* NaN is never better; anything is better than NaN. */
int monitor_is_better(const struct monitor *m, double figure, double best, double min_delta);
int monitor_needs_classes(const struct monitor *m);

#endif
