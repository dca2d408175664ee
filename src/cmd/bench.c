/* bench: how fast models train here, next to what the machine can do at most. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "cmd/bench_report.h"

#define ROWS_DEFAULT    131072
#define SECONDS_DEFAULT 10.0
#define BUSY_MS         10000

/* What the command line asks for. */
struct bench {
	const struct arguments *a;
	const char *model[COMMAND_MODELS_MAX]; /* [n] NULL: that of the spec          */
	size_t n;
	struct bench_result *result;   /* [n]                                         */
	int64_t rows;
	double seconds, max_loss;
	struct store *store;           /* NULL: not asked for                         */
	struct bench_past past;        /* to compare with                             */
};

static enum rs_status
choose_models(struct bench *b)
{
	const char *name;

	if (b->a->n_positional > 0 && argument_given(b->a, "--model"))
		return rs_fail(RS_EUSAGE, "--model and a spec both say what to measure; give one");
	for (size_t i = 0; (name = argument_nth(b->a, "--model", i)) != NULL; i++) {
		if (strcmp(name, "all") == 0) {
			b->n = command_models(b->model);
			return RS_OK;
		}
		RS_TRY(command_model_check(name));
		if (b->n == COMMAND_MODELS_MAX)
			return rs_fail(RS_EUSAGE, "--model is given more than %d times",
				COMMAND_MODELS_MAX);
		b->model[b->n++] = name;
	}
	if (b->n == 0)
		b->model[b->n++] = b->a->n_positional > 0 ? NULL : "deepfm";
	return RS_OK;
}

static enum rs_status
read_numbers(struct bench *b)
{
	double percent = NAN;

	b->rows = ROWS_DEFAULT;
	b->seconds = SECONDS_DEFAULT;
	RS_TRY(argument_int(b->a, "--rows", 1, INT64_C(1) << 40, &b->rows));
	RS_TRY(argument_seconds(b->a, "--seconds", &b->seconds));
	RS_TRY(argument_double(b->a, "--max-loss", 0, 100, &percent));
	b->max_loss = percent / 100;
	if (isnan(percent) || argument_given(b->a, "--against"))
		return RS_OK;
	rs_fail(RS_EUSAGE, "--max-loss is given, but no run to compare with");
	return rs_hint("name it with --against RUN");
}

/* Before anything is measured: a run that is no good is told at once, and "last" is what it is
 * now. */
static enum rs_status
open_store(struct bench *b)
{
	const char *const against = argument(b->a, "--against");
	enum rs_status status;
	char *path;

	if (against == NULL && !argument_given(b->a, "--record"))
		return RS_OK;
	RS_TRY(command_database(b->a, NULL, NULL, &path));
	status = store_open(path, !argument_given(b->a, "--record"), BUSY_MS, &b->store);
	free(path);
	return status != RS_OK || against == NULL ? status
		: bench_past_find(b->store, against, &b->past);
}

static enum rs_status
measure(struct bench *b)
{
	RS_TRY(memory_alloc(b->n, sizeof(*b->result), &b->result));
	for (size_t i = 0; i < b->n; i++) {
		const struct bench_request request = {
			.a = b->a, .model = b->model[i], .rows = b->rows, .seconds = b->seconds,
		};

		RS_TRY(bench_measure(&request, &b->result[i]));
		if (command_json(b->a))
			continue;
		RS_TRY(i > 0 ? output_printf("\n") : RS_OK);
		RS_TRY(bench_print_table(&b->result[i]));
		RS_TRY(output_flush());
	}
	if (command_json(b->a))
		RS_TRY(bench_print_json(b->result, b->n));
	return output_flush();
}

static enum rs_status
keep_and_compare(struct bench *b)
{
	enum rs_status status = RS_OK, kept = RS_OK;
	char name[32];

	if (b->past.store != NULL)
		status = bench_compare(b->a, &b->past, b->result, b->n, b->max_loss);
	if (argument_given(b->a, "--record") && (status == RS_OK || status == RS_EUNMET)) {
		kept = bench_record(b->a, b->store, b->result, b->n, name);
		if (kept == RS_OK)
			log_info("kept as run %s", name);
	}
	return status != RS_OK ? status : kept;
}

static enum rs_status
bench_run(const struct arguments *a)
{
	struct bench b = { .a = a };
	enum rs_status status = choose_models(&b);

	if (status == RS_OK)
		status = read_numbers(&b);
	if (status == RS_OK)
		status = open_store(&b);
	if (status == RS_OK)
		status = measure(&b);
	if (status == RS_OK && b.store != NULL)
		status = keep_and_compare(&b);
	store_run_free(&b.past.run);
	store_close(b.store);
	free(b.result);
	return status;
}

static const struct command_option bench_option[] = {
	{ .name = "--model", .argument = "NAME", .repeats = 1, .dflt = "deepfm",
		.text = "the model that is measured when no SPEC is given; all: every one" },
	{ .name = "--rows", .argument = "N", .dflt = "131072",
		.text = "rows kept in memory, and written when no SPEC is given" },
	{ .name = "--seconds", .argument = "S", .dflt = "10",
		.text = "how long to measure each model" },
	{ .name = "--record", .text = "keep the figures in the run database, tagged bench" },
	{ .name = "--against", .argument = "RUN",
		.text = "compare with the figures of a run that --record kept" },
	{ .name = "--max-loss", .argument = "PERCENT",
		.text = "with --against: exit 1 when a figure is smaller by more than that" },
	{ .name = NULL },
};

const struct command command_bench = {
	.name = "bench",
	.synopsis = "[SPEC] [--model NAME]... [--rows N] [--seconds S] [--record] [--against RUN]",
	.text = "Measure training speed next to the limits of this machine.",
	.option = bench_option,
	.run = bench_run,
};
