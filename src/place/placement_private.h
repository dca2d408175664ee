/* Inside of the planner; for placement*.c only. */
#ifndef PLACE_PLACEMENT_PRIVATE_H
#define PLACE_PLACEMENT_PRIVATE_H

#include "place/placement.h"

/* Sets worker_bytes, shard_bytes and dense_step_bytes; sample NULL: nothing was seen. */
enum rs_status placement_weigh_processes(struct placement *p, const struct model *shape,
	const struct placement_sample *sample);

#endif
