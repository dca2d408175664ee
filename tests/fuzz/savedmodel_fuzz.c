/*
 * saved_model.pb of constants: what is accepted can be run.  The sums of crc32c.txt are not
 * asked for.
 */
#include "export/savedmodel.h"
#include "tests/fuzz/place_fuzz.h"
#include "tests/fuzz/program_fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct savedmodel *s;

	place_fuzz_write("saved_model.pb", data, n);
	const enum rs_status status = savedmodel_read(place_fuzz_directory(), "serving_default",
		&s);
	FUZZ_CHECK(status == RS_OK || status == RS_EDATA || status == RS_ENOINPUT
		|| status == RS_ERESOURCE);
	FUZZ_CHECK((status == RS_OK) == (s != NULL));
	if (s != NULL)
		program_fuzz(savedmodel_program(s), savedmodel_row, s);
	savedmodel_close(s);
	return 0;
}
