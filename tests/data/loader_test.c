/* The loader: every row once an epoch, in an order that only the seed decides;
 * counts and failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/thread.h"
#include "data/loader_private.h"
#include "tests/data/loader_bed.h"

/* ---- order --------------------------------------------------------------- */

static void
every_row_comes_once_an_epoch(void **state)
{
	static unsigned order[2 * ROWS];
	unsigned char seen[2][ROWS] = { { 0 } };
	struct bed bed;
	size_t n, moved = 0, differ = 0;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "");
	bed_open(&bed);
	assert_int_equal(loader_rows(bed.loader), ROWS);
	n = bed_row_order(bed.loader, order, 2 * ROWS);
	assert_int_equal(n, 2 * ROWS);
	for (size_t i = 0; i < n; i++) {
		assert_true(order[i] < ROWS);
		assert_int_equal(seen[i / ROWS][order[i]]++, 0);
		moved += order[i] != i % ROWS;
		differ += i < ROWS && order[i] != order[i + ROWS];
	}
	assert_true(moved > ROWS);
	assert_true(differ > ROWS / 2);
	bed_free(&bed);
}

static void
last_batch_of_an_epoch_is_marked(void **state)
{
	const size_t sizes[] = { 1, 37, 100, ROWS, 4096 };
	const struct batch *batch;
	struct bed bed;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint64_t rows = 0, epochs = 0;

		bed.options.batch_size = sizes[i];
		bed_open(&bed);
		while (loader_next(bed.loader, &batch, NULL) == RS_OK && batch != NULL) {
			assert_int_equal(batch->first_row, rows);
			assert_int_equal(batch->epoch, epochs);
			rows += batch->B;
			assert_int_equal(batch->last, rows == ROWS);
			assert_true(batch->last || batch->B == sizes[i]);
			if (batch->last) {
				rows = 0;
				epochs++;
			}
		}
		assert_int_equal(epochs, 2);
	}
	bed_free(&bed);
}

static void
order_does_not_depend_on_threads(void **state)
{
	static struct trace one, more;
	struct bed bed;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "");
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		bed.options.shuffle = shuffle;
		bed.options.n_threads = 1;
		bed_run(&bed, &one);
		assert_true(one.n > 2);
		for (size_t threads = 2; threads < 8; threads += 2) {
			bed.options.n_threads = threads;
			bed_run(&bed, &more);
			bed_assert_same(&one, 0, &more);
		}
	}
	bed_free(&bed);
}

static void
seed_decides_the_order(void **state)
{
	static struct trace one, other;
	struct bed bed;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "");
	bed_run(&bed, &one);
	bed.options.seed++;
	bed_run(&bed, &other);
	assert_int_equal(one.n, other.n);
	assert_memory_not_equal(one.digest, other.digest, one.n * sizeof *one.digest);
	bed_free(&bed);
}

static void
without_shuffle_rows_keep_their_order(void **state)
{
	static unsigned order[2 * ROWS];
	struct bed bed;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "");
	bed.options.shuffle = 0;
	bed_open(&bed);
	assert_int_equal(bed_row_order(bed.loader, order, 2 * ROWS), 2 * ROWS);
	for (size_t i = 0; i < 2 * ROWS; i++)
		assert_int_equal(order[i], i % ROWS);
	bed_free(&bed);
}

static void
gzip_gives_the_order_of_plain_text(void **state)
{
	static struct trace plain, packed;
	struct bed bed;

	(void)state;
	bed_write_rows("same", 0, ROWS, 0, 0);
	bed_make(&bed, "same", "");
	bed_run(&bed, &plain);
	bed_free(&bed);
	bed_write_gzip("same", 0, ROWS);
	bed_make(&bed, "same", "");
	bed_run(&bed, &packed);
	bed_assert_same(&plain, 0, &packed);
	bed_free(&bed);
}

/* ---- counts and failures ------------------------------------------------- */

