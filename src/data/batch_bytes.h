/*
 * Rows of a batch as bytes, for another process of the same program and schema.
 *
 * What the loader says of a batch (epoch, first_row, ...) and candidates do not go along.
 * Bytes that are not what batch_bytes_write() made of a batch of this schema are refused
 * with RS_EPROTOCOL; ids are taken as they are.
 */
#ifndef DATA_BATCH_BYTES_H
#define DATA_BATCH_BYTES_H

#include <stddef.h>

#include "base/status.h"
#include "data/batch.h"

size_t batch_bytes_size(const struct batch *batch);
/* Exactly batch_bytes_size(batch) bytes. */
void batch_bytes_write(const struct batch *batch, unsigned char *out);
/* Appends the B rows of bytes[0..n). */
enum rs_status batch_bytes_append(
	struct batch *batch, size_t B, const unsigned char *bytes, size_t n);

#endif
