/*
 * Drawn items: how often they come up, for whom, and always the same ones.
 */
#include "tests/test.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/rng.h"
#include "data/sampler.h"
#include "data/sampler_table.h"
#include "tests/data/loader_bed.h"

#define N_ITEMS 20u
#define TOWERS "[model]\ntype = two_tower\nloss = %s\n"
#define DATA "[data]\ntrain = log\nlabel = 1\nrow_group = 400\nshuffle_window = 1000\n" \
	"[field user]\ncolumn = 2\nbuckets = 1000\n[field item]\ncolumn = 3\nbuckets = 1000\n" \
	"[field kind]\ncolumn = 4\nbuckets = 1000\n"
#define TOWER_FIELDS "[tower user]\nfields = user\n[tower item]\nfields = item,kind\n"

/* Row i: label, user, item, kind.  Item k comes up k + 1 times in 210 rows; kinds
 * have four items each but the last, alone with its own. */
static void
write_log(unsigned n)
{
	char text[64 * 1024];
	size_t at = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned item = 0, left = i % (N_ITEMS * (N_ITEMS + 1) / 2);

		for (; left > item; item++)
			left -= item + 1;
		at += (size_t)snprintf(text + at, sizeof text - at, "%d\tu%u\ti%u\tk%u\n",
			i % 3 != 0, i % 11, item, item == N_ITEMS - 1 ? 9 : item / 4);
	}
	bed_write_text("log", text, at);
}

struct kit {
	struct bed bed;
	struct catalogue *catalogue;
	struct sampler *sampler;
	struct batch rows;             /* all of the log, in its order                */
};

static void
read_rows(struct kit *k)
{
	const struct batch *batch;
	struct loader_options options = k->bed.options;
	struct loader *loader;
	uint32_t all[2048];

	for (uint32_t i = 0; i < 2048; i++)
		all[i] = i;
	options.shuffle = 0;
	options.epochs = 1;
	options.batch_size = 2048;
	assert_int_equal(loader_open(&options, &loader), RS_OK);
	assert_int_equal(loader_next(loader, &batch, NULL), RS_OK);
	assert_int_equal(batch_init(&k->rows, &k->bed.schema), RS_OK);
	assert_int_equal(batch_gather(&k->rows, batch, all, batch->B), RS_OK);
	loader_close(loader);
}

static void
kit_open(struct kit *k, const char *loss, const char *items)
{
	char text[2048];

	write_log(420);
	if (strcmp(loss, "logloss") == 0)
		snprintf(text, sizeof text, "[model]\ntype = fm\n" DATA
			"[items]\nkey = item\nfields = item,kind\n%s", items);
	else
		snprintf(text, sizeof text, TOWERS DATA TOWER_FIELDS "[items]\n%s", loss, items);
	bed_make_of(&k->bed, text);
	assert_true(sampler_needed(spec_settings(k->bed.spec)));
	assert_int_equal(catalogue_build(&k->bed.schema, k->bed.options.files, NULL, &k->catalogue),
		RS_OK);
	assert_int_equal(k->catalogue->n, N_ITEMS);
	assert_int_equal(sampler_create(&k->bed.schema, k->catalogue, &k->sampler), RS_OK);
	read_rows(k);
}

static void
kit_close(struct kit *k)
{
	bed_free(&k->bed);
	batch_free(&k->rows);
	sampler_free(k->sampler);
	catalogue_free(k->catalogue);
}

/* Within five deviations of what chi-square is for fitting counts. */
static void
assert_fits(const double *count, const double *expected, size_t n)
{
	double chi = 0, freedom = -1;

	for (size_t i = 0; i < n; i++)
		if (expected[i] > 0) {
			chi += (count[i] - expected[i]) * (count[i] - expected[i]) / expected[i];
			freedom++;
		} else {
			assert_true(count[i] == 0);
		}
	assert_true(chi < freedom + 5 * sqrt(2 * freedom));
	assert_true(chi > freedom - 5 * sqrt(2 * freedom));
}

/* --- tables -------------------------------------------------------------------- */

