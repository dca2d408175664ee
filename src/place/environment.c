/* Launchers, one row each: how to tell that it is there, and what it says. */
#include "place/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "comm/keys.h"
#include "place/environment_private.h"

#define PORT_FIRST 20000
#define PORT_COUNT 20000

/* --- variables ---------------------------------------------------------------- */

const char *
environment_value(const struct environment_reader *r, const char *name)
{
	const char *value = r->get(name);

	return value != NULL && *value != '\0' ? value : NULL;
}

/* A whole number; absent: `missing`, or an error when that is ENVIRONMENT_NEEDED. */
enum rs_status
environment_number(const struct environment_reader *r, const char *name, size_t missing,
	size_t *out)
{
	const char *value = environment_value(r, name);
	char shown[72];
	uint64_t x;

	if (value == NULL && missing == ENVIRONMENT_NEEDED)
		return rs_fail(RS_EUSAGE, "%s: the variable %s is missing", r->out->name, name);
	*out = missing;
	if (value == NULL)
		return RS_OK;
	if (!number_u64(value, strlen(value), &x) || x > UINT32_MAX)
		return rs_fail(RS_EUSAGE, "%s: the variable %s is '%s', wanted a whole number",
			r->out->name, name, rs_escape(shown, value, strlen(value)));
	*out = (size_t)x;
	return RS_OK;
}

/* rank < size, and the local ones; hosts as many as the local size makes. */
static enum rs_status
read_ranks(const struct environment_reader *r, const char *const name[4])
{
	struct environment *e = r->out;

	RS_TRY(environment_number(r, name[0], ENVIRONMENT_NEEDED, &e->rank));
	RS_TRY(environment_number(r, name[1], ENVIRONMENT_NEEDED, &e->size));
	RS_TRY(environment_number(r, name[2], 0, &e->local_rank));
	RS_TRY(environment_number(r, name[3], e->size, &e->local_size));
	if (e->rank >= e->size || e->local_rank >= e->local_size || e->local_size > e->size)
		return rs_fail(RS_EUSAGE, "%s: process %zu of %zu (%s, %s), %zu of %zu here",
			e->name, e->rank, e->size, name[0], name[1], e->local_rank, e->local_size);
	e->n_hosts = (e->size + e->local_size - 1) / e->local_size;
	e->host_index = e->rank / e->local_size;
	return RS_OK;
}

static enum rs_status
set_coordinator(struct environment *e, const char *host, size_t n, uint64_t port)
{
	const int colon = memchr(host, ':', n) != NULL && host[0] != '[';
	const int k = snprintf(e->coordinator, sizeof(e->coordinator), "tcp://%s%.*s%s:%llu",
		colon ? "[" : "", (int)n, host, colon ? "]" : "", (unsigned long long)port);

	return k > 0 && (size_t)k < sizeof(e->coordinator) ? RS_OK :
		rs_fail(RS_EUSAGE, "%s: a host name of %zu bytes", e->name, n);
}

static uint64_t
hash_text(const char *text)
{
	return hash_fingerprint64(text, strlen(text));
}

/* A port that all processes of a job choose alike. */
static uint64_t
port_of_job(const struct environment *e)
{
	return PORT_FIRST + hash_mix(e->job) % PORT_COUNT;
}

/* --- launchers ---------------------------------------------------------------- */

static enum rs_status
read_recsys(const struct environment_reader *r)
{
	struct environment *e = r->out;
	const char *role = environment_value(r, "RECSYS_TRAIN_ROLE");
	const char *address = environment_value(r, "RECSYS_TRAIN_COORDINATOR");
	char shown[72];

	e->role = key_role_parse(role, strlen(role));
	if (e->role == 0)
		return rs_fail(RS_EUSAGE,
			"RECSYS_TRAIN_ROLE is '%s', wanted coordinator, ps or worker",
			rs_escape(shown, role, strlen(role)));
	RS_TRY(environment_number(r, "RECSYS_TRAIN_INDEX", 0, &e->role_index));
	RS_TRY(environment_number(r, "RECSYS_TRAIN_WORKERS", 0, &e->n_workers));
	RS_TRY(environment_number(r, "RECSYS_TRAIN_PS", 0, &e->n_ps));
	e->rank = e->role_index;
	e->size = e->n_workers > 0 ? e->n_workers : 1;
	e->n_hosts = 1;
	if (address == NULL)
		return RS_OK;
	if (strlen(address) >= sizeof(e->coordinator))
		return rs_fail(RS_EUSAGE, "RECSYS_TRAIN_COORDINATOR is too long");
	memcpy(e->coordinator, address, strlen(address) + 1);
	e->job = hash_text(address);
	return RS_OK;
}

