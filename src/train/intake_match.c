/*
 * Which file is which file of the ledger: by inode, then by name, then by content, each
 * proved by the hashes of what was trained of it.  What is left is new, a copy of another,
 * or has replaced what had its name.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "train/intake_private.h"

struct matching {
	struct intake_work *w;
	struct intake_file **file; /* [n] that are not known yet, by path             */
	size_t n;
};

static int
is_open(const struct intake_file *f)
{
	return f->known == NULL && f->original == NULL && !f->copied && !f->waits;
}

/* --- are the trained bytes there? -------------------------------------------- */

static int
begins_alike(const struct intake_work *w, const struct intake_file *f,
	const struct intake_known *k)
{
	if (intake_past_latest(&w->past, k)->head_bytes == 0)
		return 1;
	for (size_t i = 0; i < f->n_candidates; i++)
		if (&w->past.known[f->candidate[i]] == k)
			return 1;
	return 0;
}

/* Some entry tells what the bytes were; without one only the inode does. */
static enum rs_status
compare_hashes(const struct intake_work *w, const struct intake_file *f,
	const struct intake_known *k, int *same)
{
	const struct ledger *const l = w->past.ledger;
	struct intake_digest *digest;
	size_t n = 0;

	for (size_t i = k->first; i != INTAKE_NONE; i = w->past.next[i])
		n += l->entry[i].content_hash != 0;
	RS_TRY(memory_alloc(n + 1, sizeof *digest, &digest));
	n = 0;
	for (size_t i = k->first; i != INTAKE_NONE; i = w->past.next[i])
		if (l->entry[i].content_hash != 0)
			digest[n++] = (struct intake_digest){ .ranges = &l->entry[i].ranges,
				.limit = l->entry[i].text != 0 ? l->entry[i].text : RANGE_END };
	enum rs_status status = n > 0 ? intake_digest(f->path, digest, n, NULL) : RS_OK;
	*same = n > 0 || intake_past_latest(&w->past, k)->inode == f->inode;
	n = 0;
	for (size_t i = k->first; i != INTAKE_NONE; i = w->past.next[i])
		if (l->entry[i].content_hash != 0) {
			*same = *same && digest[n].whole && digest[n].hash ==
				l->entry[i].content_hash;
			n++;
		}
	free(digest);
	return status;
}

static enum rs_status
has_trained_bytes(const struct intake_work *w, const struct intake_file *f,
	const struct intake_known *k, int *same)
{
	struct range_list covered = { .n = 0 };
	uint64_t end;

	*same = 0;
	if (!begins_alike(w, f, k))
		return RS_OK;
	RS_TRY(intake_past_cover(&w->past, k, &covered));
	end = covered.n > 0 ? covered.item[covered.n - 1].end : 0;
	range_list_free(&covered);
	if (f->text > 0 && end != RANGE_END && end > f->text)
		return RS_OK;
	return compare_hashes(w, f, k, same);
}

enum rs_status
intake_hash_all(struct intake_file *f)
{
	struct intake_digest d = { .limit = f->gzip ? RANGE_END : f->size };

	if (f->has_hash)
		return RS_OK;
	RS_TRY(intake_digest(f->path, &d, 1, f->gzip ? &f->text : NULL));
	f->hash = d.hash;
	f->has_hash = d.whole;
	return RS_OK;
}

/* A file under another name goes on what was trained when it begins so; where names tell
 * the time it must be all of it, since names are reused less and files may be short. */
static enum rs_status
is_same_file(const struct intake_work *w, struct intake_file *f, const struct intake_known *k,
	uint64_t *end, int *same)
{
	struct range_list covered = { .n = 0 };

	RS_TRY(has_trained_bytes(w, f, k, same));
	if (!*same)
		return RS_OK;
	RS_TRY(intake_past_cover(&w->past, k, &covered));
	*end = covered.n > 0 ? covered.item[covered.n - 1].end : 0;
	range_list_free(&covered);
	if (w->by_rows)
		return RS_OK;
	RS_TRY(intake_hash_all(f));
	*same = *end == RANGE_END || *end == f->text;
	return RS_OK;
}

