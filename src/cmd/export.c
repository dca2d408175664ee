/* The command export: a trained model as a file that other tools read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "cmd/command.h"
#include "cmd/export_arrays.h"
#include "cmd/export_savedmodel.h"
#include "cmd/scorer.h"
#include "data/source.h"
#include "export/inputs_json.h"
#include "export/onnx.h"
#include "export/savedmodel.h"
#include "export/staged.h"
#include "export/verify.h"

#define THREADS_MAX  4096
#define ROWS_DEFAULT 10000
#define ABSOLUTE     1e-5
#define RELATIVE     1e-4

struct export {
	const struct arguments *a;
	const char *path;                  /* -O                                      */
	char *target;                      /* -O/VERSION of a SavedModel, or NULL     */
	struct scorer *scorer;             /* of the rows to verify with              */
	int scorer_is_new;                 /* nothing was read through it             */
	struct text_list data;             /* rows to verify with; n 0: none          */
	int checks;                        /* --check: FILE is there, nothing is written */
	double absolute, relative;
	int64_t rows;                      /* to verify                               */
	struct staged staged;              /* what is written                         */
};

/* --- files --------------------------------------------------------------------------- */

static const char *
name_of(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static const char *const suffix[] = { ".data", "", ".inputs.json" };
enum { DATA_FILE, MODEL_FILE, INPUTS_FILE, N_FILES };

static enum rs_status
refuse_existing(const struct export *e, const char *path)
{
	char *name;
	struct stat st;

	for (size_t i = 0; i < N_FILES && !argument_given(e->a, "--force"); i++) {
		if (asprintf(&name, "%s%s", path, suffix[i]) < 0)
			return rs_fail(RS_ERESOURCE, "out of memory");
		const int exists = lstat(name, &st) == 0;
		if (exists)
			rs_fail(RS_ECREATE, "'%s' exists", name);
		free(name);
		if (exists)
			return rs_hint("give --force to replace it");
	}
	return RS_OK;
}

/* Where the files of PATH are made: file[N_FILES], which the caller frees. */
static enum rs_status
stage_files(struct export *e, const char *path, char **file)
{
	for (size_t i = 0; i < N_FILES; i++) {
		char *name;

		if (asprintf(&name, "%s%s", name_of(path), suffix[i]) < 0)
			return rs_fail(RS_ERESOURCE, "out of memory");
		const enum rs_status status = staged_add(&e->staged, name, &file[i]);
		free(name);
		RS_TRY(status);
	}
	return RS_OK;
}

/* --- rows to verify with ------------------------------------------------------------------ */

static enum rs_status
open_scorer(struct export *e)
{
	int64_t threads = 0;

	if (e->scorer_is_new)
		return RS_OK;
	RS_TRY(argument_int(e->a, "--threads", 0, THREADS_MAX, &threads));
	const struct scorer_options options = { .model = e->a->positional[0],
		.data = (const char *const *)e->data.item, .n_data = e->data.n,
		.purpose = PARSE_PREDICT, .n_threads = (size_t)threads,
		.keep_bad_rows = !argument_given(e->a, "--verify") };

	scorer_close(e->scorer);
	e->scorer = NULL;
	RS_TRY(scorer_open(&options, &e->scorer));
	e->scorer_is_new = 1;
	return RS_OK;
}

static enum rs_status
add_data(struct export *e, const char *pattern)
{
	char **const grown = reallocarray(e->data.item, e->data.n + 1, sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	e->data.item = grown;
	RS_TRY(memory_strdup(pattern, &e->data.item[e->data.n]));
	e->data.n++;
	return RS_OK;
}

/* All files of the patterns are there; standard input is none. */
static int
is_readable(const struct text_list *patterns)
{
	char **file = NULL;
	size_t n = 0;
	int yes = patterns->n > 0;

	for (size_t i = 0; i < patterns->n; i++)
		yes = yes && strcmp(patterns->item[i], "-") != 0;
	if (yes && source_expand(patterns, &file, &n) != RS_OK)
		yes = 0;
	for (size_t i = 0; i < n; i++) {
		struct source *source = NULL;

		yes = yes && source_open(file[i], &source) == RS_OK;
		source_close(source);
		free(file[i]);
	}
	free(file);
	return yes;
}

/* Those of the evaluation, else those that it was trained with. */
static enum rs_status
choose_data(struct export *e)
{
	const struct data_settings *data;
	const char *name;

	if (argument_given(e->a, "--no-verify"))
		return open_scorer(e);
	for (size_t i = 0; (name = argument_nth(e->a, "--verify", i)) != NULL; i++)
		RS_TRY(add_data(e, name));
	RS_TRY(open_scorer(e));
	if (e->data.n > 0)
		return RS_OK;
	data = &scorer_model(e->scorer)->schema.settings->data;
	const struct text_list *const list = is_readable(&data->valid) ? &data->valid
		: is_readable(&data->train) ? &data->train : NULL;
	for (size_t i = 0; list != NULL && i < list->n; i++)
		RS_TRY(add_data(e, list->item[i]));
	e->scorer_is_new = list == NULL;
	return open_scorer(e);
}

/* --- verifying ------------------------------------------------------------------------- */

/* What the trainer says of the rows: logits, or the vectors of a tower. */
static enum rs_status
compare_rows(struct export *e, struct verify *v, const struct scorer_rows *rows, int tower,
	size_t width)
{
	struct batch part = *rows->batch;
	float *vector;

	part.B = (uint64_t)e->rows - v->rows < part.B ? (size_t)((uint64_t)e->rows - v->rows)
		: part.B;
	if (tower < 0)
		return verify_batch(v, &part, rows->logit, 1);
	RS_TRY(memory_alloc(rows->batch->B * width, sizeof *vector, &vector));
	enum rs_status status = workers_vectors(scorer_workers(e->scorer), tower, rows->batch,
		vector);
	if (status == RS_OK)
		status = verify_batch(v, &part, vector, width);
	free(vector);
	return status;
}

static enum rs_status
tell_json(const struct verify *v, const char *path)
{
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '{');
	json_string(&j, "message_type", v != NULL ? "verified" : "not_verified");
	json_string(&j, "file", path);
	if (v != NULL) {
		json_int(&j, "rows", (int64_t)v->rows);
		json_double(&j, "largest_difference", v->largest);
	}
	json_close(&j);
	const enum rs_status status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

static enum rs_status
tell_not_verified(const struct export *e, const char *path)
{
	if (command_json(e->a))
		return tell_json(NULL, path);
	return output_printf("%s was not verified: %s\n", path,
		argument_given(e->a, "--no-verify") ? "--no-verify"
		: "no row of data.valid or data.train can be read, --verify DATA names others");
}

static enum rs_status
tell_verified(const struct export *e, const struct verify *v, const char *path)
{
	if (v->rows == 0 && !argument_given(e->a, "--verify"))
		return tell_not_verified(e, path);
	if (v->rows == 0)
		return rs_fail(RS_EDATA, "there is no row to verify '%s' with", path);
	if (v->over > 0) {
		rs_fail(RS_EUNMET, "'%s': %" PRIu64 " of %" PRIu64 " rows differ by more than %g + "
			"%g |x|, the largest difference is %.3g", path, v->over, v->rows,
			v->absolute, v->relative, v->largest);
		return e->checks ? RS_EUNMET : rs_hint("nothing was written; --tolerance allows "
			"more");
	}
	if (command_json(e->a))
		return tell_json(v, path);
	return output_printf("verified %" PRIu64 " rows of %s: largest difference %.3g\n",
		v->rows, path, v->largest);
}

static enum rs_status
verify_head(const struct verify *v, int tower)
{
	const enum graph_output output = tower == TOWER_USER ? GRAPH_USER
		: tower == TOWER_ITEM ? GRAPH_ITEM : GRAPH_LOGIT;
	struct program *own;

	RS_TRY(program_build(v->model, output, &own));
	const enum rs_status status = verify_interface(v, own);
	program_free(own);
	return status;
}

static enum rs_status
verify_rows(struct export *e, struct verify *v, int tower)
{
	const size_t width = tower < 0 ? 1 : model_vector_dim(v->model);
	struct scorer_rows rows;

	RS_TRY(scorer_next(e->scorer, &rows));
	while (rows.batch->B > 0 && v->rows < (uint64_t)e->rows) {
		RS_TRY(compare_rows(e, v, &rows, tower, width));
		RS_TRY(scorer_next(e->scorer, &rows));
	}
	return RS_OK;
}

static enum rs_status
verify_program(struct export *e, struct verify *v, int tower)
{
	v->model = scorer_model(e->scorer);
	v->absolute = e->absolute;
	v->relative = e->relative;
	RS_TRY(verify_head(v, tower));
	return verify_rows(e, v, tower);
}

/* The file lies at `made`, and is to be at `path`. */
static enum rs_status
verify_file(struct export *e, const char *path, const char *made, int tower)
{
	struct onnx_file *file;

	if (e->data.n == 0 && !e->checks)
		return tell_not_verified(e, path);
	RS_TRY(open_scorer(e));
	e->scorer_is_new = 0;
	RS_TRY(onnx_read(made, &file));
	struct verify v = { .program = onnx_program(file), .path = path, .row = onnx_row,
		.context = file };
	const enum rs_status status = verify_program(e, &v, tower);
	onnx_close(file);
	return status == RS_OK ? tell_verified(e, &v, path) : status;
}

static enum rs_status
verify_signature(struct export *e, const char *made, const char *signature, int tower)
{
	struct savedmodel *file;

	if (e->data.n == 0 && !e->checks)
		return tower < 0 ? tell_not_verified(e, e->target) : RS_OK;
	RS_TRY(open_scorer(e));
	e->scorer_is_new = 0;
	RS_TRY(savedmodel_read(made, signature, &file));
	struct verify v = { .program = savedmodel_program(file), .path = e->target,
		.row = savedmodel_row, .context = file };
	const enum rs_status status = verify_program(e, &v, tower);
	savedmodel_close(file);
	return status == RS_OK ? tell_verified(e, &v, e->target) : status;
}

/* --- formats ------------------------------------------------------------------------------ */

static enum rs_status
write_files(const struct export *e, const struct program *p, char *const *file, int *has_data)
{
	const struct onnx_property property[] = {
		{ "recsys.model", p->model->schema.settings->model.type },
		{ "recsys.hash", "farmhash64" },
	};
	double bytes = (double)ONNX_INLINE_BYTES;

	RS_TRY(argument_double(e->a, "--inline-bytes", 0, 2e9, &bytes));
	const struct onnx_options options = { .inline_bytes = (uint64_t)bytes,
		.property = property, .n_properties = sizeof property / sizeof *property };
	RS_TRY(onnx_write(p, file[MODEL_FILE], &options, has_data));
	return inputs_json_write(p, file[INPUTS_FILE]);
}

static enum rs_status
write_one(struct export *e, enum graph_output output, const char *path, char *const *file)
{
	struct program *p;
	int has_data;

	RS_TRY(program_build(scorer_model(e->scorer), output, &p));
	enum rs_status status = write_files(e, p, file, &has_data);
	if (status == RS_OK && !command_json(e->a))
		status = output_printf("%s   opset 17, batch dimension free, %zu inputs%s\n", path,
			p->n_features, has_data ? ", tables in the file of data beside it" : "");
	program_free(p);
	return status;
}

static enum rs_status
export_output(struct export *e, enum graph_output output, int tower, const char *path)
{
	char *file[N_FILES] = { NULL };

	if (e->checks)
		return verify_file(e, path, path, tower);
	enum rs_status status = refuse_existing(e, path);
	if (status == RS_OK)
		status = stage_files(e, path, file);
	if (status == RS_OK)
		status = write_one(e, output, path, file);
	if (status == RS_OK)
		status = verify_file(e, path, file[MODEL_FILE], tower);
	for (size_t i = 0; i < N_FILES; i++)
		free(file[i]);
	return status;
}

/* "ctr.onnx" -> "ctr.user.onnx" */
static enum rs_status
tower_path(const char *path, const char *tower, char **out)
{
	const char *const dot = strrchr(path, '.');
	const int n = dot != NULL && strchr(dot, '/') == NULL ? (int)(dot - path)
		: (int)strlen(path);

	if (asprintf(out, "%.*s.%s%s", n, path, tower, path + n) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	return RS_OK;
}

static enum rs_status
export_tower(struct export *e, enum graph_output output, int tower, const char *name)
{
	char *path;

	RS_TRY(tower_path(e->path, name, &path));
	const enum rs_status status = export_output(e, output, tower, path);
	free(path);
	return status;
}

static enum rs_status
export_onnx(struct export *e)
{
	RS_TRY(export_output(e, GRAPH_LOGIT, -1, e->path));
	if (model_vector_dim(scorer_model(e->scorer)) == 0)
		return RS_OK;
	RS_TRY(export_tower(e, GRAPH_USER, TOWER_USER, "user"));
	return export_tower(e, GRAPH_ITEM, TOWER_ITEM, "item");
}

static enum rs_status
export_numbers(struct export *e)
{
	const struct export_arrays x = { .a = e->a, .path = e->path, .scorer = e->scorer,
		.checks = e->checks, .staged = &e->staged };

	return strcmp(argument(e->a, "--to"), "vectors") == 0 ? export_arrays_vectors(&x)
		: export_arrays_model(&x);
}

static enum rs_status
export_savedmodel(struct export *e)
{
	static const char *const name[] = { "serving_default", "user", "item" };
	struct export_savedmodel x = { .a = e->a, .path = e->target, .scorer = e->scorer,
		.staged = &e->staged };

	enum rs_status status = e->checks ? RS_OK : export_savedmodel_write(&x);
	const char *const made = e->checks ? e->target : x.made;
	const int last = model_vector_dim(scorer_model(e->scorer)) > 0 ? TOWER_ITEM : -1;
	for (int tower = -1; tower <= last && status == RS_OK; tower++)
		status = verify_signature(e, made, name[tower + 1], tower);
	free(x.made);
	return status;
}

static const struct format {
	const char *name;
	enum rs_status (*export)(struct export *e);
	int is_arrays;                     /* its numbers are compared, not what rows give */
	int is_directory;                  /* -O/VERSION is                           */
} format_table[] = {
	{ "onnx", export_onnx, 0, 0 },
	{ "savedmodel", export_savedmodel, 0, 1 },
	{ "npy", export_numbers, 1, 0 },
	{ "npz", export_numbers, 1, 0 },
	{ "safetensors", export_numbers, 1, 0 },
	{ "text", export_numbers, 1, 0 },
	{ "vectors", export_numbers, 1, 0 },
};

/* --- the command ------------------------------------------------------------------------------ */

static enum rs_status
find_target(struct export *e)
{
	if (asprintf(&e->target, "%s/%" PRIu64, e->path, scorer_version(e->scorer)) < 0) {
		e->target = NULL;
		return rs_fail(RS_ERESOURCE, "out of memory");
	}
	if (e->checks)
		return RS_OK;
	RS_TRY(refuse_existing(e, e->target));
	return file_make_directories(e->path);
}

static enum rs_status
run(struct export *e, size_t format)
{
	const int is_arrays = format_table[format].is_arrays;
	const int is_directory = format_table[format].is_directory;

	if (!e->checks && !is_arrays && !is_directory)
		RS_TRY(refuse_existing(e, e->path));
	RS_TRY(is_arrays ? open_scorer(e) : choose_data(e));
	if (is_directory)
		RS_TRY(find_target(e));
	if (e->checks)
		return format_table[format].export(e);
	RS_TRY(staged_open(&e->staged, is_directory ? e->target : e->path));
	enum rs_status status = format_table[format].export(e);
	if (status == RS_OK)
		status = staged_commit(&e->staged);
	staged_close(&e->staged);
	return status;
}

static enum rs_status
find_format(const struct arguments *a, size_t *out)
{
	const char *const name = argument(a, "--to");
	const char *names[sizeof format_table / sizeof *format_table];

	for (*out = 0; *out < sizeof format_table / sizeof *format_table; ++*out) {
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
	RS_TRY(argument_double(a, "--tolerance", 0, 1e6, &e->absolute));
	RS_TRY(argument_double(a, "--relative", 0, 1, &e->relative));
	RS_TRY(argument_int(a, "--rows", 1, INT64_MAX, &e->rows));
	if (format_table[*format].is_arrays)
		RS_TRY(export_arrays_options(a, format_table[*format].name));
	else if (argument_given(a, "--dtype") || argument_given(a, "--users")
	    || argument_given(a, "--id"))
		return rs_fail(RS_EUSAGE, "--dtype, --users and --id are of arrays");
	if (e->path == NULL)
		return rs_fail(RS_EUSAGE, "export: -O FILE says where it goes");
	if (argument_given(a, "--verify") && argument_given(a, "--no-verify"))
		return rs_fail(RS_EUSAGE, "--verify and --no-verify exclude each other");
	if (e->checks && argument_given(a, "--no-verify"))
		return rs_fail(RS_EUSAGE, "--check and --no-verify exclude each other");
	return RS_OK;
}

static enum rs_status
export_command(const struct arguments *a)
{
	struct export e = { .a = a, .path = argument(a, "--output"), .absolute = ABSOLUTE,
		.relative = RELATIVE, .rows = ROWS_DEFAULT,
		.checks = argument_given(a, "--check") };
	size_t format = 0;

	RS_TRY(read_arguments(&e, &format));
	enum rs_status status = run(&e, format);
	if (status == RS_OK)
		status = output_flush();
	scorer_close(e.scorer);
	for (size_t i = 0; i < e.data.n; i++)
		free(e.data.item[i]);
	free(e.data.item);
	free(e.target);
	return status;
}

static const struct command_option option[] = {
	{ .name = "--to",
		.argument = "FORMAT",
		.text = "Format to write: onnx, savedmodel, npy, npz, safetensors, text or "
			"vectors." },
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
		.argument = "T",
		.dflt = "f32",
		.text = "Numbers of npy, npz, safetensors and vectors: f32, f16 or int8 with a "
			"scale for each row." },
	{ .name = "--users",
		.argument = "DATA",
		.repeats = 1,
		.text = "vectors: of the rows of this file or pattern by the tower of users, "
			"instead of the items." },
	{ .name = "--id",
		.argument = "COLUMN",
		.text = "--users: names are in this column, by name or number; otherwise in that "
			"of data.id, or they are the numbers of the rows." },
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
