/*
 * FarmHash Fingerprint64 (variant "na"), the feature-cross combiner, CRC32C.
 *
 * The fingerprint is a C rendering of FarmHash, whose notice is:
 *
 * Copyright (c) 2014 Google, Inc.
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy
 * of this software and associated documentation files (the "Software"), to deal
 * in the Software without restriction, including without limitation the rights
 * to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 * copies of the Software, and to permit persons to whom the Software is
 * furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in
 * all copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
 * IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
 * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
 * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
 * THE SOFTWARE.
 */
#include "base/hash.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

static const uint64_t K0 = 0xc3a5c85c97cb3127u;
static const uint64_t K1 = 0xb492b66fbe98f273u;
static const uint64_t K2 = 0x9ae16a3b2f90404fu;

static inline uint64_t
load8(const unsigned char *s)
{
	uint64_t x;

	memcpy(&x, s, sizeof(x));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x;
}

static inline uint64_t
load4(const unsigned char *s)
{
	uint32_t x;

	memcpy(&x, s, sizeof(x));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap32(x);
#endif
	return x;
}

static inline uint64_t
rotate(uint64_t x, int by)
{
	return (x >> by) | (x << (64 - by));
}

static inline uint64_t
shift_mix(uint64_t x)
{
	return x ^ (x >> 47);
}

static inline uint64_t
hash16(uint64_t u, uint64_t v, uint64_t mul)
{
	const uint64_t a = shift_mix((u ^ v) * mul);

	return shift_mix((v ^ a) * mul) * mul;
}

static inline uint64_t
length_0_to_16(const unsigned char *s, size_t n)
{
	const uint64_t mul = K2 + n * 2;

	if (n >= 8) {
		const uint64_t a = load8(s) + K2, b = load8(s + n - 8);

		return hash16(rotate(b, 37) * mul + a, (rotate(a, 25) + b) * mul, mul);
	}
	if (n >= 4)
		return hash16(n + (load4(s) << 3), load4(s + n - 4), mul);
	if (n > 0) {
		const uint32_t y = s[0] + ((uint32_t)s[n / 2] << 8);
		const uint32_t z = (uint32_t)n + ((uint32_t)s[n - 1] << 2);

		return shift_mix(y * K2 ^ z * K0) * K2;
	}
	return K2;
}

static inline uint64_t
length_17_to_32(const unsigned char *s, size_t n)
{
	const uint64_t mul = K2 + n * 2;
	const uint64_t a = load8(s) * K1, b = load8(s + 8);
	const uint64_t c = load8(s + n - 8) * mul, d = load8(s + n - 16) * K2;

	return hash16(rotate(a + b, 43) + rotate(c, 30) + d, a + rotate(b + K2, 18) + c, mul);
}

static uint64_t
length_33_to_64(const unsigned char *s, size_t n)
{
	const uint64_t mul = K2 + n * 2;
	const uint64_t a = load8(s) * K2, b = load8(s + 8);
	const uint64_t c = load8(s + n - 8) * mul, d = load8(s + n - 16) * K2;
	const uint64_t y = rotate(a + b, 43) + rotate(c, 30) + d;
	const uint64_t z = hash16(y, a + rotate(b + K2, 18) + c, mul);
	const uint64_t e = load8(s + 16) * mul, f = load8(s + 24);
	const uint64_t g = (y + load8(s + n - 32)) * mul, h = (z + load8(s + n - 24)) * mul;

	return hash16(rotate(e + f, 43) + rotate(g, 30) + h, e + rotate(f + a, 18) + g, mul);
}

struct state {
	uint64_t x, y, z, v0, v1, w0, w1;
};

static inline void
weak_hash32(const unsigned char *s, uint64_t a, uint64_t b, uint64_t *first, uint64_t *second)
{
	const uint64_t w = load8(s), x = load8(s + 8), y = load8(s + 16), z = load8(s + 24);
	uint64_t       c;

	a += w;
	b = rotate(b + a + z, 21);
	c = a;
	a += x + y;
	b += rotate(a, 44);
	*first = a + z;
	*second = b + c;
}

/* One block of 64 bytes; factor is 1 in the loop, 9 for the tail. */
static inline void
mix_block(struct state *t, const unsigned char *s, uint64_t mul, uint64_t factor)
{
	uint64_t swap;

	t->x = rotate(t->x + t->y + t->v0 + load8(s + 8), 37) * mul;
	t->y = rotate(t->y + t->v1 + load8(s + 48), 42) * mul;
	t->x ^= t->w1 * factor;
	t->y += t->v0 * factor + load8(s + 40);
	t->z = rotate(t->z + t->w0, 33) * mul;
	weak_hash32(s, t->v1 * mul, t->x + t->w0, &t->v0, &t->v1);
	weak_hash32(s + 32, t->z + t->w1, t->y + load8(s + 16), &t->w0, &t->w1);
	swap = t->z;
	t->z = t->x;
	t->x = swap;
}

