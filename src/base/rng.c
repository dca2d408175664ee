/* Normal deviates and permutations that are functions of (key, counter). */
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "config.h"

static inline double
polynomial(const double k[8], double x)
{
	double y = k[7];

	for (int i = 6; i >= 0; i--)
		y = y * x + k[i];
	return y;
}

/* PPND16 of Wichura, "Algorithm AS 241: The Percentage Points of the Normal
 * Distribution", Applied Statistics 37 (1988); about 1 part in 10^16. */
static const double a[8] = {
	3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3,
	1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
	3.3430575583588128105e+4, 2.5090809287301226727e+3,
}, b[8] = {
	1.0, 4.2313330701600911252e+1, 6.8718700749205790830e+2,
	5.3941960214247511077e+3, 2.1213794301586595867e+4, 3.9307895800092710610e+4,
	2.8729085735721942674e+4, 5.2264952788528545610e+3,
}, c[8] = {
	1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
	3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
	2.27238449892691845833e-2, 7.74545014278341407640e-4,
}, d[8] = {
	1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
	6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
	5.47593808499534494600e-4, 1.05075007164441684324e-9,
}, e[8] = {
	6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
	2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
	2.71155556874348757815e-5, 2.01033439929228813265e-7,
}, f[8] = {
	1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
	1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
	1.42151175831644588870e-7, 2.04426310338993978564e-15,
};
#define CENTRE 0.425           /* |p - 1/2| up to which a and b hold                */

static inline double
quantile_centre(double q)
{
	const double r = 0.180625 - q * q;

	return q * polynomial(a, r) / polynomial(b, r);
}

static double
quantile_tail(double p)
{
	const double r = sqrt(-log(p < 0.5 ? p : 1 - p));
	const double x = r <= 5 ? polynomial(c, r - 1.6) / polynomial(d, r - 1.6) :
				  polynomial(e, r - 5) / polynomial(f, r - 5);

	return p < 0.5 ? -x : x;
}

static double
normal_quantile(double p)
{
	const double q = p - 0.5;

	return fabs(q) <= CENTRE ? quantile_centre(q) : quantile_tail(p);
}

double
rng_normal(uint64_t key, uint64_t counter)
{
	/* The middle of one of 2^52 intervals: never 0, never 1. */
	return normal_quantile(((double)(rng_u64(key, counter) >> 12) + 0.5) * 0x1p-52);
}

/* Deviates are made by the piece: those of the tails, every seventh, together. */
#define PIECE    256u
#define FAR      12.0          /* -log(p) of what is seldom enough to be made alone   */
#define ONE_BITS 0x3ff0000000000000u  /* of 1.0, to which 52 bits add a fraction      */

/* What p comes to if it is in the centre; and in a tail that is not far, without its sign, of
 * log(p). */
struct level {
	void (*centre)(size_t n, const double *restrict p, double *restrict x);
	void (*tail)(size_t n, const double *restrict log_p, double *restrict x);
};

#define LEVEL(isa, ...) \
	__attribute__((optimize("O3") __VA_ARGS__)) static void centre_##isa( \
		size_t n, const double *restrict p, double *restrict x) \
	{ \
		for (size_t i = 0; i < n; i++) \
			x[i] = quantile_centre(p[i] - 0.5); \
	} \
	__attribute__((optimize("O3") __VA_ARGS__)) static void tail_##isa( \
		size_t n, const double *restrict log_p, double *restrict x) \
	{ \
		for (size_t i = 0; i < n; i++) { \
			const double r = sqrt(-log_p[i]) - 1.6; \
			x[i] = polynomial(c, r) / polynomial(d, r); \
		} \
	} \
	static const struct level level_##isa = { centre_##isa, tail_##isa };

LEVEL(baseline)
#ifdef HAVE_X86_LEVELS
LEVEL(avx2, , target("avx2"))
#endif

static const struct level *
level_here(void)
{
#ifdef HAVE_X86_LEVELS
	if (__builtin_cpu_supports("avx2"))
		return &level_avx2;
#endif
	return &level_baseline;
}

/* p[i] of rng_normal(key, counter + i).  Not in vectors: those of AVX2 cannot multiply so. */
static void
draw(size_t n, uint64_t key, uint64_t counter, double *restrict p)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t bits = rng_u64(key, counter + i) >> 12 | ONE_BITS;
		double one_and;

		memcpy(&one_and, &bits, sizeof(bits));
		p[i] = (one_and - 1) + 0x1p-53;
	}
}

/* y[n] = normal_quantile(p[n]), n <= PIECE. */
static void
quantiles(const struct level *level, size_t n, const double *p, double *y)
{
	double log_p[PIECE], x[PIECE];
	unsigned tail[PIECE];
	size_t n_tails = 0;

	level->centre(n, p, y);
	for (size_t k = 0; k < n; k++) {
		tail[n_tails] = (unsigned)k;
		n_tails += fabs(p[k] - 0.5) > CENTRE;
	}
	for (size_t k = 0; k < n_tails; k++) {
		const double at = p[tail[k]];

		log_p[k] = log(at < 0.5 ? at : 1 - at);
	}
	level->tail(n_tails, log_p, x);
	for (size_t k = 0; k < n_tails; k++) {
		const double at = p[tail[k]];

		y[tail[k]] = log_p[k] < -FAR ? quantile_tail(at) : at < 0.5 ? -x[k] : x[k];
	}
}

