/* The exponential function as a polynomial that loops of vectors take in. */
#ifndef KERNEL_CPU_CPU_EXP_H
#define KERNEL_CPU_CPU_EXP_H

#include <stdint.h>
#include <string.h>

/* e^x for x <= 0 by 2^n times a polynomial of the rest (Cephes expf), 2 ulp;
 * below -87 it is e^-87, which is as good as 0 beside 1. */
static inline float
exp_negative(float x)
{
	const float clipped = x < -87.0f ? -87.0f : x;     /* NaN stays and comes out   */
	const float number = x > -87.0f ? x : -87.0f;      /* NaN has no whole part     */
	const float n = __builtin_floorf(number * 1.44269504f + 0.5f);
	const float r = clipped - n * 0.693359375f + n * 2.12194440e-4f;
	float p = 1.9875691500e-4f;
	const uint32_t bits = (uint32_t)((int)n + 127) << 23;
	float power;

	p = p * r + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	memcpy(&power, &bits, sizeof(power));
	return (p * r * r + r + 1) * power;
}

#endif
