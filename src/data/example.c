/*
 * tf.Example through protobuf-c, each message in an arena of its own.
 */
#include "data/example.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "data/example_wire.h"
#include "data/parser_private.h"
#include "data/tfrecord.h"

/* What the messages of a record may take: their structs are larger than the wire. */
#define ARENA_FIRST  ((size_t)64 << 10)
#define ARENA_FACTOR 128
#define ARENA_MOST   ((size_t)1 << 30)

struct example_column {
	struct layout_column column;       /* role and field                         */
	const char *name;
	size_t n, n_same;                  /* bytes; columns of this name from here on */
	const TfExample__Feature *value;   /* of the record being read, or NULL      */
	struct example_value own;          /* where that may be                      */
};

struct arena_block {
	struct arena_block *former;
	size_t size, used;
	max_align_t bytes[];
};

struct examples {
	struct example_column *column;     /* [n] by name                            */
	size_t n;
	uint32_t *slot;                    /* [n_slots] by hash: 1 + the first column of a name */
	size_t n_slots;                    /* a power of two, most of them 0         */
	struct arena_block *block;
	size_t taken, most;                /* bytes of the record's blocks           */
	ProtobufCAllocator allocator;
};

/* ---- memory of one message ------------------------------------------------ */

static void *
arena_take(void *examples, size_t size)
{
	struct examples *const e = examples;
	const size_t unit = sizeof(max_align_t);
	struct arena_block *block = e->block;

	if (size > ARENA_MOST)
		return NULL;
	size = (size + unit - 1) / unit * unit;
	if (block == NULL || block->size - block->used < size) {
		const size_t more = size > ARENA_FIRST ? size : ARENA_FIRST;

		if (e->taken + more > e->most)
			return NULL;
		block = malloc(sizeof *block + more);
		if (block == NULL)
			return NULL;
		*block = (struct arena_block){ .former = e->block, .size = more };
		e->block = block;
		e->taken += more;
	}
	block->used += size;
	return (char *)block->bytes + block->used - size;
}

static void
arena_leave(void *examples, void *pointer)
{
	(void)examples;
	(void)pointer;
}

/* Keeps the first block. */
static void
arena_empty(struct examples *e)
{
	while (e->block != NULL && e->block->former != NULL) {
		struct arena_block *const former = e->block->former;

		free(e->block);
		e->block = former;
	}
	if (e->block != NULL)
		e->block->used = 0;
	e->taken = e->block != NULL ? e->block->size : 0;
}

/* ---- columns by name ------------------------------------------------------- */

static int
column_order(const void *a, const void *b)
{
	const struct example_column *const x = a, *const y = b;
	const int order = strcmp(x->name, y->name);

	if (order != 0)
		return order;
	if (x->column.role != y->column.role)
		return x->column.role < y->column.role ? -1 : 1;
	return x->column.field < y->column.field ? -1 : x->column.field > y->column.field;
}

/* Columns of a name are behind each other. */
static enum rs_status
make_slots(struct examples *e)
{
	for (e->n_slots = 1; e->n_slots < 4 * e->n + 1; )
		e->n_slots *= 2;
	RS_TRY(memory_alloc(e->n_slots, sizeof *e->slot, &e->slot));
	for (size_t i = e->n, same = 0; i-- > 0; ) {
		struct example_column *const c = &e->column[i];

		same = i + 1 < e->n && strcmp(c->name, c[1].name) == 0 ? same + 1 : 1;
		c->n_same = same;
		if (i > 0 && strcmp(c->name, c[-1].name) == 0)
			continue;
		size_t at = (size_t)id_fingerprint(c->name, c->n);
		while (e->slot[at & (e->n_slots - 1)] != 0)
			at++;
		e->slot[at & (e->n_slots - 1)] = (uint32_t)i + 1;
	}
	return RS_OK;
}

enum rs_status
examples_open(const struct parser *p, struct examples **out)
{
	const size_t n = parser_n_references(p->schema);
	struct examples *e;

	RS_TRY(memory_alloc(1, sizeof *e, out));
	e = *out;
	e->allocator = (ProtobufCAllocator){ arena_take, arena_leave, e };
	RS_TRY(memory_alloc(n, sizeof *e->column, &e->column));
	for (size_t i = 0; i < n; i++) {
		struct example_column *const c = &e->column[e->n];

		c->name = parser_reference(p->schema, p->purpose, i, &c->column);
		c->n = strlen(c->name);
		e->n += c->n > 0;
	}
	qsort(e->column, e->n, sizeof *e->column, column_order);
	return make_slots(e);
}

