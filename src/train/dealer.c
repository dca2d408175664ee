/* The rows of a step: this rank's own, or put together from the files of all ranks. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "data/batch_bytes.h"
#include "train/dealer_private.h"
#include "train/ranks.h"

#define DEALER_BYTES_MAX ((uint64_t)1 << 34)     /* of a batch                          */

static struct dealer_head *
own_head(const struct dealer *d)
{
	return &d->head[d->options.place->rank];
}

/* --- opening and closing ----------------------------------------------------------- */

static void
look(struct dealer *d)
{
	loader_position(d->loader, &own_head(d)->mark.position);
	loader_tally(d->loader, &own_head(d)->tally);
}

static enum rs_status
open_dealt(struct dealer *d)
{
	RS_TRY(memory_alloc(d->n_ranks, sizeof *d->head, &d->head));
	RS_TRY(memory_alloc(d->n_ranks + 1, sizeof *d->begin, &d->begin));
	RS_TRY(batch_init(&d->batch, d->options.loader.schema));
	RS_TRY(dealer_open_files(d));
	look(d);
	return ranks_gather(d->options.place, d->head, d->n_ranks, sizeof *d->head);
}

enum rs_status
dealer_open(const struct dealer_options *options, struct dealer **out)
{
	struct dealer *d;

	*out = NULL;
	RS_TRY(memory_alloc(1, sizeof *d, &d));
	d->options = *options;
	d->n_ranks = options->by_file && ranks_several(options->place)
		? options->place->n_ranks : 0;
	const enum rs_status status = d->n_ranks > 0 ? open_dealt(d)
		: loader_open(&options->loader, &d->loader);
	if (status != RS_OK)
		dealer_close(d);
	else
		*out = d;
	return status;
}

void
dealer_close(struct dealer *d)
{
	if (d == NULL)
		return;
	loader_close(d->loader);
	for (size_t i = 0; i < d->n_files; i++)
		free((char *)(uintptr_t)d->file[i].path);
	free(d->file);
	free(d->head);
	free(d->begin);
	free(d->block);
	batch_free(&d->batch);
	free(d);
}

static int
has_ended(const struct dealer *d, const struct loader_position *position)
{
	return position->epoch >= d->options.loader.epochs;
}

/* --- going on ------------------------------------------------------------------------ */

static enum rs_status
resume_all(struct dealer *d, const struct loader_position *position, const struct dealer_past *past)
{
	if (past->n_marks > 0) {
		(void)rs_fail(RS_ESPEC, "the version is of %zu workers with cluster.policy = file",
			past->n_marks);
		return rs_hint("resume with these, or start from it with --from");
	}
	RS_TRY(loader_resume(d->loader, position));
	if (past->n_tallies > 0)
		loader_resume_counts(d->loader, past->tally, past->n_tallies);
	return RS_OK;
}

static enum rs_status
check_marks(const struct dealer *d, size_t n_marks)
{
	if (n_marks == d->n_ranks)
		return RS_OK;
	if (n_marks == 0) {
		(void)rs_fail(RS_ESPEC, "the version is not of a run with cluster.policy = file");
		return rs_hint("resume with cluster.policy = record");
	}
	(void)rs_fail(RS_ESPEC, "cluster.policy = file: the version is of %zu workers, now there "
		"are %zu", n_marks, d->n_ranks);
	return rs_hint("resume with %zu workers", n_marks);
}

/* The counts that rank 0 read, of the files of this rank and of all. */
static enum rs_status
take_counts(struct dealer *d, struct parser_tally *tally)
{
	const size_t rank = d->options.place->rank, n_own = dealer_n_own(d, rank);
	struct parser_tally *own;

	RS_TRY(ranks_broadcast(d->options.place, tally, d->n_files * sizeof *tally));
	RS_TRY(memory_alloc(n_own, sizeof *own, &own));
	for (size_t i = 0; i < d->n_files; i++)
		d->file[i].tally = tally[i];
	for (size_t k = 0; k < n_own; k++)
		own[k] = tally[rank + k * d->n_ranks];
	loader_resume_counts(d->loader, own, n_own);
	free(own);
	return RS_OK;
}

