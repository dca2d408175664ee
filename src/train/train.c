/* The training loop: epochs, evaluation, early stop, checkpoints, ends. */
#include "train/train.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "train/contrast.h"
#include "train/labels.h"
#include "train/ranks.h"
#include "train/schedule.h"
#include "train/train_private.h"

/* Steps in a row that were not finite before the run is given up. */
#define TRAIN_BAD_STEPS 3

/* What depends on a clock or a signal: bits of a step's votes. */
enum vote { VOTE_INT = 1, VOTE_TERM = 2, VOTE_TIME = 4, VOTE_SAVE = 8 };

/* --- the NaN guard ---------------------------------------------------------- */

static enum rs_status
hint_lower(const struct training *t)
{
	return rs_hint("lower train.learning_rate or set train.clip_norm; '%s' was not changed",
		t->options->directory);
}

static enum rs_status
fail_diverged(const struct training *t, const struct step_result *result, const struct batch *batch)
{
	rs_fail(RS_EDIVERGED,
		"loss is not finite at row %" PRIu64 " of epoch %" PRIu64 " (batch %" PRIu64
		"): %s, learning_rate %g", batch->first_row + 1, batch->epoch + 1,
		batch->first_row / (uint64_t)t->settings->train.batch_size + 1,
		result->culprit ? result->culprit : "a gradient or a sum of gradients", t->rate);
	return hint_lower(t);
}

/* The last steps had no successor whose loss would have told. */
static enum rs_status
check_scores(const struct training *t)
{
	if (!t->best_is_known || !t->best_valid.not_finite || t->gate.trial != NULL)
		return RS_OK;
	rs_fail(RS_EDIVERGED, "scores of validation rows are not finite after step %" PRIu64
		", learning_rate %g", t->m->step, t->rate);
	return hint_lower(t);
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
	if (!ranks_lead(t->options->place))
		return RS_OK;
	log_warn("step skipped at row %" PRIu64 " of epoch %" PRIu64
		": not finite: %s, learning_rate %g",
		batch->first_row + 1, batch->epoch + 1,
		result->culprit ? result->culprit : "a gradient or a sum of gradients", t->rate);
	return RS_OK;
}

/* Too few rows for TRAIN_BAD_STEPS, and none of the steps was taken. */
static enum rs_status
fail_untrained(const struct training *t)
{
	if (t->progress.skipped_in_a_row == 0)
		return rs_fail(RS_EDATA, "no row to train on");
	rs_fail(RS_EDIVERGED, "the loss of no step was finite");
	return rs_hint("look for absurd numbers in the rows, lower train.learning_rate or set "
		"train.clip_norm; '%s' was not changed", t->options->directory);
}

static enum rs_status
save_state(struct training *t)
{
	uint64_t version;

	train_take_position(t);
	return train_save(t, CHECKPOINT_TRAINING, &version);
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

	t->votes = 0;
	if (batch->B == 0)
		return RS_OK;
	t->rate = s->learning_rate * factor;
	RS_TRY(workers_step(t->workers, batch, t->rate, factor, &result));
	t->clock++;
	t->votes = result.votes;
	t->n_later += result.n_later;
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

	dealer_tally(t->dealer, &tally);
	e->epochs = train_epochs(t);
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

	dealer_tally(t->dealer, &tally);
	const uint64_t read = t->carried.read + tally.read;
	if (wanted == 0 || t->summary->epochs_done > 0 || t->start.resumed || read == wanted)
		return RS_OK;
	return rs_fail(RS_EDATA,
		"%" PRIu64 " rows in the training data, --expect-rows wants %" PRIu64,
		read, wanted);
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

/* The figures decide, so all ranks must have the same. */
static enum rs_status
validate(struct training *t, struct metric_result *valid)
{
	struct ranks_pulse pulse;
	uint64_t bits = 0;

	ranks_pulse_begin(&pulse, t->options->place);
	enum rs_status status = train_meet(t);
	if (status == RS_OK)
		status = evaluate_run(t->evaluation, t->workers, t->m, valid, NULL);
	if (status == RS_OK) {
		const double figure = monitor_figure(&t->monitor, valid);

		memcpy(&bits, &figure, sizeof bits);
		status = ranks_compare(t->options->place, bits, RS_EDATA,
			"has another figure of the validation data than");
	}
	ranks_pulse_end(&pulse);
	return status;
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
		RS_TRY(validate(t, &e.valid));
		e.is_best = judge(t, epoch, &e.valid);
		t->best_is_saved = !e.is_best && t->progress.best_epoch > 0;
		if (t->progress.best_epoch == 0) {     /* no figure yet: the last is as good */
			t->best_valid = e.valid;
			t->best_is_known = 1;
		}
	}
	tell_epoch(t, &e);
	RS_TRY(check_positives(t, &e));
	if (ranks_lead(t->options->place))
		labels_warn(t->settings, &e);
	t->summary->epochs_done++;
	t->epoch_rows = t->epoch_dropped = 0;
	t->epoch_started = clock_seconds();
	report_begin_epoch(&t->report);
	if (s->early_stop > 0 && e.has_valid && t->progress.stale_epochs >= (uint64_t)s->early_stop)
		*ending = ENDING_EARLY;
	else if (epoch >= train_epochs(t))
		*ending = ENDING_ROWS;
	if (e.is_best)
		t->progress.best_version = CHECKPOINT_ITSELF;
	return RS_OK;
}

