/* .npz: a ZIP archive of .npy files, stored as they are; zip64 where numbers need it. */
#include "export/array_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LOCAL    0x04034b50u
#define CENTRAL  0x02014b50u
#define END      0x06054b50u
#define END64    0x06064b50u
#define LOCATOR  0x07064b50u
#define UTF8     0x800                 /* flag: the name is UTF-8                  */
#define DAY      0x21                  /* 1980-01-01                               */
#define ALL      0xffffffffu           /* stands for a number of 64 bits           */

#define LOCAL_BYTES   30
#define CENTRAL_BYTES 46
#define END_BYTES     22
#define END64_BYTES   56
#define LOCATOR_BYTES 20

/* --- writing ------------------------------------------------------------------------ */

struct member {
	char     name[ARRAY_NAME + 8];
	uint32_t crc;
	uint64_t size, offset;
	int      is_large, is_far;         /* size, offset need 64 bits               */
};

/* A record under construction. */
struct record { unsigned char byte[512]; size_t n; };

static void
put(struct record *r, uint64_t x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r->byte[r->n++] = (unsigned char)(x >> 8 * i);
}

static void
put_text(struct record *r, const char *text)
{
	const size_t n = strlen(text);

	memcpy(r->byte + r->n, text, n);
	r->n += n;
}

static int
is_ascii(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text > 0x7f)
			return 0;
	return 1;
}

/* What both heads of a member have, from the version needed to the length of the name. */
static void
put_common(struct record *r, const struct member *m, int needs64)
{
	put(r, needs64 ? 45 : 20, 2);
	put(r, is_ascii(m->name) ? 0 : UTF8, 2);
	put(r, 0, 2);
	put(r, 0, 2);
	put(r, DAY, 2);
	put(r, m->crc, 4);
	put(r, m->is_large ? ALL : m->size, 4);
	put(r, m->is_large ? ALL : m->size, 4);
	put(r, strlen(m->name), 2);
}

static enum rs_status
write_local(struct file_writer *file, const struct member *m)
{
	struct record r = { .n = 0 };

	put(&r, LOCAL, 4);
	put_common(&r, m, m->is_large);
	put(&r, m->is_large ? 20 : 0, 2);
	put_text(&r, m->name);
	if (m->is_large) {
		put(&r, 1, 2);
		put(&r, 16, 2);
		put(&r, m->size, 8);
		put(&r, m->size, 8);
	}
	return file_writer_write(file, r.byte, r.n);
}

static enum rs_status
write_central(struct file_writer *file, const struct member *m)
{
	const size_t more = (m->is_large ? 16u : 0u) + (m->is_far ? 8u : 0u);
	struct record r = { .n = 0 };

	put(&r, CENTRAL, 4);
	put(&r, more > 0 ? 45 : 20, 2);
	put_common(&r, m, more > 0);
	put(&r, more > 0 ? more + 4 : 0, 2);
	put(&r, 0, 2);                 /* comment                                  */
	put(&r, 0, 2);                 /* disk                                     */
	put(&r, 0, 2);                 /* inner attributes                         */
	put(&r, 0, 4);                 /* outer attributes                         */
	put(&r, m->is_far ? ALL : m->offset, 4);
	put_text(&r, m->name);
	if (more > 0) {
		put(&r, 1, 2);
		put(&r, more, 2);
	}
	if (m->is_large) {
		put(&r, m->size, 8);
		put(&r, m->size, 8);
	}
	if (m->is_far)
		put(&r, m->offset, 8);
	return file_writer_write(file, r.byte, r.n);
}

static enum rs_status
write_end(struct file_writer *file, uint64_t n, uint64_t begin, uint64_t limit)
{
	const uint64_t end = file->size;
	const int needs64 = n >= 0xffff || begin >= limit || end - begin >= limit;
	struct record r = { .n = 0 };

	if (needs64) {
		put(&r, END64, 4);
		put(&r, END64_BYTES - 12, 8);
		put(&r, 45, 2);
		put(&r, 45, 2);
		put(&r, 0, 4);
		put(&r, 0, 4);
		put(&r, n, 8);
		put(&r, n, 8);
		put(&r, end - begin, 8);
		put(&r, begin, 8);
		put(&r, LOCATOR, 4);
		put(&r, 0, 4);
		put(&r, end, 8);
		put(&r, 1, 4);
	}
	put(&r, END, 4);
	put(&r, 0, 4);
	put(&r, needs64 ? 0xffff : n, 2);
	put(&r, needs64 ? 0xffff : n, 2);
	put(&r, needs64 ? ALL : end - begin, 4);
	put(&r, needs64 ? ALL : begin, 4);
	put(&r, 0, 2);
	return file_writer_write(file, r.byte, r.n);
}

