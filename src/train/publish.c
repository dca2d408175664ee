/* The commit of a version and what follows from it. */
#include "train/publish.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "train/checkpoint_private.h"
#include "train/ledger.h"
#include "train/publish_private.h"

#define REJECTED_NAME  "REJECTED"
#define MANIFEST_NAME  "MANIFEST"
#define REJECTED_LIMIT ((size_t)64 << 10)

/* --- what follows from CURRENT ------------------------------------------------------ */

/* Something that is done again next time. */
static void
warn_later(const char *what, uint64_t version)
{
	const struct rs_failure *const f = rs_failure();

	log_warn("%s v%06" PRIu64 ": %s%s%s; it is done again with the next run", what, version,
		f->where, f->where[0] != '\0' ? ": " : "", f->text);
}

static enum rs_status
copy_out(const char *directory, uint64_t version, const struct incremental_settings *s,
	unsigned *tasks)
{
	struct publish_copy c = {
		.to = s->publish, .version = version, .keep = s->publish_keep,
	};
	char *from;

	if (s->publish[0] == '\0')
		return RS_OK;
	RS_TRY(checkpoint_version_path(directory, version, &from));
	c.from = from;
	enum rs_status status = RS_OK;
	if (s->command[0] != '\0' && (*tasks & PUBLISH_COMMAND) == 0
	    && !publish_copy_is_done(&c)) {
		*tasks |= PUBLISH_COMMAND;
		status = publish_pending_write(directory, version, *tasks);
	}
	if (status == RS_OK)
		status = checkpoint_compact(directory, version, NULL);
	if (status == RS_OK)
		status = publish_copy_make(&c);
	free(from);
	return status;
}

enum rs_status
publish_excess(const char *directory, const struct incremental_settings *s,
	struct text_list *name)
{
	struct publish_copy c = { .to = s->publish, .keep = s->publish_keep };

	*name = (struct text_list){ .n = 0 };
	RS_TRY(checkpoint_read_current(directory, &c.version));
	if (s->publish[0] == '\0' || c.version == 0 || access(s->publish, F_OK) != 0)
		return RS_OK;
	return publish_copy_excess(&c, name);
}

static enum rs_status
run_command(const char *directory, uint64_t version, const struct incremental_settings *s)
{
	const struct publish_command c = {
		.command = s->command, .limit = s->command_timeout, .directory = directory,
		.published = s->publish, .version = version,
	};

	if (s->command[0] != '\0')
		RS_TRY(publish_command_run(&c));
	failpoint("publish.told");
	return publish_pending_write(directory, version, 0);
}

/* Copy, link and command of the current version; what fails is a warning. */
static void
follow(const char *directory, uint64_t version, const struct incremental_settings *s,
	int *incomplete)
{
	unsigned tasks = 0;
	enum rs_status status = publish_pending_read(directory, version, &tasks);

	if (status == RS_OK)
		status = copy_out(directory, version, s, &tasks);
	if (status != RS_OK) {
		warn_later("cannot publish", version);
		*incomplete = 1;
		return;
	}
	if ((tasks & PUBLISH_COMMAND) == 0)
		return;
	status = run_command(directory, version, s);
	if (status != RS_OK) {
		warn_later("after publishing", version);
		*incomplete = 1;
	}
}

enum rs_status
publish_accept(const char *directory, uint64_t version, const struct incremental_settings *s,
	int *incomplete)
{
	*incomplete = 0;
	if (s->command[0] != '\0')
		RS_TRY(publish_pending_write(directory, version, PUBLISH_COMMAND));
	RS_TRY(checkpoint_set_current(directory, version));
	failpoint("publish.accepted");
	follow(directory, version, s, incomplete);
	return RS_OK;
}

/* --- rejected versions -------------------------------------------------------------- */

enum rs_status
publish_rejected_path(const char *directory, uint64_t version, char **out)
{
	return checkpoint_rejected_path(directory, version, out);
}

enum rs_status
publish_rejected(const char *directory, uint64_t **version, size_t *n)
{
	return checkpoint_rejected(directory, version, n);
}

