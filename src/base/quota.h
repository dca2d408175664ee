/*
 * How many processors the cgroup of this process may use.
 *
 * proc_file is /proc/self/cgroup, mount is where the groups are mounted.  The
 * smallest quota of the group and of those above it, rounded up to whole
 * processors; SIZE_MAX when there is none.
 */
#ifndef BASE_QUOTA_H
#define BASE_QUOTA_H

#include <stddef.h>

size_t quota_count(const char *proc_file, const char *mount);

#endif