static enum rs_status
add_crc(void *context, const void *bytes, size_t n)
{
	uint32_t *const crc = context;

	*crc = (uint32_t)crc32_z(*crc, bytes, n);
	return RS_OK;
}

/* The CRC stands before the data: the rows are made twice. */
static enum rs_status
write_member(struct file_writer *file, const struct array *a, uint64_t limit, struct member *m)
{
	char head[NPY_HEAD];
	size_t n;

	array_npy_head(a, head, &n);
	m->name[0] = '\0';
	strncat(m->name, a->name, ARRAY_NAME);
	strncat(m->name, ".npy", 5);
	m->size = n + array_size(a);
	m->offset = file->size;
	m->is_large = m->size >= limit;
	m->is_far = m->offset >= limit;
	m->crc = 0;
	RS_TRY(add_crc(&m->crc, head, n));
	RS_TRY(array_bytes(a, add_crc, &m->crc));
	RS_TRY(write_local(file, m));
	RS_TRY(file_writer_write(file, head, n));
	return array_bytes(a, array_file_put, file);
}

enum rs_status
array_npz_write(const struct array_output *out, uint64_t limit)
{
	struct member *member;
	enum rs_status status = RS_OK;

	RS_TRY(memory_alloc(out->n + 1, sizeof *member, &member));
	for (size_t i = 0; status == RS_OK && i < out->n; i++)
		status = write_member(out->file, &out->item[i], limit, &member[i]);
	const uint64_t begin = out->file->size;
	for (size_t i = 0; status == RS_OK && i < out->n; i++)
		status = write_central(out->file, &member[i]);
	free(member);
	return status == RS_OK ? write_end(out->file, out->n, begin, limit) : status;
}

static enum rs_status
write_npz(const struct array_output *out)
{
	return array_npz_write(out, ALL);
}

/* --- reading ------------------------------------------------------------------------ */

struct archive { struct array_file *f; uint64_t n, begin, end; };

static uint64_t
number(const char *at, size_t n)
{
	uint64_t x = 0;

	for (size_t i = n; i-- > 0;)
		x = x << 8 | (unsigned char)at[i];
	return x;
}

/* The central directory lies directly before the records of the end, which are the last. */
static enum rs_status
find_directory(struct archive *z)
{
	const char *const data = z->f->map.data;
	const uint64_t size = z->f->map.size;

	if (size < END_BYTES || number(data + size - END_BYTES, 4) != END)
		return array_file_bad(z->f, "not an archive of arrays, or cut off");
	const char *at = data + size - END_BYTES;
	if (number(at + 4, 4) != 0 || number(at + 8, 2) != number(at + 10, 2)
	    || number(at + 20, 2) != 0)
		return array_file_bad(z->f, "the end of the archive cannot be read");
	z->n = number(at + 10, 2);
	z->begin = number(at + 16, 4);
	z->end = z->begin + number(at + 12, 4);
	uint64_t last = size - END_BYTES;
	if (z->n == 0xffff && last >= LOCATOR_BYTES + END64_BYTES) {
		at -= LOCATOR_BYTES;
		last -= LOCATOR_BYTES + END64_BYTES;
		if (number(at, 4) != LOCATOR || number(at + 8, 8) != last
		    || number(data + last, 4) != END64
		    || number(data + last + 24, 8) != number(data + last + 32, 8))
			return array_file_bad(z->f, "the end of the archive cannot be read");
		z->n = number(data + last + 32, 8);
		z->begin = number(data + last + 48, 8);
		if (__builtin_add_overflow(z->begin, number(data + last + 40, 8), &z->end))
			z->end = 0;
	}
	return z->end == last && z->begin <= z->end ? RS_OK
		: array_file_bad(z->f, "the directory of the archive is not where it says");
}

/* Numbers of 64 bits that stand for those of 32 at `at`. */
struct extra { const char *at, *end; };

static int
read_extra(struct extra *e, uint64_t *inout)
{
	if (*inout != ALL)
		return 1;
	if (e->end - e->at < 8)
		return 0;
	*inout = number(e->at, 8);
	e->at += 8;
	return 1;
}