static uint64_t
length_65_up(const unsigned char *s, size_t n)
{
	struct state t = { .x = 81 * K2 + load8(s), .y = 81 * K1 + 113 };
	const size_t n_blocks = (n - 1) / 64;
	uint64_t     mul;

	t.z = shift_mix(t.y * K2 + 113) * K2;
	for (size_t k = 0; k < n_blocks; k++)
		mix_block(&t, s + 64 * k, K1, 1);
	mul = K1 + ((t.z & 255) << 1);
	t.w0 += (n - 1) & 63;
	t.v0 += t.w0;
	t.w0 += t.v0;
	mix_block(&t, s + n - 64, mul, 9);
	return hash16(hash16(t.v0, t.w0, mul) + shift_mix(t.y) * K0 + t.z,
		hash16(t.v1, t.w1, mul) + t.x, mul);
}

uint64_t
hash_fingerprint64(const void *bytes, size_t n)
{
	const unsigned char *s = bytes;

	if (n <= 16)
		return length_0_to_16(s, n);
	if (n <= 32)
		return length_17_to_32(s, n);
	if (n <= 64)
		return length_33_to_64(s, n);
	return length_65_up(s, n);
}

/* FingerprintCat64 of TensorFlow (tf.sparse.cross_hashed). */
uint64_t
hash_cat(uint64_t a, uint64_t b)
{
	const uint64_t k = 0xc6a4a7935bd1e995u;
	uint64_t       r = a ^ k;

	r ^= shift_mix(b * k) * k;
	r *= k;
	r = shift_mix(r) * k;
	return shift_mix(r);
}

/* CRC32C: reflected polynomial 0x82f63b78; the functions below work on the
 * inverted register. */
static uint32_t crc_table[8][256];

static uint32_t
crc_portable(uint32_t crc, const unsigned char *s, size_t n)
{
	for (; n >= 8; s += 8, n -= 8) {
		const uint64_t x = load8(s) ^ crc;

		crc = 0;
		for (int i = 0; i < 8; i++)
			crc ^= crc_table[7 - i][(x >> (8 * i)) & 255];
	}
	for (; n > 0; s++, n--)
		crc = (crc >> 8) ^ crc_table[0][(crc ^ *s) & 255];
	return crc;
}

static uint32_t (*crc_update)(uint32_t crc, const unsigned char *s, size_t n) = crc_portable;

#if defined(__x86_64__)
/* Three streams of CRC_STREAM bytes hide the latency of the instruction;
 * crc_shift moves a register over CRC_STREAM zero bytes. */
#define CRC_STREAM ((size_t)1024)
static uint32_t crc_shift[4][256];

static inline uint32_t
shift_stream(uint32_t crc)
{
	return crc_shift[0][crc & 255] ^ crc_shift[1][(crc >> 8) & 255] ^
		crc_shift[2][(crc >> 16) & 255] ^ crc_shift[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t
crc_sse42(uint32_t crc, const unsigned char *s, size_t n)
{
	uint64_t a = crc;

	for (; n >= 3 * CRC_STREAM; s += 3 * CRC_STREAM, n -= 3 * CRC_STREAM) {
		uint64_t b = 0, c = 0;

		for (size_t i = 0; i < CRC_STREAM; i += 8) {
			a = _mm_crc32_u64(a, load8(s + i));
			b = _mm_crc32_u64(b, load8(s + CRC_STREAM + i));
			c = _mm_crc32_u64(c, load8(s + 2 * CRC_STREAM + i));
		}
		a = shift_stream((uint32_t)a) ^ (uint32_t)b;
		a = shift_stream((uint32_t)a) ^ (uint32_t)c;
	}
	for (; n >= 8; s += 8, n -= 8)
		a = _mm_crc32_u64(a, load8(s));
	for (; n > 0; s++, n--)
		a = _mm_crc32_u8((uint32_t)a, *s);
	return (uint32_t)a;
}

static void
crc_choose(void)
{
	static const unsigned char zeros[CRC_STREAM];

	for (int byte = 0; byte < 4; byte++)
		for (uint32_t i = 0; i < 256; i++)
			crc_shift[byte][i] = crc_portable(i << (8 * byte), zeros, CRC_STREAM);
	if (__builtin_cpu_supports("sse4.2"))
		crc_update = crc_sse42;
}
#else
static void
crc_choose(void)
{
}
#endif

static void
crc_setup(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
		crc_table[0][i] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (uint32_t i = 0; i < 256; i++)
			crc_table[k][i] = (crc_table[k - 1][i] >> 8) ^
				crc_table[0][crc_table[k - 1][i] & 255];
	crc_choose();
}

uint32_t
hash_crc32c(uint32_t crc, const void *bytes, size_t n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, crc_setup);
	return ~crc_update(~crc, bytes, n);
}

uint32_t
hash_crc32c_mask(uint32_t crc)
{
	return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}
