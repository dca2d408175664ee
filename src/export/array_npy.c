/* .npy, version 1.0: byte for byte what numpy.save writes. */
#include "export/array_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC   "\x93NUMPY\x01"
#define PREFIX  10                     /* magic, version, length                   */
#define ALIGN   64
#define GROWTH  21                     /* digits that the first number may come to have */

void
array_npy_head(const struct array *a, char out[NPY_HEAD], size_t *n)
{
	char shape[64], number[24], *const text = out + PREFIX;

	if (a->rank == 1)
		(void)snprintf(shape, sizeof shape, "(%" PRIu64 ",)", a->rows);
	else
		(void)snprintf(shape, sizeof shape, "(%" PRIu64 ", %zu)", a->rows, a->columns);
	const int digits = snprintf(number, sizeof number, "%" PRIu64, a->rows);
	memcpy(out, MAGIC, 8);
	size_t used = (size_t)snprintf(text, NPY_HEAD - PREFIX,
		"{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
		array_kind[a->type].numpy, shape);
	for (int i = digits; i < GROWTH; i++)
		text[used++] = ' ';
	while ((PREFIX + used + 1) % ALIGN != 0)
		text[used++] = ' ';
	text[used++] = '\n';
	out[8] = (char)(used & 0xff);
	out[9] = (char)(used >> 8);
	*n = PREFIX + used;
}

static enum rs_status
write_npy(const struct array_output *out)
{
	char head[NPY_HEAD];
	size_t n;

	array_npy_head(&out->item[0], head, &n);
	RS_TRY(file_writer_write(out->file, head, n));
	return array_bytes(&out->item[0], array_file_put, out->file);
}

/* --- reading ------------------------------------------------------------------------ */

struct cursor { const char *at, *end; };

static int
take(struct cursor *c, const char *text)
{
	const size_t n = strlen(text);

	if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0)
		return 0;
	c->at += n;
	return 1;
}

static int
take_number(struct cursor *c, uint64_t *out)
{
	const char *const begin = c->at;

	for (*out = 0; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
		if (*out > (UINT64_MAX - 9) / 10)
			return 0;
		*out = *out * 10 + (uint64_t)(*c->at - '0');
	}
	return c->at > begin;
}

static int
take_shape(struct cursor *c, struct array_found *out)
{
	uint64_t columns = 1;

	if (!take(c, "(") || !take_number(c, &out->rows))
		return 0;
	out->rank = 1;
	if (!take(c, ",)")) {
		if (!take(c, ", ") || !take_number(c, &columns) || !take(c, ")"))
			return 0;
		out->rank = 2;
	}
	out->columns = (size_t)columns;
	return 1;
}

static int
take_head(struct cursor *c, struct array_found *out)
{
	if (!take(c, "{'descr': '"))
		return 0;
	for (out->type = 0; out->type < ARRAY_N_TYPES; out->type++)
		if (take(c, array_kind[out->type].numpy))
			break;
	if (out->type == ARRAY_N_TYPES || !take(c, "', 'fortran_order': False, 'shape': ")
	    || !take_shape(c, out) || !take(c, ", }"))
		return 0;
	while (take(c, " "))
		;
	return take(c, "\n") && c->at == c->end;
}

enum rs_status
array_npy_parse(const struct array_file *f, const char *bytes, uint64_t n,
	struct array_found *out)
{
	if (n < PREFIX || memcmp(bytes, MAGIC, 8) != 0)
		return array_file_bad(f, "not an .npy of version 1");
	const size_t head = (size_t)(unsigned char)bytes[8]
		| (size_t)(unsigned char)bytes[9] << 8;
	if (n - PREFIX < head || (PREFIX + head) % ALIGN != 0)
		return array_file_bad(f, "the head of an .npy is cut off");
	struct cursor c = { bytes + PREFIX, bytes + PREFIX + head };
	if (!take_head(&c, out))
		return array_file_bad(f, "the head of an .npy cannot be read");
	out->data = c.end;
	if (__builtin_mul_overflow(out->columns, array_kind[out->type].bytes, &out->stride))
		return array_file_bad(f, "an .npy has too many columns");
	uint64_t size;
	if (__builtin_mul_overflow(out->rows, out->stride, &size) || size != n - PREFIX - head)
		return array_file_bad(f, "an .npy has not the size of its shape");
	return RS_OK;
}

static enum rs_status
read_npy(struct array_file *f, const char *name)
{
	struct array_found found = { 0 };

	memcpy(found.name, name, strnlen(name, sizeof found.name - 1));
	RS_TRY(array_npy_parse(f, f->map.data, f->map.size, &found));
	return array_file_add(f, &found);
}

const struct array_format array_npy = {
	.name = "npy", .suffix = ".npy", .one_each = 1, .write = write_npy, .read = read_npy,
};
