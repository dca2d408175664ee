/* The command export: a trained model as a file that other tools read. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "cmd/command.h"
#include "cmd/scorer.h"
#include "export/inputs_json.h"
#include "export/onnx.h"
#include "export/verify.h"

#define THREADS_MAX  4096
#define ROWS_DEFAULT 10000
#define ABSOLUTE     1e-5
#define RELATIVE     1e-4

struct export {
	const struct arguments *a;
	const char *path;                  /* -O                                      */
	struct scorer *scorer;             /* of the rows to verify with              */
	int has_rows;
	double absolute, relative;
	int64_t rows;                      /* to verify                               */
	char *made[16];                    /* [n_made] files that go when it fails    */
	size_t n_made;
};

/* --- files --------------------------------------------------------------------------- */

static enum rs_status
add_file(struct export *e, const char *format, ...)
{
	va_list list;
	char *path;

	va_start(list, format);
	const int n = vasprintf(&path, format, list);
	va_end(list);
	if (n < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	e->made[e->n_made++] = path;
	return RS_OK;
}

static enum rs_status
refuse_existing(const struct export *e, const char *path)
{
	struct stat st;

	if (argument_given(e->a, "--force") || stat(path, &st) != 0)
		return RS_OK;
	rs_fail(RS_ECREATE, "'%s' exists", path);
	return rs_hint("give --force to replace it");
}

/* --- verifying ------------------------------------------------------------------------- */

/* What the trainer says of the rows: logits, or the vectors of a tower. */
static enum rs_status
compare_rows(struct export *e, struct verify *v, const struct scorer_rows *rows, int tower,
	size_t width)
{
	float *vector;

	if (tower < 0)
		return verify_batch(v, rows->batch, rows->logit, 1);
	RS_TRY(memory_alloc(rows->batch->B * width, sizeof *vector, &vector));
	enum rs_status status = workers_vectors(scorer_workers(e->scorer), tower, rows->batch,
		vector);
	if (status == RS_OK)
		status = verify_batch(v, rows->batch, vector, width);
	free(vector);
	return status;
}

static enum rs_status
open_rows(struct export *e)
{
	const char *data[64];
	size_t n = 0;
	int64_t threads = 0;

	RS_TRY(argument_int(e->a, "--threads", 0, THREADS_MAX, &threads));
	while (n < 64 && (data[n] = argument_nth(e->a, "--verify", n)) != NULL)
		n++;
	const struct scorer_options options = { .model = e->a->positional[0], .data = data,
		.n_data = n, .purpose = PARSE_PREDICT, .n_threads = (size_t)threads };

	scorer_close(e->scorer);
	e->scorer = NULL;
	return scorer_open(&options, &e->scorer);
}

static enum rs_status
tell_verified(const struct export *e, const struct verify *v, const char *path)
{
	if (v->rows == 0)
		return rs_fail(RS_EDATA, "there is no row to verify '%s' with", path);
	if (v->over > 0) {
		rs_fail(RS_EUNMET, "'%s': %" PRIu64 " of %" PRIu64 " rows differ by more than %g + "
			"%g |x|, the largest difference is %.3g", path, v->over, v->rows,
			v->absolute, v->relative, v->largest);
		return rs_hint("nothing was left behind; --tolerance allows more");
	}
	if (command_json(e->a))
		return output_printf("{\"message_type\":\"verified\",\"file\":\"%s\",\"rows\":%"
			PRIu64 ",\"largest_difference\":%.9g}\n", path, v->rows, v->largest);
	return output_printf("verified %" PRIu64 " rows of %s: largest difference %.3g\n",
		v->rows, path, v->largest);
}

static enum rs_status
verify_file(struct export *e, const char *path, int tower)
{
	struct onnx_file *file;
	struct scorer_rows rows;

	if (!e->has_rows)
		return output_printf("%s was not verified: no rows were given\n", path);
	RS_TRY(open_rows(e));
	RS_TRY(onnx_read(path, &file));
	struct verify v = { .model = scorer_model(e->scorer), .program = onnx_program(file),
		.row = onnx_row, .context = file, .absolute = e->absolute,
		.relative = e->relative };
	const size_t width = tower < 0 ? 1 : model_vector_dim(v.model);
	enum rs_status status = scorer_next(e->scorer, &rows);
	while (status == RS_OK && rows.batch->B > 0 && v.rows < (uint64_t)e->rows) {
		status = compare_rows(e, &v, &rows, tower, width);
		if (status == RS_OK)
			status = scorer_next(e->scorer, &rows);
	}
	onnx_close(file);
	return status == RS_OK ? tell_verified(e, &v, path) : status;
}

/* --- formats ------------------------------------------------------------------------------ */

static enum rs_status
write_one(struct export *e, const struct model *m, enum graph_output output, const char *path)
{
	const struct onnx_property property[] = {
		{ "recsys.model", m->schema.settings->model.type },
		{ "recsys.hash", "farmhash64" },
	};
	double bytes = (double)ONNX_INLINE_BYTES;
	struct program *p;
	int has_data;

	RS_TRY(argument_double(e->a, "--inline-bytes", 0, 2e9, &bytes));
	const struct onnx_options options = { .inline_bytes = (uint64_t)bytes,
		.property = property, .n_properties = sizeof property / sizeof *property };
	RS_TRY(refuse_existing(e, path));
	RS_TRY(program_build(m, output, &p));
	RS_TRY(add_file(e, "%s", path));
	RS_TRY(add_file(e, "%s.data", path));
	RS_TRY(add_file(e, "%s.inputs.json", path));
	enum rs_status status = onnx_write(p, path, &options, &has_data);
	if (status == RS_OK)
		status = inputs_json_write(p, e->made[e->n_made - 1]);
	if (status == RS_OK && !command_json(e->a))
		status = output_printf("%s   opset 17, batch dimension free, %zu inputs%s\n", path,
			p->n_features, has_data ? ", tables in the file of data beside it" : "");
	program_free(p);
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
export_output(struct export *e, enum graph_output output, int tower, const char *path)
{
	RS_TRY(write_one(e, scorer_model(e->scorer), output, path));
	return verify_file(e, path, tower);
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

static const struct { const char *name; enum rs_status (*export)(struct export *e); }
	format_table[] = {
	{ "onnx", export_onnx },
};

/* --- the command ------------------------------------------------------------------------------ */

static enum rs_status
run(struct export *e, size_t format)
{
	struct rs_failure failure;

	RS_TRY(open_rows(e));
	const enum rs_status status = format_table[format].export(e);
	if (status == RS_OK)
		return output_flush();
	rs_failure_take(&failure);
	for (size_t i = 0; i < e->n_made; i++)
		(void)unlink(e->made[i]);
	return rs_failure_put(&failure);
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
	if (name == NULL)
		return rs_fail(RS_EUSAGE, "export: --to which format?");
	rs_fail(RS_EUSAGE, "export: there is no format '%s'", name);
	const char *const near = spec_nearest(name, names, *out);
	return rs_hint("did you mean '%s'?", near != NULL ? near : names[0]);
}

static enum rs_status
export_command(const struct arguments *a)
{
	struct export e = { .a = a, .path = argument(a, "--output"), .absolute = ABSOLUTE,
		.relative = RELATIVE,
		.rows = ROWS_DEFAULT, .has_rows = argument_given(a, "--verify") };
	size_t format;

	if (a->n_positional != 1)
		return rs_fail(RS_EUSAGE, "export: wanted one model");
	RS_TRY(find_format(a, &format));
	RS_TRY(argument_double(a, "--tolerance", 0, 1e6, &e.absolute));
	RS_TRY(argument_double(a, "--relative", 0, 1, &e.relative));
	RS_TRY(argument_int(a, "--rows", 1, INT64_MAX, &e.rows));
	if (e.path == NULL)
		return rs_fail(RS_EUSAGE, "export: -O FILE says where it goes");
	const enum rs_status status = run(&e, format);
	scorer_close(e.scorer);
	for (size_t i = 0; i < e.n_made; i++)
		free(e.made[i]);
	return status;
}

static const struct command_option option[] = {
	{ .name = "--to", .argument = "onnx", .text = "Format to write." },
	{ .name = "--output", .letter = 'O', .argument = "FILE", .text = "File to write." },
	{ .name = "--verify",
		.argument = "DATA",
		.repeats = 1,
		.text = "Read the file again, run it on rows of this file or pattern, and compare "
			"with the model; if it differs nothing is left behind and the exit code "
			"is 1." },
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
		.text = "Tables of more bytes in all lie in FILE.data beside the file." },
	{ .name = "--force", .text = "Replace files that exist." },
	{ .name = NULL },
};

const struct command command_export = {
	.name = "export",
	.synopsis = "MODEL --to FORMAT -O FILE [--verify DATA]...",
	.text = "Write a model for other tools.",
	.option = option,
	.run = export_command,
};
