/* bench: how fast a model trains here, next to what the machine can do at most. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cmd/bench_data.h"
#include "cmd/bench_limit.h"
#include "cmd/command.h"
#include "data/sampler.h"
#include "train/workers.h"

#define ROWS_DEFAULT    131072
#define SECONDS_DEFAULT 10.0
#define ROUNDS_MAX      4096
#define ROUNDS_MIN      3
#define WARM_UP         3          /* steps                                       */
#define STEPS_A_ROUND   3
#define STEPS_A_TURN    1          /* uncounted: threads wake, caches change hands */
#define PARSE_LIMIT     ((size_t)32 << 20)
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
	const struct arguments *a;
	const char *built_in;          /* model that is measured when no spec is given */
	char  *directory;              /* of the generated rows, NULL none            */
	struct model *model;
	struct sampler *sampler;       /* NULL: no items are drawn                    */
	struct bench_batches batches;
	struct bench_gemm gemm;
	double gemm_s[ROUNDS_MAX];
	size_t n_rounds, next_batch, n_cores;
	struct series *series;         /* [n_series] one thread first                 */
	size_t n_series;
	double random_rows_per_s, bytes_per_s, peak_bytes;
	double parse_s;
	size_t parse_bytes;
	uint64_t parse_rows;
	int64_t rows;
	double seconds;
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
	char template[] = "/tmp/recsys-train-bench.XXXXXX";

	if (mkdtemp(template) == NULL)
		return rs_fail(RS_ECREATE, "cannot make a directory in '/tmp'");
	RS_TRY(memory_strdup(template, &b->directory));
	return bench_data_write(b->directory, b->built_in, (uint64_t)b->rows);
}

