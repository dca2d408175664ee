/* Files without a name. */
#include "base/file_unnamed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* With a name for a moment where there is no other way. */
enum rs_status
file_unnamed_create(const char *directory, int *fd)
{
	char name[PATH_MAX];
	const int n = snprintf(name, sizeof(name), "%s/recsys-train-XXXXXX", directory);

	*fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*fd < 0 && n > 0 && (size_t)n < sizeof(name)) {
		*fd = mkostemp(name, O_CLOEXEC);
		if (*fd >= 0)
			unlink(name);
	}
	return *fd >= 0 ? RS_OK : rs_fail(file_status_of(errno, RS_ECREATE),
		"cannot create a file in '%s': %s", directory, strerror(errno));
}

enum rs_status
file_unnamed_writer(struct file_writer *w, const char *directory)
{
	int fd;

	RS_TRY(file_writer_open_memory(w));
	enum rs_status status = file_unnamed_create(directory, &fd);
	if (status == RS_OK && dup3(fd, w->fd, O_CLOEXEC) < 0)
		status = rs_fail(RS_ERESOURCE, "no file in '%s': %s", directory, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (status != RS_OK)
		file_writer_close(w);
	return status;
}
