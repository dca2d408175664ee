/*
 * The "log" layout: who was shown what, when and where, and whether they clicked.
 *
 *   logit = bias + a[user] + b[item] + daily wave of the item + hour + device
 *         + position + price + age + <p[user], q[item]> + mean over the history
 *           of <q[h], q[item]> + drift * wandering of the item
 *
 * A linear model learns all but the last two terms; a factorization machine can
 * learn these too.  Part of the traffic goes to items that trend for six hours.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "cmd/synth.h"

#define LOG_FACTORS  4
#define LOG_WIDTH    (1 + LOG_FACTORS)
#define LOG_HISTORY  8
#define LOG_TRENDING 0.25
#define LOG_TREND_HOURS 6
#define LOG_DRIFT_HOURS 6
#define LOG_TIME_0   1767225600u            /* 2026-01-01T00:00:00Z                   */
#define LOG_NO_AGE   0.1                    /* share of rows without an age           */
#define LOG_NO_DEVICE 0.03

/* Draws of one row, by number. */
enum { DRAW_USER, DRAW_ITEM, DRAW_TREND, DRAW_DEVICE, DRAW_POSITION, DRAW_AGE_MISSING, DRAW_LABEL,
	DRAW_LENGTH, DRAW_HISTORY };
enum { ZIPF_USER, ZIPF_ITEM, ZIPF_N };
/* Names of the keys of the world. */
enum { WORLD_USER = 1, WORLD_ITEM, WORLD_ORDER, WORLD_HOUR, WORLD_PHASE, WORLD_DRIFT };

static const char *const log_device[] = { "phone", "desktop", "tablet", "tv" };
static const double log_device_effect[] = { 0.25, -0.2, 0.1, -0.7 };
#define LOG_N_DEVICES (sizeof log_device / sizeof *log_device)

static enum rs_status
log_open(struct synth_world *w)
{
	const uint64_t key = synth_key(w, WORLD_ITEM);
	size_t n;

	w->n_zipf = ZIPF_N;
	RS_TRY(memory_alloc(ZIPF_N, sizeof *w->zipf, &w->zipf));
	RS_TRY(synth_zipf_open(&w->zipf[ZIPF_USER], w->users, 0.6));
	RS_TRY(synth_zipf_open(&w->zipf[ZIPF_ITEM], w->items, 1.05));
	RS_TRY(size_mul((size_t)w->items, LOG_WIDTH, &n));
	RS_TRY(memory_alloc(n, sizeof *w->item, &w->item));
	rng_normal_fill(w->item, n, key, 0, 0.7f);
	return RS_OK;
}

static uint64_t
log_item_at(const struct synth_world *w, uint64_t rank, uint64_t order)
{
	return rng_permute(rng_key(synth_key(w, WORLD_ORDER), order), w->items, rank);
}

struct log_draw {
	uint64_t key, row, user, item, hour;
	float    taste[LOG_WIDTH];          /* of the user: bias, factors             */
	size_t   device, position, n_history;
	uint64_t history[LOG_HISTORY];
	double   price;
	int      age, has_age, has_device;
};

/* Of two items that come along a user keeps the one more to his taste. */
static void
log_draw_history(const struct synth_world *w, struct log_draw *d)
{
	d->n_history = (size_t)rng_below(d->key, DRAW_LENGTH, LOG_HISTORY + 1);
	for (size_t i = 0; i < d->n_history; i++) {
		const uint64_t counter = DRAW_HISTORY + 2 * i;
		const struct synth_zipf *z = &w->zipf[ZIPF_ITEM];
		const uint64_t a = synth_zipf_draw(z, rng_u64(d->key, counter));
		const uint64_t b = synth_zipf_draw(z, rng_u64(d->key, counter + 1));
		const uint64_t x = log_item_at(w, a, 0), y = log_item_at(w, b, 0);

		d->history[i] = synth_dot(d->taste + 1, w->item + x * LOG_WIDTH + 1, LOG_FACTORS) >=
			synth_dot(d->taste + 1, w->item + y * LOG_WIDTH + 1, LOG_FACTORS) ? x : y;
	}
}

