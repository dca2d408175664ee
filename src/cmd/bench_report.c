/* The results of bench, as a table and as JSON. */
#include "cmd/bench_report.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "kernel/kernel.h"

enum rs_status
bench_print_json(const struct bench_result *r, size_t n)
{
	enum rs_status status;
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '[');
	for (const struct bench_result *end = r + n; r < end; r++)
		for (size_t i = 0; i < r->n_lines; i++) {
			const struct bench_line *const line = &r->line[i];

			json_open(&j, NULL, '{');
			json_string(&j, "model", r->model);
			json_string(&j, "precision", r->precision);
			if (r->products != NULL)
				json_string(&j, "products", r->products);
			if (r->kernels[0] != '\0')
				json_string(&j, "kernels", r->kernels);
			json_int(&j, "threads", (int64_t)line->threads);
			json_double(&j, "samples_per_s", line->samples_per_s);
			json_double(&j, "limit_samples_per_s", line->limit);
			json_double(&j, "limit_ratio", bench_ratio(line));
			json_string(&j, "measure", line->measure);
			if (bench_line_is_placed(line))
				json_string(&j, "placement", r->placement);
			if (r->format != NULL)
				json_string(&j, "format", r->format);
			if (r->why[0] != '\0')
				json_string(&j, "skipped", r->why);
			if (!isnan(line->mb_per_s))
				json_double(&j, "mb_per_s", line->mb_per_s);
			if (!isnan(r->scaling) && line->threads > 1 &&
			    strcmp(line->measure, "step") == 0)
				json_double(&j, "gemm_scaling", r->scaling);
			if (i == 0 && r->kernel_limit > 0)
				json_double(&j, "openblas_limit_samples_per_s", r->kernel_limit);
			if (i == 0 && r->copy_bytes_per_s > 0)
				json_double(&j, "copy_gb_per_s", r->copy_bytes_per_s / 1e9);
			if (i == 0 && r->why[0] == '\0' && r->format == NULL) {
				json_double(&j, "gemm_gflops", r->gflops);
				json_double(&j, "random_rows_per_s", r->random_rows_per_s);
				json_double(&j, "memory_gb_per_s", r->memory_bytes_per_s / 1e9);
				json_double(&j, "peak_bytes", r->peak_bytes);
				json_double(&j, "table_bytes", r->table_bytes);
			}
			json_close(&j);
		}
	json_close(&j);
	status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

static enum rs_status
print_line(const struct bench_result *r, const struct bench_line *line)
{
	static const struct { const char *measure, *text, *limit; } word[] = {
		{ "step", "training step in memory", "of the GEMM limit" },
		{ "file", "training from the file", "of in memory" },
		{ "parse", "parsing alone", "of a copy," },
		{ "gzip", "reading gzip", "of inflate alone," },
		{ "cache", "reading the cache", "of a copy," },
	};
	size_t i = 0;

	while (strcmp(word[i].measure, line->measure) != 0)
		i++;
	if (isnan(line->samples_per_s))
		return RS_OK;
	RS_TRY(output_printf(
		"%-24s %7zu %12.0f", word[i].text, line->threads, line->samples_per_s));
	if (!isnan(line->limit))
		RS_TRY(output_printf(" %12.0f %5.1f %% %s", line->limit, 100 * bench_ratio(line),
			i == 0 && !isnan(r->copy_bytes_per_s) ? "of the GPU's limit"
			: word[i].limit));
	if (!isnan(line->mb_per_s))
		RS_TRY(output_printf(" %.0f MB/s", line->mb_per_s));
	return output_printf("\n");
}

static enum rs_status
print_limits(const struct bench_result *r)
{
	const int has_gpu = !isnan(r->copy_bytes_per_s);

	if (has_gpu)
		RS_TRY(output_printf("limits of the GPU: "));
	if (has_gpu && !isnan(r->gflops))
		RS_TRY(output_printf("%.1f GFLOP/s in the model's own products, ", r->gflops));
	if (has_gpu)
		RS_TRY(output_printf("%.1f GB/s copied there and back\n",
			r->copy_bytes_per_s / 1e9));
	RS_TRY(output_printf("limits of one core: "));
	if (!has_gpu && !isnan(r->gflops))
		RS_TRY(output_printf("%.1f GFLOP/s in the model's own products, ", r->gflops));
	if (!isnan(r->scaling))
		RS_TRY(output_printf("all at once %.2f times that,\n", r->scaling));
	if (r->kernel_limit > 0)
		RS_TRY(output_printf("%.0f samples/s by OpenBLAS,\n", r->kernel_limit));
	return output_printf(
		"%.1f M random rows/s of %.0f bytes, %.1f GB/s read\n"
		"peak memory %.0f MiB, tables and optimizer state %.0f MiB\n",
		r->random_rows_per_s / 1e6, r->row_bytes, r->memory_bytes_per_s / 1e9,
		r->peak_bytes / 1048576, r->table_bytes / 1048576);
}

static enum rs_status
print_head(const struct bench_result *r)
{
	if (r->format != NULL)
		RS_TRY(output_printf("rows of %s with the fields of %s\n", r->format, r->model));
	else
		RS_TRY(output_printf(
			"%s, %s, %s, batch %lld, %zu slots, %zu dense parameters, kernels %s, %s\n",
			r->model, r->precision, r->placement, (long long)r->batch_size, r->slots,
			r->dense_parameters, r->kernels, kernel_blas_description()));
	return output_printf("%-24s %7s %12s %12s\n", "", "threads", "samples/s", "limit");
}

enum rs_status
bench_print_table(const struct bench_result *r)
{
	if (r->why[0] != '\0')
		return output_printf("%s, %s, %s: skipped: %s\n", r->model, r->precision,
			r->placement, r->why);
	RS_TRY(print_head(r));
	for (size_t i = 0; i < r->n_lines; i++)
		RS_TRY(print_line(r, &r->line[i]));
	return r->format != NULL ? RS_OK : print_limits(r);
}
