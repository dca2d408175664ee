/*
 * ONNX files: what is accepted can be run.  The bytes are a file without its end, which is
 * the sum of all before it and is put there.
 */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "export/onnx.h"
#include "export/program_run.h"
#include "tests/fuzz/fuzz.h"

enum { ROWS = 2, LONGEST = 3, RUN_MAX = 1 << 14 };

/* Files of great values are not run: that would only take time. */
static int
is_small(const struct program *p)
{
	for (size_t i = 1; i < p->n; i++) {
		uint64_t n = 1;

		for (size_t k = 0; k < p->value[i].rank; k++) {
			const int64_t dim = p->value[i].dim[k];

			if (__builtin_mul_overflow(n, dim < 0 ? LONGEST : (uint64_t)dim, &n)
			    || n > RUN_MAX)
				return 0;
		}
	}
	return p->n < 512;
}

static void
run(struct onnx_file *f, double first)
{
	const struct program *const p = onnx_program(f);
	size_t *const length = calloc(p->n_features + 1, sizeof *length);
	const double **const input = calloc(p->n_features + 1, sizeof *input);
	static double x[ROWS * LONGEST];

	FUZZ_CHECK(length != NULL && input != NULL);
	for (size_t i = 0; i < ROWS * LONGEST; i++)
		x[i] = i == 0 ? first : (double)(i % 3) - 1;
	for (size_t i = 0; i < p->n_features; i++) {
		length[i] = LONGEST;
		input[i] = x;
		FUZZ_CHECK(p->value[p->feature[i].value].rank <= 2);
	}
	const struct program_feed feed = { .N = ROWS, .length = length, .input = input,
		.row = onnx_row, .context = f };
	for (size_t k = 0; k < p->n_outputs; k++) {
		double *out;
		const enum rs_status status = program_run(p, &feed, k, &out);

		FUZZ_CHECK((status == RS_OK) == (out != NULL));
		FUZZ_CHECK(status == RS_OK || status == RS_EDATA || status == RS_ERESOURCE);
		free(out);
	}
	free(input);
	free(length);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char tail[ONNX_TAIL + 1];
	struct file_writer w;
	struct onnx_file *f;

	FUZZ_CHECK(file_writer_open_memory(&w) == RS_OK);
	onnx_tail(hash_crc32c(0, data, n), tail);
	FUZZ_CHECK(file_writer_write(&w, data, n) == RS_OK);
	FUZZ_CHECK(file_writer_write(&w, tail, ONNX_TAIL) == RS_OK);
	FUZZ_CHECK(file_writer_commit(&w) == RS_OK);
	const enum rs_status status = onnx_read(w.path, &f);
	FUZZ_CHECK(status == RS_OK || status == RS_EDATA || status == RS_ENOINPUT
		|| status == RS_ERESOURCE);
	FUZZ_CHECK((status == RS_OK) == (f != NULL));
	if (f != NULL && is_small(onnx_program(f))) {
		run(f, 0);
		run(f, (double)NAN);
	}
	onnx_close(f);
	file_writer_close(&w);
	return 0;
}
