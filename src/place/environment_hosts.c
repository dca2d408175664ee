/* Slurm's lists of hosts: names with ranges in brackets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "place/environment.h"

#define HOSTS_MAX 65536

struct names {
	char (*item)[ENVIRONMENT_NAME];
	size_t n, capacity;
};

static enum rs_status
refuse(const char *text)
{
	char shown[72];

	return rs_fail(RS_EUSAGE, "'%s' is no list of hosts", rs_escape(shown, text, strlen(text)));
}

static enum rs_status
add_name(struct names *names, const char *text, size_t n)
{
	if (n == 0 || n >= ENVIRONMENT_NAME)
		return rs_fail(RS_EUSAGE, "a host name of %zu bytes in a list of hosts", n);
	if (names->n == HOSTS_MAX)
		return rs_fail(RS_EUSAGE, "more than %d hosts in a list", HOSTS_MAX);
	if (names->n == names->capacity) {
		const size_t capacity = names->capacity > 0 ? 2 * names->capacity : 16;
		char (*more)[ENVIRONMENT_NAME];

		RS_TRY(memory_alloc(capacity, sizeof(*more), &more));
		if (names->n > 0)
			memcpy(more, names->item, names->n * sizeof(*more));
		free(names->item);
		names->item = more;
		names->capacity = capacity;
	}
	memcpy(names->item[names->n], text, n);
	names->item[names->n++][n] = '\0';
	return RS_OK;
}

static enum rs_status expand(struct names *names, const char *text, size_t n);

/* "01-03" or "7" between the head and the tail of a name; the tail may have brackets. */
static enum rs_status
expand_range(struct names *names, const char *head, size_t n_head, const char *range,
	size_t n_range, const char *tail, size_t n_tail)
{
	const char *dash = memchr(range, '-', n_range);
	const size_t width = dash != NULL ? (size_t)(dash - range) : n_range;
	uint64_t low, high;

	if (!number_u64(range, width, &low))
		return refuse(range);
	high = low;
	if (dash != NULL && !number_u64(dash + 1, n_range - width - 1, &high))
		return refuse(range);
	if (high < low || high - low >= HOSTS_MAX)
		return refuse(range);
	for (uint64_t i = low; i <= high; i++) {
		char name[4 * ENVIRONMENT_NAME];
		const int k = snprintf(name, sizeof(name), "%.*s%0*llu%.*s", (int)n_head, head,
			(int)width, (unsigned long long)i, (int)n_tail, tail);

		if (k < 0 || (size_t)k >= sizeof(name))
			return refuse(head);
		RS_TRY(expand(names, name, (size_t)k));
	}
	return RS_OK;
}

/* One entry: a name, or a name with brackets. */
static enum rs_status
expand(struct names *names, const char *text, size_t n)
{
	const char *open = memchr(text, '[', n);
	const char *close, *at;

	if (open == NULL)
		return memchr(text, ']', n) != NULL ? refuse(text) : add_name(names, text, n);
	close = memchr(open, ']', n - (size_t)(open - text));
	if (close == NULL || n >= 2 * ENVIRONMENT_NAME)
		return refuse(text);
	for (at = open + 1; at <= close; at++) {
		const char *end = memchr(at, ',', (size_t)(close - at));

		end = end != NULL ? end : close;
		if (end == at)
			return refuse(text);
		RS_TRY(expand_range(names, text, (size_t)(open - text), at, (size_t)(end - at),
			close + 1, n - (size_t)(close + 1 - text)));
		at = end;
	}
	return RS_OK;
}

/* Entries are parted by commas outside of brackets. */
static enum rs_status
split(struct names *names, const char *text)
{
	for (const char *at = text; *at != '\0';) {
		const char *end = at;
		int inside = 0;

		for (; *end != '\0' && (inside || *end != ','); end++)
			inside = *end == '[' ? 1 : *end == ']' ? 0 : inside;
		RS_TRY(expand(names, at, (size_t)(end - at)));
		at = *end == ',' ? end + 1 : end;
		if (*end == ',' && *at == '\0')
			return refuse(text);
	}
	return names->n > 0 ? RS_OK : refuse(text);
}

enum rs_status
environment_hostlist(const char *text, char (**host)[ENVIRONMENT_NAME], size_t *n)
{
	struct names names = { 0 };
	const enum rs_status status = split(&names, text);

	if (status != RS_OK) {
		free(names.item);
		return status;
	}
	*host = names.item;
	*n = names.n;
	return RS_OK;
}
