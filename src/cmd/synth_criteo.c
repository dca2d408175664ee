/*
 * The "criteo" layout: label, 13 counts, 26 hexadecimal ids, tab separated, no
 * header, with about the cardinalities and blanks of the Kaggle display
 * advertising data.  The truth is a factorization machine over the 26 ids plus
 * the logarithms of the counts.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "cmd/synth.h"

#define CRITEO_FACTORS 3
#define CRITEO_EXPONENT 1.05

struct criteo_id { uint32_t n; float missing; };
struct criteo_count { uint32_t n; float missing; float effect; };

static const struct criteo_id criteo_id[] = {
	{ 1460, 0 }, { 583, 0 }, { 10131227, .034f }, { 2202608, .034f }, { 305, 0 }, { 24, .12f },
	{ 12517, 0 }, { 633, 0 }, { 3, 0 }, { 93145, 0 }, { 5683, 0 }, { 8351593, .034f },
	{ 3194, 0 }, { 27, 0 }, { 14992, 0 }, { 5461306, .034f }, { 10, 0 }, { 5652, 0 },
	{ 2173, .44f }, { 4, .44f }, { 7046547, .034f }, { 18, .76f }, { 15, 0 },
	{ 286181, .034f }, { 105, .44f }, { 142572, .44f },
};
static const struct criteo_count criteo_count[] = {
	{ 5000, .45f, .15f }, { 20000, 0, .05f }, { 60000, .21f, -.05f }, { 900, .22f, -.08f },
	{ 1000000, .03f, -.04f }, { 200000, .22f, -.05f }, { 20000, .04f, .08f },
	{ 5000, .0005f, .02f }, { 20000, .04f, .02f }, { 10, .45f, .2f }, { 200, .04f, .1f },
	{ 3000, .77f, .05f }, { 7000, .22f, -.06f },
};
#define N_IDS    (sizeof criteo_id / sizeof *criteo_id)
#define N_COUNTS (sizeof criteo_count / sizeof *criteo_count)

/* Draws of one row: the label, then per column a value and a blank. */
#define DRAW_LABEL 0
#define DRAW_COUNT 1
#define DRAW_ID    (DRAW_COUNT + N_COUNTS)

static enum rs_status
criteo_open(struct synth_world *w)
{
	RS_TRY(memory_alloc(N_IDS + N_COUNTS, sizeof *w->zipf, &w->zipf));
	for (; w->n_zipf < N_IDS; w->n_zipf++)
		RS_TRY(synth_zipf_open(&w->zipf[w->n_zipf], criteo_id[w->n_zipf].n,
			CRITEO_EXPONENT));
	for (; w->n_zipf < N_IDS + N_COUNTS; w->n_zipf++)
		RS_TRY(synth_zipf_open(&w->zipf[w->n_zipf], criteo_count[w->n_zipf - N_IDS].n,
			1.2));
	w->separator = '\t';
	return RS_OK;
}

/* A bijection of 32 bits (the finaliser of MurmurHash3): distinct ids stay so. */
static uint32_t
criteo_scatter(uint32_t x)
{
	x = (x ^ (x >> 16)) * 0x85ebca6bu;
	x = (x ^ (x >> 13)) * 0xc2b2ae35u;
	return x ^ (x >> 16);
}

static char *
criteo_hex(char *out, uint32_t x)
{
	for (int shift = 28; shift >= 0; shift -= 4)
		*out++ = "0123456789abcdef"[(x >> shift) & 15];
	return out;
}

/* 16 bits of a hash as a number in [-1,1). */
static double
criteo_effect(uint64_t hash, unsigned part)
{
	return (double)(int16_t)(hash >> (16 * part)) * 0x1p-15;
}

struct criteo_sums { double linear, sum[CRITEO_FACTORS], square; };

static void
criteo_add_id(struct criteo_sums *s, uint64_t hash)
{
	s->linear += criteo_effect(hash, 0);
	for (unsigned k = 0; k < CRITEO_FACTORS; k++) {
		const double v = criteo_effect(hash, k + 1);

		s->sum[k] += v;
		s->square += v * v;
	}
}

