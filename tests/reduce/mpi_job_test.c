/*
 * Real jobs: this program is started by mpirun of Open MPI and of MPICH as ranks of a
 * job (argument "rank") and checks sums, texts and what happens when a rank dies or stalls.
 */
#include "tests/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "kernel/kernel.h"
#include "reduce/mpi.h"
#include "tests/reduce/plane_bed.h"

#define N_RANKS 3
#define JOB_SECONDS 60.0

/* --- a rank --------------------------------------------------------------- */

/* To the file of the job: mpirun of MPICH may drop what a rank says just before its end. */
static void
say(const char *what, const char *text)
{
	FILE *f = fopen(getenv("RECSYS_TEST_SAID"), "a");

	if (f == NULL)
		return;
	fprintf(f, "%s%s\n", what, text);
	fclose(f);
}

static int
fail_rank(struct mpi *m, const char *what)
{
	say(what, rs_failure()->text);
	if (m != NULL)
		mpi_abort(m, rs_exit_code(rs_failure()->status));
	return 1;
}

static enum rs_status
rank_sum(struct exchange *e, uint64_t step, size_t more, int *differs)
{
	const struct plane_size z = { 8, N_RANKS, 4, 300000 + more };
	struct exchange_part part[2 * TREE_MAX_DEPTH];
	const size_t n = plane_parts(&z, step, e->rank, part);
	float *x = malloc(z.n_floats * sizeof(*x));
	double head[4];
	const enum rs_status status = e->ops->sum(e, &(struct exchange_sum){
		.n_slots = z.n_slots, .n_heads = z.n_heads, .n_floats = z.n_floats,
		.part = part, .n_parts = n, .head = head, .x = x, .step = step });

	*differs = status == RS_OK && plane_differs(&z, step, head, x);
	plane_parts_free(part, n);
	free(x);
	return status;
}

static int
rank_bytes(struct exchange *e)
{
	size_t begin[N_RANKS + 1] = { 0, 600000, 600001, 1500000 };
	uint8_t *block = calloc(begin[N_RANKS], 1);
	int differs = 0;

	for (size_t i = begin[e->rank]; i < begin[e->rank + 1]; i++)
		block[i] = (uint8_t)(i * 7);
	if (e->ops->gather(e, block, begin) != RS_OK)
		return 1;
	for (size_t i = 0; i < begin[N_RANKS]; i++)
		differs |= block[i] != (uint8_t)(i * 7);
	if (e->rank != 0)
		memset(block, 0, begin[N_RANKS]);
	if (e->ops->broadcast(e, block, begin[N_RANKS]) != RS_OK)
		return 1;
	for (size_t i = 0; i < begin[N_RANKS]; i++)
		differs |= block[i] != (uint8_t)(i * 7);
	free(block);
	return differs;
}

static int
rank_meets(struct mpi *m)
{
	struct buffer all;
	size_t begin[N_RANKS + 1];
	char text[32];
	int differs;

	buffer_init(&all, 1 << 20);
	snprintf(text, sizeof(text), "I am %zu.", mpi_rank(m));
	if (mpi_rendezvous(m, text, strlen(text), &all, begin) != RS_OK)
		return 1;
	differs = all.n != 21 || begin[2] != 14
		|| memcmp(all.data, "I am 0.I am 1.I am 2.", 21) != 0;
	buffer_free(&all);
	return differs;
}

/* What rank 1 does at step 3. */
static void
misbehave(const char *how)
{
	if (strcmp(how, "dies") == 0)
		raise(SIGKILL);
	if (strcmp(how, "stalls") == 0)
		raise(SIGSTOP);
}

static int
rank_main(const char *plugin, const char *how)
{
	static const int world[N_RANKS] = { 0, 1, 2 };
	struct exchange *e;
	struct mpi *m;

	if (mpi_open(&(struct mpi_options){ .plugin = plugin, .size = N_RANKS,
	    .timeout = 20 }, &m) != RS_OK)
		return fail_rank(NULL, "open");
	if (mpi_exchange_open(&(struct exchange){ .rank = mpi_rank(m), .n_ranks = N_RANKS,
	    .kernel = &kernel_ref, .timeout = 1.5 }, m, world, 1, &e) != RS_OK)
		return fail_rank(m, "exchange");
	if (rank_meets(m))
		return fail_rank(m, "rendezvous");
	for (uint64_t step = 1; step <= 6; step++) {
		const int is_odd = step == 3 && e->rank == 1;
		int differs;

		if (is_odd)
			misbehave(how);
		if (rank_sum(e, step, is_odd && strcmp(how, "grows") == 0, &differs) != RS_OK)
			return fail_rank(m, "sum");
		if (differs)
			return fail_rank(m, "other bits");
	}
	if (rank_bytes(e))
		return fail_rank(m, "gather or broadcast");
	e->ops->close(e);
	mpi_close(m);
	say("ok", "");
	return 0;
}

/* --- the launcher --------------------------------------------------------- */

static const char *self;

struct launcher { const char *library, *program, *options[3]; };

static const struct launcher openmpi = { "openmpi", "mpirun.openmpi",
	{ "--allow-run-as-root", "--oversubscribe", NULL } };
static const struct launcher mpich = { "mpich", "mpirun.mpich", { NULL } };