void
examples_close(struct examples *e)
{
	if (e == NULL)
		return;
	arena_empty(e);
	free(e->block);
	free(e->slot);
	free(e->column);
	free(e);
}

/* The first column of that name; n: there is none. */
static size_t
find_column(const struct examples *e, const ProtobufCBinaryData *key)
{
	size_t at = (size_t)id_fingerprint((const char *)key->data, key->len);

	for (;; at++) {
		const uint32_t i = e->slot[at & (e->n_slots - 1)];

		if (i == 0)
			return e->n;
		if (e->column[i - 1].n == key->len
		    && memcmp(key->data, e->column[i - 1].name, key->len) == 0)
			return i - 1;
	}
}

/* All columns of the name of this one; of equal keys the last counts. */
static void
columns_set(struct examples *e, size_t first, const TfExample__Feature *value)
{
	const size_t end = first < e->n ? first + e->column[first].n_same : first;

	for (size_t i = first; i < end; i++)
		e->column[i].value = value;
}

static void
columns_clear(struct examples *e)
{
	for (size_t i = 0; i < e->n; i++)
		e->column[i].value = NULL;
}

/* 0: the record is not as most are, and columns may have anything. */
static int
columns_of_wire(struct examples *e, const void *data, size_t n)
{
	struct example_wire entries, feature;
	ProtobufCBinaryData key;

	if (!example_wire_open(data, n, &entries))
		return 0;
	while (entries.at < entries.end) {
		struct example_value unused, *value;

		if (!example_wire_next(&entries, &key, &feature))
			return 0;
		const size_t at = find_column(e, &key);
		value = at < e->n ? &e->column[at].own : &unused;
		if (!example_wire_value(feature, &e->allocator, value))
			return 0;
		columns_set(e, at, &value->feature);
	}
	return 1;
}

/* 0: it is no tf.Example. */
static int
columns_of_message(struct examples *e, const void *data, size_t n)
{
	const TfExample__Example *const example = tf_example__example__unpack(&e->allocator, n,
		data);

	if (example == NULL)
		return 0;
	for (size_t i = 0; example->features != NULL && i < example->features->n_feature; i++) {
		const TfExample__Entry *const entry = example->features->feature[i];

		columns_set(e, find_column(e, &entry->key), entry->value);
	}
	return 1;
}

/* ---- values ------------------------------------------------------------------ */

/* Significant digits of a number's text; *exponent: of ten, of the first of them. */
static size_t
text_digits(const char *text, char digit[32], int *exponent)
{
	int before = 0, fraction = 0, scale = 0;
	size_t n = 0;
	const char *p = text;

	for (; *p != '\0' && *p != 'e'; p++) {
		fraction |= *p == '.';
		if (*p == '.' || *p == '-')
			continue;
		before += fraction == 0;
		if (n > 0 || *p != '0')
			digit[n++] = *p;
		else
			before--;
	}
	for (const char *q = *p == 'e' ? p + 2 : ""; *q != '\0'; q++)
		scale = 10 * scale + (*q - '0');
	*exponent = before - 1 + (*p == 'e' && p[1] == '-' ? -scale : scale);
	while (n > 1 && digit[n - 1] == '0')
		n--;
	return n;
}

char *
example_float_text(char out[32], float value)
{
	char text[32], digit[32], *to = out;
	int exponent, whole, i;

	number_print_float(text, value);
	if (!isfinite(value) || value == 0) {
		snprintf(out, 32, "%.8s%s", text, value == 0 ? ".0" : "");
		return out;
	}
	const int n = (int)text_digits(text, digit, &exponent);
	if (text[0] == '-')
		*to++ = '-';
	if (exponent < -4 || exponent >= 16) {
		snprintf(to, 24, "%c%s%.*se%+03d", digit[0], n > 1 ? "." : "", n - 1, digit + 1,
			exponent);
		return out;
	}
	whole = exponent < 0 ? 1 : exponent + 1;
	for (i = exponent < 0 ? exponent : 0; whole > 0 || i < n || to[-1] == '.'; i++, whole--) {
		if (whole == 0)
			*to++ = '.';
		*to++ = i >= 0 && i < n ? digit[i] : '0';
	}
	(void)snprintf(to, 3, "%s", whole == 0 ? ".0" : "");
	return out;
}

