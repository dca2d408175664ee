/* A coordinator in a thread or a process, and nodes in threads, over ipc. */
#ifndef TESTS_PLACE_COORDINATOR_BED_H
#define TESTS_PLACE_COORDINATOR_BED_H

#include "tests/test.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "comm/control.h"
#include "comm/member.h"
#include "comm/monitor.h"
#include "place/coordinator.h"

#define WORKERS 2
#define SHARDS  1
#define NODES   (1 + WORKERS + SHARDS)
#define PS      1
#define WORKER0 2
#define WORKER1 3

struct node {
	struct job job;
	struct member *member;
	struct member_view view;
	struct rs_failure failure;
	enum rs_status status;
	pthread_t thread;
	double seconds;             /* that waiting took                              */
};

struct bed {
	char directory[64], endpoint[128];
	struct wire_context *context;
	struct job job;
	struct cluster_settings cluster;
	struct wire *wire;
	pthread_t thread;
	volatile int stop;
	int leash[2];
	enum rs_status status;      /* of the coordinator                             */
	struct rs_failure failure;
	struct node node[NODES];
};

static inline void *
serve(void *argument)
{
	struct bed *b = argument;
	const struct coordinator_options o = { .wire = b->wire, .job = &b->job,
		.cluster = &b->cluster, .directory = b->directory, .stop_signal = &b->stop,
		.leash = b->leash[0] };

	b->status = coordinator_serve(&o);
	rs_failure_take(&b->failure);
	return NULL;
}

static inline void
bed_open(struct bed *b)
{
	*b = (struct bed){ .directory = "/tmp/coordinator_test.XXXXXX",
		.job = { .id = 7, .n_workers = WORKERS, .n_ps = SHARDS, .config = 42,
		.shared_fd = -1 }, .cluster = { .rendezvous = 5, .heartbeat = .05, .lease = .8,
		.absence = 5, .drain = 1, .restarts = 2 } };

	assert_non_null(mkdtemp(b->directory));
	snprintf(b->endpoint, sizeof(b->endpoint), "ipc://%s/c", b->directory);
	assert_int_equal(RS_OK, job_make_nodes(&b->job, 0));
	snprintf(b->job.node[0].endpoint, sizeof(b->job.node[0].endpoint), "%s", b->endpoint);
	assert_int_equal(0, pipe(b->leash));
	assert_int_equal(RS_OK, wire_context_open(&(struct wire_options){ 0 }, &b->context));
	log_set_level(LOG_ERROR);
}

static inline void
coordinator_start(struct bed *b)
{
	assert_int_equal(RS_OK, wire_bind(b->context, b->endpoint, &b->wire));
	assert_int_equal(RS_OK, thread_start(&b->thread, "coordinator", serve, b));
}

static inline void
coordinator_join(struct bed *b)
{
	thread_join(b->thread);
	wire_close(b->wire);
	b->wire = NULL;
}

static inline void
bed_close(struct bed *b)
{
	for (size_t i = 0; i < NODES; i++) {
		member_close(b->node[i].member);
		member_view_free(&b->node[i].view);
	}
	wire_context_close(b->context);
	job_free(&b->job);
	close(b->leash[0]);
	close(b->leash[1]);
	assert_int_equal(RS_OK, file_remove_tree(b->directory));
}

static inline void
node_open(struct bed *b, size_t i)
{
	struct node *n = &b->node[i];
	char endpoint[64];

	if (n->job.node == NULL) {
		n->job = b->job;
		n->job.self = i;
	}
	snprintf(endpoint, sizeof(endpoint), "ipc:///x/%zu", i);
	const struct member_options o = { .context = b->context, .job = &n->job,
		.endpoint = i == PS ? endpoint : NULL, .heartbeat = b->cluster.heartbeat,
		.lease = b->cluster.lease, .absence = b->cluster.absence,
		.rendezvous = b->cluster.rendezvous };
	assert_int_equal(RS_OK, member_open(&o, &n->member));
}

static inline void *
wait_in_thread(void *argument)
{
	struct node *n = argument;
	const double began = clock_seconds();

	member_view_free(&n->view);
	n->status = member_wait(n->member, &n->view);
	rs_failure_take(&n->failure);
	n->seconds = clock_seconds() - began;
	return NULL;
}

static inline void
wait_start(struct bed *b, size_t i)
{
	assert_int_equal(RS_OK, thread_start(&b->node[i].thread, "node", wait_in_thread,
		&b->node[i]));
}

/* Nodes PS.. all ask for the next round, which is to be the given one. */
static inline void
all_wait(struct bed *b, uint32_t epoch)
{
	for (size_t i = 1; i < NODES; i++)
		wait_start(b, i);
	for (size_t i = 1; i < NODES; i++) {
		thread_join(b->node[i].thread);
		if (b->node[i].status != RS_OK)
			print_message("%s\n", b->node[i].failure.text);
		assert_int_equal(RS_OK, b->node[i].status);
		assert_int_equal(epoch, b->node[i].view.epoch);
		assert_int_equal(0, atomic_load(member_stop(b->node[i].member)));
	}
}

static inline void
all_open(struct bed *b)
{
	coordinator_start(b);
	for (size_t i = 1; i < NODES; i++)
		node_open(b, i);
	all_wait(b, 1);
}

static inline void *
leave_in_thread(void *argument)
{
	struct node *n = argument;

	n->status = member_leave(n->member, NULL);
	rs_failure_take(&n->failure);
	return NULL;
}

static inline void
leave_start(struct bed *b, size_t i)
{
	assert_int_equal(RS_OK, thread_start(&b->node[i].thread, "leave", leave_in_thread,
		&b->node[i]));
}

/* Seconds until the node's round is over. */
static inline double
until_stop(struct bed *b, size_t i, double limit)
{
	const double began = clock_seconds();

	while (atomic_load(member_stop(b->node[i].member)) == 0 &&
	       clock_seconds() - began < limit)
		usleep(1000);
	return clock_seconds() - began;
}

/* The end of a job as it should be. */
static inline void
all_leave(struct bed *b)
{
	leave_start(b, WORKER1);
	usleep(50000);
	assert_false(member_job_ended(b->node[WORKER1].member));
	leave_start(b, WORKER0);
	thread_join(b->node[WORKER0].thread);
	thread_join(b->node[WORKER1].thread);
	assert_int_equal(RS_OK, b->node[WORKER0].status);
	assert_int_equal(RS_OK, b->node[WORKER1].status);
	assert_true(until_stop(b, PS, 5) < 3);
	assert_int_equal(1, member_job_ended(b->node[PS].member));
	assert_int_equal(RS_OK, member_leave(b->node[PS].member, NULL));
	coordinator_join(b);
	assert_int_equal(RS_OK, b->status);
}

/* Forks a coordinator with a context of its own. */
static inline pid_t
fork_coordinator(struct bed *b)
{
	const pid_t pid = fork_within(60);

	if (pid != 0)
		return pid;
	struct wire_context *context;
	if (wire_context_open(&(struct wire_options){ 0 }, &context) != RS_OK ||
	    wire_bind(context, b->endpoint, &b->wire) != RS_OK)
		_exit(70);
	serve(b);
	_exit(rs_exit_code(b->status));
}

#endif
