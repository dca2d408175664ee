/* Deltas of one table: rows that come, change, go and come back. */
#include <string.h>

#include "base/rng.h"
#include "embed/rows_delta.h"
#include "embed/rows_file.h"
#include "kernel/kernel.h"
#include "tests/test.h"

#define DIM 3u

static void
make(struct table *t, enum table_kind kind, enum row_optimizer_kind optimizer)
{
	const struct lookup_table settings = {
		.name = "C1", .kind = kind, .rows = kind == TABLE_EXACT ? EXACT_ROWS : 200,
		.dim = DIM, .init_stddev = 0.1, .seed = 7,
		.optimizer = { .kind = optimizer, .learning_rate = 0.1,
			.initial_accumulator = 0.1 },
	};

	assert_int_equal(table_open(t, &settings, &kernel_ref, 1), RS_OK);
	assert_int_equal(table_keep_changes(t), RS_OK);
	if (kind != TABLE_EXACT)
		t->block = calloc(1, t->block_bytes);
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

/* A table, and one that follows it from file to file. */
struct pair {
	struct table live, copy;
	uint64_t version;
	char path[64];
};

static void
begin(struct pair *p, enum table_kind kind, enum row_optimizer_kind optimizer)
{
	make(&p->live, kind, optimizer);
	make(&p->copy, kind, optimizer);
	p->version = 1;
	snprintf(p->path, sizeof p->path, "/tmp/rows_delta.%d", (int)getpid());
}

static void
end(struct pair *p)
{
	unlink(p->path);
	done(&p->live);
	done(&p->copy);
}

/* What changed goes into a file of n rows and n_gone ids, and makes the copy the same. */
static void
follow(struct pair *p, uint64_t n, uint64_t n_gone)
{
	assert_true(table_knows_changes(&p->live));
	write_file(p->path, &p->live, p->version + 1, p->version);
	counts_are(p->path, n, n_gone);
	assert_int_equal(apply(&p->copy, p->path, p->version + 1, p->version), RS_OK);
	same_rows(&p->live, &p->copy);
	table_forget_changes(&p->live);
	p->version++;
}

static void
L019_rows_that_went_go_and_those_that_came_back_stay(void **state)
{
	struct pair p;

	(void)state;
	begin(&p, TABLE_EXACT, ROW_ADAM);
	for (uint64_t i = 0; i < 50; i++)
		put(&p.live, i, (float)i);
	follow(&p, 50, 0);
	drop(&p.live, 7);
	drop(&p.live, 8);
	drop(&p.live, 49);
	put(&p.live, 8, 80);
	put(&p.live, 60, 60);
	drop(&p.live, 60);
	put(&p.live, 3, 33);
	follow(&p, 2, 3);              /* 3 and 8; 7, 49 and 60, which nobody knows  */
	follow(&p, 0, 0);
	end(&p);
}

static void
hashed_rows_are_written_once_changed(void **state)
{
	struct pair p;

	(void)state;
	begin(&p, TABLE_HASHED, ROW_ADAM);
	put(&p.live, 0, 1);
	put(&p.live, 64, 2);
	put(&p.live, 199, 3);
	follow(&p, 3, 0);
	put(&p.live, 64, 4);
	follow(&p, 1, 0);
	end(&p);
}

/* Sums that fall to where they start and sums that do not; rows that changed before and behind
 * a decay, in a file with several. */
static void
a_decay_of_all_rows_is_a_factor_and_not_all_rows(void **state)
{
	static const enum row_optimizer_kind kind[] = { ROW_ADAGRAD, ROW_ROWWISE_ADAGRAD };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct pair p;

		begin(&p, i < 2 ? TABLE_EXACT : TABLE_HASHED, kind[i % 2]);
		for (uint64_t k = 0; k < 100; k++)
			put(&p.live, k, 0.0137f * (float)k);
		follow(&p, 100, 0);
		table_decay(&p.live, 0.9);
		follow(&p, 0, 0);
		table_decay(&p.live, 0.7);
		put(&p.live, 1, 5);
		for (unsigned k = 1; k < ROW_DECAYS; k++)
			table_decay(&p.live, 1.0 / 3);
		put(&p.live, 2, 7);
		follow(&p, 2, 0);
		for (unsigned k = 0; k <= ROW_DECAYS; k++)
			table_decay(&p.live, 0.9);
		assert_false(table_knows_changes(&p.live));
		end(&p);
	}
}

static void
step_that_does_not_follow_is_refused_by_name(void **state)
{
	struct pair p;

	(void)state;
	begin(&p, TABLE_EXACT, ROW_ADAM);
	put(&p.live, 1, 1);
	write_file(p.path, &p.live, 4, 3);
	assert_int_equal(apply(&p.copy, p.path, 3, 2), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "v000003 is missing"));
	assert_int_equal(apply(&p.copy, p.path, 5, 4), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "v000004 has in it already"));
	assert_int_equal(exact_count(&p.copy.exact), 0);
	end(&p);
}

static void
more_that_went_than_is_there_are_not_counted(void **state)
{
	struct table t;

	(void)state;
	make(&t, TABLE_EXACT, ROW_ADAM);
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
	const struct lookup_step step = { 9, 4 };
	struct file_writer w;
	struct pair p;

	(void)state;
	begin(&p, TABLE_EXACT, ROW_ADAM);
	for (uint64_t i = 0; i < 20; i++) {
		put(&p.copy, i, (float)i);
		put(&p.live, i, i == 5 ? 50 : (float)i);
	}
	drop(&p.live, 6);
	put(&p.live, 30, 30);
	assert_int_equal(file_writer_open(&w, p.path), RS_OK);
	assert_int_equal(rows_delta_between(&p.copy, &p.live, &step, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
	counts_are(p.path, 2, 1);
	end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L019_rows_that_went_go_and_those_that_came_back_stay),
		cmocka_unit_test(hashed_rows_are_written_once_changed),
		cmocka_unit_test(a_decay_of_all_rows_is_a_factor_and_not_all_rows),
		cmocka_unit_test(step_that_does_not_follow_is_refused_by_name),
		cmocka_unit_test(more_that_went_than_is_there_are_not_counted),
		cmocka_unit_test(L021_between_two_tables_are_rows_that_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
