/* The start of a round from a state that lived on in one of the workers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "train/ranks.h"
#include "train/spread.h"
#include "train/start_private.h"

/* --- which state -------------------------------------------------------------- */

/* 1: this job has written its final version; only the figures are missing. */
static int
is_over(const struct train_options *options)
{
	return options->resume && options->continues && ranks_lead(options->place)
		&& checkpoint_is_final(options->directory);
}

static void
tell(const struct train_options *options, const struct live_choice *c)
{
	const uint32_t round = options->place != NULL ? options->place->round : 0;

	if (!ranks_lead(options->place))
		return;
	if (c->holder != SIZE_MAX)
		log_info("round %" PRIu32 " goes on from step %" PRIu64 " (lived on in worker %zu)"
			", %" PRIu64 " to be done again", round, c->step, c->holder,
			c->newest - c->step);
	else if (round > 1 && is_over(options))
		log_info("round %" PRIu32 " goes on from the last version, because %s", round,
			c->why);
	else if (round > 1)                    /* work is lost: not to be said with -v only   */
		log_warn("round %" PRIu32 " goes on from %s, because %s", round,
			options->resume ? "the last version" : "the beginning", c->why);
}

/* --- the state of one to all ------------------------------------------------- */

struct transfer {
	const struct train_place *place;
	struct live *live;
	struct model *m;
	const struct live_state *state;        /* the holder's                        */
	size_t holder;
	int    own;                            /* this is the holder                  */
	int    has_tables;                     /* they are those of the state         */
};

static enum rs_status
write_frequency(const void *context, size_t number, struct file_writer *w)
{
	const struct transfer *const x = context;

	(void)number;
	RS_TRY(frequency_take_back(x->live->frequency, x->state->head.frequency_rows));
	return frequency_save(x->live->frequency, w);
}

static enum rs_status
read_frequency(void *context, size_t number, const char *path)
{
	const struct transfer *const x = context;

	(void)number;
	return frequency_load(x->m->frequency, path);
}

static enum rs_status
write_items(const void *context, size_t number, struct file_writer *w)
{
	const struct transfer *const x = context;

	(void)number;
	return catalogue_save(x->live->catalogue, &x->m->schema, w);
}

static enum rs_status
read_items(void *context, size_t number, const char *path)
{
	const struct transfer *const x = context;

	(void)number;
	return catalogue_load(&x->m->schema, path, &x->m->catalogue);
}

static enum rs_status
write_table(const void *context, size_t number, struct file_writer *w)
{
	const struct transfer *const x = context;
	struct file_map map;

	RS_TRY(file_map_open(&map, x->live->table[number].path));
	const enum rs_status status = file_writer_write(w, map.data, map.size);
	file_map_close(&map);
	return status;
}

static enum rs_status
read_table(void *context, size_t number, const char *path)
{
	const struct transfer *const x = context;

	return x->m->lookup->ops->load(x->m->lookup, number, &path, 1);
}

static enum rs_status
read_tenancy(void *context, size_t number, const char *path)
{
	const struct transfer *const x = context;
	struct lookup *const l = x->m->lookup;

	return l->ops->load_tenancy(l, number - x->m->n_tables, &path, 1);
}

/* Dense parameters with their state. */
static enum rs_status
share_dense(struct transfer *x)
{
	struct model *const m = x->m;
	const size_t P = m->P;

	if (x->own) {
		memcpy(m->param, x->state->dense, P * sizeof *m->param);
		memcpy(m->slot_m, x->state->dense + P, P * sizeof *m->slot_m);
		memcpy(m->slot_v, x->state->dense + 2 * P, P * sizeof *m->slot_v);
		m->step = x->state->head.progress.step;
		m->skipped_steps = x->state->head.progress.skipped_steps;
		m->rate_factor = x->state->head.progress.rate_factor;
	}
	return spread_model(m, x->holder, 0);
}

static enum rs_status
share_files(struct transfer *x)
{
	const struct spread_file frequency = { write_frequency, read_frequency, x, 0 };
	const struct spread_file items = { write_items, read_items, x, 0 };
	uint64_t has_items = x->live->catalogue != NULL;

	if (x->m->frequency != NULL)
		RS_TRY(spread_file(x->place, x->holder, &frequency, 1));
	RS_TRY(ranks_broadcast_of(x->place, x->holder, &has_items, sizeof has_items));
	if (has_items)
		RS_TRY(spread_file(x->place, x->holder, &items, 1));
	if (!x->has_tables || x->m->lookup->ops->fetch != NULL)
		return RS_OK;
	for (size_t t = 0; t < x->m->n_tables; t++) {
		RS_TRY(spread_file(x->place, x->holder,
			&(struct spread_file){ write_table, read_table, x, t }, 1));
		if (lookup_has_tenancy(&x->m->table[t]))
			RS_TRY(spread_file(x->place, x->holder, &(struct spread_file){ write_table,
				read_tenancy, x, x->m->n_tables + t }, 1));
	}
	return RS_OK;
}

