/* plan: what a run would do, where everything would go, how much that is, and why. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cmd/bench_data.h"
#include "cmd/bench_limit.h"
#include "cmd/cache_files.h"
#include "cmd/command.h"
#include "cmd/session.h"
#include "data/fit.h"
#include "data/range.h"
#include "data/source.h"
#include "place/placement.h"

#define SAMPLE_DEFAULT 8
#define PLAN_TEXT_MAX  ((size_t)16 << 20)
#define GEMM_ROUNDS    3
/* What training reaches of the speed of its matrix products, about. */
#define OF_THE_LIMIT   0.85

struct planning {
	const struct arguments *a;
	struct model *shape;
	struct sampler *sampler;
	struct bench_batches batches;
	struct placement placement;
	struct gpu_memory gpu;
	const char *why_device;            /* the GPU's name, or why none; or NULL        */
	uint64_t n_files, file_bytes;
	uint64_t n_cached, cache_bytes;    /* files of parsed rows that may serve        */
	char   **file;                     /* [n_files] whole names                      */
	int64_t  sample;
};

static enum rs_status
count_cached(void *context, const struct cache_file *file)
{
	struct planning *p = context;

	for (uint64_t i = 0; file->source != NULL && i < p->n_files; i++)
		if (strcmp(p->file[i], file->source) == 0 &&
		    (file->state == CACHE_SAME || file->state == CACHE_UNSURE)) {
			p->n_cached++;
			p->cache_bytes += file->bytes;
		}
	return RS_OK;
}

static enum rs_status
count_files(struct planning *p)
{
	const struct data_settings *data = &spec_settings(p->shape->spec)->data;
	struct stat st;
	char **path;
	size_t n;

	if (spec_reads_a_stream(data))
		return RS_OK;
	RS_TRY(source_expand(&data->train, &path, &n));
	for (size_t i = 0; i < n; i++) {
		char *const whole = realpath(path[i], NULL);

		if (range_stat(path[i], &st) == 0)
			p->file_bytes += (uint64_t)st.st_size;
		if (whole != NULL) {
			free(path[i]);
			path[i] = whole;
		}
	}
	p->file = path;
	p->n_files = n;
	return cache_files_each(data->cache, count_cached, p);
}

/* Steps a second of all workers, from the time of the matrix products alone. */
static enum rs_status
guess_speed(struct planning *p)
{
	struct placement *const q = &p->placement;
	const size_t threads = q->n_workers * q->n_threads;
	struct bench_gemm gemm;
	double best = INFINITY;

	RS_TRY(bench_gemm_open(&gemm, p->shape, &p->batches));
	for (int i = 0; i < GEMM_ROUNDS && gemm.n > 0; i++)
		best = fmin(best, bench_gemm_run(&gemm));
	bench_gemm_close(&gemm);
	if (isfinite(best) && best > 0)
		q->steps_a_second = OF_THE_LIMIT * (double)threads / best;
	return RS_OK;
}

static enum rs_status
measure(struct planning *p)
{
	const uint64_t batch = (uint64_t)spec_settings(p->shape->spec)->train.batch_size;

	if (p->sample == 0 || spec_reads_a_stream(&spec_settings(p->shape->spec)->data))
		return RS_OK;
	RS_TRY(bench_sampler_open(p->shape, &p->sampler));
	RS_TRY(bench_batches_read(p->shape, p->sampler, (uint64_t)p->sample * batch, 1,
		&p->batches));
	const struct placement_sample sample = { .batch = p->batches.batch,
		.n = p->batches.n, .rows = p->batches.rows, .text_bytes = p->batches.text_bytes };

	RS_TRY(placement_measure(&p->placement, p->shape, &sample));
	return guess_speed(p);
}

static enum rs_status
print_json(const struct planning *p)
{
	const struct settings *s = spec_settings(p->shape->spec);
	enum rs_status status;
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '{');
	json_string(&j, "message_type", "plan");
	json_string(&j, "model", s->model.type);
	json_int(&j, "files", (int64_t)p->n_files);
	json_int(&j, "file_bytes", (int64_t)p->file_bytes);
	json_int(&j, "cached_files", (int64_t)p->n_cached);
	json_int(&j, "cache_bytes", (int64_t)p->cache_bytes);
	json_string(&j, "device", session_device_name(&p->gpu));
	json_string(&j, "device_reason", p->why_device);
	json_string(&j, "tables_on", session_tables_name(p->shape));
	json_string(&j, "tables_on_reason",
		p->shape->why_tables[0] != '\0' ? p->shape->why_tables : NULL);
	json_int(&j, "sampled_batches", (int64_t)p->placement.n_sampled);
	placement_json(&p->placement, &j);
	json_close(&j);
	status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

