/*
 * A version and what it is made of: the whole one it begins with, then delta after delta, each
 * of the one before.  A version that is whole is a chain of itself.
 *
 * Opening one verifies all files of the version and the tables of those before it.  What is
 * missing, comes twice or is not what a delta was made of is refused with its name.
 */
#ifndef TRAIN_CHECKPOINT_CHAIN_H
#define TRAIN_CHECKPOINT_CHAIN_H

#include "train/manifest.h"

struct checkpoint_link {
	uint64_t version;
	char    *path;
	struct manifest manifest;
};

struct checkpoint_chain {
	struct checkpoint_link *link;       /* [n] the last is the version itself          */
	size_t n;
};

/* CHECKPOINT_HERE: former versions are beside it.  Free it after success only. */
enum rs_status checkpoint_chain_open(const char *directory, uint64_t version,
	struct checkpoint_chain *out);
void checkpoint_chain_free(struct checkpoint_chain *c);
/* Has it this table? */
int checkpoint_chain_has_table(const struct checkpoint_chain *c, const char *table);
/* Into table t of a model, whose lookup may be elsewhere. */
enum rs_status checkpoint_chain_load_table(const struct checkpoint_chain *c, struct model *m,
	size_t t);
/* The file of the whole table t; of the model only the shape is needed. */
enum rs_status checkpoint_chain_write_table(const struct checkpoint_chain *c,
	const struct model *m, size_t t, struct file_writer *w);
/* The same, mapped: the caller closes the map. */
enum rs_status checkpoint_chain_map_table(const struct checkpoint_chain *c,
	const struct model *m, size_t t, struct file_map *out);
/* The table of the model that a file has the delta of; n_tables: it is no delta of any. */
size_t checkpoint_chain_table_of(const struct model *m, const char *file);
/* What the version at a path is a delta of; 0: it is whole, or its MANIFEST is damaged. */
enum rs_status checkpoint_chain_parent(const char *path, uint64_t *parent);
/* Marks in keep[n] what the versions marked, and those put aside for inspection, are made of;
 * list[n] is ascending. */
enum rs_status checkpoint_chain_keep(const char *directory, const uint64_t *list, size_t n,
	unsigned char *keep);

static inline struct checkpoint_link *
checkpoint_chain_last(const struct checkpoint_chain *c)
{
	return &c->link[c->n - 1];
}

#endif
