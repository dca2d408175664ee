/* Tables of fields that are no longer in the spec: carried along until gc drops them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "train/checkpoint_chain.h"
#include "train/checkpoint_private.h"
#include "train/manifest.h"

static int
is_table(const char *name)
{
	return strncmp(name, CHECKPOINT_TABLE_PREFIX, strlen(CHECKPOINT_TABLE_PREFIX)) == 0
	    || strncmp(name, CHECKPOINT_TENANCY_PREFIX, strlen(CHECKPOINT_TENANCY_PREFIX)) == 0;
}

/* Does the model have a table of this file? */
static int
is_used(const struct model *m, const char *file)
{
	char name[CHECKPOINT_NAME_SIZE];

	for (size_t t = 0; t < m->n_tables; t++) {
		checkpoint_table_file(name, m->table[t].name);
		if (strcmp(name, file) == 0)
			return 1;
		checkpoint_tenancy_file(name, m->table[t].name);
		if (strcmp(name, file) == 0)
			return 1;
	}
	return checkpoint_chain_table_of(m, file) < m->n_tables;
}

static enum rs_status
shape_of_version(const char *directory, uint64_t version, struct model **out)
{
	const struct model_options options = { .shape_only = 1 };
	struct spec *spec;

	RS_TRY(checkpoint_spec(directory, version, &spec));
	return model_create(spec, &options, out);
}

/* --- carried along ----------------------------------------------------------- */

static enum rs_status
add_kept(struct model *m, const struct file_map *map, const char *name)
{
	struct model_kept *const k = &m->kept[m->n_kept++];

	k->map = *map;
	return memory_strdup(name, &k->name);
}

static enum rs_status
keep_file(struct model *m, const char *path, const char *name)
{
	struct file_map map;
	char *file;

	RS_TRY(file_join(path, name, &file));
	const enum rs_status status = file_map_open(&map, file);
	free(file);
	RS_TRY(status);
	return add_kept(m, &map, name);
}

/* Tables that are in deltas go along whole. */
static enum rs_status
keep_whole(struct model *m, const struct checkpoint_chain *chain, const struct model *former)
{
	const struct manifest *const manifest = &checkpoint_chain_last(chain)->manifest;

	for (size_t i = 0; i < manifest->n_files; i++) {
		const char *const file = manifest->file[i].name;
		const size_t t = checkpoint_chain_table_of(former, file);
		char name[CHECKPOINT_NAME_SIZE];
		struct file_map map;

		if (t == former->n_tables || is_used(m, file))
			continue;
		checkpoint_table_file(name, former->table[t].name);
		RS_TRY(checkpoint_chain_map_table(chain, former, t, &map));
		RS_TRY(add_kept(m, &map, name));
	}
	return RS_OK;
}

static enum rs_status
keep_deltas(struct model *m, const char *directory, uint64_t version)
{
	struct checkpoint_chain chain;
	struct model *former = NULL;

	RS_TRY(checkpoint_chain_open(directory, version, &chain));
	enum rs_status status = shape_of_version(directory, version, &former);
	if (status == RS_OK)
		status = keep_whole(m, &chain, former);
	model_free(former);
	checkpoint_chain_free(&chain);
	return status;
}

static enum rs_status
keep_files(struct model *m, const char *path, const struct manifest *manifest, int *has_deltas)
{
	model_forget_kept(m);
	RS_TRY(memory_alloc(manifest->n_files + 1, sizeof *m->kept, &m->kept));
	for (size_t i = 0; i < manifest->n_files; i++) {
		const char *const name = manifest->file[i].name;

		if (!is_table(name) || is_used(m, name))
			continue;
		if (checkpoint_is_delta(name))
			*has_deltas = 1;
		else
			RS_TRY(keep_file(m, path, name));
	}
	return RS_OK;
}

enum rs_status
checkpoint_keep_unused(const char *directory, uint64_t version, struct model *m)
{
	struct manifest manifest;
	int has_deltas = 0;
	char *path;

	RS_TRY(checkpoint_version_path(directory, version, &path));
	enum rs_status status = manifest_read(&manifest, path);
	if (status == RS_OK) {
		status = keep_files(m, path, &manifest, &has_deltas);
		if (status == RS_OK && has_deltas)
			status = keep_deltas(m, directory, version);
		manifest_free(&manifest);
	}
	free(path);
	return status;
}

