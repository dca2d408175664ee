/* The rows of a run: opening them, going on with them, and what was counted. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "train/ranks.h"
#include "train/train_private.h"

/* --- opening ---------------------------------------------------------------- */

static enum rs_status
open_sampler(struct training *t)
{
	if (!sampler_needed(t->settings))
		return RS_OK;
	if (t->m->catalogue == NULL)
		return rs_fail(RS_ESPEC, "items are to be drawn, but the model has none");
	return sampler_create(&t->m->schema, t->m->catalogue, &t->sampler);
}

/* Rank 0 has read what a version tells of the files. */
static enum rs_status
resume_dealer(struct training *t)
{
	struct dealer_past past = { .n_marks = 0 };
	enum rs_status status = RS_OK;

	if (ranks_lead(t->options->place))
		status = checkpoint_inputs(t->options->directory, t->start.version, &past);
	if (status == RS_OK)
		status = dealer_resume(t->dealer, &t->progress.position, &past);
	free(past.tally);
	free(past.mark);
	return status;
}

/* All ranks have the state that lived on. */
static enum rs_status
go_on_dealing(struct training *t)
{
	const struct live_state *const s = t->start.live;
	const struct dealer_past past = {
		.mark = s->mark, .n_marks = (size_t)s->head.n_marks,
		.tally = s->tally, .n_tallies = (size_t)s->head.n_files,
	};

	return dealer_resume(t->dealer, &t->progress.position, &past);
}

enum rs_status
train_open_dealer(struct training *t)
{
	const struct settings *const s = t->settings;
	struct loader_position position;

	RS_TRY(open_sampler(t));
	const struct dealer_options options = {
		.loader = {
			.schema = &t->m->schema, .files = train_files(t),
			.command = train_command(t),
			.purpose = PARSE_TRAIN, .batch_size = (size_t)s->train.batch_size,
			.shuffle = s->data.shuffle, .seed = (uint64_t)s->train.seed,
			.epochs = train_epochs(t),
			.n_threads = (size_t)s->data.threads, .sampler = t->sampler,
			.cache = train_cache(t),
			.stop_signal = ranks_several(t->options->place) ? NULL
				: t->options->stop_signal,
		},
		.place = t->options->place, .n_slots = model_slots(s), .by_file = t->by_file,
	};
	RS_TRY(dealer_open(&options, &t->dealer));
	if (t->start.live != NULL)
		RS_TRY(go_on_dealing(t));
	else if (t->start.resumed)
		RS_TRY(resume_dealer(t));
	dealer_position(t->dealer, &position);
	return ranks_compare(t->options->place, position.identity, RS_EDATA,
		"has other training data than");
}

/* --- closing, with the counts ------------------------------------------------ */

static enum rs_status
copy_ledger(struct training *t)
{
	const size_t n = dealer_n_files(t->dealer);
	struct loader_file *file;

	RS_TRY(memory_alloc(n > 0 ? n : 1, sizeof *file, &file));
	t->summary->file = file;
	for (size_t i = 0; i < n; i++) {
		char *path;

		file[i] = *dealer_file(t->dealer, i);
		RS_TRY(memory_strdup(file[i].path, &path));
		file[i].path = path;
		t->summary->n_files = i + 1;
	}
	return RS_OK;
}

void
train_close_sampler(struct training *t)
{
	const uint64_t n = t->sampler != NULL ? sampler_fallbacks(t->sampler) : 0;

	if (n > 0 && ranks_lead(t->options->place))
		log_warn("%" PRIu64 " negatives were drawn from all items: the item of their row "
			"is alone with its value of '%s'", n, t->settings->items.within);
	sampler_free(t->sampler);
	t->sampler = NULL;
}

enum rs_status
train_close_dealer(struct training *t)
{
	struct train_summary *const out = t->summary;
	struct parser_tally tally;

	if (t->dealer == NULL)
		return RS_OK;
	dealer_tally(t->dealer, &tally);
	out->rows_read = t->carried.read + tally.read;
	out->rows_skipped += t->carried.skipped + tally.skipped;
	out->rows_zero_weight = t->carried.zero_weight + tally.zero_weight;
	const enum rs_status status = copy_ledger(t);
	dealer_close(t->dealer);
	t->dealer = NULL;
	t->progress.dealer = NULL;
	train_close_sampler(t);
	return status;
}
