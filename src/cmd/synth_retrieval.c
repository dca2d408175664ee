/*
 * The "retrieval" layout: what users took, of all items; every row is positive.
 *
 *   P(item | user) ~ popularity of the item * exp(1.2 <p[user], q[item]>)
 *
 * p is a vector of the user plus one of the user's country, q one of the item plus
 * one of its category, so that features help where ids are rare.  An item is drawn
 * by the Gumbel maximum over some that come along by popularity.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "cmd/synth.h"

#define RETRIEVAL_FACTORS    6
#define RETRIEVAL_WIDTH      (1 + RETRIEVAL_FACTORS)   /* log popularity, q           */
#define RETRIEVAL_CANDIDATES 48
#define RETRIEVAL_COUNTRIES  8
#define RETRIEVAL_CATEGORIES 20
#define RETRIEVAL_SLOPE      0.7                       /* of the popularity           */
#define RETRIEVAL_SCALE      1.2
#define RETRIEVAL_TIME_0     1767225600u               /* 2026-01-01T00:00:00Z        */

/* Draws of one row, by number; two for each candidate. */
enum { DRAW_USER, DRAW_CANDIDATE };
enum { ZIPF_USER, ZIPF_ITEM, ZIPF_N };
enum { WORLD_USER = 1, WORLD_ITEM, WORLD_COUNTRY, WORLD_CATEGORY };

/* n numbers of a vector that is half the id's own and half its class's. */
static void
retrieval_vector(const struct synth_world *w, uint64_t name, uint64_t id, uint64_t class_name,
	uint64_t class_id, float *out)
{
	float common[RETRIEVAL_FACTORS];

	rng_normal_fill(out, RETRIEVAL_FACTORS, rng_key(synth_key(w, name), id), 0, 0.7f);
	rng_normal_fill(common, RETRIEVAL_FACTORS, rng_key(synth_key(w, class_name), class_id), 0,
		0.7f);
	for (size_t k = 0; k < RETRIEVAL_FACTORS; k++)
		out[k] += common[k];
}

static uint64_t
retrieval_category(const struct synth_world *w, uint64_t item)
{
	return rng_below(synth_key(w, WORLD_CATEGORY), ~item, RETRIEVAL_CATEGORIES);
}

static uint64_t
retrieval_country(const struct synth_world *w, uint64_t user)
{
	return rng_below(synth_key(w, WORLD_COUNTRY), ~user, RETRIEVAL_COUNTRIES);
}

static enum rs_status
retrieval_open(struct synth_world *w)
{
	size_t n;

	w->n_zipf = ZIPF_N;
	RS_TRY(memory_alloc(ZIPF_N, sizeof *w->zipf, &w->zipf));
	RS_TRY(synth_zipf_open(&w->zipf[ZIPF_USER], w->users, 0.4));
	RS_TRY(synth_zipf_open(&w->zipf[ZIPF_ITEM], w->items, RETRIEVAL_SLOPE));
	RS_TRY(size_mul((size_t)w->items, RETRIEVAL_WIDTH, &n));
	RS_TRY(memory_alloc(n, sizeof *w->item, &w->item));
	for (uint64_t i = 0; i < w->items; i++) {
		float *item = w->item + i * RETRIEVAL_WIDTH;

		item[0] = (float)(-RETRIEVAL_SLOPE * log((double)i + 1));
		retrieval_vector(w, WORLD_ITEM, i, WORLD_CATEGORY, retrieval_category(w, i),
			item + 1);
	}
	return RS_OK;
}

static double
retrieval_taste(const float *user, const float *item)
{
	return RETRIEVAL_SCALE * synth_dot(user, item + 1, RETRIEVAL_FACTORS);
}

static uint64_t
retrieval_draw_item(const struct synth_world *w, uint64_t key, const float *user)
{
	uint64_t best = 0;
	double best_score = -INFINITY;

	for (uint64_t c = 0; c < RETRIEVAL_CANDIDATES; c++) {
		const uint64_t item = synth_zipf_draw(&w->zipf[ZIPF_ITEM],
			rng_u64(key, DRAW_CANDIDATE + 2 * c));
		const double u = rng_uniform(key, DRAW_CANDIDATE + 2 * c + 1);
		const double score = retrieval_taste(user, w->item + item * RETRIEVAL_WIDTH) -
			log(-log(u + 0x1p-54));

		if (score > best_score) {
			best_score = score;
			best = item;
		}
	}
	return best;
}

