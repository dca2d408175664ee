/*
 * Rows from a cache instead of text: what is found or made for each input before the first
 * batch, and groups read from it.  A cache that cannot be made is told once, and rows come
 * from the text as without one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/log.h"
#include "data/cache.h"
#include "data/loader_private.h"
#include "data/range.h"

/* One input and where its cache is or goes. */
struct making {
	struct loader *loader;
	struct loader_input *input;
	struct loader_reader reader;   /* at the first row                           */
	struct stat source;
	char    *path;
	uint64_t digest;
};

/* A whole file that stays: no pipe, no ranges. */
static int
can_have_cache(const struct loader *l, const struct loader_input *input)
{
	struct range_list ranges = { .n = 0 };
	char *path = NULL;

	if (l->options.command != NULL || input->once || input->may_grow ||
	    range_parse(input->file.path, &path, &ranges) != RS_OK)
		return 0;
	const int plain = path == NULL;

	free(path);
	range_list_free(&ranges);
	return plain;
}

static int
is_as_it_was(const struct making *m)
{
	return loader_index_check(m->input) == RS_OK;
}

/* ---- the text of an unsure cache ---------------------------------------------- */

/* Hash of the whole text; only what was read of it is compared. */
static enum rs_status
hash_text(struct making *m, struct cache_text *out)
{
	struct source *source = NULL;
	struct content_hash content;
	struct buffer piece;
	size_t got = 1;
	enum rs_status status;

	content_hash_init(&content);
	buffer_init(&piece, CONTENT_HASH_BLOCK);
	status = source_open(m->input->file.path, &source);
	if (status == RS_OK)
		status = buffer_reserve(&piece, CONTENT_HASH_BLOCK);
	while (status == RS_OK && got > 0) {
		status = source_read(source, piece.data, CONTENT_HASH_BLOCK, &got);
		if (status == RS_OK)
			status = content_hash_feed(&content, piece.data, got);
	}
	*out = (struct cache_text){ content.size, content_hash_value(&content) };
	source_close(source);
	buffer_free(&piece);
	content_hash_free(&content);
	return status;
}

/* A cache whose source has other times: the text says.  Then it gets these times. */
static enum rs_status
settle(struct making *m, struct cache **cache)
{
	const struct cache_text *const had = cache_text(*cache);
	struct cache_text has;

	if (hash_text(m, &has) == RS_OK && has.size == had->size &&
	    has.content_hash == had->content_hash && is_as_it_was(m)) {
		if (cache_renew(*cache, m->path, &m->source) != RS_OK)
			log_info("%s", rs_failure()->text);
		return RS_OK;
	}
	cache_close(*cache);
	*cache = NULL;
	return RS_OK;
}

/* ---- making one --------------------------------------------------------------- */

/* Rows of a group for the cache; *plain: nothing in it must be told. */
static enum rs_status
parse_group(struct making *m, struct parser *parser, const char *text, struct cache_group *g,
	struct batch *batch, int *plain)
{
	const struct parser_span span = { .file = m->input->file.path,
		.layout = m->input->layout, .text = text, .n = (size_t)g->size, .line = g->line,
		.offset = g->offset };

	batch_clear(batch);
	const enum rs_status status = parser_parse(parser, &span, batch, &g->tally);

	*plain = status == RS_OK && g->tally.skipped == 0 && parser_warnings(parser)->n == 0;
	return status == RS_EDATA ? RS_OK : status;
}

static enum rs_status
add_groups(struct making *m, struct cache_writer *w, struct parser *parser, struct batch *batch)
{
	const struct schema *const schema = m->loader->options.schema;
	struct loader_group at = { .size = 0 };
	const char *text;

	for (;;) {
		int plain;

		RS_TRY(loader_reader_next(&m->reader, &text, &at));
		if (at.size == 0)
			return RS_OK;
		struct cache_group g = { .offset = at.offset, .line = at.line, .size = at.size,
			.count = parser_count(schema, text, at.size),
			.hash = hash_fingerprint64(text, at.size) };

		RS_TRY(parser_check(schema, &(struct parser_span){
			.file = m->input->file.path, .text = text, .n = at.size,
			.line = at.line, .offset = at.offset }));
		RS_TRY(parse_group(m, parser, text, &g, batch, &plain));
		RS_TRY(cache_writer_add(w, schema, &g, plain ? batch : NULL));
	}
}

static enum rs_status
write_groups(struct making *m, struct cache_writer *w)
{
	const struct loader_options *const o = &m->loader->options;
	struct parser *parser = NULL;
	struct batch batch;
	enum rs_status status = batch_init(&batch, o->schema);

	if (status == RS_OK)
		status = parser_open(o->schema, o->purpose, &parser);
	if (status == RS_OK)
		status = add_groups(m, w, parser, &batch);
	parser_close(parser);
	batch_free(&batch);
	return status;
}

