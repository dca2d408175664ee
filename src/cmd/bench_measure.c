/* One model of bench: steps, files, parsing and the limits in turns. */
#include "cmd/bench_measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cmd/bench_data.h"
#include "cmd/bench_input.h"
#include "cmd/bench_limit.h"
#include "cmd/session.h"
#include "data/sampler.h"
#include "train/workers.h"

#define ROUNDS_MAX      4096
#define ROUNDS_MIN      3
#define WARM_UP         3          /* steps                                       */
#define STEPS_A_ROUND   3
#define STEPS_A_TURN    1          /* uncounted: threads wake, caches change hands */
#define INPUT_LIMIT     ((size_t)32 << 20)
#define FILE_EPOCHS     1000000
#define FILE_SHARE      0.25       /* of the seconds, for training from the file  */

/* One number of threads: seconds a batch, round by round. */
struct series {
	size_t threads;
	struct workers *workers;
	double batch_s[ROUNDS_MAX];
	double file_rows_per_s;
};

struct bench {
	const struct bench_request *request;
	char  *directory;              /* of the generated rows, NULL none            */
	struct model *model;
	struct sampler *sampler;       /* NULL: no items are drawn                    */
	struct bench_batches batches;
	struct bench_gemm gemm;
	double gemm_s[ROUNDS_MAX];
	size_t n_rounds, next_batch, n_cores;
	struct series *series;         /* [n_series] one thread first                 */
	size_t n_series;
	struct bench_input input[BENCH_INPUTS];
};

static const struct settings *
settings_of(const struct bench *b)
{
	return spec_settings(b->model->spec);
}

/* ---- what is measured --------------------------------------------------- */

static enum rs_status
make_data(struct bench *b)
{
	RS_TRY(bench_directory(&b->directory));
	return bench_data_write(
		b->directory, b->request->model, (uint64_t)b->request->rows);
}

static enum rs_status
load_spec(struct bench *b, struct spec **out)
{
	struct arguments own = *b->request->a;
	const char *positional[1];
	enum rs_status status;
	size_t n_used;
	char *path;

	if (b->request->model == NULL)
		return command_spec(&own, NULL, 0, out, &n_used);
	RS_TRY(make_data(b));
	RS_TRY(file_join(b->directory, "bench.ini", &path));
	positional[0] = path;
	own.positional = positional;
	own.n_positional = 1;
	status = command_spec(&own, NULL, 0, out, &n_used);
	free(path);
	return status;
}

static enum rs_status
open_series(struct bench *b, size_t i, size_t threads)
{
	b->series[i].threads = threads;
	b->n_series = i + 1;
	return workers_create(b->model, threads, &b->series[i].workers);
}

/* Its limits are those of a CPU: what is asked to be of a GPU is not measured beside them. */
static enum rs_status
choose_device(const struct settings *settings)
{
	struct gpu_memory gpu;
	const char *why;

	RS_TRY(session_device(settings, &gpu, &why));
	if (gpu.gpu == NULL || settings->placement.device != DEVICE_CUDA)
		return RS_OK;
	rs_fail(RS_EPEER, "placement.device = cuda: bench measures CPUs");
	return rs_hint("set placement.device = auto or cpu");
}

static enum rs_status
open_bench(struct bench *b)
{
	struct model_options options = { .for_training = 1 };
	const char *why;
	enum rs_status status;
	struct spec *spec;

	b->n_cores = thread_auto_count(&why);
	RS_TRY(load_spec(b, &spec));
	if ((status = choose_device(spec_settings(spec))) != RS_OK) {
		spec_free(spec);
		return status;
	}
	options.n_threads = spec_settings(spec)->train.threads > 0
	    ? (size_t)spec_settings(spec)->train.threads : b->n_cores;
	RS_TRY(model_create(spec, &options, &b->model));
	RS_TRY(bench_sampler_open(b->model, &b->sampler));
	RS_TRY(bench_batches_read(
		b->model, b->sampler, (uint64_t)b->request->rows, &b->batches));
	RS_TRY(bench_gemm_open(&b->gemm, b->model, &b->batches));
	RS_TRY(memory_alloc(2, sizeof(*b->series), &b->series));
	RS_TRY(open_series(b, 0, 1));
	return options.n_threads > 1 ? open_series(b, 1, options.n_threads) : RS_OK;
}

