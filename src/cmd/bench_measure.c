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
#include "cmd/bench_gpu.h"
#include "cmd/bench_limit.h"
#include "cmd/bench_shards.h"
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
#define SCALING_SHARE   0.1        /* of the seconds                              */
#define SCALING_ROUNDS  64
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
	struct gpu_memory gpu;         /* gpu.gpu NULL: the CPU trains                */
	struct bench_shards *shards;   /* NULL: the tables are in the model           */
	struct bench_gemm gemm;
	struct bench_gpu there;        /* the limits of the GPU                       */
	double gemm_s[ROUNDS_MAX], kernel_s[ROUNDS_MAX], copy_s[ROUNDS_MAX];
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

const char *const bench_placement_names[] = {
	[BENCH_LOCAL] = "local", [BENCH_SHARDS] = "shards", [BENCH_CUDA] = "cuda", NULL,
};

/* ---- what is measured --------------------------------------------------- */

static enum rs_status
make_data(struct bench *b)
{
	RS_TRY(bench_directory(&b->directory));
	return bench_data_write(
		b->directory, b->request->model, (uint64_t)b->request->rows);
}

/* "section.key=value" of the request, behind those of the command line. */
static size_t
list_overrides(const struct bench_request *q, char text[2][64], const char *out[2])
{
	size_t n = 0;

	if (q->precision != NULL) {
		snprintf(text[n], sizeof text[n], "train.precision=%s", q->precision);
		out[n] = text[n];
		n++;
	}
	if (q->placement != NULL) {
		snprintf(text[n], sizeof text[n], "placement.device=%s",
			q->placement == bench_placement_names[BENCH_CUDA] ? "cuda" : "cpu");
		out[n] = text[n];
		n++;
	}
	return n;
}

