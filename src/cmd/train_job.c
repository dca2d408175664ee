/* A training run of many processes of this host. */
#include "cmd/train_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "cmd/job_spec.h"
#include "place/placement.h"
#include "place/supervisor.h"
#include "reduce/exchange.h"
#include "train/checkpoint.h"
#include "train/ranks.h"

#define TEXT_LIMIT   ((size_t)64 << 20)
#define PERIOD_LIMIT ((size_t)2 << 30)
/* Floats that move at once in the shared memory of the workers; more go in pieces. */
#define SHARED_FLOATS ((size_t)4 << 20)

struct train_job {
	struct session *session;
	struct spec *spec;          /* a copy, with the placement in it                */
	struct placement placement;
	struct job job;
	char   **argument;          /* [n] of every node; owned                        */
	size_t n;
	const struct job_period *period;    /* or NULL                                 */
	struct job_verdict *verdict;
};

int
train_job_wanted(const struct settings *settings)
{
	return ranks_wanted(settings);
}

/* --- the plan ---------------------------------------------------------------------- */

static enum rs_status
show_placement(const struct train_job *t)
{
	struct buffer text;

	if (!progress_is_text(&t->session->progress))
		return RS_OK;
	buffer_init(&text, TEXT_LIMIT);
	const enum rs_status status = placement_print(&t->placement, 0, &text);
	if (status == RS_OK)
		fprintf(stderr, "%.*s", (int)text.n, text.data);
	buffer_free(&text);
	return status;
}

/* --- what the nodes get -------------------------------------------------------------- */

/* Options that the resolved spec has, or that are this process's own. */
static int
is_ours(const char *name)
{
	static const char *const ours[] = {
		"--set", "--layer", "--threads", "--directory", "--dry-run", "--tag", "--note",
		"--fresh", "--final", "--cron", "--incremental",
		"--since", "--until", "--lock-wait",
	};

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (strcmp(name, ours[i]) == 0)
			return 1;
	return session_is_key_option(name);
}

static enum rs_status
add_argument(struct train_job *t, const char *name, const char *value)
{
	const int has_value = value != NULL && value[0] != '\0';

	if (asprintf(&t->argument[t->n], "%s%s%s", name, has_value ? "=" : "",
		has_value ? value : "") < 0) {
		t->argument[t->n] = NULL;
		return rs_fail(RS_ERESOURCE, "out of memory");
	}
	t->n++;
	return RS_OK;
}

static enum rs_status
make_arguments(struct train_job *t, const char *spec_path, const char *period_path)
{
	const struct arguments *const a = t->session->a;
	char threads[32];

	RS_TRY(memory_alloc(a->n_given + 4, sizeof *t->argument, &t->argument));
	for (size_t i = 0; i < a->n_given; i++)
		if (!is_ours(a->given[i].option->name)
		    && (t->period == NULL || strcmp(a->given[i].option->name, "--require") != 0))
			RS_TRY(add_argument(t, a->given[i].option->name,
				a->given[i].option->argument != NULL ? a->given[i].value : NULL));
	snprintf(threads, sizeof threads, "%zu", t->placement.n_threads);
	RS_TRY(add_argument(t, "--threads", threads));
	RS_TRY(add_argument(t, "--final", t->session->directory));
	if (t->period != NULL)
		RS_TRY(add_argument(t, "--period", period_path));
	return add_argument(t, spec_path, NULL);
}

/* Frees the text. */
static enum rs_status
write_text(enum rs_status status, const char *path, struct buffer *text)
{
	if (status == RS_OK)
		status = file_replace(path, text->data, text->n);
	buffer_free(text);
	return status;
}

/* The spec that nodes read stays as it is, whatever happens to the user's. */
static enum rs_status
write_files(struct train_job *t)
{
	struct buffer text;
	char *spec, *period = NULL;

	RS_TRY(file_join(t->job.directory, "spec.ini", &spec));
	buffer_init(&text, TEXT_LIMIT);
	enum rs_status status = write_text(spec_print(t->spec, 0, &text), spec, &text);
	if (status == RS_OK)
		status = file_join(t->job.directory, JOB_PERIOD_FILE, &period);
	if (status == RS_OK && t->period != NULL) {
		buffer_init(&text, PERIOD_LIMIT);
		status = write_text(job_period_print(t->period, &text), period, &text);
	}
	if (status == RS_OK)
		status = make_arguments(t, spec, period);
	free(period);
	free(spec);
	return status;
}

/* Whether the run ended well is another question. */
static void
read_verdict(struct train_job *t)
{
	if (t->period != NULL && job_verdict_read(t->job.directory, t->verdict) != RS_OK)
		memset(t->verdict, 0, sizeof *t->verdict);
}

