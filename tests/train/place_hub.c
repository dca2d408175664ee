/* Ranks as threads: an exchange by one lock, and one lookup for all. */
#include "place_hub.h"

#include <pthread.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/test.h"

#include "base/memory.h"
#include "train/replicated.h"

enum call { CALL_SUM, CALL_GATHER, CALL_BROADCAST, CALL_TABLES };

struct rank {
	struct exchange base;
	struct place_hub *hub;
	struct train_place place;
	atomic_uint_fast64_t progress;
	/* The call at hand. */
	enum call call;
	const struct exchange_sum *sum;
	void *block;
	const size_t *begin;
	size_t bytes;
	/* To fail on purpose. */
	atomic_size_t n_pulls, n_fetches;
	size_t fail_pull, fail_fetch;
	size_t n_calls, fail_call;
	int    keeps;                  /* it goes on from tables                      */
	int    fail_after;
};

struct place_hub {
	struct rank rank[HUB_RANKS];
	size_t n_ranks;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	atomic_int stop;
	size_t arrived, generation;
	/* Workers that committed. */
	size_t n_committed, commits;
	int boasts;
	struct lookup *tables;
	size_t n_users, n_workers;
};

/* --- meetings ------------------------------------------------------------- */

/* Waits until *counter is not `from` any more; the lock is held. */
static enum rs_status
wait_change(struct place_hub *hub, const size_t *counter, size_t from)
{
	while (*counter == from) {
		struct timespec at;

		if (atomic_load(&hub->stop))
			return rs_fail(RS_EPEER, "the run is over");
		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_nsec += 5000000;
		if (at.tv_nsec >= 1000000000) {
			at.tv_sec++;
			at.tv_nsec -= 1000000000;
		}
		pthread_cond_timedwait(&hub->changed, &hub->lock, &at);
	}
	return RS_OK;
}

static const struct exchange_part *
find_part(const struct place_hub *hub, size_t begin, size_t end)
{
	for (size_t r = 0; r < hub->n_ranks; r++)
		for (size_t i = 0; i < hub->rank[r].sum->n_parts; i++) {
			const struct exchange_part *p = &hub->rank[r].sum->part[i];

			if (p->node.begin == begin && p->node.end == end)
				return p;
		}
	return NULL;
}

static float
sum_float(const struct place_hub *hub, size_t begin, size_t end, size_t i)
{
	const struct exchange_part *p = find_part(hub, begin, end);
	const size_t middle = tree_middle(begin, end);

	return p != NULL ? p->x[i] :
		sum_float(hub, begin, middle, i) + sum_float(hub, middle, end, i);
}

static double
sum_head(const struct place_hub *hub, size_t begin, size_t end, size_t i)
{
	const struct exchange_part *p = find_part(hub, begin, end);
	const size_t middle = tree_middle(begin, end);

	return p != NULL ? p->head[i] :
		sum_head(hub, begin, middle, i) + sum_head(hub, middle, end, i);
}

static void
do_sum(struct place_hub *hub)
{
	const struct exchange_sum *s = hub->rank[0].sum;

	for (size_t i = 0; i < s->n_heads; i++)
		s->head[i] = sum_head(hub, 0, s->n_slots, i);
	for (size_t i = 0; i < s->n_floats; i++)
		s->x[i] = sum_float(hub, 0, s->n_slots, i);
	for (size_t r = 1; r < hub->n_ranks; r++) {
		assert(hub->rank[r].sum->n_floats == s->n_floats);
		if (s->n_heads > 0)
			memcpy(hub->rank[r].sum->head, s->head, s->n_heads * sizeof(double));
		memcpy(hub->rank[r].sum->x, s->x, s->n_floats * sizeof(float));
	}
}

static void
do_gather(struct place_hub *hub)
{
	const size_t *begin = hub->rank[0].begin;

	for (size_t r = 0; r < hub->n_ranks; r++)
		for (size_t q = 0; q < hub->n_ranks; q++)
			if (q != r)
				memcpy((char *)hub->rank[q].block + begin[r],
					(char *)hub->rank[r].block + begin[r],
					begin[r + 1] - begin[r]);
}

