/* The catalogue ranked for each user, against sorting all of it in double. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/rng.h"
#include "spec/spec.h"
#include "train/evaluate.h"
#include "train/model.h"
#include "train/retrieval.h"

enum { USERS = 60, ITEMS = 150, DIM = 8, K = 10 };

static const char spec_text[] =
	"[model]\ntype = two_tower\nloss = softmax\n"
	"[data]\ntrain = train.tsv\nvalid = valid.tsv\nformat = tsv\nheader = no\nlabel = 1\n"
	"[field user]\ncolumn = 2\nbuckets = 1000\n"
	"[field item]\ncolumn = 3\nbuckets = 1000\n"
	"[embedding]\ndim = 8\ninit_stddev = 1\n"
	"[tower user]\nfields = user\nhidden =\n"
	"[tower item]\nfields = item\nhidden =\n"
	"[eval]\nmetrics = recall@10,ndcg@10,hr@10,mrr@10,mrr,ndcg,auc\n";

struct bed {
	char directory[64];
	/* [user][item] what the files say: bit 0 trained, bit 1 relevant, bit 2 shown only */
	unsigned char mark[USERS + 5][ITEMS + 5];
	struct model *m;
	struct workers *w;
	size_t n_threads;
};

static void
put(FILE *f, int label, size_t user, size_t item)
{
	fprintf(f, "%d\tu%zu\ti%zu\n", label, user, item);
}

/* Items from ITEMS on and users from USERS on are in the evaluation only; user 7 has
 * no relevant row and user 3 more than K; the rows of a user are not together. */
static void
write_files(struct bed *b)
{
	FILE *const train = fopen("train.tsv", "w"), *const valid = fopen("valid.tsv", "w");

	assert_true(train != NULL && valid != NULL);
	for (size_t i = 0; i < ITEMS; i++)
		for (size_t u = 0; u < USERS; u++)
			if (rng_below(1, u * ITEMS + i, 9) == 0 || u == i % USERS) {
				put(train, (int)rng_below(2, i + u, 2), u, i);
				b->mark[u][i] |= 1;
			}
	for (size_t i = 0; i < ITEMS + 5; i++)
		for (size_t u = 0; u < USERS + 5; u++) {
			const uint64_t what = rng_below(3, u * 1000 + i, 40);

			if ((what == 0 && u != 7) || (u == 3 && i % 4 == 0)) {
				put(valid, 1, u, i);
				b->mark[u][i] |= 2;
				if (i % 3 == 0)
					put(valid, 1, u, i);
			} else if (what == 1 || u == 7) {
				put(valid, 0, u, i);
				b->mark[u][i] |= 4;
			}
		}
	assert_int_equal(fclose(train) | fclose(valid), 0);
}

static void
make_model(struct bed *b, size_t n_threads)
{
	const struct model_options options = { .n_threads = n_threads };
	struct spec *spec;

	assert_int_equal(spec_load_text(spec_text, "retrieval", &spec), RS_OK);
	assert_int_equal(model_create(spec, &options, &b->m), RS_OK);
	assert_int_equal(catalogue_build(&b->m->schema, &b->m->schema.settings->data.train, NULL,
		&b->m->catalogue), RS_OK);
	assert_int_equal(workers_create(b->m, n_threads, &b->w), RS_OK);
}

static void
drop_model(struct bed *b)
{
	workers_free(b->w);
	model_free(b->m);
}

static int
set_up(void **state)
{
	static struct bed bed;

	snprintf(bed.directory, sizeof bed.directory, "/tmp/retrieval_test.XXXXXX");
	if (mkdtemp(bed.directory) == NULL || chdir(bed.directory) != 0)
		return 1;
	write_files(&bed);
	*state = &bed;
	return 0;
}

static int
tear_down(void **state)
{
	const struct bed *const b = *state;

	return unlink("train.tsv") | unlink("valid.tsv") | chdir("/") | rmdir(b->directory);
}

static struct metric_result
evaluate(struct bed *b, const struct evaluate_options *options)
{
	struct evaluation *e;
	struct metric_result r[2];

	assert_int_equal(evaluate_open(options, &e), RS_OK);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(evaluate_run(e, b->w, b->m, &r[i], NULL), RS_OK);
	assert_memory_equal(&r[0], &r[1], sizeof r[0]);        /* L065 */
	evaluate_close(e);
	return r[0];
}

/* --- the naive way ------------------------------------------------------------- */

struct naive { double recall, ndcg, hr, mrr, mrr_all, ndcg_all; size_t n, left_out; };

/* The user's vector, by a batch of one row. */
static void
user_vector(struct bed *b, size_t u, float *out)
{
	const size_t f = b->m->schema.field[0].index;
	struct batch one;
	char name[16];

	snprintf(name, sizeof name, "u%zu", u);
	assert_int_equal(batch_init(&one, &b->m->schema), RS_OK);
	assert_int_equal(batch_add_missing(&one, &b->m->schema), RS_OK);
	one.column[f].ids[0] = hash_fingerprint64(name, strlen(name)) % 1000;
	assert_int_equal(workers_vectors(b->w, TOWER_USER, &one, out), RS_OK);
	batch_free(&one);
}

struct scored { double score; uint32_t number; size_t item; };

