/* Typed values of option rows: reading, printing, copying. */
#include "spec/option.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "spec/spec.h"
#include "spec/value.h"

enum { MAX_CHOICES = 32 };

struct suffix { char letter; double factor; };
static const struct suffix size_suffix[] = {
	{ 'G', 0x1p30 }, { 'M', 0x1p20 }, { 'k', 0x1p10 }, { 'K', 0x1p10 }, { 0, 1 },
};
static const struct suffix seconds_suffix[] = {
	{ 'd', 86400 }, { 'h', 3600 }, { 'm', 60 }, { 's', 1 }, { 0, 1 },
};
static const struct { const char *word; int value; } bool_word[] = {
	{ "yes", 1 }, { "no", 0 }, { "true", 1 }, { "false", 0 }, { "on", 1 }, { "off", 0 },
	{ "1", 1 }, { "0", 0 },
};
static const struct { const char *word, *byte; } byte_word[] = {
	{ "tab", "\t" }, { "space", " " }, { "comma", "," }, { "semicolon", ";" }, { "pipe", "|" },
};

size_t
option_count(void)
{
	size_t n = 0;

	while (option_table[n].section != NULL)
		n++;
	return n;
}

const char *
option_type_text(enum option_type type)
{
	static const char *const text[] = {
#define ROW(name, words, c) [OPTION_##name] = words,
		OPTION_TYPES(ROW)
#undef ROW
	};

	return text[type];
}

const struct option_row *
option_find(const char *section, const char *key)
{
	for (const struct option_row *row = option_table; row->section != NULL; row++)
		if (strcmp(row->section, section) == 0 && strcmp(row->key, key) == 0)
			return row;
	return NULL;
}

/* The word is one of the words. */
static int
holds_word(const char *words, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = words; *at != '\0'; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == n && memcmp(at, word, n) == 0)
			return 1;
	return 0;
}

int
option_section_concerns(const char *section, const char *model)
{
	for (const struct option_section *s = option_section; s->name != NULL; s++)
		if (strcmp(s->name, section) == 0)
			return s->models == NULL || holds_word(s->models, model);
	return 0;
}

int
option_is_list(const struct option_row *row)
{
	return row->type == OPTION_TEXT_LIST || row->type == OPTION_PATH_LIST ||
		row->type == OPTION_INT_LIST || row->type == OPTION_NUMBER_LIST;
}

/* "'16x': not a whole number", with what was found. */
static enum rs_status
refuse(const char *text, const char *wanted)
{
	char escaped[72];

	return rs_fail(RS_ESPEC, "'%s': %s", rs_escape(escaped, text, strlen(text)), wanted);
}

static enum rs_status
check_range(const struct option_row *row, const char *text, double value)
{
	char low[32], high[32], wanted[160];

	if ((row->above_min ? value > row->min : value >= row->min) && value <= row->max)
		return RS_OK;
	number_print_double(low, row->min);
	number_print_double(high, row->max);
	if (isinf(row->max))
		snprintf(wanted, sizeof(wanted), "out of range, %s %s is wanted",
			row->above_min ? "more than" : "at least", low);
	else
		snprintf(wanted, sizeof(wanted), "out of range, %s%s to %s is wanted",
			row->above_min ? "above " : "", low, high);
	return refuse(text, wanted);
}

/* Splits the suffix off; the factor of none is 1. */
static double
suffix_factor(const struct suffix *table, const char *text, size_t *n)
{
	for (; table->letter != 0; table++)
		if (*n > 1 && text[*n - 1] == table->letter) {
			(*n)--;
			return table->factor;
		}
	return 1;
}

static enum rs_status
read_int(const struct option_row *row, const char *text, int64_t *out)
{
	size_t n = strlen(text);
	const double factor = row->type == OPTION_SIZE ? suffix_factor(size_suffix, text, &n) : 1;

	if (!number_i64(text, n, out))
		return refuse(text, row->type == OPTION_SIZE ?
			"not a whole number (with k, M or G behind it)" : "not a whole number");
	if (__builtin_mul_overflow(*out, (int64_t)factor, out))
		return refuse(text, "too large");
	return check_range(row, text, (double)*out);
}

