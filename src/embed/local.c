/* Embedding rows in this process: pulls are pointers, pushes wait for commit. */
#include "embed/lookup.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "embed/local.h"
#include "embed/merge.h"
#include "embed/pull.h"
#include "embed/pushes.h"
#include "embed/rows_delta.h"
#include "embed/rows_file.h"
#include "embed/stage.h"
#include "embed/table.h"
#include "embed/table_file.h"

#define LINE            64
#define PARTS_MAX       64     /* of one table in one commit                      */
#define PARTS_A_WORKER  4
#define PART_MIN        2048   /* occurrences: less is not worth a part           */

/* What one thread needs in commit. */
struct committer {
	_Alignas(LINE) struct merge_scratch scratch;
	struct pushes_order order;
	struct evict_scratch evict;
};

struct local {
	struct lookup base;
	const struct kernel_set *kernel;
	struct table *table;               /* [n_tables]                               */
	char *block; /* the rows of all tables: huge pages serve small ones too */
	size_t block_bytes;
	size_t n_tables, n_slots, n_inputs, n_threads;
	struct pushes pushes;
	struct stage stage;                /* of rows that are not there               */
	struct committer *committer;       /* [n_threads]                              */
	_Alignas(LINE) atomic_size_t next_item;
	_Alignas(LINE) atomic_size_t n_left;   /* threads that are done with the commit */
	int for_training;
	int warned;                        /* of state that a saved model lacks, once  */
	struct rs_failure late;            /* of reset_state, which cannot tell        */
};

static struct local *
local_of(struct lookup *l)
{
	return (struct local *)l;
}

static enum rs_status
local_pull(struct lookup *base, const struct lookup_pull *p)
{
	struct local *l = local_of(base);

	return pull_rows(&l->table[p->table], p, &l->stage);
}

static enum rs_status
local_push(struct lookup *base, const struct lookup_push *p)
{
	pushes_put(&local_of(base)->pushes, p);
	return RS_OK;
}

/* In how many ranges of ids a table is updated: one when its share is small. */
static size_t
count_parts(size_t n, size_t total, size_t n_workers)
{
	const size_t wanted = n_workers > 1 ? (n * n_workers * PARTS_A_WORKER + total - 1) / total :
					      1;
	const size_t useful = n / PART_MIN + 1;
	const size_t parts = wanted < useful ? wanted : useful;

	return parts < 1 ? 1 : parts > PARTS_MAX ? PARTS_MAX : parts;
}

/* First id of part i of n: whole words of the touched bits, whole segments. */
static uint64_t
part_begin(const struct table *t, size_t i, size_t n)
{
	const uint64_t words = (t->n_rows + TABLE_TOUCHED_BITS - 1) / TABLE_TOUCHED_BITS;
	const uint64_t row = words * i / n * TABLE_TOUCHED_BITS;
	const unsigned first = t->exact.first, last = t->exact.last;

	if (table_is_exact(t))
		return exact_segment_begin(first + (unsigned)((last - first) * i / n));
	return t->begin + (row < t->n_rows ? row : t->n_rows);
}

static enum rs_status
commit_part(struct committer *c, const struct merge_job *job, struct table *t,
	const struct lookup_commit *commit)
{
	const struct tenancy_step step = tenancy_step_of(&t->tenancy, commit);
	const unsigned end = job->end == EXACT_ROWS ? EXACT_SEGMENTS : exact_segment_of(job->end);

	for (unsigned i = exact_segment_of(job->begin); table_is_exact(t) && i < end; i++)
		tenancy_begin(&t->tenancy, i);
	RS_TRY(merge_apply(&c->scratch, job, t, &step, commit->rate_factor));
	for (unsigned i = exact_segment_of(job->begin); table_is_exact(t) && i < end; i++)
		RS_TRY(tenancy_end(&t->tenancy, &step, i, &c->evict));
	return RS_OK;
}

