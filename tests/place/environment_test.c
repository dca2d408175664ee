/* Launchers' environments as they were recorded, and broken ones. */
#include "../test.h"

#include <string.h>

#include "comm/keys.h"
#include "place/environment.h"

#define VARIABLES_MAX 12

/* Pairs of name and value. */
static const char *const *variables;

static const char *
get(const char *name)
{
	for (size_t i = 0; variables[i] != NULL; i += 2)
		if (strcmp(variables[i], name) == 0)
			return variables[i + 1];
	return NULL;
}

struct environment_case {
	const char *variable[2 * VARIABLES_MAX + 1];
	enum launcher launcher;
	size_t rank, size, local_rank, local_size, n_hosts, host_index;
	uint32_t role;
	size_t role_index, n_workers, n_ps;
	const char *coordinator;       /* NULL: not compared                          */
};

#define TF(task) "TF_CONFIG", "{\"cluster\": {\"chief\": [\"c0:2222\"], \"worker\": " \
	"[\"w0:2222\", \"w1:2222\"], \"ps\": [\"p0:2222\"]}, \"task\": " task "}"

static const struct environment_case cases[] = {
	{ { NULL }, LAUNCHER_NONE, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, "" },
	/* mpirun of Open MPI 4.1, two hosts of two processes, the fourth. */
	{ { "OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "4",
	    "OMPI_COMM_WORLD_LOCAL_RANK", "1", "OMPI_COMM_WORLD_LOCAL_SIZE", "2",
	    "OMPI_COMM_WORLD_NODE_RANK", "1", "OMPI_UNIVERSE_SIZE", "4", "PMIX_RANK", "3",
	    "PMIX_NAMESPACE", "2741895169", "SLURM_JOB_ID", "7", NULL },
	  LAUNCHER_OPENMPI, 3, 4, 1, 2, 2, 1, 0, 0, 0, 0, "" },
	/* mpiexec of MPICH 4.0. */
	{ { "PMI_RANK", "1", "PMI_SIZE", "2", "PMI_FD", "7", "MPI_LOCALRANKID", "1",
	    "MPI_LOCALNRANKS", "2", NULL },
	  LAUNCHER_PMI, 1, 2, 1, 2, 1, 0, 0, 0, 0, 0, "" },
	/* srun -N3 -n5, tasks 2, 2, 1. */
	{ { "SLURM_JOB_ID", "31", "SLURM_PROCID", "4", "SLURM_NTASKS", "5", "SLURM_LOCALID", "0",
	    "SLURM_NODEID", "2", "SLURM_STEP_NODELIST", "gpu[08-10]", "SLURM_JOB_NODELIST",
	    "gpu[08-11]", "SLURM_STEP_TASKS_PER_NODE", "2(x2),1", "SLURM_CPUS_ON_NODE", "8",
	    NULL },
	  LAUNCHER_SLURM, 4, 5, 0, 1, 3, 2, 0, 0, 0, 0, NULL },
	{ { "JOB_COMPLETION_INDEX", "2", "KUBERNETES_SERVICE_HOST", "10.96.0.1", "HOSTNAME",
	    "ctr-2", "RECSYS_TRAIN_SERVICE", "ctr-net", "RECSYS_TRAIN_PODS", "3", NULL },
	  LAUNCHER_KUBERNETES, 2, 3, 0, 1, 3, 2, 0, 0, 0, 0, "tcp://ctr-0.ctr-net:7700" },
	{ { TF("{\"type\": \"worker\", \"index\": 1}"), NULL },
	  LAUNCHER_TF_CONFIG, 2, 3, 0, 1, 4, 2, KEY_WORKER, 2, 3, 1, "tcp://c0:2222" },
	{ { TF("{\"type\": \"chief\", \"index\": 0}"), NULL },
	  LAUNCHER_TF_CONFIG, 0, 3, 0, 1, 4, 0, KEY_WORKER, 0, 3, 1, "tcp://c0:2222" },
	{ { TF("{\"type\": \"ps\", \"index\": 0}"), NULL },
	  LAUNCHER_TF_CONFIG, 0, 3, 0, 1, 4, 3, KEY_PS, 0, 3, 1, "tcp://c0:2222" },
	/* Without a chief worker 0 is. */
	{ { "TF_CONFIG", "{\"cluster\":{\"worker\":[\"w0:1\",\"w1:1\"]},\"task\":{\"type\":"
	    "\"worker\",\"index\":\"1\"}}", NULL },
	  LAUNCHER_TF_CONFIG, 1, 2, 0, 1, 2, 1, KEY_WORKER, 1, 2, 0, "tcp://w0:1" },
	{ { "MASTER_ADDR", "fe80::1", "MASTER_PORT", "29500", "RANK", "1", "WORLD_SIZE", "2",
	    "LOCAL_RANK", "0", "LOCAL_WORLD_SIZE", "1", NULL },
	  LAUNCHER_TORCHRUN, 1, 2, 0, 1, 2, 1, 0, 0, 0, 0, "tcp://[fe80::1]:29500" },
	/* Our own variables win over those of a launcher around. */
	{ { "RECSYS_TRAIN_ROLE", "ps", "RECSYS_TRAIN_INDEX", "1", "RECSYS_TRAIN_WORKERS", "4",
	    "RECSYS_TRAIN_PS", "2", "RECSYS_TRAIN_COORDINATOR", "tcp://h:7700", "PMI_RANK", "0",
	    "PMI_SIZE", "9", NULL },
	  LAUNCHER_RECSYS, 1, 4, 0, 1, 1, 0, KEY_PS, 1, 4, 2, "tcp://h:7700" },
	/* Within a batch script, not under srun: one process. */
	{ { "SLURM_JOB_ID", "31", "SLURM_NTASKS", "5", NULL },
	  LAUNCHER_NONE, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, "" },
};