static void
close_bench(struct bench *b)
{
	for (size_t i = 0; i < b->n_series; i++)
		workers_free(b->series[i].workers);
	free(b->series);
	bench_gemm_close(&b->gemm);
	bench_batches_free(&b->batches);
	sampler_free(b->sampler);
	model_free(b->model);
	if (b->directory != NULL)
		(void)file_remove_tree(b->directory);
	free(b->directory);
}

/* ---- measuring ---------------------------------------------------------- */

static enum rs_status
run_steps(struct bench *b, struct series *s, size_t n, double *batch_s)
{
	const double start = clock_seconds();
	struct step_result result;

	for (size_t i = 0; i < n; i++) {
		const struct batch *batch = &b->batches.batch[b->next_batch++ % b->batches.n];

		RS_TRY(workers_step(
			s->workers, batch, settings_of(b)->train.learning_rate, 1, &result));
	}
	*batch_s = (clock_seconds() - start) / (double)n;
	return RS_OK;
}

/* Limit and steps in turns, so that what else the machine does hits both. */
static enum rs_status
measure_steps(struct bench *b)
{
	const double end = clock_seconds() + b->request->seconds * (1 - FILE_SHARE);
	double warm;

	for (size_t i = 0; i < b->n_series; i++)
		RS_TRY(run_steps(b, &b->series[i], WARM_UP, &warm));
	for (size_t r = 0; r < ROUNDS_MAX && (r < ROUNDS_MIN || clock_seconds() < end); r++) {
		(void)bench_gemm_run(&b->gemm);
		b->gemm_s[r] = bench_gemm_run(&b->gemm);
		for (size_t i = 0; i < b->n_series; i++) {
			RS_TRY(run_steps(b, &b->series[i], STEPS_A_TURN, &warm));
			RS_TRY(run_steps(
				b, &b->series[i], STEPS_A_ROUND, &b->series[i].batch_s[r]));
		}
		b->n_rounds = r + 1;
	}
	return RS_OK;
}

static enum rs_status
steps_from_file(struct bench *b, struct series *s, struct loader *loader, double seconds)
{
	const struct batch *batch;
	struct step_result result;
	double start = 0, now = 0;
	uint64_t rows = 0;

	for (size_t i = 0; i <= WARM_UP || now - start < seconds; i++) {
		RS_TRY(loader_next(loader, &batch, NULL));
		if (batch == NULL)
			break;
		RS_TRY(workers_step(
			s->workers, batch, settings_of(b)->train.learning_rate, 1, &result));
		now = clock_seconds();
		if (i < WARM_UP)
			start = now;
		else
			rows += batch->B;
	}
	s->file_rows_per_s = now > start ? (double)rows / (now - start) : NAN;
	return RS_OK;
}

static enum rs_status
measure_files(struct bench *b)
{
	const struct data_settings *d = &settings_of(b)->data;
	const int once = d->command[0] != '\0' ||
		(d->train.n == 1 && strcmp(d->train.item[0], "-") == 0);

	for (size_t i = 0; i < BENCH_INPUTS; i++)
		b->input[i] = (struct bench_input){ 1, NAN, NAN, NAN };
	for (size_t i = 0; i < b->n_series; i++) {
		struct loader *loader;
		enum rs_status status;

		b->series[i].file_rows_per_s = NAN;
		if (once)
			continue;
		RS_TRY(bench_loader_open(b->model, b->sampler, FILE_EPOCHS, &loader));
		status = steps_from_file(b, &b->series[i], loader,
			b->request->seconds * FILE_SHARE / (double)b->n_series);
		loader_close(loader);
		RS_TRY(status);
	}
	return once ? RS_OK : bench_inputs(b->model, INPUT_LIMIT, b->input);
}

