/* The chain of versions that a delta is made of. */
#include "train/checkpoint_chain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/file_unnamed.h"
#include "base/memory.h"
#include "train/checkpoint_private.h"

/* --- opening ----------------------------------------------------------------- */

static void
link_free(struct checkpoint_link *l)
{
	manifest_free(&l->manifest);
	free(l->path);
}

void
checkpoint_chain_free(struct checkpoint_chain *c)
{
	for (size_t i = 0; i < c->n; i++)
		link_free(&c->link[i]);
	free(c->link);
	*c = (struct checkpoint_chain){ .n = 0 };
}

static enum rs_status
add_link(struct checkpoint_chain *c, struct checkpoint_link **out)
{
	struct checkpoint_link *const grown = realloc(c->link, (c->n + 1) * sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "no memory for a chain of %zu versions", c->n + 1);
	c->link = grown;
	*out = &grown[c->n++];
	**out = (struct checkpoint_link){ .version = 0 };
	return RS_OK;
}

/* Of a version that a delta was made of; that of one put aside may be put aside, too. */
static enum rs_status
parent_path(const char *directory, int is_here, uint64_t parent, char **out)
{
	char *above;

	if (!is_here)
		return checkpoint_version_path(directory, parent, out);
	RS_TRY(file_join(directory, "..", &above));
	enum rs_status status = checkpoint_version_path(above, parent, out);
	if (status == RS_OK && access(*out, F_OK) != 0 && !file_is_shortage(errno)) {
		free(*out);
		status = checkpoint_rejected_path(above, parent, out);
	}
	free(above);
	return status;
}

static enum rs_status
fail_missing(const struct checkpoint_link *child)
{
	const uint64_t parent = child->manifest.parent;

	(void)rs_fail_at(RS_EDATA, child->path, 0, 0, "a delta of v%06" PRIu64
		", which is missing", parent);
	return rs_hint("put v%06" PRIu64 " back, or go back to a version before it with "
		"recsys-train rollback", parent);
}

static enum rs_status
check_parent(const struct checkpoint_link *child, const struct checkpoint_link *parent)
{
	if (parent->manifest.version != parent->version)
		return rs_fail_at(RS_EDATA, parent->path, 0, 0, "MANIFEST is of v%06" PRIu64
			", so v%06" PRIu64 ", which v%06" PRIu64 " is a delta of, is missing",
			parent->manifest.version, parent->version, child->manifest.version);
	if (parent->manifest.identity == child->manifest.parent_identity)
		return RS_OK;
	return rs_fail_at(RS_EDATA, child->path, 0, 0, "a delta of another v%06" PRIu64
		" than is there: the one wanted is missing", child->manifest.parent);
}

/* A delta under another number than its own would be applied twice, or out of turn. */
static enum rs_status
check_delta(const struct checkpoint_link *l, uint64_t version)
{
	if (l->manifest.version != version)
		return rs_fail_at(RS_EDATA, l->path, 0, 0, "holds the delta v%06" PRIu64 ": v%06"
			PRIu64 " is missing", l->manifest.version, version);
	if (l->manifest.parent == 0 || l->manifest.parent >= version)
		return rs_fail_at(RS_EDATA, l->path, 0, 0, "damaged: v%06" PRIu64
			" cannot be a delta of v%06" PRIu64, version, l->manifest.parent);
	return RS_OK;
}

/* The version that the newest link so far is a delta of. */
static enum rs_status
open_parent(struct checkpoint_chain *c, const char *directory, int is_here)
{
	const uint64_t parent = checkpoint_chain_last(c)->manifest.parent;
	struct checkpoint_link *l;

	RS_TRY(add_link(c, &l));
	const struct checkpoint_link *const child = l - 1;

	l->version = parent;
	RS_TRY(parent_path(directory, is_here, parent, &l->path));
	if (access(l->path, F_OK) != 0 && !file_is_shortage(errno))
		return fail_missing(child);
	RS_TRY(manifest_read(&l->manifest, l->path));
	RS_TRY(check_parent(child, l));
	return manifest_verify_some(&l->manifest, l->path, CHECKPOINT_TABLE_PREFIX);
}

