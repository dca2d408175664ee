/*
 * Hash of the contents of a file, fed in pieces of any size: loader_file.content_hash and
 * what a ledger compares.  Blocks of 64 KiB are hashed one by one, so that a change of one
 * is not lost in a long chain.  Memory grows with what was fed, up to one block.
 */
#ifndef DATA_CONTENT_HASH_H
#define DATA_CONTENT_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

#define CONTENT_HASH_BLOCK ((size_t)64 << 10)

struct content_hash {
	uint64_t hash;             /* of the full blocks                              */
	struct buffer block;       /* what is not yet one                             */
	uint64_t size;             /* bytes fed                                       */
};

void content_hash_init(struct content_hash *h);
void content_hash_free(struct content_hash *h);
enum rs_status content_hash_feed(struct content_hash *h, const char *bytes, size_t n);
uint64_t content_hash_value(const struct content_hash *h);

#endif
