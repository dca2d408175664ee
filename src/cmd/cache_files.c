/* Walking a directory of parsed rows. */
#include "cmd/cache_files.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* ".tmp-PID-...": being written, unless the process is gone. */
static int
is_abandoned(const char *name)
{
	long pid;

	return sscanf(name, ".tmp-%ld-", &pid) == 1 && pid > 0 && kill((pid_t)pid, 0) != 0 &&
		errno == ESRCH;
}

/* What else is in the directory is not ours: *path stays NULL. */
static enum rs_status
look(const char *directory, const char *name, struct cache_file *file, char **path, char **source)
{
	struct stat st;
	char *at;

	if (!cache_is_name(name))
		return RS_OK;
	RS_TRY(file_join(directory, name, &at));
	if (lstat(at, &st) != 0 || !S_ISREG(st.st_mode)) {
		free(at);
		return RS_OK;
	}
	file->path = *path = at;
	file->abandoned = is_abandoned(name);
	file->bytes = (uint64_t)st.st_size;
	RS_TRY(cache_examine(*path, source, &file->state));
	file->source = *source;
	return RS_OK;
}

enum rs_status
cache_files_each(const char *directory,
	enum rs_status (*take)(void *context, const struct cache_file *file), void *context)
{
	DIR *const dir = directory != NULL && *directory != '\0' ? opendir(directory) : NULL;
	enum rs_status status = RS_OK;

	if (dir == NULL && directory != NULL && *directory != '\0' && file_is_shortage(errno))
		return rs_fail(RS_ERESOURCE, "cannot read '%s': %s", directory, strerror(errno));
	for (const struct dirent *e = dir != NULL ? readdir(dir) : NULL; status == RS_OK &&
	     e != NULL; e = readdir(dir)) {
		struct cache_file file = { .state = CACHE_NONE };
		char *path = NULL, *source = NULL;

		status = look(directory, e->d_name, &file, &path, &source);
		if (status == RS_OK && path != NULL && (file.abandoned || e->d_name[0] != '.'))
			status = take(context, &file);
		free(path);
		free(source);
	}
	if (dir != NULL)
		closedir(dir);
	return status;
}
