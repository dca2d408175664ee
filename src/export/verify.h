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
	const char *path;                  /* of the file, for messages               */
	size_t output;                     /* which of its outputs                    */
	const float *(*row)(void *context, size_t table, uint64_t id);
	void    *context;
	double   absolute, relative;       /* |difference| <= absolute + relative |x|  */
	uint64_t rows, over;               /* compared; of them too far apart         */
	double   largest;                  /* difference                              */
};

/* The file's inputs and first output are those of the model's own program, by name, kind and
 * width; RS_EDATA names what is not. */
enum rs_status verify_interface(const struct verify *v, const struct program *own);
/* Rows of a batch whose values the model says are wanted [B,width]. */
enum rs_status verify_batch(struct verify *v, const struct batch *batch, const float *wanted,
	size_t width);

#endif
