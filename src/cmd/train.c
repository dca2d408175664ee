/* recsys-train train: a spec and its data become a model version and a run record. */
#include "config.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cmd/command.h"
#include "cmd/progress.h"
#include "cmd/record.h"
#include "train/checkpoint.h"
#include "train/train.h"

#define SPEC_LIMIT ((size_t)64 << 20)

struct session {
	const struct arguments *a;
	const char *directory;
	char       *own_directory;         /* of directory, when it came from the spec */
	const char *why_threads;
	int64_t     threads;
	struct progress progress;
	struct record  *record;
	/* Callbacks of the main thread and warnings of any thread; recursive, as a
	 * callback may warn. */
	pthread_mutex_t lock;
};

/* --- overrides from options ------------------------------------------------------ */

/* Options that are another way to write a spec key, and what each takes the place of. */
static const struct { const char *option, *key; int is_text; const char *instead; } key_option[] = {
	{ "--data", "data.train", 1, "data.command=" },
	{ "--valid", "data.valid", 1, NULL },
	{ "--data-command", "data.command", 1, "data.train=" },
	{ "--epochs", "train.epochs", 0, NULL },
	{ "--seed", "train.seed", 0, NULL },
	{ "--time-limit", "train.time_limit", 0, NULL },
};
enum { N_KEY_OPTIONS = sizeof key_option / sizeof *key_option };

/* In double quotes, so that a comma or a # in a file name stays what it is. */
static enum rs_status
append_quoted(const char *value, struct buffer *out)
{
	RS_TRY(buffer_append(out, "\"", 1));
	for (; *value != '\0'; value++) {
		if (*value == '"' || *value == '\\')
			RS_TRY(buffer_append(out, "\\", 1));
		RS_TRY(buffer_append(out, value, 1));
	}
	return buffer_printf(out, "\"");
}

/* "key=value,value" of every time the option was given. */
static enum rs_status
make_override(const struct arguments *a, size_t k, struct buffer *out)
{
	const char *value;

	RS_TRY(buffer_printf(out, "%s=", key_option[k].key));
	if (!key_option[k].is_text)
		return buffer_printf(out, "%s", argument(a, key_option[k].option));
	for (size_t i = 0; (value = argument_nth(a, key_option[k].option, i)) != NULL; i++) {
		RS_TRY(buffer_printf(out, "%s", i > 0 ? "," : ""));
		RS_TRY(append_quoted(value, out));
	}
	return RS_OK;
}

static enum rs_status
load_spec(const struct arguments *a, struct spec **out)
{
	struct buffer text[N_KEY_OPTIONS];
	const char *extra[2 * N_KEY_OPTIONS];
	size_t n = 0, n_used = 0;
	enum rs_status status = RS_OK;

	for (size_t k = 0; k < N_KEY_OPTIONS; k++)
		buffer_init(&text[k], SPEC_LIMIT);
	for (size_t k = 0; status == RS_OK && k < N_KEY_OPTIONS; k++) {
		if (!argument_given(a, key_option[k].option))
			continue;
		status = make_override(a, k, &text[k]);
		extra[n++] = text[k].data;
		if (key_option[k].instead != NULL)
			extra[n++] = key_option[k].instead;
	}
	if (status == RS_OK)
		status = command_spec(a, extra, n, out, &n_used);
	for (size_t k = 0; k < N_KEY_OPTIONS; k++)
		buffer_free(&text[k]);
	if (status == RS_OK && n_used < a->n_positional) {
		spec_free(*out);
		return rs_fail(RS_EUSAGE, "train: unexpected argument '%s'", a->positional[n_used]);
	}
	return status;
}

/* --- where the model goes ----------------------------------------------------------- */

static enum rs_status
choose_directory(struct session *s, const struct settings *settings)
{
	s->directory = argument(s->a, "--final");
	if (s->directory != NULL)
		return RS_OK;
	if (settings->model.path[0] == '\0') {
		rs_fail(RS_EUSAGE, "train: no model directory");
		return rs_hint("give -f DIR or set path in [model]");
	}
	RS_TRY(memory_strdup(settings->model.path, &s->own_directory));
	s->directory = s->own_directory;
	return RS_OK;
}

/* A directory with versions is only added to when the caller says how. */
static enum rs_status
check_directory(const struct session *s)
{
	struct checkpoint_progress progress;
	uint64_t *list, newest;
	size_t n;

	if (argument_given(s->a, "--initial") || argument_given(s->a, "--resume")
	    || argument_given(s->a, "--fresh"))
		return RS_OK;
	RS_TRY(checkpoint_list(s->directory, &list, &n));
	newest = n > 0 ? list[n - 1] : 0;
	free(list);
	if (n == 0)
		return RS_OK;
	if (checkpoint_peek(s->directory, newest, &progress, NULL) == RS_OK
	    && progress.state == CHECKPOINT_TRAINING) {
		rs_fail(RS_ECREATE, "'%s' holds an unfinished run (v%06" PRIu64 ")", s->directory,
			newest);
		return rs_hint("go on with --resume, or start anew with --fresh");
	}
	rs_fail(RS_ECREATE, "'%s' holds a trained model (v%06" PRIu64 ")", s->directory, newest);
	return rs_hint("add a new version with --fresh, or go on from it with -i %s", s->directory);
}