static void
shares_and_aliases_add_up_to_the_weights(void **state)
{
	enum { N = 1000 };
	uint64_t group[N];
	double weight[N], got[N] = { 0 }, sum[7] = { 0 };
	struct sampler_table t;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		group[i] = rng_below(1, i, 7);
		weight[i] = i % 10 == 0 ? 1e6 : rng_uniform(2, i) + 1e-9;
		sum[group[i]] += weight[i];
	}
	assert_int_equal(sampler_table_make(&t, N, group, weight), RS_OK);
	for (size_t i = 0; i < N; i++) {
		got[t.item[i]] += t.share[i];
		got[t.item[t.alias[i]]] += 1 - t.share[i];
		assert_true(t.share[i] >= 0 && t.share[i] <= 1);
	}
	for (size_t i = 0; i < N; i++) {
		const double size = t.range[i].end - t.range[i].begin;

		assert_true(fabs(got[i] / size - weight[i] / sum[group[i]]) < 1e-12);
	}
	sampler_table_free(&t);
}

static void
draws_come_up_in_proportion_to_their_weights(void **state)
{
	enum { N = 50, DRAWS = 200000 };
	double weight[N], count[N] = { 0 }, expected[N], sum = 0;
	struct sampler_table t;

	(void)state;
	for (size_t i = 0; i < N; i++)
		sum += weight[i] = pow((double)(i + 1), 0.75);
	for (size_t i = 0; i < N; i++)
		expected[i] = DRAWS * weight[i] / sum;
	assert_int_equal(sampler_table_make(&t, N, NULL, weight), RS_OK);
	for (uint64_t i = 0; i < DRAWS; i++)
		count[sampler_table_draw(&t, 0, 77, i)]++;
	assert_fits(count, expected, N);
	sampler_table_free(&t);
}

static void
an_item_that_is_nearly_all_of_the_weight_still_has_others(void **state)
{
	const double weight[3] = { 1e15, 1, 1 };
	unsigned count[3] = { 0 };
	struct sampler_table t;

	(void)state;
	assert_int_equal(sampler_table_make(&t, 3, NULL, weight), RS_OK);
	for (uint64_t i = 0; i < 1000; i++)
		count[sampler_table_draw_other(&t, 0, 5, i)]++;
	assert_int_equal(count[0], 0);
	assert_in_range(count[1], 400, 600);
	sampler_table_free(&t);
}

/* --- draws for rows --------------------------------------------------------------- */

/* Counts of the items drawn for all rows about `own`, over many epochs. */
static void
count_draws(struct kit *k, uint32_t own, double count[N_ITEMS], double *total)
{
	memset(count, 0, N_ITEMS * sizeof *count);
	*total = 0;
	for (k->rows.epoch = 0; k->rows.epoch < 40; k->rows.epoch++) {
		const struct batch_candidates *c;

		assert_int_equal(sampler_candidates(k->sampler, &k->rows), RS_OK);
		c = k->rows.candidates;
		for (size_t b = 0; b < k->rows.B; b++)
			for (size_t i = 0; c->number[c->positive[b]] == own && i < c->n; i++) {
				count[c->number[c->negative[b * c->n + i]]]++;
				++*total;
			}
	}
}

static void
draws_of_a_row_are_uniform_over_all_other_items(void **state)
{
	double count[N_ITEMS], expected[N_ITEMS], total;
	struct kit k;

	(void)state;
	kit_open(&k, "bpr", "negatives = 9\n");
	count_draws(&k, 12, count, &total);
	assert_true(total > 5000);
	for (size_t i = 0; i < N_ITEMS; i++)
		expected[i] = i == 12 ? 0 : total / (N_ITEMS - 1);
	assert_fits(count, expected, N_ITEMS);
	kit_close(&k);
}

