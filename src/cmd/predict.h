/*
 * predict, for commands that are one of its uses.
 */
#ifndef CMD_PREDICT_H
#define CMD_PREDICT_H

#include <stddef.h>

#include "cmd/command.h"

/* The `top` best items of the catalogue for each row of the files, --top instead where it is
 * given; other options are those of predict.  The model is positional 0. */
enum rs_status predict_best(const struct arguments *a, const char *const *data, size_t n_data,
	size_t top);

#endif
