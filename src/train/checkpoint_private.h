/* Inside of a model directory; for checkpoint and publish only. */
#ifndef TRAIN_CHECKPOINT_PRIVATE_H
#define TRAIN_CHECKPOINT_PRIVATE_H

#include "train/checkpoint.h"
#include "train/manifest.h"

/* Greater than that of any version there is or was put aside. */
enum rs_status checkpoint_next_version(const char *directory, uint64_t *out);
/* Removes a directory of the model directory: hidden first. */
enum rs_status checkpoint_remove_tree(const char *directory, const char *path);

/* The file of a table, "table-C1.linear.0-of-1.bin"; bytes that a name of a file should not
 * have as %XX. */
enum { CHECKPOINT_NAME_SIZE = 400 };
void checkpoint_table_file(char out[CHECKPOINT_NAME_SIZE], const char *table);
/* What changed of it: "table-C1.linear.0-of-1.delta". */
void checkpoint_table_delta(char out[CHECKPOINT_NAME_SIZE], const char *table);
int checkpoint_is_delta(const char *name);
/* Files of tables that MANIFEST does not name, also those that a kill left, go. */
enum rs_status checkpoint_remove_unnamed(const struct manifest *m, const char *path);

/* What there is to an exact table besides its rows, "tenancy-C1.0-of-1.bin". */
void checkpoint_tenancy_file(char out[CHECKPOINT_NAME_SIZE], const char *table);

#define CHECKPOINT_CURRENT      "CURRENT"
#define CHECKPOINT_TABLE_PREFIX "table-"
#define CHECKPOINT_TENANCY_PREFIX "tenancy-"

enum { CHECKPOINT_VERSION_NAME = 32 };

/* "v000012" */
void checkpoint_version_name(char out[CHECKPOINT_VERSION_NAME], uint64_t version);
/* The number of "v000012" and, with a suffix, of "v000012SUFFIX"; 0 for any other name. */
uint64_t checkpoint_version_of_name(const char *name, const char *suffix);

#endif
