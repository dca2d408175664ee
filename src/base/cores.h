/*
 * The cores that this process may use, in the order in which threads get one each: one of
 * every physical core first, then those that share one.  From the affinity mask and
 * /sys/devices/system/cpu, where it is there; else in the order of their numbers.
 */
#ifndef BASE_CORES_H
#define BASE_CORES_H

#include <pthread.h>
#include <stddef.h>

#include "base/status.h"

#define CORES_MAX 1024

struct cores {
	size_t n;                   /* the first CORES_MAX of the mask                */
	int    number[CORES_MAX];
};

void cores_find(struct cores *out);
/* The same of n numbers in rising order, with `topology` in place of the directory of /sys. */
void cores_order(const char *topology, struct cores *c);
/* From now on the thread, and threads that it starts, run on this core alone. */
enum rs_status cores_keep(pthread_t thread, int number);
/* On any of these: for one that was started by a thread that keeps to fewer. */
enum rs_status cores_spread(pthread_t thread, const struct cores *among);

#endif