static struct extra
extra_of(const char *at, size_t n)
{
	const int fits = n >= 4 && number(at, 2) == 1 && number(at + 2, 2) == n - 4;

	return (struct extra){ fits ? at + 4 : at, fits ? at + n : at };
}

static enum rs_status
check_local(const struct archive *z, const char *central, uint64_t size, uint64_t offset,
	const char **data)
{
	const char *const at = z->f->map.data + offset;
	const size_t n_name = (size_t)number(central + 28, 2);

	if (z->begin < LOCAL_BYTES || offset > z->begin - LOCAL_BYTES || number(at, 4) != LOCAL
	    || memcmp(at + 6, central + 8, 20) != 0
	    || number(at + 26, 2) != n_name)
		return array_file_bad(z->f, "the head of an array is not that of the directory");
	const size_t n_extra = (size_t)number(at + 28, 2);
	const uint64_t head = LOCAL_BYTES + n_name + n_extra;
	uint64_t here = number(at + 22, 4), packed = number(at + 18, 4);
	if (z->begin - offset < head)
		return array_file_bad(z->f, "the head of an array is cut off");
	struct extra e = extra_of(at + LOCAL_BYTES + n_name, n_extra);
	if (!read_extra(&e, &here) || !read_extra(&e, &packed) || here != size || packed != size
	    || memcmp(at + LOCAL_BYTES, central + CENTRAL_BYTES, n_name) != 0)
		return array_file_bad(z->f, "the head of an array is not that of the directory");
	if (size > z->begin - offset - head)
		return array_file_bad(z->f, "an array is cut off");
	*data = at + head;
	return RS_OK;
}

static enum rs_status
read_name(const struct archive *z, const char *at, size_t n, struct array_found *found)
{
	if (n <= 4 || n - 4 >= sizeof found->name || memcmp(at + n - 4, ".npy", 4) != 0
	    || memchr(at, '\0', n) != NULL)
		return array_file_bad(z->f, "a member is not called NAME.npy");
	memcpy(found->name, at, n - 4);
	return RS_OK;
}

/* The member of the directory at *at, which goes to the next. */
static enum rs_status
read_member(const struct archive *z, uint64_t *at)
{
	const char *const c = z->f->map.data + *at;
	struct array_found found = { 0 };
	const char *data = NULL;

	if (z->end - *at < CENTRAL_BYTES || number(c, 4) != CENTRAL || number(c + 10, 2) != 0)
		return array_file_bad(z->f, "the directory of the archive cannot be read");
	const size_t n_name = (size_t)number(c + 28, 2), n_extra = (size_t)number(c + 30, 2);
	const uint64_t length = CENTRAL_BYTES + n_name + n_extra + number(c + 32, 2);
	if (z->end - *at < length)
		return array_file_bad(z->f, "the directory of the archive is cut off");
	struct extra e = extra_of(c + CENTRAL_BYTES + n_name, n_extra);
	uint64_t size = number(c + 24, 4), packed = number(c + 20, 4), offset = number(c + 42, 4);
	if (!read_extra(&e, &size) || !read_extra(&e, &packed) || !read_extra(&e, &offset)
	    || packed != size)
		return array_file_bad(z->f, "the sizes of a member cannot be read");
	RS_TRY(read_name(z, c + CENTRAL_BYTES, n_name, &found));
	RS_TRY(check_local(z, c, size, offset, &data));
	if (crc32_z(0, (const unsigned char *)data, size) != number(c + 16, 4))
		return rs_fail(RS_EDATA, "'%s': array '%s' is damaged, its CRC differs",
			z->f->path, found.name);
	RS_TRY(array_npy_parse(z->f, data, size, &found));
	*at += length;
	return array_file_add(z->f, &found);
}

static enum rs_status
read_npz(struct array_file *f, const char *name)
{
	struct archive z = { .f = f };

	(void)name;
	RS_TRY(find_directory(&z));
	uint64_t at = z.begin;
	for (uint64_t i = 0; i < z.n; i++)
		RS_TRY(read_member(&z, &at));
	return at == z.end ? RS_OK : array_file_bad(f, "the directory has more than its members");
}

const struct array_format array_npz = {
	.name = "npz", .suffix = ".npz", .write = write_npz, .read = read_npz,
};
