/* Rows of data through what was exported, and what is told of them. */
#include "cmd/export_proof.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "data/source.h"
#include "export/program.h"
#include "train/row_numbers.h"

#define THREADS_MAX  4096
#define ROWS_DEFAULT 10000
#define ABSOLUTE     1e-5
#define RELATIVE     1e-4

enum rs_status
export_proof_init(struct export_proof *p, const struct arguments *a)
{
	*p = (struct export_proof){ .a = a, .absolute = ABSOLUTE, .relative = RELATIVE,
		.rows = ROWS_DEFAULT, .checks = argument_given(a, "--check") };
	RS_TRY(argument_double(a, "--tolerance", 0, 1e6, &p->absolute));
	RS_TRY(argument_double(a, "--relative", 0, 1, &p->relative));
	RS_TRY(argument_int(a, "--rows", 1, INT64_MAX, &p->rows));
	if (argument_given(a, "--verify") && argument_given(a, "--no-verify"))
		return rs_fail(RS_EUSAGE, "--verify and --no-verify exclude each other");
	if (p->checks && argument_given(a, "--no-verify"))
		return rs_fail(RS_EUSAGE, "--check and --no-verify exclude each other");
	return RS_OK;
}

void
export_proof_free(struct export_proof *p)
{
	scorer_close(p->scorer);
	for (size_t i = 0; i < p->data.n; i++)
		free(p->data.item[i]);
	free(p->data.item);
}

/* --- which rows ------------------------------------------------------------------------ */

static enum rs_status
open_scorer(struct export_proof *p)
{
	int64_t threads = 0;

	if (p->scorer_is_new)
		return RS_OK;
	RS_TRY(argument_int(p->a, "--threads", 0, THREADS_MAX, &threads));
	const struct scorer_options options = { .model = p->a->positional[0],
		.data = (const char *const *)p->data.item, .n_data = p->data.n,
		.purpose = PARSE_PREDICT, .n_threads = (size_t)threads,
		.keep_bad_rows = !argument_given(p->a, "--verify") };

	scorer_close(p->scorer);
	p->scorer = NULL;
	RS_TRY(scorer_open(&options, &p->scorer));
	RS_TRY(row_numbers_make(scorer_model(p->scorer)));
	p->scorer_is_new = 1;
	return RS_OK;
}

static enum rs_status
add_data(struct export_proof *p, const char *pattern)
{
	char **const grown = reallocarray(p->data.item, p->data.n + 1, sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	p->data.item = grown;
	RS_TRY(memory_strdup(pattern, &p->data.item[p->data.n]));
	p->data.n++;
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
enum rs_status
export_proof_open(struct export_proof *p, int with_rows)
{
	const struct data_settings *data;
	const char *name;

	if (!with_rows || argument_given(p->a, "--no-verify"))
		return open_scorer(p);
	for (size_t i = 0; (name = argument_nth(p->a, "--verify", i)) != NULL; i++)
		RS_TRY(add_data(p, name));
	RS_TRY(open_scorer(p));
	if (p->data.n > 0)
		return RS_OK;
	data = &scorer_model(p->scorer)->schema.settings->data;
	const struct text_list *const list = is_readable(&data->valid) ? &data->valid
		: is_readable(&data->train) ? &data->train : NULL;
	for (size_t i = 0; list != NULL && i < list->n; i++)
		RS_TRY(add_data(p, list->item[i]));
	p->scorer_is_new = list == NULL;
	return open_scorer(p);
}

/* --- verifying ------------------------------------------------------------------------- */

/* What the trainer says of the rows: logits, or the vectors of a tower. */
static enum rs_status
compare_rows(struct export_proof *p, struct verify *v, const struct scorer_rows *rows, int tower,
	size_t width)
{
	struct batch part = *rows->batch;
	float *vector;

	part.B = (uint64_t)p->rows - v->rows < part.B ? (size_t)((uint64_t)p->rows - v->rows)
		: part.B;
	if (tower < 0)
		return verify_batch(v, &part, rows->logit, 1);
	RS_TRY(memory_alloc(rows->batch->B * width, sizeof *vector, &vector));
	enum rs_status status = workers_vectors(scorer_workers(p->scorer), tower, rows->batch,
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

int
export_proof_has_rows(const struct export_proof *p)
{
	return p->data.n > 0 || p->checks;
}

enum rs_status
export_proof_tell_none(const struct export_proof *p, const char *path)
{
	if (command_json(p->a))
		return tell_json(NULL, path);
	return output_printf("%s was not verified: %s\n", path,
		argument_given(p->a, "--no-verify") ? "--no-verify"
		: "no row of data.valid or data.train can be read, --verify DATA names others");
}

static enum rs_status
tell_verified(const struct export_proof *p, const struct verify *v)
{
	const char *const path = v->path;

	if (v->rows == 0 && !argument_given(p->a, "--verify"))
		return export_proof_tell_none(p, path);
	if (v->rows == 0)
		return rs_fail(RS_EDATA, "there is no row to verify '%s' with", path);
	if (v->over > 0) {
		rs_fail(RS_EUNMET, "'%s': %" PRIu64 " of %" PRIu64 " rows differ by more than %g + "
			"%g |x|, the largest difference is %.3g", path, v->over, v->rows,
			v->absolute, v->relative, v->largest);
		return p->checks ? RS_EUNMET : rs_hint("nothing was written; --tolerance allows "
			"more");
	}
	if (command_json(p->a))
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
verify_rows(struct export_proof *p, struct verify *v, int tower)
{
	const size_t width = tower < 0 ? 1 : model_vector_dim(v->model);
	struct scorer_rows rows;

	RS_TRY(scorer_next(p->scorer, &rows));
	while (rows.batch->B > 0 && v->rows < (uint64_t)p->rows) {
		RS_TRY(compare_rows(p, v, &rows, tower, width));
		RS_TRY(scorer_next(p->scorer, &rows));
	}
	return RS_OK;
}

enum rs_status
export_proof_run(struct export_proof *p, struct verify *v, int tower)
{
	RS_TRY(open_scorer(p));
	p->scorer_is_new = 0;
	v->model = scorer_model(p->scorer);
	v->absolute = p->absolute;
	v->relative = p->relative;
	RS_TRY(verify_head(v, tower));
	RS_TRY(verify_rows(p, v, tower));
	return tell_verified(p, v);
}
