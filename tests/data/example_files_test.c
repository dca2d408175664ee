/*
 * Files of tf.Example through the loader: the rows of the same table as text.
 */
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/data/example_bed.h"
#include "tests/data/loader_bed.h"

#define DATA(format, files, more) "[model]\ntype = deepfm\n[data]\nformat = " format \
	"\ntrain = " files "\nlabel = 1\nweight = 5\nrow_group = 1000\nshuffle_window = 5000\n" \
	more "[field id]\ncolumn = 2\nbuckets = 1000\n" \
	"[field row]\ncolumn = 3\ntype = numeric\ntransform = log1p\n" \
	"[field list]\ncolumn = 4\ntype = multi\nbuckets = 100\n"

struct bytes {
	char *text;                /* [n]                                            */
	size_t n;
};

/* The rows of bed_make_rows() as records; features are named like its columns. */
static struct bytes
make_records(uint64_t first, uint64_t n, unsigned bad_every, size_t at[])
{
	static struct example_bytes frame, row;
	struct bytes file = { malloc((size_t)n * 512), 0 };
	char *const text = malloc(((size_t)n + 4) * ROW_MAX), *line = text;

	text[bed_make_rows(text, first, n, bad_every, 0)] = '\0';
	for (uint64_t i = 0; i < n; i++) {
		char *const end = strchr(line, '\n');
		const char *name = "1";

		*end = '\0';
		for (char *cell = line; cell != NULL; name = name[0] == '1' ? "2" :
		     name[0] == '2' ? "3" : name[0] == '3' ? "4" : "5") {
			char *const tab = strchr(cell, '\t');

			if (tab != NULL)
				*tab = '\0';
			if (name[0] == '3')
				example_integer(&row, name, strtol(cell, NULL, 10));
			else if (name[0] == '5')
				example_float(&row, name, strtof(cell, NULL));
			else
				example_texts(&row, name, cell, NULL);
			cell = tab != NULL ? tab + 1 : NULL;
		}
		frame.n = 0;
		example_frame(&frame, &row);
		if (at != NULL)
			at[i] = file.n;
		memcpy(file.text + file.n, frame.bytes, frame.n);
		file.n += frame.n;
		line = end + 1;
	}
	free(text);
	return file;
}

static void
write_records(const char *name, uint64_t first, uint64_t n)
{
	struct bytes file = make_records(first, n, 0, NULL);

	bed_write_text(name, file.text, file.n);
	free(file.text);
}

/* Two members of gzip, cut inside a record. */
static void
write_gzip(const char *name, uint64_t first, uint64_t n)
{
	struct bytes file = make_records(first, n, 0, NULL);
	const size_t half = file.n / 2 + 3;

	for (int i = 0; i < 2; i++) {
		gzFile out = gzopen(bed_path(name), i == 0 ? "wb" : "ab");

		assert_non_null(out);
		assert_true(gzwrite(out, file.text + (i == 0 ? 0 : half),
			(unsigned)(i == 0 ? half : file.n - half)) > 0);
		assert_int_equal(gzclose(out), Z_OK);
	}
	free(file.text);
}

static void
write_three(void)
{
	write_records("a.rec", 0, 300);
	write_gzip("b.rec", 300, 300);
	write_records("c.rec", 600, 300);
}

static void
records_give_the_batches_of_the_same_rows_as_text(void **state)
{
	static struct trace text, records;
	struct bed bed;

	(void)state;
	bed_write_rows("rows.tsv", 0, ROWS, 0, 0);
	write_three();
	bed_make_of(&bed, DATA("tsv", "rows.tsv", ""));
	bed.options.shuffle = 0;
	bed_run(&bed, &text);
	bed_free(&bed);
	bed_make_of(&bed, DATA("tfrecord", "*.rec", ""));
	bed.options.shuffle = 0;
	bed_run(&bed, &records);
	assert_int_equal(records.tally.read, 2 * ROWS);
	bed_assert_same(&text, 0, &records);
	bed_free(&bed);
}

