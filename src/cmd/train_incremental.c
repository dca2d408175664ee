/* train --incremental: from what is new to what is current. */
#include "cmd/train_incremental.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cmd/cron.h"
#include "cmd/incremental_check.h"
#include "cmd/incremental_past.h"
#include "cmd/incremental_sound.h"
#include "cmd/session_board.h"
#include "cmd/textfile.h"
#include "cmd/train_job.h"
#include "train/checkpoint.h"
#include "train/gate.h"
#include "train/intake.h"
#include "train/publish.h"
#include "train/trial.h"

#define CONDITIONS_MAX 32

struct incremental {
	struct session *session;
	const struct spec *spec;
	const struct settings *settings;
	const char *directory;
	struct checkpoint_lock lock;
	struct gate_condition condition[CONDITIONS_MAX];
	size_t n_conditions;
	struct incremental_past past;
	struct intake *intake;
	double started;
	int    n_done, n_rejected, n_partial, incomplete;
	char   reason[1100];               /* why the last rejected period was        */
	struct textfile_figures figures;
};

/* --- what was asked for ------------------------------------------------------------- */

static enum rs_status
add_condition(struct incremental *r, const char *text)
{
	if (r->n_conditions == CONDITIONS_MAX)
		return rs_fail(RS_EUSAGE, "more than %d conditions", CONDITIONS_MAX);
	return gate_parse(text, &r->condition[r->n_conditions++]);
}

/* Those of the command line instead of the spec's. */
static enum rs_status
read_conditions(struct incremental *r)
{
	const struct text_list *const own = &r->settings->incremental.require;
	const char *text;
	size_t i = 0;

	for (; (text = argument_nth(r->session->a, "--require", i)) != NULL; i++)
		RS_TRY(add_condition(r, text));
	for (size_t k = 0; i == 0 && k < own->n; k++)
		RS_TRY(add_condition(r, own->item[k]));
	return RS_OK;
}

static enum rs_status
read_time(const struct arguments *a, const char *name, int64_t *out)
{
	*out = LEDGER_NO_PERIOD;
	return argument_given(a, name) ? intake_parse_time(argument(a, name), out) : RS_OK;
}

/* --- what is new --------------------------------------------------------------------- */

static enum rs_status
scan(struct incremental *r)
{
	struct intake_options options = { .settings = r->settings, .ledger = &r->past.ledger,
		.now = clock_wall_ms() / 1000 };

	RS_TRY(read_time(r->session->a, "--since", &options.since));
	RS_TRY(read_time(r->session->a, "--until", &options.until));
	return intake_scan(&options, &r->intake);
}

static enum rs_status
look(struct incremental *r)
{
	RS_TRY(incremental_past_read(r->directory, &r->settings->incremental, &r->past));
	return scan(r);
}

static void
forget(struct incremental *r)
{
	intake_free(r->intake);
	r->intake = NULL;
	incremental_past_free(&r->past);
}

/* Without a due period nothing is read but ledgers.  A damaged one is a damaged version. */
static enum rs_status
look_well(struct incremental *r)
{
	struct rs_failure failure = { .status = RS_OK };
	int went_back;

	enum rs_status status = look(r);
	if (status == RS_OK && r->intake->n_due == 0)
		return RS_OK;
	if (status != RS_OK)
		rs_failure_take(&failure);
	if (status != RS_OK && status != RS_EDATA)
		return rs_failure_put(&failure);
	RS_TRY(incremental_sound_version(r->directory, &r->settings->incremental, &went_back,
		&r->incomplete));
	if (!went_back)
		return status == RS_OK ? RS_OK : rs_failure_put(&failure);
	forget(r);
	return look(r);
}

/* A number that rows scored before they are trained must reach can be met by no first model:
 * none scored them.  Refused, all periods would be left out, and no line ever begin. */
