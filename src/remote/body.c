/* Bodies of the messages between workers and shards: keys, tables, packed gradients. */
#include "remote/body.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/half.h"
#include "base/hash.h"
#include "embed/exact.h"
#include "embed/row.h"
#include "embed/row_optimizer.h"
#include "embed/tenancy.h"

#define DIGIT_BITS   7
#define DIGIT_MAX    10             /* digits of 64 bits                              */
#define KEYS_A_TIME  256
#define ROWS_MAX     ((uint64_t)1 << 41)
#define DIM_MAX      4096
#define ADMIT_CELLS_MAX ((uint64_t)1 << 40)
#define INT8_LIMIT   127.0f

uint64_t
body_init_hash(const void *bytes, size_t n)
{
	struct body_init head;

	memcpy(&head, bytes, sizeof(head));
	head.first_step = 0;
	head.keep = 0;
	return hash_cat(hash_fingerprint64((const char *)&head, sizeof(head)),
		hash_fingerprint64((const char *)bytes + sizeof(head), n - sizeof(head)));
}

static size_t
put_difference(uint8_t *to, uint64_t x)
{
	size_t n = 0;

	for (; x >> DIGIT_BITS > 0; x >>= DIGIT_BITS)
		to[n++] = (uint8_t)(x | 0x80);
	to[n++] = (uint8_t)x;
	return n;
}

enum rs_status
body_put_keys(struct buffer *out, const uint64_t *key, size_t n, uint64_t base)
{
	uint8_t digits[KEYS_A_TIME * DIGIT_MAX];
	uint64_t before = base;

	for (size_t i = 0; i < n;) {
		const size_t until = i + KEYS_A_TIME < n ? i + KEYS_A_TIME : n;
		size_t used = 0;

		for (; i < until; before = key[i++])
			used += put_difference(digits + used, key[i] - before);
		RS_TRY(buffer_append(out, digits, used));
	}
	return RS_OK;
}

/* One difference at data[*at]; 0: it does not end there, is no shortest form, or too large. */
static inline int
get_difference(const uint8_t *data, size_t bytes, size_t *at, uint64_t *out)
{
	uint64_t x = 0;

	for (unsigned shift = 0; *at < bytes && shift < 64; shift += DIGIT_BITS) {
		const uint8_t digit = data[(*at)++];

		if (shift == 63 && digit > 1)
			return 0;
		x |= (uint64_t)(digit & 0x7f) << shift;
		if (digit & 0x80)
			continue;
		*out = x;
		return digit != 0 || shift == 0;
	}
	return 0;
}

enum rs_status
body_get_keys(const uint8_t *data, size_t bytes, size_t n, uint64_t base, uint64_t end,
	uint64_t *out)
{
	const uint64_t rows = end > base ? end - base : 0;
	uint64_t local = 0;
	size_t at = 0;

	if (n > FRAME_KEYS_MAX || n > bytes)
		return rs_fail(RS_EPROTOCOL, "%zu keys in %zu bytes", n, bytes);
	for (size_t i = 0; i < n; i++) {
		uint64_t difference;

		if (!get_difference(data, bytes, &at, &difference))
			return rs_fail(RS_EPROTOCOL, "key %zu of %zu is malformed", i, n);
		if (i > 0 && difference == 0)
			return rs_fail(RS_EPROTOCOL, "key %zu of %zu comes twice", i, n);
		if (difference >= rows - local)
			return rs_fail(RS_EPROTOCOL, "key %zu of %zu is not of rows %llu to %llu",
				i, n, (unsigned long long)base, (unsigned long long)end);
		local += difference;
		if (out != NULL)
			out[i] = local;
	}
	if (at != bytes)
		return rs_fail(RS_EPROTOCOL, "%zu bytes of keys, %zu keys have %zu", bytes, n, at);
	return RS_OK;
}

enum rs_status
body_put_counts(struct buffer *out, const uint32_t *count, size_t n)
{
	uint8_t digits[KEYS_A_TIME * DIGIT_MAX];

	for (size_t i = 0; i < n;) {
		const size_t until = i + KEYS_A_TIME < n ? i + KEYS_A_TIME : n;
		size_t used = 0;

		for (; i < until; i++)
			used += put_difference(digits + used, count[i]);
		RS_TRY(buffer_append(out, digits, used));
	}
	return RS_OK;
}

