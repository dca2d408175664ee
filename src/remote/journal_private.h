/*
 * The files of a journal, private to remote/journal*.c.
 *
 * A record in a file is struct journal_bytes, little-endian, the body, and zeros up to a
 * multiple of 8.
 */
#ifndef REMOTE_JOURNAL_PRIVATE_H
#define REMOTE_JOURNAL_PRIVATE_H

#include <limits.h>

#include "remote/journal.h"

#define JOURNAL_MAGIC     0x314a5352u   /* "RSJ1"                                           */
#define JOURNAL_NAME_MAX  32

struct journal_bytes {
	uint32_t magic;
	uint16_t type;
	uint8_t  flags, reserved;
	uint64_t segment, step, bytes;
	uint32_t slot, chunk;
	uint32_t reserved2;
	uint32_t crc;               /* of all before it and the body                        */
};

_Static_assert(sizeof(struct journal_bytes) == JOURNAL_RECORD_BYTES, "no holes");

/* "DIRECTORY/0000000000000001.log" */
void journal_file_name(const char *directory, uint64_t segment, char out[PATH_MAX]);
/* Numbers of the segments there are, in order; caller frees. */
enum rs_status journal_file_list(const char *directory, uint64_t **out, size_t *n);
/* Those in [begin, end). */
void journal_file_remove(const char *directory, uint64_t begin, uint64_t end);

static inline uint64_t
journal_round_up(uint64_t n)
{
	return (n + 7) / 8 * 8;
}

#endif
