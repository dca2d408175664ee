/* Moves between GPUs, of which one thread makes those of all ranks. */
#include "reduce/nccl_mesh.h"

#include <stdlib.h>

#include "base/memory.h"
#include "reduce/nccl_private.h"

struct nccl_mesh {
	struct gpu_mesh base;
	struct gpu_memory *gpu;
	const struct nccl_calls *calls;
	size_t n;
	struct nccl rank[GPU_DEVICES_MAX];
	struct nccl_watch watch[GPU_DEVICES_MAX];
};

static struct nccl_mesh *
mesh_of(struct gpu_mesh *m)
{
	return (struct nccl_mesh *)m;
}

/* --- all ranks ----------------------------------------------------------------------------- */

/* In a group, as ranks of one process wait for each other there. */
static void
give_up(struct nccl_mesh *m)
{
	(void)m->calls->group_begin();
	for (size_t i = 0; i < m->n; i++)
		nccl_give_up(&m->rank[i]);
	(void)m->calls->group_end();
}

static enum rs_status
given_up(struct nccl_mesh *m, enum rs_status status)
{
	if (status != RS_OK)
		give_up(m);
	return status;
}

static void
watch_all(struct nccl_mesh *m, const char *what, double timeout)
{
	for (size_t i = 0; i < m->n; i++)
		m->watch[i] = nccl_watch_begin(what, timeout);
}

/* result: of the first call that did not say RS_OK or NCCL_IN_PROGRESS, else of the group. */
static enum rs_status
settle(struct nccl_mesh *m, int result)
{
	if (result != 0 && result != NCCL_IN_PROGRESS)
		return nccl_fail(&m->rank[0], &m->watch[0], m->calls->text(result));
	for (size_t i = 0; i < m->n && result == NCCL_IN_PROGRESS; i++)
		for (int state = NCCL_IN_PROGRESS; state == NCCL_IN_PROGRESS;) {
			m->watch[i].next = 0;
			RS_TRY(nccl_look(&m->rank[i], &m->watch[i], &state));
			if (state == NCCL_IN_PROGRESS)
				nccl_nap(&m->watch[i]);
		}
	return RS_OK;
}

static int
worse(int a, int b)
{
	return a != 0 && a != NCCL_IN_PROGRESS ? a : b;
}

/* --- moves --------------------------------------------------------------------------------- */

static int
start_move(struct nccl_mesh *m, struct gpu_queue *const *queue, const struct gpu_move *move)
{
	const struct gpu_link *const link = m->gpu->gpu->link;
	const int sent = m->calls->send(move->source, move->n, move->to,
		m->rank[move->from].comm, link->stream(queue[move->from]));

	return worse(sent, m->calls->receive(move->target, move->n, move->from,
		m->rank[move->to].comm, link->stream(queue[move->to])));
}

/* What the GPU says, once nothing in the queue waits for others. */
static enum rs_status
fail_queue(struct nccl_mesh *m, size_t i, struct gpu_queue *queue)
{
	give_up(m);
	m->gpu->gpu->use(queue);
	RS_TRY(m->gpu->gpu->wait());
	return nccl_fail_gpu(&m->rank[i], &m->watch[i]);
}

/* What NCCL refuses for a failure of a GPU is that one. */
static enum rs_status
fail_start(struct nccl_mesh *m, struct gpu_queue *const *queue, int result)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->gpu->gpu->link->is_over(queue[i]) < 0)
			return fail_queue(m, i, queue[i]);
	return given_up(m, settle(m, result));
}

static enum rs_status
nccl_mesh_start(struct gpu_mesh *base, struct gpu_queue *const *queue,
	const struct gpu_move *move, size_t n)
{
	struct nccl_mesh *const m = mesh_of(base);
	int result = 0;

	if (m->rank[0].comm == NULL)
		return rs_fail(RS_EPEER, "NCCL: the group of GPUs was given up");
	watch_all(m, "rows between GPUs", m->rank[0].o.timeout);
	result = m->calls->group_begin();
	for (size_t i = 0; i < n && worse(result, 0) == 0; i++)
		if (move[i].n > 0)
			result = start_move(m, queue, &move[i]);
	result = worse(result, m->calls->group_end());
	return worse(result, 0) != 0 ? fail_start(m, queue, result)
		: given_up(m, settle(m, result));
}

/* 1: all queues are over.  GPUs first, as NCCL hears of what fails on one, too. */
static enum rs_status
look_at_all(struct nccl_mesh *m, struct gpu_queue *const *queue, int *is_over)
{
	int over[GPU_DEVICES_MAX], state = 0;

	*is_over = 1;
	for (size_t i = 0; i < m->n; i++) {
		over[i] = m->gpu->gpu->link->is_over(queue[i]);
		if (over[i] < 0)
			return fail_queue(m, i, queue[i]);
		*is_over &= over[i];
	}
	for (size_t i = 0; i < m->n; i++)
		if (over[i] == 0)
			RS_TRY(nccl_look(&m->rank[i], &m->watch[i], &state));
	return RS_OK;
}

