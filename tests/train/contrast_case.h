/*
 * A small two_tower and batches for it: 20 items, one of them ten times as frequent as
 * any other; a user's id and a number on the other side.
 */
#ifndef TESTS_TRAIN_CONTRAST_CASE_H
#define TESTS_TRAIN_CONTRAST_CASE_H

#include <stddef.h>
#include <stdint.h>

#include "data/batch.h"
#include "train/model.h"
#include "train/workers.h"

enum { CASE_N_ITEMS = 20, CASE_N_USERS = 30, CASE_N_DRAWN = 5 };

/* More of the spec: two layers and cosine, their temperature learned. */
#define CASE_DEEP "[tower user]\nhidden = 6,4\nactivation = tanh\n" \
	"[tower item]\nhidden = 5,4\nactivation = tanh\n"
#define CASE_DEEP_TEMPERATURE CASE_DEEP "[two_tower]\nlearn_temperature = yes\n"

struct model *contrast_case_model(const char *loss, const char *more, size_t n_threads);
void contrast_case_batch(struct batch *batch, const struct model *m, size_t B, uint64_t key);
/* Every item once; some are marked as drawn, each row has CASE_N_DRAWN of its own. */
void contrast_case_candidates(struct batch *batch, const struct model *m, uint64_t key);
/* All weights, the rows of tables behind the dense parameters; how many. */
size_t contrast_case_weights(const struct model *m, float *out);

#endif
