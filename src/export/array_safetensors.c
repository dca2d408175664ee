/* safetensors: the length of a head, a head of JSON, the arrays without a gap. */
#include "export/array_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define HEAD_MAX  ((uint64_t)100000000)
#define LENGTH    8
#define METADATA  "__metadata__"

/* --- writing ------------------------------------------------------------------------ */

/* Keys of the writer are literal, names of arrays are not: they are made as values. */
static enum rs_status
put_key(struct buffer *text, const char *name)
{
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '[');
	json_string(&j, NULL, name);
	json_close(&j);
	const char *const value = json_text(&j);
	const enum rs_status status = buffer_printf(text, "%.*s:", (int)strlen(value) - 2,
		value + 1);
	json_free(&j);
	return status;
}

static enum rs_status
put_metadata(struct buffer *text, const struct array_output *out)
{
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '{');
	for (size_t i = 0; i < out->n_metadata; i++)
		json_string(&j, out->metadata[i].key, out->metadata[i].value);
	json_close(&j);
	const enum rs_status status = buffer_printf(text, "{\"" METADATA "\":%s", json_text(&j));
	json_free(&j);
	return status;
}

static enum rs_status
put_array(struct buffer *text, const struct array *a, uint64_t *at)
{
	const uint64_t begin = *at;

	*at += array_size(a);
	RS_TRY(buffer_append(text, ",", 1));
	RS_TRY(put_key(text, a->name));
	RS_TRY(buffer_printf(text, "{\"dtype\":\"%s\",\"shape\":[%" PRIu64,
		array_kind[a->type].safetensors, a->rows));
	if (a->rank == 2)
		RS_TRY(buffer_printf(text, ",%zu", a->columns));
	return buffer_printf(text, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, *at);
}

/* Larger types first, so that each array is aligned. */
static enum rs_status
put_head(struct buffer *text, const struct array_output *out)
{
	uint64_t at = 0;

	RS_TRY(put_metadata(text, out));
	for (size_t type = 0; type < ARRAY_N_TYPES; type++)
		for (size_t i = 0; i < out->n; i++)
			if (out->item[i].type == type)
				RS_TRY(put_array(text, &out->item[i], &at));
	RS_TRY(buffer_append(text, "}", 1));
	while (text->n % LENGTH != 0)
		RS_TRY(buffer_append(text, " ", 1));
	return RS_OK;
}

static enum rs_status
write_head(const struct array_output *out)
{
	struct buffer text;
	unsigned char length[LENGTH];

	buffer_init(&text, HEAD_MAX);
	enum rs_status status = put_head(&text, out);
	for (size_t i = 0; i < LENGTH; i++)
		length[i] = (unsigned char)((uint64_t)text.n >> 8 * i);
	if (status == RS_OK)
		status = file_writer_write(out->file, length, sizeof length);
	if (status == RS_OK)
		status = file_writer_write(out->file, text.data, text.n);
	buffer_free(&text);
	return status;
}

static enum rs_status
write_safetensors(const struct array_output *out)
{
	RS_TRY(write_head(out));
	for (size_t type = 0; type < ARRAY_N_TYPES; type++)
		for (size_t i = 0; i < out->n; i++)
			if (out->item[i].type == type)
				RS_TRY(array_bytes(&out->item[i], array_file_put, out->file));
	return RS_OK;
}

/* --- reading ------------------------------------------------------------------------ */

struct scan {
	struct array_file *f;
	const char *at, *end;              /* of the head                             */
	uint64_t data, size;               /* where arrays begin, bytes of them       */
	uint64_t used;                     /* bytes that arrays have                  */
};

static int
skip(struct scan *s, char wanted)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t'
	    || *s->at == '\r'))
		s->at++;
	if (s->at == s->end || *s->at != wanted)
		return 0;
	s->at++;
	return 1;
}

static int
hexadecimal(const char *at, unsigned *out)
{
	*out = 0;
	for (size_t i = 0; i < 4; i++) {
		const char *const digits = "0123456789abcdef";
		const char *const d = at[i] != '\0' ? strchr(digits, at[i] | 0x20) : NULL;

		if (d == NULL)
			return 0;
		*out = *out << 4 | (unsigned)(d - digits);
	}
	return *out < 0x80 && *out > 0;
}

