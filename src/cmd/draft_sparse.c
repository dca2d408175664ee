/* Drafts for rows that are no columns: libsvm, libffm, libfm and lists. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "cmd/draft.h"
#include "spec/value.h"

enum { FFM_FIELDS_MAX = 10000, BUCKETS_MAX = 1 << 20 };

#define SAMPLE_BYTES_MAX ((size_t)256 << 20)

/* What one field of the features holds. */
struct sparse_field {
	uint64_t rows, many;           /* rows that have it; more than once             */
	uint64_t last_row;
	int64_t  min_index, max_index;
	int      one_value;            /* every value is 1                              */
};

struct sparse {
	int      is_ffm;
	uint64_t rows;
	size_t   longest;              /* features of a row                             */
	int      minus_one, other_labels;
	struct sparse_field *field;    /* [n_fields]                                    */
	size_t   n_fields;
};

static enum rs_status
bad_row(const struct draft *d, const struct sparse *s)
{
	rs_fail(RS_EDATA, "'%s' row %llu: not '%s'", d->data, (unsigned long long)s->rows + 1,
		s->is_ffm ? "label field:index:value ..." : "label index:value ...");
	return rs_hint("is it %s data?  Without --format columns are looked for", d->format);
}

static int
take_label(struct sparse *s, const char *text, size_t n)
{
	const char *colon = memchr(text, ':', n);
	double label;

	if (!number_double(text, colon != NULL ? (size_t)(colon - text) : n, &label))
		return 0;
	s->minus_one |= label == -1;
	s->other_labels |= label != -1 && label != 0 && label != 1;
	return 1;
}

/* "index:value" or "field:index:value"; 0 when it is neither. */
static int
take_feature(struct sparse *s, const char *text, size_t n)
{
	int64_t part[2] = { 0, 0 };
	const int n_parts = s->is_ffm ? 2 : 1;
	struct sparse_field *f;
	double value;

	for (int i = 0; i < n_parts; i++) {
		const char *colon = memchr(text, ':', n);

		if (colon == NULL || !number_i64(text, (size_t)(colon - text), &part[i]) ||
			part[i] < 0)
			return 0;
		n -= (size_t)(colon - text) + 1;
		text = colon + 1;
	}
	if (!number_double(text, n, &value) || (s->is_ffm && part[0] >= FFM_FIELDS_MAX))
		return 0;
	f = &s->field[s->is_ffm ? part[0] : 0];
	if (s->is_ffm && (size_t)part[0] >= s->n_fields)
		s->n_fields = (size_t)part[0] + 1;
	f->many += f->last_row == s->rows + 1;
	f->rows += f->last_row != s->rows + 1;
	f->last_row = s->rows + 1;
	f->min_index = f->rows == 1 && f->many == 0 ? part[n_parts - 1] :
		f->min_index < part[n_parts - 1] ? f->min_index : part[n_parts - 1];
	f->max_index = f->max_index > part[n_parts - 1] ? f->max_index : part[n_parts - 1];
	f->one_value &= value == 1;
	return 1;
}

static enum rs_status
take_row(const struct draft *d, struct sparse *s, const char *text, size_t n)
{
	size_t features = 0;

	for (size_t at = 0, word = 0; at < n; word++) {
		const size_t begin = at;

		while (at < n && strchr(" \t\r", text[at]) == NULL)
			at++;
		if (at > begin && text[begin] == '#')
			break;
		if (word == 0 ? !take_label(s, text + begin, at - begin) : at > begin &&
			strncmp(text + begin, "qid:", 4) != 0 &&
			!take_feature(s, text + begin, at - begin))
			return bad_row(d, s);
		features += word > 0 && at > begin;
		while (at < n && strchr(" \t\r", text[at]) != NULL)
			at++;
	}
	s->longest = features > s->longest ? features : s->longest;
	s->rows++;
	return RS_OK;
}