static int
compare(const void *a, const void *b)
{
	const struct scored *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

/* The unmasked items, best first. */
static size_t
naive_order(struct bed *b, size_t u, const float *items, int masks, struct scored *order)
{
	float user[DIM];
	size_t n = 0;

	user_vector(b, u, user);
	for (size_t i = 0; i < ITEMS; i++) {
		char name[16];

		snprintf(name, sizeof name, "i%zu", i);
		const uint32_t number = catalogue_find(b->m->catalogue,
			hash_fingerprint64(name, strlen(name)));
		if (number == CATALOGUE_NONE || (masks && (b->mark[u][i] & 1)))
			continue;
		order[n] = (struct scored){ 0, number, i };
		for (size_t d = 0; d < DIM; d++)
			order[n].score += (double)user[d] * items[number * DIM + d];
		n++;
	}
	qsort(order, n, sizeof *order, compare);
	return n;
}

static void
naive_user(struct bed *b, size_t u, const float *items, int masks, struct naive *sum)
{
	struct scored order[ITEMS];
	const size_t n = naive_order(b, u, items, masks, order);
	double P = 0, ideal = 0, ideal_all = 0, dcg = 0, dcg_all = 0, hits = 0, first = 0;
	size_t rows = 0;

	for (size_t i = 0; i < ITEMS + 5; i++) {
		P += (b->mark[u][i] & 2) != 0;
		rows += (b->mark[u][i] & 6) != 0;
	}
	if (P == 0) {
		sum->left_out += rows > 0;
		return;
	}
	for (size_t r = 1; (double)r <= P; r++) {
		ideal_all += 1 / log2((double)r + 1);
		ideal += r <= K ? 1 / log2((double)r + 1) : 0;
	}
	for (size_t r = 1; r <= n; r++) {
		if (!(b->mark[u][order[r - 1].item] & 2))
			continue;
		dcg_all += 1 / log2((double)r + 1);
		if (first == 0)
			first = (double)r;
		if (r <= K) {
			dcg += 1 / log2((double)r + 1);
			hits++;
		}
	}
	sum->n++;
	sum->recall += hits / P;
	sum->hr += hits > 0;
	sum->ndcg += dcg / ideal;
	sum->ndcg_all += dcg_all / ideal_all;
	sum->mrr += first > 0 && first <= K ? 1 / first : 0;
	sum->mrr_all += first > 0 ? 1 / first : 0;
}

static struct naive
naive(struct bed *b, int masks)
{
	struct naive sum = { 0 };
	float *items;
	int finite;

	assert_int_equal(model_vector_dim(b->m), DIM);
	assert_int_equal(retrieval_items(b->w, b->m, &items, &finite), RS_OK);
	assert_true(finite);
	for (size_t u = 0; u < USERS + 5; u++)
		naive_user(b, u, items, masks, &sum);
	free(items);
	return sum;
}

static void
assert_near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-12))
		fail_msg("got %.17g, wanted %.17g", got, want);
}

static void
assert_naive(const struct metric_result *r, const struct naive *want)
{
	const double n = (double)want->n;

	assert_int_equal(r->groups, want->n + want->left_out);
	assert_int_equal(r->groups_left_out, want->left_out);
	assert_near(metric_named(r, "recall@10"), want->recall / n);
	assert_near(metric_named(r, "ndcg@10"), want->ndcg / n);
	assert_near(metric_named(r, "hr@10"), want->hr / n);
	assert_near(metric_named(r, "mrr@10"), want->mrr / n);
	assert_near(metric_named(r, "mrr"), want->mrr_all / n);
	assert_near(metric_named(r, "ndcg"), want->ndcg_all / n);
	assert_true(r->auc > 0 && r->auc < 1);
	assert_true(want->left_out >= 1 && want->recall > 0);
}

/* --- tests ------------------------------------------------------------------------ */

static void
figures_are_those_of_sorting_everything_whatever_the_threads(void **state)
{
	struct bed *const b = *state;
	const struct evaluate_options options = { 0 };
	struct metric_result r[3];

	for (size_t n = 1; n <= 3; n++) {
		make_model(b, n);
		const struct naive want = naive(b, 1);
		r[n - 1] = evaluate(b, &options);
		assert_naive(&r[n - 1], &want);
		assert_memory_equal(&r[0], &r[n - 1], sizeof r[0]);
		drop_model(b);
	}
}

static void
without_a_mask_trained_items_are_ranked_too(void **state)
{
	struct bed *const b = *state;
	const struct evaluate_options options = { .mask_nothing = 1 };

	make_model(b, 1);
	const struct naive masked = naive(b, 1), all = naive(b, 0);
	const struct metric_result r = evaluate(b, &options);
	assert_naive(&r, &all);
	assert_true(masked.recall != all.recall);
	drop_model(b);
}

static void
rows_are_ranked_when_they_are_the_candidates(void **state)
{
	struct bed *const b = *state;
	const struct evaluate_options options = { .candidates = EVALUATE_ROWS };

	make_model(b, 1);
	const struct naive all = naive(b, 1);
	const struct metric_result r = evaluate(b, &options);
	assert_true(metric_named(&r, "recall@10") > 2 * all.recall / (double)all.n);
	drop_model(b);
}

static void
a_model_without_a_catalogue_says_so(void **state)
{
	struct bed *const b = *state;
	struct evaluation *e;
	struct metric_result r;

	make_model(b, 1);
	catalogue_free(b->m->catalogue);
	b->m->catalogue = NULL;
	assert_int_equal(evaluate_open(&(struct evaluate_options){ 0 }, &e), RS_OK);
	assert_int_equal(evaluate_run(e, b->w, b->m, &r, NULL), RS_EUSAGE);
	evaluate_close(e);
	drop_model(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_of_sorting_everything_whatever_the_threads),
		cmocka_unit_test(without_a_mask_trained_items_are_ranked_too),
		cmocka_unit_test(rows_are_ranked_when_they_are_the_candidates),
		cmocka_unit_test(a_model_without_a_catalogue_says_so),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
