/* Model versions: verified before use, and what a model is filled from. */
#include "train/checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "spec/option.h"
#include "train/checkpoint_chain.h"
#include "train/checkpoint_private.h"
#include "train/dense_adopt.h"
#include "train/dense_file.h"
#include "train/frequency.h"
#include "train/manifest.h"

#define SPEC_LIMIT ((size_t)64 << 20)
#define NAME_LIMIT ((size_t)4096) /* names of two optimizers                     */

static enum rs_status
spec_of_version(const char *path, struct spec **out)
{
	char *file, *text = NULL;
	size_t n;

	*out = NULL;
	RS_TRY(file_join(path, "spec.ini", &file));
	enum rs_status status = file_read(file, SPEC_LIMIT, &text, &n);
	if (status == RS_OK)
		status = spec_load_text(text, file, out);
	if (status != RS_OK) {
		spec_free(*out);
		*out = NULL;
	}
	free(text);
	free(file);
	return status;
}

/* What a model is filled from. */
struct filling {
	const struct checkpoint_chain *chain;
	const char *path;              /* of the version                              */
	const struct manifest *manifest;
	unsigned how;                  /* enum checkpoint_fill                        */
	struct model *former;          /* of the version's spec; NULL: of the same spec */
	size_t n_new;                  /* tables that are not in the version          */
};

static enum rs_status
load_table(struct model *m, size_t t, const struct filling *f)
{
	RS_TRY(checkpoint_chain_load_table(f->chain, m, t));
	if (!(f->how & CHECKPOINT_STATE))
		m->lookup->ops->reset_state(m->lookup, t);
	return RS_OK;
}

/* A version of a spec without rules for who comes and goes has no such file. */
static enum rs_status
load_tenancy(struct model *m, size_t t, const struct filling *f)
{
	char name[CHECKPOINT_NAME_SIZE], *file;

	checkpoint_tenancy_file(name, m->table[t].name);
	const int there = manifest_has(f->manifest, name);
	RS_TRY(file_join(f->path, name, &file));
	const enum rs_status status = m->lookup->ops->load_tenancy(
		m->lookup, t, (const char *const *)&file, (size_t)there);
	free(file);
	return status;
}

static enum rs_status
fill_tables(struct model *m, struct filling *f)
{
	for (size_t t = 0; t < m->n_tables; t++) {
		const size_t of = graph_table(m->graph, t)->schema_table;

		if (checkpoint_chain_has_table(f->chain, m->table[t].name)) {
			RS_TRY(load_table(m, t, f));
			if (m->table[t].kind == TABLE_EXACT
			    && m->lookup->ops->load_tenancy != NULL)
				RS_TRY(load_tenancy(m, t, f));
		} else if (f->former != NULL &&
			dense_adopt_is_new(f->former, m->schema.table[of].name)) {
			f->n_new++;
		} else {
			(void)rs_fail_at(RS_ESPEC, f->path, 0, 0,
				"the model saved has no table '%s'", m->table[t].name);
			return rs_hint("use the field as before, or train a new model with "
				"--fresh");
		}
	}
	return RS_OK;
}

static enum rs_status
fill_items(struct model *m, const char *path, const struct manifest *manifest)
{
	char *file;

	if (!manifest_has(manifest, CHECKPOINT_ITEMS) || m->schema.item_field == m->schema.n_fields
	    || m->catalogue != NULL)
		return RS_OK;
	RS_TRY(file_join(path, CHECKPOINT_ITEMS, &file));
	const enum rs_status status = catalogue_load(&m->schema, file, &m->catalogue);
	free(file);
	return status;
}

static int
is_adam(enum dense_optimizer_kind kind)
{
	return kind == DENSE_ADAM || kind == DENSE_ADAMW;
}

