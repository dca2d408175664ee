/* A process of a run that a launcher started. */
#include "cmd/launched_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/job_spec.h"
#include "cmd/node_exchange.h"
#include "cmd/session.h"

/* --- who we are --------------------------------------------------------------------- */

/* The script of a job of Slurm has the variables of a task, but is none. */
enum rs_status
launched_read(struct environment *out, int *is_launched)
{
	RS_TRY(environment_read(command_variable, out));
	*is_launched = out->role != 0 || out->size > 1;
	if (out->launcher == LAUNCHER_SLURM && command_variable("SLURM_STEP_ID") == NULL)
		*is_launched = 0;
	return RS_OK;
}

/* Nobody starts a process again, or the user does it. */
static int
is_final(const struct environment *e)
{
	return e->launcher == LAUNCHER_OPENMPI || e->launcher == LAUNCHER_PMI
		|| (e->launcher == LAUNCHER_SLURM && e->restarts == 0);
}

static enum rs_status
set_count(struct launched *l, const char *key, int64_t have, size_t wanted)
{
	char text[32];

	if (have == 0) {
		snprintf(text, sizeof text, "%zu", wanted);
		return spec_set(l->node.spec, "cluster", key, text);
	}
	if (have == (int64_t)wanted)
		return RS_OK;
	rs_fail(RS_EUSAGE, "%s started %zu of %s, cluster.%s is %" PRId64, l->e.name, wanted,
		key, key, have);
	return rs_hint("leave cluster.%s out: the launcher says how many there are", key);
}

/* Every process is a worker, unless the launcher gives them roles. */
static enum rs_status
take_counts(struct launched *l)
{
	const struct cluster_settings *const c = &l->node.settings->cluster;
	const struct environment *const e = &l->e;

	RS_TRY(set_count(l, "workers", c->workers, e->n_workers > 0 ? e->n_workers : e->size));
	return e->n_ps > 0 ? set_count(l, "ps", c->ps, e->n_ps) : RS_OK;
}

/* --- the plan -------------------------------------------------------------------------- */

/* For what is said of the plan: the workers find out together, and what this one cannot have is
 * told when it begins. */
static void
look_for_gpus(const struct launched *l, struct placement_host *host)
{
	struct gpu_memory gpu;
	const char *why;

	if (session_device(l->node.settings, &gpu, &why) == RS_OK)
		session_tell_gpus(&gpu, why, host);
	host->n_gpus = 0;
}

/* Launchers bind each process to cores of its own, or none. */
static void
describe_host(const struct launched *l, struct placement_host *host)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);
	const size_t a_host = (l->e.size + l->e.n_hosts - 1) / l->e.n_hosts;

	placement_host_here(host);
	if (l->e.launcher != LAUNCHER_SSH && online > 0 && host->n_cores < (size_t)online)
		host->n_cores *= a_host;
	host->n_hosts = l->e.n_hosts;
	host->memory_bytes = 0;         /* all processes have to choose alike           */
	host->no_mpi = l->no_mpi[0] != '\0' ? l->no_mpi : NULL;
	host->no_shm = l->is_alone ? NULL : "nothing starts all workers of a host";
	if (l->node.settings->placement.dense == PLANE_AUTO)
		look_for_gpus(l, host);
}

enum rs_status
launched_plan(struct launched *l)
{
	struct node *const n = &l->node;
	struct placement_host host;
	struct spec *settled;

	describe_host(l, &host);
	RS_TRY(job_spec_place(n->spec, &host, &n->placement, &n->kernel));
	RS_TRY(job_spec_settle(n->spec, &n->placement, &settled));
	spec_free(n->spec);
	n->spec = settled;
	n->settings = spec_settings(settled);
	return job_spec_hash(settled, &n->placement, &n->job.config);
}

static enum rs_status
show_plan(const struct launched *l)
{
	const struct node *const n = &l->node;

	if (!l->is_first)
		return RS_OK;
	RS_TRY(output_printf("would train %s in %zu workers of %zu threads and %zu shards on "
		"%zu hosts, started by %s\n", n->settings->model.type, n->placement.n_workers,
		n->placement.n_threads, n->placement.n_ps, l->e.n_hosts, l->e.name));
	return output_flush();
}

/* --- the job ------------------------------------------------------------------------------ */

static void
own_node(struct launched *l, uint32_t role, size_t index)
{
	l->own[l->n_own++] = job_number(&l->node.job, role, index);
}

