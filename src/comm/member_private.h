/*
 * What the two files of membership share: the node's side (member.c) and the thread that
 * talks to the coordinator (member_thread.c).
 */
#ifndef COMM_MEMBER_PRIVATE_H
#define COMM_MEMBER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "comm/control.h"
#include "comm/member.h"

enum member_phase {
	MEMBER_IDLE,                /* before the first round, or when one is over    */
	MEMBER_JOINING,             /* member_wait()                                  */
	MEMBER_IN,
	MEMBER_LEAVING,             /* member_leave()                                 */
	MEMBER_LEFT,
	MEMBER_REFUSED,             /* failure says why                               */
};

struct member {
	struct member_options o;
	char coordinator[320];      /* "coordinator (ENDPOINT)"                       */
	struct control_self self;
	pthread_t thread;
	int has_thread;
	pthread_mutex_t lock;       /* of all below but the wire                      */
	pthread_cond_t changed;
	int wake;                   /* eventfd: there is something to do              */
	int quit;
	struct wire *wire;          /* the thread's                                   */
	double dialled, patience;   /* the last time, and until the next              */
	enum member_phase phase;
	uint64_t asked;             /* times that a round was asked for               */
	int welcomed;               /* the HELLO of the last time was answered        */
	double due;                 /* when the next sign of life is sent             */
	double heard;               /* of the coordinator                             */
	double over_at;             /* when the round ended, as long as nobody came; 0 */
	uint64_t incarnation;
	struct member_view view;
	char reason[768];
	char trouble[200];          /* of the link to the coordinator, or ""          */
	char report[4096];
	struct rs_failure leaving;  /* what member_leave() was called with            */
	struct rs_failure failure;  /* MEMBER_REFUSED, or what ended the job          */
	atomic_int stop, ended;     /* ended: 2 with a failure                        */
	atomic_uint_fast64_t progress;
};

/* Seconds that also count what the machine slept. */
double member_thread_now(void);
enum rs_status member_thread_dial(struct member *m);
/* The round is over for this node; with the lock. */
void member_thread_stop(struct member *m, const char *reason);
void *member_thread_run(void *member);

#endif
