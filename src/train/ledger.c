/* The ledger in memory: entries, and those of the files of a plain run. */
#include "train/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "data/source.h"
#include "train/checkpoint_private.h"

#define LEDGER_LIMIT ((size_t)1 << 30)

void
ledger_init(struct ledger *l)
{
	*l = (struct ledger){ .mark = LEDGER_NO_PERIOD };
}

void
ledger_free(struct ledger *l)
{
	for (size_t i = 0; i < l->n; i++)
		ledger_entry_free(&l->entry[i]);
	free(l->entry);
	ledger_init(l);
}

enum rs_status
ledger_entry_copy(const struct ledger_entry *from, struct ledger_entry *to)
{
	enum rs_status status;

	*to = *from;
	to->path = NULL;
	to->ranges = (struct range_list){ .n = 0 };
	status = memory_strdup(from->path, &to->path);
	for (size_t i = 0; i < from->ranges.n && status == RS_OK; i++)
		status = range_list_add(&to->ranges, from->ranges.item[i].begin,
			from->ranges.item[i].end);
	if (status != RS_OK)
		ledger_entry_free(to);
	return status;
}

void
ledger_entry_free(struct ledger_entry *entry)
{
	free(entry->path);
	range_list_free(&entry->ranges);
	memset(entry, 0, sizeof *entry);
}

static enum rs_status
ledger_grow(struct ledger *l)
{
	const size_t capacity = l->capacity == 0 ? 64 : 2 * l->capacity;
	struct ledger_entry *const grown = realloc(l->entry, capacity * sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for a ledger of %zu entries", capacity);
	l->entry = grown;
	l->capacity = capacity;
	return RS_OK;
}

enum rs_status
ledger_add(struct ledger *l, struct ledger_entry *entry)
{
	if (l->n == l->capacity && ledger_grow(l) != RS_OK) {
		ledger_entry_free(entry);
		return rs_failure()->status;
	}
	l->entry[l->n++] = *entry;
	if (entry->file > l->last_file)
		l->last_file = entry->file;
	memset(entry, 0, sizeof *entry);
	return RS_OK;
}

enum rs_status
ledger_copy(const struct ledger *from, struct ledger *to)
{
	struct ledger_entry entry;

	ledger_init(to);
	to->mark = from->mark;
	for (size_t i = 0; i < from->n; i++)
		if (ledger_entry_copy(&from->entry[i], &entry) != RS_OK ||
		    ledger_add(to, &entry) != RS_OK) {
			ledger_free(to);
			return rs_failure()->status;
		}
	return RS_OK;
}

static int
ranges_equal(const struct range_list *a, const struct range_list *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++)
		if (a->item[i].begin != b->item[i].begin || a->item[i].end != b->item[i].end)
			return 0;
	return a->n == b->n;
}

static int
entries_equal(const struct ledger_entry *a, const struct ledger_entry *b)
{
	return strcmp(a->path, b->path) == 0 && ranges_equal(&a->ranges, &b->ranges) &&
		a->content_hash == b->content_hash && a->period == b->period &&
		a->use == b->use && a->rows == b->rows && a->skipped == b->skipped &&
		a->late == b->late && a->file == b->file && a->size == b->size &&
		a->inode == b->inode && a->modified_ns == b->modified_ns && a->text == b->text &&
		a->head == b->head && a->head_bytes == b->head_bytes;
}

int
ledger_equal(const struct ledger *a, const struct ledger *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++)
		if (!entries_equal(&a->entry[i], &b->entry[i]))
			return 0;
	return a->n == b->n && a->mark == b->mark;
}

/* "DIRECTORY/v000012/ledger.txt"; caller frees. */
static enum rs_status
ledger_path(const char *directory, uint64_t version, char **out)
{
	char *folder;

	RS_TRY(checkpoint_version_path(directory, version, &folder));
	const enum rs_status status = file_join(folder, LEDGER_FILE, out);
	free(folder);
	return status;
}

