/* What the forms of files of arrays have in common; and fvecs, a form with no head. */
#include "export/array_file.h"

#include <stdlib.h>
#include <string.h>

enum rs_status
array_file_bad(const struct array_file *f, const char *what)
{
	return rs_fail(RS_EDATA, "'%s': %s", f->path, what);
}

enum rs_status
array_file_open(const struct array_format *format, const char *path,
	const char *label, const char *name, struct array_file *out)
{
	*out = (struct array_file){ .path = label };
	enum rs_status status = file_map_open(&out->map, path);

	if (status == RS_OK)
		status = format->read(out, name);
	if (status != RS_OK)
		array_file_close(out);
	return status;
}

void
array_file_close(struct array_file *f)
{
	file_map_close(&f->map);
	free(f->item);
	free(f->row);
	*f = (struct array_file){ 0 };
}

enum rs_status
array_file_add(struct array_file *f, const struct array_found *found)
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->item[i].name, found->name) == 0)
			return rs_fail(RS_EDATA, "'%s': array '%s' is there twice", f->path,
				found->name);
	if (f->n == f->capacity) {
		const size_t capacity = f->capacity > 0 ? 2 * f->capacity : 16;
		struct array_found *const grown = reallocarray(f->item, capacity, sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for %zu arrays", capacity);
		f->item = grown;
		f->capacity = capacity;
	}
	f->item[f->n++] = *found;
	return RS_OK;
}

enum rs_status
array_file_row(struct array_file *f, size_t i, uint64_t r, const void **out)
{
	if (f->is_text)
		return array_text_next(f, out);
	*out = f->item[i].data + r * f->item[i].stride;
	return RS_OK;
}

enum rs_status
array_file_put(void *file, const void *bytes, size_t n)
{
	return file_writer_write(file, bytes, n);
}

/* --- fvecs: an int32 with the number of columns before each row --------------------- */

struct fvecs { struct file_writer *file; int32_t columns; };

static enum rs_status
put_vector(void *context, const void *bytes, size_t n)
{
	struct fvecs *const v = context;

	RS_TRY(file_writer_write(v->file, &v->columns, sizeof v->columns));
	return file_writer_write(v->file, bytes, n);
}

static enum rs_status
write_fvecs(const struct array_output *out)
{
	struct fvecs v = { out->file, (int32_t)out->item[0].columns };

	return array_bytes(&out->item[0], put_vector, &v);
}

static enum rs_status
read_fvecs(struct array_file *f, const char *name)
{
	struct array_found found = { .rank = 2, .type = ARRAY_f32 };
	int32_t columns = 0, again;

	if (f->map.size >= sizeof columns)
		memcpy(&columns, f->map.data, sizeof columns);
	if (columns < 0 || (columns == 0 && f->map.size > 0))
		return array_file_bad(f, "a vector without columns");
	found.columns = (size_t)columns;
	found.stride = sizeof columns + found.columns * sizeof(float);
	found.rows = f->map.size / found.stride;
	if (found.rows * found.stride != f->map.size)
		return array_file_bad(f, "its end is in the middle of a vector");
	for (uint64_t r = 0; r < found.rows; r++) {
		memcpy(&again, f->map.data + r * found.stride, sizeof again);
		if (again != columns)
			return array_file_bad(f, "vectors differ in their columns");
	}
	found.data = f->map.size > 0 ? f->map.data + sizeof columns : NULL;
	memcpy(found.name, name, strnlen(name, sizeof found.name - 1));
	return array_file_add(f, &found);
}

const struct array_format array_fvecs = {
	.name = "fvecs", .suffix = ".fvecs", .one_each = 1, .only_floats = 1,
	.write = write_fvecs, .read = read_fvecs,
};
