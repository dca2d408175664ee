/* Tables on a GPU: where their rows are, and the step of all of them. */
#include "embed/device_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "embed/local.h"
#include "embed/row_optimizer.h"

struct device_table {
	size_t group, first;        /* row of the group                               */
	size_t n_rows;              /* of a part                                      */
	size_t begin;               /* occurrences of the step                        */
	int    is_scaled;
};

struct device_group {
	struct row_optimizer_settings optimizer;
	size_t D, stride, n_rows;
	size_t at;                  /* its rows, in the block                         */
	size_t begin, n;            /* occurrences of the step                        */
	int    is_scaled;
};

struct device_rows {
	struct gpu_memory *gpu;
	size_t part, n_parts;
	struct device_table *table; /* [n_tables]                                     */
	struct device_group *group; /* [n_groups]                                     */
	size_t n_tables, n_groups, D_max;
	char  *block;               /* rows, on the GPU                               */
	size_t block_bytes;
	/* Of a step: places in memory of the queue, the first three with a side here. */
	struct gpu_plan plan;
	struct gpu_queue *queue;
	char  *there, *here;
	size_t capacity, here_bytes;
	size_t row, grad, scale, place, scratch, partial;
};

/* --- places ------------------------------------------------------------------------------ */

static int
is_one_step(const struct lookup_table *a, const struct device_group *g)
{
	const struct row_optimizer_settings *x = &a->optimizer, *y = &g->optimizer;

	return a->dim == g->D && x->kind == y->kind && x->scheduled == y->scheduled
	    && x->learning_rate == y->learning_rate && x->epsilon == y->epsilon
	    && x->beta1 == y->beta1 && x->beta2 == y->beta2 && x->l1 == y->l1 && x->l2 == y->l2
	    && x->ftrl_beta == y->ftrl_beta && x->ftrl_l1 == y->ftrl_l1
	    && x->ftrl_l2 == y->ftrl_l2 && x->ftrl_power == y->ftrl_power;
}

/* Rows are numbered in 32 bits. */
static size_t
find_group(struct device_rows *d, const struct lookup_table *t, size_t n_rows)
{
	const struct row_optimizer *o = row_optimizer_get(t->optimizer.kind);
	size_t i = 0;

	while (i < d->n_groups && (!is_one_step(t, &d->group[i])
	    || n_rows > UINT32_MAX - d->group[i].n_rows))
		i++;
	if (i == d->n_groups)
		d->group[d->n_groups++] = (struct device_group){ .optimizer = t->optimizer,
			.D = t->dim, .stride = t->dim + row_optimizer_slots(o, t->dim) };
	return i;
}

static void
plan_step(struct device_rows *d, size_t n)
{
	size_t end = 0;

	d->capacity = n;
	d->row = gpu_cut(&end, n * sizeof(uint32_t));
	d->grad = gpu_cut(&end, n * sizeof(float *));
	d->scale = gpu_cut(&end, n * sizeof(float));
	d->here_bytes = end;
	d->place = gpu_cut(&end, n * sizeof(uint32_t));
	d->scratch = gpu_cut(&end, kernel_rows_scratch(n) * sizeof(uint32_t));
	d->partial = gpu_cut(&end, (n / KERNEL_ROWS_CHUNK + 1) * d->D_max * sizeof(float));
	d->plan = (struct gpu_plan){ .bytes = end, .rows = 1, .columns = 1 };
}

static enum rs_status
place_rows(struct device_rows *d, const struct device_rows_options *o)
{
	size_t bytes = 0;

	*d = (struct device_rows){ .gpu = o->gpu, .part = o->part, .n_parts = o->n_parts,
		.n_tables = o->n_tables, .D_max = 1 };
	RS_TRY(memory_alloc(o->n_tables + 1, sizeof(*d->table), &d->table));
	RS_TRY(memory_alloc(o->n_tables + 1, sizeof(*d->group), &d->group));
	for (size_t i = 0; i < o->n_tables; i++) {
		struct device_table *t = &d->table[i];

		t->n_rows = (o->table[i].rows + o->n_parts - 1) / o->n_parts;
		t->group = find_group(d, &o->table[i], t->n_rows);
		t->first = d->group[t->group].n_rows;
		d->group[t->group].n_rows += t->n_rows;
		d->D_max = o->table[i].dim > d->D_max ? o->table[i].dim : d->D_max;
	}
	for (size_t i = 0; i < d->n_groups; i++) {
		RS_TRY(size_mul(d->group[i].n_rows, d->group[i].stride * sizeof(float), &bytes));
		d->group[i].at = gpu_cut(&d->block_bytes, bytes);
	}
	plan_step(d, o->n);
	return RS_OK;
}

