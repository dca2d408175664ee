/*
 * GPUs of one process that give each other floats by NCCL, a rank each.
 *
 * Whatever is not over within the timeout and what NCCL says went wrong in the background end in
 * RS_EPEER, what a GPU says of its queue in RS_EDEVICE, with all ranks aborted so that the GPUs
 * are free.
 * What NCCL takes of their memory is not counted.
 */
#ifndef REDUCE_NCCL_MESH_H
#define REDUCE_NCCL_MESH_H

#include "kernel/gpu_mesh.h"
#include "reduce/nccl.h"

#define NCCL_MESH_SECONDS 30.0

/* With the NCCL that nccl_load() finds. */
extern const struct gpu_mesh_maker nccl_mesh_maker;

/* timeout: seconds for each wait.  m is borrowed. */
enum rs_status nccl_mesh_open(const struct nccl_calls *calls, double timeout,
	struct gpu_memory *m, struct gpu_mesh **out);

#endif