static enum rs_status
go_on(struct dealer *d, const struct dealer_mark *mark)
{
	struct dealer_head *const mine = own_head(d);
	const struct loader_position now = mine->mark.position;
	const struct loader_position *const then = &mark->position;
	const int begun = then->epoch > 0 || then->rows > 0;

	mine->mark = *mark;
	if (loader_rows(d->loader) > 0 && then->identity != now.identity)
		return rs_fail(RS_EDATA, "the files of worker %zu have changed since the run was "
			"interrupted", d->options.place->rank);
	if (begun)
		mine->mark.ended = has_ended(d, then);
	mine->done = mine->mark.ended || then->epoch > d->epoch;
	return begun && !mine->mark.ended ? loader_resume(d->loader, then) : RS_OK;
}

static enum rs_status
resume_marks(struct dealer *d, const struct dealer_past *past, struct dealer_mark *mark,
	struct parser_tally *tally)
{
	const struct train_place *const place = d->options.place;
	uint64_t has_counts = past->n_tallies == d->n_files;

	if (ranks_lead(place))
		memcpy(mark, past->mark, d->n_ranks * sizeof *mark);
	if (ranks_lead(place) && has_counts)
		memcpy(tally, past->tally, d->n_files * sizeof *tally);
	RS_TRY(ranks_broadcast(place, mark, d->n_ranks * sizeof *mark));
	RS_TRY(ranks_broadcast(place, &has_counts, sizeof has_counts));
	RS_TRY(go_on(d, &mark[place->rank]));
	if (has_counts)
		RS_TRY(take_counts(d, tally));
	return ranks_gather(place, d->head, d->n_ranks, sizeof *d->head);
}

static enum rs_status
resume_dealt(struct dealer *d, const struct loader_position *position,
	const struct dealer_past *past)
{
	uint64_t n_marks = past->n_marks;
	struct dealer_mark *mark = NULL;
	struct parser_tally *tally = NULL;

	RS_TRY(ranks_broadcast(d->options.place, &n_marks, sizeof n_marks));
	RS_TRY(check_marks(d, n_marks));
	d->epoch = position->epoch;
	d->rows = position->rows;
	enum rs_status status = memory_alloc(d->n_ranks, sizeof *mark, &mark);
	if (status == RS_OK)
		status = memory_alloc(d->n_files, sizeof *tally, &tally);
	if (status == RS_OK)
		status = resume_marks(d, past, mark, tally);
	free(mark);
	free(tally);
	return status;
}

enum rs_status
dealer_resume(struct dealer *d, const struct loader_position *position,
	const struct dealer_past *past)
{
	return d->n_ranks > 0 ? resume_dealt(d, position, past) : resume_all(d, position, past);
}

/* --- a step --------------------------------------------------------------------------- */

/* What this rank adds: nothing, once its files are at their end. */
static enum rs_status
read_own(struct dealer *d, const struct batch **own, double *wait_s)
{
	struct dealer_head *const mine = own_head(d);

	*own = NULL;
	if (!mine->done && !mine->mark.ended) {
		RS_TRY(loader_next(d->loader, own, wait_s));
		look(d);
		mine->mark.ended = *own == NULL || has_ended(d, &mine->mark.position);
		mine->done = *own == NULL || (*own)->last;
	}
	mine->n_rows = *own != NULL ? (*own)->B : 0;
	if (mine->n_rows == 0)
		*own = NULL;
	mine->n_bytes = *own != NULL ? batch_bytes_size(*own) : 0;
	return RS_OK;
}

static enum rs_status
gather(const struct dealer *d, void *block, const size_t *begin)
{
	struct exchange *const e = d->options.place->exchange;

	return begin[d->n_ranks] > 0 ? e->ops->gather(e, block, begin) : RS_OK;
}

static enum rs_status
make_room(struct dealer *d)
{
	uint64_t sum = 0;

	for (size_t r = 0; r < d->n_ranks; r++) {
		d->begin[r] = sum;
		if (d->head[r].n_bytes > DEALER_BYTES_MAX - sum)
			return rs_fail(RS_ERESOURCE, "the rows of a step are more than %ju bytes",
				(uintmax_t)DEALER_BYTES_MAX);
		sum += d->head[r].n_bytes;
	}
	d->begin[d->n_ranks] = sum;
	if (sum <= d->capacity)
		return RS_OK;
	free(d->block);
	d->block = NULL;
	d->capacity = 0;
	RS_TRY(memory_alloc(2 * sum, 1, &d->block));
	d->capacity = 2 * sum;
	return RS_OK;
}