static enum rs_status
read_rows(const struct draft *d, struct sparse *s, const struct buffer *text, uint64_t rows)
{
	for (size_t at = 0; at < text->n && s->rows < rows;) {
		const char *line = text->data + at, *end = memchr(line, '\n', text->n - at);
		const size_t n = end != NULL ? (size_t)(end - line) : text->n - at;

		if (n > 1)
			RS_TRY(take_row(d, s, line, n));
		at += n + 1;
	}
	return s->rows > 0 ? RS_OK : rs_fail(RS_EDATA, "'%s': there are no rows", d->data);
}

static enum rs_status
print_data(struct draft *d, const struct sparse *s)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < s->n_fields; i++)
		if (s->field[i].rows > 0 && s->field[i].min_index < least)
			least = s->field[i].min_index;
	RS_TRY(draft_key(d, "format", d->format, "tsv csv libsvm libffm libfm tfrecord lists"));
	if (strcmp(d->format, "libfm") != 0)
		RS_TRY(draft_key(d, "index_base", least == 0 ? "0" : "1",
			"number of the first feature; the least seen is %lld", (long long)least));
	if (s->other_labels)
		return draft_key(d, "label_type", "real", "labels besides 0 and 1: regression");
	return buffer_printf(&d->text, "label_values = %s         # negative, positive\n",
		s->minus_one ? "-1,1" : "0,1");
}

static enum rs_status
print_bag(struct draft *d, const struct sparse_field *f, size_t longest)
{
	char number[32];
	uint64_t buckets = 64;

	RS_TRY(draft_key(d, "type", "multi", "all its features with their values"));
	RS_TRY(draft_key(d, "combiner", "sum", "values times vectors; sum mean sqrtn max"));
	snprintf(number, sizeof(number), "%zu", 2 * longest + 16);
	RS_TRY(draft_key(d, "max_length", number, "features of a row; seen: up to %zu", longest));
	while (buckets < 4 * (uint64_t)f->max_index && buckets < BUCKETS_MAX)
		buckets *= 2;
	return draft_buckets(d, buckets, "about four times the features");
}

static enum rs_status
print_ffm_field(struct draft *d, const struct sparse *s, size_t number)
{
	const struct sparse_field *f = &s->field[number];
	char name[32], column[32];
	uint64_t buckets = 64;

	snprintf(name, sizeof(name), "F%zu", number);
	snprintf(column, sizeof(column), "%zu", number);
	RS_TRY(draft_field_section(d, name));
	RS_TRY(buffer_printf(&d->text, "  # in %.1f%% of the rows\n", 100.0 * (double)f->rows /
		(double)s->rows));
	RS_TRY(draft_key(d, "column", column, "the number before the first colon"));
	if (f->many > 0)
		return print_bag(d, f, s->longest);
	if (!f->one_value && f->min_index == f->max_index)
		return draft_key(d, "type", "numeric", "one feature of many values");
	if (!f->one_value)
		return print_bag(d, f, 1);
	RS_TRY(draft_key(d, "type", "categorical", "%s", ""));
	while (buckets < 4 * (uint64_t)(f->max_index - f->min_index + 1) && buckets < BUCKETS_MAX)
		buckets *= 2;
	return draft_buckets(d, buckets, "about four times the features");
}

static enum rs_status
print_features(struct draft *d, const struct sparse *s)
{
	RS_TRY(print_data(d, s));
	if (!s->is_ffm) {
		RS_TRY(draft_field_section(d, "features"));
		RS_TRY(buffer_printf(&d->text, "  # all features of a row\n"));
		return print_bag(d, &s->field[0], s->longest);
	}
	for (size_t i = 0; i < s->n_fields; i++)
		if (s->field[i].rows > 0)
			RS_TRY(print_ffm_field(d, s, i));
	return RS_OK;
}

static enum rs_status
draft_features(struct draft *d, const struct buffer *text, uint64_t rows)
{
	struct sparse s = { .is_ffm = strcmp(d->format, "libffm") == 0, .n_fields = 1 };
	enum rs_status status;

	RS_TRY(memory_alloc(s.is_ffm ? FFM_FIELDS_MAX : 1, sizeof(*s.field), &s.field));
	for (size_t i = 0; i < (s.is_ffm ? FFM_FIELDS_MAX : 1); i++)
		s.field[i].one_value = 1;
	status = read_rows(d, &s, text, rows);
	d->is_regression = s.other_labels;
	if (status == RS_OK)
		status = print_features(d, &s);
	log_info("%s: %llu rows of %s", d->data, (unsigned long long)s.rows, d->format);
	free(s.field);
	return status;
}