/* What is not the model's becomes a state of all ranks. */
static enum rs_status
share_head(struct transfer *x, struct live_head *head, struct start *out)
{
	const struct train_place *const place = x->place;
	struct live_state *s = NULL;

	if (head->P != x->m->P)
		return rs_fail(RS_EPROTOCOL, "%" PRIu64 " dense parameters of worker %zu, here %zu",
			head->P, x->holder, x->m->P);
	if (!x->own)
		RS_TRY(live_put(x->live, head, &s));
	else
		s = live_find(x->live, head->clock);
	RS_TRY(ranks_broadcast_of(place, x->holder, s->mark, head->n_marks * sizeof *s->mark));
	RS_TRY(ranks_broadcast_of(place, x->holder, s->tally, head->n_files * sizeof *s->tally));
	memcpy(s->dense, x->m->param, x->m->P * sizeof *s->dense);
	memcpy(s->dense + x->m->P, x->m->slot_m, x->m->P * sizeof *s->dense);
	memcpy(s->dense + 2 * x->m->P, x->m->slot_v, x->m->P * sizeof *s->dense);
	out->live = s;
	out->progress = head->progress;
	out->resumed = head->resumed;
	return RS_OK;
}

/* The head is of no use for new ones. */
static void
begin_tables(const struct train_place *place, int keep, const struct live_head *head)
{
	if (place == NULL || place->tables == NULL)
		return;
	place->tables->begin(place->context, keep, keep ? head->origin : place->round,
		keep ? head->clock : 0);
}

static enum rs_status
share_state(struct transfer *x, const struct model_options *model_options, struct spec *spec,
	struct start *out)
{
	struct live_head head = { .clock = 0 };

	if (x->own)
		head = x->state->head;
	enum rs_status status = ranks_broadcast_of(x->place, x->holder, &head, sizeof head);
	struct buffer text;
	buffer_init(&text, x->live->spec.limit);
	if (status == RS_OK && x->own)
		status = buffer_printf(&text, "%s", x->live->spec.data);
	if (status == RS_OK)
		status = spread_text(x->place, x->holder, &text);
	if (status != RS_OK) {
		spec_free(spec);
		buffer_free(&text);
		return status;
	}
	x->has_tables = head.phase != LIVE_RESTORES;
	begin_tables(x->place, x->has_tables, &head);
	status = start_by_text(spec, text.data, model_options, out);
	buffer_free(&text);
	RS_TRY(status);
	x->m = out->model;
	RS_TRY(share_dense(x));
	RS_TRY(share_files(x));
	return share_head(x, &head, out);
}

/* What versions carry along is on disk. */
static enum rs_status
keep_unused(const struct train_options *options, struct start *out)
{
	const char *const directory = options->resume ? options->directory : options->from;
	uint64_t *list, version, current = 0;
	size_t n;

	if (!ranks_lead(options->place) || directory == NULL)
		return RS_OK;
	if (!options->resume)
		RS_TRY(checkpoint_read_current(directory, &current));
	RS_TRY(checkpoint_list(directory, &list, &n));
	version = n > 0 ? list[n - 1] : 0;
	free(list);
	if (current != 0)
		version = current;
	out->origin = version;
	return version != 0 ? checkpoint_keep_unused(directory, version, out->model) : RS_OK;
}

enum rs_status
start_live(struct spec **spec, const struct train_options *options,
	const struct model_options *model_options, struct start *out)
{
	const struct train_place *const place = options->place;
	struct live_choice choice;
	enum rs_status status = ranks_outcome(place, RS_OK);

	if (status == RS_OK)
		status = live_choose(options->live, place, is_over(options), &choice);
	if (status != RS_OK) {
		spec_free(*spec);
		return status;
	}
	tell(options, &choice);
	options->live->newest = choice.newest;
	if (choice.holder == SIZE_MAX) {
		begin_tables(place, 0, NULL);
		return RS_OK;
	}
	struct transfer x = { .place = place, .live = options->live, .holder = choice.holder,
		.own = ranks_own(place) == choice.holder,
		.state = live_find(options->live, choice.clock) };
	status = share_state(&x, model_options, *spec, out);
	if (status == RS_EUNMET) {             /* the round ends; that one offers no more */
		const struct rs_failure why = *rs_failure();

		return rs_fail(RS_EPEER, "%s", why.text);
	}
	RS_TRY(status);
	return keep_unused(options, out);
}
