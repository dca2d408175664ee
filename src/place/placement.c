/* Which parts a run has and where they go: the rules, in the order they are asked. */
#include "place/placement.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed/drawn.h"
#include "embed/row_optimizer.h"
#include "embed/spill.h"
#include "embed/table.h"
#include "place/placement_private.h"
#include "train/buckets.h"

#define HYBRID_SHARE 0.70

static const char *const mode_name[] = {
	[PLACE_AUTO] = "auto", [PLACE_LOCAL] = "local", [PLACE_ALLREDUCE] = "allreduce",
	[PLACE_PS] = "ps", [PLACE_HYBRID] = "hybrid",
};

static const char *const dense_name[] = {
	[PLANE_AUTO] = "auto", [PLANE_SHM] = "shm", [PLANE_MPI] = "mpi",
	[PLANE_PUSHPULL] = "pushpull", [PLANE_NCCL] = "nccl",
};

const char *
placement_mode_name(enum placement_mode mode)
{
	return mode_name[mode];
}

const char *
placement_dense_name(enum dense_plane dense)
{
	return dense_name[dense];
}

/* --- what the model weighs -------------------------------------------------- */

/* A table that is larger than memory. */
static void
weigh_spilled(const struct lookup_table *from, struct placement_table *to)
{
	const uint64_t bits = (from->rows + TABLE_TOUCHED_BITS - 1) / TABLE_TOUCHED_BITS
		* sizeof(uint64_t);
	const uint64_t row_bytes = (to->bytes - bits) / from->rows;

	if (from->resident == 0)
		return;
	to->memory = bits + spill_memory(from->rows, row_bytes, from->resident);
	to->disk = from->rows * row_bytes;
}

static enum rs_status
list_tables(struct placement *p, const struct model *shape)
{
	p->n_tables = shape->n_tables;
	RS_TRY(memory_alloc(p->n_tables + 1, sizeof(*p->table), &p->table));
	for (size_t i = 0; i < p->n_tables; i++) {
		const struct lookup_table *from = &shape->table[i];
		struct placement_table *to = &p->table[i];

		memcpy(to->name, from->name, sizeof(to->name));
		to->rows = from->expected;
		to->dim = from->dim;
		to->n_slot = row_optimizer_slots(
			row_optimizer_get(from->optimizer.kind), from->dim);
		to->bytes = parts_bytes(from, 0, from->rows);
		to->n_parts = 1;
		weigh_spilled(from, to);
		to->occurrences = to->keys = NAN;
		p->embedding_params += from->expected * from->dim;
		p->embedding_bytes += to->bytes;
		p->table_bytes += to->memory > 0 ? to->memory : to->bytes;
		if (to->memory == 0 && from->kind == TABLE_HASHED)
			p->table_bytes += drawn_bytes(from->rows, from->dim);
		p->spill_bytes += to->disk;
	}
	p->spill = spec_settings(shape->spec)->embedding.spill;
	return RS_OK;
}

/* Adam and its like keep two numbers a weight; the trainer keeps both for all. */
static void
weigh(struct placement *p, const struct model *shape)
{
	p->dense_params = shape->P;
	p->dense_bytes = 3 * shape->P * sizeof(float);
	p->embedding_share = (double)p->embedding_bytes /
		(double)(p->embedding_bytes + p->dense_bytes + 1);
}

static uint64_t
largest_table(const struct placement *p)
{
	uint64_t most = 0;

	for (size_t i = 0; i < p->n_tables; i++)
		if (p->table[i].memory == 0)
			most = p->table[i].bytes > most ? p->table[i].bytes : most;
	return most;
}

/* --- the mode --------------------------------------------------------------- */

static enum rs_status
contradiction(const char *mode, const char *key, size_t value, const char *hint)
{
	(void)rs_fail(RS_ESPEC, "placement.mode = %s does not go with cluster.%s = %zu", mode, key,
		value);
	return rs_hint("%s", hint);
}