enum rs_status
body_get_counts(const uint8_t *data, size_t bytes, size_t n, uint32_t *out)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t count;

		if (!get_difference(data, bytes, &at, &count) || count == 0 || count > UINT32_MAX)
			return rs_fail(RS_EPROTOCOL, "count %zu of %zu is malformed", i, n);
		if (out != NULL)
			out[i] = (uint32_t)count;
	}
	if (at != bytes)
		return rs_fail(RS_EPROTOCOL, "%zu bytes of counts, %zu have %zu", bytes, n, at);
	return RS_OK;
}

enum rs_status
body_count_sections(const void *bytes, size_t n_bytes, size_t *out)
{
	const uint8_t *at = bytes;
	uint64_t sum = 0;

	for (size_t n = 0; sum <= n_bytes; n++) {
		struct body_section section;

		if (sum == n_bytes) {
			*out = n;
			return RS_OK;
		}
		if ((n + 1) * sizeof(section) > n_bytes)
			break;
		memcpy(&section, at + n * sizeof(section), sizeof(section));
		if (section.count_bytes != 0)
			break;
		sum += sizeof(section) + section.key_bytes;
	}
	return rs_fail(RS_EPROTOCOL, "sections do not fill the %zu bytes that they have", n_bytes);
}

static void
put_tenancy(const struct lookup_tenancy *t, struct body_table *out)
{
	out->evict = (uint32_t)t->evict;
	out->admit = (uint32_t)t->admit;
	out->admit_count = t->admit_count;
	out->admit_probability = t->admit_probability;
	out->admit_cells = t->admit_cells;
	out->key = t->key;
	out->expire_after = t->expire_after;
	out->expire_steps = t->expire_steps;
	out->segment_rows = t->segment_rows;
}

void
body_table_put(const struct lookup_table *t, struct body_table *out)
{
	const struct row_optimizer_settings *o = &t->optimizer;

	memset(out, 0, sizeof(*out));
	memcpy(out->name, t->name, strnlen(t->name, sizeof(out->name) - 1));
	out->rows = t->rows;
	out->seed = t->seed;
	out->init_stddev = t->init_stddev;
	out->dim = (uint32_t)t->dim;
	out->optimizer = (uint32_t)o->kind;
	out->learning_rate = o->learning_rate;
	out->l1 = o->l1;
	out->l2 = o->l2;
	out->initial_accumulator = o->initial_accumulator;
	out->beta1 = o->beta1;
	out->beta2 = o->beta2;
	out->epsilon = o->epsilon;
	out->ftrl_beta = o->ftrl_beta;
	out->ftrl_l1 = o->ftrl_l1;
	out->ftrl_l2 = o->ftrl_l2;
	out->ftrl_power = o->ftrl_power;
	out->scheduled = o->scheduled != 0;
	out->kind = (uint32_t)t->kind;
	out->expected = t->kind == TABLE_EXACT ? t->expected : 0;
	out->storage = (uint32_t)t->storage;
	if (t->kind == TABLE_EXACT)
		put_tenancy(&t->tenancy, out);
}

static int
numbers_are_finite(const struct body_table *b)
{
	const double x[] = {
		b->init_stddev, b->learning_rate, b->l1, b->l2, b->initial_accumulator, b->beta1,
		b->beta2, b->epsilon, b->ftrl_beta, b->ftrl_l1, b->ftrl_l2, b->ftrl_power,
	};

	for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++)
		if (!isfinite(x[i]))
			return 0;
	return 1;
}

static int
can_have_rows(const struct body_table *b)
{
	return b->dim > 0 && b->dim <= DIM_MAX && (b->kind == TABLE_EXACT ?
		b->rows == EXACT_ROWS && b->expected <= ROWS_MAX :
		b->rows > 0 && b->rows <= ROWS_MAX && b->expected == 0);
}

/* What a spec allows. */
static int
can_have_rules(const struct body_table *b)
{
	static const struct body_table none;
	const size_t from = offsetof(struct body_table, evict);

	if (b->kind != TABLE_EXACT)
		return memcmp((const char *)b + from, (const char *)&none + from,
			sizeof(none) - from) == 0;
	return b->admit <= ADMISSION_PROBABILITY && b->evict <= EVICT_LFU
	    && b->admit_count <= ADMISSION_COUNT_MAX && b->admit_cells <= ADMIT_CELLS_MAX
	    && b->admit_probability >= 0 && b->admit_probability <= 1
	    && (b->expire_after == 0 || b->expire_steps == 0) && b->segment_rows <= ROWS_MAX
	    && (b->segment_rows == 0 || b->segment_rows >= TENANCY_SHARE)
	    && ((b->admit != ADMISSION_COUNT && b->admit != ADMISSION_SKETCH)
	    || (b->admit_count > 0 && b->admit_cells > 0));
}

