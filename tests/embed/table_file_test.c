/* Files of tables: round trip, ranges, damage. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "embed/rows_delta.h"
#include "embed/rows_file.h"
#include "embed/table_file.h"
#include "kernel/kernel.h"

static char directory[] = "/tmp/table_file_test.XXXXXX";

static int
make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) == NULL;
}

static int
remove_directory(void **state)
{
	(void)state;
	return file_remove_tree(directory) != RS_OK;
}

static struct table
make_part(uint64_t rows, uint64_t seed, uint64_t begin, uint64_t end, enum row_optimizer_kind kind)
{
	struct lookup_table settings = { .name = "C1", .rows = rows, .dim = 3, .init_stddev = 0.1,
		.seed = seed, .begin = begin, .end = end,
		.optimizer = { .kind = kind, .initial_accumulator = 0.1 } };
	struct table t;

	assert_int_equal(table_open(&t, &settings, &kernel_ref, 1), RS_OK);
	t.block = calloc(1, t.block_bytes);
	assert_non_null(t.block);
	return t;
}

static struct table
make_table(uint64_t rows, enum row_optimizer_kind kind, uint64_t seed)
{
	return make_part(rows, seed, 0, rows, kind);
}

static void
drop_table(struct table *t)
{
	free(t->block);
	table_close(t);
}

static void
path_of(char out[256], const char *name)
{
	snprintf(out, 256, "%s/%s", directory, name);
}

static void
save(const struct table *t, const char *name)
{
	struct file_writer w;
	char path[256];

	path_of(path, name);
	assert_int_equal(file_writer_open(&w, path), RS_OK);
	assert_int_equal(table_file_write(t, t->settings.storage, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
}

static enum rs_status
load(struct table *t, const char *name)
{
	char path[256];
	const char *paths[1] = { path };

	path_of(path, name);
	return table_file_read(t, paths, 1);
}

static void
draw_all(const struct table *t)
{
	for (uint64_t i = 0; i < t->n_rows; i++)
		(void)table_row(t, i);
}

static void
assert_tables_equal(const struct table *a, const struct table *b)
{
	draw_all(a);
	draw_all(b);
	assert_memory_equal(a->block, b->block, a->block_bytes);
	assert_memory_equal(a->touched, b->touched, (size_t)(a->settings.rows + 63) / 64 * 8);
}

static void
a_table_comes_back_to_the_bit(void **state)
{
	static const uint64_t rows[] = { 1, 2, 63, 64, 65, 1000 };

	(void)state;
	for (int kind = ROW_SGD; kind <= ROW_FTRL; kind++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct table a = make_table(rows[i], (enum row_optimizer_kind)kind, 1);
			struct table b = make_table(rows[i], (enum row_optimizer_kind)kind, 2);

			for (uint64_t id = 0; id < rows[i]; id += 3) {
				table_touch(&a, id);
				table_row(&a, id)[a.stride - 1] = (float)id + 0.25f;
			}
			save(&a, "t");
			assert_int_equal(load(&b, "t"), RS_OK);
			assert_tables_equal(&a, &b);
			drop_table(&a);
			drop_table(&b);
		}
}

static void
a_table_without_touched_rows_comes_back(void **state)
{
	struct table a = make_table(10, ROW_ADAGRAD, 1), b = make_table(10, ROW_ADAGRAD, 2);

	(void)state;
	table_touch(&b, 3);
	save(&a, "t");
	assert_int_equal(load(&b, "t"), RS_OK);
	assert_tables_equal(&a, &b);
	assert_false(table_is_touched(&b, 3));
	drop_table(&a);
	drop_table(&b);
}

static void
weights_are_contiguous_at_the_offset_of_the_header(void **state)
{
	struct table a = make_table(5, ROW_ADAGRAD, 1);
	const struct table_file_header *h;
	struct file_map m;
	char path[256];

	(void)state;
	save(&a, "t");
	path_of(path, "t");
	assert_int_equal(file_map_open(&m, path), RS_OK);
	assert_int_equal(table_file_check(&m, path, &h), RS_OK);
	assert_int_equal(h->weights % 64, 0);
	assert_int_equal(h->slots % 64, 0);
	for (size_t id = 0; id < 5; id++)
		assert_memory_equal(m.data + h->weights + id * 12, table_row(&a, id), 12);
	file_map_close(&m);
	drop_table(&a);
}

/* Cuts a saved table into two files that overlap by `overlap` rows (or leave a gap). */
static void
split(const struct table *t, uint64_t end_of_first, uint64_t begin_of_second)
{
	const uint64_t begin[2] = { 0, begin_of_second },
		       end[2] = { end_of_first, t->settings.rows };

	for (size_t k = 0; k < 2; k++) {
		struct table part = *t;
		struct file_writer w;
		char path[256], *text;
		size_t n;

		draw_all(t);

		/* A file of the rows as a table of their own, then its header is mended. */
		part.settings.rows = part.n_rows = end[k] - begin[k];
		part.block = t->block + begin[k] * t->stride;
		part.touched = calloc((size_t)t->settings.rows / 64 + 1, 8);
		save(&part, k == 0 ? "p0" : "p1");
		free(part.touched);
		path_of(path, k == 0 ? "p0" : "p1");
		assert_int_equal(file_read(path, 1 << 20, &text, &n), RS_OK);
		struct table_file_header *h = (struct table_file_header *)(void *)text;
		h->rows = t->settings.rows;
		h->begin = begin[k];
		h->end = end[k];
		assert_int_equal(file_writer_open(&w, path), RS_OK);
		assert_int_equal(file_writer_write(&w, text, n), RS_OK);
		assert_int_equal(file_writer_commit(&w), RS_OK);
		file_writer_close(&w);
		free(text);
	}
}

