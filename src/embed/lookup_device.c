/* Tables on GPUs and at home: who is ahead, and a step by all threads. */
#include "embed/lookup_device.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cores.h"
#include "base/memory.h"
#include "base/thread.h"
#include "embed/device_rows.h"
#include "embed/device_trade.h"
#include "embed/local.h"
#include "embed/lookup_over.h"
#include "embed/pull.h"
#include "embed/pushes.h"
#include "embed/row_optimizer.h"

#define DRAW_ROWS 4096         /* looked at as one piece of work                  */

/* Where rows are as of now. */
enum { AT_HOME, AT_BOTH, THERE };

struct device {
	struct lookup_over over;           /* what is here, whose tables are home      */
	struct device_rows *rows[GPU_DEVICES_MAX];     /* [n_gpus] parts                */
	struct device_trade *trade;        /* NULL: there is one                       */
	struct gpu_mesh *mesh;
	size_t n_gpus, n_tables, n_threads;
	struct cores cores;                /* of who opened it                         */
	struct pushes pushes;
	struct pushes_order *order;        /* [n_threads]                              */
	pthread_mutex_t lock;
	atomic_int place;                  /* changed with the lock, or in commit      */
	struct rs_failure failure;         /* of a step: rows there are no state to go on from */
	int    has_begun;                  /* the step of this commit                  */
	atomic_uint_fast64_t next_piece;
	atomic_size_t next_table, n_left;  /* n_left: threads that are done with it    */
	/* Of a fetch. */
	atomic_size_t next_use;
	atomic_int is_bad;
	size_t n_met, n_meetings;          /* with the lock                            */
	pthread_cond_t met;
};

static struct device *
device_of(struct lookup *l)
{
	return (struct device *)l;
}

/* --- here and there ---------------------------------------------------------------------- */

/* Takes pieces of rows of all tables, none of which may wait there until it is first read. */
static void *
draw_run(void *argument)
{
	struct device *d = argument;
	uint64_t piece = atomic_fetch_add(&d->next_piece, 1), first = 0;

	for (size_t i = 0; i < d->n_tables; i++) {
		const struct table *t = local_table(d->over.under, i);
		const uint64_t pieces = (t->n_rows + DRAW_ROWS - 1) / DRAW_ROWS;

		for (; piece < first + pieces; piece = atomic_fetch_add(&d->next_piece, 1)) {
			const uint64_t begin = (piece - first) * DRAW_ROWS;

			for (uint64_t k = begin; k < begin + DRAW_ROWS && k < t->n_rows; k++)
				(void)table_row(t, k);
		}
		first += pieces;
	}
	return NULL;
}

/* Who pulls first may keep to a core of its own: those that help it then do not. */
static enum rs_status
draw_all(struct device *d)
{
	pthread_t *thread;
	enum rs_status status = RS_OK;
	size_t n = 1;

	RS_TRY(memory_alloc(d->n_threads, sizeof(*thread), &thread));
	atomic_store(&d->next_piece, 0);
	for (; n < d->n_threads && status == RS_OK; n++)
		status = thread_start(&thread[n], "draw", draw_run, d);
	if (status != RS_OK)
		n--;
	for (size_t i = 1; i < n && status == RS_OK && d->cores.n > 0; i++)
		status = cores_spread(thread[i], &d->cores);
	draw_run(d);
	for (size_t i = 1; i < n; i++)
		thread_join(thread[i]);
	free(thread);
	return status;
}

/* All parts, one way or the other. */
static enum rs_status
copy_all(struct device *d, enum rs_status (*copy)(struct device_rows *, const struct lookup *))
{
	for (size_t i = 0; i < d->n_gpus; i++)
		RS_TRY(copy(d->rows[i], d->over.under));
	return RS_OK;
}

static enum rs_status
go_there(struct device *d)
{
	enum rs_status status = RS_OK;

	if (atomic_load_explicit(&d->place, memory_order_acquire) != AT_HOME)
		return RS_OK;
	pthread_mutex_lock(&d->lock);
	if (atomic_load(&d->place) == AT_HOME) {
		status = draw_all(d);
		if (status == RS_OK)
			status = copy_all(d, device_rows_upload);
		if (status == RS_OK)
			atomic_store_explicit(&d->place, AT_BOTH, memory_order_release);
	}
	pthread_mutex_unlock(&d->lock);
	return status;
}

static enum rs_status
come_home(struct device *d)
{
	enum rs_status status = RS_OK;

	pthread_mutex_lock(&d->lock);
	if (d->failure.status != RS_OK)
		status = rs_failure_put(&d->failure);
	else if (atomic_load(&d->place) == THERE)
		status = copy_all(d, device_rows_download);
	if (status == RS_OK && atomic_load(&d->place) == THERE)
		atomic_store(&d->place, AT_BOTH);
	pthread_mutex_unlock(&d->lock);
	return status;
}

