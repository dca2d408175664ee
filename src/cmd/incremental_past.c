/* Versions, ledgers and refused candidates of a model directory. */
#include "cmd/incremental_past.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "train/checkpoint.h"
#include "train/publish.h"
#include "train/trial.h"

#define TEXT_LIMIT ((size_t)1 << 30)
#define NAME_LIMIT ((size_t)64 << 20)

/* --- what a killed run left --------------------------------------------------------- */

/* A version of a run over a period tells the period in its ledger. */
static int
is_candidate(const struct ledger *l)
{
	return l->n > 0 && l->entry[l->n - 1].period != LEDGER_NO_PERIOD;
}

static enum rs_status
drop_candidate(const char *directory, uint64_t version)
{
	struct ledger ledger;

	RS_TRY(ledger_read(directory, version, &ledger));
	const int ours = is_candidate(&ledger);
	ledger_free(&ledger);
	if (!ours) {
		rs_fail(RS_ECREATE, "'%s' holds an unfinished run (v%06" PRIu64 ")", directory,
			version);
		return rs_hint("finish it with --resume, or remove it");
	}
	log_info("v%06" PRIu64 " was not judged: its period is trained again", version);
	return checkpoint_remove(directory, version);
}

enum rs_status
incremental_past_clean(const char *directory)
{
	enum rs_status status = RS_OK;
	uint64_t *list, current;
	size_t n;

	RS_TRY(checkpoint_read_current(directory, &current));
	RS_TRY(checkpoint_prune(directory, SIZE_MAX, NULL, 0));
	RS_TRY(checkpoint_list(directory, &list, &n));
	for (size_t i = n; status == RS_OK && i > 0 && list[i - 1] > current; i--)
		status = drop_candidate(directory, list[i - 1]);
	free(list);
	return status;
}

/* --- reading -------------------------------------------------------------------------- */

static enum rs_status
read_text(const char *directory, const char *folder, const char *name, char **text, size_t *n)
{
	struct buffer path;
	enum rs_status status;

	*text = NULL;
	*n = 0;
	buffer_init(&path, NAME_LIMIT);
	status = buffer_printf(&path, "%s/%s/%s", directory, folder, name);
	if (status == RS_OK && access(path.data, F_OK) == 0)
		status = file_read(path.data, TEXT_LIMIT, text, n);
	buffer_free(&path);
	return status;
}

/* The entries that a refused candidate added are done with. */
static enum rs_status
fold(struct ledger *l, const struct ledger *refused)
{
	for (size_t i = 0; i < refused->n; i++) {
		struct ledger_entry e;

		if (refused->entry[i].period == LEDGER_NO_PERIOD
		    || refused->entry[i].period < l->mark)
			continue;
		RS_TRY(ledger_entry_copy(&refused->entry[i], &e));
		if (e.use == LEDGER_TRAINED || e.use == LEDGER_HELD)
			e.use = LEDGER_REJECTED;
		RS_TRY(ledger_add(l, &e));
	}
	l->mark = refused->mark;
	return RS_OK;
}

static enum rs_status
read_refused(const char *directory, uint64_t version, enum rejected_periods rejected,
	struct incremental_past *out)
{
	char folder[48], *text;
	struct ledger ledger;
	size_t n;

	snprintf(folder, sizeof folder, "v%06" PRIu64 ".rejected", version);
	RS_TRY(read_text(directory, folder, LEDGER_FILE, &text, &n));
	if (text == NULL)
		return RS_OK;
	enum rs_status status = ledger_parse(text, n, folder, &ledger);
	free(text);
	RS_TRY(status);
	if (ledger.mark > out->ledger.mark && rejected == REJECTED_SKIP)
		status = fold(&out->ledger, &ledger);
	else if (ledger.mark > out->ledger.mark) {
		out->refused = ledger.mark;
		ledger_free(&out->again);
		out->again = ledger;
		return RS_OK;
	}
	ledger_free(&ledger);
	return status;
}

