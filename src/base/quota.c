/* The cgroup processor quota: v2 "cpu.max", v1 "cpu.cfs_quota_us". */
#include "base/quota.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

/* First word of text that is a whole number; 0 on success. */
static int
take_number(const char **text, int64_t *out)
{
	const size_t n = strcspn(*text, " \n");

	if (!number_i64(*text, n, out))
		return -1;
	*text += n + ((*text)[n] != '\0');
	return 0;
}

/* Reads up to two numbers of a cgroup file; text that is no number ("max") is -1. */
static int
read_numbers(const char *directory, const char *name, int64_t out[2])
{
	char        path[PATH_MAX], text[128];
	const char *at = text;
	ssize_t     n;
	int         fd;

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	out[0] = out[1] = -1;
	if (take_number(&at, &out[0]) == 0)
		(void)take_number(&at, &out[1]);
	return 0;
}

static size_t
quota_of_directory(const char *directory)
{
	int64_t v[2], period[2];

	if (read_numbers(directory, "cpu.max", v) == 0) {
		if (v[0] > 0 && v[1] > 0)
			return (size_t)((v[0] + v[1] - 1) / v[1]);
		return SIZE_MAX;
	}
	if (read_numbers(directory, "cpu.cfs_quota_us", v) == 0 && v[0] > 0 &&
	    read_numbers(directory, "cpu.cfs_period_us", period) == 0 && period[0] > 0)
		return (size_t)((v[0] + period[0] - 1) / period[0]);
	return SIZE_MAX;
}

/* The smallest quota from the group up to the root: an ancestor's binds too. */
static size_t
quota_of_path(const char *mount, const char *group)
{
	char   path[PATH_MAX];
	size_t n = SIZE_MAX;
	char  *slash;

	if (snprintf(path, sizeof(path), "%s%s", mount, group) >= (int)sizeof(path))
		return SIZE_MAX;
	for (;;) {
		const size_t here = quota_of_directory(path);

		n = here < n ? here : n;
		slash = strrchr(path, '/');
		if (strlen(path) <= strlen(mount) || slash == NULL || slash < path + strlen(mount))
			break;
		*slash = '\0';
	}
	return n;
}

/* Line of /proc/self/cgroup: "0::/group" (v2) or "4:cpu,cpuacct:/group" (v1). */
static size_t
quota_of_line(char *line, const char *v2, const char *v1)
{
	char *controllers = strchr(line, ':'), *group;

	if (controllers == NULL || (group = strchr(controllers + 1, ':')) == NULL)
		return SIZE_MAX;
	*group++ = '\0';
	controllers++;
	if (controllers[0] == '\0')
		return quota_of_path(v2, group);
	if (strcmp(controllers, "cpu") == 0 || strncmp(controllers, "cpu,", 4) == 0 ||
	    strstr(controllers, ",cpu,") != NULL)
		return quota_of_path(v1, group);
	return SIZE_MAX;
}

static size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t
quota_count(const char *proc_file, const char *mount)
{
	const int fd = open(proc_file, O_RDONLY | O_CLOEXEC);
	char      text[4096], v1[PATH_MAX], *next;
	size_t    n;
	ssize_t   got;

	snprintf(v1, sizeof(v1), "%s/cpu", mount);
	/* A container sees its own group at the root, whatever its path says. */
	n = smaller(quota_of_directory(mount), quota_of_directory(v1));
	if (fd < 0)
		return n;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	for (char *line = text; *line != '\0'; line = next) {
		next = line + strcspn(line, "\n");
		if (*next != '\0')
			*next++ = '\0';
		n = smaller(n, quota_of_line(line, mount, v1));
	}
	return n;
}
