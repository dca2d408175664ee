/* What train writes into the run database. */
#include "cmd/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "train/intake.h"

#define RECORD_BUSY_MS 10000

struct record {
	struct store *store;           /* NULL: there is none                         */
	int64_t       run;
	int           failed;
};

/* The first failure is told; the run itself does not depend on its record. */
static void
note(struct record *r, enum rs_status status)
{
	if (status == RS_OK || r->failed)
		return;
	r->failed = 1;
	log_warn("the run record is incomplete: %s", rs_failure()->text);
}

enum rs_status
record_open(const char *path, const struct store_run_start *start, struct record **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	struct record *const r = *out;

	enum rs_status status = store_open(path, 0, RECORD_BUSY_MS, &r->store);
	if (status == RS_OK)
		status = store_run_begin(r->store, start, &r->run);
	note(r, status);
	return RS_OK;
}

enum rs_status
record_attach(const char *path, int64_t run, struct record **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	if (run <= 0)
		return RS_OK;
	(*out)->run = run;
	note(*out, store_open(path, 0, RECORD_BUSY_MS, &(*out)->store));
	return RS_OK;
}

void
record_close(struct record *r)
{
	if (r == NULL)
		return;
	if (r->store != NULL)
		store_close(r->store);
	free(r);
}

int64_t
record_run(const struct record *r)
{
	return r->run;
}

static int
is_open(const struct record *r)
{
	return r != NULL && r->store != NULL && r->run > 0;
}

void
record_placement(struct record *r, const struct record_placement *p)
{
	if (is_open(r))
		note(r, store_placement(r->store, r->run, p->mode, p->lookup, p->reducer, p->kernel,
			p->reason));
}

void
record_warning(struct record *r, const char *text)
{
	if (is_open(r))
		note(r, store_warning(r->store, r->run, text));
}

void
record_param(struct record *r, const char *key, const char *value)
{
	if (is_open(r))
		note(r, store_param(r->store, r->run, key, value));
}

struct figure_row { const char *key; double value; };

void
record_figure(struct record *r, const char *key, double value)
{
	if (is_open(r))
		note(r, store_metric(r->store, r->run, key, 0, 0, 0, value));
}

static void
write_figures(struct record *r, const struct figure_row *figure, size_t n, int64_t epoch,
	int64_t step, int64_t rows)
{
	for (size_t i = 0; i < n; i++)
		note(r,
			store_metric(r->store, r->run, figure[i].key, epoch, step, rows,
				figure[i].value));
}

static void
write_valid(struct record *r, const struct metric_result *m, int64_t epoch, int64_t step,
	int64_t rows)
{
	const struct figure_row figure[] = {
		{ "valid.auc", m->auc }, { "valid.logloss", m->logloss }, { "valid.mse", m->mse },
		{ "valid.rows", (double)m->rows }, { "valid.positives", m->positives },
		{ "valid.calibration", m->calibration },
			{ "valid.best_constant", m->best_constant },
		{ "valid.best_constant_loss", m->best_constant_loss },
	};

	write_figures(r, figure, sizeof figure / sizeof *figure, epoch, step, rows);
	for (size_t i = 0; i < m->figures.n; i++) {
		char key[FIGURE_NAME + 8];

		snprintf(key, sizeof key, "valid.%s", m->figures.item[i].name);
		const struct figure_row named = { key, m->value[i] };
		if (figure_needs_groups(&m->figures.item[i]))
			write_figures(r, &named, 1, epoch, step, rows);
	}
}

void
record_epoch(struct record *r, const struct train_epoch *e)
{
	const struct figure_row figure[] = {
		{ "train.loss", e->loss }, { "train.seconds", e->seconds },
		{ "train.learning_rate", e->learning_rate }, { "train.rows", (double)e->rows },
	};

	if (!is_open(r))
		return;
	write_figures(r, figure, sizeof figure / sizeof *figure, (int64_t)e->epoch,
		(int64_t)e->step, (int64_t)e->rows);
	if (e->has_valid)
		write_valid(r, &e->valid, (int64_t)e->epoch, (int64_t)e->step, (int64_t)e->rows);
}

