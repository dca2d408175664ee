/* Threads: how many, the barrier, the queue, the clocks. */
#include "base/thread.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/quota.h"

#define BARRIER_SPIN_NS ((int64_t)2000000)

static size_t
affinity_count(void)
{
	const long all = sysconf(_SC_NPROCESSORS_ONLN);
	const int  n_max = 1 << 16;
	cpu_set_t *set = CPU_ALLOC(n_max);
	size_t     n = all > 0 ? (size_t)all : 1;

	if (set == NULL)
		return n;
	if (sched_getaffinity(0, CPU_ALLOC_SIZE(n_max), set) == 0)
		n = (size_t)CPU_COUNT_S(CPU_ALLOC_SIZE(n_max), set);
	CPU_FREE(set);
	return n > 0 ? n : 1;
}

size_t
thread_auto_count(const char **why)
{
	const size_t affinity = affinity_count(),
		     quota = quota_count("/proc/self/cgroup", "/sys/fs/cgroup");

	*why = quota < affinity ? "cgroup" : "affinity";
	if (quota < affinity)
		return quota > 0 ? quota : 1;
	return affinity;
}

enum rs_status
thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *argument)
{
	const int error = pthread_create(thread, NULL, run, argument);
	char      short_name[16];

	if (error != 0)
		return rs_fail(RS_ERESOURCE, "cannot start thread '%s': %s", name, strerror(error));
	snprintf(short_name, sizeof(short_name), "%s", name);
	pthread_setname_np(*thread, short_name);
	return RS_OK;
}

void
thread_join(pthread_t thread)
{
	const int error = pthread_join(thread, NULL);

	assert(error == 0);
	(void)error;
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

static int64_t
clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void
barrier_init(struct barrier *b, unsigned n, size_t n_cores)
{
	atomic_init(&b->arrived, 0);
	atomic_init(&b->generation, 0);
	atomic_init(&b->sleepers, 0);
	b->n = n;
	b->spin = n <= n_cores;
}

/* 1 when the generation changed within BARRIER_SPIN_NS.  clock_gettime is no
 * system call (vDSO) and is asked once in 256 looks. */
static int
spin(struct barrier *b, unsigned generation)
{
	int64_t until = 0;

	for (unsigned look = 1; ; look++) {
		if (atomic_load_explicit(&b->generation, memory_order_acquire) != generation)
			return 1;
		pause_briefly();
		if (look % 256 != 0)
			continue;
		if (until == 0)
			until = clock_ns() + BARRIER_SPIN_NS;
		else if (clock_ns() > until)
			return 0;
	}
}

static void
sleep_until_changed(struct barrier *b, unsigned generation)
{
	atomic_fetch_add(&b->sleepers, 1);
	while (atomic_load(&b->generation) == generation)
		syscall(SYS_futex, &b->generation, FUTEX_WAIT_PRIVATE, generation, NULL, NULL, 0);
	atomic_fetch_sub(&b->sleepers, 1);
}

void
barrier_wait(struct barrier *b)
{
	const unsigned generation = atomic_load_explicit(&b->generation, memory_order_acquire);

	if (atomic_fetch_add(&b->arrived, 1) + 1 == b->n) {
		atomic_store_explicit(&b->arrived, 0, memory_order_relaxed);
		/* Both sequentially consistent: a sleeper is either seen here or sees
		 * the new generation before it sleeps. */
		atomic_store(&b->generation, generation + 1);
		if (atomic_load(&b->sleepers) > 0)
			syscall(SYS_futex, &b->generation, FUTEX_WAKE_PRIVATE, INT_MAX, NULL,
				NULL, 0);
		return;
	}
	if (b->spin && spin(b, generation))
		return;
	sleep_until_changed(b, generation);
}

enum rs_status
queue_init(struct queue *q, size_t capacity)
{
	*q = (struct queue){ .capacity = capacity };
	assert(capacity > 0);
	RS_TRY(memory_alloc(capacity, sizeof(*q->item), &q->item));
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->not_empty, NULL);
	pthread_cond_init(&q->not_full, NULL);
	return RS_OK;
}

void
queue_free(struct queue *q)
{
	if (q->item == NULL)
		return;
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->not_empty);
	pthread_cond_destroy(&q->not_full);
	free(q->item);
	q->item = NULL;
}

int
queue_put(struct queue *q, void *item)
{
	int open;

	pthread_mutex_lock(&q->lock);
	while (!q->closed && q->n == q->capacity)
		pthread_cond_wait(&q->not_full, &q->lock);
	open = !q->closed;
	if (open) {
		q->item[(q->head + q->n++) % q->capacity] = item;
		pthread_cond_signal(&q->not_empty);
	}
	pthread_mutex_unlock(&q->lock);
	return open;
}

void *
queue_take(struct queue *q)
{
	void *item = NULL;

	pthread_mutex_lock(&q->lock);
	while (!q->closed && q->n == 0)
		pthread_cond_wait(&q->not_empty, &q->lock);
	if (q->n > 0) {
		item = q->item[q->head];
		q->head = (q->head + 1) % q->capacity;
		q->n--;
		pthread_cond_signal(&q->not_full);
	}
	pthread_mutex_unlock(&q->lock);
	return item;
}

void
queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = 1;
	pthread_cond_broadcast(&q->not_empty);
	pthread_cond_broadcast(&q->not_full);
	pthread_mutex_unlock(&q->lock);
}

double
clock_seconds(void)
{
	return (double)clock_ns() * 1e-9;
}

/* Milliseconds that the wall clock of this process is ahead of the system's. */
static int64_t wall_ahead_ms;

int64_t
clock_wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 + wall_ahead_ms;
}

void
clock_set_wall(int64_t seconds)
{
	wall_ahead_ms = 0;
	wall_ahead_ms = seconds * 1000 - clock_wall_ms();
}

void
clock_utc(char out[24])
{
	const time_t now = (time_t)(clock_wall_ms() / 1000);
	struct tm    t;

	gmtime_r(&now, &t);
	strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &t);
}
