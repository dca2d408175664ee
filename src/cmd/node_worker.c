/* A worker of a job: the rounds of training, each from the newest step that all can give, or
 * from the last version. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cmd/job_spec.h"
#include "cmd/node.h"
#include "cmd/node_exchange.h"
#include "cmd/node_period.h"
#include "cmd/node_shards.h"
#include "cmd/session.h"
#include "comm/client.h"
#include "remote/lookup.h"
#include "remote/offer.h"
#include "train/checkpoint.h"
#include "train/live.h"
#include "train/replicated.h"
#include "train/train.h"

#define LIVE_SYNC      2            /* states: who is a step ahead can go back        */
#define LIVE_ASYNC     4
#define REPORT_BATCHES 10           /* from report to report, when nobody looks      */

struct worker {
	struct node *node;
	struct session *session;
	struct train_options options;       /* as the user gave them                  */
	struct client *client;              /* of the shards; NULL: there are none    */
	struct exchange *exchange;          /* NULL: one worker                       */
	struct train_summary summary;
	/* Up to the version that this job goes on from. */
	struct checkpoint_progress before;
	struct live *live;                  /* what outlives a round, or NULL         */
	struct tables {                     /* on the shards                          */
		int keep;                   /* to go on from them, after this step    */
		uint32_t origin;
		uint64_t step, name;
		uint8_t *has_rows;          /* [n_ps] of those that were opened       */
	} tables;
	struct node_period *period;         /* of a run over one, or NULL             */
	size_t rank;
	double began;                       /* the first round that this process was in */
	size_t lonely;                      /* rounds in a row that we gave up        */
	const char *plane;                  /* that sums, of the rounds before; NULL: none */
	int    is_refused;                  /* another round would be no better       */
	int    has_left;
	char   where[96];                   /* of the threads, for the first line     */
};

/* --- the parts of a round ------------------------------------------------------------- */

static enum rs_status
open_client(struct worker *w, const struct member_view *view)
{
	const struct job *const job = &w->node->job;
	const struct cluster_settings *const cluster = &w->node->settings->cluster;
	struct client_server *server;
	char (*name)[32];

	if (job->n_ps == 0)
		return RS_OK;
	RS_TRY(memory_alloc(job->n_ps, sizeof *server, &server));
	enum rs_status status = memory_alloc(job->n_ps, sizeof *name, &name);
	if (status == RS_OK) {
		for (size_t i = 0; i < job->n_ps; i++) {
			const size_t number = job_number(job, KEY_PS, i);

			server[i] = (struct client_server){
				.endpoint = view->endpoint[number],
				.key = view->public_key[number][0] != '\0'
					? view->public_key[number] : NULL,
				.name = job_node_name(job, number, name[i]),
			};
		}
		const struct client_options options = {
			.context = w->node->context, .server = server, .n_servers = job->n_ps,
			.job = job->id, .epoch = view->epoch, .source = (uint32_t)job->self,
			.request_timeout = cluster->request_timeout,
			.stop = member_stop(w->node->member),
		};
		status = client_open(&options, &w->client);
		free(name);
	}
	free(server);
	return status;
}

/* How they sum is said once, and again when it changes. */
static void
tell_exchange(struct worker *w, const char *why_not)
{
	const char *const name = w->exchange->ops->name, *const before = w->plane;
	const int is_news = !w->node->has_ticket && w->session->gpu.gpu != NULL;

	w->plane = name;
	if (w->rank > 0 || (before != NULL && strcmp(before, name) == 0))
		return;
	if (why_not[0] == '\0')
		log_info("dense gradients are summed over %s", name);
	else
		(is_news ? log_warn : log_info)("dense gradients are summed over %s, not nccl: %s",
			name, why_not);
	record_param(w->session->record, "train.plane", name);
}

/* That not all workers can use NCCL, although they have to, is no matter of this round, unless
 * they could before. */
