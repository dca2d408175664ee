/* A training run as it is shown and recorded. */
#include "config.h"
#include "cmd/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "cmd/cron.h"
#include "cmd/session_board.h"
#include "train/checkpoint.h"

#define SPEC_LIMIT ((size_t)64 << 20)

/* --- overrides from options ------------------------------------------------------ */

/* Options that are another way to write a spec key, and what each takes the place of. */
static const struct { const char *option, *key; int is_text; const char *instead; } key_option[] = {
	{ "--data", "data.train", 1, "data.command=" },
	{ "--valid", "data.valid", 1, NULL },
	{ "--data-command", "data.command", 1, "data.train=" },
	{ "--epochs", "train.epochs", 0, NULL },
	{ "--seed", "train.seed", 0, NULL },
	{ "--time-limit", "train.time_limit", 0, NULL },
	{ "--workers", "cluster.workers", 0, NULL },
	{ "--ps", "cluster.ps", 0, NULL },
	{ "--listen", "cluster.listen", 1, NULL },
	{ "--key", "cluster.secret", 1, NULL },
	{ "--keys", "cluster.keys", 1, NULL },
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

int
session_is_key_option(const char *option)
{
	for (size_t k = 0; k < N_KEY_OPTIONS; k++)
		if (strcmp(key_option[k].option, option) == 0)
			return 1;
	return 0;
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

enum rs_status
session_spec(const struct arguments *a, struct spec **out)
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
		return rs_fail(RS_EUSAGE, "%s: unexpected argument '%s'",
			a->command->name, a->positional[n_used]);
	}
	return status;
}

/* --- where the model goes ----------------------------------------------------------- */

enum rs_status
session_directory(struct session *s, const struct settings *settings)
{
	s->directory = argument(s->a, "--final");
	if (s->directory != NULL)
		return RS_OK;
	if (settings->model.path[0] == '\0') {
		rs_fail(RS_EUSAGE, "%s: no model directory", s->a->command->name);
		return rs_hint("give -f DIR or set path in [model]");
	}
	RS_TRY(memory_strdup(settings->model.path, &s->own_directory));
	s->directory = s->own_directory;
	return RS_OK;
}

enum rs_status
session_check_directory(const struct session *s)
{
	struct checkpoint_progress progress;
	struct stat st;
	uint64_t *list, newest;
	size_t n;

	if (stat(s->directory, &st) == 0 && !S_ISDIR(st.st_mode)) {
		rs_fail(RS_ECREATE, "'%s' is a file, wanted a directory for the model",
			s->directory);
		return rs_hint("-f names the model's directory, -d the data");
	}
	/* Not when all is trained. */
	if (access(s->directory, F_OK) == 0 && access(s->directory, W_OK | X_OK) != 0)
		return rs_fail(RS_ECREATE, "cannot write to '%s': %s", s->directory,
			strerror(errno));
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
		.device = m->gpu != NULL ? m->gpu->gpu->name : "cpu",
		.why_device = m->why_host[0] != '\0' ? m->why_host : s->why_device,
		.tables = session_tables_name(m), .why_tables = m->why_tables,
	};

	(void)total_rows;
	pthread_mutex_lock(&s->lock);
	progress_start(&s->progress, &start);
	if (s->placement.mode != NULL) {
		s->placement.lookup = m->lookup->ops->name;
		s->placement.kernel = m->gpu != NULL ? m->gpu->gpu->name : m->kernel->name;
		record_placement(s->record, &s->placement);
	}
	session_board_begin(s, m);
	pthread_mutex_unlock(&s->lock);
}

static void
on_progress(void *context, const struct train_progress *p)
{
	struct session *const s = context;

	pthread_mutex_lock(&s->lock);
	progress_row(&s->progress, p);
	session_board_progress(s, p);
	if (s->on_row != NULL)
		s->on_row(s->context, p);
	pthread_mutex_unlock(&s->lock);
}

