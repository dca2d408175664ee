/* Hashed tables that are larger than their memory: the same as others, in every way. */
#include <signal.h>
#include <sys/resource.h>

#include "embed/rows_pieces.h"
#include "tests/embed/rows_bed.h"

#define LITTLE  (16u << 10)   /* bytes: some hundred rows                           */

static struct lookup_table
limited(enum row_storage storage, enum row_optimizer_kind optimizer, uint64_t resident)
{
	struct lookup_table t = table_of(TABLE_HASHED, storage, optimizer);

	t.resident = resident;
	t.spill = "/tmp";
	return t;
}

/* Every row, as eval reads it. */
static void
compare(struct lookup *a, struct lookup *b)
{
	for (uint64_t id = 0; id < ROWS; id++) {
		const float *x, *y;
		const struct lookup_pull p = { .ids = &id, .n = 1, .row = &x };
		const struct lookup_pull q = { .ids = &id, .n = 1, .row = &y };

		assert_int_equal(a->ops->pull(a, &p), RS_OK);
		assert_int_equal(b->ops->pull(b, &q), RS_OK);
		assert_memory_equal(x, y, DIM * sizeof(*x));
		assert_int_equal(a->ops->touched(a, 0, id), b->ops->touched(b, 0, id));
	}
}

/* What `from` is once it was saved and loaded where other memory is at hand. */
static struct lookup *
reload(struct lookup *from, const struct lookup_table *table, const char *path)
{
	struct lookup *l = make(table, 1, 1);

	train(l, 90, 91, 1);           /* what was there goes                           */
	free(save(from, path, 0).bytes);
	assert_int_equal(l->ops->load(l, 0, &path, 1), RS_OK);
	compare(from, l);
	return l;
}

static void
it_is_the_same_table(void **state)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/table", (const char *)*state);
	for (size_t k = 0; k < 2 * N_ROWS(kinds); k++) {
		const enum row_storage storage = k % 2 ? ROW_FP32 : ROW_BF16;
		const struct lookup_table large = limited(storage, kinds[k / 2], 0);
		const struct lookup_table small = limited(storage, kinds[k / 2], LITTLE);
		const size_t workers = k % 3 + 1;
		struct lookup *a = make(&large, 1, 1), *b = make(&small, workers, 1);

		train(a, 1, STEPS, 1);
		train(b, 1, STEPS, workers);
		compare(a, b);
		struct lookup *c = reload(b, &large, path), *d = reload(a, &small, path);
		assert_equal_and_free(save(a, path, 0), save(c, path, 0));
		assert_equal_and_free(save(b, path, 0), save(d, path, 0));
		train(a, STEPS + 1, STEPS + 3, 1);
		train(b, STEPS + 1, STEPS + 3, workers);
		train(c, STEPS + 1, STEPS + 3, 1);
		train(d, STEPS + 1, STEPS + 3, 1);
		assert_equal_and_free(save(a, path, 1), save(b, path, 1));
		assert_equal_and_free(save(c, path, 1), save(d, path, 1));
		a->ops->reset_state(a, 0);
		b->ops->reset_state(b, 0);
		train(a, STEPS + 4, STEPS + 5, 1);
		train(b, STEPS + 4, STEPS + 5, workers);
		compare(a, b);
		a->ops->close(a);
		b->ops->close(b);
		c->ops->close(c);
		d->ops->close(d);
	}
}

/* Bytes [from,to) of the file, copied from what was made for them. */
static void
read_piece(struct rows_pieces *p, uint64_t from, uint64_t to, char *out)
{
	struct file_writer w;
	struct file_map m;
	uint64_t begins;

	assert_int_equal(file_writer_open_memory(&w), RS_OK);
	assert_int_equal(rows_pieces_write(p, from, to, &w, &begins), RS_OK);
	assert_true(begins <= from && begins + w.size >= to);
	assert_true(w.size <= sizeof(p->header) + to - from + 2 * p->header.entry_bytes);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	assert_int_equal(file_map_open(&m, w.path), RS_OK);
	memcpy(out, m.data + (from - begins), to - from);
	file_map_close(&m);
	file_writer_close(&w);
}

