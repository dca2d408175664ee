/*
 * Which file is which file of the ledger: by inode, then by name, then by content, each
 * proved by the hashes of what was trained of it.  What is left is new, a copy of another,
 * or has replaced what had its name.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "data/source.h"
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

/* *end of the trained bytes; 0: they are not here. */
static enum rs_status
find_trained_bytes(const struct intake_work *w, const struct intake_file *f,
	const struct intake_known *k, uint64_t *end)
{
	struct range_list covered = { .n = 0 };
	int same = 0;

	RS_TRY(intake_past_cover(&w->past, k, &covered));
	*end = covered.n > 0 ? covered.item[covered.n - 1].end : 0;
	range_list_free(&covered);
	if (!(f->text > 0 && *end != RANGE_END && *end > f->text))
		RS_TRY(compare_hashes(w, f, k, &same));
	*end = same ? *end : 0;
	return RS_OK;
}

enum rs_status
intake_hash_all(struct intake_file *f)
{
	struct intake_digest d = { .limit = f->gzip ? RANGE_END : f->size };

	if (f->has_hash)
		return RS_OK;
	RS_TRY(intake_digest(f->path, &d, 1, f->gzip ? &f->text : NULL));
	if (!f->gzip)
		f->text = f->size;
	f->hash = d.hash;
	f->has_hash = d.whole;
	return RS_OK;
}

enum rs_status
intake_size(struct intake_file *f)
{
	if (!f->gzip)
		f->text = f->size;
	return f->gzip && f->text == 0 ? intake_hash_all(f) : RS_OK;
}

/* What speaks for it besides the bytes.  A name and an inode may be given again, to copies
 * above all, so those of a file that was never but a copy count less than a file that has the
 * bytes and is there. */
enum rank { RANK_CONTENT, RANK_COPY_NAME, RANK_COPY_INODE, RANK_IS_THERE, RANK_NAME, RANK_INODE };

static int
is_copy(const struct intake_past *past, const struct intake_known *k)
{
	for (size_t i = k->first; i != INTAKE_NONE; i = past->next[i])
		if (past->ledger->entry[i].use != LEDGER_DUPLICATE)
			return 0;
	return 1;
}

static int
has_name(const struct intake_work *w, const struct intake_file *f, const struct intake_known *k)
{
	return strcmp(intake_past_latest(&w->past, k)->path, f->real) == 0;
}

static int
has_inode(const struct intake_work *w, const struct intake_file *f, const struct intake_known *k)
{
	return intake_past_latest(&w->past, k)->inode == f->inode;
}

static enum rank
rank_of(const struct intake_work *w, const struct intake_file *f, const struct intake_known *k)
{
	const int copy = is_copy(&w->past, k);

	if (!copy && has_inode(w, f, k))
		return RANK_INODE;
	if (!copy && has_name(w, f, k))
		return RANK_NAME;
	if (k->home != NULL)
		return RANK_IS_THERE;
	return has_inode(w, f, k) ? RANK_COPY_INODE
		: has_name(w, f, k) ? RANK_COPY_NAME : RANK_CONTENT;
}

/* A file under another name goes on what was trained when it begins so; where names tell
 * the time it must be all of it, since such files do not grow and may be short. */
static enum rs_status
weigh_candidates(struct intake_work *w, struct intake_file *f)
{
	for (size_t i = 0; i < f->n_candidates; i++) {
		struct intake_candidate *const c = &f->candidate[i];
		const struct intake_known *const k = &w->past.known[c->known];

		RS_TRY(find_trained_bytes(w, f, k, &c->end));
		if (w->by_rows || c->end == 0 || has_name(w, f, k) || has_inode(w, f, k))
			continue;
		RS_TRY(intake_hash_all(f));
		if (c->end != RANGE_END && c->end != f->text)
			c->end = 0;
	}
	return RS_OK;
}

/* The candidate of which most was trained; NULL: none. */
static struct intake_known *
find_best(const struct intake_work *w, const struct intake_file *f)
{
	struct intake_known *best = NULL;
	uint64_t most = 1;

	for (size_t i = 0; i < f->n_candidates; i++) {
		const struct intake_candidate *const c = &f->candidate[i];
		struct intake_known *const k = &w->past.known[c->known];

		if (c->end < most || (c->end == most && best != NULL &&
		    rank_of(w, f, k) <= rank_of(w, f, best)))
			continue;
		best = k;
		most = c->end;
	}
	return best;
}