static enum rs_status
choose_auto(struct placement *p)
{
	const uint64_t a_worker = p->memory_bytes / (p->n_workers > 0 ? p->n_workers : 1);

	if (p->n_workers <= 1 && p->n_ps == 0) {
		p->mode = PLACE_LOCAL;
		snprintf(p->why_mode, sizeof(p->why_mode), "one process is asked for");
	} else if (p->n_ps > 0) {
		p->mode = PLACE_HYBRID;
		snprintf(p->why_mode, sizeof(p->why_mode),
			"%zu shards are asked for; embeddings are %.0f %% of the bytes", p->n_ps,
			100 * p->embedding_share);
	} else if (p->memory_bytes > 0 && largest_table(p) > a_worker) {
		p->mode = PLACE_HYBRID;
		snprintf(p->why_mode, sizeof(p->why_mode),
			"a table is larger than the memory of a worker");
	} else if (p->embedding_share >= HYBRID_SHARE) {
		p->mode = PLACE_HYBRID;
		snprintf(p->why_mode, sizeof(p->why_mode),
			"embeddings are %.0f %% of the bytes, at least %.0f %%",
			100 * p->embedding_share, 100 * HYBRID_SHARE);
	} else {
		p->mode = PLACE_ALLREDUCE;
		snprintf(p->why_mode, sizeof(p->why_mode),
			"embeddings are %.0f %% of the bytes, less than %.0f %%",
			100 * p->embedding_share, 100 * HYBRID_SHARE);
	}
	return RS_OK;
}

/* A copy of a journal is with another shard. */
static enum rs_status
check_replicas(const struct placement *p, const struct settings *s)
{
	if (s->cluster.replicas < 2)
		return RS_OK;
	if (p->n_ps < 2) {
		(void)rs_fail(RS_ESPEC, "cluster.replicas = 2 with %zu parameter server%s",
			p->n_ps, p->n_ps == 1 ? "" : "s");
		return rs_hint("a copy is kept by another shard; set cluster.ps to 2 or more");
	}
	if (s->cluster.journal != JOURNAL_USE_NO)
		return RS_OK;
	(void)rs_fail(RS_ESPEC, "cluster.replicas = 2 with cluster.journal = no");
	return rs_hint("the copy is one of the journal");
}

static enum rs_status
choose_mode(struct placement *p, const struct settings *s, const struct placement_host *host)
{
	p->n_workers = (size_t)s->cluster.workers;
	p->n_ps = (size_t)s->cluster.ps;
	p->mode = s->placement.mode;
	snprintf(p->why_mode, sizeof(p->why_mode), "placement.mode says so");
	if (p->mode == PLACE_AUTO)
		RS_TRY(choose_auto(p));
	if (p->mode == PLACE_LOCAL && p->n_workers > 1)
		return contradiction("local", "workers", p->n_workers, "local is one process");
	if (p->mode == PLACE_LOCAL && p->n_ps > 0)
		return contradiction("local", "ps", p->n_ps, "local has no shards");
	if (p->mode == PLACE_ALLREDUCE && p->n_ps > 0)
		return contradiction("allreduce", "ps", p->n_ps,
			"allreduce has all tables in every worker; hybrid has shards");
	if (p->n_workers == 0)
		p->n_workers = 1;
	/* One a host, beside its workers. */
	if ((p->mode == PLACE_HYBRID || p->mode == PLACE_PS) && p->n_ps == 0)
		p->n_ps = host->n_hosts;
	if (p->mode != PLACE_LOCAL && !host->has_messages) {
		(void)rs_fail(RS_EUSAGE, "this build has no ZeroMQ, so it trains in one process");
		return rs_hint("build it with libzmq, or set placement.mode = local");
	}
	return check_replicas(p, s);
}

/* --- the dense plane -------------------------------------------------------- */

struct plane_rule {
	enum dense_plane plane;
	/* Why it cannot be; NULL: it can. */
	const char *(*no)(const struct placement *p, const struct settings *s,
		const struct placement_host *host);
};

/* Whatever GPUs there are; the same on all hosts. */
static const char *
why_never(const struct placement *p, const struct settings *s)
{
	if (s->placement.device == DEVICE_CPU)
		return "placement.device = cpu";
	if (p->n_hosts > 1 && s->cluster.trusted_interface[0] == '\0')
		return "NCCL does not encrypt, and cluster.trusted_interface names no network "
			"between the hosts";
	return NULL;
}

static const char *
no_nccl(const struct placement *p, const struct settings *s, const struct placement_host *host)
{
	if (why_never(p, s) != NULL)
		return why_never(p, s);
	if (host->no_nccl == NULL && host->n_gpus > 0
	    && (p->n_workers + p->n_hosts - 1) / p->n_hosts > host->n_gpus)
		return "a host has fewer GPUs than workers";
	return host->no_nccl;
}

