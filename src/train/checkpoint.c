/* Model versions: saved whole or not at all, verified before use. */
#include "train/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "train/checkpoint_private.h"
#include "train/dense_adopt.h"
#include "train/dense_file.h"
#include "train/frequency.h"
#include "train/manifest.h"
#include "train/trial.h"

#define SPEC_LIMIT   ((size_t)64 << 20)
#define LEDGER_LIMIT ((size_t)1 << 30)

enum { NAME_SIZE = CHECKPOINT_NAME_SIZE };

/* --- saving -------------------------------------------------------------- */

struct saving {
	const struct model *model;
	const char *directory;         /* the temporary one                           */
	struct manifest manifest;
};

static enum rs_status
write_spec(struct saving *s, size_t table, struct file_writer *w)
{
	struct buffer text;

	(void)table;
	buffer_init(&text, SPEC_LIMIT);
	enum rs_status status = spec_print(s->model->spec, 0, &text);
	if (status == RS_OK)
		status = file_writer_write(w, text.data, text.n);
	buffer_free(&text);
	return status;
}

static enum rs_status
write_dense(struct saving *s, size_t table, struct file_writer *w)
{
	(void)table;
	return dense_file_write(s->model, w);
}

static enum rs_status
write_table(struct saving *s, size_t table, struct file_writer *w)
{
	struct lookup *const l = s->model->lookup;

	return l->ops->save(l, table, w);
}

static enum rs_status
write_tenancy(struct saving *s, size_t table, struct file_writer *w)
{
	struct lookup *const l = s->model->lookup;

	return l->ops->save_tenancy(l, table, w);
}

static enum rs_status
write_kept(struct saving *s, size_t i, struct file_writer *w)
{
	const struct file_map *const map = &s->model->kept[i].map;

	return file_writer_write(w, map->data, map->size);
}

static enum rs_status
write_items(struct saving *s, size_t table, struct file_writer *w)
{
	(void)table;
	return catalogue_save(s->model->catalogue, &s->model->schema, w);
}

static enum rs_status
write_frequency(struct saving *s, size_t table, struct file_writer *w)
{
	(void)table;
	return frequency_save(s->model->frequency, w);
}

static enum rs_status
write_inputs(struct saving *s, size_t table, struct file_writer *w)
{
	const struct dealer *const dealer = s->manifest.progress.dealer;
	char line[128];

	(void)table;
	for (size_t i = 0; i < dealer_n_files(dealer); i++) {
		const struct parser_tally *const t = &dealer_file(dealer, i)->tally;
		const int n = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %"
			PRIu64 "\n", t->read, t->skipped, t->zero_weight, t->blank);

		RS_TRY(file_writer_write(w, line, (size_t)n));
	}
	return RS_OK;
}

static enum rs_status
write_positions(struct saving *s, size_t table, struct file_writer *w)
{
	const struct dealer *const dealer = s->manifest.progress.dealer;
	char line[160];

	(void)table;
	for (size_t r = 0; r < dealer_n_marks(dealer); r++) {
		const struct dealer_mark mark = dealer_mark(dealer, r);
		const struct loader_position *const p = &mark.position;
		const int n = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %"
			PRIu64 " %" PRIu64 " %" PRIu64 "\n", p->epoch, p->window, p->row, p->rows,
			p->identity, mark.ended);

		RS_TRY(file_writer_write(w, line, (size_t)n));
	}
	return RS_OK;
}

static enum rs_status
write_rest(struct saving *s, size_t table, struct file_writer *w)
{
	struct file_map map;

	(void)table;
	RS_TRY(file_map_open(&map, s->manifest.progress.rest));
	const enum rs_status status = file_writer_write(w, map.data, map.size);
	file_map_close(&map);
	return status;
}

static enum rs_status
write_printed(enum rs_status status, struct buffer *text, struct file_writer *w)
{
	if (status == RS_OK)
		status = file_writer_write(w, text->data, text->n);
	buffer_free(text);
	return status;
}

static enum rs_status
write_ledger(struct saving *s, size_t table, struct file_writer *w)
{
	struct buffer text;

	(void)table;
	buffer_init(&text, LEDGER_LIMIT);
	return write_printed(ledger_print(s->manifest.progress.ledger, &text), &text, w);
}

static enum rs_status
write_trial(struct saving *s, size_t table, struct file_writer *w)
{
	struct buffer text;

	(void)table;
	buffer_init(&text, LEDGER_LIMIT);
	return write_printed(trial_print(s->manifest.progress.trial, &text), &text, w);
}

static enum rs_status
save_file(struct saving *s, const char *name, size_t table,
	enum rs_status (*write)(struct saving *, size_t, struct file_writer *))
{
	struct file_writer w;
	char *path;

	RS_TRY(file_join(s->directory, name, &path));
	enum rs_status status = file_writer_open(&w, path);
	free(path);
	RS_TRY(status);
	status = write(s, table, &w);
	if (status == RS_OK)
		status = file_writer_commit(&w);
	if (status == RS_OK)
		status = manifest_add(&s->manifest, name, &w);
	file_writer_close(&w);
	return status;
}

