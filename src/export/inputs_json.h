/*
 * NAME.inputs.json: what a client has to give an exported program, and how to make it of
 * what it has.
 */
#ifndef EXPORT_INPUTS_JSON_H
#define EXPORT_INPUTS_JSON_H

#include "base/status.h"
#include "export/program.h"

/* One atomic file. */
enum rs_status inputs_json_write(const struct program *p, const char *path);

/* The same of an export that takes text and numbers as they come. */
struct inputs_json_raw { const char *name; size_t field, rank; int is_weight; };
enum rs_status inputs_json_write_raw(const struct program *p, const struct inputs_json_raw *raw,
	size_t n, const char *path);

#endif