static void
shuffled_records_come_alike_with_any_threads_and_go_on_where_they_stopped(void **state)
{
	static struct trace whole, other;
	struct bed bed;

	(void)state;
	write_three();
	bed_make_of(&bed, DATA("tfrecord", "*.rec", ""));
	bed.options.n_threads = 1;
	bed_run(&bed, &whole);
	assert_int_equal(whole.tally.read, 2 * ROWS);
	assert_int_equal(loader_rows(bed.loader), ROWS);
	bed.options.n_threads = 3;
	bed_run(&bed, &other);
	bed_assert_same(&whole, 0, &other);
	for (size_t k = 0; k + 1 < whole.n; k += 7) {
		bed_open(&bed);
		assert_int_equal(loader_resume(bed.loader, &whole.position[k]), RS_OK);
		bed_take(bed.loader, &other, MAX_BATCHES);
		bed_assert_same(&whole, k + 1, &other);
	}
	bed_free(&bed);
}

/* ---- damage ---------------------------------------------------------------- */

/* A byte of record 150 of b.rec, 1-based; returns where the record begins. */
static size_t
write_damaged(int in_length)
{
	static size_t at[300];
	struct bytes file = make_records(300, 300, 0, at);

	write_records("a.rec", 0, 300);
	file.text[at[149] + (in_length ? 1 : 20)] ^= 4;
	bed_write_text("b.rec", file.text, file.n);
	write_records("c.rec", 600, 300);
	free(file.text);
	return at[149];
}

static void
says_record(size_t at, const char *what)
{
	char wanted[200];

	snprintf(wanted, sizeof wanted, "b.rec' record 150 at byte %zu: the CRC of the %s is ",
		at, what);
	if (strstr(rs_failure()->text, wanted) == NULL)
		fail_msg("'%s', wanted '%s'", rs_failure()->text, wanted);
}

static void
B087_a_damaged_record_is_named_with_its_file(void **state)
{
	static struct trace t;
	struct bed bed;
	size_t at;

	(void)state;
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		at = write_damaged(0);
		bed_make_of(&bed, DATA("tfrecord", "*.rec", ""));
		bed.options.shuffle = shuffle;
		bed_open(&bed);
		bed_take(bed.loader, &t, MAX_BATCHES);
		assert_int_equal(t.status, RS_EDATA);
		says_record(at, "data");
		bed_free(&bed);
		at = write_damaged(1);
		bed_make_of(&bed, DATA("tfrecord", "*.rec", "on_bad_row = skip\n"));
		bed.options.shuffle = shuffle;
		t.status = loader_open(&bed.options, &bed.loader);
		if (t.status == RS_OK)
			bed_take(bed.loader, &t, MAX_BATCHES);
		assert_int_equal(t.status, RS_EDATA);
		says_record(at, "length");
		bed_free(&bed);
	}
}

static void
B087_skipped_and_cut_records_are_counted(void **state)
{
	static struct trace t;
	struct bytes file = make_records(600, 300, 0, NULL);
	struct bed bed;

	(void)state;
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		write_damaged(0);
		bed_write_text("c.rec", file.text, file.n - 5);
		bed_make_of(&bed, DATA("tfrecord", "*.rec", "on_bad_row = skip\n"));
		bed.options.shuffle = shuffle;
		bed.options.epochs = 1;
		bed_run(&bed, &t);
		assert_int_equal(t.status, RS_OK);
		assert_true(t.tally.read == ROWS && t.tally.skipped == 2);
		assert_int_equal(loader_file(bed.loader, 1)->tally.skipped, 1);
		assert_int_equal(loader_file(bed.loader, 2)->tally.skipped, 1);
		assert_true(!shuffle || loader_rows(bed.loader) == ROWS);
		bed_free(&bed);
	}
	free(file.text);
}

static void
a_record_that_is_too_long_is_one_bad_row(void **state)
{
	static struct trace t;
	static char data[40000];
	static struct example_bytes long_one;
	struct bytes file = make_records(0, 400, 0, NULL);
	struct bed bed;

	(void)state;
	long_one.n = 0;
	example_record(&long_one, data, sizeof data);
	file.text = realloc(file.text, 2 * file.n + long_one.n);
	memmove(file.text + file.n + long_one.n, file.text, file.n);
	memcpy(file.text + file.n, long_one.bytes, long_one.n);
	bed_write_text("long.rec", file.text, 2 * file.n + long_one.n);
	free(file.text);
	for (int shuffle = 0; shuffle < 2; shuffle++) {
		bed_make_of(&bed, DATA("tfrecord", "long.rec",
			"max_line = 2000\non_bad_row = skip\n"));
		bed.options.shuffle = shuffle;
		bed.options.epochs = 1;
		bed_run(&bed, &t);
		assert_int_equal(t.status, RS_OK);
		assert_true(t.tally.read == 801 && t.tally.skipped == 1);
		bed_free(&bed);
	}
}

