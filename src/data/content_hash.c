/* The hash of a file's contents, block by block. */
#include "data/content_hash.h"

#include "base/hash.h"

void
content_hash_init(struct content_hash *h)
{
	h->hash = 0;
	h->size = 0;
	buffer_init(&h->block, 2 * CONTENT_HASH_BLOCK);
}

void
content_hash_free(struct content_hash *h)
{
	buffer_free(&h->block);
}

uint64_t
content_hash_value(const struct content_hash *h)
{
	return hash_cat(h->hash, hash_fingerprint64(h->block.n > 0 ? h->block.data : "",
		h->block.n));
}

enum rs_status
content_hash_feed(struct content_hash *h, const char *bytes, size_t n)
{
	h->size += n;
	while (n > 0) {
		const size_t room = CONTENT_HASH_BLOCK - h->block.n;
		const size_t take = n < room ? n : room;

		if (take == CONTENT_HASH_BLOCK) {
			h->hash = hash_cat(h->hash, hash_fingerprint64(bytes, take));
		} else {
			RS_TRY(buffer_append(&h->block, bytes, take));
			if (h->block.n == CONTENT_HASH_BLOCK) {
				h->hash = content_hash_value(h);
				h->block.n = 0;
			}
		}
		bytes += take;
		n -= take;
	}
	return RS_OK;
}
