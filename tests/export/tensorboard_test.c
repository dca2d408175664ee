/* Event files: the bytes that TensorBoard reads, by whole records, a new file a start. */
#include "export/tensorboard.h"

#include <dirent.h>
#include <string.h>

#include "data/tfrecord.h"
#include "tests/test.h"

static int
tmpdir_drop(void **state)
{
	assert_int_equal(file_remove_tree(*state), RS_OK);
	free(*state);
	return 0;
}

static void
assert_bytes(const struct buffer *b, const char *hex)
{
	char text[256] = "";

	for (size_t i = 0; i < b->n && 2 * i + 2 < sizeof text; i++)
		snprintf(text + 2 * i, 3, "%02x", (unsigned char)b->data[i]);
	assert_string_equal(text, hex);
}

static void
a_file_begins_with_its_version(void **state)
{
	struct buffer b;

	(void)state;
	buffer_init(&b, 1 << 10);
	assert_int_equal(tensorboard_record(&b, 1700000000.5, NULL, 0, 0), RS_OK);
	assert_bytes(&b, "1800000000000000a37f4b220900002040fc54d9411a0d627261696e2e4576656e743a32"
		"2b353110");
	buffer_free(&b);
}

static void
a_scalar_has_the_old_form(void **state)
{
	struct buffer b;

	(void)state;
	buffer_init(&b, 1 << 10);
	assert_int_equal(tensorboard_record(&b, 1700000001.0, "loss", 100, 0.25), RS_OK);
	assert_bytes(&b, "1a00000000000000129bd82d0900004040fc54d94110642a0d0a0b0a046c6f737315"
		"0000803e2f64aed9");
	buffer_free(&b);
}

/* A value of 0 is written, not left out as a default. */
static void
zero_is_a_value(void **state)
{
	struct buffer b;
	static const char value[] = { 0x15, 0, 0, 0, 0 };

	(void)state;
	buffer_init(&b, 1 << 10);
	assert_int_equal(tensorboard_record(&b, 1.0, "x", 0, 0.0), RS_OK);
	assert_memory_equal(b.data + b.n - 4 - sizeof value, value, sizeof value);
	buffer_free(&b);
}

/* Whole records in a file; 0 when it has anything else. */
static size_t
count_records(const char *path)
{
	struct file_map map;
	struct tfrecord record;
	uint32_t stored, computed;
	size_t at = 0, n = 0;

	assert_int_equal(file_map_open(&map, path), RS_OK);
	for (; at < map.size; at += record.frame, n++) {
		tfrecord_read(map.data + at, map.size - at, &record);
		if (record.state != TFRECORD_WHOLE
		    || !tfrecord_data_is_sound(&record, &stored, &computed))
			n = 0, at = map.size, record.frame = 0;
	}
	file_map_close(&map);
	return n;
}

/* The number of event files; the records of each are added to *records. */
static size_t
count_files(const char *directory, size_t *records)
{
	DIR *const d = opendir(directory);
	const struct dirent *entry;
	size_t n = 0;

	assert_non_null(d);
	*records = 0;
	while ((entry = readdir(d)) != NULL) {
		char path[512];

		if (strncmp(entry->d_name, "events.out.tfevents.", 20) != 0)
			continue;
		snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
		*records += count_records(path);
		n++;
	}
	closedir(d);
	return n;
}

static void
what_was_flushed_is_whole_records(void **state)
{
	struct tensorboard *t;
	size_t n;

	assert_int_equal(tensorboard_open(*state, 1, &t), RS_OK);
	assert_int_equal(count_files(*state, &n), 1);
	assert_int_equal(n, 1);
	assert_int_equal(tensorboard_scalar(t, "loss", 1, 0.5), RS_OK);
	assert_int_equal(tensorboard_scalar(t, "auc", 1, 0.75), RS_OK);
	assert_int_equal(tensorboard_flush(t), RS_OK);
	assert_int_equal(count_files(*state, &n), 1);
	assert_int_equal(n, 3);
	tensorboard_close(t);
}

/* Version, start, scalar in the second. */
static void
a_second_start_has_a_file_of_its_own(void **state)
{
	struct tensorboard *t;
	size_t n;

	assert_int_equal(tensorboard_open(*state, 1, &t), RS_OK);
	tensorboard_close(t);
	assert_int_equal(tensorboard_open(*state, 7, &t), RS_OK);
	assert_int_equal(tensorboard_scalar(t, "loss", 7, 0.5), RS_OK);
	tensorboard_close(t);
	assert_int_equal(count_files(*state, &n), 2);
	assert_int_equal(n, 4);
}

static void
a_start_is_told_as_session_log(void **state)
{
	struct buffer b;
	static const char log[] = { 0x10, 0x07, 0x3a, 0x02, 0x08, 0x01 };

	(void)state;
	buffer_init(&b, 1 << 10);
	assert_int_equal(tensorboard_record(&b, 1.0, NULL, 7, 0), RS_OK);
	assert_memory_equal(b.data + b.n - 4 - sizeof log, log, sizeof log);
	buffer_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_begins_with_its_version),
		cmocka_unit_test(a_scalar_has_the_old_form), cmocka_unit_test(zero_is_a_value),
		cmocka_unit_test(a_start_is_told_as_session_log),
		cmocka_unit_test_setup_teardown(what_was_flushed_is_whole_records, tmpdir_make,
			tmpdir_drop),
		cmocka_unit_test_setup_teardown(a_second_start_has_a_file_of_its_own, tmpdir_make,
			tmpdir_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
