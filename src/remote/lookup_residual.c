/* Error feedback: rounding errors of rows, kept in a table of bounded size. */
#include "remote/lookup_residual.h"

#include <string.h>

#include "base/memory.h"

size_t
lookup_residual_bytes(uint64_t n, size_t D)
{
	return (size_t)n * (sizeof(uint64_t) + D * sizeof(float));
}

enum rs_status
lookup_residual_init(struct lookup_residual *r, uint64_t n_places, size_t D)
{
	memset(r, 0, sizeof(*r));
	r->n_places = n_places > 0 ? (size_t)n_places : 1;
	r->D = D;
	r->block_bytes = lookup_residual_bytes(r->n_places, D);
	RS_TRY(large_alloc(r->block_bytes, &r->block));
	r->owner = r->block;
	r->error = (float *)(void *)(r->owner + r->n_places);
	return RS_OK;
}

void
lookup_residual_free(struct lookup_residual *r)
{
	if (r->block != NULL)
		large_free(r->block, r->block_bytes);
	memset(r, 0, sizeof(*r));
}

void
lookup_residual_add(const struct lookup_residual *r, uint64_t id, float *x)
{
	const size_t place = (size_t)(id % r->n_places);
	const float *error = r->error + place * r->D;

	if (r->owner[place] != id + 1)
		return;
	for (size_t d = 0; d < r->D; d++)
		x[d] += error[d];
}

void
lookup_residual_put(struct lookup_residual *r, uint64_t id, const float *error)
{
	const size_t place = (size_t)(id % r->n_places);

	r->n_dropped += r->owner[place] != 0 && r->owner[place] != id + 1;
	r->owner[place] = id + 1;
	memcpy(r->error + place * r->D, error, r->D * sizeof(*error));
}
