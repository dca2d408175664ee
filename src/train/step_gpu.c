/* What the steps of a run take of a GPU's memory. */
#include "train/contrast.h"
#include "train/ranks.h"
#include "train/step_private.h"

size_t
step_slot_rows(const struct model *m)
{
	const struct settings *s = spec_settings(m->spec);
	const size_t n_slots = model_slots(s);

	return ((size_t)s->train.batch_size + n_slots - 1) / n_slots;
}

size_t
step_worker_rows(const struct model *m)
{
	const size_t rows = step_slot_rows(m);

	return rows > STEP_PREDICT_CHUNK ? rows : STEP_PREDICT_CHUNK;
}

/* Threads have an exec each, and of a loss over many items slots; gradients of rows that stay
 * there are of a slot. */
enum rs_status
step_check_gpu(const struct model *m, size_t n_workers, size_t tables)
{
	const size_t n_slots = model_slots(spec_settings(m->spec));
	const int compares = contrast_needed(spec_settings(m->spec));
	const size_t rows = compares ? contrast_rows(m, n_slots) : step_worker_rows(m);
	size_t begin, end;

	if (m->gpu == NULL)
		return RS_OK;
	ranks_share(m->place, n_slots, &begin, &end);
	struct gpu_claim claim[] = { { tables, 1 }, { .n = n_workers }, { .n = end - begin },
		{ .n = end - begin } };
	RS_TRY(exec_gpu_bytes(m->graph, step_worker_rows(m), &claim[1].bytes));
	if (compares)
		RS_TRY(exec_gpu_bytes(m->graph, rows, &claim[2].bytes));
	RS_TRY(row_grads_gpu_bytes(m->graph, rows, &claim[3].bytes));
	return gpu_memory_check(m->gpu, claim, sizeof(claim) / sizeof(claim[0]));
}
