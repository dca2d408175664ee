/*
 * Negative sampling: items that a row is not about, drawn from the catalogue.
 *
 * Draws are counter-based random numbers keyed by (seed, epoch, row of the epoch,
 * number of the draw), so batches do not depend on threads, timing or resuming.
 * A draw never is the row's own item.  sampler_candidates() fills
 * batch->candidates for the losses of two_tower; sampler_expand() (logloss with
 * items.negatives) puts behind every row with a positive label its copies with
 * the fields of drawn items and label 0.
 */
#ifndef DATA_SAMPLER_H
#define DATA_SAMPLER_H

#include "base/status.h"
#include "data/batch.h"
#include "data/catalogue.h"

struct sampler;

/* Both are borrowed. */
enum rs_status sampler_create(
	const struct schema *schema, const struct catalogue *catalogue, struct sampler **out);
void sampler_free(struct sampler *s);
/* batch: rows in the order of the epoch, epoch and first_row set. */
enum rs_status sampler_candidates(const struct sampler *s, struct batch *batch);
enum rs_status sampler_expand(const struct sampler *s, const struct batch *rows, struct batch *out);

#endif