static enum rs_status
nccl_mesh_wait(struct gpu_mesh *base, struct gpu_queue *const *queue)
{
	struct nccl_mesh *const m = mesh_of(base);

	for (int is_over = 0;;) {
		RS_TRY(given_up(m, look_at_all(m, queue, &is_over)));
		if (is_over)
			break;
		nccl_nap(&m->watch[0]);
	}
	for (size_t i = 0; i < m->n; i++) {
		m->gpu->gpu->use(queue[i]);
		RS_TRY(given_up(m, m->gpu->gpu->wait()));
	}
	return RS_OK;
}

static int
end_all(struct nccl_mesh *m)
{
	int result = m->calls->group_begin();

	for (size_t i = 0; i < m->n; i++)
		result = worse(result, m->calls->end(m->rank[i].comm));
	return worse(result, m->calls->group_end());
}

static void
nccl_mesh_close(struct gpu_mesh *base)
{
	struct nccl_mesh *const m = mesh_of(base);

	if (m->n > 0 && m->rank[0].comm != NULL) {
		watch_all(m, "end", NCCL_END_SECONDS);
		if (given_up(m, settle(m, end_all(m))) == RS_OK) {
			(void)m->calls->group_begin();
			for (size_t i = 0; i < m->n; i++)
				(void)m->calls->destroy(m->rank[i].comm);
			(void)m->calls->group_end();
		}
	}
	free(m);
}

static const struct gpu_mesh_ops nccl_mesh_ops = {
	.name = "nccl", .start = nccl_mesh_start, .wait = nccl_mesh_wait,
	.close = nccl_mesh_close,
};

/* --- opening ------------------------------------------------------------------------------- */

/* A queue makes its GPU that of the thread, in which NCCL finds it. */
static enum rs_status
start_rank(struct nccl_mesh *m, size_t i, int *result)
{
	struct gpu_plan plan = { .bytes = GPU_ALIGNMENT, .rows = 1, .columns = 1 };
	struct nccl *const n = &m->rank[i];
	struct gpu_queue *queue;
	char *block;

	RS_TRY(gpu_memory_open(m->gpu, i, &plan, &queue, &block));
	m->gpu->gpu->use(queue);
	*result = worse(*result, m->calls->start(&n->comm, m->n, &n->o.id, i));
	gpu_memory_close(m->gpu, &plan, queue);
	return RS_OK;
}

static enum rs_status
start_all(struct nccl_mesh *m, double timeout)
{
	int result = m->calls->group_begin();
	enum rs_status status = RS_OK;

	watch_all(m, "start", timeout);
	for (size_t i = 0; i < m->n && status == RS_OK; i++)
		status = start_rank(m, i, &result);
	result = worse(result, m->calls->group_end());
	return status == RS_OK ? settle(m, result == 0 ? NCCL_IN_PROGRESS : result) : status;
}

enum rs_status
nccl_mesh_open(const struct nccl_calls *calls, double timeout, struct gpu_memory *gpu,
	struct gpu_mesh **out)
{
	struct nccl_id id;
	struct nccl_mesh *m;

	RS_TRY(nccl_make_id(calls, &id));
	RS_TRY(memory_alloc(1, sizeof(*m), &m));
	m->base.ops = &nccl_mesh_ops;
	m->gpu = gpu;
	m->calls = calls;
	m->n = gpu_memory_places(gpu);
	for (size_t i = 0; i < m->n; i++)
		m->rank[i].o = (struct nccl_options){ .calls = calls, .rank = i, .n_ranks = m->n,
			.id = id, .timeout = timeout, .kind = "GPU" };
	const enum rs_status status = given_up(m, start_all(m, timeout));
	gpu->gpu->use(NULL);
	if (status != RS_OK) {
		nccl_mesh_close(&m->base);
		return status;
	}
	*out = &m->base;
	return RS_OK;
}

static enum rs_status
library_check(void)
{
	const struct nccl_calls *calls;

	return nccl_load(&calls);
}

static enum rs_status
library_open(struct gpu_memory *m, struct gpu_mesh **out)
{
	const struct nccl_calls *calls;

	RS_TRY(nccl_load(&calls));
	return nccl_mesh_open(calls, NCCL_MESH_SECONDS, m, out);
}

const struct gpu_mesh_maker nccl_mesh_maker = { .check = library_check, .open = library_open };
