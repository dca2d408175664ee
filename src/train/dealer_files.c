/* Which files are whose, and what all of them have counted. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "data/source.h"
#include "train/dealer_private.h"
#include "train/model.h"
#include "train/ranks.h"

/* --- this rank's ------------------------------------------------------------------ */

size_t
dealer_n_own(const struct dealer *d, size_t rank)
{
	return (d->n_files + d->n_ranks - 1 - rank) / d->n_ranks;
}

static enum rs_status
list_files(struct dealer *d)
{
	char **path;

	RS_TRY(source_expand_names(d->options.loader.files, &path, &d->n_files));
	const enum rs_status status = memory_alloc(d->n_files + 1, sizeof *d->file, &d->file);
	for (size_t i = 0; i < d->n_files; i++) {
		if (status == RS_OK)
			d->file[i].path = path[i];
		else
			free(path[i]);
	}
	free(path);
	return status;
}

static enum rs_status
compare_lists(const struct dealer *d)
{
	uint64_t hash = d->n_files;

	for (size_t i = 0; i < d->n_files; i++)
		hash = hash_cat(hash, hash_fingerprint64(d->file[i].path,
			strlen(d->file[i].path)));
	const enum rs_status status = ranks_compare(d->options.place, hash, RS_EDATA,
		"has another list of training files than");
	if (status == RS_EDATA)
		(void)rs_hint("a pattern finds the files of its host: name each in data.train");
	return status;
}

static size_t
batch_share(const struct dealer *d)
{
	const size_t B = d->options.loader.batch_size, n = d->options.n_slots;
	size_t begin, end;

	ranks_share(d->options.place, n, &begin, &end);
	return model_slot_begin(B, n, end) - model_slot_begin(B, n, begin);
}

static enum rs_status
open_own(struct dealer *d)
{
	const size_t rank = d->options.place->rank, n_own = dealer_n_own(d, rank);
	struct loader_options options = d->options.loader;
	struct text_list own = { .n = n_own };

	options.files = &own;
	options.batch_size = batch_share(d);
	options.may_be_empty = 1;
	RS_TRY(memory_alloc(n_own, sizeof *own.item, &own.item));
	for (size_t k = 0; k < n_own; k++)
		own.item[k] = (char *)(uintptr_t)d->file[rank + k * d->n_ranks].path;
	const enum rs_status status = loader_open(&options, &d->loader);
	free(own.item);
	return status;
}

enum rs_status
dealer_open_files(struct dealer *d)
{
	struct dealer_head *const mine = &d->head[d->options.place->rank];

	RS_TRY(list_files(d));
	RS_TRY(compare_lists(d));
	if (d->n_files < d->n_ranks)
		return dealer_fail_count(d->n_files, d->n_ranks);
	RS_TRY(open_own(d));
	const uint64_t share = batch_share(d);
	mine->epoch_rows = loader_rows(d->loader);
	mine->epoch_steps = (mine->epoch_rows + share - 1) / share;
	return RS_OK;
}

/* --- counts of all files ----------------------------------------------------------- */

struct dealer_count { uint64_t size, hash; struct parser_tally tally; };

/* Rank by rank, the files of each in order. */
static enum rs_status
gather_counts(struct dealer *d, struct dealer_count *count, const size_t *begin)
{
	const size_t rank = d->options.place->rank;
	size_t bytes[RANKS_MAX + 1];

	for (size_t k = 0; k < dealer_n_own(d, rank); k++) {
		const struct loader_file *const own = loader_file(d->loader, k);

		count[begin[rank] + k] = (struct dealer_count){ own->size, own->content_hash,
			own->tally };
	}
	for (size_t r = 0; r <= d->n_ranks; r++)
		bytes[r] = begin[r] * sizeof *count;
	return ranks_gather_parts(d->options.place, count, bytes);
}

static void
spread_counts(struct dealer *d, const struct dealer_count *count, const size_t *begin)
{
	for (size_t i = 0; i < d->n_files; i++) {
		const struct dealer_count *const c = &count[begin[i % d->n_ranks] + i / d->n_ranks];

		d->file[i].size = c->size;
		d->file[i].content_hash = c->hash;
		d->file[i].tally = c->tally;
	}
}

enum rs_status
dealer_share_files(struct dealer *d)
{
	struct dealer_count *count;
	size_t begin[RANKS_MAX + 1] = { 0 };

	if (d->n_ranks == 0)
		return RS_OK;
	for (size_t r = 0; r < d->n_ranks; r++)
		begin[r + 1] = begin[r] + dealer_n_own(d, r);
	RS_TRY(memory_alloc(d->n_files, sizeof *count, &count));
	const enum rs_status status = gather_counts(d, count, begin);
	if (status == RS_OK)
		spread_counts(d, count, begin);
	free(count);
	return status;
}