static enum rs_status
check_first(const struct incremental *r)
{
	const struct settings *const s = r->settings;
	const enum gate_rows gate = s->incremental.gate;

	if (r->past.version != 0 || r->intake->n_due == 0 || gate == GATE_VALID
	    || (gate == GATE_AUTO && s->data.valid.n > 0))
		return RS_OK;
	for (size_t i = 0; i < r->n_conditions; i++)
		if (r->condition[i].against == GATE_CONSTANT) {
			rs_fail(RS_ESPEC, "'%s' is judged on rows scored before they are trained, "
				"and there is no model yet that could", r->condition[i].text);
			return rs_hint("train a first model without --incremental, compare with "
				"last or best(N), or set data.valid");
		}
	return RS_OK;
}

static void
tell_notices(struct incremental *r)
{
	const struct incremental_settings *const s = &r->settings->incremental;

	for (size_t i = 0; i < r->intake->n_notices; i++) {
		const struct intake_notice *const n = &r->intake->notice[i];

		log_warn("%s", n->text);
		r->n_partial += (n->use == LEDGER_LATE && s->late == LATE_SKIP)
			|| (n->use == LEDGER_REPLACED && s->replaced == REPLACED_SKIP);
	}
	for (size_t i = 0; i < r->intake->n_empty; i++) {
		char text[24];

		log_info("period %s has no rows", intake_time(r->intake->empty[i], text));
	}
}

static void
tell_waiting(const struct incremental *r)
{
	const struct incremental_settings *const s = &r->settings->incremental;
	char begin[24];

	/* Timers want to hear nothing, who looks on wants to know why nothing happens. */
	if (isatty(2) && log_level() == LOG_WARN && !argument_given(r->session->a, "--cron"))
		log_set_level(LOG_INFO);
	log_info("nothing new to train");
	if (r->intake->waiting != LEDGER_NO_PERIOD)
		log_info("period %s is not complete: %s", intake_time(r->intake->waiting, begin),
			s->ready[0] != '\0' ? "its file of incremental.ready is not there"
			: "incremental.wait has not passed since its end or a change of its files");
}

static enum rs_status
show_due(struct incremental *r)
{
	char begin[24];

	RS_TRY(look(r));
	if (r->intake->n_due == 0)
		tell_waiting(r);
	for (size_t i = 0; i < r->intake->n_due; i++) {
		const struct intake_period *const p = &r->intake->due[i];

		RS_TRY(output_printf("would train %s:", intake_time(p->begin, begin)));
		for (size_t k = 0; k < p->train.n; k++)
			RS_TRY(output_printf(" %s", p->train.item[k]));
		RS_TRY(output_printf("\n"));
	}
	return output_flush();
}

/* --- one period ------------------------------------------------------------------------ */

struct candidate {
	const struct intake_period *period;
	struct ledger ledger;              /* with the period in it                   */
	struct text_list held;             /* of the last accepted period             */
	struct train_period train;
	struct trial *trial;
	struct train_summary summary;
	char  *verdict;
};

static enum rs_status
open_candidate(struct incremental *r, const struct intake_period *period, struct candidate *c)
{
	const struct incremental_settings *const s = &r->settings->incremental;

	memset(c, 0, sizeof *c);
	ledger_init(&c->ledger);
	c->period = period;
	RS_TRY(incremental_past_held(&r->past, &c->held));
	RS_TRY(ledger_copy(&r->past.ledger, &c->ledger));
	c->train = (struct train_period){ .files = &period->train, .epochs = (uint64_t)s->epochs,
		.ledger = &c->ledger, .first = c->ledger.n };
	for (size_t i = 0; i < period->n; i++) {
		struct ledger_entry entry;

		RS_TRY(ledger_entry_copy(&period->entry[i], &entry));
		RS_TRY(ledger_add(&c->ledger, &entry));
	}
	if (c->ledger.mark < period->end)
		c->ledger.mark = period->end;
	const struct trial_options options = { .period = period->begin, .rows = &period->train,
		.held = &c->held, .gate = s->gate, .history = r->past.figures,
		.condition = r->condition, .n_conditions = r->n_conditions };
	RS_TRY(trial_open(&options, r->settings, &c->trial));
	c->train.trial = c->trial;
	return RS_OK;
}

static void
close_candidate(struct candidate *c)
{
	trial_free(c->trial);
	incremental_past_free_names(&c->held);
	ledger_free(&c->ledger);
	free(c->verdict);
}

