/* MANIFEST: written, read back, and compared with the files it lists. */
#include "train/manifest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"

#define MANIFEST_HEAD  "recsys-train model 1\n"
#define MANIFEST_NAME  "MANIFEST"
#define MANIFEST_LIMIT ((size_t)256 << 20)

enum key_type { KEY_U64, KEY_DOUBLE, KEY_STATE, KEY_KIND };

/* Of keys that are one of some names. */
static const char *const name_table[][2] = {
	[KEY_STATE] = { [CHECKPOINT_TRAINING] = "training", [CHECKPOINT_FINAL] = "final" },
	[KEY_KIND] = { [MANIFEST_FULL] = "full", [MANIFEST_DELTA] = "delta" },
};
_Static_assert(sizeof(enum checkpoint_state) == sizeof(unsigned)
	&& sizeof(enum manifest_kind) == sizeof(unsigned), "names are kept as numbers");

#define PROGRESS(member) offsetof(struct manifest, progress.member)
static const struct manifest_key {
	const char   *name;
	enum key_type type;
	size_t        offset;
	int           may_lack;        /* it is then 0                                */
} key_table[] = {
	{ "version",          KEY_U64,    offsetof(struct manifest, version), 0 },
	{ "parent",           KEY_U64,    offsetof(struct manifest, parent), 0 },
	{ "kind",             KEY_KIND,   offsetof(struct manifest, kind), 1 },
	{ "identity",         KEY_U64,    offsetof(struct manifest, identity), 1 },
	{ "parent_identity",  KEY_U64,    offsetof(struct manifest, parent_identity), 1 },
	{ "state",            KEY_STATE,  PROGRESS(state), 0 },
	{ "step",             KEY_U64,    PROGRESS(step), 0 },
	{ "seed",             KEY_U64,    PROGRESS(seed), 0 },
	{ "epoch",            KEY_U64,    PROGRESS(position.epoch), 0 },
	{ "window",           KEY_U64,    PROGRESS(position.window), 0 },
	{ "window_row",       KEY_U64,    PROGRESS(position.row), 0 },
	{ "epoch_rows",       KEY_U64,    PROGRESS(position.rows), 0 },
	{ "input_identity",   KEY_U64,    PROGRESS(position.identity), 0 },
	{ "best",             KEY_DOUBLE, PROGRESS(best), 0 },
	{ "best_epoch",       KEY_U64,    PROGRESS(best_epoch), 0 },
	{ "best_version",     KEY_U64,    PROGRESS(best_version), 0 },
	{ "stale_epochs",     KEY_U64,    PROGRESS(stale_epochs), 0 },
	{ "rate_factor",      KEY_DOUBLE, PROGRESS(rate_factor), 0 },
	{ "plateau_stale",    KEY_U64,    PROGRESS(plateau_stale), 0 },
	{ "skipped_steps",    KEY_U64,    PROGRESS(skipped_steps), 0 },
	{ "skipped_in_a_row", KEY_U64,    PROGRESS(skipped_in_a_row), 0 },
	{ "schedule_start",   KEY_U64,    PROGRESS(schedule_start), 0 },
	{ "rows_read",        KEY_U64,    PROGRESS(tally.read), 0 },
	{ "rows_skipped",     KEY_U64,    PROGRESS(tally.skipped), 0 },
	{ "rows_zero_weight", KEY_U64,    PROGRESS(tally.zero_weight), 0 },
	{ "lines_blank",      KEY_U64,    PROGRESS(tally.blank), 0 },
};
#undef PROGRESS
enum { N_KEYS = sizeof key_table / sizeof *key_table };

void
manifest_free(struct manifest *m)
{
	for (size_t i = 0; i < m->n_files; i++) {
		free(m->file[i].name);
		free(m->file[i].crc);
	}
	free(m->file);
	memset(m, 0, sizeof *m);
}

static enum rs_status
add_file(struct manifest *m, struct manifest_file **out)
{
	struct manifest_file *const grown = realloc(m->file, (m->n_files + 1) * sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "no memory for a list of %zu files", m->n_files + 1);
	m->file = grown;
	*out = &grown[m->n_files++];
	memset(*out, 0, sizeof **out);
	return RS_OK;
}

enum rs_status
manifest_add(struct manifest *m, const char *name, const struct file_writer *w)
{
	struct manifest_file *f;

	RS_TRY(add_file(m, &f));
	RS_TRY(memory_strdup(name, &f->name));
	RS_TRY(memory_alloc(w->n_crc + 1, sizeof *f->crc, &f->crc));
	if (w->n_crc > 0)
		memcpy(f->crc, w->crc, w->n_crc * sizeof *f->crc);
	f->n_crc = w->n_crc;
	f->size = w->size;
	return RS_OK;
}

static enum rs_status
print_key(const struct manifest *m, const struct manifest_key *key, struct buffer *out)
{
	const void *const value = (const char *)m + key->offset;
	char text[32] = "none";

	switch (key->type) {
	case KEY_U64:
		return buffer_printf(out, "%s = %" PRIu64 "\n", key->name,
			*(const uint64_t *)value);
	case KEY_STATE:
	case KEY_KIND:
		return buffer_printf(out, "%s = %s\n", key->name,
			name_table[key->type][*(const unsigned *)value]);
	case KEY_DOUBLE:
		if (isfinite(*(const double *)value))
			number_print_double(text, *(const double *)value);
		return buffer_printf(out, "%s = %s\n", key->name, text);
	}
	return RS_OK;
}

