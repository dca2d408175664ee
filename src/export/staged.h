/*
 * Files that come to be together.
 *
 * They are made under their own names in a hidden directory beside the target, so that files
 * which name each other can be tried there, and are renamed by staged_commit() in the order
 * of staged_add().  A name that was not made is removed from beside the target: it was of
 * what is replaced.  Until then nothing that was there is touched; staged_close() removes
 * what was not committed.
 */
#ifndef EXPORT_STAGED_H
#define EXPORT_STAGED_H

#include <stddef.h>

#include "base/status.h"

struct staged {
	char  *directory, *hidden;
	char **name;               /* [n] */
	size_t n;
};

/* Beside PATH. */
enum rs_status staged_open(struct staged *s, const char *path);
/* *path: where the file of this name is made; the caller frees it. */
enum rs_status staged_add(struct staged *s, const char *name, char **path);
enum rs_status staged_commit(struct staged *s);
void staged_close(struct staged *s);

#endif
