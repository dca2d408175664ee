/* Identity of processes from /proc. */
#include "store/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/number.h"

/* First line of a file of /proc, at most size - 1 bytes; "" when it cannot be read. */
static void
first_line(const char *path, char *out, size_t size)
{
	out[0] = '\0';
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	const ssize_t n = read(fd, out, size - 1);
	close(fd);
	out[n < 0 ? 0 : n] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

/* Start time of a live process, 0 when there is none (a zombie counts as none). */
static int64_t
start_time(int64_t pid)
{
	char path[64], line[1024];

	snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
	first_line(path, line, sizeof line);
	/* The name in parentheses may hold anything; field 3 follows the last ')'. */
	const char *at = strrchr(line, ')');
	if (at == NULL || at[1] == '\0' || at[2] == 'Z' || at[2] == 'X')
		return 0;
	at++;
	for (int field = 3; field < 22 && at != NULL; field++)
		at = strchr(at + 1, ' ');
	if (at == NULL)
		return 0;
	at++;
	int64_t start = 0;
	return number_i64(at, strcspn(at, " "), &start) ? start : 0;
}

void
process_self(struct process_identity *out)
{
	memset(out, 0, sizeof *out);
	if (gethostname(out->host, sizeof out->host - 1) != 0)
		out->host[0] = '\0';
	first_line("/proc/sys/kernel/random/boot_id", out->boot, sizeof out->boot);
	const ssize_t n = readlink("/proc/self/ns/pid", out->space, sizeof out->space - 1);
	out->space[n < 0 ? 0 : n] = '\0';
	out->pid = getpid();
	out->start = start_time(out->pid);
}

int
process_is_gone(const struct process_identity *p)
{
	struct process_identity self;

	process_self(&self);
	if (strcmp(p->boot, self.boot) != 0)
		return strcmp(p->host, self.host) == 0;
	if (strcmp(p->space, self.space) != 0)
		return 0;
	if (self.start == 0)
		return kill((pid_t)p->pid, 0) != 0 && errno == ESRCH;
	return start_time(p->pid) != p->start;
}
