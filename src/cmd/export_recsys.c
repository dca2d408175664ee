/* export --to recsys: a version with what scoring needs, its tables in few bytes. */
#include "cmd/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/file.h"
#include "cmd/model_files.h"
#include "train/checkpoint.h"

/* Of a weight that is no multiple of its scale: half of it, and the rounding of floats. */
#define HALF_SCALE (0.5 / 127)
#define ROUNDING   1e-6

struct job {
	struct export *x;
	struct model *model;
	uint64_t version;
	char *made;                    /* where it lies until it has its name             */
	uint64_t bytes;
};

/* --- comparing ------------------------------------------------------------------------- */

struct comparison {
	const struct job *job;
	size_t table;
	double largest;                /* difference                                      */
	uint64_t n;                    /* numbers                                         */
};

/* How far a weight may be from what it was, the largest of its row being `most`. */
static double
allowed(uint32_t storage, double x, double most)
{
	static const double share[] = { [ROW_FP32] = 0, [ROW_BF16] = 1.0 / 256,
		[ROW_FP16] = 1.0 / 2048 };

	if (storage == ROW_INT8)
		return most * (HALF_SCALE + ROUNDING);
	return fabs(x) * share[storage] + (storage == ROW_FP16 ? 0x1p-25 : 0);
}

static enum rs_status
compare_row(struct comparison *c, const struct model_table *t, uint64_t id)
{
	const struct model *const m = c->job->model;
	const float *const have = model_table_weights(t, id), *want;
	const struct lookup_pull pull = { .table = c->table, .ids = &id, .n = 1, .row = &want };
	double most = 0;

	RS_TRY(m->lookup->ops->pull(m->lookup, &pull));
	for (size_t d = 0; d < t->header->dim; d++)
		most = fmax(most, fabs((double)want[d]));
	for (size_t d = 0; d < t->header->dim; d++) {
		const double x = (double)want[d], far = fabs(x - (double)have[d]);

		c->largest = fmax(c->largest, far);
		if (!(far <= allowed(t->header->storage, x, most)))
			return rs_fail(RS_EUNMET, "'%s': a number of row %" PRIu64 " of table '%s' "
				"is %g, wanted %g", c->job->x->path, id, t->header->name,
				(double)have[d], x);
	}
	c->n += t->header->dim;
	return RS_OK;
}

static enum rs_status
compare_table(struct comparison *c, const struct model_table *t)
{
	if (t == NULL)
		return rs_fail(RS_EUNMET, "'%s' has no table '%s'", c->job->x->path,
			c->job->model->table[c->table].name);
	for (uint64_t i = 0; i < model_table_count(t); i++) {
		const uint64_t id = model_table_id(t, i);

		if (!model_table_is_absent(t, id))
			RS_TRY(compare_row(c, t, id));
	}
	return RS_OK;
}

/* Every row of what was written, read again, is that of the model. */
static enum rs_status
prove(const struct job *j)
{
	struct comparison c = { .job = j };
	struct model_files files;

	RS_TRY(model_files_open(j->made != NULL ? j->made : j->x->path, &files));
	enum rs_status status = RS_OK;
	for (c.table = 0; status == RS_OK && c.table < j->model->n_tables; c.table++)
		status = compare_table(&c,
			model_files_table(&files, j->model->table[c.table].name));
	model_files_close(&files);
	return status != RS_OK || command_json(j->x->a) ? status : output_printf("verified %" PRIu64
		" numbers of %s: largest difference %.3g\n", c.n, j->x->path, c.largest);
}

/* --- writing --------------------------------------------------------------------------- */

static enum rs_status
find_storage(const struct job *j, enum row_storage *out)
{
	static const enum row_storage storage[] = { [ARRAY_f32] = ROW_FP32, [ARRAY_f16] = ROW_FP16,
		[ARRAY_int8] = ROW_INT8 };
	enum array_type type;

	RS_TRY(export_arrays_type(j->x->a, &type));
	*out = storage[type];
	return RS_OK;
}

static enum rs_status
load(struct job *j)
{
	const struct model_options options = { .n_threads = 1 };
	char *directory;
	uint64_t at;

	RS_TRY(model_files_resolve(j->x->a->positional[0], &directory, &at));
	const enum rs_status status = checkpoint_load(directory, at, &options, &j->model, NULL,
		&j->version);
	free(directory);
	return status;
}

/* Of the names that checkpoint_pack() makes. */
static const char *const ours[] = { "MANIFEST", "dense.bin", "spec.ini", "table-*.0-of-1.bin",
	NULL };

static enum rs_status
write_version(struct job *j, enum row_storage storage)
{
	const char *const path = j->x->path;

	RS_TRY(export_refuse_existing(j->x->a, path));
	RS_TRY(export_refuse_others(path, ours));
	RS_TRY(export_stage(j->x, path));
	RS_TRY(staged_add(&j->x->staged, export_name_of(path), &j->made));
	RS_TRY(checkpoint_pack(j->model, j->version, storage, j->made, &j->bytes));
	return command_json(j->x->a) ? RS_OK : output_printf("%s   v%06" PRIu64 ", %" PRIu64
		" bytes\n", path, j->version, j->bytes);
}

static enum rs_status
run(struct job *j)
{
	enum row_storage storage;

	RS_TRY(find_storage(j, &storage));
	RS_TRY(load(j));
	if (!j->x->proof.checks)
		RS_TRY(write_version(j, storage));
	return prove(j);
}

enum rs_status
export_recsys(struct export *e)
{
	struct job j = { .x = e };

	if (argument_given(e->a, "--verify"))
		return rs_fail(RS_EUSAGE, "--verify: every number of recsys is compared; eval and "
			"predict score rows with it");
	const enum rs_status status = run(&j);
	model_free(j.model);
	free(j.made);
	return status;
}
