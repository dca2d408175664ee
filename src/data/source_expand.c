/* From patterns to the list of files: sorted, each file once. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "data/source.h"

#define EXPAND_MAX ((size_t)1 << 20)

struct expansion {
	char  **path;              /* [n]                                             */
	size_t  n, capacity;
	int     may_miss;          /* a plain name need not exist                     */
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

/* A name that exists is taken literally, whatever characters it has. */
static enum rs_status
expand_pattern(struct expansion *e, const char *pattern)
{
	const size_t first = e->n;
	struct stat st;
	glob_t found;
	enum rs_status status = RS_OK;
	int r;

	if (strcmp(pattern, "-") == 0 || stat(pattern, &st) == 0
	    || (e->may_miss && strpbrk(pattern, "*?[") == NULL))
		return expansion_add(e, pattern);
	r = glob(pattern, GLOB_NOSORT | GLOB_NOESCAPE, NULL, &found);
	if (r == GLOB_NOSPACE)
		return rs_fail(RS_ERESOURCE, "out of memory expanding '%s'", pattern);
	if (r != 0) {
		const int is_pattern = strpbrk(pattern, "*?[") != NULL;

		return rs_fail(RS_ENOINPUT, is_pattern ? "no file matches '%s'"
			: "no such file: '%s'", pattern);
	}
	for (size_t i = 0; i < found.gl_pathc && status == RS_OK; i++)
		status = expansion_add(e, found.gl_pathv[i]);
	globfree(&found);
	if (status == RS_OK)
		qsort(e->path + first, e->n - first, sizeof *e->path, path_order);
	return status;
}

struct expansion_file {
	dev_t  device;
	ino_t  inode;
	size_t i;
};

static int
file_order(const void *a, const void *b)
{
	const struct expansion_file *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static enum rs_status
expansion_refuse_twins(const struct expansion *e)
{
	struct expansion_file *file;
	enum rs_status status = RS_OK;

	RS_TRY(memory_alloc(e->n, sizeof *file, &file));
	for (size_t i = 0; i < e->n; i++) {
		struct stat st;

		/* standard input is device 0, inode 0: twice is once too many */
		file[i].i = i;
		if (e->may_miss && strcmp(e->path[i], "-") != 0)
			file[i].inode = (ino_t)i + 1;  /* one that is not here is like no other */
		if (strcmp(e->path[i], "-") != 0 && stat(e->path[i], &st) == 0) {
			file[i].device = st.st_dev;
			file[i].inode = st.st_ino;
		}
	}
	qsort(file, e->n, sizeof *file, file_order);
	for (size_t i = 1; i < e->n && status == RS_OK; i++)
		if (file[i].device == file[i - 1].device && file[i].inode == file[i - 1].inode) {
			(void)rs_fail(RS_EDATA, "'%s' and '%s' are the same file",
				e->path[file[i - 1].i], e->path[file[i].i]);
			status = rs_hint("its rows would count twice; name it once");
		}
	free(file);
	return status;
}

static enum rs_status
expand(const struct text_list *patterns, int may_miss, char ***path, size_t *n)
{
	struct expansion e = { .may_miss = may_miss };
	enum rs_status status = RS_OK;

	for (size_t i = 0; i < patterns->n && status == RS_OK; i++)
		status = expand_pattern(&e, patterns->item[i]);
	if (status == RS_OK && e.n > 1)
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
	return expand(patterns, 0, path, n);
}

enum rs_status
source_expand_names(const struct text_list *patterns, char ***path, size_t *n)
{
	return expand(patterns, 1, path, n);
}
