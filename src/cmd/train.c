/* recsys-train train: a spec and its data become a model version and a run record. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "base/thread.h"
#include "cmd/command.h"
#include "cmd/cron.h"
#include "cmd/launched.h"
#include "cmd/session.h"
#include "cmd/session_board.h"
#include "cmd/train_incremental.h"
#include "cmd/train_job.h"
#include "train/train.h"

static void
choose_threads(struct session *s, const struct settings *settings)
{
	s->threads = settings->train.threads;
	if (s->threads == 0)
		s->threads = (int64_t)thread_auto_count(&s->why_threads);
	if (model_workers(settings, (size_t)s->threads) < (size_t)s->threads) {
		s->threads = (int64_t)model_workers(settings, (size_t)s->threads);
		s->why_threads = "one for each slot of a batch";
	}
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
train_here(struct session *s, struct spec *spec, const struct train_options *options)
{
	struct train_summary summary;

	const enum rs_status status = session_record_begin(s, spec);
	if (status != RS_OK) {
		spec_free(spec);
		return status;
	}
	command_catch_signals();
	session_watch(s);
	return session_end(s, train_run(spec, options, &summary), &summary);
}

static enum rs_status
train_periods(struct session *s, const struct spec *spec)
{
	RS_TRY(session_directory(s, spec_settings(spec)));
	RS_TRY(session_device(spec_settings(spec), &s->gpu, &s->why_device));
	choose_threads(s, spec_settings(spec));
	return train_incremental(s, spec);
}

/* Takes the spec. */
static enum rs_status
train_session(struct session *s, struct spec *spec)
{
	struct train_options options;

	enum rs_status status = session_directory(s, spec_settings(spec));
	if (status == RS_OK)
		status = session_device(spec_settings(spec), &s->gpu, &s->why_device);
	if (status == RS_OK)
		status = session_options(s, &options);
	if (status == RS_OK)
		status = session_check_directory(s);
	if (status == RS_OK && options.lock_wait <= 0 && !argument_given(s->a, "--dry-run"))
		status = cron_check_lock(s->directory,
			spec_settings(spec)->incremental.lock_warn);
	if (status == RS_OK && train_job_wanted(spec_settings(spec))) {
		status = train_job(s, spec, NULL, NULL);
	} else if (status == RS_OK) {
		choose_threads(s, spec_settings(spec));
		session_board_rhythm(s, spec_settings(spec), &options);
		if (!argument_given(s->a, "--dry-run"))
			return train_here(s, spec, &options);
		status = dry_run(s, spec);
	}
	spec_free(spec);
	return status;
}

/* *is_launched: it was the worker of a run that a launcher started. */
static enum rs_status
train_launched(const struct arguments *a, int *is_launched)
{
	struct environment e;

	RS_TRY(launched_read(&e, is_launched));
	const enum rs_status status = *is_launched ? launched_run(a, &e) : RS_OK;
	environment_free(&e);
	return status;
}

static enum rs_status
train_command(const struct arguments *a)
{
	struct session s;
	struct spec *spec = NULL;
	int is_launched;

	signal(SIGXFSZ, SIG_IGN);      /* a file size limit is a write error          */
	RS_TRY(train_launched(a, &is_launched));
	if (is_launched)
		return RS_OK;
	RS_TRY(session_init(&s, a));
	enum rs_status status = session_spec(a, &spec);
	if (status == RS_OK && argument_given(a, "--incremental")) {
		status = train_periods(&s, spec);
		spec_free(spec);
	} else if (status == RS_OK) {
		status = train_session(&s, spec);
	}
	session_free(&s);
	return status;
}

static const struct option_meaning meaning[] = {
	{ "--cron", "--lock-wait", "0" }, { "--cron", "--progress", "none" },
	{ NULL, NULL, NULL },
};

static const struct command_option option[] = {
	SESSION_OPTIONS
	{ .name = "--cron",
		.text = "For cron and timers: no progress, a summary line to the system log, and "
			"silence about a model that another run holds; see "
			"recsys-train-cron(7)." },
	{ .name = "--incremental",
		.text = "Train the periods that are new since the current version, each on the "
			"weights of the one before; see recsys-train-cron(7)." },
	{ .name = "--since",
		.argument = "TIME",
		.text = "With --incremental, leave periods alone that begin before this time." },
	{ .name = "--until",
		.argument = "TIME",
		.text = "With --incremental, leave periods alone that end after this time." },
	{ .name = NULL },
};

const struct command command_train = {
	.name = "train",
	.synopsis = "SPEC [-d DATA]... [--valid DATA] [-i MODEL] [-f MODEL] "
		"[--resume|--fresh|--incremental] "
		"[--workers N] [--ps N]",
	.text = "Train a model and record the run.",
	.option = option,
	.run = train_command,
	.meaning = meaning,
};
