/*
 * A worker's part in a run over a period: what --period tells it, in every round anew from the
 * current version, and what worker 0 says of the candidate in the end.
 */
#ifndef CMD_NODE_PERIOD_H
#define CMD_NODE_PERIOD_H

#include "base/status.h"
#include "cmd/job_period.h"
#include "cmd/session.h"
#include "train/trial.h"

struct node_period {
	struct job_period told;
	struct train_period run;
	struct trial *trial;               /* of the last round                       */
};

/* The file of --period. */
enum rs_status node_period_read(struct node_period *p, struct session *s);
void node_period_free(struct node_period *p);
/* p NULL: nothing. */
enum rs_status node_period_begin(struct node_period *p, const struct settings *settings,
	struct train_options *options);
/* What the run ended with, and its status; writes the verdict.  RS_EUNMET: the
 * gate refused it; another status that was given comes back if it did not. */
enum rs_status node_period_judge(struct node_period *p, struct session *s,
	const struct train_summary *summary, enum rs_status status);

#endif