static enum rs_status
open_exchange(struct worker *w, const struct member_view *view)
{
	const struct node_exchange_options o = {
		.node = w->node, .rank = w->rank, .client = w->client, .epoch = view->epoch,
		.gpu = &w->session->gpu, .why_device = w->session->why_device,
	};
	char why_not[NCCL_WHY];
	enum rs_status status = node_exchange_open(&o, &w->exchange, why_not);

	if (status == RS_EUNMET) {
		w->is_refused = w->plane == NULL;
		rs_fail(RS_EPEER, "placement.dense = nccl: %s", why_not);
		return rs_hint("set placement.dense = auto");
	}
	if (status == RS_OK && w->exchange != NULL)
		tell_exchange(w, why_not);
	return status;
}

/* Without shards every worker has all tables. */
static enum rs_status
open_lookup(void *context, const struct lookup_local_options *base, struct lookup **out)
{
	struct worker *const w = context;
	const struct placement_settings *const p = &w->node->settings->placement;
	const struct remote_lookup_options options = {
		.base = *base, .client = w->client, .rank = w->rank,
		.n_ranks = w->node->job.n_workers, .consistency = p->consistency,
		.staleness = (uint64_t)p->staleness, .compress = p->compress,
		.min_shard_bytes = (uint64_t)p->min_shard_bytes,
		.keep = w->tables.keep, .origin = w->tables.origin,
		.first_step = w->tables.step + 1,
	};

	if (w->client == NULL)
		return replicated_open(base, w->exchange, out);
	RS_TRY(remote_lookup_open(&options, out));
	w->tables.name = remote_lookup_name(*out);
	remote_lookup_shards(*out, w->tables.has_rows);
	return RS_OK;
}

static enum rs_status
offer_tables(void *context, struct place_offer *out)
{
	const struct worker *const w = context;
	struct offer offer;

	RS_TRY(offer_ask(w->client, w->rank, w->tables.name, w->tables.has_rows, &offer));
	*out = (struct place_offer){ .tables = offer.tables, .lowest = offer.lowest,
		.highest = offer.highest };
	snprintf(out->why, sizeof out->why, "%s", offer.why);
	return RS_OK;
}

static void
begin_tables(void *context, int keep, uint32_t origin, uint64_t step)
{
	struct worker *const w = context;

	w->tables.keep = keep;
	w->tables.origin = origin;
	w->tables.step = step;
}

static uint64_t
name_tables(void *context)
{
	return ((const struct worker *)context)->tables.name;
}

static const struct place_tables shard_tables = {
	.offer = offer_tables, .begin = begin_tables, .name = name_tables,
};

static void
close_round(struct worker *w)
{
	if (w->exchange != NULL)
		w->exchange->ops->close(w->exchange);
	if (w->client != NULL)
		client_close(w->client);
	w->exchange = NULL;
	w->client = NULL;
}

/* --- a round ------------------------------------------------------------------------------ */

/* The first round starts as the user said; so does the next one as long as this job has
 * saved nothing. */
static enum rs_status
choose_start(struct worker *w, struct train_options *out)
{
	uint64_t *list;
	size_t n;

	*out = w->options;
	if (w->rank > 0)                /* does as worker 0                           */
		return RS_OK;
	RS_TRY(checkpoint_list(w->options.directory, &list, &n));
	const uint64_t newest = n > 0 ? list[n - 1] : 0;
	free(list);
	if (newest <= w->node->job.version)
		return RS_OK;
	out->resume = out->continues = 1;
	out->from = NULL;
	out->reset_optimizer = out->reset_steps = 0;
	return RS_OK;
}

/* The rounds of a job are one run: its rows are those of all, and that some were skipped
 * counts, whenever it was. */
