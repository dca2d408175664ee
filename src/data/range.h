/*
 * Ranges of a file: "PATH@BEGIN-END,BEGIN-END,..." is a file of its own whose bytes are
 * those of PATH (decompressed) from BEGIN up to but not END, one range after the other.
 *
 * Ranges ascend and do not meet; each begins where a line begins.  "PATH@0-97,5000-9000"
 * is a header line and some rows.  END may be left out of the last: up to the end of the
 * file.  A file whose name is all of that text comes first.  Whatever takes a name of an
 * input file takes such a name: source_open(), source_expand(), and so the loader.
 */
#ifndef DATA_RANGE_H
#define DATA_RANGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/status.h"

#define RANGE_END UINT64_MAX            /* up to the end of the file                   */

struct range { uint64_t begin, end; };

struct range_list {
	struct range *item;        /* [n] ascending                                   */
	size_t n, capacity;
};

void range_list_free(struct range_list *list);
/* Adds after the last; one that begins where the last ends grows it. */
enum rs_status range_list_add(struct range_list *list, uint64_t begin, uint64_t end);
/* Sum of the lengths; no range may be open. */
uint64_t range_list_bytes(const struct range_list *list);

/* Is `name` such a name, and is there no file called so?  Then *path, which the caller
 * frees, and the ranges; else *path is NULL.  Text behind the @ that is no ranges makes it
 * a plain name. */
enum rs_status range_parse(const char *name, char **path, struct range_list *list);
/* stat(2) of the file that a name is of, with ranges or without; 0, or -1 with errno. */
int range_stat(const char *name, struct stat *out);
/* Appends the name; no ranges: the path alone. */
enum rs_status range_print(const char *path, const struct range_list *list, struct buffer *out);

#endif
