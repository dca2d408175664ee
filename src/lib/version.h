/*
 * One version of a model, open for scoring; read-only, shared by counted references.
 *
 * Everything but the tables is read and verified when it is opened, the tables are mapped
 * (lib/mapped.h).  Its files may be removed while it is open.
 */
#ifndef LIB_VERSION_H
#define LIB_VERSION_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"
#include "train/manifest.h"
#include "train/model.h"

struct version {
	atomic_size_t n_references;
	struct manifest manifest;
	struct model model;            /* without optimizer state and catalogue        */
	float *param_block;            /* in which model.param lies                   */
	uint64_t number;
};

/* What model names now: a directory whose CURRENT is followed, or that of a version;
 * *directory (may be NULL) is the version's, which the caller frees. */
enum rs_status version_find(const char *model, uint64_t *number, char **directory);
/* With one reference. */
enum rs_status version_open(const char *directory, struct version **out);
void version_hold(struct version *v);
void version_drop(struct version *v);      /* NULL: nothing; the last one closes it   */

#endif
