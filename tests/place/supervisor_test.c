/* The supervisor with shell scripts as nodes: who is started, started again, ended. */
#include "tests/test.h"

#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "place/supervisor.h"

static char self[4096];         /* this program                                   */
/* A node: $role, $index, $ticket, and $D, the directory of the test. */
static const char head[] =
	"#!/bin/sh\n"
	"[ \"$1\" = node ] && exec %s --unblock \"$0\" \"$@\"\n"
	"shift\n"
	"role=$3 index=$5 ticket=$7 D=$8\n"
	"echo $$ >>$D/$role$index.pid\n"
	"case $role$index in\n";

struct bed {
	struct job job;
	struct cluster_settings cluster;
	struct supervisor_options options;
	struct supervisor *supervisor;
	char *program;
	volatile int stop;
	double stopped;                 /* when                                       */
	const char *directory;
};

static void
bed_open(struct bed *b, const char *directory, const char *cases)
{
	memset(b, 0, sizeof *b);
	b->directory = directory;
	b->job.n_workers = 2;
	b->job.n_ps = 1;
	b->cluster.listen = (char[]){ "" };
	b->cluster.drain = 5;
	b->cluster.restarts = 2;
	assert_true(asprintf(&b->program, "%s/node", directory) > 0);
	FILE *const f = fopen(b->program, "w");
	fprintf(f, head, self);
	fprintf(f, "%s\nesac\n", cases);
	fclose(f);
	assert_int_equal(chmod(b->program, 0700), 0);
	b->options = (struct supervisor_options){
		.job = &b->job, .program = b->program, .cluster = &b->cluster,
		.stop_signal = &b->stop, .runtime = directory, .shared_bytes = 4096,
	};
	assert_int_equal(supervisor_open(&b->options, &b->supervisor), RS_OK);
	assert_int_equal(access(b->job.directory, F_OK), 0);
}

static enum rs_status
bed_run(struct bed *b, const char *directory, int *code)
{
	char *const argument[] = { (char *)(uintptr_t)directory };

	return supervisor_run(b->supervisor, argument, 1, code);
}

/* Zombies are for init to look after. */
static int
lives(const char *pid)
{
	char path[96], state = 'Z';

	snprintf(path, sizeof path, "/proc/%.*s/stat", (int)strcspn(pid, "\n"), pid);
	FILE *const f = fopen(path, "r");
	if (f == NULL)
		return 0;
	const int found = fscanf(f, "%*d (%*[^)]) %c", &state);
	fclose(f);
	return found == 1 && state != 'Z';
}

/* Every process whose number was written down is gone, and so is all that was made. */
static void
bed_close(struct bed *b, const char *directory)
{
	char path[4096], line[64];

	snprintf(path, sizeof path, "%s", b->job.directory);
	supervisor_close(b->supervisor);
	assert_int_not_equal(access(path, F_OK), 0);
	DIR *const d = opendir(directory);
	for (struct dirent *e; (e = readdir(d)) != NULL; ) {
		if (strstr(e->d_name, ".pid") == NULL)
			continue;
		snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
		FILE *const f = fopen(path, "r");
		while (fgets(line, sizeof line, f) != NULL)
			assert_false(lives(line));
		fclose(f);
	}
	closedir(d);
	job_free(&b->job);
	free(b->program);
}

/* Lines of DIRECTORY/NAME. */
static int
count_lines(const char *directory, const char *name)
{
	char path[4096];
	int n = 0, c;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	FILE *const f = fopen(path, "r");
	while (f != NULL && (c = fgetc(f)) != EOF)
		n += c == '\n';
	if (f != NULL)
		fclose(f);
	return n;
}

