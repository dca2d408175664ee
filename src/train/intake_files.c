/* The files there are: found, looked at, and what of them is new. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "data/parser.h"
#include "data/source.h"
#include "train/intake_private.h"

#define PEEK ((size_t)1 << 20)

void
intake_file_free(struct intake_file *f)
{
	for (size_t i = 0; i < f->n_parts; i++)
		range_list_free(&f->part[i].ranges);
	free(f->part);
	free(f->candidate);
	range_list_free(&f->covered);
	free(f->path);
	free(f->real);
}

/* Files of one folder follow each other: its real name is asked for once. */
struct folder {
	const char *path;          /* of a file in it, borrowed                       */
	char *real;
};

static enum rs_status
make_real(struct folder *folder, struct intake_file *f)
{
	const char *const slash = strrchr(f->path, '/');
	const size_t n = slash != NULL ? (size_t)(slash - f->path) + 1 : 0;

	if (folder->path == NULL || strncmp(folder->path, f->path, n) != 0 ||
	    strchr(folder->path + n, '/') != NULL) {
		free(folder->real);
		folder->real = ledger_folder(f->path);
		folder->path = f->path;
	}
	if (folder->real == NULL)
		return memory_strdup(f->path, &f->real);
	return file_join(folder->real, f->path + n, &f->real);
}

/* --- patterns ---------------------------------------------------------------- */

/* The folder of a pattern is there, or a file of that name was trained: then that nothing
 * is there now is no mistake. */
static int
may_be_gone(const struct intake_work *w, const char *pattern)
{
	const size_t plain = strcspn(pattern, "*?[");
	char *folder;
	struct stat st;
	int there;

	if (w->past.n == 0)
		return 0;
	if (pattern[plain] == '\0') {
		struct intake_file f = { .path = (char *)(uintptr_t)pattern };
		struct folder in = { .path = NULL };

		there = make_real(&in, &f) == RS_OK &&
			intake_map_find(&w->past.by_path, intake_past_key_path(f.real)) !=
				INTAKE_NONE;
		free(in.real);
		free(f.real);
		return there;
	}
	folder = strndup(pattern, plain);
	if (folder == NULL)
		return 0;
	char *const slash = strrchr(folder, '/');
	if (slash != NULL)
		slash[1] = '\0';
	there = slash == NULL || stat(folder, &st) == 0;
	free(folder);
	return there;
}

/* Patterns that match nothing now, but did, are left out. */
static enum rs_status
expand_present(const struct intake_work *w, char ***path, size_t *n)
{
	const struct text_list *const all = &w->settings->data.train;
	struct text_list present = { .n = 0 };
	enum rs_status status;

	RS_TRY(memory_alloc(all->n + 1, sizeof *present.item, &present.item));
	status = RS_OK;
	for (size_t i = 0; i < all->n && status == RS_OK; i++) {
		const struct text_list one = { &all->item[i], 1 };
		char **found = NULL;
		size_t n_found = 0;

		status = source_expand_fast(&one, &found, &n_found);
		for (size_t k = 0; k < n_found; k++)
			free(found[k]);
		free(found);
		if (status == RS_OK)
			present.item[present.n++] = all->item[i];
		else if (status == RS_ENOINPUT && may_be_gone(w, all->item[i]))
			status = RS_OK;
	}
	if (status == RS_OK && present.n > 0)
		status = source_expand_fast(&present, path, n);
	free(present.item);
	return status;
}

/* --- stat -------------------------------------------------------------------- */

static int
looks_as(const struct ledger_entry *e, const struct intake_file *f)
{
	return e->inode == f->inode && e->size == f->size && e->modified_ns == f->modified_ns;
}

/* The name is looked for first: inodes of two file systems may be equal.  Under another name
 * an inode that was given again could look the same only if its time was set by a program;
 * those times are whole seconds, and contents decide. */
static struct intake_known *
find_quiet(struct intake_past *past, const struct intake_file *f)
{
	size_t k = intake_map_find(&past->by_path, intake_past_key_path(f->real));

	if (k != INTAKE_NONE && looks_as(intake_past_latest(past, &past->known[k]), f))
		return &past->known[k];
	if (f->modified_ns % 1000000000 == 0)
		return NULL;
	for (k = intake_map_find(&past->by_inode, f->inode); k != INTAKE_NONE;
	     k = intake_map_next(&past->by_inode, k))
		if (looks_as(intake_past_latest(past, &past->known[k]), f))
			return &past->known[k];
	return NULL;
}