static void
draws_by_popularity_follow_rows_to_the_power_alpha(void **state)
{
	double count[N_ITEMS], expected[N_ITEMS], total, sum = 0;
	struct kit k;

	(void)state;
	kit_open(&k, "ccl", "negatives = 9\nsample = popularity\nalpha = 0.5\n");
	count_draws(&k, 15, count, &total);
	for (size_t i = 0; i < N_ITEMS; i++) {
		assert_int_equal(k.catalogue->rows[i], 2 * (i + 1));
		sum += expected[i] = i == 15 ? 0 : sqrt((double)(i + 1));
	}
	for (size_t i = 0; i < N_ITEMS; i++)
		expected[i] *= total / sum;
	assert_fits(count, expected, N_ITEMS);
	kit_close(&k);
}

static void
a_row_never_meets_its_own_item(void **state)
{
	static const char *const sample[] = { "", "sample = popularity\nalpha = 2\n",
		"within = kind\n", "within = kind\nsample = popularity\n" };

	(void)state;
	for (size_t s = 0; s < N_ROWS(sample); s++) {
		const struct batch_candidates *c;
		char items[200];
		struct kit k;

		snprintf(items, sizeof items, "negatives = 7\n%s", sample[s]);
		kit_open(&k, "bpr", items);
		assert_int_equal(sampler_candidates(k.sampler, &k.rows), RS_OK);
		c = k.rows.candidates;
		assert_int_equal(c->n, 7);
		for (size_t b = 0; b < k.rows.B; b++)
			for (size_t i = 0; i < c->n; i++)
				assert_int_not_equal(c->negative[b * c->n + i], c->positive[b]);
		kit_close(&k);
	}
}

static void
draws_within_a_field_share_its_value_or_are_counted(void **state)
{
	const struct batch_candidates *c;
	uint64_t alone = 0;
	struct kit k;

	(void)state;
	kit_open(&k, "bpr", "negatives = 5\nwithin = kind\n");
	assert_int_equal(sampler_candidates(k.sampler, &k.rows), RS_OK);
	c = k.rows.candidates;
	for (size_t b = 0; b < k.rows.B; b++) {
		const uint64_t *const kind = c->items->column[2].ids;

		alone += c->number[c->positive[b]] == N_ITEMS - 1 ? c->n : 0;
		for (size_t i = 0; c->number[c->positive[b]] != N_ITEMS - 1 && i < c->n; i++)
			assert_int_equal(kind[c->negative[b * c->n + i]], kind[c->positive[b]]);
	}
	assert_int_equal(alone, 2 * N_ITEMS * 5);
	assert_int_equal(sampler_fallbacks(k.sampler), alone);
	kit_close(&k);
}

/* --- candidates ------------------------------------------------------------------- */

static void
candidates_are_each_there_once_with_their_features(void **state)
{
	static const char *const loss[] = { "bpr", "ccl", "sampled_softmax", "full_softmax" };

	(void)state;
	for (size_t i = 0; i < N_ROWS(loss); i++) {
		const struct batch_candidates *c;
		int seen[N_ITEMS] = { 0 };
		struct kit k;

		kit_open(&k, loss[i], i == 3 ? "" : "negatives = 6\n");
		k.rows.B = 5;
		assert_int_equal(sampler_candidates(k.sampler, &k.rows), RS_OK);
		c = k.rows.candidates;
		assert_int_equal(c->items->B, c->M);
		for (size_t m = 0; m < c->M; m++) {
			assert_int_equal(seen[c->number[m]]++, 0);
			assert_int_equal(c->items->item[m], k.catalogue->key[c->number[m]]);
			assert_int_equal(c->items->column[1].ids[m],
				c->items->item[m] % 1000);
		}
		for (size_t b = 0; b < 5; b++)
			assert_int_equal(c->items->item[c->positive[b]], k.rows.item[b]);
		assert_true(i < 3 || c->M == N_ITEMS);
		k.rows.B = 420;
		kit_close(&k);
	}
}