static void
exit_code_is_that_of_worker_zero(void **state)
{
	struct bed b;
	int code;

	bed_open(&b, *state, "worker0) exit 3 ;;\n*) exit 0 ;;");
	assert_int_equal(bed_run(&b, *state, &code), RS_OK);
	assert_int_equal(code, 3);
	assert_int_equal(count_lines(*state, "coordinator0.pid"), 1);
	assert_int_equal(count_lines(*state, "ps0.pid"), 1);
	assert_int_equal(count_lines(*state, "worker1.pid"), 1);
	bed_close(&b, *state);
}

/* A ticket, the shared memory of workers, the leash of the coordinator; stdin is of worker 0.
 * Process groups are their own. */
static void
nodes_inherit_what_is_theirs(void **state)
{
	struct bed b;
	char path[4096];
	int code;

	bed_open(&b, *state,
		"*) ls -l /proc/$$/fd >$D/$role$index.fd\n"
		"  grep -c '^secret = ' </proc/$$/fd/$ticket >>$D/tickets\n"
		"  grep local </proc/$$/fd/$ticket | tr -d '\\n' >$D/$role$index.local\n"
		"  read x && echo $role$index $x >>$D/stdin\n"
		"  [ $(cut -d' ' -f5 /proc/$$/stat) = $$ ] && echo >>$D/groups ;;");
	snprintf(path, sizeof path, "%s/input", (char *)*state);
	FILE *const f = fopen(path, "w");
	fprintf(f, "hello\n");
	fclose(f);
	const int saved = dup(0);
	assert_non_null(freopen(path, "r", stdin));
	assert_int_equal(bed_run(&b, *state, &code), RS_OK);
	assert_int_equal(code, 0);
	assert_int_equal(dup2(saved, 0), 0);
	close(saved);
	assert_int_equal(count_lines(*state, "tickets"), 4);
	assert_int_equal(count_lines(*state, "groups"), 4);
	assert_int_equal(count_lines(*state, "stdin"), 1);
	snprintf(path, sizeof path, "grep -q 'worker0 hello' %s/stdin", (char *)*state);
	assert_int_equal(system(path), 0);
	const char *const check[] = {
		"grep -q memfd:recsys-train-shared %s/worker1.fd",
		"cd %s; [ $(grep -c pipe: coordinator0.fd) = $(($(grep -c pipe: ps0.fd) + 1)) ]",
		"! grep -q memfd:recsys-train-shared %s/ps0.fd",
		"! grep -q memfd:recsys-train-shared %s/coordinator0.fd",
		"[ $(grep -c memfd:recsys-train-ticket %s/worker0.fd) = 1 ]",
		"! grep '/lock' %s/*.fd",
		"grep -q '^local = 0n_local = 2$' %s/worker0.local",
		"grep -q '^local = 1n_local = 2$' %s/worker1.local",
	};
	for (size_t i = 0; i < N_ROWS(check); i++) {
		char command[4096];

		snprintf(command, sizeof command, check[i], (char *)*state);
		if (system(command) != 0)
			fail_msg("%s", command);
	}
	bed_close(&b, *state);
}

static void
killed_node_is_started_again_and_the_coordinator_told(void **state)
{
	struct bed b;
	char command[4096];
	int code;

	bed_open(&b, *state,
		"worker1) [ -e $D/died ] || { touch $D/died; sleep 0.2; kill -9 $$; }\n"
		"  touch $D/back; exit 0 ;;\n"
		"worker0) while [ ! -e $D/back ]; do sleep 0.02; done; sleep 0.1; exit 0 ;;\n"
		"coordinator0) leash=$(sed -n 's/^leash_fd = //p' </proc/$$/fd/$ticket)\n"
		"  while [ ! -e $D/back ]; do sleep 0.02; done; read line </proc/$$/fd/$leash\n"
		"  echo $line >$D/told; exit 0 ;;\n"
		"*) exit 0 ;;");
	assert_int_equal(bed_run(&b, *state, &code), RS_OK);
	assert_int_equal(code, 0);
	assert_int_equal(count_lines(*state, "worker1.pid"), 2);
	snprintf(command, sizeof command,
		"grep -q '^died 3 was killed by signal 9 (Killed)$' %s/told", (char *)*state);
	assert_int_equal(system(command), 0);
	bed_close(&b, *state);
}

