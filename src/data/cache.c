/* Caches of rows: files, and whether they are still of their source. */
#include "data/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "config.h"
#include "data/cache_rows.h"
#include "data/parser_private.h"
#include "spec/option.h"

#define MAGIC      0x3131535741524353u  /* "SCRAWS11", little-endian                 */
#define FORMAT    1u
#define SETTLED_S  2               /* times have at most this grain                  */
#define NAME_MOST  100             /* bytes of the name of a source in that of its cache */
#define BYTES_MOST ((size_t)1 << 32)

/* What stat(2) says of a source. */
struct identity {
	uint64_t size, inode, device;
	int64_t  modified_s, modified_ns, changed_s, changed_ns;
};

/* The end of the file; before it are the groups, then the name of the source. */
struct footer {
	uint64_t magic, version, digest;
	struct identity source;
	struct cache_text text;
	int64_t  begun;
	uint64_t n_groups, place, name_bytes;
	uint64_t list_crc;         /* of groups and name                             */
	uint64_t crc;              /* of the footer before it                        */
};

struct cache {
	int    fd;
	struct footer footer;
	struct cache_group *group;     /* [n_groups]                                 */
	char  *name, *path;            /* of the source, of this file                */
};

static struct identity
identity_of(const struct stat *st)
{
	return (struct identity){
		.size = (uint64_t)st->st_size, .inode = (uint64_t)st->st_ino,
		.device = (uint64_t)st->st_dev,
		.modified_s = st->st_mtim.tv_sec, .modified_ns = st->st_mtim.tv_nsec,
		.changed_s = st->st_ctim.tv_sec, .changed_ns = st->st_ctim.tv_nsec,
	};
}

static uint64_t
footer_crc(const struct footer *f)
{
	return hash_crc32c(0, f, offsetof(struct footer, crc));
}

/* ---- what rows depend on ------------------------------------------------------ */

/* Keys that change no row: what trains, where files are, how many threads. */
static const struct { const char *section, *key; } without[] = {
	{ "data", "train" }, { "data", "valid" }, { "data", "command" }, { "data", "cache" },
	{ "data", "shuffle" }, { "data", "shuffle_window" }, { "data", "threads" },
	{ "data", "max_bad_rows" }, { "field", "dim" }, { "field", "optimizer" },
	{ "field", "learning_rate" }, { "field", "l2" },
};

static int
is_of_rows(const struct option_row *row)
{
	if (strcmp(row->section, "data") != 0 && strcmp(row->section, "field") != 0 &&
	    strcmp(row->section, "items") != 0)
		return 0;
	for (size_t i = 0; i < sizeof without / sizeof without[0]; i++)
		if (strcmp(without[i].section, row->section) == 0 &&
		    strcmp(without[i].key, row->key) == 0)
			return 0;
	return 1;
}

static enum rs_status
print_keys(const struct settings *s, int of_fields, const void *base, struct buffer *out)
{
	for (const struct option_row *row = option_table; row->section != NULL; row++)
		if ((strcmp(row->section, "field") == 0) == of_fields && is_of_rows(row)) {
			RS_TRY(buffer_printf(out, "\n%s=", row->key));
			RS_TRY(option_print(row, of_fields ? base : s, out));
		}
	return RS_OK;
}

static enum rs_status
print_schema(const struct schema *schema, struct buffer *out)
{
	RS_TRY(buffer_printf(out, "\n%d %d %d %zu", schema->has_group, schema->has_time,
		schema->predicts_groups, schema->item_field));
	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct schema_field *const f = &schema->field[i];

		RS_TRY(buffer_printf(out, "\n%s %d %zu %zu %d", f->name, f->is_dense, f->index,
			f->table, f->single));
		RS_TRY(print_keys(schema->settings, 1, f->settings, out));
	}
	for (size_t i = 0; i < schema->n_tables; i++)
		RS_TRY(buffer_printf(out, "\n%d %" PRIu64, (int)schema->table[i].kind,
			schema->table[i].buckets));
	return RS_OK;
}

