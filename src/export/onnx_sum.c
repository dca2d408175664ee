/* Sums that tell whether ONNX files are as they were written. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "export/onnx_file.h"
#include "export/sums.h"

const char *
onnx_sum_pair(Onnx__Pair *const *pair, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (pair[i]->key != NULL && strcmp(pair[i]->key, key) == 0)
			return pair[i]->value;
	return NULL;
}

uint64_t
onnx_sum_number(Onnx__Pair *const *pair, size_t n, const char *key)
{
	const char *const text = onnx_sum_pair(pair, n, key);
	uint64_t x = UINT64_MAX;

	return text != NULL && number_u64(text, strlen(text), &x) ? x : UINT64_MAX;
}

enum rs_status
onnx_sum_check_data(const struct onnx_file *f, const char *path)
{
	Onnx__Pair *const *const pair = f->model->metadata_props;
	const size_t n = f->model->n_metadata_props;
	const char *const wanted = onnx_sum_pair(pair, n, ONNX_DATA_CRC);
	const uint64_t bytes = onnx_sum_number(pair, n, ONNX_DATA_BYTES);
	char sum[16];

	if (wanted == NULL || bytes == UINT64_MAX)
		return onnx_file_fail(f, "no sum of", path);
	if (f->data.size != bytes)
		return rs_fail(RS_EDATA, "'%s' has %zu bytes, wanted %" PRIu64, path, f->data.size,
			bytes);
	snprintf(sum, sizeof sum, "%08" PRIx32, hash_crc32c(0, f->data.data, f->data.size));
	return strcmp(sum, wanted) == 0 ? RS_OK
		: rs_fail(RS_EDATA, "'%s' is damaged: its CRC32C is %s, wanted %s", path, sum,
			wanted);
}

enum rs_status
onnx_check_inputs(const struct onnx_file *f, const char *path)
{
	const char *const wanted = onnx_sum_pair(f->model->metadata_props,
		f->model->n_metadata_props, ONNX_INPUTS_CRC);
	uint32_t crc;
	uint64_t bytes;
	char sum[16];

	if (wanted == NULL)
		return onnx_file_fail(f, "no sum of", path);
	RS_TRY(sums_of_file(path, &crc, &bytes));
	snprintf(sum, sizeof sum, "%08" PRIx32, crc);
	return strcmp(sum, wanted) == 0 ? RS_OK
		: rs_fail(RS_EDATA, "'%s' is damaged: its CRC32C is %s, wanted %s", path, sum,
			wanted);
}

void
onnx_tail(uint32_t crc, char *out)
{
	snprintf(out, ONNX_TAIL + 1, "\x72%c\x0a%c%s\x12\x08%08" PRIx32, ONNX_TAIL - 2,
		(int)sizeof ONNX_CRC - 1, ONNX_CRC, crc);
}

enum rs_status
onnx_sum_check(const struct onnx_file *f)
{
	const size_t n = f->map.size;
	char tail[ONNX_TAIL + 1];

	if (n < ONNX_TAIL)
		return rs_fail(RS_EDATA, "'%s' is no file that this program wrote, or its end is "
			"missing", f->path);
	onnx_tail(hash_crc32c(0, f->map.data, n - ONNX_TAIL), tail);
	if (memcmp(f->map.data + n - ONNX_TAIL, tail, ONNX_TAIL - 8) != 0)
		return rs_fail(RS_EDATA, "'%s' is no file that this program wrote, or its end is "
			"missing", f->path);
	if (memcmp(f->map.data + n - 8, tail + ONNX_TAIL - 8, 8) != 0)
		return rs_fail(RS_EDATA, "'%s' is damaged: its CRC32C is %s, wanted %.8s", f->path,
			tail + ONNX_TAIL - 8, f->map.data + n - 8);
	return RS_OK;
}
