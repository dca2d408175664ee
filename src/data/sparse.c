/*
 * Rows of libsvm, libffm and libfm: a label, then INDEX:VALUE or
 * FIELD:FEATURE:VALUE, between spaces or tabs.
 */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/number.h"
#include "data/fast_cell.h"
#include "data/parser_private.h"

#define INDEX_DIGITS 19                /* of a number that 64 bits hold             */
#define VALUE_DIGITS 8                 /* and 32 bits                               */

struct token {
	const char *begin, *end;
	const char *limit;             /* the end of the row, and of what may be read */
};

static int
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static int
token_next(const char **at, const char *end, struct token *out)
{
	const char *p = *at;

	while (p < end && is_space(*p))
		p++;
	out->begin = p;
	while (p < end && !is_space(*p))
		p++;
	out->end = *at = p;
	return out->begin < p;
}

static const char *
token_colon(const struct token *t)
{
	return memchr(t->begin, ':', (size_t)(t->end - t->begin));
}

/* Most are a few bytes away. */
static inline const char *
next_colon(const char *p, const char *end)
{
	while (p < end && *p != ':')
		p++;
	return p < end ? p : NULL;
}

static enum rs_status
token_error(const struct token *t, struct cell_error *error, const char *what)
{
	char shown[72];

	return cell_error_set(error, t->begin, "'%s': %s", rs_escape(shown, t->begin,
		(size_t)(t->end - t->begin)), what);
}

static enum rs_status
value_read(const struct token *t, const char *from, float *value, struct cell_error *error)
{
	if (fast_cell_float(from, t->end, t->limit, value))
		return RS_OK;
	if (from < t->end && *from == '+')
		from++;
	if (!number_float(from, (size_t)(t->end - from), value))
		return token_error(t, error, from == t->end ? "a value is missing after ':'" :
			"the value after ':' is not a number");
	return RS_OK;
}

/* Where the digits of an index end, one of at most 19 without zeros before it; NULL: another. */
static const char *
plain_index(const struct token *t, uint64_t *index)
{
	const char *p = t->begin;
	uint64_t value = 0;

	for (; p < t->end && (unsigned)(*p - '0') <= 9; p++)
		value = value * 10 + (unsigned)(*p - '0');
	*index = value;
	return p < t->end && *p == ':' && p - t->begin - 1 < INDEX_DIGITS
		&& (*t->begin != '0' || p == t->begin + 1) && p > t->begin ? p : NULL;
}

static enum rs_status
read_index(const struct token *t, uint64_t *index, const char **colon, struct cell_error *error)
{
	*colon = plain_index(t, index);
	if (*colon != NULL)
		return RS_OK;
	*colon = token_colon(t);
	if (*colon == NULL)
		return token_error(t, error, "wanted INDEX:VALUE");
	return number_u64(t->begin, (size_t)(*colon - t->begin), index) ? RS_OK : token_error(t,
		error, "the index is not a whole number from 0 to 2^64-1");
}

static enum rs_status
add_item(struct parser *p, const struct feature *feature, struct cell id, float value,
	struct batch *batch, struct cell_error *error)
{
	return fast_cell_is_text(feature) ? fast_cell_item(feature, id, value, batch)
		: feature_item(feature, id, value, batch, &p->scratch, error);
}

static uint64_t
least_index(const struct settings *s)
{
	return s->data.format == FORMAT_LIBSVM && s->data.index_base == 1;
}

/* The decimal text of the index is its id, so the base only bounds it. */
static enum rs_status
index_item(struct parser *p, const struct token *t, struct batch *batch, struct cell_error *error)
{
	const uint64_t base = least_index(p->schema->settings);
	const size_t field = p->schema->column_field[0];
	const char *colon;
	char text[24];
	uint64_t index;
	float value;

	RS_TRY(read_index(t, &index, &colon, error));
	if (index < base) {
		token_error(t, error, "index 0, but data.index_base is 1");
		return RS_EDATA;
	}
	RS_TRY(value_read(t, colon + 1, &value, error));
	struct cell id = { t->begin, (size_t)(colon - t->begin) };
	if (id.n > INDEX_DIGITS || (id.n > 1 && (*id.text == '0' || *id.text == '+'))) {
		id.n = (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)index);
		id.text = text;
	}
	RS_TRY(parser_cells_add(p, field, id));
	return add_item(p, &p->feature[field], id, value, batch, error);
}