/* A line is a user and the user's items. */
static enum rs_status
count_lists(const struct draft *d, const struct buffer *text, uint64_t *users, uint64_t *items)
{
	size_t at = 0;
	uint64_t lines = 0, words = 0;

	while (at < text->n) {
		while (at < text->n && strchr(" \t\r", text->data[at]) != NULL)
			at++;
		if (at < text->n && text->data[at] != '\n')
			words++;
		while (at < text->n && strchr(" \t\r\n", text->data[at]) == NULL)
			at++;
		if (at < text->n && text->data[at] == '\n')
			lines++, at++;
	}
	*users = lines;
	*items = words > lines ? words - lines : 0;
	return *items > 0 ? RS_OK : rs_fail(RS_EDATA, "'%s': no line is a user with items",
		d->data);
}

static enum rs_status
print_ids(struct draft *d, const char *name, const char *column, uint64_t most)
{
	uint64_t buckets = 1024;

	while (buckets < 4 * most && buckets < BUCKETS_MAX)
		buckets *= 2;
	RS_TRY(draft_field_section(d, name));
	RS_TRY(buffer_printf(&d->text, "\n"));
	RS_TRY(draft_key(d, "column", column, "%s", ""));
	return draft_buckets(d, buckets, "a few times the different ids");
}

static enum rs_status
draft_lists(struct draft *d, const struct buffer *text)
{
	const struct draft_field field[] = {
		{ .name = "user", .side = GUESS_SIDE_USER, .share = DRAFT_NONE },
		{ .name = "item", .side = GUESS_SIDE_ITEM, .share = DRAFT_NONE },
		{ .name = "history", .side = GUESS_SIDE_USER, .is_sequence = 1, .share = 1 },
	};
	uint64_t users, items;

	RS_TRY(count_lists(d, text, &users, &items));
	d->n_fields = sizeof(field) / sizeof(field[0]);
	RS_TRY(memory_alloc(d->n_fields, sizeof(*d->field), &d->field));
	memcpy(d->field, field, sizeof(field));
	d->user = 0;
	d->item = 1;
	RS_TRY(draft_key(d, "format", "lists", "a line: a user and the user's items, oldest "
		"first"));
	RS_TRY(draft_key(d, "group", "1", "the user"));
	RS_TRY(print_ids(d, "user", "1", users));
	RS_TRY(print_ids(d, "item", "2", items / 4));
	RS_TRY(draft_field_section(d, "history"));
	RS_TRY(buffer_printf(&d->text, "  # the items before this one\n"));
	RS_TRY(draft_key(d, "column", "3", "%s", ""));
	RS_TRY(draft_key(d, "type", "sequence", "oldest item first"));
	RS_TRY(draft_key(d, "share", "item", "whose ids these are"));
	return draft_key(d, "max_length", "50", "of a longer one the newest");
}

/* Models that need to know what a feature is. */
static enum rs_status
check_model(const struct draft *d)
{
	const int is_lists = strcmp(d->format, "lists") == 0;

	if (is_lists || (strcmp(d->model, "din") != 0 && strcmp(d->model, "two_tower") != 0))
		return RS_OK;
	rs_fail(RS_EUSAGE, "model %s needs fields of its own, and %s rows have features without "
		"names", d->model, d->format);
	return rs_hint("write the rows as columns, or as lists of a user's items");
}

enum rs_status
draft_sparse(struct draft *d, const char *path, uint64_t rows)
{
	struct buffer text;
	enum rs_status status;

	RS_TRY(check_model(d));
	buffer_init(&text, SAMPLE_BYTES_MAX);
	status = sample_text(path, rows, &text);
	if (status == RS_OK && strcmp(d->format, "lists") == 0)
		status = draft_lists(d, &text);
	else if (status == RS_OK)
		status = draft_features(d, &text, rows);
	buffer_free(&text);
	return status;
}
