/*
 * The proof of an export: rows go through the model and through what is read back from its
 * files.  The rows are those of --verify, else of data.valid, else of data.train where these
 * can be read; --rows says how many, --tolerance and --relative how far apart they may be.
 * With --check the files are there already, and nothing is written.
 */
#ifndef CMD_EXPORT_PROOF_H
#define CMD_EXPORT_PROOF_H

#include <stdint.h>

#include "cmd/command.h"
#include "cmd/scorer.h"
#include "export/verify.h"

struct export_proof {
	const struct arguments *a;
	struct scorer *scorer;             /* has the model; reads the rows           */
	int scorer_is_new;                 /* nothing was read through it             */
	struct text_list data;             /* where the rows are; n 0: there are none */
	int checks;                        /* --check                                 */
	double absolute, relative;
	int64_t rows;
};

/* Reads the options.  Free it also after a failure. */
enum rs_status export_proof_init(struct export_proof *p, const struct arguments *a);
void export_proof_free(struct export_proof *p);
/* Opens the model, and finds the rows when they are wanted. */
enum rs_status export_proof_open(struct export_proof *p, int with_rows);
/* Else there is nothing to run, and export_proof_tell_none() says so. */
int export_proof_has_rows(const struct export_proof *p);
enum rs_status export_proof_tell_none(const struct export_proof *p, const char *path);
/* Compares and tells; v has the program, its path and its rows.  tower: TOWER_USER or
 * TOWER_ITEM, whose vectors are compared, or -1: logits are.  RS_EUNMET: they differ. */
enum rs_status export_proof_run(struct export_proof *p, struct verify *v, int tower);

#endif
