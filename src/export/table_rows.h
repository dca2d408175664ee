/*
 * The rows of a table one after the other, as the model scores with them.
 */
#ifndef EXPORT_TABLE_ROWS_H
#define EXPORT_TABLE_ROWS_H

#include <stddef.h>

#include "base/status.h"
#include "train/model.h"

/* take(context, row, dim) for rows 0, 1, .. of train/row_numbers.h; its first failure ends
 * the walk. */
enum rs_status table_rows(const struct model *m, size_t table,
	enum rs_status (*take)(void *context, const float *row, size_t dim), void *context);

#endif