static enum rs_status
print_layout(const struct parser_layout *layout, struct buffer *out)
{
	if (layout == NULL)
		return RS_OK;
	RS_TRY(buffer_printf(out, "\n%zu %d %d %d", layout->n_columns, layout->has_label,
		layout->label_weight, layout->trailing));
	for (size_t i = 0; i < layout->n; i++)
		RS_TRY(buffer_printf(out, "\n%zu %d %zu", layout->column[i].column,
			(int)layout->column[i].role, layout->column[i].field));
	return RS_OK;
}

enum rs_status
cache_digest(const struct schema *schema, enum parser_purpose purpose,
	const struct parser_layout *layout, uint64_t group_bytes, uint64_t *out)
{
	struct buffer text;
	enum rs_status status;

	buffer_init(&text, (size_t)64 << 20);
	status = buffer_printf(&text, "%s %u %d %" PRIu64, PACKAGE_VERSION, FORMAT, (int)purpose,
		group_bytes);
	if (status == RS_OK)
		status = print_keys(schema->settings, 0, NULL, &text);
	if (status == RS_OK)
		status = print_schema(schema, &text);
	if (status == RS_OK)
		status = print_layout(layout, &text);
	*out = status == RS_OK ? hash_fingerprint64(text.data, text.n) : 0;
	buffer_free(&text);
	return status;
}

enum rs_status
cache_path(const char *directory, const char *source, uint64_t digest, char **out)
{
	char whole[PATH_MAX], name[NAME_MOST + 64];
	const char *const path = realpath(source, whole) != NULL ? whole : source;
	const char *const slash = strrchr(path, '/');
	const char *const last = slash != NULL ? slash + 1 : path;

	snprintf(name, sizeof name, "%.*s-%016" PRIx64 CACHE_SUFFIX, NAME_MOST, last,
		hash_cat(hash_fingerprint64(path, strlen(path)), digest));
	return file_join(directory, name, out);
}

int
cache_is_name(const char *name)
{
	const size_t n = strlen(name), suffix = strlen(CACHE_SUFFIX);
	const size_t digits = 16 + suffix;

	return n > digits + 1 && strcmp(name + n - suffix, CACHE_SUFFIX) == 0 &&
		name[n - digits - 1] == '-' &&
		strspn(name + n - digits, "0123456789abcdef") == 16;
}

/* ---- reading ------------------------------------------------------------------ */

static int
read_at(int fd, void *to, size_t n, uint64_t place)
{
	for (size_t got = 0; got < n;) {
		const ssize_t more = pread(fd, (char *)to + got, n - got, (off_t)(place + got));

		if (more < 0 && errno == EINTR)
			continue;
		if (more <= 0)
			return 0;
		got += (size_t)more;
	}
	return 1;
}