static enum rs_status
print_text(const struct planning *p)
{
	const struct settings *s = spec_settings(p->shape->spec);
	struct buffer text;
	enum rs_status status;

	buffer_init(&text, PLAN_TEXT_MAX);
	status = buffer_printf(&text, "inputs     %s\n", spec_reads_a_stream(&s->data) ?
		"a stream, read once" : "");
	if (p->n_files > 0) {
		text.n = 0;
		status = buffer_printf(&text, "inputs     %llu file%s, %.1f MiB\n",
			(unsigned long long)p->n_files, p->n_files == 1 ? "" : "s",
			(double)p->file_bytes / (1 << 20));
	}
	if (status == RS_OK && s->data.cache[0] != '\0')
		status = buffer_printf(&text, "cache      %llu file%s of parsed rows, %.1f MiB\n",
			(unsigned long long)p->n_cached, p->n_cached == 1 ? "" : "s",
			(double)p->cache_bytes / (1 << 20));
	if (status == RS_OK && p->why_device != NULL)
		status = buffer_printf(&text, "device     %s: %s\n",
			session_device_name(&p->gpu), p->why_device);
	if (status == RS_OK && p->shape->why_tables[0] != '\0')
		status = buffer_printf(&text, "tables     %s: %s\n",
			session_tables_name(p->shape), p->shape->why_tables);
	if (status == RS_OK)
		status = placement_print(&p->placement, argument_given(p->a, "--verbose"), &text);
	if (status == RS_OK)
		status = output_text(text.data, text.n);
	buffer_free(&text);
	return status;
}

static enum rs_status
make_plan(struct planning *p)
{
	struct placement_host host;

	placement_host_here(&host);
	session_tell_gpus(&p->gpu, p->why_device, &host);
	RS_TRY(count_files(p));
	RS_TRY(placement_make(p->shape, &host, &p->placement));
	RS_TRY(measure(p));
	RS_TRY(command_json(p->a) ? print_json(p) : print_text(p));
	return output_flush();
}

/* Takes the spec. */
static enum rs_status
make_shape(struct planning *p, struct spec *spec)
{
	const int64_t threads = spec_settings(spec)->train.threads;
	const char *why;
	struct model_options options = { .for_training = 1, .shape_only = 1,
		.n_threads = threads > 0 ? (size_t)threads : thread_auto_count(&why),
		.tables = spec_settings(spec)->gpu.tables };
	enum rs_status status = session_device(spec_settings(spec), &p->gpu, &p->why_device);

	options.gpu = p->gpu.gpu != NULL ? &p->gpu : NULL;

	if (status == RS_OK && p->sample > 0 && fit_needed(spec_settings(spec)) &&
		!spec_reads_a_stream(&spec_settings(spec)->data))
		status = fit_run(spec, NULL);
	if (status != RS_OK) {
		spec_free(spec);
		return status;
	}
	return model_create(spec, &options, &p->shape);
}

static enum rs_status
plan_command(const struct arguments *a)
{
	struct planning p = { .a = a, .sample = SAMPLE_DEFAULT };
	enum rs_status status;
	struct spec *spec;

	RS_TRY(argument_int(a, "--sample", 0, 1 << 20, &p.sample));
	RS_TRY(session_spec(a, &spec));
	status = make_shape(&p, spec);
	if (status == RS_OK)
		status = make_plan(&p);
	placement_free(&p.placement);
	bench_batches_free(&p.batches);
	for (uint64_t i = 0; i < p.n_files; i++)
		free(p.file[i]);
	free(p.file);
	sampler_free(p.sampler);
	model_free(p.shape);
	return status;
}

static const struct command_option option[] = {
	{ .name = "--data", .letter = 'd', .argument = "DATA", .repeats = 1,
		.text = "Training file or pattern instead of data.train." },
	{ .name = "--workers", .argument = "N", .text = "Worker processes instead of "
		"cluster.workers." },
	{ .name = "--ps", .argument = "N", .text = "Parameter server shards instead of "
		"cluster.ps." },
	{ .name = "--sample", .argument = "N", .dflt = "8",
		.text = "Batches of the training data that are read for the traffic of a step; 0: "
			"none." },
	{ .name = NULL },
};

const struct command command_plan = {
	.name = "plan",
	.synopsis = "SPEC [-d DATA]... [--workers N] [--ps N] [--sample N]",
	.text = "Say what a run would do, where everything goes, and why.",
	.option = option,
	.run = plan_command,
};
