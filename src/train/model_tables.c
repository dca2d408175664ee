/* Where the tables of a run that trains on a GPU are, and why. */
#include "train/model_tables.h"

#include <stdio.h>
#include <string.h>

#include "train/ranks.h"
#include "train/step.h"

/* Of a step, as many as the spec says there can be. */
static void
most_occurrences(const struct model *m, size_t rows, size_t *n)
{
	for (size_t i = 0; i < graph_n_inputs(m->graph); i++) {
		const size_t ids = graph_input(m->graph, i)->max_ids;

		n[graph_input(m->graph, i)->table] += rows * (ids > 0 ? ids : 1);
	}
}

static void
plan_occurrences(const struct model *m, size_t n_threads, size_t *n,
	struct lookup_device_options *o)
{
	const struct step_rows rows = step_fetch_rows(m, n_threads);
	const int is_one = gpu_memory_places(m->gpu) == 1;

	most_occurrences(m, is_one ? (size_t)spec_settings(m->spec)->train.batch_size : rows.all,
		n);
	most_occurrences(m, rows.one, n + m->n_tables);
	o->n = n;
	o->n_there = n + m->n_tables;
	o->n_pieces = rows.pieces;
}

/* Why not, but for memory; NULL: they can be there. */
static const char *
refusal(const struct model *m, enum gpu_tables wanted, char text[DEVICE_WHY_MAX])
{
	if (wanted == GPU_TABLES_HOST)
		return "gpu.tables = host";
	if (m->place != NULL || ranks_wanted(spec_settings(m->spec)))
		return "the run has several processes";
	return lookup_device_takes(m->table, m->n_tables, text) ? NULL : text;
}

/* Those that train, and others beside them or 0. */
struct model_threads { size_t n[2]; };

/* With rows there the network takes less for copies, and more for gradients. */
static enum rs_status
check_memory(struct model *m, const struct lookup_device_options *o,
	const struct model_threads *threads, size_t *bytes)
{
	graph_set_rows_there(m->graph, 1);
	RS_TRY(lookup_device_bytes(o, bytes));
	return step_check_gpu(m, threads->n, threads->n[1] > 0 ? 2 : 1, *bytes);
}

static void
set_reason(struct model *m, const char *text)
{
	snprintf(m->why_tables, sizeof(m->why_tables), "%s", text);
}

static enum rs_status
stay_on_host(struct model *m, enum gpu_tables wanted, enum rs_status status, const char *why)
{
	graph_set_rows_there(m->graph, 0);
	set_reason(m, why);
	if (wanted != GPU_TABLES_GPU)
		return RS_OK;
	rs_fail(status, "gpu.tables = gpu: %s", m->why_tables);
	return rs_hint("set gpu.tables = auto or host to train with tables on the host");
}

/* That of the GPU, which is another process's or gone. */
static int
is_lack(enum rs_status status)
{
	return status == RS_ERESOURCE || status == RS_EPEER;
}

/* By the failure just recorded. */
static enum rs_status
stay_for_lack(struct model *m, enum gpu_tables wanted, enum rs_status status)
{
	char text[DEVICE_WHY_MAX];

	snprintf(text, sizeof(text), "%.*s", DEVICE_WHY_MAX - 1, rs_failure()->text);
	return stay_on_host(m, wanted, status, text);
}

static enum rs_status
open_there(struct model *m, const struct lookup_device_options *options)
{
	struct lookup_device_options o = *options;

	if (gpu_memory_places(o.gpu) > 1)
		RS_TRY(o.gpu->mesh->open(o.gpu, &o.mesh));
	return lookup_device_open(&o, &m->lookup);
}

enum rs_status
model_open_there(struct model *m, enum gpu_tables wanted, const struct lookup_device_options *o)
{
	const enum rs_status status = open_there(m, o);

	if (!is_lack(status))
		return status;
	RS_TRY(stay_for_lack(m, wanted, status));
	return lookup_local_open(&o->local, &m->lookup);
}

/* Whether several GPUs can be joined, as far as can be told before. */
static enum rs_status
check_mesh(const struct gpu_memory *gpu)
{
	char text[DEVICE_WHY_MAX];

	if (gpu->mesh == NULL)
		return rs_fail(RS_EPEER, "nothing joins the GPUs that train");
	if (gpu->mesh->check() == RS_OK)
		return RS_OK;
	snprintf(text, sizeof(text), "%.200s", rs_failure()->text);
	return rs_fail(RS_EPEER, "several GPUs train, and %s", text);
}

/* Room, and GPUs that may be joined. */
static enum rs_status
check_place(struct model *m, const struct model_threads *threads,
	const struct lookup_device_options *o)
{
	const size_t n = gpu_memory_places(m->gpu);
	char text[DEVICE_WHY_MAX];
	size_t bytes;

	if (n > 1)
		RS_TRY(check_mesh(m->gpu));
	RS_TRY(check_memory(m, o, threads, &bytes));
	if (n > 1)
		snprintf(text, sizeof(text), "they are spread over %zu GPUs and take %.1f MiB of "
			"each", n, (double)bytes / 0x1p20);
	else
		snprintf(text, sizeof(text), "they take %.1f MiB of its memory",
			(double)bytes / 0x1p20);
	set_reason(m, text);
	return RS_OK;
}

enum rs_status
model_place_tables(struct model *m, const struct model_options *options, size_t *n,
	struct lookup_device_options *o)
{
	const struct settings *s = spec_settings(m->spec);
	const enum gpu_tables wanted = options->tables;
	const struct model_threads threads = { {
		model_workers(s, options->n_threads > 0 ? options->n_threads : 1),
		model_workers(s, options->n_more_threads),
	} };
	char text[DEVICE_WHY_MAX];

	if (m->gpu == NULL || !o->local.for_training)
		return RS_OK;
	const char *why = refusal(m, wanted, text);
	if (why != NULL)
		return stay_on_host(m, wanted, RS_ESPEC, why);
	o->gpu = m->gpu;
	plan_occurrences(m, threads.n[0], n, o);
	const enum rs_status status = check_place(m, &threads, o);
	return is_lack(status) ? stay_for_lack(m, wanted, status) : status;
}
