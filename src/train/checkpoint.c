/* Model versions: saved whole or not at all. */
#include "train/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "train/checkpoint_chain.h"
#include "train/checkpoint_private.h"
#include "train/dense_file.h"
#include "train/frequency.h"
#include "train/manifest.h"
#include "train/trial.h"

#define SPEC_LIMIT   ((size_t)64 << 20)
#define LEDGER_LIMIT ((size_t)1 << 30)

enum { NAME_SIZE = CHECKPOINT_NAME_SIZE };

struct saving {
	struct model *model;
	const char *directory;         /* the temporary one                           */
	int may_be_delta;
	int packs;                     /* tables become `storage`, nothing of training is kept */
	enum row_storage storage;
	struct manifest manifest;
	struct file_writer *whole;     /* [n_tables] written before their turn, or NULL */
};

typedef enum rs_status write_function(struct saving *s, size_t table, struct file_writer *w);

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

	/* one weight and its scale are no less than the weight */
	return s->packs && s->model->table[table].dim > 1
		? lookup_local_pack(l, table, s->storage, w) : l->ops->save(l, table, w);
}

static enum rs_status
write_tenancy(struct saving *s, size_t table, struct file_writer *w)
{
	struct lookup *const l = s->model->lookup;

	return l->ops->save_tenancy(l, table, w);
}

