/* Names of parts of a file, "PATH@BEGIN-END,BEGIN-END": read and written. */
#include "data/range.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

#define RANGE_MAX ((size_t)1 << 20)

void
range_list_free(struct range_list *list)
{
	free(list->item);
	memset(list, 0, sizeof *list);
}

static enum rs_status
range_list_grow(struct range_list *list)
{
	const size_t capacity = list->capacity == 0 ? 4 : 2 * list->capacity;
	struct range *grown;

	if (list->n >= RANGE_MAX)
		return rs_fail(RS_EDATA, "more than %zu ranges of a file", RANGE_MAX);
	grown = realloc(list->item, capacity * sizeof *grown);
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for %zu ranges of a file", capacity);
	list->item = grown;
	list->capacity = capacity;
	return RS_OK;
}

enum rs_status
range_list_add(struct range_list *list, uint64_t begin, uint64_t end)
{
	struct range *last = list->n > 0 ? &list->item[list->n - 1] : NULL;

	if (begin >= end || (last != NULL && begin < last->end))
		return rs_fail(RS_EDATA, "range %ju-%ju of a file is empty or not behind the last, "
			"which ends at %ju", (uintmax_t)begin, (uintmax_t)end,
			(uintmax_t)(last != NULL ? last->end : 0));
	if (last != NULL && begin == last->end) {
		last->end = end;
		return RS_OK;
	}
	if (list->n == list->capacity)
		RS_TRY(range_list_grow(list));
	list->item[list->n++] = (struct range){ begin, end };
	return RS_OK;
}

uint64_t
range_list_bytes(const struct range_list *list)
{
	uint64_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		assert(list->item[i].end != RANGE_END);
		n += list->item[i].end - list->item[i].begin;
	}
	return n;
}

/* One of the texts between commas; 0: it is no range. */
static int
range_read(const char *text, size_t n, int is_last, struct range *out)
{
	const char *const dash = memchr(text, '-', n);
	const size_t digits = dash == NULL ? 0 : (size_t)(dash - text);

	out->end = RANGE_END;
	return dash != NULL && strspn(text, "0123456789") == digits &&
		number_u64(text, digits, &out->begin) && out->begin < RANGE_END &&
		(digits + 1 == n ? is_last
			: strspn(dash + 1, "0123456789") == n - digits - 1 &&
			number_u64(dash + 1, n - digits - 1, &out->end) && out->end < RANGE_END) &&
		out->begin < out->end;
}

/* *good: the text is one or more ranges that ascend and do not meet. */
static enum rs_status
range_list_read(const char *text, struct range_list *list, int *good)
{
	*good = 0;
	for (;;) {
		const size_t n = strcspn(text, ",");
		struct range r;

		if (!range_read(text, n, text[n] == '\0', &r) ||
		    (list->n > 0 && r.begin <= list->item[list->n - 1].end))
			return RS_OK;
		RS_TRY(range_list_add(list, r.begin, r.end));
		if (text[n] == '\0')
			break;
		text += n + 1;
	}
	*good = 1;
	return RS_OK;
}

enum rs_status
range_parse(const char *name, char **path, struct range_list *list)
{
	const char *const at = strrchr(name, '@');
	struct range_list found = { .n = 0 };
	struct stat st;
	enum rs_status status;
	int good;

	*path = NULL;
	*list = (struct range_list){ .n = 0 };
	if (at == NULL || at == name || strncmp(name, "-@", 2) == 0 || stat(name, &st) == 0)
		return RS_OK;
	status = range_list_read(at + 1, &found, &good);
	if (status == RS_OK && good)
		status = memory_strdup(name, path);
	if (*path == NULL) {
		range_list_free(&found);
		return status;
	}
	(*path)[at - name] = '\0';
	*list = found;
	return RS_OK;
}

int
range_stat(const char *name, struct stat *out)
{
	struct range_list ranges;
	char *path;
	int r;

	if (stat(name, out) == 0)
		return 0;
	if (range_parse(name, &path, &ranges) != RS_OK || path == NULL)
		return stat(name, out);
	r = stat(path, out);
	range_list_free(&ranges);
	free(path);
	return r;
}

enum rs_status
range_print(const char *path, const struct range_list *list, struct buffer *out)
{
	RS_TRY(buffer_printf(out, "%s", path));
	for (size_t i = 0; i < list->n; i++) {
		const struct range *r = &list->item[i];

		RS_TRY(buffer_printf(out, "%c%ju-", i == 0 ? '@' : ',', (uintmax_t)r->begin));
		if (r->end != RANGE_END)
			RS_TRY(buffer_printf(out, "%ju", (uintmax_t)r->end));
	}
	return RS_OK;
}