/* --- callbacks --------------------------------------------------------------------- */

static void
on_started(void *context, const struct model *m, uint64_t total_rows)
{
	struct session *const s = context;
	const struct settings *const settings = spec_settings(m->spec);
	const struct progress_start start = {
		.model = settings->model.type, .seed = settings->train.seed,
		.threads = s->threads, .why_threads = s->why_threads,
	};

	(void)total_rows;
	pthread_mutex_lock(&s->lock);
	progress_start(&s->progress, &start);
	record_placement(s->record, m->kernel->name, "one process, all parameters in its memory");
	pthread_mutex_unlock(&s->lock);
}

static void
on_progress(void *context, const struct train_progress *p)
{
	struct session *const s = context;

	pthread_mutex_lock(&s->lock);
	progress_row(&s->progress, p);
	pthread_mutex_unlock(&s->lock);
}

static void
on_epoch(void *context, const struct train_epoch *e)
{
	struct session *const s = context;

	pthread_mutex_lock(&s->lock);
	progress_epoch(&s->progress, e);
	record_epoch(s->record, e);
	pthread_mutex_unlock(&s->lock);
}

static void
on_saved(void *context, const char *directory, uint64_t version, uint64_t bytes)
{
	struct session *const s = context;

	pthread_mutex_lock(&s->lock);
	progress_saved(&s->progress, directory, version, bytes);
	pthread_mutex_unlock(&s->lock);
}

static void
on_warning(void *context, const char *text)
{
	struct session *const s = context;

	pthread_mutex_lock(&s->lock);
	progress_warning(&s->progress, text);
	record_warning(s->record, text);
	pthread_mutex_unlock(&s->lock);
}

/* --- the run record ------------------------------------------------------------------ */

static enum rs_status
command_line(const struct arguments *a, struct buffer *out)
{
	for (int i = 0; i < a->argc; i++)
		RS_TRY(buffer_printf(out, "%s%s", i > 0 ? " " : "", a->argv[i]));
	return RS_OK;
}

static enum rs_status
begin_record(struct session *s, const struct spec *spec, const char *database)
{
	const struct settings *const settings = spec_settings(spec);
	struct buffer line, text;

	buffer_init(&line, SPEC_LIMIT);
	buffer_init(&text, SPEC_LIMIT);
	enum rs_status status = command_line(s->a, &line);
	if (status == RS_OK)
		status = spec_print(spec, 0, &text);
	if (status == RS_OK) {
		const struct store_run_start start = {
			.model = settings->model.type, .directory = s->directory,
			.spec_path = s->a->n_positional > 0 ? s->a->positional[0] : "",
			.spec_text = text.data, .command_line = line.data,
				.version = PACKAGE_VERSION,
			.tag = argument(s->a, "--tag"), .note = argument(s->a, "--note"),
			.seed = settings->train.seed, .threads = s->threads,
		};
		status = record_open(database, &start, &s->record);
	}
	buffer_free(&text);
	buffer_free(&line);
	RS_TRY(status);
	snprintf(s->progress.run, sizeof s->progress.run, "r%04" PRId64, record_run(s->record));
	return RS_OK;
}

/* How the run ended, as the run database names it. */
static const char *
status_word(enum rs_status status)
{
	static const struct { enum rs_status status; const char *word; } word[] = {
		{ RS_OK, "ok" }, { RS_EPARTIAL, "partial" }, { RS_EDIVERGED, "diverged" },
		{ RS_ESIGNAL, "interrupted" },
	};

	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		if (word[i].status == status)
			return word[i].word;
	return "failed";
}

/* --- the command ----------------------------------------------------------------------- */

static enum rs_status
fill_options(struct session *s, struct train_options *o)
{
	int64_t expect = 0;

	*o = (struct train_options){
		.directory = s->directory, .from = argument(s->a, "--initial"),
		.reset_optimizer = argument_given(s->a, "--reset-optimizer"),
		.reset_steps = argument_given(s->a, "--reset-steps"),
		.resume = argument_given(s->a, "--resume"),
		.progress_step = s->progress.step, .progress_multiplies = s->progress.multiplies,
		.stop_signal = &command_stop_signal,
		.callbacks = { on_started, on_progress, on_epoch, on_saved, s },
	};
	if (o->from != NULL && o->resume)
		return rs_fail(RS_EUSAGE, "train: -i and --resume exclude each other");
	RS_TRY(argument_seconds(s->a, "--lock-wait", &o->lock_wait));
	RS_TRY(argument_int(s->a, "--expect-rows", 1, INT64_MAX, &expect));
	o->expect_rows = (uint64_t)expect;
	return RS_OK;
}

