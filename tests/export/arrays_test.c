/* Files of arrays: bytes of other tools, what is written is read, what is damaged is refused. */
#include "export/array_proof.h"

#include "tests/test.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "export/ids.h"
#include "npy_vectors.h"

static const struct array_format *const format[] = { &array_npy, &array_npz, &array_safetensors,
	&array_text, &array_fvecs };

static const float six[] = { 1, -2, 0.5f, 4, 5, 6 };

static struct array
matrix(const char *name, const float *data, uint64_t rows, size_t columns)
{
	struct array a = { .rank = 2, .rows = rows, .columns = columns, .width = columns,
		.data = data };

	(void)snprintf(a.name, sizeof a.name, "%s", name);
	return a;
}

static void
add(struct arrays *set, const char *name, const float *data, uint64_t rows, size_t columns,
	enum array_type type)
{
	const struct array a = matrix(name, data, rows, columns);

	assert_int_equal(arrays_add(set, &a, type), RS_OK);
}

static char *
path_in(void **state)
{
	static char path[300];

	(void)snprintf(path, sizeof path, "%s/f", (const char *)*state);
	return path;
}

/* limit: as of array_npz_write(); 0: as the form writes. */
static enum rs_status
write_set(const struct array_format *f, const struct arrays *set, const char *path,
	const uint64_t *limit)
{
	static const struct array_metadata metadata[] = { { "who", "a \"test\"" } };
	struct file_writer file;
	const struct array_output out = { .item = set->item, .n = set->n, .metadata = metadata,
		.n_metadata = 1, .file = &file };

	assert_int_equal(file_writer_open(&file, path), RS_OK);
	enum rs_status status = limit != NULL ? array_npz_write(&out, *limit) : f->write(&out);
	if (status == RS_OK)
		status = file_writer_commit(&file);
	file_writer_close(&file);
	return status;
}

static enum rs_status
prove_set(const struct array_format *f, const struct arrays *set, const char *path)
{
	struct array_file file;
	struct array_proof p = { .file = &file, .n_files = 1 };
	enum rs_status status = array_file_open(f, path, path, set->item[0].name, &file);

	if (status == RS_OK) {
		status = array_proof_run(&p, set);
		array_file_close(&file);
	}
	return status;
}

static void
check(const struct array_format *f, const struct arrays *set, const char *path,
	const uint64_t *limit)
{
	assert_int_equal(write_set(f, set, path, limit), RS_OK);
	if (prove_set(f, set, path) != RS_OK)
		fail_msg("%s: %s", f->name, rs_failure()->text);
}

static void
same_bytes(void **state, const struct array *like, enum array_type type,
	const unsigned char *wanted, size_t n)
{
	struct arrays set = { .n = 0 };
	struct array a = *like;
	size_t got;
	char *text;

	a.type = type;
	set.item = &a;
	set.n = 1;
	assert_int_equal(write_set(&array_npy, &set, path_in(state), NULL), RS_OK);
	assert_int_equal(file_read(path_in(state), 4096, &text, &got), RS_OK);
	assert_int_equal(got, n);
	assert_memory_equal(text, wanted, n);
	free(text);
}

static void
npy_has_the_bytes_of_numpy_save(void **state)
{
	static const float half[] = { 1, -2, 0.5f, 65504 }, bytes[] = { 1, -127, 127, 0 };
	struct array a = matrix("a", six, 2, 3);
	struct array v = matrix("v", (const float[]){ 1, 2, 3 }, 3, 1);

	v.rank = 1;
	same_bytes(state, &a, ARRAY_f32, npy_matrix, sizeof npy_matrix);
	same_bytes(state, &v, ARRAY_f32, npy_vector, sizeof npy_vector);
	a = matrix("a", half, 2, 2);
	same_bytes(state, &a, ARRAY_f16, npy_half, sizeof npy_half);
	a = matrix("a", bytes, 2, 2);
	same_bytes(state, &a, ARRAY_int8, npy_bytes, sizeof npy_bytes);
	a = matrix("a", six, 0, 4);
	same_bytes(state, &a, ARRAY_f32, npy_empty, sizeof npy_empty);
	a = matrix("a", six, 1000000, 0);
	same_bytes(state, &a, ARRAY_f32, npy_tall, sizeof npy_tall);
}

