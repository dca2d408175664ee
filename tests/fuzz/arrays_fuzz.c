/*
 * Files of arrays: every row of what is accepted can be read.  The first byte says which
 * form the others are.
 */
#include <string.h>

#include "export/array_file.h"
#include "tests/fuzz/fuzz.h"

static const struct array_format *const format[] = { &array_npy, &array_npz, &array_safetensors,
	&array_text, &array_fvecs };

enum { N_FORMATS = sizeof format / sizeof *format, ROWS_MAX = 1 << 14 };

static void
read_rows(struct array_file *f, size_t i)
{
	const struct array_found *const a = &f->item[i];
	const size_t bytes = a->columns * array_kind[a->type].bytes;
	volatile unsigned sum = 0;

	FUZZ_CHECK(a->type < ARRAY_N_TYPES && (a->rank == 1 || a->rank == 2));
	for (uint64_t r = 0; r < a->rows && r < ROWS_MAX; r++) {
		const void *row;

		if (array_file_row(f, i, r, &row) != RS_OK)
			return;
		for (size_t k = 0; k < bytes; k++)
			sum += ((const unsigned char *)row)[k];
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct file_writer w;
	struct array_file f;

	if (n == 0)
		return 0;
	FUZZ_CHECK(file_writer_open_memory(&w) == RS_OK);
	FUZZ_CHECK(file_writer_write(&w, data + 1, n - 1) == RS_OK);
	FUZZ_CHECK(file_writer_commit(&w) == RS_OK);
	const enum rs_status status = array_file_open(format[data[0] % N_FORMATS], w.path, "x", "x",
		&f);
	FUZZ_CHECK(status == RS_OK || status == RS_EDATA || status == RS_ERESOURCE);
	for (size_t i = 0; status == RS_OK && i < f.n; i++)
		read_rows(&f, i);
	if (status == RS_OK)
		array_file_close(&f);
	file_writer_close(&w);
	return 0;
}
