/* The training loop: epochs, evaluation, early stop, checkpoints, ends. */
#include "train/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "data/sampler.h"
#include "train/checkpoint.h"
#include "train/contrast.h"
#include "train/evaluate.h"
#include "train/labels.h"
#include "train/monitor.h"
#include "train/report.h"
#include "train/schedule.h"
#include "train/start.h"
#include "train/workers.h"

/* Steps in a row that were not finite before the run is given up. */
#define TRAIN_BAD_STEPS 3

enum ending { ENDING_NONE, ENDING_ROWS, ENDING_EARLY, ENDING_TIME, ENDING_SIGNAL };

struct training {
	const struct train_options *options;
	const struct settings      *settings;      /* of the model's spec             */
	struct train_summary       *summary;
	struct monitor              monitor;
	struct model_options        model_options;
	struct checkpoint_lock      lock;
	struct start                start;
	struct model               *m;             /* owned                           */
	struct loader              *loader;
	struct sampler             *sampler;       /* NULL: no items are drawn        */
	struct workers             *workers;
	struct evaluation          *evaluation;    /* of data.valid                   */
	struct report               report;
	struct checkpoint_progress  progress;
	struct parser_tally         former;        /* of the runs this one goes on with */
	uint64_t total_steps;
	double   started, epoch_started, saved_at;
	uint64_t epoch_rows, epoch_dropped, epoch_skipped_before;
	struct metric_result best_valid;
	int      best_is_known;                    /* best_valid is of best_version   */
	int      best_is_saved;                    /* the weights are not the best    */
	double   rate;
};

/* --- rows and positions ---------------------------------------------------- */

static void
take_position(struct training *t)
{
	struct parser_tally now;

	loader_position(t->loader, &t->progress.position);
	loader_tally(t->loader, &now);
	t->progress.tally = (struct parser_tally){
		.read = t->former.read + now.read, .skipped = t->former.skipped + now.skipped,
		.zero_weight = t->former.zero_weight + now.zero_weight, .blank = t->former.blank
			+ now.blank,
	};
	t->progress.step = t->m->step;
	t->progress.skipped_steps = t->m->skipped_steps;
	t->progress.rate_factor = t->m->rate_factor;
	t->progress.seed = (uint64_t)t->settings->train.seed;
}

static enum rs_status
save(struct training *t, enum checkpoint_state state, uint64_t *version)
{
	const char *const directory = t->options->directory;
	uint64_t bytes;

	t->progress.state = state;
	RS_TRY(checkpoint_save(directory, t->m, &t->progress, state == CHECKPOINT_FINAL, version,
		&bytes));
	if (t->progress.best_version == CHECKPOINT_ITSELF)
		t->progress.best_version = *version;
	t->saved_at = clock_seconds();
	if (t->options->callbacks.saved != NULL)
		t->options->callbacks.saved(t->options->callbacks.context, directory, *version,
			bytes);
	return checkpoint_prune(directory, (size_t)t->settings->train.keep,
		&t->progress.best_version, 1);
}

static enum rs_status
save_state(struct training *t)
{
	uint64_t version;

	take_position(t);
	return save(t, CHECKPOINT_TRAINING, &version);
}

/* --- the NaN guard ---------------------------------------------------------- */

static enum rs_status
fail_diverged(const struct training *t, const struct step_result *result, const struct batch *batch)
{
	rs_fail(RS_EDIVERGED,
		"loss is not finite at row %" PRIu64 " of epoch %" PRIu64 " (batch %" PRIu64
		"): %s, learning_rate %g", batch->first_row + 1, batch->epoch + 1,
		batch->first_row / (uint64_t)t->settings->train.batch_size + 1,
		result->culprit ? result->culprit : "a gradient or a sum of gradients", t->rate);
	return rs_hint("lower train.learning_rate or set train.clip_norm; '%s' was not changed",
		t->options->directory);
}

static enum rs_status
guard(struct training *t, const struct step_result *result, const struct batch *batch)
{
	if (!result->skipped) {
		t->progress.skipped_in_a_row = 0;
		return RS_OK;
	}
	t->epoch_dropped += batch->B - batch->drawn;
	t->summary->rows_skipped += batch->B - batch->drawn;
	if (++t->progress.skipped_in_a_row >= TRAIN_BAD_STEPS)
		return fail_diverged(t, result, batch);
	log_warn("step skipped at row %" PRIu64 " of epoch %" PRIu64
		": not finite: %s, learning_rate %g",
		batch->first_row + 1, batch->epoch + 1,
		result->culprit ? result->culprit : "a gradient or a sum of gradients", t->rate);
	return RS_OK;
}

