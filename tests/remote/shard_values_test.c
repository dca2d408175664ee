/* Rows on shards have the bits of rows in one process. */
#include "tests/remote/shard_bed.h"

#define SLOTS  8
#define INPUTS 3
#define N      40                  /* occurrences of an input in a slot              */
#define STEPS  3

static const size_t table_of[INPUTS] = { 0, 1, 2 };

/* The gradients of one step; inputs of the twin tables have the same ids. */
struct step {
	uint64_t id[SLOTS][INPUTS][N];
	float    value[SLOTS][INPUTS][N][8];
	const float *grad[SLOTS][INPUTS][N];
	size_t   n[SLOTS];
};

static void
fill_step(struct step *s, uint64_t key, int integers)
{
	uint64_t c = 0;

	for (size_t slot = 0; slot < SLOTS; slot++) {
		s->n[slot] = slot == 5 ? 0 : N - 2 * slot;
		for (size_t i = 0; i < INPUTS; i++)
			for (size_t j = 0; j < s->n[slot]; j++) {
				const uint64_t id = rng_below(key, c++, i == 1 ? 62 : 131);

				s->id[slot][i][j] = i == 2 ? s->id[slot][0][j] :
					j % 2 ? id % 9 : id;
				s->grad[slot][i][j] = s->value[slot][i][j];
				for (size_t d = 0; d < 8; d++)
					s->value[slot][i][j][d] = integers ?
						(float)rng_below(key, c++, 9) - 4 :
						(float)rng_normal(key, c++);
			}
	}
}

static struct lookup *
open_whole(const struct bed *b)
{
	const struct lookup_local_options o = {
		.kernel = &kernel_ref, .table = b->table, .n_tables = b->n_tables,
		.n_slots = SLOTS, .n_inputs = INPUTS, .n_threads = 1, .for_training = 1,
	};
	struct lookup *l;

	assert_int_equal(lookup_local_open(&o, &l), RS_OK);
	return l;
}

static struct lookup_push
push_of(const struct step *s, size_t slot, size_t input)
{
	return (struct lookup_push){ .slot = slot, .table = table_of[input], .input = input,
		.ids = s->id[slot][input], .n = s->n[slot], .grad = s->grad[slot][input] };
}

static double
decay_of(uint64_t step)
{
	return step % 2 == 0 ? 0.75 : 0;
}

static void
step_whole(struct lookup *l, const struct step *s, uint64_t step, double rate_factor)
{
	const struct lookup_commit commit = { .step = step, .finite = 1,
		.rate_factor = rate_factor, .decay = decay_of(step), .n_workers = 1 };

	for (size_t slot = 0; slot < SLOTS; slot++)
		for (size_t i = 0; i < INPUTS; i++) {
			const struct lookup_push p = push_of(s, slot, i);

			assert_int_equal(l->ops->push(l, &p), RS_OK);
		}
	assert_int_equal(l->ops->commit(l, &commit), RS_OK);
}

/* What a rank has for rows of a part and node: ids and their sums. */
static size_t
sum_node(struct merge_scratch *scratch, const struct pushes_order *order, const struct bed *b,
	const struct part *p, struct tree_node node, uint64_t *ids, struct buffer *values)
{
	struct merge_job job = { .kernel = &kernel_ref, .name = "T", .D = b->table[p->table].dim,
		.begin = p->begin, .end = p->end };
	const float *sum;
	size_t n = 0;

	pushes_of_node(order, p->table, node, &job);
	assert_int_equal(merge_begin(scratch, &job), RS_OK);
	for (; merge_next(scratch, &ids[n], &sum); n++)
		bed_put(values, sum, job.D * sizeof(*sum));
	return n;
}

/* Sends sections of one node, or of many, as one message of the push. */
static void
send_chunk(struct bed *b, size_t shard, const struct frame *f, struct bed_sections *s,
	double rate_factor)
{
	const struct body_push head = { .rate_factor = rate_factor, .finite = 1,
		.n_sections = (uint32_t)s->n, .decay = decay_of(f->step) };
	struct buffer body;

	bed_join(s, &head, &body);
	bed_ask(b, shard, f, &body, FRAME_PUSH_R, NULL, 0);
	buffer_free(&body);
	bed_sections_free(s);
	bed_sections_init(s);
}

