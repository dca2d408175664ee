/* Hashes of parts of a file, all in one pass. */
#include <stdlib.h>
#include <string.h>

#include "data/content_hash.h"
#include "data/source.h"
#include "train/intake_private.h"

#define CHUNK ((size_t)256 << 10)

/* A range of a digest. */
struct segment { uint64_t begin, end; size_t digest; };

struct pass {
	struct source *source;
	char    *chunk;
	uint64_t at;               /* bytes read or stepped over                      */
	int      ended;
	struct content_hash *hash; /* [n]                                             */
	uint64_t *left;            /* [n] segments that are not done                  */
	uint64_t *value;           /* [n] of those that are                           */
	size_t   n;
	struct segment *segment;   /* [n_segments] by begin; [first, next) are open   */
	size_t   n_segments, first, next;
};

static int
segment_order(const void *a, const void *b)
{
	const struct segment *const x = a, *const y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->digest < y->digest ? -1 : x->digest > y->digest;
}

static enum rs_status
make_segments(struct pass *p, const struct intake_digest *digest)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += digest[i].ranges != NULL && digest[i].ranges->n > 0 ? digest[i].ranges->n : 1;
	RS_TRY(memory_alloc(n + 1, sizeof *p->segment, &p->segment));
	RS_TRY(memory_alloc(p->n + 1, sizeof *p->hash, &p->hash));
	RS_TRY(memory_alloc(p->n + 1, sizeof *p->left, &p->left));
	RS_TRY(memory_alloc(p->n + 1, sizeof *p->value, &p->value));
	RS_TRY(memory_alloc(CHUNK, 1, &p->chunk));
	for (size_t i = 0; i < p->n; i++) {
		const struct range_list *const r = digest[i].ranges;

		content_hash_init(&p->hash[i]);
		if (r == NULL || r->n == 0)
			p->segment[p->n_segments++] = (struct segment){ 0, digest[i].limit, i };
		for (size_t k = 0; r != NULL && k < r->n; k++)
			p->segment[p->n_segments++] = (struct segment){ r->item[k].begin,
				r->item[k].end, i };
		p->left[i] = r != NULL && r->n > 0 ? r->n : 1;
	}
	qsort(p->segment, p->n_segments, sizeof *p->segment, segment_order);
	return RS_OK;
}

/* Up to where all open segments want the same. */
static uint64_t
next_stop(const struct pass *p)
{
	uint64_t stop = p->next < p->n_segments ? p->segment[p->next].begin : RANGE_END;

	for (size_t i = p->first; i < p->next; i++)
		if (p->segment[i].end < stop)
			stop = p->segment[i].end;
	return stop;
}

static enum rs_status
feed(struct pass *p, size_t n)
{
	for (size_t i = p->first; i < p->next; i++)
		RS_TRY(content_hash_feed(&p->hash[p->segment[i].digest], p->chunk, n));
	return RS_OK;
}

static void
close_segment(struct pass *p, size_t digest)
{
	if (--p->left[digest] > 0)
		return;
	p->value[digest] = content_hash_value(&p->hash[digest]);
	content_hash_free(&p->hash[digest]);
}

/* Segments that end here; an open end ends with the file. */
static void
close_segments(struct pass *p)
{
	size_t to = p->next;

	for (size_t i = p->next; i > p->first; i--) {
		const struct segment s = p->segment[i - 1];

		if (s.end > p->at && !(p->ended && s.end == RANGE_END))
			p->segment[--to] = s;
		else
			close_segment(p, s.digest);
	}
	p->first = to;
}

/* Over what nobody wants. */
static enum rs_status
step_over(struct pass *p, uint64_t to)
{
	size_t got = 1;

	if (p->at > 0 && !source_is_gzip(p->source)) {
		p->at = to;
		return source_seek(p->source, NULL, to);
	}
	while (p->at < to && got > 0) {
		RS_TRY(source_read(p->source, p->chunk,
			to - p->at < CHUNK ? (size_t)(to - p->at) : CHUNK, &got));
		p->at += got;
	}
	p->ended = got == 0;
	return RS_OK;
}

static enum rs_status
run_pass(struct pass *p, int to_end)
{
	while (!p->ended && (p->first < p->n_segments || to_end)) {
		uint64_t stop;
		size_t got;

		if (p->first == p->next && p->next < p->n_segments &&
		    p->segment[p->next].begin > p->at)
			RS_TRY(step_over(p, p->segment[p->next].begin));
		while (p->next < p->n_segments && p->segment[p->next].begin <= p->at)
			p->next++;
		stop = next_stop(p);
		RS_TRY(source_read(p->source, p->chunk,
			stop - p->at < CHUNK ? (size_t)(stop - p->at) : CHUNK, &got));
		RS_TRY(feed(p, got));
		p->at += got;
		p->ended = p->ended || (got == 0 && stop > p->at);
		close_segments(p);
	}
	return RS_OK;
}

enum rs_status
intake_digest(const char *path, struct intake_digest *digest, size_t n, uint64_t *text)
{
	struct pass p = { .n = n };
	enum rs_status status = make_segments(&p, digest);

	if (status == RS_OK)
		status = source_open(path, &p.source);
	if (status == RS_OK)
		status = run_pass(&p, text != NULL);
	for (size_t i = 0; i < n && status == RS_OK; i++) {
		digest[i].hash = p.value[i];
		digest[i].whole = p.left[i] == 0;
	}
	if (text != NULL)
		*text = p.at;
	source_close(p.source);
	for (size_t i = 0; i < n && p.hash != NULL; i++)
		content_hash_free(&p.hash[i]);
	free(p.hash);
	free(p.left);
	free(p.value);
	free(p.segment);
	free(p.chunk);
	return status;
}