static enum rs_status
exchange_rows(struct dealer *d, const struct batch *own)
{
	for (size_t r = 0; r <= d->n_ranks; r++)
		d->begin[r] = r * sizeof *d->head;
	RS_TRY(gather(d, d->head, d->begin));
	RS_TRY(make_room(d));
	if (own != NULL)
		batch_bytes_write(own, d->block + d->begin[d->options.place->rank]);
	RS_TRY(gather(d, d->block, d->begin));
	ranks_progress(d->options.place);
	batch_clear(&d->batch);
	for (size_t r = 0; r < d->n_ranks; r++)
		if (d->head[r].n_rows > 0)
			RS_TRY(batch_bytes_append(&d->batch, d->head[r].n_rows,
				d->block + d->begin[r], d->begin[r + 1] - d->begin[r]));
	return RS_OK;
}

/* Numbers the batch; at the end of an epoch all begin the next. */
static void
count_batch(struct dealer *d)
{
	d->batch.epoch = d->epoch;
	d->batch.first_row = d->rows;
	d->batch.last = 1;
	d->rows += d->batch.B;
	for (size_t r = 0; r < d->n_ranks; r++)
		d->batch.last &= d->head[r].done != 0;
	if (!d->batch.last)
		return;
	d->epoch++;
	d->rows = 0;
	for (size_t r = 0; r < d->n_ranks; r++)
		d->head[r].done = d->head[r].mark.ended;
}

enum rs_status
dealer_next(struct dealer *d, const struct batch **batch, double *wait_s)
{
	const struct batch *own;

	if (d->n_ranks == 0)
		return loader_next(d->loader, batch, wait_s);
	*batch = NULL;
	RS_TRY(read_own(d, &own, wait_s));
	RS_TRY(exchange_rows(d, own));
	if (d->batch.B == 0)                           /* all have ended              */
		return RS_OK;
	count_batch(d);
	*batch = &d->batch;
	return RS_OK;
}

/* --- what is known ---------------------------------------------------------------------- */

void
dealer_position(const struct dealer *d, struct loader_position *out)
{
	if (d->n_ranks == 0) {
		loader_position(d->loader, out);
		return;
	}
	*out = (struct loader_position){ .epoch = d->epoch, .rows = d->rows,
		.identity = d->n_ranks };
	for (size_t r = 0; r < d->n_ranks; r++)
		out->identity = hash_cat(out->identity, d->head[r].mark.position.identity);
}

void
dealer_tally(const struct dealer *d, struct parser_tally *out)
{
	if (d->n_ranks == 0) {
		loader_tally(d->loader, out);
		return;
	}
	*out = (struct parser_tally){ 0 };
	for (size_t r = 0; r < d->n_ranks; r++) {
		out->read += d->head[r].tally.read;
		out->skipped += d->head[r].tally.skipped;
		out->zero_weight += d->head[r].tally.zero_weight;
		out->blank += d->head[r].tally.blank;
	}
}

uint64_t
dealer_rows(const struct dealer *d)
{
	uint64_t n = 0;

	if (d->n_ranks == 0)
		return loader_rows(d->loader);
	for (size_t r = 0; r < d->n_ranks; r++)
		n += d->head[r].epoch_rows;
	return n;
}

uint64_t
dealer_steps(const struct dealer *d)
{
	const uint64_t B = d->options.loader.batch_size;
	uint64_t n = 0;

	if (d->n_ranks == 0)
		return (loader_rows(d->loader) + B - 1) / B;
	for (size_t r = 0; r < d->n_ranks; r++)
		n = d->head[r].epoch_steps > n ? d->head[r].epoch_steps : n;
	return n;
}

size_t
dealer_n_files(const struct dealer *d)
{
	return d->n_ranks > 0 ? d->n_files : loader_n_files(d->loader);
}

const struct loader_file *
dealer_file(const struct dealer *d, size_t i)
{
	return d->n_ranks > 0 ? &d->file[i] : loader_file(d->loader, i);
}

size_t
dealer_n_marks(const struct dealer *d)
{
	return d->n_ranks;
}

struct dealer_mark
dealer_mark(const struct dealer *d, size_t rank)
{
	return d->head[rank].mark;
}
