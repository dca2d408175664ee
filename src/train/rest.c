/* Files of what is held back: from every rank to the first, from the first to all. */
#include "train/rest.h"

#include <stdlib.h>

#include "base/log.h"
#include "train/checkpoint.h"
#include "train/ranks.h"
#include "train/spread.h"

static enum rs_status
copy(const char *path, struct file_writer *w)
{
	struct file_map map;

	RS_TRY(file_map_open(&map, path));
	const enum rs_status status = file_writer_write(w, map.data, map.size);
	file_map_close(&map);
	return status;
}

/* --- from all --------------------------------------------------------------------------- */

struct gathering { const struct model *m; struct file_writer *w; };

static enum rs_status
write_own(const void *context, size_t number, struct file_writer *w)
{
	const struct gathering *const g = context;
	struct lookup *const l = g->m->lookup;

	(void)number;
	return l->ops->save_rest(l, w);
}

static enum rs_status
read_other(void *context, size_t number, const char *path)
{
	const struct gathering *const g = context;

	(void)number;
	return ranks_lead(g->m->place) ? copy(path, g->w) : RS_OK;
}

enum rs_status
rest_gather(const struct model *m, struct file_writer *w)
{
	struct gathering g = { m, w };
	const size_t R = ranks_several(m->place) ? m->place->n_ranks : 1;

	for (size_t r = 0; m->lookup->ops->save_rest != NULL && r < R; r++)
		RS_TRY(spread_file(m->place, r,
			&(struct spread_file){ write_own, read_other, &g, r }, 1));
	return w->size > 0 ? file_writer_commit(w) : RS_OK;
}

/* --- to all ------------------------------------------------------------------------------- */

struct restoring { struct model *m; const char *path; };

static enum rs_status
write_saved(const void *context, size_t number, struct file_writer *w)
{
	const struct restoring *const r = context;

	(void)number;
	return r->path != NULL ? copy(r->path, w) : RS_OK;
}

static enum rs_status
read_saved(void *context, size_t number, const char *path)
{
	const struct restoring *const r = context;
	struct lookup *const l = r->m->lookup;

	(void)number;
	return l->ops->load_rest(l, path);
}

enum rs_status
rest_restore(struct model *m, const char *directory, uint64_t version)
{
	enum rs_status status = RS_OK;
	char *path = NULL;

	if (ranks_lead(m->place))
		status = checkpoint_find(directory, version, CHECKPOINT_REST, &path);
	status = ranks_outcome(m->place, status);
	const struct restoring r = { m, path };
	if (status == RS_OK && m->lookup->ops->load_rest != NULL)
		status = spread_file(m->place, 0, &(struct spread_file){ write_saved, read_saved,
			(void *)(uintptr_t)&r, 0 }, 1);
	else if (path != NULL)
		log_warn("what rounding left out of gradients is dropped: v%06llu is of a run that "
			"compresses them, this one does not", (unsigned long long)version);
	free(path);
	return status;
}
