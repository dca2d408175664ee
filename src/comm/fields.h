/*
 * Bodies of the control messages and job tickets: lines "key = value", UTF-8, at most
 * FIELDS_MAX bytes.  Values are one line; keys may repeat.  Reading trusts nothing.
 *
 * The body of an ERROR is a failure: "status" (its name: "EPEER"), "text", and where there
 * are some "hint" and "where".
 */
#ifndef COMM_FIELDS_H
#define COMM_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

#define FIELDS_MAX ((size_t)16 << 20)

struct fields { const char *text; size_t n; };      /* borrowed                    */

/* Control characters of the value become spaces. */
enum rs_status fields_put(struct buffer *b, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The i-th value of key; 0 when there is none.  *value is not NUL-terminated. */
int fields_find(const struct fields *f, const char *key, size_t i, const char **value, size_t *n);
/* The same for all of them in one pass: *at begins with 0 and remembers the place. */
int fields_next(const struct fields *f, const char *key, size_t *at, const char **value,
	size_t *n);
/* RS_EPROTOCOL names the key that is missing or malformed; text with control characters
 * is. */
enum rs_status fields_text(const struct fields *f, const char *key, char *out, size_t capacity);
enum rs_status fields_u64(const struct fields *f, const char *key, uint64_t *out);
enum rs_status fields_double(const struct fields *f, const char *key, double *out);

enum rs_status fields_put_failure(struct buffer *b, const struct rs_failure *failure);
/* Records the failure and returns its status, never RS_OK; RS_EPROTOCOL also when it is
 * none.  from: "ps 0", for that message. */
enum rs_status fields_failure(const struct fields *f, const char *from);

#endif