/* 1 when the footer is whole and the list before it has a place in the file. */
static int
read_footer(struct cache *c)
{
	struct footer *const f = &c->footer;
	struct stat st;

	if (fstat(c->fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < sizeof *f)
		return 0;
	const uint64_t end = (uint64_t)st.st_size - sizeof *f;

	return read_at(c->fd, f, sizeof *f, end) && f->magic == MAGIC && f->version == FORMAT &&
		f->crc == footer_crc(f) && f->place <= end && f->name_bytes <= PATH_MAX &&
		f->n_groups <= end / sizeof(struct cache_group) &&
		f->place + f->n_groups * sizeof(struct cache_group) + f->name_bytes == end;
}

/* *sound stays 0 when the list is damaged. */
static enum rs_status
read_list(struct cache *c, int *sound)
{
	const size_t bytes = (size_t)c->footer.n_groups * sizeof *c->group;
	const size_t name_bytes = (size_t)c->footer.name_bytes;

	RS_TRY(memory_alloc((size_t)c->footer.n_groups + 1, sizeof *c->group, &c->group));
	RS_TRY(memory_alloc(name_bytes + 1, 1, &c->name));
	*sound = read_at(c->fd, c->group, bytes, c->footer.place) &&
		read_at(c->fd, c->name, name_bytes, c->footer.place + bytes) &&
		hash_crc32c(hash_crc32c(0, c->group, bytes), c->name, name_bytes) ==
			c->footer.list_crc;
	return RS_OK;
}

/* By what stat(2) says; times may not have moved when the source changed within their grain
 * of being read. */
static enum cache_state
state_of(const struct footer *f, const struct stat *source)
{
	const struct identity is = identity_of(source);
	const int64_t newest = is.modified_s > is.changed_s ? is.modified_s : is.changed_s;

	if (f->source.size != is.size)
		return CACHE_STALE;
	return memcmp(&f->source, &is, sizeof is) == 0 && newest + SETTLED_S < f->begun
		? CACHE_SAME : CACHE_UNSURE;
}

/* Opened, whatever its source is now; NULL: there is none that is sound. */
static enum rs_status
open_any(const char *path, struct cache **out)
{
	struct cache *c;
	int sound = 0;
	enum rs_status status = RS_OK;

	*out = NULL;
	RS_TRY(memory_alloc(1, sizeof *c, &c));
	c->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);   /* a pipe does not wait */
	if (c->fd < 0 && file_is_shortage(errno))
		status = rs_fail(RS_ERESOURCE, "cannot open '%s': %s", path, strerror(errno));
	else if (c->fd >= 0 && read_footer(c))
		status = read_list(c, &sound);
	if (sound)
		status = memory_strdup(path, &c->path);
	if (sound && status == RS_OK)
		*out = c;
	else
		cache_close(c);
	return status;
}

enum rs_status
cache_open(const char *path, uint64_t digest, const struct stat *source,
	enum cache_state *state, struct cache **out)
{
	RS_TRY(open_any(path, out));
	*state = *out == NULL || (*out)->footer.digest != digest ? CACHE_NONE :
		 state_of(&(*out)->footer, source);
	if (*out == NULL || *state == CACHE_SAME || *state == CACHE_UNSURE)
		return RS_OK;
	cache_close(*out);
	*out = NULL;
	return RS_OK;
}

enum rs_status
cache_examine(const char *path, char **source, enum cache_state *state)
{
	struct cache *c;
	struct stat st;

	*source = NULL;
	*state = CACHE_NONE;
	RS_TRY(open_any(path, &c));
	if (c == NULL)
		return RS_OK;
	if (stat(c->name, &st) == 0)
		*state = state_of(&c->footer, &st);
	*source = c->name;
	c->name = NULL;
	cache_close(c);
	return RS_OK;
}

void
cache_close(struct cache *c)
{
	if (c == NULL)
		return;
	if (c->fd >= 0)
		close(c->fd);
	free(c->group);
	free(c->name);
	free(c->path);
	free(c);
}

size_t
cache_n_groups(const struct cache *c)
{
	return (size_t)c->footer.n_groups;
}

const struct cache_group *
cache_group(const struct cache *c, size_t i)
{
	return &c->group[i];
}

const struct cache_text *
cache_text(const struct cache *c)
{
	return &c->footer.text;
}

static enum rs_status
read_group(const struct cache *c, const struct cache_group *g, struct buffer *scratch)
{
	scratch->n = 0;
	RS_TRY(buffer_reserve(scratch, (size_t)g->bytes));
	if (!read_at(c->fd, scratch->data, (size_t)g->bytes, g->place) ||
	    hash_crc32c(0, scratch->data, (size_t)g->bytes) != g->crc)
		return rs_fail(RS_EDATA, "the cache of '%s' is damaged", c->name);
	return RS_OK;
}

enum rs_status
cache_read(const struct cache *c, size_t i, const struct schema *schema,
	struct buffer *scratch, struct batch *batch)
{
	RS_TRY(read_group(c, &c->group[i], scratch));
	return cache_rows_unpack(schema, scratch->data, (size_t)c->group[i].bytes, batch);
}

enum rs_status
cache_view(const struct cache *c, size_t i, const struct schema *schema, struct buffer *bytes,
	struct batch *batch, struct batch_view *view)
{
	RS_TRY(read_group(c, &c->group[i], bytes));
	return cache_rows_view(schema, bytes->data, (size_t)c->group[i].bytes, batch, view);
}

