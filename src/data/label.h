/*
 * A label cell to a number, by the convention of the spec: two words or numbers
 * for the classes, a probability, or any real number.
 */
#ifndef DATA_LABEL_H
#define DATA_LABEL_H

#include "base/status.h"
#include "data/feature.h"
#include "spec/settings.h"

struct label_rule {
	const struct data_settings *data;
	double value[2];           /* of the classes as numbers, NaN: they are words */
};

/* data is borrowed. */
void label_init(struct label_rule *rule, const struct data_settings *data);
/* 1 and *label, or 0. */
int label_read(const struct label_rule *rule, struct cell cell, float *label);
/* What label_read() did not like; returns RS_EDATA. */
enum rs_status label_error(
	const struct label_rule *rule, struct cell cell, struct cell_error *error);

#endif