static enum rs_status
read_number(const struct option_row *row, const char *text, double *out)
{
	size_t n = strlen(text);
	const double factor = row->type == OPTION_SECONDS ? suffix_factor(seconds_suffix, text,
		&n) : 1;

	if (!number_double(text, n, out))
		return refuse(text, row->type == OPTION_SECONDS ?
			"not a duration (a number with s, m, h or d behind it)" : "not a number");
	*out *= factor;
	return check_range(row, text, *out);
}

static enum rs_status
read_bool(const char *text, int *out)
{
	for (size_t i = 0; i < sizeof(bool_word) / sizeof(bool_word[0]); i++)
		if (strcmp(text, bool_word[i].word) == 0) {
			*out = bool_word[i].value;
			return RS_OK;
		}
	return refuse(text, "yes or no is wanted");
}

/* Cuts the words of a choice row into word[]; returns their number. */
static size_t
split_choices(const char *choices, char text[512], const char *word[MAX_CHOICES])
{
	size_t n = 0;
	char  *rest = text;

	snprintf(text, 512, "%s", choices);
	for (char *one = strsep(&rest, " "); one != NULL && n < MAX_CHOICES; one = strsep(&rest,
		" "))
		word[n++] = one;
	return n;
}

static enum rs_status
read_choice(const struct option_row *row, const char *text, size_t *index)
{
	const char *word[MAX_CHOICES], *near;
	char   words[512], wanted[600];
	const size_t n = split_choices(row->choices, words, word);

	for (*index = 0; *index < n; (*index)++)
		if (strcmp(word[*index], text) == 0)
			return RS_OK;
	snprintf(wanted, sizeof(wanted), "not one of %s", row->choices);
	refuse(text, wanted);
	near = spec_nearest(text, word, n);
	return near != NULL ? rs_hint("did you mean '%s'?", near) : RS_ESPEC;
}

static enum rs_status
read_byte(const char *text, struct pool *pool, char **out)
{
	const char *byte = text;

	for (size_t i = 0; i < sizeof(byte_word) / sizeof(byte_word[0]); i++)
		if (strcmp(text, byte_word[i].word) == 0)
			byte = byte_word[i].byte;
	if (strlen(byte) != 1) {
		refuse(text, "one byte is wanted, or tab, space, comma, semicolon, pipe");
		return *text == '\0' ? rs_hint("';' and '#' need quotes") : RS_ESPEC;
	}
	return pool_text(pool, byte, 1, out);
}

/* ${NAME} from the environment. */
static enum rs_status
expand(const char *text, const struct option_context *context, struct buffer *out)
{
	while (*text != '\0') {
		const char *close = strncmp(text, "${", 2) == 0 ? strchr(text, '}') : NULL;
		const char *value;
		char name[256];

		if (close == NULL || context->environment == NULL) {
			RS_TRY(buffer_printf(out, "%c", *text++));
			continue;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(close - text - 2), text + 2);
		value = context->environment(name);
		if (value == NULL)
			return rs_fail(RS_ESPEC, "'${%s}': the environment has no such variable",
				name);
		RS_TRY(buffer_printf(out, "%s", value));
		text = close + 1;
	}
	return RS_OK;
}

static enum rs_status
read_path(const char *text, const struct option_context *context, char **out)
{
	struct buffer b;
	char *joined = NULL;
	enum rs_status status;

	buffer_init(&b, 1 << 20);
	status = buffer_printf(&b, "%s", "");
	if (status == RS_OK)
		status = expand(text, context, &b);
	if (status == RS_OK && (b.n == 0 || strcmp(b.data, "-") == 0 || context->base[0] == '\0'))
		status = pool_text(context->pool, b.data, b.n, out);
	else if (status == RS_OK && (status = file_join(context->base, b.data, &joined)) == RS_OK)
		status = pool_text(context->pool, joined, strlen(joined), out);
	free(joined);
	buffer_free(&b);
	return status;
}

static enum rs_status
read_text_list(const struct option_row *row, const char *text, const struct option_context *context,
	struct text_list *list)
{
	const struct text_list old = context->append ? *list : (struct text_list){ 0 };
	struct text_list fresh;

