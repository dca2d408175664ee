/* export --to npy|npz|safetensors|text|vectors. */
#include "cmd/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "base/json.h"
#include "base/memory.h"
#include "cmd/user_vectors.h"
#include "export/array_proof.h"
#include "export/ids.h"
#include "train/retrieval.h"

struct job {
	struct export *x;
	const struct array_format *format;
	const struct arrays *set;
	const struct array_words *words;   /* become STEM.ids.txt; NULL: there is none */
	int    is_vectors;
	size_t stem;                       /* bytes of the path without its suffix    */
	struct target { char *path, *made; } *target;      /* [n_targets], ids last   */
	size_t n_targets, n_files;         /* n_files: of arrays                      */
};

/* --- which files --------------------------------------------------------------------- */

static int
ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), k = strlen(end);

	return n > k && strcmp(text + n - k, end) == 0;
}

static enum rs_status
add_target(struct job *j, const char *dot, const char *name, const char *suffix)
{
	struct target *const t = &j->target[j->n_targets++];

	if (asprintf(&t->path, "%.*s%s%s%s", (int)j->stem, j->x->path, dot, name, suffix) < 0) {
		t->path = NULL;
		return rs_fail(RS_ERESOURCE, "out of memory");
	}
	if (j->x->proof.checks)
		return memory_strdup(t->path, &t->made);
	RS_TRY(export_refuse_existing(j->x->a, t->path));
	return staged_add(&j->x->staged, export_name_of(t->path), &t->made);
}

static enum rs_status
find_targets(struct job *j)
{
	const char *const suffix = j->format->suffix, *const path = j->x->path;
	const int has = ends_with(path, suffix);

	j->stem = strlen(path) - (has ? strlen(suffix) : 0);
	j->n_files = j->format->one_each ? j->set->n : 1;
	RS_TRY(memory_alloc(j->n_files + 1, sizeof *j->target, &j->target));
	if (!j->format->one_each) {
		RS_TRY(add_target(j, "", "", has ? suffix : ""));
	} else {
		for (size_t i = 0; i < j->set->n; i++) {
			const int plain = j->is_vectors && i == 0;

			RS_TRY(add_target(j, plain ? "" : ".", plain ? ""
				: j->is_vectors ? "scale" : j->set->item[i].name, suffix));
		}
	}
	return j->words != NULL ? add_target(j, ".", "ids", ".txt") : RS_OK;
}

static void
free_targets(struct job *j)
{
	for (size_t i = 0; i < j->n_targets; i++) {
		free(j->target[i].path);
		free(j->target[i].made);
	}
	free(j->target);
}

/* --- writing ------------------------------------------------------------------------- */

static enum rs_status
write_arrays(const struct job *j, size_t k, struct file_writer *file)
{
	const struct model *const m = scorer_model(j->x->proof.scorer);
	char step[24];

	(void)snprintf(step, sizeof step, "%" PRIu64, m->step);
	const struct array_metadata metadata[] = {
		{ "producer", "recsys-train" },
		{ "model", m->schema.settings->model.type },
		{ "step", step },
	};
	const struct array_output out = {
		.item = j->set->item + (j->format->one_each ? k : 0),
		.n = j->format->one_each ? 1 : j->set->n,
		.metadata = metadata, .n_metadata = sizeof metadata / sizeof *metadata,
		.file = file,
	};
	return j->format->write(&out);
}

static enum rs_status
write_target(const struct job *j, size_t k)
{
	struct file_writer file;

	RS_TRY(file_writer_open(&file, j->target[k].made));
	enum rs_status status = k < j->n_files ? write_arrays(j, k, &file)
		: ids_write(j->words, &file);
	if (status == RS_OK)
		status = file_writer_commit(&file);
	const uint64_t size = file.size;
	file_writer_close(&file);
	if (status == RS_OK && !command_json(j->x->a))
		status = output_printf("%s   %" PRIu64 " bytes\n", j->target[k].path, size);
	return status;
}

/* --- proving ------------------------------------------------------------------------- */

static enum rs_status
tell(const struct job *j, const struct array_proof *p)
{
	const char *const path = j->x->path;
	struct json json;

	if (p == NULL && !command_json(j->x->a))
		return output_printf("%s was not verified: --no-verify\n", path);
	if (!command_json(j->x->a))
		return output_printf("verified %" PRIu64 " numbers of %s: largest difference "
			"%.3g\n", p->numbers, path, p->largest);
	json_init(&json);
	json_open(&json, NULL, '{');
	json_string(&json, "message_type", p != NULL ? "verified" : "not_verified");
	json_string(&json, "file", path);
	if (p != NULL) {
		json_int(&json, "numbers", (int64_t)p->numbers);
		json_double(&json, "largest_difference", p->largest);
	}
	json_close(&json);
	const enum rs_status status = output_printf("%s\n", json_text(&json));
	json_free(&json);
	return status;
}

static enum rs_status
prove(const struct job *j)
{
	struct array_proof p = { 0 };
	enum rs_status status = RS_OK;

	failpoint("export.before_proof");
	RS_TRY(memory_alloc(j->n_files, sizeof *p.file, &p.file));
	while (status == RS_OK && p.n_files < j->n_files) {
		status = array_file_open(j->format, j->target[p.n_files].made,
			j->target[p.n_files].path, j->set->item[p.n_files].name,
			&p.file[p.n_files]);
		p.n_files += status == RS_OK;
	}
	if (status == RS_OK)
		status = array_proof_run(&p, j->set);
	if (status == RS_OK && j->words != NULL)
		status = ids_prove(j->words, j->target[j->n_files].made,
			j->target[j->n_files].path);
	for (size_t i = 0; i < p.n_files; i++)
		array_file_close(&p.file[i]);
	free(p.file);
	return status == RS_OK ? tell(j, &p) : status;
}

