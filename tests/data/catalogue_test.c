/*
 * The catalogue: items once, in the order of the files, saved and loaded.
 */
#include "tests/test.h"

#include <string.h>

#include "base/hash.h"
#include "data/catalogue.h"
#include "tests/data/loader_bed.h"

#define SPEC_OF(train) "[model]\ntype = fm\n[data]\ntrain = " train "\nformat = csv\nlabel = y\nweight = w\n" \
	"[field user]\nbuckets = 100\n[field item]\nfold_case = yes\nbuckets = 100\n" \
	"[field city]\nbuckets = 100\n[field price]\ntype = numeric\n" \
	"[field tags]\ntype = multi\nbuckets = 100\n"
#define SPEC SPEC_OF("*.csv")
#define TOWERS(train) "[model]\ntype = two_tower\nloss = softmax\n[data]\ntrain = " train "\n" \
	"format = lists\n[field user]\n[field item]\n" \
	"[tower user]\nfields = user\n[tower item]\nfields = item\n"
#define ITEMS "[items]\nkey = item\nfields = item,price,tags\nnegatives = 1\n"

static const char rows[] = "y,w,user,item,city,price,tags\n"
	"1,1,u1,b,c1,2.5,x|y\n"
	"0,1,u1,a,c1,,\n"
	"1,0,u2,gone,c1,1,\n"
	"1,1,u2,B,c2,9,z\n"
	"1,1,u2,\"c,d\",c2,9,z\n";

static void
make(struct bed *bed, const char *spec, struct catalogue **out)
{
	bed_make_of(bed, spec);
	assert_int_equal(catalogue_build(&bed->schema, bed->options.files, NULL, out), RS_OK);
}

static void
make_plain(struct bed *bed, struct catalogue **out)
{
	bed_write_text("a.csv", rows, sizeof rows - 1);
	make(bed, SPEC ITEMS, out);
}

static void
assert_name(const struct catalogue *c, size_t i, const char *name)
{
	size_t n;
	const char *const text = catalogue_name(c, i, &n);

	assert_int_equal(n, strlen(name));
	assert_memory_equal(text, name, n);
}

static uint64_t
key(const char *text)
{
	return hash_fingerprint64(text, strlen(text));
}

static void
every_item_is_there_once_in_the_order_of_the_rows(void **state)
{
	struct catalogue *c;
	struct bed bed;

	(void)state;
	make_plain(&bed, &c);
	assert_int_equal(c->n, 3);
	assert_name(c, 0, "b");
	assert_name(c, 1, "a");
	assert_name(c, 2, "c,d");
	assert_int_equal(c->key[0], key("b"));
	assert_int_equal(c->rows[0], 2);
	assert_int_equal(c->rows[1], 1);
	assert_int_equal(catalogue_find(c, key("a")), 1);
	assert_int_equal(catalogue_find(c, key("c,d")), 2);
	assert_int_equal(catalogue_find(c, key("u1")), CATALOGUE_NONE);
	catalogue_free(c);
	bed_free(&bed);
}

static void
a_row_of_weight_zero_has_no_item(void **state)
{
	struct catalogue *c;
	struct bed bed;

	(void)state;
	make_plain(&bed, &c);
	assert_int_equal(catalogue_find(c, key("gone")), CATALOGUE_NONE);
	catalogue_free(c);
	bed_free(&bed);
}

static void
features_are_those_of_the_first_row_and_others_are_missing(void **state)
{
	const struct batch *items;
	struct catalogue *c;
	struct bed bed;

	(void)state;
	make_plain(&bed, &c);
	items = &c->items;
	assert_int_equal(items->B, 3);
	assert_int_equal(items->item[2], key("c,d"));
	assert_int_equal(items->column[0].ids[0], 100);            /* user */
	assert_int_equal(items->column[1].ids[0], key("b") % 100);
	assert_int_equal(items->column[2].ids[1], 100);            /* city */
	assert_true(items->dense[0] == 2.5f && items->missing[0] == 0 && items->missing[1] == 1);
	assert_int_equal(items->column[3].offset[1], 2);
	assert_int_equal(items->column[3].ids[1], key("y") % 100);
	assert_int_equal(items->column[3].ids[2], 100);            /* no tags */
	catalogue_free(c);
	bed_free(&bed);
}

