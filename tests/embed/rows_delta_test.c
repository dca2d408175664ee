/* Deltas of one table: rows that come, change, go and come back. */
#include <string.h>

#include "base/rng.h"
#include "embed/rows_delta.h"
#include "embed/rows_file.h"
#include "kernel/kernel.h"
#include "tests/test.h"

#define DIM 3u

static void
make(struct table *t, enum table_kind kind)
{
	const struct lookup_table settings = {
		.name = "C1", .kind = kind, .rows = kind == TABLE_EXACT ? EXACT_ROWS : 200,
		.dim = DIM, .init_stddev = 0.1, .seed = 7,
		.optimizer = { .kind = ROW_ADAM, .learning_rate = 0.1 },
	};

	assert_int_equal(table_open(t, &settings, &kernel_ref, 1), RS_OK);
	assert_int_equal(table_keep_changes(t), RS_OK);
	if (kind != TABLE_EXACT) {
		t->block = calloc(1, t->block_bytes);
		table_init_rows(t, 0, t->n_rows);
	}
	table_forget_changes(t);
}

static void
done(struct table *t)
{
	free(t->block);
	table_close(t);
}

static uint64_t
id_of(const struct table *t, uint64_t i)
{
	return table_is_exact(t) ? i * (UINT64_MAX / 200) : i;
}

/* All numbers of the row become ones of `x`. */
static void
put(struct table *t, uint64_t i, float x)
{
	const struct tenancy_step step = { .step = 1, .now = 1 };
	float *row;

	assert_int_equal(table_reach(t, &step, id_of(t, i), 1, &row), RS_OK);
	for (size_t k = 0; k < t->stride; k++)
		row[k] = x + (float)k;
}

static int
drops(void *id, const struct exact_entry *entry)
{
	return entry->id == *(const uint64_t *)id;
}

static void
drop(struct table *t, uint64_t i)
{
	uint64_t id = id_of(t, i);

	assert_int_equal(exact_sweep(&t->exact, exact_segment_of(id), drops, &id), 1);
}