enum half { ALL, LOW, HIGH };

/* Tables 0, 2 and 1 of a node on a shard; the twin has the keys of table 0. */
static void
add_node(struct bed *b, size_t shard, struct tree_node node, struct merge_scratch *scratch,
	const struct pushes_order *order, struct bed_sections *s, enum half half)
{
	static const size_t wire_order[BED_TABLES] = { 0, 2, 1 };

	for (size_t k = 0; k < BED_TABLES; k++)
		for (size_t i = b->parts.first[wire_order[k]];
		     i < b->parts.first[wire_order[k] + 1]; i++) {
			const struct part *p = &b->parts.part[i];
			const uint64_t middle = (p->begin + p->end) / 2;
			struct part rows = *p;
			uint64_t ids[SLOTS * N];
			size_t n;

			if (p->shard != shard)
				continue;
			rows.begin = half == HIGH ? middle : p->begin;
			rows.end = half == LOW ? middle : p->end;
			n = sum_node(scratch, order, b, &rows, node, ids, &s->values);
			bed_section(s, p, node.begin, p->table == 2 && n > 0 ? NULL : ids, n);
		}
}

/* A rank's push of a step to a shard; `pieces`: two messages for every node, the last first. */
static void
push_rank(struct bed *b, size_t rank, size_t shard, uint64_t step, const struct step *s,
	double rate_factor, int pieces)
{
	const size_t begin = tree_rank_begin(SLOTS, b->n_ranks, rank),
		     end = tree_rank_begin(SLOTS, b->n_ranks, rank + 1);
	struct tree_node node[2 * TREE_MAX_DEPTH];
	const size_t n_nodes = tree_frontier(SLOTS, begin, end, node);
	struct frame f = bed_frame(b, FRAME_PUSH, rank, step);
	struct merge_scratch scratch;
	struct pushes_order order;
	struct pushes pushes;
	struct bed_sections sections;

	assert_int_equal(pushes_init(&pushes, BED_TABLES, SLOTS, INPUTS), RS_OK);
	assert_int_equal(pushes_order_init(&order, &pushes), RS_OK);
	assert_int_equal(merge_scratch_init(&scratch, SLOTS, 8), RS_OK);
	for (size_t slot = begin; slot < end; slot++)
		for (size_t i = 0; i < INPUTS; i++) {
			const struct lookup_push p = push_of(s, slot, i);

			pushes_put(&pushes, &p);
		}
	pushes_order_make(&order, &pushes);
	bed_sections_init(&sections);
	for (size_t i = 0; !pieces && i < n_nodes; i++)
		add_node(b, shard, node[i], &scratch, &order, &sections, ALL);
	if (!pieces)
		send_chunk(b, shard, &f, &sections, rate_factor);
	for (size_t k = 2 * n_nodes; pieces && k-- > 0;) {
		add_node(b, shard, node[k / 2], &scratch, &order, &sections, k % 2 ? HIGH : LOW);
		f.chunk = (uint16_t)k;
		f.flags = k + 1 < 2 * n_nodes ? FRAME_MORE : 0;
		f.request = ++b->request;
		send_chunk(b, shard, &f, &sections, rate_factor);
	}
	bed_sections_free(&sections);
	merge_scratch_free(&scratch);
	pushes_order_free(&order);
	pushes_free(&pushes);
}

static void
compare_part(struct bed *b, struct lookup *whole, const struct part *p, size_t rank, uint64_t step)
{
	static float rows[256 * 8];
	uint8_t touched[256];
	const size_t dim = b->table[p->table].dim;

	bed_pull_part(b, rank, step, p, rows, touched);
	for (uint64_t id = p->begin; id < p->end; id++) {
		const float *row;
		const struct lookup_pull pull = { .table = p->table, .ids = &id, .n = 1,
			.row = &row };

		assert_int_equal(whole->ops->pull(whole, &pull), RS_OK);
		assert_memory_equal(row, rows + (id - p->begin) * dim, dim * sizeof(float));
		assert_int_equal(touched[id - p->begin],
			whole->ops->touched(whole, p->table, id));
	}
}