static enum rs_status
adopt(struct intake_work *w, struct intake_file *f, struct intake_known *k)
{
	const struct ledger_entry *const e = intake_past_latest(&w->past, k);

	RS_TRY(intake_past_cover(&w->past, k, &f->covered));
	f->was = e->path;
	k->home = f;
	/* Entries without a number are held together by their name alone. */
	if (e->file == 0 && strcmp(e->path, f->path) != 0) {
		f->copied = 1;
		return RS_OK;
	}
	f->known = k;
	f->number = e->file;
	return RS_OK;
}

static enum rs_status
try_known(struct intake_work *w, struct intake_file *f, size_t k)
{
	int same;

	if (k == INTAKE_NONE || w->past.known[k].home != NULL)
		return RS_OK;
	RS_TRY(has_trained_bytes(w, f, &w->past.known[k], &same));
	return same ? adopt(w, f, &w->past.known[k]) : RS_OK;
}

/* --- the passes -------------------------------------------------------------- */

static size_t
find_path(const struct intake_past *past, const char *path)
{
	size_t k = intake_map_find(&past->by_path, intake_past_key_path(path));

	while (k != INTAKE_NONE &&
		strcmp(intake_past_latest(past, &past->known[k])->path, path) != 0)
		k = intake_map_next(&past->by_path, k);
	return k;
}

static enum rs_status
match_inode(struct intake_work *w, struct intake_file *f)
{
	const size_t named = find_path(&w->past, f->path);

	if (named != INTAKE_NONE &&
	    intake_past_latest(&w->past, &w->past.known[named])->inode == f->inode)
		return try_known(w, f, named);
	return try_known(w, f, intake_map_find(&w->past.by_inode, f->inode));
}

static enum rs_status
match_path(struct intake_work *w, struct intake_file *f)
{
	return try_known(w, f, find_path(&w->past, f->path));
}

/* Of files that are gone the one of which most was trained. */
static enum rs_status
match_content(struct intake_work *w, struct intake_file *f)
{
	size_t best = INTAKE_NONE;
	uint64_t most = 0;

	for (size_t i = 0; i < f->n_candidates; i++) {
		const struct intake_known *const k = &w->past.known[f->candidate[i]];
		uint64_t end = 0;
		int same = 0;

		if (k->home == NULL)
			RS_TRY(is_same_file(w, f, k, &end, &same));
		if (!same || (best != INTAKE_NONE && end <= most))
			continue;
		best = f->candidate[i];
		most = end;
	}
	return best != INTAKE_NONE ? adopt(w, f, &w->past.known[best]) : RS_OK;
}

/* --- copies ------------------------------------------------------------------ */

/* What f and the file g have in common is g's to train. */
static enum rs_status
share_with(struct intake_file *f, struct intake_file *g)
{
	struct intake_digest d = { .limit = 0 };

	if (!g->gzip)
		g->text = g->size;
	RS_TRY(intake_hash_all(f));
	RS_TRY(intake_hash_all(g));
	const struct intake_file *const shorter = f->text <= g->text ? f : g;
	d.limit = shorter->text;
	RS_TRY(intake_digest(shorter == f ? g->path : f->path, &d, 1, NULL));
	if (!d.whole || d.hash != shorter->hash || !shorter->has_hash)
		return RS_OK;
	if (shorter == f) {
		f->original = g;
		return RS_OK;
	}
	f->shared = g;
	range_list_free(&f->covered);
	return range_list_add(&f->covered, 0, g->text);
}

/* A file that is there has the trained bytes, too. */
static enum rs_status
match_copy(struct intake_work *w, struct intake_file *f)
{
	for (size_t i = 0; i < f->n_candidates; i++) {
		struct intake_known *const k = &w->past.known[f->candidate[i]];
		uint64_t end;
		int same = 0;

		if (k->home != NULL && k->home != f)
			RS_TRY(is_same_file(w, f, k, &end, &same));
		if (!same)
			continue;
		RS_TRY(intake_past_cover(&w->past, k, &f->covered));
		f->copied = 1;
		f->was = k->home->path;
		return share_with(f, k->home);
	}
	return RS_OK;
}

