/*
 * The embedding tables of a model: how many rows training touched and how long these are.
 */
#ifndef CMD_INSPECT_TABLES_H
#define CMD_INSPECT_TABLES_H

#include "base/json.h"
#include "base/status.h"
#include "cmd/model_files.h"

/* Of the tables of a field, or all (NULL); of a field with its longest rows. */
enum rs_status inspect_tables(const struct model_files *f, const char *field);
/* A member "tables" of an open object. */
enum rs_status inspect_tables_json(struct json *j, const struct model_files *f,
	const char *field);

#endif