static enum rs_status
load_spec(struct bench *b, struct spec **out)
{
	struct arguments own = *b->a;
	const char *positional[1];
	enum rs_status status;
	size_t n_used;
	char *path;

	if (own.n_positional > 0)
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

static enum rs_status
open_bench(struct bench *b)
{
	struct model_options options = { .for_training = 1 };
	const char *why;
	struct spec *spec;

	b->n_cores = thread_auto_count(&why);
	RS_TRY(load_spec(b, &spec));
	options.n_threads = spec_settings(spec)->train.threads > 0
	    ? (size_t)spec_settings(spec)->train.threads : b->n_cores;
	RS_TRY(model_create(spec, &options, &b->model));
	RS_TRY(bench_sampler_open(b->model, &b->sampler));
	RS_TRY(bench_batches_read(b->model, b->sampler, (uint64_t)b->rows, &b->batches));
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
	const double end = clock_seconds() + b->seconds * (1 - FILE_SHARE);
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

	for (size_t i = 0; i < b->n_series; i++) {
		struct loader *loader;
		enum rs_status status;

		b->series[i].file_rows_per_s = NAN;
		if (once)
			continue;
		RS_TRY(bench_loader_open(b->model, b->sampler, FILE_EPOCHS, &loader));
		status = steps_from_file(
			b, &b->series[i], loader, b->seconds * FILE_SHARE / (double)b->n_series);
		loader_close(loader);
		RS_TRY(status);
	}
	return once ?
		RS_OK :
		bench_parse(b->model, PARSE_LIMIT, &b->parse_s, &b->parse_bytes, &b->parse_rows);
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

/* ---- the report --------------------------------------------------------- */

/* A line of the result: the name of the measure, its rate, the limit for one core. */
struct line {
	const char *measure;           /* "step", "file", "parse"                     */
	size_t threads;
	double samples_per_s, limit;   /* limit NaN: none                             */
};

static size_t
make_lines(struct bench *b, struct line *line)
{
	const double B = (double)settings_of(b)->train.batch_size;
	const double limit = b->gemm.n > 0 ? B / median(b->gemm_s, b->n_rounds) : NAN;
	size_t n = 0;

	for (size_t i = 0; i < b->n_series; i++) {
		struct series *s = &b->series[i];

		line[n++] = (struct line){ "step", s->threads, B / median(s->batch_s, b->n_rounds),
			limit * (double)s->threads };
	}
	for (size_t i = 0; i < b->n_series; i++)
		line[n++] = (struct line){ "file", b->series[i].threads,
			b->series[i].file_rows_per_s, line[i].samples_per_s };
	line[n++] = (struct line){ "parse", 1,
		b->parse_s > 0 ? (double)b->parse_rows / b->parse_s : NAN, NAN };
	return n;
}

static double
peak_bytes(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)use.ru_maxrss * 1024;
}

static double
parse_mb_per_s(const struct bench *b)
{
	return b->parse_s > 0 ? (double)b->parse_bytes / b->parse_s / 1e6 : NAN;
}

static double
gflops(struct bench *b)
{
	return b->gemm.flop / median(b->gemm_s, b->n_rounds) / 1e9;
}

static enum rs_status
print_json(struct bench *b, const struct line *line, size_t n)
{
	struct json j;
	enum rs_status status;

	json_init(&j);
	json_open(&j, NULL, '[');
	for (size_t i = 0; i < n; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "model", settings_of(b)->model.type);
		json_string(&j, "precision", settings_of(b)->train.precision);
		json_int(&j, "threads", (int64_t)line[i].threads);
		json_double(&j, "samples_per_s", line[i].samples_per_s);
		json_double(&j, "limit_samples_per_s", line[i].limit);
		json_double(&j, "limit_ratio", line[i].samples_per_s / line[i].limit);
		json_string(&j, "measure", line[i].measure);
		if (strcmp(line[i].measure, "parse") == 0)
			json_double(&j, "mb_per_s", parse_mb_per_s(b));
		if (i == 0) {
			json_double(&j, "gemm_gflops", b->gemm.n > 0 ? gflops(b) : NAN);
			json_double(&j, "random_rows_per_s", b->random_rows_per_s);
			json_double(&j, "memory_gb_per_s", b->bytes_per_s / 1e9);
			json_double(&j, "peak_bytes", b->peak_bytes);
			json_double(&j, "table_bytes",
				(double)b->model->lookup->ops->bytes(b->model->lookup));
		}
		json_close(&j);
	}
	json_close(&j);
	status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

static enum rs_status
print_line(const struct bench *b, const struct line *line)
{
	static const struct { const char *measure, *text, *limit; } word[] = {
		{ "step", "training step in memory", "of the GEMM limit" },
		{ "file", "training from the file", "of in memory" },
		{ "parse", "parsing alone", "" },
	};
	size_t i = 0;

	while (strcmp(word[i].measure, line->measure) != 0)
		i++;
	if (isnan(line->samples_per_s))
		return RS_OK;
	RS_TRY(output_printf(
		"%-24s %7zu %12.0f", word[i].text, line->threads, line->samples_per_s));
	if (!isnan(line->limit))
		return output_printf(" %12.0f %5.1f %% %s\n", line->limit,
		    100 * line->samples_per_s / line->limit, word[i].limit);
	if (strcmp(line->measure, "parse") == 0)
		return output_printf(" %12s %5.0f MB/s\n", "", parse_mb_per_s(b));
	return output_printf("\n");
}

static enum rs_status
print_table(struct bench *b, const struct line *line, size_t n)
{
	const struct settings *s = settings_of(b);

	RS_TRY(output_printf(
		"%s, %s, batch %lld, %zu slots, %zu dense parameters, kernels %s, %s\n",
		s->model.type, s->train.precision, (long long)s->train.batch_size, model_slots(s),
		b->model->P, b->model->kernel->name, kernel_blas_description()));
	RS_TRY(output_printf("%-24s %7s %12s %12s\n", "", "threads", "samples/s", "limit"));
	for (size_t i = 0; i < n; i++)
		RS_TRY(print_line(b, &line[i]));
	RS_TRY(output_printf("limits of one core: "));
	if (b->gemm.n > 0)
		RS_TRY(output_printf("%.1f GFLOP/s in the model's own products, ", gflops(b)));
	return output_printf(
		"%.1f M random rows/s of %zu bytes, %.1f GB/s read\n"
		"peak memory %.0f MiB, tables and optimizer state %.0f MiB\n",
		b->random_rows_per_s / 1e6,
		row_floats(b->model) * sizeof(float), b->bytes_per_s / 1e9, b->peak_bytes / 1048576,
		(double)b->model->lookup->ops->bytes(b->model->lookup) / 1048576);
}

static enum rs_status
measure(struct bench *b)
{
	struct line line[8];
	size_t n;

	RS_TRY(open_bench(b));
	RS_TRY(measure_steps(b));
	b->peak_bytes = peak_bytes();
	RS_TRY(measure_files(b));
	RS_TRY(bench_memory(row_floats(b->model), &b->random_rows_per_s, &b->bytes_per_s));
	n = make_lines(b, line);
	RS_TRY(command_json(b->a) ? print_json(b, line, n) : print_table(b, line, n));
	return output_flush();
}

static enum rs_status
choose_model(struct bench *b)
{
	const char *given = argument(b->a, "--model");

	b->built_in = given != NULL ? given : "deepfm";
	if (given != NULL && b->a->n_positional > 0)
		return rs_fail(RS_EUSAGE, "--model and a spec both say what to measure; give one");
	return command_model_check(b->built_in);
}

static enum rs_status
bench_run(const struct arguments *a)
{
	struct bench *b;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*b), &b));
	b->a = a;
	b->rows = ROWS_DEFAULT;
	b->seconds = SECONDS_DEFAULT;
	status = choose_model(b);
	if (status == RS_OK)
		status = argument_int(a, "--rows", 1, INT64_C(1) << 40, &b->rows);
	if (status == RS_OK)
		status = argument_seconds(a, "--seconds", &b->seconds);
	if (status == RS_OK)
		status = measure(b);
	close_bench(b);
	free(b);
	return status;
}

static const struct command_option bench_option[] = {
	{ .name = "--model", .argument = "NAME", .dflt = "deepfm",
		.text = "the model that is measured when no SPEC is given" },
	{ .name = "--rows", .argument = "N", .dflt = "131072",
		.text = "rows kept in memory, and written when no SPEC is given" },
	{ .name = "--seconds", .argument = "S", .dflt = "10", .text = "how long to measure" },
	{ .name = NULL },
};

const struct command command_bench = {
	.name = "bench",
	.synopsis = "[SPEC] [--model NAME] [--rows N] [--seconds S]",
	.text = "Measure training speed next to the limits of this machine.",
	.option = bench_option,
	.run = bench_run,
};
