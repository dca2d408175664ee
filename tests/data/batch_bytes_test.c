/* Rows go through bytes unchanged; bytes that are cut or wrong are refused. */
#include "data/batch_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "tests/test.h"

enum { MOST = 9 };

/* Columns: single, single with weights, many, many with weights; B rows from this seed. */
static void
make(struct batch *b, struct batch_column column[4], size_t B, unsigned seed)
{
	static struct { uint64_t id[64]; float w[64]; uint32_t o[MOST + 1]; } at[2][4];
	static float label[2][MOST], weight[2][MOST], dense[2][2 * MOST];
	static uint8_t missing[2][2 * MOST];
	static uint64_t group[2][MOST];
	static int64_t time[2][MOST];
	const size_t s = seed & 1;

	*b = (struct batch){ .B = B, .K = 2, .F = 4, .label = label[s], .weight = weight[s],
		.dense = dense[s], .missing = missing[s], .group = group[s], .time = time[s],
		.column = column };
	for (size_t i = 0; i < B; i++) {
		label[s][i] = (float)(seed + i);
		weight[s][i] = (float)(seed * i);
		group[s][i] = seed + 77 * i;
		time[s][i] = 1700000000 + (int64_t)(60 * seed + i);
		dense[s][2 * i] = dense[s][2 * i + 1] = (float)(seed + 5 * i);
		missing[s][2 * i] = (uint8_t)(i & 1);
	}
	for (size_t f = 0; f < 4; f++) {
		column[f] = (struct batch_column){ .ids = at[s][f].id, .N = f < 2 ? B : 3 * B,
			.weight = f % 2 == 1 ? at[s][f].w : NULL,
			.offset = f > 1 ? at[s][f].o : NULL };
		for (size_t i = 0; i < column[f].N; i++) {
			at[s][f].id[i] = seed * 100 + f * 10 + i;
			at[s][f].w[i] = (float)i / 3;
		}
		/* rows of 0, 4, 0, ... ids and the rest in the last */
		for (size_t i = 0; i <= B; i++)
			at[s][f].o[i] = (uint32_t)(i == B ? 3 * B : i / 2 * 4);
	}
}

/* An empty batch with the same columns. */
static void
make_empty(struct batch *b, struct batch_column column[4], const struct batch *like)
{
	*b = (struct batch){ .K = like->K, .F = like->F, .column = column };
	b->label = malloc(4);
	b->weight = malloc(4);
	b->dense = malloc(4);
	b->missing = malloc(4);
	b->group = malloc(4);
	b->time = malloc(4);
	for (size_t f = 0; f < like->F; f++) {
		column[f] = (struct batch_column){ .ids = malloc(8) };
		column[f].weight = like->column[f].weight != NULL ? malloc(4) : NULL;
		column[f].offset = like->column[f].offset != NULL ? calloc(1, 4) : NULL;
	}
}

static void
empty_out(struct batch *b)
{
	for (size_t f = 0; f < b->F; f++) {
		free(b->column[f].ids);
		free(b->column[f].weight);
		free(b->column[f].offset);
	}
	free(b->label);
	free(b->weight);
	free(b->dense);
	free(b->missing);
	free(b->group);
	free(b->time);
}

/* Rows [first,first+from->B) of b are those of from. */
static void
assert_rows(const struct batch *b, size_t first, const struct batch *from)
{
	const size_t B = from->B;

	assert_memory_equal(b->label + first, from->label, B * sizeof(float));
	assert_memory_equal(b->weight + first, from->weight, B * sizeof(float));
	assert_memory_equal(b->group + first, from->group, B * sizeof(uint64_t));
	assert_memory_equal(b->time + first, from->time, B * sizeof(int64_t));
	assert_memory_equal(b->dense + 2 * first, from->dense, 2 * B * sizeof(float));
	assert_memory_equal(b->missing + 2 * first, from->missing, 2 * B);
	for (size_t f = 0; f < 4; f++) {
		const struct batch_column *const to = &b->column[f], *const c = &from->column[f];
		const size_t at = to->offset != NULL ? to->offset[first] : first;

		assert_memory_equal(to->ids + at, c->ids, c->N * sizeof *c->ids);
		if (c->weight != NULL)
			assert_memory_equal(to->weight + at, c->weight, c->N * sizeof(float));
		for (size_t i = 0; c->offset != NULL && i <= B; i++)
			assert_int_equal(to->offset[first + i], at + c->offset[i]);
	}
}

static void
rows_of_two_batches_follow_each_other(void **state)
{
	struct batch_column column[3][4];
	struct batch in[2], out;
	unsigned char bytes[4096];

	(void)state;
	make(&in[0], column[0], 7, 2);
	make(&in[1], column[1], MOST, 3);
	make_empty(&out, column[2], &in[0]);
	for (size_t i = 0; i < 2; i++) {
		const size_t n = batch_bytes_size(&in[i]);

		assert_true(n <= sizeof bytes);
		batch_bytes_write(&in[i], bytes);
		assert_int_equal(batch_bytes_append(&out, in[i].B, bytes, n), RS_OK);
	}
	assert_int_equal(out.B, 7 + MOST);
	assert_rows(&out, 0, &in[0]);
	assert_rows(&out, 7, &in[1]);
	empty_out(&out);
}

static void
bytes_that_are_cut_or_of_other_rows_are_refused(void **state)
{
	struct batch_column column[2][4];
	struct batch in, out;
	unsigned char bytes[4096];

	(void)state;
	make(&in, column[0], 7, 2);
	make_empty(&out, column[1], &in);
	const size_t n = batch_bytes_size(&in);
	batch_bytes_write(&in, bytes);
	for (size_t less = 0; less < n; less++) {
		batch_clear(&out);
		assert_int_equal(batch_bytes_append(&out, 7, bytes, less), RS_EPROTOCOL);
	}
	batch_clear(&out);
	assert_int_equal(batch_bytes_append(&out, 7, bytes, n + 1), RS_EPROTOCOL);
	batch_clear(&out);
	assert_int_equal(batch_bytes_append(&out, 6, bytes, n), RS_EPROTOCOL);
	batch_clear(&out);
	assert_int_equal(batch_bytes_append(&out, SIZE_MAX / 2, bytes, n), RS_EPROTOCOL);
	batch_clear(&out);
	assert_int_equal(batch_bytes_append(&out, 7, bytes, n), RS_OK);
	for (size_t i = 0; i < 8; i++) {       /* offsets of the last column            */
		batch_bytes_write(&in, bytes);
		bytes[n - 32 + 4 * i + 1] ^= 0x40;
		batch_clear(&out);
		assert_int_equal(batch_bytes_append(&out, 7, bytes, n), RS_EPROTOCOL);
	}
	empty_out(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_two_batches_follow_each_other),
		cmocka_unit_test(bytes_that_are_cut_or_of_other_rows_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