static void
counts_of_each_file_are_exact(void **state)
{
	static struct trace t;
	struct bed bed;

	(void)state;
	bed_write_rows("x1", 0, 500, 10, 4);
	bed_write_rows("x2", 500, 400, 0, 0);
	bed_make(&bed, "x1, x2", "on_bad_row = skip");
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		const struct loader_file *file;

		bed.options.shuffle = shuffle;
		bed_run(&bed, &t);
		file = loader_file(bed.loader, 0);
		assert_int_equal(loader_n_files(bed.loader), 2);
		assert_int_equal(file->tally.read, 500);
		assert_int_equal(file->tally.skipped, 50);
		/* every 20th row is bad and weightless: bad rows have no weight */
		assert_int_equal(file->tally.zero_weight, 125 - 25);
		assert_int_equal(loader_file(bed.loader, 1)->tally.read, 400);
		assert_int_equal(t.tally.read, 2 * 900);
		assert_int_equal(t.tally.skipped, 2 * 50);
	}
	bed_free(&bed);
}

struct warnings { unsigned n; unsigned line[20]; };

static void
warning_keep(void *context, const char *text)
{
	struct warnings *w = context;
	const char *at = strstr(text, "bad:");

	assert_non_null(strstr(text, "row skipped: label 'what'"));
	assert_non_null(at);
	assert_true(w->n < 20);
	w->line[w->n++] = (unsigned)strtoul(at + 4, NULL, 10);
}

static void
the_first_bad_rows_are_shown_whatever_the_threads(void **state)
{
	static struct trace t;
	struct warnings seen;
	const struct log_sink sink = { warning_keep, &seen }, none = { NULL, NULL };
	struct bed bed;

	(void)state;
	bed_write_rows("bad", 0, ROWS, 7, 0);
	bed_make(&bed, "bad", "on_bad_row = skip");
	bed.options.shuffle = 0;
	for (size_t threads = 1; threads < 8; threads += 3) {
		memset(&seen, 0, sizeof seen);
		bed.options.n_threads = threads;
		log_set_sink(&sink);
		bed_run(&bed, &t);
		log_set_sink(&none);
		assert_int_equal(seen.n, PARSER_WARNINGS);
		for (unsigned i = 0; i < seen.n; i++)
			assert_int_equal(seen.line[i], 7 * (i + 1));
	}
	bed_free(&bed);
}

static void
content_hash_is_of_the_text(void **state)
{
	static struct trace t;
	uint64_t hash[3], size[3];
	struct bed bed;

	(void)state;
	for (int i = 0; i < 3; i++) {
		if (i == 2)
			bed_write_gzip("h", 0, ROWS);
		else
			bed_write_rows("h", 0, ROWS, 0, 0);
		bed_make(&bed, "h", "");
		bed.options.shuffle = i != 1;
		bed_run(&bed, &t);
		hash[i] = loader_file(bed.loader, 0)->content_hash;
		size[i] = loader_file(bed.loader, 0)->size;
		bed_free(&bed);
	}
	assert_true(hash[0] == hash[1] && hash[1] == hash[2]);
	assert_true(size[0] == size[1] && size[1] == size[2] && size[0] > 0);
}

static void
too_many_bad_rows_end_it_at_the_same_place(void **state)
{
	static struct trace one, more;
	struct bed bed;

	(void)state;
	bed_write_rows("bad", 0, ROWS, 10, 0);
	bed_make(&bed, "bad", "on_bad_row = skip\nmax_bad_rows = 40");
	bed.options.n_threads = 1;
	bed_run(&bed, &one);
	assert_int_equal(one.status, RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "max_bad_rows is 40"));
	assert_true(one.n > 0);
	bed.options.n_threads = 4;
	bed_run(&bed, &more);
	bed_assert_same(&one, 0, &more);
	bed_free(&bed);
	bed_make(&bed, "bad", "on_bad_row = skip\nmax_bad_rows = 90");
	bed_run(&bed, &one);
	assert_int_equal(one.status, RS_OK);
	bed_free(&bed);
}