/* What another optimizer left is no state of this one; adam and adamw have the same. */
static enum rs_status
is_own_state(const struct model *m, const struct filling *f, int *is)
{
	static const char *const key = "optimizer";
	const struct option_row *const row = option_find("train", key);
	const struct settings *const now = spec_settings(m->spec);
	const struct settings *const then = f->former != NULL ? spec_settings(f->former->spec)
		: now;
	struct buffer text;

	*is = then->train.optimizer == now->train.optimizer
		|| (is_adam(then->train.optimizer) && is_adam(now->train.optimizer));
	if (*is)
		return RS_OK;
	buffer_init(&text, NAME_LIMIT);
	enum rs_status status = option_print(row, now, &text);
	if (status == RS_OK)
		status = buffer_append(&text, "", 1);
	const size_t was = text.n;
	if (status == RS_OK)
		status = option_print(row, then, &text);
	if (status == RS_OK)
		status = buffer_append(&text, "", 1);
	if (status == RS_OK)
		log_warn("train.%s = %s, but '%s' was trained with %s: the optimizer of the dense "
			"weights starts anew", key, text.data, f->path, text.data + was);
	buffer_free(&text);
	return status;
}

static enum rs_status
fill_dense(struct model *m, const struct filling *f, struct dense_adopted *adopted)
{
	int with_state = (f->how & CHECKPOINT_STATE) != 0, had_state;
	char *dense;

	if (with_state)
		RS_TRY(is_own_state(m, f, &with_state));
	RS_TRY(file_join(f->path, "dense.bin", &dense));
	const enum rs_status status = f->former != NULL
		? dense_adopt(m, f->former, dense, with_state, adopted)
		: dense_file_load(m, dense, with_state, &had_state);
	free(dense);
	RS_TRY(status);
	if (f->former != NULL)
		had_state = adopted->had_state;
	if (with_state && !had_state && m->slot_m != NULL)
		log_warn("'%s' has no optimizer state: the optimizers start anew", f->path);
	return RS_OK;
}

static enum rs_status
fill_from(struct model *m, struct filling *f)
{
	struct dense_adopted adopted = { .fresh = 0 };

	RS_TRY(fill_dense(m, f, &adopted));
	m->rate_factor = f->manifest->progress.rate_factor;
	RS_TRY(fill_items(m, f->path, f->manifest));
	RS_TRY(frequency_restore(m->frequency, f->manifest, f->path));
	RS_TRY(fill_tables(m, f));
	if (f->n_new + adopted.changed + adopted.fresh > 0)
		log_info("of the model saved: %zu of %zu tables, %zu parameters whole, %zu with "
			"columns of fields added or left out, %zu start fresh",
			m->n_tables - f->n_new, m->n_tables, adopted.whole, adopted.changed,
			adopted.fresh);
	return RS_OK;
}

static enum rs_status
fill_model(struct model *m, const struct checkpoint_chain *chain, unsigned how)
{
	const struct model_options shape = { .shape_only = 1 };
	const struct checkpoint_link *const last = checkpoint_chain_last(chain);
	struct filling f = { .chain = chain, .path = last->path, .manifest = &last->manifest,
		.how = how };
	struct spec *spec;

	m->base = (struct model_base){ .version = 0 };
	if (how & CHECKPOINT_OTHER_FIELDS) {
		RS_TRY(spec_of_version(f.path, &spec));
		RS_TRY(model_create(spec, &shape, &f.former));
	}
	const enum rs_status status = fill_from(m, &f);
	model_free(f.former);
	if (status == RS_OK)
		m->base = (struct model_base){ last->manifest.version, last->manifest.identity,
			chain->n - 1 };
	return status;
}

/* In place of a model that is served no state in the middle of a run will do. */
static enum rs_status
open_instead(const char *directory, uint64_t version, int of_finished,
	struct checkpoint_chain *out)
{
	RS_TRY(checkpoint_chain_open(directory, version, out));
	if (!of_finished
	    || checkpoint_chain_last(out)->manifest.progress.state == CHECKPOINT_FINAL)
		return RS_OK;
	checkpoint_chain_free(out);
	(void)rs_fail(RS_EDATA, "v%06" PRIu64 " in '%s' is of an unfinished run", version,
		directory);
	return rs_hint("go on with it by --resume, or train a new model with --fresh");
}

