/* What a run does about threads, processes and hosts. */
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "spec/option.h"
#include "train/ranks.h"
#include "train/train_private.h"

/* What of [gpu] trains another model when it changes is the model's. */
static int
is_of_place(const struct option_row *row)
{
	return strcmp(row->section, "placement") == 0 || strcmp(row->section, "cluster") == 0
		|| (strcmp(row->section, "gpu") == 0 && row->is_free);
}

enum rs_status
train_forget_places(struct spec *spec)
{
	for (const struct option_row *row = option_table; row->section != NULL; row++)
		if (is_of_place(row))
			RS_TRY(spec_set(spec, row->section, row->key,
				row->dflt != NULL ? row->dflt : ""));
	RS_TRY(spec_set(spec, "train", "pin_threads", "no"));
	return spec_set(spec, "train", "threads", "0");
}

enum rs_status
train_check_place(const struct settings *s, const struct train_place *place)
{
	const size_t n_slots = model_slots(s);

	if (!ranks_several(place))
		return RS_OK;
	if (place->n_ranks > n_slots) {
		(void)rs_fail(RS_ESPEC, "%zu workers, but a batch has only %zu slots",
			place->n_ranks, n_slots);
		return rs_hint("set train.slots to %zu or more, or use fewer workers",
			place->n_ranks);
	}
	for (size_t i = 0; i < s->data.train.n; i++)
		if (strcmp(s->data.train.item[i], "-") == 0)
			return rs_fail(RS_ESPEC, "data.train: standard input cannot be read by "
				"%zu workers", place->n_ranks);
	return dealer_check(s, place->n_ranks);
}

size_t
train_count_threads(const struct settings *s, const struct train_place *place)
{
	const char *why;
	const size_t n = s->train.threads > 0 ? (size_t)s->train.threads :
		thread_auto_count(&why);
	size_t begin, end;

	ranks_share(place, model_slots(s), &begin, &end);
	return n < end - begin ? n : end - begin;
}

enum rs_status
train_open_workers(struct training *t)
{
	const size_t n = t->model_options.n_threads;
	const enum rs_status status = workers_create(t->m, n, &t->workers);
	struct rs_failure why;

	if (t->m->gpu == NULL || t->model_options.wants_gpu
	    || (status != RS_ERESOURCE && status != RS_EPEER))
		return status;
	rs_failure_take(&why);
	RS_TRY(model_leave_gpu(t->m, &why));
	t->model_options.gpu = NULL;
	log_warn("the CPU trains, as the GPU cannot be opened: %s", t->m->why_host);
	return workers_create(t->m, n, &t->workers);
}