enum rs_status
device_rows_bytes(const struct device_rows_options *o, size_t *out)
{
	struct device_rows d;
	const enum rs_status status = place_rows(&d, o);

	*out = d.block_bytes + o->gpu->gpu->size(&d.plan);
	free(d.table);
	free(d.group);
	return status;
}

/* --- opening ----------------------------------------------------------------------------- */

static enum rs_status
open_step(struct device_rows *d)
{
	RS_TRY(gpu_memory_open(d->gpu, d->part, &d->plan, &d->queue, &d->there));
	return d->gpu->gpu->host_alloc(d->here_bytes, &d->here);
}

static void
close_step(struct device_rows *d)
{
	if (d->queue != NULL)
		gpu_memory_close(d->gpu, &d->plan, d->queue);
	if (d->here != NULL)
		d->gpu->gpu->host_free(d->here);
	d->queue = NULL;
	d->here = NULL;
	d->capacity = 0;
}

enum rs_status
device_rows_open(const struct device_rows_options *o, struct device_rows **out)
{
	struct device_rows *d;

	RS_TRY(memory_alloc(1, sizeof(*d), &d));
	enum rs_status status = place_rows(d, o);
	if (status == RS_OK)
		status = gpu_memory_alloc(d->gpu, d->part, d->block_bytes, &d->block);
	if (status == RS_OK)
		status = open_step(d);
	if (status != RS_OK) {
		device_rows_close(d);
		return status;
	}
	*out = d;
	return RS_OK;
}

void
device_rows_close(struct device_rows *d)
{
	if (d == NULL)
		return;
	close_step(d);
	if (d->block != NULL)
		gpu_memory_free(d->gpu, d->part, d->block, d->block_bytes);
	free(d->table);
	free(d->group);
	free(d);
}

size_t
device_rows_here(const struct device_rows *d)
{
	return d->here_bytes;
}

static float *
group_rows(const struct device_rows *d, const struct device_group *g)
{
	return (float *)(void *)(d->block + g->at);
}

size_t
device_rows_n_groups(const struct device_rows *d)
{
	return d->n_groups;
}

struct device_rows_table
device_rows_table(const struct device_rows *d, size_t table)
{
	const struct device_table *t = &d->table[table];
	const struct device_group *g = &d->group[t->group];

	return (struct device_rows_table){
		.group = t->group, .D = g->D, .stride = g->stride, .n = t->n_rows,
		.first = t->first, .rows = group_rows(d, g) + t->first * g->stride,
	};
}

/* What the part has of a table at home. */
static float *
part_at_home(const struct device_rows *d, const struct lookup *home, size_t table, size_t *bytes)
{
	const struct table *t = local_table(home, table);
	const size_t n = d->table[table].n_rows;
	const size_t begin = d->part * n < t->n_rows ? d->part * n : t->n_rows;
	const size_t left = t->n_rows - begin;

	*bytes = (left < n ? left : n) * t->stride * sizeof(float);
	return t->block + begin * t->stride;
}

enum rs_status
device_rows_upload(struct device_rows *d, const struct lookup *home)
{
	const struct gpu *gpu = d->gpu->gpu;
	size_t bytes;

	gpu->use(d->queue);
	for (size_t i = 0; i < d->n_tables; i++) {
		const float *const from = part_at_home(d, home, i, &bytes);

		if (bytes > 0)
			gpu->upload(device_rows_table(d, i).rows, from, bytes);
	}
	return gpu->wait();
}

enum rs_status
device_rows_download(struct device_rows *d, const struct lookup *home)
{
	const struct gpu *gpu = d->gpu->gpu;
	size_t bytes;

	gpu->use(d->queue);
	for (size_t i = 0; i < d->n_tables; i++) {
		float *const to = part_at_home(d, home, i, &bytes);

		if (bytes > 0)
			gpu->download(to, device_rows_table(d, i).rows, bytes);
	}
	return gpu->wait();
}

/* --- a step ------------------------------------------------------------------------------ */

/* As many as the groups say. */
static enum rs_status
begin_step(struct device_rows *d)
{
	size_t end = 0;

	for (size_t g = 0; g < d->n_groups; g++) {
		d->group[g].begin = end;
		d->group[g].is_scaled = 0;
		end += d->group[g].n;
	}
	if (end <= d->capacity)
		return RS_OK;
	close_step(d);
	plan_step(d, end + end / 8);
	return open_step(d);
}

enum rs_status
device_rows_begin(struct device_rows *d, const size_t *n)
{
	for (size_t g = 0; g < d->n_groups; g++)
		d->group[g].n = 0;
	for (size_t i = 0; i < d->n_tables; i++) {
		struct device_table *t = &d->table[i];

		t->begin = d->group[t->group].n;
		t->is_scaled = 0;
		d->group[t->group].n += n[i];
	}
	return begin_step(d);
}

