/* What a run may take of the memory of GPUs. */
#include "kernel/gpu.h"

#include <stdio.h>

enum { TEXT_MAX = 32 };

static const char *
text_of(size_t bytes, char text[TEXT_MAX])
{
	if (bytes < (size_t)1 << 30)
		snprintf(text, TEXT_MAX, "%.1f MiB", (double)bytes / 0x1p20);
	else
		snprintf(text, TEXT_MAX, "%.1f GiB", (double)bytes / 0x1p30);
	return text;
}

size_t
gpu_memory_places(const struct gpu_memory *m)
{
	return m->n_devices > 0 ? m->n_devices : 1;
}

void
gpu_memory_deal(struct gpu_memory *m, size_t i, size_t n)
{
	const size_t N = gpu_memory_places(m);
	size_t k = 0;

	for (size_t at = i % N; at < N && (k == 0 || n < N); at += n > 0 ? n : 1)
		m->device[k++] = m->device[at];
	m->n_devices = k;
}

struct lack {
	size_t wanted, there, place;
	int    is_limit;
};

static enum rs_status
fail_too_much(const struct gpu_memory *m, const struct lack *l)
{
	char want[TEXT_MAX], has[TEXT_MAX], which[16] = "";

	if (gpu_memory_places(m) > 1)
		snprintf(which, sizeof(which), " %d", m->device[l->place]);
	rs_fail(RS_ERESOURCE, "GPU%s: training wants %s of its memory, %s %s", which,
		text_of(l->wanted, want), l->is_limit ? "gpu.memory_limit is" : "free are",
		text_of(l->there, has));
	return rs_hint("less is needed with a smaller train.batch_size, with more train.slots, "
		"with a smaller max_length of fields, with fewer threads or with "
		"gpu.tables = host; none with placement.device = cpu");
}

enum rs_status
gpu_memory_check(struct gpu_memory *m, const size_t *bytes)
{
	for (size_t i = 0; i < gpu_memory_places(m); i++) {
		const size_t used = atomic_load(&m->used_of[i]);
		struct lack l = { .wanted = bytes[i], .place = i };

		RS_TRY(m->gpu->memory(m->device[i], &l.there));
		l.is_limit = m->limit > 0 && m->limit < l.there + used;
		if (l.is_limit) {
			l.there = m->limit;
			l.wanted += used;
		}
		if (l.wanted > l.there)
			return fail_too_much(m, &l);
	}
	return RS_OK;
}

static void
give_back(struct gpu_memory *m, size_t place, size_t bytes)
{
	atomic_fetch_sub(&m->used_of[place], bytes);
	atomic_fetch_sub(&m->used, bytes);
}

/* Counts bytes, or does not. */
static enum rs_status
take(struct gpu_memory *m, size_t place, size_t bytes)
{
	const struct lack l = { .wanted = atomic_fetch_add(&m->used_of[place], bytes) + bytes,
		.there = m->limit, .place = place, .is_limit = 1 };

	atomic_fetch_add(&m->used, bytes);
	if (m->limit == 0 || l.wanted <= m->limit)
		return RS_OK;
	give_back(m, place, bytes);
	return fail_too_much(m, &l);
}

enum rs_status
gpu_memory_open(struct gpu_memory *m, size_t place, struct gpu_plan *plan,
	struct gpu_queue **out, char **block)
{
	const size_t bytes = m->gpu->size(plan);

	plan->device = m->device[place];
	RS_TRY(take(m, place, bytes));
	const enum rs_status status = m->gpu->open(plan, out, block);
	if (status != RS_OK)
		give_back(m, place, bytes);
	return status;
}

void
gpu_memory_close(struct gpu_memory *m, const struct gpu_plan *plan, struct gpu_queue *q)
{
	size_t place = 0;

	while (m->device[place] != plan->device)
		place++;
	m->gpu->close(q);
	give_back(m, place, m->gpu->size(plan));
}

enum rs_status
gpu_memory_alloc(struct gpu_memory *m, size_t place, size_t bytes, void *out)
{
	RS_TRY(take(m, place, bytes));
	const enum rs_status status = m->gpu->alloc(m->device[place], bytes, out);
	if (status != RS_OK)
		give_back(m, place, bytes);
	return status;
}

void
gpu_memory_free(struct gpu_memory *m, size_t place, void *p, size_t bytes)
{
	m->gpu->free(p);
	give_back(m, place, bytes);
}