	RS_TRY(value_list(text, strlen(text), context->pool, &fresh));
	if (row->type == OPTION_PATH_LIST)
		for (size_t i = 0; i < fresh.n; i++)
			RS_TRY(read_path(fresh.item[i], context, &fresh.item[i]));
	RS_TRY(pool_alloc(context->pool, old.n + fresh.n, sizeof(*list->item), &list->item));
	for (size_t i = 0; i < old.n; i++)
		list->item[i] = old.item[i];
	for (size_t i = 0; i < fresh.n; i++)
		list->item[old.n + i] = fresh.item[i];
	list->n = old.n + fresh.n;
	return RS_OK;
}

static enum rs_status
read_number_list(const struct option_row *row, const char *text,
	const struct option_context *context,
	struct number_list *list)
{
	const struct number_list old = context->append ? *list : (struct number_list){ 0 };
	struct number_list fresh;
	struct text_list items;

	RS_TRY(value_list(text, strlen(text), context->pool, &items));
	RS_TRY(pool_alloc(context->pool, old.n + items.n, sizeof(*fresh.item), &fresh.item));
	for (fresh.n = 0; fresh.n < old.n; fresh.n++)
		fresh.item[fresh.n] = old.item[fresh.n];
	for (size_t i = 0; i < items.n; i++) {
		int64_t whole;

		if (row->type == OPTION_INT_LIST) {
			RS_TRY(read_int(row, items.item[i], &whole));
			fresh.item[fresh.n++] = (double)whole;
		} else {
			RS_TRY(read_number(row, items.item[i], &fresh.item[fresh.n++]));
		}
	}
	*list = fresh;
	return RS_OK;
}

enum rs_status
option_read(const struct option_row *row, const char *text, const struct option_context *context,
	void *settings)
{
	void  *at = (char *)settings + row->offset;
	size_t index;
	char  *scalar;

	if (row->type == OPTION_TEXT_LIST || row->type == OPTION_PATH_LIST)
		return read_text_list(row, text, context, at);
	if (option_is_list(row))
		return read_number_list(row, text, context, at);
	RS_TRY(value_scalar(text, strlen(text), context->pool, &scalar));
	switch (row->type) {
	case OPTION_INT:
	case OPTION_SIZE:
		return read_int(row, scalar, at);
	case OPTION_NUMBER:
	case OPTION_SECONDS:
		return read_number(row, scalar, at);
	case OPTION_BOOL:
		return read_bool(scalar, at);
	case OPTION_BYTE:
		return read_byte(scalar, context->pool, at);
	case OPTION_PATH:
		return read_path(scalar, context, at);
	case OPTION_CHOICE:
		RS_TRY(read_choice(row, scalar, &index));
		*(int *)at = (int)index;
		return RS_OK;
	case OPTION_WORD:
		RS_TRY(read_choice(row, scalar, &index));
		break;
	default:
		break;
	}
	*(char **)at = scalar;
	return RS_OK;
}

/* The largest suffix that leaves a whole number. */
static enum rs_status
print_with_suffix(struct buffer *out, const struct suffix *table, double value)
{
	char number[32];

	for (; table->letter != 0; table++)
		if (value != 0 && fmod(value, table->factor) == 0 && fabs(value) < 0x1p53)
			break;
	number_print_double(number, value / table->factor);
	return buffer_printf(out, table->letter != 0 ? "%s%c" : "%s", number, table->letter);
}

/* Paths are printed absolute, so that they mean the same wherever they are read. */
static enum rs_status
print_path(struct buffer *out, const char *path, int is_item)
{
	char  *directory, *joined = NULL;
	enum rs_status status;

	if (path[0] == '/' || path[0] == '\0' || strcmp(path, "-") == 0)
		return value_print(out, path, is_item);
	directory = getcwd(NULL, 0);
	if (directory == NULL)
		return value_print(out, path, is_item);
	status = file_join(directory, path, &joined);
	if (status == RS_OK)
		status = value_print(out, joined, is_item);
	free(joined);
	free(directory);
	return status;
}

static enum rs_status
print_list(const struct option_row *row, const void *at, struct buffer *out)
{
	const int  is_text = row->type == OPTION_TEXT_LIST || row->type == OPTION_PATH_LIST;
	const struct text_list   *texts = at;
	const struct number_list *numbers = at;
	const size_t n = is_text ? texts->n : numbers->n;
	char number[32];

	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			RS_TRY(buffer_printf(out, ","));
		if (row->type == OPTION_PATH_LIST)
			RS_TRY(print_path(out, texts->item[i], 1));
		else if (is_text)
			RS_TRY(value_print(out, texts->item[i], 1));
		else
			RS_TRY(buffer_printf(out, "%s", number_print_double(number,
				numbers->item[i])));
	}
	return buffer_printf(out, "%s", "");
}