static enum rs_status
fill_job(struct train_job *t)
{
	uint64_t *list;
	size_t n;

	RS_TRY(checkpoint_list(t->session->directory, &list, &n));
	t->job.version = n > 0 ? list[n - 1] : 0;
	free(list);
	t->job.n_workers = t->placement.n_workers;
	t->job.n_ps = t->placement.n_ps;
	t->job.run = record_run(t->session->record);
	return job_spec_hash(t->spec, &t->placement, &t->job.config);
}

/* --- the run ----------------------------------------------------------------------------- */

static enum rs_status
supervise(struct train_job *t, int *exit_code)
{
	const struct settings *const s = spec_settings(t->spec);
	const struct placement *const p = &t->placement;
	const size_t floats = p->dense_params < SHARED_FLOATS ? (size_t)p->dense_params + 1
		: SHARED_FLOATS;
	const struct supervisor_options options = {
		.job = &t->job, .program = "/proc/self/exe", .cluster = &s->cluster,
		.stop_signal = &command_stop_signal, .runtime = command_variable("XDG_RUNTIME_DIR"),
		.shared_bytes = p->n_workers > 1 && p->carrier == PLANE_SHM
			? exchange_shm_bytes(p->n_workers, p->n_slots, floats) : 0,
	};
	struct supervisor *supervisor;

	RS_TRY(supervisor_open(&options, &supervisor));
	enum rs_status status = write_files(t);
	if (status == RS_OK)
		status = supervisor_run(supervisor, t->argument, t->n, exit_code);
	if (status == RS_OK)
		read_verdict(t);
	supervisor_close(supervisor);
	return status;
}

/* Warnings of this process go into the record; worker 0 sees to its own. */
static void
on_warning(void *context, const char *text)
{
	record_warning(context, text);
}

static enum rs_status
run(struct train_job *t)
{
	struct session *const s = t->session;
	struct rs_failure failure;
	int code = -1;

	command_catch_signals();
	log_set_sink(&(struct log_sink){ on_warning, s->record });
	enum rs_status status = fill_job(t);
	if (status == RS_OK)
		status = supervise(t, &code);
	log_set_sink(NULL);
	if (status != RS_OK) {
		rs_failure_take(&failure);
		record_fail(s->record, failure.text);
		return rs_failure_put(&failure);
	}
	record_fail(s->record, "worker 0 ended before it could record the run");
	command_exit_code = code;       /* worker 0 has said why                       */
	return RS_OK;
}

static enum rs_status
dry_run(const struct train_job *t, const struct settings *settings)
{
	struct buffer text;

	buffer_init(&text, TEXT_LIMIT);
	enum rs_status status = placement_print(&t->placement, 0, &text);
	if (status == RS_OK)
		status = output_text(text.data, text.n);
	buffer_free(&text);
	RS_TRY(status);
	const struct placement *const p = &t->placement;

	RS_TRY(output_printf("would train %s with seed %" PRId64 " in %zu worker%s of %zu thread%s "
		"and %zu shard%s into %s\n", settings->model.type, settings->train.seed,
		p->n_workers, p->n_workers == 1 ? "" : "s",
		p->n_threads, p->n_threads == 1 ? "" : "s",
		p->n_ps, p->n_ps == 1 ? "" : "s", t->session->directory));
	return output_flush();
}

enum rs_status
train_job(struct session *s, const struct spec *spec, const struct job_period *period,
	struct job_verdict *verdict)
{
	struct train_job t = { .session = s, .period = period, .verdict = verdict,
		.job = { .shared_fd = -1, .leash_fd = -1 } };
	struct placement_host host;

	placement_host_here(&host);
	session_tell_gpus(&s->gpu, s->why_device, &host);
	enum rs_status status = job_spec_place(spec, &host, &t.placement, &s->placement.kernel);
	s->threads = (int64_t)t.placement.n_threads;
	if (status == RS_OK && argument_given(s->a, "--dry-run")) {
		status = dry_run(&t, spec_settings(spec));
	} else if (status == RS_OK) {
		status = job_spec_settle(spec, &t.placement, &t.spec);
		if (status == RS_OK)
			status = session_record_begin(s, spec);
		if (status == RS_OK)
			status = show_placement(&t);
		if (status == RS_OK) {
			session_record_placement(s, &t.placement);
			status = run(&t);
		}
	}
	for (size_t i = 0; i < t.n; i++)
		free(t.argument[i]);
	free(t.argument);
	job_free(&t.job);
	placement_free(&t.placement);
	if (t.spec != NULL)
		spec_free(t.spec);
	return status;
}
