/* export --to delta: the rows that differ between two versions, for servers of rows. */
#include "cmd/export.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/model_files.h"
#include "embed/rows_file.h"
#include "train/checkpoint.h"

#define MAGIC   "RSDELTA"
#define FORMAT  1

/* The file is this, little-endian, and then for every table a file of rows by id
 * (embed/rows_file.h) of kind ROWS_FILE_DELTA without optimizer state. */
struct header {
	char     magic[8];             /* MAGIC and a NUL                             */
	uint32_t version, header_bytes;
	uint64_t model;                /* the same in all files of a model            */
	uint64_t sequence, parent;     /* versions: it makes the first of the second  */
	uint64_t n_tables, n_upserts, n_deletes, file_bytes;
	uint32_t crc;                  /* CRC32C of all bytes behind the header       */
	uint32_t reserved;
};
_Static_assert(sizeof(struct header) == 80, "the header is 80 bytes");

struct job {
	struct export *x;
	char *directory;
	struct model *from, *to;
	struct lookup_step step;
	struct file_map *part;         /* [n_parts] one a table                       */
	size_t n_parts;
};

/* --- the two versions ------------------------------------------------------------------ */

static enum rs_status
parse_from(const struct job *j, uint64_t *out)
{
	const char *const text = argument(j->x->a, "--from");
	char escaped[72];

	if (text == NULL)
		return rs_fail(RS_EUSAGE, "export --to delta: --from which version?");
	if (number_u64(text + (text[0] == 'v'), strlen(text + (text[0] == 'v')), out) && *out > 0)
		return RS_OK;
	return rs_fail(RS_EUSAGE, "--from '%s' is no version, wanted 140 or v000140",
		rs_escape(escaped, text, strlen(text)));
}

static enum rs_status
load_versions(struct job *j)
{
	const struct model_options options = { .n_threads = 1 };
	uint64_t at, from;
	char *beside;

	RS_TRY(parse_from(j, &from));
	RS_TRY(model_files_resolve(j->x->a->positional[0], &j->directory, &at));
	RS_TRY(checkpoint_load(j->directory, at, &options, &j->to, NULL, &j->step.version));
	RS_TRY(file_join(j->directory, at == CHECKPOINT_HERE ? ".." : ".", &beside));
	const enum rs_status status = checkpoint_load(at == CHECKPOINT_HERE ? beside
		: j->directory, from, &options, &j->from, NULL, &j->step.parent);
	free(beside);
	return status;
}

static int
same_table(const struct lookup_table *a, const struct lookup_table *b)
{
	return strcmp(a->name, b->name) == 0 && a->kind == b->kind && a->rows == b->rows
		&& a->dim == b->dim && a->seed == b->seed;
}

static enum rs_status
check_tables(const struct job *j)
{
	for (size_t t = 0; t < j->to->n_tables; t++)
		if (j->from->n_tables != j->to->n_tables
		    || !same_table(&j->from->table[t], &j->to->table[t])) {
			(void)rs_fail(RS_ESPEC, "table '%s' of v%06" PRIu64 " is not one of v%06"
				PRIu64, j->to->table[t].name, j->step.version, j->step.parent);
			return rs_hint("a server of the former model needs the whole new one: "
				"export --to npz, for instance");
		}
	return RS_OK;
}

/* --- writing --------------------------------------------------------------------------- */

static enum rs_status
make_part(struct job *j, size_t t)
{
	struct file_writer w;

	RS_TRY(file_writer_open_memory(&w));
	enum rs_status status = lookup_local_between(j->from->lookup, j->to->lookup, t, &j->step,
		&w);
	if (status == RS_OK)
		status = file_writer_commit(&w);
	if (status == RS_OK)
		status = file_map_open(&j->part[t], w.path);
	if (status == RS_OK)
		j->n_parts++;
	file_writer_close(&w);
	return status;
}

static uint64_t
model_number(const struct model *m)
{
	uint64_t sum = 0;

	for (size_t t = 0; t < m->n_tables; t++) {
		const struct lookup_table *const is = &m->table[t];
		const uint64_t number[] = { sum, is->kind, is->rows, is->dim, is->seed };

		sum = hash_fingerprint64((const char *)number, sizeof number)
			^ hash_fingerprint64(is->name, strlen(is->name));
	}
	return sum;
}

/* Reads every part again as its readers will. */
static enum rs_status
fill_header(const struct job *j, struct header *h)
{
	*h = (struct header){ .magic = MAGIC, .version = FORMAT, .header_bytes = sizeof *h,
		.model = model_number(j->to), .sequence = j->step.version,
		.parent = j->step.parent, .n_tables = j->n_parts, .file_bytes = sizeof *h };
	for (size_t t = 0; t < j->n_parts; t++) {
		const struct rows_file_header *part;

		RS_TRY(rows_file_check(&j->part[t], j->x->path, &part));
		h->n_upserts += part->n;
		h->n_deletes += part->n_gone;
		h->file_bytes += j->part[t].size;
		h->crc = hash_crc32c(h->crc, j->part[t].data, j->part[t].size);
	}
	return RS_OK;
}

static enum rs_status
write_file(const struct job *j, const struct header *h)
{
	struct file_writer w;
	char *made;

	RS_TRY(export_refuse_existing(j->x->a, j->x->path));
	RS_TRY(export_stage(j->x, j->x->path));
	RS_TRY(staged_add(&j->x->staged, export_name_of(j->x->path), &made));
	enum rs_status status = file_writer_open(&w, made);
	free(made);
	RS_TRY(status);
	status = file_writer_write(&w, h, sizeof *h);
	for (size_t t = 0; status == RS_OK && t < j->n_parts; t++)
		status = file_writer_write(&w, j->part[t].data, j->part[t].size);
	if (status == RS_OK)
		status = file_writer_commit(&w);
	file_writer_close(&w);
	return status == RS_OK && !command_json(j->x->a) ? output_printf("%s   v%06" PRIu64
		" of v%06" PRIu64 ": %" PRIu64 " rows, %" PRIu64 " deleted, %" PRIu64 " bytes\n",
		j->x->path, h->sequence, h->parent, h->n_upserts, h->n_deletes, h->file_bytes)
		: status;
}

static enum rs_status
run(struct job *j)
{
	struct header h;

	RS_TRY(load_versions(j));
	RS_TRY(check_tables(j));
	RS_TRY(memory_alloc(j->to->n_tables + 1, sizeof *j->part, &j->part));
	for (size_t t = 0; t < j->to->n_tables; t++)
		RS_TRY(make_part(j, t));
	RS_TRY(fill_header(j, &h));
	return write_file(j, &h);
}

enum rs_status
export_delta(struct export *e)
{
	struct job j = { .x = e };

	if (e->proof.checks || argument_given(e->a, "--verify"))
		return rs_fail(RS_EUSAGE, "export --to delta: no rows of data are scored with it, "
			"--check and --verify are of other formats");
	const enum rs_status status = run(&j);
	for (size_t t = 0; t < j.n_parts; t++)
		file_map_close(&j.part[t]);
	free(j.part);
	model_free(j.from);
	model_free(j.to);
	free(j.directory);
	return status;
}
