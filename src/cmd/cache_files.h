/*
 * The files of a directory of parsed rows ([data] cache), one after the other.
 */
#ifndef CMD_CACHE_FILES_H
#define CMD_CACHE_FILES_H

#include <stdint.h>

#include "base/status.h"
#include "data/cache.h"

struct cache_file {
	const char *path;
	const char *source;        /* whose rows they are; NULL: it is no sound cache */
	enum cache_state state;    /* by the times of the source; CACHE_NONE: it is gone */
	int      abandoned;        /* of a process that is gone                      */
	uint64_t bytes;
};

/* take() borrows the file.  A directory that is not there has no files. */
enum rs_status cache_files_each(const char *directory,
	enum rs_status (*take)(void *context, const struct cache_file *file), void *context);

#endif
