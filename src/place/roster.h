/*
 * Who is a member of the job and what round it is in: the coordinator's decisions, without
 * sockets, files or clocks.
 *
 * Every event is a call with the time it happened (seconds of any clock that also counts
 * suspends).  What came of it is in phase, epoch and the nodes' states; `news` counts up when
 * others than the one who caused the event must hear of it, `dirty` says that something is
 * to be written down before anybody is told.
 */
#ifndef PLACE_ROSTER_H
#define PLACE_ROSTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "comm/job.h"
#include "spec/settings.h"

#define ROSTER_PHASE_TABLE(ROW) \
	ROW(GATHERING, "gathering") \
	ROW(ROUND,     "running") \
	ROW(ENDED,     "ended")

#define ROSTER_STATE_TABLE(ROW) \
	ROW(ABSENT, "absent")       /* never came, or died                            */ \
	ROW(READY,  "waiting")      /* for the round to begin                         */ \
	ROW(IN,     "running")      /* in the round                                   */ \
	ROW(OUT,    "stopping")     /* the round is over, it has to come back         */ \
	ROW(DONE,   "done")         /* waits for worker 0 to be                       */ \
	ROW(GONE,   "left")

enum roster_phase {
#define ROW(name, text) ROSTER_##name,
	ROSTER_PHASE_TABLE(ROW)
	ROSTER_N_PHASES
};
enum roster_state {
	ROSTER_STATE_TABLE(ROW)
#undef ROW
	ROSTER_N_STATES
};

struct roster_node {
	enum roster_state state;
	uint64_t incarnation;       /* 0: not known                                   */
	uint64_t nonce;             /* of the process, tells a repeated HELLO from a new one */
	uint64_t pid;
	char     endpoint[256], public_key[KEY_TEXT], host[64];
	char     name[64];          /* of its key on the list of who may join         */
	char     trouble[256];      /* why it was refused or lost; ""                 */
	double   heard;             /* its last sign of life                          */
	double   broken;            /* since when its connection is; 0: it is not     */
	uint64_t progress;
	double   progressed;        /* when that counted up                           */
	int      dirty;
};

#define ROSTER_GAPS 31

struct roster {
	const struct job *job;
	const struct cluster_settings *cluster;
	struct roster_node *node;   /* [n] by number; node 0 is the coordinator       */
	size_t   n;
	enum roster_phase phase;
	uint32_t epoch;             /* of the round, or of the last one               */
	uint64_t last_incarnation;
	double   since;             /* when the phase began                           */
	char     reason[768];       /* why the last round ended                       */
	struct rs_failure failure;  /* what ended the job; RS_OK: it is done          */
	int      finished;          /* worker 0 is done                               */
	double   finished_at;
	struct rs_failure later;    /* ends the job unless worker 0 does within drain */
	double   later_at;
	uint64_t barren;            /* rounds without progress, one after the other,  */
	double   barren_since;      /* within ten minutes from here                   */
	int      progress_seen;     /* in this round                                  */
	double   progressed;        /* when a worker last made some                   */
	double   gap[ROSTER_GAPS];  /* between signs of progress                      */
	size_t   n_gaps;
	uint64_t news;
	int      dirty;
};

struct roster_hello {
	uint64_t incarnation, nonce, pid, progress;
	uint32_t last_epoch;
	char     endpoint[256], public_key[KEY_TEXT], host[64], name[64];
	char     why[512];          /* it gave the round up; ""                       */
};

/* What a node is to do. */
enum roster_order { ROSTER_WAIT, ROSTER_GO, ROSTER_OVER, ROSTER_END };

enum rs_status roster_init(struct roster *r, const struct job *job,
	const struct cluster_settings *cluster, double now);
void roster_free(struct roster *r);
/* RS_EDENIED: another process has its place; what ended the job, or RS_EPEER: it has ended. */
enum rs_status roster_hello(struct roster *r, size_t number, const struct roster_hello *h,
	double now);
enum rs_status roster_renew(struct roster *r, size_t number, uint64_t incarnation,
	uint64_t progress, double now);
/* failure->status RS_OK: it is done. */
enum rs_status roster_bye(struct roster *r, size_t number, uint64_t incarnation,
	const struct rs_failure *failure, double now);
/* It was refused at the door, for this reason. */
void roster_refused(struct roster *r, size_t number, const char *why);
/* Its starter says that it ended: "was killed by signal 9". */
void roster_died(struct roster *r, size_t number, const char *how, double now);
/* Nothing can be sent to it any more. */
void roster_broken(struct roster *r, size_t number, double now);
/* Looks at the clock: who is silent, who is missing. */
void roster_tick(struct roster *r, double now);
/* The coordinator itself slept so long. */
void roster_forgive(struct roster *r, double seconds);
void roster_end(struct roster *r, const struct rs_failure *failure, double now);
enum roster_order roster_order(const struct roster *r, size_t number);
/* Nobody is left who has to hear that the job has ended. */
int roster_is_empty(const struct roster *r);
const char *roster_phase_name(enum roster_phase phase);
const char *roster_state_name(enum roster_state state);

#endif