static enum rs_status
save_files(struct saving *s)
{
	RS_TRY(save_file(s, "spec.ini", 0, write_spec));
	RS_TRY(save_file(s, "dense.bin", 0, write_dense));
	if (s->model->catalogue != NULL)
		RS_TRY(save_file(s, CHECKPOINT_ITEMS, 0, write_items));
	if (s->model->frequency != NULL)
		RS_TRY(save_file(s, FREQUENCY_FILE, 0, write_frequency));
	const struct checkpoint_progress *const p = &s->manifest.progress;
	if (p->ledger != NULL && p->ledger->n > 0)
		RS_TRY(save_file(s, LEDGER_FILE, 0, write_ledger));
	if (p->trial != NULL)
		RS_TRY(save_file(s, TRIAL_FILE, 0, write_trial));
	const struct dealer *const dealer = p->dealer;
	if (dealer != NULL)
		RS_TRY(save_file(s, CHECKPOINT_INPUTS, 0, write_inputs));
	if (dealer != NULL && dealer_n_marks(dealer) > 0)
		RS_TRY(save_file(s, CHECKPOINT_POSITIONS, 0, write_positions));
	if (s->manifest.progress.rest != NULL)
		RS_TRY(save_file(s, CHECKPOINT_REST, 0, write_rest));
	for (size_t t = 0; t < s->model->n_tables; t++) {
		char name[NAME_SIZE];

		checkpoint_table_file(name, s->model->table[t].name);
		RS_TRY(save_file(s, name, t, write_table));
		checkpoint_tenancy_file(name, s->model->table[t].name);
		if (lookup_has_tenancy(&s->model->table[t]))
			RS_TRY(save_file(s, name, t, write_tenancy));
	}
	for (size_t i = 0; i < s->model->n_kept; i++)
		RS_TRY(save_file(s, s->model->kept[i].name, i, write_kept));
	RS_TRY(manifest_write(&s->manifest, s->directory));
	return file_sync_directory(s->directory);
}

static enum rs_status
publish(const char *directory, const char *temporary, const char *final)
{
	failpoint("checkpoint.before_rename");
	if (rename(temporary, final) != 0)
		return rs_fail(RS_EIO, "cannot rename '%s' to '%s': %s", temporary, final,
			strerror(errno));
	return file_sync_directory(directory);
}

static enum rs_status
save_version(struct saving *s, const char *directory)
{
	char name[NAME_SIZE], *temporary = NULL, *final = NULL;

	snprintf(name, sizeof name, ".tmp-v%06" PRIu64 "-%ld", s->manifest.version, (long)getpid());
	enum rs_status status = file_join(directory, name, &temporary);
	if (status == RS_OK)
		status = checkpoint_version_path(directory, s->manifest.version, &final);
	if (status == RS_OK)
		status = file_make_directories(temporary);
	if (status == RS_OK) {
		s->directory = temporary;
		status = save_files(s);
		if (status == RS_OK)
			status = publish(directory, temporary, final);
		if (status != RS_OK) {
			struct rs_failure failure;

			rs_failure_take(&failure);
			file_remove_tree(temporary);
			status = rs_failure_put(&failure);
		}
	}
	free(final);
	free(temporary);
	return status;
}

enum rs_status
checkpoint_save(const char *directory, const struct model *m,
	const struct checkpoint_progress *progress, int make_current, uint64_t *version,
		uint64_t *bytes)
{
	struct saving s = { .model = m };

	RS_TRY(file_make_directories(directory));
	RS_TRY(checkpoint_next_version(directory, &s.manifest.version));
	s.manifest.parent = checkpoint_current(directory);
	s.manifest.progress = *progress;
	if (progress->best_version == CHECKPOINT_ITSELF)
		s.manifest.progress.best_version = s.manifest.version;
	enum rs_status status = save_version(&s, directory);
	if (status == RS_OK && make_current)
		status = checkpoint_set_current(directory, s.manifest.version);
	if (version != NULL)
		*version = s.manifest.version;
	if (bytes != NULL)
		*bytes = manifest_bytes(&s.manifest);
	manifest_free(&s.manifest);
	return status;
}

/* --- loading ------------------------------------------------------------- */

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
	const char *path;              /* of the version                              */
	const struct manifest *manifest;
	unsigned how;                  /* enum checkpoint_fill                        */
	struct model *former;          /* of the version's spec; NULL: of the same spec */
	size_t n_new;                  /* tables that are not in the version          */
};

static enum rs_status
load_table(struct model *m, size_t t, const struct filling *f, const char *name)
{
	char *file;

	RS_TRY(file_join(f->path, name, &file));
	const enum rs_status status =
		m->lookup->ops->load(m->lookup, t, (const char *const *)&file, 1);
	free(file);
	RS_TRY(status);
	if (!(f->how & CHECKPOINT_STATE))
		m->lookup->ops->reset_state(m->lookup, t);
	return RS_OK;
}