/* What most items are, read in one go: spaces, an index without zeros before it, a value of at
 * most eight digits.  NULL, with nothing done: another; else where it ends. */
static const char *
plain_item(const struct feature *feature, uint64_t base, const char *at, const char *end,
	struct batch *batch)
{
	uint64_t index = 0;
	uint32_t value = 0;

	while (at < end && *at == ' ')
		at++;
	const char *const begin = at;
	for (; at < end && (unsigned)(*at - '0') <= 9; at++)
		index = index * 10 + (unsigned)(*at - '0');
	const size_t n = (size_t)(at - begin);
	if (n - 1 >= INDEX_DIGITS || at == end || *at != ':' || index < base
	    || (*begin == '0' && n > 1))
		return NULL;
	const char *const digits = ++at;
	for (; at < end && (unsigned)(*at - '0') <= 9; at++)
		value = value * 10 + (unsigned)(*at - '0');
	if ((size_t)(at - digits) - 1 >= VALUE_DIGITS || (at < end && !is_space(*at)))
		return NULL;
	/* Without room it fails once more, where that is told. */
	return fast_cell_item(feature, (struct cell){ begin, n }, (float)value, batch) == RS_OK
		? at : NULL;
}

static enum rs_status
ffm_single(const struct token *t, const struct feature *feature, float value,
	const struct batch *batch, struct cell_error *error)
{
	if (batch->column[feature->field->index].N > batch->B)
		return token_error(
			t, error, "a second feature of a categorical field; wanted type = multi");
	if (value != 1)
		return token_error(
			t, error, "a categorical field has the value 1; wanted type = multi");
	return RS_OK;
}

static enum rs_status
ffm_item(struct parser *p, const struct token *t, struct batch *batch, struct row *row,
	struct cell_error *error)
{
	const struct feature *feature;
	uint64_t number;
	float value;
	const char *const plain = plain_index(t, &number);
	const char *const colon = plain != NULL ? plain : token_colon(t);
	const char *const second = colon != NULL ? next_colon(colon + 1, t->end) : NULL;

	if (second == NULL)
		return token_error(t, error, "wanted FIELD:FEATURE:VALUE");
	if (plain == NULL && !number_u64(t->begin, (size_t)(colon - t->begin), &number))
		return token_error(t, error, "the field is not a whole number");
	if (number >= p->n_numbers || p->number_field[number] == LAYOUT_NONE)
		return token_error(t, error, "a field that the spec does not name");
	if (second == colon + 1)
		return token_error(t, error, "the feature is missing");
	RS_TRY(value_read(t, second + 1, &value, error));
	feature = &p->feature[p->number_field[number]];
	const int is_number = feature->field->settings->type == FIELD_NUMERIC;
	const struct cell id = { colon + 1, (size_t)(second - colon - 1) };
	const struct cell shown = { second + 1, (size_t)(t->end - second - 1) };
	RS_TRY(parser_cells_add(p, p->number_field[number], is_number ? shown : id));
	if (is_number) {
		if (feature->field->is_dense ?
				!batch->missing[batch->B * batch->K + feature->field->index] :
				batch->column[feature->field->index].N > batch->B)
			return token_error(t, error, "a second value of a numeric field");
		return feature_number(feature, value, batch);
	}
	if (feature->field->single)
		RS_TRY(ffm_single(t, feature, value, batch, error));
	if (p->number_field[number] == p->schema->item_field) {
		row->id = id;
		RS_TRY(parser_row_item(p, id, row, error));
	}
	return add_item(p, feature, id, value, batch, error);
}

/* Row 1 says whether labels have weights; a row of the other kind has no label. */
static enum rs_status
sparse_weight(const struct token *t, const struct parser_layout *layout, struct row *row,
	struct cell_error *error)
{
	const char *const colon = token_colon(t);

	if (colon != NULL && memchr(colon + 1, ':', (size_t)(t->end - colon - 1)) != NULL)
		return token_error(t, error, "wanted a label; only predict takes rows without one");
	if (colon == NULL && layout->label_weight)
		return token_error(
			t, error, "wanted LABEL:WEIGHT as in row 1 of the file");
	if (colon != NULL && !layout->label_weight)
		return token_error(t, error,
			"no label, but row 1 of the file has one, and without a weight");
	if (colon == NULL)
		return RS_OK;
	RS_TRY(value_read(t, colon + 1, &row->weight, error));
	return row->weight < 0 ? token_error(t, error, "the weight is negative") : RS_OK;
}