static const char *
no_mpi(const struct placement *p, const struct settings *s, const struct placement_host *host)
{
	(void)p;
	(void)s;
	return host->no_mpi;
}

static const char *
no_shm(const struct placement *p, const struct settings *s, const struct placement_host *host)
{
	(void)p;
	(void)s;
	return host->n_hosts > 1 ? "workers are on several hosts" : host->no_shm;
}

static const char *
no_pushpull(const struct placement *p, const struct settings *s, const struct placement_host *host)
{
	(void)s;
	(void)host;
	return p->n_ps == 0 ? "there is no shard to push to" : NULL;
}

/* Best first. */
static const struct plane_rule plane_rule[] = {
	{ PLANE_NCCL, no_nccl }, { PLANE_MPI, no_mpi }, { PLANE_SHM, no_shm },
	{ PLANE_PUSHPULL, no_pushpull },
};
enum { N_PLANES = sizeof(plane_rule) / sizeof(plane_rule[0]), FIRST_CARRIER = 1 };

/* A GPU or a library that is not there is another failure than a spec that contradicts itself. */
static enum rs_status
refuse_nccl(const struct placement *p, const struct settings *s, const struct placement_host *host)
{
	const int is_of_machine = why_never(p, s) == NULL && host->no_nccl != NULL;

	rs_fail(is_of_machine ? RS_EPEER : RS_ESPEC, "placement.dense = nccl cannot be: %s",
		no_nccl(p, s, host));
	return rs_hint("set placement.dense = auto");
}

static enum rs_status
take_plane(struct placement *p, enum dense_plane plane, const char *key, const char *value,
	const struct settings *s, const struct placement_host *host)
{
	for (size_t i = 0; i < N_PLANES; i++) {
		const char *no;

		if (plane_rule[i].plane != plane)
			continue;
		no = plane_rule[i].no(p, s, host);
		if (no != NULL && plane == PLANE_NCCL)
			return refuse_nccl(p, s, host);
		if (no != NULL)
			return rs_fail(RS_ESPEC, "placement.%s = %s cannot be: %s", key, value, no);
	}
	p->dense = p->carrier = plane;
	snprintf(p->why_dense, sizeof(p->why_dense), "placement.%s = %s says so", key, value);
	return RS_OK;
}

/* The first rule from `from` on that can be; the reasons of those before it come into text. */
static enum rs_status
find_plane(const struct placement *p, const struct settings *s, const struct placement_host *host,
	size_t *from, char text[PLACEMENT_WHY])
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = *from; i < N_PLANES; i++) {
		const char *no = plane_rule[i].no(p, s, host);

		if (no == NULL) {
			*from = i;
			return RS_OK;
		}
		used += (size_t)snprintf(text + used, PLACEMENT_WHY - used, "%snot %s: %s",
			used > 0 ? "; " : "", dense_name[plane_rule[i].plane], no);
		used = used < PLACEMENT_WHY ? used : PLACEMENT_WHY - 1;
	}
	return rs_fail(RS_ESPEC, "dense gradients cannot be summed among the workers: %s", text);
}

/* What NCCL cannot carry goes another way, which takes its place, too. */
static enum rs_status
add_carrier(struct placement *p, const struct settings *s, const struct placement_host *host)
{
	char text[PLACEMENT_WHY];
	size_t i = FIRST_CARRIER;

	if (p->dense != PLANE_NCCL)
		return RS_OK;
	RS_TRY(find_plane(p, s, host, &i, text));
	p->carrier = plane_rule[i].plane;
	const size_t n = strlen(p->why_dense);
	snprintf(p->why_dense + n, PLACEMENT_WHY - n, "; all but gradients over %s%s%.100s%s",
		dense_name[p->carrier], text[0] != '\0' ? " (" : "", text,
		text[0] != '\0' ? ")" : "");
	return RS_OK;
}

static enum rs_status
choose_plane(struct placement *p, const struct settings *s, const struct placement_host *host)
{
	size_t i = 0;

	RS_TRY(find_plane(p, s, host, &i, p->why_dense));
	p->dense = p->carrier = plane_rule[i].plane;
	p->asks_for_nccl = why_never(p, s) == NULL;
	if (p->dense == PLANE_NCCL)
		snprintf(p->why_dense, PLACEMENT_WHY, host->n_gpus > 0 ? "every worker has a GPU"
			: "if every worker has a GPU");
	return add_carrier(p, s, host);
}