/* A version of a spec without rules for who comes and goes has no such file. */
static enum rs_status
load_tenancy(struct model *m, size_t t, const struct filling *f)
{
	char name[NAME_SIZE], *file;
	int there;

	checkpoint_tenancy_file(name, m->table[t].name);
	there = manifest_has(f->manifest, name);
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
		char name[NAME_SIZE];

		checkpoint_table_file(name, m->table[t].name);
		if (manifest_has(f->manifest, name)) {
			RS_TRY(load_table(m, t, f, name));
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

static enum rs_status
fill_dense(struct model *m, const struct filling *f, struct dense_adopted *adopted)
{
	const int with_state = (f->how & CHECKPOINT_STATE) != 0;
	char *dense;
	int had_state;

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
fill_model(struct model *m, const char *path, const struct manifest *manifest, unsigned how)
{
	const struct model_options shape = { .shape_only = 1 };
	struct filling f = { .path = path, .manifest = manifest, .how = how };
	struct spec *spec;

	if (how & CHECKPOINT_OTHER_FIELDS) {
		RS_TRY(spec_of_version(path, &spec));
		RS_TRY(model_create(spec, &shape, &f.former));
	}
	const enum rs_status status = fill_from(m, &f);
	model_free(f.former);
	return status;
}

/* Opens a version: MANIFEST read, every file verified. */
static enum rs_status
open_version(const char *directory, uint64_t version, struct manifest *out, char **path)
{
	RS_TRY(checkpoint_version_path(directory, version, path));
	enum rs_status status = manifest_read(out, *path);
	if (status == RS_OK) {
		status = manifest_verify(out, *path);
		if (status != RS_OK)
			manifest_free(out);
	}
	if (status != RS_OK)
		free(*path);
	return status;
}

static void
warn_fallback(uint64_t version)
{
	const struct rs_failure *const f = rs_failure();

	log_warn("%s%s%s; falling back to the former version v%06" PRIu64,
		f->where, f->where[0] ? ": " : "", f->text, version);
}

/* The sound version nearest below `version`, with a warning for each that is not. */
static enum rs_status
open_former(const char *directory, const uint64_t *list, size_t n, struct manifest *out,
	char **path)
{
	enum rs_status status = RS_OK;

	while (n > 0) {
		status = open_version(directory, list[n - 1], out, path);
		if (status == RS_OK)
			return RS_OK;
		if (n > 1)
			warn_fallback(list[n - 2]);
		n--;
	}
	return status;
}

static enum rs_status
open_newest(const char *directory, struct manifest *out, char **path)
{
	uint64_t *list;
	size_t n;

	RS_TRY(checkpoint_list(directory, &list, &n));
	if (n == 0) {
		free(list);
		return rs_fail(RS_ENOINPUT, "no complete model version in '%s'", directory);
	}
	const uint64_t current = checkpoint_current(directory);
	size_t upto = n;
	while (current != 0 && upto > 0 && list[upto - 1] > current)
		upto--;
	if (current != 0 && (upto == 0 || list[upto - 1] != current))
		log_warn("'%s/CURRENT' names v%06" PRIu64 ", which is not there", directory,
			current);
	const enum rs_status status = open_former(directory, list, upto > 0 ? upto : n, out, path);
	free(list);
	return status;
}

static enum rs_status
open_any(const char *directory, uint64_t version, struct manifest *out, char **path)
{
	return version != 0 ? open_version(directory, version, out, path)
		: open_newest(directory, out, path);
}

enum rs_status
checkpoint_load(const char *directory, uint64_t version, const struct model_options *options,
	struct model **out, struct checkpoint_progress *progress, uint64_t *loaded)
{
	struct manifest manifest;
	struct spec *spec;
	char *path;

	*out = NULL;
	RS_TRY(open_any(directory, version, &manifest, &path));
	enum rs_status status = spec_of_version(path, &spec);
	if (status == RS_OK)
		status = model_create(spec, options, out);
	if (status == RS_OK)
		status = fill_model(*out, path, &manifest, CHECKPOINT_STATE);
	if (status != RS_OK) {
		model_free(*out);
		*out = NULL;
	}
	if (status == RS_OK && progress != NULL)
		*progress = manifest.progress;
	if (loaded != NULL)
		*loaded = manifest.version;
	manifest_free(&manifest);
	free(path);
	return status;
}

enum rs_status
checkpoint_fill(const char *directory, uint64_t version, unsigned how, struct model *m,
	struct checkpoint_progress *progress)
{
	struct manifest manifest;
	char *path;

	RS_TRY(open_any(directory, version, &manifest, &path));
	const enum rs_status status = fill_model(m, path, &manifest, how);
	if (status == RS_OK && progress != NULL)
		*progress = manifest.progress;
	manifest_free(&manifest);
	free(path);
	return status;
}

enum rs_status
checkpoint_peek(const char *directory, uint64_t version,
	struct checkpoint_progress *progress, uint64_t *found)
{
	struct manifest manifest;
	char *path;

	RS_TRY(open_any(directory, version, &manifest, &path));
	if (progress != NULL)
		*progress = manifest.progress;
	if (found != NULL)
		*found = manifest.version;
	manifest_free(&manifest);
	free(path);
	return RS_OK;
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
