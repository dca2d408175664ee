/*
 * What the forms of an export have in common.
 */
#ifndef CMD_EXPORT_H
#define CMD_EXPORT_H

#include "cmd/command.h"
#include "cmd/export_proof.h"
#include "export/arrays.h"
#include "export/staged.h"

struct export {
	const struct arguments *a;
	const char *path;                  /* -O                                      */
	struct export_proof proof;         /* has the model                           */
	struct staged staged;              /* what is written, unless proof.checks    */
	int made_path;                     /* a directory that goes when this fails   */
};

/* RS_ECREATE when there is such a file, unless --force is given. */
enum rs_status export_refuse_existing(const struct arguments *a, const char *path);
/* RS_ECREATE when the directory has a name that no pattern allows, so that --force replaces
 * exports only, no model, no version with its state, nobody's files.  ours ends with NULL. */
enum rs_status export_refuse_others(const char *path, const char *const *ours);
/* Opens `staged` beside PATH, unless nothing is to be written. */
enum rs_status export_stage(struct export *e, const char *path);
/* What is behind the last slash. */
const char *export_name_of(const char *path);

enum rs_status export_onnx(struct export *e);
enum rs_status export_savedmodel(struct export *e);
/* Rows that differ from those of another version. */
enum rs_status export_delta(struct export *e);
/* A version for librecsys, with small tables. */
enum rs_status export_recsys(struct export *e);
/* npy, npz, safetensors, text: tables and dense parameters. */
enum rs_status export_arrays(struct export *e);
/* Of the catalogue, or of users. */
enum rs_status export_arrays_vectors(struct export *e);
/* Options that one of the forms has no use for: RS_EUSAGE. */
enum rs_status export_arrays_options(const struct arguments *a, const char *to);
enum rs_status export_arrays_type(const struct arguments *a, enum array_type *out);

#endif
