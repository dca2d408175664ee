/* Which operator made a step not finite. */
#include <stdio.h>
#include <string.h>

#include "train/ranks.h"
#include "train/step_private.h"

/* The first operator of a slot that is not finite; nothing was applied, so the
 * forward pass gives again what it gave, and takes no memory for its rows. */
static const char *
slot_culprit(struct stepper *s, struct step_worker *w, size_t slot, const struct batch *batch)
{
	const size_t begin = model_slot_begin(batch->B, s->n_slots, slot);
	const size_t end = model_slot_begin(batch->B, s->n_slots, slot + 1);

	if (begin == end)
		return NULL;
	slot_view_set(&w->view, batch, begin, end);
	exec_set_rows(w->exec, s->slot[slot].rows);
	if (slot_view_pull(&w->view, slot, 0) != RS_OK
	    || exec_forward(w->exec, s->model->param, &w->view.feed, 1) == NULL
	    || exec_wait(w->exec) != RS_OK)
		return NULL;
	return exec_culprit(w->exec);
}

/* The answers of all ranks, of which only the name is worth a message. */
static void
gather_culprits(struct stepper *s, const char *own)
{
	const size_t rank = s->exchange->rank;
	size_t begin[RANKS_MAX + 1];

	memset(s->culprit[rank], 0, STEP_CULPRIT_MAX);
	if (own != NULL)
		snprintf(s->culprit[rank], STEP_CULPRIT_MAX, "%s", own);
	for (size_t r = 0; r <= s->exchange->n_ranks; r++)
		begin[r] = r * STEP_CULPRIT_MAX;
	step_fail_note(s, s->exchange->ops->gather(s->exchange, s->culprit, begin));
}

/* Every worker looks through its slots; the lowest slot's answer is the answer. */
void
step_culprit(struct stepper *s, size_t worker, const struct batch *batch, struct step_result *out)
{
	struct step_worker *w = &s->worker[worker];

	for (size_t slot = w->slot_begin; slot < w->slot_end; slot++)
		s->slot[slot].culprit = slot_culprit(s, w, slot, batch);
	(void)s->reducer->ops->barrier(s->reducer, worker);
	for (size_t slot = s->slot_end; slot-- > s->slot_begin;)
		if (s->slot[slot].culprit != NULL)
			out->culprit = s->slot[slot].culprit;
	if (s->exchange == NULL)
		return;
	if (worker == 0)
		gather_culprits(s, out->culprit);
	(void)s->reducer->ops->barrier(s->reducer, worker);
	out->culprit = NULL;
	for (size_t r = s->exchange->n_ranks; r-- > 0;)
		if (s->culprit[r][0] != '\0')
			out->culprit = s->culprit[r];
}