static void
it_is_the_same_however_the_files_are_cut(void **state)
{
	struct catalogue *whole, *cut;
	struct bed bed;

	(void)state;
	make_plain(&bed, &whole);
	bed_free(&bed);
	make(&bed, SPEC "[data]\nrow_group = 1\n" ITEMS, &cut);
	assert_int_equal(whole->n, cut->n);
	assert_memory_equal(whole->key, cut->key, whole->n * sizeof *whole->key);
	assert_memory_equal(whole->rows, cut->rows, whole->n * sizeof *whole->rows);
	assert_memory_equal(whole->items.dense, cut->items.dense, whole->n * sizeof(float));
	catalogue_free(whole);
	catalogue_free(cut);
	bed_free(&bed);
}

static void
items_of_lists_and_libffm_have_their_names(void **state)
{
	static const char lists[] = "u1 a b\nu2 b a c\n";
	static const char ffm[] = "1 0:u:1 3:i9:1\n0 3:i7:1 0:u:1\n";
	struct catalogue *c;
	struct bed bed;

	(void)state;
	bed_write_text("l", lists, sizeof lists - 1);
	make(&bed, "[model]\ntype = fm\n[data]\ntrain = l\nformat = lists\n[field user]\n"
		"[field item]\n[field history]\ntype = sequence\nshare = item\n"
		"[items]\nkey = item\n",
		&c);
	assert_int_equal(c->n, 3);
	assert_name(c, 2, "c");
	assert_int_equal(c->rows[0], 2);
	assert_int_equal(c->items.column[2].N, 0);
	catalogue_free(c);
	bed_free(&bed);
	bed_write_text("f", ffm, sizeof ffm - 1);
	make(&bed, "[model]\ntype = fm\n[data]\ntrain = f\nformat = libffm\nindex_base = 0\n"
		"[field u]\ncolumn = 0\n[field i]\ncolumn = 3\n[items]\nkey = i\n", &c);
	assert_int_equal(c->n, 2);
	assert_name(c, 1, "i7");
	catalogue_free(c);
	bed_free(&bed);
}

static void
new_items_come_behind_the_old_ones(void **state)
{
	static const char more[] = "y,w,user,item,city,price,tags\n"
		"1,1,u1,new,c1,7,x\n1,1,u1,a,c1,8,\n";
	struct catalogue *c;
	struct bed bed;

	(void)state;
	make_plain(&bed, &c);
	bed_write_text("a.csv", more, sizeof more - 1);
	assert_int_equal(catalogue_build(&bed.schema, bed.options.files, c, &c), RS_OK);
	assert_int_equal(c->n, 4);
	assert_name(c, 1, "a");
	assert_name(c, 3, "new");
	assert_int_equal(c->rows[1], 2);
	assert_int_equal(c->rows[3], 1);
	assert_int_equal(c->items.missing[1], 1);
	assert_true(c->items.dense[3] == 7);
	catalogue_free(c);
	bed_free(&bed);
}

static void
a_thousand_times_more_items_are_found(void **state)
{
	enum { N = 5000 };
	char text[N * 24];
	size_t n = 0;
	struct catalogue *c;
	struct bed bed;

	(void)state;
	for (int i = 0; i < N; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "u%d i%d i%d\n", i % 7, i, i / 2);
	bed_write_text("many", text, n);
	make(&bed, "[model]\ntype = fm\n[data]\ntrain = many\nformat = lists\n[field user]\n"
		"[field item]\n[items]\nkey = item\n", &c);
	assert_int_equal(c->n, N);
	for (size_t i = 0; i < c->n; i++) {
		size_t length;
		const char *const name = catalogue_name(c, i, &length);

		assert_int_equal(catalogue_find(c, hash_fingerprint64(name, length)), i);
	}
	catalogue_free(c);
	bed_free(&bed);
}

/* --- files ------------------------------------------------------------------- */

