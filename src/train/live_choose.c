/* Which of the states that lived on a round begins with. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/live.h"
#include "train/ranks.h"

/* What a rank could give. */
struct offer {
	uint64_t n, newest, recomputed, is_over;
	struct {
		uint64_t tables, clock, step, phase;
	} state[LIVE_DEPTH_MAX];
	char why[200];                 /* it cannot give what it has                  */
};

static void
add(struct offer *o, const struct live_head *head)
{
	o->state[o->n].tables = head->tables;
	o->state[o->n].clock = head->clock;
	o->state[o->n].step = head->progress.step;
	o->state[o->n++].phase = head->phase;
}

/* Those whose tables the shards can give; without shards, this rank itself. */
static enum rs_status
add_all(struct live *l, const struct train_place *p, struct offer *o)
{
	struct place_offer tables = { .lowest = l->table_clock, .highest = l->table_clock };
	const int asks = p != NULL && p->tables != NULL;

	if (asks)
		RS_TRY(p->tables->offer(p->context, &tables));
	memcpy(o->why, tables.why, sizeof o->why);
	for (size_t i = 0; i < l->depth; i++) {
		const struct live_state *const s = &l->state[i];

		const int fits = s->head.clock >= tables.lowest && s->head.clock <= tables.highest
			&& (!asks || s->head.tables == tables.tables);

		if (s->is_used && (fits || s->head.phase == LIVE_RESTORES))
			add(o, &s->head);
	}
	if (o->n == 0 && o->why[0] == '\0')
		snprintf(o->why, sizeof o->why, "the tables are not those of a step that is known");
	return RS_OK;
}

/* A later one is better; of the same, one that has come further, then the lowest rank. */
static void
judge(const struct offer *o, size_t rank, struct live_choice *best)
{
	for (size_t i = 0; i < o->n; i++) {
		const int is_better = best->holder == SIZE_MAX
			|| o->state[i].clock > best->clock || (o->state[i].clock == best->clock
			&& o->state[i].phase > (uint64_t)best->phase);

		if (!is_better)
			continue;
		best->holder = rank;
		best->clock = o->state[i].clock;
		best->phase = (enum live_phase)o->state[i].phase;
		best->step = o->state[i].step;
	}
}

static void
choose(const struct offer *offer, size_t n, struct live_choice *out)
{
	const char *why = "no worker has lived on";

	for (size_t r = n; r-- > 0;)
		if (offer[r].why[0] != '\0')
			why = offer[r].why;
	for (size_t r = 0; r < n; r++) {
		out->newest = offer[r].newest > out->newest ? offer[r].newest : out->newest;
		out->recomputed = offer[r].recomputed > out->recomputed ? offer[r].recomputed
			: out->recomputed;
		if (!offer[0].is_over)
			judge(&offer[r], r, out);
	}
	if (out->holder == SIZE_MAX)
		snprintf(out->why, sizeof out->why, "%.*s", (int)sizeof out->why - 1,
			offer[0].is_over ? "it is the final one" : why);
}

enum rs_status
live_choose(struct live *l, const struct train_place *place, int is_over, struct live_choice *out)
{
	const size_t n = ranks_several(place) ? place->n_ranks : 1, own = ranks_own(place);
	struct offer *offer;

	*out = (struct live_choice){ .holder = SIZE_MAX };
	RS_TRY(memory_alloc(n, sizeof *offer, &offer));
	offer[own].is_over = is_over != 0;
	offer[own].recomputed = l->recomputed;
	offer[own].newest = l->newest;
	enum rs_status status = RS_OK;
	if (l->is_whole && live_newest(l) != NULL)
		status = add_all(l, place, &offer[own]);
	if (status == RS_OK)
		status = ranks_gather(place, offer, n, sizeof *offer);
	for (size_t r = 0; status == RS_OK && r < n; r++) {
		offer[r].why[sizeof offer[r].why - 1] = '\0';
		if (offer[r].n > LIVE_DEPTH_MAX)
			status = rs_fail(RS_EPROTOCOL, "worker %zu has %" PRIu64 " states", r,
				offer[r].n);
	}
	if (status == RS_OK)
		choose(offer, n, out);
	free(offer);
	RS_TRY(status);
	if (out->holder == SIZE_MAX)
		live_forget(l);
	else
		live_drop_after(l, out->clock);
	l->recomputed = out->recomputed;
	return RS_OK;
}
