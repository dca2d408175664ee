/* Room for copies of rows. */
#include "embed/stage.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum rs_status
stage_init(struct stage *s, size_t n_slots, size_t n_inputs)
{
	*s = (struct stage){ .n_slots = n_slots, .n_inputs = n_inputs };
	return memory_alloc(n_slots * n_inputs + 1, sizeof(*s->place), &s->place);
}

void
stage_free(struct stage *s)
{
	for (size_t i = 0; s->place != NULL && i < s->n_slots * s->n_inputs; i++)
		free(s->place[i].value);
	free(s->place);
	memset(s, 0, sizeof(*s));
}

enum rs_status
stage_take(struct stage *s, size_t slot, size_t input, size_t n, float **out)
{
	struct stage_place *p = &s->place[slot * s->n_inputs + input];

	if (n > p->capacity) {
		free(p->value);
		*p = (struct stage_place){ .capacity = n + n / 4 };
		RS_TRY(memory_alloc(p->capacity, sizeof(*p->value), &p->value));
	}
	*out = p->value;
	return RS_OK;
}

size_t
stage_bytes(const struct stage *s)
{
	size_t floats = 0;

	for (size_t i = 0; i < s->n_slots * s->n_inputs; i++)
		floats += s->place[i].capacity;
	return floats * sizeof(float);
}