static void
save(const struct catalogue *c, const struct bed *bed)
{
	struct file_writer w;

	assert_int_equal(file_writer_open(&w, bed_path("items.bin")), RS_OK);
	assert_int_equal(catalogue_save(c, &bed->schema, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
}

static void
a_saved_catalogue_comes_back_the_same(void **state)
{
	struct catalogue *c, *again;
	struct bed bed;
	uint64_t n;

	(void)state;
	make_plain(&bed, &c);
	save(c, &bed);
	assert_int_equal(catalogue_load(&bed.schema, bed_path("items.bin"), &again), RS_OK);
	assert_int_equal(again->n, c->n);
	assert_memory_equal(again->key, c->key, c->n * sizeof *c->key);
	assert_memory_equal(again->rows, c->rows, c->n * sizeof *c->rows);
	assert_memory_equal(again->items.item, c->items.item, c->n * sizeof *c->items.item);
	assert_memory_equal(again->items.dense, c->items.dense, c->n * sizeof(float));
	assert_memory_equal(again->items.missing, c->items.missing, c->n);
	for (size_t f = 0; f < c->items.F; f++) {
		const struct batch_column *const x = &c->items.column[f];
		const struct batch_column *const y = &again->items.column[f];

		assert_int_equal(x->N, y->N);
		assert_memory_equal(x->ids, y->ids, x->N * sizeof *x->ids);
		if (x->offset != NULL)
			assert_memory_equal(x->offset, y->offset, (c->n + 1) * sizeof *x->offset);
	}
	assert_name(again, 2, "c,d");
	assert_int_equal(catalogue_find(again, key("a")), 1);
	assert_int_equal(catalogue_peek(bed_path("items.bin"), &n), RS_OK);
	assert_int_equal(n, 3);
	catalogue_free(again);
	catalogue_free(c);
	bed_free(&bed);
}

static void
a_file_cut_short_or_changed_is_never_taken(void **state)
{
	char *text, *changed;
	struct catalogue *c, *again;
	struct bed bed;
	size_t n;

	(void)state;
	make_plain(&bed, &c);
	save(c, &bed);
	assert_int_equal(file_read(bed_path("items.bin"), 1 << 20, &text, &n), RS_OK);
	for (size_t i = 0; i < n; i += 3) {
		bed_write_text("cut.bin", text, i);
		assert_int_not_equal(catalogue_load(&bed.schema, bed_path("cut.bin"), &again),
			RS_OK);
		assert_null(again);
	}
	changed = malloc(n + 1);
	for (size_t i = 0; i < n; i += 5) {
		memcpy(changed, text, n);
		changed[i] = (char)(changed[i] ^ 0xff);
		bed_write_text("cut.bin", changed, n);
		if (catalogue_load(&bed.schema, bed_path("cut.bin"), &again) == RS_OK)
			catalogue_free(again);         /* a value, which MANIFEST guards */
	}
	memcpy(changed, text, n);
	changed[n] = 0;
	bed_write_text("cut.bin", changed, n + 1);
	assert_int_equal(catalogue_load(&bed.schema, bed_path("cut.bin"), &again), RS_EDATA);
	free(changed);
	free(text);
	catalogue_free(c);
	bed_free(&bed);
}

static void
items_of_other_fields_are_refused(void **state)
{
	struct catalogue *c, *again;
	struct bed bed, other;

	(void)state;
	make_plain(&bed, &c);
	save(c, &bed);
	bed_make_of(&other, SPEC "[items]\nkey = item\nfields = item,price\n");
	assert_int_equal(catalogue_load(&other.schema, bed_path("items.bin"), &again), RS_ESPEC);
	bed_free(&other);
	bed_make_of(&other, SPEC "[items]\nkey = item\nfields = item,city,tags\n");
	assert_int_equal(catalogue_load(&other.schema, bed_path("items.bin"), &again), RS_ESPEC);
	bed_free(&other);
	catalogue_free(c);
	bed_free(&bed);
}

static void
drawn_negatives_and_two_tower_need_it_but_a_stream_gives_none(void **state)
{
	static const struct { const char *spec; int needed; } test[] = {
		{ SPEC, 0 }, { SPEC "[items]\nkey = item\n", 0 }, { SPEC ITEMS, 1 },
		{ TOWERS("x"), 1 }, { TOWERS("-"), 0 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(test); i++) {
		struct spec *spec;

		assert_int_equal(spec_load_text(test[i].spec, "t.ini", &spec), RS_OK);
		assert_int_equal(catalogue_needed(spec_settings(spec)), test[i].needed);
		spec_free(spec);
	}
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(every_item_is_there_once_in_the_order_of_the_rows),
		cmocka_unit_test(a_row_of_weight_zero_has_no_item),
		cmocka_unit_test(features_are_those_of_the_first_row_and_others_are_missing),
		cmocka_unit_test(it_is_the_same_however_the_files_are_cut),
		cmocka_unit_test(items_of_lists_and_libffm_have_their_names),
		cmocka_unit_test(new_items_come_behind_the_old_ones),
		cmocka_unit_test(a_thousand_times_more_items_are_found),
		cmocka_unit_test(a_saved_catalogue_comes_back_the_same),
		cmocka_unit_test(a_file_cut_short_or_changed_is_never_taken),
		cmocka_unit_test(items_of_other_fields_are_refused),
		cmocka_unit_test(drawn_negatives_and_two_tower_need_it_but_a_stream_gives_none),
	};

	return cmocka_run_group_tests(test, bed_setup, bed_teardown);
}