static void
on_epoch(void *context, const struct train_epoch *e)
{
	struct session *const s = context;

	pthread_mutex_lock(&s->lock);
	progress_epoch(&s->progress, e);
	record_epoch(s->record, e);
	session_board_epoch(s, e);
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
on_scored(void *context, const struct metric_result *m)
{
	struct session *const s = context;

	pthread_mutex_lock(&s->lock);
	progress_scored(&s->progress, s->period, m);
	session_board_scored(s, m);
	pthread_mutex_unlock(&s->lock);
}

static void
on_judged(void *context, int is_accepted, const char *verdict)
{
	struct session *const s = context;

	pthread_mutex_lock(&s->lock);
	progress_gate(&s->progress, is_accepted, verdict);
	record_param(s->record, "train.verdict", verdict);
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

/* --- options of the run ------------------------------------------------------------ */

static enum rs_status
read_conditions(struct session *s)
{
	const char *text;

	for (s->n_conditions = 0; (text = argument_nth(s->a, "--require", s->n_conditions))
		!= NULL; s->n_conditions++) {
		if (s->n_conditions == SESSION_CONDITIONS)
			return rs_fail(RS_EUSAGE, "more than %d conditions", SESSION_CONDITIONS);
		RS_TRY(gate_parse(text, &s->condition[s->n_conditions]));
	}
	return RS_OK;
}

enum rs_status
session_options(struct session *s, struct train_options *o)
{
	int64_t expect = 0;

	*o = (struct train_options){
		.directory = s->directory, .from = argument(s->a, "--initial"),
		.reset_optimizer = argument_given(s->a, "--reset-optimizer"),
		.reset_steps = argument_given(s->a, "--reset-steps"),
		.rebuild_cache = argument_given(s->a, "--rebuild-cache"),
		.allow_new_fields = argument_given(s->a, "--allow-new-fields"),
		.resume = argument_given(s->a, "--resume"),
		.progress_step = s->progress.step, .progress_multiplies = s->progress.multiplies,
		.stop_signal = &command_stop_signal,
		.gpu = s->gpu.gpu != NULL ? &s->gpu : NULL,
		.callbacks = { on_started, on_progress, on_epoch, on_saved, on_scored,
			on_judged, s },
	};
	if (o->from != NULL && o->resume)
		return rs_fail(RS_EUSAGE, "%s: -i and --resume exclude each other",
			s->a->command->name);
	RS_TRY(argument_seconds(s->a, "--lock-wait", &o->lock_wait));
	RS_TRY(argument_int(s->a, "--expect-rows", 1, INT64_MAX, &expect));
	o->expect_rows = (uint64_t)expect;
	RS_TRY(read_conditions(s));
	o->condition = s->condition;
	o->n_conditions = s->n_conditions;
	return RS_OK;
}

/* --- the run record ------------------------------------------------------------------ */

static enum rs_status
begin_record(struct session *s, const struct spec *spec, const char *database)
{
	const struct settings *const settings = spec_settings(spec);
	struct buffer line, text;

	buffer_init(&line, SPEC_LIMIT);
	buffer_init(&text, SPEC_LIMIT);
	enum rs_status status = command_line_text(s->a, &line);
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

enum rs_status
session_record_begin(struct session *s, const struct spec *spec)
{
	char *database = NULL;

	RS_TRY(command_database(s->a, spec, s->directory, &database));
	const enum rs_status status = begin_record(s, spec, database);
	free(database);
	return status;
}

enum rs_status
session_record_attach(struct session *s, const struct spec *spec, int64_t run)
{
	char *database = NULL;

	RS_TRY(command_database(s->a, spec, s->directory, &database));
	const enum rs_status status = record_attach(database, run, &s->record);
	free(database);
	RS_TRY(status);
	snprintf(s->progress.run, sizeof s->progress.run, "r%04" PRId64, run);
	return RS_OK;
}

/* --- the end -------------------------------------------------- */

void
session_record_placement(struct session *s, const struct placement *p)
{
	char reason[sizeof p->why_mode + sizeof p->why_dense + sizeof p->policy.why + 64], key[64];
	const struct record_placement row = {
		.mode = placement_mode_name(p->mode), .lookup = p->n_ps > 0 ? "remote" : "local",
		.reducer = placement_dense_name(p->dense), .kernel = s->placement.kernel,
		.reason = reason,
	};

	snprintf(reason, sizeof reason, "%s; %s; rows by %s: %s", p->why_mode, p->why_dense,
		p->policy.policy == POLICY_FILE ? "file" : "record", p->policy.why);
	record_placement(s->record, &row);
	record_figure(s->record, "plan.workers", (double)p->n_workers);
	record_figure(s->record, "plan.shards", (double)p->n_ps);
	for (size_t i = 0; i < p->n_ps; i++) {
		snprintf(key, sizeof key, "plan.shard.%zu.rows", i);
		record_figure(s->record, key, (double)p->shard[i].rows);
		snprintf(key, sizeof key, "plan.shard.%zu.bytes", i);
		record_figure(s->record, key, (double)p->shard[i].bytes);
	}
}

/* How the run ended, as the run database names it. */
static const char *
status_word(enum rs_status status)
{
	static const struct { enum rs_status status; const char *word; } word[] = {
		{ RS_OK, "ok" }, { RS_EPARTIAL, "partial" }, { RS_EDIVERGED, "diverged" },
		{ RS_ESIGNAL, "interrupted" }, { RS_EUNMET, "rejected" },
	};

	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		if (word[i].status == status)
			return word[i].word;
	return "failed";
}

void
session_watch(struct session *s)
{
	log_set_sink(&(struct log_sink){ on_warning, s });
}

enum rs_status
session_end(struct session *s, enum rs_status status, struct train_summary *summary)
{
	struct rs_failure failure = { .status = RS_OK };
	const char *const word = status_word(status);
	const struct progress_end end =
		{ .status = word, .directory = s->directory, .summary = summary };

	session_board_end(s);
	log_set_sink(NULL);
	if (status != RS_OK)
		rs_failure_take(&failure);
	cron_summary("run %s %s, %" PRIu64 " rows, v%06" PRIu64, s->progress.run, word,
		summary->rows_trained, summary->version);
	record_end(s->record, word, s->directory, summary, status != RS_OK ? failure.text : NULL);
	const enum rs_status told = progress_end(&s->progress, &end);
	train_summary_free(summary);
	if (status == RS_EPARTIAL && argument_given(s->a, "--ok-partial"))
		return told;
	return status != RS_OK ? rs_failure_put(&failure) : told;
}

/* --- the whole ------------------------------------------------------------------------- */

enum rs_status
session_init(struct session *s, const struct arguments *a)
{
	pthread_mutexattr_t recursive;

	memset(s, 0, sizeof *s);
	s->a = a;
	s->placement = (struct record_placement){
		.mode = "local", .lookup = "local", .reducer = "shm",
		.reason = "one process, all parameters in its memory",
	};
	RS_TRY(progress_init(&s->progress, a));
	pthread_mutexattr_init(&recursive);
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&s->lock, &recursive);
	pthread_mutexattr_destroy(&recursive);
	return RS_OK;
}

void
session_free(struct session *s)
{
	session_board_end(s);
	record_close(s->record);
	pthread_mutex_destroy(&s->lock);
	free(s->own_directory);
}