static void
do_call(struct place_hub *hub)
{
	const enum call call = hub->rank[0].call;

	for (size_t r = 1; r < hub->n_ranks; r++)
		if (hub->rank[r].call != call || hub->rank[r].bytes != hub->rank[0].bytes) {
			fprintf(stderr, "rank %zu: call %d, %zu bytes; rank 0: %d, %zu\n", r,
				hub->rank[r].call, hub->rank[r].bytes, call, hub->rank[0].bytes);
			abort();
		}
	if (call == CALL_SUM)
		do_sum(hub);
	else if (call == CALL_GATHER)
		do_gather(hub);
	else
		for (size_t r = 1; r < hub->n_ranks; r++)
			memcpy(hub->rank[r].block, hub->rank[0].block, hub->rank[0].bytes);
}

static enum rs_status
meet(struct rank *self)
{
	struct place_hub *hub = self->hub;
	const int fails = ++self->n_calls == self->fail_call;
	enum rs_status status = RS_OK;

	if (fails && !self->fail_after)
		return rs_fail(RS_ERESOURCE, "a rank dies on purpose");
	pthread_mutex_lock(&hub->lock);
	if (++hub->arrived == hub->n_ranks) {
		do_call(hub);
		hub->arrived = 0;
		hub->generation++;
		pthread_cond_broadcast(&hub->changed);
	} else {
		status = wait_change(hub, &hub->generation, hub->generation);
	}
	pthread_mutex_unlock(&hub->lock);
	return fails ? rs_fail(RS_ERESOURCE, "a rank dies on purpose") : status;
}

static enum rs_status
hub_sum(struct exchange *e, const struct exchange_sum *s)
{
	struct rank *self = (struct rank *)e;

	self->call = CALL_SUM;
	self->sum = s;
	self->bytes = s->n_floats;
	return meet(self);
}

static enum rs_status
hub_gather(struct exchange *e, void *block, const size_t *begin)
{
	struct rank *self = (struct rank *)e;

	self->call = CALL_GATHER;
	self->block = block;
	self->begin = begin;
	self->bytes = begin[e->n_ranks];
	return meet(self);
}

static enum rs_status
hub_broadcast(struct exchange *e, void *bytes, size_t n)
{
	struct rank *self = (struct rank *)e;

	self->call = CALL_BROADCAST;
	self->block = bytes;
	self->bytes = n;
	return meet(self);
}

/* It is the hub's. */
static void
hub_leave(struct exchange *e)
{
	(void)e;
}

static const struct exchange_ops exchange_ops = {
	.name = "hub", .sum = hub_sum, .gather = hub_gather, .broadcast = hub_broadcast,
	.close = hub_leave,
};

/* --- shared tables ------------------------------------------------------------ */

struct tables {
	struct lookup base;
	struct rank *rank;
	size_t first_worker;           /* of this rank among all                      */
	struct lookup_use *use;        /* of the last fetch                           */
	size_t n_uses;
};

static struct tables *
tables_of(const struct lookup *l)
{
	return (struct tables *)(uintptr_t)l;
}

static struct lookup *
real_of(const struct lookup *l)
{
	return tables_of(l)->rank->hub->tables;
}

static enum rs_status
tables_fetch(struct lookup *l, const struct lookup_fetch *f)
{
	struct tables *t = tables_of(l);

	if (f->worker != 0)
		return RS_OK;
	if (atomic_fetch_add(&t->rank->n_fetches, 1) + 1 == t->rank->fail_fetch)
		return rs_fail(RS_ERESOURCE, "a fetch fails on purpose");
	if (f->n_uses > 0)
		memcpy(t->use, f->use, f->n_uses * sizeof(*t->use));
	t->n_uses = f->n_uses;
	return RS_OK;
}