/* --- one batch --------------------------------------------------------------- */

static enum rs_status
train_batch(struct training *t, const struct batch *batch)
{
	const struct train_settings *const s = &t->settings->train;
	const uint64_t step = t->m->step - t->progress.schedule_start;
	const double factor = schedule_factor(s, step, t->total_steps, t->m->rate_factor)
		* schedule_batch_factor(s);
	struct step_result result;

	if (batch->B == 0)
		return RS_OK;
	t->rate = s->learning_rate * factor;
	RS_TRY(workers_step(t->workers, batch, t->rate, factor, &result));
	RS_TRY(guard(t, &result, batch));
	if (result.skipped)
		return RS_OK;
	t->epoch_rows += batch->B - batch->drawn;
	t->summary->rows_trained += batch->B - batch->drawn;
	result.rows -= (double)batch->drawn;           /* the table counts those of the log */
	report_step(&t->report, &result, batch->epoch + 1, t->m->step, t->rate);
	return RS_OK;
}

/* --- the end of an epoch ------------------------------------------------------ */

/* Takes the figure of an epoch; 1 when it is the best so far. */
static int
judge(struct training *t, uint64_t epoch, const struct metric_result *valid)
{
	const struct train_settings *const s = &t->settings->train;
	struct checkpoint_progress *const p = &t->progress;
	const double figure = monitor_figure(&t->monitor, valid);

	if (monitor_is_better(&t->monitor, figure, p->best, s->min_delta)) {
		p->best = figure;
		p->best_epoch = epoch;
		p->stale_epochs = p->plateau_stale = 0;
		t->best_valid = *valid;
		t->best_is_known = 1;
		return 1;
	}
	p->stale_epochs++;
	if (++p->plateau_stale >= (uint64_t)(s->plateau_patience > 0 ? s->plateau_patience : 1)
	    && s->schedule == SCHEDULE_PLATEAU) {
		t->m->rate_factor *= s->plateau_factor;
		p->plateau_stale = 0;
	}
	return 0;
}

static void
tell_epoch(struct training *t, struct train_epoch *e)
{
	struct parser_tally tally;

	loader_tally(t->loader, &tally);
	e->epochs = (uint64_t)t->settings->train.epochs;
	e->rows = t->epoch_rows;
	e->step = t->m->step;
	e->skipped = tally.skipped - t->epoch_skipped_before + t->epoch_dropped;
	e->loss = report_epoch_loss(&t->report);
	e->label_mean = report_epoch_label(&t->report);
	e->seconds = clock_seconds() - t->epoch_started;
	e->learning_rate = t->rate;
	if (t->options->callbacks.epoch != NULL)
		t->options->callbacks.epoch(t->options->callbacks.context, e);
	t->epoch_skipped_before = tally.skipped;
}

static enum rs_status
check_rows(const struct training *t)
{
	struct parser_tally tally;
	const uint64_t wanted = t->options->expect_rows;

	loader_tally(t->loader, &tally);
	if (wanted == 0 || t->summary->epochs_done > 0 || t->start.resumed || tally.read == wanted)
		return RS_OK;
	return rs_fail(RS_EDATA,
		"%" PRIu64 " rows in the training data, --expect-rows wants %" PRIu64,
		tally.read, wanted);
}

/* An epoch in which no row counted: with losses over items, those with a label of 0. */
static enum rs_status
check_positives(const struct training *t, const struct train_epoch *e)
{
	if (!isnan(e->loss) || e->rows == 0 || !contrast_needed(t->settings) ||
	    t->progress.skipped_in_a_row > 0)
		return RS_OK;
	(void)rs_fail(RS_EDATA, "no row of epoch %" PRIu64 " has a label above 0", e->epoch);
	return rs_hint("losses over items learn from such rows only");
}