static enum rs_status
load_parts(struct table *t)
{
	char path[2][256];
	const char *paths[2] = { path[1], path[0] };

	path_of(path[0], "p0");
	path_of(path[1], "p1");
	return table_file_read(t, paths, 2);
}

static void
ranges_in_several_files_make_the_table(void **state)
{
	struct table a = make_table(100, ROW_ADAM, 1), b = make_table(100, ROW_ADAM, 2);

	(void)state;
	split(&a, 37, 37);
	assert_int_equal(load_parts(&b), RS_OK);
	assert_tables_equal(&a, &b);
	split(&a, 37, 40);
	assert_int_equal(load_parts(&b), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "rows 37 to 40 are in no file"));
	split(&a, 40, 37);
	assert_int_equal(load_parts(&b), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "rows 37 to 40 are in two files"));
	drop_table(&a);
	drop_table(&b);
}

static void
another_optimizer_starts_from_its_initial_state(void **state)
{
	struct table a = make_table(4, ROW_ADAM, 1), b = make_table(4, ROW_ADAGRAD, 2);

	(void)state;
	table_row(&b, 2)[b.D] = 9;
	save(&a, "t");
	assert_int_equal(load(&b, "t"), RS_OK);
	assert_memory_equal(table_row(&a, 2), table_row(&b, 2), 12);
	assert_true(table_row(&b, 2)[b.D] == 0.1f);
	drop_table(&a);
	drop_table(&b);
}

static void
L058_a_truncated_or_foreign_file_is_refused(void **state)
{
	struct table a = make_table(40, ROW_ADAGRAD, 1);
	char path[256];

	(void)state;
	save(&a, "t");
	path_of(path, "t");
	assert_int_equal(truncate(path, 700), 0);
	assert_int_equal(load(&a, "t"), RS_EDATA);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(load(&a, "t"), RS_EDATA);
	save(&a, "t");
	snprintf(a.settings.name, sizeof(a.settings.name), "C2");
	assert_int_equal(load(&a, "t"), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "holds table 'C1', expected 'C2'"));
	snprintf(a.settings.name, sizeof(a.settings.name), "C1");
	a.settings.rows = 39;
	assert_int_equal(load(&a, "t"), RS_EDATA);
	a.settings.rows = 40;
	drop_table(&a);
}

static void
parts_of_a_table_write_files_of_their_rows_and_read_theirs(void **state)
{
	struct table a = make_table(100, ROW_ADAM, 1), b = make_table(100, ROW_ADAM, 2);
	struct table low = make_part(100, 1, 0, 37, ROW_ADAM);
	struct table high = make_part(100, 1, 37, 100, ROW_ADAM);
	struct table middle = make_part(100, 2, 30, 50, ROW_ADAM);

	(void)state;
	table_touch(&a, 36);
	table_touch(&a, 40);
	table_touch(&low, 36);
	table_touch(&high, 3);
	save(&low, "p0");
	save(&high, "p1");
	assert_int_equal(load_parts(&b), RS_OK);
	assert_tables_equal(&a, &b);
	assert_int_equal(load_parts(&middle), RS_OK);
	draw_all(&middle);
	assert_memory_equal(middle.block, table_row(&a, 30), middle.block_bytes);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(table_is_touched(&middle, i), i == 6 || i == 10);
	drop_table(&a);
	drop_table(&b);
	drop_table(&low);
	drop_table(&high);
	drop_table(&middle);
}

