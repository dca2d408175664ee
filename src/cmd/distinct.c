/* Counting different values. */
#include "cmd/distinct.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"

enum { REGISTER_BITS = 14, TABLE = 2 * DISTINCT_EXACT };

static void
note(struct distinct *d, uint64_t hash)
{
	const uint64_t mixed = hash_mix(hash), rest = mixed << REGISTER_BITS;
	const uint8_t  rank = rest != 0 ? (uint8_t)(__builtin_clzll(rest) + 1) :
		64 - REGISTER_BITS + 1;
	uint8_t *reg = &d->reg[mixed >> (64 - REGISTER_BITS)];

	if (rank > *reg)
		*reg = rank;
}

/* The set is full: from now on registers. */
static enum rs_status
begin_registers(struct distinct *d)
{
	RS_TRY(memory_alloc(DISTINCT_REGISTERS, 1, &d->reg));
	for (size_t i = 0; i < TABLE; i++)
		if (d->set[i] != 0)
			note(d, d->set[i]);
	if (d->has_zero)
		note(d, 0);
	free(d->set);
	d->set = NULL;
	return RS_OK;
}

enum rs_status
distinct_add(struct distinct *d, uint64_t hash)
{
	size_t at;

	if (d->reg != NULL) {
		note(d, hash);
		return RS_OK;
	}
	if (hash == 0) {
		d->has_zero = 1;
		return RS_OK;
	}
	if (d->set == NULL)
		RS_TRY(memory_alloc(TABLE, sizeof(*d->set), &d->set));
	for (at = hash_mix(hash) % TABLE; d->set[at] != 0; at = (at + 1) % TABLE)
		if (d->set[at] == hash)
			return RS_OK;
	d->set[at] = hash;
	return ++d->n > DISTINCT_EXACT ? begin_registers(d) : RS_OK;
}

uint64_t
distinct_count(const struct distinct *d, int *is_exact)
{
	const double m = DISTINCT_REGISTERS, alpha = 0.7213 / (1 + 1.079 / m);
	double sum = 0;

	*is_exact = d->reg == NULL;
	if (*is_exact)
		return d->n + (d->has_zero != 0);
	for (size_t i = 0; i < DISTINCT_REGISTERS; i++)
		sum += ldexp(1, -d->reg[i]);
	return (uint64_t)(alpha * m * m / sum);
}

int
distinct_holds(const struct distinct *d, uint64_t hash)
{
	if (hash == 0)
		return d->has_zero;
	for (size_t at = hash_mix(hash) % TABLE; d->set != NULL && d->set[at] != 0;
		at = (at + 1) % TABLE)
		if (d->set[at] == hash)
			return 1;
	return 0;
}

void
distinct_free(struct distinct *d)
{
	free(d->set);
	free(d->reg);
	*d = (struct distinct){ 0 };
}
