/* NCCL among threads. */
#include "nccl_double.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/kernel/emulated_gpu.h"

enum { WORLDS = 32, RING = 8, FAILED = 2, NO_ID = 3, NO_GPU = 1 };

struct world;
struct comm {
	struct world *world;
	size_t rank, n_put, n_taken, n_groups;
	int    lag, is_aborted, is_here;
};

/* A sum until all ranks have taken it. */
struct sum {
	size_t n, n_put, n_taken;
	float *x[NCCL_DOUBLE_RANKS], *total;
};

/* The ranks of an id. */
struct world {
	size_t n_ranks, n_started;
	struct comm comm[NCCL_DOUBLE_RANKS];
	struct sum  sum[RING];
	int    differs;                /* ranks asked for other sums                      */
};

/* Floats on the way, and whoever wants some: in the order of their calls from one rank to
 * another. */
struct move {
	struct comm *comm;             /* whose call it is                                */
	size_t from, to, n;
	float *x;                      /* a send: a copy                                  */
	float *there;                  /* a receive                                       */
	int    is_over;
	struct held *held;
	struct move *next;
};

/* The moves of a rank in a group, in its queue. */
struct held {
	struct comm *comm;
	struct gpu_queue *queue;
	struct held *next;
};

/* A sum in a queue. */
struct pending {
	struct comm *comm;
	size_t number;
	float *there;
	struct gpu_queue *queue;
	struct pending *next;          /* of all that were made                           */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct world world[WORLDS];
static struct pending *all;
static struct move *moves, **last_move = &moves;       /* of all groups                   */
static struct held *helds;
static _Thread_local int depth;        /* of groups                                       */
static _Thread_local struct held *in_group;
static size_t n_worlds;
static struct nccl_double_plan plan;
static struct nccl_double_count count;
static size_t asked[NCCL_DOUBLE_RANKS];

static void
sum_free(struct sum *s)
{
	for (size_t r = 0; r < NCCL_DOUBLE_RANKS; r++)
		free(s->x[r]);
	free(s->total);
	memset(s, 0, sizeof(*s));
}

void
nccl_double_reset(const struct nccl_double_plan *p)
{
	for (size_t w = 0; w < WORLDS; w++)
		for (size_t i = 0; i < RING; i++)
			sum_free(&world[w].sum[i]);
	for (struct pending *next; all != NULL; all = next) {
		next = all->next;
		free(all);
	}
	for (struct move *next; moves != NULL; moves = next) {
		next = moves->next;
		free(moves->x);
		free(moves);
	}
	last_move = &moves;
	for (struct held *next; helds != NULL; helds = next) {
		next = helds->next;
		free(helds);
	}
	memset(world, 0, sizeof(world));
	n_worlds = 0;
	plan = *p;
	count = (struct nccl_double_count){ 0 };
	memset(asked, 0, sizeof(asked));
}

void
nccl_double_break(const struct nccl_double_plan *p)
{
	plan = *p;
}

struct nccl_double_count
nccl_double_count(void)
{
	pthread_mutex_lock(&lock);
	const struct nccl_double_count now = count;
	pthread_mutex_unlock(&lock);
	return now;
}

static int
make_id(struct nccl_id *out)
{
	if (plan.has_no_id)
		return NO_ID;
	pthread_mutex_lock(&lock);
	const size_t number = n_worlds++;
	pthread_mutex_unlock(&lock);
	if (number >= WORLDS)
		abort();
	memset(out, 7, sizeof(*out));
	memcpy(out, &number, sizeof(number));
	return 0;
}

static int
is_wrong(const struct comm *c)
{
	return plan.wrong == (int)c->rank + 1 && c->n_put + c->n_groups >= plan.wrong_after;
}

static int
start(void **out, size_t n_ranks, const struct nccl_id *id, size_t rank)
{
	size_t number;

	memcpy(&number, id, sizeof(number));
	if (number >= WORLDS || id->bytes[NCCL_ID_BYTES - 1] != 7 || rank >= n_ranks)
		return FAILED;
	struct world *const w = &world[number];
	struct comm *const c = &w->comm[rank];
	pthread_mutex_lock(&lock);
	*c = (struct comm){ .world = w, .rank = rank, .lag = plan.lag, .is_here = 1 };
	w->n_ranks = n_ranks;
	count.groups += ++w->n_started == n_ranks;
	pthread_mutex_unlock(&lock);
	*out = c;
	return NCCL_IN_PROGRESS;
}

/* The float's own order. */
static void
make_total(const struct world *w, struct sum *s)
{
	s->total = malloc(s->n * sizeof(float));
	for (size_t j = 0; j < s->n; j++) {
		s->total[j] = s->x[j % w->n_ranks][j];
		for (size_t r = 1; r < w->n_ranks; r++)
			s->total[j] += s->x[(j + r) % w->n_ranks][j];
	}
	count.sums++;
}

static int
is_over(void *context)
{
	struct pending *const p = context;
	struct comm *const c = p->comm;
	struct sum *const s = &c->world->sum[p->number % RING];
	int over = c->is_aborted ? -1 : 0;

	pthread_mutex_lock(&lock);
	if (over == 0 && s->n_put == c->world->n_ranks && c->n_taken == p->number
	    && !(plan.wrong > 0 && p->number + 1 >= plan.wrong_after)) {
		if (s->total == NULL)
			make_total(c->world, s);
		emulated_gpu_write(p->queue, p->there, s->total, s->n * sizeof(float));
		c->n_taken++;
		if (++s->n_taken == c->world->n_ranks)
			sum_free(s);
		over = 1;
	}
	pthread_mutex_unlock(&lock);
	return over;
}

/* Of the next sum of this rank; the lock is held. */
static void
put(struct comm *c, const float *there, size_t n, struct gpu_queue *q)
{
	struct sum *const s = &c->world->sum[c->n_put++ % RING];

	if (s->x[c->rank] != NULL)
		abort();
	c->world->differs |= s->n_put > 0 && s->n != n;
	s->n = n;
	s->x[c->rank] = malloc(n * sizeof(float));
	emulated_gpu_read(q, s->x[c->rank], there, n * sizeof(float));
	s->n_put++;
	asked[c->rank]++;
}

size_t
nccl_double_asked(size_t rank)
{
	pthread_mutex_lock(&lock);
	const size_t n = asked[rank];
	pthread_mutex_unlock(&lock);
	return n;
}

static int
sum(float *there, size_t n, void *comm, void *stream)
{
	struct comm *const c = comm;

	if (gpu_emulated.link->is_over(stream) < 0)
		return NO_GPU;
	struct pending *const p = malloc(sizeof(*p));
	pthread_mutex_lock(&lock);
	*p = (struct pending){ c, c->n_put, there, stream, all };
	all = p;
	put(c, there, n, stream);
	c->lag = plan.lag;
	pthread_mutex_unlock(&lock);
	emulated_gpu_hold(stream, is_over, p);
	return c->lag > 0 ? NCCL_IN_PROGRESS : 0;
}

/* --- moves ----------------------------------------------------------------------------- */

static int
group_begin(void)
{
	depth++;
	return 0;
}

/* The earliest that is not over of the other kind. */
static struct move *
partner(const struct move *m)
{
	struct move *p = moves;

	while (p != NULL && (p->is_over || p->comm->world != m->comm->world
	    || p->from != m->from || p->to != m->to || (p->x != NULL) == (m->x != NULL)))
		p = p->next;
	return p;
}

/* Those that can be; the lock is held. */
static void
carry(struct world *w)
{
	for (struct move *m = moves; m != NULL; m = m->next) {
		struct move *const to = m->is_over || m->x == NULL || m->comm->world != w
			? NULL : partner(m);

		if (to == NULL)
			continue;
		w->differs |= to->n != m->n;
		if (to->n == m->n)
			emulated_gpu_write(to->held->queue, to->there, m->x,
				m->n * sizeof(float));
		m->is_over = to->is_over = 1;
		count.moves++;
	}
}

static void
forget_moves(void)
{
	last_move = &moves;
	for (struct move *m = moves, *next; m != NULL; m = next) {
		next = m->next;
		if (m->is_over) {
			free(m->x);
			free(m);
			continue;
		}
		*last_move = m;
		last_move = &m->next;
	}
	*last_move = NULL;
}

static int
is_moved(void *context)
{
	struct held *const h = context;
	const struct comm *const c = h->comm;
	int over = 1;

	if (c->is_aborted)
		return -1;
	pthread_mutex_lock(&lock);
	if (!(plan.wrong > 0 && c->n_groups >= plan.wrong_after) && !c->world->differs
	    && !plan.is_stuck)
		carry(c->world);
	forget_moves();
	for (const struct move *m = moves; m != NULL; m = m->next)
		over &= m->held != h || m->is_over;
	pthread_mutex_unlock(&lock);
	return over;
}

static struct held *
held_of(struct comm *c, struct gpu_queue *queue)
{
	struct held *h = in_group;

	while (h != NULL && h->comm != c)
		h = h->next;
	if (h != NULL && h->queue != queue)
		abort();
	if (h == NULL) {
		h = malloc(sizeof(*h));
		*h = (struct held){ c, queue, in_group };
		in_group = h;
	}
	return h;
}

static int
add_move(struct move m, struct gpu_queue *queue, const float *from)
{
	if (depth == 0 || !m.comm->is_here)
		abort();
	if (gpu_emulated.link->is_over(queue) < 0)
		return NO_GPU;
	struct move *const made = malloc(sizeof(*made));
	m.held = held_of(m.comm, queue);
	if (from != NULL) {
		m.x = malloc(m.n * sizeof(float));
		emulated_gpu_read(queue, m.x, from, m.n * sizeof(float));
	}
	*made = m;
	pthread_mutex_lock(&lock);
	*last_move = made;
	last_move = &made->next;
	pthread_mutex_unlock(&lock);
	return 0;
}

static int
send(const float *x, size_t n, size_t to, void *comm, void *stream)
{
	struct comm *const c = comm;

	return add_move((struct move){ .comm = c, .from = c->rank, .to = to, .n = n }, stream, x);
}

static int
receive(float *x, size_t n, size_t from, void *comm, void *stream)
{
	struct comm *const c = comm;

	return add_move((struct move){ .comm = c, .from = from, .to = c->rank, .n = n,
		.there = x }, stream, NULL);
}

/* Moves go on from here on. */
static int
group_end(void)
{
	int result = 0;

	if (--depth > 0)
		return 0;
	for (struct held *h = in_group, *next; h != NULL; h = next) {
		next = h->next;
		pthread_mutex_lock(&lock);
		h->comm->n_groups++;
		h->comm->lag = plan.lag;
		h->next = helds;
		helds = h;
		pthread_mutex_unlock(&lock);
		emulated_gpu_hold(h->queue, is_moved, h);
		result = plan.lag > 0 ? NCCL_IN_PROGRESS : result;
	}
	in_group = NULL;
	return result;
}

static int
watch(void *comm, int *state)
{
	struct comm *const c = comm;

	pthread_mutex_lock(&lock);
	*state = c->world->n_started < c->world->n_ranks || c->lag-- > 0 ? NCCL_IN_PROGRESS : 0;
	if (c->world->n_started == c->world->n_ranks && (is_wrong(c) || c->world->differs))
		*state = FAILED;
	pthread_mutex_unlock(&lock);
	return 0;
}

static int
note(struct comm *c, size_t *n, int is_last)
{
	pthread_mutex_lock(&lock);
	if (!c->is_here)
		abort();
	++*n;
	if (is_last)
		c->is_here = 0;
	pthread_mutex_unlock(&lock);
	return 0;
}

static int
end(void *comm)
{
	return note(comm, &count.ended, 0);
}

static int
destroy(void *comm)
{
	return note(comm, &count.destroyed, 1);
}

static int
give_up(void *comm)
{
	struct comm *const c = comm;

	c->is_aborted = 1;
	return note(c, &count.aborted, 1);
}

static const char *
text(int failure)
{
	return failure == NO_ID ? "no socket" : failure == FAILED ? "the cable is out"
		: failure == NO_GPU ? "a call of CUDA failed" : "?";
}

const struct nccl_calls nccl_double = {
	.make_id = make_id, .start = start, .sum = sum, .watch = watch, .end = end,
	.destroy = destroy, .abort = give_up, .group_begin = group_begin, .group_end = group_end,
	.send = send, .receive = receive, .text = text,
};

static enum rs_status
mesh_check(void)
{
	return plan.is_missing ? rs_fail(RS_EPEER, "NCCL is missing: as the test asked") : RS_OK;
}

static enum rs_status
mesh_open(struct gpu_memory *m, struct gpu_mesh **out)
{
	return nccl_mesh_open(&nccl_double, 10, m, out);
}

const struct gpu_mesh_maker nccl_double_mesh = { .check = mesh_check, .open = mesh_open };