/* n rows differ between two tables. */
static void
assert_between(const struct table *from, const struct table *to, uint64_t n)
{
	const struct lookup_step step = { .version = 2, .parent = 1 };
	const struct rows_file_header *h;
	struct file_writer w;
	struct file_map m;

	assert_int_equal(file_writer_open_memory(&w), RS_OK);
	assert_int_equal(rows_delta_between(from, to, &step, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	assert_int_equal(file_map_open(&m, w.path), RS_OK);
	assert_int_equal(rows_file_check(&m, w.path, &h), RS_OK);
	assert_int_equal(h->n, n);
	file_map_close(&m);
	file_writer_close(&w);
}

static void
copy_by_id(const struct table *from, struct table *to)
{
	struct file_writer w;

	assert_int_equal(file_writer_open_memory(&w), RS_OK);
	assert_int_equal(rows_file_write(from, ROW_FP32, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	assert_int_equal(rows_file_read(to, (const char *const[]){ w.path }, 1), RS_OK);
	file_writer_close(&w);
}

/* Rows that nobody touched, of a table with another seed, are no less there than others. */
static void
rows_that_do_not_begin_so_are_in_a_file_of_rows_by_id(void **state)
{
	enum { ROWS = 200 };
	struct table a = make_table(ROWS, ROW_ADAM, 1), same = make_table(ROWS, ROW_ADAM, 1);
	struct table other = make_table(ROWS, ROW_ADAM, 2);
	struct table as_begun = make_table(ROWS, ROW_ADAM, 2);
	struct table by_id = make_table(ROWS, ROW_ADAM, 3);

	(void)state;
	table_touch(&a, 5);
	save(&a, "seed");
	assert_int_equal(load(&same, "seed"), RS_OK);
	assert_int_equal(rows_file_count(&same), 1);
	assert_between(&a, &same, 0);
	assert_int_equal(load(&other, "seed"), RS_OK);
	assert_int_equal(rows_file_count(&other), ROWS);
	assert_between(&as_begun, &other, ROWS);
	copy_by_id(&other, &by_id);
	assert_int_equal(rows_file_count(&by_id), ROWS);
	assert_between(&as_begun, &by_id, ROWS);
	assert_tables_equal(&a, &other);
	assert_tables_equal(&a, &by_id);
	drop_table(&a);
	drop_table(&same);
	drop_table(&other);
	drop_table(&as_begun);
	drop_table(&by_id);
}

/* Of a table that does not train, too. */
static void
all_rows_of_a_file_are_kept_where_nothing_trains(void **state)
{
	enum { ROWS = 200 };
	struct table a = make_table(ROWS, ROW_ADAM, 1), as_begun, t;
	struct table *const serving[] = { &as_begun, &t };

	(void)state;
	table_touch(&a, 5);
	save(&a, "serving");
	for (size_t i = 0; i < 2; i++) {
		struct lookup_table settings = a.settings;

		settings.seed = 2;
		assert_int_equal(table_open(serving[i], &settings, &kernel_ref, 0), RS_OK);
		serving[i]->block = calloc(1, serving[i]->block_bytes);
		assert_non_null(serving[i]->block);
	}
	assert_int_equal(load(&t, "serving"), RS_OK);
	assert_int_equal(rows_file_count(&t), ROWS);
	assert_between(&as_begun, &t, ROWS);
	assert_between(&a, &t, 0);
	drop_table(&a);
	drop_table(&as_begun);
	drop_table(&t);
}

/* An entry has 16 bytes more than the 40 of a row. */
static void
a_file_of_rows_by_id_has_half_the_bytes_at_most(void **state)
{
	struct table t = make_table(14, ROW_ADAM, 1);
	const struct rows_file_shape shape = rows_file_shape_of(&t);

	(void)state;
	assert_int_equal(t.stride, 10);
	assert_true(rows_file_suits(&shape, 0, 14));
	assert_true(rows_file_suits(&shape, 5, 14));
	assert_false(rows_file_suits(&shape, 6, 14));
	assert_false(rows_file_suits(&shape, 14, 14));
	drop_table(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_comes_back_to_the_bit),
		cmocka_unit_test(a_table_without_touched_rows_comes_back),
		cmocka_unit_test(weights_are_contiguous_at_the_offset_of_the_header),
		cmocka_unit_test(ranges_in_several_files_make_the_table),
		cmocka_unit_test(another_optimizer_starts_from_its_initial_state),
		cmocka_unit_test(L058_a_truncated_or_foreign_file_is_refused),
		cmocka_unit_test(parts_of_a_table_write_files_of_their_rows_and_read_theirs),
		cmocka_unit_test(rows_that_do_not_begin_so_are_in_a_file_of_rows_by_id),
		cmocka_unit_test(all_rows_of_a_file_are_kept_where_nothing_trains),
		cmocka_unit_test(a_file_of_rows_by_id_has_half_the_bytes_at_most),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
