/*
 * Numbers of two bytes: IEEE half precision, and bfloat16, the upper half of a float.
 * Rounded to the nearest, ties to even; a finite number beyond the largest becomes the
 * largest, infinity and NaN stay.  No branches: loops of these are vectors.
 */
#ifndef BASE_HALF_H
#define BASE_HALF_H

#include <stdint.h>
#include <string.h>

#define HALF_MAX       65504.0f
#define HALF_LIMIT     65520.0f       /* nearer to infinity than to HALF_MAX, from here */
#define HALF_INFINITE  0x7f800000u    /* bits of a float: infinity, NaN above          */
#define HALF_MAX_BITS  0x477fe000u    /* of HALF_MAX                                   */
#define HALF_NORMAL    0x38800000u    /* of 2^-14, the smallest normal half            */
#define HALF_BIAS      0x38000000u    /* what exponents differ by                      */
#define HALF_BRAIN_MAX 0x7f7f0000u    /* of the largest bfloat16                       */

static inline uint32_t
half_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline float
half_float(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Infinity or NaN: what they are as a half, for bits without a sign. */
static inline uint32_t
half_other(uint32_t bits)
{
	return bits > HALF_INFINITE ? 0x7e00 : 0x7c00;
}

/* The magic number of subnormals makes the adder do their rounding. */
static inline uint16_t
half_of(float x)
{
	const uint32_t sign = half_bits(x) & 0x80000000u, all = half_bits(x) ^ sign;
	const uint32_t magic = (uint32_t)(127 - 15 + 23 - 10 + 1) << 23;
	const uint32_t finite = all > HALF_MAX_BITS ? HALF_MAX_BITS : all;
	const uint32_t normal = (finite - HALF_BIAS + 0xfff + (finite >> 13 & 1)) >> 13;
	const uint32_t tiny = half_bits(half_float(finite) + half_float(magic)) - magic;
	const uint32_t small = finite < HALF_NORMAL ? tiny : normal;

	return (uint16_t)(sign >> 16 | (all >= HALF_INFINITE ? half_other(all) : small));
}

static inline float
half_value(uint16_t half)
{
	const uint32_t all = (uint32_t)(half & 0x7fff) << 13;
	const uint32_t exponent = all & (uint32_t)0x1f << 23;
	const uint32_t normal = all + HALF_BIAS;
	const float tiny = half_float(normal + ((uint32_t)1 << 23)) - half_float(HALF_NORMAL);
	const uint32_t other = exponent == (uint32_t)0x1f << 23 ? normal + HALF_BIAS : normal;
	const uint32_t value = exponent == 0 ? half_bits(tiny) : other;

	return half_float(value | (uint32_t)(half & 0x8000) << 16);
}

static inline uint16_t
half_brain_of(float x)
{
	const uint32_t sign = half_bits(x) & 0x80000000u, all = half_bits(x) ^ sign;
	const uint32_t near = all + 0x7fff + (all >> 16 & 1);
	const uint32_t finite = near > HALF_BRAIN_MAX ? HALF_BRAIN_MAX : near;
	const uint32_t other = all > HALF_INFINITE ? 0x7fc00000u : HALF_INFINITE;

	return (uint16_t)((sign | (all >= HALF_INFINITE ? other : finite)) >> 16);
}

static inline float
half_brain_value(uint16_t half)
{
	return half_float((uint32_t)half << 16);
}

#endif