static enum rs_status
adopt(struct intake_work *w, struct intake_file *f, struct intake_known *k)
{
	const struct ledger_entry *const e = intake_past_latest(&w->past, k);

	RS_TRY(intake_past_cover(&w->past, k, &f->covered));
	f->was = e->path;
	k->home = f;
	/* Entries without a number are held together by their name alone. */
	if (e->file == 0 && strcmp(e->path, f->real) != 0) {
		f->copied = 1;
		return RS_OK;
	}
	f->known = k;
	f->number = e->file;
	return RS_OK;
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
match_rank(struct intake_work *w, struct intake_file *f, enum rank rank)
{
	struct intake_known *const k = find_best(w, f);

	return k != NULL && k->home == NULL && rank_of(w, f, k) == rank ? adopt(w, f, k) : RS_OK;
}

static enum rs_status
match_inode(struct intake_work *w, struct intake_file *f)
{
	return match_rank(w, f, RANK_INODE);
}

static enum rs_status
match_path(struct intake_work *w, struct intake_file *f)
{
	return match_rank(w, f, RANK_NAME);
}

/* --- copies ------------------------------------------------------------------ */

/* The copy may have been made within a line: the last line end up to a place. */
static enum rs_status
last_line_end(const struct intake_file *f, uint64_t place, uint64_t *end)
{
	char text[1 << 14];
	struct source *source;
	enum rs_status status;
	uint64_t at = 0;
	size_t got = 1;

	*end = 0;
	RS_TRY(source_open(f->path, &source));
	status = RS_OK;
	while (status == RS_OK && at < place && got > 0) {
		status = source_read(source, text, place - at < sizeof text ?
			(size_t)(place - at) : sizeof text, &got);
		const char *const newline = memrchr(text, '\n', got);
		if (newline != NULL)
			*end = at + (uint64_t)(newline + 1 - text);
		at += got;
	}
	source_close(source);
	return status;
}

enum rs_status
intake_begins_with(struct intake_file *g, struct intake_file *f, int *same)
{
	struct intake_digest d = { .limit = 0 };

	RS_TRY(intake_hash_all(f));
	d.limit = f->text;
	RS_TRY(intake_digest(g->path, &d, 1, NULL));
	*same = f->has_hash && d.whole && d.hash == f->hash;
	return RS_OK;
}

/* What f and the file g have in common is g's to train. */
static enum rs_status
share_with(struct intake_file *f, struct intake_file *g)
{
	int same;

	RS_TRY(intake_begins_with(g, f, &same));
	if (same) {
		f->original = g;
		return RS_OK;
	}
	RS_TRY(intake_begins_with(f, g, &same));
	if (!same)
		return RS_OK;
	f->shared = g;
	RS_TRY(last_line_end(f, g->text, &f->shared_end));
	range_list_free(&f->covered);
	return f->shared_end > 0 ? range_list_add(&f->covered, 0, f->shared_end) : RS_OK;
}

/* Of a file that is gone it is what goes on; of one that is there it is a copy. */
static enum rs_status
match_content(struct intake_work *w, struct intake_file *f)
{
	struct intake_known *const k = find_best(w, f);

	if (k == NULL)
		return RS_OK;
	if (k->home == NULL)
		return adopt(w, f, k);
	RS_TRY(intake_past_cover(&w->past, k, &f->covered));
	f->copied = 1;
	f->was = k->home->path;
	return share_with(f, k->home);
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
	const size_t k = find_path(&w->past, f->real);

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
	RS_TRY(pass(m, weigh_candidates));
	RS_TRY(pass(m, match_inode));
	RS_TRY(pass(m, match_path));
	if (m->w->by_rows)
		RS_TRY(intake_match_beginnings(m->w));
	RS_TRY(pass(m, match_content));
	if (!m->w->by_rows)
		RS_TRY(match_twins(m));
	for (size_t i = 0; i < m->n; i++)
		while (m->file[i]->original != NULL && m->file[i]->original->original != NULL)
			m->file[i]->original = m->file[i]->original->original;
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
