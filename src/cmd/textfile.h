/*
 * Figures of the hourly line as a file for the textfile collector of Prometheus.
 *
 * The file is whole at any time.  Gauges that this run has no figure for (NaN) and counters
 * go on from what the file said of the model before; a file that cannot be understood is as
 * none.  No other program may read the temporary file: its name does not end as PATH does.
 * The metrics are listed in recsys-train-cron(7).
 */
#ifndef CMD_TEXTFILE_H
#define CMD_TEXTFILE_H

#include "base/status.h"

struct textfile_figures {
	const char *directory;         /* of the model; its last part is the label    */
	/* Of the run; times are seconds since 1970. */
	double exit_code, ended, duration;
	double waiting;                /* periods known and not trained               */
	/* Of the current model. */
	double version, period_end;
	/* Of the newest period that was trained; before training. */
	double period_rows, auc, logloss, calibration;
	/* Counters, what this run adds; not NaN. */
	double rows, periods, rejected;
};

/* None is known, nothing is added. */
void textfile_init(struct textfile_figures *f, const char *directory);
enum rs_status textfile_write(const char *path, const struct textfile_figures *f);

#endif