static enum rs_status
print_byte(struct buffer *out, const char *byte)
{
	for (size_t i = 0; i < sizeof(byte_word) / sizeof(byte_word[0]); i++)
		if (strcmp(byte, byte_word[i].byte) == 0)
			return buffer_printf(out, "%s", byte_word[i].word);
	return value_print(out, byte, 0);
}

enum rs_status
option_print(const struct option_row *row, const void *settings, struct buffer *out)
{
	const void *at = (const char *)settings + row->offset;
	const char *word[MAX_CHOICES];
	char words[512], number[32];

	switch (row->type) {
	case OPTION_INT:
		return buffer_printf(out, "%lld", (long long)*(const int64_t *)at);
	case OPTION_SIZE:
		return print_with_suffix(out, size_suffix, (double)*(const int64_t *)at);
	case OPTION_NUMBER:
		return buffer_printf(out, "%s", number_print_double(number, *(const double *)at));
	case OPTION_SECONDS:
		return print_with_suffix(out, seconds_suffix, *(const double *)at);
	case OPTION_BOOL:
		return buffer_printf(out, "%s", *(const int *)at ? "yes" : "no");
	case OPTION_CHOICE:
		split_choices(row->choices, words, word);
		return buffer_printf(out, "%s", word[*(const int *)at]);
	case OPTION_BYTE:
		return print_byte(out, *(char *const *)at);
	case OPTION_PATH:
		return print_path(out, *(char *const *)at, 0);
	case OPTION_WORD:
	case OPTION_TEXT:
		return value_print(out, *(char *const *)at, 0);
	default:
		return print_list(row, at, out);
	}
}

static size_t
type_size(enum option_type type)
{
	switch (type) {
	case OPTION_INT:
	case OPTION_SIZE:
		return sizeof(int64_t);
	case OPTION_NUMBER:
	case OPTION_SECONDS:
		return sizeof(double);
	case OPTION_BOOL:
	case OPTION_CHOICE:
		return sizeof(int);
	case OPTION_TEXT_LIST:
	case OPTION_PATH_LIST:
		return sizeof(struct text_list);
	case OPTION_INT_LIST:
	case OPTION_NUMBER_LIST:
		return sizeof(struct number_list);
	default:
		return sizeof(char *);
	}
}

void
option_clear(const struct option_row *row, void *settings)
{
	void *at = (char *)settings + row->offset;

	memset(at, 0, type_size(row->type));
	if (row->type >= OPTION_WORD && row->type <= OPTION_PATH)
		*(const char **)at = "";
	else if (row->type == OPTION_INT && row->dflt == NULL && row->inherits == NULL)
		*(int64_t *)at = (int64_t)row->min - 1;
}

void
option_copy(const struct option_row *to, void *to_settings, const struct option_row *from,
	const void *from_settings)
{
	memcpy((char *)to_settings + to->offset, (const char *)from_settings + from->offset,
		type_size(to->type));
}

int
option_equal(const struct option_row *a, const void *a_settings, const struct option_row *b,
	const void *b_settings)
{
	struct buffer x, y;
	int equal;

	buffer_init(&x, 1 << 24);
	buffer_init(&y, 1 << 24);
	equal = option_print(a, a_settings, &x) == RS_OK && option_print(b, b_settings,
		&y) == RS_OK &&
		x.n == y.n && memcmp(x.data, y.data, x.n) == 0;
	buffer_free(&x);
	buffer_free(&y);
	return equal;
}

int
option_is_unset(const struct option_row *row, const void *settings)
{
	const void *at = (const char *)settings + row->offset;

	if (option_is_list(row))
		return ((const struct text_list *)at)->n == 0;
	if (row->type >= OPTION_WORD && row->type <= OPTION_PATH)
		return **(char *const *)at == '\0';
	return row->type == OPTION_INT && (double)*(const int64_t *)at < row->min;
}