/* The length 35615 begins with the bytes that gzip begins with. */
static void
a_first_record_of_35615_bytes_is_no_gzip(void **state)
{
	static struct example_bytes file, row;
	static char filler[35700];
	static struct trace t;
	struct bed bed;
	size_t n = 35500;

	(void)state;
	memset(filler, 'x', sizeof filler);
	do {
		file.n = 0;
		filler[n++] = '\0';
		example_texts(&row, "other", filler, NULL);
		filler[n - 1] = 'x';
		example_integer(&row, "1", 1);
		example_integer(&row, "5", 1);
		example_frame(&file, &row);
	} while (file.n < 35615 + 16);
	assert_int_equal(file.n, 35615 + 16);
	bed_write_text("one.rec", (const char *)file.bytes, file.n);
	bed_make_of(&bed, DATA("tfrecord", "one.rec", ""));
	bed.options.epochs = 1;
	bed_run(&bed, &t);
	assert_true(t.status == RS_OK && t.tally.read == 1);
	bed_free(&bed);
}

static void
text_is_told_from_records(void **state)
{
	struct bed bed;

	(void)state;
	bed_write_rows("rows.tsv", 0, 10, 0, 0);
	bed_make_of(&bed, DATA("tfrecord", "rows.tsv", ""));
	assert_int_equal(loader_open(&bed.options, &bed.loader), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "rows.tsv' record 1 at byte 0: "));
	assert_non_null(strstr(rs_failure()->hint, "is it a TFRecord file"));
	bed_free(&bed);
}

/* ---- Chicago taxi trips ---------------------------------------------------------- */

#define TAXI "[model]\ntype = wide_deep\nloss = mse\n[data]\nlabel = tips\nlabel_type = real\n" \
	"max_bad_rows = 0\nformat = %s\ntrain = %s\n" \
	"[field fare]\ntype = numeric\ntransform = log1p\n" \
	"[field trip_miles]\ntype = numeric\ntransform = standardize\nmean = 3\nstddev = 7\n" \
	"[field trip_seconds]\ntype = numeric\n" \
	"[field trip_start_timestamp]\ntype = numeric\ntransform = log1p\n" \
	"[field dropoff_census_tract]\ntype = numeric\ntransform = log1p\n" \
	"[field pickup_latitude]\ntype = numeric\ntransform = bucketize\n" \
	"boundaries = 41.7,41.85,41.89200,41.9,41.98\n" \
	"[field pickup_longitude]\ntype = numeric\ntransform = log1p\n" \
	"[field dropoff_latitude]\ntype = numeric\n" \
	"[field dropoff_longitude]\ntype = numeric\ntransform = bucketize\n" \
	"boundaries = -87.9,-87.66,-87.63,-87.6\n" \
	"[field pickup_community_area]\nid_type = int\n[field dropoff_community_area]\n" \
	"[field pickup_census_tract]\n[field company]\n[field payment_type]\n" \
	"[field trip_start_month]\n[field trip_start_hour]\n[field trip_start_day]\n" \
	"[field hour_company]\ntype = cross\nfields = trip_start_hour,company\n" \
	"[field area_latitude]\ntype = cross\nfields = pickup_community_area,pickup_latitude\n"

struct keyed {
	uint64_t key;
	uint32_t row;
};

