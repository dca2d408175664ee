/* Files that come to be together, by renames out of a hidden directory. */
#include "export/staged.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

static enum rs_status
make_hidden(struct staged *s, const char *path)
{
	static atomic_uint counter;

	if (asprintf(&s->hidden, "%s/.tmp-%ld-%u-export", s->directory, (long)getpid(),
	    atomic_fetch_add(&counter, 1)) < 0) {
		s->hidden = NULL;
		return rs_fail(RS_ERESOURCE, "out of memory for '%s'", path);
	}
	if (mkdir(s->hidden, 0777) == 0)
		return RS_OK;
	const enum rs_status status = rs_fail(RS_ECREATE, "cannot create '%s': %s", path,
		strerror(errno));
	free(s->hidden);
	s->hidden = NULL;
	return status;
}

enum rs_status
staged_open(struct staged *s, const char *path)
{
	const char *const slash = strrchr(path, '/');
	const int n = slash == NULL ? 0 : slash == path ? 1 : (int)(slash - path);

	*s = (struct staged){ 0 };
	if (asprintf(&s->directory, "%.*s", n > 0 ? n : 1, n > 0 ? path : ".") < 0) {
		s->directory = NULL;
		return rs_fail(RS_ERESOURCE, "out of memory for '%s'", path);
	}
	const enum rs_status status = make_hidden(s, path);
	if (status != RS_OK)
		staged_close(s);
	return status;
}

enum rs_status
staged_add(struct staged *s, const char *name, char **path)
{
	char **const grown = reallocarray(s->name, s->n + 1, sizeof *grown);

	*path = NULL;
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for '%s'", name);
	s->name = grown;
	RS_TRY(memory_strdup(name, &s->name[s->n]));
	s->n++;
	return file_join(s->hidden, name, path);
}

static enum rs_status
put_in_place(const char *from, const char *to)
{
	if (rename(from, to) == 0)
		return RS_OK;
	/* A directory that is there changes places with the new one, and goes with the hidden. */
	if ((errno == ENOTEMPTY || errno == EEXIST)
	    && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
		return RS_OK;
	if (errno == ENOENT && access(from, F_OK) != 0) {
		if (unlink(to) == 0 || errno == ENOENT)
			return RS_OK;
		return rs_fail(RS_EIO, "cannot remove '%s': %s", to, strerror(errno));
	}
	return rs_fail(RS_ECREATE, "cannot create '%s': %s", to, strerror(errno));
}

enum rs_status
staged_commit(struct staged *s)
{
	for (size_t i = 0; i < s->n; i++) {
		char *from = NULL, *to = NULL;
		enum rs_status status = file_join(s->hidden, s->name[i], &from);

		if (status == RS_OK)
			status = file_join(s->directory, s->name[i], &to);
		if (status == RS_OK)
			status = put_in_place(from, to);
		free(from);
		free(to);
		RS_TRY(status);
	}
	return file_sync_directory(s->directory);
}

/* A failure that is being passed on stays what it is. */
void
staged_close(struct staged *s)
{
	struct rs_failure failure;

	rs_failure_take(&failure);
	if (s->hidden != NULL)
		(void)file_remove_tree(s->hidden);
	(void)rs_failure_put(&failure);
	for (size_t i = 0; i < s->n; i++)
		free(s->name[i]);
	free(s->name);
	free(s->hidden);
	free(s->directory);
	*s = (struct staged){ 0 };
}
