/* export --to onnx: a file of the model, and with towers one of each. */
#include "cmd/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/inputs_json.h"
#include "export/onnx.h"
#include "export/sums.h"

static const char *const suffix[] = { ".data", "", ".inputs.json" };
enum { DATA_FILE, MODEL_FILE, INPUTS_FILE, N_FILES };

static enum rs_status
refuse_existing(const struct export *e, const char *path)
{
	enum rs_status status = RS_OK;

	for (size_t i = 0; i < N_FILES && status == RS_OK; i++) {
		char *name;

		if (asprintf(&name, "%s%s", path, suffix[i]) < 0)
			return rs_fail(RS_ERESOURCE, "out of memory");
		status = export_refuse_existing(e->a, name);
		free(name);
	}
	return status;
}

/* Where the files of PATH are made: file[N_FILES], which the caller frees. */
static enum rs_status
stage_files(struct export *e, const char *path, char **file)
{
	for (size_t i = 0; i < N_FILES; i++) {
		char *name;

		if (asprintf(&name, "%s%s", export_name_of(path), suffix[i]) < 0)
			return rs_fail(RS_ERESOURCE, "out of memory");
		const enum rs_status status = staged_add(&e->staged, name, &file[i]);
		free(name);
		RS_TRY(status);
	}
	return RS_OK;
}

static enum rs_status
write_files(const struct export *e, const struct program *p, char *const *file, int *has_data)
{
	char inputs_sum[16];
	uint32_t crc;
	uint64_t size;
	const struct onnx_property property[] = {
		{ "recsys.model", p->model->schema.settings->model.type },
		{ "recsys.hash", "farmhash64" },
		{ ONNX_INPUTS_CRC, inputs_sum },
	};
	double bytes = (double)ONNX_INLINE_BYTES;

	RS_TRY(argument_double(e->a, "--inline-bytes", 0, 2e9, &bytes));
	RS_TRY(inputs_json_write(p, file[INPUTS_FILE]));
	RS_TRY(sums_of_file(file[INPUTS_FILE], &crc, &size));
	(void)snprintf(inputs_sum, sizeof inputs_sum, "%08" PRIx32, crc);
	const struct onnx_options options = { .inline_bytes = (uint64_t)bytes,
		.property = property, .n_properties = sizeof property / sizeof *property };
	return onnx_write(p, file[MODEL_FILE], &options, has_data);
}

static enum rs_status
write_one(struct export *e, enum graph_output output, const char *path, char *const *file)
{
	struct program *p;
	int has_data;

	RS_TRY(program_build(scorer_model(e->proof.scorer), output, &p));
	enum rs_status status = write_files(e, p, file, &has_data);
	if (status == RS_OK && !command_json(e->a))
		status = output_printf("%s   opset 17, batch dimension free, %zu inputs%s\n", path,
			p->n_features, has_data ? ", tables in the file of data beside it" : "");
	program_free(p);
	return status;
}

static enum rs_status
prove_file(struct export *e, const char *path, const char *inputs, struct onnx_file *file,
	int tower)
{
	struct verify v = { .program = onnx_program(file), .path = path, .row = onnx_row,
		.context = file };

	RS_TRY(onnx_check_inputs(file, inputs));
	return export_proof_run(&e->proof, &v, tower);
}

/* The file lies at `made`, what tells of its inputs beside it, and is to be at `path`. */
static enum rs_status
prove(struct export *e, const char *path, const char *made, int tower)
{
	struct onnx_file *file;
	char *inputs;

	if (!export_proof_has_rows(&e->proof))
		return export_proof_tell_none(&e->proof, path);
	if (asprintf(&inputs, "%s%s", made, suffix[INPUTS_FILE]) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	enum rs_status status = onnx_read(made, &file);
	if (status == RS_OK)
		status = prove_file(e, path, inputs, file, tower);
	onnx_close(file);
	free(inputs);
	return status;
}

static enum rs_status
export_output(struct export *e, enum graph_output output, int tower, const char *path)
{
	char *file[N_FILES] = { NULL };

	if (e->proof.checks)
		return prove(e, path, path, tower);
	enum rs_status status = refuse_existing(e, path);
	if (status == RS_OK)
		status = stage_files(e, path, file);
	if (status == RS_OK)
		status = write_one(e, output, path, file);
	if (status == RS_OK)
		status = prove(e, path, file[MODEL_FILE], tower);
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

enum rs_status
export_onnx(struct export *e)
{
	if (!e->proof.checks)
		RS_TRY(refuse_existing(e, e->path));
	RS_TRY(export_proof_open(&e->proof, 1));
	RS_TRY(export_stage(e, e->path));
	RS_TRY(export_output(e, GRAPH_LOGIT, -1, e->path));
	if (model_vector_dim(scorer_model(e->proof.scorer)) == 0)
		return RS_OK;
	RS_TRY(export_tower(e, GRAPH_USER, TOWER_USER, "user"));
	return export_tower(e, GRAPH_ITEM, TOWER_ITEM, "item");
}