/* For what changes rows at home. */
static enum rs_status
stay_home(struct device *d)
{
	RS_TRY(come_home(d));
	atomic_store(&d->place, AT_HOME);
	return RS_OK;
}

/* --- a fetch ----------------------------------------------------------------------------- */

/* Nobody goes on before all have come. */
static void
meet(struct device *d, size_t n_workers)
{
	pthread_mutex_lock(&d->lock);
	const size_t meeting = d->n_meetings;
	if (++d->n_met == n_workers) {
		d->n_met = 0;
		d->n_meetings++;
		pthread_cond_broadcast(&d->met);
	}
	while (d->n_meetings == meeting)
		pthread_cond_wait(&d->met, &d->lock);
	pthread_mutex_unlock(&d->lock);
}

static enum rs_status
count_uses(struct device *d, const struct lookup_fetch *f)
{
	size_t use;

	RS_TRY(go_there(d));
	while ((use = atomic_fetch_add(&d->next_use, 1)) < f->n_uses)
		RS_TRY(device_trade_count(d->trade, f, d->over.under, use));
	return RS_OK;
}

static void
fill_uses(struct device *d, const struct lookup_fetch *f)
{
	size_t use;

	while ((use = atomic_fetch_add(&d->next_use, 1)) < f->n_uses)
		device_trade_fill(d->trade, f, use);
}

/* Worker 0 does what is not shared, unless something failed, which whoever it was tells. */
static enum rs_status
spread_fetch(struct lookup *base, const struct lookup_fetch *f)
{
	struct device *d = device_of(base);

	if (f->n_uses == 0)
		return RS_OK;
	enum rs_status status = count_uses(d, f);
	if (status != RS_OK)
		atomic_store(&d->is_bad, 1);
	meet(d, f->n_workers);
	if (f->worker == 0 && !atomic_load(&d->is_bad)) {
		status = device_trade_place(d->trade, f);
		atomic_store(&d->is_bad, status != RS_OK);
		atomic_store(&d->next_use, 0);
	}
	meet(d, f->n_workers);
	const int is_bad = atomic_load(&d->is_bad);
	if (!is_bad)
		fill_uses(d, f);
	meet(d, f->n_workers);
	if (f->worker != 0)
		return status;
	atomic_store(&d->next_use, 0);
	atomic_store(&d->is_bad, 0);
	return is_bad ? status : device_trade_bring(d->trade);
}

static enum rs_status
spread_pull(struct lookup *base, const struct lookup_pull *p)
{
	return device_trade_pull(device_of(base)->trade, p);
}

static enum rs_status
spread_push(struct lookup *base, const struct lookup_push *p)
{
	struct device *d = device_of(base);

	pushes_put(&d->pushes, p);
	return device_trade_push(d->trade, p);
}

/* --- a step ------------------------------------------------------------------------------ */

static enum rs_status
device_pull(struct lookup *base, const struct lookup_pull *p)
{
	struct device *d = device_of(base);
	const struct table *t = local_table(d->over.under, p->table);
	const struct device_rows_table there = device_rows_table(d->rows[0], p->table);

	RS_TRY(go_there(d));
	for (size_t j = 0; j < p->n; j++) {
		if (p->ids[j] >= t->n_rows)
			return pull_unknown_id(t, p->ids[j]);
		p->row[j] = there.rows + (size_t)p->ids[j] * there.stride;
	}
	return RS_OK;
}

static enum rs_status
device_push(struct lookup *base, const struct lookup_push *p)
{
	pushes_put(&device_of(base)->pushes, p);
	return RS_OK;
}

/* The first thread that comes makes room; a failure is one of all. */
static enum rs_status
begin_step(struct device *d, const struct pushes_order *o)
{
	enum rs_status status;

	pthread_mutex_lock(&d->lock);
	if (!d->has_begun && d->failure.status == RS_OK
	    && d->trade == NULL && device_rows_begin(d->rows[0], o->n) != RS_OK)
		rs_failure_take(&d->failure);
	d->has_begun = 1;
	status = d->failure.status != RS_OK ? rs_failure_put(&d->failure) : RS_OK;
	pthread_mutex_unlock(&d->lock);
	return status;
}

static void
stage_table(struct device *d, const struct pushes_order *o, size_t table)
{
	struct table *t = local_table(d->over.under, table);

	if (d->trade == NULL)
		device_rows_put(d->rows[0], table, o->push + o->begin[table],
			o->begin[table + 1] - o->begin[table]);
	for (size_t i = o->begin[table]; i < o->begin[table + 1]; i++)
		for (size_t j = 0; j < o->push[i]->n; j++)
			table_touch(t, o->push[i]->ids[j]);
}