static enum rs_status
tables_pull(struct lookup *l, const struct lookup_pull *p)
{
	struct tables *t = tables_of(l);

	if (atomic_fetch_add(&t->rank->n_pulls, 1) + 1 == t->rank->fail_pull)
		return rs_fail(RS_ERESOURCE, "a pull fails on purpose");
	if (p->input >= t->n_uses || t->use[p->input].table != p->table
	    || (p->n > 0 && (p->ids < t->use[p->input].ids
	    || p->ids + p->n > t->use[p->input].ids + t->use[p->input].n)))
		return rs_fail(RS_EBUG, "a pull of input %zu that was not fetched", p->input);
	return real_of(l)->ops->pull(real_of(l), p);
}

static enum rs_status
tables_push(struct lookup *l, const struct lookup_push *p)
{
	return real_of(l)->ops->push(real_of(l), p);
}

/* All ranks commit together, and nobody goes on before. */
static enum rs_status
tables_commit(struct lookup *l, const struct lookup_commit *c)
{
	struct tables *t = tables_of(l);
	struct place_hub *hub = t->rank->hub;
	struct lookup_commit all = *c;
	enum rs_status status;

	all.worker += t->first_worker;
	all.n_workers = hub->n_workers;
	status = real_of(l)->ops->commit(real_of(l), &all);
	pthread_mutex_lock(&hub->lock);
	if (++hub->n_committed == hub->n_workers) {
		hub->n_committed = 0;
		hub->commits++;
		pthread_cond_broadcast(&hub->changed);
	} else if (status == RS_OK) {
		status = wait_change(hub, &hub->commits, hub->commits);
	}
	pthread_mutex_unlock(&hub->lock);
	return status;
}

static enum rs_status
tables_save(struct lookup *l, size_t table, struct file_writer *w)
{
	return real_of(l)->ops->save(real_of(l), table, w);
}

static enum rs_status
tables_load(struct lookup *l, size_t table, const char *const *path, size_t n_paths)
{
	return real_of(l)->ops->load(real_of(l), table, path, n_paths);
}

static void
tables_reset_state(struct lookup *l, size_t table)
{
	real_of(l)->ops->reset_state(real_of(l), table);
}

static int
tables_touched(const struct lookup *l, size_t table, uint64_t id)
{
	return real_of(l)->ops->touched(real_of(l), table, id);
}

static uint64_t
tables_bytes(const struct lookup *l)
{
	return real_of(l)->ops->bytes(real_of(l));
}

static void
tables_close(struct lookup *l)
{
	struct tables *t = tables_of(l);
	struct place_hub *hub = t->rank->hub;

	pthread_mutex_lock(&hub->lock);
	if (--hub->n_users == 0) {
		hub->tables->ops->close(hub->tables);
		hub->tables = NULL;
	}
	pthread_mutex_unlock(&hub->lock);
	free(t->use);
	free(t);
}

static const struct lookup_ops tables_ops = {
	.name = "shared", .fetch = tables_fetch, .pull = tables_pull, .push = tables_push,
	.commit = tables_commit, .save = tables_save, .load = tables_load,
	.reset_state = tables_reset_state, .touched = tables_touched, .bytes = tables_bytes,
	.close = tables_close,
};

static enum rs_status
open_tables(void *context, const struct lookup_local_options *options, struct lookup **out)
{
	struct rank *rank = context;
	struct place_hub *hub = rank->hub;
	struct lookup_local_options all = *options;
	enum rs_status status = RS_OK;
	struct tables *t;

	if (rank->keeps)
		return rs_fail(RS_EUNMET, "the tables are damaged");
	RS_TRY(memory_alloc(1, sizeof *t, &t));
	RS_TRY(memory_alloc(options->n_inputs + 1, sizeof *t->use, &t->use));
	t->base.ops = &tables_ops;
	t->rank = rank;
	pthread_mutex_lock(&hub->lock);
	all.n_threads = 64;
	if (hub->tables == NULL)
		status = lookup_local_open(&all, &hub->tables);
	hub->n_users++;
	t->first_worker = hub->n_workers;
	hub->n_workers += options->n_threads;
	pthread_mutex_unlock(&hub->lock);
	*out = &t->base;
	return status;
}

