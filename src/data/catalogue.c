/* Items by key: an open hash index over arrays that grow. */
#include "data/catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "spec/spec.h"

#define SLOTS_FIRST ((size_t)1024)

int
catalogue_needed(const struct settings *s)
{
	if (*s->items.key == '\0' || spec_reads_a_stream(&s->data))
		return 0;
	return s->items.negatives > 0 || s->model.loss == LOSS_FULL_SOFTMAX ||
		s->eval.candidates == EVAL_CATALOGUE || strcmp(s->model.type, "two_tower") == 0;
}

void
catalogue_free(struct catalogue *c)
{
	if (c == NULL)
		return;
	batch_free(&c->items);
	free(c->key);
	free(c->rows);
	free(c->text);
	free(c->text_end);
	free(c->slot);
	free(c);
}

/* Where the key is, or where it would go. */
static size_t
slot_of(const struct catalogue *c, uint64_t key)
{
	size_t i = (size_t)hash_mix(key) & (c->n_slots - 1);

	while (c->slot[i] != CATALOGUE_NONE && c->key[c->slot[i]] != key)
		i = (i + 1) & (c->n_slots - 1);
	return i;
}

uint32_t
catalogue_find(const struct catalogue *c, uint64_t key)
{
	return c->n_slots > 0 ? c->slot[slot_of(c, key)] : CATALOGUE_NONE;
}

const char *
catalogue_name(const struct catalogue *c, size_t i, size_t *n)
{
	const uint64_t begin = i == 0 ? 0 : c->text_end[i - 1];

	*n = (size_t)(c->text_end[i] - begin);
	return c->text + begin;
}

/* At most half of the slots are taken. */
static enum rs_status
slots_grow(struct catalogue *c)
{
	const size_t n = c->n_slots > 0 ? 2 * c->n_slots : SLOTS_FIRST;
	uint32_t *slot;

	RS_TRY(memory_alloc(n, sizeof *slot, &slot));
	memset(slot, 0xff, n * sizeof *slot);
	free(c->slot);
	c->slot = slot;
	c->n_slots = n;
	for (size_t i = 0; i < c->n; i++)
		c->slot[slot_of(c, c->key[i])] = (uint32_t)i;
	return RS_OK;
}

static enum rs_status
column_grow(uint64_t **column, size_t capacity)
{
	uint64_t *const grown = realloc(*column, capacity * sizeof *grown);

	if (grown == NULL)
		return rs_fail(
			RS_ERESOURCE, "out of memory for a catalogue of %zu items", capacity);
	*column = grown;
	return RS_OK;
}

static enum rs_status
columns_grow(struct catalogue *c)
{
	const size_t capacity = c->capacity > 0 ? 2 * c->capacity : SLOTS_FIRST;

	RS_TRY(column_grow(&c->key, capacity));
	RS_TRY(column_grow(&c->rows, capacity));
	RS_TRY(column_grow(&c->text_end, capacity));
	c->capacity = capacity;
	return RS_OK;
}

enum rs_status
catalogue_count(
	struct catalogue *c, uint64_t key, uint64_t rows, uint32_t *number, int *is_new)
{
	size_t slot;

	if (2 * (c->n + 1) > c->n_slots)
		RS_TRY(slots_grow(c));
	slot = slot_of(c, key);
	*number = c->slot[slot];
	*is_new = *number == CATALOGUE_NONE;
	if (!*is_new) {
		c->rows[*number] += rows;
		return RS_OK;
	}
	if (c->n >= UINT32_MAX / 4)
		return rs_fail(RS_ERESOURCE, "more than %u items", UINT32_MAX / 4);
	if (c->n == c->capacity)
		RS_TRY(columns_grow(c));
	*number = c->slot[slot] = (uint32_t)c->n;
	c->key[c->n] = key;
	c->rows[c->n] = rows;
	c->text_end[c->n] = c->n == 0 ? 0 : c->text_end[c->n - 1];
	c->n++;
	return RS_OK;
}
