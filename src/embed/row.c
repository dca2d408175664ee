/* Weights of two bytes: conversions, and stochastic rounding. */
#include "embed/row.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

#define CHUNK          64u          /* weights at once, on the stack                  */
#define DRAWS          4u           /* columns that one draw is enough for            */
#define VECTORISED     __attribute__((optimize("O3")))

static const struct { const char *name; size_t bytes; } storage_table[] = {
	[ROW_FP32] = { "fp32", sizeof(float) },
	[ROW_BF16] = { "bf16", sizeof(uint16_t) },
	[ROW_FP16] = { "fp16", sizeof(uint16_t) },
	[ROW_INT8] = { "int8", sizeof(int8_t) },
};

const char *
row_storage_name(uint32_t storage)
{
	return storage < sizeof(storage_table) / sizeof(storage_table[0]) ?
		storage_table[storage].name : NULL;
}

size_t
row_bytes(enum row_storage storage, size_t D)
{
	return storage == ROW_INT8 ? row_slot_at(storage, D) * sizeof(float)
		: D * storage_table[storage].bytes;
}

/* --- to the nearest ------------------------------------------------------------------------ */

#define CONVERSION(name, from_type, to_type, convert) \
	VECTORISED static void \
	name(const from_type *from, to_type *to, size_t n) \
	{ \
		for (size_t i = 0; i < n; i++) \
			to[i] = convert(from[i]); \
	}
CONVERSION(to_fp16, float, uint16_t, half_of)
CONVERSION(to_bf16, float, uint16_t, half_brain_of)
CONVERSION(from_fp16, uint16_t, float, half_value)
CONVERSION(from_bf16, uint16_t, float, half_brain_value)

/* Bytes n weights from the i-th on begin at, in a row that has no scale. */
static const void *
weights_at(enum row_storage storage, const void *row, size_t i)
{
	return (const char *)row + i * storage_table[storage].bytes;
}

static void
to_int8(enum row_storage from_storage, const void *from, void *to, size_t n)
{
	int8_t *const byte = (int8_t *)to + sizeof(float);
	float chunk[CHUNK], most = 0;

	for (size_t i = 0; i < n; i += CHUNK) {
		const size_t m = n - i < CHUNK ? n - i : CHUNK;

		row_convert(from_storage, weights_at(from_storage, from, i), ROW_FP32, chunk, m);
		for (size_t k = 0; k < m; k++)
			most = fmaxf(most, fabsf(chunk[k]));
	}
	const float scale = most / INT8_MAX;
	memset(to, 0, row_bytes(ROW_INT8, n));
	memcpy(to, &scale, sizeof(scale));
	for (size_t i = 0; i < n && scale > 0; i += CHUNK) {
		const size_t m = n - i < CHUNK ? n - i : CHUNK;

		row_convert(from_storage, weights_at(from_storage, from, i), ROW_FP32, chunk, m);
		for (size_t k = 0; k < m; k++)
			byte[i + k] = (int8_t)fmaxf(-INT8_MAX,
				fminf(INT8_MAX, rintf(chunk[k] / scale)));
	}
}

VECTORISED static void
bytes_times(const int8_t *from, float scale, float *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (float)from[i] * scale;
}

static void
from_int8(const void *from, enum row_storage to_storage, void *to, size_t n)
{
	const int8_t *const byte = (const int8_t *)from + sizeof(float);
	float chunk[CHUNK], scale;

	memcpy(&scale, from, sizeof(scale));
	for (size_t i = 0; i < n; i += CHUNK) {
		const size_t m = n - i < CHUNK ? n - i : CHUNK;

		bytes_times(byte + i, scale, chunk, m);
		row_convert(ROW_FP32, chunk, to_storage,
			(char *)to + i * storage_table[to_storage].bytes, m);
	}
}

void
row_convert(enum row_storage from_storage, const void *from, enum row_storage to_storage, void *to,
	size_t n)
{
	float chunk[CHUNK];

	if (n == 0)
		return;
	if (from_storage == to_storage)
		memcpy(to, from, row_bytes(to_storage, n));
	else if (to_storage == ROW_INT8)
		to_int8(from_storage, from, to, n);
	else if (from_storage == ROW_INT8)
		from_int8(from, to_storage, to, n);
	else if (to_storage == ROW_FP32)
		(from_storage == ROW_BF16 ? from_bf16 : from_fp16)(from, to, n);
	else if (from_storage == ROW_FP32)
		(to_storage == ROW_BF16 ? to_bf16 : to_fp16)(from, to, n);
	else
		for (size_t i = 0; i < n; i += CHUNK) {
			const size_t m = n - i < CHUNK ? n - i : CHUNK;

			row_convert(from_storage, (const uint16_t *)from + i, ROW_FP32, chunk, m);
			row_convert(ROW_FP32, chunk, to_storage, (uint16_t *)to + i, m);
		}
}

