/* Where the gradient is cut, and what of a slot's is final. */
#include "train/buckets.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "train/contrast.h"

/* In the order of contrast.h; other losses have one pass. */
static size_t
list_passes(const struct model *m, enum graph_output out[2])
{
	const int contrasts = contrast_needed(spec_settings(m->spec));

	out[0] = contrasts ? GRAPH_ITEM : GRAPH_LOGIT;
	out[1] = GRAPH_USER;
	return contrasts ? 2 : 1;
}

/* To be a bucket by itself: biases go with what comes next. */
static int
is_enough(size_t n, uint64_t bytes)
{
	return n > 0 && n * sizeof(float) >= bytes / 4;
}

/* The pass cannot hide the last bucket, so that has only what little is left at the end. */
static int
is_short_rest(const struct model *m, size_t n, uint64_t bytes)
{
	return n * sizeof(float) < bytes / 4 && m->P * sizeof(float) > bytes;
}

static void
close_bucket(struct buckets *b, size_t begin, size_t end, size_t after)
{
	b->bucket[b->n] = (struct reducer_bucket){ begin, end };
	b->after[b->n++] = after;
}

static void
cut(const struct model *m, uint64_t bytes, struct buckets *b)
{
	enum graph_output pass[2];
	const size_t n_passes = list_passes(m, pass);
	size_t begin = m->P, end = m->P, after = 0;

	for (size_t i = graph_n_params(m->graph); i-- > 0;) {
		const size_t offset = graph_param(m->graph, i)->offset;
		const size_t time = graph_param_time(m->graph, i, pass, n_passes);

		if (is_enough(end - begin, bytes) && ((end - offset) * sizeof(float) > bytes
		    || is_short_rest(m, begin, bytes))) {
			close_bucket(b, begin, end, after);
			end = begin;
			after = 0;
		}
		begin = offset;
		after = time > after ? time : after;
	}
	if (begin < end)
		close_bucket(b, begin, end, after);
}

/* By time; those of one time stay in order. */
static void
sort(struct buckets *b)
{
	for (size_t i = 1; i < b->n; i++)
		for (size_t k = i; k > 0 && b->after[k - 1] > b->after[k]; k--) {
			const struct reducer_bucket bucket = b->bucket[k];
			const size_t after = b->after[k];

			b->bucket[k] = b->bucket[k - 1];
			b->after[k] = b->after[k - 1];
			b->bucket[k - 1] = bucket;
			b->after[k - 1] = after;
		}
}

enum rs_status
buckets_make(const struct model *m, uint64_t bytes, struct buckets *out)
{
	const size_t most = graph_n_params(m->graph) + 1;

	memset(out, 0, sizeof(*out));
	enum rs_status status = memory_alloc(most, sizeof(*out->bucket), &out->bucket);
	if (status == RS_OK)
		status = memory_alloc(most, sizeof(*out->after), &out->after);
	if (status != RS_OK) {
		buckets_free(out);
		return status;
	}
	cut(m, bytes > 0 ? bytes : UINT64_MAX, out);
	sort(out);
	return RS_OK;
}

void
buckets_free(struct buckets *b)
{
	free(b->bucket);
	free(b->after);
	memset(b, 0, sizeof(*b));
}

static int
is_wanted(void *watch, size_t k)
{
	const struct buckets_watch *w = watch;
	const struct buckets *b = w->buckets;
	size_t i = 0;

	while (i < b->n && b->after[i] != w->before + k)
		i++;
	return i < b->n;
}

static void
pass_on(void *watch, size_t k)
{
	const struct buckets_watch *w = watch;
	const struct buckets *b = w->buckets;
	size_t n = w->sum->n_given;

	while (n < b->n && b->after[n] <= w->before + k)
		n++;
	if (n > w->sum->n_given)
		w->reducer->ops->advance(w->reducer, w->worker, w->slot, w->sum, n);
}

void
buckets_tell(struct exec *e, struct buckets_watch *watch)
{
	exec_set_watch(e, watch == NULL ? NULL : &(struct exec_watch){ .wants = is_wanted,
		.passed = pass_on, .context = watch });
}