static enum rs_status
read_all_refused(const char *directory, const struct incremental_settings *s,
	struct incremental_past *out)
{
	enum rs_status status = RS_OK;
	uint64_t *list;
	size_t n;

	RS_TRY(publish_remembered(directory, &list, &n));
	for (size_t i = 0; i < n && status == RS_OK; i++)
		status = read_refused(directory, list[i], s->rejected, out);
	free(list);
	return status;
}

enum rs_status
incremental_past_read(const char *directory, const struct incremental_settings *s,
	struct incremental_past *out)
{
	char folder[32];
	size_t n;

	*out = (struct incremental_past){ .refused = LEDGER_NO_PERIOD };
	ledger_init(&out->ledger);
	ledger_init(&out->again);
	RS_TRY(checkpoint_read_current(directory, &out->version));
	if (out->version != 0) {
		RS_TRY(ledger_read(directory, out->version, &out->ledger));
		snprintf(folder, sizeof folder, "v%06" PRIu64, out->version);
		RS_TRY(read_text(directory, folder, TRIAL_FILE, &out->figures, &n));
	}
	return read_all_refused(directory, s, out);
}

void
incremental_past_free(struct incremental_past *p)
{
	ledger_free(&p->ledger);
	ledger_free(&p->again);
	free(p->figures);
	p->figures = NULL;
}

static int
is_due(const struct intake *in, int64_t period)
{
	for (size_t i = 0; i < in->n_due; i++)
		if (in->due[i].begin == period)
			return 1;
	return 0;
}

void
incremental_past_tell_gone(const struct incremental_past *p, const struct intake *in)
{
	int64_t told = LEDGER_NO_PERIOD;
	char text[24];

	if (in->n_due == 0 || in->due[in->n_due - 1].end <= p->refused)
		return;
	for (size_t i = 0; i < p->again.n; i++) {
		const struct ledger_entry *const e = &p->again.entry[i];

		if (e->use != LEDGER_TRAINED || e->period == LEDGER_NO_PERIOD || e->period == told
		    || e->period < p->ledger.mark || is_due(in, e->period))
			continue;
		log_warn("period %s was refused, and '%s' is gone: it is not trained again",
			intake_time(e->period, text), e->path);
		told = e->period;
	}
}

/* --- what was held out ------------------------------------------------------------------- */

static int64_t
last_period(const struct ledger *l)
{
	int64_t last = LEDGER_NO_PERIOD;

	for (size_t i = 0; i < l->n; i++)
		if (l->entry[i].use == LEDGER_HELD && l->entry[i].period > last)
			last = l->entry[i].period;
	return last;
}

static enum rs_status
add_name(struct text_list *list, const struct ledger_entry *e)
{
	struct buffer name;

	buffer_init(&name, NAME_LIMIT);
	enum rs_status status = range_print(e->path, &e->ranges, &name);
	if (status == RS_OK)
		status = memory_strdup(name.data, &list->item[list->n]);
	list->n += status == RS_OK;
	buffer_free(&name);
	return status;
}

enum rs_status
incremental_past_held(const struct incremental_past *p, struct text_list *out)
{
	const int64_t last = last_period(&p->ledger);

	*out = (struct text_list){ 0 };
	if (last == LEDGER_NO_PERIOD)
		return RS_OK;
	RS_TRY(memory_alloc(p->ledger.n, sizeof *out->item, &out->item));
	for (size_t i = 0; i < p->ledger.n; i++) {
		const struct ledger_entry *const e = &p->ledger.entry[i];

		if (e->use != LEDGER_HELD || e->period != last)
			continue;
		if (access(e->path, R_OK) != 0)
			log_warn("'%s' is gone, and the rows of it that were held out",
				e->path);
		else
			RS_TRY(add_name(out, e));
	}
	return RS_OK;
}

void
incremental_past_free_names(struct text_list *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->item[i]);
	free(names->item);
	*names = (struct text_list){ 0 };
}
