/* Bundles against the bytes that TensorFlow writes, and damaged ones. */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "export/bundle.h"

/* Of a = 0.5 and b = 1, 2. */
static const unsigned char index_bytes[] = {
	0x00, 0x00, 0x06, 0x08, 0x01, 0x1a, 0x02, 0x08, 0x01, 0x00, 0x01, 0x0b, 0x61, 0x08, 0x01,
	0x12, 0x00, 0x28, 0x04, 0x35, 0x06, 0x38, 0x27, 0x1f, 0x00, 0x01, 0x11, 0x62, 0x08, 0x01,
	0x12, 0x04, 0x12, 0x02, 0x08, 0x02, 0x20, 0x04, 0x28, 0x08, 0x35, 0x59, 0x3c, 0xe5, 0x35,
	0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x65, 0xc7, 0xf2, 0xd8,
	0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0xc0, 0xf2, 0xa1, 0xb0,
	0x00, 0x01, 0x02, 0x63, 0x00, 0x35, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00,
	0x7e, 0x2c, 0x7d, 0x04,
	0x3a, 0x08, 0x47, 0x0e,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb,
};
static const unsigned char data_bytes[] = { 0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x80, 0x3f, 0x00,
	0x00, 0x00, 0x40 };

struct place { char directory[64], prefix[96], index[128], data[128]; };

static struct place
make_place(void)
{
	struct place p = { .directory = "/tmp/bundle-test-XXXXXX" };

	assert_non_null(mkdtemp(p.directory));
	snprintf(p.prefix, sizeof p.prefix, "%s/variables", p.directory);
	snprintf(p.index, sizeof p.index, "%s.index", p.prefix);
	snprintf(p.data, sizeof p.data, "%s.data-00000-of-00001", p.prefix);
	return p;
}

static void
remove_place(const struct place *p)
{
	assert_int_equal(file_remove_tree(p->directory), RS_OK);
}

static void
write_two(const struct place *p)
{
	static const float a = 0.5f, b[] = { 1, 2 };
	const int64_t two = 2;
	struct bundle_writer *w;

	assert_int_equal(bundle_writer_open(p->prefix, &w), RS_OK);
	assert_int_equal(bundle_writer_begin(w, "a", NULL, 0), RS_OK);
	assert_int_equal(bundle_writer_add(w, &a, 1), RS_OK);
	assert_int_equal(bundle_writer_begin(w, "b", &two, 1), RS_OK);
	assert_int_equal(bundle_writer_add(w, b, 1), RS_OK);
	assert_int_equal(bundle_writer_add(w, b + 1, 1), RS_OK);
	assert_int_equal(bundle_writer_commit(w), RS_OK);
	bundle_writer_close(w);
}

static void
assert_file(const char *path, const unsigned char *bytes, size_t n)
{
	char *text;
	size_t size;

	assert_int_equal(file_read(path, 1 << 20, &text, &size), RS_OK);
	assert_int_equal(size, n);
	assert_memory_equal(text, bytes, n);
	free(text);
}

static void
the_bytes_are_those_of_tensorflow(void **state)
{
	const struct place p = make_place();

	(void)state;
	write_two(&p);
	assert_file(p.index, index_bytes, sizeof index_bytes);
	assert_file(p.data, data_bytes, sizeof data_bytes);
	remove_place(&p);
}

static void
what_is_written_can_be_read(void **state)
{
	const struct place p = make_place();
	const int64_t two = 2, three = 3;
	struct bundle *b;
	const float *x;

	(void)state;
	write_two(&p);
	assert_int_equal(bundle_open(p.prefix, &b), RS_OK);
	assert_int_equal(bundle_find(b, "b", &two, 1, &x), RS_OK);
	assert_true(x[0] == 1 && x[1] == 2);
	assert_int_equal(bundle_find(b, "a", NULL, 0, &x), RS_OK);
	assert_true(*x == 0.5f);
	assert_int_equal(bundle_find(b, "b", &three, 1, &x), RS_EDATA);
	assert_int_equal(bundle_find(b, "c", &two, 1, &x), RS_EDATA);
	bundle_close(b);
	remove_place(&p);
}

