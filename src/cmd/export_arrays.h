/*
 * export --to npy|npz|safetensors|text|vectors: the numbers of a model.
 */
#ifndef CMD_EXPORT_ARRAYS_H
#define CMD_EXPORT_ARRAYS_H

#include "cmd/command.h"
#include "cmd/scorer.h"
#include "export/staged.h"

struct export_arrays {
	const struct arguments *a;         /* --to, --dtype, --users, --id, --force, .. */
	const char *path;                  /* -O                                      */
	struct scorer *scorer;             /* has the model                           */
	int checks;                        /* --check: nothing is written             */
	struct staged *staged;
};

/* Tables and dense parameters. */
enum rs_status export_arrays_model(const struct export_arrays *x);
/* Vectors of the catalogue, or of users. */
enum rs_status export_arrays_vectors(const struct export_arrays *x);
/* Options that one of the forms has no use for: RS_EUSAGE.  to: the format. */
enum rs_status export_arrays_options(const struct arguments *a, const char *to);

#endif