static void
bad_row_is_reported_after_the_batches_before_it(void **state)
{
	static struct trace one, more;
	struct bed bed;

	(void)state;
	bed_write_rows("bad", 0, ROWS, 601, 0);
	bed_make(&bed, "bad", "");
	bed.options.shuffle = 0;
	bed.options.n_threads = 1;
	bed_run(&bed, &one);
	assert_int_equal(one.status, RS_EDATA);
	assert_non_null(strstr(rs_failure()->where, "/bad:601:1"));
	assert_true(one.n > 10);
	bed.options.n_threads = 5;
	bed_run(&bed, &more);
	bed_assert_same(&one, 0, &more);
	bed_free(&bed);
}

static enum rs_status
status_of(const char *train, const char *more, int shuffle)
{
	static struct trace t;
	struct bed bed;
	enum rs_status status;

	bed_make(&bed, train, more);
	bed.options.shuffle = shuffle;
	status = loader_open(&bed.options, &bed.loader);
	if (status == RS_OK) {
		bed_take(bed.loader, &t, MAX_BATCHES);
		status = t.status;
	} else {
		bed.loader = NULL;
	}
	bed_free(&bed);
	return status;
}

static void
no_rows_is_an_error(void **state)
{
	(void)state;
	bed_write_text("empty", "", 0);
	bed_write_text("blank", "\n\r\n\n", 4);
	bed_write_text("head", "click\tid\trow\tlist\tweight\n", 25);
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		assert_int_equal(status_of("empty", "", shuffle), RS_EDATA);
		assert_non_null(strstr(rs_failure()->text, "no rows"));
		assert_int_equal(status_of("blank", "", shuffle), RS_EDATA);
		assert_int_equal(status_of("head", "header = yes", shuffle), RS_EDATA);
		assert_int_equal(status_of("absent*", "", shuffle), RS_ENOINPUT);
		assert_int_equal(status_of(".", "", shuffle), RS_ENOINPUT);
	}
}

static void
header_may_be_in_the_first_file_only(void **state)
{
	static unsigned order[16];
	const char *first = "row,click,what\n0,1,a\n1,0,b\n", *second = "2,0,c\n3,1,d\n";
	const char *other = "click,row,what\n1,2,c\n";
	const char *spec = "[model]\ntype = deepfm\n[data]\ntrain = h1, h2\nformat = csv\n"
		"label = click\non_bad_row = skip\n[field row]\ntype = numeric\n"
		"[field what]\nbuckets = 10\n";
	struct bed bed;

	(void)state;
	bed_write_text("h1", first, strlen(first));
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		bed_write_text("h2", second, strlen(second));
		bed_make_of(&bed, spec);
		bed.options.shuffle = shuffle;
		bed.options.epochs = 1;
		bed_open(&bed);
		assert_int_equal(bed_row_order(bed.loader, order, 16), 4);
		assert_int_equal(order[0] + order[1] + order[2] + order[3], 0 + 1 + 2 + 3);
		/* a header of its own counts by itself */
		bed_write_text("h2", other, strlen(other));
		bed_open(&bed);
		assert_int_equal(bed_row_order(bed.loader, order, 16), 3);
		assert_int_equal(order[0] + order[1] + order[2], 0 + 1 + 2);
		bed_free(&bed);
	}
	/* a header that lacks a column is no row */
	bed_write_text("h2", "row,what\n5,x\n", 13);
	bed_make_of(&bed, spec);
	assert_int_equal(loader_open(&bed.options, &bed.loader), RS_EDATA);
	bed.loader = NULL;
	bed_free(&bed);
}

static void
overlong_row_is_one_bad_row(void **state)
{
	static unsigned order[64];
	char *text = malloc(100000);
	struct bed bed;
	size_t n;

	(void)state;
	n = bed_make_rows(text, 0, 10, 0, 0);
	memset(text + n, 'x', 50000);
	text[n + 50000] = '\n';
	n += 50001;
	n += bed_make_rows(text + n, 10, 10, 0, 0);
	bed_write_text("long", text, n);
	free(text);
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		bed_make(&bed, "long", "on_bad_row = skip\nmax_line = 1024");
		bed.options.shuffle = shuffle;
		bed.options.epochs = 1;
		bed_open(&bed);
		assert_int_equal(bed_row_order(bed.loader, order, 64), 20);
		assert_int_equal(loader_file(bed.loader, 0)->tally.skipped, 1);
		bed_free(&bed);
		assert_int_equal(status_of("long", "max_line = 1024", shuffle), RS_EDATA);
		assert_non_null(strstr(rs_failure()->where, "/long:11"));
	}
}

