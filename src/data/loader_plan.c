/* The plan: which span comes next, and where a resumed run goes on. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/rng.h"
#include "data/cache.h"
#include "data/loader_private.h"

static const struct loader_group *
plan_group(const struct loader *l, uint64_t epoch, size_t i)
{
	const uint64_t key = rng_key(rng_key(l->options.seed, RNG_SHUFFLE_GROUP), epoch);

	return &l->index.group[rng_permute(key, l->index.n, i)];
}

/* Steps over one group: it ends its window when the next would not fit. */
static void
plan_step(struct loader *l, struct loader_slot *slot)
{
	struct loader_plan *p = &l->plan;

	slot->group = *plan_group(l, p->epoch, p->next);
	slot->epoch = p->epoch;
	slot->window = p->window;
	slot->identity = l->index.identity;
	p->window_bytes += slot->group.size;
	p->next++;
	slot->last_of_epoch = p->next == l->index.n;
	slot->last_of_window = slot->last_of_epoch ||
		p->window_bytes + plan_group(l, p->epoch, p->next)->size > l->window_bytes;
	if (slot->last_of_window) {
		p->window++;
		p->window_bytes = 0;
	}
	if (slot->last_of_epoch) {
		p->epoch++;
		p->window = 0;
		p->next = 0;
	}
}

/* The same of a file that has a cache: without the text. */
static void
plan_read_cached(struct loader *l, struct loader_group *g)
{
	struct loader_plan *p = &l->plan;
	uint64_t hash;

	*g = (struct loader_group){ .file = p->file, .number = p->cached };
	loader_cache_next(&l->input[p->file], g, &hash);
	if (g->size == 0)
		return;
	p->cached++;
	p->identity = hash_cat(p->identity, hash);
}

/* The next span of this epoch; g->size == 0: the current file is at its end. */
static enum rs_status
plan_read(struct loader *l, const char **text, struct loader_group *g)
{
	struct loader_plan *p = &l->plan;

	*text = NULL;
	if (l->input[p->file].cache != NULL) {
		plan_read_cached(l, g);
		return RS_OK;
	}
	if (!p->open) {
		struct loader_input *input = &l->input[p->file];

		if (input->once && p->epoch > 0) {
			(void)rs_fail(RS_EDATA, "'%s' cannot be read a second time for epoch %ju",
				input->file.path, (uintmax_t)p->epoch + 1);
			return rs_hint("set train.epochs = 1, or give files");
		}
		p->open = 1;
		RS_TRY(loader_reader_open(&p->reader, l, input, 0));
	}
	g->file = p->file;
	RS_TRY(loader_reader_next(&p->reader, text, g));
	if (g->size > 0)
		p->identity = hash_cat(p->identity, hash_fingerprint64(*text, g->size));
	return RS_OK;
}

static void
plan_close_file(struct loader_plan *p)
{
	if (p->open)
		loader_reader_close(&p->reader);
	p->open = 0;
	p->cached = 0;
	p->file++;
}

static void
plan_end_file(struct loader *l, struct loader_slot *slot)
{
	struct loader_plan *p = &l->plan;
	const struct loader_input *const input = &l->input[p->file];

	slot->mark = LOADER_FILE_END;
	if (input->cache != NULL) {
		slot->file_size = cache_text(input->cache)->size;
		slot->file_hash = cache_text(input->cache)->content_hash;
	} else {
		slot->file_size = p->reader.content.size;
		slot->file_hash = content_hash_value(&p->reader.content);
	}
	plan_close_file(p);
}

static void
plan_end_epoch(struct loader *l, struct loader_slot *slot)
{
	struct loader_plan *p = &l->plan;

	slot->mark = LOADER_EPOCH_END;
	slot->last_of_epoch = 1;
	p->epoch++;
	p->window = 0;
	p->file = 0;
	p->identity = 0;
}

