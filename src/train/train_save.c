/* What a run keeps: positions, versions, counts, the best weights. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "train/ranks.h"
#include "train/rest.h"
#include "train/spread.h"
#include "train/train_private.h"

void
train_take_position(struct training *t)
{
	struct parser_tally now;

	dealer_position(t->dealer, &t->progress.position);
	dealer_tally(t->dealer, &now);
	t->progress.tally = (struct parser_tally){
		.read = t->former.read + now.read, .skipped = t->former.skipped + now.skipped,
		.zero_weight = t->former.zero_weight + now.zero_weight, .blank = t->former.blank
			+ now.blank,
	};
	t->progress.step = t->m->step;
	t->progress.skipped_steps = t->m->skipped_steps;
	t->progress.rate_factor = t->m->rate_factor;
	t->progress.seed = (uint64_t)t->settings->train.seed;
	t->progress.dealer = t->dealer;
}

/* What this process has pushed is where it belongs. */
static enum rs_status
flush(const struct model *m)
{
	const struct lookup_fetch nothing = { .n_workers = 1 };

	return m->lookup->ops->fetch != NULL ? m->lookup->ops->fetch(m->lookup, &nothing) : RS_OK;
}

enum rs_status
train_meet(struct training *t)
{
	const struct train_place *const place = t->options->place;
	struct loader_position position = t->progress.position;

	RS_TRY(flush(t->m));
	if (!ranks_several(place))
		return RS_OK;
	if (t->dealer != NULL)
		dealer_position(t->dealer, &position);
	RS_TRY(ranks_compare(place, position.identity, RS_EDATA,
		"read other training data than"));
	return ranks_compare(place, hash_fingerprint64((const char *)t->m->param,
		t->m->P * sizeof *t->m->param), RS_EDIVERGED, "has other dense parameters than");
}

/* --- versions -------------------------------------------------------------- */

struct written { uint64_t version, bytes; };

/* By rank 0 alone. */
static enum rs_status
write_version(struct training *t, enum checkpoint_state state, struct written *out)
{
	const char *const directory = t->options->directory;

	RS_TRY(train_make_ledger(t, state, &t->progress.ledger));
	RS_TRY(checkpoint_save(directory, t->m, &t->progress,
		state == CHECKPOINT_FINAL && t->options->period == NULL
		&& t->gate.trial == NULL, &out->version, &out->bytes));
	if (t->progress.best_version == CHECKPOINT_ITSELF)
		t->progress.best_version = out->version;
	if (t->options->callbacks.saved != NULL)
		t->options->callbacks.saved(t->options->callbacks.context, directory,
			out->version, out->bytes);
	return checkpoint_prune(directory, (size_t)t->settings->train.keep,
		&t->progress.best_version, 1);
}

enum rs_status
train_save(struct training *t, enum checkpoint_state state, uint64_t *version)
{
	const struct train_place *const place = t->options->place;
	struct written written = { 0 };
	struct ranks_pulse pulse;
	struct file_writer rest;

	RS_TRY(file_writer_open_memory(&rest));
	t->progress.state = state;
	ranks_pulse_begin(&pulse, place);
	enum rs_status status = train_meet(t);
	if (status == RS_OK && t->dealer != NULL)
		status = dealer_share_files(t->dealer);
	if (status == RS_OK && state == CHECKPOINT_TRAINING)
		status = rest_gather(t->m, &rest);
	t->progress.rest = rest.size > 0 ? rest.path : NULL;
	if (status == RS_OK && ranks_lead(place))
		status = ranks_outcome(place, write_version(t, state, &written));
	else if (status == RS_OK)
		status = ranks_outcome(place, RS_OK);
	if (status == RS_OK)
		status = ranks_broadcast(place, &written, sizeof written);
	ranks_pulse_end(&pulse);
	t->progress.rest = NULL;
	file_writer_close(&rest);
	RS_TRY(status);
	if (t->progress.best_version == CHECKPOINT_ITSELF)
		t->progress.best_version = written.version;
	t->saved_at = clock_seconds();
	*version = written.version;
	return RS_OK;
}

/* --- the best weights ------------------------------------------------------- */

static enum rs_status
load_again(struct training *t, struct checkpoint_progress *best)
{
	workers_free(t->workers);
	t->workers = NULL;
	model_free(t->m);
	t->m = NULL;
	t->settings = NULL;
	RS_TRY(checkpoint_load(t->options->directory, t->progress.best_version, &t->model_options,
		&t->m, best, NULL));
	RS_TRY(checkpoint_keep_unused(t->options->directory, t->progress.best_version, t->m));
	t->settings = spec_settings(t->m->spec);
	return RS_OK;
}

/* Tables that are elsewhere are not opened twice: the model stays, with other numbers. */
static enum rs_status
fill_again(struct training *t, struct checkpoint_progress *best)
{
	const struct train_place *const place = t->options->place;
	enum rs_status status = RS_OK;

	RS_TRY(train_meet(t));
	if (ranks_lead(place))
		status = checkpoint_fill(t->options->directory, t->progress.best_version,
			CHECKPOINT_STATE, t->m,
			best);
	RS_TRY(ranks_outcome(place, status));
	RS_TRY(ranks_broadcast(place, best, sizeof *best));
	return spread_model(t->m, 0, SPREAD_FREQUENCY | SPREAD_TABLES);
}

static enum rs_status
bring_back(struct training *t)
{
	struct checkpoint_progress best = { 0 };

	RS_TRY(t->options->place == NULL ? load_again(t, &best) : fill_again(t, &best));
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
	if (t->workers == NULL)
		RS_TRY(workers_create(t->m, t->model_options.n_threads, &t->workers));
	RS_TRY(evaluate_run(t->evaluation, t->workers, t->m, &t->best_valid, NULL));
	t->best_is_known = 1;
	return RS_OK;
}

enum rs_status
train_restore_best(struct training *t, enum ending ending)
{
	struct ranks_pulse pulse;

	train_live_settle(t, LIVE_RESTORES, ending);
	train_count_tenants(t);
	RS_TRY(train_count_files(t));
	RS_TRY(train_close_dealer(t));
	ranks_pulse_begin(&pulse, t->options->place);
	const enum rs_status status = bring_back(t);
	ranks_pulse_end(&pulse);
	return status;
}
