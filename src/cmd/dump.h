/*
 * The canonical dump of a model: every weight and optimizer value exactly, in the
 * order of the graph, whatever threads or shards made it.
 *
 * Text, one line each:
 *
 *     recsys-train dump 1
 *     step N
 *     skipped_steps N
 *     rate_factor X
 *     param NAME ROWS COLUMNS
 *     NAME ROW x x ...                  then NAME.m and NAME.v, with state
 *     table NAME rows N dim D optimizer NAME slots N touched N
 *     NAME ROW w w ... | s s ...        touched rows, ascending
 *     untouched NAME N HASH             of the weights and slots of all others
 *
 * Numbers are the shortest decimal text that reads back exactly, or hexadecimal.
 */
#ifndef CMD_DUMP_H
#define CMD_DUMP_H

#include "base/status.h"
#include "cmd/model_files.h"

/* format: text, hexfloat or json.  field NULL: everything; else only its tables. */
enum rs_status dump_print(const struct model_files *f, const char *format, const char *field);

/* Whether a table belongs to a field: "C1" and "C1.linear" to C1. */
int dump_is_of_field(const char *table, const char *field);

#endif
