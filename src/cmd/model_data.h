/*
 * The data that a model was trained on, for commands that look at them again: what is named
 * on the command line behind MODEL, else the files in its ledger.
 */
#ifndef CMD_MODEL_DATA_H
#define CMD_MODEL_DATA_H

#include "base/status.h"
#include "cmd/command.h"
#include "cmd/model_files.h"

/* Names or patterns that the caller frees with model_data_free().  Files of the ledger that
 * are gone are left out with a warning of how many; RS_ENOINPUT: none is left. */
enum rs_status model_data_files(const struct arguments *a, const struct model_files *f,
	struct text_list *out);
void model_data_free(struct text_list *list);

#endif
