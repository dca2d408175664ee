/* Sums of the files of a directory. */
#include "export/sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

enum { TEXT_MAX = 1 << 16, LAST = 9 };  /* bytes of the last line */

enum rs_status
sums_of_file(const char *path, uint32_t *crc, uint64_t *bytes)
{
	struct file_map map;

	RS_TRY(file_map_open(&map, path));
	*crc = hash_crc32c(0, map.data, map.size);
	*bytes = map.size;
	file_map_close(&map);
	return RS_OK;
}

static enum rs_status
add_line(const char *directory, const char *name, struct buffer *text)
{
	char *path;
	uint32_t crc;
	uint64_t bytes;

	RS_TRY(file_join(directory, name, &path));
	const enum rs_status status = sums_of_file(path, &crc, &bytes);
	free(path);
	RS_TRY(status);
	return buffer_printf(text, "%08" PRIx32 " %" PRIu64 " %s\n", crc, bytes, name);
}

enum rs_status
sums_write(const char *directory, const char *const *name, size_t n)
{
	enum rs_status status = RS_OK;
	struct buffer text;
	char *path = NULL;

	buffer_init(&text, TEXT_MAX);
	for (size_t i = 0; i < n && status == RS_OK; i++)
		status = add_line(directory, name[i], &text);
	if (status == RS_OK)
		status = buffer_printf(&text, "%08" PRIx32 "\n", hash_crc32c(0, text.data, text.n));
	if (status == RS_OK)
		status = file_join(directory, SUMS_NAME, &path);
	if (status == RS_OK)
		status = file_replace(path, text.data, text.n);
	free(path);
	buffer_free(&text);
	return status;
}

/* The lines are whole. */
static enum rs_status
check_text(const char *path, const char *text, size_t n)
{
	char last[LAST + 1];

	if (n < LAST)
		return rs_fail(RS_EDATA, "'%s' is damaged: it has %zu bytes", path, n);
	snprintf(last, sizeof last, "%08" PRIx32 "\n", hash_crc32c(0, text, n - LAST));
	return memcmp(text + n - LAST, last, LAST) == 0 ? RS_OK
		: rs_fail(RS_EDATA, "'%s' is damaged: its lines do not have the sum of the last",
			path);
}

/* *at: the line of the file, and then that of the next. */
static enum rs_status
check_file(const char *directory, const char *name, const char **at)
{
	enum rs_status status;
	struct buffer line;

	buffer_init(&line, TEXT_MAX);
	status = add_line(directory, name, &line);
	if (status == RS_OK && strncmp(*at, line.data, line.n) != 0)
		status = rs_fail(RS_EDATA, "'%s/%s' is damaged: it is '%.*s', wanted '%.*s' of %s",
			directory, name, (int)line.n - 1, line.data, (int)strcspn(*at, "\n"), *at,
			SUMS_NAME);
	*at += status == RS_OK ? line.n : 0;
	buffer_free(&line);
	return status;
}

enum rs_status
sums_check(const char *directory, const char *const *name, size_t n)
{
	char *path, *text = NULL;
	size_t size;

	RS_TRY(file_join(directory, SUMS_NAME, &path));
	enum rs_status status = file_read(path, TEXT_MAX, &text, &size);
	if (status == RS_OK)
		status = check_text(path, text, size);
	const char *at = text;
	for (size_t i = 0; i < n && status == RS_OK; i++)
		status = check_file(directory, name[i], &at);
	if (status == RS_OK && (size_t)(at - text) != size - LAST)
		status = rs_fail(RS_EDATA, "'%s' is of other files", path);
	free(text);
	free(path);
	return status;
}