static enum rs_status
sparse_label(struct parser *p, const struct parser_layout *layout, const struct token *t,
	struct row *row, struct cell_error *error)
{
	const char *const colon = token_colon(t);
	const struct cell cell = { t->begin,
		(size_t)((colon != NULL ? colon : t->end) - t->begin) };
	const size_t sign = cell.n > 1 && cell.text[0] == '+';
	double value;

	RS_TRY(parser_cells_add(p, p->schema->n_fields, cell));
	RS_TRY(sparse_weight(t, layout, row, error));
	if (label_read(&p->label, cell, &row->label))
		return RS_OK;
	if (p->purpose != PARSE_PREDICT)
		return label_error(&p->label, cell, error);
	/* Predict has no use for the label, but a row begins with a number. */
	row->label = 0;
	if (number_double(cell.text + sign, cell.n - sign, &value))
		return RS_OK;
	return token_error(t, error, "the label is not a number");
}

static void
numeric_default(struct parser *p, struct batch *batch)
{
	for (size_t i = 0; i < p->schema->K; i++) {
		batch->dense[batch->B * batch->K + i] = 0;
		batch->missing[batch->B * batch->K + i] = 1;
	}
}

static enum rs_status
qid_read(const struct token *t, struct row *row, struct cell_error *error)
{
	const char *digits = t->begin + 4;
	uint64_t group;

	if (!number_u64(digits, (size_t)(t->end - digits), &group))
		return token_error(t, error, "a qid is a whole number");
	/* 07 is 7 */
	while (digits + 1 < t->end && *digits == '0')
		digits++;
	row->group = hash_fingerprint64(digits, (size_t)(t->end - digits));
	row->has_group = 1;
	return RS_OK;
}

/* A row that trains has what data.group and items.key ask for. */
static enum rs_status
sparse_complete(struct parser *p, const char *begin, struct row *row, struct cell_error *error)
{
	if (p->schema->has_group && !row->has_group && p->purpose != PARSE_PREDICT)
		return cell_error_set(error, begin, "no qid, but data.group = qid");
	if (p->schema->item_field < p->schema->n_fields && !row->has_item)
		return parser_row_item(p, (struct cell){ begin, 0 }, row, error);
	return RS_OK;
}

/* That of all indices, if plain_item() may fill it. */
static const struct feature *
plain_feature(const struct parser *p)
{
	const struct feature *const f = &p->feature[p->schema->column_field[0]];

	return p->cells == NULL && fast_cell_is_text(f) ? f : NULL;
}

enum rs_status
sparse_row(struct parser *p, const struct parser_layout *layout, const char *begin, const char *end,
	struct batch *batch, struct row *row, struct cell_error *error)
{
	const int ffm = p->schema->settings->data.format == FORMAT_LIBFFM;
	const uint64_t base = least_index(p->schema->settings);
	const char *at = begin;
	struct token t = { begin, begin, end };

	if (p->schema->settings->data.format == FORMAT_LIBSVM) {
		const char *const comment = memchr(begin, '#', (size_t)(end - begin));

		end = comment != NULL ? comment : end;
	}
	numeric_default(p, batch);
	if (layout->has_label) {
		if (!token_next(&at, end, &t))
			return cell_error_set(error, begin, "the label is missing");
		RS_TRY(sparse_label(p, layout, &t, row, error));
	}
	const struct feature *const all = ffm ? NULL : plain_feature(p);
	for (size_t n = 0; ; n++) {
		const char *const next = all != NULL ? plain_item(all, base, at, end, batch) : NULL;

		if (next != NULL) {
			at = next;
			continue;
		}
		if (!token_next(&at, end, &t))
			break;
		if (n == 0 && !layout->has_label && token_colon(&t) == NULL)
			return token_error(&t, error, "a label, but row 1 of the file has none");
		if (t.end - t.begin >= 4 && memcmp(t.begin, "qid:", 4) == 0) {
			RS_TRY(qid_read(&t, row, error));
			continue;
		}
		RS_TRY(ffm ? ffm_item(p, &t, batch, row, error) : index_item(p, &t, batch, error));
	}
	return sparse_complete(p, begin, row, error);
}
