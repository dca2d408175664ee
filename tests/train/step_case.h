/*
 * A small DeepFM and batches for it, shared by the tests of the step: shared
 * tables, bags, numeric fields, batch norm and dropout.
 */
#ifndef TESTS_TRAIN_STEP_CASE_H
#define TESTS_TRAIN_STEP_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "data/batch.h"
#include "train/model.h"
#include "train/workers.h"

/* Lines of more options, "section.key = value" by '\n', NULL none. */
struct model *step_case_model(
	const char *const *set, size_t n_sets, size_t n_threads, int for_training);
/* B rows, a pure function of key; ids repeat inside and across slots. */
void step_case_batch(struct batch *batch, const struct model *m, size_t B, uint64_t key);
/* Bytes of every parameter, optimizer state and row, in a fixed order; caller frees. */
unsigned char *step_case_dump(const struct model *m, size_t *n);

#endif