/* Items that the truth would rather give to the user. */
static uint64_t
retrieval_rank(const struct synth_world *w, const float *user, uint64_t taken)
{
	const float *of = w->item + taken * RETRIEVAL_WIDTH;
	const double score = (double)of[0] + retrieval_taste(user, of);
	uint64_t rank = 0;

	for (uint64_t i = 0; i < w->items; i++) {
		const float *item = w->item + i * RETRIEVAL_WIDTH;

		rank += (double)item[0] + retrieval_taste(user, item) > score;
	}
	return rank;
}

static void
retrieval_row(const struct synth_world *w, uint64_t row, struct synth_row *out)
{
	const uint64_t key = rng_key(w->key, row);
	const uint64_t user = synth_zipf_draw(&w->zipf[ZIPF_USER], rng_u64(key, DRAW_USER));
	const uint64_t country = retrieval_country(w, user);
	const char separator = w->separator;
	float taste[RETRIEVAL_FACTORS];
	char *end = out->text;
	uint64_t item;

	retrieval_vector(w, WORLD_USER, user, WORLD_COUNTRY, country, taste);
	item = retrieval_draw_item(w, key, taste);
	out->label = 1;
	out->logit = NAN;
	out->is_ranked = row % (1 + w->items / 1000) == 0;
	out->rank = out->is_ranked ? retrieval_rank(w, taste, item) : 0;
	*end++ = '1';
	*end++ = separator;
	end = synth_digits(end, RETRIEVAL_TIME_0 + row * 3600 / w->hour_rows);
	*end++ = separator;
	end = synth_id(end, 'u', user);
	*end++ = separator;
	end = synth_digits(end, 16 + rng_below(synth_key(w, WORLD_USER), user, 60));
	*end++ = separator;
	end = synth_id(end, 'l', country);
	*end++ = separator;
	end = synth_id(end, 'i', item);
	*end++ = separator;
	end = synth_id(end, 'c', retrieval_category(w, item));
	*end++ = '\n';
	out->n = (size_t)(end - out->text);
}

static enum rs_status
retrieval_spec(const struct synth_world *w, const char *file, struct buffer *out)
{
	const uint64_t users = synth_buckets(w->users), items = synth_buckets(w->items);

	RS_TRY(buffer_printf(out,
		"# A spec for the log that 'recsys-train synth --layout retrieval --seed %ju'\n"
		"# wrote.\n"
		"[model]\ntype = two_tower\nloss = softmax\n\n"
		"[data]\ntrain = \"%s\"\nformat = %s\nheader = yes\nlabel = taken\ntime = time\n"
		"group = user\n\n",
		(uintmax_t)w->seed, file, w->separator == ',' ? "csv" : "tsv"));
	RS_TRY(buffer_printf(out,
		"[field user]\nbuckets = %ju\n\n[field age]\ntype = numeric\n"
		"transform = standardize\n\n[field country]\nbuckets = 1024\n\n"
		"[field item]\nbuckets = %ju\n\n[field category]\nbuckets = 1024\n\n",
		(uintmax_t)users, (uintmax_t)items));
	return buffer_printf(out,
		"[tower user]\nfields = user,age,country\nhidden = 64,32\n\n"
		"[tower item]\nfields = item,category\nhidden = 64,32\n\n"
		"# items of the batch are the negatives; those that are frequent there count less\n"
		"[two_tower]\nsimilarity = cosine\ntemperature = 0.1\nlogq = yes\n\n"
		"[items]\nkey = item\n\n"
		"[eval]\nmetrics = recall@20,ndcg@20\ncandidates = catalogue\nmask_seen = no\n\n"
		"[embedding]\ndim = 16\noptimizer = adagrad\nlearning_rate = 0.1\n"
		"initial_accumulator = 1e-5\ninit_stddev = 0.05\n\n"
		"[train]\nepochs = 3\nbatch_size = 512\nlearning_rate = 0.002\n"
		"monitor = ndcg@20\n");
}

const struct synth_layout synth_layout_retrieval = {
	.name = "retrieval", .open = retrieval_open,
	.columns = "taken time user age country item category",
	.row = retrieval_row, .spec = retrieval_spec,
};
