/* Staged gradients become one step of the lookup. */
#include <stdlib.h>
#include <string.h>

#include "remote/shard_private.h"

#define SHARE_KEYS 4096                 /* less is not worth a second thread          */

struct apply {
	struct lookup *lookup;
	const struct lookup_commit *commit;
	struct rs_failure failure;
	pthread_mutex_t lock;
};

static int
compare_sections(const void *a, const void *b)
{
	const struct shard_section *x = *(struct shard_section *const *)a,
				   *y = *(struct shard_section *const *)b;

	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	return 0;
}

/* Stable: a table's pieces in a slot stay in the order in which they were numbered. */
static void
sort_sections(struct shard_section **section, size_t n, struct shard_section **spare)
{
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t begin = 0; begin < n; begin += 2 * width) {
			const size_t middle = begin + width < n ? begin + width : n;
			const size_t end = middle + width < n ? middle + width : n;
			size_t left = begin, right = middle;

			for (size_t k = begin; k < end; k++)
				spare[k] = left < middle && (right == end ||
				    compare_sections(&section[left], &section[right]) <= 0) ?
					section[left++] : section[right++];
		}
		memcpy(section, spare, n * sizeof(*section));
	}
}

/* Where pieces that belong together are copied to. */
struct room { uint64_t *ids; const float **grad; uint32_t *count; };

/* The pieces of a table in a slot as one push; several are copied. */
static enum rs_status
push_pieces(struct shard *s, struct shard_section *const *piece, size_t n, struct room *room)
{
	struct lookup_push push = {
		.slot = piece[0]->slot, .table = piece[0]->table, .input = piece[0]->table,
		.ids = piece[0]->ids, .n = piece[0]->n, .grad = piece[0]->grad,
		.count = piece[0]->count,
	};

	if (n > 1) {
		push.ids = room->ids;
		push.grad = room->grad;
		push.count = push.count != NULL ? room->count : NULL;
		push.n = 0;
	}
	for (size_t i = 0; n > 1 && i < n; i++) {
		const struct shard_section *const p = piece[i];

		memcpy(room->ids, p->ids, p->n * sizeof(*p->ids));
		memcpy(room->grad, p->grad, p->n * sizeof(*p->grad));
		if (push.count != NULL && p->n > 0)
			memcpy(room->count, p->count, p->n * sizeof(*p->count));
		room->ids += p->n;
		room->grad += p->n;
		room->count += p->n;
		push.n += p->n;
	}
	return s->lookup->ops->push(s->lookup, &push);
}

static void
commit_run(void *argument, size_t worker, size_t n_workers)
{
	struct apply *a = argument;
	struct lookup_commit commit = *a->commit;

	commit.worker = worker;
	commit.n_workers = n_workers;
	if (a->lookup->ops->commit(a->lookup, &commit) == RS_OK)
		return;
	pthread_mutex_lock(&a->lock);
	a->failure = *rs_failure();
	pthread_mutex_unlock(&a->lock);
}

static enum rs_status
commit_all(struct shard *s, const struct lookup_commit *commit, size_t n_keys)
{
	struct apply a = { .lookup = s->lookup, .commit = commit };

	pthread_mutex_init(&a.lock, NULL);
	shard_crew_run(&s->crew, n_keys / SHARE_KEYS + 1, commit_run, &a);
	pthread_mutex_destroy(&a.lock);
	return a.failure.status == RS_OK ? RS_OK : rs_failure_put(&a.failure);
}

static enum rs_status
push_all(struct shard *s, struct shard_section **section, size_t n, struct shard_block *block,
	size_t n_keys)
{
	struct room room = { .ids = (uint64_t *)(void *)block->data };

	room.grad = (const float **)(void *)(room.ids + n_keys);
	room.count = (uint32_t *)(void *)(room.grad + n_keys);

	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && compare_sections(&section[i], &section[j]) == 0; j++)
			;
		RS_TRY(push_pieces(s, section + i, j - i, &room));
	}
	return RS_OK;
}

/* How many keys are in tables that have several pieces in a slot. */
static size_t
count_copied(struct shard_section *const *section, size_t n)
{
	size_t keys = 0;

	for (size_t i = 0; i < n; i++)
		if ((i > 0 && compare_sections(&section[i - 1], &section[i]) == 0)
		    || (i + 1 < n && compare_sections(&section[i], &section[i + 1]) == 0))
			keys += section[i]->n;
	return keys;
}

enum rs_status
shard_apply(struct shard *s, struct shard_chunk *const *chunk, size_t n,
	const struct lookup_commit *commit)
{
	struct shard_block *list, *room = NULL;
	struct shard_section **section;
	size_t n_sections = 0, n_keys = 0, n_copied;
	enum rs_status status;

	for (size_t i = 0; i < n; i++) {
		n_sections += chunk[i]->n_sections;
		n_keys += chunk[i]->n_keys;
	}
	RS_TRY(shard_pool_take(s->pool, 2 * n_sections * sizeof(*section), &list));
	section = (struct shard_section **)(void *)list->data;
	for (size_t i = 0, k = 0; i < n; i++)
		for (size_t j = 0; j < chunk[i]->n_sections; j++)
			section[k++] = &chunk[i]->section[j];
	sort_sections(section, n_sections, section + n_sections);
	n_copied = count_copied(section, n_sections);
	status = shard_pool_take(s->pool, n_copied *
		(sizeof(uint64_t) + sizeof(float *) + sizeof(uint32_t)), &room);
	if (status == RS_OK)
		status = push_all(s, section, n_sections, room, n_copied);
	if (status == RS_OK)
		status = commit_all(s, commit, n_keys);
	shard_pool_put(room);
	shard_pool_put(list);
	return status;
}
