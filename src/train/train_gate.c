/* What the result of a run must meet to become current; of periods the caller judges. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "train/checkpoint_private.h"
#include "train/publish.h"
#include "train/ranks.h"
#include "train/train_private.h"
#include "train/trial.h"
#include "train/trial_history.h"

/* --- the current model ----------------------------------------------------------------- */

/* figures.txt of a version; *out NULL: it has none.  Caller frees. */
static enum rs_status
read_history(const char *directory, uint64_t version, char **out)
{
	char *path, *file;
	size_t n;

	*out = NULL;
	RS_TRY(checkpoint_version_path(directory, version, &path));
	enum rs_status status = file_join(path, TRIAL_FILE, &file);
	free(path);
	RS_TRY(status);
	if (access(file, F_OK) == 0)
		status = file_read(file, TRIAL_HISTORY_BYTES, out, &n);
	free(file);
	return status;
}

static enum rs_status
score_version(struct training *t, const struct text_list *valid)
{
	const struct model_options options = { .kernel = t->model_options.kernel,
		.n_threads = t->model_options.n_threads };
	struct checkpoint_progress progress;
	struct workers *w = NULL;
	struct model *m;

	RS_TRY(checkpoint_load(t->options->directory, 0, &options, &m, &progress, NULL));
	enum rs_status status = workers_create(m, options.n_threads, &w);
	if (status == RS_OK)
		status = trial_before_other(t->gate.trial, w, m, valid);
	workers_free(w);
	model_free(m);
	return status;
}

/* One whose spec does not fit the rows is known by its figures only; so is one of a run of
 * many processes, in which there is room for no second model. */
static enum rs_status
score_current(struct training *t, const struct text_list *valid)
{
	enum rs_status status = RS_OK;

	if (t->options->place == NULL)
		status = score_version(t, valid);
	if (status == RS_EDATA || status == RS_ESPEC || status == RS_EUSAGE)
		log_warn("the current model cannot be scored on data.valid: %s",
			rs_failure()->text);
	else if (status != RS_OK || t->options->place == NULL)
		return status;
	return trial_before_other(t->gate.trial, NULL, NULL, valid);
}

enum rs_status
train_gate_enter(struct training *t)
{
	const char *const directory = t->options->directory;
	struct train_gate *const g = &t->gate;

	if (t->options->n_conditions == 0 || t->options->period != NULL)
		return RS_OK;
	RS_TRY(checkpoint_read_current(directory, &g->current));
	if (g->current != 0)
		RS_TRY(read_history(directory, g->current, &g->history));
	return g->history != NULL ? trial_history_check(g->history) : RS_OK;
}

/* Alike in all ranks. */
static enum rs_status
open_gate(struct training *t, const struct settings *s)
{
	const struct train_options *const o = t->options;
	const struct trial_options options = { .period = LEDGER_NO_PERIOD, .gate = GATE_VALID,
		.history = t->gate.history, .condition = o->condition,
		.n_conditions = o->n_conditions };

	if (s->data.valid.n == 0) {
		rs_fail(RS_ESPEC, "'%s' is judged on data.valid, which is not set",
			o->condition[0].text);
		return rs_hint("name a file with --valid or in [data]");
	}
	RS_TRY(trial_open(&options, s, &t->gate.trial));
	return t->gate.current != 0 ? score_current(t, &s->data.valid) : RS_OK;
}

enum rs_status
train_gate_open(struct training *t, struct spec *spec)
{
	if (t->options->n_conditions == 0 || t->options->period != NULL)
		return RS_OK;
	const enum rs_status status = open_gate(t, spec_settings(spec));
	if (status != RS_OK)
		spec_free(spec);
	return status;
}

void
train_gate_close(struct training *t)
{
	trial_free(t->gate.trial);
	free(t->gate.history);
}

/* --- the result ------------------------------------------------------------------------ */

static void
tell(const struct training *t, int is_accepted, const char *verdict)
{
	const struct train_callbacks *const call = &t->options->callbacks;

	if (call->judged != NULL)
		call->judged(call->context, is_accepted, verdict);
}

/* Fails with why. */
static enum rs_status
refuse(const struct training *t, uint64_t version)
{
	const char *const directory = t->options->directory;
	const uint64_t current = t->gate.current;
	struct rs_failure why;

	rs_failure_take(&why);
	if (why.status != RS_EUNMET)
		return rs_failure_put(&why);
	RS_TRY(publish_refuse(directory, version, why.text));
	(void)rs_failure_put(&why);
	if (current == 0)
		return rs_hint("the result is kept in '%s/v%06" PRIu64 ".rejected'", directory,
			version);
	return rs_hint("the result is kept in '%s/v%06" PRIu64 ".rejected', v%06" PRIu64
		" stays current", directory, version, current);
}

/* By rank 0 alone. */
static enum rs_status
judge(const struct training *t, uint64_t version)
{
	const struct train_options *const o = t->options;
	uint64_t current;
	char *verdict;

	RS_TRY(checkpoint_read_current(o->directory, &current));
	if (current == version)       /* before it was killed */
		return RS_OK;
	const enum rs_status status = trial_judge(t->gate.trial, o->condition, o->n_conditions,
		&verdict);
	if (status == RS_OK || status == RS_EUNMET)
		tell(t, status == RS_OK, verdict);
	free(verdict);
	return status == RS_OK ? checkpoint_set_current(o->directory, version)
		: refuse(t, version);
}

enum rs_status
train_gate_judge(struct training *t)
{
	const struct train_place *const place = t->options->place;
	enum rs_status status = RS_OK;

	if (t->gate.trial == NULL)
		return RS_OK;
	if (ranks_lead(place))
		status = judge(t, t->summary->version);
	return ranks_outcome(place, status);
}