static enum rs_status
stage_step(struct device *d, size_t worker)
{
	struct pushes_order *o = &d->order[worker];
	size_t t;

	pushes_order_make(o, &d->pushes);
	RS_TRY(begin_step(d, o));
	while ((t = atomic_fetch_add_explicit(&d->next_table, 1, memory_order_relaxed))
	    < d->n_tables)
		stage_table(d, o, t);
	return RS_OK;
}

/* Every row that was ever touched changes, which is rare enough to be done at home. */
static enum rs_status
decay_all(struct device *d, double factor)
{
	RS_TRY(stay_home(d));
	for (size_t i = 0; i < d->n_tables; i++)
		RS_TRY(table_decay(local_table(d->over.under, i), factor));
	return RS_OK;
}

static enum rs_status
step_rows(struct device *d, double rate_factor)
{
	if (d->trade != NULL)
		return device_trade_step(d->trade, rate_factor);
	device_rows_start(d->rows[0], rate_factor);
	return device_rows_wait(d->rows[0]);
}

static enum rs_status
run_step(struct device *d, const struct lookup_commit *c)
{
	if (d->failure.status != RS_OK)
		return rs_failure_put(&d->failure);
	atomic_store(&d->place, THERE);
	const enum rs_status status = step_rows(d, c->rate_factor);
	if (status != RS_OK) {
		rs_failure_take(&d->failure);
		return rs_failure_put(&d->failure);
	}
	return c->decay > 0 ? decay_all(d, c->decay) : RS_OK;
}

static enum rs_status
device_commit(struct lookup *base, const struct lookup_commit *c)
{
	struct device *d = device_of(base);
	enum rs_status status = RS_OK, last = RS_OK;

	assert(c->worker < d->n_threads);
	if (c->finite)
		status = stage_step(d, c->worker);
	if (atomic_fetch_add_explicit(&d->n_left, 1, memory_order_acq_rel) + 1 != c->n_workers)
		return status;
	if (c->finite)
		last = run_step(d, c);
	d->has_begun = 0;
	atomic_store_explicit(&d->next_table, 0, memory_order_relaxed);
	atomic_store_explicit(&d->n_left, 0, memory_order_relaxed);
	pushes_clear(&d->pushes);
	return status != RS_OK ? status : last;
}

/* --- at home ----------------------------------------------------------------------------- */

static enum rs_status
device_save(struct lookup *base, size_t table, struct file_writer *w)
{
	struct device *d = device_of(base);

	RS_TRY(come_home(d));
	return d->over.under->ops->save(d->over.under, table, w);
}

static size_t
device_savers(const struct lookup *base)
{
	const struct lookup *home = ((const struct device *)base)->over.under;

	return home->ops->savers(home);
}

static enum rs_status
device_load(struct lookup *base, size_t table, const char *const *path, size_t n_paths)
{
	struct device *d = device_of(base);

	RS_TRY(stay_home(d));
	return d->over.under->ops->load(d->over.under, table, path, n_paths);
}

static enum rs_status
device_save_delta(struct lookup *base, size_t table, const struct lookup_step *step,
	struct file_writer *w)
{
	struct device *d = device_of(base);

	RS_TRY(come_home(d));
	return d->over.under->ops->save_delta(d->over.under, table, step, w);
}

static enum rs_status
device_load_delta(struct lookup *base, size_t table, const struct lookup_step *step,
	const char *path)
{
	struct device *d = device_of(base);

	RS_TRY(stay_home(d));
	return d->over.under->ops->load_delta(d->over.under, table, step, path);
}

static void
device_reset_state(struct lookup *base, size_t table)
{
	struct device *d = device_of(base);

	if (stay_home(d) == RS_OK)
		d->over.under->ops->reset_state(d->over.under, table);
	else                            /* nobody can be told: the next save fails      */
		rs_failure_take(&d->failure);
}

static uint64_t
device_bytes(const struct lookup *base)
{
	const struct device *d = (const struct device *)base;
	uint64_t bytes = d->over.under->ops->bytes(d->over.under);

	for (size_t i = 0; i < d->n_gpus; i++)
		bytes += device_rows_here(d->rows[i]);
	return bytes + (d->trade != NULL ? device_trade_here(d->trade) : 0);
}

