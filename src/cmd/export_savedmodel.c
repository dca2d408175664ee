/* export --to savedmodel: a directory for TensorFlow, a version of the model as DIR/VERSION. */
#include "cmd/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "export/savedmodel.h"

/* Those of towers come last. */
static const struct { const char *name; enum graph_output output; int tower; }
	signature_table[] = {
	{ "serving_default", GRAPH_LOGIT, -1 },
	{ "user", GRAPH_USER, TOWER_USER },
	{ "item", GRAPH_ITEM, TOWER_ITEM },
};
enum { MOST = sizeof signature_table / sizeof *signature_table };

struct directory {
	struct export *e;
	char  *path, *made;                /* DIR/VERSION, and where it lies until then */
	size_t n_signatures;
};

/* --- writing ------------------------------------------------------------------------- */

static enum rs_status
write_programs(const struct directory *d, struct program **program)
{
	struct savedmodel_signature signature[MOST];
	double bytes = (double)SAVEDMODEL_INLINE_BYTES;
	int has_variables;

	RS_TRY(argument_double(d->e->a, "--inline-bytes", 0, 2e9, &bytes));
	for (size_t i = 0; i < d->n_signatures; i++)
		signature[i] = (struct savedmodel_signature){ signature_table[i].name,
			program[i] };
	RS_TRY(file_make_directories(d->made));
	RS_TRY(savedmodel_write(signature, d->n_signatures, d->made, (uint64_t)bytes,
		&has_variables));
	if (command_json(d->e->a))
		return RS_OK;
	return output_printf("%s   %zu signature%s, tables are %s\n", d->path, d->n_signatures,
		d->n_signatures == 1 ? "" : "s", has_variables ? "variables" : "constants");
}

static const char *const ours[] = { "saved_model.pb", "inputs.json", "crc32c.txt", "variables",
	NULL };

static enum rs_status
write_directory(struct directory *d)
{
	const struct model *const m = scorer_model(d->e->proof.scorer);
	struct program *program[MOST];
	enum rs_status status = RS_OK;
	size_t n = 0;

	RS_TRY(export_refuse_existing(d->e->a, d->path));
	RS_TRY(export_refuse_others(d->path, ours));
	d->e->made_path = access(d->e->path, F_OK) != 0;
	RS_TRY(file_make_directories(d->e->path));
	RS_TRY(export_stage(d->e, d->path));
	RS_TRY(staged_add(&d->e->staged, export_name_of(d->path), &d->made));
	for (; n < d->n_signatures && status == RS_OK; n += status == RS_OK)
		status = program_build(m, signature_table[n].output, &program[n]);
	if (status == RS_OK)
		status = write_programs(d, program);
	for (size_t i = 0; i < n; i++)
		program_free(program[i]);
	return status;
}

/* --- proving ------------------------------------------------------------------------- */

static enum rs_status
prove_signature(const struct directory *d, size_t i)
{
	struct savedmodel *file;

	RS_TRY(savedmodel_read(d->made != NULL ? d->made : d->path, signature_table[i].name,
		&file));
	struct verify v = { .program = savedmodel_program(file), .path = d->path,
		.row = savedmodel_row, .context = file };
	const enum rs_status status = export_proof_run(&d->e->proof, &v,
		signature_table[i].tower);
	savedmodel_close(file);
	return status;
}

static enum rs_status
prove(const struct directory *d)
{
	if (!export_proof_has_rows(&d->e->proof))
		return export_proof_tell_none(&d->e->proof, d->path);
	RS_TRY(savedmodel_check(d->made != NULL ? d->made : d->path));
	for (size_t i = 0; i < d->n_signatures; i++)
		RS_TRY(prove_signature(d, i));
	return RS_OK;
}

static enum rs_status
write_and_prove(struct directory *d)
{
	if (!d->e->proof.checks)
		RS_TRY(write_directory(d));
	return prove(d);
}

enum rs_status
export_savedmodel(struct export *e)
{
	struct directory d = { .e = e };

	RS_TRY(export_proof_open(&e->proof, 1));
	const struct scorer *const s = e->proof.scorer;
	d.n_signatures = model_vector_dim(scorer_model(s)) > 0 ? MOST : 1;
	if (asprintf(&d.path, "%s/%" PRIu64, e->path, scorer_version(s)) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	const enum rs_status status = write_and_prove(&d);
	free(d.path);
	free(d.made);
	return status;
}
