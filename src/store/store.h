/*
 * The run database: SQLite, WAL, application_id, user_version; schema in
 * share/schema.sql (compiled in).
 *
 * One writer at a time, waits up to busy_ms (RS_EBUSY after that); 32 processes may
 * open a fresh file at once (one migrates under the lock).  A run is "running" with
 * pid, boot id and start time; readers compute "lost" when that process is gone.
 * NaN is NULL with a text flag.  A newer version is refused (RS_EPROTOCOL), a file
 * that is no run database too (RS_EDATA).  After a failure the caller may go on:
 * every call is one transaction.  Any thread may call, one at a time.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"

struct store;

/* read_only: never creates or changes the file; RS_ENOINPUT when there is none. */
enum rs_status store_open(const char *path, int read_only, int busy_ms, struct store **out);
void store_close(struct store *s);

struct store_run_start {
	const char *model, *directory, *spec_path, *spec_text, *command_line, *version, *tag, *note;
	int64_t seed, threads;
};

/* *run becomes 1, 2, ...; printed as r0001.  Each "key = value" line of spec_text
 * (the resolved spec) becomes a parameter "section.key". */
enum rs_status store_run_begin(struct store *s, const struct store_run_start *start, int64_t *run);
/* status: ok partial diverged failed interrupted rejected */
enum rs_status store_run_end(struct store *s, int64_t run, const char *status, int64_t rows,
	const char *message);
/* "failed", unless the end of the run is on record already. */
enum rs_status store_run_fail(struct store *s, int64_t run, const char *message);
enum rs_status store_param(struct store *s, int64_t run, const char *key, const char *value);
/* epoch 0: not of an epoch.  Keys with a meaning to the commands: at epoch 0 the
 * figures of the weights that were kept: valid.auc, valid.logloss, valid.rows,
 * valid.positives, train.loss; the same keys at epoch 1, 2, ... for its course. */
enum rs_status store_metric(struct store *s, int64_t run, const char *key, int64_t epoch,
	int64_t step, int64_t rows, double value);
enum rs_status store_warning(struct store *s, int64_t run, const char *text);
enum rs_status store_placement(struct store *s, int64_t run, const char *mode, const char *lookup,
	const char *reducer, const char *kernel, const char *reason);
enum rs_status store_artifact(struct store *s, int64_t run, const char *kind, const char *path,
	int64_t bytes);

struct store_ledger {
	const char *file;
	uint64_t content_hash, begin, end;             /* byte range, decompressed    */
	int64_t rows_read, rows_trained, rows_skipped, attempt;
};
enum rs_status store_ledger(struct store *s, int64_t run, const struct store_ledger *row);

/* --- reading --- */

/* Strings are owned by the row and never NULL unless said; "" when not given. */
struct store_run {
	int64_t run;
	char   *name;                                  /* r0001                       */
	char   *status;                                /* as recorded, or "lost"      */
	char   *model, *directory, *spec_path, *spec_text, *command_line;
	char   *version, *tag, *note, *message, *started;      /* started: UTC, ISO    */
	double  seconds;                               /* NaN: has not ended          */
	double  auc, logloss, valid_rows, valid_positives;     /* NaN: not recorded    */
	char   *monitor;                               /* figure of the best epoch    */
	double  monitored;                             /* its value                   */
	int64_t rows, skipped, seed, threads, pid;     /* rows -1: not recorded       */
};

struct store_filter {                                  /* NULL or 0: no limit     */
	const char *status, *tag, *model;
	const char *sort;          /* auc logloss rows took run; best or newest first */
	int64_t last;              /* the newest n, before sorting                    */
};

/* *out holds the runs, newest first; free with store_runs_free. */
enum rs_status store_runs(struct store *s, const struct store_filter *filter,
	struct store_run **out, size_t *n);
void store_runs_free(struct store_run *run, size_t n);
/* By "r0007", "7", a tag (its newest run) or "last"; RS_EUSAGE with the nearest. */
enum rs_status store_run_find(struct store *s, const char *name, struct store_run *out);
void store_run_free(struct store_run *run);

/* What belongs to a run, as text; NULL cells are NULL. */
enum store_part {
	STORE_PARAMS, STORE_METRICS, STORE_WARNINGS, STORE_PLACEMENTS, STORE_ARTIFACTS, STORE_LEDGER
};
struct store_table {
	size_t n_rows, n_columns;
	char **name;                                   /* [n_columns]                 */
	char **cell;                                   /* [n_rows, n_columns]         */
	int   *is_number;                              /* [n_columns]                 */
};
enum rs_status store_part(struct store *s, int64_t run, enum store_part part,
	struct store_table *out);
void store_table_free(struct store_table *table);

/* The course of one metric, in the order of its steps. */
struct store_point {
	int64_t epoch, rows;
	double  seconds, value;                        /* since the run began; NaN: none */
};
enum rs_status store_points(struct store *s, int64_t run, const char *key,
	struct store_point **out, size_t *n);
/* *out NULL: the run has no such parameter; free() it. */
enum rs_status store_param_value(struct store *s, int64_t run, const char *key, char **out);

/* Changing: the run and all that belongs to it; the tag ("" takes it away). */
enum rs_status store_run_remove(struct store *s, int64_t run);
enum rs_status store_run_tag(struct store *s, int64_t run, const char *tag);

#endif