static int
take_escape(struct scan *s, char *out)
{
	static const char letter[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
	unsigned code;

	if (s->at == s->end)
		return 0;
	const char c = *s->at++;
	const char *const at = c != '\0' ? strchr(letter, c) : NULL;
	if (at != NULL) {
		*out = meaning[at - letter];
		return 1;
	}
	if (c != 'u' || s->end - s->at < 4 || !hexadecimal(s->at, &code))
		return 0;
	s->at += 4;
	*out = (char)code;
	return 1;
}

static int
take_string(struct scan *s, char *out, size_t capacity)
{
	size_t n = 0;

	if (!skip(s, '"'))
		return 0;
	while (s->at < s->end && *s->at != '"') {
		char c = *s->at++;

		if ((unsigned char)c < 0x20 || (c == '\\' && !take_escape(s, &c))
		    || n + 1 >= capacity)
			return 0;
		out[n++] = c;
	}
	out[n] = '\0';
	return s->at < s->end && *s->at++ == '"';
}

static int
take_number(struct scan *s, uint64_t *out)
{
	while (s->at < s->end && *s->at == ' ')
		s->at++;
	const char *const begin = s->at;
	for (*out = 0; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
		if (*out > (UINT64_MAX - 9) / 10)
			return 0;
		*out = *out * 10 + (uint64_t)(*s->at - '0');
	}
	return s->at > begin;
}

/* [a] or [a,b] */
static int
take_numbers(struct scan *s, uint64_t out[2], size_t *n)
{
	if (!skip(s, '['))
		return 0;
	for (*n = 0; *n < 2; ) {
		if (!take_number(s, &out[(*n)++]))
			return 0;
		if (skip(s, ']'))
			return 1;
		if (!skip(s, ','))
			return 0;
	}
	return 0;
}

static int
take_type(struct scan *s, enum array_type *out)
{
	char name[16];

	if (!take_string(s, name, sizeof name))
		return 0;
	for (*out = 0; *out < ARRAY_N_TYPES; ++*out)
		if (strcmp(name, array_kind[*out].safetensors) == 0)
			return 1;
	return 0;
}

/* What an array says of itself, in any order. */
static int
take_members(struct scan *s, struct array_found *a, uint64_t offset[2])
{
	int type = 0, offsets = 0;

	if (!skip(s, '{'))
		return 0;
	do {
		char key[32];
		uint64_t shape[2] = { 0, 1 };
		size_t n = 2;
		int good = take_string(s, key, sizeof key) && skip(s, ':');

		if (good && strcmp(key, "dtype") == 0 && !type) {
			good = type = take_type(s, &a->type);
		} else if (good && strcmp(key, "shape") == 0 && a->rank == 0) {
			good = take_numbers(s, shape, &a->rank);
			a->rows = shape[0];
			a->columns = (size_t)shape[1];
		} else if (good && strcmp(key, "data_offsets") == 0 && !offsets) {
			good = offsets = take_numbers(s, offset, &n) && n == 2;
		} else {
			good = 0;
		}
		if (!good)
			return 0;
	} while (skip(s, ','));
	return skip(s, '}') && type && offsets && a->rank > 0;
}

static int
take_metadata(struct scan *s)
{
	char key[256], value[4096];

	if (!skip(s, '{'))
		return 0;
	if (skip(s, '}'))
		return 1;
	do {
		if (!take_string(s, key, sizeof key) || !skip(s, ':')
		    || !take_string(s, value, sizeof value))
			return 0;
	} while (skip(s, ','));
	return skip(s, '}');
}

static enum rs_status
take_array(struct scan *s, const char *name)
{
	struct array_found a = { .rank = 0 };
	uint64_t offset[2], size;

	memcpy(a.name, name, strnlen(name, sizeof a.name - 1));
	if (!take_members(s, &a, offset))
		return rs_fail(RS_EDATA, "'%s': the head says of '%s' what cannot be read",
			s->f->path, a.name);
	a.stride = a.columns * array_kind[a.type].bytes;
	if (a.columns > SIZE_MAX / 8 || __builtin_mul_overflow(a.rows, a.stride, &size)
	    || offset[0] > offset[1] || offset[1] > s->size || offset[1] - offset[0] != size)
		return rs_fail(RS_EDATA, "'%s': '%s' has not the size of its shape", s->f->path,
			a.name);
	a.data = s->f->map.data + s->data + offset[0];
	s->used += size;
	return array_file_add(s->f, &a);
}

static int
compare_places(const void *a, const void *b)
{
	const struct array_found *const x = a, *const y = b;

	if (x->data != y->data)
		return x->data < y->data ? -1 : 1;
	const uint64_t m = x->rows * x->stride, n = y->rows * y->stride;
	return (m > n) - (m < n);
}

/* One behind the other from the beginning to the end. */
static enum rs_status
check_places(struct scan *s)
{
	const char *at = s->f->map.data + s->data;

	qsort(s->f->item, s->f->n, sizeof *s->f->item, compare_places);
	for (size_t i = 0; i < s->f->n; i++) {
		if (s->f->item[i].data != at)
			return array_file_bad(s->f, "arrays overlap, or there is a gap");
		at += s->f->item[i].rows * s->f->item[i].stride;
	}
	return s->used == s->size ? RS_OK
		: array_file_bad(s->f, "there is something behind the arrays");
}

static enum rs_status
take_entries(struct scan *s)
{
	do {
		char name[ARRAY_NAME];

		if (!take_string(s, name, sizeof name) || !skip(s, ':'))
			return array_file_bad(s->f, "the head cannot be read");
		if (strcmp(name, METADATA) != 0)
			RS_TRY(take_array(s, name));
		else if (!take_metadata(s))
			return array_file_bad(s->f, "the metadata cannot be read");
	} while (skip(s, ','));
	return RS_OK;
}

static enum rs_status
read_safetensors(struct array_file *f, const char *name)
{
	uint64_t n = 0;

	(void)name;
	if (f->map.size < LENGTH)
		return array_file_bad(f, "not a file of safetensors");
	for (size_t i = LENGTH; i-- > 0;)
		n = n << 8 | (unsigned char)f->map.data[i];
	if (n > HEAD_MAX || n > f->map.size - LENGTH)
		return array_file_bad(f, "the head is cut off");
	struct scan s = { .f = f, .at = f->map.data + LENGTH, .end = f->map.data + LENGTH + n,
		.data = LENGTH + n, .size = f->map.size - LENGTH - n };
	if (n == 0 || *s.at != '{' || !skip(&s, '{'))
		return array_file_bad(f, "the head is no JSON");
	if (!skip(&s, '}')) {
		RS_TRY(take_entries(&s));
		if (!skip(&s, '}'))
			return array_file_bad(f, "the head cannot be read");
	}
	while (s.at < s.end && *s.at == ' ')
		s.at++;
	return s.at == s.end ? check_places(&s) : array_file_bad(f, "the head goes on");
}

const struct array_format array_safetensors = {
	.name = "safetensors", .suffix = ".safetensors",
	.write = write_safetensors, .read = read_safetensors,
};
