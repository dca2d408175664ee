/*
 * inspect --ledger: what a model was trained on, a line an entry, in the order of training.
 */
#ifndef CMD_INSPECT_LEDGER_H
#define CMD_INSPECT_LEDGER_H

#include "base/status.h"
#include "cmd/model_files.h"

enum rs_status inspect_ledger(const struct model_files *f, int as_json);

#endif
