/*
 * Threads: how many to use, a barrier that spins briefly and then sleeps, and a
 * bounded queue of pointers.
 *
 * barrier_wait() of n threads makes all writes before it visible after it; it
 * makes no system call while the others arrive within BARRIER_SPIN_NS.  queue_put
 * and queue_take block; queue_close() wakes everyone: put then returns 0 and
 * take drains what is left and then returns NULL.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* min(affinity mask, cgroup quota rounded up), at least 1; *why (static text)
 * says which bound won: "affinity" or "cgroup". */
size_t thread_auto_count(const char **why);

enum rs_status thread_start(pthread_t *thread, const char *name, void *(*run)(void *),
	void *argument);
void thread_join(pthread_t thread);

struct barrier {
	atomic_uint arrived, generation, sleepers;
	unsigned    n;
	int         spin;          /* 0 when there are more threads than cores */
};

void barrier_init(struct barrier *b, unsigned n, size_t n_cores);
void barrier_wait(struct barrier *b);

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t  not_empty, not_full;
	void          **item;
	size_t          n, capacity, head;
	int             closed;
};

enum rs_status queue_init(struct queue *q, size_t capacity);
void  queue_free(struct queue *q);
int   queue_put(struct queue *q, void *item);
void *queue_take(struct queue *q);
void  queue_close(struct queue *q);

/* Seconds of CLOCK_MONOTONIC; CLOCK_BOOTTIME for leases is another function. */
double clock_seconds(void);
/* Milliseconds since 1970, of the wall clock. */
int64_t clock_wall_ms(void);
/* The wall clock shows `seconds` now and goes on from there, for tests and replays; called
 * before threads start. */
void clock_set_wall(int64_t seconds);
/* "2026-11-29T14:02:11Z" */
void clock_utc(char out[24]);

#endif
