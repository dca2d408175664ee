/*
 * Negative sampling: items that a row is not about, drawn from the catalogue.
 *
 * Draws are counter-based random numbers keyed by (seed, epoch, row of the epoch,
 * number of the draw), so batches do not depend on threads, timing or resuming.
 * Draws are with replacement; one for a row never is the row's own item.  Items
 * come up alike or in proportion to rows^alpha; with items.within only those that
 * share the row's value of that field, or any when there is no other.  A sampler
 * has scratch memory: one thread at a time.
 */
#ifndef DATA_SAMPLER_H
#define DATA_SAMPLER_H

#include "base/status.h"
#include "data/batch.h"
#include "data/catalogue.h"

struct sampler;

/* 1 when training batches need sampler_fill(). */
int sampler_needed(const struct settings *settings);
/* Both are borrowed. */
enum rs_status sampler_create(
	const struct schema *schema, const struct catalogue *catalogue, struct sampler **out);
void sampler_free(struct sampler *s);

/* The most candidates of a batch of B rows, of n items: no more than items, rows and draws. */
size_t sampler_most(const struct settings *settings, size_t n_items, size_t B);

/* What the spec's loss needs: candidates, or more rows; spare is scratch of the same
 * schema and may change places with the batch.  batch: rows in the order of the
 * epoch, epoch and first_row set. */
enum rs_status sampler_fill(struct sampler *s, struct batch *batch, struct batch *spare);

/* Fills batch->candidates for the losses of two_tower. */
enum rs_status sampler_candidates(struct sampler *s, struct batch *batch);
/* Rows to out; behind every row with a label above 0 its copies with drawn items:
 * columns of the items' fields changed, label 0. */
enum rs_status sampler_expand(struct sampler *s, const struct batch *rows, struct batch *out);

/* Draws for a row that is alone with its value of items.within. */
uint64_t sampler_fallbacks(const struct sampler *s);

#endif