static void
log_draw(const struct synth_world *w, uint64_t row, struct log_draw *d)
{
	uint64_t rank, order;

	d->key = rng_key(w->key, row);
	d->row = row;
	d->hour = row / w->hour_rows;
	d->user = synth_zipf_draw(&w->zipf[ZIPF_USER], rng_u64(d->key, DRAW_USER));
	rng_normal_fill(d->taste, LOG_WIDTH, rng_key(synth_key(w, WORLD_USER), d->user), 0, 0.7f);
	rank = synth_zipf_draw(&w->zipf[ZIPF_ITEM], rng_u64(d->key, DRAW_ITEM));
	order = rng_uniform(d->key, DRAW_TREND) < LOG_TRENDING ? 1 + d->hour / LOG_TREND_HOURS : 0;
	d->item = log_item_at(w, rank, order);
	d->device = (size_t)rng_below(d->key, DRAW_DEVICE, LOG_N_DEVICES);
	d->has_device = rng_uniform(rng_key(d->key, 1), DRAW_DEVICE) >= LOG_NO_DEVICE;
	d->position = 1 + (size_t)rng_below(d->key, DRAW_POSITION, 10);
	d->price = floor(exp(3 + rng_normal(synth_key(w, WORLD_ITEM), ~d->item)) * 100) / 100;
	d->age = 16 + (int)rng_below(synth_key(w, WORLD_USER), d->user, 60);
	d->has_age = rng_uniform(d->key, DRAW_AGE_MISSING) >= LOG_NO_AGE;
	log_draw_history(w, d);
}

/* Between normal numbers every LOG_DRIFT_HOURS, in straight lines. */
static double
log_drift(const struct synth_world *w, const struct log_draw *d)
{
	const double t = (double)d->row / (double)w->hour_rows / LOG_DRIFT_HOURS;
	const uint64_t key = rng_key(synth_key(w, WORLD_DRIFT), d->item), knot = (uint64_t)t;
	const double share = t - (double)knot;

	return (1 - share) * rng_normal(key, knot) + share * rng_normal(key, knot + 1);
}

static double
log_logit(const struct synth_world *w, const struct log_draw *d)
{
	const float *item = w->item + d->item * LOG_WIDTH;
	const double phase = rng_uniform(synth_key(w, WORLD_PHASE), d->item);
	const double of_day = (double)(d->hour % 24) / 24;
	double history = 0;

	for (size_t i = 0; i < d->n_history; i++)
		history += synth_dot(
			w->item + d->history[i] * LOG_WIDTH + 1, item + 1, LOG_FACTORS);
	if (d->n_history > 0)
		history /= (double)d->n_history;
	return -1.5 + 0.6 * (double)d->taste[0] + 0.7 * (double)item[0]
		+ 0.4 * sin(6.283185307179586 * (of_day + phase))
		+ 0.3 * cos(6.283185307179586 * (of_day - 0.85))
		+ (d->has_device ? log_device_effect[d->device] : 0)
		- 0.5 * log((double)d->position)
		- 0.25 * (log1p(d->price) - 3)
		+ (d->has_age ? 0.015 * (45 - d->age) : 0)
		+ 1.0 * synth_dot(d->taste + 1, item + 1, LOG_FACTORS)
		+ 0.7 * history
		+ (w->drift > 0 ? w->drift * log_drift(w, d) : 0);
}

static char *
log_price(char *out, double price)
{
	const uint64_t cents = (uint64_t)(price * 100 + 0.5);

	out = synth_digits(out, cents / 100);
	*out++ = '.';
	*out++ = (char)('0' + cents / 10 % 10);
	*out++ = (char)('0' + cents % 10);
	return out;
}

