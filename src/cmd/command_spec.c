/* The spec and the run database that a command works with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "cmd/command_spec.h"
#include "models/models.h"

enum { LAYERS_MAX = 64, SETS_MAX = 1024, ERRORS_TOLD = 20 };

size_t
command_models(const char *names[COMMAND_MODELS_MAX])
{
	size_t n = 0;

	for (const struct model_row *row = model_table; row->name != NULL &&
		n + 1 < COMMAND_MODELS_MAX; row++)
		names[n++] = row->name;
	names[n] = NULL;
	return n;
}

enum rs_status
command_model_check(const char *name)
{
	const char *names[COMMAND_MODELS_MAX], *near;
	char escaped[72];

	if (model_find(name) != NULL)
		return RS_OK;
	near = spec_nearest(name, names, command_models(names));
	rs_fail(RS_EUSAGE, "there is no model '%s'", rs_escape(escaped, name, strlen(name)));
	return near != NULL ? rs_hint("did you mean '%s'?", near) : RS_EUSAGE;
}

static enum rs_status
main_layer(const struct arguments *a, const char **path, size_t *n_used)
{
	*n_used = a->n_positional > 0;
	*path = a->n_positional > 0 ? a->positional[0] : command_environment().spec;
	if (*path != NULL)
		return RS_OK;
	*path = "recsys.ini";
	if (access(*path, F_OK) == 0)
		return RS_OK;
	rs_fail(RS_EUSAGE, "which spec? none was given, and there is no ./recsys.ini");
	return rs_hint("recsys-train %s SPEC.ini; RECSYS_TRAIN_SPEC names one as well",
		a->command->name);
}

enum rs_status
command_spec_read(const struct arguments *a, const char *const *extra, size_t n_extra,
	struct spec **out,
	size_t *n_used, const char **path)
{
	static const char *models[COMMAND_MODELS_MAX];         /* the spec keeps a pointer to it */
	const char *layer[LAYERS_MAX], *set[SETS_MAX], *more;
	struct spec_input input = { .layer = layer, .n_layers = 1, .set = set, .model_type = models,
		.environment = command_variable };
	char threads[64];

	*out = NULL;
	command_models(models);
	RS_TRY(main_layer(a, &layer[0], n_used));
	*path = layer[0];
	for (size_t i = 0; (more = argument_nth(a, "--layer", i)) != NULL; i++) {
		if (input.n_layers == LAYERS_MAX)
			return rs_fail(RS_EUSAGE, "more than %d layers", LAYERS_MAX - 1);
		layer[input.n_layers++] = more;
	}
	for (size_t i = 0; (more = argument_nth(a, "--set", i)) != NULL; i++) {
		if (input.n_sets + n_extra + 1 >= SETS_MAX)
			return rs_fail(RS_EUSAGE, "more than %d overrides", SETS_MAX);
		set[input.n_sets++] = more;
	}
	for (size_t i = 0; i < n_extra && input.n_sets + 1 < SETS_MAX; i++)
		set[input.n_sets++] = extra[i];
	if (argument_given(a, "--threads")) {
		int64_t n = 0;

		RS_TRY(argument_int(a, "--threads", 0, 4096, &n));
		snprintf(threads, sizeof(threads), "train.threads=%lld", (long long)n);
		set[input.n_sets++] = threads;
	}
	const enum rs_status status = spec_load(&input, out);
	return status != RS_ENOINPUT || rs_failure()->hint[0] != '\0' ? status
		: rs_hint("a spec is a file of 'key = value' lines; 'recsys-train init --from "
		"DATA -O NAME.ini' writes one");
}

void
command_spec_count(const struct spec *spec, size_t *errors, size_t *warnings)
{
	*errors = *warnings = 0;
	for (size_t i = 0; i < spec_n_problems(spec); i++)
		*(spec_problem(spec, i)->is_error ? errors : warnings) += 1;
}

void
command_spec_report(const struct spec *spec, const char *path, size_t n_max)
{
	size_t n = 0;

	for (size_t i = 0; i < spec_n_problems(spec); i++) {
		const struct spec_problem *p = spec_problem(spec, i);

		if (p->is_error && n++ >= n_max)
			continue;
		if (p->is_error) {
			const int is_placed = p->file != NULL && p->file[0] != '\0';

			rs_fail_at(RS_ESPEC, is_placed ? p->file : path, p->line, p->column, "%s",
				p->text);
			if (p->hint != NULL)
				rs_hint("%s", p->hint);
			log_failure();
		} else if (p->line > 0) {
			log_warn("%s:%zu:%zu: %s", p->file, p->line, p->column, p->text);
		} else {
			log_warn("%s", p->text);
		}
	}
}

enum rs_status
command_spec(const struct arguments *a, const char *const *extra, size_t n_extra, struct spec **out,
	size_t *n_used)
{
	const char *path = "";
	size_t errors, warnings;
	const enum rs_status status = command_spec_read(a, extra, n_extra, out, n_used, &path);

	if (*out == NULL)
		return status;
	command_spec_report(*out, path, ERRORS_TOLD);
	if (status != RS_ESPEC)
		return status;
	command_spec_count(*out, &errors, &warnings);
	spec_free(*out);
	*out = NULL;
	rs_fail_at(RS_ESPEC, path, 0, 0, "%zu error%s in the spec", errors, errors == 1 ? "" : "s");
	return errors <= ERRORS_TOLD ? RS_ESPEC : rs_hint("the first %d are told, by "
		"'recsys-train check' all; is it a spec, or the data?", ERRORS_TOLD);
}

enum rs_status
command_database(const struct arguments *a, const struct spec *spec, const char *directory,
	char **out)
{
	const char *given = argument(a, "--db");
	const size_t n = directory != NULL ? strlen(directory) : 0;
	size_t parent = n;

	if (given == NULL)
		given = command_environment().database;
	if (given == NULL && spec != NULL && *spec_settings(spec)->runs.db != '\0')
		given = spec_settings(spec)->runs.db;
	if (given != NULL)
		return memory_strdup(given, out);
	while (parent > 0 && directory[parent - 1] == '/')
		parent--;
	while (parent > 0 && directory[parent - 1] != '/')
		parent--;
	if (asprintf(out, "%.*sruns.db", (int)parent, directory != NULL ? directory : "") < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	return RS_OK;
}
