/*
 * Rows taken out of order are those that batch_gather() takes, whatever a row has, added from a
 * batch or from the bytes of a cache.
 */
#include "data/cache_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "spec/spec.h"
#include "tests/test.h"

#define HEAD "[model]\ntype = fm\n[data]\ntrain = none\nformat = csv\nlabel = y\n"
#define NUMERIC(name) "[field " name "]\ntype = numeric\n"

/* Numbers of one byte, 4, 8, 15 and 16 bytes and more of "missing", ids of four bytes and of
 * eight, lists with weights and without, everything that a row may have besides, nothing. */
static const char *const spec_text[] = {
	HEAD "[field a]\nbuckets = 100\n",
	HEAD "[field a]\nbuckets = 100\n" NUMERIC("n"),
	HEAD NUMERIC("n1..n2") "[field m]\ntype = multi\nbuckets = 50\n",
	HEAD "group = g\ntime = t\n" NUMERIC("n1..n4")
	"[field a]\nbuckets = 4294967290\n[field b]\nbuckets = 4294967296\n"
	"[field e]\ntable = exact\n[field s]\ntype = sequence\nbuckets = 9\n",
	HEAD "group = g\n" NUMERIC("n1..n8") "[field a]\nbuckets = 100\n[items]\nkey = a\n",
	HEAD NUMERIC("n1..n15") "[field c1..c26]\nbuckets = 100000\n",
	HEAD NUMERIC("n1..n16") "[field m]\ntype = multi\nweight_separator = :\nbuckets = 50\n"
	"[field c1..c3]\nbuckets = 100000\n",
	HEAD NUMERIC("n1..n33") "[field c1..c3]\nbuckets = 100000\n",
};
#define N_SPECS (sizeof spec_text / sizeof *spec_text)

struct bed {
	struct spec *spec;
	struct schema schema;
	struct batch batch;
	uint64_t draws;
};

static uint64_t
draw(struct bed *b)
{
	return rng_u64(3, b->draws++);
}

static void
add_ids(struct bed *b, size_t f)
{
	const struct schema_field *const field = &b->schema.field[b->schema.column_field[f]];
	const uint64_t buckets = b->schema.table[field->table].buckets;
	struct batch_column *const c = &b->batch.column[f];
	const size_t n = field->single ? 1 : draw(b) % 4;

	assert_int_equal(batch_reserve_ids(&b->batch, f, c->N + n), RS_OK);
	for (size_t i = 0; i < n; i++) {
		c->ids[c->N] = draw(b) % 4 == 0 ? buckets : draw(b) % buckets;
		if (c->weight != NULL)
			c->weight[c->N] = (float)(draw(b) % 100);
		c->N++;
	}
	if (c->offset != NULL)
		c->offset[b->batch.B + 1] = (uint32_t)c->N;
}

static void
add_row(struct bed *b)
{
	struct batch *const to = &b->batch;
	const size_t i = to->B, K = to->K;

	assert_int_equal(batch_reserve(to, i + 1), RS_OK);
	to->label[i] = (float)(draw(b) & 1);
	to->weight[i] = (float)(draw(b) % 9);
	for (size_t k = 0; k < K; k++) {
		to->dense[i * K + k] = (float)(draw(b) % 1000);
		to->missing[i * K + k] = draw(b) & 1;
	}
	if (to->group != NULL)
		to->group[i] = draw(b);
	if (to->item != NULL)
		to->item[i] = draw(b);
	if (to->time != NULL)
		to->time[i] = (int64_t)draw(b);
	for (size_t f = 0; f < to->F; f++)
		add_ids(b, f);
	to->B++;
}

static void
open_bed(struct bed *b, const char *text, size_t B)
{
	memset(b, 0, sizeof *b);
	if (spec_load_text(text, "t.ini", &b->spec) != RS_OK)
		fail_msg("%s", spec_n_problems(b->spec) > 0 ? spec_problem(b->spec, 0)->text : "");
	assert_int_equal(schema_build(spec_settings(b->spec), &b->schema), RS_OK);
	assert_int_equal(batch_init(&b->batch, &b->schema), RS_OK);
	while (b->batch.B < B)
		add_row(b);
}

static void
close_bed(struct bed *b)
{
	batch_free(&b->batch);
	schema_free(&b->schema);
	spec_free(b->spec);
}

static void
same(const void *a, const void *b, size_t n)
{
	if (a != NULL)
		assert_memory_equal(a, b, n);
}

static void
assert_same(const struct batch *a, const struct batch *b)
{
	assert_int_equal(a->B, b->B);
	same(a->label, b->label, a->B * sizeof *a->label);
	same(a->weight, b->weight, a->B * sizeof *a->weight);
	same(a->group, b->group, a->B * sizeof *a->group);
	same(a->item, b->item, a->B * sizeof *a->item);
	same(a->time, b->time, a->B * sizeof *a->time);
	same(a->dense, b->dense, a->B * a->K * sizeof *a->dense);
	same(a->missing, b->missing, a->B * a->K);
	for (size_t f = 0; f < a->F; f++) {
		assert_int_equal(a->column[f].N, b->column[f].N);
		same(a->column[f].ids, b->column[f].ids, a->column[f].N * sizeof(uint64_t));
		same(a->column[f].weight, b->column[f].weight, a->column[f].N * sizeof(float));
		same(a->column[f].offset, b->column[f].offset, (a->B + 1) * sizeof(uint32_t));
	}
}