static enum rs_status
make(struct making *m)
{
	struct cache_writer w;

	RS_TRY(file_make_directories(m->loader->options.schema->settings->data.cache));
	RS_TRY(cache_writer_open(&w, m->path));
	enum rs_status status = write_groups(m, &w);
	const struct cache_text text = { m->reader.content.size,
		content_hash_value(&m->reader.content) };

	if (status == RS_OK)
		status = loader_index_check(m->input);
	if (status == RS_OK)
		status = cache_writer_commit(&w, m->input->file.path, m->digest, &m->source,
			&text);
	cache_writer_close(&w);
	return status;
}

/* ---- finding one -------------------------------------------------------------- */

static enum rs_status
find(struct making *m, struct cache **out)
{
	enum cache_state state;

	RS_TRY(cache_open(m->path, m->digest, &m->source, &state, out));
	return state == CACHE_UNSURE ? settle(m, out) : RS_OK;
}

static enum rs_status
find_or_make(struct making *m)
{
	struct loader *const l = m->loader;
	const char *const directory = l->options.schema->settings->data.cache;

	RS_TRY(cache_digest(l->options.schema, l->options.purpose, m->input->layout,
		m->reader.group_bytes, &m->digest));
	RS_TRY(cache_path(directory, m->input->file.path, m->digest, &m->path));
	if (l->options.cache != LOADER_CACHE_MAKE_ANEW)
		RS_TRY(find(m, &m->input->cache));
	if (m->input->cache != NULL || l->options.cache == LOADER_CACHE_USE)
		return RS_OK;
	RS_TRY(make(m));
	return find(m, &m->input->cache);
}

static enum rs_status
open_one(struct loader *l, struct loader_input *input)
{
	struct making m = { .loader = l, .input = input };
	enum rs_status status = RS_OK;

	if (!can_have_cache(l, input) || stat(input->file.path, &m.source) != 0)
		return RS_OK;
	status = loader_reader_open(&m.reader, l, input, 0);
	if (status == RS_OK)
		status = find_or_make(&m);
	loader_reader_close(&m.reader);
	free(m.path);
	return status;
}

/* What is wrong with the text is found again, and told, where it is without a cache. */
enum rs_status
loader_cache_open(struct loader *l)
{
	const char *const directory = l->options.schema->settings->data.cache;
	int told = 0;

	if (l->options.cache == LOADER_CACHE_NONE || directory == NULL || *directory == '\0')
		return RS_OK;
	for (size_t i = 0; i < l->n_inputs; i++) {
		const enum rs_status status = open_one(l, &l->input[i]);

		if (status == RS_ESIGNAL)
			return status;
		if (status == RS_OK || status == RS_EDATA || told)
			continue;
		log_warn("%s: rows of '%s' are read without a cache", rs_failure()->text,
			l->input[i].file.path);
		told = 1;
	}
	return RS_OK;
}

void
loader_cache_close(struct loader_input *input)
{
	cache_close(input->cache);
	input->cache = NULL;
}

/* ---- reading ------------------------------------------------------------------ */

enum rs_status
loader_cache_index(struct loader *l, size_t file)
{
	struct loader_input *const input = &l->input[file];

	for (size_t i = 0; i < cache_n_groups(input->cache); i++) {
		const struct cache_group *const g = cache_group(input->cache, i);

		RS_TRY(loader_index_add(&l->index, &(struct loader_group){ .offset = g->offset,
			.line = g->line, .size = (size_t)g->size, .file = file, .number = i }));
		l->index.rows += g->count;
	}
	input->file.size = cache_text(input->cache)->size;
	input->file.content_hash = cache_text(input->cache)->content_hash;
	return loader_index_check(input);
}

void
loader_cache_next(const struct loader_input *input, struct loader_group *g, uint64_t *hash)
{
	const size_t i = g->number;

	*hash = 0;
	g->size = 0;
	if (i == cache_n_groups(input->cache))
		return;
	const struct cache_group *const from = cache_group(input->cache, i);

	g->offset = from->offset;
	g->line = from->line;
	g->size = (size_t)from->size;
	*hash = from->hash;
}

enum rs_status
loader_cache_read(const struct loader *l, struct loader_slot *slot, int *done)
{
	const struct loader_input *const input = &l->input[slot->group.file];
	const struct cache_group *const g = cache_group(input->cache, slot->group.number);

	*done = 0;
	if (g->bytes == 0)
		return RS_OK;
	RS_TRY(loader_index_check(input));
	slot->tally = g->tally;
	const enum rs_status status = l->indexed
	    ? cache_view(input->cache, slot->group.number, l->options.schema, &slot->text,
		&slot->batch, &slot->view)
	    : cache_read(input->cache, slot->group.number, l->options.schema, &slot->text,
		&slot->batch);

	*done = status == RS_OK;
	slot->has_view = *done && l->indexed;
	if (*done)
		return RS_OK;
	log_warn("%s: its text is read", rs_failure()->text);
	if (status == RS_EDATA)
		cache_forget(input->cache);     /* the next run makes a sound one */
	batch_clear(&slot->batch);
	memset(&slot->tally, 0, sizeof slot->tally);
	return RS_OK;
}
