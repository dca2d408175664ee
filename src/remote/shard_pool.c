/* Blocks for rows on their way: kept for the next, so that their pages are there already. */
#include <stdlib.h>

#include "remote/shard_private.h"

#define FREE_MAX  32
#define FREE_BYTES_MAX ((size_t)256 << 20)
#define ROUNDING  ((size_t)4096)

struct shard_pool {
	pthread_mutex_t lock;
	struct shard_block *unused[FREE_MAX];
	size_t n_unused, unused_bytes, n_out;
	int    is_closed;
};

enum rs_status
shard_pool_open(struct shard_pool **out)
{
	RS_TRY(memory_alloc(1, sizeof(**out), out));
	pthread_mutex_init(&(*out)->lock, NULL);
	return RS_OK;
}

static void
pool_free(struct shard_pool *p)
{
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void
shard_pool_close(struct shard_pool *p)
{
	size_t n_out;

	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n_unused; i++)
		free(p->unused[i]);
	p->n_unused = 0;
	p->is_closed = 1;
	n_out = p->n_out;
	pthread_mutex_unlock(&p->lock);
	if (n_out == 0)
		pool_free(p);
}

/* The smallest that is large enough, but no giant for a dwarf. */
static struct shard_block *
find_unused(struct shard_pool *p, size_t bytes)
{
	struct shard_block *found;
	size_t best = SHARD_NONE;

	for (size_t i = 0; i < p->n_unused; i++)
		if (p->unused[i]->capacity >= bytes
		    && p->unused[i]->capacity / 8 <= bytes + ROUNDING
		    && (best == SHARD_NONE || p->unused[i]->capacity < p->unused[best]->capacity))
			best = i;
	if (best == SHARD_NONE)
		return NULL;
	found = p->unused[best];
	p->unused[best] = p->unused[--p->n_unused];
	p->unused_bytes -= found->capacity;
	return found;
}

enum rs_status
shard_pool_take(struct shard_pool *p, size_t bytes, struct shard_block **out)
{
	const size_t capacity = (bytes + bytes / 4 + ROUNDING) / ROUNDING * ROUNDING;
	struct shard_block *b;

	pthread_mutex_lock(&p->lock);
	b = find_unused(p, bytes);
	p->n_out += b != NULL;
	pthread_mutex_unlock(&p->lock);
	if (b == NULL) {
		b = aligned_alloc(64, capacity + ROUNDING);
		if (b == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes of rows", bytes);
		b->pool = p;
		b->capacity = capacity;
		pthread_mutex_lock(&p->lock);
		p->n_out++;
		pthread_mutex_unlock(&p->lock);
	}
	*out = b;
	return RS_OK;
}

void
shard_pool_put(struct shard_block *b)
{
	struct shard_pool *p;
	struct shard_block *surplus = NULL;
	int is_last;

	if (b == NULL)
		return;
	p = b->pool;
	pthread_mutex_lock(&p->lock);
	if (p->is_closed || p->n_unused == FREE_MAX
	    || p->unused_bytes + b->capacity > FREE_BYTES_MAX) {
		surplus = b;
	} else {
		p->unused[p->n_unused++] = b;
		p->unused_bytes += b->capacity;
	}
	is_last = --p->n_out == 0 && p->is_closed;
	pthread_mutex_unlock(&p->lock);
	free(surplus);
	if (is_last)
		pool_free(p);
}

void
shard_pool_release(void *data, void *hint)
{
	(void)data;
	shard_pool_put(hint);
}
