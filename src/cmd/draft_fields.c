/* The fields of a draft: which columns they are, and what they are to the model. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cmd/draft.h"
#include "spec/value.h"

enum { BUCKETS_MAX = 1 << 20 };

static int
is_model(const struct draft *d, const char *name)
{
	return strcmp(d->model, name) == 0;
}

/* Ids that a sequence may be made of. */
static int
may_be_target(const struct draft *d, size_t i)
{
	const struct draft_field *f = &d->field[i];
	const struct sample_column *c = &d->sample->column[f->column];

	if (f->guess.role == GUESS_NUMERIC)
		return c->wholes == c->rows - c->missing && c->min >= 0;
	return f->guess.role == GUESS_CATEGORICAL;
}

/* The field whose ids a sequence most looks like. */
static size_t
find_target(struct draft *d, size_t sequence)
{
	struct draft_field *f = &d->field[sequence];
	size_t best = DRAFT_NONE;

	for (size_t i = 0; i < d->n_fields; i++) {
		double likeness;

		if (!may_be_target(d, i))
			continue;
		likeness = guess_relation_likeness(d->sample, f->column, f->guess.multi_separator,
			d->field[i].column);
		if (best == DRAFT_NONE || likeness > f->likeness) {
			best = i;
			f->likeness = likeness;
		}
	}
	return best;
}

static void
make_ids(struct draft_field *f)
{
	f->guess.role = GUESS_CATEGORICAL;
	if (f->guess.buckets < BUCKETS_MAX)
		f->guess.buckets *= 2;             /* the histories hold more of them */
}

/* Aligned sequences are of one group; groups count from 0. */
static size_t
find_group(const struct draft *d, size_t sequence)
{
	const struct draft_field *f = &d->field[sequence];
	size_t n = 0;

	for (size_t i = 0; i < sequence; i++) {
		if (!d->field[i].is_sequence)
			continue;
		if (guess_relation_is_aligned(d->sample, f->column, f->guess.multi_separator,
			d->field[i].column, d->field[i].guess.multi_separator))
			return d->field[i].group;
		n = d->field[i].group + 1 > n ? d->field[i].group + 1 : n;
	}
	return n;
}

/* Which bags are sequences of the ids of another field. */
static enum rs_status
find_sequences(struct draft *d)
{
	size_t best = DRAFT_NONE, n = 0;

	for (size_t i = 0; i < d->n_fields; i++) {
		struct draft_field *f = &d->field[i];

		if (f->guess.role != GUESS_MULTI)
			continue;
		f->asked = find_target(d, i);
		if (f->asked != DRAFT_NONE &&
			(best == DRAFT_NONE || f->likeness > d->field[best].likeness))
			best = i;
	}
	for (size_t i = 0; i < d->n_fields; i++) {
		struct draft_field *f = &d->field[i];

		if (f->asked == DRAFT_NONE || (i != best && f->likeness < 0.15))
			continue;
		f->is_sequence = 1;
		f->share = f->asked;
		f->group = find_group(d, i);
		make_ids(&d->field[f->share]);
		n++;
	}
	if (n > 0 || !is_model(d, "din"))
		return RS_OK;
	rs_fail(RS_EDATA, "'%s': model din needs a history, and no column holds several ids in a "
		"cell", d->data);
	return rs_hint("the scripts beside the installed specs, in convert/, make histories from "
		"logs of events; see recsys-train-data(7)");
}

/* Ids with many values, of that side or of none. */
static size_t
find_ids(const struct draft *d, enum guess_side side)
{
	size_t best = DRAFT_NONE;

	for (size_t i = 0; i < d->n_fields; i++) {
		const struct draft_field *f = &d->field[i];

		if (f->guess.role != GUESS_CATEGORICAL || (f->side != side &&
			f->side != GUESS_SIDE_UNKNOWN))
			continue;
		if (best == DRAFT_NONE || f->guess.distinct > d->field[best].guess.distinct)
			best = i;
	}
	return best;
}

