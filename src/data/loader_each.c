/* All batches of some rows, one after the other. */
#include "data/loader.h"

enum rs_status
loader_each(const struct loader_options *options,
	enum rs_status (*take)(void *context, const struct batch *batch, int *done), void *context,
	struct parser_tally *tally)
{
	const struct batch *batch;
	struct loader *loader;
	enum rs_status status;
	int done = 0;

	RS_TRY(loader_open(options, &loader));
	do {
		status = loader_next(loader, &batch, NULL);
		if (status == RS_OK && batch != NULL)
			status = take(context, batch, &done);
	} while (status == RS_OK && batch != NULL && !done);
	if (tally != NULL)
		loader_tally(loader, tally);
	loader_close(loader);
	return status;
}
