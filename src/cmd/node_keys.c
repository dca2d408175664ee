/* The list of who may join, read again on SIGHUP. */
#include <semaphore.h>
#include <signal.h>

#include "base/log.h"
#include "base/thread.h"
#include "cmd/node.h"

static sem_t asked;

/* Any thread may get the signal, those of libraries, too. */
static void
on_hangup(int number)
{
	(void)number;
	sem_post(&asked);
}

/* A list that cannot be read changes nothing. */
static void
read_again(const struct node *n)
{
	const char *const path = n->settings->cluster.keys;
	struct key_list allowed = { 0 };
	enum rs_status status = key_list_read(path, &allowed);

	if (status == RS_OK)
		status = wire_context_allow(n->context, &allowed);
	if (status == RS_OK)
		log_info("'%s' has %zu keys now", path, allowed.n);
	else
		log_warn("the list of who may join stays as it was: %s%s%s", rs_failure()->where,
			rs_failure()->where[0] != '\0' ? ": " : "", rs_failure()->text);
	key_list_free(&allowed);
}

static void *
watch(void *node)
{
	struct node *const n = node;

	for (;;) {
		if (sem_wait(&asked) != 0)
			continue;           /* a signal of another kind               */
		if (atomic_load(&n->keys.quit))
			return NULL;
		read_again(n);
	}
}

enum rs_status
node_keys_open(struct node *n)
{
	struct sigaction action = { .sa_handler = on_hangup, .sa_flags = SA_RESTART };

	if (sem_init(&asked, 0, 0) != 0)
		return rs_fail(RS_ERESOURCE, "cannot make a semaphore");
	RS_TRY(thread_start(&n->keys.thread, "rs-keys", watch, n));
	n->keys.runs = 1;
	sigaction(SIGHUP, &action, NULL);
	return RS_OK;
}

void
node_keys_close(struct node *n)
{
	if (!n->keys.runs)
		return;
	signal(SIGHUP, SIG_IGN);
	atomic_store(&n->keys.quit, 1);
	sem_post(&asked);
	thread_join(n->keys.thread);
	n->keys.runs = 0;
}
