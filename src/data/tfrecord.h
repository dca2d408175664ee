/*
 * TFRecord framing: u64 length, masked CRC32C of these 8 bytes, the data, masked
 * CRC32C of the data; little-endian, nothing before, between or after records.
 *
 * A length whose CRC is wrong says nothing about where the next record is, so no
 * record after it can be found.  A wrong CRC of the data concerns that record
 * alone.  A file that ends inside a record was cut off there.
 */
#ifndef DATA_TFRECORD_H
#define DATA_TFRECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

#define TFRECORD_HEAD  ((size_t)12)
#define TFRECORD_FRAME ((size_t)16)    /* bytes of a record that are not data        */

enum tfrecord_state { TFRECORD_WHOLE, TFRECORD_CUT, TFRECORD_BAD_LENGTH };

struct tfrecord {
	enum tfrecord_state state;
	uint64_t n;                    /* bytes of data by its head                  */
	size_t   frame;                /* bytes of the record that are in the text   */
	const char *data;
	uint32_t stored, computed;     /* CRC of the length                          */
};

/* The record that text[0..n) begins with, n > 0.  The CRC of the data is not looked
 * at; with CUT and less than a head of it, n is 0. */
void tfrecord_read(const char *text, size_t n, struct tfrecord *out);
/* Of a whole record. */
int tfrecord_data_is_sound(const struct tfrecord *r, uint32_t *stored, uint32_t *computed);

/* Bytes of text[0..n) before the first record that is not whole; n when that one is
 * the first and has a bad length, or is all that is left of a file at its end. */
size_t tfrecord_split(const char *text, size_t n, int at_end);
/* Records that begin in text[0..n), the last perhaps cut or bad. */
uint64_t tfrecord_count(const char *text, size_t n);
/* Appends a record. */
enum rs_status tfrecord_append(struct buffer *out, const void *data, size_t n);
/* Bytes that the record text[0..n) begins with has beyond n. */
uint64_t tfrecord_overhang(const char *text, size_t n);

#endif
