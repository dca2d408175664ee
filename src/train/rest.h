/*
 * What compressed pushes hold back, in versions: rounding errors that belong to gradients to
 * come (placement.compress).  Without them a run that goes on would be another run.
 *
 * A version of a run that has not ended has them of all ranks; who goes on with as many
 * workers goes on to the bit, and with another number nothing is lost either.  The end of a
 * run drops them.  A lookup that rounds nothing has none.
 */
#ifndef TRAIN_REST_H
#define TRAIN_REST_H

#include "base/file.h"
#include "base/status.h"
#include "train/model.h"

/* All ranks; rank 0's w, a new file in memory, gets what all hold back. */
enum rs_status rest_gather(const struct model *m, struct file_writer *w);
/* All ranks; directory and version are rank 0's. */
enum rs_status rest_restore(struct model *m, const char *directory, uint64_t version);

#endif