void
cache_forget(const struct cache *c)
{
	(void)unlink(c->path);
}

/* ---- writing ------------------------------------------------------------------ */

enum rs_status
cache_writer_open(struct cache_writer *w, const char *path)
{
	memset(w, 0, sizeof *w);
	w->file.fd = -1;
	w->begun = (int64_t)time(NULL);
	buffer_init(&w->bytes, BYTES_MOST);
	return file_writer_open(&w->file, path);
}

static enum rs_status
copy_groups(const struct cache *c, struct cache_writer *w)
{
	for (size_t i = 0; i < c->footer.n_groups; i++) {
		struct cache_group g = c->group[i];

		w->bytes.n = 0;
		RS_TRY(buffer_reserve(&w->bytes, (size_t)g.bytes));
		if (!read_at(c->fd, w->bytes.data, (size_t)g.bytes, g.place))
			return rs_fail(RS_EDATA, "the cache of '%s' is damaged", c->name);
		g.place = w->file.size;
		RS_TRY(file_writer_write(&w->file, w->bytes.data, (size_t)g.bytes));
		w->group[w->n++] = g;
	}
	return RS_OK;
}

enum rs_status
cache_renew(const struct cache *c, const char *path, const struct stat *source)
{
	struct cache_writer w;
	enum rs_status status = cache_writer_open(&w, path);

	if (status == RS_OK)
		status = memory_alloc((size_t)c->footer.n_groups + 1, sizeof *w.group, &w.group);
	if (status == RS_OK)
		status = copy_groups(c, &w);
	if (status == RS_OK)
		status = cache_writer_commit(&w, c->name, c->footer.digest, source,
			&c->footer.text);
	cache_writer_close(&w);
	return status;
}

static enum rs_status
writer_room(struct cache_writer *w)
{
	const size_t capacity = w->capacity > 0 ? 2 * w->capacity : 64;
	struct cache_group *larger;

	if (w->n < w->capacity)
		return RS_OK;
	larger = reallocarray(w->group, capacity, sizeof *larger);
	if (larger == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for %zu groups of a cache", capacity);
	w->group = larger;
	w->capacity = capacity;
	return RS_OK;
}

enum rs_status
cache_writer_add(struct cache_writer *w, const struct schema *schema,
	const struct cache_group *group, const struct batch *batch)
{
	struct cache_group g = *group;

	RS_TRY(writer_room(w));
	w->bytes.n = 0;
	if (batch != NULL)
		RS_TRY(cache_rows_pack(schema, batch, &w->bytes));
	g.place = w->file.size;
	g.bytes = w->bytes.n;
	g.crc = hash_crc32c(0, w->bytes.data, w->bytes.n);
	w->group[w->n++] = g;
	return file_writer_write(&w->file, w->bytes.data, w->bytes.n);
}

enum rs_status
cache_writer_commit(struct cache_writer *w, const char *name, uint64_t digest,
	const struct stat *source, const struct cache_text *text)
{
	char whole[PATH_MAX];
	const char *const path = realpath(name, whole) != NULL ? whole : name;
	struct footer f = {
		.magic = MAGIC, .version = FORMAT, .digest = digest,
		.source = identity_of(source), .text = *text, .begun = w->begun,
		.n_groups = w->n, .place = w->file.size, .name_bytes = strlen(path),
	};

	f.list_crc = hash_crc32c(hash_crc32c(0, w->group, w->n * sizeof *w->group), path,
		strlen(path));
	f.crc = footer_crc(&f);
	RS_TRY(file_writer_write(&w->file, w->group, w->n * sizeof *w->group));
	RS_TRY(file_writer_write(&w->file, path, strlen(path)));
	RS_TRY(file_writer_write(&w->file, &f, sizeof f));
	return file_writer_commit(&w->file);
}

void
cache_writer_close(struct cache_writer *w)
{
	file_writer_close(&w->file);
	free(w->group);
	buffer_free(&w->bytes);
	memset(w, 0, sizeof *w);
	w->file.fd = -1;
}
