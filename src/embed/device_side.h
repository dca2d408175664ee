/*
 * What one of several GPUs has of a step for rows on their way; private to embed/device_trade.c.
 *
 * It gives copies of its rows, whose addresses go there first, and gets others, of which it has
 * gradients with a factor each; addresses and factors have a side here, which is where they are
 * written.
 */
#ifndef EMBED_DEVICE_SIDE_H
#define EMBED_DEVICE_SIDE_H

#include "kernel/gpu.h"

/* Entries, and their floats. */
struct device_room { size_t given, got, given_floats, got_floats; };

struct device_side {
	struct gpu_memory *gpu;
	size_t place;                  /* of the GPU                                      */
	struct gpu_plan plan;
	struct gpu_queue *queue;
	char  *there, *here;
	size_t source, grad, scale;    /* places in these: [given] addresses; [got]       */
	struct device_room room, used; /* that there is, and that the step at hand takes  */
	float *given, *got;            /* in memory of all queues of the GPU              */
};

size_t device_side_bytes(const struct gpu_memory *gpu, const struct device_room *room);
enum rs_status device_side_open(struct device_side *s, struct gpu_memory *gpu, size_t place,
	const struct device_room *room);
/* One that was never opened, too. */
void device_side_close(struct device_side *s);
/* Room for what is used; with more than there was, and an eighth to spare, it is made anew. */
enum rs_status device_side_reserve(struct device_side *s);

#endif