static void
log_q_is_how_often_a_batch_has_the_item_among_its_draws(void **state)
{
	enum { BATCHES = 20000 };
	double count[N_ITEMS] = { 0 }, q[N_ITEMS] = { 0 };
	struct kit k;

	(void)state;
	kit_open(&k, "sampled_softmax", "negatives = 8\nsample = popularity\n");
	k.rows.B = 1;
	for (k.rows.epoch = 0; k.rows.epoch < BATCHES; k.rows.epoch++) {
		const struct batch_candidates *c;

		assert_int_equal(sampler_candidates(k.sampler, &k.rows), RS_OK);
		c = k.rows.candidates;
		assert_null(c->negative);
		for (size_t m = 0; m < c->M; m++) {
			count[c->number[m]] += c->drawn[m];
			q[c->number[m]] = exp((double)c->log_q[m]);
		}
	}
	for (size_t i = 0; i < N_ITEMS; i++) {
		const double deviation = sqrt(q[i] * (1 - q[i]) / BATCHES);

		assert_true(fabs(count[i] / BATCHES - q[i]) < 5 * deviation);
	}
	kit_close(&k);
}

static void
one_item_cannot_be_compared(void **state)
{
	struct catalogue *c;
	struct sampler *s;
	struct bed bed;

	(void)state;
	bed_write_text("log", "1\tu\ti\tk\n", 8);
	bed_make_of(&bed, "[model]\ntype = fm\n" DATA "[items]\nkey = item\nnegatives = 1\n");
	assert_int_equal(catalogue_build(&bed.schema, bed.options.files, NULL, &c), RS_OK);
	assert_int_equal(sampler_create(&bed.schema, c, &s), RS_EDATA);
	catalogue_free(c);
	bed_free(&bed);
}

/* --- rows of drawn items ------------------------------------------------------------ */

static void
positive_rows_are_followed_by_copies_with_other_items(void **state)
{
	struct batch out;
	struct kit k;
	size_t at = 0;

	(void)state;
	kit_open(&k, "logloss", "negatives = 3\n");
	assert_int_equal(batch_init(&out, &k.bed.schema), RS_OK);
	assert_int_equal(sampler_expand(k.sampler, &k.rows, &out), RS_OK);
	for (size_t b = 0; b < k.rows.B; b++) {
		assert_int_equal(out.item[at], k.rows.item[b]);
		assert_true(out.label[at] == k.rows.label[b]);
		for (size_t i = 1; k.rows.label[b] > 0 && i <= 3; i++) {
			const uint32_t number = catalogue_find(k.catalogue, out.item[at + i]);

			assert_true(out.label[at + i] == 0 && out.weight[at + i] == 1);
			assert_int_not_equal(out.item[at + i], k.rows.item[b]);
			assert_int_equal(out.column[0].ids[at + i], k.rows.column[0].ids[b]);
			for (size_t f = 1; f < 3; f++)
				assert_int_equal(out.column[f].ids[at + i],
					k.catalogue->items.column[f].ids[number]);
		}
		at += k.rows.label[b] > 0 ? 4 : 1;
	}
	assert_int_equal(at, out.B);
	assert_int_equal(out.drawn, out.B - k.rows.B);
	batch_free(&out);
	kit_close(&k);
}

static void
draws_follow_the_row_and_the_epoch_not_the_batch(void **state)
{
	struct batch whole, parts, half;
	const uint32_t order[4] = { 100, 101, 102, 103 };
	struct kit k;

	(void)state;
	kit_open(&k, "logloss", "negatives = 2\nsample = popularity\n");
	assert_int_equal(batch_init(&whole, &k.bed.schema), RS_OK);
	assert_int_equal(batch_init(&parts, &k.bed.schema), RS_OK);
	assert_int_equal(sampler_expand(k.sampler, &k.rows, &whole), RS_OK);
	assert_int_equal(batch_init(&half, &k.bed.schema), RS_OK);
	assert_int_equal(batch_gather(&half, &k.rows, order, 4), RS_OK);
	half.first_row = 100;
	assert_int_equal(sampler_expand(k.sampler, &half, &parts), RS_OK);
	for (size_t i = 0, found = 0; i < whole.B && found == 0; i++)
		if (i + parts.B <= whole.B && memcmp(whole.item + i, parts.item,
			parts.B * sizeof *parts.item) == 0)
			found = 1;
		else
			assert_true(i + parts.B < whole.B);
	half.epoch = 1;
	batch_clear(&whole);
	assert_int_equal(sampler_expand(k.sampler, &half, &whole), RS_OK);
	assert_int_equal(whole.B, parts.B);
	assert_memory_not_equal(whole.item, parts.item, parts.B * sizeof *parts.item);
	batch_free(&half);
	batch_free(&whole);
	batch_free(&parts);
	kit_close(&k);
}

