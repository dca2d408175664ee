/*
 * The steady state of a step: no allocation, no system call.
 *
 * Allocations are counted by tests/allocations.c; system calls are trapped by a
 * seccomp filter, counted in the handler and carried out there, from an address that
 * the filter lets pass.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/allocations.h"
#include "tests/test.h"

#include "base/thread.h"
#include "step_case.h"

#define STEPS     200
#define WINDOWS   5
#define SECONDS   10.0          /* for a quiet window to come                      */
#define FLAG_SKIP 77

static atomic_size_t n_calls, n_futex;

#if ALLOCATIONS_CAN_COUNT
/* What the kernel returns for the call with the arguments a[6]. */
long call_past(long number, const long *a);
extern const char call_past_end[];
__asm__(".text\n"
	"call_past:\n\t"
	"mov %rdi, %rax\n\t"
	"mov %rsi, %rcx\n\t"
	"mov (%rcx), %rdi\n\t"
	"mov 8(%rcx), %rsi\n\t"
	"mov 16(%rcx), %rdx\n\t"
	"mov 24(%rcx), %r10\n\t"
	"mov 32(%rcx), %r8\n\t"
	"mov 40(%rcx), %r9\n\t"
	"syscall\n"
	"call_past_end:\n\t"
	"ret\n");

static void
on_call(int number, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const long a[6] = {
		r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9],
	};

	(void)number;
	atomic_fetch_add(info->si_syscall == SYS_futex ? &n_futex : &n_calls, 1);
	r[REG_RAX] = call_past(info->si_syscall, a);
}

/* 0 when every thread of the process is watched from here on. */
static int
watch_calls(void)
{
	const uint64_t past = (uintptr_t)call_past_end;
	const unsigned at = offsetof(struct seccomp_data, instruction_pointer);
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 6, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 5, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)past, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(past >> 32), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]), .filter = filter };
	struct sigaction action = { .sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER };

	if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(
		SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
}
#else
static int
watch_calls(void)
{
	return -1;
}
#endif

struct counts {
	size_t allocations, calls, quiet_steps;
	long   switches;            /* times that a thread lost its core              */
};

static long
count_switches(void)
{
	struct rusage use;

	(void)getrusage(RUSAGE_SELF, &use);
	return use.ru_nivcsw;
}

static int
count_window(struct workers *w, const struct batch batch[2], int disturb, struct counts *out)
{
	struct step_result r;

	*out = (struct counts){ .switches = -count_switches() };
	atomic_store(&n_calls, 0);
	atomic_store(&n_futex, 0);
	const size_t allocations = allocations_count();
	for (size_t i = 0; i < STEPS; i++) {
		const size_t futex = atomic_load(&n_futex);

		if (workers_step(w, &batch[i % 2], 0.01, 1, &r) != RS_OK)
			return 1;
		if (disturb) {
			char *volatile block = malloc(100);

			free(block);
			(void)syscall(SYS_getppid);
		}
		out->quiet_steps += futex == atomic_load(&n_futex);
	}
	out->allocations = allocations_count() - allocations;
	out->calls = atomic_load(&n_calls);
	out->switches += count_switches();
	return 0;
}

struct quiet_case {
	size_t n_threads;
	int    disturb;             /* allocate and call the system in every step, to
	                               see that both are noticed                      */
	const char *set[4];         /* over the spec, all or none                     */
};

/* Runs in a process of its own, as a filter cannot be taken off. */
static int
count_steps(const struct quiet_case *c, struct counts *out)
{
	const size_t n_threads = c->n_threads, n_sets = c->set[0] != NULL ? 4 : 0;
	struct model *m = step_case_model(c->set, n_sets, n_threads, 1);
	struct step_result r;
	struct workers *w;
	struct batch batch[2];

	assert_int_equal(workers_create(m, n_threads, &w), RS_OK);
	step_case_batch(&batch[0], m, 256, 1);
	step_case_batch(&batch[1], m, 256, 2);
	for (size_t i = 0; i < 6; i++)
		if (workers_step(w, &batch[i % 2], 0.01, 1, &r) != RS_OK)
			return 1;
	/* A thread still being started blocks the signal the filter sends. */
	usleep(50000);
	if (watch_calls() != 0)
		return FLAG_SKIP;
	/* The library makes a buffer when two products first meet, and a thread has room for a
	 * longer slot than any before when it first gets one: on a busy machine they do so
	 * late.  A window without that must come, and in it a step whose threads all ran, if
	 * they had a core each: two on one core wait for each other, and neither loses it. */
	const double end = clock_seconds() + SECONDS;
	for (size_t i = 0; i < WINDOWS || (!c->disturb && clock_seconds() < end); i++) {
		if (count_window(w, batch, c->disturb, out) != 0)
			return 1;
		if (out->allocations + out->calls == 0 && out->quiet_steps > 0)
			break;
	}
	return 0;
}