static void
recorded_environments_are_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(cases); i++) {
		const struct environment_case *c = &cases[i];
		struct environment e;

		variables = c->variable;
		if (environment_read(get, &e) != RS_OK)
			fail_msg("case %zu: %s", i, rs_failure()->text);
		assert_int_equal(e.launcher, c->launcher);
		assert_int_equal(e.rank, c->rank);
		assert_int_equal(e.size, c->size);
		assert_int_equal(e.local_rank, c->local_rank);
		assert_int_equal(e.local_size, c->local_size);
		assert_int_equal(e.n_hosts, c->n_hosts);
		assert_int_equal(e.host_index, c->host_index);
		assert_int_equal(e.role, c->role);
		assert_int_equal(e.role_index, c->role_index);
		assert_int_equal(e.n_workers, c->n_workers);
		assert_int_equal(e.n_ps, c->n_ps);
		if (c->coordinator != NULL)
			assert_string_equal(e.coordinator, c->coordinator);
		else
			assert_memory_equal(e.coordinator, "tcp://gpu08:", 12);
		environment_free(&e);
	}
}

/* Every task of a job must find the same coordinator. */
static void
tasks_of_a_job_agree(void **state)
{
	static const char *const task[2][13] = {
		{ "SLURM_JOB_ID", "99", "SLURM_PROCID", "0", "SLURM_NTASKS", "2", "SLURM_LOCALID",
		  "0", "SLURM_JOB_NODELIST", "a,b", "SLURM_RESTART_COUNT", "3", NULL },
		{ "SLURM_JOB_ID", "99", "SLURM_PROCID", "1", "SLURM_NTASKS", "2", "SLURM_LOCALID",
		  "0", "SLURM_JOB_NODELIST", "a,b", "SLURM_RESTART_COUNT", "3", NULL },
	};
	struct environment e[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		variables = task[i];
		assert_int_equal(environment_read(get, &e[i]), RS_OK);
		assert_int_equal(e[i].restarts, 3);
	}
	assert_string_equal(e[0].coordinator, e[1].coordinator);
	assert_true(e[0].job == e[1].job && e[0].job != 0);
	environment_free(&e[0]);
	environment_free(&e[1]);
}