static void
step_all(struct bed *b, uint64_t step, const struct step *s, double rate_factor)
{
	/* In another order of ranks in every step. */
	for (size_t i = 0; i < b->n_ranks; i++)
		for (size_t shard = 0; shard < b->n_shards; shard++)
			push_rank(b, (i + step) % b->n_ranks, shard, step, s, rate_factor,
				(int)(step % 2));
}

static void
train_and_compare(const char *directory, enum row_optimizer_kind kind, size_t n_shards,
	size_t n_ranks, int integers)
{
	static struct bed b;
	static struct step s;
	struct lookup *whole;

	memset(&b, 0, sizeof(b));
	bed_tables(&b, kind);
	bed_open(&b, directory, n_shards, n_ranks, SLOTS);
	bed_init(&b);
	whole = open_whole(&b);
	for (uint64_t step = 1; step <= STEPS; step++) {
		fill_step(&s, step * 31 + (uint64_t)kind, integers);
		step_whole(whole, &s, step, 1.0 / (double)step);
		step_all(&b, step, &s, 1.0 / (double)step);
	}
	for (size_t i = 0; i < b.parts.n; i++)
		compare_part(&b, whole, &b.parts.part[i], i % n_ranks, STEPS + 1);
	whole->ops->close(whole);
	bed_close(&b);
}

static void
L028_shards_and_workers_give_the_bits_of_one_process(void **state)
{
	for (enum row_optimizer_kind kind = ROW_SGD; kind <= ROW_FTRL; kind++)
		for (size_t n_shards = 1; n_shards <= 3; n_shards++)
			for (size_t n_ranks = 1; n_ranks <= 3; n_ranks++)
				for (int integers = 0; integers < 2; integers++)
					train_and_compare(*state, kind, n_shards, n_ranks,
						integers);
}

/* Rows of a part with their optimizer slots, from one shard to another. */
static void
move_rows(struct bed *from, struct bed *to, size_t table, uint64_t step)
{
	static uint8_t answer[1 << 16];

	for (uint64_t id = 0; id < from->table[table].rows; id++) {
		size_t a = from->parts.first[table], c = to->parts.first[table];
		struct body_rows want = { .table = (uint32_t)table, .n = 1, .begin = id };
		struct frame f = bed_frame(from, FRAME_SNAP_GET, 0, step);
		struct buffer body = { .data = (char *)&want, .n = sizeof(want) };

		while (id >= from->parts.part[a].end)
			a++;
		while (id >= to->parts.part[c].end)
			c++;
		body.n = bed_ask(from, from->parts.part[a].shard, &f, &body, FRAME_SNAP_R, answer,
			sizeof(answer));
		body.data = (char *)answer;
		memcpy(&want, answer, sizeof(want));
		assert_int_equal(want.dim, from->table[table].dim);
		f = bed_frame(to, FRAME_SNAP_PUT, to->n_ranks - 1, 0);
		bed_ask(to, to->parts.part[c].shard, &f, &body, FRAME_SNAP_R, NULL, 0);
	}
}

static void
L023_rows_moved_to_other_shards_train_on(void **state)
{
	static struct bed from, to;
	static struct step s;
	char other[4096];

	for (enum row_optimizer_kind kind = ROW_SGD; kind <= ROW_FTRL; kind++) {
		struct lookup *whole;

		memset(&from, 0, sizeof(from));
		memset(&to, 0, sizeof(to));
		bed_tables(&from, kind);
		bed_tables(&to, kind);
		bed_open(&from, *state, 2, 2, SLOTS);
		bed_init(&from);
		whole = open_whole(&from);
		fill_step(&s, 5, 0);
		step_whole(whole, &s, 1, 1);
		step_all(&from, 1, &s, 1);
		snprintf(other, sizeof(other), "%s/other", (const char *)*state);
		assert_int_equal(file_make_directories(other), RS_OK);
		to.first_step = 2;
		bed_open(&to, other, 3, 1, SLOTS);
		bed_init(&to);
		for (size_t t = 0; t < BED_TABLES; t++)
			move_rows(&from, &to, t, 2);
		fill_step(&s, 6, 0);
		step_whole(whole, &s, 2, 1);
		step_all(&to, 2, &s, 1);
		for (size_t i = 0; i < to.parts.n; i++)
			compare_part(&to, whole, &to.parts.part[i], 0, 3);
		whole->ops->close(whole);
		bed_close(&from);
		bed_close(&to);
		assert_int_equal(file_remove_tree(other), RS_OK);
	}
}

