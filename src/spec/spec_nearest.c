/* The nearest name: edit distance with swapped neighbours, else one that begins alike. */
#include <string.h>

#include "spec/spec.h"

enum { LONGEST = 64 };

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment distance of texts of at most LONGEST bytes. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[3][LONGEST + 1];
	const size_t n = strlen(a), m = strlen(b);

	if (n > LONGEST || m > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= m; j++)
		row[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *now = row[i % 3];
		const size_t *before = row[(i - 1) % 3], *second = row[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= m; j++) {
			now[j] = least(before[j - 1] + (a[i - 1] != b[j - 1]), least(before[j],
				now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], second[j - 2] + 1);
		}
	}
	return row[n % 3][m];
}

/* Enough of it to be meant. */
static int
begins(const char *text, const char *beginning)
{
	const size_t n = strlen(beginning);

	return n >= 4 && strncmp(text, beginning, n) == 0;
}

const char *
spec_nearest(const char *name, const char *const *names, size_t n)
{
	const size_t limit = strlen(name) < 4 ? 1 : strlen(name) / 3 + 1;
	const char *best = NULL;
	size_t best_distance = limit + 1;

	for (size_t i = 0; i < n; i++) {
		const size_t d = distance(name, names[i]);

		if (d < best_distance && d < strlen(names[i])) {
			best = names[i];
			best_distance = d;
		}
	}
	for (size_t i = 0; best == NULL && i < n; i++)
		if (begins(name, names[i]) || begins(names[i], name))
			best = names[i];
	return best;
}