void
record_trial(struct record *r, int64_t begin, const struct trial *trial, const char *verdict)
{
	const struct metric_result *const m = trial_progressive(trial);
	const struct figure_row figure[] = {
		{ "progressive.auc", m->auc }, { "progressive.logloss", m->logloss },
		{ "progressive.calibration", m->calibration },
	};
	char text[24];

	if (!is_open(r))
		return;
	record_param(r, "incremental.period_begin", intake_time(begin, text));
	if (verdict != NULL)
		record_param(r, "incremental.verdict", verdict);
	record_figure(r, "progressive.rows", (double)m->rows);
	if (m->rows > 0)
		write_figures(r, figure, sizeof figure / sizeof *figure, 0, 0, (int64_t)m->rows);
}

/* Rows of a file in all epochs of this run; what the loader counted in one. */
static void
write_ledger(struct record *r, const struct train_summary *s)
{
	for (size_t i = 0; i < s->n_files; i++) {
		const struct loader_file *const f = &s->file[i];
		const struct parser_tally *const t = &f->tally;
		const uint64_t left_out = t->skipped + t->zero_weight;
		const struct store_ledger row = {
			.file = f->path, .content_hash = f->content_hash, .begin = 0,
				.end = f->size,
			.rows_read = (int64_t)t->read, .rows_skipped = (int64_t)left_out,
			.rows_trained = (int64_t)(t->read - left_out), .attempt = 1,
		};
		note(r, store_ledger(r->store, r->run, &row));
	}
}

/* A refused version has another name by now, or will have. */
static void
write_artifact(struct record *r, const char *directory, uint64_t version)
{
	struct buffer path;
	uint64_t bytes = 0;

	buffer_init(&path, 1 << 16);
	enum rs_status status = buffer_printf(&path, "%s/v%06" PRIu64, directory, version);
	if (status == RS_OK && access(path.data, F_OK) != 0)
		status = buffer_printf(&path, ".rejected");
	if (status == RS_OK)
		status = file_directory_bytes(path.data, &bytes);
	if (status == RS_OK)
		status = store_artifact(r->store, r->run, "model", path.data, (int64_t)bytes);
	note(r, status);
	buffer_free(&path);
}

void
record_end(struct record *r, const char *status, const char *directory,
	const struct train_summary *s, const char *message)
{
	const struct figure_row figure[] = {
		{ "train.loss", s->loss }, { "train.best_epoch", (double)s->best_epoch },
		{ "train.epochs", (double)s->epochs_done },
			{ "train.skipped_steps", (double)s->skipped_steps },
		{ "data.rows_read", (double)s->rows_read },
			{ "data.rows_skipped", (double)s->rows_skipped },
		{ "data.rows_zero_weight", (double)s->rows_zero_weight },
	};

	const struct figure_row exact[] = {
		{ "exact.rows", (double)s->tenants.rows },
		{ "exact.admitted", (double)s->tenants.admitted },
		{ "exact.waiting", (double)s->tenants.waiting },
		{ "exact.refused", (double)s->tenants.refused },
		{ "exact.evicted", (double)s->tenants.evicted },
		{ "exact.expired", (double)s->tenants.expired },
	};

	if (!is_open(r))
		return;
	write_figures(r, figure, sizeof figure / sizeof *figure, 0, (int64_t)s->step,
		(int64_t)s->rows_trained);
	if (s->n_exact > 0)
		write_figures(r, exact, sizeof exact / sizeof *exact, 0, (int64_t)s->step,
			(int64_t)s->rows_trained);
	if (s->has_valid)
		write_valid(r, &s->valid, 0, (int64_t)s->step, (int64_t)s->rows_trained);
	write_ledger(r, s);
	if (s->version > 0)
		write_artifact(r, directory, s->version);
	note(r, store_run_end(r->store, r->run, status, (int64_t)s->rows_trained, message));
}

void
record_fail(struct record *r, const char *message)
{
	if (is_open(r))
		note(r, store_run_fail(r->store, r->run, message));
}