static enum rs_status
write_and_prove(const struct job *j)
{
	for (size_t k = 0; k < j->n_targets && !j->x->proof.checks; k++)
		RS_TRY(write_target(j, k));
	if (argument_given(j->x->a, "--no-verify"))
		return tell(j, NULL);
	return prove(j);
}

static enum rs_status
run(struct job *j)
{
	enum rs_status status = find_targets(j);

	if (status == RS_OK)
		status = write_and_prove(j);
	free_targets(j);
	return status;
}

/* --- options --------------------------------------------------------------------------- */

enum rs_status
export_arrays_type(const struct arguments *a, enum array_type *out)
{
	const char *const name = argument(a, "--dtype");

	*out = ARRAY_f32;
	if (name == NULL)
		return RS_OK;
	for (*out = 0; *out < ARRAY_N_TYPES; ++*out)
		if (strcmp(array_kind[*out].name, name) == 0)
			return RS_OK;
	return rs_fail(RS_EUSAGE, "--dtype: '%s', wanted f32, f16 or int8", name);
}

static enum rs_status
check_type(const struct array_format *format, enum array_type type)
{
	if (type == ARRAY_f32 || !format->only_floats)
		return RS_OK;
	return rs_fail(RS_EUSAGE, "--dtype: %s has floats alone", format->name);
}

enum rs_status
export_arrays_options(const struct arguments *a, const char *to)
{
	static const char *const of_programs[] = { "--verify", "--rows", "--tolerance",
		"--relative", "--inline-bytes" };
	static const char *const of_vectors[] = { "--users", "--id" };

	for (size_t i = 0; i < sizeof of_programs / sizeof *of_programs; i++)
		if (argument_given(a, of_programs[i]))
			return rs_fail(RS_EUSAGE, "%s: every number of %s is compared",
				of_programs[i], to);
	for (size_t i = 0; i < sizeof of_vectors / sizeof *of_vectors; i++)
		if (argument_given(a, of_vectors[i]) && strcmp(to, "vectors") != 0)
			return rs_fail(RS_EUSAGE, "%s: only with --to vectors", of_vectors[i]);
	if (argument_given(a, "--id") && !argument_given(a, "--users"))
		return rs_fail(RS_EUSAGE, "--id: only with --users");
	return RS_OK;
}

static enum rs_status
begin(struct export *e)
{
	RS_TRY(export_proof_open(&e->proof, 0));
	return export_stage(e, e->path);
}

/* --- tables and parameters ------------------------------------------------------------- */

enum rs_status
export_arrays(struct export *x)
{
	static const struct array_format *const format[] = { &array_npy, &array_npz,
		&array_safetensors, &array_text };
	struct job j = { .x = x };
	enum array_type type;
	struct arrays set;

	for (size_t i = 0; i < sizeof format / sizeof *format; i++)
		if (strcmp(format[i]->name, argument(x->a, "--to")) == 0)
			j.format = format[i];
	RS_TRY(begin(x));
	RS_TRY(export_arrays_type(x->a, &type));
	RS_TRY(check_type(j.format, type));
	RS_TRY(arrays_of_model(scorer_model(x->proof.scorer), type, &set));
	j.set = &set;
	const enum rs_status status = run(&j);
	arrays_free(&set);
	return status;
}

/* --- vectors --------------------------------------------------------------------------- */

static enum rs_status
item_vectors(struct export *x, float **vector, struct array_words *words)
{
	const struct model *const m = scorer_model(x->proof.scorer);
	int finite;

	if (m->catalogue == NULL)
		return rs_fail(RS_EUSAGE, "the model has no catalogue of items");
	*words = (struct array_words){ m->catalogue->text, m->catalogue->text_end,
		m->catalogue->n };
	return retrieval_items(scorer_workers(x->proof.scorer), m, vector, &finite);
}

static enum rs_status
write_vectors(struct export *x, const float *vector,
	const struct array_words *words)
{
	const size_t D = model_vector_dim(scorer_model(x->proof.scorer));
	const struct array like = { .name = "vectors", .rank = 2, .rows = words->n, .columns = D,
		.width = D, .data = vector, .words = words };
	struct arrays set = { 0 };
	struct job j = { .x = x, .is_vectors = 1, .set = &set, .format =
		ends_with(x->path, ".fvecs") ? &array_fvecs
		: ends_with(x->path, ".txt") ? &array_text : &array_npy };
	enum array_type type;

	RS_TRY(export_arrays_type(x->a, &type));
	RS_TRY(check_type(j.format, type));
	j.words = j.format->has_words ? NULL : words;
	enum rs_status status = arrays_add(&set, &like, type);
	if (status == RS_OK)
		status = run(&j);
	arrays_free(&set);
	return status;
}

enum rs_status
export_arrays_vectors(struct export *x)
{
	struct user_vectors users = { 0 };
	struct array_words words;
	float *items = NULL;
	enum rs_status status;

	RS_TRY(begin(x));
	const struct model *const m = scorer_model(x->proof.scorer);
	if (model_vector_dim(m) == 0)
		return rs_fail(RS_EUSAGE, "'%s' has no towers, only a two_tower has",
			m->schema.settings->model.type);
	if (argument_given(x->a, "--users")) {
		status = user_vectors_make(x->a, &users);
		words = (struct array_words){ users.text.data, users.end, users.n };
	} else {
		status = item_vectors(x, &items, &words);
	}
	if (status == RS_OK)
		status = write_vectors(x, items != NULL ? items : users.vector, &words);
	free(items);
	user_vectors_free(&users);
	return status;
}
