/*
 * train --cron: what a run that nobody watches says, and to whom.
 *
 * Errors and warnings go to standard error, where cron makes mail of them; one summary
 * line of every run goes to the system log and the log file.  A model that another run
 * holds is no news until that run has held it for incremental.lock_warn.
 */
#ifndef CMD_CRON_H
#define CMD_CRON_H

#include "base/status.h"
#include "cmd/command.h"

void cron_start(const struct arguments *a);
/* What the summary line says of a run that ends well; the last call counts.  Nothing
 * without --cron. */
void cron_summary(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Called when checkpoint_lock() failed with RS_EBUSY; returns that.  With --cron the failure
 * is either not printed or says for how long the other run has held the model. */
enum rs_status cron_locked(const char *directory, double lock_warn);
/* RS_EBUSY as above when another run holds the model now; nothing without --cron. */
enum rs_status cron_check_lock(const char *directory, double lock_warn);
/* Writes the line. */
void cron_end(const struct arguments *a, int code);

#endif
