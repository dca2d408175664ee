/*
 * A run over a period in a job of many processes: what train --incremental tells the workers,
 * and what worker 0 says of the candidate.  Both are files in the job's private directory.
 */
#ifndef CMD_JOB_PERIOD_H
#define CMD_JOB_PERIOD_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "spec/settings.h"
#include "train/gate.h"
#include "train/ledger.h"
#include "train/train.h"
#include "train/trial.h"

#define JOB_PERIOD_FILE  "period.txt"
#define JOB_VERDICT_FILE "verdict.txt"

struct job_period {
	int64_t  begin;
	uint64_t epochs, first;            /* of struct train_period                  */
	struct text_list files, held;
	char   **condition;                /* [n_conditions]                          */
	size_t   n_conditions;
	struct ledger ledger;
	char    *history;                  /* NULL: none                              */
};

enum rs_status job_period_print(const struct job_period *p, struct buffer *out);
enum rs_status job_period_parse(const char *text, size_t n, struct job_period *out);
void job_period_free(struct job_period *p);

/* What the gate said of the version. */
struct job_verdict {
	uint64_t version;
	int      is_refused;
	double   rows;                     /* trained                                 */
	/* Of the period before it was trained; NaN: not scored. */
	double   period_rows, auc, logloss, calibration;
	char    *text;                     /* owned; "" where there is nothing to say */
};

/* In the directory of the file `period`. */
enum rs_status job_verdict_write(const char *period, const struct job_verdict *v);
/* RS_ENOINPUT: the job ended before it was said. */
enum rs_status job_verdict_read(const char *directory, struct job_verdict *out);

#endif