static const char *const word[] = {
	[PUBLISH_BY_GATE] = "gate: ", [PUBLISH_BY_REQUIRE] = "require: ",
	[PUBLISH_BY_ROLLBACK] = "rollback: ",
};
enum { N_WORDS = sizeof word / sizeof *word };

static enum publish_word
word_of(const char *text)
{
	for (size_t i = 0; i < N_WORDS; i++)
		if (strncmp(text, word[i], strlen(word[i])) == 0)
			return (enum publish_word)i;
	return PUBLISH_BY_NOBODY;
}

/* The text of REJECTED; NULL: there is none that can be one.  Caller frees. */
static enum rs_status
read_reason(const char *directory, uint64_t version, char **text)
{
	char *path, *file;
	size_t n;

	*text = NULL;
	RS_TRY(checkpoint_rejected_path(directory, version, &path));
	enum rs_status status = file_join(path, REJECTED_NAME, &file);
	if (status == RS_OK) {
		status = file_read(file, REJECTED_LIMIT, text, &n);
		free(file);
	}
	free(path);
	return status == RS_ENOINPUT || status == RS_EDATA ? RS_OK : status;
}

enum rs_status
publish_rejected_by(const char *directory, uint64_t version, enum publish_word *by)
{
	char *text;

	*by = PUBLISH_BY_NOBODY;
	RS_TRY(read_reason(directory, version, &text));
	if (text != NULL)
		*by = word_of(text);
	free(text);
	return RS_OK;
}

enum rs_status
publish_remembered(const char *directory, uint64_t **version, size_t *n)
{
	enum publish_word by;
	uint64_t current;
	size_t n_all, used = 0;

	*n = 0;
	*version = NULL;
	RS_TRY(checkpoint_read_current(directory, &current));
	RS_TRY(checkpoint_rejected(directory, version, &n_all));
	for (size_t i = 0; i < n_all; i++) {
		if ((*version)[i] <= current)
			continue;
		const enum rs_status status = publish_rejected_by(directory, (*version)[i], &by);
		if (status != RS_OK) {
			free(*version);
			*version = NULL;
			return status;
		}
		if (by == PUBLISH_BY_GATE)
			(*version)[used++] = (*version)[i];
	}
	*n = used;
	return RS_OK;
}

static enum rs_status
write_reason(const char *path, enum publish_word by, const char *why)
{
	struct buffer line;
	char *file;

	buffer_init(&line, REJECTED_LIMIT);
	enum rs_status status = buffer_printf(&line, "%s%s\n", word[by], why);
	if (status == RS_OK)
		status = file_join(path, REJECTED_NAME, &file);
	if (status == RS_OK) {
		status = file_replace(file, line.data, line.n);
		free(file);
	}
	buffer_free(&line);
	return status;
}

/* The reason first: a rejected version always tells it. */
static enum rs_status
set_aside(const char *directory, uint64_t version, enum publish_word by, const char *why)
{
	char *from, *to;

	RS_TRY(checkpoint_version_path(directory, version, &from));
	enum rs_status status = checkpoint_rejected_path(directory, version, &to);
	if (status == RS_OK) {
		status = write_reason(from, by, why);
		failpoint("publish.before_reject");
		if (status == RS_OK)
			status = checkpoint_remove_tree(directory, to);
		if (status == RS_OK && rename(from, to) != 0)
			status = rs_fail(RS_EIO, "cannot rename '%s' to '%s': %s", from, to,
				strerror(errno));
		free(to);
	}
	free(from);
	return status;
}

int
publish_stays_stripped(const char *name)
{
	return strcmp(name, LEDGER_FILE) == 0 || strcmp(name, REJECTED_NAME) == 0;
}

