/* From patterns to the list of files: sorted, each file once. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/range.h"
#include "data/source.h"

#define EXPAND_MAX ((size_t)1 << 20)

struct expansion {
	char  **path;              /* [n]                                             */
	size_t  n, capacity;
	int     may_miss;          /* a plain name need not exist                     */
	int     twins;             /* one file under two names is left to the caller  */
};

static enum rs_status
expansion_add(struct expansion *e, const char *path)
{
	if (e->n == e->capacity) {
		const size_t capacity = e->capacity == 0 ? 16 : 2 * e->capacity;
		char **grown;

		if (e->n >= EXPAND_MAX)
			return rs_fail(RS_EDATA, "more than %zu input files", EXPAND_MAX);
		grown = realloc(e->path, capacity * sizeof *grown);
		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for the list of input files");
		e->path = grown;
		e->capacity = capacity;
	}
	RS_TRY(memory_strdup(path, &e->path[e->n]));
	e->n++;
	return RS_OK;
}

static int
path_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* What follows the last @ of a name that is none of ranges; where a relative name begins. */
static enum rs_status
hint_unmatched(const char *name)
{
	const char *const at = strrchr(name, '@');

	if (at == NULL || at[1] == '\0' || at[1 + strspn(at + 1, "0123456789,-")] != '\0')
		return name[0] == '/' ? rs_failure()->status
			: rs_hint("a relative path in a spec begins at the folder of the spec, "
			"one on the command line where the command began");
	return rs_hint("ranges of a file are '%.*s@BEGIN-END,BEGIN-END', ascending, with "
		"something between them", (int)(at - name), name);
}

/* Standard input, a file whatever characters its name has, or ranges of one; *denied: this user
 * may not look whether there is such a file. */
static enum rs_status
is_name(const struct expansion *e, const char *pattern, int *yes, int *denied)
{
	struct range_list ranges;
	struct stat st;
	char *path;

	const int there = stat(pattern, &st) == 0;
	*denied = !there && errno == EACCES;
	*yes = strcmp(pattern, "-") == 0 || there ||
		(e->may_miss && strpbrk(pattern, "*?[") == NULL);
	if (*yes)
		return RS_OK;
	RS_TRY(range_parse(pattern, &path, &ranges));
	*yes = path != NULL && stat(path, &st) == 0;
	range_list_free(&ranges);
	free(path);
	return RS_OK;
}

/* The first directory of a pattern that could not be read, of this thread: glob(3) has no
 * context. */
static _Thread_local struct unread { int error; char directory[200]; } unread;

/* What this user may not see is not meant; another directory that cannot be read may have files
 * that are. */
static int
on_unread(const char *directory, int error)
{
	if (error == ENOENT)
		return 0;
	if (unread.error == 0) {
		unread.error = error;
		(void)snprintf(unread.directory, sizeof unread.directory, "%s", directory);
	}
	return error != EACCES && error != ELOOP && error != ENAMETOOLONG;
}

static enum rs_status
fail_unread(void)
{
	return rs_fail(file_status_of(unread.error, unread.error == EACCES ? RS_ENOINPUT : RS_EIO),
		"cannot read the directory '%s': %s", unread.directory, strerror(unread.error));
}

static enum rs_status
fail_unmatched(const char *pattern, int denied)
{
	const int is_pattern = strpbrk(pattern, "*?[") != NULL;

	if (unread.error != 0)
		return fail_unread();
	(void)rs_fail(RS_ENOINPUT, is_pattern ? "no file matches '%s'" : denied
		? "cannot open '%s': Permission denied" : "no such file: '%s'", pattern);
	return hint_unmatched(pattern);
}

static enum rs_status
expand_pattern(struct expansion *e, const char *pattern)
{
	const size_t first = e->n;
	glob_t found;
	enum rs_status status = RS_OK;
	int r, yes, denied;

	RS_TRY(is_name(e, pattern, &yes, &denied));
	if (yes)
		return expansion_add(e, pattern);
	unread.error = 0;
	r = glob(pattern, GLOB_NOSORT | GLOB_NOESCAPE, on_unread, &found);
	if (r == GLOB_NOSPACE)
		return rs_fail(RS_ERESOURCE, "out of memory expanding '%s'", pattern);
	if (r == GLOB_ABORTED) {
		globfree(&found);
		return fail_unread();
	}
	if (r != 0)
		return fail_unmatched(pattern, denied);
	for (size_t i = 0; i < found.gl_pathc && status == RS_OK; i++)
		status = expansion_add(e, found.gl_pathv[i]);
	globfree(&found);
	if (status == RS_OK)
		qsort(e->path + first, e->n - first, sizeof *e->path, path_order);
	return status;
}