static enum rs_status
choose_dense(struct placement *p, const struct settings *s, const struct placement_host *host)
{
	const enum dense_plane asked = s->placement.dense;

	if (p->n_workers == 1 && asked == PLANE_AUTO) {
		p->dense = p->carrier = PLANE_SHM;
		snprintf(p->why_dense, sizeof(p->why_dense), "one worker, whose threads share it");
		return RS_OK;
	}
	if (asked != PLANE_AUTO) {
		RS_TRY(take_plane(p, asked, "dense", dense_name[asked], s, host));
		return add_carrier(p, s, host);
	}
	if (p->mode == PLACE_PS)
		return take_plane(p, PLANE_PUSHPULL, "mode", "ps", s, host);
	return choose_plane(p, s, host);
}

/* As far as can be told. */
static int
gpus_sum(const struct placement *p, const struct settings *s, const struct placement_host *host)
{
	return p->dense == PLANE_NCCL && (host->n_gpus > 0 || s->placement.dense == PLANE_NCCL);
}

/* All at once where nothing can be gained: on one host summing takes cores, not time on a
 * wire, unless GPUs do it. */
static enum rs_status
choose_buckets(struct placement *p, const struct model *shape, const struct placement_host *host)
{
	const uint64_t asked = (uint64_t)spec_settings(shape->spec)->cluster.bucket_bytes;
	const char *why = "the wire is busy while the backward pass goes on";
	struct buckets b;

	p->gpus_sum = p->n_workers > 1 && gpus_sum(p, spec_settings(shape->spec), host);
	p->bucket_bytes = asked > 0 ? asked : BUCKETS_BYTES;
	if (asked > 0) {
		why = "cluster.bucket_bytes says so";
	} else if (p->gpus_sum) {
		why = "GPUs sum while the backward pass goes on";
	} else if (p->n_workers == 1 || p->n_hosts == 1) {
		p->bucket_bytes = p->dense_params * sizeof(float) + 1;
		why = p->n_workers == 1 ? "one worker has nothing to exchange"
			: "on one host the sum would take the cores of the backward pass";
	}
	snprintf(p->why_buckets, sizeof(p->why_buckets), "%s", why);
	RS_TRY(buckets_make(shape, p->bucket_bytes, &b));
	p->n_buckets = p->n_workers > 1 ? b.n : 1;
	buckets_free(&b);
	return RS_OK;
}

/* --- does it fit ------------------------------------------------------------ */

static enum rs_status
check_workers(const struct placement *p)
{
	if (p->n_workers <= p->n_slots)
		return RS_OK;
	(void)rs_fail(RS_ESPEC, "%zu workers, but a batch has %zu slot%s: some would have nothing",
		p->n_workers, p->n_slots, p->n_slots == 1 ? "" : "s");
	return rs_hint("set train.slots to the number of workers or more, or use at most %zu",
		p->n_slots);
}

/* Shards of parameter servers keep every row in memory. */
static enum rs_status
check_spilled(const struct placement *p)
{
	if (p->spill_bytes == 0 || (p->mode != PLACE_PS && p->mode != PLACE_HYBRID))
		return RS_OK;
	(void)rs_fail(RS_ESPEC, "embedding.resident is for tables of the workers, not for those of "
		"parameter servers");
	return rs_hint("set placement.mode = local or allreduce, or more shards and no resident");
}

static enum rs_status
check_memory(const struct placement *p)
{
	const uint64_t here = (p->n_workers * p->worker_bytes + p->n_ps * p->shard_bytes) /
		p->n_hosts;
	const double gib = 1 << 30;

	if (p->memory_bytes == 0 || here <= p->memory_bytes)
		return RS_OK;
	(void)rs_fail(RS_ERESOURCE,
		"%zu workers of %.1f GiB and %zu shards of %.1f GiB do not fit the %.1f GiB here",
		p->n_workers, (double)p->worker_bytes / gib, p->n_ps,
		(double)p->shard_bytes / gib, (double)p->memory_bytes / gib);
	if (p->mode == PLACE_ALLREDUCE)
		return rs_hint("placement.mode = hybrid has the tables once, not in every worker");
	if (p->spill_bytes > 0)
		return rs_hint("embedding.resident = with fewer bytes leaves more rows on disk");
	return rs_hint("fewer buckets, a smaller dim, an optimizer with less state, more hosts, or "
		"rows on disk (embedding.resident)");
}

