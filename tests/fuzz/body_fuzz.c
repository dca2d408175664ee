/*
 * Bodies of the messages between workers and shards: keys, sections, tables, packed values
 * and collective calls.  The first byte chooses which, so that one corpus has all.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "comm/collective.h"
#include "embed/lookup.h"
#include "remote/body.h"
#include "remote/collect_request.h"
#include "tests/fuzz/fuzz.h"

enum { N_KEYS_MAX = 4096 };

static void
check_keys(const uint64_t *key, size_t n, uint64_t end)
{
	for (size_t i = 0; i < n; i++)
		FUZZ_CHECK(key[i] < end && (i == 0 || key[i] > key[i - 1]));
}

/* n u16, base u32, count u32; then the keys. */
static void
fuzz_keys(const uint8_t *data, size_t n)
{
	uint16_t n_keys;
	uint32_t base, count;
	struct buffer b;
	uint64_t *key;

	if (n < 10)
		return;
	memcpy(&n_keys, data, 2);
	memcpy(&base, data + 2, 4);
	memcpy(&count, data + 6, 4);
	n_keys %= N_KEYS_MAX;
	key = malloc((n_keys + 1u) * sizeof(*key));
	FUZZ_CHECK(key != NULL);
	const uint64_t end = (uint64_t)base + count;
	const enum rs_status status = body_get_keys(data + 10, n - 10, n_keys, base, end, key);

	FUZZ_CHECK(status == RS_OK || status == RS_EPROTOCOL);
	FUZZ_CHECK(body_get_keys(data + 10, n - 10, n_keys, base, end, NULL) == status);
	if (status == RS_OK) {
		check_keys(key, n_keys, count);
		for (size_t i = 0; i < n_keys; i++)
			key[i] += base;
		buffer_init(&b, 1 << 20);
		FUZZ_CHECK(body_put_keys(&b, key, n_keys, base) == RS_OK);
		/* There is one form of every list of keys. */
		FUZZ_CHECK(b.n == n - 10 && (b.n == 0 || memcmp(b.data, data + 10, b.n) == 0));
		buffer_free(&b);
	}
	free(key);
}

static void
fuzz_sections(const uint8_t *data, size_t n)
{
	size_t n_sections = SIZE_MAX;
	const enum rs_status status = body_count_sections(data, n, &n_sections);

	FUZZ_CHECK(status == RS_OK || status == RS_EPROTOCOL);
	if (status == RS_OK)
		FUZZ_CHECK(n_sections * sizeof(struct body_section) <= n);
}

static void
fuzz_table(const uint8_t *data, size_t n)
{
	struct body_table b = { .rows = 0 }, again;
	struct lookup_table t;

	memcpy(&b, data, n < sizeof(b) ? n : sizeof(b));
	const enum rs_status status = body_table_get(&b, &t);

	FUZZ_CHECK(status == RS_OK || status == RS_EPROTOCOL);
	if (status != RS_OK)
		return;
	body_table_put(&t, &again);
	FUZZ_CHECK(strcmp(again.name, b.name) == 0 && again.rows == b.rows);
	FUZZ_CHECK(again.dim == b.dim && again.optimizer == b.optimizer);
}

/* flags u8, dim u8; then packed values, as many whole rows as there are. */
static void
fuzz_values(const uint8_t *data, size_t n)
{
	if (n < 2)
		return;
	const uint8_t flags = data[0] % 3 == 0 ? 0 : data[0] % 3 == 1 ? FRAME_FP16 : FRAME_INT8;
	const size_t dim = 1 + data[1] % 40;
	size_t rows = 0;

	while (rows < 64 && body_value_bytes(flags, rows + 1, dim) <= n - 2)
		rows++;
	if (rows == 0)
		return;
	const size_t bytes = body_value_bytes(flags, rows, dim);
	float *x = malloc(rows * dim * sizeof(*x)), *error = malloc(rows * dim * sizeof(*x));
	void *values = malloc(bytes);

	FUZZ_CHECK(x != NULL && error != NULL && values != NULL);
	memcpy(values, data + 2, bytes);
	body_unpack(flags, values, rows, dim, x);
	body_pack(flags, x, rows, dim, values, error);
	free(x);
	free(error);
	free(values);
}

static void
fuzz_collect(const uint8_t *data, size_t n)
{
	struct wire_message m = { .n_parts = 0 };
	struct collect_request q;
	const size_t cut = n > 0 ? data[0] % (n + 1) : 0;

	if (n < 8)
		return;
	m.frame = (struct frame){ .type = data[1] & 1 ? FRAME_SUM : FRAME_GATHER,
		.slot = data[2] % 8, .chunk = data[3] % 4, .step = data[4],
		.body_bytes = (uint32_t)(n - 8) };
	m.part[m.n_parts++] = (struct frame_part){ data + 8, cut < n - 8 ? cut : n - 8 };
	m.part[m.n_parts++] = (struct frame_part){ data + 8 + m.part[0].n, n - 8 - m.part[0].n };
	const enum rs_status status = collect_request_read(&m, &q);

	FUZZ_CHECK(status == RS_OK || status == RS_EPROTOCOL);
	if (status != RS_OK)
		return;
	FUZZ_CHECK(q.rest_bytes <= n - 8);
	void *rest = malloc(q.rest_bytes + 1);
	FUZZ_CHECK(rest != NULL);
	collect_request_rest(&q, rest);
	free(rest);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static void (*const part[])(const uint8_t *, size_t) = {
		fuzz_keys, fuzz_sections, fuzz_table, fuzz_values, fuzz_collect,
	};

	if (n > 0)
		part[data[0] % (sizeof(part) / sizeof(part[0]))](data + 1, n - 1);
	return 0;
}