static enum rs_status
load_spec(struct bench *b, struct spec **out)
{
	struct arguments own = *b->request->a;
	const char *positional[1], *extra[2];
	char text[2][64];
	const size_t n_extra = list_overrides(b->request, text, extra);
	enum rs_status status;
	size_t n_used;
	char *path;

	if (b->request->model == NULL)
		return command_spec(&own, extra, n_extra, out, &n_used);
	RS_TRY(make_data(b));
	RS_TRY(file_join(b->directory, "bench.ini", &path));
	positional[0] = path;
	own.positional = positional;
	own.n_positional = 1;
	status = command_spec(&own, extra, n_extra, out, &n_used);
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

/* Of bench_placement_names, by address. */
static const char *
placement_of(const struct bench *b, const struct settings *s)
{
	if (b->request->placement != NULL)
		return b->request->placement;
	return bench_placement_names[
		s->placement.device == DEVICE_CUDA ? BENCH_CUDA : BENCH_LOCAL];
}

/* What the placement and the precision need of this machine; auto is the CPU here. */
static enum rs_status
open_places(struct bench *b, const struct settings *s, const char *placement)
{
	struct settings own = *s;
	const char *why;

	if (placement != bench_placement_names[BENCH_CUDA])
		own.placement.device = DEVICE_CPU;
	RS_TRY(session_device(&own, &b->gpu, &why));
	if (placement == bench_placement_names[BENCH_SHARDS])
		return bench_shards_open(s, &b->shards);
	return RS_OK;
}

/* *lacks: it is told in the result instead. */
static enum rs_status
find_places(struct bench *b, const struct settings *s, struct bench_result *r, int *lacks)
{
	const enum rs_status status = open_places(b, s, r->placement);

	*lacks = b->request->may_lack &&
		(status == RS_ESPEC || status == RS_EPEER || status == RS_EUSAGE);
	if (!*lacks)
		return status;
	snprintf(r->why, sizeof r->why, "%.255s", rs_failure()->text);
	return RS_OK;
}

static enum rs_status
open_limits(struct bench *b)
{
	RS_TRY(bench_batches_read(
		b->model, b->sampler, (uint64_t)b->request->rows, 0, &b->batches));
	RS_TRY(bench_gemm_open(&b->gemm, b->model, &b->batches));
	return b->gpu.gpu == NULL ? RS_OK
		: bench_gpu_open(&b->there, &b->gemm, b->model, &b->batches);
}

/* Takes the spec. */
static enum rs_status
open_bench(struct bench *b, struct spec *spec)
{
	const struct settings *const s = spec_settings(spec);
	const size_t n_threads = s->train.threads > 0 ? (size_t)s->train.threads : b->n_cores;
	const struct model_options options = {
		.for_training = 1, .gpu = b->gpu.gpu != NULL ? &b->gpu : NULL,
		.place = b->shards != NULL ? bench_shards_place(b->shards) : NULL,
		.n_threads = n_threads, .n_more_threads = n_threads > 1 ? 1 : 0,
		.pins_threads = s->train.pin_threads,
		.tables = s->gpu.tables,
	};

	RS_TRY(model_create(spec, &options, &b->model));
	RS_TRY(bench_sampler_open(b->model, &b->sampler));
	RS_TRY(open_limits(b));
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
	bench_gpu_close(&b->there);
	bench_gemm_close(&b->gemm);
	bench_batches_free(&b->batches);
	sampler_free(b->sampler);
	model_free(b->model);
	bench_shards_close(b->shards);
	if (b->directory != NULL)
		(void)file_remove_tree(b->directory);
	free(b->directory);
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

/* On a GPU products and copies may go on at once. */
static enum rs_status
measure_limit(struct bench *b, size_t r)
{
	if (b->gpu.gpu != NULL)
		return bench_gpu_run(&b->there, &b->gemm_s[r], &b->copy_s[r]);
	(void)bench_gemm_run(&b->gemm);
	b->gemm_s[r] = bench_gemm_run(&b->gemm);
	if (b->gemm.has_plain)
		b->kernel_s[r] = bench_gemm_run_kernel(&b->gemm);
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
		RS_TRY(measure_limit(b, r));
		for (size_t i = 0; i < b->n_series; i++) {
			RS_TRY(run_steps(b, &b->series[i], STEPS_A_TURN, &warm));
			RS_TRY(run_steps(
				b, &b->series[i], STEPS_A_ROUND, &b->series[i].batch_s[r]));
		}
		b->n_rounds = r + 1;
	}
	return RS_OK;
}

/* ---- the products of all threads at once ------------------------------------ */

static enum rs_status
run_products(void *gemms, size_t worker)
{
	const struct bench_gemm *const g = gemms;

	(void)bench_gemm_run(&g[worker]);
	return RS_OK;
}

/* One thread and all of them in turns; each has operands of its own. */
static enum rs_status
race_products(struct bench *b, const struct series *all, struct bench_gemm *g, double *out)
{
	const double end = clock_seconds() + b->request->seconds * SCALING_SHARE;
	double ratio[SCALING_ROUNDS];
	size_t n = 0;

	for (size_t i = 0; i < all->threads; i++)
		RS_TRY(bench_gemm_open(&g[i], b->model, &b->batches));
	RS_TRY(workers_run(all->workers, run_products, g));
	while (n < SCALING_ROUNDS && (n == 0 || clock_seconds() < end)) {
		const double one = bench_gemm_run(&g[0]), start = clock_seconds();

		RS_TRY(workers_run(all->workers, run_products, g));
		ratio[n++] = (double)all->threads * one / (clock_seconds() - start);
	}
	*out = median(ratio, n);
	return RS_OK;
}

static enum rs_status
measure_scaling(struct bench *b, double *out)
{
	const struct series *const all = &b->series[b->n_series - 1];
	struct bench_gemm *g;

	*out = NAN;
	if (all->threads == 1 || b->gpu.gpu != NULL || b->gemm.n == 0)
		return RS_OK;
	RS_TRY(memory_alloc(all->threads, sizeof *g, &g));
	const enum rs_status status = race_products(b, all, g, out);

	for (size_t i = 0; i < all->threads; i++)
		bench_gemm_close(&g[i]);
	free(g);
	return status;
}

/* ---- files ------------------------------------------------------------------ */

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
	return once || !b->request->with_inputs ? RS_OK
		: bench_inputs(b->model, INPUT_LIMIT, b->input);
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

void
bench_add_inputs(struct bench_result *r, const struct bench_input *input)
{
	static const char *const name[BENCH_INPUTS] = {
		[BENCH_PARSE] = "parse", [BENCH_GZIP] = "gzip", [BENCH_CACHE] = "cache",
	};

	for (size_t i = 0; i < BENCH_INPUTS; i++)
		add_line(r, (struct bench_line){ name[i], input[i].threads, input[i].rows_per_s,
			input[i].limit, input[i].mb_per_s });
}

/* Cores that so many threads have, or GPUs, which are dealt out to threads. */
static size_t
units_of(const struct bench *b, size_t threads)
{
	const size_t n = b->gpu.n_devices > 0 ? b->gpu.n_devices : 1;

	return b->gpu.gpu == NULL || threads < n ? threads : n;
}

/* Samples a second of one core or one GPU at most. */
static double
step_limit(struct bench *b, struct bench_result *r)
{
	const double B = (double)settings_of(b)->train.batch_size;
	const double gemm_s = b->gemm.n > 0 ? median(b->gemm_s, b->n_rounds) : NAN;
	const double copy_s = b->gpu.gpu != NULL ? median(b->copy_s, b->n_rounds) : NAN;

	r->gflops = b->gemm.flop / gemm_s / 1e9;
	r->kernel_limit = b->gemm.has_plain ? B / median(b->kernel_s, b->n_rounds) : NAN;
	r->copy_bytes_per_s = 2 * (double)b->there.copy_bytes / copy_s;
	return B / fmax(gemm_s, copy_s);
}

static void
list_lines(struct bench *b, struct bench_result *r)
{
	const double B = (double)settings_of(b)->train.batch_size;
	const double limit = step_limit(b, r);

	for (size_t i = 0; i < b->n_series; i++) {
		struct series *s = &b->series[i];

		add_line(r, (struct bench_line){ "step", s->threads,
			B / median(s->batch_s, b->n_rounds),
			limit * (double)units_of(b, s->threads), NAN });
	}
	for (size_t i = 0; i < b->n_series; i++)
		add_line(r, (struct bench_line){ "file", b->series[i].threads,
			b->series[i].file_rows_per_s, r->line[i].samples_per_s, NAN });
	if (b->request->with_inputs)
		bench_add_inputs(r, b->input);
}

static void
describe_spec(const struct bench *b, const struct settings *s, struct bench_result *r)
{
	snprintf(r->model, sizeof(r->model), "%s", s->model.type);
	snprintf(r->precision, sizeof(r->precision), "%s", s->train.precision);
	r->placement = placement_of(b, s);
	r->batch_size = s->train.batch_size;
	r->slots = model_slots(s);
}

static void
describe(const struct bench *b, struct bench_result *r)
{
	const struct narrow_set *const narrow = b->gpu.gpu == NULL ? b->model->narrow : NULL;

	snprintf(r->kernels, sizeof(r->kernels), "%s%s%s",
		b->gpu.gpu != NULL ? b->gpu.gpu->name : b->model->kernel->name,
		narrow != NULL ? ", " : "", narrow != NULL ? narrow->name : "");
	if (b->gpu.gpu == NULL && (narrow == NULL || b->gemm.has_plain))
		r->products = narrow != NULL ? "onednn"
			: model_by_library(settings_of(b)) ? "openblas" : "builtin";
	r->dense_parameters = b->model->P;
	r->row_bytes = (double)(row_floats(b->model) * sizeof(float));
	r->table_bytes = (double)b->model->lookup->ops->bytes(b->model->lookup);
}

static enum rs_status
measure_all(struct bench *b, struct bench_result *r)
{
	RS_TRY(measure_steps(b));
	r->peak_bytes = peak_bytes();
	RS_TRY(measure_scaling(b, &r->scaling));
	RS_TRY(measure_files(b));
	RS_TRY(bench_memory(
		row_floats(b->model), &r->random_rows_per_s, &r->memory_bytes_per_s));
	describe(b, r);
	list_lines(b, r);
	return RS_OK;
}

/* The row that says why there is none. */
static void
list_lack(const struct bench *b, const struct settings *s, struct bench_result *r)
{
	const size_t threads = s->train.threads > 0 ? (size_t)s->train.threads : b->n_cores;

	r->gflops = r->kernel_limit = r->scaling = r->copy_bytes_per_s = NAN;
	add_line(r, (struct bench_line){ "step", threads, NAN, NAN, NAN });
}

static enum rs_status
measure(struct bench *b, struct bench_result *r)
{
	struct spec *spec;
	const char *why;
	int lacks = 0;

	b->n_cores = thread_auto_count(&why);
	RS_TRY(load_spec(b, &spec));
	describe_spec(b, spec_settings(spec), r);
	const enum rs_status status = find_places(b, spec_settings(spec), r, &lacks);

	if (lacks)
		list_lack(b, spec_settings(spec), r);
	if (lacks || status != RS_OK) {
		spec_free(spec);
		return status;
	}
	RS_TRY(open_bench(b, spec));
	return measure_all(b, r);
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