/* --- all together ----------------------------------------------------------- */

static enum rs_status
cut_tables(struct placement *p, const struct model *shape)
{
	uint64_t largest = 0, sum = 0;

	p->balance = 1;
	if (p->n_ps == 0)
		return RS_OK;
	RS_TRY(parts_make(shape->table, p->n_tables, p->n_ps, p->min_shard_bytes, &p->parts));
	RS_TRY(memory_alloc(p->n_ps, sizeof(*p->shard), &p->shard));
	for (size_t i = 0; i < p->n_ps; i++)
		p->shard[i].keys = p->shard[i].pull_bytes = p->shard[i].push_bytes = NAN;
	for (size_t i = 0; i < p->parts.n; i++) {
		const struct part *part = &p->parts.part[i];

		p->shard[part->shard].rows +=
			parts_rows(&shape->table[part->table], part->begin, part->end);
		p->shard[part->shard].bytes +=
			parts_bytes(&shape->table[part->table], part->begin, part->end);
	}
	for (size_t i = 0; i < p->n_tables; i++)
		p->table[i].n_parts = p->parts.first[i + 1] - p->parts.first[i];
	for (size_t i = 0; i < p->n_ps; i++) {
		largest = p->shard[i].bytes > largest ? p->shard[i].bytes : largest;
		sum += p->shard[i].bytes;
	}
	if (sum > 0)
		p->balance = (double)largest * (double)p->n_ps / (double)sum;
	return RS_OK;
}

static void
choose_compression(struct placement *p, const struct settings *s)
{
	p->consistency = s->placement.consistency;
	p->staleness = (uint64_t)s->placement.staleness;
	p->min_shard_bytes = (uint64_t)s->placement.min_shard_bytes;
	p->compress = s->placement.compress;
	if (p->compress == COMPRESS_AUTO)          /* the link between hosts is the narrow one */
		p->compress = p->consistency != CONSISTENCY_SYNC && p->n_hosts > 1 ?
			COMPRESS_INT8 : COMPRESS_NONE;
}

/* The threads of all workers are the cores of a host, unless the spec says a number. */
static void
choose_threads(struct placement *p, const struct settings *s, const struct placement_host *host)
{
	const size_t a_host = (p->n_workers + p->n_hosts - 1) / p->n_hosts;
	const size_t slots = p->n_slots / p->n_workers;

	p->n_threads = s->train.threads > 0 ? (size_t)s->train.threads : host->n_cores / a_host;
	if (p->n_threads > slots)
		p->n_threads = slots;
	if (p->n_threads == 0)
		p->n_threads = 1;
}

static enum rs_status
fill(struct placement *p, const struct model *shape, const struct placement_host *host)
{
	const struct settings *s = spec_settings(shape->spec);

	p->n_hosts = host->n_hosts > 0 ? host->n_hosts : 1;
	p->memory_bytes = host->memory_bytes;
	p->n_slots = model_slots(s);
	p->rows_a_step = (double)s->train.batch_size;
	p->steps_a_second = p->dense_step_bytes = NAN;
	RS_TRY(list_tables(p, shape));
	weigh(p, shape);
	RS_TRY(choose_mode(p, s, host));
	RS_TRY(check_workers(p));
	RS_TRY(check_spilled(p));
	RS_TRY(dealer_choose(s, p->n_workers, p->n_hosts, &p->policy));
	RS_TRY(choose_dense(p, s, host));
	RS_TRY(choose_buckets(p, shape, host));
	choose_compression(p, s);
	choose_threads(p, s, host);
	RS_TRY(cut_tables(p, shape));
	RS_TRY(placement_weigh_processes(p, shape, NULL));
	return check_memory(p);
}

enum rs_status
placement_make(const struct model *shape, const struct placement_host *host, struct placement *out)
{
	enum rs_status status;

	memset(out, 0, sizeof(*out));
	status = fill(out, shape, host);
	if (status != RS_OK)
		placement_free(out);
	return status;
}

void
placement_free(struct placement *p)
{
	parts_free(&p->parts);
	free(p->table);
	free(p->shard);
	memset(p, 0, sizeof(*p));
}