static void
recognise(struct intake_work *w, struct intake_file *f)
{
	struct intake_known *const k = find_quiet(&w->past, f);

	if (k == NULL || k->home != NULL)
		return;
	const struct ledger_entry *const e = intake_past_latest(&w->past, k);
	f->quiet = 1;
	f->known = k;
	f->number = e->file;
	f->text = e->text;
	f->head = e->head;
	f->head_bytes = e->head_bytes;
	k->home = f;
}

static enum rs_status
refuse(const struct intake_work *w, const char *path)
{
	struct stat st;

	if (range_stat(path, &st) == 0)
		return rs_fail(RS_ESPEC, "'%s': data.train names whole files when they are "
			"trained by period", path);
	(void)w;
	return rs_fail(RS_ENOINPUT, "cannot examine '%s': %s", path, strerror(errno));
}

/* *there 0: it went away since it was found. */
static enum rs_status
examine(struct intake_work *w, const char *path, struct intake_file *f, int *there)
{
	struct stat st;

	*there = stat(path, &st) == 0;
	if (!*there) {
		struct stat part;

		return range_stat(path, &part) == 0 || errno != ENOENT ? refuse(w, path) : RS_OK;
	}
	if (!S_ISREG(st.st_mode)) {
		(void)rs_fail(RS_ENOINPUT, "'%s' is no regular file", path);
		return rs_hint("only files can be trained by period: what was read of others "
			"cannot be looked at again");
	}
	f->size = (uint64_t)st.st_size;
	f->inode = (uint64_t)st.st_ino;
	f->device = (uint64_t)st.st_dev;
	f->modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	f->young = f->modified_ns / 1000000000 > w->now - w->wait;
	f->first_period = f->newest = LEDGER_NO_PERIOD;
	return RS_OK;
}

static enum rs_status
name_period(const struct intake_work *w, struct intake_file *f)
{
	const char *const pattern = w->settings->incremental.file_time;
	int64_t t;

	if (w->by_rows)
		return RS_OK;
	if (!intake_pattern_match(pattern, f->path, &t)) {
		(void)rs_fail(RS_EDATA, "the name of '%s' tells no time: wanted "
			"incremental.file_time = '%s'", f->path, pattern);
		return rs_hint("data.train must name files of that pattern only");
	}
	f->period = intake_floor(t, w->period);
	return RS_OK;
}

static int
file_order(const void *a, const void *b)
{
	return strcmp(((const struct intake_file *)a)->path, ((const struct intake_file *)b)->path);
}

/* Takes the paths. */
static enum rs_status
make_files(struct intake_work *w, char **path, size_t n)
{
	enum rs_status status = memory_alloc(n + 1, sizeof *w->file, &w->file);
	struct folder folder = { .path = NULL };

	for (size_t i = 0; i < n; i++) {
		struct intake_file *const f = w->file != NULL ? &w->file[w->n] : NULL;
		int there = 0;

		if (status == RS_OK)
			status = examine(w, path[i], f, &there);
		if (status == RS_OK && there) {
			f->path = path[i];
			w->n++;
			status = make_real(&folder, f);
			if (status == RS_OK)
				status = name_period(w, f);
		} else {
			free(path[i]);
		}
	}
	free(folder.real);
	return status;
}

static enum rs_status
refuse_twin(const struct intake_work *w, const struct intake_map *by_inode,
	const struct intake_file *f)
{
	for (size_t i = intake_map_find(by_inode, f->inode); i != INTAKE_NONE;
	     i = intake_map_next(by_inode, i))
		if (w->file[i].device == f->device) {
			(void)rs_fail(RS_EDATA, "'%s' and '%s' are the same file", w->file[i].path,
				f->path);
			return rs_hint("its rows would count twice; name it once");
		}
	return RS_OK;
}