static void
reverse(struct checkpoint_chain *c)
{
	for (size_t i = 0; i < c->n / 2; i++) {
		const struct checkpoint_link l = c->link[i];

		c->link[i] = c->link[c->n - 1 - i];
		c->link[c->n - 1 - i] = l;
	}
}

static enum rs_status
open_links(const char *directory, uint64_t version, struct checkpoint_chain *c)
{
	const int is_here = version == CHECKPOINT_HERE;
	struct checkpoint_link *l;

	RS_TRY(add_link(c, &l));
	RS_TRY(checkpoint_version_path(directory, version, &l->path));
	RS_TRY(manifest_read(&l->manifest, l->path));
	l->version = is_here ? l->manifest.version : version;
	RS_TRY(manifest_verify(&l->manifest, l->path));
	while ((l = checkpoint_chain_last(c))->manifest.kind == MANIFEST_DELTA) {
		RS_TRY(check_delta(l, l->version));
		RS_TRY(open_parent(c, directory, is_here));
	}
	return RS_OK;
}

enum rs_status
checkpoint_chain_open(const char *directory, uint64_t version, struct checkpoint_chain *out)
{
	*out = (struct checkpoint_chain){ .n = 0 };
	const enum rs_status status = open_links(directory, version, out);
	if (status == RS_OK)
		reverse(out);
	else
		checkpoint_chain_free(out);
	return status;
}

/* --- tables ------------------------------------------------------------------- */

int
checkpoint_chain_has_table(const struct checkpoint_chain *c, const char *table)
{
	const struct manifest *const m = &checkpoint_chain_last(c)->manifest;
	char whole[CHECKPOINT_NAME_SIZE], delta[CHECKPOINT_NAME_SIZE];

	checkpoint_table_file(whole, table);
	checkpoint_table_delta(delta, table);
	return manifest_has(m, whole) || manifest_has(m, delta);
}

static enum rs_status
load_whole(const struct checkpoint_link *k, struct lookup *l, size_t t, const char *name)
{
	char *file;

	RS_TRY(file_join(k->path, name, &file));
	const enum rs_status status = l->ops->load(l, t, (const char *const *)&file, 1);
	free(file);
	return status;
}

static enum rs_status
load_delta(const struct checkpoint_link *k, struct lookup *l, size_t t, const char *name)
{
	const struct lookup_step step = { k->version, k->manifest.parent };
	char *file;

	if (!manifest_has(&k->manifest, name))
		return rs_fail_at(RS_EDATA, k->path, 0, 0, "damaged: MANIFEST has no file '%s'",
			name);
	RS_TRY(file_join(k->path, name, &file));
	const enum rs_status status = l->ops->load_delta(l, t, &step, file);
	free(file);
	return status;
}

/* The newest link that has all of the table; 0 if none has. */
static size_t
whole_link(const struct checkpoint_chain *c, const char *whole)
{
	size_t i = c->n - 1;

	while (i > 0 && !manifest_has(&c->link[i].manifest, whole))
		i--;
	return i;
}

static enum rs_status
load_links(const struct checkpoint_chain *c, struct lookup *l, size_t t, const char *table)
{
	char whole[CHECKPOINT_NAME_SIZE], delta[CHECKPOINT_NAME_SIZE];

	checkpoint_table_file(whole, table);
	checkpoint_table_delta(delta, table);
	size_t i = whole_link(c, whole);
	RS_TRY(load_whole(&c->link[i], l, t, whole));
	for (i++; i < c->n; i++)
		RS_TRY(load_delta(&c->link[i], l, t, delta));
	return RS_OK;
}

enum rs_status
checkpoint_chain_write_table(const struct checkpoint_chain *c, const struct model *m, size_t t,
	struct file_writer *w)
{
	const struct lookup_local_options options = {
		.kernel = m->kernel, .table = &m->table[t], .n_tables = 1, .n_slots = 1,
		.n_inputs = 1, .n_threads = 1, .for_training = 1,
	};
	struct lookup *l;

