/*
 * Labels that teach or tell nothing: one class only, or of the wrong column.
 */
#ifndef TRAIN_LABELS_H
#define TRAIN_LABELS_H

#include "base/status.h"
#include "data/loader.h"
#include "data/schema.h"
#include "train/monitor.h"
#include "train/train.h"

/* Reads data.valid, with a cache of it as said; RS_EDATA when early stop looks at a figure
 * that these labels do not define, a warning when another one does not. */
enum rs_status labels_check(const struct schema *schema, const struct monitor *monitor,
	enum loader_cache cache);
/* Warnings about the labels of the first epoch. */
void labels_warn(const struct settings *s, const struct train_epoch *e);

#endif