/* What one thread does when all have committed. */
static enum rs_status
commit_end(struct local *l, const struct lookup_commit *commit)
{
	enum rs_status status = RS_OK;

	for (size_t i = 0; commit->finite && i < l->n_tables; i++) {
		struct table *t = &l->table[i];

		if (commit->decay > 0 && status == RS_OK)
			status = table_decay(t, commit->decay);
		if (table_is_exact(t))
			tenancy_commit(&t->tenancy, commit);
	}
	atomic_store_explicit(&l->next_item, 0, memory_order_relaxed);
	atomic_store_explicit(&l->n_left, 0, memory_order_relaxed);
	pushes_clear(&l->pushes);
	return status;
}

/* The table whose occurrences and rows are those of this one; n_tables: there is none. */
static size_t
twin_of(const struct local *l, const struct committer *c, size_t table)
{
	const size_t twin = c->order.twin[table];
	const struct table *const t = &l->table[table];
	const struct table *const u = &l->table[twin < l->n_tables ? twin : table];

	return u != t && !table_is_exact(t) && !table_is_exact(u) && u->begin == t->begin
	    && u->n_rows == t->n_rows ? twin : l->n_tables;
}

static struct merge_job
job_of(const struct local *l, const struct committer *c, size_t table)
{
	const struct tree_node root = { 0, l->n_slots };
	struct merge_job job = {
		.kernel = l->kernel, .name = l->table[table].settings.name,
		.D = l->table[table].D,
	};

	pushes_of_node(&c->order, table, root, &job);
	return job;
}

/* Part i of n of a table and of its twin, whose ids are in the same order. */
static enum rs_status
commit_item(struct local *l, struct committer *c, size_t table, const size_t part[2],
	const struct lookup_commit *commit)
{
	const size_t twin = twin_of(l, c, table);
	struct table *const t = &l->table[table];
	struct merge_job job = job_of(l, c, table);

	job.begin = part_begin(t, part[0], part[1]);
	job.end = part_begin(t, part[0] + 1, part[1]);
	RS_TRY(commit_part(c, &job, t, commit));
	if (twin == l->n_tables)
		return RS_OK;
	struct merge_job again = job_of(l, c, twin);
	again.begin = job.begin;
	again.end = job.end;
	again.again = 1;
	return commit_part(c, &again, &l->table[twin], commit);
}

static enum rs_status
commit_items(struct local *l, const struct lookup_commit *commit)
{
	struct committer *c = &l->committer[commit->worker];
	size_t item = atomic_fetch_add_explicit(&l->next_item, 1, memory_order_relaxed), first = 0;

	pushes_order_make(&c->order, &l->pushes);
	pushes_order_pair(&c->order);
	/* Whichever thread comes to the largest table, a later step with as many makes no room. */
	RS_TRY(merge_scratch_reserve(&c->scratch, c->order.most));
	for (size_t t = 0; t < l->n_tables; t++) {
		const size_t n = twin_of(l, c, t) < t ? 0 : c->order.n[t];
		const size_t parts = n > 0 ? count_parts(n, c->order.total, commit->n_workers) : 0;

		for (; item < first + parts;
		    item = atomic_fetch_add_explicit(&l->next_item, 1, memory_order_relaxed))
			RS_TRY(commit_item(l, c, t, (const size_t[]){ item - first, parts },
				commit));
		first += parts;
	}
	return RS_OK;
}

static enum rs_status
local_commit(struct lookup *base, const struct lookup_commit *commit)
{
	struct local *l = local_of(base);
	enum rs_status status = RS_OK, last = RS_OK;

	assert(l->for_training && commit->worker < l->n_threads);
	if (commit->finite)
		status = commit_items(l, commit);
	if (atomic_fetch_add_explicit(&l->n_left, 1, memory_order_acq_rel) + 1 ==
		commit->n_workers)
		last = commit_end(l, commit);
	return status != RS_OK ? status : last;
}

/* What failed unnoticed: of reset_state, and of writing a spilled table's file. */
static enum rs_status
check_late(const struct local *l, const struct table *t)
{
	if (l->late.status != RS_OK)
		return rs_failure_put(&l->late);
	return table_is_spilled(t) ? spill_check(t->spill) : RS_OK;
}

enum rs_status
lookup_local_pack(struct lookup *base, size_t table, enum row_storage storage,
	struct file_writer *w)
{
	struct table *t = &local_of(base)->table[table];