static double
criteo_logit(const struct criteo_sums *s, double counts)
{
	double pairs = -s->square;

	for (size_t k = 0; k < CRITEO_FACTORS; k++)
		pairs += s->sum[k] * s->sum[k];
	return -1.6 + counts + 0.25 * s->linear + 0.5 * 0.13 * pairs;
}

/* Is this cell of the row blank?  The value takes the upper bits of the draw. */
static int
criteo_blank(uint64_t random, float share)
{
	return share > 0 && (double)(hash_mix(random) >> 40) * 0x1p-24 < (double)share;
}

static char *
criteo_counts(const struct synth_world *w, uint64_t key, char *out, double *effect)
{
	for (size_t i = 0; i < N_COUNTS; i++) {
		const uint64_t random = rng_u64(key, DRAW_COUNT + i);
		uint64_t x;

		*out++ = '\t';
		if (criteo_blank(random, criteo_count[i].missing))
			continue;
		x = synth_zipf_draw(&w->zipf[N_IDS + i], random);
		/* the position of its highest bit is logarithm enough for a truth */
		*effect += (double)criteo_count[i].effect * 0.7 *
			(double)(64 - __builtin_clzll(x + 1));
		out = synth_digits(out, x);
	}
	return out;
}

static char *
criteo_ids(const struct synth_world *w, uint64_t key, char *out, struct criteo_sums *sums)
{
	for (size_t i = 0; i < N_IDS; i++) {
		const uint64_t random = rng_u64(key, DRAW_ID + i);
		uint32_t id;

		*out++ = '\t';
		if (criteo_blank(random, criteo_id[i].missing))
			continue;
		id = (uint32_t)synth_zipf_draw(&w->zipf[i], random);
		criteo_add_id(sums, rng_u64(w->seed + i, id));
		out = criteo_hex(out, criteo_scatter(id ^ (uint32_t)(0x9e3779b9u * (i + 1))));
	}
	return out;
}

static void
criteo_row(const struct synth_world *w, uint64_t row, struct synth_row *out)
{
	const uint64_t key = rng_key(w->key, row);
	struct criteo_sums sums = { .linear = 0 };
	double counts = 0;
	char *end = criteo_counts(w, key, out->text + 1, &counts);

	end = criteo_ids(w, key, end, &sums);
	*end++ = '\n';
	out->logit = criteo_logit(&sums, counts);
	out->label = synth_label(out->logit, rng_uniform(key, DRAW_LABEL));
	out->text[0] = (char)('0' + out->label);
	out->n = (size_t)(end - out->text);
}

static enum rs_status
criteo_spec(const struct synth_world *w, const char *file, struct buffer *out)
{
	RS_TRY(buffer_printf(out,
		"# A spec for the log that 'recsys-train synth --layout criteo --seed %ju'\n"
		"# wrote.\n"
		"[model]\n"
		"type = deepfm\n\n"
		"[data]\n"
		"train = \"%s\"\n"
		"format = tsv\n"
		"header = no\n"
		"label = 1\n\n", (uintmax_t)w->seed, file));
	return buffer_printf(out,
		"[field I1..I13]\ncolumn = 2..14\ntype = numeric\ntransform = log1p\n\n"
		"[field C1..C26]\ncolumn = 15..40\ntype = categorical\nbuckets = 100000\n\n"
		"[embedding]\ndim = 16\noptimizer = adagrad\nlearning_rate = 0.02\n\n"
		"[dnn]\nhidden = 400,400,400\n\n"
		"[train]\nepochs = 1\nbatch_size = 4096\noptimizer = adam\n"
		"learning_rate = 0.001\n");
}

const struct synth_layout synth_layout_criteo = {
	.name = "criteo", .open = criteo_open, .row = criteo_row,
	.spec = criteo_spec,
};
