/*
 * Rows of data through an exported program and through the model: how far apart are they?
 */
#ifndef EXPORT_VERIFY_H
#define EXPORT_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/batch.h"
#include "export/program_run.h"
#include "train/model.h"

struct verify {
	const struct model *model;
	const struct program *program;     /* as it was read from the file            */
	size_t output;                     /* which of its outputs                    */
	const float *(*row)(void *context, size_t table, uint64_t id);
	void    *context;
	double   absolute, relative;       /* |difference| <= absolute + relative |x|  */
	uint64_t rows, over;               /* compared; of them too far apart         */
	double   largest;                  /* difference                              */
};

/* Rows of a batch whose values the model says are wanted [B,width]. */
enum rs_status verify_batch(struct verify *v, const struct batch *batch, const float *wanted,
	size_t width);

#endif