	RS_TRY(check_late(local_of(base), t));
	if (!table_is_exact(t)) {
		struct rows_file_shape shape = rows_file_shape_of(t);

		shape.storage = storage;
		return rows_file_suits(&shape, rows_file_count(t), t->n_rows)
			? rows_file_write(t, storage, w) : table_file_write(t, storage, w);
	}
	tenancy_sweep(&t->tenancy);
	return rows_file_write(t, storage, w);
}

static enum rs_status
local_save(struct lookup *base, size_t table, struct file_writer *w)
{
	return lookup_local_pack(base, table, local_of(base)->table[table].settings.storage, w);
}

static size_t
local_savers(const struct lookup *base)
{
	return ((const struct local *)base)->n_threads;
}

static enum rs_status
local_save_tenancy(struct lookup *base, size_t table, struct file_writer *w)
{
	return tenancy_save(&local_of(base)->table[table].tenancy, w);
}

static enum rs_status
local_load_tenancy(struct lookup *base, size_t table, const char *const *path, size_t n_paths)
{
	struct local *l = local_of(base);

	return l->for_training ? tenancy_load(&l->table[table].tenancy, path, n_paths) : RS_OK;
}

static enum rs_status
local_tenants(struct lookup *base, size_t table, struct lookup_tenants *out)
{
	tenancy_tally(&local_of(base)->table[table].tenancy, out);
	return RS_OK;
}

/* What was read is what was saved, unless the optimizer's state is another. */
static void
end_load(struct local *l, struct table *t)
{
	table_forget_changes(t);
	t->changed_all |= t->state_anew;
	if (t->state_anew && !l->warned)
		log_warn(
			"the model saved has no %s state for table '%s': it starts anew, there and "
			"in other tables without",
			t->optimizer->name, t->settings.name);
	l->warned |= t->state_anew;
}

static enum rs_status
local_load(struct lookup *base, size_t table, const char *const *path, size_t n_paths)
{
	struct local *l = local_of(base);
	struct table *t = &l->table[table];
	int by_id = table_is_exact(t);

	t->state_anew = 0;
	t->changed_all = 1;
	if (!by_id && n_paths > 0)
		RS_TRY(rows_file_is_at(path[0], &by_id));
	RS_TRY(by_id ? rows_file_read(t, path, n_paths) : table_file_read(t, path, n_paths));
	end_load(l, t);
	return RS_OK;
}

static int
local_knows_changes(struct lookup *base, size_t table)
{
	struct table *t = &local_of(base)->table[table];

	if (table_is_exact(t))
		tenancy_sweep(&t->tenancy);
	return table_knows_changes(t);
}

static enum rs_status
local_save_delta(struct lookup *base, size_t table, const struct lookup_step *step,
	struct file_writer *w)
{
	const struct table *t = &local_of(base)->table[table];

	RS_TRY(check_late(local_of(base), t));
	return rows_delta_write(t, step, w);
}

static enum rs_status
local_load_delta(struct lookup *base, size_t table, const struct lookup_step *step,
	const char *path)
{
	struct local *l = local_of(base);

	RS_TRY(rows_delta_read(&l->table[table], step, path));
	end_load(l, &l->table[table]);
	return RS_OK;
}

static void
local_forget_changes(struct lookup *base)
{
	struct local *l = local_of(base);

	for (size_t i = 0; i < l->n_tables; i++)
		table_forget_changes(&l->table[i]);
}

static void
local_reset_state(struct lookup *base, size_t table)
{
	struct local *l = local_of(base);

	if (table_reset_state(&l->table[table]) != RS_OK && l->late.status == RS_OK)
		rs_failure_take(&l->late);
}

static int
local_touched(const struct lookup *base, size_t table, uint64_t id)
{
	const struct table *t = &((const struct local *)base)->table[table];

	if (id - t->begin >= t->n_rows)
		return 0;
	return table_is_exact(t) ? table_find(t, id) != NULL : table_is_touched(t, id - t->begin);
}

