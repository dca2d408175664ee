/* A run leaves states behind that a round after a death can go on from. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "train/ranks.h"
#include "train/train_private.h"

#define DENSE_ALONE ((size_t)1 << 15)  /* floats: fewer are not worth waking threads for */

/* --- into a state ------------------------------------------------------------ */

static struct parser_tally
carried_now(const struct training *t)
{
	struct parser_tally now;

	dealer_tally(t->dealer, &now);
	return (struct parser_tally){
		.read = t->carried.read + now.read, .skipped = t->carried.skipped + now.skipped,
		.zero_weight = t->carried.zero_weight + now.zero_weight,
		.blank = t->carried.blank + now.blank,
	};
}

static uint64_t
name_of_tables(const struct training *t)
{
	const struct train_place *const place = t->options->place;

	return place != NULL && place->tables != NULL ? place->tables->name(place->context)
		: t->origin;
}

static void
fill_head(struct training *t, struct live_head *h)
{
	const struct train_summary *const out = t->summary;
	const double now = clock_seconds();
	struct parser_tally here;

	dealer_tally(t->dealer, &here);
	train_take_position(t);
	*h = (struct live_head){
		.tables = name_of_tables(t), .origin = t->origin, .clock = t->clock,
		.phase = LIVE_DONE, .progress = t->progress, .carried = carried_now(t),
		.former = out->former, .former_epochs = out->former_epochs,
		.epoch_rows = t->epoch_rows, .epoch_dropped = t->epoch_dropped,
		.epoch_skipped_before = t->epoch_skipped_before - here.skipped,
		.best_valid = t->best_valid, .best_is_known = t->best_is_known,
		.best_is_saved = t->best_is_saved, .resumed = t->start.resumed,
		.rows_trained = out->rows_trained, .rows_skipped = out->rows_skipped,
		.epochs_done = out->epochs_done, .epoch_seconds = now - t->epoch_started,
		.unsaved_seconds = now - t->saved_at, .rate = t->rate,
		.frequency_rows = t->m->frequency != NULL ? frequency_rows(t->m->frequency) : 0,
		.P = t->m->P, .n_marks = dealer_n_marks(t->dealer),
		.n_files = dealer_n_files(t->dealer),
	};
	h->progress.dealer = NULL;
	report_pause(&t->report, &h->report);
}

/* The share of one of the threads that train. */
struct dense_copy {
	const struct model *m;
	float *to;                     /* [3,P]                                       */
	size_t n_workers;
};

static enum rs_status
copy_share(void *context, size_t worker)
{
	const struct dense_copy *const c = context;
	const size_t P = c->m->P, n = c->n_workers;
	const size_t from = P / n * worker + P % n * worker / n;
	const size_t bytes = (P / n * (worker + 1) + P % n * (worker + 1) / n - from)
		* sizeof *c->to;

	memcpy(c->to + from, c->m->param + from, bytes);
	memcpy(c->to + P + from, c->m->slot_m + from, bytes);
	memcpy(c->to + 2 * P + from, c->m->slot_v + from, bytes);
	return RS_OK;
}

static enum rs_status
copy_dense(struct training *t, float *to)
{
	struct dense_copy c = { .m = t->m, .to = to, .n_workers = workers_count(t->workers) };

	if (t->m->P >= DENSE_ALONE)
		return workers_run(t->workers, copy_share, &c);
	c.n_workers = 1;
	return copy_share(&c, 0);
}

static enum rs_status
fill_rest(struct training *t, struct live_state *s)
{
	for (size_t i = 0; i < s->head.n_marks; i++)
		s->mark[i] = dealer_mark(t->dealer, i);
	for (size_t i = 0; i < s->head.n_files; i++)
		s->tally[i] = dealer_file(t->dealer, i)->tally;
	return copy_dense(t, s->dense);
}

static enum rs_status
take(struct training *t, enum live_phase phase, uint64_t epoch)
{
	struct live_state *s;
	struct live_head head;

	fill_head(t, &head);
	head.phase = phase;
	head.epoch = epoch;
	RS_TRY(live_put(t->options->live, &head, &s));
	t->options->live->newest = t->m->step;
	return fill_rest(t, s);
}

/* Nothing may fail between the step and its state: the tables are then those of the step. */
enum rs_status
train_live_prepare(struct training *t)
{
	return t->keeps_live && t->by_file ? dealer_share_files(t->dealer) : RS_OK;
}

enum rs_status
train_live_take(struct training *t, const struct batch *batch)
{
	if (!t->keeps_live)
		return RS_OK;
	return take(t, batch->last ? LIVE_EPOCH_ENDS : LIVE_DONE, batch->epoch + 1);
}

