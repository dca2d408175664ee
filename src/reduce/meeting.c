/* Ranks of one host that wait for each other in shared memory. */
#include "reduce/meeting.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

#define LINE        64
#define COUNT_BITS  40             /* of meetings in a round                         */
#define ROUND_MAX   (((uint64_t)1 << (64 - COUNT_BITS)) - 1)
#define SPIN_S      200e-6         /* before a wait sleeps                           */
#define SLICE_NS    20000000       /* of sleep between looks at stop and deadline    */
#define TEXT        128

struct desk {
	_Alignas(LINE) atomic_uint_fast64_t arrived;   /* round << COUNT_BITS | meeting  */
	atomic_uint_fast64_t left;         /* round that the rank gave up            */
	atomic_uint asleep;
	/* Who has come to the first meeting of a turn reads the calls of that turn,
	 * when others may already be at the next. */
	_Alignas(LINE) struct meeting_call call[2];
};

struct meeting_control {
	atomic_uint woken;                 /* futex that all sleepers wait on        */
	struct desk desk[];                /* [n_ranks]                              */
};

size_t
meeting_bytes(size_t n_ranks)
{
	return sizeof(struct meeting_control) + n_ranks * sizeof(struct desk);
}

static const struct meeting_call *
call_of(const struct meeting *m, size_t rank)
{
	return &m->control->desk[rank].call[m->turn & 1];
}

static void
describe(const struct meeting_call *c, char out[TEXT])
{
	static const char *const name[] = { "sum", "gather", "broadcast" };

	if (c->kind == MEETING_SUM && c->step != 0)
		snprintf(out, TEXT, "the sum of step %llu", (unsigned long long)c->step);
	else
		snprintf(out, TEXT, "a %s of %llu %s",
			c->kind <= MEETING_BROADCAST ? name[c->kind] : "call",
			(unsigned long long)c->n, c->kind == MEETING_SUM ? "floats" : "bytes");
}

/* The same with all that a sum is compared by. */
static void
describe_in_full(const struct meeting_call *c, char out[TEXT])
{
	describe(c, out);
	if (c->kind == MEETING_SUM)
		snprintf(out + strlen(out), TEXT - strlen(out), " (%llu floats, %llu slots)",
			(unsigned long long)c->n, (unsigned long long)c->n_slots);
}

/* "worker 2", "workers 1, 2" of those that have not come. */
static void
name_missing(const struct meeting *m, uint64_t meeting, char out[TEXT])
{
	size_t n = 0;
	int used = 0;

	out[0] = '\0';
	for (size_t r = 0; r < m->base->n_ranks && used < TEXT - 32; r++)
		if (atomic_load(&m->control->desk[r].arrived) < meeting)
			used += snprintf(out + used, TEXT - (size_t)used,
				n++ == 0 ? "%zu" : ", %zu", r);
	memmove(out + (n == 1 ? 7 : 8), out, (size_t)used + 1);
	memcpy(out, n == 1 ? "worker " : "workers ", n == 1 ? 7 : 8);
}

static int
all_came(const struct meeting *m, uint64_t meeting)
{
	for (size_t r = 0; r < m->base->n_ranks; r++)
		if (atomic_load(&m->control->desk[r].arrived) < meeting)
			return 0;
	return 1;
}

/* A rank that will never come to the meeting; n_ranks: none.  Left is looked at first:
 * who came and then left did come. */
static size_t
find_left(const struct meeting *m, uint64_t meeting)
{
	for (size_t r = 0; r < m->base->n_ranks; r++)
		if (atomic_load(&m->control->desk[r].left) == m->round
		    && atomic_load(&m->control->desk[r].arrived) < meeting)
			return r;
	return m->base->n_ranks;
}

enum rs_status
meeting_check(const struct meeting *m)
{
	if (m->over)
		return rs_fail(RS_EPEER, "this worker left the others after a failure");
	for (size_t r = 0; r < m->base->n_ranks; r++)
		if (atomic_load(&m->control->desk[r].arrived) >> COUNT_BITS > m->round)
			return rs_fail(RS_EPEER, "worker %zu is in a later round", r);
	return RS_OK;
}

