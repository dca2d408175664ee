/* Whole tables between shards and files: rows with their state, in pieces. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "embed/row_optimizer.h"
#include "embed/table_file.h"
#include "remote/lookup_private.h"

#define SNAP_BYTES    ((size_t)1 << 20)     /* of rows in one call                     */
#define N_AHEAD       8                     /* calls under way                         */

/* Rows of one part, asked for or set in one call. */
struct snap {
	struct client_call call;
	uint64_t begin;
	size_t n, part;
	struct body_rows head;
	float *weights, *slots;     /* [most, dim], [most, n_slot]: what is set        */
	uint8_t *touched;           /* [most]                                          */
};

/* Walks through the rows of a table with several calls under way. */
struct walk {
	struct remote_lookup *l;
	size_t table, dim, n_slot, most;
	struct snap snap[N_AHEAD];
	size_t first, n_busy;       /* a ring: the oldest call, and how many           */
	uint64_t next;              /* row that the next call begins at                */
	uint8_t *bits;              /* [(rows + 7) / 8] touched                        */
};

static void
walk_free(struct walk *w)
{
	for (; w->n_busy > 0; w->n_busy--, w->first = (w->first + 1) % N_AHEAD) {
		struct client_call *call = &w->snap[w->first].call;

		client_drop(w->l->o.client, &call, 1);
		if (client_is_done(call))
			wire_message_free(&call->reply);
	}
	for (size_t i = 0; i < N_AHEAD; i++) {
		free(w->snap[i].weights);
		free(w->snap[i].slots);
		free(w->snap[i].touched);
	}
	free(w->bits);
	free(w);
}

static enum rs_status
walk_begin(struct remote_lookup *l, size_t table, struct walk **out)
{
	const struct lookup_table *t = &l->table[table];
	struct walk *w;
	enum rs_status status = RS_OK;

	RS_TRY(lookup_wire_wait(l, 0));
	RS_TRY(memory_alloc(1, sizeof(*w), &w));
	w->l = l;
	w->table = table;
	w->dim = t->dim;
	w->n_slot = row_optimizer_slots(row_optimizer_get(t->optimizer.kind), t->dim);
	w->most = SNAP_BYTES / sizeof(float) / (w->dim + w->n_slot);
	w->most = w->most > 0 ? w->most : 1;
	for (size_t i = 0; i < N_AHEAD && status == RS_OK; i++) {
		struct snap *s = &w->snap[i];

		status = memory_alloc(w->most * w->dim + 1, sizeof(float), &s->weights);
		if (status == RS_OK)
			status = memory_alloc(w->most * w->n_slot + 1, sizeof(float), &s->slots);
		if (status == RS_OK)
			status = memory_alloc(w->most + 1, 1, &s->touched);
	}
	if (status == RS_OK)
		status = memory_alloc((size_t)(t->rows + 7) / 8 + 1, 1, &w->bits);
	if (status != RS_OK) {
		walk_free(w);
		return status;
	}
	*out = w;
	return RS_OK;
}

/* Where the call for the rows from w->next on goes, and how many it may have. */
static void
next_rows(const struct walk *w, uint64_t end, struct snap *s)
{
	size_t p = w->l->parts.first[w->table];

	while (w->l->parts.part[p].end <= w->next)
		p++;
	if (w->l->parts.part[p].end < end)
		end = w->l->parts.part[p].end;
	s->part = p;
	s->begin = w->next;
	s->n = end - w->next < w->most ? (size_t)(end - w->next) : w->most;
}

static enum rs_status
send(struct walk *w, struct snap *s, uint16_t type)
{
	struct client_call *c = &s->call;

	s->head = (struct body_rows){
		.table = (uint32_t)w->table, .n = (uint32_t)s->n, .begin = s->begin,
		.dim = (uint32_t)w->dim, .n_slot = (uint32_t)w->n_slot,
	};
	memset(c, 0, sizeof(*c));
	c->server = w->l->parts.part[s->part].shard;
	c->frame = (struct frame){ .type = type, .slot = (uint32_t)w->l->o.rank,
		.step = w->l->clock };
	c->part[c->n_parts++] = (struct frame_part){ &s->head, sizeof(s->head) };
	if (type == FRAME_SNAP_PUT) {
		c->part[c->n_parts++] = (struct frame_part){ s->weights,
			s->n * w->dim * sizeof(float) };
		c->part[c->n_parts++] = (struct frame_part){ s->slots,
			s->n * w->n_slot * sizeof(float) };
		c->part[c->n_parts++] = (struct frame_part){ s->touched, s->n };
	}
	RS_TRY(client_send(w->l->o.client, c));
	w->next += s->n;
	w->n_busy++;
	return RS_OK;
}