/* What is left to do after the last step of an epoch; phase: how far that has come. */
static enum rs_status
pass_epoch(struct training *t, uint64_t epoch, enum live_phase phase, enum ending *ending)
{
	if (phase == LIVE_EPOCH_ENDS) {
		RS_TRY(end_epoch(t, epoch, ending));
		phase = t->progress.best_version == CHECKPOINT_ITSELF && *ending == ENDING_NONE
			? LIVE_SAVES : LIVE_DONE;
		train_live_settle(t, phase, *ending);
	}
	if (phase != LIVE_SAVES)
		return RS_OK;
	RS_TRY(save_state(t));
	train_live_settle(t, LIVE_DONE, *ending);
	return RS_OK;
}

/* --- the loop ------------------------------------------------------------------ */

/* What this process would have. */
static unsigned
wishes(const struct training *t)
{
	const double limit = t->settings->train.time_limit, now = clock_seconds();
	const double every = t->settings->train.checkpoint_every;
	unsigned votes = 0;

	if (t->options->stop_signal != NULL && *t->options->stop_signal != 0)
		votes |= *t->options->stop_signal == SIGINT ? VOTE_INT : VOTE_TERM;
	if (t->options->period != NULL)
		return votes;               /* whole or not at all                    */
	if (limit > 0 && now - t->started + t->options->elapsed >= limit)
		votes |= VOTE_TIME;
	if (every > 0 && ranks_lead(t->options->place) && now - t->saved_at >= every)
		votes |= VOTE_SAVE;
	return votes;
}

static enum ending
ending_of(struct training *t, unsigned votes)
{
	volatile int *const mine = t->options->stop_signal;

	if (!(votes & (VOTE_INT | VOTE_TERM)))
		return votes & VOTE_TIME ? ENDING_TIME : ENDING_NONE;
	t->signal = votes & VOTE_INT ? SIGINT : SIGTERM;
	if (mine != NULL && *mine == 0)
		*mine = t->signal;
	else if (mine != NULL)
		t->signal = *mine;
	return ENDING_SIGNAL;
}

/* One rank alone decides before a batch; several vote with it and decide after. */
static enum rs_status
run_batches(struct training *t, enum ending *ending)
{
	const int several = ranks_several(t->options->place);
	const struct live_state *const lived = t->start.live;
	const struct batch *batch;
	double wait;

	if (lived != NULL)
		RS_TRY(pass_epoch(t, lived->head.epoch, lived->head.phase, ending));
	while (*ending == ENDING_NONE) {
		if (!several && (*ending = ending_of(t, wishes(t))) != ENDING_NONE)
			return RS_OK;
		wait = 0;
		const enum rs_status status = dealer_next(t->dealer, &batch, &wait);
		if (status == RS_ESIGNAL && (*ending = ending_of(t, wishes(t))) != ENDING_NONE)
			return RS_OK;
		RS_TRY(status);
		report_wait(&t->report, wait);
		if (batch == NULL) {
			*ending = ENDING_ROWS;
			return RS_OK;
		}
		if (several)
			workers_vote(t->workers, wishes(t));
		const double saved_at = t->saved_at;
		RS_TRY(train_live_prepare(t));
		RS_TRY(train_batch(t, batch));
		RS_TRY(train_live_take(t, batch));
		if (batch->last)
			RS_TRY(pass_epoch(t, batch->epoch + 1, LIVE_EPOCH_ENDS, ending));
		const unsigned votes = several ? t->votes : wishes(t) & VOTE_SAVE;
		if (*ending == ENDING_NONE)
			*ending = ending_of(t, votes);
		if (*ending == ENDING_NONE && votes & VOTE_SAVE && t->saved_at == saved_at)
			RS_TRY(save_state(t));
	}
	return RS_OK;
}

/* --- the end of the run ---------------------------------------------------------- */

