/* Whether rows are dealt by file: what cannot be, and what is chosen when nobody says. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "data/catalogue.h"
#include "data/fit.h"
#include "data/range.h"
#include "data/sampler.h"
#include "data/source.h"
#include "train/dealer_private.h"
#include "train/model.h"

static const char stdin_text[] = "standard input is not a file of one worker";
static const char transform_text[] =
	"a transform wants a pass over all rows before the first step";

/* Why rows cannot be dealt by file, whatever the files; NULL: they can. */
static const char *
obstacle(const struct settings *s)
{
	if (s->data.command[0] != '\0')
		return "data.command has no files";
	if (catalogue_needed(s) || sampler_needed(s))
		return "the items of all rows are wanted before the first step";
	if (fit_needed(s))
		return transform_text;
	if ((size_t)s->train.batch_size < model_slots(s))
		return "a batch has fewer rows than slots";
	for (size_t i = 0; i < s->data.train.n; i++)
		if (strcmp(s->data.train.item[i], "-") == 0)
			return stdin_text;
	return NULL;
}

enum rs_status
dealer_fail_count(size_t n_files, size_t n_ranks)
{
	(void)rs_fail(RS_ESPEC, "cluster.policy = file: %zu training file%s for %zu workers",
		n_files, n_files == 1 ? "" : "s", n_ranks);
	return rs_hint("give every worker a file, use at most %zu worker%s, or cluster.policy = "
		"record", n_files, n_files == 1 ? "" : "s");
}

enum rs_status
dealer_check(const struct settings *s, size_t n_ranks)
{
	const char *no;
	int patterns = 0;

	if (s->cluster.policy != POLICY_FILE || n_ranks < 2)
		return RS_OK;
	no = obstacle(s);
	if (no != NULL) {
		(void)rs_fail(RS_ESPEC, "cluster.policy = file: %s", no);
		return rs_hint(no == transform_text
			? "give the field mean and stddev, or boundaries; or use cluster.policy = "
			"record" : "use cluster.policy = record, in which every worker reads all "
			"rows");
	}
	for (size_t i = 0; i < s->data.train.n; i++)
		patterns |= strpbrk(s->data.train.item[i], "*?[") != NULL;
	return patterns || s->data.train.n >= n_ranks ? RS_OK
		: dealer_fail_count(s->data.train.n, n_ranks);
}

/* --- when nobody says --------------------------------------------------------------- */

/* Bytes of a file or of the ranges of one; 0: it is not here. */
static uint64_t
name_bytes(const char *name)
{
	struct range_list list = { 0 };
	uint64_t bytes = 0;
	char *path = NULL;
	struct stat st;

	if (range_stat(name, &st) != 0)
		return 0;
	if (range_parse(name, &path, &list) != RS_OK)
		return 0;
	if (path == NULL)
		bytes = (uint64_t)st.st_size;
	for (size_t i = 0; i < list.n; i++)
		bytes += (list.item[i].end == RANGE_END ? (uint64_t)st.st_size : list.item[i].end)
			- list.item[i].begin;
	free(path);
	range_list_free(&list);
	return bytes;
}

/* The least and the most that a worker gets. */
static enum rs_status
weigh_shares(char *const *path, size_t n, size_t n_ranks, uint64_t out[2])
{
	uint64_t *share;

	RS_TRY(memory_alloc(n_ranks, sizeof *share, &share));
	for (size_t i = 0; i < n; i++)
		share[i % n_ranks] += name_bytes(path[i]);
	out[0] = out[1] = share[0];
	for (size_t r = 1; r < n_ranks; r++) {
		out[0] = share[r] < out[0] ? share[r] : out[0];
		out[1] = share[r] > out[1] ? share[r] : out[1];
	}
	free(share);
	return RS_OK;
}

static void
decide(struct dealer_policy *p, size_t n_files, size_t n_ranks, const uint64_t share[2])
{
	if (n_files < n_ranks) {
		snprintf(p->why, sizeof p->why, "%zu training file%s for %zu workers", n_files,
			n_files == 1 ? "" : "s", n_ranks);
	} else if (share[0] == 0) {
		snprintf(p->why, sizeof p->why, "a worker's files would be empty, or are not here");
	} else if (share[0] < share[1] - share[1] / 5) {       /* else batches get small  */
		snprintf(p->why, sizeof p->why, "a worker's files would be %.0f %% of another's",
			100 * (double)share[0] / (double)share[1]);
	} else {
		p->policy = POLICY_FILE;
		snprintf(p->why, sizeof p->why, "rows lag anyway, and %zu files are about even for "
			"%zu workers", n_files, n_ranks);
	}
}

static enum rs_status
look_at_files(struct dealer_policy *p, const struct text_list *train, size_t n_ranks)
{
	uint64_t share[2] = { 0 };
	char **path;
	size_t n;

	if (source_expand_names(train, &path, &n) != RS_OK) {
		snprintf(p->why, sizeof p->why, "a training file is not here");
		return RS_OK;
	}
	const enum rs_status status = weigh_shares(path, n, n_ranks, share);
	if (status == RS_OK)
		decide(p, n, n_ranks, share);
	for (size_t i = 0; i < n; i++)
		free(path[i]);
	free(path);
	return status;
}

enum rs_status
dealer_choose(const struct settings *s, size_t n_ranks, size_t n_hosts, struct dealer_policy *out)
{
	const char *why = obstacle(s);

	RS_TRY(dealer_check(s, n_ranks));
	*out = (struct dealer_policy){ .policy = s->cluster.policy };
	if (s->cluster.policy != POLICY_AUTO)
		why = "cluster.policy says so";
	else if (n_ranks < 2)
		why = "one worker";
	else if (s->placement.consistency == CONSISTENCY_SYNC)
		why = "sync has the bits of one process";
	else if (n_hosts > 1)
		why = "hosts may not find the same files";
	if (s->cluster.policy == POLICY_AUTO)
		out->policy = POLICY_RECORD;
	if (why == NULL)
		return look_at_files(out, &s->data.train, n_ranks);
	snprintf(out->why, sizeof out->why, "%s", why);
	return RS_OK;
}