enum rs_status
body_table_get(const struct body_table *b, struct lookup_table *out)
{
	const size_t length = strnlen(b->name, sizeof(b->name));
	char name[72];

	memset(out, 0, sizeof(*out));
	if (length == 0 || length == sizeof(b->name))
		return rs_fail(RS_EPROTOCOL, "a table without a name");
	rs_escape(name, b->name, length);
	if (!can_have_rows(b))
		return rs_fail(RS_EPROTOCOL, "table '%s' cannot have %llu rows of %u", name,
			(unsigned long long)b->rows, b->dim);
	if (b->kind > TABLE_EXACT)
		return rs_fail(RS_EPROTOCOL, "table '%s' is of the unknown kind %u", name, b->kind);
	if (row_storage_name(b->storage) == NULL || b->storage == ROW_INT8)
		return rs_fail(RS_EPROTOCOL, "table '%s' has storage %u, which no shard trains",
			name, b->storage);
	if (b->optimizer > ROW_FTRL || b->scheduled > 1)
		return rs_fail(RS_EPROTOCOL, "table '%s' has the unknown optimizer %u", name,
			b->optimizer);
	if (!numbers_are_finite(b) || b->init_stddev < 0)
		return rs_fail(RS_EPROTOCOL, "table '%s' has a setting that is no number", name);
	if (!can_have_rules(b))
		return rs_fail(RS_EPROTOCOL, "table '%s' has rules for rows that cannot be", name);
	memcpy(out->name, b->name, length);
	out->kind = (enum table_kind)b->kind;
	out->rows = b->rows;
	out->expected = b->kind == TABLE_EXACT ? b->expected : b->rows;
	out->seed = b->seed;
	out->init_stddev = b->init_stddev;
	out->dim = b->dim;
	out->storage = (enum row_storage)b->storage;
	out->optimizer = (struct row_optimizer_settings){
		.kind = (enum row_optimizer_kind)b->optimizer, .learning_rate = b->learning_rate,
		.initial_accumulator = b->initial_accumulator, .epsilon = b->epsilon,
		.beta1 = b->beta1, .beta2 = b->beta2, .l1 = b->l1, .l2 = b->l2,
		.ftrl_beta = b->ftrl_beta, .ftrl_l1 = b->ftrl_l1, .ftrl_l2 = b->ftrl_l2,
		.ftrl_power = b->ftrl_power, .scheduled = (int)b->scheduled,
	};
	out->tenancy = (struct lookup_tenancy){
		.admit = (enum admission_kind)b->admit, .admit_count = b->admit_count,
		.admit_probability = b->admit_probability, .admit_cells = b->admit_cells,
		.key = b->key, .expire_after = b->expire_after, .expire_steps = b->expire_steps,
		.segment_rows = b->segment_rows, .evict = (enum evict_kind)b->evict,
	};
	return RS_OK;
}

void
body_waiting_put(const struct lookup_waiting *w, uint32_t table, struct body_waiting *out)
{
	*out = (struct body_waiting){
		.table = table, .segment = w->segment, .unit = w->unit, .clock = w->clock,
		.n = (uint32_t)w->n, .has_tally = w->has_tally != 0, .first = w->first,
		.total = w->total, .counted = w->counted, .admitted = w->tally.admitted,
		.waiting = w->tally.waiting, .refused = w->tally.refused,
		.evicted = w->tally.evicted, .expired = w->tally.expired,
	};
}

void
body_waiting_get(const struct body_waiting *b, struct lookup_waiting *out)
{
	out->segment = b->segment;
	out->first = b->first;
	out->n = b->n;
	out->total = b->total;
	out->counted = b->counted;
	out->unit = b->unit;
	out->clock = b->clock;
	out->has_tally = b->has_tally != 0;
	out->tally = (struct lookup_tenants){
		.admitted = b->admitted, .waiting = b->waiting, .refused = b->refused,
		.evicted = b->evicted, .expired = b->expired, .clock = b->clock,
	};
}

/* What a gradient of this width is packed as. */
static uint8_t
packing(uint8_t flags, size_t dim)
{
	return dim > 1 ? flags & (FRAME_FP16 | FRAME_INT8) : 0;
}

size_t
body_value_bytes(uint8_t flags, size_t n, size_t dim)
{
	const uint8_t how = packing(flags, dim);

	if (how & FRAME_INT8)
		return n * (sizeof(uint16_t) + dim);
	return n * dim * (how & FRAME_FP16 ? sizeof(uint16_t) : sizeof(float));
}

