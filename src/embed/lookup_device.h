/*
 * Tables on GPUs, for training in one process: pulls are addresses there, gradients that are
 * pushed lie there, in memory of all queues (kernel/gpu.h), and a step is done there.
 *
 * On one GPU rows are looked at where they are.  Over several they are spread by row, each with
 * as many rows of every table: such a lookup has fetch, which brings copies to the GPUs that look
 * at them, and a commit brings gradients back (embed/device_trade.h).
 *
 * A lookup_local has the same tables on the host and is their home: rows begin there, and
 * are saved and read there, so files, deltas and what is touched are those of the host.  They
 * go to the GPU when they are first pulled, and come home before anything else looks at them.
 * The sums of a row are not in the order of the host's: models agree within rounding, and runs
 * on as many GPUs agree to the bit, whatever the threads.
 */
#ifndef EMBED_LOOKUP_DEVICE_H
#define EMBED_LOOKUP_DEVICE_H

#include "embed/lookup.h"
#include "kernel/gpu.h"
#include "kernel/gpu_mesh.h"

#define DEVICE_WHY_MAX 256

struct lookup_device_options {
	struct lookup_local_options local;     /* of the home; for training          */
	struct gpu_memory *gpu;
	struct gpu_mesh *mesh;     /* of its GPUs, of which lookup_device_open() takes hold at
	                            * once; NULL: it is one GPU                       */
	/* [n_tables] occurrences of a step that room is made for, and what one of several GPUs
	 * looks at of them; more make it grow. */
	const size_t *n, *n_there;
	size_t n_pieces;           /* the most of a fetch                             */
};

/* 1: such tables can be there; 0: why not.  They are hashed, in memory, of floats, of one round
 * and whole. */
int lookup_device_takes(const struct lookup_table *table, size_t n_tables,
	char why[DEVICE_WHY_MAX]);
/* What they take of the memory of each GPU, with all that a step needs. */
enum rs_status lookup_device_bytes(const struct lookup_device_options *o, size_t *out);
enum rs_status lookup_device_open(const struct lookup_device_options *o, struct lookup **out);
/* Before the first pull: closes all but the home of *l, which becomes *l; another lookup stays. */
void lookup_device_leave(struct lookup **l);

#endif
