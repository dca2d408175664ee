/* What the layouts of synth share: skewed ids, digits and labels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "cmd/synth.h"

#define ZIPF_BITS  12
#define ZIPF_KNOTS (1u << ZIPF_BITS)

/* The continuous power law on [1, n+1), inverted at knots and joined by lines:
 * x(u) = (1 + u ((n+1)^(1-s) - 1))^(1/(1-s)). */
enum rs_status
synth_zipf_open(struct synth_zipf *z, uint64_t n, double s)
{
	const double e = 1 - s, top = pow((double)n + 1, e) - 1;

	z->n = n;
	RS_TRY(memory_alloc(ZIPF_KNOTS + 1, sizeof *z->knot, &z->knot));
	for (size_t i = 0; i <= ZIPF_KNOTS; i++)
		z->knot[i] = pow(1 + top * (double)i / ZIPF_KNOTS, 1 / e) - 1;
	return RS_OK;
}

uint64_t
synth_zipf_draw(const struct synth_zipf *z, uint64_t random)
{
	const size_t i = (size_t)(random >> (64 - ZIPF_BITS));
	const double part = (double)(random << ZIPF_BITS >> 11) * 0x1p-53;
	const double x = z->knot[i] + part * (z->knot[i + 1] - z->knot[i]);
	const uint64_t id = (uint64_t)x;

	return id < z->n ? id : z->n - 1;
}

char *
synth_digits(char *out, uint64_t x)
{
	char digits[20];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + x % 10);
		x /= 10;
	} while (x > 0);
	while (n > 0)
		*out++ = digits[--n];
	return out;
}

char *
synth_id(char *out, char kind, uint64_t id)
{
	*out++ = kind;
	return synth_digits(out, id);
}

double
synth_dot(const float *p, const float *q, size_t n)
{
	double sum = 0;

	for (size_t k = 0; k < n; k++)
		sum += (double)p[k] * (double)q[k];
	return sum;
}

uint64_t
synth_key(const struct synth_world *w, uint64_t name)
{
	return rng_key(rng_key(w->seed, RNG_SYNTH), name);
}

uint64_t
synth_buckets(uint64_t n)
{
	uint64_t buckets = 1024;

	while (buckets < 4 * n && buckets < (uint64_t)1 << 26)
		buckets *= 2;
	return buckets;
}

int
synth_label(double logit, double u)
{
	return u < 1 / (1 + exp(-logit));
}