static void
pipe_gives_one_epoch(void **state)
{
	static struct trace t;
	struct bed bed;

	(void)state;
	bed_make(&bed, "-", "");
	assert_int_equal(loader_open(&bed.options, &bed.loader), RS_ESPEC);
	bed.loader = NULL;
	bed_free(&bed);
	bed_make(&bed, "run exit 4", "");
	bed.options.epochs = 1;
	bed_run(&bed, &t);
	assert_int_equal(t.status, RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "exit status 4"));
	bed_free(&bed);
}

static void
closing_at_any_time_is_clean(void **state)
{
	static struct trace t;
	struct bed bed;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "");
	for (size_t most = 0; most < 40; most += 3) {
		bed.options.n_threads = 1 + most % 4;
		bed.options.shuffle = (int)(most % 2);
		bed_open(&bed);
		bed_take(bed.loader, &t, most);
	}
	bed_free(&bed);
	bed_make(&bed, "run sleep 100", "");
	bed.options.epochs = 1;
	bed_open(&bed);
	bed_free(&bed);
}

/* The window thread, which slept since the ring was full, deals on once half of it is taken; it
 * does not wait for the consumer to wait. */
static void
half_an_empty_ring_wakes_who_fills_it(void **state)
{
	const double until = clock_seconds() + 60;
	const struct batch *batch;
	struct bed bed;

	(void)state;
	bed_write_three();
	bed_make(&bed, "*.tsv", "");
	bed.options.batch_size = 4;
	bed.options.n_threads = 1;
	bed_open(&bed);
	struct loader *const l = bed.loader;
	assert_int_equal(loader_next(l, &batch, NULL), RS_OK);
	assert_true(l->n_outputs > 8 && ROWS / 4 > 2 * l->n_outputs);
	while (atomic_load(&l->published) < l->n_outputs)
		assert_true(clock_seconds() < until && usleep(1000) == 0);
	usleep(20000);                 /* it sleeps by now, most often                */
	while (atomic_load(&l->published) - l->taken > l->n_outputs / 2)
		assert_int_equal(loader_next(l, &batch, NULL), RS_OK);
	assert_int_equal(loader_next(l, &batch, NULL), RS_OK);
	while (atomic_load(&l->published) == l->n_outputs)
		if (clock_seconds() > until || usleep(1000) != 0)
			fail_msg("nobody filled a ring of which half was empty");
	bed_free(&bed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_comes_once_an_epoch),
		cmocka_unit_test(last_batch_of_an_epoch_is_marked),
		cmocka_unit_test(order_does_not_depend_on_threads),
		cmocka_unit_test(seed_decides_the_order),
		cmocka_unit_test(without_shuffle_rows_keep_their_order),
		cmocka_unit_test(gzip_gives_the_order_of_plain_text),
		cmocka_unit_test(counts_of_each_file_are_exact),
		cmocka_unit_test(the_first_bad_rows_are_shown_whatever_the_threads),
		cmocka_unit_test(content_hash_is_of_the_text),
		cmocka_unit_test(too_many_bad_rows_end_it_at_the_same_place),
		cmocka_unit_test(bad_row_is_reported_after_the_batches_before_it),
		cmocka_unit_test(no_rows_is_an_error),
		cmocka_unit_test(header_may_be_in_the_first_file_only),
		cmocka_unit_test(overlong_row_is_one_bad_row),
		cmocka_unit_test(pipe_gives_one_epoch),
		cmocka_unit_test(closing_at_any_time_is_clean),
		cmocka_unit_test(half_an_empty_ring_wakes_who_fills_it),
	};

	return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