/* What is told to Prometheus of a period that is done with. */
static void
count(struct incremental *r, const struct job_verdict *v)
{
	struct textfile_figures *const f = &r->figures;

	f->rows += v->rows;
	f->periods++;
	f->rejected += v->is_refused;
	f->period_rows = v->rows;
	f->auc = v->auc;
	f->logloss = v->logloss;
	f->calibration = v->calibration;
}

static void
count_candidate(struct incremental *r, const struct candidate *c, int is_refused)
{
	const struct metric_result *const m = trial_progressive(c->trial);
	const int is_scored = m->rows > 0;

	count(r, &(struct job_verdict){ .is_refused = is_refused,
		.rows = (double)c->summary.rows_trained, .auc = is_scored ? m->auc : NAN,
		.logloss = is_scored ? m->logloss : NAN,
		.calibration = is_scored ? m->calibration : NAN });
}

static enum rs_status
accept(struct incremental *r, uint64_t version)
{
	return publish_accept(r->directory, version, &r->settings->incremental, &r->incomplete);
}

/* RS_EUNMET. */
static enum rs_status
refuse(struct incremental *r, uint64_t version, const char *why)
{
	RS_TRY(publish_reject(r->directory, version, why));
	r->n_rejected++;
	return rs_fail(RS_EUNMET, "%s", why);
}

/* The candidate becomes current, or is put aside. */
static enum rs_status
judge(struct incremental *r, struct candidate *c)
{
	struct rs_failure why;

	if (trial_judge(c->trial, r->condition, r->n_conditions, &c->verdict) == RS_OK) {
		if (c->verdict != NULL)
			progress_gate(&r->session->progress, 1, c->verdict);
		count_candidate(r, c, 0);
		return accept(r, c->summary.version);
	}
	rs_failure_take(&why);
	if (why.status != RS_EUNMET)
		return rs_failure_put(&why);
	progress_gate(&r->session->progress, 0, why.text);
	count_candidate(r, c, 1);
	return refuse(r, c->summary.version, why.text);
}

/* What was read of a file that was renamed meanwhile may be other rows, or none: the period
 * is trained again another time. */
static enum rs_status
check_files(const struct candidate *c, enum rs_status status)
{
	struct rs_failure failure = { .status = RS_OK };

	if (status != RS_OK && status != RS_EPARTIAL && status != RS_EDATA &&
	    status != RS_ENOINPUT)
		return status;
	if (status != RS_OK)
		rs_failure_take(&failure);
	RS_TRY(intake_check(c->period));
	return status == RS_OK ? RS_OK : rs_failure_put(&failure);
}

static enum rs_status
train_candidate(struct incremental *r, struct candidate *c)
{
	struct train_options options;
	struct spec *spec;

	RS_TRY(session_options(r->session, &options));
	RS_TRY(session_spec(r->session->a, &spec));
	options.period = &c->train;
	session_board_rhythm(r->session, r->settings, &options);
	(void)intake_time(c->period->begin, r->session->period);
	options.from = r->past.version != 0 ? r->directory : NULL;
	enum rs_status status = session_record_begin(r->session, r->spec);
	if (status != RS_OK) {
		spec_free(spec);
		return status;
	}
	session_watch(r->session);
	failpoint("incremental.period");
	status = check_files(c, train_run(spec, &options, &c->summary));
	failpoint("incremental.trained");
	struct rs_failure partial = { .status = RS_OK };
	if (status == RS_EPARTIAL)
		rs_failure_take(&partial);
	if (status == RS_OK || status == RS_EPARTIAL)
		status = judge(r, c);
	if (status == RS_OK && partial.status != RS_OK)
		status = rs_failure_put(&partial);
	return status;
}