/* The rows that there were when it was opened, read from end to end, by pieces of all sizes. */
static void
a_file_made_in_pieces_is_the_table(void **state)
{
	char path[256];
	const char *const list = path;

	snprintf(path, sizeof(path), "%s/table", (const char *)*state);
	for (size_t k = 0; k < 4; k++) {
		const struct lookup_table t = limited(k % 2 ? ROW_FP32 : ROW_BF16, ROW_ADAGRAD,
			k / 2 ? LITTLE : 0);
		struct lookup *const a = make(&t, 1, 1), *const b = make(&t, 1, 1);
		struct rows_pieces p;
		char *whole, *pieces;

		train(a, 1, STEPS, 1);
		assert_int_equal(lookup_local_open_pieces(a, 0, &p), RS_OK);
		assert_true(p.header.n > 20 && p.header.n == lookup_local_count_rows(a, 0));
		whole = malloc(p.header.file_bytes);
		pieces = malloc(p.header.file_bytes);
		read_piece(&p, 0, p.header.file_bytes, whole);
		for (uint64_t n = 1; n < p.header.file_bytes; n = n * 3 + 1) {
			if (n > 1 && n < 300)
				continue;
			const uint64_t from = n == 1 ? p.header.file_bytes - 100 : 0;

			memcpy(pieces, whole, from);
			for (uint64_t at = from; at < p.header.file_bytes; at += n)
				read_piece(&p, at, at + n < p.header.file_bytes ? at + n
					: p.header.file_bytes, pieces + at);
			assert_memory_equal(pieces, whole, p.header.file_bytes);
		}
		assert_int_equal(file_replace(path, pieces, p.header.file_bytes), RS_OK);
		assert_int_equal(b->ops->load(b, 0, &list, 1), RS_OK);
		compare(a, b);
		free(whole);
		free(pieces);
		rows_pieces_close(&p);
		a->ops->close(a);
		b->ops->close(b);
	}
}

static void
delta_is_applied_to_rows_in_memory_and_not(void **state)
{
	const struct lookup_table large = limited(ROW_FP32, ROW_ADAGRAD, 0);
	const struct lookup_table small = limited(ROW_FP32, ROW_ADAGRAD, LITTLE);
	const struct lookup_step from = { 2, 1 };
	char path[256];

	snprintf(path, sizeof(path), "%s/table", (const char *)*state);
	for (int k = 0; k < 2; k++) {
		struct lookup *a = make(&small, 1, 1);

		train(a, 1, 5, 1);
		struct lookup *b = reload(a, k ? &small : &large, path);
		train(a, 6, 8, 1);
		free(save(a, path, 1).bytes);
		assert_int_equal(b->ops->load_delta(b, 0, &from, path), RS_OK);
		compare(a, b);
		a->ops->close(a);
		b->ops->close(b);
	}
}

static struct text
between(const struct lookup *from, const struct lookup *to, const char *path)
{
	const struct lookup_step step = { 2, 1 };
	struct file_writer w;

	assert_int_equal(file_writer_open(&w, path), RS_OK);
	assert_int_equal(lookup_local_between(from, to, 0, &step, &w), RS_OK);
	return finish(&w, path);
}

/* Some rows are trained, of one or of both; with another seed all others differ, too. */
static void
L021_what_lies_between_two_tables_is_the_same(void **state)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/table", (const char *)*state);
	for (uint64_t seed = 5; seed <= 6; seed++) {
		struct lookup *from[2], *to[2];

		for (int k = 0; k < 2; k++) {
			struct lookup_table t = limited(ROW_FP32, ROW_ADAGRAD, k ? LITTLE : 0);

			from[k] = make(&t, 1, 1);
			train(from[k], 1, 1, 1);
			t.seed = seed;
			to[k] = make(&t, 1, 1);
			train(to[k], 1, 2, 1);
		}
		struct text in_memory = between(from[0], to[0], path);
		assert_equal_and_free(in_memory, between(from[1], to[1], path));
		for (int k = 0; k < 2; k++) {
			from[k]->ops->close(from[k]);
			to[k]->ops->close(to[k]);
		}
	}
}