/* --- twins ------------------------------------------------------------------ */

/* A range of a named file; a whole file is one, too. */
struct expansion_part {
	dev_t  device;
	ino_t  inode;
	struct range range;
	int    may_be_header;          /* the first of several, from the first byte  */
	size_t i;
};

static int
part_order(const void *a, const void *b)
{
	const struct expansion_part *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	if (x->range.begin != y->range.begin)
		return x->range.begin < y->range.begin ? -1 : 1;
	if (x->range.end != y->range.end)
		return x->range.end < y->range.end ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

struct expansion_parts {
	struct expansion_part *item;   /* [n]                                         */
	size_t n, capacity;
};

static enum rs_status
parts_add(struct expansion_parts *parts, const struct expansion_part *one)
{
	const size_t capacity = parts->capacity == 0 ? 64 : 2 * parts->capacity;
	struct expansion_part *grown;

	if (parts->n == parts->capacity) {
		grown = realloc(parts->item, capacity * sizeof *grown);
		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for %zu parts of input files",
				capacity);
		parts->item = grown;
		parts->capacity = capacity;
	}
	parts->item[parts->n++] = *one;
	return RS_OK;
}

static enum rs_status
add_parts(const struct expansion *e, size_t i, struct expansion_parts *parts)
{
	/* standard input is device 0, inode 0: twice is once too many */
	struct expansion_part part = { .i = i, .range.end = RANGE_END };
	const int is_file = strcmp(e->path[i], "-") != 0;
	struct range_list ranges;
	enum rs_status status = RS_OK;
	struct stat st;
	char *path;

	if (e->may_miss && is_file)
		part.inode = (ino_t)i + 1;             /* one that is not here is like no other */
	RS_TRY(range_parse(e->path[i], &path, &ranges));
	if (is_file && stat(path != NULL ? path : e->path[i], &st) == 0) {
		part.device = st.st_dev;
		part.inode = st.st_ino;
	}
	if (path == NULL)
		return parts_add(parts, &part);
	for (size_t k = 0; k < ranges.n && status == RS_OK; k++) {
		part.range = ranges.item[k];
		part.may_be_header = k == 0 && ranges.n > 1 && part.range.begin == 0;
		status = parts_add(parts, &part);
	}
	range_list_free(&ranges);
	free(path);
	return status;
}

/* a is before b or equal. */
static int
parts_meet(const struct expansion_part *a, const struct expansion_part *b)
{
	if (a->device != b->device || a->inode != b->inode || b->range.begin >= a->range.end)
		return 0;
	return !(a->may_be_header && b->may_be_header && a->range.end == b->range.end);
}

static enum rs_status
expansion_refuse_twins(const struct expansion *e)
{
	struct expansion_parts parts = { .n = 0 };
	enum rs_status status = RS_OK;

	for (size_t i = 0; i < e->n && status == RS_OK; i++)
		status = add_parts(e, i, &parts);
	if (status == RS_OK)
		qsort(parts.item, parts.n, sizeof *parts.item, part_order);
	for (size_t k = 1; k < parts.n && status == RS_OK; k++) {
		const struct expansion_part *a = &parts.item[k - 1], *b = a + 1;

		if (!parts_meet(a, b))
			continue;
		(void)rs_fail(RS_EDATA, a->range.end == RANGE_END && b->range.begin == 0 ?
			"'%s' and '%s' are the same file" : "'%s' and '%s' have bytes in common",
			e->path[a->i], e->path[b->i]);
		status = rs_hint("its rows would count twice; name it once");
	}
	free(parts.item);
	return status;
}

static enum rs_status
expand(const struct text_list *patterns, struct expansion e, char ***path, size_t *n)
{
	enum rs_status status = RS_OK;

	for (size_t i = 0; i < patterns->n && status == RS_OK; i++)
		status = expand_pattern(&e, patterns->item[i]);
	if (status == RS_OK && e.n > 1 && !e.twins)
		status = expansion_refuse_twins(&e);
	if (status != RS_OK) {
		for (size_t i = 0; i < e.n; i++)
			free(e.path[i]);
		free(e.path);
		return status;
	}
	*path = e.path;
	*n = e.n;
	return RS_OK;
}

enum rs_status
source_expand(const struct text_list *patterns, char ***path, size_t *n)
{
	return expand(patterns, (struct expansion){ .n = 0 }, path, n);
}

enum rs_status
source_expand_names(const struct text_list *patterns, char ***path, size_t *n)
{
	return expand(patterns, (struct expansion){ .may_miss = 1 }, path, n);
}

enum rs_status
source_expand_fast(const struct text_list *patterns, char ***path, size_t *n)
{
	return expand(patterns, (struct expansion){ .twins = 1 }, path, n);
}