static size_t
value_count(const TfExample__Feature *value)
{
	if (value == NULL)
		return 0;
	switch (value->kind_case) {
	case TF_EXAMPLE__FEATURE__KIND_BYTES:
		return value->bytes->n_value;
	case TF_EXAMPLE__FEATURE__KIND_FLOATS:
		return value->floats->n_value;
	case TF_EXAMPLE__FEATURE__KIND_INTEGERS:
		return value->integers->n_value;
	default:
		return 0;
	}
}

/* Value i as the text of a cell; the text lives until the next. */
static struct cell
value_cell(const TfExample__Feature *value, size_t i, char text[32])
{
	switch (value->kind_case) {
	case TF_EXAMPLE__FEATURE__KIND_BYTES:
		if (value->bytes->value[i].len == 0)
			return (struct cell){ "", 0 };
		return (struct cell){ (const char *)value->bytes->value[i].data,
			value->bytes->value[i].len };
	case TF_EXAMPLE__FEATURE__KIND_FLOATS:
		example_float_text(text, value->floats->value[i]);
		break;
	default:
		snprintf(text, 32, "%" PRId64, value->integers->value[i]);
		break;
	}
	return (struct cell){ text, strlen(text) };
}

/* A number that no missing word can be, without a text between. */
static int
value_number(const struct feature *feature, const TfExample__Feature *value, double *out)
{
	if (feature->field->settings->type != FIELD_NUMERIC || !feature->only_empty)
		return 0;
	if (value->kind_case == TF_EXAMPLE__FEATURE__KIND_INTEGERS)
		*out = (double)value->integers->value[0];
	else if (value->kind_case == TF_EXAMPLE__FEATURE__KIND_FLOATS)
		*out = (double)value->floats->value[0];
	else
		return 0;
	return isfinite(*out);
}

/* ---- one record ---------------------------------------------------------------- */

static enum rs_status
list_use(struct parser *p, const struct feature *feature, const TfExample__Feature *value,
	struct batch *batch, struct cell_error *error)
{
	const size_t n = value_count(value);
	char text[32];

	for (size_t i = 0; i < n; i++) {
		const struct cell cell = value_cell(value, i, text);

		RS_TRY(parser_cells_add(p, (size_t)(feature - p->feature), cell));
		RS_TRY(feature_add(feature, cell, batch, &p->scratch, error));
	}
	feature_trim(feature, batch);
	return RS_OK;
}

static int
is_list(const struct feature *feature)
{
	return feature->field->settings->type == FIELD_MULTI ||
		feature->field->settings->type == FIELD_SEQUENCE;
}

static enum rs_status
column_use(struct parser *p, const struct example_column *c, struct batch *batch, struct row *row,
	struct cell_error *error)
{
	const struct feature *const feature =
		c->column.role == ROLE_FIELD ? &p->feature[c->column.field] : NULL;
	const size_t n = value_count(c->value);
	struct cell cell = { "", 0 };
	char text[32];
	double number;

	if (n > 1 && feature != NULL && is_list(feature))
		return list_use(p, feature, c->value, batch, error);
	if (n > 1)
		return cell_error_set(error, c->name, "feature '%s' has %zu values, wanted one",
			c->name, n);
	if (n == 1 && feature != NULL && p->cells == NULL &&
	    value_number(feature, c->value, &number))
		return feature_number(feature, number, batch);
	if (n == 0 && c->column.role == ROLE_LABEL && p->purpose != PARSE_PREDICT)
		return cell_error_set(
			error, c->name, "feature '%s', the label, is missing", c->name);
	if (n == 1)
		cell = value_cell(c->value, 0, text);
	if (c->column.role == ROLE_ID) {
		RS_TRY(parser_keep_id(p, &cell));
		row->id = cell;
		return RS_OK;
	}
	return parser_cell(p, &c->column, cell, batch, row, error);
}