/* 2^62 floats have as many bytes as none in 64 bits. */
static void
a_shape_of_more_than_there_is_is_refused(void **state)
{
	const struct place p = make_place();
	static const float one = 1;
	const int64_t dim[] = { (int64_t)1 << 31, (int64_t)1 << 31 };
	struct bundle_writer *w;
	struct bundle *b;
	const float *x;

	(void)state;
	assert_int_equal(bundle_writer_open(p.prefix, &w), RS_OK);
	assert_int_equal(bundle_writer_begin(w, "a", NULL, 0), RS_OK);
	assert_int_equal(bundle_writer_add(w, &one, 1), RS_OK);
	assert_int_equal(bundle_writer_begin(w, "vast", dim, 2), RS_OK);
	assert_int_equal(bundle_writer_commit(w), RS_OK);
	bundle_writer_close(w);
	assert_int_equal(bundle_open(p.prefix, &b), RS_OK);
	assert_int_equal(bundle_find(b, "a", NULL, 0, &x), RS_OK);
	assert_int_equal(bundle_find(b, "vast", dim, 2, &x), RS_EDATA);
	bundle_close(b);
	remove_place(&p);
}

/* Some blocks, and more entries than stand between two whole keys. */
static void
many_tensors_make_several_blocks(void **state)
{
	const struct place p = make_place();
	const int64_t one = 1;
	struct bundle_writer *w;
	struct bundle *b;
	char name[200];
	const float *x;

	(void)state;
	assert_int_equal(bundle_writer_open(p.prefix, &w), RS_OK);
	for (int i = 0; i < 9000; i++) {
		const float value = (float)i;

		snprintf(name, sizeof name, "%05d%0100d", i, i);
		assert_int_equal(bundle_writer_begin(w, name, &one, 1), RS_OK);
		assert_int_equal(bundle_writer_add(w, &value, 1), RS_OK);
	}
	assert_int_equal(bundle_writer_commit(w), RS_OK);
	bundle_writer_close(w);
	assert_int_equal(bundle_open(p.prefix, &b), RS_OK);
	for (int i = 0; i < 9000; i += 7) {
		snprintf(name, sizeof name, "%05d%0100d", i, i);
		assert_int_equal(bundle_find(b, name, &one, 1, &x), RS_OK);
		assert_true(*x == (float)i);
	}
	bundle_close(b);
	remove_place(&p);
}

static void
write_damaged(const char *path, const unsigned char *bytes, size_t n, size_t at)
{
	FILE *const f = fopen(path, "wb");

	assert_non_null(f);
	for (size_t i = 0; i < n; i++)
		assert_int_not_equal(fputc(bytes[i] ^ (i == at), f), EOF);
	assert_int_equal(fclose(f), 0);
}

/* Zeros of the footer mean nothing, all other bytes count. */
static void
a_byte_that_changed_is_found(void **state)
{
	const struct place p = make_place();
	struct bundle *b;

	(void)state;
	write_two(&p);
	for (size_t i = 0; i < sizeof index_bytes; i++) {
		if (i >= sizeof index_bytes - 44 && i < sizeof index_bytes - 8)
			continue;
		write_damaged(p.index, index_bytes, sizeof index_bytes, i);
		assert_int_equal(bundle_open(p.prefix, &b), RS_EDATA);
	}
	for (size_t n = 0; n < sizeof index_bytes; n++) {
		write_damaged(p.index, index_bytes, n, n);
		assert_int_equal(bundle_open(p.prefix, &b), RS_EDATA);
	}
	write_damaged(p.index, index_bytes, sizeof index_bytes, SIZE_MAX);
	for (size_t i = 0; i < sizeof data_bytes; i++) {
		write_damaged(p.data, data_bytes, sizeof data_bytes, i);
		assert_int_equal(bundle_open(p.prefix, &b), RS_EDATA);
	}
	remove_place(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bytes_are_those_of_tensorflow),
		cmocka_unit_test(what_is_written_can_be_read),
		cmocka_unit_test(a_shape_of_more_than_there_is_is_refused),
		cmocka_unit_test(many_tensors_make_several_blocks),
		cmocka_unit_test(a_byte_that_changed_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
