/* What a version tells of its input files: read back into a loader. */
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
take_tally(const char **at, struct parser_tally *out)
{
	return take_number(at, ' ', &out->read) && take_number(at, ' ', &out->skipped) &&
		take_number(at, ' ', &out->zero_weight) && take_number(at, '\n', &out->blank);
}

static enum rs_status
give_counts(const char *path, const char *text, struct loader *loader)
{
	struct parser_tally *tally;
	size_t n = 0, lines = 0;
	enum rs_status status = RS_OK;

	for (const char *c = text; *c != '\0'; c++)
		lines += *c == '\n';
	RS_TRY(memory_alloc(lines + 1, sizeof(*tally), &tally));
	while (*text != '\0' && n < lines && take_tally(&text, &tally[n]))
		n++;
	if (n < lines || *text != '\0')
		status = rs_fail_at(RS_EDATA, path, n + 1, 0, "wanted four counts of a file");
	else
		loader_resume_counts(loader, tally, n);
	free(tally);
	return status;
}

enum rs_status
checkpoint_inputs(const char *directory, uint64_t version, struct loader *loader)
{
	char *folder, *path = NULL, *text = NULL;
	size_t n;

	RS_TRY(checkpoint_version_path(directory, version, &folder));
	enum rs_status status = file_join(folder, CHECKPOINT_INPUTS, &path);
	if (status == RS_OK)
		status = file_read(path, INPUTS_LIMIT, &text, &n);
	if (status == RS_ENOINPUT)
		status = RS_OK;        /* a version that has none */
	else if (status == RS_OK)
		status = give_counts(path, text, loader);
	free(text);
	free(path);
	free(folder);
	return status;
}