enum rs_status
ledger_read_file(const char *path, struct ledger *out)
{
	struct stat st;
	char *text;
	size_t n;

	ledger_init(out);
	if (stat(path, &st) != 0 && !file_is_shortage(errno))
		return RS_OK;
	RS_TRY(file_read(path, LEDGER_LIMIT, &text, &n));
	const enum rs_status status = ledger_parse(text, n, path, out);
	free(text);
	return status;
}

enum rs_status
ledger_read(const char *directory, uint64_t version, struct ledger *out)
{
	char *path;

	ledger_init(out);
	RS_TRY(ledger_path(directory, version, &path));
	const enum rs_status status = ledger_read_file(path, out);
	free(path);
	return status;
}

enum rs_status
ledger_head(const char *path, uint32_t *head, uint32_t *bytes)
{
	struct source *source;
	char *text;
	size_t n = 0, got = 1;

	RS_TRY(memory_alloc(LEDGER_HEAD, 1, &text));
	enum rs_status status = source_open(path, &source);
	if (status == RS_OK) {
		while (status == RS_OK && got > 0 && n < LEDGER_HEAD) {
			status = source_read(source, text + n, LEDGER_HEAD - n, &got);
			n += got;
		}
		source_close(source);
	}
	*head = hash_crc32c(0, text, n);
	*bytes = (uint32_t)n;
	free(text);
	return status;
}

char *
ledger_folder(const char *path)
{
	const char *const slash = strrchr(path, '/');
	char *folder, *real;

	if (slash == NULL)
		return realpath(".", NULL);
	folder = strndup(path, (size_t)(slash - path) + 1);
	real = folder != NULL ? realpath(folder, NULL) : NULL;
	free(folder);
	return real;
}

/* From wherever the next run is started the file has the same name. */
static enum rs_status
make_absolute(struct ledger_entry *entry)
{
	char *const folder = ledger_folder(entry->path), *joined;
	const char *const slash = strrchr(entry->path, '/');

	if (folder == NULL)
		return RS_OK;
	const enum rs_status status =
		file_join(folder, slash != NULL ? slash + 1 : entry->path, &joined);
	free(folder);
	RS_TRY(status);
	free(entry->path);
	entry->path = joined;
	return RS_OK;
}

void
ledger_count(struct ledger_entry *entry, const struct loader_file *file)
{
	entry->content_hash = file->content_hash;
	entry->rows = file->tally.read;
	entry->skipped = file->tally.skipped + file->tally.zero_weight;
	if (entry->ranges.n == 0)
		entry->text = file->size;
}

/* A file of another host is known by name and contents alone. */
static enum rs_status
look_at_file(struct ledger_entry *entry)
{
	struct stat st;

	if (stat(entry->path, &st) != 0 || !S_ISREG(st.st_mode))
		return RS_OK;
	entry->size = (uint64_t)st.st_size;
	entry->inode = (uint64_t)st.st_ino;
	entry->modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return ledger_head(entry->path, &entry->head, &entry->head_bytes);
}

enum rs_status
ledger_add_file(struct ledger *l, const struct loader_file *file)
{
	struct ledger_entry entry = { .period = LEDGER_NO_PERIOD, .use = LEDGER_TRAINED,
		.file = l->last_file + 1 };

	if (strcmp(file->path, "-") == 0)
		return RS_OK;
	enum rs_status status = range_parse(file->path, &entry.path, &entry.ranges);
	if (status == RS_OK && entry.path == NULL)
		status = memory_strdup(file->path, &entry.path);
	if (status == RS_OK)
		status = make_absolute(&entry);
	if (status == RS_OK)
		status = look_at_file(&entry);
	if (status != RS_OK) {
		ledger_entry_free(&entry);
		return status;
	}
	ledger_count(&entry, file);
	return ledger_add(l, &entry);
}
