/* Files of names, one a line. */
#include "export/ids.h"

#include <string.h>

#include "base/memory.h"

#define FLUSH ((size_t)1 << 20)
#define LIMIT ((size_t)1 << 30)

static enum rs_status
put_name(struct buffer *out, const char *name, size_t n)
{
	static const char special[] = "\t\n\r\\", escape[] = "tnr\\";

	for (size_t i = 0; i < n; i++) {
		const char *const at = name[i] != '\0' ? strchr(special, name[i]) : NULL;

		if (at != NULL)
			RS_TRY(buffer_printf(out, "\\%c", escape[at - special]));
		else
			RS_TRY(buffer_append(out, &name[i], 1));
	}
	return buffer_append(out, "\n", 1);
}

enum rs_status
ids_write(const struct array_words *words, struct file_writer *file)
{
	struct buffer text;
	enum rs_status status = RS_OK;

	buffer_init(&text, LIMIT);
	for (size_t i = 0; status == RS_OK && i < words->n; i++) {
		size_t n;
		const char *const name = array_word(words, i, &n);

		status = put_name(&text, name, n);
		if (status == RS_OK && (text.n >= FLUSH || i + 1 == words->n)) {
			status = file_writer_write(file, text.data, text.n);
			text.n = 0;
		}
	}
	buffer_free(&text);
	return status;
}

/* The line at *at is the name; *at goes behind it. */
static int
is_name(const char **at, const char *end, const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (*at == end)
			return 0;
		char c = *(*at)++;
		if (c == '\n')
			return 0;
		if (c == '\\') {
			const char e = *at < end ? *(*at)++ : '\0';

			c = e == 't' ? '\t' : e == 'n' ? '\n' : e == 'r' ? '\r' : e;
			if (strchr("tnr\\", e) == NULL || e == '\0')
				return 0;
		}
		if (c != name[i])
			return 0;
	}
	return *at < end && *(*at)++ == '\n';
}

enum rs_status
ids_prove(const struct array_words *words, const char *path, const char *label)
{
	struct file_map map;
	enum rs_status status = RS_OK;

	RS_TRY(file_map_open(&map, path));
	const char *at = map.data, *const end = map.data + map.size;
	for (size_t i = 0; status == RS_OK && i < words->n; i++) {
		size_t n;
		const char *const name = array_word(words, i, &n);

		if (!is_name(&at, end, name, n))
			status = rs_fail(RS_EUNMET, "'%s' line %zu is not the name '%.*s'", label,
				i + 1, n < 100 ? (int)n : 100, name);
	}
	if (status == RS_OK && at != end)
		status = rs_fail(RS_EUNMET, "'%s' has more than %zu lines", label, words->n);
	file_map_close(&map);
	return status;
}