static void
write_file(const char *path, const struct table *t, uint64_t version, uint64_t parent)
{
	const struct lookup_step step = { version, parent };
	struct file_writer w;

	assert_int_equal(file_writer_open(&w, path), RS_OK);
	assert_int_equal(rows_delta_write(t, &step, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
}

static void
counts_are(const char *path, uint64_t n, uint64_t n_gone)
{
	const struct rows_file_header *h;
	struct file_map m;

	assert_int_equal(file_map_open(&m, path), RS_OK);
	assert_int_equal(rows_file_check(&m, path, &h), RS_OK);
	assert_int_equal(h->n, n);
	assert_int_equal(h->n_gone, n_gone);
	file_map_close(&m);
}

static enum rs_status
apply(struct table *t, const char *path, uint64_t version, uint64_t parent)
{
	const struct lookup_step step = { version, parent };

	return rows_delta_read(t, &step, path);
}

static void
same_rows(const struct table *a, const struct table *b)
{
	for (uint64_t i = 0; i < 200; i++) {
		const float *x = table_find(a, id_of(a, i)), *y = table_find(b, id_of(b, i));

		assert_int_equal(x == NULL, y == NULL);
		if (x != NULL)
			assert_memory_equal(x, y, a->stride * sizeof *x);
		if (!table_is_exact(a))
			assert_int_equal(table_is_touched(a, i), table_is_touched(b, i));
	}
}

static void
L019_rows_that_went_go_and_those_that_came_back_stay(void **state)
{
	struct table live, copy;
	char path[64];

	(void)state;
	make(&live, TABLE_EXACT);
	make(&copy, TABLE_EXACT);
	snprintf(path, sizeof path, "/tmp/rows_delta.%d", (int)getpid());
	for (uint64_t i = 0; i < 50; i++)
		put(&live, i, (float)i);
	write_file(path, &live, 2, 1);
	counts_are(path, 50, 0);
	assert_int_equal(apply(&copy, path, 2, 1), RS_OK);
	same_rows(&live, &copy);
	table_forget_changes(&live);
	drop(&live, 7);
	drop(&live, 8);
	drop(&live, 49);
	put(&live, 8, 80);
	put(&live, 60, 60);
	drop(&live, 60);
	put(&live, 3, 33);
	write_file(path, &live, 3, 2);
	counts_are(path, 2, 3);                /* 3 and 8; 7, 49 and 60, which nobody knows */
	assert_int_equal(apply(&copy, path, 3, 2), RS_OK);
	same_rows(&live, &copy);
	table_forget_changes(&live);
	write_file(path, &live, 4, 3);
	counts_are(path, 0, 0);
	assert_int_equal(apply(&copy, path, 4, 3), RS_OK);
	same_rows(&live, &copy);
	unlink(path);
	done(&live);
	done(&copy);
}

static void
hashed_rows_are_written_once_changed(void **state)
{
	struct table live, copy;
	char path[64];

	(void)state;
	make(&live, TABLE_HASHED);
	make(&copy, TABLE_HASHED);
	snprintf(path, sizeof path, "/tmp/rows_delta.%d", (int)getpid());
	put(&live, 0, 1);
	put(&live, 64, 2);
	put(&live, 199, 3);
	write_file(path, &live, 2, 1);
	counts_are(path, 3, 0);
	assert_int_equal(apply(&copy, path, 2, 1), RS_OK);
	same_rows(&live, &copy);
	table_forget_changes(&live);
	put(&live, 64, 4);
	write_file(path, &live, 3, 2);
	counts_are(path, 1, 0);
	assert_int_equal(apply(&copy, path, 3, 2), RS_OK);
	same_rows(&live, &copy);
	unlink(path);
	done(&live);
	done(&copy);
}

static void
step_that_does_not_follow_is_refused_by_name(void **state)
{
	struct table live, copy;
	char path[64];

	(void)state;
	make(&live, TABLE_EXACT);
	make(&copy, TABLE_EXACT);
	snprintf(path, sizeof path, "/tmp/rows_delta.%d", (int)getpid());
	put(&live, 1, 1);
	write_file(path, &live, 4, 3);
	assert_int_equal(apply(&copy, path, 3, 2), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "v000003 is missing"));
	assert_int_equal(apply(&copy, path, 5, 4), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "v000004 has in it already"));
	assert_int_equal(exact_count(&copy.exact), 0);
	unlink(path);
	done(&live);
	done(&copy);
}

static void
more_that_went_than_is_there_are_not_counted(void **state)
{
	struct table t;

	(void)state;
	make(&t, TABLE_EXACT);
	assert_true(table_knows_changes(&t));
	for (uint64_t i = 0; i < 4000; i++) {
		put(&t, 1, 1);
		drop(&t, 1);
	}
	assert_false(table_knows_changes(&t));
	table_forget_changes(&t);
	assert_true(table_knows_changes(&t));
	done(&t);
}

static void
L021_between_two_tables_are_rows_that_differ(void **state)
{
	struct table from, to;
	const struct lookup_step step = { 9, 4 };
	struct file_writer w;
	char path[64];

	(void)state;
	make(&from, TABLE_EXACT);
	make(&to, TABLE_EXACT);
	snprintf(path, sizeof path, "/tmp/rows_delta.%d", (int)getpid());
	for (uint64_t i = 0; i < 20; i++) {
		put(&from, i, (float)i);
		put(&to, i, i == 5 ? 50 : (float)i);
	}
	drop(&to, 6);
	put(&to, 30, 30);
	assert_int_equal(file_writer_open(&w, path), RS_OK);
	assert_int_equal(rows_delta_between(&from, &to, &step, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
	counts_are(path, 2, 1);
	unlink(path);
	done(&from);
	done(&to);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L019_rows_that_went_go_and_those_that_came_back_stay),
		cmocka_unit_test(hashed_rows_are_written_once_changed),
		cmocka_unit_test(step_that_does_not_follow_is_refused_by_name),
		cmocka_unit_test(more_that_went_than_is_there_are_not_counted),
		cmocka_unit_test(L021_between_two_tables_are_rows_that_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