/* Shards go around the hosts. */
static enum rs_status
list_own(struct launched *l)
{
	const struct job *const job = &l->node.job;
	const struct environment *const e = &l->e;

	RS_TRY(memory_alloc(job->n_nodes, sizeof *l->own, &l->own));
	if (l->is_first && e->launcher != LAUNCHER_RECSYS)
		own_node(l, KEY_COORDINATOR, 0);
	if (e->role != 0 || e->local_rank != 0)
		return RS_OK;
	for (size_t i = e->host_index; i < job->n_ps; i += e->n_hosts)
		own_node(l, KEY_PS, i);
	for (size_t i = 0; e->launcher == LAUNCHER_SSH && i < e->local_size; i++)
		own_node(l, KEY_WORKER, e->rank + i);
	return RS_OK;
}

static enum rs_status
make_job(struct launched *l)
{
	struct node *const n = &l->node;
	const struct environment *const e = &l->e;
	struct job *const job = &n->job;

	job->n_workers = n->placement.n_workers;
	job->n_ps = n->placement.n_ps;
	job->id = e->job != 0 ? e->job : 1;
	job->local = e->local_rank;
	job->n_local = e->local_size;
	RS_TRY(job_make_nodes(job, 0));
	job->self = e->role != 0 ? job_number(job, e->role, e->role_index)
		: job_number(job, KEY_WORKER, e->rank);
	if (job->self >= job->n_nodes)
		return rs_fail(RS_EUSAGE, "%s: there is no %s %zu among %zu workers and %zu shards",
			e->name, key_role_name(e->role), e->role_index, job->n_workers, job->n_ps);
	job_node_name(job, job->self, n->name);
	return list_own(l);
}

/* --- the whole ------------------------------------------------------------------------------ */

/* Before anybody starts for it. */
static enum rs_status
check_directory(const struct launched *l)
{
	struct session s = { .a = l->node.a };

	RS_TRY(session_directory(&s, l->node.settings));
	const enum rs_status status = l->node.asks_to_resume ? session_check_directory(&s) : RS_OK;
	free(s.own_directory);
	return status;
}

enum rs_status
launched_prepare(struct launched *l)
{
	RS_TRY(make_job(l));
	RS_TRY(launched_address(l));
	if (!l->is_first)
		return RS_OK;
	RS_TRY(check_directory(l));
	return launched_children_open(l);
}

static enum rs_status
start(struct launched *l)
{
	const enum rs_status status = launched_prepare(l);

	if (status != RS_OK && !l->is_first)
		return status;
	RS_TRY(launched_meet(l, status));
	if (!l->is_first)
		RS_TRY(launched_children_open(l));
	return launched_children_start(l);
}

static enum rs_status
run(struct launched *l)
{
	struct node *const n = &l->node;

	if (l->e.rank > 0)
		log_set_level(LOG_ERROR);       /* worker 0 says what is odd about the spec */
	RS_TRY(session_spec(n->a, &n->spec));
	n->settings = spec_settings(n->spec);
	node_exchange_name(n->settings);
	RS_TRY(take_counts(l));
	RS_TRY(launched_meet_hosts(l));
	l->is_first = l->e.role != 0 ? l->e.role == KEY_WORKER && l->e.role_index == 0
		: l->e.rank == 0;
	RS_TRY(launched_plan(l));
	if (argument_given(n->a, "--dry-run"))
		return show_plan(l);
	enum rs_status status = start(l);
	if (status == RS_OK)
		status = node_run(n);
	return launched_children_end(l, status);
}

/* The wire to the launcher is for this process alone. */
static void
keep_wire(void)
{
	const char *const text = command_variable("PMI_FD");
	uint64_t fd;

	if (text != NULL && number_u64(text, strlen(text), &fd) && fd < 1 << 20)
		(void)fcntl((int)fd, F_SETFD, FD_CLOEXEC);
}

enum rs_status
launched_run(const struct arguments *a, const struct environment *e)
{
	static struct launched l;       /* its name is the log's, to the end           */

	if (argument_given(a, "--incremental")) {
		rs_fail(RS_EUSAGE, "--incremental trains on one host, and not under %s", e->name);
		return rs_hint("give --workers and --ps instead");
	}
	signal(SIGXFSZ, SIG_IGN);
	command_catch_signals();
	keep_wire();
	l = (struct launched){ .e = *e, .shared_fd = -1, .node = { .a = a,
		.job = { .shared_fd = -1, .leash_fd = -1 }, .asks_to_resume = is_final(e) } };
	const enum rs_status status = run(&l);
	if (status != RS_OK && !l.is_first && (l.is_told || l.node.is_told))
		command_exit_code = status == RS_ESIGNAL ? 128 + command_stop_signal
			: rs_exit_code(status);
	node_end(&l.node, status);
	launched_meet_end(&l, status);
	free(l.own);
	free(l.world);
	return status;
}