static void
each_form_is_read_again(void **state)
{
	for (size_t i = 0; i < N_ROWS(format); i++) {
		for (enum array_type type = 0; type < ARRAY_N_TYPES; type++) {
			struct arrays set = { .n = 0 };

			if (type != ARRAY_f32 && (format[i]->only_floats || format[i]->one_each))
				continue;
			add(&set, "a", six, 2, 3, type);
			if (!format[i]->one_each) {
				add(&set, "b", six, 1, 5, type);
				add(&set, "c", six, 6, 1, type);
			}
			check(format[i], &set, path_in(state), NULL);
			arrays_free(&set);
		}
	}
}

static void
L005_a_table_without_rows_is_written_and_read(void **state)
{
	for (size_t i = 0; i < N_ROWS(format); i++) {
		struct arrays set = { .n = 0 };

		add(&set, "a", six, 0, 3, ARRAY_f32);
		check(format[i], &set, path_in(state), NULL);
		if (!format[i]->one_each) {
			add(&set, "b", six, 2, 3, ARRAY_int8);
			add(&set, "c", six, 0, 3, ARRAY_int8);
			check(format[i], &set, path_in(state), NULL);
		}
		arrays_free(&set);
	}
}

static void
odd_names_are_read_as_they_were(void **state)
{
	static const char *const name[] = { "a b", "a\"b\\c", "f\xc3\xbcr 100 %", "-", "..",
		"tab\there", "{}[],:'", "a.npy" };
	struct arrays set = { .n = 0 };

	for (size_t i = 0; i < N_ROWS(name); i++)
		add(&set, name[i], six, 2, 3, i % 2 ? ARRAY_int8 : ARRAY_f32);
	check(&array_npz, &set, path_in(state), NULL);
	check(&array_safetensors, &set, path_in(state), NULL);
	arrays_free(&set);
}

static void
two_arrays_of_one_name_are_refused(void **state)
{
	struct arrays set = { .n = 0 };
	struct array a = matrix("a.scale", six, 2, 3);

	(void)state;
	add(&set, "a", six, 2, 3, ARRAY_int8);
	assert_int_equal(arrays_add(&set, &a, ARRAY_f32), RS_ESPEC);
	assert_non_null(strstr(rs_failure()->text, "a.scale"));
	arrays_free(&set);
}

/* --- zip64 --------------------------------------------------------------------------- */

static void
make_three(struct arrays *set)
{
	*set = (struct arrays){ .n = 0 };
	add(set, "a", six, 2, 3, ARRAY_f32);
	add(set, "b", six, 3, 2, ARRAY_f16);
	add(set, "c", six, 3, 2, ARRAY_int8);
}

static void
zip64_is_read_wherever_it_begins(void **state)
{
	struct arrays set;

	make_three(&set);
	for (uint64_t limit = 0; limit <= 2000; limit += 50) {
		char *text;
		size_t n;

		check(&array_npz, &set, path_in(state), &limit);
		assert_int_equal(file_read(path_in(state), 1 << 20, &text, &n), RS_OK);
		if (limit == 0 || limit == 2000)
			assert_int_equal(memmem(text, n, "PK\6\6", 4) != NULL, limit == 0);
		free(text);
	}
	arrays_free(&set);
}

static void
zip64_is_read_by_numpy_and_zipfile(void **state)
{
	const char *const top = getenv("SRCDIR");
	struct arrays set;
	char command[1200];

	(void)snprintf(command, sizeof command, "%s/build/venv/bin/python -c 'import numpy' "
		"2>&-", top != NULL ? top : ".");
	if (system(command) != 0)
		SKIP_BECAUSE("no numpy in build/venv");
	make_three(&set);
	for (uint64_t limit = 0; limit < 1200; limit += 300) {
		assert_int_equal(write_set(&array_npz, &set, path_in(state), &limit), RS_OK);
		(void)snprintf(command, sizeof command, "%s/build/venv/bin/python -c 'import "
			"numpy, zipfile; p = \"%s\"; f = numpy.load(p); "
			"assert f[\"a\"].tolist() == "
			"[[1, -2, .5], [4, 5, 6]]; assert f[\"c\"].shape == (3, 2); "
			"assert zipfile.ZipFile(p).testzip() is None'", top != NULL ? top : ".",
			path_in(state));
		assert_int_equal(system(command), 0);
	}
	arrays_free(&set);
}

