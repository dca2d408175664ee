/* bench: how fast models train here, next to what the machine can do at most. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "cmd/bench_format.h"
#include "cmd/bench_report.h"

#define ROWS_DEFAULT    131072
#define SECONDS_DEFAULT 10.0
#define BUSY_MS         10000

#define NAMES_MAX       COMMAND_MODELS_MAX

/* Values of an option that may be given several times, each once. */
struct choice {
	const char *name[NAMES_MAX];   /* [n] NULL: as the spec has it                */
	size_t n;
	int    is_all;                 /* what the machine lacks is told, not refused */
};

/* What the command line asks for. */
struct bench {
	const struct arguments *a;
	struct choice model, precision, placement, format;
	struct bench_result *result;   /* [n]                                         */
	size_t n;
	int64_t rows;
	double seconds, max_loss;
	struct store *store;           /* NULL: not asked for                         */
	struct bench_past past;        /* to compare with                             */
};

static enum rs_status
add_name(struct choice *c, const char *option, const char *name, const char *const *known,
	size_t n_known)
{
	const char *near;
	char escaped[72];

	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->name[i], name) == 0)
			return RS_OK;
	for (size_t i = 0; i < n_known; i++)
		if (strcmp(known[i], name) == 0) {
			c->name[c->n++] = known[i];
			return RS_OK;
		}
	rs_fail(RS_EUSAGE, "%s: there is no '%s'", option,
		rs_escape(escaped, name, strlen(name)));
	near = spec_nearest(name, known, n_known);
	return near != NULL ? rs_hint("did you mean '%s'?", near) : RS_EUSAGE;
}

static enum rs_status
choose(const struct bench *b, const char *option, const char *const *known, struct choice *c)
{
	const char *name;
	size_t n = 0;

	while (known[n] != NULL)
		n++;
	for (size_t i = 0; (name = argument_nth(b->a, option, i)) != NULL; i++) {
		const int is_all = strcmp(name, "all") == 0;

		c->is_all |= is_all;
		for (size_t k = 0; is_all && k < n; k++)
			RS_TRY(add_name(c, option, known[k], known, n));
		if (!is_all)
			RS_TRY(add_name(c, option, name, known, n));
	}
	return RS_OK;
}

/* What no option says is said by the spec, which generated rows have one of. */
static enum rs_status
choose_all(struct bench *b)
{
	static const char *const precision[] = { "fp32", "bf16", NULL };
	const char *model[COMMAND_MODELS_MAX], *format[BENCH_FORMATS_MAX];
	static const char *const of_rows[] = { "--model", "--format" };

	for (size_t i = 0; i < 2; i++)
		if (b->a->n_positional > 0 && argument_given(b->a, of_rows[i]))
			return rs_fail(RS_EUSAGE, "%s and a spec both say what to measure; "
				"give one", of_rows[i]);
	(void)command_models(model);
	(void)bench_formats(format);
	RS_TRY(choose(b, "--model", model, &b->model));
	RS_TRY(choose(b, "--precision", precision, &b->precision));
	RS_TRY(choose(b, "--placement", bench_placement_names, &b->placement));
	RS_TRY(choose(b, "--format", format, &b->format));
	if (b->model.n == 0)
		b->model.name[b->model.n++] = b->a->n_positional > 0 ? NULL : "deepfm";
	b->precision.n += b->precision.n == 0;
	b->placement.n += b->placement.n == 0;
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
tell(const struct bench *b, const struct bench_result *r)
{
	if (command_json(b->a))
		return RS_OK;
	RS_TRY(r > b->result ? output_printf("\n") : RS_OK);
	RS_TRY(bench_print_table(r));
	return output_flush();
}

/* The i-th of all models in all precisions and placements; the last changes first.  The first
 * of a model that is not skipped has its reading, too. */
static enum rs_status
measure_model(struct bench *b, size_t i, struct bench_result *out)
{
	const size_t of_model = b->precision.n * b->placement.n;
	size_t first = i - i % of_model;

	while (first < i && b->result[first].why[0] != '\0')
		first++;
	const struct bench_request request = {
		.a = b->a, .model = b->model.name[i / of_model], .rows = b->rows,
		.precision = b->precision.name[i / b->placement.n % b->precision.n],
		.placement = b->placement.name[i % b->placement.n], .seconds = b->seconds,
		.with_inputs = first == i,
		.may_lack = b->precision.is_all || b->placement.is_all,
	};

	return bench_measure(&request, out);
}

static enum rs_status
measure(struct bench *b)
{
	const size_t n = b->model.n * b->precision.n * b->placement.n;

	RS_TRY(memory_alloc(n + b->format.n, sizeof(*b->result), &b->result));
	for (; b->n < n + b->format.n; b->n++) {
		struct bench_result *const r = &b->result[b->n];

		RS_TRY(b->n < n ? measure_model(b, b->n, r)
			: bench_format_measure(b->a, b->format.name[b->n - n], b->rows, r));
		RS_TRY(tell(b, r));
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
	enum rs_status status = choose_all(&b);

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
	{ .name = "--precision", .argument = "NAME", .repeats = 1,
		.text = "fp32 or bf16 instead of train.precision, or all" },
	{ .name = "--placement", .argument = "NAME", .repeats = 1,
		.text = "local, shards or cuda, where tables are and what computes, or all" },
	{ .name = "--format", .argument = "NAME", .repeats = 1,
		.text = "an input format that is read, too, when no SPEC is given, or all" },
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
	.synopsis = "[SPEC] [--model NAME]... [--precision NAME]... [--placement NAME]... "
		"[--format NAME]... [--rows N] [--seconds S] [--record] [--against RUN]",
	.text = "Measure training speed next to the limits of this machine.",
	.option = bench_option,
	.run = bench_run,
};