#define LARGE 12000
#define WIDE  16

static void
compare_large(struct bed *b, struct lookup *whole, const uint64_t *id)
{
	static float answer[LARGE * WIDE + LARGE / 32 + 8];
	const char *rows = (const char *)answer + LARGE / 8;
	const struct frame f = bed_frame(b, FRAME_PULL, 1, 2);
	struct bed_sections s;
	struct buffer body;

	bed_sections_init(&s);
	bed_section(&s, &b->parts.part[0], 0, id, LARGE);
	bed_join(&s, NULL, &body);
	assert_int_equal(bed_ask(b, 0, &f, &body, FRAME_PULL_R, answer, sizeof(answer)),
		LARGE / 8 + LARGE * WIDE * sizeof(float));
	for (uint64_t i = 0; i < LARGE; i++) {
		const float *want;
		const struct lookup_pull pull = { .ids = &i, .n = 1, .row = &want };

		assert_int_equal(whole->ops->pull(whole, &pull), RS_OK);
		assert_memory_equal(rows + i * WIDE * sizeof(float), want, WIDE * sizeof(float));
	}
	for (size_t i = 0; i < LARGE / 8; i++)
		assert_int_equal(((const uint8_t *)answer)[i], 0xff);
	buffer_free(&body);
	bed_sections_free(&s);
}

/* All rows of a large table, pulled and pushed by two ranks, with three threads. */
static void
large_requests_are_shared_by_threads(void **state)
{
	static struct bed b;
	static uint64_t id[LARGE];
	static float grad[LARGE * WIDE];
	static const float *row[LARGE];
	const struct body_push head = { .rate_factor = 1, .finite = 1, .n_sections = 1 };
	const struct lookup_commit commit = { .step = 1, .finite = 1, .rate_factor = 1,
		.n_workers = 1 };
	struct lookup *whole;
	struct bed_sections s;
	struct buffer body;
	struct frame f;

	memset(&b, 0, sizeof(b));
	b.n_tables = 1;
	b.table[0] = (struct lookup_table){ .name = "L", .rows = LARGE, .dim = WIDE,
		.init_stddev = 0.1, .optimizer = { .kind = ROW_ADAGRAD, .learning_rate = 0.1,
		.initial_accumulator = 0.1 } };
	bed_open(&b, *state, 1, 2, SLOTS);
	bed_stop_round(&b);
	b.shard[0].options.n_threads = 3;
	bed_start_round(&b);
	bed_init(&b);
	whole = open_whole(&b);
	for (size_t i = 0; i < LARGE; i++) {
		id[i] = i;
		row[i] = grad + i * WIDE;
	}
	for (size_t i = 0; i < LARGE * WIDE; i++)
		grad[i] = (float)rng_normal(3, i);
	for (size_t r = 0; r < 2; r++) {
		const struct lookup_push p = { .slot = r * SLOTS / 2, .ids = id, .n = LARGE,
			.grad = row };

		assert_int_equal(whole->ops->push(whole, &p), RS_OK);
		bed_sections_init(&s);
		bed_section(&s, &b.parts.part[0], r * SLOTS / 2, id, LARGE);
		bed_put(&s.values, grad, sizeof(grad));
		bed_join(&s, &head, &body);
		f = bed_frame(&b, FRAME_PUSH, r, 1);
		bed_ask(&b, 0, &f, &body, FRAME_PUSH_R, NULL, 0);
		buffer_free(&body);
		bed_sections_free(&s);
	}
	assert_int_equal(whole->ops->commit(whole, &commit), RS_OK);
	for (int again = 0; again < 3; again++)
		compare_large(&b, whole, id);
	whole->ops->close(whole);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L028_shards_and_workers_give_the_bits_of_one_process),
		cmocka_unit_test(large_requests_are_shared_by_threads),
		cmocka_unit_test(L023_rows_moved_to_other_shards_train_on),
	};

	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
