/* The helpers of a shard: they sleep until there is work worth sharing. */
#include <stdlib.h>

#include "base/thread.h"
#include "remote/shard_private.h"

/* Of the threads that wait, the first n_workers - 1 to wake take part. */
static void *
help(void *argument)
{
	struct shard_crew *c = argument;
	uint64_t seen = 0;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (!c->is_over && (c->round == seen || c->n_joined >= c->n_workers))
			pthread_cond_wait(&c->go, &c->lock);
		if (c->is_over)
			break;
		const size_t worker = c->n_joined++;

		seen = c->round;
		pthread_mutex_unlock(&c->lock);
		c->work(c->argument, worker, c->n_workers);
		pthread_mutex_lock(&c->lock);
		if (--c->n_left == 0)
			pthread_cond_signal(&c->done);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

enum rs_status
shard_crew_open(struct shard_crew *c, size_t n_threads)
{
	*c = (struct shard_crew){ .n_threads = n_threads };
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->go, NULL);
	pthread_cond_init(&c->done, NULL);
	RS_TRY(memory_alloc(n_threads, sizeof(*c->thread), &c->thread));
	for (; c->n_started + 1 < n_threads; c->n_started++)
		RS_TRY(thread_start(&c->thread[c->n_started], "rows", help, c));
	return RS_OK;
}

void
shard_crew_close(struct shard_crew *c)
{
	pthread_mutex_lock(&c->lock);
	c->is_over = 1;
	pthread_cond_broadcast(&c->go);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < c->n_started; i++)
		thread_join(c->thread[i]);
	free(c->thread);
	pthread_cond_destroy(&c->done);
	pthread_cond_destroy(&c->go);
	pthread_mutex_destroy(&c->lock);
}

void
shard_crew_run(struct shard_crew *c, size_t n_workers, shard_work *work, void *argument)
{
	const size_t n = n_workers < c->n_threads ? n_workers : c->n_threads;

	if (n <= 1) {
		work(argument, 0, 1);
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->work = work;
	c->argument = argument;
	c->n_workers = n;
	c->n_joined = 1;
	c->n_left = n - 1;
	c->round++;
	pthread_cond_broadcast(&c->go);
	pthread_mutex_unlock(&c->lock);
	work(argument, 0, n);
	pthread_mutex_lock(&c->lock);
	while (c->n_left > 0)
		pthread_cond_wait(&c->done, &c->lock);
	pthread_mutex_unlock(&c->lock);
}
