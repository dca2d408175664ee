/*
 * What an exported model is given for a row of data: one JSON object with the names and
 * forms of FILE.inputs.json.
 */
#ifndef CMD_ROW_INPUTS_H
#define CMD_ROW_INPUTS_H

#include <stddef.h>

#include "base/json.h"
#include "base/status.h"
#include "data/batch.h"
#include "train/model.h"

struct row_inputs;

/* tower: TOWER_USER, TOWER_ITEM, or -1: of what gives the logit.  The model is borrowed. */
enum rs_status row_inputs_open(struct model *m, int tower, struct row_inputs **out);
void row_inputs_close(struct row_inputs *r);
void row_inputs_print(const struct row_inputs *r, const struct batch *batch, size_t b,
	struct json *j);

#endif
