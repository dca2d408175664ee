/* The program: parse, start, run, end. */
#include "cmd/arguments.h"
#include "cmd/process.h"

int
main(int argc, char **argv)
{
	struct arguments a;
	enum rs_status status;
	int code;

	process_keep_standard_files();
	process_keep_write_errors();
	status = arguments_parse(argc, argv, &a);
	if (status == RS_OK)
		status = process_start(&a);
	if (status == RS_OK)
		status = process_run(&a);
	if (status == RS_OK || status == RS_EPARTIAL || status == RS_EUNMET) {
		const enum rs_status flushed = output_flush();

		status = flushed != RS_OK ? flushed : status;
	}
	code = process_end(&a, status);
	arguments_free(&a);
	if (status == RS_ERESOURCE)
		process_leave(code);
	return code;
}
