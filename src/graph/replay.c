/* Which passes are graphs: shapes that came before, and the pieces of a pass. */
#include "graph/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/memory.h"

struct shape {
	size_t *key;                /* [n_key]                                        */
	struct gpu_graph **graph;   /* [n_nodes] of the piece that begins there       */
	size_t used, n_seen;        /* when last, 0 never; how often                  */
};

/* What a shape is made of, before the inputs. */
enum { KEY_OUTPUT, KEY_WAY, KEY_ROWS, KEY_SHARE, KEY_MISSING, KEY_INPUTS };

struct replay {
	const struct gpu_replay *gpu;
	size_t n_nodes, n_key, clock;
	int    is_refused;          /* a graph could not be made: none is tried again */
	size_t *key;                /* [n_key] of the pass that begins                */
	size_t *keys;               /* what shapes point into                         */
	struct gpu_graph **graphs;
	struct shape shape[REPLAY_SHAPES];
};

static enum rs_status
replay_init(struct replay *r)
{
	RS_TRY(memory_alloc(r->n_key, sizeof(*r->key), &r->key));
	RS_TRY(memory_alloc(REPLAY_SHAPES * r->n_key, sizeof(*r->keys), &r->keys));
	RS_TRY(memory_alloc(REPLAY_SHAPES * r->n_nodes, sizeof(*r->graphs), &r->graphs));
	for (size_t i = 0; i < REPLAY_SHAPES; i++) {
		r->shape[i].key = r->keys + i * r->n_key;
		r->shape[i].graph = r->graphs + i * r->n_nodes;
	}
	return RS_OK;
}

enum rs_status
replay_open(const struct graph *g, const struct gpu_replay *gpu, struct replay **out)
{
	struct replay *r;

	RS_TRY(memory_alloc(1, sizeof(*r), &r));
	r->gpu = gpu;
	r->n_nodes = g->n_nodes;
	r->n_key = KEY_INPUTS + g->n_inputs;
	const enum rs_status status = replay_init(r);
	if (status == RS_OK)
		*out = r;
	else
		replay_close(r);
	return status;
}

static void
drop_graphs(const struct replay *r, struct shape *s)
{
	for (size_t i = 0; i < r->n_nodes; i++) {
		r->gpu->destroy(s->graph[i]);
		s->graph[i] = NULL;
	}
}

void
replay_forget(struct replay *r)
{
	for (size_t i = 0; r != NULL && r->graphs != NULL && i < REPLAY_SHAPES; i++) {
		drop_graphs(r, &r->shape[i]);
		r->shape[i].used = r->shape[i].n_seen = 0;
	}
}

void
replay_close(struct replay *r)
{
	if (r == NULL)
		return;
	replay_forget(r);
	free(r->graphs);
	free(r->keys);
	free(r->key);
	free(r);
}

/* --- shapes ------------------------------------------------------------------------------ */

/* All that kernels are told of a feed. */
static void
set_key(struct replay *replay, const struct replay_pass *p)
{
	const struct op_run *const r = p->r;
	const struct graph *const g = op_graph(r);
	const struct feed *feed = r->feed;
	size_t *const key = replay->key;

	key[KEY_OUTPUT] = p->output;
	key[KEY_WAY] = 4 * (size_t)(p->watch != NULL) + 2 * (size_t)p->is_backward
		+ (size_t)r->training;
	key[KEY_ROWS] = feed->B;
	key[KEY_SHARE] = half_bits(r->statistic_share);
	key[KEY_MISSING] = feed->missing != NULL;
	for (size_t i = 0; i < g->n_inputs; i++) {
		const size_t has_offset = feed->offset != NULL && feed->offset[i] != NULL;
		const size_t is_scaled = (size_t)op_is_scaled(g, feed, i);

		key[KEY_INPUTS + i] = !graph_output_uses(g, p->output, i) ? 0
			: 4 * op_n_ids(feed, i) + 2 * has_offset + is_scaled;
	}
}

/* That of the key; a new one takes the place of the one that was used longest ago. */
static struct shape *
find_shape(struct replay *r)
{
	const size_t bytes = r->n_key * sizeof(*r->key);
	struct shape *s = &r->shape[0];

	for (size_t i = 0; i < REPLAY_SHAPES; i++) {
		struct shape *const at = &r->shape[i];
		if (at->used > 0 && memcmp(at->key, r->key, bytes) == 0)
			return at;
		if (at->used < s->used)
			s = at;
	}
	drop_graphs(r, s);
	s->n_seen = 0;
	memcpy(s->key, r->key, bytes);
	return s;
}

static struct shape *
note_shape(struct replay *r, const struct replay_pass *p)
{
	set_key(r, p);
	struct shape *const s = find_shape(r);
	s->used = ++r->clock;
	s->n_seen++;
	return s;
}

/* --- pieces ------------------------------------------------------------------------------ */

enum kind { PIECE_EMPTY, PIECE_VARIES, PIECE_SAME };

static enum kind
kind_of(const struct replay_pass *p, size_t k)
{
	const struct graph *const g = op_graph(p->r);
	const size_t i = p->is_backward ? g->n_nodes - 1 - k : k;

	return !g->part[p->output][i] ? PIECE_EMPTY
		: g->node[i]->op->varies ? PIECE_VARIES : PIECE_SAME;
}

/* A piece ends after k nodes. */
static int
is_wanted(const struct replay_pass *p, size_t k)
{
	return p->watch != NULL && p->watch->wants(p->watch->context, k);
}

static size_t
piece_end(const struct replay_pass *p, size_t begin, int is_direct)
{
	const enum kind kind = kind_of(p, begin);
	size_t end = begin + 1;

	while (end < op_graph(p->r)->n_nodes && !is_wanted(p, end)
		&& (is_direct || kind_of(p, end) == kind
		|| (kind == PIECE_SAME && kind_of(p, end) == PIECE_EMPTY)))
		end++;
	return end;
}

static void
run_graph(struct replay *r, const struct replay_pass *p, struct gpu_graph **graph, size_t begin,
	size_t end)
{
	r->gpu->begin(*graph);
	p->run(p->r, begin, end);
	if (r->gpu->end(graph))
		return;
	r->is_refused = 1;
	p->run(p->r, begin, end);
}

/* s NULL: it is no shape for graphs. */
static void
run_piece(struct replay *r, const struct replay_pass *p, struct shape *s, size_t begin, size_t end)
{
	struct gpu_graph **const graph = s != NULL ? &s->graph[begin] : NULL;

	if (s != NULL && kind_of(p, begin) == PIECE_SAME && (!r->is_refused || *graph != NULL))
		run_graph(r, p, graph, begin, end);
	else
		p->run(p->r, begin, end);
}

void
replay_run(struct replay *r, const struct replay_pass *p)
{
	struct shape *const noted = r == NULL ? NULL : note_shape(r, p);
	struct shape *const s = noted != NULL && noted->n_seen > 1 ? noted : NULL;
	size_t end;

	for (size_t begin = 0; begin < op_graph(p->r)->n_nodes; begin = end) {
		end = piece_end(p, begin, s == NULL);
		run_piece(r, p, s, begin, end);
		if (is_wanted(p, end))
			p->passed(p->r, end);
	}
}
