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

#endif