static int
count_in_child(const struct quiet_case *c, struct counts *out)
{
	int ends[2], status;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork_within(60);
	assert_true(child >= 0);
	if (child == 0) {
		struct counts counts;
		const int code = count_steps(c, &counts);

		if (code == 0 && write(ends[1], &counts, sizeof(counts)) != sizeof(counts))
			_exit(1);
		_exit(code);
	}
	close(ends[1]);
	const ssize_t got = read(ends[0], out, sizeof(*out));
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == FLAG_SKIP)
		return FLAG_SKIP;
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(got, sizeof(*out));
	return 0;
}

static void
check_steady(struct quiet_case quiet)
{
	const char *why;
	const size_t n_cores = thread_auto_count(&why);
	struct counts c;

	for (size_t n = 1; n <= 2 && n <= n_cores; n++) {
		quiet.n_threads = n;
		if (!ALLOCATIONS_CAN_COUNT || count_in_child(&quiet, &c) == FLAG_SKIP)
			SKIP_BECAUSE("calls cannot be counted in this build or on this machine");
		assert_int_equal(c.allocations, 0);
		assert_int_equal(c.calls, 0);
		/* A thread that lost its core makes the other sleep. */
		assert_true(n == 1 ? c.quiet_steps == STEPS : c.quiet_steps > 0 || c.switches > 0);
	}
}

static void
a_steady_step_neither_allocates_nor_calls_the_system(void **state)
{
	(void)state;
	check_steady((struct quiet_case){ .disturb = 0 });
}

/* Slots of different numbers of positions take turns. */
static void
a_steady_step_over_histories_is_as_quiet(void **state)
{
	(void)state;
	check_steady((struct quiet_case){
		.set = { "field m.type=sequence", "field m.buckets=50", "field m.share=a",
			"model.type=din" },
	});
}

/* By rounding, which runs anywhere; oneDNN passes its arguments on in memory of its own. */
static void
a_steady_step_in_two_bytes_is_as_quiet(void **state)
{
	(void)state;
	assert_int_equal(kernel_force("baseline"), RS_OK);
	check_steady((struct quiet_case){
		.set = { "train.precision=bf16", "dnn.hidden=32,16", "dnn.dropout=0",
			"dnn.batch_norm=no" },
	});
	assert_int_equal(kernel_force("auto"), RS_OK);
}

static void
the_count_notices_an_allocation_and_a_call(void **state)
{
	const struct quiet_case disturbed = { .n_threads = 1, .disturb = 1 };
	struct counts c;

	(void)state;
	if (!ALLOCATIONS_CAN_COUNT || count_in_child(&disturbed, &c) == FLAG_SKIP)
		SKIP_BECAUSE("calls cannot be counted in this build or on this machine");
	assert_int_equal(c.allocations, STEPS);
	assert_int_equal(c.calls, STEPS);
}

/* Threads that the BLAS library starts when it is loaded, which no step uses, would
 * be counted too: start again without them. */
int
main(int argc, char **argv)
{
	(void)argc;
	if (getenv("OPENBLAS_NUM_THREADS") == NULL && setenv("OPENBLAS_NUM_THREADS", "1", 1) == 0)
		execv("/proc/self/exe", argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_steady_step_neither_allocates_nor_calls_the_system),
		cmocka_unit_test(a_steady_step_over_histories_is_as_quiet),
		cmocka_unit_test(a_steady_step_in_two_bytes_is_as_quiet),
		cmocka_unit_test(the_count_notices_an_allocation_and_a_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