static uint64_t
local_bytes(const struct lookup *base)
{
	const struct local *l = (const struct local *)base;
	uint64_t bytes = 0;

	for (size_t i = 0; i < l->n_tables; i++)
		bytes += table_bytes(&l->table[i]);
	for (size_t i = 0; l->committer != NULL && i < l->n_threads; i++)
		bytes += merge_scratch_bytes(&l->committer[i].scratch)
			+ evict_scratch_bytes(&l->committer[i].evict);
	return bytes + stage_bytes(&l->stage);
}

static void
local_close(struct lookup *base)
{
	struct local *l = local_of(base);

	for (size_t i = 0; l->committer != NULL && i < l->n_threads; i++) {
		merge_scratch_free(&l->committer[i].scratch);
		pushes_order_free(&l->committer[i].order);
		evict_scratch_free(&l->committer[i].evict);
	}
	for (size_t i = 0; l->table != NULL && i < l->n_tables; i++)
		table_close(&l->table[i]);
	if (l->block != NULL)
		large_free(l->block, l->block_bytes);
	free(l->committer);
	pushes_free(&l->pushes);
	stage_free(&l->stage);
	free(l->table);
	free(l);
}

static const struct lookup_ops local_ops = {
	.name = "local", .pull = local_pull, .push = local_push, .commit = local_commit,
	.save = local_save, .savers = local_savers, .load = local_load,
	.save_tenancy = local_save_tenancy,
	.load_tenancy = local_load_tenancy, .tenants = local_tenants,
	.knows_changes = local_knows_changes, .save_delta = local_save_delta,
	.load_delta = local_load_delta, .forget_changes = local_forget_changes,
	.reset_state = local_reset_state, .touched = local_touched, .bytes = local_bytes,
	.close = local_close,
};

static enum rs_status
open_committers(struct local *l)
{
	size_t D_max = 1;

	for (size_t i = 0; i < l->n_tables; i++)
		D_max = l->table[i].D > D_max ? l->table[i].D : D_max;
	RS_TRY(pushes_init(&l->pushes, l->n_tables, l->n_slots, l->n_inputs));
	RS_TRY(memory_alloc(l->n_threads, sizeof(*l->committer), &l->committer));
	for (size_t i = 0; i < l->n_threads; i++) {
		struct committer *c = &l->committer[i];

		RS_TRY(merge_scratch_init(&c->scratch, l->n_slots, D_max));
		RS_TRY(pushes_order_init(&c->order, &l->pushes));
	}
	return RS_OK;
}

static size_t
round_up(size_t bytes)
{
	return (bytes + LINE - 1) / LINE * LINE;
}

static enum rs_status
open_tables(struct local *l, const struct lookup_local_options *o)
{
	RS_TRY(memory_alloc(o->n_tables + 1, sizeof(*l->table), &l->table));
	for (size_t i = 0; i < o->n_tables; i++) {
		RS_TRY(table_open(&l->table[i], &o->table[i], o->kernel, o->for_training));
		if (o->keeps_changes)
			RS_TRY(table_keep_changes(&l->table[i]));
		l->block_bytes += round_up(l->table[i].block_bytes);
	}
	RS_TRY(large_alloc(l->block_bytes, &l->block));
	for (size_t i = 0, used = 0; i < o->n_tables; i++) {
		l->table[i].block = (float *)(void *)(l->block + used);
		used += round_up(l->table[i].block_bytes);
	}
	RS_TRY(stage_init(&l->stage, l->n_slots, l->n_inputs));
	if (o->for_training)
		RS_TRY(open_committers(l));
	return RS_OK;
}

enum rs_status
lookup_local_open(const struct lookup_local_options *o, struct lookup **out)
{
	struct local *l;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*l), &l));
	l->base.ops = &local_ops;
	l->kernel = o->kernel;
	l->n_tables = o->n_tables;
	l->n_slots = o->n_slots;
	l->n_inputs = o->n_inputs;
	l->n_threads = o->n_threads > 0 ? o->n_threads : 1;
	l->for_training = o->for_training;
	status = open_tables(l, o);
	if (status != RS_OK) {
		local_close(&l->base);
		return status;
	}
	*out = &l->base;
	return RS_OK;
}

struct table *
local_table(const struct lookup *base, size_t table)
{
	return &((const struct local *)base)->table[table];
}