/* The ids of the users: by name, else those of the users' side with the most values. */
static size_t
find_user(const struct draft *d)
{
	for (size_t i = 0; i < d->n_fields; i++)
		if (d->field[i].guess.role == GUESS_CATEGORICAL &&
			guess_relation_is_user(d->sample->column[d->field[i].column].name))
			return i;
	return find_ids(d, GUESS_SIDE_USER);
}

/* The first ids of a log without names are most likely the user's. */
static size_t
first_ids(const struct draft *d)
{
	for (size_t i = 0; i < d->n_fields; i++)
		if (d->field[i].guess.role == GUESS_CATEGORICAL &&
			d->field[i].side == GUESS_SIDE_UNKNOWN)
			return i;
	return DRAFT_NONE;
}

/* The item is what the histories are made of, else what a name says, else the ids
 * with the most values that are not the first. */
static size_t
find_item(const struct draft *d)
{
	size_t best = DRAFT_NONE;

	for (size_t i = 0; i < d->n_fields; i++) {
		const size_t target = d->field[i].share;

		if (d->field[i].is_sequence && (best == DRAFT_NONE ||
			d->field[target].guess.distinct > d->field[best].guess.distinct))
			best = target;
	}
	for (size_t i = 0; i < d->n_fields && best == DRAFT_NONE; i++)
		if (d->field[i].guess.role == GUESS_CATEGORICAL &&
			d->field[i].side == GUESS_SIDE_ITEM)
			best = i;
	return best != DRAFT_NONE ? best : find_ids(d, GUESS_SIDE_ITEM);
}

static enum rs_status
find_sides(struct draft *d)
{
	int has_user = 0;

	for (size_t i = 0; i < d->n_fields; i++)
		d->field[i].side = d->field[i].is_sequence ? GUESS_SIDE_USER :
			guess_relation_side(d->sample->column[d->field[i].column].name);
	for (size_t i = 0; i < d->n_fields; i++)
		if (d->field[i].is_sequence)
			d->field[d->field[i].share].side = GUESS_SIDE_ITEM;
	for (size_t i = 0; i < d->n_fields; i++)
		has_user |= d->field[i].side == GUESS_SIDE_USER;
	d->user = find_user(d);
	if (!has_user)
		d->user = first_ids(d);
	if (d->user != DRAFT_NONE)
		d->field[d->user].side = GUESS_SIDE_USER;
	d->item = find_item(d);
	if (d->item == DRAFT_NONE || (d->user == DRAFT_NONE && !has_user))
		return rs_fail(RS_EDATA, "'%s': two_tower needs ids of users and of items, two "
			"columns at least", d->data);
	d->field[d->item].side = GUESS_SIDE_ITEM;
	for (size_t i = 0; i < d->n_fields; i++)
		if (d->field[i].side == GUESS_SIDE_UNKNOWN)
			d->field[i].side = GUESS_SIDE_USER;
	return RS_OK;
}

static void
add_field(struct draft *d, size_t column, const struct guess *guess, size_t *n_numeric,
	size_t *n_other)
{
	struct draft_field *f = &d->field[d->n_fields++];
	const char *name = d->sample->column[column].name;

	*f = (struct draft_field){ .column = column, .guess = *guess, .share = DRAFT_NONE,
		.asked = DRAFT_NONE };
	snprintf(f->generated, sizeof(f->generated), guess->role == GUESS_NUMERIC ? "I%zu" :
		"C%zu", guess->role == GUESS_NUMERIC ? ++*n_numeric : ++*n_other);
	f->name = name != NULL ? name : f->generated;
}

enum rs_status
draft_fields(struct draft *d)
{
	size_t n_numeric = 0, n_other = 0;

	RS_TRY(memory_alloc(d->sample->n_columns, sizeof(*d->field), &d->field));
	for (size_t i = 0; i < d->sample->n_columns; i++) {
		const struct guess g = guess_column(d->sample, i, d->label);

		if (g.role != GUESS_LABEL && g.role < GUESS_ROW_ID)
			add_field(d, i, &g, &n_numeric, &n_other);
	}
	log_info("%s: %zu fields", d->data, d->n_fields);
	if (d->n_fields == 0)
		return rs_fail(RS_EDATA, "'%s' has no column that tells rows apart", d->data);
	if (is_model(d, "din") || is_model(d, "two_tower"))
		RS_TRY(find_sequences(d));
	return is_model(d, "two_tower") ? find_sides(d) : RS_OK;
}

