/*
 * Recorded runs as a database that MLflow opens.
 *
 * SQLite, at the revision of MLflow 2.8 (acf3f17fdcc7): that version reads it as it is, later
 * ones bring it up to their own when they open it.  The file is complete or absent, and only
 * another database of MLflow is replaced.  Times are milliseconds since 1970; the figures at
 * epoch 0, of the weights that were kept, are the last points of their histories.
 */
#ifndef CMD_MLFLOW_H
#define CMD_MLFLOW_H

#include <stddef.h>

#include "base/status.h"
#include "store/store.h"

/* run: [n] of the store; the first named are the first of their experiments. */
enum rs_status mlflow_write(struct store *from, const struct store_run *run, size_t n,
	const char *path);

/* Statements that make the empty tables, and experiment 0. */
extern const char mlflow_schema[];

#endif
