/*
 * Files of arrays against the arrays they were made of.
 *
 * Each array is there once with its type and shape, and nothing else is; floats have the same
 * bits, others are within half a step of their number.
 */
#ifndef EXPORT_ARRAY_PROOF_H
#define EXPORT_ARRAY_PROOF_H

#include "base/status.h"
#include "export/array_file.h"

struct array_proof {
	struct array_file *file;           /* [n_files] of one form                   */
	size_t n_files;
	uint64_t numbers;                  /* out: compared                           */
	double   largest;                  /* out: difference                         */
};

/* RS_EUNMET: a number differs. */
enum rs_status array_proof_run(struct array_proof *p, const struct arrays *set);

#endif