static void
L042_node_that_keeps_dying_ends_the_job_with_its_name(void **state)
{
	struct bed b;
	int code;

	bed_open(&b, *state, "ps0) kill -9 $$ ;;\n*) exec sleep 60 ;;");
	assert_int_equal(bed_run(&b, *state, &code), RS_EPEER);
	assert_int_equal(code, -1);
	assert_string_equal(rs_failure()->text,
		"ps 0 was killed by signal 9 (Killed), 3 times within ten minutes");
	assert_int_equal(count_lines(*state, "ps0.pid"), 3);
	bed_close(&b, *state);
}

static void
failure_of_another_node_ends_the_job(void **state)
{
	struct bed b;
	int code;

	bed_open(&b, *state, "ps0) exit 74 ;;\n*) exec sleep 60 ;;");
	b.cluster.drain = 0.3;
	assert_int_equal(bed_run(&b, *state, &code), RS_EIO);
	assert_string_equal(rs_failure()->text, "ps 0 ended with exit code 74");
	assert_int_equal(count_lines(*state, "ps0.pid"), 1);
	bed_close(&b, *state);
}

/* Started again when the coordinator had gone, it has nobody to ask. */
static void
nobody_waits_for_a_worker_once_worker_zero_and_the_coordinator_are_done(void **state)
{
	struct bed b;
	int code;

	bed_open(&b, *state, "worker1) exec sleep 60 ;;\n*) exit 0 ;;");
	b.cluster.drain = 30;
	const double started = clock_seconds();
	assert_int_equal(bed_run(&b, *state, &code), RS_OK);
	assert_int_equal(code, 0);
	assert_true(clock_seconds() - started < 10);
	bed_close(&b, *state);
}

/* A signal that comes before a node is ready for it waits, and does not kill it. */
static void
nodes_begin_with_their_signals_blocked(void **state)
{
	struct bed b;
	int code;

	bed_open(&b, *state, "");
	b.options.program = self;       /* no shell: one or the other clears the mask  */
	assert_int_equal(bed_run(&b, *state, &code), RS_OK);
	assert_int_equal(code, 0);
	assert_int_equal(count_lines(*state, "blocked"), 4);
	bed_close(&b, *state);
}

/* When both workers have set their traps, or never will. */
static void *
stop_soon(void *argument)
{
	struct bed *const b = argument;
	char ready[2][4096];

	for (int i = 0; i < 2; i++)
		snprintf(ready[i], sizeof ready[i], "%s/ready%d", b->directory, i);
	for (int i = 0; i < 3000 && (access(ready[0], F_OK) | access(ready[1], F_OK)) != 0; i++)
		usleep(10000);
	b->stopped = clock_seconds();
	b->stop = SIGTERM;
	return NULL;
}

static void
signal_goes_to_the_workers_and_who_stays_is_killed(void **state)
{
	struct bed b;
	pthread_t thread;
	int code;

	bed_open(&b, *state,
		"worker0) trap 'kill $!; exit 143' TERM; sleep 60 & touch $D/ready0; wait ;;\n"
		"worker1) trap 'touch $D/asked' TERM; touch $D/ready1\n"
		"  while :; do sleep 0.05; done ;;\n"
		"*) exec sleep 60 ;;");
	b.cluster.drain = 1.5;
	assert_int_equal(thread_start(&thread, "stop", stop_soon, &b), RS_OK);
	assert_int_equal(bed_run(&b, *state, &code), RS_OK);
	thread_join(thread);
	assert_int_equal(code, 143);
	assert_true(clock_seconds() - b.stopped < 20);
	char path[4096];
	snprintf(path, sizeof path, "%s/asked", (char *)*state);
	assert_int_equal(access(path, F_OK), 0);
	bed_close(&b, *state);
}

