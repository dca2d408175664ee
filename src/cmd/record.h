/*
 * The run record of a training run.  A database that fails is a warning once;
 * training goes on without a record.  One thread at a time.  NULL records nothing.
 */
#ifndef CMD_RECORD_H
#define CMD_RECORD_H

#include "base/status.h"
#include "store/store.h"
#include "train/train.h"
#include "train/trial.h"

struct record;

/* Begins a run; *out is never NULL on RS_OK, also when the database failed. */
enum rs_status record_open(const char *path, const struct store_run_start *start,
	struct record **out);
/* The record of a run that was begun already; run 0: there is none. */
enum rs_status record_attach(const char *path, int64_t run, struct record **out);
void record_close(struct record *r);
/* 0: there is no record. */
int64_t record_run(const struct record *r);

struct record_placement { const char *mode, *lookup, *reducer, *kernel, *reason; };
void record_placement(struct record *r, const struct record_placement *p);
void record_param(struct record *r, const char *key, const char *value);
/* A figure of the whole run. */
void record_figure(struct record *r, const char *key, double value);
/* Of a run over the period that begins then; verdict NULL: there is none. */
void record_trial(struct record *r, int64_t begin, const struct trial *trial,
	const char *verdict);
void record_epoch(struct record *r, const struct train_epoch *e);
void record_warning(struct record *r, const char *text);
void record_end(struct record *r, const char *status, const char *directory,
	const struct train_summary *s, const char *message);
/* The run failed; nothing is changed when its end is on record already. */
void record_fail(struct record *r, const char *message);

#endif
