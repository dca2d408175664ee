/* From names and ids to what belongs together. */
#include "cmd/guess_relation.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/number.h"

/* Words of a name that say how the ids came together, not what they are. */
static const char *const noise_word[] = {
	"hist", "history", "histories", "seq", "sequence", "sequences", "list", "lists",
	"past",
	"prev", "previous", "last", "recent", "click", "clicks", "clicked", "buy", "bought",
	"cart", "fav", "view", "views", "viewed", "seen", "watched", "user", "target",
	"id", "ids", "the", "of",
};

static const char *const user_word[] = {
	"user", "uid", "userid", "member", "visitor", "customer", "client", "age", "gender", "sex",
	"occupation", "job",
	"hist", "history", "seq", "sequence", "click", "query", "device", "os", "ip", "session",
	"education", "marital", "income", "country", "city", "region", "cms", "final", "shopping",
	"pvalue", "hour", "weekday", "day", "context", "pid", "new", "zip",
};

static const char *const person_word[] = {
	"user", "uid", "userid", "member", "visitor", "customer", "client", "session", "query",
};

static const char *const item_word[] = {
	"item", "iid", "itemid", "ad", "adgroup", "adv", "advertiser", "cate", "cat", "category",
	"brand", "campaign", "creative", "price", "product", "goods", "sku", "shop",
	"seller", "movie", "genre", "genres", "title", "song", "artist", "track", "book", "author",
	"publisher", "news", "article", "video", "app", "target", "pub",
};

#define N_WORDS(list) (sizeof(list) / sizeof((list)[0]))

static int
is_word(const char *text, size_t n, const char *const *list, size_t n_list)
{
	for (size_t i = 0; i < n_list; i++)
		if (strlen(list[i]) == n && strncasecmp(text, list[i], n) == 0)
			return 1;
	return 0;
}

/* The next word of a name cut at _ - . and blanks; NULL at its end. */
static const char *
next_word(const char *at, size_t *n)
{
	at += strspn(at, "_- .");
	*n = strcspn(at, "_- .");
	return *n > 0 ? at : NULL;
}

/* items and item, categories and category are one word. */
static int
is_same_word(const char *a, size_t n, const char *b, size_t m)
{
	size_t common = 0;

	while (common < n && common < m && strncasecmp(a + common, b + common, 1) == 0)
		common++;
	return common >= 2 && n - common <= 3 && m - common <= 3 &&
		(n == m ? common == n : common + 1 >= (n < m ? n : m));
}

/* 1 when a word of the sequence's name that means something is in the other. */
static int
is_named_alike(const char *sequence, const char *column)
{
	size_t n, m;

	if (sequence == NULL || column == NULL)
		return 0;
	for (const char *a = next_word(sequence, &n); a != NULL; a = next_word(a + n, &n)) {
		if (is_word(a, n, noise_word, N_WORDS(noise_word)))
			continue;
		for (const char *b = next_word(column, &m); b != NULL; b = next_word(b + m, &m))
			if (is_same_word(a, n, b, m))
				return 1;
	}
	return 0;
}

/* Calls look for each item of the first rows' cells. */
struct overlap {
	const struct sample_column *column;
	size_t items, held, wholes;
	double max;
};

static void
look_at_cell(struct overlap *o, const struct sample_cell *cell, char separator)
{
	for (size_t at = 0; at < cell->n;) {
		const char *item = cell->text + at, *end = memchr(item, separator, cell->n - at);
		const size_t n = end != NULL ? (size_t)(end - item) : cell->n - at;
		int64_t whole;

		o->items++;
		o->held += distinct_holds(&o->column->distinct, hash_fingerprint64(item, n)) != 0;
		if (number_i64(item, n, &whole)) {
			o->wholes++;
			o->max = fmax(o->max, (double)whole);
		}
		at += n + 1;
	}
}

/* Whole numbers: how near the largest of both are, from 0 to 1.  Other ids: 1. */
static double
range_likeness(const struct overlap *o)
{
	const struct sample_column *c = o->column;
	const int numbers = o->wholes == o->items, others = c->wholes == c->rows - c->missing;

	if (numbers != others)
		return 0;
	if (!numbers)
		return 1;
	return o->max > 0 && c->max > 0 ? fmin(o->max, c->max) / fmax(o->max, c->max) : 0;
}

double
guess_relation_likeness(const struct sample *s, size_t sequence, char separator, size_t column)
{
	const struct sample_column *from = &s->column[sequence];
	struct overlap o = { .column = &s->column[column] };
	double range, likeness;

	for (size_t i = 0; i < sample_examples(s); i++)
		look_at_cell(&o, &from->example[i], separator);
	if (o.items == 0)
		return 0;
	range = range_likeness(&o);
	likeness = (double)o.held / (double)o.items * range;
	if (range > 0.5)
		likeness += 0.2 * range;
	if (range > 0 && guess_relation_side(o.column->name) == GUESS_SIDE_ITEM)
		likeness += 0.1;
	return likeness + (is_named_alike(from->name, o.column->name) ? 1 : 0);
}

static size_t
count_items(const struct sample_cell *cell, char separator)
{
	size_t n = cell->n > 0;

	for (size_t i = 0; i < cell->n; i++)
		n += cell->text[i] == separator;
	return n;
}

int
guess_relation_is_aligned(const struct sample *s, size_t a, char a_separator, size_t b,
	char b_separator)
{
	for (size_t i = 0; i < sample_examples(s); i++)
		if (count_items(&s->column[a].example[i], a_separator) !=
		    count_items(&s->column[b].example[i], b_separator))
			return 0;
	return 1;
}

enum guess_side
guess_relation_side(const char *name)
{
	size_t n;

	if (name == NULL)
		return GUESS_SIDE_UNKNOWN;
	for (const char *word = next_word(name, &n); word != NULL; word = next_word(word + n, &n)) {
		if (is_word(word, n, user_word, N_WORDS(user_word)))
			return GUESS_SIDE_USER;
		if (is_word(word, n, item_word, N_WORDS(item_word)))
			return GUESS_SIDE_ITEM;
	}
	return GUESS_SIDE_UNKNOWN;
}

int
guess_relation_is_user(const char *name)
{
	size_t n;

	if (name == NULL)
		return 0;
	for (const char *word = next_word(name, &n); word != NULL; word = next_word(word + n, &n))
		if (is_word(word, n, person_word, N_WORDS(person_word)))
			return 1;
	return 0;
}