static enum rs_status
read_openmpi(const struct environment_reader *r)
{
	static const char *const name[4] = {
		"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
		"OMPI_COMM_WORLD_LOCAL_SIZE",
	};
	const char *job = environment_value(r, "PMIX_NAMESPACE");

	r->out->job = job != NULL ? hash_text(job) : 0;
	return read_ranks(r, name);
}

static enum rs_status
read_pmi(const struct environment_reader *r)
{
	static const char *const name[4] = {
		"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
	};

	return read_ranks(r, name);
}

/* "2(x3),1": how many tasks each host has; those of the host of this rank. */
static enum rs_status
find_host(struct environment *e, const char *counts)
{
	size_t first = 0, host = 0;

	for (const char *at = counts; *at != '\0';) {
		char *end;
		const unsigned long long n = strtoull(at, &end, 10);
		unsigned long long times = 1;

		if (end == at || n == 0 || n > e->size)
			break;
		if (strncmp(end, "(x", 2) == 0)
			times = strtoull(end + 2, &end, 10), end += *end == ')';
		for (; times > 0; times--, host++, first += n)
			if (e->rank >= first && e->rank < first + n) {
				e->host_index = host;
				e->local_size = n;
				e->local_rank = e->rank - first;
				return RS_OK;
			}
		at = *end == ',' ? end + 1 : end;
	}
	return rs_fail(RS_EUSAGE, "Slurm: the tasks a node '%s' do not have task %zu of %zu",
		counts, e->rank, e->size);
}

static enum rs_status
read_slurm(const struct environment_reader *r)
{
	static const char *const name[4] = {
		"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "",
	};
	struct environment *e = r->out;
	const char *list = environment_value(r, "SLURM_STEP_NODELIST");
	const char *tasks = environment_value(r, "SLURM_STEP_TASKS_PER_NODE");
	const char *job = environment_value(r, "SLURM_JOB_ID");
	size_t restarts, step;

	RS_TRY(read_ranks(r, name));
	RS_TRY(environment_number(r, "SLURM_RESTART_COUNT", 0, &restarts));
	RS_TRY(environment_number(r, "SLURM_STEP_ID", 0, &step));
	e->restarts = restarts;
	e->job = hash_mix(hash_text(job) + step);
	list = list != NULL ? list : environment_value(r, "SLURM_JOB_NODELIST");
	if (list == NULL)
		return rs_fail(RS_EUSAGE, "Slurm: the variable SLURM_JOB_NODELIST is missing");
	RS_TRY(environment_hostlist(list, &e->host, &e->n_hosts));
	e->local_size = e->size;
	e->host_index = 0;
	if (tasks != NULL)
		RS_TRY(find_host(e, tasks));
	return set_coordinator(e, e->host[0], strlen(e->host[0]), port_of_job(e));
}