/* MANIFEST first: without it, it is no version. */
static enum rs_status
strip(const char *path)
{
	DIR *const dir = opendir(path);
	enum rs_status status = RS_OK;

	if (dir == NULL)
		return rs_fail(file_status_of(errno, RS_EIO),
			"cannot read '%s': %s", path, strerror(errno));
	if (unlinkat(dirfd(dir), MANIFEST_NAME, 0) != 0 && errno != ENOENT)
		status = rs_fail(RS_EIO, "cannot remove '%s/" MANIFEST_NAME "': %s", path,
			strerror(errno));
	for (const struct dirent *e; status == RS_OK && (e = readdir(dir)) != NULL; )
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0
		    && !publish_stays_stripped(e->d_name)
		    && unlinkat(dirfd(dir), e->d_name, 0) != 0)
			status = rs_fail(RS_EIO, "cannot remove '%s/%s': %s", path, e->d_name,
				strerror(errno));
	closedir(dir);
	return status;
}

enum rs_status
publish_shrink(const char *directory, uint64_t version)
{
	uint64_t current;
	char *path;

	RS_TRY(checkpoint_read_current(directory, &current));
	RS_TRY(checkpoint_rejected_path(directory, version, &path));
	const enum rs_status status = version > current ? strip(path)
		: checkpoint_remove_tree(directory, path);
	free(path);
	return status;
}

/* A gate that refuses every hour must not fill the disk. */
static enum rs_status
shrink_rejected(const char *directory)
{
	uint64_t *list;
	size_t n, seen = 0;
	enum rs_status status = checkpoint_rejected(directory, &list, &n);

	for (size_t i = n; status == RS_OK && i-- > 0; ) {
		enum publish_word by;

		status = publish_rejected_by(directory, list[i], &by);
		if (status == RS_OK && (by == PUBLISH_BY_GATE || by == PUBLISH_BY_REQUIRE)
		    && seen++ >= PUBLISH_REJECTED_KEEP)
			status = publish_shrink(directory, list[i]);
	}
	free(list);
	return status;
}

static enum rs_status
reject(const char *directory, uint64_t version, enum publish_word by, const char *why)
{
	RS_TRY(set_aside(directory, version, by, why));
	RS_TRY(file_sync_directory(directory));
	return shrink_rejected(directory);
}

enum rs_status
publish_reject(const char *directory, uint64_t version, const char *why)
{
	return reject(directory, version, PUBLISH_BY_GATE, why);
}

enum rs_status
publish_refuse(const char *directory, uint64_t version, const char *why)
{
	return reject(directory, version, PUBLISH_BY_REQUIRE, why);
}

/* --- going back --------------------------------------------------------------------- */

static enum rs_status
fail_absent(const char *directory, uint64_t version)
{
	char *path;

	RS_TRY(checkpoint_rejected_path(directory, version, &path));
	const int rejected = access(path, F_OK) == 0;
	free(path);
	rs_fail(RS_ENOINPUT, "there is no version v%06" PRIu64 " in '%s'", version, directory);
	return rejected ? rs_hint("v%06" PRIu64 CHECKPOINT_REJECTED " was rejected, its file "
		REJECTED_NAME " tells why", version) : RS_ENOINPUT;
}

static enum rs_status
check_target(const char *directory, uint64_t version)
{
	struct checkpoint_progress progress;
	char *path;

	RS_TRY(checkpoint_version_path(directory, version, &path));
	const int absent = access(path, F_OK) != 0 && !file_is_shortage(errno);
	free(path);
	if (absent)
		return fail_absent(directory, version);
	RS_TRY(checkpoint_peek(directory, version, &progress, NULL));
	return progress.state == CHECKPOINT_FINAL ? RS_OK
		: rs_fail(RS_EUSAGE, "v%06" PRIu64 " is of a run that had not ended", version);
}

static enum rs_status
former_version(const char *directory, uint64_t current, uint64_t *target)
{
	uint64_t *list;
	size_t n;

	RS_TRY(checkpoint_list(directory, &list, &n));
	*target = 0;
	enum rs_status status = RS_OK;
	for (size_t i = n; *target == 0 && i-- > 0; ) {
		if (list[i] >= current)
			continue;
		status = check_target(directory, list[i]);
		if (status == RS_OK)
			*target = list[i];
		else if (!checkpoint_is_damage(status))
			break;
		else
			log_passed(NULL, "not v%06" PRIu64 ": %s", list[i], rs_failure()->text);
	}
	free(list);
	if (status != RS_OK && !checkpoint_is_damage(status))
		return status;
	return *target != 0 ? RS_OK : rs_fail(RS_ENOINPUT,
		"no version in '%s' is older than v%06" PRIu64 ", which is current", directory,
		current);
}

