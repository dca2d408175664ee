/*
 * The "sequence" layout: who was shown what, and the items and categories that the
 * user clicked before, oldest first.
 *
 *   logit = bias + 0.4 a[user] + 0.5 b[item] + device
 *         + 1.6 log1p(sum over the history of [same category] (1 + tanh(<q[h], q[item]>) / 2))
 *
 * What counts of a history depends on the item that is shown: an attention finds
 * it, a mean of the vectors blurs it.  A user clicks mostly in three categories.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "cmd/synth.h"

#define SEQUENCE_FACTORS   4
#define SEQUENCE_WIDTH     (1 + SEQUENCE_FACTORS)
#define SEQUENCE_HISTORY   30               /* at most                                */
#define SEQUENCE_INTERESTS 3
#define SEQUENCE_FAITHFUL  0.7              /* clicks of a history in the interests   */
#define SEQUENCE_SHOWN     0.4              /* items shown that are in them           */
#define SEQUENCE_TIME_0    1767225600u      /* 2026-01-01T00:00:00Z                   */

/* Draws of one row, by number; of an item: interest or not, which, item. */
enum { DRAW_USER, DRAW_DEVICE, DRAW_LABEL, DRAW_LENGTH, DRAW_ITEM, DRAW_HISTORY = DRAW_ITEM + 3 };
enum { ZIPF_USER, ZIPF_ITEM, ZIPF_IN_CATEGORY, ZIPF_N };
enum { WORLD_USER = 1, WORLD_ITEM };

static const char *const sequence_device[] = { "phone", "desktop", "tablet" };
static const double sequence_device_effect[] = { 0.2, -0.2, 0.1 };
#define SEQUENCE_N_DEVICES (sizeof sequence_device / sizeof *sequence_device)

/* Item i is in category i mod this. */
static uint64_t
sequence_categories(const struct synth_world *w)
{
	return 2 + w->items / 8 < 500 ? 2 + w->items / 8 : 500;
}

static enum rs_status
sequence_open(struct synth_world *w)
{
	const uint64_t in_category = w->items / sequence_categories(w);
	size_t n;

	w->n_zipf = ZIPF_N;
	RS_TRY(memory_alloc(ZIPF_N, sizeof *w->zipf, &w->zipf));
	RS_TRY(synth_zipf_open(&w->zipf[ZIPF_USER], w->users, 0.6));
	RS_TRY(synth_zipf_open(&w->zipf[ZIPF_ITEM], w->items, 1.05));
	RS_TRY(synth_zipf_open(&w->zipf[ZIPF_IN_CATEGORY], in_category > 0 ? in_category : 1,
		0.8));
	RS_TRY(size_mul((size_t)w->items, SEQUENCE_WIDTH, &n));
	RS_TRY(memory_alloc(n, sizeof *w->item, &w->item));
	rng_normal_fill(w->item, n, synth_key(w, WORLD_ITEM), 0, 0.7f);
	return RS_OK;
}

struct sequence_draw {
	uint64_t key, row, user, item;
	size_t   device, n_history;
	uint64_t history[SEQUENCE_HISTORY];
};

/* An item of one of the user's categories, or of any. */
static uint64_t
sequence_draw_item(const struct synth_world *w, const struct sequence_draw *d, uint64_t counter,
	double faithful)
{
	const uint64_t n = sequence_categories(w);
	const uint64_t interest = rng_key(synth_key(w, WORLD_USER), d->user);
	const uint64_t which = 1 + rng_below(d->key, counter + 1, SEQUENCE_INTERESTS);
	const uint64_t random = rng_u64(d->key, counter + 2);
	uint64_t item;

	if (rng_uniform(d->key, counter) >= faithful)
		return synth_zipf_draw(&w->zipf[ZIPF_ITEM], random);
	item = rng_below(interest, which, n) +
		n * synth_zipf_draw(&w->zipf[ZIPF_IN_CATEGORY], random);
	return item < w->items ? item : item % w->items;
}

static void
sequence_draw_row(const struct synth_world *w, uint64_t row, struct sequence_draw *d)
{
	d->key = rng_key(w->key, row);
	d->row = row;
	d->user = synth_zipf_draw(&w->zipf[ZIPF_USER], rng_u64(d->key, DRAW_USER));
	d->device = (size_t)rng_below(d->key, DRAW_DEVICE, SEQUENCE_N_DEVICES);
	d->item = sequence_draw_item(w, d, DRAW_ITEM, SEQUENCE_SHOWN);
	d->n_history = (size_t)rng_below(d->key, DRAW_LENGTH, SEQUENCE_HISTORY + 1);
	for (size_t i = 0; i < d->n_history; i++)
		d->history[i] = sequence_draw_item(w, d, DRAW_HISTORY + 3 * i, SEQUENCE_FAITHFUL);
}