/* --- what a version has of them ------------------------------------------------ */

static enum rs_status
list_unused(const struct manifest *manifest, const struct model *m, struct text_list *out)
{
	RS_TRY(memory_alloc(manifest->n_files + 1, sizeof *out->item, &out->item));
	for (size_t i = 0; i < manifest->n_files; i++) {
		const char *const name = manifest->file[i].name;

		if (!is_table(name) || is_used(m, name))
			continue;
		RS_TRY(memory_strdup(name, &out->item[out->n]));
		out->n++;
	}
	return RS_OK;
}

static enum rs_status
read_unused(const char *directory, uint64_t version, const char *path,
	struct manifest *manifest, struct text_list *out)
{
	struct model *m;

	*out = (struct text_list){ .n = 0 };
	RS_TRY(shape_of_version(directory, version, &m));
	enum rs_status status = manifest_read(manifest, path);
	if (status == RS_OK)
		status = list_unused(manifest, m, out);
	model_free(m);
	return status;
}

static void
free_list(struct text_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->item[i]);
	free(list->item);
}

enum rs_status
checkpoint_unused(const char *directory, uint64_t version, struct text_list *file)
{
	struct manifest manifest = { .n_files = 0 };
	char *path;

	*file = (struct text_list){ .n = 0 };
	RS_TRY(checkpoint_version_path(directory, version, &path));
	const enum rs_status status = read_unused(directory, version, path, &manifest, file);
	if (status != RS_OK) {
		free_list(file);
		*file = (struct text_list){ .n = 0 };
	}
	manifest_free(&manifest);
	free(path);
	return status;
}

/* --- dropping ------------------------------------------------------------------ */

static int
is_listed(const struct text_list *list, const char *name)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->item[i], name) == 0)
			return 1;
	return 0;
}

static void
forget_files(struct manifest *m, const struct text_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->n_files; i++) {
		if (is_listed(list, m->file[i].name)) {
			free(m->file[i].name);
			free(m->file[i].crc);
		} else {
			m->file[kept++] = m->file[i];
		}
	}
	m->n_files = kept;
}

enum rs_status
checkpoint_remove_unnamed(const struct manifest *m, const char *path)
{
	DIR *const dir = opendir(path);
	enum rs_status status = RS_OK;

	if (dir == NULL)
		return rs_fail(file_status_of(errno, RS_ENOINPUT), "cannot read '%s': %s", path,
			strerror(errno));
	for (const struct dirent *e; status == RS_OK && (e = readdir(dir)) != NULL; ) {
		char *file;

		if (!is_table(e->d_name) && strncmp(e->d_name, ".tmp-", 5) != 0)
			continue;
		if (manifest_has(m, e->d_name))
			continue;
		status = file_join(path, e->d_name, &file);
		if (status != RS_OK)
			break;
		if (unlink(file) != 0)
			status = rs_fail(RS_EIO, "cannot remove '%s'", file);
		free(file);
	}
	closedir(dir);
	return status;
}

static enum rs_status
drop(struct manifest *manifest, const struct text_list *list, const char *path, uint64_t *bytes)
{
	const uint64_t before = manifest_bytes(manifest);

	forget_files(manifest, list);
	*bytes = before - manifest_bytes(manifest);
	if (list->n > 0)
		RS_TRY(manifest_write(manifest, path));
	return checkpoint_remove_unnamed(manifest, path);
}

enum rs_status
checkpoint_drop_unused(const char *directory, uint64_t version, uint64_t *bytes)
{
	struct manifest manifest = { .n_files = 0 };
	struct text_list list;
	char *path;

	*bytes = 0;
	RS_TRY(checkpoint_version_path(directory, version, &path));
	enum rs_status status = read_unused(directory, version, path, &manifest, &list);
	if (status == RS_OK)
		status = drop(&manifest, &list, path, bytes);
	free_list(&list);
	manifest_free(&manifest);
	free(path);
	return status;
}