static enum rs_status
add_former(struct worker *w, enum rs_status status)
{
	struct train_summary *const out = &w->summary;
	const struct parser_tally *const now = &out->former, *const then = &w->before.tally;
	const uint64_t read = now->read - then->read, skipped = now->skipped - then->skipped;
	const uint64_t zero_weight = now->zero_weight - then->zero_weight;

	if (w->rank > 0 || now->read <= then->read)
		return status;
	out->epochs_done += out->former_epochs - w->before.position.epoch;
	out->rows_read += read;
	out->rows_skipped += skipped;
	out->rows_zero_weight += zero_weight;
	out->rows_trained += read - skipped - zero_weight;
	if ((status != RS_OK && status != RS_EPARTIAL) || out->rows_skipped == 0)
		return status;
	return rs_fail(RS_EPARTIAL, "%" PRIu64 " of %" PRIu64 " rows were skipped",
		out->rows_skipped, out->rows_read);
}

/* The rounds of a job are one run; a process that was started again knows by its ticket when
 * that began, if there is one. */
static double
seconds_before(struct worker *w, const struct member_view *view)
{
	const double now = clock_seconds(), told = (double)w->node->job.began_ms * 1e-3;

	if (w->began <= 0)
		w->began = told > 0 && view->epoch > 1 ? told : now;
	return now - w->began;
}

static enum rs_status
train_round(struct worker *w, const struct member_view *view)
{
	struct train_place place = {
		.rank = w->rank, .n_ranks = w->node->job.n_workers, .context = w,
		.round = view->epoch, .open_lookup = open_lookup,
		.tables = w->node->job.n_ps > 0 ? &shard_tables : NULL,
		.progress = member_progress(w->node->member),
		.bucket_bytes = (uint64_t)w->node->settings->cluster.bucket_bytes,
	};
	struct train_options options;
	struct spec *spec;

	RS_TRY(choose_start(w, &options));
	options.elapsed = seconds_before(w, view);
	RS_TRY(open_client(w, view));
	RS_TRY(open_exchange(w, view));
	place.exchange = w->exchange;
	options.place = &place;
	options.live = w->live;
	begin_tables(w, 0, view->epoch, 0);
	RS_TRY(node_period_begin(w->period, w->node->settings, &options));
	RS_TRY(job_spec_copy(w->node->spec, &spec));
	RS_TRY(train_run(spec, &options, &w->summary));
	if (w->rank == 0 && w->client != NULL)
		node_shards_record(w->client, w->node->job.n_ps, w->session->record);
	if (w->rank == 0)
		record_figure(w->session->record, "recomputed_steps",
			(double)w->summary.recomputed_steps);
	return RS_OK;
}

/* A shard that is in the next round already refuses what is of this one, maybe before we
 * hear that it is over. */
static int
is_over_soon(const struct worker *w)
{
	const double until = clock_seconds() + w->node->settings->cluster.lease;
	const atomic_int *const stop = member_stop(w->node->member);

	while (atomic_load(stop) == 0 && clock_seconds() < until)
		(void)poll(NULL, 0, 20);
	return atomic_load(stop) != 0;
}

/* 1: the others are gone or have stopped, and there will be another round. */
static int
is_interrupted(struct worker *w, enum rs_status status)
{
	if (status == RS_EPROTOCOL && is_over_soon(w))
		status = RS_EPEER;
	if (status != RS_EPEER || w->is_refused)
		return 0;
	if (atomic_load(member_stop(w->node->member)) != 0) {
		w->lonely = 0;
		return 1;
	}
	return ++w->lonely <= (size_t)w->node->settings->cluster.restarts;
}

/* Worker 0 may still be killed while it saves, and everybody wanted again. */
static enum rs_status
leave_after_zero(struct worker *w, enum rs_status status)
{
	struct rs_failure failure;

	if (w->rank == 0 || (status != RS_OK && status != RS_EPARTIAL))
		return status;
	if (status != RS_OK)
		rs_failure_take(&failure);
	const enum rs_status left = member_leave(w->node->member, NULL);
	if (left != RS_OK)
		return left;
	w->has_left = 1;
	return status != RS_OK ? rs_failure_put(&failure) : RS_OK;
}