/* A model whose seed was another: rows that training did not touch are not as this one's. */
static void
rows_of_another_seed_stay(void **state)
{
	struct lookup_table other = limited(ROW_FP32, ROW_ADAGRAD, 0);
	const struct lookup_table small = limited(ROW_FP32, ROW_ADAGRAD, LITTLE);
	char path[256];

	other.seed = 6;
	snprintf(path, sizeof(path), "%s/table", (const char *)*state);
	struct lookup *a = make(&other, 1, 1);
	train(a, 1, 5, 1);
	struct lookup *b = reload(a, &small, path);
	other.seed = 7;
	struct lookup *c = reload(b, &other, path);
	assert_equal_and_free(save(a, path, 0), save(c, path, 0));
	other.resident = LITTLE;
	struct lookup *d = reload(b, &other, path);
	train(a, 6, 8, 1);
	train(d, 6, 8, 1);
	compare(a, d);
	a->ops->close(a);
	b->ops->close(b);
	c->ops->close(c);
	d->ops->close(d);
}

/* Without slots of the optimizer, as eval and predict have it. */
static void
weights_alone_are_read(void **state)
{
	const struct lookup_table small = limited(ROW_FP32, ROW_ADAM, LITTLE);
	char path[256];
	const char *const paths[] = { path };

	snprintf(path, sizeof(path), "%s/table", (const char *)*state);
	struct lookup *a = make(&small, 1, 1), *b = make(&small, 1, 0);
	train(a, 1, 5, 1);
	free(save(a, path, 0).bytes);
	assert_int_equal(b->ops->load(b, 0, paths, 1), RS_OK);
	compare(a, b);
	a->ops->close(a);
	b->ops->close(b);
}

static void
rows_that_were_never_touched_take_no_room(void **state)
{
	struct lookup_table t = limited(ROW_FP32, ROW_ADAGRAD, 64 << 20);
	char path[256];

	t.rows = (uint64_t)1 << 30;    /* of 40 bytes                                   */
	t.resident = 64 << 20;
	snprintf(path, sizeof(path), "%s/table", (const char *)*state);
	struct lookup *l = make(&t, 1, 0);
	free(save(l, path, 0).bytes);
	l->ops->close(l);
	l = make(&t, 1, 0);
	const char *const paths[] = { path };
	assert_int_equal(l->ops->load(l, 0, paths, 1), RS_OK);
	l->ops->close(l);
}

static void
full_disk_ends_training_with_an_error(void **state)
{
	const struct lookup_table small = limited(ROW_FP32, ROW_ADAGRAD, LITTLE);
	struct lookup *l = make(&small, 1, 1);
	enum rs_status status = RS_OK;
	struct rlimit before;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 8000, before.rlim_max }), 0);
	for (uint64_t i = 1; i < STEPS && status == RS_OK; i++)
		status = step(l, i, 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(status, RS_EIO);
	assert_non_null(strstr(rs_failure()->text, "table 'C1': cannot write"));
	l->ops->close(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_the_same_table, tmpdir_make, tmpdir_remove),
		cmocka_unit_test_setup_teardown(a_file_made_in_pieces_is_the_table, tmpdir_make,
			tmpdir_remove),
		cmocka_unit_test_setup_teardown(delta_is_applied_to_rows_in_memory_and_not,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test_setup_teardown(L021_what_lies_between_two_tables_is_the_same,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test_setup_teardown(rows_of_another_seed_stay, tmpdir_make,
			tmpdir_remove),
		cmocka_unit_test_setup_teardown(weights_alone_are_read, tmpdir_make,
			tmpdir_remove),
		cmocka_unit_test_setup_teardown(rows_that_were_never_touched_take_no_room,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test(full_disk_ends_training_with_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