static void
device_close(struct lookup *base)
{
	struct device *d = device_of(base);

	for (size_t i = 0; d->order != NULL && i < d->n_threads; i++)
		pushes_order_free(&d->order[i]);
	free(d->order);
	pushes_free(&d->pushes);
	if (d->mesh != NULL)           /* nothing in a queue may wait for another GPU   */
		d->mesh->ops->close(d->mesh);
	device_trade_close(d->trade);
	for (size_t i = 0; i < d->n_gpus; i++)
		device_rows_close(d->rows[i]);
	if (d->over.under != NULL)
		d->over.under->ops->close(d->over.under);
	pthread_cond_destroy(&d->met);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* What is touched or changed is noted at home when it is committed. */
#define DEVICE_OPS .name = "device", .commit = device_commit, \
	.save = device_save, .savers = device_savers, .load = device_load, \
	.save_tenancy = lookup_over_save_tenancy, .load_tenancy = lookup_over_load_tenancy, \
	.tenants = lookup_over_tenants, .knows_changes = lookup_over_knows_changes, \
	.save_delta = device_save_delta, .load_delta = device_load_delta, \
	.forget_changes = lookup_over_forget_changes, .reset_state = device_reset_state, \
	.touched = lookup_over_touched, .bytes = device_bytes, .close = device_close

static const struct lookup_ops device_ops = {
	DEVICE_OPS, .pull = device_pull, .push = device_push,
};
static const struct lookup_ops spread_ops = {
	DEVICE_OPS, .fetch = spread_fetch, .pull = spread_pull, .push = spread_push,
};

void
lookup_device_leave(struct lookup **l)
{
	struct lookup *home;

	if ((*l)->ops != &device_ops && (*l)->ops != &spread_ops)
		return;
	assert(atomic_load(&device_of(*l)->place) == AT_HOME);
	home = device_of(*l)->over.under;
	device_of(*l)->over.under = NULL;
	device_close(*l);
	*l = home;
}

/* --- opening ----------------------------------------------------------------------------- */

static const char *
refusal(const struct lookup_table *t)
{
	return t->kind == TABLE_EXACT ? "it is exact"
	    : t->storage != ROW_FP32 ? "its weights have two bytes (embedding.storage)"
	    : t->resident > 0 ? "a part of it is in a file (embedding.resident)"
	    : t->rounds > 1 ? "an id of it has several rows (rounds)"
	    : t->rows > UINT32_MAX ? "it has more than 2^32 rows"
	    : t->begin > 0 || t->end > 0 ? "a part of it is elsewhere" : NULL;
}

int
lookup_device_takes(const struct lookup_table *table, size_t n_tables, char why[DEVICE_WHY_MAX])
{
	for (size_t i = 0; i < n_tables; i++) {
		const char *text = refusal(&table[i]);

		if (text == NULL)
			continue;
		snprintf(why, DEVICE_WHY_MAX, "table '%s': %s", table[i].name, text);
		return 0;
	}
	return 1;
}

static struct device_rows_options
rows_options(const struct lookup_device_options *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->local.n_tables; i++)
		n += o->n[i];
	return (struct device_rows_options){ .gpu = o->gpu,
		.n_parts = gpu_memory_places(o->gpu), .table = o->local.table,
		.n_tables = o->local.n_tables, .n = n };
}

enum rs_status
lookup_device_bytes(const struct lookup_device_options *o, size_t *out)
{
	const struct device_rows_options rows = rows_options(o);

	RS_TRY(device_rows_bytes(&rows, out));
	*out += rows.n_parts > 1 ? device_trade_bytes(o) : 0;
	return RS_OK;
}

static enum rs_status
open_all(struct device *d, const struct lookup_device_options *o)
{
	struct device_rows_options rows = rows_options(o);

	assert((rows.n_parts > 1) == (o->mesh != NULL));
	for (; rows.part < rows.n_parts; rows.part++, d->n_gpus++)
		RS_TRY(device_rows_open(&rows, &d->rows[rows.part]));
	if (rows.n_parts > 1)
		RS_TRY(device_trade_open(o, d->rows, &d->trade));
	RS_TRY(lookup_local_open(&o->local, &d->over.under));
	RS_TRY(pushes_init(&d->pushes, d->n_tables, o->local.n_slots, o->local.n_inputs));
	RS_TRY(memory_alloc(d->n_threads, sizeof(*d->order), &d->order));
	for (size_t i = 0; i < d->n_threads; i++)
		RS_TRY(pushes_order_init(&d->order[i], &d->pushes));
	return RS_OK;
}

enum rs_status
lookup_device_open(const struct lookup_device_options *o, struct lookup **out)
{
	struct device *d;

	assert(o->local.for_training);
	const enum rs_status room = memory_alloc(1, sizeof(*d), &d);
	if (room != RS_OK && o->mesh != NULL)
		o->mesh->ops->close(o->mesh);
	RS_TRY(room);
	d->over.base.ops = o->mesh != NULL ? &spread_ops : &device_ops;
	d->mesh = o->mesh;
	d->n_tables = o->local.n_tables;
	d->n_threads = o->local.n_threads > 0 ? o->local.n_threads : 1;
	cores_find(&d->cores);
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->met, NULL);
	const enum rs_status status = open_all(d, o);
	if (status != RS_OK) {
		device_close(&d->over.base);
		return status;
	}
	*out = &d->over.base;
	return RS_OK;
}