static enum rs_status
end_epoch(struct training *t, uint64_t epoch, enum ending *ending)
{
	const struct train_settings *const s = &t->settings->train;
	struct train_epoch e =
		{ .epoch = epoch, .has_valid = t->settings->data.valid.n > 0,
			.best = t->progress.best };

	if (*ending != ENDING_TIME)
		RS_TRY(check_rows(t));
	if (e.has_valid) {
		RS_TRY(evaluate_run(t->evaluation, t->workers, t->m, &e.valid, NULL));
		e.is_best = judge(t, epoch, &e.valid);
		t->best_is_saved = !e.is_best && t->progress.best_epoch > 0;
		if (t->progress.best_epoch == 0) {     /* no figure yet: the last is as good */
			t->best_valid = e.valid;
			t->best_is_known = 1;
		}
	}
	tell_epoch(t, &e);
	RS_TRY(check_positives(t, &e));
	labels_warn(t->settings, &e);
	t->summary->epochs_done++;
	t->epoch_rows = t->epoch_dropped = 0;
	t->epoch_started = clock_seconds();
	report_begin_epoch(&t->report);
	if (s->early_stop > 0 && e.has_valid && t->progress.stale_epochs >= (uint64_t)s->early_stop)
		*ending = ENDING_EARLY;
	else if (epoch >= (uint64_t)s->epochs)
		*ending = ENDING_ROWS;
	if (!e.is_best)
		return RS_OK;
	t->progress.best_version = CHECKPOINT_ITSELF;
	return *ending == ENDING_NONE ? save_state(t) : RS_OK;
}

/* --- the loop ------------------------------------------------------------------ */

static enum ending
asked_to_stop(const struct training *t)
{
	const double limit = t->settings->train.time_limit;

	if (t->options->stop_signal != NULL && *t->options->stop_signal != 0)
		return ENDING_SIGNAL;
	return limit > 0 && clock_seconds() - t->started >= limit ? ENDING_TIME : ENDING_NONE;
}

static enum rs_status
run_batches(struct training *t, enum ending *ending)
{
	const double every = t->settings->train.checkpoint_every;
	const struct batch *batch;
	double wait;

	while (*ending == ENDING_NONE) {
		*ending = asked_to_stop(t);
		if (*ending != ENDING_NONE)
			return RS_OK;
		wait = 0;
		RS_TRY(loader_next(t->loader, &batch, &wait));
		report_wait(&t->report, wait);
		if (batch == NULL) {
			*ending = ENDING_ROWS;
			return RS_OK;
		}
		RS_TRY(train_batch(t, batch));
		if (batch->last)
			RS_TRY(end_epoch(t, batch->epoch + 1, ending));
		if (*ending == ENDING_NONE && every > 0 && clock_seconds() - t->saved_at >= every)
			RS_TRY(save_state(t));
	}
	return RS_OK;
}

/* --- the end of the run ---------------------------------------------------------- */

static enum rs_status
copy_ledger(struct training *t)
{
	const size_t n = loader_n_files(t->loader);
	struct loader_file *file;

	RS_TRY(memory_alloc(n > 0 ? n : 1, sizeof *file, &file));
	t->summary->file = file;
	for (size_t i = 0; i < n; i++) {
		char *path;

		file[i] = *loader_file(t->loader, i);
		RS_TRY(memory_strdup(file[i].path, &path));
		file[i].path = path;
		t->summary->n_files = i + 1;
	}
	return RS_OK;
}

/* After the loader, whose thread draws. */
static void
close_sampler(struct training *t)
{
	const uint64_t n = t->sampler != NULL ? sampler_fallbacks(t->sampler) : 0;

	if (n > 0)
		log_warn("%" PRIu64 " negatives were drawn from all items: the item of their row "
			"is alone with its value of '%s'", n, t->settings->items.within);
	sampler_free(t->sampler);
	t->sampler = NULL;
}

/* The loader parses ahead for the schema of the model, so it ends before the
 * model does; the summary keeps its counts. */
static enum rs_status
close_loader(struct training *t)
{
	struct train_summary *const out = t->summary;
	struct parser_tally tally;

	if (t->loader == NULL)
		return RS_OK;
	loader_tally(t->loader, &tally);
	out->rows_read = tally.read;
	out->rows_skipped += tally.skipped;
	out->rows_zero_weight = tally.zero_weight;
	const enum rs_status status = copy_ledger(t);
	loader_close(t->loader);
	t->loader = NULL;
	close_sampler(t);
	return status;
}

