/* One thread, a lock, and what has been posted. */
#include "reduce/courier.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/thread.h"

struct courier {
	size_t n, n_carried;               /* in this round                          */
	unsigned char *posted;             /* [n]                                    */
	enum rs_status (*carry)(void *context, size_t i);
	void  *context;
	struct rs_failure failure;         /* the first; status RS_OK: none          */
	int    ended, has_thread;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t  changed;
};

/* With the lock held, which carrying gives up meanwhile. */
static void
carry_next(struct courier *c)
{
	enum rs_status status = RS_OK;

	if (c->failure.status == RS_OK) {
		pthread_mutex_unlock(&c->lock);
		status = c->carry(c->context, c->n_carried);
		pthread_mutex_lock(&c->lock);
	}
	if (status != RS_OK)
		rs_failure_take(&c->failure);
	if (++c->n_carried == c->n)
		pthread_cond_broadcast(&c->changed);
}

static void *
courier_main(void *argument)
{
	struct courier *const c = argument;

	pthread_mutex_lock(&c->lock);
	while (!c->ended) {
		if (c->n_carried < c->n && c->posted[c->n_carried])
			carry_next(c);
		else
			pthread_cond_wait(&c->changed, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

enum rs_status
courier_open(size_t n, enum rs_status (*carry)(void *context, size_t i), void *context,
	struct courier **out)
{
	struct courier *c;

	assert(n > 0);
	RS_TRY(memory_alloc(1, sizeof(*c), &c));
	c->n = n;
	c->carry = carry;
	c->context = context;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	enum rs_status status = memory_alloc(n, 1, &c->posted);
	if (status == RS_OK)
		status = thread_start(&c->thread, "courier", courier_main, c);
	if (status != RS_OK) {
		courier_close(c);
		return status;
	}
	c->has_thread = 1;
	*out = c;
	return RS_OK;
}

void
courier_close(struct courier *c)
{
	pthread_mutex_lock(&c->lock);
	c->ended = 1;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (c->has_thread)
		thread_join(c->thread);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c->posted);
	free(c);
}

void
courier_post(struct courier *c, size_t i)
{
	pthread_mutex_lock(&c->lock);
	assert(i < c->n && !c->posted[i]);
	c->posted[i] = 1;
	if (i == c->n_carried)
		pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

enum rs_status
courier_settle(struct courier *c)
{
	enum rs_status status = RS_OK;

	pthread_mutex_lock(&c->lock);
	while (c->n_carried < c->n)
		pthread_cond_wait(&c->changed, &c->lock);
	c->n_carried = 0;
	for (size_t i = 0; i < c->n; i++)
		c->posted[i] = 0;
	if (c->failure.status != RS_OK)
		status = rs_failure_put(&c->failure);
	pthread_mutex_unlock(&c->lock);
	return status;
}