	RS_TRY(lookup_local_open(&options, &l));
	enum rs_status status = load_links(c, l, 0, m->table[t].name);
	if (status == RS_OK)
		status = l->ops->save(l, 0, w);
	l->ops->close(l);
	return status;
}

/* In memory, but for a table that is larger. */
static enum rs_status
write_unnamed(const struct checkpoint_chain *c, const struct model *m, size_t t,
	struct file_writer *w)
{
	RS_TRY(m->table[t].resident > 0 ? file_unnamed_writer(w, m->table[t].spill)
		: file_writer_open_memory(w));
	const enum rs_status status = checkpoint_chain_write_table(c, m, t, w);
	return status == RS_OK ? file_writer_commit(w) : status;
}

enum rs_status
checkpoint_chain_map_table(const struct checkpoint_chain *c, const struct model *m, size_t t,
	struct file_map *out)
{
	struct file_writer w = { .fd = -1 };

	enum rs_status status = write_unnamed(c, m, t, &w);
	if (status == RS_OK)
		status = file_map_open(out, w.path);
	file_writer_close(&w);
	return status;
}

size_t
checkpoint_chain_table_of(const struct model *m, const char *file)
{
	char name[CHECKPOINT_NAME_SIZE];

	for (size_t t = 0; t < m->n_tables; t++) {
		checkpoint_table_delta(name, m->table[t].name);
		if (strcmp(name, file) == 0)
			return t;
	}
	return m->n_tables;
}

/* Rows that are in several processes are given to them as a whole table. */
static enum rs_status
load_as_whole(const struct checkpoint_chain *c, struct model *m, size_t t)
{
	struct file_writer w = { .fd = -1 };

	enum rs_status status = write_unnamed(c, m, t, &w);
	if (status == RS_OK)
		status = m->lookup->ops->load(m->lookup, t, (const char *const *)&w.path, 1);
	file_writer_close(&w);
	return status;
}

enum rs_status
checkpoint_chain_load_table(const struct checkpoint_chain *c, struct model *m, size_t t)
{
	char whole[CHECKPOINT_NAME_SIZE];

	checkpoint_table_file(whole, m->table[t].name);
	return m->lookup->ops->load_delta == NULL && whole_link(c, whole) != c->n - 1
		? load_as_whole(c, m, t) : load_links(c, m->lookup, t, m->table[t].name);
}

/* --- what must stay -------------------------------------------------------------- */

enum rs_status
checkpoint_chain_parent(const char *path, uint64_t *parent)
{
	struct manifest m;
	const enum rs_status status = manifest_read(&m, path);

	*parent = status == RS_OK && m.kind == MANIFEST_DELTA ? m.parent : 0;
	if (status == RS_OK)
		manifest_free(&m);
	return checkpoint_is_damage(status) ? RS_OK : status;
}

struct keeping { const char *directory; const uint64_t *list; size_t n; unsigned char *keep; };

/* Marks what the version at the path, which it takes, is a delta of. */
static enum rs_status
keep_parent(const struct keeping *k, char *path)
{
	uint64_t parent;
	const enum rs_status status = checkpoint_chain_parent(path, &parent);

	for (size_t i = 0; parent != 0 && i < k->n; i++)
		k->keep[i] |= k->list[i] == parent;
	free(path);
	return status;
}

static enum rs_status
keep_of_rejected(const struct keeping *k)
{
	uint64_t *list;
	size_t n;
	enum rs_status status = checkpoint_rejected(k->directory, &list, &n);

	for (size_t i = 0; status == RS_OK && i < n; i++) {
		char *path;

		status = checkpoint_rejected_path(k->directory, list[i], &path);
		if (status == RS_OK)
			status = keep_parent(k, path);
	}
	free(list);
	return status;
}

enum rs_status
checkpoint_chain_keep(const char *directory, const uint64_t *list, size_t n, unsigned char *keep)
{
	const struct keeping k = { directory, list, n, keep };

	RS_TRY(keep_of_rejected(&k));
	for (size_t i = n; i-- > 0; ) {
		char *path;

		if (!keep[i])
			continue;
		RS_TRY(checkpoint_version_path(directory, list[i], &path));
		RS_TRY(keep_parent(&k, path));
	}
	return RS_OK;
}