/* --- in the loader ------------------------------------------------------------------ */

static const struct { const char *loss, *items; } how[] = {
	{ "logloss", "negatives = 3\n" },
	{ "bpr", "negatives = 5\nsample = popularity\n" },
	{ "ccl", "negatives = 5\nwithin = kind\n" },
	{ "sampled_softmax", "negatives = 10\n" },
	{ "full_softmax", "" },
};

static void
batches_are_the_same_whatever_the_threads(void **state)
{
	static struct trace first, other;

	(void)state;
	for (size_t i = 0; i < N_ROWS(how); i++) {
		struct kit k;

		kit_open(&k, how[i].loss, how[i].items);
		k.bed.options.sampler = k.sampler;
		k.bed.options.n_threads = 1;
		bed_run(&k.bed, &first);
		assert_int_equal(first.tally.read, 2 * 420);
		for (size_t n = 2; n <= 3; n++) {
			k.bed.options.n_threads = n;
			bed_run(&k.bed, &other);
			bed_assert_same(&first, 0, &other);
		}
		kit_close(&k);
	}
}

static void
resumed_batches_have_the_same_draws(void **state)
{
	static struct trace whole, rest;

	(void)state;
	for (size_t i = 0; i < N_ROWS(how); i++) {
		struct kit k;

		kit_open(&k, how[i].loss, how[i].items);
		k.bed.options.sampler = k.sampler;
		bed_run(&k.bed, &whole);
		for (size_t at = 0; at < whole.n; at += 5) {
			bed_open(&k.bed);
			assert_int_equal(loader_resume(k.bed.loader, &whole.position[at]), RS_OK);
			bed_take(k.bed.loader, &rest, MAX_BATCHES);
			bed_assert_same(&whole, at + 1, &rest);
		}
		kit_close(&k);
	}
}

static void
batch_size_counts_the_rows_of_the_log(void **state)
{
	const struct batch *batch;
	uint64_t rows = 0;
	struct kit k;

	(void)state;
	kit_open(&k, "logloss", "negatives = 3\n");
	k.bed.options.sampler = k.sampler;
	bed_open(&k.bed);
	for (;;) {
		assert_int_equal(loader_next(k.bed.loader, &batch, NULL), RS_OK);
		if (batch == NULL)
			break;
		assert_true(batch->last || batch->B - batch->drawn == k.bed.options.batch_size);
		assert_true(batch->drawn > 0);
		rows += batch->B - batch->drawn;
	}
	assert_int_equal(rows, 2 * 420);
	kit_close(&k);
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(shares_and_aliases_add_up_to_the_weights),
		cmocka_unit_test(draws_come_up_in_proportion_to_their_weights),
		cmocka_unit_test(an_item_that_is_nearly_all_of_the_weight_still_has_others),
		cmocka_unit_test(draws_of_a_row_are_uniform_over_all_other_items),
		cmocka_unit_test(draws_by_popularity_follow_rows_to_the_power_alpha),
		cmocka_unit_test(a_row_never_meets_its_own_item),
		cmocka_unit_test(draws_within_a_field_share_its_value_or_are_counted),
		cmocka_unit_test(candidates_are_each_there_once_with_their_features),
		cmocka_unit_test(log_q_is_how_often_a_batch_has_the_item_among_its_draws),
		cmocka_unit_test(one_item_cannot_be_compared),
		cmocka_unit_test(positive_rows_are_followed_by_copies_with_other_items),
		cmocka_unit_test(draws_follow_the_row_and_the_epoch_not_the_batch),
		cmocka_unit_test(batches_are_the_same_whatever_the_threads),
		cmocka_unit_test(resumed_batches_have_the_same_draws),
		cmocka_unit_test(batch_size_counts_the_rows_of_the_log),
	};

	return cmocka_run_group_tests(test, bed_setup, bed_teardown);
}
