/* The index: one pass over seekable files that finds row groups and hashes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "data/loader_private.h"
#include "data/range.h"

enum rs_status
loader_index_add(struct loader_index *index, const struct loader_group *g)
{
	if (index->n == index->capacity) {
		const size_t capacity = index->capacity == 0 ? 256 : 2 * index->capacity;
		struct loader_group *grown = realloc(index->group, capacity * sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for an index of %zu row groups",
				capacity);
		index->group = grown;
		index->capacity = capacity;
	}
	index->group[index->n++] = *g;
	return RS_OK;
}

static enum rs_status
index_spans(struct loader *l, struct loader_reader *r, size_t file)
{
	struct loader_group g = { .file = file };
	const char *text;

	for (;;) {
		RS_TRY(loader_reader_next(r, &text, &g));
		if (g.size == 0)
			return RS_OK;
		RS_TRY(parser_check(l->options.schema, &(struct parser_span){
			.file = l->input[file].file.path, .text = text, .n = g.size,
			.line = g.line, .offset = g.offset }));
		g.hash = l->input[file].may_grow ? hash_fingerprint64(text, g.size) : 0;
		l->index.rows += parser_count(l->options.schema, text, g.size);
		RS_TRY(loader_index_add(&l->index, &g));
	}
}

static enum rs_status
index_file(struct loader *l, size_t file)
{
	struct loader_input *input = &l->input[file];
	struct loader_reader reader;
	enum rs_status status;

	if (input->cache != NULL)
		return loader_cache_index(l, file);
	status = loader_reader_open(&reader, l, input, l->gzip_group_bytes);

	if (status == RS_OK)
		status = index_spans(l, &reader, file);
	if (status == RS_OK) {
		input->file.size = reader.content.size;
		input->file.content_hash = content_hash_value(&reader.content);
		status = loader_index_check(input);
	}
	loader_reader_close(&reader);
	return status;
}

static uint64_t
index_identity(const struct loader *l)
{
	uint64_t h = hash_cat(l->group_bytes, l->window_bytes);

	h = hash_cat(h, l->options.seed);
	for (size_t i = 0; i < l->n_inputs; i++) {
		const struct loader_file *f = &l->input[i].file;
		const char *slash = strrchr(f->path, '/');
		const char *name = slash == NULL ? f->path : slash + 1;

		h = hash_cat(h, hash_fingerprint64(name, strlen(name)));
		h = hash_cat(hash_cat(h, f->size), f->content_hash);
	}
	return h;
}

enum rs_status
loader_changed(const struct loader_input *input)
{
	(void)rs_fail(RS_EDATA, "'%s' changed while it was being read", input->file.path);
	return rs_hint("give files that are complete");
}

enum rs_status
loader_index_check(const struct loader_input *input)
{
	struct stat st;

	if (range_stat(input->file.path, &st) != 0)
		return rs_fail(RS_ENOINPUT, "cannot examine '%s': %s", input->file.path,
			strerror(errno));
	if (input->may_grow)
		return (uint64_t)st.st_size >= input->stored_size && st.st_ino == input->inode
			? RS_OK : loader_changed(input);
	if ((uint64_t)st.st_size == input->stored_size &&
	    st.st_mtim.tv_sec == input->modified.tv_sec &&
	    st.st_mtim.tv_nsec == input->modified.tv_nsec)
		return RS_OK;
	return loader_changed(input);
}

enum rs_status
loader_index_build(struct loader *l)
{
	for (size_t i = 0; i < l->n_inputs; i++)
		RS_TRY(index_file(l, i));
	l->index.identity = index_identity(l);
	return RS_OK;
}

void
loader_index_free(struct loader_index *index)
{
	free(index->group);
	memset(index, 0, sizeof *index);
}
