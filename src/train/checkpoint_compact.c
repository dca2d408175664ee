/* A delta that becomes whole where it is. */
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/memory.h"
#include "train/checkpoint_chain.h"
#include "train/checkpoint_private.h"

struct compacting {
	const struct checkpoint_chain *chain;
	struct model *shape;
	struct manifest manifest;      /* of the whole version                        */
};

/* The file just added takes the place of another. */
static void
replace_file(struct manifest *m, struct manifest_file *f)
{
	free(f->name);
	free(f->crc);
	*f = m->file[--m->n_files];
}

/* File i of MANIFEST, what changed of table t, becomes all of the table. */
static enum rs_status
write_table(struct compacting *c, size_t i, size_t t)
{
	char name[CHECKPOINT_NAME_SIZE], *path;
	struct file_writer w;

	checkpoint_table_file(name, c->shape->table[t].name);
	RS_TRY(file_join(checkpoint_chain_last(c->chain)->path, name, &path));
	enum rs_status status = file_writer_open(&w, path);
	free(path);
	RS_TRY(status);
	failpoint("checkpoint.compact");
	status = checkpoint_chain_write_table(c->chain, c->shape, t, &w);
	if (status == RS_OK)
		status = file_writer_commit(&w);
	if (status == RS_OK)
		status = manifest_add(&c->manifest, name, &w);
	if (status == RS_OK)
		replace_file(&c->manifest, &c->manifest.file[i]);
	file_writer_close(&w);
	return status;
}

static enum rs_status
compact(struct compacting *c, const char *directory, uint64_t version)
{
	const struct model_options options = { .shape_only = 1 };
	const char *const path = checkpoint_chain_last(c->chain)->path;
	struct spec *spec;

	RS_TRY(checkpoint_spec(directory, version, &spec));
	RS_TRY(model_create(spec, &options, &c->shape));
	RS_TRY(manifest_read(&c->manifest, path));
	for (size_t i = 0; i < c->manifest.n_files; i++) {
		const size_t t = checkpoint_chain_table_of(c->shape, c->manifest.file[i].name);

		if (t < c->shape->n_tables)
			RS_TRY(write_table(c, i, t));
	}
	c->manifest.kind = MANIFEST_FULL;
	c->manifest.parent_identity = 0;
	failpoint("checkpoint.compacted");
	RS_TRY(manifest_write(&c->manifest, path));
	return checkpoint_remove_unnamed(&c->manifest, path);
}

enum rs_status
checkpoint_compact(const char *directory, uint64_t version, int *changed)
{
	struct checkpoint_chain chain;
	struct compacting c = { .chain = &chain };
	enum rs_status status;
	uint64_t parent;
	char *path;

	if (changed != NULL)
		*changed = 0;
	RS_TRY(checkpoint_version_path(directory, version, &path));
	status = checkpoint_chain_parent(path, &parent);
	free(path);
	if (status != RS_OK || parent == 0)
		return status;
	RS_TRY(checkpoint_chain_open(directory, version, &chain));
	if (changed != NULL)
		*changed = chain.n > 1;
	if (chain.n > 1)
		status = compact(&c, directory, version);
	model_free(c.shape);
	manifest_free(&c.manifest);
	checkpoint_chain_free(&chain);
	return status;
}
