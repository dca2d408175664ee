/*
 * The spec of a trained model, for commands that look after its directory: that of the
 * version CURRENT names, else of the newest one whose spec can be read, with -o over it.
 */
#ifndef CMD_MODEL_SPEC_H
#define CMD_MODEL_SPEC_H

#include "cmd/command.h"
#include "spec/spec.h"

/* RS_ENOINPUT unless the positional i is a model directory, with `command` in words. */
enum rs_status model_spec_directory(const struct arguments *a, size_t i, const char **out);
enum rs_status model_spec_read(const struct arguments *a, const char *directory,
	struct spec **out);

#endif