static enum rs_status
example_row(struct parser *p, const struct tfrecord *record, struct batch *batch, struct row *row,
	struct cell_error *error)
{
	struct examples *const e = p->examples;

	e->most = record->n < ARENA_MOST / ARENA_FACTOR
		? ARENA_FIRST + ARENA_FACTOR * (size_t)record->n : ARENA_MOST;
	arena_empty(e);
	columns_clear(e);
	if (!columns_of_wire(e, record->data, (size_t)record->n)) {
		arena_empty(e);
		columns_clear(e);
		if (!columns_of_message(e, record->data, (size_t)record->n))
			return cell_error_set(error, record->data, "the record is no tf.Example");
	}
	for (size_t i = 0; i < e->n; i++)
		RS_TRY(column_use(p, &e->column[i], batch, row, error));
	RS_TRY(histories_end_row(&p->histories, record->data, batch, error));
	return crosses_end_row(&p->crosses, record->data, batch, error);
}

/* ---- records --------------------------------------------------------------------- */

static enum rs_status
length_error(const char *file, uint64_t record, uint64_t offset, const struct tfrecord *r)
{
	rs_fail(RS_EDATA,
		"'%s' record %" PRIu64 " at byte %" PRIu64 ": the CRC of the length is %08x, "
		"computed %08x",
		file, record, offset, r->stored, r->computed);
	return record == 1 ? rs_hint("is it a TFRecord file, is data.format right?")
			   : rs_hint("no record after it can be found: leave the file out");
}

enum rs_status
examples_check(const char *file, uint64_t record, uint64_t offset, const char *text, size_t n)
{
	struct tfrecord r;

	if (n == 0)
		return RS_OK;
	tfrecord_read(text, n, &r);
	return r.state == TFRECORD_BAD_LENGTH ? length_error(file, record, offset, &r) : RS_OK;
}

static enum rs_status
record_parse(struct parser *p, const struct place *at, const struct tfrecord *r,
	struct batch *batch, struct parser_tally *tally)
{
	struct row row = { .label = p->no_label, .weight = 1 };
	struct cell_error error = { .at = NULL };
	uint32_t stored, computed;
	enum rs_status status;

	tally->read++;
	RS_TRY(batch_reserve(batch, batch->B + 1));
	crosses_begin_row(&p->crosses);
	if (r->n > p->max_line)
		status = cell_error_set(&error, r->data,
			"the record has %" PRIu64 " bytes, data.max_line is %zu", r->n,
			p->max_line);
	else if (!tfrecord_data_is_sound(r, &stored, &computed))
		status = cell_error_set(&error, r->data,
			"the CRC of the data is %08x, computed %08x", stored, computed);
	else
		status = example_row(p, r, batch, &row, &error);
	return parser_row_settle(p, at, status, &row, &error, batch, tally);
}

/* What the end of the file left of a record is no row. */
static void
record_cut(struct parser *p, const struct place *at, const struct tfrecord *r,
	struct parser_tally *tally)
{
	struct cell_error error;

	tally->read++;
	tally->skipped++;
	if (r->n > 0)
		cell_error_set(&error, r->data,
			"the file ends inside the record, after %zu of its %" PRIu64 " bytes",
			r->frame, r->n + TFRECORD_FRAME);
	else
		cell_error_set(&error, r->data,
			"the file ends inside the record, after %zu bytes", r->frame);
	parser_row_warn(p, at, &error);
}

enum rs_status
examples_parse(struct parser *p, const struct parser_span *span, struct batch *batch,
	struct parser_tally *tally)
{
	struct place at = { .span = span, .line = span->line };
	struct tfrecord r;

	for (; at.begin < span->n; at.begin = at.end, at.line++) {
		tfrecord_read(span->text + at.begin, span->n - at.begin, &r);
		at.end = at.begin + r.frame;
		if (r.state == TFRECORD_BAD_LENGTH)
			return length_error(span->file, at.line, span->offset + at.begin, &r);
		if (r.state == TFRECORD_CUT && r.n <= p->max_line)
			record_cut(p, &at, &r, tally);
		else
			RS_TRY(record_parse(p, &at, &r, batch, tally));
	}
	return RS_OK;
}