enum rs_status
device_rows_begin_groups(struct device_rows *d, const size_t *n)
{
	for (size_t g = 0; g < d->n_groups; g++)
		d->group[g].n = n[g];
	for (size_t i = 0; i < d->n_tables; i++)
		d->table[i].is_scaled = 0;
	return begin_step(d);
}

struct device_rows_group
device_rows_group(const struct device_rows *d, size_t group)
{
	const struct device_group *g = &d->group[group];

	return (struct device_rows_group){ .n = g->n,
		.row = (uint32_t *)(void *)(d->here + d->row) + g->begin,
		.grad = (const float **)(void *)(d->here + d->grad) + g->begin };
}

void
device_rows_put(struct device_rows *d, size_t table, const struct lookup_push *const *push,
	size_t n_push)
{
	struct device_table *t = &d->table[table];
	const size_t begin = d->group[t->group].begin + t->begin;
	uint32_t *row = (uint32_t *)(void *)(d->here + d->row) + begin;
	const float **grad = (const float **)(void *)(d->here + d->grad) + begin;
	float *scale = (float *)(void *)(d->here + d->scale) + begin;

	for (size_t i = 0; i < n_push; i++) {
		const struct lookup_push *p = push[i];

		for (size_t j = 0; j < p->n; j++)
			*row++ = (uint32_t)(t->first + p->ids[j]);
		memcpy(grad, p->grad, p->n * sizeof(*grad));
		for (size_t j = 0; j < p->n; j++)
			scale[j] = p->scale != NULL ? p->scale[j] : 1;
		t->is_scaled |= p->scale != NULL;
		grad += p->n;
		scale += p->n;
	}
}

static void
send(struct device_rows *d, size_t at, size_t bytes)
{
	d->gpu->gpu->upload(d->there + at, d->here + at, bytes);
}

static struct rows_args
group_args(const struct device_rows *d, const struct device_group *g, double rate_factor)
{
	const size_t k = g->begin;

	return (struct rows_args){
		.n = g->n, .n_rows = g->n_rows, .stride = g->stride,
		.row = (uint32_t *)(void *)(d->there + d->row) + k,
		.place = (uint32_t *)(void *)(d->there + d->place) + k,
		.scratch = (uint32_t *)(void *)(d->there + d->scratch),
		.grad = (const float *const *)(void *)(d->there + d->grad) + k,
		.scale = g->is_scaled ? (const float *)(void *)(d->there + d->scale) + k : NULL,
		.partial = (float *)(void *)(d->there + d->partial),
		.table = group_rows(d, g),
		.args = row_optimizer_args(&g->optimizer, g->D, rate_factor),
	};
}

/* Its occurrences are of the rows of those before, one by one. */
static int
has_order_of(const struct device_rows *d, const struct device_group *g,
	const struct device_group *before)
{
	const uint32_t *row = (const uint32_t *)(const void *)(d->here + d->row);

	return g->n == before->n && g->n_rows == before->n_rows
	    && memcmp(row + g->begin, row + before->begin, g->n * sizeof(*row)) == 0;
}

static void
run_groups(struct device_rows *d, double rate_factor)
{
	const struct kernel_set *kernel = d->gpu->gpu->kernel;
	const struct device_group *sorted = NULL;
	struct rows_args order = { .n = 0 };

	for (size_t i = 0; i < d->n_groups; i++) {
		const struct device_group *g = &d->group[i];
		struct rows_args a = group_args(d, g, rate_factor);

		if (g->n == 0)
			continue;
		if (sorted != NULL && has_order_of(d, g, sorted)) {
			a.row = order.row;
			a.place = order.place;
		} else {
			kernel->rows_sort(&a);
			sorted = g;
			order = a;
		}
		row_optimizer_rows_kernel(row_optimizer_get(g->optimizer.kind), kernel)(&a);
	}
}

void
device_rows_start(struct device_rows *d, double rate_factor)
{
	size_t n = 0;
	int is_scaled = 0;

	d->gpu->gpu->use(d->queue);
	for (size_t i = 0; i < d->n_tables; i++) {
		d->group[d->table[i].group].is_scaled |= d->table[i].is_scaled;
		is_scaled |= d->table[i].is_scaled;
	}
	for (size_t g = 0; g < d->n_groups; g++)
		n += d->group[g].n;
	if (n == 0)
		return;
	send(d, d->row, n * sizeof(uint32_t));
	send(d, d->grad, n * sizeof(float *));
	if (is_scaled)
		send(d, d->scale, n * sizeof(float));
	run_groups(d, rate_factor);
}

enum rs_status
device_rows_wait(struct device_rows *d)
{
	d->gpu->gpu->use(d->queue);
	return d->gpu->gpu->wait();
}