/* Out of time inside an epoch: its rows count as one, so that the best is chosen
 * among all that was trained. */
static enum rs_status
close_epoch(struct training *t, enum ending *ending)
{
	enum ending ignored = ENDING_TIME;

	if (*ending != ENDING_TIME || t->epoch_rows == 0)
		return RS_OK;
	train_take_position(t);
	return end_epoch(t, t->progress.position.epoch + 1, &ignored);
}

static enum rs_status
finish(struct training *t, enum ending ending)
{
	struct train_summary *const out = t->summary;

	if (ending == ENDING_SIGNAL && t->options->period != NULL) {
		rs_fail(RS_ESIGNAL, "stopped by signal %d after %" PRIu64 " rows", t->signal,
			out->rows_trained);
		return rs_hint("the next run begins this period anew");
	}
	if (ending == ENDING_SIGNAL) {
		train_take_position(t);
		RS_TRY(train_save(t, CHECKPOINT_TRAINING, &out->version));
		rs_fail(RS_ESIGNAL, "stopped by signal %d after %" PRIu64 " rows",
			t->signal, out->rows_trained);
		return rs_hint("go on with --resume");
	}
	RS_TRY(close_epoch(t, &ending));
	if (t->m->step == 0 || (out->rows_trained == 0 && !t->start.resumed))
		return fail_untrained(t);
	RS_TRY(check_scores(t));
	out->stopped_early = ending == ENDING_EARLY;
	out->out_of_time = ending == ENDING_TIME;
	train_take_position(t);
	RS_TRY(dealer_share_files(t->dealer));
	if (t->best_is_saved)
		RS_TRY(train_restore_best(t, ending));
	t->progress.best_version = t->progress.best_epoch > 0 ? CHECKPOINT_ITSELF : 0;
	out->has_valid = t->best_is_known;
	out->valid = t->best_valid;
	RS_TRY(train_trial_after(t));
	RS_TRY(train_save(t, CHECKPOINT_FINAL, &out->version));
	return train_gate_judge(t);
}

/* Who wrote the final version was killed before it told the figures. */
static enum rs_status
evaluate_end(struct training *t)
{
	struct train_summary *const out = t->summary;

	out->version = t->start.version;
	out->has_valid = t->settings->data.valid.n > 0;
	if (out->has_valid)
		RS_TRY(validate(t, &out->valid));
	if (t->gate.trial == NULL)
		return RS_OK;
	RS_TRY(train_trial_after(t));
	return train_gate_judge(t);
}

/* --- set-up ------------------------------------------------------------------------ */

static enum rs_status
open_all(struct training *t, struct spec *spec)
{
	RS_TRY(train_gate_open(t, spec));
	RS_TRY(start_model(spec, t->options, &t->model_options, &t->start));
	if (t->start.finished)
		return RS_OK;
	t->m = t->start.model;
	t->settings = spec_settings(t->m->spec);
	t->progress = t->start.progress;
	t->former = t->progress.tally;
	t->best_is_saved = t->progress.best_epoch > 0
		&& t->progress.best_version != t->start.version;
	train_live_go_on(t);
	monitor_init(&t->monitor, t->settings);
	RS_TRY(labels_check(&t->m->schema, &t->monitor, train_cache(t)));
	RS_TRY(evaluate_open(&(struct evaluate_options){ .cache = LOADER_CACHE_MAKE },
		&t->evaluation));
	RS_TRY(train_read_ledger(t));
	RS_TRY(train_open_dealer(t));
	return train_open_workers(t);
}

static enum rs_status
set_up(struct training *t, struct spec *spec)
{
	struct ranks_pulse pulse;

	ranks_pulse_begin(&pulse, t->options->place);
	const enum rs_status status = open_all(t, spec);
	ranks_pulse_end(&pulse);
	if (status != RS_OK || t->start.finished)
		return status;
	const uint64_t rows = dealer_rows(t->dealer), epochs = train_epochs(t);
	const uint64_t done = t->start.resumed ? t->progress.position.epoch * rows
		+ t->progress.position.rows : 0;
	t->total_steps = dealer_steps(t->dealer) * epochs;
	t->started = t->epoch_started = t->saved_at = clock_seconds();
	report_begin(&t->report, t->options, rows * epochs > done ? rows * epochs - done : 0);
	RS_TRY(train_live_begin(t));
	if (t->options->callbacks.started != NULL)
		t->options->callbacks.started(t->options->callbacks.context, t->m,
			t->report.total_rows);
	return RS_OK;
}

