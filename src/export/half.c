/* IEEE half precision. */
#include "export/half.h"

#include <math.h>
#include <string.h>

#define INFINITE  0x7f800000u
#define TOO_LARGE 0x47800000u          /* 65536                                    */
#define NORMAL    0x38800000u          /* 2^-14                                    */

uint16_t
half_of(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof u);
	const uint32_t sign = u >> 16 & 0x8000;

	u &= 0x7fffffff;
	if (u >= TOO_LARGE)
		return (uint16_t)(sign | (u > INFINITE ? 0x7e00 : 0x7c00));
	if (u < NORMAL)
		return (uint16_t)(sign | (uint32_t)lrint(fabs((double)x) * 0x1p24));
	u += 0xfff + (u >> 13 & 1);
	return (uint16_t)(sign | (u - 0x38000000u) >> 13);
}

double
half_value(uint16_t h)
{
	const int exponent = h >> 10 & 31, mantissa = h & 0x3ff;
	double x;

	if (exponent == 31)
		x = mantissa != 0 ? (double)NAN : (double)INFINITY;
	else
		x = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
	return h & 0x8000 ? -x : x;
}