static enum rs_status
print_manifest(const struct manifest *m, struct buffer *out)
{
	RS_TRY(buffer_printf(out, MANIFEST_HEAD));
	for (size_t k = 0; k < N_KEYS; k++)
		RS_TRY(print_key(m, &key_table[k], out));
	for (size_t i = 0; i < m->n_files; i++) {
		RS_TRY(buffer_printf(out, "file = %s %" PRIu64, m->file[i].name, m->file[i].size));
		for (size_t c = 0; c < m->file[i].n_crc; c++)
			RS_TRY(buffer_printf(out, " %08" PRIx32, m->file[i].crc[c]));
		RS_TRY(buffer_printf(out, "\n"));
	}
	return buffer_printf(out, "crc = %08" PRIx32 "\n", hash_crc32c(0, out->data, out->n));
}

enum rs_status
manifest_identify(struct manifest *m)
{
	struct buffer text;

	buffer_init(&text, MANIFEST_LIMIT);
	m->identity = 0;
	const enum rs_status status = print_manifest(m, &text);
	if (status == RS_OK)
		m->identity = hash_fingerprint64(text.data, text.n);
	buffer_free(&text);
	return status;
}

enum rs_status
manifest_write(const struct manifest *m, const char *directory)
{
	struct buffer text;
	char *path = NULL;

	buffer_init(&text, MANIFEST_LIMIT);
	enum rs_status status = print_manifest(m, &text);
	if (status == RS_OK)
		status = file_join(directory, MANIFEST_NAME, &path);
	if (status == RS_OK)
		status = file_replace(path, text.data, text.n);
	free(path);
	buffer_free(&text);
	return status;
}

static int
read_hex(const char *text, size_t n, uint32_t *out)
{
	*out = 0;
	for (size_t i = 0; i < n; i++) {
		const char *const digits = "0123456789abcdef";
		const char *const digit = memchr(digits, text[i], 16);
		if (digit == NULL)
			return 0;
		*out = *out << 4 | (uint32_t)(digit - digits);
	}
	return n == 8;
}

/* NAME SIZE CRC CRC ...; *understood: else the text is wrong. */
static enum rs_status
parse_file(struct manifest_file *f, const char *text, size_t n, int *understood)
{
	const char *const end = text + n;
	const char *const space = memchr(text, ' ', n);
	*understood = 0;
	if (space == NULL)
		return RS_OK;
	const size_t n_name = (size_t)(space - text);
	const char *at = memchr(space + 1, ' ', (size_t)(end - space - 1));
	if (at == NULL)
		at = end;
	RS_TRY(memory_alloc(n_name + 1, 1, &f->name));
	memcpy(f->name, text, n_name);
	RS_TRY(memory_alloc((size_t)(end - at) / 9 + 1, sizeof *f->crc, &f->crc));
	if (!number_u64(space + 1, (size_t)(at - space - 1), &f->size))
		return RS_OK;
	for (; at < end; at += 9) {
		if (end - at < 9 || *at != ' ' || !read_hex(at + 1, 8, &f->crc[f->n_crc]))
			return RS_OK;
		f->n_crc++;
	}
	*understood = f->n_crc == (f->size + FILE_CRC_BLOCK - 1) / FILE_CRC_BLOCK
		&& strchr(f->name, '/') == NULL;
	return RS_OK;
}

static int
parse_value(struct manifest *m, const struct manifest_key *key, const char *text, size_t n)
{
	void *const value = (char *)m + key->offset;

	switch (key->type) {
	case KEY_U64:
		return number_u64(text, n, value);
	case KEY_DOUBLE:
		if (n == 4 && memcmp(text, "none", 4) == 0) {
			*(double *)value = NAN;
			return 1;
		}
		return number_double(text, n, value);
	case KEY_STATE:
	case KEY_KIND:
		for (unsigned i = 0; i < 2; i++) {
			const char *const name = name_table[key->type][i];

			if (strlen(name) == n && memcmp(name, text, n) == 0) {
				*(unsigned *)value = i;
				return 1;
			}
		}
		return 0;
	}
	return 0;
}

static enum rs_status
parse_line(struct manifest *m, const char *line, size_t n, unsigned char seen[N_KEYS],
	int *understood)
{
	const char *const equals = memmem(line, n, " = ", 3);
	*understood = 0;
	if (equals == NULL)
		return RS_OK;
	const size_t n_name = (size_t)(equals - line);
	const char *const value = equals + 3;
	const size_t n_value = n - n_name - 3;
	struct manifest_file *f;

	if (n_name == 4 && memcmp(line, "file", 4) == 0) {
		RS_TRY(add_file(m, &f));
		return parse_file(f, value, n_value, understood);
	}
	for (size_t k = 0; k < N_KEYS; k++) {
		if (strlen(key_table[k].name) != n_name
			|| memcmp(key_table[k].name, line, n_name) != 0)
			continue;
		seen[k] = 1;
		*understood = parse_value(m, &key_table[k], value, n_value);
		break;
	}
	return RS_OK;
}

