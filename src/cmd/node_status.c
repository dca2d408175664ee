/* The table of nodes, from a file or from the coordinator. */
#include "cmd/node_status.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "cmd/session.h"
#include "comm/fields.h"
#include "comm/keys.h"
#include "comm/monitor.h"
#include "place/coordinator.h"
#include "place/private_directory.h"

#define ANSWER_SECONDS 10.0
#define FRESH_SECONDS  3            /* an older table is said to be so                 */

/* --- jobs of this host ------------------------------------------------------------ */

static enum rs_status
print_file(const struct arguments *a, const char *path, const struct stat *st)
{
	const long age = (long)(time(NULL) - st->st_mtime);
	char *text;
	size_t n;

	if (file_read(path, FIELDS_MAX, &text, &n) != RS_OK)
		return RS_OK;               /* it has just ended                      */
	enum rs_status status = output_text(text, n);
	if (status == RS_OK && age > FRESH_SECONDS && !command_json(a))
		status = output_printf("(as of %ld s ago: its coordinator is away)\n", age);
	free(text);
	return status;
}

static enum rs_status
print_jobs(const struct arguments *a, const char *base, DIR *directory, size_t *n_jobs)
{
	const char *const name = command_json(a) ? COORDINATOR_JSON : COORDINATOR_TEXT;
	const struct dirent *entry;

	while ((entry = readdir(directory)) != NULL) {
		char path[4700];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s/%s", base, entry->d_name, name);
		if (entry->d_name[0] == '.' || stat(path, &st) != 0)
			continue;
		if ((*n_jobs)++ > 0 && !command_json(a))
			RS_TRY(output_printf("\n"));
		RS_TRY(print_file(a, path, &st));
	}
	return RS_OK;
}

static enum rs_status
status_here(const struct arguments *a)
{
	enum rs_status status = RS_OK;
	size_t n_jobs = 0;
	char base[4096];

	private_directory_base(command_variable("XDG_RUNTIME_DIR"), base);
	DIR *directory = opendir(base);
	if (directory == NULL && file_is_shortage(errno))
		return rs_fail(RS_ERESOURCE, "cannot read '%s': %s", base, strerror(errno));
	if (directory != NULL) {
		status = print_jobs(a, base, directory, &n_jobs);
		closedir(directory);
	}
	if (status != RS_OK || n_jobs > 0)
		return status;
	rs_fail(RS_ENOINPUT, "no job of many processes of this user runs on this host");
	return rs_hint("--join ADDRESS asks the coordinator of another one");
}

/* --- another host ------------------------------------------------------------------ */

/* The key of the coordinator is that of the only one on the list who may be it. */
static enum rs_status
find_coordinator(const struct key_list *list, const char *path, const char **key)
{
	*key = NULL;
	for (size_t i = 0; i < list->n; i++) {
		if ((list->entry[i].roles & KEY_COORDINATOR) == 0)
			continue;
		if (*key != NULL)
			return rs_fail(RS_ESPEC, "cluster.keys: '%s' has two coordinators", path);
		*key = list->entry[i].public_key;
	}
	return *key != NULL ? RS_OK :
		rs_fail(RS_ESPEC, "cluster.keys: '%s' has no coordinator", path);
}

static enum rs_status
ask(const struct arguments *a, const struct key_pair *self, const char *key)
{
	struct monitor_options options = { .endpoint = argument(a, "--join"), .key = key,
		.timeout = ANSWER_SECONDS };
	struct buffer text;

	RS_TRY(wire_context_open(&(struct wire_options){ .self = self }, &options.context));
	buffer_init(&text, FIELDS_MAX);
	enum rs_status status = monitor_status(&options, command_json(a), &text);
	if (status == RS_OK)
		status = output_text(text.data, text.n);
	buffer_free(&text);
	wire_context_close(options.context);
	return status;
}

static enum rs_status
status_there(const struct arguments *a, const char *secret, const char *keys)
{
	struct key_list list = { 0 };
	struct key_pair self = { 0 };
	const char *key = NULL;

	if (secret == NULL || secret[0] == '\0')
		return ask(a, NULL, NULL);
	if (keys == NULL || keys[0] == '\0')
		return rs_fail(RS_ESPEC, "cluster.keys is needed, for the coordinator's key");
	enum rs_status status = key_pair_read(secret, &self);
	if (status == RS_OK)
		status = key_list_read(keys, &list);
	if (status == RS_OK)
		status = find_coordinator(&list, keys, &key);
	if (status == RS_OK)
		status = ask(a, &self, key);
	key_pair_wipe(&self);
	key_list_free(&list);
	return status;
}

enum rs_status
node_status(const struct arguments *a)
{
	/* "status" is the first word; a spec may follow. */
	const struct arguments rest = { .command = a->command, .positional = a->positional + 1,
		.n_positional = a->n_positional - 1, .given = a->given, .n_given = a->n_given,
		.argc = a->argc, .argv = a->argv };
	struct spec *spec = NULL;

	if (!argument_given(a, "--join"))
		return status_here(a);
	if (rest.n_positional == 0)
		return status_there(a, argument(a, "--key"), argument(a, "--keys"));
	RS_TRY(session_spec(&rest, &spec));
	const struct cluster_settings *const cluster = &spec_settings(spec)->cluster;
	const enum rs_status status = status_there(a, cluster->secret, cluster->keys);
	spec_free(spec);
	return status;
}