/* --- damage -------------------------------------------------------------------------- */

static void
write_bytes(const char *path, const char *text, size_t n)
{
	assert_int_equal(file_replace(path, text, n), RS_OK);
}

/* How many flipped bits of bytes [begin,end) are not seen. */
static size_t
unseen_flips(const struct array_format *f, const struct arrays *set, const char *path, char *text,
	size_t n)
{
	size_t unseen = 0;

	for (size_t i = 0; i < n; i++) {
		const int bit = 1 << i % 8;

		text[i] = (char)(text[i] ^ bit);
		write_bytes(path, text, n);
		unseen += prove_set(f, set, path) == RS_OK;
		text[i] = (char)(text[i] ^ bit);
	}
	return unseen;
}

static void
a_flipped_bit_is_refused(void **state)
{
	/* Heads of npz and safetensors have bytes that mean nothing: attributes, blanks, what
	 * the metadata say. */
	static const size_t harmless[] = { 0, 14, 8, 0, 0 };

	for (size_t i = 0; i < N_ROWS(format); i++) {
		struct arrays set = { .n = 0 };
		char *text;
		size_t n;

		add(&set, "a", six, 2, 3, ARRAY_f32);
		check(format[i], &set, path_in(state), NULL);
		assert_int_equal(file_read(path_in(state), 1 << 20, &text, &n), RS_OK);
		const size_t unseen = unseen_flips(format[i], &set, path_in(state), text, n);
		if (unseen > harmless[i])
			fail_msg("%s: %zu flips were not seen", format[i]->name, unseen);
		free(text);
		arrays_free(&set);
	}
}

static void
a_number_that_differs_is_named(void **state)
{
	struct arrays set, other;
	float changed[6];

	memcpy(changed, six, sizeof six);
	changed[4] = nextafterf(5, 6);
	for (size_t i = 0; i < N_ROWS(format); i++) {
		set = other = (struct arrays){ .n = 0 };
		add(&set, "a", six, 2, 3, ARRAY_f32);
		add(&other, "a", changed, 2, 3, ARRAY_f32);
		assert_int_equal(write_set(format[i], &set, path_in(state), NULL), RS_OK);
		assert_int_equal(prove_set(format[i], &other, path_in(state)), RS_EUNMET);
		assert_non_null(strstr(rs_failure()->text, "'a' row 1 column 1"));
		arrays_free(&set);
		arrays_free(&other);
	}
}

static void
a_file_that_is_cut_off_is_refused(void **state)
{
	for (size_t i = 0; i < N_ROWS(format); i++) {
		struct arrays set = { .n = 0 };
		char *text;
		size_t n;

		add(&set, "a", six, 2, 3, ARRAY_f32);
		check(format[i], &set, path_in(state), NULL);
		assert_int_equal(file_read(path_in(state), 1 << 20, &text, &n), RS_OK);
		for (size_t k = 0; k < n; k++) {
			write_bytes(path_in(state), text, k);
			assert_int_not_equal(prove_set(format[i], &set, path_in(state)), RS_OK);
		}
		free(text);
		arrays_free(&set);
	}
}

static void
an_array_that_is_not_there_or_too_much_is_refused(void **state)
{
	struct arrays set, less;

	make_three(&set);
	less = set;
	less.n = 1;
	for (size_t i = 1; i < 3; i++) {
		assert_int_equal(write_set(format[i], &set, path_in(state), NULL), RS_OK);
		assert_int_equal(prove_set(format[i], &less, path_in(state)), RS_EUNMET);
		assert_int_equal(write_set(format[i], &less, path_in(state), NULL), RS_OK);
		assert_int_equal(prove_set(format[i], &set, path_in(state)), RS_EUNMET);
		assert_non_null(strstr(rs_failure()->text, "no array 'b'"));
	}
	arrays_free(&set);
}

