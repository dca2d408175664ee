/* What a version tells of its input files and of where workers were in them. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "train/checkpoint_private.h"

#define INPUTS_LIMIT ((size_t)64 << 20)

/* The next number of the text, and the byte behind it. */
static int
take_number(const char **at, char separator, uint64_t *out)
{
	const char *end = strchr(*at, separator);

	if (end == NULL || !number_u64(*at, (size_t)(end - *at), out))
		return 0;
	*at = end + 1;
	return 1;
}

static int
take_tally(const char **at, void *item)
{
	struct parser_tally *const out = item;

	return take_number(at, ' ', &out->read) && take_number(at, ' ', &out->skipped) &&
		take_number(at, ' ', &out->zero_weight) && take_number(at, '\n', &out->blank);
}

static int
take_mark(const char **at, void *item)
{
	struct dealer_mark *const out = item;
	struct loader_position *const p = &out->position;

	return take_number(at, ' ', &p->epoch) && take_number(at, ' ', &p->window) &&
		take_number(at, ' ', &p->row) && take_number(at, ' ', &p->rows) &&
		take_number(at, ' ', &p->identity) && take_number(at, '\n', &out->ended);
}

/* A file of lines, one an item. */
struct lines {
	const char *name, *wanted;
	size_t size;                   /* of an item                                  */
	int (*take)(const char **at, void *item);
};

static enum rs_status
take_lines(const struct lines *l, const char *path, const char *text, void *out, size_t *n)
{
	size_t lines = 0;
	unsigned char *item;

	for (const char *c = text; *c != '\0'; c++)
		lines += *c == '\n';
	RS_TRY(memory_alloc(lines + 1, l->size, &item));
	memcpy(out, &item, sizeof item);
	while (*text != '\0' && *n < lines && l->take(&text, item + *n * l->size))
		++*n;
	return *n < lines || *text != '\0' ? rs_fail_at(RS_EDATA, path, *n + 1, 0, "%s",
		l->wanted) : RS_OK;
}

/* out: any T **; a version without the file has none. */
static enum rs_status
read_lines(const struct lines *l, const char *folder, void *out, size_t *n)
{
	char *path, *text = NULL;
	size_t size;

	RS_TRY(file_join(folder, l->name, &path));
	enum rs_status status = file_read(path, INPUTS_LIMIT, &text, &size);
	if (status == RS_ENOINPUT)
		status = RS_OK;
	else if (status == RS_OK)
		status = take_lines(l, path, text, out, n);
	free(text);
	free(path);
	return status;
}

enum rs_status
checkpoint_inputs(const char *directory, uint64_t version, struct dealer_past *out)
{
	static const struct lines inputs = { CHECKPOINT_INPUTS, "wanted four counts of a file",
		sizeof(struct parser_tally), take_tally };
	static const struct lines positions = { CHECKPOINT_POSITIONS,
		"wanted six numbers of a worker", sizeof(struct dealer_mark), take_mark };
	char *folder;

	memset(out, 0, sizeof *out);
	RS_TRY(checkpoint_version_path(directory, version, &folder));
	enum rs_status status = read_lines(&inputs, folder, &out->tally, &out->n_tallies);
	if (status == RS_OK)
		status = read_lines(&positions, folder, &out->mark, &out->n_marks);
	free(folder);
	return status;
}