/* The pods of an indexed job are JOB-0, JOB-1, ... below a headless service. */
static enum rs_status
read_kubernetes(const struct environment_reader *r)
{
	struct environment *e = r->out;
	const char *service = environment_value(r, "RECSYS_TRAIN_SERVICE");
	const char *pod = environment_value(r, "HOSTNAME");
	const char *dash = pod != NULL ? strrchr(pod, '-') : NULL;
	char host[ENVIRONMENT_NAME];
	size_t port;

	RS_TRY(environment_number(r, "JOB_COMPLETION_INDEX", ENVIRONMENT_NEEDED, &e->rank));
	RS_TRY(environment_number(r, "RECSYS_TRAIN_PODS", 1, &e->size));
	RS_TRY(environment_number(r, "RECSYS_TRAIN_PORT", 7700, &port));
	e->n_hosts = e->size;
	e->host_index = e->rank;
	e->local_size = 1;
	if (e->rank >= e->size)
		return rs_fail(RS_EUSAGE, "Kubernetes: pod %zu of %zu (JOB_COMPLETION_INDEX, "
			"RECSYS_TRAIN_PODS)", e->rank, e->size);
	if (e->size == 1)
		return RS_OK;
	if (service == NULL || dash == NULL || strtoull(dash + 1, NULL, 10) != e->rank)
		return rs_fail(RS_EUSAGE, "Kubernetes: RECSYS_TRAIN_SERVICE names the headless "
			"service, HOSTNAME is JOB-%zu", e->rank);
	snprintf(host, sizeof(host), "%.*s-0.%s", (int)(dash - pod), pod, service);
	e->job = hash_text(host);
	return set_coordinator(e, host, strlen(host), port);
}

static enum rs_status
read_torchrun(const struct environment_reader *r)
{
	static const char *const name[4] = {
		"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
	};
	const char *host = environment_value(r, "MASTER_ADDR");
	const char *job = environment_value(r, "TORCHELASTIC_RUN_ID");
	size_t port;

	RS_TRY(read_ranks(r, name));
	RS_TRY(environment_number(r, "MASTER_PORT", ENVIRONMENT_NEEDED, &port));
	RS_TRY(set_coordinator(r->out, host, strlen(host), port));
	r->out->job = hash_text(job != NULL ? job : r->out->coordinator);
	return RS_OK;
}

/* --- the table ---------------------------------------------------------------- */

static const struct {
	enum launcher launcher;
	const char *name;
	const char *sign[2];           /* variables that are there when it is          */
	enum rs_status (*read)(const struct environment_reader *r);
} launcher_table[] = {
	{ LAUNCHER_RECSYS, "recsys-train", { "RECSYS_TRAIN_ROLE", NULL }, read_recsys },
	{ LAUNCHER_TF_CONFIG, "TF_CONFIG", { "TF_CONFIG", NULL }, environment_tf_config },
	{ LAUNCHER_OPENMPI, "Open MPI", { "OMPI_COMM_WORLD_RANK", NULL }, read_openmpi },
	{ LAUNCHER_PMI, "PMI", { "PMI_RANK", "PMI_SIZE" }, read_pmi },
	{ LAUNCHER_SLURM, "Slurm", { "SLURM_JOB_ID", "SLURM_PROCID" }, read_slurm },
	{ LAUNCHER_KUBERNETES, "Kubernetes", { "JOB_COMPLETION_INDEX", "KUBERNETES_SERVICE_HOST" },
	  read_kubernetes },
	{ LAUNCHER_TORCHRUN, "RANK", { "MASTER_ADDR", "RANK" }, read_torchrun },
};

static int
is_there(const struct environment_reader *r, const char *const sign[2])
{
	return environment_value(r, sign[0]) != NULL &&
		(sign[1] == NULL || environment_value(r, sign[1]) != NULL);
}

enum rs_status
environment_read(const char *(*get)(const char *name), struct environment *out)
{
	const struct environment_reader r = { .get = get, .out = out };

	*out = (struct environment){ .name = "no launcher", .size = 1, .local_size = 1,
		.n_hosts = 1 };
	for (size_t i = 0; i < sizeof(launcher_table) / sizeof(launcher_table[0]); i++) {
		enum rs_status status;

		if (!is_there(&r, launcher_table[i].sign))
			continue;
		out->launcher = launcher_table[i].launcher;
		out->name = launcher_table[i].name;
		status = launcher_table[i].read(&r);
		if (status != RS_OK)
			environment_free(out);
		return status;
	}
	return RS_OK;
}

void
environment_free(struct environment *e)
{
	free(e->host);
	e->host = NULL;
}
