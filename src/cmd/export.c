/* The command export: a trained model as a file that other tools read. */
#include "cmd/export.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/file.h"
#include "export/arrays.h"

/* name, how, its numbers are compared and not what rows give */
#define FORMATS(FORMAT) \
	FORMAT("onnx", export_onnx, 0) \
	FORMAT("savedmodel", export_savedmodel, 0) \
	FORMAT("npy", export_arrays, 1) \
	FORMAT("npz", export_arrays, 1) \
	FORMAT("safetensors", export_arrays, 1) \
	FORMAT("text", export_arrays, 1) \
	FORMAT("vectors", export_arrays_vectors, 1) \
	FORMAT("recsys", export_recsys, 0) \
	FORMAT("delta", export_delta, 0)

static const struct format {
	const char *name;
	enum rs_status (*export)(struct export *e);
	int is_arrays;
} format_table[] = {
#define ROW(name, how, is_arrays) { name, how, is_arrays },
	FORMATS(ROW)
#undef ROW
};
enum { N_FORMATS = sizeof format_table / sizeof *format_table };

enum rs_status
export_refuse_existing(const struct arguments *a, const char *path)
{
	struct stat st;

	if (argument_given(a, "--force") || lstat(path, &st) != 0)
		return RS_OK;
	rs_fail(RS_ECREATE, "'%s' exists", path);
	return rs_hint("give --force to replace it");
}

static int
is_allowed(const char *name, const char *const *ours)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 1;
	while (*ours != NULL && fnmatch(*ours, name, 0) != 0)
		ours++;
	return *ours != NULL;
}

enum rs_status
export_refuse_others(const char *path, const char *const *ours)
{
	DIR *const dir = opendir(path);
	enum rs_status status = RS_OK;

	if (dir == NULL && errno != ENOENT && errno != ENOTDIR)
		return rs_fail(file_status_of(errno, RS_EDENIED), "cannot read '%s': %s", path,
			strerror(errno));
	for (const struct dirent *e = dir != NULL ? readdir(dir) : NULL;
	     e != NULL && status == RS_OK; e = readdir(dir)) {
		if (is_allowed(e->d_name, ours))
			continue;
		rs_fail(RS_ECREATE, "'%s' is not replaced: no export wrote the '%s' in it", path,
			e->d_name);
		status = rs_hint("name another directory, or remove this one");
	}
	if (dir != NULL)
		closedir(dir);
	return status;
}

enum rs_status
export_stage(struct export *e, const char *path)
{
	return e->proof.checks ? RS_OK : staged_open(&e->staged, path);
}

const char *
export_name_of(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static enum rs_status
find_format(const struct arguments *a, size_t *out)
{
	const char *const name = argument(a, "--to");
	const char *names[N_FORMATS];

	for (*out = 0; *out < N_FORMATS; ++*out) {
		names[*out] = format_table[*out].name;
		if (name != NULL && strcmp(format_table[*out].name, name) == 0)
			return RS_OK;
	}
	if (name == NULL) {
		rs_fail(RS_EUSAGE, "export: --to which format?");
		return rs_hint("--to onnx, for instance; 'recsys-train export --help' lists them");
	}
	rs_fail(RS_EUSAGE, "export: there is no format '%s'", name);
	const char *const near = spec_nearest(name, names, *out);
	return rs_hint("did you mean '%s'?", near != NULL ? near : names[0]);
}

static enum rs_status
read_arguments(struct export *e, size_t *format)
{
	const struct arguments *const a = e->a;

	if (a->n_positional != 1)
		return rs_fail(RS_EUSAGE, "export: wanted one model");
	RS_TRY(find_format(a, format));
	RS_TRY(export_proof_init(&e->proof, a));
	if (format_table[*format].is_arrays)
		RS_TRY(export_arrays_options(a, format_table[*format].name));
	else if ((argument_given(a, "--dtype") && format_table[*format].export != export_recsys)
	    || argument_given(a, "--users") || argument_given(a, "--id"))
		return rs_fail(RS_EUSAGE, "--dtype, --users and --id are of arrays");
	if (argument_given(a, "--from") && format_table[*format].export != export_delta)
		return rs_fail(RS_EUSAGE, "--from is of --to delta");
	if (e->path == NULL)
		return rs_fail(RS_EUSAGE, "export: -O FILE says where it goes");
	return RS_OK;
}

static enum rs_status
export_command(const struct arguments *a)
{
	struct export e = { .a = a, .path = argument(a, "--output") };
	size_t format = 0;
	enum rs_status status = read_arguments(&e, &format);

	if (status == RS_OK)
		status = format_table[format].export(&e);
	if (status == RS_OK && !e.proof.checks)
		status = staged_commit(&e.staged);
	staged_close(&e.staged);
	if (status != RS_OK && e.made_path)
		(void)rmdir(e.path);
	if (status == RS_OK)
		status = output_flush();
	export_proof_free(&e.proof);
	return status;
}

static const struct command_option option[] = {
	{ .name = "--to",
#define NAME(name, how, is_arrays) "|" name
		.argument = &(FORMATS(NAME))[1],
#undef NAME
		.text = "Format to write." },
	{ .name = "--output", .letter = 'O', .argument = "FILE",
		.text = "File to write, or directory." },
	{ .name = "--verify",
		.argument = "DATA",
		.repeats = 1,
		.text = "Read the file again, run it on rows of this file or pattern, and compare "
			"with the model; if it differs nothing is written and the exit code is 1. "
			"Without it the rows are those of data.valid, or else of data.train, "
			"where these can be read." },
	{ .name = "--no-verify", .text = "Write what was not compared with the model." },
	{ .name = "--check",
		.text = "Write nothing: verify FILE as it is there." },
	{ .name = "--rows", .argument = "N", .dflt = "10000", .text = "Rows to verify." },
	{ .name = "--tolerance",
		.argument = "X",
		.dflt = "1e-5",
		.text = "Difference that is allowed, besides --relative of the value." },
	{ .name = "--relative",
		.argument = "X",
		.dflt = "1e-4",
		.text = "Difference that is allowed, as a share of the value." },
	{ .name = "--inline-bytes",
		.argument = "N",
		.dflt = "67108864",
		.text = "Tables of more bytes in all lie in FILE.data beside the file, or are "
			"variables of the SavedModel." },
	{ .name = "--dtype",
#define NAME(name, bytes, numpy, safetensors) "|" #name
		.argument = &(ARRAY_TYPES(NAME))[1],
#undef NAME
		.dflt = "f32",
		.text = "Numbers of npy, npz, safetensors, vectors and recsys; int8 has a scale "
			"for each row." },
	{ .name = "--users",
		.argument = "DATA",
		.repeats = 1,
		.text = "vectors: of the rows of this file or pattern by the tower of users, "
			"instead of the items." },
	{ .name = "--id",
		.argument = "COLUMN",
		.text = "--users: names are in this column, by name or number; otherwise in that "
			"of data.id, or they are the numbers of the rows." },
	{ .name = "--from", .argument = "VERSION",
		.text = "delta: what differs from this version, 140 or v000140." },
	{ .name = "--force", .text = "Replace files that exist." },
	{ .name = NULL },
};

const struct command command_export = {
	.name = "export",
	.synopsis = "MODEL --to FORMAT -O FILE [--verify DATA]...|--no-verify [--check]",
	.text = "Write a model for other tools.",
	.option = option,
	.run = export_command,
};
