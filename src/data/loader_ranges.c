/* Ranges of one file under several names: what they share must be the header. */
#include <stdlib.h>
#include <sys/stat.h>

#include "data/loader_private.h"
#include "data/range.h"

/* The first of several ranges of a name. */
struct first_range {
	dev_t    device;
	ino_t    inode;
	uint64_t end;
	size_t   input;
};

static int
first_range_order(const void *a, const void *b)
{
	const struct first_range *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static enum rs_status
first_range_of(struct loader *l, size_t input, struct first_range *out, size_t *n)
{
	const char *const name = l->input[input].file.path;
	struct range_list ranges;
	struct stat st;
	char *path;

	RS_TRY(range_parse(name, &path, &ranges));
	l->input[input].may_grow = path != NULL && ranges.item[ranges.n - 1].end != RANGE_END;
	if (path != NULL && ranges.n > 1 && ranges.item[0].begin == 0 && stat(path, &st) == 0)
		out[(*n)++] = (struct first_range){ .device = st.st_dev, .inode = st.st_ino,
			.end = ranges.item[0].end, .input = input };
	range_list_free(&ranges);
	free(path);
	return RS_OK;
}

enum rs_status
loader_find_ranges(struct loader *l)
{
	struct first_range *first;
	enum rs_status status = RS_OK;
	size_t n = 0;

	RS_TRY(memory_alloc(l->n_inputs, sizeof *first, &first));
	for (size_t i = 0; i < l->n_inputs && status == RS_OK; i++)
		status = first_range_of(l, i, first, &n);
	qsort(first, n, sizeof *first, first_range_order);
	for (size_t i = 1; i < n; i++)
		if (first_range_order(&first[i - 1], &first[i]) == 0)
			l->input[first[i - 1].input].header = l->input[first[i].input].header =
				first[i].end;
	free(first);
	return status;
}

enum rs_status
loader_check_header(const struct loader_input *input)
{
	if (input->header == 0 || input->header == input->skip)
		return RS_OK;
	(void)rs_fail(RS_EDATA, "'%s': another name has the bytes 0-%ju as well, and they are not "
		"the header", input->file.path, (uintmax_t)input->header);
	return rs_hint("their rows would count twice; name them once");
}
