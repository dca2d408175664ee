/*
 * The dense planes: how the dense gradients of several processes are summed, and why one
 * is not to be had in this build.
 */
#ifndef REDUCE_PLANE_H
#define REDUCE_PLANE_H

#include <stddef.h>

struct plane {
	const char *name;           /* as placement.dense has it                      */
	const char *needs;          /* what must be there at run time                 */
	const char *missing;        /* why this build does not have it; NULL: it has  */
};

extern const struct plane plane_table[];
extern const size_t plane_n;

/* NULL: there is no such plane. */
const struct plane *plane_find(const char *name);

#endif
