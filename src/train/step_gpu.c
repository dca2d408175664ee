/* What the steps of a run take of a GPU's memory. */
#include <assert.h>

#include "reduce/gpu_sums.h"
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

size_t
step_place(const struct model *m, size_t n_workers, size_t worker)
{
	const size_t N = m->gpu == NULL ? 1 : gpu_memory_places(m->gpu);

	return worker * (N < n_workers ? N : n_workers) / n_workers;
}

size_t
step_slot_place(const struct model *m, size_t n_workers, size_t slot)
{
	size_t begin, end, worker = n_workers - 1;

	ranks_share(m->place, model_slots(spec_settings(m->spec)), &begin, &end);
	assert(begin <= slot && slot < end);
	while (slot < begin + (end - begin) * worker / n_workers)
		worker--;
	return step_place(m, n_workers, worker);
}

struct gpu_memory *
step_sums_gpu(const struct model *m)
{
	const int takes_them = m->gpu != NULL && ranks_several(m->place)
		&& m->place->exchange->gpu == m->gpu;

	return takes_them ? m->gpu : NULL;
}

/* Chunks of a prediction are those of the workers in turn. */
static size_t
chunks_at(const struct model *m, size_t n_workers, size_t place)
{
	size_t n = 0;

	for (size_t k = 0; k < STEP_FETCH_CHUNKS; k++)
		n += step_place(m, n_workers, k % n_workers) == place;
	return n;
}

struct step_rows
step_fetch_rows(const struct model *m, size_t n_workers)
{
	const size_t n_slots = model_slots(spec_settings(m->spec));
	const size_t chunks = STEP_FETCH_CHUNKS * STEP_PREDICT_CHUNK;
	const size_t rows = contrast_needed(spec_settings(m->spec)) ? contrast_rows(m, n_slots)
		: step_slot_rows(m);
	struct step_rows out = {
		.pieces = n_slots > STEP_FETCH_CHUNKS ? n_slots : STEP_FETCH_CHUNKS,
		.all = n_slots * rows > chunks ? n_slots * rows : chunks,
	};
	size_t begin, end;

	ranks_share(m->place, n_slots, &begin, &end);
	for (size_t i = 0; m->gpu != NULL && i < gpu_memory_places(m->gpu); i++) {
		const size_t at_once = chunks_at(m, n_workers, i) * STEP_PREDICT_CHUNK;
		size_t own = 0;

		for (size_t slot = begin; slot < end; slot++)
			own += step_slot_place(m, n_workers, slot) == i ? rows : 0;
		out.one = own > out.one ? own : out.one;
		out.one = at_once > out.one ? at_once : out.one;
	}
	return out;
}

/* Threads have an exec each, and of a loss over many items slots; gradients of rows that stay
 * there are of a slot. */
struct step_sizes { size_t of_worker, of_slot; };

static enum rs_status
find_sizes(const struct model *m, struct step_sizes *out)
{
	const int compares = contrast_needed(spec_settings(m->spec));
	const size_t rows = compares ? contrast_rows(m, model_slots(spec_settings(m->spec)))
		: step_worker_rows(m);
	size_t of_exec = 0;

	RS_TRY(exec_gpu_bytes(m->graph, step_worker_rows(m), &out->of_worker));
	RS_TRY(row_grads_gpu_bytes(m->graph, rows, &out->of_slot));
	if (compares)
		RS_TRY(exec_gpu_bytes(m->graph, rows, &of_exec));
	out->of_slot += of_exec;
	return RS_OK;
}

static void
add_set(const struct model *m, const struct step_sizes *size, size_t n_workers, size_t *bytes)
{
	size_t begin, end;

	for (size_t i = 0; i < n_workers; i++)
		bytes[step_place(m, n_workers, i)] += size->of_worker;
	ranks_share(m->place, model_slots(spec_settings(m->spec)), &begin, &end);
	for (size_t slot = begin; slot < end; slot++)
		bytes[step_slot_place(m, n_workers, slot)] += size->of_slot;
	if (step_sums_gpu(m) != NULL)
		bytes[0] += gpu_sums_bytes(end - begin, m->P);
}

enum rs_status
step_check_gpu(const struct model *m, const size_t *n_workers, size_t n_sets, size_t tables)
{
	size_t bytes[GPU_DEVICES_MAX];
	struct step_sizes size;

	if (m->gpu == NULL)
		return RS_OK;
	RS_TRY(find_sizes(m, &size));
	for (size_t i = 0; i < gpu_memory_places(m->gpu); i++)
		bytes[i] = tables;
	for (size_t i = 0; i < n_sets; i++)
		add_set(m, &size, n_workers[i], bytes);
	return gpu_memory_check(m->gpu, bytes);
}
