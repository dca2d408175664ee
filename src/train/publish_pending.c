/* DIR/PENDING: tasks of a version, written before it becomes current, gone after them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "train/checkpoint.h"
#include "train/publish_private.h"

#define PENDING_NAME  "PENDING"
#define PENDING_LIMIT ((size_t)4096)

static const struct task_row { const char *name; enum publish_task task; } task_table[] = {
	{ "command", PUBLISH_COMMAND },
	{ "rollback", PUBLISH_ROLLBACK },
};
enum { N_TASKS = sizeof task_table / sizeof *task_table };

/* The tasks of `version` in a line. */
static unsigned
line_tasks(const char *line, size_t n, uint64_t version)
{
	const char *const space = memchr(line, ' ', n);
	uint64_t of;

	if (space == NULL || !number_u64(line, (size_t)(space - line), &of))
		return PUBLISH_COMMAND;
	if (of != version)
		return 0;
	const size_t n_name = n - (size_t)(space + 1 - line);
	for (size_t i = 0; i < N_TASKS; i++)
		if (strlen(task_table[i].name) == n_name
		    && memcmp(task_table[i].name, space + 1, n_name) == 0)
			return task_table[i].task;
	return PUBLISH_COMMAND;
}

enum rs_status
publish_pending_read(const char *directory, uint64_t version, unsigned *tasks)
{
	char *path, *text = NULL;
	size_t n = 0;
	enum rs_status status = RS_OK;

	*tasks = 0;
	RS_TRY(file_join(directory, PENDING_NAME, &path));
	if (access(path, F_OK) == 0 || file_is_shortage(errno))
		status = file_read(path, PENDING_LIMIT, &text, &n);
	for (const char *line = text; status == RS_OK && line != NULL && line < text + n; ) {
		const size_t length = strcspn(line, "\n");

		*tasks |= line_tasks(line, length, version);
		line += length + 1;
	}
	free(text);
	free(path);
	return status;
}

static enum rs_status
print_tasks(uint64_t version, unsigned tasks, struct buffer *out)
{
	for (size_t i = 0; i < N_TASKS; i++)
		if (tasks & (unsigned)task_table[i].task)
			RS_TRY(buffer_printf(out, "%" PRIu64 " %s\n", version, task_table[i].name));
	return RS_OK;
}

static enum rs_status
replace(const char *directory, const struct buffer *text)
{
	char *path;

	RS_TRY(file_join(directory, PENDING_NAME, &path));
	enum rs_status status = RS_OK;
	if (text->n > 0)
		status = file_replace(path, text->data, text->n);
	else if (unlink(path) == 0)
		status = file_sync_directory(directory);
	else if (errno != ENOENT)
		status = rs_fail(RS_EIO, "cannot remove '%s': %s", path, strerror(errno));
	free(path);
	return status;
}

enum rs_status
publish_pending_write(const char *directory, uint64_t version, unsigned tasks)
{
	uint64_t current;
	unsigned kept = 0;
	struct buffer text;

	RS_TRY(checkpoint_read_current(directory, &current));
	if (current != 0 && current != version)
		RS_TRY(publish_pending_read(directory, current, &kept));
	buffer_init(&text, PENDING_LIMIT);
	enum rs_status status = print_tasks(current, kept, &text);
	if (status == RS_OK)
		status = print_tasks(version, tasks, &text);
	if (status == RS_OK)
		status = replace(directory, &text);
	buffer_free(&text);
	return status;
}