void
row_round(enum row_storage storage, float *w, size_t n)
{
	uint16_t chunk[CHUNK];

	for (size_t i = 0; i < n && storage != ROW_FP32 && storage != ROW_INT8; i += CHUNK) {
		const size_t m = n - i < CHUNK ? n - i : CHUNK;

		row_convert(ROW_FP32, w + i, storage, chunk, m);
		row_convert(storage, chunk, ROW_FP32, w + i, m);
	}
}

/* --- stochastic ---------------------------------------------------------------------------- */

uint64_t
row_table_key(uint64_t seed, const char *table)
{
	return rng_key(rng_key(seed, RNG_STORE), hash_fingerprint64(table, strlen(table)));
}

/* 16 random bits under the 16 that stay. */
static inline uint16_t
brain_of(float x, uint16_t random)
{
	const uint32_t sign = half_bits(x) & 0x80000000u, all = half_bits(x) ^ sign;
	const uint32_t sum = all + random;
	const uint32_t finite = sum > HALF_BRAIN_MAX ? HALF_BRAIN_MAX : sum;
	const uint32_t other = all > HALF_INFINITE ? 0x7fc00000u : HALF_INFINITE;

	return (uint16_t)((sign | (all >= HALF_INFINITE ? other : finite)) >> 16);
}

/* 13 random bits under the 10 of the mantissa that stay (FBGEMM does the same); a subnormal
 * is a multiple of 2^-24, and what is left is compared with 16. */
static inline uint16_t
half_of_random(float x, uint16_t random)
{
	const uint32_t sign = half_bits(x) & 0x80000000u, all = half_bits(x) ^ sign;
	const uint32_t finite = all > HALF_MAX_BITS ? HALF_MAX_BITS : all;
	const uint32_t normal = (finite - HALF_BIAS + (random >> 3)) >> 13;
	const float scaled = half_float(finite < HALF_NORMAL ? finite : 0) * 0x1p24f;
	const int32_t whole = (int32_t)scaled;
	const int32_t rest = (int32_t)((scaled - (float)whole) * 0x1p16f);
	const uint32_t tiny = (uint32_t)(whole + (rest > (int32_t)random));
	const uint32_t small = finite < HALF_NORMAL ? tiny : normal;

	return (uint16_t)(sign >> 16 | (all >= HALF_INFINITE ? half_other(all) : small));
}

VECTORISED static void
put_fp16(const float *w, const uint16_t *random, uint16_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = half_of_random(w[i], random[i]);
}

VECTORISED static void
put_bf16(const float *w, const uint16_t *random, uint16_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = brain_of(w[i], random[i]);
}

void
row_put(enum row_storage storage, const float *w, size_t n, uint64_t key, void *to)
{
	uint64_t draw[CHUNK / DRAWS];
	uint16_t random[CHUNK];

	if (storage == ROW_FP32) {
		memcpy(to, w, n * sizeof(*w));
		return;
	}
	for (size_t i = 0; i < n; i += CHUNK) {
		const size_t m = n - i < CHUNK ? n - i : CHUNK;

		for (size_t k = 0; k * DRAWS < m; k++)
			draw[k] = rng_u64(key, i / DRAWS + k);
		memcpy(random, draw, m * sizeof(*random));
		(storage == ROW_BF16 ? put_bf16 : put_fp16)(w + i, random, (uint16_t *)to + i, m);
	}
}

void
row_start_floats(const struct row_start *s, struct rng_rows rows, float *row)
{
	rows.parent = s->key;
	if (s->stddev > 0)
		rng_normal_rows(row, &rows, (float)s->stddev);
	for (size_t i = 0; i < rows.n && s->stddev <= 0; i++)
		memset(row + i * rows.stride, 0, rows.D * sizeof(*row));
}

/* Of two bytes: piece by piece. */
void
row_start_weights(const struct row_start *s, enum row_storage storage, uint64_t id, size_t D,
	void *row)
{
	const size_t bytes = storage_table[storage].bytes;
	const uint64_t key = rng_key(s->key, id);
	float piece[CHUNK];

	if (storage == ROW_FP32) {
		row_start_floats(s, (struct rng_rows){ .name = id, .n = 1, .D = D }, row);
		return;
	}
	if (s->stddev <= 0) {
		memset(row, 0, D * bytes);
		return;
	}
	for (size_t k = 0; k < D; k += CHUNK) {
		const size_t n = D - k < CHUNK ? D - k : CHUNK;

		rng_normal_fill(piece, n, key, k, (float)s->stddev);
		row_convert(ROW_FP32, piece, storage, (char *)row + k * bytes, n);
	}
}