/* The text before the crc line, checked against it; 0 when it does not fit. */
static size_t
checked_length(const char *text, size_t n)
{
	const size_t n_crc = strlen("crc = 00000000\n");
	uint32_t crc;

	if (n < n_crc || memcmp(text + n - n_crc, "crc = ", 6) != 0 || text[n - 1] != '\n'
	    || !read_hex(text + n - 9, 8, &crc) || hash_crc32c(0, text, n - n_crc) != crc)
		return 0;
	return n - n_crc;
}

static enum rs_status
parse_manifest(struct manifest *m, const char *path, const char *text, size_t n_text)
{
	unsigned char seen[N_KEYS] = { 0 };
	const size_t n = checked_length(text, n_text);
	size_t number = 1;

	if (n == 0)
		return rs_fail_at(RS_EDATA, path, 0, 0,
			"damaged: its text does not have the CRC of its last line");
	if (n < strlen(MANIFEST_HEAD) || memcmp(text, MANIFEST_HEAD, strlen(MANIFEST_HEAD)) != 0)
		return rs_fail_at(RS_EPROTOCOL, path, 1, 0,
			"not a model of this program's format, wanted 'recsys-train model 1'");
	for (const char *line = text + strlen(MANIFEST_HEAD); line < text + n; ) {
		const char *const end = memchr(line, '\n', (size_t)(text + n - line));
		int understood = 0;
		number++;
		if (end != NULL)
			RS_TRY(parse_line(m, line, (size_t)(end - line), seen, &understood));
		if (!understood)
			return rs_fail_at(RS_EDATA, path, number, 0, "line not understood");
		line = end + 1;
	}
	for (size_t k = 0; k < N_KEYS; k++)
		if (!seen[k] && !key_table[k].may_lack)
			return rs_fail_at(RS_EDATA, path, 0, 0, "'%s' is missing",
				key_table[k].name);
	return RS_OK;
}

enum rs_status
manifest_read(struct manifest *out, const char *directory)
{
	char *path, *text = NULL;
	size_t n;

	memset(out, 0, sizeof *out);
	RS_TRY(file_join(directory, MANIFEST_NAME, &path));
	enum rs_status status = file_read(path, MANIFEST_LIMIT, &text, &n);
	if (status == RS_OK)
		status = parse_manifest(out, path, text, n);
	if (status != RS_OK)
		manifest_free(out);
	free(text);
	free(path);
	return status;
}

enum rs_status
manifest_check_size(const struct manifest_file *f, const struct file_map *map, const char *path)
{
	if (map->size == f->size)
		return RS_OK;
	return rs_fail_at(RS_EDATA, path, 0, 0, "damaged: %zu bytes, MANIFEST says %" PRIu64,
		map->size, f->size);
}

enum rs_status
manifest_check_block(const struct manifest_file *f, size_t i, const struct file_map *map,
	const char *path)
{
	const size_t begin = i * FILE_CRC_BLOCK;
	const size_t n = map->size - begin < FILE_CRC_BLOCK ? map->size - begin : FILE_CRC_BLOCK;
	const uint32_t crc = hash_crc32c(0, map->data + begin, n);

	if (crc == f->crc[i])
		return RS_OK;
	return rs_fail_at(RS_EDATA, path, 0, 0, "damaged: CRC of bytes %zu to %zu is %08" PRIx32
		", MANIFEST says %08" PRIx32, begin, begin + n - 1, crc, f->crc[i]);
}

static enum rs_status
verify_blocks(const struct manifest_file *f, const struct file_map *map, const char *path)
{
	RS_TRY(manifest_check_size(f, map, path));
	for (size_t i = 0; i < f->n_crc; i++)
		RS_TRY(manifest_check_block(f, i, map, path));
	return RS_OK;
}

enum rs_status
manifest_verify_some(const struct manifest *m, const char *directory, const char *prefix)
{
	for (size_t i = 0; i < m->n_files; i++) {
		struct file_map map;
		char *path;

		if (strncmp(m->file[i].name, prefix, strlen(prefix)) != 0)
			continue;
		RS_TRY(file_join(directory, m->file[i].name, &path));
		enum rs_status status = file_map_open(&map, path);
		if (status == RS_OK) {
			status = verify_blocks(&m->file[i], &map, path);
			file_map_close(&map);
		}
		free(path);
		RS_TRY(status);
	}
	return RS_OK;
}

enum rs_status
manifest_verify(const struct manifest *m, const char *directory)
{
	return manifest_verify_some(m, directory, "");
}

int
manifest_has(const struct manifest *m, const char *name)
{
	for (size_t i = 0; i < m->n_files; i++)
		if (strcmp(m->file[i].name, name) == 0)
			return 1;
	return 0;
}

uint64_t
manifest_bytes(const struct manifest *m)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < m->n_files; i++)
		bytes += m->file[i].size;
	return bytes;
}