/* Row size of the table with the most rows. */
static size_t
row_floats(const struct model *m)
{
	size_t best = 0;

	for (size_t i = 1; i < m->n_tables; i++)
		if (m->table[i].dim > m->table[best].dim)
			best = i;
	return m->n_tables > 0 ? 2 * m->table[best].dim : 32;
}

static int
compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), compare);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* ---- the result --------------------------------------------------------- */

/* From here on the kernel counts the peak anew, where it can. */
static void
forget_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");

	if (f == NULL)
		return;
	fputs("5", f);
	fclose(f);
}

static double
peak_bytes(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)use.ru_maxrss * 1024;
}

static void
add_line(struct bench_result *r, struct bench_line line)
{
	r->line[r->n_lines++] = line;
}

static const char *const input_name[BENCH_INPUTS] = {
	[BENCH_PARSE] = "parse", [BENCH_GZIP] = "gzip", [BENCH_CACHE] = "cache",
};

static void
list_lines(struct bench *b, struct bench_result *r)
{
	const double B = (double)settings_of(b)->train.batch_size;
	const double gemm_s = b->gemm.n > 0 ? median(b->gemm_s, b->n_rounds) : NAN;

	r->gflops = b->gemm.flop / gemm_s / 1e9;
	for (size_t i = 0; i < b->n_series; i++) {
		struct series *s = &b->series[i];

		add_line(r, (struct bench_line){ "step", s->threads,
			B / median(s->batch_s, b->n_rounds), B / gemm_s * (double)s->threads,
			NAN });
	}
	for (size_t i = 0; i < b->n_series; i++)
		add_line(r, (struct bench_line){ "file", b->series[i].threads,
			b->series[i].file_rows_per_s, r->line[i].samples_per_s, NAN });
	for (size_t i = 0; i < BENCH_INPUTS; i++)
		add_line(r, (struct bench_line){ input_name[i], b->input[i].threads,
			b->input[i].rows_per_s, b->input[i].limit, b->input[i].mb_per_s });
}

static void
describe(const struct bench *b, struct bench_result *r)
{
	const struct settings *const s = settings_of(b);

	snprintf(r->model, sizeof(r->model), "%s", s->model.type);
	snprintf(r->precision, sizeof(r->precision), "%s", s->train.precision);
	snprintf(r->kernels, sizeof(r->kernels), "%s%s%s", b->model->kernel->name,
		b->model->narrow != NULL ? ", " : "",
		b->model->narrow != NULL ? b->model->narrow->name : "");
	r->batch_size = s->train.batch_size;
	r->slots = model_slots(s);
	r->dense_parameters = b->model->P;
	r->row_bytes = (double)(row_floats(b->model) * sizeof(float));
	r->table_bytes = (double)b->model->lookup->ops->bytes(b->model->lookup);
}

static enum rs_status
measure(struct bench *b, struct bench_result *r)
{
	RS_TRY(open_bench(b));
	RS_TRY(measure_steps(b));
	r->peak_bytes = peak_bytes();
	RS_TRY(measure_files(b));
	RS_TRY(bench_memory(
		row_floats(b->model), &r->random_rows_per_s, &r->memory_bytes_per_s));
	describe(b, r);
	list_lines(b, r);
	return RS_OK;
}

enum rs_status
bench_measure(const struct bench_request *request, struct bench_result *out)
{
	enum rs_status status;
	struct bench *b;

	memset(out, 0, sizeof(*out));
	RS_TRY(memory_alloc(1, sizeof(*b), &b));
	b->request = request;
	forget_peak();
	status = measure(b, out);
	close_bench(b);
	free(b);
	return status;
}
