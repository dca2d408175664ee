/* Inside of a model directory; for checkpoint.c and checkpoint_list.c only. */
#ifndef TRAIN_CHECKPOINT_PRIVATE_H
#define TRAIN_CHECKPOINT_PRIVATE_H

#include "train/checkpoint.h"

/* "DIRECTORY/v000012"; caller frees. */
enum rs_status checkpoint_version_path(const char *directory, uint64_t version, char **out);
/* Greater than that of any version there is or was put aside. */
enum rs_status checkpoint_next_version(const char *directory, uint64_t *out);

#endif