void
rng_normal_fill(float *x, size_t n, uint64_t key, uint64_t counter, float stddev)
{
	const struct level *const level = level_here();
	double p[PIECE], y[PIECE];

	for (size_t i = 0; i < n; i += PIECE) {
		const size_t m = n - i < PIECE ? n - i : PIECE;

		draw(m, key, counter + i, p);
		quantiles(level, m, p, y);
		for (size_t k = 0; k < m; k++)
			x[i + k] = (float)(stddev * y[k]);
	}
}

void
rng_normal_rows(float *x, const struct rng_rows *rows, float stddev)
{
	const struct level *const level = level_here();
	const size_t D = rows->D, most = D > 0 && D <= PIECE ? PIECE / D : 1;
	double p[PIECE], y[PIECE];

	for (size_t i = 0, m; i < rows->n; i += m) {
		m = rows->n - i < most ? rows->n - i : most;
		if (D > PIECE) {
			rng_normal_fill(x + i * rows->stride, D,
				rng_key(rows->parent, rows->name + i), 0, stddev);
			continue;
		}
		for (size_t r = 0; r < m; r++)
			draw(D, rng_key(rows->parent, rows->name + i + r), 0, p + r * D);
		quantiles(level, m * D, p, y);
		for (size_t r = 0; r < m; r++)
			for (size_t k = 0; k < D; k++)
				x[(i + r) * rows->stride + k] = (float)(stddev * y[r * D + k]);
	}
}

enum { FEISTEL_ROUNDS = 6 };    /* even, see feistel_drawn()                      */

/* Permutation of [0, 4^half): half low bits and half high bits take turns. */
static uint64_t
feistel(uint64_t key, unsigned half, uint64_t x)
{
	const uint64_t mask = ((uint64_t)1 << half) - 1;
	uint64_t       left = x >> half, right = x & mask;

	for (uint64_t round = 0; round < FEISTEL_ROUNDS; round++) {
		const uint64_t next = left ^ (rng_u64(key + round, right) & mask);

		left = right;
		right = next;
	}
	return left << half | right;
}

/* 4^half < 4n, so that the walk back into [0,n) takes fewer than 4 steps on average. */
static unsigned
half_bits(uint64_t n)
{
	unsigned bits = 2;

	while (bits < 64 && (n - 1) >> bits != 0)
		bits += 2;
	return bits / 2;
}

uint64_t
rng_permute(uint64_t key, uint64_t n, uint64_t i)
{
	if (n <= 1)
		return 0;
	const unsigned half = half_bits(n);

	do
		i = feistel(key, half, i);
	while (i >= n);
	return i;
}

enum rs_status
rng_permutation_set(struct rng_permutation *p, uint64_t key, uint64_t n)
{
	const unsigned half = n > 1 ? half_bits(n) : 1;
	const size_t each = (size_t)1 << half;

	assert(n <= (uint64_t)1 << 32);
	if (FEISTEL_ROUNDS * each > p->capacity) {
		rng_permutation_free(p);
		RS_TRY(memory_alloc(FEISTEL_ROUNDS * each, sizeof *p->drawn, &p->drawn));
		p->capacity = FEISTEL_ROUNDS * each;
	}
	for (uint64_t round = 0; round < FEISTEL_ROUNDS; round++)
		for (uint64_t x = 0; x < each; x++)
			p->drawn[round * each + x] =
				(uint16_t)(rng_u64(key + round, x) & (each - 1));
	p->n = n;
	p->half = half;
	return RS_OK;
}

/* feistel() with what it draws at hand. */
static inline uint32_t
feistel_drawn(const struct rng_permutation *p, uint32_t x)
{
	const size_t each = (size_t)1 << p->half;
	const uint16_t *drawn = p->drawn;
	uint32_t left = x >> p->half, right = x & (uint32_t)(each - 1);

#pragma GCC unroll 8
	for (int round = 0; round < FEISTEL_ROUNDS; round += 2, drawn += 2 * each) {
		left ^= drawn[right];
		right ^= drawn[each + left];
	}
	return left << p->half | right;
}

/* So many positions go a step of their walks together: there are few that end alone. */
enum { TOGETHER = 1024 };

struct walk { uint32_t at[TOGETHER], place[TOGETHER]; };

/* One step of n walks; those that are not in [0,p->n) yet are in `next`.  How many. */
static size_t
walk_on(const struct rng_permutation *p, const struct walk *walk, size_t n,
	uint32_t *restrict out, struct walk *restrict next)
{
	size_t n_left = 0;

	for (size_t j = 0; j < n; j++) {
		const uint32_t x = feistel_drawn(p, walk->at[j]);

		out[walk->place[j]] = x;
		next->at[n_left] = x;
		next->place[n_left] = walk->place[j];
		n_left += x >= p->n;
	}
	return n_left;
}

void
rng_permutation_run(
	const struct rng_permutation *p, uint64_t first, size_t count, uint32_t *out)
{
	struct walk walk[2];

	for (size_t k = 0; k < count; k += TOGETHER) {
		const size_t n = count - k < TOGETHER ? count - k : TOGETHER;

		for (size_t j = 0; j < n; j++) {
			walk[0].at[j] = out[k + j] = (uint32_t)(first + k + j);
			walk[0].place[j] = (uint32_t)j;
		}
		size_t left = p->n > 1 ? n : 0;
		for (int turn = 0; left > 0; turn ^= 1)
			left = walk_on(p, &walk[turn], left, out + k, &walk[turn ^ 1]);
	}
}

void
rng_permutation_free(struct rng_permutation *p)
{
	free(p->drawn);
	*p = (struct rng_permutation){ .n = 0 };
}
