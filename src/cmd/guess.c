/* From what a column holds to what it is good for. */
#include "cmd/guess.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

enum { BUCKETS_MIN = 16, ROW_ID_ROWS = 1000 };

#define BUCKETS_MAX ((uint64_t)1 << 20)

static const char *const label_name[] = {
	"label", "click", "clk", "clicked", "is_click", "isclick", "target", "y", "is_attributed",
	"conversion",
	"class", "income", "rating",
};

static const char *const time_name[] = { "time", "timestamp", "ts", "unixtime", "datetime" };

/* Words in the name of a column of ids, whatever its values look like. */
static const char *const id_word[] = { "id", "user", "item", "ad", "site", "code", "zip" };

static int
is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(name, names[i]) == 0)
			return 1;
	return 0;
}

/* userid, itemid: a word of id_word with id behind it. */
static int
is_compound_id(const char *word)
{
	const size_t n = strlen(word);

	for (size_t i = 0; n > 2 && i < sizeof(id_word) / sizeof(id_word[0]); i++)
		if (strlen(id_word[i]) == n - 2 && strncasecmp(word, id_word[i], n - 2) == 0)
			return strcasecmp(word + n - 2, "id") == 0;
	return 0;
}

/* A word of the name, cut at _ and -, is in id_word. */
static int
names_an_id(const char *name)
{
	char word[64];

	while (name != NULL && *name != '\0') {
		size_t n = strcspn(name, "_- .");

		if (n < sizeof(word)) {
			memcpy(word, name, n);
			word[n] = '\0';
			if (is_one_of(word, id_word, sizeof(id_word) / sizeof(id_word[0])) ||
				is_compound_id(word))
				return 1;
		}
		name += n + (name[n] != '\0');
	}
	return 0;
}

/* Two different values, both among the usual ones of a label. */
static int
holds_labels(const struct sample_column *c)
{
	if (c->missing > 0 || c->more_values || c->n_values < 1 || c->n_values > 2 ||
		c->numbers != c->rows)
		return 0;
	for (size_t i = 0; i < c->n_values; i++) {
		double value;

		if (!number_double(c->value[i].text, strlen(c->value[i].text), &value) ||
			(value != 0 && value != 1 && value != -1 && value != 2))
			return 0;
	}
	return 1;
}

size_t
guess_label(const struct sample *s, int any_two)
{
	for (size_t i = 0; s->has_header && i < s->n_columns; i++)
		if (is_one_of(s->column[i].name, label_name,
			sizeof(label_name) / sizeof(label_name[0])))
			return i;
	if (holds_labels(&s->column[0]))
		return 0;
	if (holds_labels(&s->column[s->n_columns - 1]))
		return s->n_columns - 1;
	for (size_t i = 0; any_two && i < s->n_columns; i++)
		if (holds_labels(&s->column[i]) && s->column[i].n_values == 2)
			return i;
	for (size_t i = any_two ? s->n_columns : 0; i-- > 0;)
		if (s->column[i].missing == 0 && !s->column[i].more_values &&
			s->column[i].n_values == 2)
			return i;
	return GUESS_NO_LABEL;
}

/* Every cell holds the byte, and the cells are lists of whole numbers of different
 * lengths: no times, no compound ids. */
static int
is_list_of_numbers(const struct sample *s, const struct sample_column *c, char byte)
{
	size_t fewest = SIZE_MAX, most = 0;

	for (size_t i = 0; i < sample_examples(s); i++) {
		const struct sample_cell *cell = &c->example[i];
		size_t items = 0;

		for (size_t at = 0; at < cell->n; items++) {
			const char *end = memchr(cell->text + at, byte, cell->n - at);
			const size_t n = (end != NULL ? (size_t)(end - cell->text) : cell->n) - at;
			int64_t whole;

			if (!number_i64(cell->text + at, n, &whole))
				return 0;
			at += n + 1;
		}
		if (cell->n > 0) {
			fewest = items < fewest ? items : fewest;
			most = items > most ? items : most;
		}
	}
	return most > fewest;
}

/* The byte that cuts the cells of a bag; 0 when they are no bags. */
static char
multi_separator(const struct sample *s, const struct sample_column *c)
{
	static const char candidate[] = "|;,^ ";
	const uint64_t cells = c->rows - c->missing;

	for (const char *byte = candidate; *byte != '\0'; byte++)
		if (*byte != s->separator && c->with[(int)*byte] * 5 > cells &&
			(c->with[(int)*byte] < cells || is_list_of_numbers(s, c, *byte)) &&
		    (*byte != ' ' || c->with[(int)*byte] * 2 > cells))
			return *byte;
	return 0;
}

/* Numbers that are measured, not codes: fractions, or whole ones that are negative,
 * sometimes missing, or spread far wider than there are different ones. */
static int
is_measured(const struct sample_column *c, uint64_t distinct)
{
	if (c->numbers != c->rows - c->missing || c->zero_padded > 0)
		return 0;
	if (c->wholes < c->numbers)
		return 1;
	if (names_an_id(c->name) || c->max >= 1e9)
		return 0;
	if (c->min < 0 || c->missing > 0)
		return 1;
	return c->max - c->min + 1 > 4.0 * (double)distinct && distinct > 2;
}

static uint64_t
bucket_count(uint64_t distinct, uint64_t rows)
{
	uint64_t buckets = BUCKETS_MIN;
	const uint64_t wanted = distinct * 2 > rows ? BUCKETS_MAX : 4 * distinct;

	while (buckets < wanted && buckets < BUCKETS_MAX)
		buckets *= 2;
	return buckets;
}

struct guess
guess_column(const struct sample *s, size_t column, size_t label)
{
	const struct sample_column *c = &s->column[column];
	struct guess g = { .role = GUESS_CATEGORICAL };
	const uint64_t cells = c->rows - c->missing;
	int exact;

	g.distinct = distinct_count(&c->distinct, &exact);
	g.buckets = bucket_count(g.distinct, cells);
	if (column == label) {
		g.role = GUESS_LABEL;
	} else if (g.distinct + (c->missing > 0) <= 1) {
		g.role = GUESS_CONSTANT;
	} else if (c->name != NULL && c->numbers == cells && c->max >= 1e9 &&
	    is_one_of(c->name, time_name, sizeof(time_name) / sizeof(time_name[0]))) {
		g.role = GUESS_TIME;
	} else if (cells >= ROW_ID_ROWS && (double)g.distinct > 0.98 * (double)cells &&
		c->missing == 0 &&
	    c->wholes + c->hexadecimal >= cells) {
		g.role = GUESS_ROW_ID;
	} else if (is_measured(c, g.distinct)) {
		g.role = GUESS_NUMERIC;
		g.transform = fmax(-c->min, c->max) > 100 ? "log1p" : fmax(-c->min, c->max) > 2 ?
			"standardize" : "none";
	} else if (c->numbers < cells && c->hexadecimal < cells) {
		g.multi_separator = multi_separator(s, c);
		g.role = g.multi_separator != 0 ? GUESS_MULTI : GUESS_CATEGORICAL;
	}
	return g;
}