/* The same in a job, whose worker 0 has judged, recorded and said everything. */
static enum rs_status
train_candidate_in_job(struct incremental *r, struct candidate *c)
{
	char *condition[CONDITIONS_MAX];
	const struct job_period period = { .begin = c->period->begin, .epochs = c->train.epochs,
		.first = c->train.first, .files = c->period->train, .held = c->held,
		.condition = condition, .n_conditions = r->n_conditions, .ledger = c->ledger,
		.history = r->past.figures };
	struct job_verdict verdict = { 0 };

	for (size_t i = 0; i < r->n_conditions; i++)
		condition[i] = (char *)(uintptr_t)r->condition[i].text;
	enum rs_status status = check_files(c, train_job(r->session, r->spec, &period, &verdict));
	const int is_partial = command_exit_code == rs_exit_code(RS_EPARTIAL);
	if (status == RS_OK && verdict.version == 0)
		status = rs_fail(RS_EPEER, "the job ended with exit code %d",
			command_exit_code);
	else if (status == RS_OK) {
		command_exit_code = -1;
		count(r, &verdict);
		status = verdict.is_refused ? refuse(r, verdict.version, verdict.text)
			: accept(r, verdict.version);
	}
	free(verdict.text);
	if (status == RS_OK && is_partial)
		return rs_fail(RS_EPARTIAL, "rows were skipped");
	return status;
}

static int
is_done(enum rs_status status)
{
	return status == RS_OK || status == RS_EPARTIAL || status == RS_EUNMET;
}

/* The last one is what the run ends with, so the others are told at once. */
static void
keep_reason(struct incremental *r, const struct intake_period *period, const char *why)
{
	char begin[24];

	if (r->reason[0] != '\0')
		log_warn("%s", r->reason);
	snprintf(r->reason, sizeof r->reason, "period %s: %s", intake_time(period->begin, begin),
		why);
}

/* RS_OK when the period is done with, whatever became of it. */
static enum rs_status
take_period(struct incremental *r, const struct intake_period *period)
{
	struct candidate c;
	struct rs_failure failure = { .status = RS_OK };

	const int in_job = train_job_wanted(r->settings);
	enum rs_status status = open_candidate(r, period, &c);
	if (status == RS_OK)
		status = in_job ? train_candidate_in_job(r, &c) : train_candidate(r, &c);
	if (status != RS_OK)
		rs_failure_take(&failure);
	if (r->session->record != NULL && !in_job) {
		record_trial(r->session->record, period->begin, c.trial, c.verdict);
		status = session_end(r->session,
			status != RS_OK ? rs_failure_put(&failure) : status, &c.summary);
		if (status != RS_OK)
			rs_failure_take(&failure);
	}
	record_close(r->session->record);
	r->session->record = NULL;
	close_candidate(&c);
	if (!is_done(status))
		return rs_failure_put(&failure);
	r->n_partial += status == RS_EPARTIAL;
	if (status == RS_EUNMET)
		keep_reason(r, period, failure.text);
	r->n_done++;
	incremental_past_free(&r->past);
	return incremental_past_read(r->directory, &r->settings->incremental, &r->past);
}

/* --- all of them -------------------------------------------------------------------------- */

/* 1: another period may begin. */
static int
may_go_on(const struct incremental *r, size_t n_left)
{
	const double limit = r->settings->train.time_limit;

	if (limit <= 0 || clock_seconds() - r->started < limit)
		return 1;
	log_warn("the time limit of %g s has come: %zu periods are left for the next run", limit,
		n_left);
	return 0;
}

/* A period that was refused and is to be trained again goes with the one after it.  *from is
 * the first of the periods that `at` is to be trained with. */
static enum rs_status
take_due(struct incremental *r, size_t at, size_t *from)
{
	const struct intake_period *const due = r->intake->due;
	struct intake_period all;

	if (due[at].end <= r->past.refused)
		return RS_OK;
	if (*from == at) {
		RS_TRY(take_period(r, &due[at]));
	} else {
		RS_TRY(intake_join(&due[*from], at - *from + 1, &all));
		const enum rs_status status = take_period(r, &all);
		intake_join_free(&all);
		RS_TRY(status);
	}
	if (due[at].end > r->past.refused)
		*from = at + 1;
	return RS_OK;
}