/* The weights of the best epoch come back, with their optimizer state. */
static enum rs_status
restore_best(struct training *t)
{
	struct checkpoint_progress best;

	workers_free(t->workers);
	t->workers = NULL;
	RS_TRY(close_loader(t));
	model_free(t->m);
	t->m = NULL;
	t->settings = NULL;
	RS_TRY(checkpoint_load(t->options->directory, t->progress.best_version, &t->model_options,
		&t->m, &best, NULL));
	t->settings = spec_settings(t->m->spec);
	t->progress.step = best.step;
	t->progress.position = best.position;
	t->progress.tally = best.tally;
	t->progress.rate_factor = best.rate_factor;
	t->progress.skipped_steps = best.skipped_steps;
	t->progress.skipped_in_a_row = best.skipped_in_a_row;
	t->progress.stale_epochs = best.stale_epochs;
	t->progress.plateau_stale = best.plateau_stale;
	if (t->best_is_known)
		return RS_OK;
	RS_TRY(workers_create(t->m, t->model_options.n_threads, &t->workers));
	RS_TRY(evaluate_run(t->evaluation, t->workers, t->m, &t->best_valid, NULL));
	t->best_is_known = 1;
	return RS_OK;
}

/* Out of time inside an epoch: its rows count as one, so that the best is chosen
 * among all that was trained. */
static enum rs_status
close_epoch(struct training *t, enum ending *ending)
{
	enum ending ignored = ENDING_TIME;

	if (*ending != ENDING_TIME || t->epoch_rows == 0)
		return RS_OK;
	take_position(t);
	return end_epoch(t, t->progress.position.epoch + 1, &ignored);
}

static enum rs_status
finish(struct training *t, enum ending ending)
{
	struct train_summary *const out = t->summary;

	if (ending == ENDING_SIGNAL) {
		take_position(t);
		RS_TRY(save(t, CHECKPOINT_TRAINING, &out->version));
		rs_fail(RS_ESIGNAL, "stopped by signal %d after %" PRIu64 " rows",
			*t->options->stop_signal,
			out->rows_trained);
		return rs_hint("go on with --resume");
	}
	RS_TRY(close_epoch(t, &ending));
	if (t->m->step == 0 || (out->rows_trained == 0 && !t->start.resumed))
		return rs_fail(RS_EDATA, "no row to train on");
	out->stopped_early = ending == ENDING_EARLY;
	out->out_of_time = ending == ENDING_TIME;
	take_position(t);
	if (t->best_is_saved)
		RS_TRY(restore_best(t));
	t->progress.best_version = t->progress.best_epoch > 0 ? CHECKPOINT_ITSELF : 0;
	out->has_valid = t->best_is_known;
	out->valid = t->best_valid;
	return save(t, CHECKPOINT_FINAL, &out->version);
}

/* --- set-up ------------------------------------------------------------------------ */

static enum rs_status
open_sampler(struct training *t)
{
	if (!sampler_needed(t->settings))
		return RS_OK;
	if (t->m->catalogue == NULL)
		return rs_fail(RS_ESPEC, "items are to be drawn, but the model has none");
	return sampler_create(&t->m->schema, t->m->catalogue, &t->sampler);
}

static enum rs_status
open_loader(struct training *t)
{
	const struct settings *const s = t->settings;
	const struct loader_options options = {
		.schema = &t->m->schema, .files = &s->data.train,
		.command = s->data.command[0] ? s->data.command : NULL, .purpose = PARSE_TRAIN,
		.batch_size = (size_t)s->train.batch_size, .shuffle = s->data.shuffle,
		.seed = (uint64_t)s->train.seed, .epochs = (uint64_t)s->train.epochs,
		.n_threads = (size_t)s->data.threads, .sampler = t->sampler,
	};

	RS_TRY(loader_open(&options, &t->loader));
	if (t->start.resumed)
		RS_TRY(loader_resume(t->loader, &t->progress.position));
	return RS_OK;
}