static enum rs_status
plan_stream(struct loader *l, struct loader_slot *slot)
{
	struct loader_plan *p = &l->plan;
	const char *text = p->pending_text;

	slot->epoch = p->epoch;
	slot->window = p->window;
	slot->last_of_window = 1;
	slot->identity = p->identity;
	slot->group.size = 0;
	if (p->file == l->n_inputs) {
		plan_end_epoch(l, slot);
		return RS_OK;
	}
	if (p->pending)
		slot->group = p->pending_group;
	else
		RS_TRY(plan_read(l, &text, &slot->group));
	p->pending = 0;
	slot->identity = p->identity;
	if (slot->group.size == 0) {
		slot->group.file = p->file;
		plan_end_file(l, slot);
		return RS_OK;
	}
	p->window++;
	slot->text.n = 0;
	return text != NULL ? buffer_append(&slot->text, text, slot->group.size) : RS_OK;
}

enum rs_status
loader_plan_next(struct loader *l, struct loader_slot *slot)
{
	slot->mark = LOADER_ROWS;
	slot->last_of_epoch = 0;
	slot->last_of_window = 1;
	slot->group = (struct loader_group){ .size = 0 };
	if (l->plan.epoch >= l->options.epochs) {
		slot->mark = LOADER_END;
		l->plan.finished = 1;
		return RS_OK;
	}
	if (!l->indexed)
		return plan_stream(l, slot);
	plan_step(l, slot);
	return RS_OK;
}

/* Names the file that was written last, the likeliest to have changed. */
static enum rs_status
plan_changed(const struct loader *l)
{
	size_t newest = 0;

	for (size_t i = 1; i < l->n_inputs; i++)
		if (l->input[i].modified.tv_sec > l->input[newest].modified.tv_sec)
			newest = i;
	(void)rs_fail(RS_EDATA, "the input is not the one this run began with: '%s' changed%s",
		l->input[newest].file.path,
		l->n_inputs > 1 ? " last, or the list of files did" : "");
	return rs_hint("start a new run, or restore the file");
}

static enum rs_status
plan_resume_index(struct loader *l, const struct loader_position *position)
{
	struct loader_slot slot;

	if (position->identity != l->index.identity)
		return plan_changed(l);
	while (l->plan.epoch == position->epoch && l->plan.window < position->window)
		plan_step(l, &slot);
	return l->plan.epoch == position->epoch ? RS_OK : plan_changed(l);
}

/* Reads the spans of an epoch up to and including number `window`. */
static enum rs_status
plan_replay(struct loader *l, uint64_t window, int whole)
{
	struct loader_plan *p = &l->plan;

	while (p->file < l->n_inputs) {
		RS_TRY(plan_read(l, &p->pending_text, &p->pending_group));
		if (p->pending_group.size == 0) {
			plan_close_file(p);
		} else if (!whole && p->window == window) {
			p->pending = 1;
			return RS_OK;
		} else {
			p->window++;
		}
	}
	return whole ? RS_OK : plan_changed(l);
}

/* At the start of a later epoch the whole former epoch is what was read. */
static enum rs_status
plan_resume_stream(struct loader *l, const struct loader_position *position)
{
	struct loader_plan *p = &l->plan;
	const int whole = position->rows == 0;

	if (whole && (position->epoch == 0 || position->epoch >= l->options.epochs ||
	    l->options.command != NULL))
		return RS_OK;
	if (whole)
		p->epoch--;
	RS_TRY(plan_replay(l, position->window, whole));
	if (p->identity != position->identity)
		return plan_changed(l);
	if (whole) {
		p->epoch++;
		p->file = 0;
		p->window = 0;
		p->identity = 0;
	}
	return RS_OK;
}

enum rs_status
loader_plan_resume(struct loader *l, const struct loader_position *position)
{
	l->plan.epoch = position->epoch;
	if (l->indexed)
		return plan_resume_index(l, position);
	return plan_resume_stream(l, position);
}

void
loader_plan_close(struct loader *l)
{
	if (l->plan.open)
		loader_reader_close(&l->plan.reader);
	l->plan.open = 0;
}