/* --- numbers ------------------------------------------------------------------------- */

static void
what_a_type_cannot_hold_is_refused_by_name(void **state)
{
	static const struct { float x; enum array_type type; enum rs_status status; } row[] = {
		{ 65519, ARRAY_f16, RS_OK }, { 65520, ARRAY_f16, RS_EDATA },
		{ NAN, ARRAY_f16, RS_EDATA }, { INFINITY, ARRAY_int8, RS_EDATA },
		{ NAN, ARRAY_int8, RS_EDATA }, { 3e38f, ARRAY_int8, RS_OK },
		{ INFINITY, ARRAY_f32, RS_OK },
	};

	for (size_t i = 0; i < N_ROWS(row); i++) {
		const float data[] = { 1, 2, 3, row[i].x };
		struct arrays set = { .n = 0 };

		add(&set, "table", data, 2, 2, row[i].type);
		assert_int_equal(write_set(&array_npz, &set, path_in(state), NULL), row[i].status);
		if (row[i].status == RS_OK)
			assert_int_equal(prove_set(&array_npz, &set, path_in(state)), RS_OK);
		else
			assert_non_null(strstr(rs_failure()->text, "'table' row 1"));
		arrays_free(&set);
	}
}

static void
int8_of_any_row_is_within_half_a_step(void **state)
{
	static const float data[] = { 0, 0, 1e-45f, -1e-45f, 1e-44f, 3e-43f, 1e-38f, -5e-39f, 127,
		63.5f, 1, 1e-3f, 3.4e38f, -3.4e38f, 0.1f, -0.3f };
	struct arrays set = { .n = 0 };

	add(&set, "a", data, N_ROWS(data) / 2, 2, ARRAY_int8);
	check(&array_npz, &set, path_in(state), NULL);
	check(&array_safetensors, &set, path_in(state), NULL);
	arrays_free(&set);
}

static void
names_of_rows_are_read_again(void **state)
{
	static const char text[] = "a b" "\t\n\r\\" "" "\xc3\xbc";
	static const uint64_t end[] = { 3, 7, 7, 9 }, other_end[] = { 3, 6, 7, 9 };
	const struct array_words words = { text, end, 4 }, other = { text, other_end, 4 };
	const struct array_words less = { text, end, 3 };
	struct file_writer file;
	struct arrays set = { .n = 0 };
	struct array a = matrix("v", six, 3, 2);

	assert_int_equal(file_writer_open(&file, path_in(state)), RS_OK);
	assert_int_equal(ids_write(&words, &file), RS_OK);
	assert_int_equal(file_writer_commit(&file), RS_OK);
	file_writer_close(&file);
	assert_int_equal(ids_prove(&words, path_in(state), "f"), RS_OK);
	assert_int_equal(ids_prove(&other, path_in(state), "f"), RS_EUNMET);
	assert_int_equal(ids_prove(&less, path_in(state), "f"), RS_EUNMET);
	a.words = &less;
	a.rows = 2;
	assert_int_equal(arrays_add(&set, &a, ARRAY_f32), RS_OK);
	check(&array_text, &set, path_in(state), NULL);
	set.item[0].words = &other;
	assert_int_equal(prove_set(&array_text, &set, path_in(state)), RS_EUNMET);
	arrays_free(&set);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tmpdir_make, tmpdir_remove)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(npy_has_the_bytes_of_numpy_save),
		TEST(each_form_is_read_again),
		TEST(L005_a_table_without_rows_is_written_and_read),
		TEST(odd_names_are_read_as_they_were),
		TEST(two_arrays_of_one_name_are_refused),
		TEST(zip64_is_read_wherever_it_begins),
		TEST(zip64_is_read_by_numpy_and_zipfile),
		TEST(a_flipped_bit_is_refused),
		TEST(a_number_that_differs_is_named),
		TEST(a_file_that_is_cut_off_is_refused),
		TEST(an_array_that_is_not_there_or_too_much_is_refused),
		TEST(what_a_type_cannot_hold_is_refused_by_name),
		TEST(int8_of_any_row_is_within_half_a_step),
		TEST(names_of_rows_are_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