/* The oldest call's answer; its place in the ring is then free. */
static enum rs_status
take(struct walk *w, struct snap **out)
{
	struct snap *s = &w->snap[w->first];
	struct client_call *call = &s->call;
	enum rs_status status = client_wait(w->l->o.client, &call, 1);

	w->first = (w->first + 1) % N_AHEAD;
	w->n_busy--;
	if (status == RS_OK)
		status = lookup_wire_want(call, FRAME_SNAP_R);
	if (status != RS_OK && client_is_done(call))
		wire_message_free(&call->reply);
	*out = s;
	return status;
}

/* Copies n bytes at `from` of a body that came in parts; 0: there are not so many. */
static int
body_copy(const struct wire_message *m, size_t from, size_t n, void *to)
{
	char *at = to;

	for (size_t i = 0; i < m->n_parts && n > 0; i++) {
		const struct frame_part *part = &m->part[i];

		if (from >= part->n) {
			from -= part->n;
			continue;
		}
		const size_t step = part->n - from < n ? part->n - from : n;

		memcpy(at, (const char *)part->data + from, step);
		at += step;
		n -= step;
		from = 0;
	}
	return n == 0;
}

/* The next rows with their state, up to `end`, with others asked for meanwhile. */
static enum rs_status
get_rows(struct walk *w, uint64_t end, struct snap **out)
{
	size_t at = sizeof(struct body_rows);
	struct body_rows head;
	struct snap *s;
	int whole;

	while (w->next < end && w->n_busy < N_AHEAD) {
		s = &w->snap[(w->first + w->n_busy) % N_AHEAD];
		next_rows(w, end, s);
		RS_TRY(send(w, s, FRAME_SNAP_GET));
	}
	RS_TRY(take(w, out));
	s = *out;
	whole = body_copy(&s->call.reply, 0, sizeof(head), &head)
	    && memcmp(&head, &s->head, sizeof(head)) == 0
	    && body_copy(&s->call.reply, at, s->n * w->dim * sizeof(float), s->weights);
	at += s->n * w->dim * sizeof(float);
	whole = whole && body_copy(&s->call.reply, at, s->n * w->n_slot * sizeof(float), s->slots);
	at += s->n * w->n_slot * sizeof(float);
	whole = whole && body_copy(&s->call.reply, at, s->n, s->touched)
	    && s->call.reply.frame.body_bytes == at + s->n;
	wire_message_free(&s->call.reply);
	if (whole)
		return RS_OK;
	return rs_fail(RS_EPROTOCOL, "ps %zu: rows of table '%s' in an answer are not those "
		"asked for", s->call.server, w->l->table[w->table].name);
}

/* A row read from every shard says that all steps pushed are applied there. */
static enum rs_status
walk_settle(struct walk *w)
{
	struct snap *s;

	for (size_t p = w->l->parts.first[w->table]; p < w->l->parts.first[w->table + 1]; p++) {
		w->next = w->l->parts.part[p].begin;
		RS_TRY(get_rows(w, w->next + 1, &s));
	}
	return RS_OK;
}

static enum rs_status
put_wait(struct walk *w)
{
	struct snap *s;

	RS_TRY(take(w, &s));
	wire_message_free(&s->call.reply);
	return RS_OK;
}

/* --- saving ---------------------------------------------------------------------------- */

/* Rows come in the pieces of the walk, the file wants its own. */
struct saving { struct walk *w; struct snap *at; size_t used; uint64_t rows; };

static enum rs_status
save_floats(struct saving *f, uint64_t id, size_t n, int slots, float *out)
{
	struct walk *w = f->w;
	const size_t width = slots ? w->n_slot : w->dim;

	if (id == 0) {
		w->next = 0;
		f->at = NULL;
	}
	while (n > 0) {
		if (f->at == NULL || f->used == f->at->n) {
			RS_TRY(get_rows(w, f->rows, &f->at));
			f->used = 0;
			for (size_t i = 0; i < f->at->n; i++)
				if (f->at->touched[i])
					w->bits[(f->at->begin + i) / 8] |=
						(uint8_t)(1 << (f->at->begin + i) % 8);
		}
		const size_t left = f->at->n - f->used, step = left < n ? left : n;
		const float *from = (slots ? f->at->slots : f->at->weights) + f->used * width;

		memcpy(out, from, step * width * sizeof(*out));
		out += step * width;
		f->used += step;
		n -= step;
	}
	return RS_OK;
}

static enum rs_status
save_weights(void *context, uint64_t id, size_t n, float *out)
{
	return save_floats(context, id, n, 0, out);
}

static enum rs_status
save_slots(void *context, uint64_t id, size_t n, float *out)
{
	return save_floats(context, id, n, 1, out);
}

static enum rs_status
save_touched(void *context, const uint8_t **out)
{
	*out = ((struct saving *)context)->w->bits;
	return RS_OK;
}