static char *
log_text(const struct synth_world *w, const struct log_draw *d, int label, char *out)
{
	const char separator = w->separator;

	*out++ = (char)('0' + label);
	*out++ = separator;
	out = synth_digits(out, LOG_TIME_0 + d->row * 3600 / w->hour_rows);
	*out++ = separator;
	out = synth_id(out, 'u', d->user);
	*out++ = separator;
	out = synth_id(out, 'i', d->item);
	*out++ = separator;
	out = synth_digits(out, d->hour % 24);
	*out++ = separator;
	if (d->has_device) {
		memcpy(out, log_device[d->device], strlen(log_device[d->device]));
		out += strlen(log_device[d->device]);
	}
	*out++ = separator;
	out = synth_digits(out, d->position);
	*out++ = separator;
	out = log_price(out, d->price);
	*out++ = separator;
	if (d->has_age)
		out = synth_digits(out, (uint64_t)d->age);
	*out++ = separator;
	for (size_t i = 0; i < d->n_history; i++) {
		if (i > 0)
			*out++ = '|';
		out = synth_id(out, 'i', d->history[i]);
	}
	*out++ = '\n';
	return out;
}

static void
log_row(const struct synth_world *w, uint64_t row, struct synth_row *out)
{
	struct log_draw d;

	log_draw(w, row, &d);
	out->logit = log_logit(w, &d);
	out->label = synth_label(out->logit, rng_uniform(d.key, DRAW_LABEL));
	out->n = (size_t)(log_text(w, &d, out->label, out->text) - out->text);
}

static enum rs_status
log_spec(const struct synth_world *w, const char *file, struct buffer *out)
{
	const uint64_t users = synth_buckets(w->users), items = synth_buckets(w->items);

	RS_TRY(buffer_printf(out,
		"# A spec for the click log that 'recsys-train synth --seed %ju' wrote.\n"
		"[model]\n"
		"type = deepfm\n\n"
		"[data]\n"
		"train = \"%s\"\n"
		"format = %s\n"
		"header = yes\n"
		"label = click\n"
		"time = time\n\n", (uintmax_t)w->seed, file, w->separator == ',' ? "csv" : "tsv"));
	RS_TRY(buffer_printf(out,
		"# who and what: %ju users, %ju items\n"
		"[field user]\ncolumn = user\ntype = categorical\nbuckets = %ju\n\n"
		"[field item]\ncolumn = item\ntype = categorical\nbuckets = %ju\n\n",
		(uintmax_t)w->users, (uintmax_t)w->items, (uintmax_t)users, (uintmax_t)items));
	RS_TRY(buffer_printf(out,
		"# when and where\n"
		"[field hour]\ncolumn = hour\ntype = categorical\nbuckets = 1024\n\n"
		"[field device]\ncolumn = device\ntype = categorical\nbuckets = 1024\n\n"
		"[field position]\ncolumn = position\ntype = categorical\nbuckets = 1024\n\n"
		"[field price]\ncolumn = price\ntype = numeric\ntransform = log1p\n\n"
		"[field age]\ncolumn = age\ntype = numeric\ntransform = standardize\n\n"));
	return buffer_printf(out,
		"# items the user clicked before; the same vectors as the item\n"
		"[field history]\ncolumn = history\ntype = multi\nmulti_separator = \"|\"\n"
		"share = item\ncombiner = mean\n\n"
		"# gradients of a mean over 1024 rows are small: so is the accumulator's start\n"
		"[embedding]\ndim = 8\noptimizer = adagrad\nlearning_rate = 0.2\n"
		"initial_accumulator = 1e-5\n\n"
		"[dnn]\nhidden = 64,32\n\n"
		"[train]\nepochs = 3\nbatch_size = 1024\nlearning_rate = 0.001\n");
}

const struct synth_layout synth_layout_log = {
	.name = "log", .open = log_open,
	.columns = "click time user item hour device position price age history",
	.row = log_row, .spec = log_spec,
};