static enum rs_status
fill_summary(struct training *t, enum rs_status status)
{
	struct train_summary *const out = t->summary;

	/* Of shards that may be gone nothing is asked. */
	if (t->m == NULL || t->m->lookup->ops->fetch == NULL || status == RS_OK)
		train_count_tenants(t);
	out->best_epoch = t->progress.best_epoch;
	out->step = t->m != NULL ? t->m->step : t->progress.step;
	out->skipped_steps = t->m != NULL ? t->m->skipped_steps : t->progress.skipped_steps;
	out->loss = report_run_loss(&t->report);
	return train_close_dealer(t);
}

static void
tear_down(struct training *t)
{
	workers_free(t->workers);
	evaluate_close(t->evaluation);
	dealer_close(t->dealer);
	train_close_sampler(t);
	model_free(t->m);
	ledger_free(&t->ledger);
}

/* Takes the spec. */
static enum rs_status
run_locked(struct training *t, struct spec *spec)
{
	enum ending ending = ENDING_NONE;
	enum rs_status status = set_up(t, spec);

	if (status == RS_OK && t->start.finished) {
		if (ranks_lead(t->options->place))
			log_warn("the run in '%s' is finished: nothing to resume",
				t->options->directory);
		t->summary->version = t->start.version;
		t->summary->already_finished = 1;
		return RS_OK;
	}
	if (t->m == NULL)
		t->m = t->start.model;
	if (t->start.live != NULL)
		ending = (enum ending)t->start.live->head.ending;
	else if (status == RS_OK)
		status = train_trial_before(t);
	if (status == RS_OK && !t->start.evaluates)
		status = run_batches(t, &ending);
	if (status == RS_OK)
		status = t->start.evaluates ? evaluate_end(t) : finish(t, ending);
	struct rs_failure failure = { .status = RS_OK };
	if (status != RS_OK)
		rs_failure_take(&failure);
	const enum rs_status filled = fill_summary(t, status);
	train_live_end(t, status);
	tear_down(t);
	if (status != RS_OK)
		return rs_failure_put(&failure);
	RS_TRY(filled);
	if (t->summary->rows_skipped > 0)
		return rs_fail(RS_EPARTIAL, "%" PRIu64 " of %" PRIu64 " rows were skipped",
			t->summary->rows_skipped, t->summary->rows_read);
	return RS_OK;
}

/* The directory is that of rank 0; who trains periods has locked it. */
static enum rs_status
enter_directory(struct training *t)
{
	const struct train_options *const o = t->options;

	if (!ranks_lead(o->place) || o->period != NULL)
		return RS_OK;
	RS_TRY(checkpoint_lock(o->directory, o->lock_wait, &t->lock));
	RS_TRY(checkpoint_prune(o->directory, SIZE_MAX, NULL, 0));
	return train_gate_enter(t);
}

static enum rs_status
check_cache(const struct settings *s, const struct train_options *o)
{
	if (!o->rebuild_cache || s->data.cache[0] != '\0')
		return RS_OK;
	(void)rs_fail(RS_EUSAGE, "--rebuild-cache: data.cache names no directory");
	return rs_hint("set it, for instance with -o data.cache=cache");
}

enum rs_status
train_run(struct spec *spec, const struct train_options *options, struct train_summary *out)
{
	struct training t = { .options = options, .summary = out, .lock.fd = -1 };

	ledger_init(&t.ledger);
	memset(out, 0, sizeof *out);
	out->loss = NAN;
	enum rs_status status = train_check_place(spec_settings(spec), options->place);
	if (status == RS_OK)
		status = check_cache(spec_settings(spec), options);
	if (status != RS_OK) {
		spec_free(spec);
		return status;
	}
	t.by_file = spec_settings(spec)->cluster.policy == POLICY_FILE;
	t.model_options = (struct model_options){
		.kernel = options->kernel, .gpu = options->gpu, .for_training = 1,
		.place = options->place,
		.n_threads = train_count_threads(spec_settings(spec), options->place),
		.pins_threads = spec_settings(spec)->train.pin_threads,
		.tables = spec_settings(spec)->gpu.tables,
		.wants_gpu = spec_settings(spec)->placement.device == DEVICE_CUDA
			|| spec_settings(spec)->gpu.tables == GPU_TABLES_GPU,
	};
	status = train_forget_places(spec);
	if (status == RS_OK && (status = enter_directory(&t)) != RS_OK)
		status = ranks_outcome(options->place, status);    /* else start_model() tells */
	const double started = clock_seconds();
	if (status == RS_OK)
		status = run_locked(&t, spec);
	else
		spec_free(spec);
	out->seconds = clock_seconds() - started + options->elapsed;
	train_gate_close(&t);
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
