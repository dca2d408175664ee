/*
 * export --to savedmodel: a directory for TensorFlow.
 */
#ifndef CMD_EXPORT_SAVEDMODEL_H
#define CMD_EXPORT_SAVEDMODEL_H

#include "cmd/command.h"
#include "cmd/scorer.h"
#include "export/staged.h"

struct export_savedmodel {
	const struct arguments *a;         /* --inline-bytes                          */
	const char *path;                  /* DIR/VERSION                             */
	struct scorer *scorer;             /* has the model                           */
	struct staged *staged;             /* beside DIR/VERSION                      */
	char *made;                        /* where it lies; the caller frees it      */
};

#define EXPORT_SAVEDMODEL_MOST 3           /* signatures                              */

enum rs_status export_savedmodel_write(struct export_savedmodel *x);

#endif
