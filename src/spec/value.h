/*
 * Values as text: quoting and lists, both ways.
 *
 * "..." knows \" \\ \n \t \r \xHH, '...' is literal; a quote inside a bare value
 * is an ordinary byte.  Lists are items between commas, each bare (trimmed) or
 * quoted; an empty text is an empty list.  Errors are RS_ESPEC.
 */
#ifndef SPEC_VALUE_H
#define SPEC_VALUE_H

#include <stddef.h>

#include "base/memory.h"
#include "base/status.h"
#include "spec/pool.h"
#include "spec/settings.h"

/* Length of the quoted text that begins at text[0], both quotes included; 0 when
 * it is not closed. */
size_t value_quoted_length(const char *text, size_t n);
enum rs_status value_scalar(const char *text, size_t n, struct pool *pool, char **out);
enum rs_status value_list(const char *text, size_t n, struct pool *pool, struct text_list *out);
/* Appends text so that it reads back, with quotes where it needs them. */
enum rs_status value_print(struct buffer *out, const char *text, int is_item);

#endif