static struct table_file_shape
shape_of(const struct walk *w)
{
	const struct lookup_table *t = &w->l->table[w->table];

	return (struct table_file_shape){
		.name = t->name, .optimizer = row_optimizer_get(t->optimizer.kind)->name,
		.rows = t->rows, .end = t->rows, .dim = w->dim, .n_slot = w->n_slot,
	};
}

enum rs_status
lookup_files_save(struct lookup *base, size_t table, struct file_writer *file)
{
	struct remote_lookup *l = lookup_of(base);
	struct saving f = { .rows = l->table[table].rows };
	enum rs_status status;

	if (l->late.status != RS_OK)
		return rs_failure_put(&l->late);
	RS_TRY(walk_begin(l, table, &f.w));
	const struct table_file_shape shape = shape_of(f.w);
	const struct table_file_source from = {
		.weights = save_weights, .slots = save_slots, .touched = save_touched,
		.context = &f, .n_most = f.w->most,
	};
	status = table_file_stream(&shape, &from, file);
	walk_free(f.w);
	return status;
}

/* --- loading --------------------------------------------------------------------------- */

static void
init_slots(const struct walk *w, float *slots, size_t n)
{
	const struct row_optimizer_settings *o = &w->l->table[w->table].optimizer;

	for (size_t i = 0; i < n; i++)
		row_optimizer_init(row_optimizer_get(o->kind), o, w->dim, slots + i * w->n_slot);
}

struct loading { struct walk *w; int anew; };

static enum rs_status
load_piece(void *context, const struct table_file_piece *p)
{
	struct loading *f = context;
	struct walk *w = f->w;

	w->next = p->begin;
	while (w->next < p->end) {
		struct snap *s;
		uint64_t i;

		if (w->n_busy == N_AHEAD)
			RS_TRY(put_wait(w));
		s = &w->snap[(w->first + w->n_busy) % N_AHEAD];
		next_rows(w, p->end, s);
		i = s->begin - p->begin;
		memcpy(s->weights, p->weights + i * w->dim, s->n * w->dim * sizeof(float));
		if (p->slots != NULL)
			memcpy(s->slots, p->slots + i * w->n_slot,
				s->n * w->n_slot * sizeof(float));
		else
			init_slots(w, s->slots, s->n);
		for (size_t k = 0; k < s->n; k++)
			s->touched[k] = p->touched[(i + k) / 8] >> ((i + k) % 8) & 1;
		RS_TRY(send(w, s, FRAME_SNAP_PUT));
	}
	f->anew |= p->slots == NULL && w->n_slot > 0;
	while (w->n_busy > 0)
		RS_TRY(put_wait(w));
	return RS_OK;
}

enum rs_status
lookup_files_load(struct lookup *base, size_t table, const char *const *path, size_t n_paths)
{
	struct remote_lookup *l = lookup_of(base);
	struct loading f = { 0 };
	enum rs_status status;

	if (l->late.status != RS_OK)
		return rs_failure_put(&l->late);
	RS_TRY(walk_begin(l, table, &f.w));
	const struct table_file_shape shape = shape_of(f.w);
	status = walk_settle(f.w);
	if (status == RS_OK)
		status = table_file_visit(&shape, path, n_paths, load_piece, &f);
	walk_free(f.w);
	if (status == RS_OK && f.anew && !l->warned) {
		log_warn(
			"the model saved has no %s state for table '%s': it starts anew, there and "
			"in other tables without",
			shape.optimizer, shape.name);
		l->warned = 1;
	}
	return status;
}

/* Reads a piece and writes it back with slots as at the start, one after the other. */
static enum rs_status
reset_rows(struct walk *w)
{
	const uint64_t rows = w->l->table[w->table].rows;

	for (uint64_t id = 0; id < rows;) {
		struct snap *s;

		w->next = id;
		next_rows(w, rows, &w->snap[w->first]);
		RS_TRY(get_rows(w, id + w->snap[w->first].n, &s));
		id += s->n;
		init_slots(w, s->slots, s->n);
		w->first = (size_t)(s - w->snap);
		RS_TRY(send(w, s, FRAME_SNAP_PUT));
		RS_TRY(put_wait(w));
	}
	return RS_OK;
}

void
lookup_files_reset_state(struct lookup *base, size_t table)
{
	struct remote_lookup *l = lookup_of(base);
	const struct row_optimizer *o = row_optimizer_get(l->table[table].optimizer.kind);
	struct walk *w;
	enum rs_status status;

	if (l->late.status != RS_OK || row_optimizer_slots(o, l->table[table].dim) == 0)
		return;
	status = walk_begin(l, table, &w);
	if (status == RS_OK) {
		status = reset_rows(w);
		walk_free(w);
	}
	if (status != RS_OK)
		rs_failure_take(&l->late);  /* the next fetch, load or save tells         */
}