/* What another round would not better ends the job: nobody waits for who says so. */
static enum rs_status
leave_for_good(struct worker *w, enum rs_status status)
{
	struct rs_failure own, told;

	if (!w->is_refused || status != RS_EPEER)
		return node_leave(w->node, status);
	rs_failure_take(&own);
	told = own;
	told.status = RS_ESPEC;
	(void)rs_failure_put(&told);
	(void)node_leave(w->node, told.status);
	return rs_failure_put(&own);
}

/* The rounds up to the one that ends the run. */
static enum rs_status
run_rounds(struct worker *w)
{
	struct member_view view;
	char reason[256];
	int over = 0;

	for (;;) {
		RS_TRY(node_wait(w->node, &view, &over));
		if (over && w->rank > 0)        /* worker 0 was done, so this one is, too     */
			return RS_OK;
		if (over)
			return rs_fail(RS_EPEER, "the job has ended without this worker");
		train_summary_free(&w->summary);
		memset(&w->summary, 0, sizeof w->summary);
		enum rs_status status = train_round(w, &view);
		close_round(w);
		member_view_free(&view);
		status = leave_after_zero(w, status);
		if (!is_interrupted(w, status))
			return add_former(w, status);
		if (atomic_load(member_stop(w->node->member)) == 0)
			(void)member_leave(w->node->member, rs_failure());
		member_reason(w->node->member, reason, sizeof reason);
		if (w->rank == 0)
			log_warn("%s; training goes on from the last step that is left", reason);
	}
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Whoever wrote the ticket has settled the spec, and left the record to this host. */
static enum rs_status
find_placement(struct node *n, const struct session *s)
{
	struct placement_host host;

	if (!n->has_ticket)
		return RS_OK;
	placement_host_here(&host);
	session_tell_gpus(&s->gpu, s->why_device, &host);
	host.n_gpus = 0;                /* these are this worker's                    */
	host.memory_bytes = 0;
	return job_spec_place(n->spec, &host, &n->placement, &n->kernel);
}

/* Without a ticket nobody else records the run, and whoever starts this process again
 * gives it the same arguments: an unfinished run goes on. */
static enum rs_status
begin_run(struct worker *w)
{
	struct session *const s = w->session;
	struct checkpoint_progress newest;
	uint64_t *list;
	size_t n;

	RS_TRY(checkpoint_list(s->directory, &list, &n));
	w->node->job.version = n > 0 ? list[n - 1] : 0;
	free(list);
	if (n > 0 && w->options.from == NULL && !argument_given(s->a, "--fresh")
	    && (!w->node->asks_to_resume || w->options.resume)
	    && checkpoint_peek(s->directory, w->node->job.version, &newest, NULL) == RS_OK
	    && newest.state == CHECKPOINT_TRAINING) {
		w->options.resume = 1;
		w->before = newest;
	} else {
		RS_TRY(session_check_directory(s));
	}
	RS_TRY(find_placement(w->node, s));
	s->placement.kernel = w->node->kernel;
	RS_TRY(session_record_begin(s, w->node->spec));
	session_record_placement(s, &w->node->placement);
	return RS_OK;
}

/* The rows are the same in all workers, and so is what is to be said of them: worker 0 says
 * it. */
static void
be_silent(struct worker *w)
{
	w->session->progress.form = PROGRESS_NONE;
	w->session->progress.json = 0;
	if (!argument_given(w->node->a, "--verbose"))
		log_set_level(LOG_ERROR);
}

/* What the table of nodes says of worker 0. */
static void
report_row(void *context, const struct train_progress *p)
{
	const struct worker *const w = context;
	char text[320];

	snprintf(text, sizeof text, "epoch = %" PRIu64 "\nstep = %" PRIu64 "\nrows = %" PRIu64
		"\nloss = %.6g\nrows_per_second = %.6g\nrecomputed_steps = %" PRIu64 "\n",
		p->epoch, p->step, p->rows, p->loss_since_last, p->rows_per_s,
		w->live != NULL ? w->live->recomputed : 0);
	member_report(w->node->member, text);
}

static enum rs_status
open_session(struct worker *w)
{
	struct session *const s = w->session;
	struct node *const n = w->node;

	RS_TRY(session_device(n->settings, &s->gpu, &s->why_device));
	session_share_devices(&s->gpu, n->job.local, n->job.n_local, &s->why_device);
	if (s->gpu.gpu != NULL && w->rank > 0)
		log_info("%s on %s", n->name, s->why_device);
	s->placement.mode = NULL;       /* is recorded here, or was by who started us  */
	s->threads = n->has_ticket ? n->settings->train.threads
		: (int64_t)n->placement.n_threads;
	snprintf(w->where, sizeof w->where, "in each of %zu worker%s, with %zu shard%s",
		n->job.n_workers, n->job.n_workers == 1 ? "" : "s",
		n->job.n_ps, n->job.n_ps == 1 ? "" : "s");
	s->why_threads = w->where;
	s->directory = "";
	s->context = w;
	if (w->rank == 0) {
		RS_TRY(session_directory(s, n->settings));
		s->on_row = report_row;
	} else {
		be_silent(w);
	}
	RS_TRY(session_options(s, &w->options));
	if (w->rank > 0)
		return RS_OK;
	if (!progress_has_rows(&s->progress)) {
		w->options.progress_step = REPORT_BATCHES * (double)n->settings->train.batch_size;
		w->options.progress_multiplies = 0;
	}
	if (w->options.resume && n->job.version > 0
	    && checkpoint_peek(w->options.directory, n->job.version, &w->before, NULL) != RS_OK)
		log_debug("no rows of a former run: %s", rs_failure()->text);
	return n->has_ticket && n->job.run != 0 ? session_record_attach(s, n->spec, n->job.run)
		: begin_run(w);
}

/* Ranks of MPI die together, so nothing lives on; a period begins anew.  In sync with
 * compressed gradients neither: what rounding left out is in versions, not in states. */
static enum rs_status
open_live(struct worker *w)
{
	const struct placement_settings *const p = &w->node->settings->placement;
	const size_t depth = p->consistency == CONSISTENCY_SYNC ? LIVE_SYNC
		: p->consistency == CONSISTENCY_ASYNC ? LIVE_ASYNC : (size_t)p->staleness + 2;

	RS_TRY(memory_alloc(w->node->job.n_ps + 1, 1, &w->tables.has_rows));
	if (w->node->mpi != NULL || w->period != NULL || (p->consistency == CONSISTENCY_SYNC
	    && p->compress != COMPRESS_NONE && w->node->job.n_ps > 0))
		return RS_OK;
	return live_open(depth, &w->live);
}

enum rs_status
node_worker(struct node *n)
{
	struct session session;
	struct node_period period = { .trial = NULL };
	struct worker w = {
		.node = n, .session = &session, .rank = n->job.node[n->job.self].index,
	};

	RS_TRY(session_init(&session, n->a));
	enum rs_status status = open_session(&w);
	if (status == RS_OK && argument_given(n->a, "--period")) {
		w.period = &period;
		status = node_period_read(&period, &session);
	}
	if (status == RS_OK)
		status = open_live(&w);
	if (status == RS_OK)
		session_watch(&session);
	if (status == RS_OK)
		status = node_join(n, NULL);
	if (status == RS_OK)
		status = run_rounds(&w);
	if (w.rank == 0 && w.period != NULL && w.summary.version != 0)
		status = node_period_judge(&period, &session, &w.summary, status);
	/* On record first: who has left may be killed. */
	status = session_end(&session, status, &w.summary);
	if (status == RS_EUNMET && w.period != NULL)
		status = RS_OK;
	if (n->member != NULL && !w.has_left)
		status = leave_for_good(&w, status);
	session_free(&session);
	live_close(w.live);
	node_period_free(&period);
	free(w.tables.has_rows);
	return status;
}