static uint64_t
twin_key(const struct intake_file *f)
{
	const uint64_t head = intake_past_key_head(f->head_bytes, f->head);

	return f->gzip ? head : hash_cat(head, f->size);
}

/* Two new files with the same contents: the first by name is the one. */
static enum rs_status
match_twin(struct intake_work *w, struct intake_file *f, const struct intake_map *by_key)
{
	const size_t self = (size_t)(f - w->file);
	int has_rows;

	for (size_t i = intake_map_find(by_key, twin_key(f)); i != INTAKE_NONE;
	     i = intake_map_next(by_key, i)) {
		struct intake_file *const g = &w->file[i];

		if (i >= self || !is_open(g))
			continue;
		RS_TRY(intake_hash_all(f));
		RS_TRY(intake_hash_all(g));
		if (!f->has_hash || !g->has_hash || f->hash != g->hash || f->text != g->text)
			continue;
		RS_TRY(intake_header(w, f, &has_rows));
		if (!has_rows)
			return RS_OK;
		f->original = g;
		f->was = g->path;
		return RS_OK;
	}
	return RS_OK;
}

static enum rs_status
match_twins(const struct matching *m)
{
	struct intake_map by_key = { .mask = 0 };
	enum rs_status status = intake_map_init(&by_key, m->w->n);

	for (size_t i = 0; i < m->n && status == RS_OK; i++)
		if (is_open(m->file[i]))
			intake_map_add(&by_key, twin_key(m->file[i]),
				(size_t)(m->file[i] - m->w->file));
	for (size_t i = 0; i < m->n && status == RS_OK; i++)
		if (is_open(m->file[i]))
			status = match_twin(m->w, m->file[i], &by_key);
	intake_map_free(&by_key);
	return status;
}

/* --- all --------------------------------------------------------------------- */

/* The name is that of a file that was trained and is not here any more. */
static void
match_replaced(const struct intake_work *w, struct intake_file *f)
{
	const size_t k = find_path(&w->past, f->path);

	if (k == INTAKE_NONE || w->past.known[k].home != NULL)
		return;
	f->replaced = 1;
	f->former = &w->past.known[k];
	f->was = intake_past_latest(&w->past, &w->past.known[k])->path;
}

static enum rs_status
pass(const struct matching *m,
	enum rs_status (*match)(struct intake_work *w, struct intake_file *f))
{
	for (size_t i = 0; i < m->n; i++)
		if (is_open(m->file[i]))
			RS_TRY(match(m->w, m->file[i]));
	return RS_OK;
}

/* A gzip file that is being written has no end yet. */
static enum rs_status
look_at(struct intake_work *w, struct intake_file *f)
{
	RS_TRY(intake_look(w, f));
	f->waits = f->gzip && f->young && w->settings->incremental.ready[0] == '\0';
	return RS_OK;
}

static enum rs_status
match_all(const struct matching *m)
{
	RS_TRY(pass(m, look_at));
	RS_TRY(pass(m, match_inode));
	RS_TRY(pass(m, match_path));
	RS_TRY(pass(m, match_content));
	RS_TRY(pass(m, match_copy));
	RS_TRY(match_twins(m));
	for (size_t i = 0; i < m->n; i++)
		if (is_open(m->file[i]))
			match_replaced(m->w, m->file[i]);
	return RS_OK;
}

enum rs_status
intake_match(struct intake_work *w, int (*wanted)(const struct intake_file *))
{
	struct matching m = { .w = w };

	RS_TRY(memory_alloc(w->n + 1, sizeof *m.file, &m.file));
	for (size_t i = 0; i < w->n; i++)
		if (!w->file[i].quiet && !w->file[i].waits && wanted(&w->file[i]))
			m.file[m.n++] = &w->file[i];
	const enum rs_status status = match_all(&m);
	for (size_t i = 0; i < m.n; i++)
		if (m.file[i]->known == NULL)
			m.file[i]->number = ++w->past.last_file;
	free(m.file);
	return status;
}