static int
key_order(const void *a, const void *b)
{
	const struct keyed *const x = a, *const y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* All that a row has, as one number. */
static uint64_t
row_key(const struct batch *b, size_t row)
{
	uint64_t key = hash_fingerprint64(&b->label[row], sizeof *b->label);

	key = hash_cat(key, hash_fingerprint64(b->dense + row * b->K, b->K * sizeof *b->dense));
	key = hash_cat(key, hash_fingerprint64(b->missing + row * b->K, b->K));
	for (size_t f = 0; f < b->F; f++)
		key = hash_cat(key, b->column[f].ids[row]);
	return key;
}

/* All rows in one batch, and their keys in order. */
struct taxi {
	struct bed bed;
	const struct batch *batch;
	struct keyed *order;       /* [batch->B]                                     */
	uint32_t *row;             /* [n] those to compare                           */
	size_t n;
};

static void
taxi_read(struct taxi *t, const char *format, const char *name)
{
	char files[1024], text[4096];

	snprintf(files, sizeof files, "%s/tfrecord/%s", getenv("RECSYS_DATA"), name);
	snprintf(text, sizeof text, TAXI, format, files);
	bed_make_of(&t->bed, text);
	t->bed.options.shuffle = 0;
	t->bed.options.epochs = 1;
	t->bed.options.batch_size = 20000;
	bed_open(&t->bed);
	if (loader_next(t->bed.loader, &t->batch, NULL) != RS_OK)
		fail_msg("%s %s", rs_failure()->where, rs_failure()->text);
	assert_int_equal(t->batch->B, 15000);
	t->order = calloc(t->batch->B, sizeof *t->order);
	t->row = calloc(t->batch->B, sizeof *t->row);
	for (size_t i = 0; i < t->batch->B; i++)
		t->order[i] = (struct keyed){ row_key(t->batch, i), (uint32_t)i };
	qsort(t->order, t->batch->B, sizeof *t->order, key_order);
}

/* The files have the rows in other orders, and one row each that the other has not. */
static void
taxi_match(struct taxi *a, struct taxi *b)
{
	size_t i = 0, k = 0;

	while (i < a->batch->B && k < b->batch->B) {
		if (a->order[i].key == b->order[k].key) {
			a->row[a->n++] = a->order[i++].row;
			b->row[b->n++] = b->order[k++].row;
		} else if (a->order[i].key < b->order[k].key) {
			i++;
		} else {
			k++;
		}
	}
	assert_int_equal(a->n, 14999);
}

static void
taxi_free(struct taxi *t)
{
	free(t->order);
	free(t->row);
	bed_free(&t->bed);
}

static void
assert_same_batch(const struct batch *a, const struct batch *b)
{
	assert_int_equal(a->B, b->B);
	assert_memory_equal(a->label, b->label, a->B * sizeof *a->label);
	assert_memory_equal(a->weight, b->weight, a->B * sizeof *a->weight);
	assert_memory_equal(a->dense, b->dense, a->B * a->K * sizeof *a->dense);
	assert_memory_equal(a->missing, b->missing, a->B * a->K);
	for (size_t f = 0; f < a->F; f++) {
		assert_int_equal(a->column[f].N, b->column[f].N);
		assert_memory_equal(a->column[f].ids, b->column[f].ids,
			a->column[f].N * sizeof *a->column[f].ids);
	}
}

static void
taxi_trips_give_the_same_batches_as_records_and_as_csv(void **state)
{
	const char *const data = getenv("RECSYS_DATA");
	struct taxi csv = { .n = 0 }, records = { .n = 0 };
	struct batch a, b;
	char path[1024];

	(void)state;
	snprintf(path, sizeof path, "%s/tfrecord/taxi_data.csv", data != NULL ? data : "");
	if (access(path, R_OK) != 0)
		SKIP_BECAUSE("no taxi_data.csv in RECSYS_DATA");
	taxi_read(&csv, "csv", "taxi_data*.csv");
	taxi_read(&records, "tfrecord", "taxi_data-*.gz");
	taxi_match(&csv, &records);
	assert_int_equal(batch_init(&a, &csv.bed.schema), RS_OK);
	assert_int_equal(batch_init(&b, &records.bed.schema), RS_OK);
	assert_int_equal(batch_gather(&a, csv.batch, csv.row, csv.n), RS_OK);
	assert_int_equal(batch_gather(&b, records.batch, records.row, records.n), RS_OK);
	assert_same_batch(&a, &b);
	batch_free(&a);
	batch_free(&b);
	taxi_free(&csv);
	taxi_free(&records);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_give_the_batches_of_the_same_rows_as_text),
		cmocka_unit_test(
			shuffled_records_come_alike_with_any_threads_and_go_on_where_they_stopped),
		cmocka_unit_test(B087_a_damaged_record_is_named_with_its_file),
		cmocka_unit_test(B087_skipped_and_cut_records_are_counted),
		cmocka_unit_test(a_record_that_is_too_long_is_one_bad_row),
		cmocka_unit_test(a_first_record_of_35615_bytes_is_no_gzip),
		cmocka_unit_test(text_is_told_from_records),
		cmocka_unit_test(taxi_trips_give_the_same_batches_as_records_and_as_csv),
	};

	return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