static double
sequence_logit(const struct synth_world *w, const struct sequence_draw *d)
{
	const uint64_t n = sequence_categories(w);
	const float *item = w->item + d->item * SEQUENCE_WIDTH;
	double matches = 0;

	for (size_t i = 0; i < d->n_history; i++) {
		const float *h = w->item + d->history[i] * SEQUENCE_WIDTH;

		if (d->history[i] % n == d->item % n)
			matches += 1 + 0.5 * tanh(synth_dot(h + 1, item + 1, SEQUENCE_FACTORS));
	}
	return -2.2 + 0.4 * rng_normal(synth_key(w, WORLD_USER), d->user) + 0.5 * (double)item[0]
		+ sequence_device_effect[d->device] + 1.6 * log1p(matches);
}

static char *
sequence_list(const struct sequence_draw *d, char kind, uint64_t modulus, char *out)
{
	for (size_t i = 0; i < d->n_history; i++) {
		if (i > 0)
			*out++ = '|';
		out = synth_id(out, kind, modulus > 0 ? d->history[i] % modulus : d->history[i]);
	}
	return out;
}

static char *
sequence_text(const struct synth_world *w, const struct sequence_draw *d, int label, char *out)
{
	const char separator = w->separator;
	const uint64_t n = sequence_categories(w);

	*out++ = (char)('0' + label);
	*out++ = separator;
	out = synth_digits(out, SEQUENCE_TIME_0 + d->row * 3600 / w->hour_rows);
	*out++ = separator;
	out = synth_id(out, 'u', d->user);
	*out++ = separator;
	out = synth_id(out, 'i', d->item);
	*out++ = separator;
	out = synth_id(out, 'c', d->item % n);
	*out++ = separator;
	memcpy(out, sequence_device[d->device], strlen(sequence_device[d->device]));
	out += strlen(sequence_device[d->device]);
	*out++ = separator;
	out = sequence_list(d, 'i', 0, out);
	*out++ = separator;
	out = sequence_list(d, 'c', n, out);
	*out++ = '\n';
	return out;
}

static void
sequence_row(const struct synth_world *w, uint64_t row, struct synth_row *out)
{
	struct sequence_draw d;

	sequence_draw_row(w, row, &d);
	out->logit = sequence_logit(w, &d);
	out->label = synth_label(out->logit, rng_uniform(d.key, DRAW_LABEL));
	out->n = (size_t)(sequence_text(w, &d, out->label, out->text) - out->text);
}

static enum rs_status
sequence_spec(const struct synth_world *w, const char *file, struct buffer *out)
{
	const uint64_t items = synth_buckets(w->items), users = synth_buckets(w->users);
	const uint64_t categories = synth_buckets(sequence_categories(w));

	RS_TRY(buffer_printf(out,
		"# A spec for the log that 'recsys-train synth --layout sequence --seed %ju'\n"
		"# wrote.\n"
		"# -o din.pooling=mean shows what the attention brings.\n"
		"[model]\ntype = din\n\n"
		"[data]\ntrain = \"%s\"\nformat = %s\nheader = yes\nlabel = click\ntime = time\n"
		"group = user\n\n",
		(uintmax_t)w->seed, file, w->separator == ',' ? "csv" : "tsv"));
	RS_TRY(buffer_printf(out,
		"[field user]\nbuckets = %ju\n\n"
		"[field device]\nbuckets = 1024\n\n"
		"# what is shown\n"
		"[field item]\nbuckets = %ju\n\n"
		"[field category]\nbuckets = %ju\n\n",
		(uintmax_t)users, (uintmax_t)items, (uintmax_t)categories));
	return buffer_printf(out,
		"# what was clicked before, item by item; the same vectors as what is shown\n"
		"[field clicked_items]\ntype = sequence\nshare = item\nmax_length = 50\n\n"
		"[field clicked_categories]\ntype = sequence\nshare = category\nmax_length = 50\n\n"
		"# gradients of a mean over 1024 rows are small: so is the accumulator's start\n"
		"[embedding]\ndim = 8\noptimizer = adagrad\nlearning_rate = 0.1\n"
		"initial_accumulator = 1e-5\ninit_stddev = 0.05\n\n"
		"[din]\nattention = 32\nactivation = prelu\n\n"
		"[dnn]\nhidden = 64,32\n\n"
		"[train]\nepochs = 3\nbatch_size = 1024\nlearning_rate = 0.002\n");
}

const struct synth_layout synth_layout_sequence = {
	.name = "sequence", .open = sequence_open,
	.columns = "click time user item category device clicked_items clicked_categories",
	.row = sequence_row,
	.spec = sequence_spec,
};