/* The rows of the batch from what a cache keeps of it. */
static void
add_viewed(const struct bed *b, struct batch_rows *to)
{
	struct batch_view view = { .ids = calloc(b->batch.F + 1, sizeof *view.ids) };
	struct buffer bytes;
	struct batch lists;
	int has_weights = 0;

	for (size_t i = 0; i < b->batch.B; i++)
		has_weights |= b->batch.weight[i] != 1;
	buffer_init(&bytes, (size_t)1 << 24);
	assert_int_equal(batch_init(&lists, &b->schema), RS_OK);
	assert_int_equal(buffer_append(&bytes, "odd", 3), RS_OK);   /* nothing is aligned  */
	assert_int_equal(cache_rows_pack(&b->schema, &b->batch, &bytes), RS_OK);
	assert_int_equal(cache_rows_view(
		&b->schema, bytes.data + 3, bytes.n - 3, &lists, &view), RS_OK);
	assert_int_equal(lists.B, b->batch.B);
	assert_int_equal(view.weight != NULL, has_weights);
	for (size_t f = 0; f < lists.F; f++)
		if (lists.column[f].offset != NULL)
			same(lists.column[f].ids, b->batch.column[f].ids,
				b->batch.column[f].N * sizeof(uint64_t));
	assert_int_equal(batch_rows_add_view(to, &view, lists.B), RS_OK);
	batch_clear(&lists);
	assert_int_equal(cache_rows_view(
		&b->schema, bytes.data + 3, bytes.n - 4, &lists, &view), RS_EDATA);
	batch_free(&lists);
	buffer_free(&bytes);
	free(view.ids);
}

/* The batch `times` times behind itself, as rows and as it is, and n of these out of order. */
static void
compare(const struct bed *b, size_t times, size_t n)
{
	struct batch_rows one, all;
	struct batch whole, want, got;
	uint32_t *row = malloc((n + b->batch.B) * sizeof *row);
	struct batch *const each[] = { &whole, &want, &got };

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(batch_init(each[i], &b->schema), RS_OK);
	assert_int_equal(batch_rows_init(&one, &b->schema), RS_OK);
	assert_int_equal(batch_rows_init(&all, &b->schema), RS_OK);
	assert_int_equal(one.stride, batch_rows_stride(&b->schema));
	for (size_t i = 0; i < b->batch.B; i++)
		row[i] = (uint32_t)i;
	for (size_t i = 0; i < times; i++) {
		batch_rows_clear(&one);
		assert_int_equal(batch_rows_add(&one, &b->batch), RS_OK);
		if (i % 2 == 0)
			assert_int_equal(batch_rows_append(&all, &one), RS_OK);
		else
			add_viewed(b, &all);
		assert_int_equal(batch_gather(&whole, &b->batch, row, b->batch.B), RS_OK);
	}
	for (size_t i = 0; i < n; i++)
		row[i] = (uint32_t)(rng_u64(9, i) % whole.B);
	for (size_t done = 0, m; done < n; done += m) {
		m = n - done < 100 ? n - done : 100;
		assert_int_equal(batch_gather(&want, &whole, row + done, m), RS_OK);
		assert_int_equal(batch_reserve(&got, got.B + m), RS_OK);
		batch_rows_gather(&all, row + done, m, &got);
		assert_int_equal(batch_add_lists(&got, &whole, row + done, m), RS_OK);
	}
	assert_same(&want, &got);
	for (size_t i = 0; i < 3; i++)
		batch_free(each[i]);
	batch_rows_free(&one);
	batch_rows_free(&all);
	free(row);
}

static void
every_kind_of_row_comes_back(void **state)
{
	static const size_t B[] = { 1, 63, 64, 65, 300 };
	struct bed b;

	(void)state;
	for (size_t i = 0; i < N_SPECS; i++)
		for (size_t k = 0; k < sizeof B / sizeof *B; k++) {
			open_bed(&b, spec_text[i], B[k]);
			compare(&b, 2, 2 * B[k] + 77);
			for (size_t r = 0; r < B[k]; r++)
				b.batch.weight[r] = 1;
			compare(&b, 2, 2 * B[k] + 77);
			close_bed(&b);
		}
}

static void
no_row_is_no_row(void **state)
{
	struct bed b;

	(void)state;
	open_bed(&b, spec_text[3], 0);
	compare(&b, 3, 0);
	close_bed(&b);
}

/* More than is in ordinary pages. */
static void
many_rows_come_back(void **state)
{
	struct bed b;

	(void)state;
	open_bed(&b, spec_text[5], 5000);
	compare(&b, 12, 20000);
	close_bed(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_row_comes_back),
		cmocka_unit_test(many_rows_come_back),
		cmocka_unit_test(no_row_is_no_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