static enum rs_status
write_changes(struct saving *s, size_t table, struct file_writer *w)
{
	const struct lookup_step step = { s->manifest.version, s->model->base.version };
	struct lookup *const l = s->model->lookup;

	failpoint("checkpoint.delta");
	return l->ops->save_delta(l, table, &step, w);
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

/* w is closed by the caller, whatever comes of it. */
static enum rs_status
write_file(struct saving *s, const char *name, size_t table, write_function *write,
	struct file_writer *w)
{
	char *path;

	RS_TRY(file_join(s->directory, name, &path));
	const enum rs_status status = file_writer_open(w, path);
	free(path);
	RS_TRY(status);
	w->one_of_many = 1;
	RS_TRY(write(s, table, w));
	return file_writer_commit(w);
}

static enum rs_status
save_file(struct saving *s, const char *name, size_t table, write_function *write)
{
	struct file_writer w = { .fd = -1 };
	enum rs_status status = write_file(s, name, table, write, &w);

	if (status == RS_OK)
		status = manifest_add(&s->manifest, name, &w);
	file_writer_close(&w);
	return status;
}

static enum rs_status
save_table(struct saving *s, size_t t)
{
	struct lookup *const l = s->model->lookup;
	char name[NAME_SIZE];

	if (s->may_be_delta && l->ops->knows_changes(l, t)) {
		s->manifest.kind = MANIFEST_DELTA;
		s->manifest.parent = s->model->base.version;
		s->manifest.parent_identity = s->model->base.identity;
		checkpoint_table_delta(name, s->model->table[t].name);
		return save_file(s, name, t, write_changes);
	}
	checkpoint_table_file(name, s->model->table[t].name);
	return s->whole != NULL ? manifest_add(&s->manifest, name, &s->whole[t])
		: save_file(s, name, t, write_table);
}

/* --- whole tables, several at once --------------------------------------------- */

struct writing {
	struct saving *s;
	atomic_size_t next;
	atomic_int failed;             /* 1: somebody fills in `failure`              */
	struct rs_failure failure;
};

static void *
write_some(void *argument)
{
	struct writing *const w = argument;
	struct saving *const s = w->s;
	char name[NAME_SIZE];
	int none = 0;

	while (atomic_load(&w->failed) == 0) {
		const size_t t = atomic_fetch_add(&w->next, 1);

		if (t >= s->model->n_tables)
			return NULL;
		checkpoint_table_file(name, s->model->table[t].name);
		if (write_file(s, name, t, write_table, &s->whole[t]) != RS_OK
		    && atomic_compare_exchange_strong(&w->failed, &none, 1))
			rs_failure_take(&w->failure);
	}
	return NULL;
}

/* A thread that cannot be had is done without. */
static enum rs_status
write_by(struct saving *s, size_t n_threads)
{
	struct writing w = { .s = s };
	pthread_t *thread;
	size_t n = 1;

	RS_TRY(memory_alloc(n_threads, sizeof *thread, &thread));
	while (n < n_threads && thread_start(&thread[n], "save", write_some, &w) == RS_OK)
		n++;
	write_some(&w);
	for (size_t i = 1; i < n; i++)
		thread_join(thread[i]);
	free(thread);
	return atomic_load(&w.failed) ? rs_failure_put(&w.failure) : RS_OK;
}

static enum rs_status
write_tables(struct saving *s)
{
	const struct lookup_ops *const ops = s->model->lookup->ops;
	const size_t most = ops->savers != NULL ? ops->savers(s->model->lookup) : 1;
	const size_t n = s->model->n_tables;

	if (s->may_be_delta || most < 2 || n < 2)
		return RS_OK;
	RS_TRY(memory_alloc(n, sizeof *s->whole, &s->whole));
	for (size_t t = 0; t < n; t++)
		s->whole[t].fd = -1;
	return write_by(s, most < n ? most : n);
}

static void
close_tables(struct saving *s)
{
	for (size_t t = 0; s->whole != NULL && t < s->model->n_tables; t++)
		file_writer_close(&s->whole[t]);
	free(s->whole);
	s->whole = NULL;
}

/* Tables, beside what there is to some. */
static enum rs_status
save_tables(struct saving *s)
{
	char name[NAME_SIZE];
	enum rs_status status = write_tables(s);

	for (size_t t = 0; t < s->model->n_tables && status == RS_OK; t++) {
		status = save_table(s, t);
		checkpoint_tenancy_file(name, s->model->table[t].name);
		if (status == RS_OK && !s->packs && lookup_has_tenancy(&s->model->table[t]))
			status = save_file(s, name, t, write_tenancy);
	}
	close_tables(s);
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
	RS_TRY(save_tables(s));
	for (size_t i = 0; i < s->model->n_kept; i++)
		RS_TRY(save_file(s, s->model->kept[i].name, i, write_kept));
	RS_TRY(file_sync_directory(s->directory));
	RS_TRY(manifest_identify(&s->manifest));
	failpoint("checkpoint.before_manifest");
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

/* Is the version that the changes are known from still there, as it was? */
static int
has_base(const char *directory, const struct model_base *base)
{
	struct manifest manifest;
	char *path;
	int has = 0;

	if (base->version == 0
	    || checkpoint_version_path(directory, base->version, &path) != RS_OK)
		return 0;
	if (manifest_read(&manifest, path) == RS_OK) {
		has = manifest.version == base->version && manifest.identity == base->identity;
		manifest_free(&manifest);
	}
	free(path);
	return has;
}

/* What is published is whole, so it is made so at once. */
static int
may_be_delta(const char *directory, const struct model *m)
{
	const struct settings *const s = spec_settings(m->spec);

	return (int64_t)m->base.n_deltas + 1 < s->train.full_every
		&& s->incremental.publish[0] == '\0' && m->lookup->ops->knows_changes != NULL
		&& has_base(directory, &m->base);
}

/* From here on changes are those since this version, which is complete. */
static void
begin_changes(const struct saving *s)
{
	struct model *const m = s->model;

	if (m->lookup->ops->forget_changes == NULL)
		return;
	m->lookup->ops->forget_changes(m->lookup);
	m->base = (struct model_base){ s->manifest.version, s->manifest.identity,
		s->manifest.kind == MANIFEST_DELTA ? m->base.n_deltas + 1 : 0 };
}

enum rs_status
checkpoint_save(const char *directory, struct model *m,
	const struct checkpoint_progress *progress, int make_current, uint64_t *version,
		uint64_t *bytes)
{
	struct saving s = { .model = m };

	RS_TRY(file_make_directories(directory));
	RS_TRY(checkpoint_next_version(directory, &s.manifest.version));
	RS_TRY(checkpoint_read_current(directory, &s.manifest.parent));
	s.manifest.progress = *progress;
	if (progress->best_version == CHECKPOINT_ITSELF)
		s.manifest.progress.best_version = s.manifest.version;
	s.may_be_delta = may_be_delta(directory, m);
	enum rs_status status = save_version(&s, directory);
	if (status == RS_OK)
		begin_changes(&s);
	if (status == RS_OK && make_current)
		status = checkpoint_set_current(directory, s.manifest.version);
	if (version != NULL)
		*version = s.manifest.version;
	if (bytes != NULL)
		*bytes = manifest_bytes(&s.manifest);
	manifest_free(&s.manifest);
	return status;
}

enum rs_status
checkpoint_pack(struct model *m, uint64_t version, enum row_storage storage,
	const char *directory, uint64_t *bytes)
{
	struct saving s = { .model = m, .directory = directory, .packs = 1, .storage = storage };

	s.manifest.version = version;
	s.manifest.progress = (struct checkpoint_progress){ .state = CHECKPOINT_FINAL,
		.step = m->step, .best = NAN, .rate_factor = 1 };
	/* what reads the tables into memory is to have the numbers that are in them */
	RS_TRY(spec_set(m->spec, "embedding", "storage", "fp32"));
	RS_TRY(file_make_directories(directory));
	const enum rs_status status = save_files(&s);
	*bytes = manifest_bytes(&s.manifest);
	manifest_free(&s.manifest);
	return status;
}
