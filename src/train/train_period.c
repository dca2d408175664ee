/* The rows of a run, what is known of them, and the trial of a period. */
#include <string.h>

#include "train/ranks.h"
#include "train/train_private.h"
#include "train/trial.h"

const struct text_list *
train_files(const struct training *t)
{
	return t->options->period != NULL ? t->options->period->files
		: &t->settings->data.train;
}

const char *
train_command(const struct training *t)
{
	const char *const command = t->settings->data.command;

	return t->options->period == NULL && command[0] != '\0' ? command : NULL;
}

uint64_t
train_epochs(const struct training *t)
{
	return t->options->period != NULL ? t->options->period->epochs
		: (uint64_t)t->settings->train.epochs;
}

enum loader_cache
train_cache(const struct training *t)
{
	return t->options->rebuild_cache ? LOADER_CACHE_MAKE_ANEW : LOADER_CACHE_MAKE;
}

/* --- the trial ----------------------------------------------------------------------- */

static struct trial *
trial_of(const struct training *t)
{
	return t->options->period != NULL ? t->options->period->trial : t->gate.trial;
}

enum rs_status
train_trial_before(struct training *t)
{
	const struct train_callbacks *const call = &t->options->callbacks;

	if (t->options->period == NULL || trial_of(t) == NULL)
		return RS_OK;
	RS_TRY(trial_before(trial_of(t), t->workers, t->m, t->start.version != 0));
	if (call->scored != NULL)
		call->scored(call->context, trial_progressive(trial_of(t)));
	return RS_OK;
}

/* The workers of a model that came back went with the one before. */
enum rs_status
train_trial_after(struct training *t)
{
	struct ranks_pulse pulse;

	t->progress.trial = trial_of(t);
	if (trial_of(t) == NULL)
		return RS_OK;
	ranks_pulse_begin(&pulse, t->options->place);
	enum rs_status status = train_meet(t);
	if (status == RS_OK && t->workers == NULL)
		status = workers_create(t->m, t->model_options.n_threads, &t->workers);
	if (status == RS_OK)
		status = trial_after(trial_of(t), t->workers, t->m);
	ranks_pulse_end(&pulse);
	return status;
}

/* --- the ledger ---------------------------------------------------------------------- */

enum rs_status
train_read_ledger(struct training *t)
{
	const struct train_options *const o = t->options;
	const uint64_t version = t->start.version != 0 ? t->start.version : t->start.origin;

	if (version == 0 || !ranks_lead(o->place) || o->period != NULL)
		return RS_OK;
	return ledger_read(o->resume ? o->directory : o->from, version, &t->ledger);
}

enum rs_status
train_count_files(struct training *t)
{
	const struct train_period *const period = t->options->period;

	if (t->dealer == NULL || t->files_are_counted || train_command(t) != NULL)
		return RS_OK;
	t->files_are_counted = 1;
	for (size_t i = 0; i < dealer_n_files(t->dealer); i++) {
		const struct loader_file *const file = dealer_file(t->dealer, i);

		if (period == NULL)
			RS_TRY(ledger_add_file(&t->ledger, file));
		else
			ledger_count(&period->ledger->entry[period->first + i], file);
	}
	return RS_OK;
}

/* Of a version that is not the last, what was known before: it is gone on with. */
enum rs_status
train_make_ledger(struct training *t, enum checkpoint_state state, const struct ledger **out)
{
	const struct train_period *const period = t->options->period;

	*out = period != NULL ? period->ledger : &t->ledger;
	return state == CHECKPOINT_FINAL ? train_count_files(t) : RS_OK;
}
