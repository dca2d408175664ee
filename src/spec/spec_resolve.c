/* What nobody gave follows from something else. */
#include <string.h>

#include "spec/figure.h"
#include "spec/spec_private.h"

/* The row that "embedding.dim" names. */
static const struct option_row *
inherited_row(const struct option_row *row)
{
	const char *dot = strchr(row->inherits, '.');

	for (const struct option_row *r = option_table; r->section != NULL; r++)
		if (strncmp(r->section, row->inherits, (size_t)(dot - row->inherits)) == 0 &&
		    r->section[dot - row->inherits] == '\0' && strcmp(r->key, dot + 1) == 0)
			return r;
	return NULL;
}

static void
resolve_field(struct spec *spec, size_t field)
{
	struct field_settings *f = &spec->settings.field[field];

	if (!spec_given(spec, "field", "column", field))
		f->column = f->name;
	f->missing_own = spec_given(spec, "field", "missing", field) ? TRI_YES : TRI_NO;
	f->scheduled = !spec_given(spec, "field", "learning_rate", field);
	/* Only din reads sequences together unless the spec says that they belong so. */
	if (strcmp(spec->settings.model.type, "din") != 0 &&
	    !spec_given(spec, "field", "history", field))
		f->history = f->name;
	/* As linear models of TensorFlow do with the combinations of a row. */
	if (f->type == FIELD_CROSS)
		f->combiner = COMBINE_SUM;
	if (f->type == FIELD_CROSS && !spec_given(spec, "field", "part", field) &&
	    option_section_concerns("linear", spec->settings.model.type))
		f->part = PART_WIDE;
}

/* An item is what its tower sees, unless [items] says otherwise. */
static void
resolve_items(struct settings *s)
{
	struct items_settings *items = &s->items;
	const int towers = strcmp(s->model.type, "two_tower") == 0;

	if (items->fields.n == 0 && towers)
		items->fields = s->tower[TOWER_ITEM].fields;
	if (*items->key == '\0' && towers && items->fields.n > 0)
		items->key = items->fields.item[0];
	if (items->fields.n == 0 && *items->key != '\0')
		items->fields = (struct text_list){ &items->key, 1 };
}

/* Users are told apart by the first field of their tower. */
static void
resolve_group(struct spec *spec)
{
	struct settings *s = &spec->settings;
	const struct text_list *user = &s->tower[TOWER_USER].fields;

	if (*s->data.group != '\0' || strcmp(s->model.type, "two_tower") != 0 || user->n == 0
	    || (s->data.format != FORMAT_TSV && s->data.format != FORMAT_CSV &&
		s->data.format != FORMAT_TFRECORD))
		return;
	const size_t field = spec_field_find(spec, user->item[0]);
	if (field != SPEC_NO_FIELD)
		s->data.group = s->field[field].column;
}

/* Does the row belong to the table, or to how its ids are hashed? */
static int
is_of_table(const struct option_row *row)
{
	return row->inherits != NULL || strcmp(row->key, "id_type") == 0 ||
		strcmp(row->key, "fold_case") == 0;
}

/* A field that shares takes what its table is from the owner of the table. */
static void
resolve_share(struct spec *spec, size_t field)
{
	struct field_settings *f = &spec->settings.field[field];
	const size_t owner = *f->share != '\0' ? spec_field_find(spec, f->share) : SPEC_NO_FIELD;

	if (owner == SPEC_NO_FIELD || owner == field)
		return;
	for (const struct option_row *row = option_table; row->section != NULL; row++)
		if (strcmp(row->section, "field") == 0 && is_of_table(row) &&
		    !spec_given(spec, "field", row->key, field))
			option_copy(row, f, row, &spec->settings.field[owner]);
	if (!spec_given(spec, "field", "learning_rate", field))
		f->scheduled = spec->settings.field[owner].scheduled;
}

int
spec_reads_a_stream(const struct data_settings *data)
{
	if (data->command != NULL && *data->command != '\0')
		return 1;
	for (size_t i = 0; i < data->train.n; i++)
		if (strcmp(data->train.item[i], "-") == 0)
			return 1;
	return 0;
}

/* The first figure of the evaluation that has a better and a worse. */
static void
resolve_monitor(struct spec *spec)
{
	struct settings *s = &spec->settings;
	char *name = s->train.monitor;
	struct figure f;

	if (spec_given(spec, "train", "monitor", SPEC_NO_FIELD))
		return;
	s->train.monitor = NULL;
	figure_monitor(s, &f);
	pool_text(&spec->pool, f.name, strlen(f.name), &s->train.monitor);
	if (s->train.monitor == NULL)
		s->train.monitor = name;
}

/* A row of lists has as much history as its field keeps, though its text is one item:
 * the window holds at most WINDOW_HISTORY bytes of ids, with LIST_ITEM bytes of text
 * an item. */
#define WINDOW_HISTORY ((int64_t)512 << 20)
#define LIST_ITEM      4

static void
resolve_window(struct spec *spec)
{
	struct data_settings *data = &spec->settings.data;
	int64_t n = 0, most;

	for (size_t i = 0; i < spec->settings.n_fields; i++) {
		const struct field_settings *f = &spec->settings.field[i];

		if (f->type == FIELD_SEQUENCE || f->type == FIELD_MULTI)
			n += f->max_length;
	}
	if (data->format != FORMAT_LISTS || n == 0 ||
	    spec_given(spec, "data", "shuffle_window", SPEC_NO_FIELD))
		return;
	most = WINDOW_HISTORY / ((int64_t)sizeof(uint64_t) * n) * LIST_ITEM;
	if (most < data->row_group)
		most = data->row_group;
	if (data->shuffle_window > most)
		data->shuffle_window = most;
}

void
spec_resolve(struct spec *spec)
{
	struct settings *s = &spec->settings;

	for (const struct option_row *row = option_table; row->section != NULL; row++) {
		const int is_field = strcmp(row->section, "field") == 0;
		const struct option_row *from = row->inherits != NULL ? inherited_row(row) : NULL;

		if (from == NULL)
			continue;
		for (size_t i = 0; i < (is_field ? s->n_fields : 1); i++) {
			const size_t field = is_field ? i : SPEC_NO_FIELD;

			if (!spec_given(spec, row->section, row->key, field))
				option_copy(row, spec_base(spec, row, field), from, s);
		}
	}
	for (size_t i = 0; i < s->n_fields; i++)
		resolve_field(spec, i);
	for (size_t i = 0; i < s->n_fields; i++)
		resolve_share(spec, i);
	resolve_items(s);
	resolve_window(spec);
	resolve_group(spec);
	if (!spec_given(spec, "eval", "candidates", SPEC_NO_FIELD))
		s->eval.candidates = strcmp(s->model.type, "two_tower") == 0 ? EVAL_CATALOGUE
									     : EVAL_ROWS;
	resolve_monitor(spec);
	s->embedding.optimizer.scheduled = 1;
	s->linear.optimizer.scheduled = 1;
	if (spec_reads_a_stream(&s->data) && !spec_given(spec, "data", "shuffle", SPEC_NO_FIELD))
		s->data.shuffle = 0;
}