__attribute__((optimize("O3"))) static void
pack_halves(const float *x, size_t n, uint8_t *to)
{
	for (size_t i = 0; i < n; i++) {
		const uint16_t half = half_of(x[i]);

		memcpy(to + i * sizeof(half), &half, sizeof(half));
	}
}

__attribute__((optimize("O3"))) static void
unpack_halves(const uint8_t *from, size_t n, float *out)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t half;

		memcpy(&half, from + i * sizeof(half), sizeof(half));
		out[i] = half_value(half);
	}
}

/* The largest |x| as bits, which are in the order of the values; NaN is above all. */
__attribute__((optimize("O3"))) static uint32_t
largest_bits(const float *x, size_t n)
{
	uint32_t most = 0;

	for (size_t i = 0; i < n; i++) {
		const uint32_t bits = half_bits(x[i]) & 0x7fffffffu;

		most = bits > most ? bits : most;
	}
	return most;
}

/* x / scale, to nearest; the quotient is within +-127 because the scale was rounded up. */
__attribute__((optimize("O3"))) static void
pack_row(const float *x, size_t n, float scale, uint8_t *to)
{
	for (size_t i = 0; i < n; i++) {
		const float q = x[i] / scale;
		const float below = q > INT8_LIMIT ? INT8_LIMIT : q;
		const float limited = below < -INT8_LIMIT ? -INT8_LIMIT : below;

		/* 1.5 * 2^23 leaves the whole number, rounded, in the lowest bits. */
		to[i] = (uint8_t)half_bits(limited + 12582912.0f);
	}
}

__attribute__((optimize("O3"))) static void
unpack_row(const uint8_t *from, size_t n, float scale, float *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (float)(int8_t)from[i] * scale;
}

/* Scales before values.  A row that is not finite gets the scale NaN: it stays bad. */
static void
pack_int8(const float *x, size_t n, size_t dim, uint8_t *to)
{
	uint8_t *values = to + n * sizeof(uint16_t);

	for (size_t i = 0; i < n; i++) {
		const uint32_t most = largest_bits(x + i * dim, dim);
		const uint32_t exact = half_bits(half_float(most) / INT8_LIMIT);
		const uint16_t scale = most >= 0x7f800000u ? 0x7fc0 :
							     (uint16_t)((exact + 0xffff) >> 16);

		memcpy(to + i * sizeof(scale), &scale, sizeof(scale));
		if (most == 0 || most >= 0x7f800000u)
			memset(values + i * dim, 0, dim);
		else
			pack_row(x + i * dim, dim, half_float((uint32_t)scale << 16),
				values + i * dim);
	}
}

static void
unpack_int8(const uint8_t *from, size_t n, size_t dim, float *out)
{
	const uint8_t *values = from + n * sizeof(uint16_t);

	for (size_t i = 0; i < n; i++) {
		uint16_t scale;

		memcpy(&scale, from + i * sizeof(scale), sizeof(scale));
		unpack_row(values + i * dim, dim, half_float((uint32_t)scale << 16), out + i * dim);
	}
}

void
body_unpack(uint8_t flags, const void *values, size_t n, size_t dim, float *out)
{
	const uint8_t how = packing(flags, dim);

	if (how & FRAME_INT8)
		unpack_int8(values, n, dim, out);
	else if (how & FRAME_FP16)
		unpack_halves(values, n * dim, out);
	else if (n > 0)
		memcpy(out, values, n * dim * sizeof(*out));
}

/* error = x - what was packed; nothing is carried on from a value that is not finite. */
static void
leave_error(uint8_t flags, const float *x, size_t n, size_t dim, const void *values, float *error)
{
	body_unpack(flags, values, n, dim, error);
	for (size_t i = 0; i < n * dim; i++) {
		const float rest = x[i] - error[i];

		error[i] = (half_bits(rest) & 0x7f800000u) == 0x7f800000u ? 0 : rest;
	}
}

void
body_pack(uint8_t flags, const float *x, size_t n, size_t dim, void *values, float *error)
{
	const uint8_t how = packing(flags, dim);

	if (how & FRAME_INT8)
		pack_int8(x, n, dim, values);
	else if (how & FRAME_FP16)
		pack_halves(x, n * dim, values);
	else if (n > 0)
		memcpy(values, x, n * dim * sizeof(*x));
	if (error != NULL)
		leave_error(flags, x, n, dim, values, error);
}