enum rs_status
publish_rollback_target(const char *directory, uint64_t version, uint64_t *target)
{
	uint64_t current;

	*target = version;
	if (version != 0)
		return check_target(directory, version);
	RS_TRY(checkpoint_read_current(directory, &current));
	if (current == 0)
		return rs_fail(RS_ENOINPUT, "no version is current in '%s'", directory);
	return former_version(directory, current, target);
}

/* The gate compared it with a version that is no more: its periods are judged again. */
static enum rs_status
forget_refusal(const char *directory, uint64_t version, const char *why)
{
	struct buffer line;
	char *text, *path;

	RS_TRY(read_reason(directory, version, &text));
	if (text == NULL || word_of(text) != PUBLISH_BY_GATE) {
		free(text);
		return RS_OK;
	}
	text[strcspn(text, "\n")] = '\0';
	buffer_init(&line, 2 * REJECTED_LIMIT);
	enum rs_status status = buffer_printf(&line, "%s; %s", why, text);
	if (status == RS_OK)
		status = checkpoint_rejected_path(directory, version, &path);
	if (status == RS_OK) {
		status = write_reason(path, PUBLISH_BY_ROLLBACK, line.data);
		free(path);
	}
	buffer_free(&line);
	free(text);
	return status;
}

/* From the newest down, so that what is left is older. */
static enum rs_status
set_newer_aside(const char *directory, uint64_t target)
{
	char why[64];
	uint64_t *list;
	size_t n;
	enum rs_status status = checkpoint_list(directory, &list, &n);

	snprintf(why, sizeof why, "back to v%06" PRIu64, target);
	for (size_t i = n; status == RS_OK && i-- > 0 && list[i] > target; )
		status = set_aside(directory, list[i], PUBLISH_BY_ROLLBACK, why);
	free(list);
	RS_TRY(status);
	status = checkpoint_rejected(directory, &list, &n);
	for (size_t i = n; status == RS_OK && i-- > 0 && list[i] > target; )
		status = forget_refusal(directory, list[i], why);
	free(list);
	RS_TRY(status);
	return file_sync_directory(directory);
}

static unsigned
command_task(const struct incremental_settings *s)
{
	return s->command[0] != '\0' ? PUBLISH_COMMAND : 0;
}

/* The part after the commit. */
static enum rs_status
finish_rollback(const char *directory, uint64_t version, unsigned tasks)
{
	RS_TRY(set_newer_aside(directory, version));
	return publish_pending_write(directory, version, tasks & ~(unsigned)PUBLISH_ROLLBACK);
}

enum rs_status
publish_rollback(const char *directory, uint64_t target, const struct incremental_settings *s,
	int *incomplete)
{
	unsigned tasks = command_task(s);
	uint64_t current;

	*incomplete = 0;
	RS_TRY(checkpoint_read_current(directory, &current));
	if (current == target)
		RS_TRY(publish_pending_read(directory, target, &tasks));
	tasks |= PUBLISH_ROLLBACK;
	RS_TRY(publish_pending_write(directory, target, tasks));
	RS_TRY(checkpoint_set_current(directory, target));
	RS_TRY(finish_rollback(directory, target, tasks));
	follow(directory, target, s, incomplete);
	return RS_OK;
}

enum rs_status
publish_repair(const char *directory, const struct incremental_settings *s, int *incomplete)
{
	uint64_t current;
	unsigned tasks;

	*incomplete = 0;
	RS_TRY(checkpoint_read_current(directory, &current));
	if (current == 0)
		return RS_OK;
	RS_TRY(publish_pending_read(directory, current, &tasks));
	if (tasks & PUBLISH_ROLLBACK)
		RS_TRY(finish_rollback(directory, current, tasks));
	follow(directory, current, s, incomplete);
	/* What is left is of a version that did not become current. */
	return *incomplete ? RS_OK : publish_pending_write(directory, current, 0);
}