static enum rs_status
take_all(struct incremental *r)
{
	const struct intake *const in = r->intake;
	size_t from = 0;

	if (in->n_due == 0) {
		tell_waiting(r);
		cron_summary("nothing new to train");
		return RS_OK;
	}
	tell_notices(r);
	incremental_past_tell_gone(&r->past, in);
	for (size_t i = 0; i < in->n_due && may_go_on(r, in->n_due - i); i++) {
		if (command_stop_signal != 0)
			return rs_fail(RS_ESIGNAL, "stopped by signal %d", command_stop_signal);
		RS_TRY(take_due(r, i, &from));
	}
	cron_summary("%d periods trained, %d of them rejected", r->n_done, r->n_rejected);
	if (r->n_rejected > 0)
		return rs_fail(RS_EUNMET, "%d of %d periods rejected; %s", r->n_rejected,
			r->n_done, r->reason);
	if (r->n_partial > 0)
		return rs_fail(RS_EPARTIAL, "rows were skipped");
	return RS_OK;
}

static enum rs_status
run_locked(struct incremental *r)
{
	failpoint("incremental.locked");
	RS_TRY(incremental_sound_mark(r->directory));
	/* First, as versions that a rollback has not put aside yet look like candidates. */
	RS_TRY(publish_repair(r->directory, &r->settings->incremental, &r->incomplete));
	RS_TRY(incremental_past_clean(r->directory));
	RS_TRY(look_well(r));
	RS_TRY(check_first(r));
	return take_all(r);
}

/* Waits for the directory as the user said. */
static enum rs_status
run_alone(struct incremental *r)
{
	double wait = 0;

	RS_TRY(argument_seconds(r->session->a, "--lock-wait", &wait));
	enum rs_status status = checkpoint_lock(r->directory, wait, &r->lock);
	if (status == RS_EBUSY)
		return cron_locked(r->directory, r->settings->incremental.lock_warn);
	RS_TRY(status);
	command_catch_signals();
	status = run_locked(r);
	checkpoint_unlock(&r->lock);
	return status;
}

/* --- the end ---------------------------------------------------------------------------- */

static int
exit_code_of(const struct incremental *r, enum rs_status status)
{
	if (command_exit_code >= 0)
		return command_exit_code;
	if (status == RS_EPARTIAL && argument_given(r->session->a, "--ok-partial"))
		return 0;
	return status == RS_ESIGNAL ? 128 + command_stop_signal : rs_exit_code(status);
}

/* The figures of whoever holds the lock are its own. */
static void
write_figures(struct incremental *r, enum rs_status status)
{
	struct textfile_figures *const f = &r->figures;
	struct rs_failure failure = { .status = RS_OK };

	if (r->settings->incremental.metrics[0] == '\0' || status == RS_EBUSY)
		return;
	if (status != RS_OK)
		rs_failure_take(&failure);
	f->exit_code = exit_code_of(r, status);
	f->ended = (double)clock_wall_ms() * 1e-3;
	f->duration = clock_seconds() - r->started;
	if (r->intake != NULL)
		f->waiting = (double)r->intake->n_due - r->n_done;
	f->version = r->past.version != 0 ? (double)r->past.version : NAN;
	if (r->past.version != 0 && r->past.ledger.mark != LEDGER_NO_PERIOD)
		f->period_end = (double)r->past.ledger.mark;
	if (textfile_write(r->settings->incremental.metrics, f) != RS_OK)
		log_warn("no figures for Prometheus: %s", rs_failure()->text);
	if (failure.status != RS_OK)
		(void)rs_failure_put(&failure);
}

/* That rows were skipped is no failure when the user said so. */
static enum rs_status
settle_partial(const struct incremental *r, enum rs_status status)
{
	return status == RS_EPARTIAL && argument_given(r->session->a, "--ok-partial") ? RS_OK
		: status;
}

enum rs_status
train_incremental(struct session *s, const struct spec *spec)
{
	struct incremental r = { .session = s, .spec = spec, .settings = spec_settings(spec),
		.directory = s->directory, .lock.fd = -1, .started = clock_seconds() };
	const int is_dry = argument_given(s->a, "--dry-run");

	textfile_init(&r.figures, s->directory);
	enum rs_status status = incremental_check(s->a, r.settings);
	if (status == RS_OK)
		status = read_conditions(&r);
	if (status == RS_OK)
		status = is_dry ? show_due(&r) : run_alone(&r);
	if (!is_dry)
		write_figures(&r, status);
	intake_free(r.intake);
	incremental_past_free(&r.past);
	return settle_partial(&r, status);
}
