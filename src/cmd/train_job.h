/*
 * A training run of many processes of this host: planned, recorded, started and watched here,
 * carried out by `node` processes, shown by worker 0.
 */
#ifndef CMD_TRAIN_JOB_H
#define CMD_TRAIN_JOB_H

#include "base/status.h"
#include "cmd/job_period.h"
#include "cmd/session.h"

/* 1: the spec asks for more than this process. */
int train_job_wanted(const struct settings *settings);
/* Borrows spec; directory and options of the session are settled.  period NULL: all of
 * data.train; else *verdict is what worker 0 said of the candidate, version 0 when it did not
 * come to that. */
enum rs_status train_job(struct session *s, const struct spec *spec,
	const struct job_period *period, struct job_verdict *verdict);

#endif