static enum rs_status
offer_tables(void *context, struct place_offer *out)
{
	const struct rank *rank = context;

	*out = (struct place_offer){ .tables = 1, .lowest = 1, .why = "the tables are lost" };
	if (rank->hub->boasts)
		*out = (struct place_offer){ .tables = 1, .highest = UINT64_MAX };
	return RS_OK;
}

static void
begin_tables(void *context, int keep, uint32_t origin, uint64_t step)
{
	(void)origin;
	(void)step;
	((struct rank *)context)->keeps = keep;
}

static uint64_t
name_tables(void *context)
{
	(void)context;
	return 1;
}

static const struct place_tables shared_tables = {
	.offer = offer_tables, .begin = begin_tables, .name = name_tables,
};

static enum rs_status
open_own(void *context, const struct lookup_local_options *options, struct lookup **out)
{
	return replicated_open(options, &((struct rank *)context)->base, out);
}

/* --- the hub ------------------------------------------------------------------- */

struct place_hub *
place_hub_open(size_t n_ranks, enum hub_tables tables)
{
	enum rs_status (*const open[])(void *, const struct lookup_local_options *,
		struct lookup **) = { NULL, open_tables, open_own };
	struct place_hub *hub = calloc(1, sizeof *hub);

	assert_non_null(hub);
	hub->n_ranks = n_ranks;
	pthread_mutex_init(&hub->lock, NULL);
	pthread_cond_init(&hub->changed, NULL);
	for (size_t r = 0; r < n_ranks; r++) {
		struct rank *self = &hub->rank[r];

		self->hub = hub;
		self->base = (struct exchange){ .ops = &exchange_ops, .rank = r,
			.n_ranks = n_ranks, .stop = &hub->stop, .timeout = 30 };
		self->place = (struct train_place){ .rank = r, .n_ranks = n_ranks,
			.exchange = n_ranks > 1 ? &self->base : NULL,
			.open_lookup = open[tables], .context = self,
			.tables = tables == HUB_SHARED ? &shared_tables : NULL,
			.progress = &self->progress };
	}
	return hub;
}

void
place_hub_close(struct place_hub *hub)
{
	pthread_cond_destroy(&hub->changed);
	pthread_mutex_destroy(&hub->lock);
	free(hub);
}

void
place_hub_cut(struct place_hub *hub, uint64_t bucket_bytes)
{
	for (size_t r = 0; r < hub->n_ranks; r++)
		hub->rank[r].place.bucket_bytes = bucket_bytes;
}

const struct train_place *
place_hub_rank(struct place_hub *hub, size_t rank)
{
	return &hub->rank[rank].place;
}

void
place_hub_stop(struct place_hub *hub)
{
	atomic_store(&hub->stop, 1);
}

void
place_hub_fail_pull(struct place_hub *hub, size_t rank, size_t n)
{
	hub->rank[rank].fail_pull = n;
}

void
place_hub_fail_fetch(struct place_hub *hub, size_t rank, size_t n)
{
	hub->rank[rank].fail_fetch = n;
}

void
place_hub_fail_call(struct place_hub *hub, size_t rank, size_t n, int after)
{
	hub->rank[rank].fail_call = n;
	hub->rank[rank].fail_after = after;
}

size_t
place_hub_calls(const struct place_hub *hub, size_t rank)
{
	return hub->rank[rank].n_calls;
}

void
place_hub_set_round(struct place_hub *hub, uint32_t round)
{
	for (size_t r = 0; r < hub->n_ranks; r++)
		hub->rank[r].place.round = round;
}

void
place_hub_boast(struct place_hub *hub)
{
	hub->boasts = 1;
}