static const struct { const char *variable[9], *text; } refused[] = {
	{ { "OMPI_COMM_WORLD_RANK", "x", NULL }, "OMPI_COMM_WORLD_RANK is 'x'" },
	{ { "OMPI_COMM_WORLD_RANK", "1", NULL }, "OMPI_COMM_WORLD_SIZE is missing" },
	{ { "PMI_RANK", "2", "PMI_SIZE", "2", NULL }, "process 2 of 2" },
	{ { "RECSYS_TRAIN_ROLE", "chef", NULL }, "'chef', wanted" },
	{ { "TF_CONFIG", "{", NULL }, "not JSON" },
	{ { "TF_CONFIG", "{}", NULL }, "no worker" },
	{ { "TF_CONFIG", "[1,2]", NULL }, "no worker" },
	{ { TF("{\"type\": \"worker\", \"index\": 2}"), NULL }, "not in the cluster" },
	{ { TF("{\"type\": \"worker\", \"index\": -1}"), NULL }, "not in the cluster" },
	{ { TF("{\"type\": \"evaluator\", \"index\": 0}"), NULL }, "evaluator" },
	{ { "TF_CONFIG", "{\"cluster\":{\"worker\":[7]},\"task\":{\"type\":\"worker\"}}", NULL },
	  "host:port" },
	{ { "SLURM_JOB_ID", "1", "SLURM_PROCID", "0", "SLURM_NTASKS", "1", NULL },
	  "SLURM_JOB_NODELIST is missing" },
	{ { "SLURM_JOB_ID", "1", "SLURM_PROCID", "0", "SLURM_NTASKS", "1", "SLURM_JOB_NODELIST",
	    "a[1-", NULL }, "no list of hosts" },
	{ { "MASTER_ADDR", "h", "RANK", "0", "WORLD_SIZE", "1", NULL }, "MASTER_PORT is missing" },
	{ { "JOB_COMPLETION_INDEX", "3", "KUBERNETES_SERVICE_HOST", "h", "RECSYS_TRAIN_PODS", "3",
	    NULL }, "pod 3 of 3" },
};

static void
broken_environments_are_refused_by_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(refused); i++) {
		struct environment e;

		variables = refused[i].variable;
		if (environment_read(get, &e) != RS_EUSAGE)
			fail_msg("case %zu was accepted", i);
		if (strstr(rs_failure()->text, refused[i].text) == NULL)
			fail_msg("case %zu: %s", i, rs_failure()->text);
	}
}

static const struct { const char *list, *joined; } lists[] = {
	{ "a", "a" }, { "a,b", "a b" }, { "n[1-3]", "n1 n2 n3" },
	{ "n[08-10,12],m", "n08 n09 n10 n12 m" }, { "r[1-2]n[3-4]", "r1n3 r1n4 r2n3 r2n4" },
	{ "n[5]x", "n5x" }, { "n[0001]", "n0001" },
	{ "", NULL }, { ",", NULL }, { "a,", NULL }, { "a[", NULL }, { "a]", NULL },
	{ "a[]", NULL },
	{ "a[3-1]", NULL }, { "a[x]", NULL }, { "a[1-]", NULL }, { "a[1,]", NULL },
	{ "a[0-99999999]", NULL }, { "a[1-60000]b[1-60000]", NULL },
	{ "a[18446744073709551615-18446744073709551616]", NULL },
};

static void
lists_of_hosts_are_expanded(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(lists); i++) {
		char (*host)[ENVIRONMENT_NAME];
		char joined[256] = "";
		size_t n;
		const enum rs_status status = environment_hostlist(lists[i].list, &host, &n);

		if ((status == RS_OK) != (lists[i].joined != NULL))
			fail_msg("'%s' gave %d", lists[i].list, (int)status);
		if (status != RS_OK)
			continue;
		for (size_t k = 0; k < n; k++)
			snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s",
				k > 0 ? " " : "", host[k]);
		assert_string_equal(joined, lists[i].joined);
		free(host);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_environments_are_understood),
		cmocka_unit_test(tasks_of_a_job_agree),
		cmocka_unit_test(broken_environments_are_refused_by_name),
		cmocka_unit_test(lists_of_hosts_are_expanded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