static enum rs_status
refuse_twins(const struct intake_work *w)
{
	struct intake_map by_inode = { .mask = 0 };
	enum rs_status status = intake_map_init(&by_inode, w->n);

	for (size_t i = 0; i < w->n && status == RS_OK; i++) {
		status = refuse_twin(w, &by_inode, &w->file[i]);
		intake_map_add(&by_inode, w->file[i].inode, i);
	}
	intake_map_free(&by_inode);
	return status;
}

enum rs_status
intake_find_files(struct intake_work *w)
{
	char **path = NULL;
	size_t n = 0;
	enum rs_status status = source_expand_fast(&w->settings->data.train, &path, &n);

	if (status == RS_ENOINPUT)
		status = expand_present(w, &path, &n);
	if (status == RS_OK)
		status = make_files(w, path, n);
	free(path);
	RS_TRY(status);
	qsort(w->file, w->n, sizeof *w->file, file_order);
	RS_TRY(refuse_twins(w));
	for (size_t i = 0; i < w->n; i++)
		recognise(w, &w->file[i]);
	return RS_OK;
}

/* --- first bytes ------------------------------------------------------------- */

/* Up to n bytes of the beginning. */
static enum rs_status
read_head(struct intake_file *f, char *text, size_t n, size_t *got)
{
	struct source *source;
	enum rs_status status;
	size_t more = 1;

	*got = 0;
	RS_TRY(source_open(f->path, &source));
	status = RS_OK;
	while (status == RS_OK && more > 0 && *got < n) {
		status = source_read(source, text + *got, n - *got, &more);
		*got += more;
	}
	f->gzip = source_is_gzip(source);
	source_close(source);
	if (!f->gzip && *got > f->size)
		*got = (size_t)f->size;
	return status;
}