static enum rs_status
set_up(struct training *t, struct spec *spec)
{
	RS_TRY(start_model(spec, t->options, &t->model_options, &t->start));
	if (t->start.finished)
		return RS_OK;
	t->m = t->start.model;
	t->settings = spec_settings(t->m->spec);
	t->progress = t->start.progress;
	t->former = t->progress.tally;
	t->best_is_saved = t->progress.best_epoch > 0
		&& t->progress.best_version != t->start.version;
	monitor_init(&t->monitor, t->settings);
	RS_TRY(labels_check(&t->m->schema, &t->monitor));
	RS_TRY(evaluate_open(&(struct evaluate_options){ 0 }, &t->evaluation));
	RS_TRY(open_sampler(t));
	RS_TRY(open_loader(t));
	RS_TRY(workers_create(t->m, t->model_options.n_threads, &t->workers));

	const uint64_t rows = loader_rows(t->loader), epochs = (uint64_t)t->settings->train.epochs;
	const uint64_t batch = (uint64_t)t->settings->train.batch_size;
	const uint64_t done = t->start.resumed ? t->progress.position.epoch * rows
		+ t->progress.position.rows : 0;
	t->total_steps = (rows + batch - 1) / batch * epochs;
	t->started = t->epoch_started = t->saved_at = clock_seconds();
	report_begin(&t->report, t->options, rows * epochs > done ? rows * epochs - done : 0);
	if (t->options->callbacks.started != NULL)
		t->options->callbacks.started(t->options->callbacks.context, t->m,
			t->report.total_rows);
	return RS_OK;
}

static enum rs_status
fill_summary(struct training *t)
{
	struct train_summary *const out = t->summary;

	out->best_epoch = t->progress.best_epoch;
	out->step = t->m != NULL ? t->m->step : t->progress.step;
	out->skipped_steps = t->m != NULL ? t->m->skipped_steps : t->progress.skipped_steps;
	out->loss = report_run_loss(&t->report);
	return close_loader(t);
}

static void
tear_down(struct training *t)
{
	workers_free(t->workers);
	evaluate_close(t->evaluation);
	loader_close(t->loader);
	close_sampler(t);
	model_free(t->m);
}

/* Takes the spec. */
static enum rs_status
run_locked(struct training *t, struct spec *spec)
{
	enum ending ending = ENDING_NONE;
	enum rs_status status = set_up(t, spec);

	if (status == RS_OK && t->start.finished) {
		log_warn("the run in '%s' is finished: nothing to resume", t->options->directory);
		t->summary->version = t->start.version;
		t->summary->already_finished = 1;
		return RS_OK;
	}
	if (t->m == NULL)
		t->m = t->start.model;
	if (status == RS_OK)
		status = run_batches(t, &ending);
	if (status == RS_OK)
		status = finish(t, ending);
	struct rs_failure failure = { .status = RS_OK };
	if (status != RS_OK)
		rs_failure_take(&failure);
	const enum rs_status filled = fill_summary(t);
	tear_down(t);
	if (status != RS_OK)
		return rs_failure_put(&failure);
	RS_TRY(filled);
	if (t->summary->rows_skipped > 0)
		return rs_fail(RS_EPARTIAL, "%" PRIu64 " of %" PRIu64 " rows were skipped",
			t->summary->rows_skipped, t->summary->rows_read);
	return RS_OK;
}

enum rs_status
train_run(struct spec *spec, const struct train_options *options, struct train_summary *out)
{
	struct training t = { .options = options, .summary = out };
	const struct settings *const settings = spec_settings(spec);
	const char *why;
	const size_t threads = settings->train.threads > 0 ? (size_t)settings->train.threads :
							     thread_auto_count(&why);

	memset(out, 0, sizeof *out);
	out->loss = NAN;
	t.model_options = (struct model_options){
		.kernel = options->kernel, .for_training = 1,
		.n_threads = model_workers(settings, threads),
	};
	/* A version must not tell how many threads made it. */
	enum rs_status status = spec_set(spec, "train", "threads", "0");
	if (status == RS_OK)
		status = checkpoint_lock(options->directory, options->lock_wait, &t.lock);
	if (status != RS_OK) {
		spec_free(spec);
		return status;
	}
	const double started = clock_seconds();
	status = checkpoint_prune(options->directory, SIZE_MAX, NULL, 0);
	if (status == RS_OK)
		status = run_locked(&t, spec);
	else
		spec_free(spec);
	out->seconds = clock_seconds() - started;
	checkpoint_unlock(&t.lock);
	return status;
}

void
train_summary_free(struct train_summary *s)
{
	for (size_t i = 0; i < s->n_files; i++)
		free((char *)(uintptr_t)s->file[i].path);
	free((struct loader_file *)(uintptr_t)s->file);
	s->file = NULL;
	s->n_files = 0;
}