/* Records have lists of their own. */
static enum rs_status
print_separator(struct draft *d, const struct draft_field *f)
{
	char byte[2];

	if (d->sample->is_records && f->guess.multi_separator == '|')
		return RS_OK;
	return draft_key(d, "multi_separator", draft_separator(f->guess.multi_separator, byte),
		"%s", "");
}

static enum rs_status
print_sequence(struct draft *d, const struct draft_field *f)
{
	const struct draft_field *target = &d->field[f->share];
	char name[32];

	RS_TRY(draft_key(d, "type", "sequence", "oldest item first"));
	RS_TRY(print_separator(d, f));
	RS_TRY(draft_key(d, "share", target->name, f->likeness * 10 < GUESS_RELATION_WEAK ?
		"a guess: which field's ids are these?" : "whose ids these are"));
	snprintf(name, sizeof(name), f->group > 0 ? "history%zu" : "history", f->group + 1);
	if (is_model(d, "din"))
		RS_TRY(draft_key(d, "history", name,
			"those of one name are aligned, item by item"));
	return draft_key(d, "max_length", "50", "of a longer one the newest");
}

/* A bag, and what would make a sequence of it. */
static enum rs_status
print_bag(struct draft *d, const struct draft_field *f)
{
	RS_TRY(draft_key(d, "type", "multi", "categorical numeric multi sequence"));
	RS_TRY(print_separator(d, f));
	if (f->asked != DRAFT_NONE)
		RS_TRY(buffer_printf(&d->text, "# a history of another field's ids?  Then "
			"type = sequence and\n#share = %s\n", d->field[f->asked].name));
	return draft_buckets(d, f->guess.buckets, "about four times the different values");
}

static enum rs_status
print_field(struct draft *d, const struct draft_field *f)
{
	const struct sample_column *c = &d->sample->column[f->column];

	RS_TRY(draft_field_section(d, f->name));
	RS_TRY(buffer_printf(&d->text, "  # %llu different values, %.1f%% missing\n",
		(unsigned long long)f->guess.distinct, 100.0 * (double)c->missing /
		(double)c->rows));
	RS_TRY(draft_column(d, "column", f->column, ""));
	if (f->guess.role == GUESS_NUMERIC) {
		RS_TRY(draft_key(d, "type", "numeric", "from %g to %g", c->min, c->max));
		return draft_key(d, "transform", f->guess.transform,
			"none log1p standardize bucketize");
	}
	if (f->is_sequence)
		return print_sequence(d, f);
	if (f->guess.role == GUESS_MULTI)
		return print_bag(d, f);
	RS_TRY(draft_key(d, "type", "categorical", "categorical numeric multi sequence"));
	return draft_buckets(d, f->guess.buckets, "about four times the different values");
}

static enum rs_status
print_left_out(struct draft *d, size_t column, enum guess_role role)
{
	const char *name = d->sample->column[column].name;

	return buffer_printf(&d->text, "\n# column %zu%s%s%s is left out: %s\n", column + 1,
		name != NULL ? " (" : "", name != NULL ? name : "", name != NULL ? ")" : "",
		role == GUESS_ROW_ID ? "every row has its own value" :
		role == GUESS_TIME ? "it is the time of the row" : "it has one value");
}

enum rs_status
draft_print_fields(struct draft *d)
{
	size_t at = 0;

	for (size_t i = 0; i < d->sample->n_columns; i++) {
		if (at < d->n_fields && d->field[at].column == i) {
			RS_TRY(print_field(d, &d->field[at++]));
			continue;
		}
		const struct guess g = guess_column(d->sample, i, d->label);

		if (g.role != GUESS_LABEL)
			RS_TRY(print_left_out(d, i, g.role));
	}
	return RS_OK;
}
