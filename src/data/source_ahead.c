/* Reading ahead: a thread inflates while its reader does other things. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "data/source_private.h"

#define AHEAD_BLOCK  ((size_t)256 << 10)   /* little to wait for at begin and end    */
#define AHEAD_BLOCKS 16             /* a parser that waits for a core is not waited for */

struct ahead_block {
	size_t n;                  /* bytes that are there                            */
	int    is_last;            /* the end, or a failure, is behind them           */
	char   bytes[AHEAD_BLOCK];
};

struct source_ahead {
	struct source *source;
	pthread_t thread;
	struct queue  empty, full;
	struct ahead_block block[AHEAD_BLOCKS], *now;  /* now: that is read, or NULL     */
	size_t at;                 /* bytes of it that were read                      */
	enum rs_status status;     /* behind the last block                           */
	struct rs_failure failure;
};

static enum rs_status
fill(struct source *s, struct ahead_block *b)
{
	size_t got = 1;
	enum rs_status status = RS_OK;

	b->n = 0;
	while (status == RS_OK && got > 0 && b->n < AHEAD_BLOCK) {
		status = source_read_now(s, b->bytes + b->n, AHEAD_BLOCK - b->n, &got);
		b->n += got;
	}
	b->is_last = status != RS_OK || got == 0;
	return status;
}

static void *
run(void *argument)
{
	struct source_ahead *const a = argument;
	struct ahead_block *b;
	int is_last = 0;

	while (!is_last && (b = queue_take(&a->empty)) != NULL &&
	    !atomic_load(&a->source->ahead_stop)) {
		a->status = fill(a->source, b);
		if (a->status != RS_OK)
			rs_failure_take(&a->failure);
		is_last = b->is_last;
		(void)queue_put(&a->full, b);
	}
	return NULL;
}

static enum rs_status
start(struct source_ahead *a)
{
	RS_TRY(queue_init(&a->empty, AHEAD_BLOCKS));
	RS_TRY(queue_init(&a->full, AHEAD_BLOCKS));
	for (size_t i = 0; i < AHEAD_BLOCKS; i++)
		(void)queue_put(&a->empty, &a->block[i]);
	return thread_start(&a->thread, "rs-inflate", run, a);
}

static void
free_ahead(struct source_ahead *a)
{
	queue_free(&a->empty);
	queue_free(&a->full);
	free(a);
}

enum rs_status
source_ahead_begin(struct source *s)
{
	struct source_ahead *a;

	s->wants_ahead = 0;
	RS_TRY(source_begin(s));
	if (!s->gzip)
		return RS_OK;
	RS_TRY(memory_alloc(1, sizeof *a, &a));
	a->source = s;
	const enum rs_status status = start(a);

	if (status == RS_OK)
		s->ahead = a;
	else
		free_ahead(a);
	return status;
}

enum rs_status
source_ahead_read(struct source *s, void *bytes, size_t n, size_t *got)
{
	struct source_ahead *const a = s->ahead;

	while (a->now == NULL || a->at == a->now->n) {
		if (a->now != NULL && a->now->is_last)
			return a->status == RS_OK ? RS_OK : rs_failure_put(&a->failure);
		if (a->now != NULL)
			(void)queue_put(&a->empty, a->now);
		a->now = queue_take(&a->full);
		a->at = 0;
	}
	*got = a->now->n - a->at < n ? a->now->n - a->at : n;
	memcpy(bytes, a->now->bytes + a->at, *got);
	a->at += *got;
	return RS_OK;
}

void
source_ahead_end(struct source *s)
{
	if (s->ahead == NULL)
		return;
	atomic_store(&s->ahead_stop, 1);
	queue_close(&s->ahead->empty);
	thread_join(s->ahead->thread);
	free_ahead(s->ahead);
	s->ahead = NULL;
}
