/* MANIFEST: what is written is read, and every changed byte is noticed. */
#include "train/manifest.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture { char directory[64], path[96], data[96]; };

static void
write_data(const struct fixture *f, struct manifest *m)
{
	struct file_writer w;
	static char block[4096];

	memset(block, 'x', sizeof block);
	assert_int_equal(file_writer_open(&w, f->data), RS_OK);
	for (int i = 0; i < 300; i++)          /* more than one MiB                       */
		assert_int_equal(file_writer_write(&w, block, sizeof block), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	assert_int_equal(manifest_add(m, "data.bin", &w), RS_OK);
	file_writer_close(&w);
}

static int
set_up(void **state)
{
	struct fixture *const f = calloc(1, sizeof *f);
	struct manifest m = {
		.version = 7, .parent = 6,
		.progress = {
			.state = CHECKPOINT_FINAL, .step = 123, .best = 0.1, .best_epoch = 2,
				.best_version = 7,
			.position =
				{ .epoch = 1, .window = 2, .row = 3, .rows = 4,
					.identity = UINT64_MAX - 1 },
			.rate_factor = 1e-3, .tally = { .read = 10, .skipped = 1 },
		},
	};

	snprintf(f->directory, sizeof f->directory, "/tmp/manifest.XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	snprintf(f->path, sizeof f->path, "%s/MANIFEST", f->directory);
	snprintf(f->data, sizeof f->data, "%s/data.bin", f->directory);
	write_data(f, &m);
	assert_int_equal(manifest_write(&m, f->directory), RS_OK);
	manifest_free(&m);
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *const f = *state;

	file_remove_tree(f->directory);
	free(f);
	return 0;
}

static void
what_is_written_is_read(void **state)
{
	const struct fixture *const f = *state;
	struct manifest m;

	assert_int_equal(manifest_read(&m, f->directory), RS_OK);
	assert_int_equal(m.version, 7);
	assert_int_equal(m.parent, 6);
	assert_int_equal(m.progress.state, CHECKPOINT_FINAL);
	assert_int_equal(m.progress.step, 123);
	assert_true(m.progress.best == 0.1 && m.progress.rate_factor == 1e-3);
	assert_true(m.progress.position.identity == UINT64_MAX - 1);
	assert_int_equal(m.progress.tally.skipped, 1);
	assert_int_equal(m.n_files, 1);
	assert_int_equal(m.file[0].size, 300 * 4096);
	assert_int_equal(m.file[0].n_crc, 2);
	assert_int_equal(manifest_verify(&m, f->directory), RS_OK);
	manifest_free(&m);
}

static void
L058_every_flipped_byte_of_the_manifest_is_noticed(void **state)
{
	const struct fixture *const f = *state;
	char *text;
	size_t n;

	assert_int_equal(file_read(f->path, 1 << 20, &text, &n), RS_OK);
	for (size_t i = 0; i < n; i++) {
		struct manifest m;

		text[i] ^= 1;
		assert_int_equal(file_replace(f->path, text, n), RS_OK);
		assert_int_not_equal(manifest_read(&m, f->directory), RS_OK);
		assert_non_null(strstr(rs_failure()->where, "MANIFEST"));
		text[i] ^= 1;
	}
	free(text);
}

static void
L058_a_truncated_manifest_is_noticed(void **state)
{
	const struct fixture *const f = *state;
	char *text;
	size_t n;

	assert_int_equal(file_read(f->path, 1 << 20, &text, &n), RS_OK);
	for (size_t i = 0; i < n; i += 13) {
		struct manifest m;

		assert_int_equal(file_replace(f->path, text, i), RS_OK);
		assert_int_equal(manifest_read(&m, f->directory), RS_EDATA);
	}
	free(text);
}

static void
poke(const char *path, long at)
{
	FILE *const file = fopen(path, "r+b");

	assert_non_null(file);
	fseek(file, at, SEEK_SET);
	const int c = fgetc(file);
	fseek(file, at, SEEK_SET);
	fputc(c ^ 4, file);
	assert_int_equal(fclose(file), 0);
}

static void
L058_a_flipped_byte_in_any_block_names_the_file_and_the_block(void **state)
{
	const struct fixture *const f = *state;
	struct manifest m;

	assert_int_equal(manifest_read(&m, f->directory), RS_OK);
	poke(f->data, 1200000);
	assert_int_equal(manifest_verify(&m, f->directory), RS_EDATA);
	assert_non_null(strstr(rs_failure()->where, "data.bin"));
	assert_non_null(strstr(rs_failure()->text, "bytes 1048576 to 1228799"));
	manifest_free(&m);
}

static void
L058_a_short_file_is_noticed(void **state)
{
	const struct fixture *const f = *state;
	struct manifest m;

	assert_int_equal(manifest_read(&m, f->directory), RS_OK);
	assert_int_equal(truncate(f->data, 1228799), 0);
	assert_int_equal(manifest_verify(&m, f->directory), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "1228799 bytes, MANIFEST says 1228800"));
	manifest_free(&m);
}

static void
a_missing_file_is_noticed(void **state)
{
	const struct fixture *const f = *state;
	struct manifest m;

	assert_int_equal(manifest_read(&m, f->directory), RS_OK);
	assert_int_equal(unlink(f->data), 0);
	assert_int_equal(manifest_verify(&m, f->directory), RS_ENOINPUT);
	manifest_free(&m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_written_is_read),
		TEST(L058_every_flipped_byte_of_the_manifest_is_noticed),
		TEST(L058_a_truncated_manifest_is_noticed),
		TEST(L058_a_flipped_byte_in_any_block_names_the_file_and_the_block),
		TEST(L058_a_short_file_is_noticed),
		TEST(a_missing_file_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
