/*
 * Aligned sequences: counts compared, places without any item taken out, then cut.
 */
#include "data/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct history {
	const struct feature **member; /* [n]                                        */
	size_t n, most;                /* most: items kept                           */
};

static int
is_member(const struct schema_field *field, const char *name)
{
	return field->settings->type == FIELD_SEQUENCE && field->settings->history != NULL &&
		strcmp(field->settings->history, name) == 0;
}

static enum rs_status
history_init(struct history *h, const struct schema *schema, struct feature *feature,
	const char *name)
{
	RS_TRY(memory_alloc(schema->n_fields, sizeof *h->member, &h->member));
	h->most = SIZE_MAX;
	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct field_settings *const s = schema->field[i].settings;

		if (!is_member(&schema->field[i], name))
			continue;
		feature[i].keeps_places = 1;
		h->member[h->n++] = &feature[i];
		if (s->max_length > 0 && (size_t)s->max_length < h->most)
			h->most = (size_t)s->max_length;
	}
	return RS_OK;
}

/* Members of the history of this name if field is the first of several, else 0. */
static size_t
first_of_several(const struct schema *schema, size_t field)
{
	const char *const name = schema->field[field].settings->history;
	size_t n = 0;

	if (name == NULL || *name == '\0' || !is_member(&schema->field[field], name))
		return 0;
	for (size_t i = 0; i < schema->n_fields; i++) {
		if (!is_member(&schema->field[i], name))
			continue;
		if (i < field)
			return 0;
		n++;
	}
	return n > 1 ? n : 0;
}

enum rs_status
histories_init(struct histories *h, const struct schema *schema, struct feature *feature)
{
	*h = (struct histories){ .n = 0 };
	RS_TRY(memory_alloc(schema->n_fields + 1, sizeof *h->history, &h->history));
	for (size_t i = 0; i < schema->n_fields; i++)
		if (first_of_several(schema, i) > 0)
			RS_TRY(history_init(&h->history[h->n++], schema, feature,
				schema->field[i].settings->history));
	return RS_OK;
}

void
histories_free(struct histories *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->history[i].member);
	free(h->history);
	*h = (struct histories){ .n = 0 };
}

static size_t
member_begin(const struct feature *member, const struct batch *batch)
{
	return batch->column[member->index].offset[batch->B];
}

static size_t
member_count(const struct feature *member, const struct batch *batch)
{
	return batch->column[member->index].N - member_begin(member, batch);
}

static int
place_is_empty(const struct history *h, const struct batch *batch, size_t i)
{
	for (size_t m = 0; m < h->n; m++) {
		const struct feature *const member = h->member[m];

		if (batch->column[member->index].ids[member_begin(member, batch) + i] !=
		    member->buckets.d)
			return 0;
	}
	return 1;
}

/* From the newest place back, so that no more than `most` are looked at twice. */
static void
history_cut(const struct history *h, struct batch *batch, size_t n)
{
	size_t kept = n;

	for (size_t i = n; i-- > 0 && n - kept < h->most;) {
		if (place_is_empty(h, batch, i))
			continue;
		kept--;
		for (size_t m = 0; m < h->n; m++)
			feature_move_item(h->member[m], batch, kept, i);
	}
	for (size_t m = 0; m < h->n; m++)
		feature_drop_items(h->member[m], batch, kept);
}

static enum rs_status
history_end_row(const struct history *h, const char *row, struct batch *batch,
	struct cell_error *error)
{
	const size_t n = member_count(h->member[0], batch);

	for (size_t m = 1; m < h->n; m++) {
		const size_t other = member_count(h->member[m], batch);

		if (other == n)
			continue;
		cell_error_set(error, row,
			"field '%s' has %zu items and field '%s' has %zu, wanted as many: both "
			"are of the history '%s'",
			h->member[0]->field->name, n, h->member[m]->field->name, other,
			h->member[0]->field->settings->history);
		return RS_EDATA;
	}
	history_cut(h, batch, n);
	return RS_OK;
}

enum rs_status
histories_end_row(const struct histories *h, const char *row, struct batch *batch,
	struct cell_error *error)
{
	for (size_t i = 0; i < h->n; i++)
		RS_TRY(history_end_row(&h->history[i], row, batch, error));
	return RS_OK;
}