/* Takes the spec. */
static enum rs_status
train_and_record(struct session *s, struct spec *spec, const struct train_options *options)
{
	const struct log_sink sink = { on_warning, s };
	struct train_summary summary;

	command_catch_signals();
	log_set_sink(&sink);
	enum rs_status status = train_run(spec, options, &summary);
	log_set_sink(NULL);

	struct rs_failure failure = { .status = RS_OK };
	if (status != RS_OK)
		rs_failure_take(&failure);
	const char *const word = status_word(status);
	record_end(s->record, word, s->directory, &summary, status != RS_OK ? failure.text : NULL);
	const struct progress_end end =
		{ .status = word, .directory = s->directory, .summary = &summary };
	const enum rs_status told = progress_end(&s->progress, &end);
	train_summary_free(&summary);
	if (status == RS_EPARTIAL && argument_given(s->a, "--ok-partial"))
		return told;
	return status != RS_OK ? rs_failure_put(&failure) : told;
}

static enum rs_status
dry_run(const struct session *s, const struct spec *spec)
{
	const struct settings *const settings = spec_settings(spec);

	RS_TRY(output_printf("would train %s with seed %" PRId64 " on %" PRId64
		" threads into %s\n",
		settings->model.type, settings->train.seed, s->threads, s->directory));
	return output_flush();
}

/* Takes the spec. */
static enum rs_status
run_session(struct session *s, struct spec *spec)
{
	struct train_options options;
	char *database = NULL;

	enum rs_status status = choose_directory(s, spec_settings(spec));
	if (status == RS_OK)
		status = fill_options(s, &options);
	if (status == RS_OK)
		status = check_directory(s);
	if (status == RS_OK && argument_given(s->a, "--dry-run")) {
		status = dry_run(s, spec);
		spec_free(spec);
		return status;
	}
	if (status == RS_OK)
		status = command_database(s->a, spec, s->directory, &database);
	if (status == RS_OK)
		status = begin_record(s, spec, database);
	if (status == RS_OK)
		status = train_and_record(s, spec, &options);
	else
		spec_free(spec);
	record_close(s->record);
	free(database);
	return status;
}

static enum rs_status
train_command(const struct arguments *a)
{
	struct session s = { .a = a };
	struct spec *spec = NULL;
	pthread_mutexattr_t recursive;

	signal(SIGXFSZ, SIG_IGN);      /* a file size limit is a write error          */
	RS_TRY(progress_init(&s.progress, a));
	RS_TRY(load_spec(a, &spec));
	s.threads = spec_settings(spec)->train.threads;
	if (s.threads == 0)
		s.threads = (int64_t)thread_auto_count(&s.why_threads);
	if (model_workers(spec_settings(spec), (size_t)s.threads) < (size_t)s.threads) {
		s.threads = (int64_t)model_workers(spec_settings(spec), (size_t)s.threads);
		s.why_threads = "one for each slot of a batch";
	}
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&s.lock, &recursive);
	const enum rs_status status = run_session(&s, spec);
	pthread_mutex_destroy(&s.lock);
	pthread_mutexattr_destroy(&recursive);
	free(s.own_directory);
	return status;
}

static const struct command_option option[] = {
	{ .name = "--data",
		.letter = 'd',
		.argument = "DATA",
		.repeats = 1,
		.text = "Training file or pattern instead of data.train." },
	{ .name = "--valid",
		.argument = "DATA",
		.repeats = 1,
		.text = "Validation file or pattern instead of data.valid." },
	{ .name = "--data-command",
		.argument = "COMMAND",
		.text = "Read the training rows from the output of a shell command and check "
			"its exit status." },
	{ .name = "--initial",
		.letter = 'i',
		.argument = "MODEL",
		.text = "Start from the weights, optimizer state and step count of a model." },
	{ .name = "--final",
		.letter = 'f',
		.argument = "MODEL",
		.text = "Model directory to write instead of model.path." },
	{ .name = "--reset-optimizer", .text = "With -i, start the optimizers anew." },
	{ .name = "--reset-steps", .text = "With -i, start the learning rate schedule anew." },
	{ .name = "--resume", .text = "Go on with the unfinished run in the model directory." },
	{ .name = "--fresh",
		.text = "Train from scratch and add the result to the model directory." },
	{ .name = "--epochs",
		.argument = "N",
		.text = "Passes over the data instead of train.epochs." },
	{ .name = "--seed",
		.argument = "N",
		.text = "Seed of every random stream instead of train.seed." },
	{ .name = "--time-limit",
		.argument = "TIME",
		.text = "Stop after this time, for instance 50m, and keep what was learned." },
	{ .name = "--expect-rows",
		.argument = "N",
		.text = "Fail unless the training data have exactly this many rows." },
	{ .name = "--ok-partial", .text = "Exit with 0 although rows were skipped." },
	{ .name = "--tag", .argument = "TAG", .text = "Tag of the run in the run database." },
	{ .name = "--note", .argument = "TEXT", .text = "Note of the run in the run database." },
	{ .name = NULL },
};

const struct command command_train = {
	.name = "train",
	.synopsis = "SPEC [-d DATA]... [--valid DATA] [-i MODEL] [-f MODEL] [--resume|--fresh]",
	.text = "Train a model and record the run.",
	.option = option,
	.run = train_command,
};
