/* Inside of a model directory; for checkpoint and publish only. */
#ifndef TRAIN_CHECKPOINT_PRIVATE_H
#define TRAIN_CHECKPOINT_PRIVATE_H

#include "train/checkpoint.h"

/* Greater than that of any version there is or was put aside. */
enum rs_status checkpoint_next_version(const char *directory, uint64_t *out);
/* Removes a directory of the model directory: hidden first. */
enum rs_status checkpoint_remove_tree(const char *directory, const char *path);

#endif
