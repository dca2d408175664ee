/* Names inside of a model directory: versions, CURRENT, files of tables. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "train/checkpoint_private.h"

#define VERSION_LIMIT 999999999u
#define CURRENT_LIMIT 400
#define CHECKPOINT_DELTA ".delta"

void
checkpoint_version_name(char out[CHECKPOINT_VERSION_NAME], uint64_t version)
{
	snprintf(out, CHECKPOINT_VERSION_NAME, "v%06" PRIu64, version);
}

uint64_t
checkpoint_version_of_name(const char *name, const char *suffix)
{
	const size_t n = strlen(name), n_suffix = strlen(suffix);
	char again[CHECKPOINT_VERSION_NAME];
	uint64_t version;

	if (n <= n_suffix || name[0] != 'v' || strcmp(name + n - n_suffix, suffix) != 0
		|| !number_u64(name + 1, n - n_suffix - 1, &version) || version > VERSION_LIMIT)
		return 0;
	checkpoint_version_name(again, version);
	return strlen(again) == n - n_suffix && strncmp(again, name, n - n_suffix) == 0
		? version : 0;
}

enum rs_status
checkpoint_version_path(const char *directory, uint64_t version, char **out)
{
	char name[CHECKPOINT_VERSION_NAME];

	if (version == CHECKPOINT_HERE)
		return memory_strdup(directory, out);
	checkpoint_version_name(name, version);
	return file_join(directory, name, out);
}

int
checkpoint_is_version(const char *directory)
{
	char *path;

	if (file_join(directory, "MANIFEST", &path) != RS_OK)
		return 0;
	const int is = access(path, F_OK) == 0 || errno == EACCES || file_is_shortage(errno);
	free(path);
	return is;
}

enum rs_status
checkpoint_read_current(const char *directory, uint64_t *version)
{
	enum rs_status status = RS_OK;
	char *path, *text = NULL;
	size_t n;

	*version = 0;
	RS_TRY(file_join(directory, CHECKPOINT_CURRENT, &path));
	if (access(path, F_OK) == 0 || errno != ENOENT)
		status = file_read(path, CURRENT_LIMIT, &text, &n);
	if (text != NULL) {
		text[strcspn(text, "\n")] = '\0';
		*version = checkpoint_version_of_name(text, "");
	}
	free(text);
	free(path);
	return checkpoint_is_damage(status) ? RS_OK : status;
}

uint64_t
checkpoint_current(const char *directory)
{
	uint64_t version;

	(void)checkpoint_read_current(directory, &version);
	return version;
}

int
checkpoint_is_damage(enum rs_status status)
{
	return status != RS_OK && status != RS_EDENIED && status != RS_ERESOURCE;
}

/* "table-C1.linear.0-of-1.bin" of prefix, table and suffix. */
static void
file_of_table(char out[CHECKPOINT_NAME_SIZE], const char *prefix, const char *table,
	const char *suffix)
{
	const size_t room = CHECKPOINT_NAME_SIZE;
	size_t n = (size_t)snprintf(out, room, "%s", prefix);

	for (const char *c = table; *c != '\0' && n + 20 < room; c++) {
		const int plain = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z')
			|| (*c >= 'a' && *c <= 'z') || strchr("._-", *c) != NULL;
		n += (size_t)snprintf(out + n, room - n, plain ? "%c" : "%%%02X",
			(unsigned char)*c);
	}
	snprintf(out + n, room - n, ".0-of-1%s", suffix);
}

void
checkpoint_table_delta(char out[CHECKPOINT_NAME_SIZE], const char *table)
{
	file_of_table(out, CHECKPOINT_TABLE_PREFIX, table, CHECKPOINT_DELTA);
}

int
checkpoint_is_delta(const char *name)
{
	const size_t n = strlen(name), k = strlen(CHECKPOINT_DELTA);

	return n > k && strcmp(name + n - k, CHECKPOINT_DELTA) == 0;
}

void
checkpoint_table_file(char out[CHECKPOINT_NAME_SIZE], const char *table)
{
	file_of_table(out, CHECKPOINT_TABLE_PREFIX, table, ".bin");
}

void
checkpoint_tenancy_file(char out[CHECKPOINT_NAME_SIZE], const char *table)
{
	file_of_table(out, CHECKPOINT_TENANCY_PREFIX, table, ".bin");
}

enum rs_status
checkpoint_find(const char *directory, uint64_t version, const char *name, char **out)
{
	char *path;

	*out = NULL;
	RS_TRY(checkpoint_version_path(directory, version, &path));
	const enum rs_status status = file_join(path, name, out);
	free(path);
	RS_TRY(status);
	if (access(*out, F_OK) == 0 || file_is_shortage(errno))
		return RS_OK;
	free(*out);
	*out = NULL;
	return RS_OK;
}