/* The sound version nearest to the newest of n, with a warning for each that is not. */
static enum rs_status
open_former(const char *directory, const uint64_t *list, size_t n, int of_finished,
	struct checkpoint_chain *out)
{
	const size_t newest = n;
	enum rs_status status = RS_OK;

	while (n > 0) {
		status = open_instead(directory, list[n - 1], of_finished && n < newest, out);
		if (!checkpoint_is_damage(status))
			return status;
		if (n > 1)
			log_passed(rs_failure(), "v%06" PRIu64 " needs it, falling back to the "
				"former version v%06" PRIu64, list[n - 1], list[n - 2]);
		n--;
	}
	return status;
}

static enum rs_status
open_newest(const char *directory, struct checkpoint_chain *out)
{
	uint64_t *list, current;
	size_t n;

	RS_TRY(checkpoint_read_current(directory, &current));
	RS_TRY(checkpoint_list(directory, &list, &n));
	if (n == 0) {
		free(list);
		return rs_fail(RS_ENOINPUT, "no complete model version in '%s'", directory);
	}
	size_t upto = n;
	while (current != 0 && upto > 0 && list[upto - 1] > current)
		upto--;
	if (current != 0 && (upto == 0 || list[upto - 1] != current))
		log_passed(NULL, "'%s/CURRENT' names v%06" PRIu64 ", which is not there",
			directory, current);
	const enum rs_status status = open_former(directory, list, upto > 0 ? upto : n,
		current != 0, out);
	free(list);
	return status;
}

static enum rs_status
open_any(const char *directory, uint64_t version, struct checkpoint_chain *out)
{
	return version != 0 ? checkpoint_chain_open(directory, version, out)
		: open_newest(directory, out);
}

/* What the caller wants of a version, each NULL: nothing.  The chain is closed. */
static enum rs_status
end_open(enum rs_status status, struct checkpoint_chain *chain,
	struct checkpoint_progress *progress, uint64_t *version)
{
	const struct manifest *const m = &checkpoint_chain_last(chain)->manifest;

	if (status == RS_OK && progress != NULL)
		*progress = m->progress;
	if (version != NULL)
		*version = m->version;
	checkpoint_chain_free(chain);
	return status;
}

enum rs_status
checkpoint_load(const char *directory, uint64_t version, const struct model_options *options,
	struct model **out, struct checkpoint_progress *progress, uint64_t *loaded)
{
	struct checkpoint_chain chain;
	struct spec *spec;

	*out = NULL;
	RS_TRY(open_any(directory, version, &chain));
	enum rs_status status = spec_of_version(checkpoint_chain_last(&chain)->path, &spec);
	if (status == RS_OK)
		status = model_create(spec, options, out);
	if (status == RS_OK)
		status = fill_model(*out, &chain, CHECKPOINT_STATE);
	if (status != RS_OK) {
		model_free(*out);
		*out = NULL;
	}
	return end_open(status, &chain, progress, loaded);
}

enum rs_status
checkpoint_fill(const char *directory, uint64_t version, unsigned how, struct model *m,
	struct checkpoint_progress *progress)
{
	struct checkpoint_chain chain;

	RS_TRY(open_any(directory, version, &chain));
	return end_open(fill_model(m, &chain, how), &chain, progress, NULL);
}

enum rs_status
checkpoint_peek(const char *directory, uint64_t version,
	struct checkpoint_progress *progress, uint64_t *found)
{
	struct checkpoint_chain chain;

	RS_TRY(open_any(directory, version, &chain));
	return end_open(RS_OK, &chain, progress, found);
}

enum rs_status
checkpoint_spec(const char *directory, uint64_t version, struct spec **out)
{
	char *path;

	RS_TRY(checkpoint_version_path(directory, version, &path));
	const enum rs_status status = spec_of_version(path, out);
	free(path);
	return status;
}
