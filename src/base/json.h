/*
 * A JSON writer into a buffer: commas and escaping are its business, NaN and Inf
 * become null, text that is not UTF-8 is escaped byte by byte.  Keys are literal.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdint.h>

#include "base/memory.h"

struct json {
	struct buffer text;
	unsigned      depth;
	unsigned char first[32];    /* by depth: no comma needed */
	unsigned char array[32];    /* by depth: closes with ']' */
};

void json_init(struct json *j);
void json_free(struct json *j);
void json_reset(struct json *j);
/* key is NULL inside arrays and at the top. */
void json_open(struct json *j, const char *key, char bracket);     /* '{' or '[' */
void json_close(struct json *j);
void json_string(struct json *j, const char *key, const char *value);   /* NULL: null */
void json_double(struct json *j, const char *key, double value);
void json_int(struct json *j, const char *key, int64_t value);
void json_uint(struct json *j, const char *key, uint64_t value);
void json_bool(struct json *j, const char *key, int value);
/* The text so far, NUL-terminated, without a newline. */
const char *json_text(const struct json *j);

#endif
