/* Shards of bench: a thread each, and the client of the one worker. */
#include "cmd/bench_shards.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/memory.h"
#include "base/thread.h"
#include "cmd/command.h"
#include "comm/client.h"
#include "comm/wire.h"
#include "kernel/kernel.h"
#include "place/private_directory.h"
#include "remote/lookup.h"
#include "remote/shard.h"

#define EPOCH  1
#define WORKER 1000                /* its number among the nodes, beyond those of shards */

struct bench_shard {
	char   name[32];
	struct wire *wire, *poke;      /* poke wakes it up at the end                 */
	struct shard_options options;
	pthread_t thread;
	int    is_started;
};

struct bench_shards {
	uint64_t job;
	struct private_directory directory;
	struct wire_context *context;
	struct bench_shard *shard;     /* [n]                                         */
	size_t n;
	atomic_int stop;
	struct client *client;
	const struct settings *settings;
	struct train_place place;
};

/* What fails here the worker finds out by its requests. */
static void *
serve(void *argument)
{
	struct bench_shard *const own = argument;
	struct shard *s;

	if (shard_open(&own->options, &s) != RS_OK)
		return NULL;
	(void)shard_serve(s, &(struct shard_round){ .epoch = EPOCH });
	shard_close(s);
	return NULL;
}

static enum rs_status
open_shard(struct bench_shards *b, size_t i)
{
	struct bench_shard *const s = &b->shard[i];
	char endpoint[sizeof b->directory.path + 32];

	snprintf(s->name, sizeof s->name, "ps %zu", i);
	snprintf(endpoint, sizeof endpoint, "ipc://%s/ps%zu", b->directory.path, i);
	RS_TRY(wire_bind(b->context, endpoint, &s->wire));
	RS_TRY(wire_connect(b->context, endpoint, NULL, &s->poke));
	s->options = (struct shard_options){ .wire = s->wire, .index = i,
		.n_threads = (size_t)b->settings->cluster.ps_threads, .job = b->job,
		.stop = &b->stop };
	RS_TRY(kernel_select("auto", &s->options.kernel));
	RS_TRY(thread_start(&s->thread, "shard", serve, s));
	s->is_started = 1;
	return RS_OK;
}

static enum rs_status
open_client(struct bench_shards *b)
{
	struct client_server *server;

	RS_TRY(memory_alloc(b->n, sizeof *server, &server));
	for (size_t i = 0; i < b->n; i++)
		server[i] = (struct client_server){ .endpoint = wire_endpoint(b->shard[i].wire),
			.name = b->shard[i].name };
	const enum rs_status status = client_open(&(struct client_options){
		.context = b->context, .server = server, .n_servers = b->n, .job = b->job,
		.epoch = EPOCH, .source = WORKER,
		.request_timeout = b->settings->cluster.request_timeout }, &b->client);

	free(server);
	return status;
}

static enum rs_status
open_lookup(void *context, const struct lookup_local_options *base, struct lookup **out)
{
	const struct bench_shards *const b = context;
	const struct placement_settings *const p = &b->settings->placement;

	return remote_lookup_open(&(struct remote_lookup_options){
		.base = *base, .client = b->client, .n_ranks = 1, .consistency = p->consistency,
		.staleness = (uint64_t)p->staleness, .compress = p->compress,
		.min_shard_bytes = (uint64_t)p->min_shard_bytes, .first_step = 1 }, out);
}

static enum rs_status
open_all(struct bench_shards *b)
{
	if (getrandom(&b->job, sizeof b->job, 0) != (ssize_t)sizeof b->job)
		return rs_fail(RS_ERESOURCE, "no random number for the job of the shards");
	RS_TRY(wire_context_open(&(struct wire_options){ .self = NULL }, &b->context));
	RS_TRY(private_directory_open(
		command_variable("XDG_RUNTIME_DIR"), b->job, &b->directory));
	RS_TRY(memory_alloc(b->n, sizeof *b->shard, &b->shard));
	for (size_t i = 0; i < b->n; i++)
		RS_TRY(open_shard(b, i));
	return open_client(b);
}

enum rs_status
bench_shards_open(const struct settings *s, struct bench_shards **out)
{
	struct bench_shards *b;

	*out = NULL;
	RS_TRY(memory_alloc(1, sizeof *b, &b));
	b->settings = s;
	b->n = s->cluster.ps > 0 ? (size_t)s->cluster.ps : 1;
	b->place = (struct train_place){ .n_ranks = 1, .round = EPOCH,
		.open_lookup = open_lookup, .context = b };
	b->directory.lock = -1;
	const enum rs_status status = open_all(b);

	if (status != RS_OK) {
		bench_shards_close(b);
		return status;
	}
	*out = b;
	return RS_OK;
}

const struct train_place *
bench_shards_place(const struct bench_shards *b)
{
	return &b->place;
}

static void
close_shard(struct bench_shards *b, struct bench_shard *s)
{
	const struct frame wake = { .type = FRAME_BYE, .job = b->job, .epoch = EPOCH };

	if (s->is_started) {
		(void)wire_send(s->poke, NULL, &wake, NULL, 0);
		thread_join(s->thread);
	}
	wire_close(s->poke);
	wire_close(s->wire);
}

void
bench_shards_close(struct bench_shards *b)
{
	if (b == NULL)
		return;
	client_close(b->client);
	atomic_store(&b->stop, 1);
	for (size_t i = 0; b->shard != NULL && i < b->n; i++)
		close_shard(b, &b->shard[i]);
	free(b->shard);
	wire_context_close(b->context);
	if (b->directory.lock >= 0)
		private_directory_close(&b->directory);
	free(b);
}
