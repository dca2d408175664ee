/* Cores, and threads that keep to one. */
#include "base/cores.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The lowest number of the cores that are the same physical one; its own when not known. */
static int
first_sibling(const char *topology, int number)
{
	char path[PATH_MAX], text[128], *end;

	snprintf(path, sizeof(path), "%s/cpu%d/topology/thread_siblings_list", topology, number);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return number;
	text[n] = '\0';
	const long first = strtol(text, &end, 10);
	return end == text || first < 0 || first > number ? number : (int)first;
}

/* Whether an earlier one of the list is the same physical core. */
static int
is_taken(const int *sibling, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (sibling[k] == sibling[i])
			return 1;
	return 0;
}

void
cores_order(const char *topology, struct cores *c)
{
	int sibling[CORES_MAX], number[CORES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++)
		sibling[i] = first_sibling(topology, c->number[i]);
	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < c->n; i++)
			if (is_taken(sibling, i) == again)
				number[n++] = c->number[i];
	memcpy(c->number, number, n * sizeof(*number));
}

void
cores_find(struct cores *out)
{
	cpu_set_t *set = CPU_ALLOC(CORES_MAX);
	const size_t bytes = CPU_ALLOC_SIZE(CORES_MAX);

	out->n = 0;
	if (set != NULL && sched_getaffinity(0, bytes, set) == 0)
		for (int i = 0; i < CORES_MAX; i++)
			if (CPU_ISSET_S(i, bytes, set))
				out->number[out->n++] = i;
	if (set != NULL)
		CPU_FREE(set);
	cores_order("/sys/devices/system/cpu", out);
}

/* 0, or errno's number. */
static int
set_mask(pthread_t thread, const int *number, size_t n)
{
	cpu_set_t *set = CPU_ALLOC(CORES_MAX);
	const size_t bytes = CPU_ALLOC_SIZE(CORES_MAX);

	if (set == NULL)
		return ENOMEM;
	CPU_ZERO_S(bytes, set);
	for (size_t i = 0; i < n; i++)
		CPU_SET_S(number[i], bytes, set);
	const int error = pthread_setaffinity_np(thread, bytes, set);
	CPU_FREE(set);
	return error;
}

enum rs_status
cores_keep(pthread_t thread, int number)
{
	const int error = set_mask(thread, &number, 1);

	return error == 0 ? RS_OK : rs_fail(RS_ERESOURCE, "a thread cannot be put on core %d: %s",
		number, strerror(error));
}

enum rs_status
cores_spread(pthread_t thread, const struct cores *among)
{
	const int error = set_mask(thread, among->number, among->n);

	return error == 0 ? RS_OK : rs_fail(RS_ERESOURCE, "a thread cannot have %zu cores: %s",
		among->n, strerror(error));
}
