/* The shards of this host, and the coordinator, beside a worker that a launcher started. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cmd/job_spec.h"
#include "cmd/launched_private.h"
#include "cmd/session.h"
#include "reduce/exchange.h"

#define TEXT_LIMIT    ((size_t)64 << 20)
#define SHARED_FLOATS ((size_t)4 << 20)
/* Nobody starts a worker again: the others need not wait for it as long as they would. */
#define LOST_SECONDS  "20"
/* For the worker to hear from the others why the children ended. */
#define HEAR_SECONDS  10.0

static int
needs_memory(const struct launched *l)
{
	const struct placement *const p = &l->node.placement;

	return l->is_first && p->n_workers > 1 && p->carrier == PLANE_SHM;
}

static uint64_t
shared_bytes(const struct launched *l)
{
	const struct placement *const p = &l->node.placement;
	const size_t floats = p->dense_params < SHARED_FLOATS ? (size_t)p->dense_params + 1
		: SHARED_FLOATS;

	return needs_memory(l) ? exchange_shm_bytes(p->n_workers, p->n_slots, floats) : 0;
}

/* Shards and coordinator of a job that cannot get a worker back give it up early. */
static enum rs_status
make_spec(const struct launched *l, struct spec **out)
{
	const enum launcher launcher = l->e.launcher;

	RS_TRY(job_spec_copy(l->node.spec, out));
	if ((launcher != LAUNCHER_OPENMPI && launcher != LAUNCHER_PMI
	    && launcher != LAUNCHER_SLURM)
	    || l->node.settings->cluster.absence < strtod(LOST_SECONDS, NULL))
		return RS_OK;
	return spec_set(*out, "cluster", "absence", LOST_SECONDS);
}

/* Options of the worker beside them are none of theirs, unless it is one of them. */
static int
is_theirs(const struct launched *l, const char *name)
{
	static const char *const never[] = {
		"--set", "--layer", "--threads", "--directory", "--dry-run", "--log-file",
		"--hosts", "--ssh", "--program", "--here",
	};

	if (l->e.launcher != LAUNCHER_SSH)
		return strcmp(name, "--verbose") == 0;
	for (size_t i = 0; i < sizeof never / sizeof *never; i++)
		if (strcmp(name, never[i]) == 0)
			return 0;
	return !session_is_key_option(name);
}

static enum rs_status
make_arguments(struct launched *l, const char *spec_path)
{
	const struct arguments *const a = l->node.a;
	char threads[48];

	RS_TRY(memory_alloc(a->n_given + 2, sizeof *l->argument, &l->argument));
	for (size_t i = 0; i < a->n_given; i++) {
		const struct command_option *const o = a->given[i].option;
		const int has_value = o->argument != NULL && a->given[i].value[0] != '\0';

		if (!is_theirs(l, o->name))
			continue;
		if (asprintf(&l->argument[l->n_arguments], "%s%s%s", o->name,
			has_value ? "=" : "", has_value ? a->given[i].value : "") < 0)
			return rs_fail(RS_ERESOURCE, "out of memory");
		l->n_arguments++;
	}
	snprintf(threads, sizeof threads, "--threads=%zu", l->node.placement.n_threads);
	RS_TRY(memory_strdup(threads, &l->argument[l->n_arguments++]));
	return memory_strdup(spec_path, &l->argument[l->n_arguments++]);
}

static enum rs_status
write_spec(struct launched *l)
{
	struct buffer text;
	struct spec *spec = NULL;
	char *path = NULL;

	buffer_init(&text, TEXT_LIMIT);
	enum rs_status status = make_spec(l, &spec);
	if (status == RS_OK)
		status = file_join(l->node.job.directory, "spec.ini", &path);
	if (status == RS_OK)
		status = spec_print(spec, 0, &text);
	if (status == RS_OK)
		status = file_replace(path, text.data, text.n);
	if (status == RS_OK)
		status = make_arguments(l, path);
	free(path);
	if (spec != NULL)
		spec_free(spec);
	buffer_free(&text);
	return status;
}

static int
comes_again(const struct environment *e)
{
	return e->launcher == LAUNCHER_KUBERNETES || e->launcher == LAUNCHER_TF_CONFIG
		|| e->launcher == LAUNCHER_TORCHRUN;
}

enum rs_status
launched_children_open(struct launched *l)
{
	struct node *const n = &l->node;

	if (l->n_own == 0)
		return RS_OK;
	l->options = (struct supervisor_options){
		.job = &n->job, .program = "/proc/self/exe", .cluster = &n->settings->cluster,
		.stop_signal = &command_stop_signal, .runtime = command_variable("XDG_RUNTIME_DIR"),
		.shared_bytes = shared_bytes(l), .own = l->own, .n_own = l->n_own,
		.keys = &n->job.keys, .over = &l->over, .comes_again = comes_again(&l->e),
	};
	RS_TRY(supervisor_open(&l->options, &l->supervisor));
	return write_spec(l);
}

/* Children die with the thread that started them, which stays to the end. */
static void *
watch(void *argument)
{
	struct launched *const l = argument;
	const double until = clock_seconds() + HEAR_SECONDS;
	int code;

	if (supervisor_run(l->supervisor, l->argument, l->n_arguments, &code) == RS_OK)
		return NULL;
	rs_failure_take(&l->failure);
	while (atomic_load(&l->over) == 0 && clock_seconds() < until)
		(void)poll(NULL, 0, 50);
	if (atomic_load(&l->over) != 0)
		return NULL;
	atomic_store(&l->gave_up, 1);
	if (command_stop_signal == 0)
		command_stop_signal = SIGTERM;
	return NULL;
}

enum rs_status
launched_children_start(struct launched *l)
{
	if (l->supervisor == NULL)
		return RS_OK;
	RS_TRY(thread_start(&l->thread, "children", watch, l));
	l->is_watched = 1;
	return RS_OK;
}

enum rs_status
launched_children_end(struct launched *l, enum rs_status status)
{
	struct rs_failure failure = { .status = RS_OK };

	if (status != RS_OK)
		rs_failure_take(&failure);
	/* Whoever did not come in has told nobody that it is over. */
	atomic_store(&l->over, status == RS_OK || l->node.member != NULL ? 1 : 2);
	if (l->is_watched)
		(void)pthread_join(l->thread, NULL);
	if (l->supervisor != NULL)
		supervisor_close(l->supervisor);
	for (size_t i = 0; i < l->n_arguments; i++)
		free(l->argument[i]);
	free(l->argument);
	if (atomic_load(&l->gave_up) && failure.status == RS_ESIGNAL)
		failure = l->failure;
	return status != RS_OK ? rs_failure_put(&failure) : RS_OK;
}