static enum rs_status
check_wait(const struct meeting *m, uint64_t meeting, double since)
{
	const size_t left = find_left(m, meeting);
	char what[TEXT], who[TEXT];

	describe(call_of(m, m->base->rank), what);
	if (m->base->stop != NULL && atomic_load(m->base->stop))
		return rs_fail(RS_EPEER, "%s was broken off: the round is over", what);
	if (left < m->base->n_ranks)
		return rs_fail(RS_EPEER, "worker %zu left before %s", left, what);
	if (clock_seconds() - since < m->base->timeout || all_came(m, meeting))
		return RS_OK;
	name_missing(m, meeting, who);
	return rs_fail(RS_EPEER, "%s did not come to %s for %g s", who, what, m->base->timeout);
}

static void
wake_sleepers(struct meeting *m)
{
	atomic_fetch_add(&m->control->woken, 1);
	for (size_t r = 0; r < m->base->n_ranks; r++)
		if (atomic_load(&m->control->desk[r].asleep)) {
			syscall(SYS_futex, &m->control->woken, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
			return;
		}
}

static inline void
pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static int
spin(const struct meeting *m, uint64_t meeting, double until)
{
	for (unsigned look = 1; m->spin && !m->quiet; look++) {
		if (all_came(m, meeting))
			return 1;
		pause_briefly();
		if (look % 64 == 0 && clock_seconds() > until)
			return 0;
	}
	return 0;
}

static enum rs_status
sleep_until_all_came(struct meeting *m, uint64_t meeting, double since)
{
	const struct timespec slice = { .tv_nsec = SLICE_NS };
	atomic_uint *asleep = &m->control->desk[m->base->rank].asleep;
	enum rs_status status = RS_OK;

	/* All sequentially consistent: either the last to arrive sees who sleeps, or the
	 * sleeper sees that it has arrived or that `woken` has changed. */
	atomic_store(asleep, 1);
	while (status == RS_OK) {
		const unsigned woken = atomic_load(&m->control->woken);

		if (all_came(m, meeting))
			break;
		status = check_wait(m, meeting, since);
		if (status == RS_OK)
			syscall(SYS_futex, &m->control->woken, FUTEX_WAIT, woken, &slice, NULL, 0);
	}
	atomic_store(asleep, 0);
	return status;
}

enum rs_status
meeting_wait(struct meeting *m)
{
	const uint64_t meeting = m->round << COUNT_BITS | ++m->n;
	const double since = clock_seconds();

	atomic_store(&m->control->desk[m->base->rank].arrived, meeting);
	if (all_came(m, meeting))
		wake_sleepers(m);
	else if (!spin(m, meeting, since + SPIN_S))
		RS_TRY(sleep_until_all_came(m, meeting, since));
	return meeting_check(m);
}

static enum rs_status
compare_calls(const struct meeting *m)
{
	const struct meeting_call *first = call_of(m, 0);
	char a[TEXT], b[TEXT];

	for (size_t r = 1; r < m->base->n_ranks; r++) {
		if (memcmp(first, call_of(m, r), sizeof(*first)) == 0)
			continue;
		describe_in_full(first, a);
		describe_in_full(call_of(m, r), b);
		return rs_fail(RS_EPROTOCOL, "worker 0 came to %s, worker %zu to %s%s", a, r, b,
			strcmp(a, b) == 0 ? ", cut in another way" : "");
	}
	return RS_OK;
}

enum rs_status
meeting_come(struct meeting *m, const struct meeting_call *call)
{
	m->control->desk[m->base->rank].call[m->turn & 1] = *call;
	RS_TRY(meeting_wait(m));
	return compare_calls(m);
}

void
meeting_next(struct meeting *m)
{
	m->turn++;
}

void
meeting_leave(struct meeting *m)
{
	atomic_store(&m->control->desk[m->base->rank].left, m->round);
	wake_sleepers(m);
	m->over = 1;
}

enum rs_status
meeting_open(struct meeting *m, const struct exchange *base, void *memory, uint32_t epoch)
{
	const char *why;
	const struct desk *own;

	*m = (struct meeting){ .base = base, .control = memory, .round = (uint64_t)epoch + 1,
		.spin = base->n_ranks <= thread_auto_count(&why) };
	own = &m->control->desk[base->rank];
	if (m->round > ROUND_MAX)
		return rs_fail(RS_EPROTOCOL, "there is no round %u in shared memory", epoch);
	if (atomic_load(&own->arrived) >> COUNT_BITS == m->round
	    || atomic_load(&own->left) == m->round)
		return rs_fail(RS_EPROTOCOL, "round %u was begun before on this shared memory",
			epoch);
	return meeting_check(m);
}
