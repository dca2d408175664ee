/* Reading, beginning and judging a period in a job. */
#include "cmd/node_period.h"

#include <stdlib.h>

#include "base/file.h"
#include "train/checkpoint.h"
#include "train/intake.h"

#define CONDITIONS_MAX 32
#define PERIOD_LIMIT   ((size_t)2 << 30)

enum rs_status
node_period_read(struct node_period *p, struct session *s)
{
	const char *const path = argument(s->a, "--period");
	char *text;
	size_t n;

	RS_TRY(file_read(path, PERIOD_LIMIT, &text, &n));
	const enum rs_status status = job_period_parse(text, n, &p->told);
	free(text);
	RS_TRY(status);
	if (p->told.n_conditions > CONDITIONS_MAX)
		return rs_fail(RS_EPROTOCOL, "%s: too many conditions", path);
	(void)intake_time(p->told.begin, s->period);
	return RS_OK;
}

void
node_period_free(struct node_period *p)
{
	trial_free(p->trial);
	job_period_free(&p->told);
}

static enum rs_status
read_conditions(const struct node_period *p, struct gate_condition condition[CONDITIONS_MAX])
{
	for (size_t i = 0; i < p->told.n_conditions; i++)
		RS_TRY(gate_parse(p->told.condition[i], &condition[i]));
	return RS_OK;
}

enum rs_status
node_period_begin(struct node_period *p, const struct settings *settings,
	struct train_options *options)
{
	if (p == NULL)
		return RS_OK;
	struct gate_condition condition[CONDITIONS_MAX];
	const struct trial_options trial = { .period = p->told.begin, .rows = &p->told.files,
		.held = &p->told.held, .gate = settings->incremental.gate,
		.history = p->told.history, .condition = condition,
		.n_conditions = p->told.n_conditions };
	uint64_t current;

	RS_TRY(read_conditions(p, condition));
	trial_free(p->trial);
	p->trial = NULL;
	RS_TRY(trial_open(&trial, settings, &p->trial));
	p->run = (struct train_period){ .files = &p->told.files, .epochs = p->told.epochs,
		.ledger = &p->told.ledger, .first = p->told.first, .trial = p->trial };
	options->period = &p->run;
	RS_TRY(checkpoint_read_current(options->directory, &current));
	options->from = current != 0 ? options->directory : NULL;
	options->resume = options->continues = 0;
	return RS_OK;
}

static enum rs_status
write_verdict(struct node_period *p, struct session *s, const struct train_summary *summary)
{
	struct gate_condition condition[CONDITIONS_MAX];
	struct rs_failure why = { .status = RS_OK };
	char *text = NULL;

	RS_TRY(read_conditions(p, condition));
	enum rs_status status = trial_judge(p->trial, condition, p->told.n_conditions, &text);
	if (status != RS_OK)
		rs_failure_take(&why);
	if (status == RS_OK || status == RS_EUNMET) {
		const int is_refused = status == RS_EUNMET;
		char none[] = "";
		const struct metric_result *const m = trial_progressive(p->trial);
		const struct job_verdict verdict = {
			.version = summary->version, .is_refused = is_refused,
			.rows = (double)summary->rows_trained,
			.period_rows = (double)m->rows, .auc = m->auc, .logloss = m->logloss,
			.calibration = m->calibration,
			.text = is_refused ? why.text : text != NULL ? text : none,
		};

		if (verdict.text[0] != '\0')
			progress_gate(&s->progress, !is_refused, verdict.text);
		record_trial(s->record, p->told.begin, p->trial, text);
		status = job_verdict_write(argument(s->a, "--period"), &verdict);
	}
	free(text);
	return why.status != RS_OK && status == RS_OK ? rs_failure_put(&why) : status;
}

enum rs_status
node_period_judge(struct node_period *p, struct session *s,
	const struct train_summary *summary, enum rs_status status)
{
	struct rs_failure partial = { .status = RS_OK };

	if (status != RS_OK && status != RS_EPARTIAL)
		return status;
	if (status != RS_OK)
		rs_failure_take(&partial);
	RS_TRY(write_verdict(p, s, summary));
	return partial.status != RS_OK ? rs_failure_put(&partial) : RS_OK;
}
