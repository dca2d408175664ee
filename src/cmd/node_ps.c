/* A parameter server shard of a job. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cmd/node.h"
#include "kernel/kernel.h"
#include "remote/shard.h"

#define REPORT_BYTES 2048
#define JOURNAL_PATH 4096

static void
on_counts(void *context, const struct shard_counts *c)
{
	struct node *const n = context;
	char text[REPORT_BYTES];

	snprintf(text, sizeof text,
		"pulls = %" PRIu64 "\npulled_rows = %" PRIu64 "\npulled_bytes = %" PRIu64
		"\npushes = %" PRIu64 "\npushed_rows = %" PRIu64 "\npushed_bytes = %" PRIu64
		"\nrepeated = %" PRIu64 "\nmisses = %" PRIu64 "\nrefused = %" PRIu64
		"\nwaiting = %" PRIu64
		"\nstaleness_max = %" PRIu64 "\nstep = %" PRIu64 "\nmalformed = %" PRIu64
		"\nbytes = %" PRIu64 "\nbusy = %.3f\n", c->pulls, c->pulled_rows, c->pulled_bytes,
		c->pushes, c->pushed_rows, c->pushed_bytes, c->repeated, c->misses, c->refused,
		c->waiting,		c->staleness_max, c->step, c->malformed, c->bytes, c->busy);
	member_report(n->member, text);
}

/* The shard that keeps a copy of this one's journal; it is the next one. */
static size_t
peer_of(const struct node *n, size_t index)
{
	return n->settings->cluster.replicas > 1 ? (index + 1) % n->job.n_ps : index;
}

static enum rs_status
serve_round(struct node *n, struct shard *s, const struct member_view *view)
{
	const size_t self = n->job.node[n->job.self].index, peer = peer_of(n, self);
	const size_t number = job_number(&n->job, KEY_PS, peer);
	struct shard_round round = { .epoch = view->epoch, .peer = peer };

	if (peer != self) {
		round.endpoint = view->endpoint[number];
		round.key = view->public_key[number];
	}
	return shard_serve(s, &round);
}

static enum rs_status
serve_rounds(struct node *n, struct shard *s)
{
	struct member_view view;
	int over = 0;

	for (;;) {
		RS_TRY(node_wait(n, &view, &over));
		if (over)
			return RS_OK;
		const enum rs_status status = serve_round(n, s, &view);

		member_view_free(&view);
		RS_TRY(status);
	}
}

/* One shard for all rounds of this process. */
static enum rs_status
serve(struct node *n, const struct shard_options *options)
{
	struct shard *s;

	RS_TRY(shard_open(options, &s));
	const enum rs_status status = serve_rounds(n, s);
	shard_close(s);
	return status;
}

/* --- its journal --------------------------------------------------------------------- */

/* A step whose push lets rows of others go cannot be taken back but by the journal. */
static int
has_rules(const struct embedding_settings *e)
{
	return e->admit != ADMISSION_ALL || e->expire_after > 0 || e->expire_steps > 0
	    || e->max_bytes > 0;
}

/* *why: there is none, although one was asked for. */
static int
wants_journal(const struct node *n, const char **why)
{
	const struct settings *const s = n->settings;
	const int is_asked = s->cluster.journal == JOURNAL_USE_YES || s->cluster.replicas > 1;

	*why = NULL;
	if (s->cluster.journal == JOURNAL_USE_NO
	    || (!is_asked && s->placement.consistency == CONSISTENCY_SYNC
	    && !has_rules(&s->embedding)))
		return 0;
	if (s->cluster.journal_dir[0] != '\0' || n->job.directory[0] != '\0')
		return 1;
	if (is_asked)
		*why = "this host has no private directory of the job; set cluster.journal_dir";
	return 0;
}

/* A directory of this shard of this job; "" when it is to have none. */
static void
find_journal(const struct node *n, char out[JOURNAL_PATH], struct journal_options *options)
{
	const struct cluster_settings *const c = &n->settings->cluster;
	const size_t index = n->job.node[n->job.self].index;
	const char *why;

	*options = (struct journal_options){ .directory = out, .job = n->job.id, .shard = index,
		.durable = c->durable };
	out[0] = '\0';
	if (wants_journal(n, &why))
		snprintf(out, JOURNAL_PATH, "%.4000s/%016" PRIx64 ".ps%zu",
			c->journal_dir[0] != '\0' ? c->journal_dir : n->job.directory,
			n->job.id, index);
	if (why != NULL)
		log_warn("no journal: %s", why);
}

static void
remove_directory(const char *directory)
{
	if (access(directory, F_OK) == 0 && file_remove_tree(directory) != RS_OK)
		log_debug("%s", rs_failure()->text);
}

/* Who ends in order is not coming back; nor are the others. */
static void
remove_journal(const struct node *n, const struct journal_options *journal)
{
	char copy[JOURNAL_PATH + 32];

	remove_directory(journal->directory);
	snprintf(copy, sizeof copy, "%s.copy%zu", journal->directory,
		(journal->shard + n->job.n_ps - 1) % n->job.n_ps);
	remove_directory(copy);
}

/* --- the whole ------------------------------------------------------------------------ */

static enum rs_status
join_and_serve(struct node *n, struct shard_options *options)
{
	struct rs_failure failure;
	enum rs_status status = node_join(n, wire_endpoint(options->wire));

	if (status != RS_OK)
		return status;
	options->stop = member_stop(n->member);
	options->progress = member_progress(n->member);
	status = kernel_select("auto", &options->kernel);
	if (status == RS_OK)
		status = serve(n, options);
	if (status != RS_OK)
		rs_failure_take(&failure);
	if (options->journal != NULL)
		remove_journal(n, options->journal);
	return node_leave(n, status != RS_OK ? rs_failure_put(&failure) : RS_OK);
}

enum rs_status
node_ps(struct node *n)
{
	char directory[JOURNAL_PATH];
	struct journal_options journal;
	struct shard_options options = {
		.index = n->job.node[n->job.self].index,
		.n_threads = (size_t)n->settings->cluster.ps_threads, .job = n->job.id,
		.report = on_counts, .context = n, .context_of_peers = n->context,
	};

	find_journal(n, directory, &journal);
	if (directory[0] != '\0')
		options.journal = &journal;
	RS_TRY(node_bind(n, &options.wire));
	const enum rs_status status = join_and_serve(n, &options);
	wire_close(options.wire);
	return status;
}