/* 1 when no process of DIRECTORY/NAME.pid lives. */
static int
all_gone(const char *directory, const char *name)
{
	char path[4096], line[64];
	int gone = 1;

	snprintf(path, sizeof path, "%s/%s.pid", directory, name);
	FILE *const f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		gone &= !lives(line);
	if (f != NULL)
		fclose(f);
	return f != NULL && gone;
}

static void
nobody_outlives_a_killed_supervisor(void **state)
{
	struct bed b;
	int code, status;

	const pid_t pid = fork_within(60);
	if (pid == 0) {
		bed_open(&b, *state,
			"coordinator0) leash=$(sed -n 's/^leash_fd = //p' </proc/$$/fd/$ticket)\n"
			"  trap '' TERM; touch $D/up; read x </proc/$$/fd/$leash\n"
			"  touch $D/noticed; exit 0 ;;\n"
			"*) exec sleep 60 ;;");
		bed_run(&b, *state, &code);
		_exit(1);
	}
	char up[4096], noticed[4096];
	snprintf(up, sizeof up, "%s/up", (char *)*state);
	snprintf(noticed, sizeof noticed, "%s/noticed", (char *)*state);
	for (int i = 0; i < 500 && access(up, F_OK) != 0; i++)
		usleep(10000);
	usleep(100000);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	const double killed = clock_seconds();
	while (clock_seconds() - killed < 1 && !(all_gone(*state, "worker0")
		&& all_gone(*state, "worker1") && all_gone(*state, "ps0")
		&& all_gone(*state, "coordinator0")))
		usleep(10000);
	assert_true(clock_seconds() - killed < 1);
	assert_int_equal(access(noticed, F_OK), 0);
}

/* Nodes begin with SIGTERM and SIGINT blocked, and no shell lets them in. */
static int
unblock(char **argv)
{
	char *again[16] = { argv[2], "unblocked" };
	sigset_t set;

	for (int i = 3; argv[i] != NULL && i < 14; i++)
		again[i - 1] = argv[i];
	sigfillset(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	execv(argv[2], again);
	return 1;
}

/* As a node: a line in DIRECTORY/blocked. */
static int
tell_mask(const char *directory)
{
	char path[4096];
	sigset_t set;

	sigprocmask(SIG_BLOCK, NULL, &set);
	snprintf(path, sizeof path, "%s/blocked", directory);
	FILE *const f = fopen(path, "a");
	if (f == NULL || !sigismember(&set, SIGTERM) || !sigismember(&set, SIGINT))
		return 1;
	fprintf(f, "yes\n");
	return fclose(f) != 0;
}

int
main(int argc, char **argv)
{
	if (argc == 9 && strcmp(argv[1], "node") == 0)
		return tell_mask(argv[8]);
	if (argc > 3 && strcmp(argv[1], "--unblock") == 0)
		return unblock(argv);
	assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	const struct CMUnitTest tests[] = {
#define WITH_DIRECTORY(f) cmocka_unit_test_setup_teardown(f, tmpdir_make, tmpdir_remove)
		WITH_DIRECTORY(exit_code_is_that_of_worker_zero),
		WITH_DIRECTORY(nodes_inherit_what_is_theirs),
		WITH_DIRECTORY(killed_node_is_started_again_and_the_coordinator_told),
		WITH_DIRECTORY(L042_node_that_keeps_dying_ends_the_job_with_its_name),
		WITH_DIRECTORY(failure_of_another_node_ends_the_job),
		WITH_DIRECTORY(
			nobody_waits_for_a_worker_once_worker_zero_and_the_coordinator_are_done),
		WITH_DIRECTORY(nodes_begin_with_their_signals_blocked),
		WITH_DIRECTORY(signal_goes_to_the_workers_and_who_stays_is_killed),
		WITH_DIRECTORY(nobody_outlives_a_killed_supervisor),
	};

	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