static void
run_mpirun(const struct launcher *l, const char *plugin, const char *how, int out)
{
	char *argument[16];
	size_t n = 0;

	argument[n++] = (char *)(uintptr_t)l->program;
	for (size_t i = 0; l->options[i] != NULL; i++)
		argument[n++] = (char *)(uintptr_t)l->options[i];
	argument[n++] = (char *)(uintptr_t)"-np";
	argument[n++] = (char *)(uintptr_t)"3";
	argument[n++] = (char *)(uintptr_t)self;
	argument[n++] = (char *)(uintptr_t)"rank";
	argument[n++] = (char *)(uintptr_t)plugin;
	argument[n++] = (char *)(uintptr_t)how;
	argument[n] = NULL;
	setpgid(0, 0);
	dup2(out, 1);
	dup2(out, 2);
	/* The library's own leaks are not ours. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	execvp(argument[0], argument);
	_exit(127);
}

struct job { int exit_code; double seconds; char text[65536]; };

static void
wait_for_job(pid_t pid, double begin, struct job *job)
{
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_seconds() - begin > JOB_SECONDS) {
			kill(-pid, SIGKILL);
			waitpid(pid, &status, 0);
			break;
		}
		usleep(10000);
	}
	job->seconds = clock_seconds() - begin;
	job->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int
exists(const char *program)
{
	char command[256];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", program);
	return system(command) == 0;
}

/* Skips the test when the library is not here. */
static void
run_job(const struct launcher *l, const char *how, struct job *job)
{
	const char *build = getenv("BUILDDIR");
	char plugin[4096], path[] = "/tmp/recsys-test-XXXXXX";

	snprintf(plugin, sizeof(plugin), "%s/recsys-train-mpi-%s.so", build != NULL ? build : ".",
		l->library);
	if (!exists(l->program) || access(plugin, R_OK) != 0)
		SKIP_BECAUSE("%s or its plug-in is missing", l->program);
	const int out = mkostemp(path, O_APPEND);
	assert_true(out >= 0);
	const double begin = clock_seconds();
	setenv("RECSYS_TEST_SAID", path, 1);
	const pid_t pid = fork();
	if (pid == 0)
		run_mpirun(l, plugin, how, out);
	assert_true(pid > 0);
	wait_for_job(pid, begin, job);
	const ssize_t n = pread(out, job->text, sizeof(job->text) - 1, 0);
	job->text[n > 0 ? n : 0] = '\0';
	close(out);
	unlink(path);
	if (job->exit_code != 0 && strcmp(how, "works") == 0)
		print_message("%s\n", job->text);
}

static struct job job;

static void
check_job_works(const struct launcher *l)
{
	run_job(l, "works", &job);
	assert_int_equal(0, job.exit_code);
	const char *first = strstr(job.text, "ok\n");
	const char *second = first != NULL ? strstr(first + 1, "ok\n") : NULL;
	assert_non_null(second != NULL ? strstr(second + 1, "ok\n") : NULL);
}

static void
openmpi_gives_the_bits_of_the_tree(void **state)
{
	(void)state;
	check_job_works(&openmpi);
}

static void
mpich_gives_the_bits_of_the_tree(void **state)
{
	(void)state;
	check_job_works(&mpich);
}

static void
a_rank_of_openmpi_that_dies_ends_the_job(void **state)
{
	(void)state;
	run_job(&openmpi, "dies", &job);
	assert_int_not_equal(0, job.exit_code);
	assert_true(job.seconds < 15);
}

static void
a_rank_of_mpich_that_dies_ends_the_job(void **state)
{
	(void)state;
	run_job(&mpich, "dies", &job);
	assert_int_not_equal(0, job.exit_code);
	assert_true(job.seconds < 15);
}

static void
check_stall(const struct launcher *l)
{
	int is_named = 0;

	/* The rank that gives up first may wait for one that waits for the stalled one. */
	for (int attempt = 0; attempt < 3 && !is_named; attempt++) {
		run_job(l, "stalls", &job);
		assert_int_equal(69, job.exit_code);
		const char *who = strstr(
			job.text, "no word in 1.5 s of a collective call over MPI");
		assert_non_null(who);
		assert_true(job.seconds < 15);
		is_named = strstr(who, "worker 1") != NULL;
	}
	if (!is_named)
		fail_msg("the rank that stalls is not named: %s", job.text);
}

static void
check_growth(const struct launcher *l)
{
	run_job(l, "grows", &job);
	assert_int_equal(76, job.exit_code);
	assert_non_null(strstr(job.text, "bytes where"));
}

static void
a_rank_of_openmpi_with_more_to_sum_is_refused(void **state)
{
	(void)state;
	check_growth(&openmpi);
}

static void
a_rank_of_mpich_with_more_to_sum_is_refused(void **state)
{
	(void)state;
	check_growth(&mpich);
}

static void
a_rank_of_openmpi_that_stalls_ends_the_job(void **state)
{
	(void)state;
	check_stall(&openmpi);
}

static void
a_rank_of_mpich_that_stalls_ends_the_job(void **state)
{
	(void)state;
	check_stall(&mpich);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openmpi_gives_the_bits_of_the_tree),
		cmocka_unit_test(mpich_gives_the_bits_of_the_tree),
		cmocka_unit_test(a_rank_of_openmpi_that_dies_ends_the_job),
		cmocka_unit_test(a_rank_of_mpich_that_dies_ends_the_job),
		cmocka_unit_test(a_rank_of_openmpi_with_more_to_sum_is_refused),
		cmocka_unit_test(a_rank_of_mpich_with_more_to_sum_is_refused),
		cmocka_unit_test(a_rank_of_openmpi_that_stalls_ends_the_job),
		cmocka_unit_test(a_rank_of_mpich_that_stalls_ends_the_job),
	};

	if (argc == 4 && strcmp(argv[1], "rank") == 0)
		_exit(rank_main(argv[2], argv[3]) | fflush(stdout));
	self = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
