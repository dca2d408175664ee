/* What a run may take of a GPU's memory. */
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

static enum rs_status
fail_too_much(size_t wanted, size_t there, int is_limit)
{
	char want[TEXT_MAX], has[TEXT_MAX];

	rs_fail(RS_ERESOURCE, "GPU: the dense network wants %s of its memory, %s %s",
		text_of(wanted, want), is_limit ? "gpu.memory_limit is" : "free are",
		text_of(there, has));
	return rs_hint("less is needed with a smaller train.batch_size, with more train.slots, "
		"with a smaller max_length of fields or with fewer threads; "
		"none with placement.device = cpu");
}

enum rs_status
gpu_memory_check(struct gpu_memory *m, const struct gpu_plan *plan, size_t n)
{
	const size_t wanted = n * m->gpu->size(plan);
	size_t there;

	RS_TRY(m->gpu->memory(&there));
	const int is_limit = m->limit > 0 && m->limit < there;

	if (is_limit)
		there = m->limit;
	return wanted > there ? fail_too_much(wanted, there, is_limit) : RS_OK;
}

enum rs_status
gpu_memory_open(struct gpu_memory *m, const struct gpu_plan *plan, struct gpu_queue **out,
	char **block)
{
	const size_t bytes = m->gpu->size(plan);
	const size_t used = atomic_fetch_add(&m->used, bytes) + bytes;
	const enum rs_status status = m->limit > 0 && used > m->limit
		? fail_too_much(used, m->limit, 1) : m->gpu->open(plan, out, block);

	if (status != RS_OK)
		atomic_fetch_sub(&m->used, bytes);
	return status;
}

void
gpu_memory_close(struct gpu_memory *m, const struct gpu_plan *plan, struct gpu_queue *q)
{
	m->gpu->close(q);
	atomic_fetch_sub(&m->used, m->gpu->size(plan));
}
