/* The names of a journal's segments. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "remote/journal_private.h"

#define DIGITS 16
#define SUFFIX ".log"

void
journal_file_name(const char *directory, uint64_t segment, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/%016" PRIx64 SUFFIX, directory, segment);
}

/* 0: not the name of a segment. */
static uint64_t
number_of(const char *name)
{
	char *end;

	if (strlen(name) != DIGITS + strlen(SUFFIX) || strspn(name, "0123456789abcdef") != DIGITS
	    || strcmp(name + DIGITS, SUFFIX) != 0)
		return 0;
	return strtoull(name, &end, 16);
}

static int
compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static enum rs_status
read_names(DIR *d, struct buffer *list)
{
	const struct dirent *entry;

	while ((entry = readdir(d)) != NULL) {
		const uint64_t number = number_of(entry->d_name);

		if (number > 0 && number < UINT64_MAX)
			RS_TRY(buffer_append(list, &number, sizeof(number)));
	}
	return RS_OK;
}

enum rs_status
journal_file_list(const char *directory, uint64_t **out, size_t *n)
{
	DIR *d = opendir(directory);
	struct buffer list;
	enum rs_status status;

	*out = NULL;
	*n = 0;
	if (d == NULL)
		return errno == ENOENT ? RS_OK
			: rs_fail(file_status_of(errno, RS_EIO),
				"cannot read '%s': %s", directory, strerror(errno));
	buffer_init(&list, (size_t)1 << 30);
	status = read_names(d, &list);
	closedir(d);
	if (status != RS_OK) {
		buffer_free(&list);
		return status;
	}
	*out = (uint64_t *)(void *)list.data;
	*n = list.n / sizeof(**out);
	if (*n > 0)
		qsort(*out, *n, sizeof(**out), compare);
	return RS_OK;
}

void
journal_file_remove(const char *directory, uint64_t begin, uint64_t end)
{
	uint64_t *list;
	size_t n;

	if (journal_file_list(directory, &list, &n) != RS_OK)
		return;
	for (size_t i = 0; i < n; i++) {
		char path[PATH_MAX];

		if (list[i] < begin || list[i] >= end)
			continue;
		journal_file_name(directory, list[i], path);
		(void)unlink(path);
	}
	free(list);
}
