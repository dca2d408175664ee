/*
 * ONNX files: what is accepted can be run.  The bytes are a file without its end, which is
 * the sum of all before it and is put there.
 */
#include "base/file.h"
#include "base/hash.h"
#include "export/onnx.h"
#include "tests/fuzz/program_fuzz.h"

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
	if (f != NULL)
		program_fuzz(onnx_program(f), onnx_row, f);
	onnx_close(f);
	file_writer_close(&w);
	return 0;
}
