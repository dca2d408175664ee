/*
 * Text to bucket in the inner loop of the parsers: Fingerprint64 of up to 16
 * bytes inline (the same function as hash_fingerprint64, which takes the rest)
 * and the remainder by a fixed divisor without a division: with the reciprocal
 * rounded down the quotient is right or one too small, for every 64-bit value.
 */
#ifndef DATA_ID_HASH_H
#define DATA_ID_HASH_H

#include <stdint.h>
#include <string.h>

#include "base/hash.h"

struct id_divisor {
	uint64_t d;
	uint64_t inverse;              /* floor((2^64 - 1) / d)                   */
};

static inline struct id_divisor
id_divisor_make(uint64_t d)
{
	return (struct id_divisor){ .d = d, .inverse = UINT64_MAX / d };
}

static inline uint64_t
id_remainder(uint64_t x, const struct id_divisor *by)
{
	const uint64_t quotient = (uint64_t)((unsigned __int128)x * by->inverse >> 64);
	const uint64_t rest = x - quotient * by->d;

	return rest >= by->d ? rest - by->d : rest;
}

#define ID_K0 0xc3a5c85c97cb3127u
#define ID_K2 0x9ae16a3b2f90404fu

static inline uint64_t
id_rotate(uint64_t x, int n)
{
	return x >> n | x << (64 - n);
}

static inline uint64_t
id_load64(const char *s)
{
	uint64_t x;

	memcpy(&x, s, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x;
}

static inline uint64_t
id_load32(const char *s)
{
	uint32_t x;

	memcpy(&x, s, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap32(x);
#endif
	return x;
}

static inline uint64_t
id_hash16(uint64_t u, uint64_t v, uint64_t m)
{
	uint64_t a = (u ^ v) * m, b;

	a ^= a >> 47;
	b = (v ^ a) * m;
	b ^= b >> 47;
	return b * m;
}

static inline uint64_t
id_fingerprint(const char *s, size_t n)
{
	const uint64_t m = ID_K2 + 2 * n;

	if (n >= 8 && n <= 16) {
		const uint64_t a = id_load64(s) + ID_K2, b = id_load64(s + n - 8);
		const uint64_t c = id_rotate(b, 37) * m + a, d = (id_rotate(a, 25) + b) * m;

		return id_hash16(c, d, m);
	}
	if (n >= 4 && n < 8)
		return id_hash16(n + (id_load32(s) << 3), id_load32(s + n - 4), m);
	if (n >= 1 && n < 4) {
		const uint32_t y = (uint8_t)s[0] + ((uint32_t)(uint8_t)s[n / 2] << 8);
		const uint32_t z = (uint32_t)n + ((uint32_t)(uint8_t)s[n - 1] << 2);
		uint64_t h = y * ID_K2 ^ z * ID_K0;

		h ^= h >> 47;
		return h * ID_K2;
	}
	return hash_fingerprint64(s, n);
}

static inline uint64_t
id_bucket(const char *s, size_t n, const struct id_divisor *buckets)
{
	return id_remainder(id_fingerprint(s, n), buckets);
}

#endif