void
train_live_settle(struct training *t, enum live_phase phase, enum ending ending)
{
	struct live_state *const s = t->keeps_live ? live_find(t->options->live, t->clock) : NULL;
	const uint64_t epoch = s != NULL ? s->head.epoch : 0;

	if (s == NULL)
		return;
	fill_head(t, &s->head);
	s->head.phase = phase;
	s->head.epoch = epoch;
	s->head.ending = (int)ending;
}

/* --- a round begins ----------------------------------------------------------- */

/* Memory for the states is had now, so that a step needs none. */
static enum rs_status
reserve(struct training *t)
{
	struct live *const live = t->options->live;

	if (t->m->frequency != NULL)
		RS_TRY(frequency_remember(t->m->frequency, live->depth + 1));
	live->spec.n = 0;
	RS_TRY(spec_print(t->m->spec, 0, &live->spec));
	return buffer_printf(&live->spec, "%s", "");     /* ends as a string           */
}

void
train_live_go_on(struct training *t)
{
	const struct live_state *const s = t->start.live;

	t->origin = t->options->place != NULL ? t->options->place->round : 0;
	if (s == NULL) {
		if (t->start.resumed || t->start.evaluates) {
			t->summary->former = t->progress.tally;
			t->summary->former_epochs = t->progress.position.epoch;
		}
		return;
	}
	const struct live_head *const h = &s->head;
	t->origin = h->origin;
	t->clock = h->clock;
	t->carried = h->carried;
	t->epoch_rows = h->epoch_rows;
	t->epoch_dropped = h->epoch_dropped;
	t->epoch_skipped_before = h->epoch_skipped_before;
	t->best_valid = h->best_valid;
	t->best_is_known = h->best_is_known;
	t->best_is_saved = h->best_is_saved;
	t->rate = h->rate;
	t->summary->former = h->former;
	t->summary->former_epochs = h->former_epochs;
	t->summary->rows_trained = h->rows_trained;
	t->summary->rows_skipped = h->rows_skipped;
	t->summary->epochs_done = h->epochs_done;
}

enum rs_status
train_live_begin(struct training *t)
{
	struct live *const live = t->options->live;
	const struct train_place *const place = t->options->place;
	const struct live_state *const s = t->start.live;

	if (live == NULL || t->start.evaluates)
		return RS_OK;
	if (t->m->lookup->ops->fetch != NULL && (place == NULL || place->tables == NULL))
		return RS_OK;
	live->recomputed += live->newest > t->m->step ? live->newest - t->m->step : 0;
	t->summary->recomputed_steps = live->recomputed;
	if (s != NULL) {
		report_go_on(&t->report, &s->head.report);
		t->epoch_started -= s->head.epoch_seconds;
		t->saved_at -= s->head.unsaved_seconds;
	}
	RS_TRY(reserve(t));
	live_let_go(live);
	live->is_whole = 1;
	t->keeps_live = 1;
	RS_TRY(train_live_prepare(t));
	return s == NULL ? take(t, LIVE_DONE, 0) : RS_OK;
}

/* --- a round is over ------------------------------------------------------------ */

/* Every rank has all tables: they are those of the last step, and who waits for them. */
static enum rs_status
keep_tables(struct training *t)
{
	struct live *const live = t->options->live;
	struct lookup *const l = t->m->lookup;
	const size_t n = t->m->n_tables;

	RS_TRY(memory_alloc(2 * n + 1, sizeof *live->table, &live->table));
	for (size_t i = 0; i < 2 * n; i++) {
		RS_TRY(file_writer_open_memory(&live->table[i]));
		live->n_tables = i + 1;
		if (i < n)
			RS_TRY(l->ops->save(l, i, &live->table[i]));
		else if (lookup_has_tenancy(&t->m->table[i - n]))
			RS_TRY(l->ops->save_tenancy(l, i - n, &live->table[i]));
		if (live->table[i].size > 0)
			RS_TRY(file_writer_commit(&live->table[i]));
	}
	live->table_clock = t->clock;
	return RS_OK;
}

void
train_live_end(struct training *t, enum rs_status status)
{
	struct live *const live = t->options->live;

	if (!t->keeps_live || !live->is_whole)
		return;
	if (status != RS_EPEER && status != RS_EPROTOCOL) {    /* a peer may be ahead  */
		live_forget(live);
		return;
	}
	live->catalogue = t->m->catalogue;
	live->frequency = t->m->frequency;
	t->m->catalogue = NULL;
	t->m->frequency = NULL;
	if (t->m->lookup->ops->fetch != NULL || keep_tables(t) == RS_OK)
		return;
	log_warn("the tables of the last step are not kept: %s", rs_failure()->text);
	live_forget(live);
}