static enum rs_status
add_candidate(struct intake_file *f, size_t known)
{
	if (f->n_candidates == f->candidate_capacity) {
		const size_t capacity = f->n_candidates == 0 ? 4 : 2 * f->n_candidates;
		struct intake_candidate *const grown =
			realloc(f->candidate, capacity * sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for files that begin alike");
		f->candidate = grown;
		f->candidate_capacity = capacity;
	}
	f->candidate[f->n_candidates++] = (struct intake_candidate){ .known = known };
	return RS_OK;
}

/* Those of which no first bytes are known are looked for by inode and name. */
static enum rs_status
add_headless(const struct intake_past *past, struct intake_file *f, const struct intake_map *by,
	uint64_t key)
{
	for (size_t k = intake_map_find(by, key); k != INTAKE_NONE; k = intake_map_next(by, k))
		if (intake_past_latest(past, &past->known[k])->head_bytes == 0)
			RS_TRY(add_candidate(f, k));
	return RS_OK;
}

static enum rs_status
find_candidates(const struct intake_past *past, struct intake_file *f, const char *text)
{
	size_t at = 0;
	uint32_t crc = 0;

	for (size_t i = 0; i < past->n_heads && past->head_bytes[i] <= f->head_bytes; i++) {
		const uint32_t n = past->head_bytes[i];

		crc = hash_crc32c(crc, text + at, n - at);
		at = n;
		for (size_t k = intake_map_find(&past->by_head, intake_past_key_head(n, crc));
		     k != INTAKE_NONE; k = intake_map_next(&past->by_head, k))
			RS_TRY(add_candidate(f, k));
	}
	RS_TRY(add_headless(past, f, &past->by_inode, f->inode));
	return add_headless(past, f, &past->by_path, intake_past_key_path(f->real));
}

enum rs_status
intake_look(struct intake_work *w, struct intake_file *f)
{
	enum rs_status status;
	char *text;
	size_t n = 0;

	if (f->looked)
		return RS_OK;
	f->looked = 1;
	RS_TRY(memory_alloc(LEDGER_HEAD, 1, &text));
	status = read_head(f, text, LEDGER_HEAD, &n);
	f->head = hash_crc32c(0, text, n);
	f->head_bytes = (uint32_t)n;
	if (!f->gzip)
		f->text = f->size;
	else if (n < LEDGER_HEAD)
		f->text = n;
	if (status == RS_OK)
		status = find_candidates(&w->past, f, text);
	free(text);
	return status;
}

enum rs_status
intake_head(struct intake_file *f, size_t n, uint32_t *head)
{
	enum rs_status status;
	char *text;
	size_t got = 0;

	RS_TRY(memory_alloc(LEDGER_HEAD, 1, &text));
	status = read_head(f, text, n, &got);
	*head = hash_crc32c(0, text, got);
	free(text);
	return status;
}

enum rs_status
intake_schema(struct intake_work *w)
{
	if (w->has_schema)
		return RS_OK;
	RS_TRY(schema_build(w->settings, &w->schema));
	w->has_schema = 1;
	return RS_OK;
}

enum rs_status
intake_header(struct intake_work *w, struct intake_file *f, int *has_rows)
{
	struct parser_layout *layout = NULL;
	enum rs_status status;
	char *text;
	size_t n = 0;

	RS_TRY(intake_schema(w));
	RS_TRY(memory_alloc(PEEK, 1, &text));
	status = read_head(f, text, PEEK, &n);
	if (status == RS_OK && n > 0)
		status = parser_layout_make(&w->schema, PARSE_TRAIN, f->path, text, n, &layout,
			&f->skip, &f->lines);
	*has_rows = 0;
	for (size_t i = f->skip; i < n && !*has_rows; i++)
		*has_rows = text[i] != '\n' && text[i] != '\r';
	parser_layout_free(layout);
	free(text);
	return status;
}

/* --- what is new ------------------------------------------------------------- */

int
intake_is_covered(const struct intake_file *f)
{
	const struct range_list *const c = &f->covered;

	return f->size == 0 || (c->n == 1 && c->item[0].begin == 0 &&
		(f->text > 0 ? c->item[0].end >= f->text : c->item[0].end == RANGE_END));
}

int
intake_may_go_on(const struct intake_file *f)
{
	const struct range_list *const c = f->shared != NULL ? &f->shared->covered : NULL;

	return c == NULL || (c->n > 0 && c->item[0].begin == 0 && c->item[0].end >= f->shared_end);
}

enum rs_status
intake_gaps(const struct intake_file *f, struct range_list *out)
{
	const uint64_t end = f->text > 0 ? f->text : RANGE_END;
	uint64_t at = f->skip;

	range_list_free(out);
	for (size_t i = 0; i < f->covered.n && at < end; i++) {
		const struct range *const r = &f->covered.item[i];

		if (r->begin > at)
			RS_TRY(range_list_add(out, at, r->begin < end ? r->begin : end));
		if (r->end > at)
			at = r->end;
	}
	return at < end ? range_list_add(out, at, end) : RS_OK;
}

/* The place of a period among the parts, or where it would be. */
static size_t
part_place(const struct intake_file *f, int64_t period)
{
	size_t low = 0, high = f->n_parts;

	if (f->last_part < f->n_parts && f->part[f->last_part].period == period)
		return f->last_part;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (f->part[middle].period < period)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static enum rs_status
insert_part(struct intake_file *f, size_t i, int64_t period)
{
	if (f->n_parts == f->part_capacity) {
		const size_t capacity = f->n_parts == 0 ? 4 : 2 * f->n_parts;
		struct intake_part *const grown = realloc(f->part, capacity * sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for periods of '%s'", f->path);
		f->part = grown;
		f->part_capacity = capacity;
	}
	memmove(&f->part[i + 1], &f->part[i], (f->n_parts - i) * sizeof *f->part);
	f->part[i] = (struct intake_part){ .period = period };
	f->n_parts++;
	return RS_OK;
}

enum rs_status
intake_part_add(struct intake_file *f, int64_t period, uint64_t begin, uint64_t end,
	uint64_t rows)
{
	const size_t i = part_place(f, period);
	char at[24];

	if (i == f->n_parts || f->part[i].period != period)
		RS_TRY(insert_part(f, i, period));
	f->last_part = i;
	f->part[i].rows += rows;
	if (begin < end)
		RS_TRY(range_list_add(&f->part[i].ranges, begin, end));
	if (f->part[i].ranges.n <= INTAKE_RANGES)
		return RS_OK;
	(void)rs_fail(RS_EDATA, "'%s': the rows of %s are in more than %zu places", f->path,
		intake_time(period, at), INTAKE_RANGES);
	return rs_hint("sort the file by time");
}
